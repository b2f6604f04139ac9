//! How fast F1's compiler is, and how close its schedules of single operations come to the units' bound:
//! `cargo run --release -p polyfabric-machines --example f1_compile [-- OPERATION LOG2_DEGREE LIMBS SPECIAL CIPHERTEXTS ROUNDS]`,
//! or of whole programs, from the text of their kernel programs: `-- FILE.kernel ...`.

use polyfabric_kernels::clock::processor_seconds;
use polyfabric_machines::Machine;
use polyfabric_machines::contract::options::Given;
use polyfabric_machines::contract::rns;
use polyfabric_machines::f1::compile::{Accepted, compile};
use polyfabric_machines::f1::machine::F1;
use polyfabric_program::rns::builtin::microbenchmark::{Operation, Shape, build};
use polyfabric_program::rns::text::parse_kernel;
use polyfabric_sim::bound::Bound;
use polyfabric_sim::list::{EventList, Source};
use polyfabric_sim::totals::Totals;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Instant;

/// Cycles that no schedule of the same events falls below, by what sets them.
fn limits(machine: &F1, compiled: &Accepted) -> BTreeMap<String, u64> {
    let events = compiled.events(machine);
    let totals = Totals::of(Source::List(&events));
    Bound::of(events.resources(), &totals, &compiled.checked).limits.into_iter().collect()
}

/// Compiles the kernel program in a file, checks and audits it and reports on it, as `simulate` does: how fast that is, time and traffic
/// beside the least that there can be, and a hash of the compiled program, which tells two compilers apart.
fn program(description: &Machine, file: &str) {
    let text = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{file}: {error}"));
    let program = parse_kernel(&text).unwrap_or_else(|error| panic!("{file}: {error}"));
    let before = processor_seconds();
    let simulated = match rns::map(description, &program, "", &Given::new()) {
        Ok(simulated) => simulated,
        Err(error) => return println!("{file}: {error}"),
    };
    let minutes = (processor_seconds() - before) / 60.0;
    let report = simulated.report();
    let instructed = simulated.instructed().unwrap_or_else(|error| panic!("{file}: {error}"));
    let instructions = instructed.instructions();
    let total = report.traffic_bytes["total"] as f64;
    let mut hasher = DefaultHasher::new();
    instructed.save().hash(&mut hasher);
    println!(
        "{}: {instructions} instructions, {:.2} million a minute of processor time, {} cycles, {:.1} MiB, {:.1} % not compulsory, compiled {:016x}",
        program.name,
        instructions as f64 / minutes * 1e-6,
        report.cycles,
        total / f64::from(1 << 20),
        100.0 * report.not_compulsory_bytes.unwrap_or(0) as f64 / total,
        hasher.finish(),
    );
    println!("    limits {:?}, traffic {:?}", report.limits, report.traffic_bytes);
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let description = polyfabric_machines::description("f1").expect("the machine file");
    let machine = F1::new(&description).expect("its figures");
    let one = |operation: Operation, shape: Shape| {
        let (mut cycles, mut bounds) = (Vec::new(), Vec::new());
        for rounds in [shape.rounds, 2 * shape.rounds] {
            let program = build(operation, Shape { rounds, ..shape }).expect("a program");
            let begin = Instant::now();
            let compiled = compile(&machine, &program).unwrap_or_else(|error| panic!("{error}"));
            let seconds = begin.elapsed().as_secs_f64();
            let limits = limits(&machine, &compiled);
            let (name, bound) =
                limits.iter().filter(|(name, _)| *name != "hbm").max_by_key(|(_, c)| **c).expect("a limit");
            let instructions = compiled.translation.graph.len();
            println!(
                "{operation:?} {shape}, {} x {rounds}: {instructions} instructions, {:.2} million a minute, {} cycles, bound {bound} ({name}), phase 2 {}",
                shape.ciphertexts,
                instructions as f64 / seconds * 60e-6,
                compiled.checked.cycles,
                compiled.movement.cycles,
            );
            let units: u64 =
                ["ntt", "automorphism", "multiply", "add"].iter().map(|unit| limits[*unit]).max().expect("units");
            cycles.push(compiled.checked.cycles);
            bounds.push(units);
        }
        let count = (shape.ciphertexts * shape.rounds) as f64;
        let slope = |values: &[u64]| (values[1] as f64 - values[0] as f64) / count;
        println!("    {:.1} cycles an operation, units' bound {:.1}", slope(&cycles), slope(&bounds));
    };
    if arguments.first().is_some_and(|argument| argument.ends_with(".kernel")) {
        arguments.iter().for_each(|file| program(&description, file));
        return;
    }
    if let [operation, numbers @ ..] = &arguments[..] {
        let numbers: Vec<usize> = numbers.iter().map(|number| number.parse().expect("a number")).collect();
        let [log2_degree, limbs, special, ciphertexts, rounds] = numbers[..] else { panic!("five numbers") };
        let shape = Shape { log2_degree: log2_degree as u32, limbs, special, ciphertexts, rounds };
        one(operation.parse().expect("an operation"), shape);
        return;
    }
    for (_, operation) in Operation::ALL {
        // So many rounds that memory, which brings every ciphertext once, is not in the way.
        let light = matches!(operation, Operation::Ntt | Operation::Automorphism);
        for (log2_degree, limbs, rounds) in [(12, 3, 16), (13, 6, 8), (14, 13, 4)] {
            let rounds = if light { 64 } else { rounds };
            one(operation, Shape { log2_degree, limbs, special: 1, ciphertexts: 32, rounds });
        }
    }
}
