//! Residues of a modulus below 2^50 as f64, multiplied by fused multiply-adds: for processors without IFMA, in AVX2, AVX-512 and NEON.
//!
//! An integer below 2^53 is an f64 exactly, and so is what a fused multiply-add gives if it is one. With h the rounded product of a and b,
//! l = ab − h is exact; with c an integer near ab/q, h − cq is an integer below 2^53 and so exact too, and ab − cq = (h − cq) + l. How near c is
//! bounds the result: c is the rounding of a quotient that errs by a few parts in 2^53 of itself.
//!
//! Every function is unsafe for one reason: the instruction set must be present, and pointers valid for [`Floats::LANES`] words.

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

/// 2^52: a word below it in the mantissa of this is the number that is so much more.
const SHIFT: f64 = (1u64 << 52) as f64;

/// 1.5·2^52: of a number within 2^51 of 0 the sum with this is rounded to an integer.
const TO_INTEGERS: f64 = 1.5 * SHIFT;

/// Residues side by side.
pub(crate) trait Floats: Copy {
    /// The same register as integers.
    type Words: Copy;
    /// log2 of how many.
    const LOG2_LANES: usize;
    /// How many.
    const LANES: usize = 1 << Self::LOG2_LANES;

    unsafe fn load(from: *const u64) -> Self::Words;
    unsafe fn store(to: *mut u64, words: Self::Words);
    /// [`Self::store`] past the cache, to a multiple of 64 bytes or a register further.
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
    /// The integers (−q, q) to [0, q).
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
    /// `addend` more where self is below `bound`.
    unsafe fn add_where_less(self, bound: Self, addend: Self) -> Self;
    /// Exchanges lane bit `bit` with the number of the register.
    unsafe fn swap(a: Self, b: Self, bit: usize) -> (Self, Self);
    /// (a_0, b_0, a_1, b_1, …).
    unsafe fn interleave(a: Self, b: Self) -> (Self, Self);
    /// Even numbers, odd numbers.
    unsafe fn deinterleave(a: Self, b: Self) -> (Self, Self);
    /// The factors of in-register stage `stage` from a block of twice the lanes: see [`crate::ntt`]'s tables.
    unsafe fn spread<const MIRRORED: bool>(block: *const u64, stage: usize) -> Self;
    /// Of eight words of `places.width` bytes each those from `lane` on.
    unsafe fn unpack(block: *const u64, lane: usize, places: &Places) -> Self::Words;
}

/// Where the bytes of two words come from in sixteen that begin with them, or end with them.
pub(crate) struct Places {
    width: usize,
    first: [u8; 16],
    last: [u8; 16],
}

/// Fewest bytes a word that [`Floats::unpack`] reads: with fewer, sixteen bytes would go beyond eight words.
pub(crate) const LEAST_WIDTH: usize = 4;

impl Places {
    /// Of words of `width` bytes, [`LEAST_WIDTH`] to eight.
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

/// w as it is nearest to 0, and w/q rounded.
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
    /// Of a modulus that [`serves`] admits.
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

    /// Words below 2^52 as numbers.
    #[inline(always)]
    pub(crate) unsafe fn enter(&self, words: V::Words) -> V {
        // SAFETY: this module's contract.
        unsafe { V::from_bits(V::or_words(words, self.shift.bits())).sub(self.shift) }
    }

    /// Integers in (−q, q) as canonical words.
    #[inline(always)]
    pub(crate) unsafe fn leave(&self, x: V) -> V::Words {
        // SAFETY: this module's contract.
        unsafe {
            let canonical = x.add_where_less(V::splat(0.0), self.q);
            V::xor_words(canonical.add(self.shift).bits(), self.shift.bits())
        }
    }

    /// The integer nearest to x·y if that is within 2^51 of 0, otherwise one within |x·y|·2^-53 + 1 of it: the sum is rounded, the difference is exact. Two
    /// operations, where Intel's AVX2 and AVX-512 take three for a product that is rounded afterwards.
    #[inline(always)]
    unsafe fn nearest(&self, x: V, y: V) -> V {
        // SAFETY: this module's contract.
        unsafe { x.mul_add(y, self.to_integers).sub(self.to_integers) }
    }

