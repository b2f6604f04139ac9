//! Do wide tables, exclusive ors of their bits, and operations that become tables agree with wide integers? Which operations become tables?

use super::common::{Compiled, Stream, digits, kinds, wrapped};
use polyfabric_program::tfhe::homomorphic::{Builder, Op};
use polyfabric_program::tfhe::integers::{
    Amount, BitOperation, Direction, IntegerError, IntegerId, IntegerType, Integers,
};
use std::cell::Cell;

/// Lookups of up to 16 values, and bits of wide lookups.
fn counts(made: &Compiled) -> (usize, u32) {
    let nodes = made.program.nodes();
    let lookups = nodes.iter().filter(|node| matches!(node.op, Op::Lookup { .. } | Op::LookupEach { .. })).count();
    let wide = nodes.iter().filter_map(|node| match &node.op {
        Op::LookupWide { widths, .. } => Some(widths.iter().sum::<u32>()),
        _ => None,
    });
    (lookups, wide.max().unwrap_or(0))
}

/// A table of `kind`, x·5 + 3.
fn table(
    integers: &mut Integers,
    builder: &mut Builder,
    index: IntegerId,
    kind: IntegerType,
) -> Result<IntegerId, IntegerError> {
    let bits = integers.kind(index)?.bits;
    let entries: Vec<Vec<u8>> = (0..1i128 << bits).map(|x| digits(entry(x), kind)).collect();
    integers.table(builder, index, kind, &entries)
}

fn entry(x: i128) -> i128 {
    x * 5 + 3
}

#[test]
fn bits_of_tables_are_moved_and_added_without_lookups() {
    let mut stream = Stream(31);
    for kind in kinds(&[1, 2, 7, 8, 20]) {
        let index = IntegerType::unsigned(5);
        let public = [stream.value(kind), stream.value(kind)];
        let turn = u64::from(kind.bits / 2);
        let wider = IntegerType { bits: kind.bits + 3, signed: kind.signed };
        let made = Compiled::new(2, 2, &[index, index], |i, b, x| {
            i.set_wide_tables(true);
            let (left, right) = (table(i, b, x[0], kind)?, table(i, b, x[1], kind)?);
            let other = i.public(b, kind, &public.map(|number| digits(number, kind)))?;
            let both = i.bitwise(b, BitOperation::Xor, left, right)?;
            let turned = i.shift(b, Direction::RotateLeft, both, Amount::Public(turn))?;
            let low = i.shift(b, Direction::Right, both, Amount::Public(1))?;
            let sum = i.bitwise(b, BitOperation::Xor, turned, low)?;
            let crossed = i.take(b, sum, &[1, 0])?;
            let known = i.bitwise(b, BitOperation::Xor, other, crossed)?;
            let inverted = i.not(b, known)?;
            // Twice the same bits vanish, and a second table reads sums.
            let own = i.bitwise(b, BitOperation::Xor, inverted, left)?;
            let back = i.bitwise(b, BitOperation::Xor, own, left)?;
            let joined = i.concat(b, &[back, sum])?;
            let again = i.take(b, joined, &[2, 3])?;
            Ok(vec![both, known, i.cast(b, back, wider)?, again])
        });
        assert_eq!(counts(&made).0, 0, "{kind}");
        for _ in 0..10 {
            let given: Vec<Vec<i128>> = (0..2).map(|_| (0..2).map(|_| stream.value(index)).collect()).collect();
            let found = made.evaluate(&given);
            let mask = (1i128 << kind.bits) - 1;
            let both: Vec<i128> = (0..2).map(|at| (entry(given[0][at]) ^ entry(given[1][at])) & mask).collect();
            let sum = both.iter().map(|&own| {
                let turned = own << turn | own >> (u64::from(kind.bits) - turn);
                (turned ^ wrapped(own, kind) >> 1) & mask
            });
            let sum: Vec<i128> = sum.collect();
            let known: Vec<i128> = (0..2).map(|at| public[at] ^ sum[1 - at]).collect();
            let own = |values: &[i128]| values.iter().map(|&value| wrapped(value, kind)).collect::<Vec<_>>();
            let inverted = known.iter().map(|&value| wrapped(wrapped(!value, kind), wider)).collect();
            assert_eq!(found, [own(&both), own(&known), inverted, own(&sum)], "{given:?} of {kind}");
        }
    }
}

