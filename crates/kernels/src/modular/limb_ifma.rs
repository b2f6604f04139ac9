//! The operations of [`super::Limb`] in AVX-512 IFMA. Each processes whole registers and returns the number of words done.

use super::Modulus;
use super::blocks::Steps;
use super::ifma::{Constants, Factor, LANES, Sum, WORD_BITS, WORD_MASK, load, store, sum_capacity, write};
use crate::memory::{NextUse, finish, next_use_of};
use std::arch::x86_64::*;

#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn map(a: &mut [u64], operation: impl Fn(__m512i) -> __m512i) -> usize {
    let chunks = a.as_chunks_mut::<LANES>().0;
    for a in chunks.iter_mut() {
        store(a, operation(load(a)));
    }
    chunks.len() * LANES
}

#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn map_pair(a: &mut [u64], b: &[u64], operation: impl Fn(__m512i, __m512i) -> __m512i) -> usize {
    let chunks = a.as_chunks_mut::<LANES>().0;
    for (a, b) in chunks.iter_mut().zip(b.as_chunks::<LANES>().0) {
        store(a, operation(load(a), load(b)));
    }
    chunks.len() * LANES
}

#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn map_triple(a: &mut [u64], b: &[u64], c: &[u64], operation: impl Fn(__m512i, __m512i, __m512i) -> __m512i) -> usize {
    let chunks = a.as_chunks_mut::<LANES>().0;
    for ((a, b), c) in chunks.iter_mut().zip(b.as_chunks::<LANES>().0).zip(c.as_chunks::<LANES>().0) {
        store(a, operation(load(a), load(b), load(c)));
    }
    chunks.len() * LANES
}

/// The largest word; 0 if there is none.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn largest(words: &[u64]) -> u64 {
    let (chunks, rest) = words.as_chunks::<LANES>();
    let largest = chunks.iter().fold(_mm512_setzero_si512(), |largest, words| _mm512_max_epu64(largest, load(words)));
    rest.iter().copied().fold(_mm512_reduce_max_epu64(largest), u64::max)
}

#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn add_assign(modulus: Modulus, a: &mut [u64], b: &[u64]) -> usize {
    let q = Constants::new(modulus.value());
    map_pair(a, b, |a, b| q.add(a, b))
}

#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn sub_assign(modulus: Modulus, a: &mut [u64], b: &[u64]) -> usize {
    let q = Constants::new(modulus.value());
    map_pair(a, b, |a, b| q.sub(a, b))
}

#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn neg_assign(modulus: Modulus, a: &mut [u64]) -> usize {
    let q = Constants::new(modulus.value());
    map(a, |a| q.sub(q.zero, a))
}

#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn add(modulus: Modulus, target: &mut [u64], a: &[u64], b: &[u64]) -> usize {
    let q = Constants::new(modulus.value());
    map_triple(target, a, b, |_, a, b| q.add(a, b))
}

#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn sub(modulus: Modulus, target: &mut [u64], a: &[u64], b: &[u64]) -> usize {
    let q = Constants::new(modulus.value());
    map_triple(target, a, b, |_, a, b| q.sub(a, b))
}

#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn sub_from_assign(modulus: Modulus, b: &mut [u64], a: &[u64]) -> usize {
    let q = Constants::new(modulus.value());
    map_pair(b, a, |b, a| q.sub(a, b))
}

#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn add_scalar_assign(modulus: Modulus, a: &mut [u64], w: u64) -> usize {
    let q = Constants::new(modulus.value());
    let w = _mm512_set1_epi64(w as i64);
    map(a, |a| q.add(a, w))
}

/// a·b + c < 2^103 of canonical residues: q² + q ≤ 2^101.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn product(a: __m512i, b: __m512i, addend: __m512i) -> Sum {
    let mut sum = Sum { low: addend, ..Sum::zero() };
    sum.add_product(a, b);
    sum
}

#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn multiply_assign(modulus: Modulus, a: &mut [u64], b: &[u64]) -> usize {
    let q = Constants::new(modulus.value());
    let square = q.factor(modulus, modulus.reduce(1 << WORD_BITS));
    map_pair(a, b, |a, b| product(a, b, q.zero).reduce(&q, square))
}

#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn multiply(modulus: Modulus, target: &mut [u64], a: &[u64], b: &[u64]) -> usize {
    let q = Constants::new(modulus.value());
    let square = q.factor(modulus, modulus.reduce(1 << WORD_BITS));
    map_triple(target, a, b, |_, a, b| product(a, b, q.zero).reduce(&q, square))
}

#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn multiply_add_assign(modulus: Modulus, sum: &mut [u64], a: &[u64], b: &[u64]) -> usize {
    let q = Constants::new(modulus.value());
    let square = q.factor(modulus, modulus.reduce(1 << WORD_BITS));
    map_triple(sum, a, b, |sum, a, b| product(a, b, sum).reduce(&q, square))
}

