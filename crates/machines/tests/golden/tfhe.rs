//! Results of the TFHE machines.

use super::common::{all_machines, gates, tables_of_one};
use super::{Record, Records, labels};
use polyfabric_machines::Machine;
use polyfabric_machines::contract::Family;
use polyfabric_machines::contract::tfhe::{MappedTfhe, lowering, map, report};
use polyfabric_machines::tfhe::labels::{Lookups, Meaning};
use polyfabric_machines::tfhe::replay::replay;
use polyfabric_program::tfhe::builtin;
use polyfabric_program::tfhe::homomorphic::{Builder, ElementType, LookupResult, Program, Range, Table};
use polyfabric_program::tfhe::integers::{Comparison, IntegerType, Integers};
use polyfabric_program::tfhe::kernel::{KernelProgram, ValueType};
use polyfabric_program::tfhe::lowering::{KeySwitchOrder, TfheLowering, lower};
use polyfabric_program::tfhe::matrix::Matrix;
use polyfabric_runtime::NoProgress;
use polyfabric_schemes::tfhe::noise::Transform;
use polyfabric_schemes::tfhe::{ClientKey, ServerKey, sets};
use polyfabric_sim::schedule::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Every machine of the family with every program.
pub fn records() -> Records {
    let mut records = Records::new();
    for machine in machines() {
        for (name, program) in small(&machine) {
            let mapped = map(&machine, &program).expect("it fits");
            let found = report(&machine, &program, &mapped).unwrap_or_else(|error| panic!("{name}: {error}"));
            let mut record = Record::of(&found);
            record.schedule = Some(schedule(&program, &mapped));
            record.words = Some(words(&program, &mapped));
            records.insert(format!("{}, {name}", machine.name()), record);
        }
        for (name, program) in folded(&machine) {
            let mapped = map(&machine, &program).expect("it fits");
            let found = report(&machine, &program, &mapped).unwrap_or_else(|error| panic!("{name}: {error}"));
            records.insert(format!("{}, {name}", machine.name()), Record::of(&found));
        }
    }
    records
}

pub fn machines() -> impl Iterator<Item = Machine> {
    all_machines().into_iter().filter(|machine| machine.family() == Family::Tfhe)
}

/// Small programs, in the machine's own arithmetic.
pub fn small(machine: &Machine) -> Vec<(String, KernelProgram)> {
    let set = sets::parameters("toy-256").expect("a set of the table");
    let choice = |order| lowering(machine, &set, order).expect("a set of 32 bits");
    let (after, before) = (choice(KeySwitchOrder::After), choice(KeySwitchOrder::Before));
    let built_in = |name, count| {
        let built = builtin::build(name, &set, count, &after, Transform::Exact).expect("a program");
        (format!("{name} x {count}"), built.kernel)
    };
    let lowered = |name: &str, program: &Program, choice: &TfheLowering| {
        (name.to_owned(), lower(program, &set, choice).expect("it is lowered"))
    };
    vec![
        built_in("pbs", 1),
        built_in("pbs+ks", 5),
        built_in("pbs+ks", 40),
        built_in("keyswitch", 7),
        lowered("gates", &gates(), &after),
        lowered("gates, key switch before", &gates(), &before),
        lowered("six tables of one ciphertext", &tables_of_one(), &after),
        lowered("a choice of tables between linear layers", &network(), &after),
        lowered("integers", &integers(), &after),
    ]
}

/// Programs of a real size, whose loops the checker folds.
fn folded(machine: &Machine) -> Vec<(String, KernelProgram)> {
    let set = sets::parameters("morphling-I").expect("a set of the table");
    let choice = lowering(machine, &set, KeySwitchOrder::After).expect("a set of 32 bits");
    let built = builtin::build("pbs+ks", &set, 300, &choice, Transform::Exact).expect("a program");
    vec![("pbs+ks x 300 of set I".to_owned(), built.kernel)]
}

