//! Sums, differences, products, quotients, and comparisons.

use super::common::{Compiled, Stream, digits, kinds, wrapped};
use polyfabric_program::tfhe::integers::{Comparison, IntegerType, Weighted};

const WIDTHS: [u32; 10] = [1, 2, 3, 4, 7, 8, 16, 33, 64, 96];
/// One lookup at a time, and very many in parallel.
const LANES: [usize; 2] = [1, 1 << 20];

#[test]
fn sums_and_differences_wrap() {
    let mut stream = Stream(1);
    for lanes in LANES {
        for kind in kinds(&WIDTHS) {
            let made = Compiled::new(lanes, 3, &[kind, kind], |i, b, x| {
                Ok(vec![
                    i.add(b, x[0], x[1])?,
                    i.sub(b, x[0], x[1])?,
                    i.neg(b, x[0])?,
                    i.not(b, x[1])?,
                    i.abs(b, x[0])?,
                ])
            });
            made.check(&mut stream, 8, |x| vec![x[0] + x[1], x[0] - x[1], -x[0], !x[1], x[0].abs()]);
        }
    }
}

#[test]
fn sums_of_many_carry_late() {
    let mut stream = Stream(2);
    for lanes in LANES {
        for kind in kinds(&[2, 5, 8, 32, 80]) {
            for addends in [3, 5, 9, 40] {
                let made = Compiled::new(lanes, 1, &vec![kind; addends], |i, b, x| {
                    let weighted: Vec<Weighted> = x
                        .iter()
                        .enumerate()
                        .map(|(at, &value)| Weighted { weight: 1 - 2 * (at as i64 % 3 / 2), value })
                        .collect();
                    let chained = x.iter().skip(1).try_fold(x[0], |sum, x| i.add(b, sum, *x))?;
                    Ok(vec![i.sum(b, "sum", &weighted)?, chained])
                });
                made.check(&mut stream, 4, |x| {
                    let signed = x.iter().enumerate().map(|(at, x)| if at % 3 == 2 { -x } else { *x });
                    vec![signed.sum(), x.iter().sum()]
                });
            }
        }
    }
}

#[test]
fn public_operands_are_folded() {
    let mut stream = Stream(3);
    for kind in kinds(&[1, 4, 8, 31, 64]) {
        for _ in 0..6 {
            let public = stream.value(kind);
            let made = Compiled::new(2, 2, &[kind], |i, b, x| {
                let c = i.public(b, kind, &[digits(public, kind)])?;
                Ok(vec![
                    i.add(b, x[0], c)?,
                    i.sub(b, c, x[0])?,
                    i.mul(b, c, x[0])?,
                    i.compare(b, Comparison::Less, x[0], c)?,
                ])
            });
            made.check(&mut stream, 4, |x| {
                vec![x[0] + public, public - x[0], wrapped(public.wrapping_mul(x[0]), kind), i128::from(x[0] < public)]
            });
        }
    }
}

#[test]
fn products_wrap() {
    let mut stream = Stream(4);
    for lanes in LANES {
        for kind in kinds(&[1, 2, 3, 8, 13, 32, 48]) {
            let made = Compiled::new(lanes, 1, &[kind, kind], |i, b, x| {
                Ok(vec![i.mul(b, x[0], x[1])?, i.mul(b, x[0], x[0])?, i.pow(b, x[0], 5)?, i.pow(b, x[0], 0)?])
            });
            made.check(&mut stream, 5, |x| {
                let square = wrapped(x[0].wrapping_mul(x[0]), kind);
                let fourth = wrapped(square.wrapping_mul(square), kind);
                vec![x[0].wrapping_mul(x[1]), square, fourth.wrapping_mul(x[0]), 1]
            });
        }
    }
}

#[test]
fn quotients_are_rounded_down() {
    let mut stream = Stream(5);
    for kind in kinds(&[2, 3, 8, 11, 32]) {
        let made = Compiled::new(2, 1, &[kind, kind], |i, b, x| {
            let (quotient, remainder) = i.divide(b, x[0], x[1])?;
            Ok(vec![quotient, remainder])
        });
        made.check(&mut stream, 12, |x| match (x[1], kind.signed) {
            (0, false) => vec![-1, x[0]],
            // Undefined by specification: any result of dividing the magnitudes.
            (0, true) => made.evaluate(&[vec![x[0]], vec![0]]).concat(),
            _ => vec![
                x[0].div_euclid(x[1]) - i128::from(x[1] < 0 && x[0].rem_euclid(x[1]) != 0),
                (x[0] % x[1] + x[1]) % x[1],
            ],
        });
    }
}

