//! The digits of a rotated difference, as words that the first pass of a transform reads.

use super::lanes::Lanes;
use super::passes::Source;
use crate::decompose::{DigitField, Gadget};
use crate::torus::Torus;

/// How words are made from torus elements: (x + `add`) ^ `flip`, then for each level the field (word << left) & mask, which is the
/// digit times a power of two, with its sign (see [`crate::decompose`]).
#[derive(Clone, Copy)]
pub(super) struct Preparation {
    pub add: u64,
    pub flip: u64,
    pub mask: u64,
    pub log2_base: u32,
    pub levels: u32,
}

impl Preparation {
    /// The words themselves.
    pub const NONE: Self = Self { add: 0, flip: 0, mask: u64::MAX, log2_base: 0, levels: 1 };

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

    /// Levels: `LEVELS`, or if that is 0 as many as there are.
    #[inline(always)]
    pub fn count<const LEVELS: u32>(self) -> u32 {
        if LEVELS == 0 { self.levels } else { LEVELS }
    }
}

/// Words that one step takes.
pub(super) const STEP: usize = 16;

/// A torus element in the width that the kernels work in.
pub(super) trait Digits: Torus {
    /// Reads the words of digits.
    type Source: Source;
    /// Reads the words at `words`.
    fn source(words: *const Self) -> Self::Source;
    /// Sixteen elements ±from − own as digits, each level `degree` words further in `out`. SAFETY: `V`'s set is present, and the
    /// pointers stand for so many words.
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
        unsafe { plain_step::<Self, LEVELS>(from, own, negated, preparation, out, degree) }
    }
}

/// For each level the N words of the digits of (X^`exponent` − 1) · `polynomial`. SAFETY: `V`'s set is present; there is room for
/// them at `words`.
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

/// [`rotated_digits`] of `LEVELS` levels, or of any number if that is 0.
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
            // The polynomial's end, then its start: the words that come there lie across.
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
