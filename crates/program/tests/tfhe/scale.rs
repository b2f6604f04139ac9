//! Does a network of 230,000 lookups lower to few kernel operations, with equal lookups done once and unneeded ones removed?

use polyfabric_program::tfhe::homomorphic::{Builder, ElementType, LookupResult, NodeId, Program, Range, Table};
use polyfabric_program::tfhe::kernel::{OpKind, count};
use polyfabric_program::tfhe::lowering::{Arithmetic, KeySwitchOrder, TfheLowering, lower};
use polyfabric_program::tfhe::noise::{NoiseReport, report_lowered};
use polyfabric_program::tfhe::{Matrix, MatrixBuilder};
use polyfabric_schemes::tfhe::noise::Transform;
use polyfabric_schemes::tfhe::{Parameters, sets};
use std::sync::Arc;

const WIDTH: usize = 57_500;
const LAYERS: usize = 4;

/// Row r sums the nine values from r on.
fn window() -> Arc<Matrix> {
    let mut builder = MatrixBuilder::new(WIDTH).unwrap();
    for row in 0..WIDTH {
        builder.push_row((0..9).map(|tap| ((row + tap) % WIDTH, if tap % 2 == 0 { 1 } else { -1 }))).unwrap();
    }
    Arc::new(builder.finish())
}

/// The noise with key-switch order `order`.
fn noise_with(program: &Program, parameters: &Parameters, order: KeySwitchOrder) -> NoiseReport {
    report_lowered(program, parameters, &TfheLowering::new(order, Arithmetic::F64), Transform::F64).unwrap()
}

#[test]
fn a_deep_network_lowers_to_one_batch_per_layer() {
    let mut builder = Builder::new("network").unwrap();
    let range = Range::new(0, 1).unwrap();
    let mut value = builder.input("x", ElementType::Integer(range), WIDTH).unwrap();
    let weights = window();
    for _ in 0..LAYERS {
        let sum = builder.linear(value, weights.clone(), &vec![0; WIDTH]).unwrap();
        let domain = Range::new(-4, 5).unwrap();
        let table = Table::tabulate(domain, |sum| i64::from(sum > 0)).unwrap();
        value = builder.lookup(sum, vec![table], None, LookupResult::Integer).unwrap();
    }
    builder.output("y", value).unwrap();
    let program = builder.finish().unwrap();
    let parameters = sets::parameters("strix-I").unwrap();
    let choice = TfheLowering::new(KeySwitchOrder::After, Arithmetic::F64);
    let lowered = lower(&program, &parameters, &choice).unwrap();
    assert_eq!(lowered.lookups(), WIDTH * LAYERS);
    assert_eq!(lowered.ops.len(), 1 + 5 * LAYERS);
    // The last results have the coarse step of an output.
    assert_eq!(lowered.tables.len(), 2);
    let counts = count::program(&lowered);
    // (k+1)(l+1) transforms per iteration.
    assert_eq!(counts.transforms(), (WIDTH * LAYERS * 500 * 6) as u64);
    let report = noise_with(&program, &parameters, KeySwitchOrder::After);
    assert_eq!(report.lookups.len(), LAYERS);
    assert!(report.lookups.iter().all(|lookup| lookup.squared_norm == 9.0 && lookup.count == WIDTH as u64));
}

