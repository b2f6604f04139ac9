//! The operations of [`super::Limb`] in f64. Each processes whole blocks of eight words and returns the number of words done.
//!
//! They are generic over [`Floats`]; `avx2`, `avx512` and `neon` contain them compiled for these sets. SAFETY of every function: the set is present.

use super::blocks::Steps;
use super::float::{Factor, Floats, LEAST_WIDTH, Places, Residues, Split, Sum, split_capacity};
use super::{BLOCK, Modulus};
use crate::memory::{NextUse, fetch_line_near, finish, next_use_of};

/// Writes `$value` to each register of `$target`, where the `$name`s are registers of other slices.
macro_rules! each_register {
    ($target:ident, |$($name:ident),*| $value:expr) => {{
        let length = $target.len() / BLOCK * BLOCK;
        assert!(true $(&& $name.len() >= length)*, "limbs of different lengths");
        for at in (0..length).step_by(V::LANES) {
            // SAFETY: the set is present, and `at` and the words after it are below the lengths of all slices.
            unsafe {
                $(let $name = V::load($name.as_ptr().add(at));)*
                V::store($target.as_mut_ptr().add(at), $value);
            }
        }
        length
    }};
}

/// The same, where the target is also an operand.
macro_rules! each_own_register {
    ($target:ident, |$own:ident $(, $name:ident)*| $value:expr) => {{
        let length = $target.len() / BLOCK * BLOCK;
        assert!(true $(&& $name.len() >= length)*, "limbs of different lengths");
        for at in (0..length).step_by(V::LANES) {
            // SAFETY: the set is present, and `at` and the words after it are below the lengths of all slices.
            unsafe {
                let $own = V::load($target.as_ptr().add(at));
                $(let $name = V::load($name.as_ptr().add(at));)*
                V::store($target.as_mut_ptr().add(at), $value);
            }
        }
        length
    }};
}

/// Declares the operations of one set: each `name(arguments)` below, compiled with `$feature`.
macro_rules! compiled {
    ($module:ident, $lanes:ty, $feature:literal, $($name:ident($($argument:ident: $type:ty),*);)*) => {
        /// The operations compiled for one set.
        pub(super) mod $module {
            use super::*;
            $(
                #[target_feature(enable = $feature)]
                pub fn $name(modulus: Modulus, $($argument: $type),*) -> usize {
                    // SAFETY: the set is present.
                    unsafe { super::$name::<$lanes>(modulus, $($argument),*) }
                }
            )*

            /// [`super::holds`].
            #[target_feature(enable = $feature)]
            pub fn holds(modulus: Modulus, words: &[u64]) -> bool {
                // SAFETY: the set is present.
                unsafe { super::holds::<$lanes>(modulus, words) }
            }

            /// [`super::inner_products`]. SAFETY: as there.
            #[target_feature(enable = $feature)]
            pub unsafe fn inner_products<const S: usize>(
                modulus: Modulus,
                sums: &mut [&mut [u64]; S],
                digits: &[&[u64]],
                rows: &[Vec<*const u64>; S],
                steps: [Steps; S],
                next_use: NextUse,
            ) -> usize {
                // SAFETY: passed on.
                unsafe { super::inner_products::<$lanes, S>(modulus, sums, digits, rows, steps, next_use) }
            }
        }
    };
}

macro_rules! compiled_sets {
    ($($operations:tt)*) => {
        #[cfg(target_arch = "x86_64")]
        compiled!(avx2, super::super::float::Avx2, "avx2,fma", $($operations)*);
        #[cfg(target_arch = "aarch64")]
        compiled!(neon, super::super::float::Neon, "neon", $($operations)*);
        #[cfg(target_arch = "x86_64")]
        compiled!(avx512, super::super::float::Avx512, "avx512f,avx512dq,avx512bw,avx512vl", $($operations)*);
    };
}

