//! Multiplies residues of a modulus below 2^50 as f64 with fused multiply-adds, for processors without IFMA: in AVX2, AVX-512 and NEON.
//!
//! An integer below 2^53 is exact in f64, and so is the result of a fused multiply-add that is such an integer. Let h be the rounded product of a and
//! b; then l = ab − h is exact. If c is an integer near ab/q, h − cq is an integer below 2^53 and also exact, and ab − cq = (h − cq) + l. The distance of
//! c from ab/q bounds the result: c is the rounding of a quotient with a relative error of a few parts in 2^53.
//!
//! Every function is unsafe because its instruction set must be present, and its pointers valid for [`Floats::LANES`] words.

#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(target_arch = "aarch64")]
pub(crate) use neon::Neon;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{Avx2, Avx512};

use super::Modulus;

/// Largest number of bits of a modulus.
pub(crate) const MAX_BITS: u32 = 50;

/// Whether `modulus` is below 2^50.
pub(crate) fn serves(modulus: Modulus) -> bool {
    modulus.bits() <= MAX_BITS
}

/// 2^52: inserting a word below it into the mantissa adds the word.
const SHIFT: f64 = (1u64 << 52) as f64;

/// 1.5·2^52: adding a number within 2^51 of 0 rounds it to an integer.
const TO_INTEGERS: f64 = 1.5 * SHIFT;

/// A vector of residues.
pub(crate) trait Floats: Copy {
    /// The same register as integers.
    type Words: Copy;
    /// log2 of the number of lanes.
    const LOG2_LANES: usize;
    /// Number of lanes.
    const LANES: usize = 1 << Self::LOG2_LANES;

    unsafe fn load(from: *const u64) -> Self::Words;
    unsafe fn store(to: *mut u64, words: Self::Words);
    /// [`Self::store`] as a streaming store; the address is a multiple of 64 bytes, or one register further.
    unsafe fn stream(to: *mut u64, words: Self::Words);
    unsafe fn splat_word(word: u64) -> Self::Words;
    unsafe fn add_words(a: Self::Words, b: Self::Words) -> Self::Words;
    unsafe fn sub_words(a: Self::Words, b: Self::Words) -> Self::Words;
    unsafe fn or_words(a: Self::Words, b: Self::Words) -> Self::Words;
    unsafe fn xor_words(a: Self::Words, b: Self::Words) -> Self::Words;
    unsafe fn shift_right_32(a: Self::Words) -> Self::Words;
    unsafe fn shift_left_32(a: Self::Words) -> Self::Words;
    /// [0, 2q) to [0, q).
    unsafe fn reduce_once(words: Self::Words, q: Self::Words) -> Self::Words;
    /// Integers in (−q, q) to [0, q).
    unsafe fn raise(words: Self::Words, q: Self::Words) -> Self::Words;
    /// The bits as numbers.
    unsafe fn from_bits(words: Self::Words) -> Self;
    /// The numbers' bits.
    unsafe fn bits(self) -> Self::Words;
    unsafe fn splat(value: f64) -> Self;
    unsafe fn add(self, other: Self) -> Self;
    unsafe fn sub(self, other: Self) -> Self;
    unsafe fn mul(self, other: Self) -> Self;
    /// self · factor + term.
    unsafe fn mul_add(self, factor: Self, term: Self) -> Self;
    /// self · factor − term.
    unsafe fn mul_sub(self, factor: Self, term: Self) -> Self;
    /// term − self · factor.
    unsafe fn neg_mul_add(self, factor: Self, term: Self) -> Self;
    /// self, plus `addend` where self is below `bound`.
    unsafe fn add_where_less(self, bound: Self, addend: Self) -> Self;
    /// Exchanges lane bit `bit` with the register's number.
    unsafe fn swap(a: Self, b: Self, bit: usize) -> (Self, Self);
    /// (a_0, b_0, a_1, b_1, …).
    unsafe fn interleave(a: Self, b: Self) -> (Self, Self);
    /// Even numbers, odd numbers.
    unsafe fn deinterleave(a: Self, b: Self) -> (Self, Self);
    /// The factors of in-register stage `stage` from a block of twice the lanes; see [`crate::ntt`]'s tables.
    unsafe fn spread<const MIRRORED: bool>(block: *const u64, stage: usize) -> Self;
    /// One vector of the eight words of `places.width` bytes in a block, from `lane`.
    unsafe fn unpack(block: *const u64, lane: usize, places: &Places) -> Self::Words;
}

