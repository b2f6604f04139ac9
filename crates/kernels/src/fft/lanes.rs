//! Vectors of numbers: the operations that the transform needs from an instruction set.

use super::narrow::{NARROW, widen};
use super::passes::{Near, block_down_parts, block_up_parts};
use super::plan::Plan;
use super::words::{Field, Preparation, STEP, plain_step};

/// 1.5 · 2^52: adding it puts a number's nearest integer into the low bits of the sum.
pub(super) const MAGIC: f64 = 6_755_399_441_055_744.0;
/// Adding it rounds a number to a multiple of 2^`shift`, with the quotient in the low bits of the sum. Valid for numbers up to 2^(51 + `shift`).
pub(super) fn magic(shift: u32) -> f64 {
    MAGIC * f64::from(1u32 << shift)
}

/// 2^32.
pub(super) const TWO_32: f64 = 4_294_967_296.0;
/// 2^64.
pub(super) const TWO_64: f64 = TWO_32 * TWO_32;

/// A vector of f64. Every method is unsafe because its instruction set must be present and its pointers valid for a whole vector (of any
/// alignment).
pub(super) trait Arithmetic: Copy {
    /// Whether additions have their own units, separate from multiplications; see [`super::butterflies`].
    const ADDERS: bool;
    /// Reads numbers.
    unsafe fn load(from: *const f64) -> Self;
    /// Writes numbers.
    unsafe fn store(self, to: *mut f64);
    /// The same number in every lane.
    unsafe fn splat(value: f64) -> Self;
    /// `self + other`.
    unsafe fn add(self, other: Self) -> Self;
    /// `self - other`.
    unsafe fn sub(self, other: Self) -> Self;
    /// `self * factor`.
    unsafe fn mul(self, factor: Self) -> Self;
    /// `self * factor + term`, rounded once or twice.
    unsafe fn mul_add(self, factor: Self, term: Self) -> Self;
    /// `term - self * factor`, rounded once or twice.
    unsafe fn neg_mul_add(self, factor: Self, term: Self) -> Self;
}

/// Eight f64 whose lanes can be exchanged. Unsafe as [`Arithmetic`].
pub(super) trait Eight: Arithmetic {
    /// (a, b) in halves of four lanes: (a₀ b₀, a₁ b₁).
    unsafe fn exchange_halves(a: Self, b: Self) -> (Self, Self);
    /// (a, b) in quarters of two lanes: (a₀ a₂ b₀ b₂, a₁ a₃ b₁ b₃).
    unsafe fn exchange_quarters(a: Self, b: Self) -> (Self, Self);
    unsafe fn exchange_lanes(a: Self, b: Self) -> (Self, Self);
}

