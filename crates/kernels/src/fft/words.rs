//! Digits of a rotated difference, as the words that the first pass of a transform reads.

use super::butterflies::Complex;
use super::lanes::Lanes;
use super::narrow::NARROW;
use super::passes::{Source, read};
use crate::decompose::{DigitField, Gadget};
use crate::torus::Torus;

/// Conversion of torus elements to digit words: (x + `add`) ^ `flip`, then for each level the field (word << left) & mask, which is the signed digit
/// times a power of two (see [`crate::decompose`]).
#[derive(Clone, Copy)]
pub(super) struct Preparation {
    pub add: u64,
    pub flip: u64,
    pub mask: u64,
    pub log2_base: u32,
    pub levels: u32,
}

impl Preparation {
    /// The digits of `gadget`.
    pub fn new<T: Torus>(gadget: Gadget) -> Self {
        let (add, flip) = gadget.preparation::<T>();
        let DigitField { right, .. } = gadget.field::<T>(0);
        Self {
            add: add.to_u64(),
            flip: flip.to_u64(),
            mask: u64::MAX << right,
            log2_base: gadget.log2_base,
            levels: gadget.levels,
        }
    }

    /// Whether the upper three bytes of a word contain all digits; see [`Field`].
    #[inline(always)]
    pub fn packed(self) -> bool {
        self.log2_base * self.levels <= 24
    }

    /// Number of levels: `LEVELS`, or the actual number if that is 0.
    #[inline(always)]
    pub fn count<const LEVELS: u32>(self) -> u32 {
        if LEVELS == 0 { self.levels } else { LEVELS }
    }
}

/// Extraction of one level's digit from a pair of prepared 32-bit words: its field becomes part of the mantissa of a large number, which is then
/// subtracted.
///
/// If the upper three bytes contain all digits, a pair has those of its two words, the first word's last. Both words' fields are then within a
/// mantissa, which saves a shift of the second word. Otherwise a pair has whole words.
#[derive(Clone, Copy)]
pub(super) struct Field {
    /// Preliminary right shift of a pair, in bits.
    pub down: u32,
    /// The field's bits.
    pub mask: u64,
    /// The number that receives the field in its mantissa: its last bit has the field's weight times the power of two common to all levels' digits.
    pub large: f64,
    /// `large` plus the field of digit 0.
    pub zero: f64,
}

impl Field {
    /// Digit `level` of the first words of pairs, or of the second ones.
    #[inline(always)]
    pub fn new(preparation: Preparation, level: u32, second: bool) -> Self {
        let Preparation { mask, log2_base, .. } = preparation;
        let mask = u64::from(mask as u32) >> (log2_base * level);
        // A bit of the field has the same weight at every level as at level 0.
        let worth = 52 + log2_base * level;
        let (down, mask, worth) = match (preparation.packed(), second) {
            (true, false) => (0, mask >> 8, worth + 8),
            (true, true) => (0, mask >> 8 << 24, worth - 16),
            (false, second) => (if second { 32 } else { 0 }, mask, worth),
        };
        let large = f64::from_bits(u64::from(1023 + worth) << 52);
        Self { down, mask, large, zero: large + f64::from(1u32 << 31) }
    }
}

/// Words per step.
pub(super) const STEP: usize = 16;

/// A torus element with its kernels' word width.
pub(super) trait Digits: Torus {
    /// Reads the words of digits.
    type Source: Source;
    /// Reads the words at `words`.
    fn source(words: *const Self) -> Self::Source;
    /// f64 per sixteen key numbers for single ciphertexts.
    const KEY: usize;
    /// Reads eight points of such a key, from `lane`. SAFETY: `V`'s set is present, [`Self::KEY`] numbers are valid, and `lane` is a multiple of the
    /// width below eight.
    unsafe fn key<V: Lanes>(from: *const f64, lane: usize) -> Complex<V>;
    /// Sixteen elements ±from − own as digits, with levels `degree` words apart in `out`. SAFETY: `V`'s set is present, and the pointers are valid for
    /// these words.
    unsafe fn step<V: Lanes, const LEVELS: u32>(
        from: *const Self,
        own: *const Self,
        negated: bool,
        preparation: Preparation,
        out: *mut Self,
        degree: usize,
    );
}

