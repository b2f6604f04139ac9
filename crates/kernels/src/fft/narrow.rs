//! Numbers of the key in 48 bits: a lone ciphertext waits for the key, which comes from memory.
//!
//! The 32-bit torus does not need all of an f64: without the last 16 bits of the mantissa 36 are left, and each number errs by at most 2^-37 of itself, which
//! adds under a thousandth to the noise of keys of 2048 coefficients (see [`super::bound`]). Products of batches across lanes, which share the key, have the same numbers in
//! 64 bits.

use crate::torus::Torus;

/// Bytes of a number.
pub(super) const NARROW: usize = 6;

/// The bits that are left out.
const DROPPED: u32 = 64 - 8 * NARROW as u32;

/// Numbers of f64 that `numbers` of a key for ciphertexts one by one take, a multiple of 16.
pub(crate) fn key_len<T: Torus>(numbers: usize) -> usize {
    if T::BITS == 32 { numbers / 8 * NARROW } else { numbers }
}

/// A number of a key as all products have it: on the 32-bit torus the nearest of 48 bits, of two equally near the one further from 0.
pub(crate) fn key_number<T: Torus>(number: f64) -> f64 {
    if T::BITS == 32 { f64::from_bits((number.to_bits() + (1 << (DROPPED - 1))) >> DROPPED << DROPPED) } else { number }
}

/// Sixteen such numbers of a key as those for ciphertexts one by one have them: [`key_len`] numbers, which on the 32-bit torus stand for bytes.
pub(crate) fn key_group<T: Torus>(numbers: &[f64], to: &mut [f64]) {
    if T::BITS == 64 {
        return to.copy_from_slice(numbers);
    }
    let mut bytes = [0; 16 * NARROW];
    for (bytes, number) in bytes.chunks_exact_mut(NARROW).zip(numbers) {
        bytes.copy_from_slice(&number.to_bits().to_le_bytes()[8 - NARROW..]);
    }
    for (to, bytes) in to.iter_mut().zip(bytes.chunks_exact(8)) {
        *to = f64::from_ne_bytes(bytes.try_into().expect("eight bytes"));
    }
}

/// The number whose upper bytes, the last ones of f64 in the order of little ends, are these.
#[inline(always)]
pub(super) fn widen([a, b, c, d, e, f]: [u8; NARROW]) -> f64 {
    f64::from_bits(u64::from_le_bytes([0, 0, a, b, c, d, e, f]))
}
