//! Key numbers in 48 bits: for single ciphertexts, reading the key from memory is the bottleneck.
//!
//! The 32-bit torus does not need the full precision of f64: without the last 16 bits, 36 bits of mantissa remain, and each number has a relative
//! error of at most 2^-37. This adds less than a thousandth to the noise of keys of 2048 coefficients (see [`super::bound`]). Batches across lanes,
//! which share key reads, use the same numbers in 64 bits.

use crate::torus::Torus;

/// Bytes of a number.
pub(super) const NARROW: usize = 6;

/// Dropped bits.
const DROPPED: u32 = 64 - 8 * NARROW as u32;

/// Length in f64 of `numbers` key numbers for single ciphertexts, a multiple of 16.
pub(crate) fn key_len<T: Torus>(numbers: usize) -> usize {
    if T::BITS == 32 { numbers / 8 * NARROW } else { numbers }
}

/// A key number in the precision of all products: on the 32-bit torus, rounded to 48 bits, ties away from 0.
pub(crate) fn key_number<T: Torus>(number: f64) -> f64 {
    if T::BITS == 32 { f64::from_bits((number.to_bits() + (1 << (DROPPED - 1))) >> DROPPED << DROPPED) } else { number }
}

/// Packs sixteen such numbers for single ciphertexts into [`key_len`] f64, which on the 32-bit torus are raw bytes.
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

/// The number with these upper bytes, the last ones of an f64 in little-endian order.
#[inline(always)]
pub(super) fn widen([a, b, c, d, e, f]: [u8; NARROW]) -> f64 {
    f64::from_bits(u64::from_le_bytes([0, 0, a, b, c, d, e, f]))
}