compiled_sets!(
    add_assign(a: &mut [u64], b: &[u64]);
    sub_assign(a: &mut [u64], b: &[u64]);
    neg_assign(a: &mut [u64]);
    add(target: &mut [u64], a: &[u64], b: &[u64]);
    sub(target: &mut [u64], a: &[u64], b: &[u64]);
    sub_from_assign(b: &mut [u64], a: &[u64]);
    add_scalar_assign(a: &mut [u64], w: u64);
    multiply_assign(a: &mut [u64], b: &[u64]);
    multiply(target: &mut [u64], a: &[u64], b: &[u64]);
    multiply_add_assign(sum: &mut [u64], a: &[u64], b: &[u64]);
    multiply_add(target: &mut [u64], a: &[u64], b: &[u64], c: &[u64]);
    scale(target: &mut [u64], a: &[u64], w: u64);
    scale_assign(a: &mut [u64], w: u64);
    scale_add_assign(sum: &mut [u64], a: &[u64], w: u64);
    sub_scale_assign(a: &mut [u64], b: &[u64], w: u64);
    sub_from_scale_assign(b: &mut [u64], a: &[u64], w: u64);
    sub_scale(target: &mut [u64], a: &[u64], b: &[u64], w: u64, next_use: NextUse);
    reduce_from(target: &mut [u64], source: &[u64], from: Modulus);
    reduce_centred_from(target: &mut [u64], source: &[u64], from: Modulus);
    reduce_signed(target: &mut [u64], source: &[i64]);
);

#[inline(always)]
unsafe fn sum<V: Floats>(q: &Residues<V>, a: V::Words, b: V::Words) -> V::Words {
    // SAFETY: the set is present.
    unsafe { V::reduce_once(V::add_words(a, b), q.q_words) }
}

#[inline(always)]
unsafe fn difference<V: Floats>(q: &Residues<V>, a: V::Words, b: V::Words) -> V::Words {
    // SAFETY: the set is present.
    unsafe { V::raise(V::sub_words(a, b), q.q_words) }
}

#[inline(always)]
unsafe fn product<V: Floats>(q: &Residues<V>, a: V::Words, b: V::Words) -> V::Words {
    // SAFETY: the set is present.
    unsafe { q.leave(q.product(q.enter(a), q.enter(b))) }
}

/// a·w. SAFETY: the set is present.
#[inline(always)]
unsafe fn scaled<V: Floats>(q: &Residues<V>, a: V::Words, w: Factor<V>) -> V::Words {
    // SAFETY: the set is present; the product of a residue is within 0.625 q.
    unsafe { q.leave(q.times(q.enter(a), w)) }
}

/// (a − b)·w. SAFETY: the set is present.
#[inline(always)]
unsafe fn scaled_difference<V: Floats>(q: &Residues<V>, a: V::Words, b: V::Words, w: Factor<V>) -> V::Words {
    // SAFETY: as in `scaled`.
    unsafe { q.leave(q.times(q.enter(a).sub(q.enter(b)), w)) }
}

/// Whether every word is canonical. SAFETY: the set is present.
#[inline(always)]
unsafe fn holds<V: Floats>(modulus: Modulus, words: &[u64]) -> bool {
    let length = words.len() / BLOCK * BLOCK;
    let mut signs = [0; BLOCK];
    // SAFETY: the set is present, and `at` and the words after it are below the length.
    unsafe {
        let largest = V::splat_word(modulus.value() - 1);
        let mut all = V::splat_word(0);
        for at in (0..length).step_by(V::LANES) {
            // A word of at least q is negative, or its difference to q - 1 is.
            let word = V::load(words.as_ptr().add(at));
            all = V::or_words(all, V::or_words(word, V::sub_words(largest, word)));
        }
        V::store(signs.as_mut_ptr(), all);
    }
    signs.iter().all(|sign| sign >> 63 == 0) && words[length..].iter().all(|&word| modulus.holds(word))
}

#[inline(always)]
unsafe fn add_assign<V: Floats>(modulus: Modulus, a: &mut [u64], b: &[u64]) -> usize {
    // SAFETY: the set is present, here and below.
    let q = unsafe { Residues::<V>::new(modulus.value()) };
    each_own_register!(a, |own, b| sum(&q, own, b))
}

#[inline(always)]
unsafe fn sub_assign<V: Floats>(modulus: Modulus, a: &mut [u64], b: &[u64]) -> usize {
    // SAFETY: the set is present.
    let q = unsafe { Residues::<V>::new(modulus.value()) };
    each_own_register!(a, |own, b| difference(&q, own, b))
}