#[test]
fn tables_read_sums_of_bits() {
    let kind = IntegerType::unsigned(6);
    let made = Compiled::new(2, 1, &[kind, kind], |i, b, x| {
        i.set_wide_tables(true);
        let (left, right) = (table(i, b, x[0], kind)?, table(i, b, x[1], kind)?);
        let mut sum = i.bitwise(b, BitOperation::Xor, left, right)?;
        for _ in 0..300 {
            // Every table adds noise, so that the sum is read afresh at times.
            let next = table(i, b, sum, kind)?;
            sum = i.bitwise(b, BitOperation::Xor, sum, next)?;
        }
        Ok(vec![table(i, b, sum, kind)?])
    });
    assert_eq!(counts(&made).0, 0);
    made.check(&mut Stream(32), 3, |x| {
        let mut sum = (entry(x[0]) ^ entry(x[1])) & 63;
        for _ in 0..300 {
            sum ^= entry(sum) & 63;
        }
        vec![entry(sum)]
    });
}

/// An operation with wide tables, and the bits of the largest one: all bits of `inputs` if its lookups on digits would cost more, otherwise 0.
fn bits(
    inputs: &[IntegerType],
    operation: impl Fn(&mut Integers, &mut Builder, &[IntegerId]) -> Result<Vec<IntegerId>, IntegerError>,
) -> (Compiled, u32) {
    let replaceable = Cell::new(false);
    let by_lookups = Compiled::new(2, 1, inputs, |i, b, x| {
        let made = operation(i, b, x);
        replaceable.set(i.has_replaceable_lookups());
        made
    });
    let plain = counts(&by_lookups).0;
    let made = Compiled::new(2, 1, inputs, |i, b, x| {
        i.set_wide_tables(true);
        operation(i, b, x)
    });
    let (lookups, wide) = counts(&made);
    let all = inputs.iter().map(|kind| kind.bits).sum::<u32>();
    let cheaper = all <= 16 && plain as f64 > 1.2 * f64::from(all);
    assert_eq!((lookups == 0, wide), (cheaper, if cheaper { all } else { 0 }), "{plain} lookups, {inputs:?}");
    assert_eq!(replaceable.get(), cheaper);
    (made, wide)
}

#[test]
fn operations_on_few_bits_become_tables_where_that_costs_less() {
    let mut stream = Stream(33);
    for width in [3, 6, 8, 9] {
        for signed in [false, true] {
            let kind = IntegerType { bits: width, signed };
            let (made, _) = bits(&[kind, kind], |i, b, x| Ok(vec![i.mul(b, x[0], x[1])?]));
            made.check(&mut stream, 10, |x| vec![x[0] * x[1]]);
            let (made, _) = bits(&[kind], |i, b, x| Ok(vec![i.mul(b, x[0], x[0])?]));
            made.check(&mut stream, 10, |x| vec![x[0] * x[0]]);
            let (made, power) = bits(&[kind], |i, b, x| Ok(vec![i.pow(b, x[0], 5)?]));
            made.check(&mut stream, 10, |x| vec![x[0].pow(5)]);
            assert_eq!(power, width);
            let made = Compiled::new(2, 1, &[kind, kind], |i, b, x| {
                i.set_wide_tables(true);
                i.divide(b, x[0], x[1]).map(|both| vec![both.0, both.1])
            });
            assert_eq!(counts(&made).1, if width < 9 { 2 * width } else { 0 });
            made.check(&mut stream, 10, |x| {
                if x[1] == 0 {
                    let ones = if x[0] >= 0 { -1 } else { 0 };
                    return vec![if signed { ones } else { -1 }, x[0]];
                }
                let rest = x[0].rem_euclid(x[1].abs());
                let rest = if x[1] < 0 && rest != 0 { rest + x[1] } else { rest };
                vec![(x[0] - rest) / x[1], rest]
            });
        }
    }
    let (kind, amount) = (IntegerType::unsigned(12), IntegerType::unsigned(4));
    let (made, found) =
        bits(&[kind, amount], |i, b, x| Ok(vec![i.shift(b, Direction::Left, x[0], Amount::Encrypted(x[1]))?]));
    made.check(&mut stream, 20, |x| vec![x[0] << x[1]]);
    assert_eq!(found, 16);
    // By public numbers, alone and for each element.
    let kind = IntegerType::unsigned(8);
    let seven = digits(7, kind);
    let (made, found) = bits(&[kind], |i, b, x| {
        let by = i.public(b, kind, std::slice::from_ref(&seven))?;
        i.divide(b, x[0], by).map(|both| vec![both.0, both.1])
    });
    made.check(&mut stream, 20, |x| vec![x[0] / 7, x[0] % 7]);
    assert_eq!(found, 8);
    // Of a cast only the lower bits are encrypted.
    let (narrow, kind) = (IntegerType::unsigned(6), IntegerType::unsigned(12));
    let (made, found) = bits(&[narrow, narrow], |i, b, x| {
        let (left, right) = (i.cast(b, x[0], kind)?, i.cast(b, x[1], kind)?);
        Ok(vec![i.mul(b, left, right)?])
    });
    made.check(&mut stream, 20, |x| vec![x[0] * x[1]]);
    assert_eq!(found, 12);
}
