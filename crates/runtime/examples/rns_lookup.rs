//! Chained lookups in tables on all slots: the stated bound, the time, and every value compared with the table.
//!
//! ```sh
//! cargo run --release --example rns_lookup -- p=16 rounds=4 tables=1
//! ```
//!
//! `levels` gives the bits of the primes of each level from the bottom up, in five parts: level 0, slots to coefficients, tables, exponential,
//! coefficients to slots. `special` gives those of P. With `dry`, only the bounds are computed.

#[path = "../tests/rns_bootstrap/common.rs"]
#[allow(dead_code)]
mod common;

use common::{ChainLiteral, Client};
use polyfabric_program::rns::approximation::modular_reduction::{Method, Nodes, ReductionLiteral};
use polyfabric_program::rns::homomorphic::{Builder, Complex, Program, Scheme, Table, Values};
use polyfabric_program::rns::kernel::PublicPolynomial;
use polyfabric_program::rns::levels::Scale;
use polyfabric_program::rns::lowering::bootstrap::{
    BootstrapOrder, Bootstrapping, BootstrappingLiteral, BootstrappingSecret,
};
use polyfabric_program::rns::lowering::{Hoisting, Lowered, PlaintextEncoder, Target, lower};
use polyfabric_program::rns::noise::INTEGER_FAILURE_LOG2;
use polyfabric_runtime::NoProgress;
use polyfabric_runtime::rns::cpu::{Executor, ExecutorOptions};
use polyfabric_schemes::rns::{KeyStorage, LimbId, RnsPolynomial, SecretDistribution, security};
use std::collections::HashMap;
use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

const EPHEMERAL: usize = 32;

/// Bits of primes, such as `28x3,30+31`: three levels of one prime and one of two.
fn level_list(text: &str) -> Result<Vec<Vec<u32>>, Box<dyn Error>> {
    let mut levels = Vec::new();
    for item in text.split(',') {
        let (primes, count) = item.split_once('x').unwrap_or((item, "1"));
        let primes = primes.split('+').map(str::parse).collect::<Result<Vec<u32>, _>>()?;
        levels.extend(vec![primes; count.parse()?]);
    }
    Ok(levels)
}

/// Encodes everything as zero: bounds do not depend on values.
#[derive(Debug)]
struct Zeros(Arc<[i64]>);

impl PlaintextEncoder for Zeros {
    fn encode(&self, _: &Values, _: Scale) -> Result<PublicPolynomial, String> {
        Ok(PublicPolynomial::Narrow(Arc::clone(&self.0)))
    }
}

/// Peak memory of this process in MiB.
fn peak() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|text| text.trim().split(' ').next()?.parse::<f64>().ok()).unwrap_or(f64::NAN) / 1024.0
}

/// Seconds of processor time of this process.
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let field = |index: usize| fields.get(index).and_then(|text| text.parse::<f64>().ok()).unwrap_or(f64::NAN);
    (field(11) + field(12)) / 100.0
}

/// `tables` lookups of one operand.
fn program(tables: &[Arc<Table>], slots: usize) -> Result<Program, Box<dyn Error>> {
    let mut builder = Builder::new("lookups", Scheme::Ckks, slots)?;
    let x = builder.input("x")?;
    for (index, table) in tables.iter().enumerate() {
        let y = builder.lookup(x, Arc::clone(table))?;
        builder.output(&format!("y{index}"), y)?;
    }
    Ok(builder.finish()?)
}