#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn multiply_add(modulus: Modulus, target: &mut [u64], a: &[u64], b: &[u64], c: &[u64]) -> usize {
    let q = Constants::new(modulus.value());
    let square = q.factor(modulus, modulus.reduce(1 << WORD_BITS));
    let chunks = target.as_chunks_mut::<LANES>().0;
    let terms = a.as_chunks::<LANES>().0.iter().zip(b.as_chunks::<LANES>().0).zip(c.as_chunks::<LANES>().0);
    for (target, ((a, b), c)) in chunks.iter_mut().zip(terms) {
        store(target, product(load(a), load(b), load(c)).reduce(&q, square));
    }
    chunks.len() * LANES
}

#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn scale(modulus: Modulus, target: &mut [u64], a: &[u64], w: u64) -> usize {
    let q = Constants::new(modulus.value());
    let w = q.factor(modulus, w);
    map_pair(target, a, |_, a| q.reduce_once(q.multiply_lazy(a, w)))
}

#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn sub_from_scale_assign(modulus: Modulus, b: &mut [u64], a: &[u64], w: u64) -> usize {
    let q = Constants::new(modulus.value());
    let w = q.factor(modulus, w);
    // As in `sub_scale_assign`.
    map_pair(b, a, |b, a| {
        let difference = _mm512_add_epi64(a, _mm512_sub_epi64(q.q, b));
        q.reduce_once(q.multiply_lazy(difference, w))
    })
}

#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn scale_assign(modulus: Modulus, a: &mut [u64], w: u64) -> usize {
    let q = Constants::new(modulus.value());
    let w = q.factor(modulus, w);
    map(a, |a| q.reduce_once(q.multiply_lazy(a, w)))
}

#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn scale_add_assign(modulus: Modulus, sum: &mut [u64], a: &[u64], w: u64) -> usize {
    let q = Constants::new(modulus.value());
    let w = q.factor(modulus, w);
    map_pair(sum, a, |sum, a| q.add(sum, q.reduce_once(q.multiply_lazy(a, w))))
}

#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn sub_scale_assign(modulus: Modulus, a: &mut [u64], b: &[u64], w: u64) -> usize {
    let q = Constants::new(modulus.value());
    let w = q.factor(modulus, w);
    // A factor in (0, 2q) is as valid as one in [0, q).
    map_pair(a, b, |a, b| {
        let difference = _mm512_add_epi64(a, _mm512_sub_epi64(q.q, b));
        q.reduce_once(q.multiply_lazy(difference, w))
    })
}

#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn sub_scale(
    modulus: Modulus,
    target: &mut [u64],
    a: &[u64],
    b: &[u64],
    w: u64,
    next_use: NextUse,
) -> usize {
    let q = Constants::new(modulus.value());
    let w = q.factor(modulus, w);
    let next_use = next_use_of(target, next_use);
    let chunks = target.as_chunks_mut::<LANES>().0;
    for ((target, a), b) in chunks.iter_mut().zip(a.as_chunks::<LANES>().0).zip(b.as_chunks::<LANES>().0) {
        // As in `sub_scale_assign`.
        let difference = _mm512_add_epi64(load(a), _mm512_sub_epi64(q.q, load(b)));
        write(target, q.reduce_once(q.multiply_lazy(difference, w)), next_use);
    }
    finish(next_use);
    chunks.len() * LANES
}

#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn reduce_from(modulus: Modulus, target: &mut [u64], source: &[u64], from: Modulus) -> usize {
    if from.bits() > WORD_BITS {
        return 0;
    }
    let q = Constants::new(modulus.value());
    if from.value() <= 2 * modulus.value() {
        return map_pair(target, source, |_, x| q.reduce_once(x));
    }
    let one = q.factor(modulus, 1);
    map_pair(target, source, |_, x| q.reduce_once(q.multiply_lazy(x, one)))
}

#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn reduce_centred_from(modulus: Modulus, target: &mut [u64], source: &[u64], from: Modulus) -> usize {
    if from.bits() > WORD_BITS {
        return 0;
    }
    let q = Constants::new(modulus.value());
    let one = q.factor(modulus, 1);
    let half = _mm512_set1_epi64(from.value().div_ceil(2) as i64);
    let whole = _mm512_set1_epi64(modulus.reduce(from.value()) as i64);
    map_pair(target, source, |_, x| {
        let residue = q.reduce_once(q.multiply_lazy(x, one));
        let upper = _mm512_cmpge_epu64_mask(x, half);
        q.sub(residue, _mm512_maskz_mov_epi64(upper, whole))
    })
}