#[test]
fn equal_lookups_are_done_once_and_shared_operands_are_switched_once() {
    let mut builder = Builder::new("shared").unwrap();
    let range = Range::new(0, 3).unwrap();
    let x = builder.input("x", ElementType::Integer(range), 10).unwrap();
    let mut lookup = |operand: NodeId, f: fn(i64) -> i64| {
        let table = Table::tabulate(range, f).unwrap();
        builder.lookup(operand, vec![table], None, LookupResult::Integer).unwrap()
    };
    let squares = lookup(x, |value| value * value);
    let again = lookup(x, |value| value * value);
    let halves = lookup(x, |value| value / 2);
    let both = builder.add(squares, again).unwrap();
    builder.output("both", both).unwrap();
    builder.output("halves", halves).unwrap();
    let program = builder.finish().unwrap();
    let parameters = sets::parameters("toy-256").unwrap();
    let choice = TfheLowering::new(KeySwitchOrder::Before, Arithmetic::F64);
    let lowered = lower(&program, &parameters, &choice).unwrap();
    assert_eq!(lowered.lookups(), 20);
    let switched: Vec<usize> = lowered
        .ops
        .iter()
        .filter(|op| matches!(op.kind, OpKind::KeySwitch { .. }))
        .map(|op| op.result.count())
        .collect();
    assert_eq!(switched, [10]);
    let report = noise_with(&program, &parameters, KeySwitchOrder::Before);
    // Twice the same ciphertext has weight 2, unlike two independent ones.
    assert_eq!(report.outputs[0].squared_norm, 4.0);
}

/// One sum whose means cancel and one whose means add up, with nearly equal variance; their order must not matter.
#[test]
fn an_output_is_as_noisy_as_its_worst_element_in_any_order() {
    const MIXED: [(usize, i64); 4] = [(0, 1), (1, -1), (2, 1), (3, -1)];
    const DOUBLED: [(usize, i64); 1] = [(4, 2)];
    let report = |rows: &[&[(usize, i64)]]| {
        let mut builder = Builder::new("rows").unwrap();
        let range = Range::new(0, 3).unwrap();
        let x = builder.input("x", ElementType::Integer(range), 5).unwrap();
        let table = Table::tabulate(range, |value| value * value % 4).unwrap();
        let squares = builder.lookup(x, vec![table], None, LookupResult::Integer).unwrap();
        let mut matrix = MatrixBuilder::new(5).unwrap();
        rows.iter().for_each(|row| matrix.push_row(row.iter().copied()).unwrap());
        let matrix = Arc::new(matrix.finish());
        let sums = builder.linear(squares, matrix, &vec![0; rows.len()]).unwrap();
        builder.output("y", sums).unwrap();
        let program = builder.finish().unwrap();
        let parameters = sets::parameters("toy-256").unwrap();
        let report = noise_with(&program, &parameters, KeySwitchOrder::After);
        let output = &report.outputs[0];
        (output.margin, output.log2_failure, output.error_bound)
    };
    let [mixed, doubled, both, other] =
        [&[&MIXED[..]][..], &[&DOUBLED], &[&MIXED, &DOUBLED], &[&DOUBLED, &MIXED]].map(report);
    assert_eq!(both, other);
    assert!(mixed.1 != doubled.1 && both.0 <= mixed.0.min(doubled.0));
    assert!(both.1 >= mixed.1.max(doubled.1), "{both:?}, {mixed:?}, {doubled:?}");
}

#[test]
fn lookups_that_no_output_needs_are_not_done() {
    let mut builder = Builder::new("unread").unwrap();
    let range = Range::new(0, 3).unwrap();
    let x = builder.input("x", ElementType::Integer(range), 10).unwrap();
    let table = || vec![Table::tabulate(range, |value| 3 - value).unwrap()];
    let first = builder.lookup(x, table(), None, LookupResult::Integer).unwrap();
    let second = builder.lookup(first, table(), None, LookupResult::Integer).unwrap();
    builder.lookup(second, table(), None, LookupResult::Integer).unwrap();
    let some = builder.select(second, &[7, 2]).unwrap();
    builder.output("some", some).unwrap();
    let program = builder.finish().unwrap();
    let parameters = sets::parameters("toy-256").unwrap();
    let choice = TfheLowering::new(KeySwitchOrder::After, Arithmetic::F64);
    let lowered = lower(&program, &parameters, &choice).unwrap();
    assert_eq!(lowered.lookups(), 4);
    let report = noise_with(&program, &parameters, KeySwitchOrder::After);
    let counts: Vec<u64> = report.lookups.iter().map(|lookup| lookup.count).collect();
    assert_eq!(counts, [2, 2]);
}
