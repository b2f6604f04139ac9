//! Modulus switch of LWE ciphertexts from q to 2N.
//!
//! x̃ = ⌊x · 2N / q⌉ mod 2N, halves rounded up, for each mask coefficient and the body: the exponents
//! of a blind rotation.

use crate::torus::Torus;

/// ⌊x · 2^`log2_modulus` / q⌉ mod 2^`log2_modulus`, in wide integers as the formula reads.
pub fn modulus_switch_reference<T: Torus>(value: T, log2_modulus: u32) -> u32 {
    let scaled = (u128::from(value.to_u64()) << log2_modulus) + (1u128 << (T::BITS - 1));
    ((scaled >> T::BITS) & ((1 << log2_modulus) - 1)) as u32
}

/// The same of a slice, in shifts; `log2_modulus` is from 1 to 31 and under [`Torus::BITS`].
pub fn modulus_switch<T: Torus>(values: &[T], log2_modulus: u32, switched: &mut [u32]) {
    assert_eq!(values.len(), switched.len(), "one exponent for each coefficient");
    let dropped = T::BITS - log2_modulus;
    let mask = (1u64 << log2_modulus) - 1;
    for (out, value) in switched.iter_mut().zip(values) {
        let twice = value.to_u64() >> (dropped - 1);
        *out = ((twice.wrapping_add(1) >> 1) & mask) as u32;
    }
}

#[cfg(test)]
mod tests {
    //! Do the shifts round exactly as the definition does, at both torus widths?
    use super::*;
    use crate::random::torus_vector;

    fn agree<T: Torus>() {
        for log2_modulus in [1, 5, 9, 12, 17, 18] {
            let mut values = torus_vector::<T>(4096, log2_modulus);
            values.extend([0u64, 1, u64::MAX, 1 << 31, (1 << 63) - 1].map(T::from_u64));
            let mut switched = vec![0; values.len()];
            modulus_switch(&values, log2_modulus, &mut switched);
            for (value, out) in values.iter().zip(&switched) {
                assert_eq!(*out, modulus_switch_reference(*value, log2_modulus), "{value:?}");
            }
        }
    }

    #[test]
    fn shifts_equal_the_definition() {
        agree::<u32>();
        agree::<u64>();
    }

    #[test]
    fn a_half_rounds_up_and_the_top_wraps_to_zero() {
        let mut out = [9; 3];
        modulus_switch(&[1u32 << 20, (1 << 20) - 1, u32::MAX], 11, &mut out);
        assert_eq!(out, [1, 0, 0]);
    }
}
