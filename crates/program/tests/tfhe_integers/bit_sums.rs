//! Do random chains of shifts, gates, masks, choices and sums give what wide integers give, however bits and digits take turns? Do checksums take
//! few lookups?

use super::common::{Compiled, Stream, digits, kinds, wrapped};
use super::cost::cost;
use polyfabric_program::tfhe::homomorphic::Builder;
use polyfabric_program::tfhe::integers::{
    Amount, BitOperation, Comparison, Direction, IntegerError, IntegerId, IntegerType, Integers, Weighted,
};

/// One step of a chain, on two earlier values.
#[derive(Clone, Copy)]
struct Step {
    what: u64,
    at: [usize; 2],
    amount: u64,
    public: i128,
}

fn steps(stream: &mut Stream, kind: IntegerType, inputs: usize, length: usize) -> Vec<Step> {
    (0..length)
        .map(|done| {
            // Mostly late values, so that chains are long.
            let mut earlier = || {
                let known = (inputs + done) as u64;
                (known - 1 - stream.next() % known.min(1 + stream.next() % 4)) as usize
            };
            let at = [earlier(), earlier()];
            let (what, amount) = (stream.next() % 16, stream.next() % u64::from(kind.bits + 2));
            Step { what, at, amount, public: stream.value(kind) }
        })
        .collect()
}

fn built(
    (i, b): (&mut Integers, &mut Builder),
    kind: IntegerType,
    x: &[IntegerId],
    steps: &[Step],
) -> Result<Vec<IntegerId>, IntegerError> {
    let mut values = x.to_vec();
    for step in steps {
        let [x, y] = step.at.map(|at| values[at]);
        let public = i.public(b, kind, &[digits(step.public, kind)])?;
        let amount = Amount::Public(step.amount);
        values.push(match step.what {
            0 => i.shift(b, Direction::Left, x, amount)?,
            1 => i.shift(b, Direction::Right, x, amount)?,
            2 => i.shift(b, Direction::RotateLeft, x, amount)?,
            3 => i.shift(b, Direction::RotateRight, x, amount)?,
            4 | 5 => i.bitwise(b, BitOperation::Xor, x, y)?,
            6 => i.bitwise(b, BitOperation::And, x, y)?,
            7 => i.bitwise(b, BitOperation::Or, y, x)?,
            8 => i.bitwise(b, BitOperation::Xor, x, public)?,
            9 => i.bitwise(b, BitOperation::And, public, x)?,
            10 => i.bitwise(b, BitOperation::Or, x, public)?,
            11 => i.not(b, x)?,
            12 => i.sum(b, "sum", &[Weighted { weight: 1, value: x }, Weighted { weight: 1, value: y }])?,
            13 => {
                let bit = i.bit(b, x, step.amount as u32 % kind.bits)?;
                let turned = i.bitwise(b, BitOperation::Xor, y, public)?;
                i.select(b, bit, turned, y)?
            }
            14 => {
                let masked = i.bitwise(b, BitOperation::And, x, public)?;
                let equal = i.compare(b, Comparison::Equal, masked, public)?;
                i.select(b, equal, x, y)?
            }
            _ => {
                let other = i.compare(b, Comparison::NotEqual, x, public)?;
                let less = i.compare(b, Comparison::Less, x, y)?;
                let both = i.bitwise(b, BitOperation::Xor, other, less)?;
                let moved = i.shift(b, Direction::Left, y, Amount::Public(1))?;
                i.select(b, both, moved, x)?
            }
        });
    }
    Ok(values.split_off(x.len()))
}

