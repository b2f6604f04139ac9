//! Eight numbers side by side: what the transform asks of an instruction set.

use super::words::{Preparation, plain_step};

/// 1.5 · 2^52: adding it leaves a number's nearest integer in the low bits of the sum.
pub(super) const MAGIC: f64 = 6_755_399_441_055_744.0;
/// Adding it rounds a number to a multiple of 2^`shift`, whose quotient is in the low bits of the sum; right while
/// the number is at most 2^(51 + `shift`).
pub(super) fn magic(shift: u32) -> f64 {
    MAGIC * f64::from(1u32 << shift)
}

/// 2^32.
pub(super) const TWO_32: f64 = 4_294_967_296.0;
/// 2^64.
pub(super) const TWO_64: f64 = TWO_32 * TWO_32;

/// Eight f64. Every method is unsafe for one reason: its instruction set must be present, and the
/// pointers valid for eight elements (of any alignment).
pub(super) trait Lanes: Copy {
    /// Reads eight numbers.
    unsafe fn load(from: *const f64) -> Self;
    /// Writes eight numbers.
    unsafe fn store(self, to: *mut f64);
    /// The same number in every lane.
    unsafe fn splat(value: f64) -> Self;
    /// `self + other`.
    unsafe fn add(self, other: Self) -> Self;
    /// `self - other`.
    unsafe fn sub(self, other: Self) -> Self;
    /// `self * factor + term`, rounded once or twice.
    unsafe fn mul_add(self, factor: Self, term: Self) -> Self;
    /// `term - self * factor`, rounded once or twice.
    unsafe fn neg_mul_add(self, factor: Self, term: Self) -> Self;
    /// (a, b) in halves of four lanes: (a₀ b₀, a₁ b₁).
    unsafe fn exchange_halves(a: Self, b: Self) -> (Self, Self);
    /// (a, b) in quarters of two lanes: (a₀ a₂ b₀ b₂, a₁ a₃ b₁ b₃).
    unsafe fn exchange_quarters(a: Self, b: Self) -> (Self, Self);
    /// (a, b) in lanes: (a₀ b₀ a₂ b₂ .., a₁ b₁ a₃ b₃ ..).
    unsafe fn exchange_lanes(a: Self, b: Self) -> (Self, Self);
    /// Sixteen words ±from − own as digits: see [`super::words`]. SAFETY: sixteen words each, for every level `degree` words
    /// further in `out`.
    #[inline(always)]
    unsafe fn digits_32<const LEVELS: u32>(
        from: *const u32,
        own: *const u32,
        negated: bool,
        preparation: Preparation,
        out: *mut u32,
        degree: usize,
    ) {
        // SAFETY: this function's contract.
        unsafe { plain_step::<_, LEVELS>(from, own, negated, preparation, out, degree) }
    }
    /// Eight words of each of eight polynomials, which are `apart` words from one another, as digits (see [`super::words`]): for each level,
    /// `level_apart` words further in `out`, the first words of all eight, then the second ones and so on. SAFETY: there are so many.
    #[inline(always)]
    unsafe fn digits_of_eight(
        words: *const u32,
        apart: usize,
        preparation: Preparation,
        out: *mut u32,
        level_apart: usize,
    ) {
        for (lane, word) in (0..8).flat_map(|lane| (0..8).map(move |word| (lane, word))) {
            // SAFETY: this function's contract.
            unsafe {
                let value = *words.add(lane * apart + word);
                let mut bits = value.wrapping_add(preparation.add as u32) ^ preparation.flip as u32;
                for level in 0..preparation.levels as usize {
                    *out.add(level * level_apart + 8 * word + lane) = bits & preparation.mask as u32;
                    bits = bits.wrapping_shl(preparation.log2_base);
                }
            }
        }
    }
    /// Adds numbers to which [`magic`]`(shift)` has been added to eight words of each of eight polynomials, which are `apart` words from one
    /// another, mod 2^32: at `numbers` are the first words' of all eight, then the second ones' and so on. SAFETY: there are so many.
    #[inline(always)]
    unsafe fn accumulate_of_eight(numbers: *const f64, shift: u32, to: *mut u32, apart: usize) {
        for (lane, word) in (0..8).flat_map(|lane| (0..8).map(move |word| (lane, word))) {
            // SAFETY: this function's contract.
            unsafe {
                let to = to.add(lane * apart + word);
                *to = (*to).wrapping_add(((*numbers.add(8 * word + lane)).to_bits() as u32) << shift);
            }
        }
    }
    /// Eight signed 32-bit words.
    unsafe fn from_i32(words: *const i32) -> Self;
    /// Eight signed 64-bit words, rounded to 53 bits.
    unsafe fn from_i64(words: *const i64) -> Self;
    /// Adds `a` to the eight words at `to_a` and `b` to those at `to_b`, mod 2^32: numbers to which [`magic`]`(shift)` has been
    /// added, `shift` below 32.
    unsafe fn accumulate_32(a: Self, b: Self, shift: u32, to_a: *mut u32, to_b: *mut u32);
    /// Adds the nearest integers, mod 2^64, to eight words. |self| < 2^114.
    unsafe fn add_to_64(self, words: *mut u64);
    /// Asks for the cache line at `line`, valid or not, in the second-level cache.
    unsafe fn prefetch(line: *const u8);
    /// The same in the first-level cache.
    unsafe fn prefetch_near(line: *const u8);
    /// self − 2^32 · ⌊self / 2^32⌉, exact for |self| < 2^83.
    unsafe fn reduce_32(self) -> Self;
}