    /// x − q·⌊x/q⌉: within q/2 of 0, and |x|·2^-53 more; |x| < 2^53.
    #[inline(always)]
    pub(crate) unsafe fn reduce(&self, x: V) -> V {
        // SAFETY: this module's contract.
        unsafe { self.nearest(x, self.inverse).neg_mul_add(self.q, x) }
    }

    /// x·w modulo q, within q/2 + |x|·q·2^-54 of 0, for integers |x| ≤ 2^52: w/q, at most 1/2, is off by a factor of 1 ± 2^-53 at most, so that the
    /// quotient is off by |x|·2^-54 before it is rounded.
    #[inline(always)]
    pub(crate) unsafe fn times(&self, x: V, Factor { w, quotient }: Factor<V>) -> V {
        // SAFETY: this module's contract.
        unsafe {
            let high = x.mul(w);
            let low = x.mul_sub(w, high);
            self.nearest(x, quotient).neg_mul_add(self.q, high).add(low)
        }
    }

    /// a·b modulo q within 0.75 q of 0, for |a|, |b| ≤ q < 2^50: the quotient, at most 2^50, is off by two factors of 1 ± 2^-53, which is at most 0.25.
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

/// How sums of products of numbers below 2^a and 2^b are kept: in a multiple of 2^k and a rest, k = ⌈(a + b)/2⌉ + 1.
///
/// The multiple is kept 2^(52 + k) more, so that a fused multiply-add that adds a product to it rounds to multiples of 2^k; what that leaves of the product is an
/// integer of at most 2^(k − 1), which another gives exactly. As many as [`split_capacity`] sum up exactly.
#[derive(Clone, Copy)]
pub(crate) struct Split<V>(V);

/// k.
fn split_place(bits: u32) -> u32 {
    bits.div_ceil(2) + 1
}

/// How many products of `bits` = a + b bits, 100 at most, a [`Sum`] takes besides a residue to begin with, 2^10 at most.
///
/// Multiples must stay below 2^(52 + k): n·2^bits at most. And what [`Sum::reduce`] reduces last must stay below 2^53: n rests of 2^(k − 1), the residue below 2^50, and
/// what the first reduction leaves, n·2^(bits − 51) + 2^50.
pub(crate) fn split_capacity(bits: u32) -> usize {
    let place = split_place(bits);
    let multiples = 1u64 << (52 + place - bits).min(10);
    let each = (1u64 << (place - 1)) + (1u64 << bits.saturating_sub(51));
    multiples.min((6 << 50) / each) as usize
}

impl<V: Floats> Split<V> {
    /// For products of `bits` bits in all, 100 at most.
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
    /// The multiple, 2^(52 + k) more.
    high: V,
    low: V,
}

impl<V: Floats> Sum<V> {
    /// A sum that begins with a residue.
    #[inline(always)]
    pub(crate) fn new(split: Split<V>, residue: V) -> Self {
        Self { high: split.0, low: residue }
    }

    /// Adds a·b, neither negative.
    #[inline(always)]
    pub(crate) unsafe fn add_product(&mut self, a: V, b: V) {
        // SAFETY: this module's contract.
        unsafe {
            let high = a.mul_add(b, self.high);
            self.low = self.low.add(a.mul_sub(b, high.sub(self.high)));
            self.high = high;
        }
    }

    /// The sum modulo q, canonical, of terms of which one factor is below q.
    ///
    /// With the other below 2^a, a ≤ 50, and n terms, high/q is below n·2^(a + 1), and its rounded quotient off by n·2^(a − 51) + 1, one half of it by 1/q: what it
    /// leaves is an integer of at most n·2^(bits − 51) + q, to which the low part is added, and the sum reduced once more.
    #[inline(always)]
    pub(crate) unsafe fn reduce(self, split: Split<V>, residues: &Residues<V>) -> V::Words {
        // SAFETY: this module's contract.
        unsafe {
            let high = residues.reduce(self.high.sub(split.0));
            residues.leave(residues.reduce(high.add(self.low)))
        }
    }
}