/// 2^`exponent` modulo q in every lane.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn power_of_two(modulus: Modulus, exponent: u64) -> __m512i {
    _mm512_set1_epi64(modulus.power(modulus.reduce(2), exponent) as i64)
}

/// x + 2^63 is nonnegative: two words of 52 bits; 2^63 is subtracted again modulo q.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn reduce_signed(modulus: Modulus, target: &mut [u64], source: &[i64]) -> usize {
    let q = Constants::new(modulus.value());
    let square = q.factor(modulus, modulus.reduce(1 << WORD_BITS));
    let (bias, biased) = (_mm512_set1_epi64(i64::MIN), power_of_two(modulus, 63));
    let mask = _mm512_set1_epi64(WORD_MASK as i64);
    let chunks = target.as_chunks_mut::<LANES>().0;
    for (target, source) in chunks.iter_mut().zip(source.as_chunks::<LANES>().0) {
        // SAFETY: the reference covers the 64 bytes.
        let x = _mm512_xor_si512(unsafe { _mm512_loadu_si512(source.as_ptr().cast()) }, bias);
        let sum = Sum { high: _mm512_srli_epi64::<WORD_BITS>(x), low: _mm512_and_si512(x, mask) };
        store(target, q.sub(sum.reduce(&q, square), biased));
    }
    chunks.len() * LANES
}

/// x + 2^127 is nonnegative: three words of 52 bits, the upper two reduced first.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn reduce_signed_wide(modulus: Modulus, target: &mut [u64], source: &[i128]) -> usize {
    let q = Constants::new(modulus.value());
    let square = q.factor(modulus, modulus.reduce(1 << WORD_BITS));
    let (bias, biased) = (_mm512_set1_epi64(i64::MIN), power_of_two(modulus, 127));
    let mask = _mm512_set1_epi64(WORD_MASK as i64);
    let lower = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
    let upper = _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15);
    let chunks = target.as_chunks_mut::<LANES>().0;
    for (target, source) in chunks.iter_mut().zip(source.as_chunks::<LANES>().0) {
        let words: *const __m512i = source.as_ptr().cast();
        // SAFETY: the reference covers the 128 bytes.
        let (first, second) = unsafe { (_mm512_loadu_si512(words), _mm512_loadu_si512(words.add(1))) };
        let low = _mm512_permutex2var_epi64(first, lower, second);
        let high = _mm512_xor_si512(_mm512_permutex2var_epi64(first, upper, second), bias);
        // Bits 52 to 103 are the upper 12 of the low word and the lower 40 of the high one.
        let middle = _mm512_or_si512(_mm512_srli_epi64::<WORD_BITS>(low), _mm512_slli_epi64::<12>(high));
        let top = Sum { high: _mm512_srli_epi64::<40>(high), low: _mm512_and_si512(middle, mask) };
        let rest = Sum { high: top.reduce(&q, square), low: _mm512_and_si512(low, mask) };
        store(target, q.sub(rest.reduce(&q, square), biased));
    }
    chunks.len() * LANES
}

/// Maximum number of terms accumulated in registers before a reduction; longer sums go through memory.
const TERMS: usize = 7;

/// Byte permutations of eight words, by bytes per word.
const PLACES: [[u8; 64]; 9] = {
    let mut places = [[0; 64]; 9];
    let mut width = 0;
    while width < 9 {
        let mut byte = 0;
        while byte < 64 {
            places[width][byte] = (byte / 8 * width + byte % 8) as u8;
            byte += 1;
        }
        width += 1;
    }
    places
};

/// Reads eight words of `width` bytes each.
#[derive(Clone, Copy)]
struct Unpack {
    places: __m512i,
    /// The bytes to read.
    read: __mmask64,
    /// The bytes that a word has.
    keep: __mmask64,
}

impl Unpack {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn new(width: usize) -> Self {
        // SAFETY: a row of the table has 64 bytes.
        let places = unsafe { _mm512_loadu_si512(PLACES[width].as_ptr().cast()) };
        Self { places, read: u64::MAX >> (64 - 8 * width), keep: (0xff >> (8 - width)) * 0x0101_0101_0101_0101 }
    }

    /// # Safety
    /// The words of the register are valid.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    unsafe fn load(&self, from: *const u64) -> __m512i {
        // SAFETY: by this function's contract; bytes beyond them are not read.
        let bytes = unsafe { _mm512_maskz_loadu_epi8(self.read, from.cast()) };
        _mm512_maskz_permutexvar_epi8(self.keep, self.places, bytes)
    }
}