/// The vector of a pass, eight f64 or a part of eight, depending on the number of registers. Unsafe as [`Arithmetic`].
pub(super) trait Lanes: Arithmetic {
    /// Number of lanes.
    const WIDTH: usize;
    /// Whether loops are also compiled for each usual shape, with constant lengths: 5 % faster. Disabled for fallback sets.
    const SHAPED: bool = true;
    /// The last six levels of a block, by `block_down_whole` or [`super::passes::block_down_parts`]. SAFETY: theirs.
    unsafe fn block_down(plan: &Plan, index: usize, spectrum: *mut f64, near: Near);
    /// Their inverse, by `block_up_whole` or [`super::passes::block_up_parts`]. SAFETY: theirs.
    unsafe fn block_up(plan: &Plan, from: *const f64, to: *mut f64);
    /// Sixteen words ±from − own as digits; see [`super::words`]. SAFETY: sixteen words each; in `out`, levels are `degree` words apart.
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
    /// The same with 64-bit words.
    #[inline(always)]
    unsafe fn digits_64<const LEVELS: u32>(
        from: *const u64,
        own: *const u64,
        negated: bool,
        preparation: Preparation,
        out: *mut u64,
        degree: usize,
    ) {
        // SAFETY: this function's contract.
        unsafe { plain_step::<_, LEVELS>(from, own, negated, preparation, out, degree) }
    }
    /// Prepares (see [`super::words`], without the flip) sixteen words of each of eight polynomials, which are `apart` words from one another, as the
    /// pairs of [`Field`]. At `out` are words 0 and 1 of each, then 8 and 9; words 2 and 3 are `pair_apart` numbers further, and so on. If `ROTATED`,
    /// words are differences: for each polynomial, `from` gives the minuend, and all ones if the minuend is negated first. SAFETY: all words are
    /// valid.
    #[inline(always)]
    unsafe fn pairs_of_eight<const ROTATED: bool>(
        (from, negated): ([*const u32; 8], [u32; 8]),
        own: *const u32,
        apart: usize,
        preparation: Preparation,
        out: *mut f64,
        pair_apart: usize,
    ) {
        for (lane, pair) in (0..8).flat_map(|lane| (0..STEP / 2).map(move |pair| (lane, pair))) {
            let word = |word: usize| {
                // SAFETY: this function's contract.
                unsafe {
                    let mut value = *own.add(lane * apart + word);
                    if ROTATED {
                        let other = *from[lane].add(word) ^ negated[lane];
                        value = other.wrapping_sub(negated[lane]).wrapping_sub(value);
                    }
                    u64::from(value.wrapping_add(preparation.add as u32))
                }
            };
            let (first, second) = (word(2 * pair), word(2 * pair + 1));
            let both = if preparation.packed() { first >> 8 | second >> 8 << 24 } else { first | second << 32 };
            // SAFETY: this function's contract.
            unsafe { *out.cast::<u64>().add(pair % 4 * pair_apart + pair / 4 * 8 + lane) = both };
        }
    }
    /// Digits of one word of pairs. SAFETY: there are so many, and half of another.
    unsafe fn from_field(pairs: *const f64, field: Field) -> Self;
    /// Writes the low halves of the numbers into the high halves of those at `to`. SAFETY: a whole vector is valid.
    unsafe fn store_above(self, to: *mut f64);
    /// Adds words, each times 2^`shift`, to sixteen words of each of eight polynomials, which are `apart` words from one another, mod 2^32. At `words`
    /// are words 0 and 1 of each, then 8 and 9; words 2 and 3 are `pair_apart` numbers further, and so on. SAFETY: all words are valid.
    #[inline(always)]
    unsafe fn add_to_eight(words: *const f64, pair_apart: usize, shift: u32, to: *mut u32, apart: usize) {
        for (lane, word) in (0..8).flat_map(|lane| (0..STEP).map(move |word| (lane, word))) {
            // SAFETY: this function's contract.
            unsafe {
                let pair = *words.cast::<u64>().add(word % 8 / 2 * pair_apart + word / 8 * 8 + lane);
                let to = to.add(lane * apart + word);
                *to = (*to).wrapping_add(((pair >> (word % 2 * 32)) as u32) << shift);
            }
        }
    }
    /// Expands a group of sixteen 48-bit numbers, the upper bits of an f64 (see [`super::narrow`]): those from `lane` of the first eight, and of the
    /// other eight. SAFETY: 96 bytes are valid, and `lane` is a multiple of the width below eight.
    unsafe fn widened(group: *const u8, lane: usize) -> (Self, Self);
    /// Signed 32-bit words.
    unsafe fn from_i32(words: *const i32) -> Self;
    /// Signed 64-bit words, rounded to 53 bits.
    unsafe fn from_i64(words: *const i64) -> Self;
    /// Adds `a` to the words at `to_a` and `b` to those at `to_b`, mod 2^32. Both are numbers to which [`magic`]`(shift)` was added, with `shift` below
    /// 32.
    unsafe fn accumulate_32(a: Self, b: Self, shift: u32, to_a: *mut u32, to_b: *mut u32);
    /// Adds the nearest integers, mod 2^64, to words. |self| < 2^114.
    unsafe fn add_to_64(self, words: *mut u64);
    /// Prefetches the cache line at `line`, valid or not, into the second-level cache.
    unsafe fn prefetch(line: *const u8);
    /// Prefetches into the first-level cache.
    unsafe fn prefetch_near(line: *const u8);
    /// self − 2^32 · ⌊self / 2^32⌉, exact for |self| < 2^83.
    unsafe fn reduce_32(self) -> Self;
}

/// `W` numbers in portable Rust. Passes use two, the width of a register on every 64-bit processor. With eight, no compiler keeps a butterfly in
/// registers, and the moves dominated compilation time.
#[derive(Clone, Copy)]
pub(super) struct Portable<const W: usize>([f64; W]);

#[inline(always)]
fn nearest(value: f64) -> f64 {
    (value + MAGIC) - MAGIC
}

/// Two selections from the sixteen lanes of a, then b.
#[inline(always)]
fn pick(a: Portable<8>, b: Portable<8>, first: [usize; 8], second: [usize; 8]) -> (Portable<8>, Portable<8>) {
    let of = |lane: usize| if lane < 8 { a.0[lane] } else { b.0[lane - 8] };
    (Portable(first.map(of)), Portable(second.map(of)))
}