/// Bounds of the errors of `rounds` lookups after each other, in steps, with a table that is as sensitive to errors as any.
fn bounds(target: &Target<'_>, p: u32, rounds: usize) -> Result<Vec<f64>, Box<dyn Error>> {
    let mut entries = vec![p / 2 + 1; p as usize];
    entries[0] = p / 2;
    let spike = Arc::new(Table::new(&entries, p).ok_or("no table")?);
    let slots = target.chain.degree().get() / 2;
    let mut builder = Builder::new("chained", Scheme::Ckks, slots)?;
    let mut x = builder.input("x")?;
    let mut looked_up = Vec::new();
    for _ in 0..rounds {
        x = builder.lookup(x, Arc::clone(&spike))?;
        looked_up.push(x);
    }
    builder.output("y", x)?;
    let lowered = lower(&builder.finish()?, target)?;
    let bound = |id| {
        let state = &lowered.nodes[id];
        (target.model.tail() * state.deviation + state.systematic) * f64::from(p)
    };
    Ok(looked_up.iter().map(bound).collect())
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let named: HashMap<&str, &str> = arguments.iter().filter_map(|text| text.split_once('=')).collect();
    let flag = |name: &str| arguments.iter().any(|argument| argument == name);
    let number = |name: &str, default: usize| named.get(name).map_or(Ok(default), |text| text.parse());
    let levels = named.get("levels").unwrap_or(&"30/28x3/29x4/36x8/31x3");
    let phases = levels.split('/').map(level_list).collect::<Result<Vec<_>, _>>()?;
    let [base, to_coefficients, tables, exponential, to_slots] = phases.as_slice() else {
        return Err("levels takes five parts, separated by /".into());
    };
    let special = level_list(named.get("special").unwrap_or(&"36x4"))?.concat();
    let (p, rounds, count) = (number("p", 16)? as u32, number("rounds", 4)?, number("tables", 1)?);
    let (weight, doublings) = (number("weight", 192)?, number("doublings", 3)?);
    let literal = ChainLiteral {
        log_degree: number("log-degree", 15)? as u32,
        levels: phases.concat(),
        digit: number("digit", special.len())?,
        special,
        scale_log2: f64::from(base[0].iter().sum::<u32>()) - 2.0,
        hoisting: Hoisting::Double,
    };
    let mut client = Client::new(&literal, weight, EPHEMERAL);
    client.model.failure_log2 = Some(named.get("failure").map_or(Ok(INTEGER_FAILURE_LOG2), |text| text.parse())?);
    let slots = client.chain.degree().get() / 2;
    let bootstrapping = BootstrappingLiteral {
        order: BootstrapOrder::Slim,
        slots,
        secret: BootstrappingSecret::Encapsulated {
            hamming_weight: EPHEMERAL,
            special: vec![LimbId(literal.limbs() as u16)],
        },
        coefficients_to_slots: to_slots.len(),
        slots_to_coefficients: to_coefficients.len(),
        reduction: ReductionLiteral {
            method: Method::Tables { levels: tables.len() as u32 },
            range: number("range", 17)?,
            degree: number("degree", 31)?,
            doublings,
            nodes: Nodes::Interval,
            arcsine_degree: 0,
            largest_message: 0.25,
        },
    };
    let plan = Bootstrapping::new(bootstrapping, &client.chain, &client.choice)?;
    if plan.output_level() < plan.input_level() || plan.reduction_levels() != tables.len() + exponential.len() {
        return Err(format!("the exponential takes {} levels", plan.reduction_levels() - tables.len()).into());
    }
    // Results are the next operands.
    client.choice.output_level = plan.output_level();
    let bits = client.chain.moduli().iter().map(|modulus| (modulus.value() as f64).log2()).sum::<f64>();
    let secret = SecretDistribution::SparseTernary(weight);
    let estimate = security::estimate(client.chain.degree(), bits, secret, 3.2);
    println!("log2 QP {bits:.1}, {:.0} bits of security ({})", estimate.bits, estimate.source);
    let zeros = Zeros(vec![0; client.chain.degree().get()].into());
    let target = |encoder| Target {
        chain: &client.chain,
        choice: &client.choice,
        model: client.model,
        encoder,
        bootstrapping: Some(&plan),
        observed: false,
    };
    match bounds(&target(&zeros), p, rounds) {
        Ok(bounds) => {
            let shown: Vec<String> = bounds.iter().map(|bound| format!("2^{:.2}", bound.log2())).collect();
            println!("any table: error up to {} steps in {rounds} lookups", shown.join(", "));
        }
        Err(error) => println!("any table: {error}"),
    }
    if flag("dry") {
        return Ok(());
    }
    run(&client, &plan, &target(&client.encoder), p, rounds, count)
}

