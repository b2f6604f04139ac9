//! The blocked product in AVX-512 IFMA.

use super::BLOCK;
use crate::modular::Modulus;
use crate::modular::ifma::{Constants, LANES, Sum, WORD_BITS, load, store, sum_capacity};

/// Vectors that share a load of the matrix.
const WIDTH: usize = 4;

/// target\[c\] = Σ_i block\[i\]\[c\]·row\[i\] mod q over whole registers; the number of words done. The block's words are
/// below 2^`bits`.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn combine(modulus: Modulus, bits: u32, block: &[u64], row: &[u64], target: &mut [u64]) -> usize {
    let chunks = target.as_chunks_mut::<LANES>().0;
    for (start, chunks) in chunks.chunks_mut(WIDTH).enumerate() {
        let first = start * WIDTH * LANES;
        match chunks {
            [a, b, c, d] => columns(modulus, bits, block, row, first, [a, b, c, d]),
            chunks => {
                for (index, chunk) in chunks.iter_mut().enumerate() {
                    columns(modulus, bits, block, row, first + index * LANES, [chunk]);
                }
            }
        }
    }
    chunks.len() * LANES
}

#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn columns<const W: usize>(
    modulus: Modulus,
    bits: u32,
    block: &[u64],
    row: &[u64],
    first: usize,
    targets: [&mut [u64; LANES]; W],
) {
    use std::arch::x86_64::_mm512_set1_epi64;
    let q = Constants::new(modulus.value());
    let square = q.factor(modulus, modulus.reduce(1 << WORD_BITS));
    // One place is for what an earlier group left.
    let capacity = sum_capacity(bits.max(modulus.bits()), modulus.bits()) - 1;
    let mut totals = [q.zero; W];
    for (terms, factors) in block.chunks(capacity * BLOCK).zip(row.chunks(capacity)) {
        let mut sums = totals.map(|total| Sum { low: total, ..Sum::zero() });
        for (term, &factor) in terms.chunks_exact(BLOCK).zip(factors) {
            let factor = _mm512_set1_epi64(factor as i64);
            for (words, sum) in term[first..].as_chunks::<LANES>().0.iter().zip(&mut sums) {
                sum.add_product(load(words), factor);
            }
        }
        totals = sums.map(|sum| sum.reduce(&q, square));
    }
    for (target, total) in targets.into_iter().zip(totals) {
        store(target, total);
    }
}