/// A linear layer, a choice among three tables for each element, another linear layer.
fn network() -> Program {
    let range = Range::new(0, 1).expect("a range");
    let matrix = |rows: usize, columns: usize| {
        let weight = |row, column| i64::from((row + 2 * column) % 3 == 0);
        let rows: Vec<Vec<i64>> =
            (0..rows).map(|row| (0..columns).map(|column| weight(row, column)).collect()).collect();
        Arc::new(Matrix::from_dense(&rows).expect("rows of one length"))
    };
    let mut builder = Builder::new("network").expect("a name");
    let x = builder.input("x", ElementType::Integer(range), 4).expect("an input");
    let sums = builder.linear(x, matrix(6, 4), &[0, 1, 0, 1, 0, 1]).expect("sums");
    let found = Range::new(0, 7).expect("a range");
    let tables = (1..4).map(|by| Table::tabulate(found, |value| value / by % 2).expect("a table")).collect();
    let hidden = builder.lookup(sums, tables, Some(vec![0, 1, 2, 2, 1, 0]), LookupResult::Integer).expect("lookups");
    let last = builder.linear(hidden, matrix(2, 6), &[0, 0]).expect("sums");
    builder.output("y", last).expect("an output");
    builder.finish().expect("a program")
}

/// The minimum of two 4-bit integers, plus one of them.
fn integers() -> Program {
    let kind = IntegerType::unsigned(4);
    let mut builder = Builder::new("integers").expect("a name");
    let mut integers = Integers::new(1);
    let [x, y] = ["x", "y"].map(|name| integers.input(&mut builder, name, kind, 1).expect("an input"));
    let less = integers.compare(&mut builder, Comparison::Less, x, y).expect("two integers");
    let least = integers.select(&mut builder, less, x, y).expect("two integers");
    let sum = integers.add(&mut builder, least, y).expect("two integers");
    integers.output(&mut builder, "sum", sum).expect("an output");
    builder.finish().expect("a program")
}

/// Hash of all events.
fn schedule(program: &KernelProgram, mapped: &MappedTfhe) -> String {
    let lookups = Lookups::new(program);
    let events = mapped.schedule.events().map(|placed| placed.to_event());
    labels::hash(&mapped.schedule.resources, events, |_, value| label(mapped, &lookups, value))
}

/// The meaning of a value. Tokens and partial sums over any set of columns have no label.
fn label(mapped: &MappedTfhe, lookups: &Lookups, value: Value) -> Option<String> {
    let text = |meaning| match meaning {
        Meaning::Lwe { op, element } => Some(format!("lwe {op} {element}")),
        Meaning::Amounts { lookup } => {
            let (op, element) = lookups.of(lookup);
            Some(format!("amounts {op} {element}"))
        }
        Meaning::Body { value, lookup, iteration } => {
            let (op, element) = lookups.of(lookup);
            Some(format!("body {op} {element} {iteration} {}", value.index()))
        }
        Meaning::Key { iteration, row, column } => Some(format!("key {iteration} {row} {column}")),
        Meaning::Table { index } => Some(format!("table {index}")),
        Meaning::Twiddles { ring_degree } => Some(format!("twiddles {ring_degree}")),
        Meaning::SwitchKey { from, length } => Some(format!("switch key {from} {}", from + length)),
        Meaning::SwitchSum { op, element, done } => Some(format!("switch sum {op} {element} {done}")),
        Meaning::LinearSum { .. } | Meaning::Token { .. } => None,
    };
    let parts: Vec<String> = mapped.labels.meanings(value).map(text).collect::<Option<_>>()?;
    (!parts.is_empty()).then(|| parts.join(" & "))
}

/// Hash of the output words for fixed keys and inputs.
fn words(program: &KernelProgram, mapped: &MappedTfhe) -> String {
    let client = ClientKey::<u32>::for_tests(&program.parameters, 7).expect("a checked set");
    let server = ServerKey::<u32>::for_tests(&client, 8);
    let mut inputs = BTreeMap::new();
    for (seed, (name, _, value)) in (3..).zip(program.inputs()) {
        let ValueType::Lwe { kind, count, .. } = value else { panic!("inputs are ciphertexts") };
        let plain: Vec<u32> = (0..count as u32).map(|i| if i % 3 == 0 { 1 << 29 } else { 7 << 29 }).collect();
        inputs.insert(name.to_owned(), client.encrypt_for_tests(kind, &plain, seed));
    }
    let replayed = replay(&mapped.schedule, &mapped.labels, program, &server, &inputs, &NoProgress);
    let replayed = replayed.expect("a legal schedule");
    super::hash(replayed.outputs.values().flat_map(|batch| batch.data()).flat_map(|word| word.to_le_bytes()))
}