#[test]
fn comparisons_and_choices() {
    let mut stream = Stream(6);
    for kind in kinds(&WIDTHS) {
        let made = Compiled::new(2, 2, &[kind, kind, IntegerType::unsigned(1)], |i, b, x| {
            let all = [
                Comparison::Equal,
                Comparison::NotEqual,
                Comparison::Less,
                Comparison::LessOrEqual,
                Comparison::Greater,
                Comparison::GreaterOrEqual,
            ];
            let mut results: Vec<_> = all.iter().map(|&c| i.compare(b, c, x[0], x[1])).collect::<Result<_, _>>()?;
            results.extend([
                i.extreme(b, x[0], x[1], true)?,
                i.extreme(b, x[0], x[1], false)?,
                i.select(b, x[2], x[0], x[1])?,
                i.compare(b, Comparison::LessOrEqual, x[0], x[0])?,
            ]);
            Ok(results)
        });
        made.check(&mut stream, 10, |x| {
            let (a, b) = (x[0], x[1]);
            let flags = [a == b, a != b, a < b, a <= b, a > b, a >= b].map(i128::from);
            [&flags[..], &[a.min(b), a.max(b), if x[2] == 1 { a } else { b }, 1]].concat()
        });
    }
}

#[test]
fn overflow_is_reported() {
    let mut stream = Stream(7);
    for kind in kinds(&[2, 5, 8, 64]) {
        let made = Compiled::new(2, 1, &[kind, kind], |i, b, x| {
            let (sum, over) = i.overflowing(b, x[0], x[1], false)?;
            let (difference, under) = i.overflowing(b, x[0], x[1], true)?;
            Ok(vec![sum, over, difference, under])
        });
        made.check(&mut stream, 20, |x| {
            let (sum, difference) = (x[0] + x[1], x[0] - x[1]);
            let left = |value| i128::from(wrapped(value, kind) != value);
            vec![sum, left(sum), difference, left(difference)]
        });
    }
}

#[test]
fn overflow_of_products_is_reported() {
    let mut stream = Stream(8);
    for lanes in LANES {
        for kind in kinds(&[1, 2, 3, 4, 5, 8, 13, 32, 60]) {
            let made = Compiled::new(lanes, 2, &[kind, kind], |i, b, x| {
                let (product, over) = i.overflowing_mul(b, x[0], x[1])?;
                let (square, over_square) = i.overflowing_mul(b, x[0], x[0])?;
                Ok(vec![product, over, square, over_square])
            });
            made.check(&mut stream, 12, |x| {
                let left = |value| i128::from(wrapped(value, kind) != value);
                let (product, square) = (x[0] * x[1], x[0] * x[0]);
                vec![product, left(product), square, left(square)]
            });
        }
    }
}

#[test]
fn every_product_of_narrow_integers_reports_its_overflow() {
    for kind in kinds(&[1, 2, 3, 4, 5]) {
        let values: Vec<i128> = (0..1 << kind.bits).map(|value| wrapped(value, kind)).collect();
        let pairs: Vec<(i128, i128)> = values.iter().flat_map(|&x| values.iter().map(move |&y| (x, y))).collect();
        let made = Compiled::new(1, pairs.len(), &[kind, kind], |i, b, x| {
            let (product, over) = i.overflowing_mul(b, x[0], x[1])?;
            Ok(vec![product, over])
        });
        let (x, y): (Vec<i128>, Vec<i128>) = pairs.iter().copied().unzip();
        let found = made.evaluate(&[x, y]);
        for (at, (x, y)) in pairs.into_iter().enumerate() {
            let product = wrapped(x * y, kind);
            assert_eq!(found[0][at], product, "{x} * {y} as {kind}");
            assert_eq!(found[1][at], i128::from(product != x * y), "{x} * {y} as {kind}");
        }
    }
}

#[test]
fn products_with_a_public_factor_report_overflow() {
    let mut stream = Stream(9);
    for kind in kinds(&[4, 7, 32]) {
        for _ in 0..6 {
            let public = stream.value(kind);
            let made = Compiled::new(2, 2, &[kind], |i, b, x| {
                let c = i.public(b, kind, &[digits(public, kind)])?;
                let (product, over) = i.overflowing_mul(b, c, x[0])?;
                Ok(vec![product, over])
            });
            made.check(&mut stream, 6, |x| {
                vec![x[0] * public, i128::from(wrapped(x[0] * public, kind) != x[0] * public)]
            });
        }
    }
}
