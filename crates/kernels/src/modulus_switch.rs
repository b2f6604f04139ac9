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

/// [`modulus_switch`] of one LWE ciphertext, mask and body, that subtracts the sum of the mask's rounding errors, times the mean 1/`choices` of a key bit, from the body before
/// rounding it. With e_i = a_i − ⌊a_i⌉ the phase errs by Σ e_i (s_i − 1/`choices`) instead of Σ e_i s_i: for uniform bits, of 2 choices, half of the variance, for any key.
pub fn modulus_switch_centred<T: Torus>(ciphertext: &[T], log2_modulus: u32, choices: u32, switched: &mut [u32]) {
    modulus_switch(ciphertext, log2_modulus, switched);
    let (Some((&body, mask)), Some((out, rounded))) = (ciphertext.split_last(), switched.split_last_mut()) else {
        return;
    };
    let dropped = T::BITS - log2_modulus;
    let error = |(&value, &rounded): (&T, &u32)| {
        i128::from(value.wrapping_sub(T::from_u64(u64::from(rounded) << dropped)).to_i64())
    };
    let errors: i128 = mask.iter().zip(&*rounded).map(error).sum();
    // A part of at most n · q/2; only its value modulo q matters.
    let corrected = body.wrapping_sub(T::from_u64(errors.div_euclid(i128::from(choices)) as u64));
    modulus_switch(&[corrected], log2_modulus, std::slice::from_mut(out));
}
