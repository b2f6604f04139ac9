//! Measures time, memory and precision of one full-size CKKS bootstrapping of all slots.
//!
//! ```text
//! cargo run --release -p polyfabric-runtime --example rns_bootstrap -- \
//!     log-degree=16 levels=48/40x9/41x3/36+36,49,39+39,49,40+40,49,39+38,49/35+35,49x3 special=37,36,49x4 digit=6 seeded compact
//! ```
//!
//! `levels` lists the bits of the primes that each level adds, from level 0: residual levels, slots to coefficients, modular reduction, coefficients
//! to slots, separated by `/`. `axK` repeats a level, `a+b` is a level of two primes. `seeded` expands half of each key from its seed at every use,
//! `compact` transforms public polynomials at every use: less memory, more time.

#[path = "../tests/rns_bootstrap/common.rs"]
#[allow(dead_code)]
mod common;

use common::{ChainLiteral, Client, precision, random_slots};
use polyfabric_program::rns::approximation::modular_reduction::{Method, Nodes, ReductionLiteral};
use polyfabric_program::rns::lowering::Hoisting;
use polyfabric_program::rns::lowering::bootstrap::{
    BootstrapOrder, Bootstrapping, BootstrappingLiteral, BootstrappingSecret,
};
use polyfabric_runtime::NoProgress;
use polyfabric_runtime::rns::cpu::{Executor, ExecutorOptions};
use polyfabric_schemes::rns::{KeyStorage, LimbId, RnsPolynomial};
use std::collections::HashMap;
use std::error::Error;
use std::time::Instant;

fn level_list(text: &str) -> Result<Vec<Vec<u32>>, Box<dyn Error>> {
    let mut levels = Vec::new();
    for item in text.split(',').filter(|item| !item.is_empty()) {
        let (primes, count) = item.split_once('x').unwrap_or((item, "1"));
        let primes = primes.split('+').map(str::parse).collect::<Result<Vec<u32>, _>>()?;
        levels.extend(vec![primes; count.parse()?]);
    }
    Ok(levels)
}

/// A value of /proc/self/status in MiB, where available.
fn memory(line: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let found = status.lines().find_map(|text| text.strip_prefix(line)?.trim().split(' ').next()?.parse::<f64>().ok());
    found.unwrap_or(f64::NAN) / 1024.0
}