#[inline(always)]
unsafe fn neg_assign<V: Floats>(modulus: Modulus, a: &mut [u64]) -> usize {
    // SAFETY: the set is present.
    let (q, zero) = unsafe { (Residues::<V>::new(modulus.value()), V::splat_word(0)) };
    each_own_register!(a, |own| difference(&q, zero, own))
}

#[inline(always)]
unsafe fn add<V: Floats>(modulus: Modulus, target: &mut [u64], a: &[u64], b: &[u64]) -> usize {
    // SAFETY: the set is present.
    let q = unsafe { Residues::<V>::new(modulus.value()) };
    each_register!(target, |a, b| sum(&q, a, b))
}

#[inline(always)]
unsafe fn sub<V: Floats>(modulus: Modulus, target: &mut [u64], a: &[u64], b: &[u64]) -> usize {
    // SAFETY: the set is present.
    let q = unsafe { Residues::<V>::new(modulus.value()) };
    each_register!(target, |a, b| difference(&q, a, b))
}

#[inline(always)]
unsafe fn sub_from_assign<V: Floats>(modulus: Modulus, b: &mut [u64], a: &[u64]) -> usize {
    // SAFETY: the set is present.
    let q = unsafe { Residues::<V>::new(modulus.value()) };
    each_own_register!(b, |own, a| difference(&q, a, own))
}

#[inline(always)]
unsafe fn add_scalar_assign<V: Floats>(modulus: Modulus, a: &mut [u64], w: u64) -> usize {
    // SAFETY: the set is present.
    let (q, w) = unsafe { (Residues::<V>::new(modulus.value()), V::splat_word(w)) };
    each_own_register!(a, |own| sum(&q, own, w))
}

#[inline(always)]
unsafe fn multiply_assign<V: Floats>(modulus: Modulus, a: &mut [u64], b: &[u64]) -> usize {
    // SAFETY: the set is present.
    let q = unsafe { Residues::<V>::new(modulus.value()) };
    each_own_register!(a, |own, b| product(&q, own, b))
}

#[inline(always)]
unsafe fn multiply<V: Floats>(modulus: Modulus, target: &mut [u64], a: &[u64], b: &[u64]) -> usize {
    // SAFETY: the set is present.
    let q = unsafe { Residues::<V>::new(modulus.value()) };
    each_register!(target, |a, b| product(&q, a, b))
}

#[inline(always)]
unsafe fn multiply_add_assign<V: Floats>(modulus: Modulus, sum_of: &mut [u64], a: &[u64], b: &[u64]) -> usize {
    // SAFETY: the set is present.
    let q = unsafe { Residues::<V>::new(modulus.value()) };
    each_own_register!(sum_of, |own, a, b| sum(&q, own, product(&q, a, b)))
}

#[inline(always)]
unsafe fn multiply_add<V: Floats>(modulus: Modulus, target: &mut [u64], a: &[u64], b: &[u64], c: &[u64]) -> usize {
    // SAFETY: the set is present.
    let q = unsafe { Residues::<V>::new(modulus.value()) };
    each_register!(target, |a, b, c| sum(&q, c, product(&q, a, b)))
}

#[inline(always)]
unsafe fn scale<V: Floats>(modulus: Modulus, target: &mut [u64], a: &[u64], w: u64) -> usize {
    // SAFETY: the set is present.
    let (q, w) = unsafe { (Residues::<V>::new(modulus.value()), Residues::<V>::factor(modulus, w)) };
    each_register!(target, |a| scaled(&q, a, w))
}

#[inline(always)]
unsafe fn scale_assign<V: Floats>(modulus: Modulus, a: &mut [u64], w: u64) -> usize {
    // SAFETY: the set is present.
    let (q, w) = unsafe { (Residues::<V>::new(modulus.value()), Residues::<V>::factor(modulus, w)) };
    each_own_register!(a, |own| scaled(&q, own, w))
}

#[inline(always)]
unsafe fn scale_add_assign<V: Floats>(modulus: Modulus, sum_of: &mut [u64], a: &[u64], w: u64) -> usize {
    // SAFETY: the set is present.
    let (q, w) = unsafe { (Residues::<V>::new(modulus.value()), Residues::<V>::factor(modulus, w)) };
    each_own_register!(sum_of, |own, a| sum(&q, own, scaled(&q, a, w)))
}

