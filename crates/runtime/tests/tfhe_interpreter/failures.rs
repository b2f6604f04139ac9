//! Do programs fail as often as their noise reports say, over many keys, whichever source of noise dominates, and never more often than is
//! stated for every key?
//!
//! Noise is made so large that one element in some tens comes out wrong. Over 100 keys rates agree to 25 %: the count itself varies by 4 %, and
//! by more where a key's failures come in clusters. Without `POLYFABRIC_FULL` in the environment it is 40 keys, by which it varies by 7 %.

use crate::common::{Keys as KeyPair, clear, values};
use polyfabric_program::tfhe::homomorphic::{Builder, ElementType, LookupResult, Program, Range, Table, decode_output};
use polyfabric_program::tfhe::lowering::{Arithmetic, KeySwitchOrder, TfheLowering};
use polyfabric_program::tfhe::noise::{NoiseReport, report_for};
use polyfabric_runtime::NoProgress;
use polyfabric_runtime::tfhe::cpu::Executor;
use polyfabric_schemes::tfhe::noise::{Keys, Transform};
use polyfabric_schemes::tfhe::{ClientKey, Parameters, ParametersLiteral, ServerKey, sets};

const COUNT: usize = 200;

/// v ↦ 5v + 3 modulo the number of values: a wrong read shows.
fn permuted(range: Range) -> Table {
    let count = range.hi() + 1;
    Table::tabulate(range, |value| (5 * value + 3) % count).expect("a table")
}

/// `depth` look-ups one after the other on messages of `bits` bits; with `mixed`, the last reads the sum of four others of the last but one.
fn program(bits: u32, depth: usize, mixed: bool) -> Program {
    let range = Range::new(0, (1 << bits) - 1).expect("a range");
    let mut builder = Builder::new("chain").expect("a name");
    let mut x = builder.input("x", ElementType::Integer(range), COUNT).expect("an input");
    for _ in 0..depth {
        x = builder.lookup(x, vec![permuted(range)], None, LookupResult::Integer).expect("a look-up");
    }
    if mixed {
        // Elements i, i + 1, i + 2 and i + 3 of a vector of bits.
        let one = Table::tabulate(range, |value| value & 1).expect("a table");
        let bit = builder.lookup(x, vec![one], None, LookupResult::Integer).expect("a look-up");
        let turned = |builder: &mut Builder, by: usize| {
            let indices: Vec<u32> = (0..COUNT).map(|i| ((i + by) % COUNT) as u32).collect();
            builder.select(bit, &indices).expect("a selection")
        };
        let mut sum = bit;
        for by in 1..4 {
            let other = turned(&mut builder, by);
            sum = builder.add(sum, other).expect("a sum");
        }
        let range = Range::new(0, 4).expect("a range");
        let table = Table::tabulate(range, |value| (2 * value + 1) % 5).expect("a table");
        x = builder.lookup(sum, vec![table], None, LookupResult::Integer).expect("a look-up");
    }
    builder.output("y", x).expect("an output");
    builder.finish().expect("a program")
}

/// Two tables on one value, by one bootstrap.
fn two_tables() -> Program {
    let range = Range::new(0, 3).expect("a range");
    let mut builder = Builder::new("two").expect("a name");
    let x = builder.input("x", ElementType::Integer(range), COUNT / 2).expect("an input");
    let tables = [0, 1].map(|more| Table::tabulate(range, |value| (value + more) % 4).expect("a table"));
    let y = builder.lookup_each(x, tables.into(), LookupResult::Integer).expect("look-ups");
    builder.output("y", y).expect("an output");
    builder.finish().expect("a program")
}

fn keys() -> u64 {
    if std::env::var_os("POLYFABRIC_FULL").is_some() { 100 } else { 40 }
}

fn changed(change: impl Fn(&mut ParametersLiteral)) -> Parameters {
    let mut literal = sets::literal("toy-256").expect("a set").clone();
    literal.name = "noisy".to_owned();
    literal.lwe_dimension = 64;
    change(&mut literal);
    Parameters::check(&literal).expect("a usable set")
}

/// Expected failures an element: of all look-ups and the output that it depends on.
fn rate(report: &NoiseReport) -> f64 {
    let lookups = report.lookups.iter().map(|lookup| lookup.count as f64 * lookup.log2_failure.exp2());
    let outputs = report.outputs.iter().map(|output| output.count as f64 * output.log2_failure.exp2());
    (lookups.sum::<f64>() + outputs.sum::<f64>()) / COUNT as f64
}

