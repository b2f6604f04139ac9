//! Times BGV operations, bootstrapping and an encrypted lookup on this machine, with decryption and checks.
//!
//! `cargo run --release -p polyfabric-runtime --example bgv -- operations|bootstrap|database [set] [threads]`
//!
//! `operations`: multiplication with relinearisation, and rotation, for the sets benchmarked against Lattigo. `bootstrap`: one number, a bit for
//! `f1-bootstrap` (N = 2^14, 24 limbs of 32 bits) by default; also prints the operations by kind and limbs. `database`: a lookup among 999 keys of
//! four letters with `f1-db-lookup`.

use polyfabric_program::rns::builtin::database::{Equality, Store, look_up};
use polyfabric_program::rns::homomorphic::{Builder, Program, Scheme, Values};
use polyfabric_program::rns::kernel::KernelProgram;
use polyfabric_program::rns::lowering::RnsLowering;
use polyfabric_program::rns::lowering::bgv::{BgvPlan, Steps, lower};
use polyfabric_runtime::NoProgress;
use polyfabric_runtime::rns::cpu::{Executor, ExecutorOptions};
use polyfabric_schemes::bgv::{ClientKey, Parameters, sets};
use polyfabric_schemes::progress::no_progress;
use polyfabric_schemes::rns::{Ciphertext, KeySet, RnsPolynomial};
use std::collections::HashMap;
use std::error::Error;
use std::time::{Duration, Instant};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |index: usize| arguments.get(index).map(String::as_str);
    let threads = argument(2).map_or(Ok(1), str::parse)?;
    match argument(0).unwrap_or("operations") {
        "operations" => match argument(1) {
            Some(set) => operations(set, threads),
            None => {
                ["bgv-2p12-109", "bgv-2p13-218", "bgv-2p14-423"].iter().try_for_each(|set| operations(set, threads))
            }
        },
        "bootstrap" => bootstrap(argument(1).unwrap_or("f1-bootstrap"), threads),
        "database" => database(argument(1).unwrap_or("f1-db-lookup"), threads),
        other => Err(format!("{other:?}: write operations, bootstrap or database").into()),
    }
}

fn choice(parameters: &Parameters) -> RnsLowering {
    RnsLowering::new(parameters.gadget().literal().clone())
}

/// The outputs, and the minimum time of `runs`.
fn run(
    kernel: &KernelProgram,
    keys: &KeySet,
    inputs: &HashMap<String, Ciphertext>,
    threads: usize,
    runs: usize,
) -> Result<(HashMap<String, Ciphertext>, Duration)> {
    let executor = Executor::with_options(kernel, keys, ExecutorOptions { threads, ..ExecutorOptions::default() })?;
    let given: Vec<&RnsPolynomial> =
        kernel.inputs().map(|(name, part, ..)| &inputs[name].parts[usize::from(part)]).collect();
    let (mut outputs, mut least) = (executor.outputs(), Duration::MAX);
    for _ in 0..runs {
        let start = Instant::now();
        executor.run_into(&given, &mut outputs, &NoProgress)?;
        least = least.min(start.elapsed());
    }
    let mut parts: HashMap<String, Vec<RnsPolynomial>> = HashMap::new();
    for (output, polynomial) in kernel.outputs.iter().zip(outputs) {
        parts.entry(output.name.to_string()).or_default().push(polynomial);
    }
    Ok((parts.into_iter().map(|(name, parts)| (name, Ciphertext::new(parts))).collect(), least))
}

fn numbers(count: usize, t: u64, seed: u64) -> Vec<u64> {
    (0..count as u64).map(|i| (i + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) % t).collect()
}

fn operations(set: &str, threads: usize) -> Result<()> {
    let parameters = sets::named(set)?;
    let key = ClientKey::generate(&parameters)?;
    let t = parameters.plaintext_modulus().modulus();
    let (slots, top) = (parameters.ring().degree().get(), parameters.q_limbs() - 1);
    let (x, y) = (numbers(slots, t.value(), 1), numbers(slots, t.value(), 2));
    for operation in ["multiply", "rotate"] {
        let mut builder = Builder::new(operation, Scheme::Bgv { plaintext_modulus: t.value() }, slots)?;
        let (a, b) = (builder.input_with("x", Some(top), 1.0)?, builder.input_with("y", Some(top), 1.0)?);
        let result = if operation == "multiply" { builder.mul(a, b)? } else { builder.rotate(a, 1)? };
        builder.output("result", result)?;
        let program = builder.finish()?;
        let lowered = lower(&program, &parameters, &choice(&parameters), key.encoder())?;
        let keys = key.switching_keys(lowered.keys.keys().copied(), &no_progress)?;
        let limbs = parameters.q_limbs();
        let inputs =
            HashMap::from([("x".to_owned(), key.encrypt(&x, limbs)?), ("y".to_owned(), key.encrypt(&y, limbs)?)]);
        let (outputs, time) = run(&lowered.kernel, &keys, &inputs, threads, 200)?;
        let port = &lowered.plan.outputs[0];
        let found = key.decrypt(&outputs["result"], port.state.factor, slots)?;
        let row = slots / 2;
        let expected = |i: usize| match operation {
            "multiply" => t.multiply(x[i], y[i]),
            _ => x[i / row * row + (i + 1) % row],
        };
        let wrong = (0..slots).filter(|&i| found[i] != expected(i)).count();
        println!(
            "{set}: {operation} {:.3} ms, {} of {limbs} limbs left, {wrong} of {slots} slots wrong",
            time.as_secs_f64() * 1e3,
            port.state.limbs
        );
    }
    Ok(())
}