#[inline(always)]
unsafe fn sub_scale_assign<V: Floats>(modulus: Modulus, a: &mut [u64], b: &[u64], w: u64) -> usize {
    // SAFETY: the set is present.
    let (q, w) = unsafe { (Residues::<V>::new(modulus.value()), Residues::<V>::factor(modulus, w)) };
    each_own_register!(a, |own, b| scaled_difference(&q, own, b, w))
}

#[inline(always)]
unsafe fn sub_from_scale_assign<V: Floats>(modulus: Modulus, b: &mut [u64], a: &[u64], w: u64) -> usize {
    // SAFETY: the set is present.
    let (q, w) = unsafe { (Residues::<V>::new(modulus.value()), Residues::<V>::factor(modulus, w)) };
    each_own_register!(b, |own, a| scaled_difference(&q, a, own, w))
}

#[inline(always)]
unsafe fn sub_scale<V: Floats>(
    modulus: Modulus,
    target: &mut [u64],
    a: &[u64],
    b: &[u64],
    w: u64,
    next_use: NextUse,
) -> usize {
    let next_use = next_use_of(target, next_use);
    let length = target.len() / BLOCK * BLOCK;
    assert!(a.len() >= length && b.len() >= length, "limbs of different lengths");
    // SAFETY: the set is present, and `at` and the words after it are below the lengths of all slices.
    unsafe {
        let (q, w) = (Residues::<V>::new(modulus.value()), Residues::<V>::factor(modulus, w));
        for at in (0..length).step_by(V::LANES) {
            let (a, b) = (V::load(a.as_ptr().add(at)), V::load(b.as_ptr().add(at)));
            write::<V>(target.as_mut_ptr().add(at), scaled_difference(&q, a, b, w), next_use);
        }
    }
    finish(next_use);
    length
}

/// Writes a register, past the cache if it is used late. SAFETY: the set is present, and the words are there, aligned if they are used late.
#[inline(always)]
pub(crate) unsafe fn write<V: Floats>(to: *mut u64, words: V::Words, next_use: NextUse) {
    // SAFETY: this function's contract.
    unsafe {
        match next_use {
            NextUse::Soon => V::store(to, words),
            NextUse::Late => V::stream(to, words),
        }
    }
}

/// Words below this many bits are exact in f64.
const WORD_BITS: u32 = 52;

#[inline(always)]
unsafe fn reduce_from<V: Floats>(modulus: Modulus, target: &mut [u64], source: &[u64], from: Modulus) -> usize {
    if from.bits() > WORD_BITS {
        return 0;
    }
    // SAFETY: the set is present.
    let q = unsafe { Residues::<V>::new(modulus.value()) };
    if from.value() <= 2 * modulus.value() {
        return each_register!(target, |source| V::reduce_once(source, q.q_words));
    }
    each_register!(target, |source| q.leave(q.reduce(q.enter(source))))
}

#[inline(always)]
unsafe fn reduce_centred_from<V: Floats>(modulus: Modulus, target: &mut [u64], source: &[u64], from: Modulus) -> usize {
    if from.bits() > WORD_BITS {
        return 0;
    }
    // SAFETY: the set is present.
    let q = unsafe { Residues::<V>::new(modulus.value()) };
    // SAFETY: the set is present.
    let (half, whole) = unsafe { (V::splat(from.value().div_ceil(2) as f64), V::splat(from.value() as f64)) };
    // Numbers below a half gain the modulus, which is then subtracted from all.
    each_register!(target, |source| q.leave(q.reduce(q.enter(source).add_where_less(half, whole).sub(whole))))
}

