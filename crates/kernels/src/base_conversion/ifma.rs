//! The blocked product in AVX-512 IFMA.

use crate::modular::Modulus;
use crate::modular::ifma::{Constants, Factor, LANES, Sum, WORD_BITS, load, store, sum_capacity};
use std::arch::x86_64::{__m512i, _mm512_set1_epi64};

/// Vectors that share a load of the matrix.
const WIDTH: usize = 4;

/// target\[c\] = constant + Σ_i block\[i\]\[c\]·row\[i\] mod q over whole registers; the number of words done. The block's words are
/// below 2^`bits`, its rows of `stride` words.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn combine(
    modulus: Modulus,
    bits: u32,
    block: &[u64],
    stride: usize,
    row: &[u64],
    constant: u64,
    target: &mut [u64],
) -> usize {
    let q = Constants::new(modulus.value());
    let reduction = Reduction {
        square: q.factor(modulus, modulus.reduce(1 << WORD_BITS)),
        // One place is for what an earlier group left.
        capacity: sum_capacity(bits.max(modulus.bits()), modulus.bits()) - 1,
        constant: _mm512_set1_epi64(constant as i64),
        q,
    };
    let chunks = target.as_chunks_mut::<LANES>().0;
    for (start, chunks) in chunks.chunks_mut(WIDTH).enumerate() {
        let first = &block[start * WIDTH * LANES..];
        match chunks {
            [a, b, c, d] => columns(reduction, first, stride, row, [a, b, c, d]),
            chunks => {
                for (index, chunk) in chunks.iter_mut().enumerate() {
                    columns(reduction, &first[index * LANES..], stride, row, [chunk]);
                }
            }
        }
    }
    chunks.len() * LANES
}

/// The modulus, the factor 2^52, and how many products are summed up before a reduction.
#[derive(Clone, Copy)]
struct Reduction {
    q: Constants,
    square: Factor,
    capacity: usize,
    /// What every sum begins with, a residue.
    constant: __m512i,
}

/// `block` begins at the first column of the targets.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn columns<const W: usize>(
    reduction: Reduction,
    block: &[u64],
    stride: usize,
    row: &[u64],
    targets: [&mut [u64; LANES]; W],
) {
    let Reduction { q, square, capacity, constant } = reduction;
    let mut totals = [constant; W];
    for (terms, factors) in block.chunks(capacity * stride).zip(row.chunks(capacity)) {
        let mut sums = totals.map(|total| Sum { low: total, ..Sum::zero() });
        for (term, &factor) in terms.chunks(stride).zip(factors) {
            let factor = _mm512_set1_epi64(factor as i64);
            let words = &term[..W * LANES];
            for (lanes, sum) in sums.iter_mut().enumerate() {
                let words = &words[lanes * LANES..(lanes + 1) * LANES];
                sum.add_product(load(&words.as_chunks::<LANES>().0[0]), factor);
            }
        }
        totals = sums.map(|sum| sum.reduce(&q, square));
    }
    for (target, total) in targets.into_iter().zip(totals) {
        store(target, total);
    }
}
