//! The digits of a rotated difference, as words that the first pass of a transform reads.

use super::butterflies::Complex;
use super::lanes::Lanes;
use super::narrow::NARROW;
use super::passes::{Source, read};
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

    /// Whether the upper three bytes of a word have all digits: see [`Field`].
    #[inline(always)]
    pub fn packed(self) -> bool {
        self.log2_base * self.levels <= 24
    }

    /// Levels: `LEVELS`, or if that is 0 as many as there are.
    #[inline(always)]
    pub fn count<const LEVELS: u32>(self) -> u32 {
        if LEVELS == 0 { self.levels } else { LEVELS }
    }
}

/// How a digit of one level is cut out of a pair of prepared words of 32 bits: its field goes into the mantissa of a large number, which is then taken off.
///
/// A pair has in 64 bits the upper three bytes of its two words one after the other, the first word's last, if all digits are in these: fields of both words are then
/// within a mantissa's bits, and one operation less cuts them out than if the second word had to be shifted down. Else it has the words themselves.
#[derive(Clone, Copy)]
pub(super) struct Field {
    /// Bits that a pair is shifted down by before.
    pub down: u32,
    /// The field's bits.
    pub mask: u64,
    /// The number whose mantissa it goes into: its last bit is worth what the field's is, times the power of two that all levels' digits have.
    pub large: f64,
    /// `large`, and the field's value of digit 0.
    pub zero: f64,
}

impl Field {
    /// The digit `level` of the first words of pairs, or of the second ones.
    #[inline(always)]
    pub fn new(preparation: Preparation, level: u32, second: bool) -> Self {
        let Preparation { mask, log2_base, .. } = preparation;
        let mask = u64::from(mask as u32) >> (log2_base * level);
        // A bit of the field at level 0 is worth what it is in the word, and those further down as much.
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

/// Words that one step takes.
pub(super) const STEP: usize = 16;

/// A torus element in the width that the kernels work in.
pub(super) trait Digits: Torus {
    /// Reads the words of digits.
    type Source: Source;
    /// Reads the words at `words`.
    fn source(words: *const Self) -> Self::Source;
    /// Numbers of f64 that sixteen of a key for ciphertexts one by one take.
    const KEY: usize;
    /// Of eight points of such a key those from `lane` on. SAFETY: `V`'s set is present, there are [`Self::KEY`] numbers, and `lane` is a multiple of the
    /// width below eight.
    unsafe fn key<V: Lanes>(from: *const f64, lane: usize) -> Complex<V>;
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

/// What [`Rotated`] reads where a polynomial's end and its start lie across a step.
pub(super) type Mixed = [[u32; 2 * STEP]; 8];

/// Eight polynomials of `degree` words, each times a monomial of its own, to be read [`STEP`] words at a time. Nothing here branches on
/// exponents, which no processor could foresee.
pub(super) struct Rotated<'m> {
    degree: usize,
    /// Words below are from the polynomial's end, those from `after` on from its start, and those between, if there are some, lie across.
    wrapped: [usize; 8],
    after: [usize; 8],
    /// The polynomial, so displaced that the words from its end, those across and all others are in the place that they come to.
    end: [*const u32; 8],
    across: [*const u32; 8],
    start: [*const u32; 8],
    /// All ones where words from the end are negated; those from the start are where others are not, and those across have their sign.
    negated: [u32; 8],
    mixed: std::marker::PhantomData<&'m Mixed>,
}

impl<'m> Rotated<'m> {
    /// X^`exponents[l]` times the polynomial of `degree` words, a multiple of `STEP`, that starts `l` · `apart` words after `first`. SAFETY: they are there.
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
            // All ones if words from the end are negated, as they are unless X^N has negated all.
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
            // Made when all is written: a write through the reference ends what pointers made of it before may read.
            rotated.across[lane] = mixed.as_ptr().wrapping_add(after - shift).wrapping_sub(wrapped);
        }
        rotated
    }

    /// Where the words at `at` of each polynomial are, all ones where they are to be negated, and up to where all that holds.
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

#[cfg(test)]
mod tests {
    //! Are words read from where a rotation puts them, with the signs that it gives them?

    use super::*;
    use crate::random::torus_vector;
    use crate::rotation::rotate_reference;

    #[test]
    fn eight_polynomials_are_read_rotated() {
        const DEGREE: usize = 4 * STEP;
        let words = torus_vector::<u32>(8 * DEGREE, 1);
        // Whole steps, words across one, the first and the last place, and past X^N.
        let shifts = [0, 1, STEP, STEP + 5, DEGREE - 1, DEGREE, DEGREE + STEP + 1, 2 * DEGREE - 1];
        let exponents = shifts.map(|shift| shift as u32);
        let mut mixed: Mixed = [[0; 2 * STEP]; 8];
        // SAFETY: eight polynomials lie there, one after the other.
        let rotated = unsafe { Rotated::new(words.as_ptr(), DEGREE, DEGREE, &exponents, &mut mixed) };
        let expected: Vec<Vec<u32>> =
            words.chunks(DEGREE).zip(shifts).map(|(own, shift)| rotate_reference(own, shift)).collect();
        let mut start = 0;
        while start < DEGREE {
            let (from, negated, end) = rotated.run(start);
            assert!(start < end && (end - start).is_multiple_of(STEP), "{start} to {end}");
            for (lane, expected) in expected.iter().enumerate() {
                for (at, &expected) in expected.iter().enumerate().take(end).skip(start) {
                    // SAFETY: words of the polynomial, or of what lies across, up to `end`.
                    let word = unsafe { *from[lane].wrapping_add(at - start) };
                    assert_eq!((word ^ negated[lane]).wrapping_sub(negated[lane]), expected, "{lane}, {at}");
                }
            }
            start = end;
        }
    }
}