/// Raises the noise that `set` makes parameters of until about 3 % of the elements come out wrong; then runs.
fn check(what: &str, program: &Program, choice: &TfheLowering, set: impl Fn(f64) -> Parameters) {
    let report = |parameters: &Parameters, keys| {
        report_for(program, parameters, choice, Transform::F64, keys).expect("a report")
    };
    let noisy = (0..400).map(|step| set(f64::from(step) / 40.0));
    let parameters =
        noisy.into_iter().find(|parameters| rate(&report(parameters, Keys::Average)) > 0.03).expect("noise that shows");
    let expected = rate(&report(&parameters, Keys::Average));
    let stated = rate(&report(&parameters, Keys::Accepted));
    let length = program.inputs().next().map_or(0, |(id, _)| program.node(id).length);
    let inputs = values(&[("x", &(0..length as i64).map(|i| i % 4).collect::<Vec<_>>())]);
    let right = &clear(program, &inputs)["y"];
    let (mut wrong, mut worst) = (0, 0);
    for seed in 0..keys() {
        let client = ClientKey::<u32>::for_tests(&parameters, seed).expect("the right torus");
        let server = ServerKey::for_tests(&client, seed);
        let keys = KeyPair { client, server };
        let lowered = keys.lower(program, choice);
        let encrypted = keys.encrypt(program, &lowered, &inputs, 1000 + seed);
        let executor = Executor::new(&keys.server, 2).expect("an executor");
        let outputs = executor.run(&lowered, &encrypted, &NoProgress).expect("a run");
        let batch = &outputs["y"];
        let kind = keys.client.kind_of(batch.dimension()).expect("one of the keys");
        let phases = keys.client.decrypt_phase(kind, batch).expect("its key");
        // One by one: a value out of range is a wrong one too.
        let single = |index: usize| {
            let mut all = phases.clone();
            all.iter_mut().for_each(|phase| *phase = phases[index]);
            decode_output(program, "y", &all, None).map_or(-1, |values| values[index])
        };
        let failed = (0..COUNT).filter(|&index| single(index) != right[index]).count();
        wrong += failed;
        worst = worst.max(failed);
    }
    let measured = wrong as f64 / (keys() as usize * COUNT) as f64;
    // Failures of an element that is read several times count once, and two in one chain may cancel: below 2 % of them here.
    println!(
        "{what}: {measured:.4} of the elements wrong, {expected:.4} expected, {stated:.4} stated; at most {worst} of {COUNT}"
    );
    assert!((0.75..1.25).contains(&(measured / expected)), "{what}: {measured} measured, {expected} expected");
    assert!(measured <= stated, "{what}: {measured} measured, {stated} stated");
    // No key fails more often than is stated for every key: five deviations of the count.
    let allowed = stated * COUNT as f64;
    assert!(
        (worst as f64) < allowed + 5.0 * allowed.sqrt(),
        "{what}: {worst} of {COUNT} under one key, {allowed} stated"
    );
}

/// Key-switch noise: digits of two bits, whose mean makes a key's failures come together.
fn key_switch_dominates(more: f64) -> Parameters {
    changed(|literal| {
        literal.key_switch_gadget = Some(polyfabric_kernels::Gadget { log2_base: 2, levels: 6 });
        literal.lwe_noise_log2 = -13.0 + more;
    })
}

/// The noise of the bootstrapping key's rows.
fn rotation_dominates(more: f64) -> Parameters {
    changed(|literal| {
        literal.bootstrap_gadget = polyfabric_kernels::Gadget { log2_base: 6, levels: 3 };
        literal.glwe_noise_log2 = -22.0 + more;
        literal.lwe_noise_log2 = -25.0;
    })
}

/// The modulus switch: more key bits.
fn modulus_switch_dominates(more: f64) -> Parameters {
    changed(|literal| {
        literal.lwe_dimension = 64 + (more * 40.0) as usize * 4;
        literal.lwe_noise_log2 = -25.0;
        literal.glwe_noise_log2 = -29.0;
        literal.bootstrap_gadget = polyfabric_kernels::Gadget { log2_base: 7, levels: 3 };
    })
}

fn alone(order: KeySwitchOrder) -> TfheLowering {
    TfheLowering::new(order, Arithmetic::F64)
}

#[test]
fn bootstrapped_programs_fail_as_often_as_is_said() {
    let (after, before, none) = (KeySwitchOrder::After, KeySwitchOrder::Before, KeySwitchOrder::None);
    check("one look-up, modulus switch", &program(4, 1, false), &alone(after), modulus_switch_dominates);
    check("one look-up, key switch before it", &program(2, 1, false), &alone(before), key_switch_dominates);
    check("one look-up, its result", &program(2, 1, false), &alone(none), rotation_dominates);
}

/// As processors run programs: phases centred, and several tables in one bootstrap.
#[test]
fn programs_on_processors_fail_as_often_as_is_said() {
    let (after, before) = (KeySwitchOrder::After, KeySwitchOrder::Before);
    check("a centred phase", &program(4, 1, false), &TfheLowering::processor(after), modulus_switch_dominates);
    check("two tables, key switch", &two_tables(), &TfheLowering::processor(before), key_switch_dominates);
    check("two tables, blind rotation", &two_tables(), &TfheLowering::processor(after), rotation_dominates);
}

#[test]
fn chained_programs_fail_as_often_as_is_said() {
    let (after, before) = (alone(KeySwitchOrder::After), alone(KeySwitchOrder::Before));
    check("three look-ups, key switch", &program(2, 3, false), &after, key_switch_dominates);
    check("three look-ups, blind rotation", &program(2, 3, false), &before, rotation_dominates);
}

#[test]
fn mixed_programs_fail_as_often_as_is_said() {
    let (after, before) = (alone(KeySwitchOrder::After), alone(KeySwitchOrder::Before));
    check("a sum of four, key switch", &program(2, 1, true), &after, key_switch_dominates);
    check("a sum of four, blind rotation", &program(2, 1, true), &before, rotation_dominates);
}