fn expected(kind: IntegerType, x: &[i128], steps: &[Step]) -> Vec<i128> {
    let mut values = x.to_vec();
    let bits = u64::from(kind.bits);
    for step in steps {
        let [x, y] = step.at.map(|at| values[at]);
        let (public, own) = (step.public, x & ((1 << kind.bits) - 1));
        let turn = |by: u64| own << by | own >> (bits - by);
        let found = match step.what {
            0 if step.amount >= bits => 0,
            0 => x << step.amount,
            1 => x >> step.amount,
            2 => turn(step.amount % bits),
            3 => turn((bits - step.amount % bits) % bits),
            4 | 5 => x ^ y,
            6 => x & y,
            7 => x | y,
            8 => x ^ public,
            9 => x & public,
            10 => x | public,
            11 => !x,
            12 => x + y,
            13 => y ^ if x >> (step.amount % bits) & 1 == 1 { public } else { 0 },
            14 => [y, x][usize::from(x & public == public)],
            _ if (x != public) != (x < y) => y << 1,
            _ => x,
        };
        values.push(wrapped(found, kind));
    }
    values.split_off(x.len())
}

#[test]
fn random_chains() {
    let mut stream = Stream(31);
    for kind in kinds(&[1, 2, 3, 8, 9, 16, 33]) {
        for _ in 0..24 {
            let steps = steps(&mut stream, kind, 3, 24);
            let made = Compiled::new(2, 2, &[kind; 3], |i, b, x| built((i, b), kind, x, &steps));
            made.check(&mut stream, 3, |x| expected(kind, x, &steps));
        }
    }
}

/// One bootstrap a digit of the four bytes, two a digit of the result, and those of sums of more than 15 bits.
#[test]
fn checksums_take_few_lookups() {
    let (byte, word) = (IntegerType::unsigned(8), IntegerType::unsigned(16));
    let made = Compiled::new(2, 1, &[byte; 4], |i, b, x| {
        let number = |i: &mut Integers, b: &mut Builder, value| i.public(b, word, &[digits(value, word)]);
        let (one, polynomial) = (number(i, b, 1)?, number(i, b, 0x1021)?);
        let mut register = number(i, b, 0)?;
        for byte in x {
            let byte = i.cast(b, *byte, word)?;
            let byte = i.shift(b, Direction::Left, byte, Amount::Public(8))?;
            register = i.bitwise(b, BitOperation::Xor, register, byte)?;
            for _ in 0..8 {
                let top = i.shift(b, Direction::Right, register, Amount::Public(15))?;
                let top = i.compare(b, Comparison::Equal, top, one)?;
                let moved = i.shift(b, Direction::Left, register, Amount::Public(1))?;
                let turned = i.bitwise(b, BitOperation::Xor, moved, polynomial)?;
                register = i.select(b, top, turned, moved)?;
            }
        }
        Ok(vec![register])
    });
    made.check(&mut Stream(32), 20, |x| {
        let mut register = 0;
        for byte in x {
            register ^= byte << 8;
            for _ in 0..8 {
                register = register << 1 ^ if register >> 15 == 1 { 0x1021 } else { 0 };
                register &= 0xffff;
            }
        }
        vec![register]
    });
    let (lookups, levels) = cost(&made);
    assert!(lookups <= 64 && levels <= 6, "{lookups} {levels}");
}

/// A generator of random numbers, whose steps were two lookups a digit each.
#[test]
fn shifts_and_exclusive_ors_take_no_lookups_in_between() {
    let kind = IntegerType::unsigned(32);
    let made = Compiled::new(2, 1, &[kind], |i, b, x| {
        let mut state = x[0];
        for (direction, by) in [(Direction::Left, 13), (Direction::Right, 17), (Direction::Left, 5)] {
            let moved = i.shift(b, direction, state, Amount::Public(by))?;
            state = i.bitwise(b, BitOperation::Xor, state, moved)?;
        }
        Ok(vec![state])
    });
    made.check(&mut Stream(33), 20, |x| {
        let first = wrapped(x[0] ^ x[0] << 13, kind);
        let second = first ^ first >> 17;
        vec![wrapped(second ^ second << 5, kind)]
    });
    assert!(cost(&made).0 <= 48, "{:?}", cost(&made));
}