/// Runs `rounds` lookups, the next on the first table's result, and compares every value.
fn run(
    client: &Client,
    plan: &Bootstrapping,
    target: &Target<'_>,
    p: u32,
    rounds: usize,
    count: usize,
) -> Result<(), Box<dyn Error>> {
    let slots = client.chain.degree().get() / 2;
    let mut seed = 12345u64;
    let mut next = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as u32 % p
    };
    let mut table = || Table::new(&(0..p).map(|_| next()).collect::<Vec<_>>(), p).map(Arc::new).ok_or("p");
    let tables: Vec<Arc<Table>> = (0..count).map(|_| table()).collect::<Result<_, _>>()?;
    let program = program(&tables, slots)?;
    let start = Instant::now();
    let Lowered { kernel, inputs, outputs, .. } = lower(&program, target)?;
    println!("{} operations, lowered in {:.1} s", kernel.ops.len(), start.elapsed().as_secs_f64());
    let start = Instant::now();
    let keys = client.keys(&kernel, Some(plan), KeyStorage::BYTES);
    let mebibytes = keys.bytes() as f64 / f64::from(1 << 20);
    println!("{} keys, {mebibytes:.0} MiB, {:.1} s", keys.ids().count(), start.elapsed().as_secs_f64());
    let executor =
        Executor::with_options(&kernel, &keys, ExecutorOptions { threads: 1, ..ExecutorOptions::default() })?;
    let mut current: Vec<(u32, u32)> = (0..slots as u32).map(|slot| (slot % p, (slot / p) % p)).collect();
    let fraction = |value| Table::fraction(value, p);
    let input: Vec<Complex> = current.iter().map(|&(a, b)| Complex::new(fraction(a), fraction(b))).collect();
    let mut ciphertext = client.encrypt(&input, inputs[0].level, 2).parts;
    for round in 0..rounds {
        let (wall, processor) = (Instant::now(), processor_seconds());
        let found = executor.run(&ciphertext.iter().collect::<Vec<&RnsPolynomial>>(), &NoProgress)?;
        let (wall, processor) = (wall.elapsed().as_secs_f64(), processor_seconds() - processor);
        let (mut wrong, mut largest) = (0, 0.0f64);
        for ((table, parts), port) in tables.iter().zip(found.chunks(2)).zip(&outputs) {
            let values = client.decrypt(parts.to_vec(), port.scale.real(), slots);
            for (value, &(a, b)) in values.iter().zip(&current) {
                for (part, entry) in [(value.re, a), (value.im, b)] {
                    let (integer, distance) = Table::nearest(part, p);
                    wrong += usize::from(integer != table.entries()[entry as usize]);
                    largest = largest.max(distance);
                }
            }
        }
        let lookups = 2 * slots * count;
        println!(
            "round {round}: {wall:.2} s, {processor:.2} s of CPU, {:.1} us a lookup, {wrong} of {lookups} wrong, error up to 2^{:.2} steps, peak {:.0} MiB",
            processor * 1e6 / lookups as f64,
            largest.log2(),
            peak()
        );
        if outputs[0].level != inputs[0].level {
            return Err(format!("results at level {}, operands at {}", outputs[0].level, inputs[0].level).into());
        }
        ciphertext = found.into_iter().take(2).collect();
        let entry = |value: u32| tables[0].entries()[value as usize];
        current = current.iter().map(|&(a, b)| (entry(a), entry(b))).collect();
    }
    Ok(())
}
