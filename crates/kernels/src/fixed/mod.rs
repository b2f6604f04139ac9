//! Folded negacyclic FFT in fixed point, bit for bit as a machine with given widths computes it.
//!
//! The transform is that of [`crate::fft`]: N coefficients are folded into M = N/2 complex points, followed by log2 M radix-2 stages. The twist is
//! part of the twiddle factors, or precedes the first stage ([`Structure`]). Every number is an integer times a power of two that
//! [`FixedFftSpec`] fixes in advance (a static block exponent). A stage
//! - multiplies by a twiddle factor of [`TransformSpec::twiddle_bits`] and rounds to the data's last bit,
//! - adds and subtracts,
//! - shifts right by the stage's `shift`, with [`FixedFftSpec::rounding`],
//! - and saturates each part to the stage's `width`, symmetrically, counting every saturation.
//!
//! An inverse stage adds, shifts and saturates first, and multiplies afterwards; between stages of a twisted transform the order is reversed. A
//! product of two spectra is exact, then shifted, rounded, accumulated and saturated. Complex products use four real ones, or three on a machine
//! that stores its factors' sums and differences (Gauss; FPT, equation (6)): both are exact before rounding, so the bits are equal.
//!
//! Calls return the number of saturated values; a schedule with a nonzero number is wrong for its data.

pub(crate) mod arithmetic;
mod error;
mod error_model;
mod factors;
mod pair;
pub(crate) mod spec;
mod structure;
pub(crate) mod twiddle_error;

pub use error::FixedSpecError;
pub use error_model::{ProductError, digit_concentration};
pub use spec::{AccumulatorSpec, FixedFftSpec, FixedWidths, RangeRule, Rounding, Stage, StageWidths, TransformSpec};
pub use structure::{Rotation, Structure};

use crate::ring::RingDegree;
use crate::torus::Torus;
use arithmetic::{Engine, Products, Round};
use spec::LONGEST_SHIFT;

/// The M complex points of one polynomial, in the transform's order, as scaled integers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FixedSpectrum {
    re: Vec<i64>,
    im: Vec<i64>,
}

impl FixedSpectrum {
    /// Zeros for a ring of `degree`: N/2 points.
    pub fn zeros(degree: RingDegree) -> Self {
        Self { re: vec![0; degree.get() / 2], im: vec![0; degree.get() / 2] }
    }

    /// Sets every point to zero.
    pub fn clear(&mut self) {
        self.re.fill(0);
        self.im.fill(0);
    }

    /// Real parts.
    pub fn re(&self) -> &[i64] {
        &self.re
    }

    /// Imaginary parts.
    pub fn im(&self) -> &[i64] {
        &self.im
    }
}

/// A fixed-point transform: a checked specification with its tables.
#[derive(Clone, Debug)]
pub struct FixedFft {
    spec: FixedFftSpec,
    digits: Engine,
    key: Engine,
    inverse: Engine,
}

impl FixedFft {
    /// Checks `spec` and makes the tables.
    ///
    /// # Errors
    /// [`FixedSpecError`] names the first invalid figure of `spec`.
    pub fn new(spec: FixedFftSpec) -> Result<Self, FixedSpecError> {
        spec.check()?;
        let engine = |of: &TransformSpec| Engine::new(spec.structure, spec.ring_degree.get() / 2, of.twiddle_bits);
        let (digits, key, inverse) = (engine(&spec.digits), engine(&spec.key), engine(&spec.inverse));
        Ok(Self { spec, digits, key, inverse })
    }

    /// The specification.
    pub fn spec(&self) -> &FixedFftSpec {
        &self.spec
    }

    /// Transforms N digits. Returns the number of saturations.
    #[must_use = "a saturated value makes the result wrong"]
    pub fn forward_digits(&self, digits: &[i32], spectrum: &mut FixedSpectrum) -> u64 {
        self.forward(&self.spec.digits, &self.digits, i32::BITS, digits.iter().map(|&d| i64::from(d)), spectrum)
    }

    /// Transforms N torus elements, as representatives in [-q/2, q/2). Returns the number of saturations.
    #[must_use = "a saturated value makes the result wrong"]
    pub fn forward_torus<T: Torus>(&self, polynomial: &[T], spectrum: &mut FixedSpectrum) -> u64 {
        self.forward(&self.spec.key, &self.key, T::BITS, polynomial.iter().map(|x| x.to_i64()), spectrum)
    }

