//! Are the digits the signed representation of the nearest multiple of q/β^l?
use crate::random::torus_vector;
use polyfabric_kernels::Gadget;
use polyfabric_kernels::Torus;
use polyfabric_kernels::decompose::*;

const GADGETS_32: [(u32, u32); 8] = [(10, 2), (7, 3), (8, 3), (15, 2), (2, 8), (8, 4), (1, 32), (16, 2)];
const GADGETS_64: [(u32, u32); 5] = [(23, 1), (22, 1), (3, 5), (16, 4), (30, 2)];

/// Number of values; fewer under Miri.
const COUNT: usize = if cfg!(miri) { 64 } else { 1024 };

fn check<T: Torus>((log2_base, levels): (u32, u32)) {
    let gadget = Gadget { log2_base, levels };
    let mut values = torus_vector::<T>(COUNT, log2_base);
    values[..4].copy_from_slice(&[0, 1, 1 << (T::BITS - 1), u64::MAX].map(T::from_u64));
    let mut digits = vec![0; COUNT * levels as usize];
    for (level, digits) in digits.chunks_exact_mut(COUNT).enumerate() {
        decompose_level(&values, gadget, level as u32, digits);
    }
    let mut scalar = vec![0; levels as usize];
    for (i, &value) in values.iter().enumerate() {
        decompose_scalar(value, gadget, &mut scalar);
        let mut sum = 0i128;
        for (t, &digit) in scalar.iter().enumerate() {
            assert_eq!(digit, digits[t * COUNT + i], "{gadget:?}, {value:?}, level {t}");
            let half = 1i64 << (log2_base - 1);
            assert!((-half..half).contains(&i64::from(digit)));
            sum += i128::from(digit) << (T::BITS - log2_base * (t as u32 + 1));
        }
        let dropped = T::BITS - gadget.kept_bits();
        let error = T::from_u64(sum as u64).wrapping_sub(value).to_i64();
        let reach = if dropped == 0 { 0 } else { 1i64 << (dropped - 1) };
        assert!((-reach..=reach).contains(&error), "{gadget:?} {value:?} error {error}");
    }
}

#[test]
fn digits_recompose_to_the_closest_representative() {
    GADGETS_32.into_iter().for_each(check::<u32>);
    GADGETS_64.into_iter().for_each(check::<u64>);
}
