//! Modulus switch of LWE ciphertexts from q to 2N.
//!
//! x̃ = ⌊x · 2N / q⌉ mod 2N, halves rounded up, for each mask coefficient and the body. The results are the exponents of a blind rotation.

use crate::torus::Torus;

/// ⌊x · 2^`log2_modulus` / q⌉ mod 2^`log2_modulus`, in wide integers, literally.
pub fn modulus_switch_reference<T: Torus>(value: T, log2_modulus: u32) -> u32 {
    let scaled = (u128::from(value.to_u64()) << log2_modulus) + (1u128 << (T::BITS - 1));
    ((scaled >> T::BITS) & ((1 << log2_modulus) - 1)) as u32
}

/// The same for a slice, by shifts; `log2_modulus` is from 1 to 31 and below [`Torus::BITS`].
pub fn modulus_switch<T: Torus>(values: &[T], log2_modulus: u32, switched: &mut [u32]) {
    assert_eq!(values.len(), switched.len(), "one exponent for each coefficient");
    let dropped = T::BITS - log2_modulus;
    let mask = (1u64 << log2_modulus) - 1;
    for (out, value) in switched.iter_mut().zip(values) {
        let twice = value.to_u64() >> (dropped - 1);
        *out = ((twice.wrapping_add(1) >> 1) & mask) as u32;
    }
}

/// [`modulus_switch`] of one LWE ciphertext, mask and body, that subtracts half the sum of the mask's rounding errors from the body before rounding it.
/// With e_i = a_i − ⌊a_i⌉ the phase errs by Σ e_i (s_i − 1/2) instead of Σ e_i s_i: half of the variance, for any key.
pub fn modulus_switch_centred<T: Torus>(ciphertext: &[T], log2_modulus: u32, switched: &mut [u32]) {
    modulus_switch(ciphertext, log2_modulus, switched);
    let (Some((&body, mask)), Some((out, rounded))) = (ciphertext.split_last(), switched.split_last_mut()) else {
        return;
    };
    let dropped = T::BITS - log2_modulus;
    let error = |(&value, &rounded): (&T, &u32)| {
        i128::from(value.wrapping_sub(T::from_u64(u64::from(rounded) << dropped)).to_i64())
    };
    let errors: i128 = mask.iter().zip(&*rounded).map(error).sum();
    // Half of at most n · q/2; only its value modulo q matters.
    let corrected = body.wrapping_sub(T::from_u64((errors >> 1) as u64));
    modulus_switch(&[corrected], log2_modulus, std::slice::from_mut(out));
}

#[cfg(test)]
mod tests {
    //! Do the shifts round exactly as the definition, at both torus widths?
    use super::*;
    use crate::random::torus_vector;

    /// Number of values; fewer under Miri.
    const COUNT: usize = if cfg!(miri) { 64 } else { 4096 };

    fn agree<T: Torus>() {
        for log2_modulus in [1, 5, 9, 12, 17, 18] {
            let mut values = torus_vector::<T>(COUNT, log2_modulus);
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

    /// For any key, the phase's error is Σ e_i (s_i − 1/2) plus the body's own rounding.
    #[test]
    fn a_centred_switch_has_the_predicted_error() {
        let log2_modulus = 11;
        for seed in 0..if cfg!(miri) { 2 } else { 50 } {
            let ciphertext = torus_vector::<u64>(601, seed);
            let secret: Vec<u64> = torus_vector::<u64>(600, seed + 1000).iter().map(|x| x >> 63).collect();
            let mut switched = vec![0; 601];
            modulus_switch_centred(&ciphertext, log2_modulus, &mut switched);
            let wide = |value: u32| u64::from(value) << (64 - log2_modulus);
            let phase = |body: u64, mask: &dyn Fn(usize) -> u64| {
                (0..600).fold(body, |sum, i| sum.wrapping_sub(mask(i).wrapping_mul(secret[i])))
            };
            let exact = phase(ciphertext[600], &|i| ciphertext[i]);
            let found = phase(wide(switched[600]), &|i| wide(switched[i]));
            let expected: f64 = (0..600)
                .map(|i| {
                    let error = ciphertext[i].wrapping_sub(wide(switched[i])) as i64 as f64;
                    error * (secret[i] as f64 - 0.5)
                })
                .sum();
            let unit = 2f64.powi(64 - log2_modulus as i32);
            let error = found.wrapping_sub(exact) as i64 as f64;
            assert!((error - expected).abs() <= unit / 2.0 * 1.0001, "{error} {expected} {unit}");
        }
    }

    #[test]
    fn a_half_rounds_up_and_the_top_wraps_to_zero() {
        let mut out = [9; 3];
        modulus_switch(&[1u32 << 20, (1 << 20) - 1, u32::MAX], 11, &mut out);
        assert_eq!(out, [1, 0, 0]);
    }
}
