//! Do operations take the documented numbers of lookups and levels?

use super::common::Compiled;
use polyfabric_program::tfhe::integers::{Amount, BitOperation, Comparison, Direction, IntegerType};
use polyfabric_program::tfhe::kernel::OpKind;
use polyfabric_program::tfhe::lowering::{KeySwitchOrder, TfheLowering, lower};
use polyfabric_program::tfhe::noise::{Encryption, choose_parameters};
use polyfabric_schemes::tfhe::noise::Transform;
use polyfabric_schemes::tfhe::sets;

/// Number of blind rotations, and the longest chain of them.
pub fn cost(made: &Compiled) -> (usize, usize) {
    let parameters = sets::parameters("polyfabric-4-p128-t64").unwrap();
    let kernel = lower(&made.program, &parameters, &TfheLowering::processor(KeySwitchOrder::Before)).unwrap();
    let mut depths = vec![0; kernel.ops.len()];
    for (index, op) in kernel.ops.iter().enumerate() {
        let below = op.operands.iter().map(|operand| depths[operand.index()]).max().unwrap_or(0);
        depths[index] = below + usize::from(matches!(op.kind, OpKind::BlindRotation { .. }));
    }
    (kernel.lookups(), depths.into_iter().max().unwrap_or(0))
}

#[test]
fn costs_match_the_documented_table() {
    let mut found = Vec::new();
    for bits in [8, 32, 64] {
        let kind = IntegerType::unsigned(bits);
        let amount = IntegerType::unsigned(bits.ilog2());
        let bit = IntegerType::unsigned(1);
        let two = |operation: &dyn Fn(&mut _, &mut _, _, _) -> _| {
            cost(&Compiled::new(2, 1, &[kind, kind], |i, b, x| Ok(vec![operation(i, b, x[0], x[1])?])))
        };
        found.push((bits, "add", two(&|i: &mut polyfabric_program::tfhe::integers::Integers, b, x, y| i.add(b, x, y))));
        found.push((bits, "and", two(&|i, b, x, y| i.bitwise(b, BitOperation::And, x, y))));
        found.push((bits, "equal", two(&|i, b, x, y| i.compare(b, Comparison::Equal, x, y))));
        found.push((bits, "less", two(&|i, b, x, y| i.compare(b, Comparison::Less, x, y))));
        found.push((bits, "max", two(&|i, b, x, y| i.extreme(b, x, y, false))));
        found.push((bits, "multiply", two(&|i, b, x, y| i.mul(b, x, y))));
        let square = Compiled::new(2, 1, &[kind], |i, b, x| Ok(vec![i.mul(b, x[0], x[0])?]));
        found.push((bits, "square", cost(&square)));
        found.push((bits, "divide", two(&|i, b, x, y| Ok(i.divide(b, x, y)?.0))));
        let shift = Compiled::new(2, 1, &[kind, amount], |i, b, x| {
            Ok(vec![i.shift(b, Direction::Left, x[0], Amount::Encrypted(x[1]))?])
        });
        found.push((bits, "shift", cost(&shift)));
        let select = Compiled::new(2, 1, &[bit, kind, kind], |i, b, x| Ok(vec![i.select(b, x[0], x[1], x[2])?]));
        found.push((bits, "select", cost(&select)));
    }
    let text: String =
        found.iter().map(|(bits, name, (lookups, levels))| format!("{bits} {name} {lookups} {levels}\n")).collect();
    assert_eq!(text, include_str!("costs.txt"), "{text}");
}

/// A digit is read for its carry and for a selection, or times itself; one torus step fits all, so the set with the smaller ring suffices.
#[test]
fn carries_and_choices_of_one_number_need_no_larger_set() {
    let kind = IntegerType::unsigned(8);
    let quotient = Compiled::new(2, 1, &[kind, kind], |i, b, x| Ok(vec![i.divide(b, x[0], x[1])?.0]));
    let greater = Compiled::new(2, 1, &[kind, kind], |i, b, x| {
        let sum = i.add(b, x[0], x[1])?;
        let most = i.extreme(b, sum, x[0], false)?;
        Ok(vec![i.add(b, most, sum)?])
    });
    let square = Compiled::new(2, 1, &[kind], |i, b, x| Ok(vec![i.mul(b, x[0], x[0])?]));
    for made in [quotient, greater, square] {
        let chosen =
            choose_parameters(&made.program, -128.0, (false, None), Transform::F64, (Encryption::Secret, None))
                .unwrap();
        assert_eq!(chosen.parameters.ring_degree().get(), 2048, "{}", chosen.parameters.name());
    }
}