/// Processor seconds of this process so far, from /proc where available (in hundredths).
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let field = |index: usize| fields.get(index).and_then(|text| text.parse::<f64>().ok()).unwrap_or(f64::NAN);
    (field(11) + field(12)) / 100.0
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let named: HashMap<&str, &str> = arguments.iter().filter_map(|text| text.split_once('=')).collect();
    let flag = |name: &str| arguments.iter().any(|argument| argument == name);
    let number = |name: &str, default: usize| named.get(name).map_or(Ok(default), |text| text.parse());
    let levels = named.get("levels").unwrap_or(&"48/40x9/41x3/36+36,49,39+39,49,40+40,49,39+38,49/35+35,49x3");
    let phases = levels.split('/').map(level_list).collect::<Result<Vec<_>, _>>()?;
    let [base, residual, to_coefficients, reduction, to_slots] = phases.as_slice() else {
        return Err(
            "levels has five parts: level 0, residual, slots to coefficients, reduction, coefficients to slots".into(),
        );
    };
    let special = level_list(named.get("special").unwrap_or(&"37,36,49x4"))?.concat();
    let degree = number("degree", 30)?;
    let doublings = number("doublings", 3)?;
    let scale = number("scale", 40)?;
    let ephemeral = 32;
    let literal = ChainLiteral {
        log_degree: number("log-degree", 16)? as u32,
        levels: phases.concat(),
        special,
        digit: number("digit", 6)?,
        scale_log2: scale as f64,
        hoisting: if flag("single") { Hoisting::Single } else { Hoisting::Double },
    };
    let bits: u32 = literal.levels.iter().flatten().chain(&literal.special).sum();
    let start = Instant::now();
    let client = Client::new(&literal, 192, ephemeral);
    let slots = number("slots", client.chain.degree().get() / 2)?;
    let ratio = 2f64.powi(scale as i32 - base[0].iter().sum::<u32>() as i32);
    let bootstrapping = BootstrappingLiteral {
        order: BootstrapOrder::Full,
        slots,
        secret: BootstrappingSecret::Encapsulated {
            hamming_weight: ephemeral,
            // The sparse secret is used with q_0 and these only: 121 bits give it 128 bits of security.
            special: vec![LimbId(literal.limbs() as u16), LimbId(literal.limbs() as u16 + 1)],
        },
        coefficients_to_slots: to_slots.len(),
        slots_to_coefficients: to_coefficients.len(),
        reduction: ReductionLiteral {
            method: if flag("exponential") { Method::Exponential } else { Method::Cosine },
            range: number("range", 17)?,
            degree,
            doublings,
            nodes: Nodes::Integers { radius: ratio, hamming_weight: ephemeral, floor_log2: -24.0 },
            arcsine_degree: number("arcsine", 0)?,
            largest_message: ratio,
        },
    };
    let plan = Bootstrapping::new(bootstrapping, &client.chain, &client.choice)?;
    println!(
        "N = 2^{}, logQP {bits}, {} + {} primes, {} levels: {} + {} + {} for bootstrapping, {} left ({} asked for), failure 2^{:.0}",
        literal.log_degree,
        literal.limbs(),
        literal.special.len(),
        plan.top(),
        to_slots.len(),
        reduction.len(),
        to_coefficients.len(),
        plan.output_level(),
        residual.len(),
        plan.failure_probability_log2(),
    );
    let mut lowering = client.lowering("bootstrap");
    let a = lowering.input("x", 0, 1.0)?;
    let fresh = lowering.bootstrap(&a, &plan)?;
    lowering.output("y", &fresh);
    let program = lowering.finish()?;
    println!(
        "lowered: {} operations, {:.1} s, {:.0} MiB",
        program.ops.len(),
        start.elapsed().as_secs_f64(),
        memory("VmRSS:")
    );
    let storage = KeyStorage { packed: flag("packed"), seeded: flag("seeded") };
    let keys = client.keys(&program, Some(&plan), storage);
    println!(
        "{} keys, {:.0} MiB ({storage:?}), {:.1} s, {:.0} MiB in memory",
        keys.ids().count(),
        keys.bytes() as f64 / 2f64.powi(20),
        start.elapsed().as_secs_f64(),
        memory("VmRSS:")
    );
    let options = ExecutorOptions { compact_plaintexts: flag("compact"), threads: number("threads", 1)? };
    let executor = Executor::with_options(&program, &keys, options)?;
    println!(
        "prepared: buffers {:.0} MiB, plaintexts {:.0} MiB, {:.1} s",
        executor.buffer_bytes() as f64 / 2f64.powi(20),
        executor.plaintext_bytes() as f64 / 2f64.powi(20),
        start.elapsed().as_secs_f64()
    );
    let input = random_slots(slots, 1);
    let ciphertext = client.encrypt(&input, 0, 2);
    let parts: Vec<&RnsPolynomial> = ciphertext.parts.iter().collect();
    for round in 0..number("rounds", 2)? {
        let (begin, processor) = (Instant::now(), processor_seconds());
        let outputs = executor.run(&parts, &NoProgress)?;
        let (wall, processor) = (begin.elapsed().as_secs_f64(), processor_seconds() - processor);
        let found = client.decrypt(outputs, fresh.scale.real(), slots);
        let (worst, mean) = precision(&found, &input);
        let [bound, every] = client.bounds(&fresh);
        println!(
            "round {round}: {wall:.2} s ({processor:.2} s of processor time), {worst:.1} bits at least, mean {mean:.1}, bound {bound:.1} ({every:.1} of every message), peak {:.0} MiB",
            memory("VmHWM:")
        );
    }
    Ok(())
}