/// Eight numbers in plain Rust.
#[derive(Clone, Copy)]
pub(super) struct Portable([f64; 8]);

#[inline(always)]
fn nearest(value: f64) -> f64 {
    (value + MAGIC) - MAGIC
}

/// Two selections of the sixteen lanes of a, then b.
#[inline(always)]
fn pick(a: Portable, b: Portable, first: [usize; 8], second: [usize; 8]) -> (Portable, Portable) {
    let of = |lane: usize| if lane < 8 { a.0[lane] } else { b.0[lane - 8] };
    (Portable(first.map(of)), Portable(second.map(of)))
}

impl Portable {
    #[inline(always)]
    fn zip(self, other: Self, f: impl Fn(f64, f64) -> f64) -> Self {
        Self(std::array::from_fn(|l| f(self.0[l], other.0[l])))
    }
}

// Every pointer access below is within the eight elements that the trait's contract makes valid.
impl Lanes for Portable {
    #[inline(always)]
    unsafe fn load(from: *const f64) -> Self {
        // SAFETY: eight valid elements, by the trait's contract.
        Self(unsafe { from.cast::<[f64; 8]>().read_unaligned() })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f64) {
        // SAFETY: eight valid elements, by the trait's contract.
        unsafe { to.cast::<[f64; 8]>().write_unaligned(self.0) }
    }
    #[inline(always)]
    unsafe fn splat(value: f64) -> Self {
        Self([value; 8])
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        self.zip(other, |a, b| a + b)
    }
    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        self.zip(other, |a, b| a - b)
    }
    #[inline(always)]
    unsafe fn mul_add(self, factor: Self, term: Self) -> Self {
        Self(std::array::from_fn(|l| self.0[l] * factor.0[l] + term.0[l]))
    }
    #[inline(always)]
    unsafe fn neg_mul_add(self, factor: Self, term: Self) -> Self {
        Self(std::array::from_fn(|l| term.0[l] - self.0[l] * factor.0[l]))
    }
    #[inline(always)]
    unsafe fn exchange_halves(a: Self, b: Self) -> (Self, Self) {
        pick(a, b, [0, 1, 2, 3, 8, 9, 10, 11], [4, 5, 6, 7, 12, 13, 14, 15])
    }
    #[inline(always)]
    unsafe fn exchange_quarters(a: Self, b: Self) -> (Self, Self) {
        pick(a, b, [0, 1, 4, 5, 8, 9, 12, 13], [2, 3, 6, 7, 10, 11, 14, 15])
    }
    #[inline(always)]
    unsafe fn exchange_lanes(a: Self, b: Self) -> (Self, Self) {
        pick(a, b, [0, 8, 2, 10, 4, 12, 6, 14], [1, 9, 3, 11, 5, 13, 7, 15])
    }
    #[inline(always)]
    unsafe fn from_i32(words: *const i32) -> Self {
        // SAFETY: eight valid elements, by the trait's contract.
        Self(unsafe { words.cast::<[i32; 8]>().read_unaligned() }.map(f64::from))
    }
    #[inline(always)]
    unsafe fn from_i64(words: *const i64) -> Self {
        // SAFETY: eight valid elements, by the trait's contract.
        Self(unsafe { words.cast::<[i64; 8]>().read_unaligned() }.map(|word| word as f64))
    }
    #[inline(always)]
    unsafe fn accumulate_32(a: Self, b: Self, shift: u32, to_a: *mut u32, to_b: *mut u32) {
        for (value, to) in [(a, to_a), (b, to_b)] {
            let to = to.cast::<[u32; 8]>();
            // SAFETY: eight valid elements each, by the trait's contract.
            unsafe {
                let old = to.read_unaligned();
                to.write_unaligned(std::array::from_fn(|l| {
                    old[l].wrapping_add((value.0[l].to_bits() as u32) << shift)
                }));
            }
        }
    }
    #[inline(always)]
    unsafe fn add_to_64(self, words: *mut u64) {
        // SAFETY: `words` is valid for eight elements, by the trait's contract.
        unsafe {
            let words = words.cast::<[u64; 8]>();
            let old = words.read_unaligned();
            words.write_unaligned(std::array::from_fn(|l| {
                let centred = self.0[l] - nearest(self.0[l] / TWO_64) * TWO_64;
                let high = nearest(centred / TWO_32);
                let low = centred - high * TWO_32;
                let integer = |x: f64| (x + MAGIC).to_bits().wrapping_sub(MAGIC.to_bits());
                old[l].wrapping_add(integer(high) << 32).wrapping_add(integer(low))
            }));
        }
    }
    #[inline(always)]
    unsafe fn prefetch(_line: *const u8) {}
    #[inline(always)]
    unsafe fn prefetch_near(_line: *const u8) {}
    #[inline(always)]
    unsafe fn reduce_32(self) -> Self {
        Self(self.0.map(|x| x - nearest(x / TWO_32) * TWO_32))
    }
}