    /// `coefficients` have `bits` bits.
    fn forward(
        &self,
        transform: &TransformSpec,
        engine: &Engine,
        bits: u32,
        coefficients: impl ExactSizeIterator<Item = i64>,
        spectrum: &mut FixedSpectrum,
    ) -> u64 {
        assert_eq!(coefficients.len(), self.spec.ring_degree.get(), "N coefficients");
        let limit = transform.input_limit();
        let (left, right) = transform.load_shifts();
        let round = Round::new(right, self.spec.rounding);
        let fits = bits + left < i64::BITS && right < i64::BITS - 1;
        let mut saturations = 0;
        let points = spectrum.re.len();
        for (c, value) in coefficients.enumerate() {
            let kept = if fits {
                let scaled = round.narrow(value << left);
                let kept = scaled.clamp(-limit, limit);
                saturations += u64::from(kept != scaled);
                kept
            } else {
                // Saturates the wide value, which a left shift cannot overflow.
                let scaled = round.wide(i128::from(value) << left);
                let kept = scaled.clamp(-i128::from(limit), i128::from(limit));
                saturations += u64::from(kept != scaled);
                kept as i64
            };
            let part = if c < points { &mut spectrum.re } else { &mut spectrum.im };
            part[c & (points - 1)] = kept;
        }
        saturations + engine.forward(transform, self.spec.rounding, &mut spectrum.re, &mut spectrum.im)
    }

    /// `accumulator` += digits · key, pointwise. Returns the number of saturations.
    #[must_use = "a saturated value makes the result wrong"]
    pub fn multiply_accumulate(
        &self,
        accumulator: &mut FixedSpectrum,
        digits: &FixedSpectrum,
        key: &FixedSpectrum,
    ) -> u64 {
        let (digits_width, key_width) = (self.spec.digits.output_width(), self.spec.key.output_width());
        let products = Products::of(digits_width, key_width, self.spec.accumulator.shift);
        arithmetic::multiply_accumulate(
            products,
            self.spec.accumulator,
            self.spec.rounding,
            (&mut accumulator.re, &mut accumulator.im),
            (&digits.re, &digits.im),
            (&key.re, &key.im),
        )
    }

    /// Adds the polynomial of an accumulated product, mod q, to `polynomial`. Overwrites `accumulator`. Returns the number of saturations.
    #[must_use = "a saturated value makes the result wrong"]
    pub fn inverse_add_torus<T: Torus>(&self, accumulator: &mut FixedSpectrum, polynomial: &mut [T]) -> u64 {
        assert_eq!(polynomial.len(), self.spec.ring_degree.get(), "N coefficients");
        let saturations = self.inverse_points(accumulator);
        let FixedSpectrum { re, im } = accumulator;
        let exponent = self.spec.result_exponent();
        let unit = exponent.max(self.spec.result_unit(T::BITS) as i32);
        // The check does not cover the 64-bit torus; see `LONGEST_SHIFT`.
        let (left, right) = (unit as u32, ((unit - exponent) as u32).min(LONGEST_SHIFT));
        let round = Round::new(right, self.spec.rounding);
        for (out, value) in polynomial.iter_mut().zip(re.iter().chain(im.iter())) {
            // Bits past the word are multiples of q.
            let integer = round.narrow(*value).checked_shl(left).unwrap_or(0);
            *out = out.wrapping_add(T::from_u64(integer as u64));
        }
        saturations
    }

    /// The stages of [`Self::inverse_add_torus`], in place: points to scaled coefficients. Returns the number of saturations.
    #[must_use = "a saturated value makes the result wrong"]
    pub fn inverse_points(&self, points: &mut FixedSpectrum) -> u64 {
        self.inverse.inverse(&self.spec.inverse, self.spec.rounding, &mut points.re, &mut points.im)
    }

    /// The same tables, declared to have factors of `twiddle_bits` bits: products take another method, with the same result. For tests.
    pub fn widened(self, twiddle_bits: u32) -> Self {
        let [digits, key, inverse] = [self.digits, self.key, self.inverse].map(|engine| engine.widened(twiddle_bits));
        Self { spec: self.spec, digits, key, inverse }
    }

    /// `value` rounded to the bits of an accumulator, halves up.
    pub fn kept<T: Torus>(&self, value: T) -> T {
        let unit = self.spec.result_unit(T::BITS);
        if unit == 0 {
            return value;
        }
        let half = 1i64 << (unit - 1);
        T::from_u64((((value.to_i64().wrapping_add(half)) >> unit) << unit) as u64)
    }
}
