//! Bits, shifts, casts, tables, vectors.

use super::common::{Compiled, Stream, digits, kinds, wrapped};
use polyfabric_program::tfhe::integers::{Amount, BitOperation, Comparison, Direction, IntegerType};

#[test]
fn bits_and_leading_zeros() {
    let mut stream = Stream(11);
    for kind in kinds(&[1, 2, 5, 8, 64, 96]) {
        let public = stream.value(kind);
        let made = Compiled::new(2, 2, &[kind, kind], |i, b, x| {
            let c = i.public(b, kind, &[digits(public, kind)])?;
            Ok(vec![
                i.bitwise(b, BitOperation::And, x[0], x[1])?,
                i.bitwise(b, BitOperation::Or, x[0], x[1])?,
                i.bitwise(b, BitOperation::Xor, x[0], x[1])?,
                i.bitwise(b, BitOperation::And, x[0], c)?,
                i.bitwise(b, BitOperation::Xor, c, x[0])?,
                i.leading_zeros(b, x[0])?,
                i.bit(b, x[0], kind.bits / 2)?,
            ])
        });
        made.check(&mut stream, 10, |x| {
            let own = x[0] & ((1 << kind.bits) - 1);
            let zeros = i128::from(kind.bits) - i128::from(128 - own.leading_zeros());
            let bits = [x[0] & x[1], x[0] | x[1], x[0] ^ x[1], x[0] & public, public ^ x[0]];
            [&bits[..], &[zeros, own >> (kind.bits / 2) & 1]].concat()
        });
    }
}

fn shifted(direction: Direction, value: i128, amount: i128, kind: IntegerType) -> i128 {
    let (bits, own) = (i128::from(kind.bits), value & ((1 << kind.bits) - 1));
    match direction {
        Direction::Left if amount >= bits => 0,
        Direction::Left => own << amount,
        Direction::Right => value >> amount.min(120),
        Direction::RotateLeft => own << (amount % bits) | own >> (bits - amount % bits),
        Direction::RotateRight => own >> (amount % bits) | own << (bits - amount % bits),
    }
}

const DIRECTIONS: [Direction; 4] = [Direction::Left, Direction::Right, Direction::RotateLeft, Direction::RotateRight];

#[test]
fn shifts_by_public_amounts() {
    let mut stream = Stream(12);
    for kind in kinds(&[1, 2, 3, 8, 15, 60]) {
        for amount in (0..kind.bits + 3).step_by(1 + kind.bits as usize / 9) {
            let made = Compiled::new(2, 2, &[kind], |i, b, x| {
                DIRECTIONS.iter().map(|&d| i.shift(b, d, x[0], Amount::Public(amount.into()))).collect()
            });
            made.check(&mut stream, 3, |x| DIRECTIONS.iter().map(|&d| shifted(d, x[0], amount.into(), kind)).collect());
        }
    }
}

#[test]
fn shifts_by_encrypted_amounts() {
    let mut stream = Stream(13);
    for kind in kinds(&[1, 2, 3, 5, 6, 8, 15, 32, 33, 60]) {
        for amount in [1, 3, 5, 8].map(IntegerType::unsigned) {
            let made = Compiled::new(2, 1, &[kind, amount], |i, b, x| {
                DIRECTIONS.iter().map(|&d| i.shift(b, d, x[0], Amount::Encrypted(x[1]))).collect()
            });
            made.check(&mut stream, 10, |x| DIRECTIONS.iter().map(|&d| shifted(d, x[0], x[1], kind)).collect());
        }
    }
}

/// Bit 65 of an amount is worth more digits than a word counts.
#[test]
fn shifts_by_encrypted_amounts_beyond_a_word() {
    let mut stream = Stream(17);
    let amount = IntegerType::unsigned(70);
    for kind in kinds(&[1, 2, 5, 6, 8, 10]) {
        let made = Compiled::new(2, 1, &[kind, amount], |i, b, x| {
            DIRECTIONS.iter().map(|&d| i.shift(b, d, x[0], Amount::Encrypted(x[1]))).collect()
        });
        made.check(&mut stream, 40, |x| DIRECTIONS.iter().map(|&d| shifted(d, x[0], x[1], kind)).collect());
    }
}

#[test]
fn casts_keep_the_value_modulo_the_width() {
    let mut stream = Stream(14);
    for from in kinds(&[1, 2, 3, 8, 21]) {
        for to in kinds(&[1, 2, 3, 6, 9, 32]) {
            let made = Compiled::new(2, 1, &[from], |i, b, x| Ok(vec![i.cast(b, x[0], to)?]));
            made.check(&mut stream, 6, |x| vec![x[0]]);
        }
    }
}

#[test]
fn tables_with_an_encrypted_index() {
    let mut stream = Stream(15);
    for bits in [1, 2, 3, 4, 5, 8, 10] {
        let (index, kind) = (IntegerType::unsigned(bits), IntegerType { bits: 7, signed: bits % 2 == 0 });
        let entries: Vec<i128> = (0..1 << bits).map(|_| stream.value(kind)).collect();
        let written: Vec<Vec<u8>> = entries.iter().map(|entry| digits(*entry, kind)).collect();
        let made = Compiled::new(2, 2, &[index], |i, b, x| Ok(vec![i.table(b, x[0], kind, &written)?]));
        made.check(&mut stream, 20, |x| vec![entries[x[0] as usize]]);
    }
}

#[test]
fn vectors_and_what_holds_of_them() {
    let kind = IntegerType::unsigned(8);
    let mut stream = Stream(16);
    for length in [1, 4, 37] {
        let made = Compiled::new(2, length, &[kind, kind], |i, b, x| {
            let equal = i.compare(b, Comparison::Equal, x[0], x[1])?;
            let whole = vec![(0..length).collect::<Vec<_>>()];
            let twice = i.concat(b, &[x[0], x[1]])?;
            Ok(vec![
                i.holds(b, equal, &whole, false)?,
                i.holds(b, equal, &whole, true)?,
                i.total(b, x[0])?,
                i.take(b, twice, &[2 * length - 1, 0])?,
            ])
        });
        for round in 0..8 {
            let left: Vec<i128> = (0..length).map(|_| stream.value(kind)).collect();
            let mut right = left.clone();
            match round % 4 {
                0 => {}
                1 => right[length / 2] ^= 1,
                _ => right.iter_mut().for_each(|value| *value ^= 1 + stream.value(IntegerType::unsigned(4)) % 15),
            }
            let equal: Vec<bool> = left.iter().zip(&right).map(|(a, b)| a == b).collect();
            let expected = vec![
                vec![i128::from(equal.iter().all(|e| *e))],
                vec![i128::from(equal.iter().any(|e| *e))],
                vec![wrapped(left.iter().sum(), kind)],
                vec![right[length - 1], left[0]],
            ];
            assert_eq!(made.evaluate(&[left, right]), expected);
        }
    }
}
