//! Values of a blind rotation's body by what they are, for the names in schedules.

use polyfabric_program::tfhe::kernel::{Body, BodyOp, BodyValue, Primitive};

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