/// Byte shuffles for two words within the sixteen bytes that begin or end with them.
pub(crate) struct Places {
    width: usize,
    first: [u8; 16],
    last: [u8; 16],
}

/// Fewest bytes per word for [`Floats::unpack`]: with fewer, reading sixteen bytes would exceed eight words.
pub(crate) const LEAST_WIDTH: usize = 4;

impl Places {
    /// For words of `width` bytes, [`LEAST_WIDTH`] to eight.
    pub(crate) fn new(width: usize) -> Self {
        let mut places = Self { width, first: [0x80; 16], last: [0x80; 16] };
        for byte in 0..2 * width {
            let to = byte / width * 8 + byte % width;
            (places.first[to], places.last[to]) = (byte as u8, (16 - 2 * width + byte) as u8);
        }
        places
    }
}

/// A factor w in [−q/2, q/2], and w/q.
#[derive(Clone, Copy)]
pub(crate) struct Factor<V> {
    pub w: V,
    pub quotient: V,
}

/// The representative of w nearest to 0, and w/q rounded.
pub(crate) fn factor(modulus: Modulus, w: u64) -> [f64; 2] {
    let w = modulus.centre(w) as f64;
    [w, w / modulus.value() as f64]
}

/// The modulus in every lane.
#[derive(Clone, Copy)]
pub(crate) struct Residues<V: Floats> {
    pub q: V,
    pub q_words: V::Words,
    inverse: V,
    shift: V,
    to_integers: V,
}

impl<V: Floats> Residues<V> {
    /// For a modulus that [`serves`] accepts.
    #[inline(always)]
    pub(crate) unsafe fn new(q: u64) -> Self {
        // SAFETY: this module's contract, here and in every method below.
        unsafe {
            Self {
                q: V::splat(q as f64),
                q_words: V::splat_word(q),
                inverse: V::splat(1.0 / q as f64),
                shift: V::splat(SHIFT),
                to_integers: V::splat(TO_INTEGERS),
            }
        }
    }

    /// The same factor in every lane.
    #[inline(always)]
    pub(crate) unsafe fn factor(modulus: Modulus, w: u64) -> Factor<V> {
        let [w, quotient] = factor(modulus, w);
        // SAFETY: this module's contract.
        unsafe { Factor { w: V::splat(w), quotient: V::splat(quotient) } }
    }

    /// Converts words below 2^52 to f64.
    #[inline(always)]
    pub(crate) unsafe fn enter(&self, words: V::Words) -> V {
        // SAFETY: this module's contract.
        unsafe { V::from_bits(V::or_words(words, self.shift.bits())).sub(self.shift) }
    }

    /// Converts integers in (−q, q) to canonical words.
    #[inline(always)]
    pub(crate) unsafe fn leave(&self, x: V) -> V::Words {
        // SAFETY: this module's contract.
        unsafe {
            let canonical = x.add_where_less(V::splat(0.0), self.q);
            V::xor_words(canonical.add(self.shift).bits(), self.shift.bits())
        }
    }

    /// The integer nearest to x·y if that is within 2^51 of 0, otherwise one within |x·y|·2^-53 + 1 of it: the sum is rounded, the difference exact. Two
    /// operations, instead of three on Intel's AVX2 and AVX-512 for a product and a separate rounding.
    #[inline(always)]
    unsafe fn nearest(&self, x: V, y: V) -> V {
        // SAFETY: this module's contract.
        unsafe { x.mul_add(y, self.to_integers).sub(self.to_integers) }
    }

    /// x − q·⌊x/q⌉: within q/2 + |x|·2^-53 of 0, for |x| < 2^53.
    #[inline(always)]
    pub(crate) unsafe fn reduce(&self, x: V) -> V {
        // SAFETY: this module's contract.
        unsafe { self.nearest(x, self.inverse).neg_mul_add(self.q, x) }
    }

