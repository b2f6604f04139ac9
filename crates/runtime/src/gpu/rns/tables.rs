//! Constants of a ring for kernels (`kernels/residues.h`, `kernels/ntt.cu`).

use super::records::quotient;
use polyfabric_kernels::modular::Modulus;
use polyfabric_schemes::rns::{LimbId, Ring};
use rayon::prelude::*;

const MODULUS_WORDS: usize = 6;

/// For each of the first `limbs` moduli: q, 2^64 mod q, its quotient, that of 1, −1/q mod 2^64; and an unused word.
pub(super) fn moduli(ring: &Ring, limbs: usize) -> Vec<u64> {
    let words = |&modulus: &Modulus| -> [u64; MODULUS_WORDS] {
        let word = ((1u128 << 64) % u128::from(modulus.value())) as u64;
        // Newton's iteration doubles the correct digits, three for every odd number initially.
        let value = modulus.value();
        let inverse = (0..5).fold(value, |x, _| x.wrapping_mul(2u64.wrapping_sub(value.wrapping_mul(x))));
        [value, word, quotient(word, modulus), quotient(1, modulus), inverse.wrapping_neg(), 0]
    };
    ring.moduli()[..limbs].iter().flat_map(words).collect()
}

/// For each of the first `limbs` moduli N pairs of a factor and its quotient: number i is the root to the power of i's reversed bits.
pub(super) fn factors(ring: &Ring, limbs: usize, inverse: bool) -> Vec<u64> {
    let degree = ring.degree().get();
    let mut table = vec![0; limbs * 2 * degree];
    table.par_chunks_exact_mut(2 * degree).enumerate().for_each(|(limb, table)| {
        let limb = LimbId(limb as u16);
        let (modulus, root) = (ring.modulus(limb), ring.ntt(limb).root());
        // A root of unity has an inverse.
        let root = if inverse { modulus.inverse(root).unwrap_or(0) } else { root };
        let mut power = 1;
        for exponent in 0..degree {
            let place = exponent.reverse_bits() >> (usize::BITS - ring.degree().log2());
            table[2 * place..2 * place + 2].copy_from_slice(&[power, quotient(power, modulus)]);
            power = modulus.multiply(power, root);
        }
    });
    table
}