impl Digits for u32 {
    type Source = *const i32;
    const KEY: usize = 2 * NARROW;
    #[inline(always)]
    unsafe fn key<V: Lanes>(from: *const f64, lane: usize) -> Complex<V> {
        // SAFETY: this function's contract.
        let (re, im) = unsafe { V::widened(from.cast(), lane) };
        Complex { re, im }
    }
    #[inline(always)]
    fn source(words: *const Self) -> Self::Source {
        words.cast()
    }
    #[inline(always)]
    unsafe fn step<V: Lanes, const LEVELS: u32>(
        from: *const Self,
        own: *const Self,
        negated: bool,
        preparation: Preparation,
        out: *mut Self,
        degree: usize,
    ) {
        // SAFETY: this function's contract.
        unsafe { V::digits_32::<LEVELS>(from, own, negated, preparation, out, degree) }
    }
}

impl Digits for u64 {
    type Source = *const i64;
    const KEY: usize = 16;
    #[inline(always)]
    unsafe fn key<V: Lanes>(from: *const f64, lane: usize) -> Complex<V> {
        // SAFETY: this function's contract.
        unsafe { read(from, lane) }
    }
    #[inline(always)]
    fn source(words: *const Self) -> Self::Source {
        words.cast()
    }
    #[inline(always)]
    unsafe fn step<V: Lanes, const LEVELS: u32>(
        from: *const Self,
        own: *const Self,
        negated: bool,
        preparation: Preparation,
        out: *mut Self,
        degree: usize,
    ) {
        // SAFETY: this function's contract.
        unsafe { V::digits_64::<LEVELS>(from, own, negated, preparation, out, degree) }
    }
}

/// For each level, the N digits of (X^`exponent` − 1) · `polynomial` as words. SAFETY: `V`'s set is present; `words` is valid for them.
#[inline(always)]
pub(super) unsafe fn rotated_digits<V: Lanes, T: Digits>(
    polynomial: &[T],
    exponent: usize,
    preparation: Preparation,
    words: *mut T,
) {
    // SAFETY: this function's contract.
    unsafe {
        match preparation.levels {
            1 => rotated_levels::<V, T, 1>(polynomial, exponent, preparation, words),
            2 => rotated_levels::<V, T, 2>(polynomial, exponent, preparation, words),
            3 => rotated_levels::<V, T, 3>(polynomial, exponent, preparation, words),
            _ => rotated_levels::<V, T, 0>(polynomial, exponent, preparation, words),
        }
    }
}

/// For each level the N words of the digits of `polynomial`. SAFETY: as for [`rotated_digits`].
#[inline(always)]
pub(super) unsafe fn own_digits<V: Lanes, T: Digits>(polynomial: &[T], preparation: Preparation, out: *mut T) {
    let (nothing, degree) = ([T::default(); STEP], polynomial.len());
    // SAFETY: this function's contract; a step reads and writes `STEP` elements below `degree`, a multiple of `STEP`.
    unsafe {
        for at in (0..degree).step_by(STEP) {
            let from = polynomial.as_ptr().add(at);
            T::step::<V, 0>(from, nothing.as_ptr(), false, preparation, out.add(at), degree);
        }
    }
}

/// [`rotated_digits`] with `LEVELS` levels, or any number if that is 0.
#[inline(always)]
unsafe fn rotated_levels<V: Lanes, T: Digits, const LEVELS: u32>(
    polynomial: &[T],
    exponent: usize,
    preparation: Preparation,
    out: *mut T,
) {
    let degree = polynomial.len();
    let shift = exponent & (2 * degree - 1);
    let (flip, shift) = (shift >= degree, shift & (degree - 1));
    let own = polynomial.as_ptr();
    // Coefficients below `shift` come from the end, negated (unless X^N has negated all).
    let whole = shift / STEP * STEP;
    let after = shift.next_multiple_of(STEP);
    // SAFETY: the set is present; a step at `at` reads and writes `STEP` elements from there, and reads `STEP` where they come
    // from, all of them below `degree`, a multiple of `STEP`.
    unsafe {
        for at in (0..whole).step_by(STEP) {
            T::step::<V, LEVELS>(own.add(at + degree - shift), own.add(at), !flip, preparation, out.add(at), degree);
        }
        if whole < after {
            // The step that spans the polynomial's end and start reads from a copy.
            let mut mixed = [T::default(); 2 * STEP];
            let (end, start) = mixed.split_at_mut(STEP);
            for l in 0..STEP {
                let (last, first) = (*own.add(degree - STEP + l), *own.add(l));
                end[l] = if flip { last } else { last.wrapping_neg() };
                start[l] = if flip { first.wrapping_neg() } else { first };
            }
            let mixed = mixed.as_ptr().add(after - shift);
            T::step::<V, LEVELS>(mixed, own.add(whole), false, preparation, out.add(whole), degree);
        }
        for at in (after..degree).step_by(STEP) {
            T::step::<V, LEVELS>(own.add(at - shift), own.add(at), flip, preparation, out.add(at), degree);
        }
    }
}

