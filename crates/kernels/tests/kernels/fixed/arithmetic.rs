//! Do 64-bit products, whole or split, equal those of 128 bits?

use crate::random::torus_vector;
use polyfabric_kernels::fixed::Rounding;
use polyfabric_kernels::internals::{NARROW, Products, Round, SPLIT, WIDE, complex_product, limit};

/// The largest of either sign, small ones, and random ones of `width` bits.
fn numbers(width: u32, seed: u32) -> Vec<i64> {
    let most = limit(width);
    let random = torus_vector::<u64>(4, seed).into_iter().map(|x| x as i64 >> (64 - width)).map(|x| x.max(-most));
    [most, -most, 0, -1, 1, most / 2].into_iter().chain(random).collect()
}

#[test]
fn all_product_methods_give_the_same_bits() {
    let (mut narrow, mut split) = (0, 0);
    for width in 3..=60 {
        for factor in 3..=60 {
            for shift in (0..=62).step_by(3).chain([factor - 2]) {
                let products = Products::of(width, factor, shift);
                let (a, b) = (numbers(width, width), numbers(factor, 100 + factor));
                let rounding = [Rounding::HalfEven, Rounding::HalfUp, Rounding::Truncate][(shift % 3) as usize];
                let round = Round::new(shift, rounding).of(products);
                for (i, j) in (0..a.len()).flat_map(|i| (0..b.len()).map(move |j| (i, j))) {
                    let (x, y) = ((a[i], a[(i * 3 + j) % a.len()]), (b[j], b[(i + j * 7) % b.len()]));
                    // The widest data saturate at this limit.
                    let kept =
                        |(re, im): (i64, i64)| (re.clamp(-limit(60), limit(60)), im.clamp(-limit(60), limit(60)));
                    let wide = kept(complex_product::<WIDE>(x, y, round));
                    let found = match products {
                        Products::Narrow => complex_product::<NARROW>(x, y, round),
                        Products::Split(_) => complex_product::<SPLIT>(x, y, round),
                        Products::Wide => continue,
                    };
                    assert_eq!(kept(found), wide, "{x:?} {y:?} of {width} and {factor} bits, {shift} {rounding:?}");
                }
                narrow += u32::from(products == Products::Narrow);
                split += u32::from(matches!(products, Products::Split(_)));
            }
        }
    }
    assert!(narrow > 5000 && split > 15000, "{narrow} {split}");
}

#[test]
fn widths_of_machines_need_no_128_bits() {
    // (points, factors) of FPT's file, and of derived widths.
    for (width, factor) in [(36, 32), (35, 31), (42, 38), (44, 40)] {
        assert!(matches!(Products::of(width, factor, factor - 2), Products::Split(_)), "{width} {factor}");
    }
    assert_eq!(Products::of(32, 32, 30), Products::Narrow);
    assert_eq!(Products::of(58, 50, 48), Products::Wide);
}
