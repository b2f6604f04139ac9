//! Names of values in schedules: how they are made, and what of a program they stand for.

use super::workload::Item;
use crate::audit::Datum;
use crate::engine::schedule::{ClassId, Value};
use polyfabric_program::tfhe::kernel::{Body, BodyOp, BodyValue, KernelProgram, OpKind, Primitive};
use std::collections::HashMap;

/// Operations that a value's name has room for, beside its number within one.
pub const MOST_OPERATIONS: usize = 1 << 24;

/// Numbers that a value's name has room for within one operation and iteration.
pub const MOST_NUMBERS: usize = 1 << 8;

/// Index of a value of operation `operation` that is number `number` of its kind in one iteration.
pub fn index(operation: u32, number: usize) -> u32 {
    debug_assert!(number < MOST_NUMBERS, "polynomials and steps of an iteration are few");
    (operation << 8) | number as u32
}

/// Name of an LWE ciphertext off the chip, whose class is `input` if it is one of the inputs, and else `other`.
pub fn ciphertext(program: &KernelProgram, (input, other): (ClassId, ClassId), item: Item) -> Value {
    let is_input = matches!(program.ops[item.op as usize].kind, OpKind::Input { .. });
    let class = if is_input { input } else { other };
    Value { class, ciphertext: item.element, iteration: Value::NONE, index: item.op }
}

/// Values of a blind rotation's body that `value` stands for, whose name has an [`index`]: those that `values` finds, given the body, what
/// `plans` has of the rotation, and the value's number.
pub fn in_body<P>(
    program: &KernelProgram,
    plans: &HashMap<u32, P>,
    value: Value,
    values: impl Fn(&Body, &P, usize) -> Option<Vec<BodyValue>>,
) -> Vec<Datum> {
    let (op, number) = (value.index >> 8, (value.index & 0xff) as usize);
    let found = match program.ops.get(op as usize).map(|op| &op.kind) {
        Some(OpKind::BlindRotation { body, .. }) => plans.get(&op).and_then(|plan| values(body, plan, number)),
        _ => None,
    };
    let (element, iteration) = (value.ciphertext, value.iteration);
    found.into_iter().flatten().map(|value| Datum::Body { op, value, element, iteration }).collect()
}

/// The result of operation `op`.
pub fn result(body: &Body, op: u32) -> BodyValue {
    BodyValue(body.carried + op)
}

/// What a value's first operand is.
pub fn operand(body: &Body, value: BodyValue) -> Option<BodyValue> {
    body.ops[value.index().checked_sub(body.carried as usize)?].operands.first().copied()
}

/// The sum of a column's products up to row `row`, of a body that sums all rows.
pub fn summed(body: &Body, row: u32, column: u32) -> Option<BodyValue> {
    let here = |primitive: Primitive| {
        matches!(primitive, Primitive::Multiply { row: r, column: c } | Primitive::MultiplyAccumulate { row: r, column: c }
            if (r, c) == (row, column))
    };
    body.ops.iter().position(|op| here(op.primitive)).map(|index| result(body, index as u32))
}

/// The sum that the product of inverse transform `op` is added into.
pub fn added(body: &Body, op: u32) -> Option<BodyValue> {
    let product = result(body, op);
    let adds = |op: &BodyOp| op.primitive == Primitive::Add && op.operands.contains(&product);
    body.ops.iter().position(adds).map(|index| result(body, index as u32))
}