/// Integers in [−2^51, 2^51) convert directly; others are x = h·2^32 + l, with h + 2^31 and l nonnegative.
#[inline(always)]
unsafe fn reduce_signed<V: Floats>(modulus: Modulus, target: &mut [u64], source: &[i64]) -> usize {
    // SAFETY: i64 and u64 are of one size, and every pattern is a value of both.
    let source = unsafe { std::slice::from_raw_parts(source.as_ptr().cast::<u64>(), source.len()) };
    // SAFETY: the set is present.
    let q = unsafe { Residues::<V>::new(modulus.value()) };
    const HALF: u64 = 1 << (WORD_BITS - 1);
    // SAFETY: the set is present.
    let (half, middle, mut all) = unsafe { (V::splat_word(HALF), V::splat(HALF as f64), V::splat_word(0)) };
    let mut bits = [0; BLOCK];
    let done = each_register!(target, |source| {
        let raised = V::add_words(source, half);
        all = V::or_words(all, raised);
        q.leave(q.reduce(q.enter(raised).sub(middle)))
    });
    // SAFETY: the set is present, and a block has the words of a register at least.
    unsafe { V::store(bits.as_mut_ptr(), all) };
    if bits.iter().all(|bits| bits >> WORD_BITS == 0) {
        return done;
    }
    // SAFETY: the set is present.
    let (place, sign) = unsafe { (Residues::<V>::factor(modulus, modulus.reduce(1 << 32)), V::splat_word(1 << 63)) };
    each_register!(target, |source| {
        let upper = V::shift_right_32(V::xor_words(source, sign));
        let lower = V::xor_words(source, V::xor_words(sign, V::shift_left_32(upper)));
        let high = q.enter(upper).sub(V::splat(f64::from(1u32 << 31)));
        q.leave(q.reduce(q.times(high, place).add(q.enter(lower))))
    })
}

/// Prefetch distance of factors, in words.
const AHEAD: usize = 512;

/// Maximum number of terms before a reduction: longer sums would prefetch too many rows at once.
const MOST_TERMS: usize = 16;

/// The products of all terms over whole blocks: `rows`\[s\]\[i\] is the start of the factors of term i in sum s, with layout `steps`\[s\].
///
/// # Safety
/// The set is present, and factors are valid for every whole block of the sums.
#[inline(always)]
unsafe fn inner_products<V: Floats, const S: usize>(
    modulus: Modulus,
    sums: &mut [&mut [u64]; S],
    digits: &[&[u64]],
    rows: &[Vec<*const u64>; S],
    steps: [Steps; S],
    next_use: NextUse,
) -> usize {
    if steps.iter().any(|steps| steps.width < LEAST_WIDTH) {
        return 0;
    }
    let mut next_use = next_use;
    let mut length = usize::MAX;
    for sum in sums.iter() {
        next_use = next_use_of(sum, next_use);
        length = length.min(sum.len() / BLOCK * BLOCK);
    }
    assert!(digits.iter().all(|digit| digit.len() >= length), "a word of each digit for each sum");
    let bits = 2 * modulus.bits();
    let capacity = split_capacity(bits).min(MOST_TERMS);
    let places = steps.map(|steps| Places::new(steps.width));
    // SAFETY: this function's contract; digits were checked.
    unsafe {
        let (q, split) = (Residues::<V>::new(modulus.value()), Split::<V>::new(bits));
        for start in (0..digits.len().max(1)).step_by(capacity) {
            let end = digits.len().min(start + capacity);
            let next_use = if end == digits.len() { next_use } else { NextUse::Soon };
            for at in (0..length).step_by(BLOCK) {
                for lane in (0..BLOCK).step_by(V::LANES) {
                    let mut wide = [Sum::new(split, V::splat(0.0)); S];
                    if start > 0 {
                        for s in 0..S {
                            wide[s] = Sum::new(split, q.enter(V::load(sums[s].as_ptr().add(at + lane))));
                        }
                    }
                    for term in start..end {
                        let digit = q.enter(V::load(digits.get_unchecked(term).as_ptr().add(at + lane)));
                        for s in 0..S {
                            let row = rows[s].get_unchecked(term).add(at / BLOCK * steps[s].stride);
                            if lane == 0 {
                                fetch_line_near(row.wrapping_add(AHEAD));
                            }
                            wide[s].add_product(digit, q.enter(V::unpack(row, lane, &places[s])));
                        }
                    }
                    for s in 0..S {
                        write::<V>(sums[s].as_mut_ptr().add(at + lane), wide[s].reduce(split, &q), next_use);
                    }
                }
            }
        }
    }
    finish(next_use);
    length
}