/// Copies for steps that span a polynomial's end and start.
pub(super) type Mixed = [[u32; 2 * STEP]; 8];

/// Eight polynomials of `degree` words, each times its own monomial, read in steps of [`STEP`] words. Nothing here branches on exponents, which are
/// unpredictable.
pub(super) struct Rotated<'m> {
    degree: usize,
    /// Words below come from the polynomial's end, those from `after` from its start, and those in between, if any, span both.
    wrapped: [usize; 8],
    after: [usize; 8],
    /// The polynomial's address, offset so that words from its end, its start and the span are read at their destination index.
    end: [*const u32; 8],
    across: [*const u32; 8],
    start: [*const u32; 8],
    /// All ones if words from the end are negated; words from the start have the opposite sign, and the span includes its signs.
    negated: [u32; 8],
    mixed: std::marker::PhantomData<&'m Mixed>,
}

impl<'m> Rotated<'m> {
    /// X^`exponents[l]` times the polynomial of `degree` words, a multiple of `STEP`, that starts `l` · `apart` words after `first`. SAFETY: all are valid.
    #[inline(always)]
    pub unsafe fn new(first: *const u32, apart: usize, degree: usize, exponents: &[u32], mixed: &'m mut Mixed) -> Self {
        let mut rotated = Self {
            degree,
            wrapped: [0; 8],
            after: [0; 8],
            end: [first; 8],
            across: [first; 8],
            start: [first; 8],
            negated: [0; 8],
            mixed: std::marker::PhantomData,
        };
        for (lane, (&exponent, mixed)) in exponents.iter().zip(mixed).enumerate() {
            let own = first.wrapping_add(lane * apart);
            let shift = exponent as usize & (2 * degree - 1);
            // Words from the end are negated, unless X^N has negated all.
            let negated = u32::from(shift >= degree).wrapping_sub(1);
            let shift = shift & (degree - 1);
            let (wrapped, after) = (shift / STEP * STEP, shift.next_multiple_of(STEP));
            (rotated.wrapped[lane], rotated.after[lane], rotated.negated[lane]) = (wrapped, after, negated);
            rotated.end[lane] = own.wrapping_add(degree - shift);
            rotated.start[lane] = own.wrapping_sub(shift);
            for l in 0..STEP {
                // SAFETY: a polynomial has `STEP` words and more.
                let (last, first) = unsafe { (*own.add(degree - STEP + l), *own.add(l)) };
                mixed[l] = (last ^ negated).wrapping_sub(negated);
                mixed[STEP + l] = (first ^ !negated).wrapping_sub(!negated);
            }
            // Derived after all writes: a write through the reference would invalidate earlier pointers.
            rotated.across[lane] = mixed.as_ptr().wrapping_add(after - shift).wrapping_sub(wrapped);
        }
        rotated
    }

    /// The address of the words at `at` of each polynomial, all ones where they are negated, and the end of the range for which this holds.
    #[inline(always)]
    pub fn run(&self, at: usize) -> ([*const u32; 8], [u32; 8], usize) {
        let (mut from, mut negated, mut end) = (self.start, [0; 8], self.degree);
        for lane in 0..8 {
            let (early, middle) = (at < self.wrapped[lane], at < self.after[lane]);
            let later = if middle {
                (self.across[lane], 0, self.after[lane])
            } else {
                (self.start[lane], !self.negated[lane], self.degree)
            };
            let (words, sign, until) =
                if early { (self.end[lane], self.negated[lane], self.wrapped[lane]) } else { later };
            (from[lane], negated[lane]) = (words.wrapping_add(at), sign);
            end = end.min(until);
        }
        (from, negated, end)
    }
}

/// [`Digits::step`] in plain Rust. SAFETY: as there.
#[inline(always)]
pub(super) unsafe fn plain_step<T: Torus, const LEVELS: u32>(
    from: *const T,
    own: *const T,
    negated: bool,
    preparation: Preparation,
    out: *mut T,
    degree: usize,
) {
    // SAFETY: this function's contract.
    unsafe {
        let Preparation { add, flip, mask, log2_base, .. } = preparation;
        let mut words = [0u64; STEP];
        for (l, word) in words.iter_mut().enumerate() {
            let value = if negated { (*from.add(l)).wrapping_neg() } else { *from.add(l) };
            *word = value.wrapping_sub(*own.add(l)).wrapping_add(T::from_u64(add)).to_u64() ^ flip;
        }
        for level in 0..preparation.count::<LEVELS>() {
            let out = out.add(level as usize * degree);
            for (l, word) in words.iter_mut().enumerate() {
                *out.add(l) = T::from_u64(*word & mask);
                *word <<= log2_base;
            }
        }
    }
}
