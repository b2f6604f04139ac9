//! The blocked product in AVX-512 IFMA.

use crate::memory::{NextUse, finish, next_use_of};
use crate::modular::Modulus;
use crate::modular::ifma::{Constants, Factor, LANES, Sum, WORD_BITS, load, sum_capacity, write};
use std::arch::x86_64::*;

/// Vectors per load of the matrix.
const WIDTH: usize = 4;

/// target\[c\] = constant + Σ_i terms\[i\]\[c\]·row\[i\] mod q over whole registers; returns the number of words done. The words of the
/// terms are below 2^`bits`.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn combine(
    modulus: Modulus,
    bits: u32,
    terms: &[&[u64]],
    row: &[u64],
    constant: u64,
    target: &mut [u64],
    next_use: NextUse,
) -> usize {
    let next_use = next_use_of(target, next_use);
    let q = Constants::new(modulus.value());
    let reduction = Reduction {
        square: q.factor(modulus, modulus.reduce(1 << WORD_BITS)),
        // One term is the result of an earlier group.
        capacity: sum_capacity(bits.max(modulus.bits()), modulus.bits()) - 1,
        constant: _mm512_set1_epi64(constant as i64),
        q,
    };
    let chunks = target.as_chunks_mut::<LANES>().0;
    assert!(terms.iter().all(|term| term.len() >= chunks.len() * LANES), "a word of each term for each of the target");
    for (index, chunks) in chunks.chunks_mut(WIDTH).enumerate() {
        let first = index * WIDTH * LANES;
        // SAFETY: the terms have the words of each chunk, by the assertion.
        unsafe {
            match chunks {
                [a, b, c, d] => columns(reduction, terms, first, row, [a, b, c, d], next_use),
                chunks => {
                    for (index, chunk) in chunks.iter_mut().enumerate() {
                        columns(reduction, terms, first + index * LANES, row, [chunk], next_use);
                    }
                }
            }
        }
    }
    finish(next_use);
    chunks.len() * LANES
}

/// The modulus, the factor 2^52, and the number of products to accumulate before a reduction.
#[derive(Clone, Copy)]
struct Reduction {
    q: Constants,
    square: Factor,
    capacity: usize,
    /// The initial value of every sum, a residue.
    constant: __m512i,
}

/// The targets begin at column `first` of the terms. Uses loops instead of array maps, which the compiler keeps in memory.
///
/// # Safety
/// The terms have W registers from column `first` on.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
unsafe fn columns<const W: usize>(
    reduction: Reduction,
    terms: &[&[u64]],
    first: usize,
    row: &[u64],
    targets: [&mut [u64; LANES]; W],
    next_use: NextUse,
) {
    let Reduction { q, square, capacity, constant } = reduction;
    let mut sums = [Sum { high: q.zero, low: constant }; W];
    let mut room = capacity;
    for (term, &factor) in terms.iter().zip(row) {
        if room == 0 {
            for sum in &mut sums {
                *sum = Sum { high: q.zero, low: sum.reduce(&q, square) };
            }
            room = capacity;
        }
        room -= 1;
        let factor = _mm512_set1_epi64(factor as i64);
        for (lanes, sum) in sums.iter_mut().enumerate() {
            // SAFETY: by this function's contract.
            let words = unsafe { load(&*term.as_ptr().add(first + lanes * LANES).cast()) };
            sum.add_product(words, factor);
        }
    }
    for (target, sum) in targets.into_iter().zip(sums) {
        write(target, sum.reduce(&q, square), next_use);
    }
}

/// 2^52 as f64: adding an integer below 2^52 to its low 52 bits gives their sum as an f64.
const SHIFT: f64 = (1u64 << WORD_BITS) as f64;

/// floor(Σ_i y_i·`reciprocals`\[i\] + 1/2) of each column of `residues`, rows of `stride` words y_i below 2^52, over whole registers;
/// returns the number of words done. If the f64 sum is within `error` of an integer, calls `decide` with the column and that integer.
#[target_feature(enable = "avx512f")]
pub(super) fn quotients(
    reciprocals: &[f64],
    error: f64,
    residues: &[u64],
    stride: usize,
    quotients: &mut [u64],
    decide: impl Fn(usize, u64) -> u64,
) -> usize {
    const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
    const DOWN: i32 = _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC;
    let (shift, error) = (_mm512_set1_pd(SHIFT), _mm512_set1_pd(error));
    // Converts a number from 0 to 2^52 − 1 between integer and f64.
    let to_words = |x| _mm512_xor_si512(_mm512_castpd_si512(_mm512_add_pd(x, shift)), _mm512_castpd_si512(shift));
    let chunks = quotients.as_chunks_mut::<LANES>().0;
    for (index, target) in chunks.iter_mut().enumerate() {
        let column = index * LANES;
        let mut sum = _mm512_set1_pd(0.5);
        for (row, &reciprocal) in residues.chunks(stride).zip(reciprocals) {
            let words = &row[column..column + LANES];
            // SAFETY: the slice covers the 64 bytes.
            let y = unsafe { _mm512_loadu_si512(words.as_ptr().cast()) };
            let y = _mm512_castsi512_pd(_mm512_or_si512(y, _mm512_castpd_si512(shift)));
            sum = _mm512_add_pd(sum, _mm512_mul_pd(_mm512_sub_pd(y, shift), _mm512_set1_pd(reciprocal)));
        }
        let floor = to_words(_mm512_roundscale_pd::<DOWN>(sum));
        // SAFETY: the reference covers the 64 bytes.
        unsafe { _mm512_storeu_si512(target.as_mut_ptr().cast(), floor) };
        let nearest = _mm512_roundscale_pd::<NEAREST>(sum);
        let distance = _mm512_abs_pd(_mm512_sub_pd(sum, nearest));
        let close = _mm512_cmp_pd_mask::<_CMP_LE_OQ>(distance, error);
        if close != 0 {
            let mut words = [0; LANES];
            // SAFETY: the array has the 64 bytes.
            unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), to_words(nearest)) };
            for lane in (0..LANES).filter(|lane| close >> lane & 1 == 1) {
                target[lane] = decide(column + lane, words[lane]);
            }
        }
    }
    chunks.len() * LANES
}