fn print_steps(steps: &Steps) {
    println!("{:>24} {:>6} {:>6}", "operation", "limbs", "count");
    for (&(op, limbs), count) in steps {
        println!("{op:>24} {limbs:>6} {count:>6}");
    }
}

fn bootstrap(set: &str, threads: usize) -> Result<()> {
    let parameters = sets::named(set)?;
    let t = parameters.plaintext_modulus().value();
    let mut builder = Builder::new("bootstrap", Scheme::Bgv { plaintext_modulus: t }, 1)?;
    let exhausted = builder.input_with("exhausted", Some(0), 1.0)?;
    let refreshed = builder.bootstrap(exhausted)?;
    builder.output("refreshed", refreshed)?;
    let key = ClientKey::generate(&parameters)?;
    let lowered = lower(&builder.finish()?, &parameters, &choice(&parameters), key.encoder())?;
    let output = &lowered.plan.outputs[0].state;
    println!(
        "{set}: N = {}, {} limbs of Q, log2 QP {:.0}; {} keys; {} limbs left in the result",
        parameters.ring().degree().get(),
        parameters.q_limbs(),
        parameters.log2_qp(),
        lowered.keys.len(),
        output.limbs
    );
    print_steps(&lowered.plan.steps);
    println!("residue vectors: {:?}", lowered.kernel.counts()?.limb_ops);
    let start = Instant::now();
    let keys = key.switching_keys(lowered.keys.keys().copied(), &no_progress)?;
    println!("keys: {:.2} GiB in {:.1} s", keys.bytes() as f64 / 2f64.powi(30), start.elapsed().as_secs_f64());
    for number in [0, 1] {
        let mut message = numbers(parameters.ring().degree().get(), t, number);
        message[0] = number;
        let inputs = HashMap::from([("exhausted".to_owned(), key.encrypt_coefficients(&message, 1)?)]);
        let (outputs, time) = run(&lowered.kernel, &keys, &inputs, threads, 1)?;
        let decrypted = key.decrypt_coefficients(&outputs["refreshed"], output.factor)?;
        let alone = decrypted.coefficients[1..].iter().all(|&other| other == 0);
        println!(
            "{number}: {} in {:.1} s, noise 2^{:.1} below its bound 2^{:.1}, {:.0} bits left",
            if decrypted.coefficients[0] == number && alone { "right" } else { "WRONG" },
            time.as_secs_f64(),
            decrypted.log2_noise,
            output.noise.bound,
            decrypted.budget
        );
    }
    Ok(())
}

fn encrypt(
    key: &ClientKey,
    program: &Program,
    plan: &BgvPlan,
    values: &HashMap<String, Values>,
) -> Result<HashMap<String, Ciphertext>> {
    let t = key.parameters().plaintext_modulus().modulus();
    let one = |port: &polyfabric_program::rns::lowering::bgv::BgvPort| {
        let Some(Values::Integer(values)) = values.get(&port.name) else {
            return Err(format!("{}: no values for {}", program.name(), port.name).into());
        };
        let values: Vec<u64> = values.iter().map(|&value| t.reduce_signed(value)).collect();
        Ok((port.name.clone(), key.encrypt(&values, port.state.limbs)?))
    };
    plan.inputs.iter().map(one).collect()
}

fn database(set: &str, threads: usize) -> Result<()> {
    let parameters = sets::named(set)?;
    let t = parameters.plaintext_modulus().value();
    let slots = parameters.ring().degree().get();
    let store = Store { slots, key: 4, value: 1, equality: Equality::Alphabet(32) };
    let program = store.program(t)?;
    let key = ClientKey::generate(&parameters)?;
    let lowered = lower(&program, &parameters, &choice(&parameters), key.encoder())?;
    print_steps(&lowered.plan.steps);
    let keys = key.switching_keys(lowered.keys.keys().copied(), &no_progress)?;
    println!("{} keys, {:.2} GiB", lowered.keys.len(), keys.bytes() as f64 / 2f64.powi(30));
    // Keys of four letters: the digits of the number in base 32.
    let letters = |number: u64| (0..4).map(|place| number >> (5 * place) & 31).collect::<Vec<_>>();
    let entries: Vec<_> = (1..1000).map(|key| (letters(key * 1009), vec![key * key % t])).collect();
    for query in [letters(500 * 1009), letters(3)] {
        let values = store.inputs(&entries, &query, t)?;
        let inputs = encrypt(&key, &program, &lowered.plan, &values)?;
        let (outputs, time) = run(&lowered.kernel, &keys, &inputs, threads, 1)?;
        let port = &lowered.plan.outputs[0];
        let found = key.decrypt(&outputs[&port.name], port.state.factor, slots)?;
        let expected = look_up(&entries, &query, 1)[0];
        let right = found.iter().all(|&slot| slot == expected);
        println!("{query:?}: {} in {:.2} s", if right { "right" } else { "WRONG" }, time.as_secs_f64());
    }
    Ok(())
}