/// The products of all terms over whole registers: `rows`\[s\]\[i\] is the start of the factors of term i in sum s, with layout `steps`\[s\].
///
/// # Safety
/// Factors are valid for every whole register of the sums.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512ifma")]
pub(super) unsafe fn inner_products<const S: usize>(
    modulus: Modulus,
    sums: &mut [&mut [u64]; S],
    digits: &[&[u64]],
    rows: &[Vec<*const u64>; S],
    steps: [Steps; S],
    next_use: NextUse,
) -> usize {
    let next_use = sums.iter().fold(next_use, |next_use, sum| next_use_of(sum, next_use));
    let q = Constants::new(modulus.value());
    let square = q.factor(modulus, modulus.reduce(1 << WORD_BITS));
    // One term is the result of an earlier group.
    let capacity = (sum_capacity(modulus.bits(), modulus.bits()) - 1).min(TERMS);
    for start in (0..digits.len().max(1)).step_by(capacity) {
        let end = digits.len().min(start + capacity);
        let group = Group { q, square, steps, first: start == 0 };
        let next_use = if end == digits.len() { next_use } else { NextUse::Soon };
        let digits = &digits[start..end];
        // Loops instead of array maps: closures may not be inlined.
        let mut of_group: [&[*const u64]; S] = [&[]; S];
        for (of_group, rows) in of_group.iter_mut().zip(rows) {
            *of_group = &rows[start..end];
        }
        let rows = of_group;
        // SAFETY: by this function's contract.
        unsafe {
            match digits.len() {
                0 => products::<S, 0>(group, sums, digits, rows, next_use),
                1 => products::<S, 1>(group, sums, digits, rows, next_use),
                2 => products::<S, 2>(group, sums, digits, rows, next_use),
                3 => products::<S, 3>(group, sums, digits, rows, next_use),
                4 => products::<S, 4>(group, sums, digits, rows, next_use),
                5 => products::<S, 5>(group, sums, digits, rows, next_use),
                6 => products::<S, 6>(group, sums, digits, rows, next_use),
                _ => products::<S, TERMS>(group, sums, digits, rows, next_use),
            }
        }
    }
    finish(next_use);
    sums.iter().map(|sum| sum.len() / LANES * LANES).min().unwrap_or(0)
}

/// Prefetch distance of factors, in words.
const AHEAD: usize = 1024;

/// Common properties of a group of terms.
#[derive(Clone, Copy)]
struct Group<const S: usize> {
    q: Constants,
    square: Factor,
    steps: [Steps; S],
    /// Whether the sums start from 0 instead of the stored values.
    first: bool,
}

/// # Safety
/// As for [`inner_products`]; there are T digits, and T rows for each sum.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512ifma")]
unsafe fn products<const S: usize, const T: usize>(
    group: Group<S>,
    sums: &mut [&mut [u64]; S],
    digits: &[&[u64]],
    rows: [&[*const u64]; S],
    next_use: NextUse,
) {
    let Group { q, square, steps, first } = group;
    let mut unpack = [Unpack::new(steps[0].width); S];
    for (unpack, steps) in unpack.iter_mut().zip(steps) {
        *unpack = Unpack::new(steps.width);
    }
    let chunks = sums.iter().map(|sum| sum.len() / LANES).min().unwrap_or(0);
    assert!(digits.iter().all(|digit| digit.len() >= chunks * LANES), "a word of each digit for each sum");
    let (mut from, mut factors) = ([std::ptr::null(); T], [[std::ptr::null(); T]; S]);
    let mut targets = [std::ptr::null_mut(); S];
    for (from, digit) in from.iter_mut().zip(digits) {
        *from = digit.as_ptr();
    }
    for sum in 0..S {
        factors[sum].copy_from_slice(rows[sum]);
        targets[sum] = sums[sum].as_mut_ptr();
    }
    // SAFETY: every pointer is valid for register `chunk`: digits by the assertion, sums by the number of chunks, factors by contract.
    unsafe {
        for chunk in 0..chunks {
            for (of_sum, Steps { stride, .. }) in factors.iter().zip(steps) {
                for row in of_sum {
                    _mm_prefetch::<_MM_HINT_T0>(row.wrapping_add(chunk * stride + AHEAD).cast());
                }
            }
            let mut wide = [Sum { high: q.zero, low: q.zero }; S];
            if !first {
                for (wide, target) in wide.iter_mut().zip(targets) {
                    wide.low = load(&*target.add(chunk * LANES).cast());
                }
            }
            for (term, digit) in from.iter().enumerate() {
                let digit = load(&*digit.add(chunk * LANES).cast());
                for (sum, wide) in wide.iter_mut().enumerate() {
                    wide.add_product(digit, unpack[sum].load(factors[sum][term].add(chunk * steps[sum].stride)));
                }
            }
            for (target, wide) in targets.iter().zip(wide) {
                write(&mut *target.add(chunk * LANES).cast(), wide.reduce(&q, square), next_use);
            }
        }
    }
}