    /// x·w modulo q, within q/2 + |x|·q·2^-54 of 0, for integers |x| ≤ 2^52. w/q is at most 1/2 with a relative error of 2^-53, so the quotient has an error
    /// of |x|·2^-54 before it is rounded.
    #[inline(always)]
    pub(crate) unsafe fn times(&self, x: V, Factor { w, quotient }: Factor<V>) -> V {
        // SAFETY: this module's contract.
        unsafe {
            let high = x.mul(w);
            let low = x.mul_sub(w, high);
            self.nearest(x, quotient).neg_mul_add(self.q, high).add(low)
        }
    }

    /// a·b modulo q within 0.75 q of 0, for |a|, |b| ≤ q < 2^50: the quotient, at most 2^50, has two relative errors of 2^-53, at most 0.25 in total.
    #[inline(always)]
    pub(crate) unsafe fn product(&self, a: V, b: V) -> V {
        // SAFETY: this module's contract.
        unsafe {
            let high = a.mul(b);
            let low = a.mul_sub(b, high);
            self.nearest(high, self.inverse).neg_mul_add(self.q, high).add(low)
        }
    }
}

/// Accumulates sums of products of numbers below 2^a and 2^b as a multiple of 2^k and a remainder, k = ⌈(a + b)/2⌉ + 1.
///
/// The multiple has an offset of 2^(52 + k), so that a fused multiply-add that adds a product to it rounds to multiples of 2^k. The remainder of the
/// product is an integer of at most 2^(k − 1), computed exactly by another. Up to [`split_capacity`] products accumulate exactly.
#[derive(Clone, Copy)]
pub(crate) struct Split<V>(V);

/// k.
fn split_place(bits: u32) -> u32 {
    bits.div_ceil(2) + 1
}

/// Number of products of `bits` = a + b bits (at most 100) that a [`Sum`] accumulates in addition to an initial residue, at most 2^10.
///
/// Multiples must stay below 2^(52 + k): n·2^bits at most. The last reduction in [`Sum::reduce`] needs an operand below 2^53: n remainders of 2^(k − 1),
/// the residue below 2^50, and the output of the first reduction, n·2^(bits − 51) + 2^50.
pub(crate) fn split_capacity(bits: u32) -> usize {
    let place = split_place(bits);
    let multiples = 1u64 << (52 + place - bits).min(10);
    let each = (1u64 << (place - 1)) + (1u64 << bits.saturating_sub(51));
    multiples.min((6 << 50) / each) as usize
}

impl<V: Floats> Split<V> {
    /// For products of `bits` bits in total, at most 100.
    #[inline(always)]
    pub(crate) unsafe fn new(bits: u32) -> Self {
        let large = f64::from_bits(u64::from(1023 + 52 + split_place(bits)) << 52);
        // SAFETY: this module's contract.
        Self(unsafe { V::splat(large) })
    }
}

/// A sum of products.
#[derive(Clone, Copy)]
pub(crate) struct Sum<V> {
    /// The multiple, with an offset of 2^(52 + k).
    high: V,
    low: V,
}

impl<V: Floats> Sum<V> {
    /// A sum with an initial residue.
    #[inline(always)]
    pub(crate) fn new(split: Split<V>, residue: V) -> Self {
        Self { high: split.0, low: residue }
    }

    /// Adds a·b, both nonnegative.
    #[inline(always)]
    pub(crate) unsafe fn add_product(&mut self, a: V, b: V) {
        // SAFETY: this module's contract.
        unsafe {
            let high = a.mul_add(b, self.high);
            self.low = self.low.add(a.mul_sub(b, high.sub(self.high)));
            self.high = high;
        }
    }

    /// The canonical sum modulo q, for terms with one factor below q.
    ///
    /// Let the other factor be below 2^a, a ≤ 50, and n the number of terms. Then high/q is below n·2^(a + 1), and its rounded quotient has an error of
    /// n·2^(a − 51) + 1, half of it from 1/q. The result is an integer of at most n·2^(bits − 51) + q, to which the low part is added before the second
    /// reduction.
    #[inline(always)]
    pub(crate) unsafe fn reduce(self, split: Split<V>, residues: &Residues<V>) -> V::Words {
        // SAFETY: this module's contract.
        unsafe {
            let high = residues.reduce(self.high.sub(split.0));
            residues.leave(residues.reduce(high.add(self.low)))
        }
    }
}