impl<const W: usize> Portable<W> {
    #[inline(always)]
    fn zip(self, other: Self, f: impl Fn(f64, f64) -> f64) -> Self {
        Self(std::array::from_fn(|l| f(self.0[l], other.0[l])))
    }
}

// Every pointer access below is within the elements that the trait's contract makes valid.
impl<const W: usize> Arithmetic for Portable<W> {
    // A multiply-add is two operations here, and the other form has fewer of them.
    const ADDERS: bool = true;
    #[inline(always)]
    unsafe fn load(from: *const f64) -> Self {
        // SAFETY: as many valid elements, by the trait's contract.
        Self(unsafe { from.cast::<[f64; W]>().read_unaligned() })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f64) {
        // SAFETY: as many valid elements, by the trait's contract.
        unsafe { to.cast::<[f64; W]>().write_unaligned(self.0) }
    }
    #[inline(always)]
    unsafe fn splat(value: f64) -> Self {
        Self([value; W])
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
    unsafe fn mul(self, factor: Self) -> Self {
        self.zip(factor, |a, b| a * b)
    }
    #[inline(always)]
    unsafe fn mul_add(self, factor: Self, term: Self) -> Self {
        Self(std::array::from_fn(|l| self.0[l] * factor.0[l] + term.0[l]))
    }
    #[inline(always)]
    unsafe fn neg_mul_add(self, factor: Self, term: Self) -> Self {
        Self(std::array::from_fn(|l| term.0[l] - self.0[l] * factor.0[l]))
    }
}

impl Eight for Portable<8> {
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
}

impl Lanes for Portable<2> {
    const WIDTH: usize = 2;
    const SHAPED: bool = cfg!(not(any(target_arch = "x86_64", target_arch = "aarch64")));

    // Out of line, once for all products: the caller needs no instruction set.
    #[inline(never)]
    unsafe fn block_down(plan: &Plan, index: usize, spectrum: *mut f64, near: Near) {
        // SAFETY: by the trait's contract.
        unsafe { block_down_parts::<Self, Portable<8>>(plan, index, spectrum, near) }
    }
    #[inline(never)]
    unsafe fn block_up(plan: &Plan, from: *const f64, to: *mut f64) {
        // SAFETY: by the trait's contract.
        unsafe { block_up_parts::<Self, Portable<8>>(plan, from, to) }
    }
    #[inline(always)]
    unsafe fn from_field(pairs: *const f64, field: Field) -> Self {
        // SAFETY: two valid elements, by the trait's contract.
        unsafe {
            let pairs = pairs.cast::<[u64; 2]>().read_unaligned();
            let numbers = pairs.map(|pair| f64::from_bits(pair >> field.down & field.mask | field.large.to_bits()));
            Self(numbers).sub(Self::splat(field.zero))
        }
    }
    #[inline(always)]
    unsafe fn store_above(self, to: *mut f64) {
        for (lane, number) in self.0.into_iter().enumerate() {
            // SAFETY: two valid elements, by the trait's contract.
            unsafe {
                let to = to.cast::<u64>().add(lane);
                *to = *to & u64::from(u32::MAX) | number.to_bits() << 32;
            }
        }
    }
    #[inline(always)]
    unsafe fn widened(group: *const u8, lane: usize) -> (Self, Self) {
        // SAFETY: 96 valid bytes, of which each number has six, by the trait's contract.
        let number = |at: usize| widen(unsafe { group.add(at * NARROW).cast::<[u8; NARROW]>().read() });
        (Self(std::array::from_fn(|l| number(lane + l))), Self(std::array::from_fn(|l| number(8 + lane + l))))
    }
    #[inline(always)]
    unsafe fn from_i32(words: *const i32) -> Self {
        // SAFETY: two valid elements, by the trait's contract.
        Self(unsafe { words.cast::<[i32; 2]>().read_unaligned() }.map(f64::from))
    }
    #[inline(always)]
    unsafe fn from_i64(words: *const i64) -> Self {
        // SAFETY: two valid elements, by the trait's contract.
        Self(unsafe { words.cast::<[i64; 2]>().read_unaligned() }.map(|word| word as f64))
    }
    #[inline(always)]
    unsafe fn accumulate_32(a: Self, b: Self, shift: u32, to_a: *mut u32, to_b: *mut u32) {
        for (value, to) in [(a, to_a), (b, to_b)] {
            let to = to.cast::<[u32; 2]>();
            // SAFETY: two valid elements each, by the trait's contract.
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
        // SAFETY: `words` is valid for two elements, by the trait's contract.
        unsafe {
            let words = words.cast::<[u64; 2]>();
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
