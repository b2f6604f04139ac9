//! Predicts the error of a fixed-point external product from its specification.

use super::spec::{FixedFftSpec, Rounding, TransformSpec, twiddle_fraction_bits};
use super::structure::Structure;
use super::twiddle_error::relative_error;
use crate::decompose::Gadget;

/// The error of one external product in each result polynomial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProductError {
    /// Variance over the coefficients, in units of 1/q², including a constant part.
    pub variance: f64,
    /// Excess over a white error of this variance in the spectrum of a constant polynomial; 0 for a white error.
    pub concentration: f64,
    /// log2 of the unit of results, in units of 1/q: they are multiples of it.
    pub log2_unit: u32,
}

/// The mean over the N points of g·g, where g is the energy of 1 + X + … + X^(N−1) at a point, of mean 1: (N² + 2)/3N.
///
/// At e^(iθ) it is 1/(N sin²(θ/2)), nearly all of it at the few points next to 1. Half of the energy of a binary secret is there, and a part of that
/// of digits, whose mean is −1/2: errors that grow with the digits coincide with the secret's large points.
fn constant_squared(degree: f64) -> f64 {
    (degree * degree + 2.0) / (3.0 * degree)
}

/// Share of a uniform digit's energy that its mean of −1/2 has: 1/4 of (β² + 2)/12.
fn constant_share(gadget: Gadget) -> f64 {
    3.0 / (4f64.powi(gadget.log2_base as i32) + 2.0)
}

/// [`ProductError::concentration`] of an error proportional to the digits of `gadget` at each point, for an exact key or one with a white error.
pub fn digit_concentration(degree: f64, gadget: Gadget) -> f64 {
    constant_share(gadget) * (constant_squared(degree) - 1.0)
}

impl FixedFftSpec {
    /// Standard deviation of [`Self::error`].
    pub fn error_deviation(&self, gadget: Gadget, rows: usize, torus_bits: u32) -> f64 {
        self.error(gadget, rows, torus_bits).variance.sqrt()
    }

    /// Model of one external product's error, for uniform digits of `gadget` and a uniform key of `torus_bits` bits, without saturation.
    ///
    /// A right shift to block exponent E errs by `Dropped` times 4^E. The energy of an error at one stage doubles at each later stage. So does that of a
    /// bias on average over the points, but its mean stays and adds coherently to the next stage's bias. Every point of each spectrum's error is
    /// multiplied by the other's energy; the inverse, divided by M, leaves 1/M of the energy of one point. The tables determine the contribution of
    /// quantised twiddle factors.
    ///
    /// Roundings are white. Errors of the key are multiplied by the digits at each point and are not.
    pub fn error(&self, gadget: Gadget, rows: usize, torus_bits: u32) -> ProductError {
        let points = self.ring_degree.get() as f64 / 2.0;
        // (β² − 1)/12 and the mean of −1/2, squared.
        let digit_variance = (4f64.powi(gadget.log2_base as i32) + 2.0) / 12.0;
        let key_variance = 4f64.powi(torus_bits as i32) / 12.0;
        let digit_error = self.forward_error(&self.digits);
        let key_error = self.forward_error(&self.key);
        let (digit_energy, key_energy) = (digit_variance * points, key_variance * points);
        let rows = rows as f64;
        let met = rows * 2.0 * digit_energy * key_error.energy;
        // Without the digits' mean.
        let white = rows * 2.0 * (digit_variance - 0.25) * points * key_energy;
        let twiddles = relative_error(self, gadget);
        let mut error = Error {
            energy: rows * 2.0 * digit_error.energy * key_energy + met + white * twiddles.energy,
            concentrated: met * digit_concentration(2.0 * points, gadget) + white * twiddles.concentrated,
            mean: 0.0,
        };
        let mut exponent = self.accumulator_exponent();
        for _ in 0..rows as usize {
            error.shift(self.dropped(self.accumulator.shift), exponent);
        }
        let fraction = twiddle_fraction_bits(self.inverse.twiddle_bits);
        let count = self.inverse.stages.len() as u32;
        for (number, stage) in (1..).zip(&self.inverse.stages) {
            // The rotation of a twisted transform before this stage.
            error.energy += self.structure.turned(count, count - number) * self.product_energy(fraction, exponent);
            exponent += stage.shift as i32;
            error.double();
            error.shift(self.dropped(stage.shift), exponent);
            // Half of the outputs of merged stages pass through a product.
            let after = if self.structure == Structure::Merged { 0.5 } else { 0.0 };
            error.energy += after * self.product_energy(fraction, exponent);
        }
        if self.structure != Structure::Merged {
            error.energy += self.product_energy(fraction, exponent);
        }
        let output = exponent - points.log2() as i32;
        let unit = self.result_unit(torus_bits) as i32;
        error.energy /= points * points;
        error.concentrated /= points * points;
        // Biases of points end in one coefficient. The last shift's bias is the same in all coefficients.
        let last = self.dropped((unit - output).max(0) as u32);
        error.shift(last, unit);
        let constant = (last.mean * 2f64.powi(unit)).powi(2);
        error.concentrated += constant * (constant_squared(2.0 * points) - 1.0);
        let concentration = if error.energy > 0.0 { error.concentrated / error.energy } else { 0.0 };
        ProductError { variance: error.energy, concentration, log2_unit: unit.max(output) as u32 }
    }

    /// Rounding error of each part of a forward transform.
    fn forward_error(&self, transform: &TransformSpec) -> Error {
        let mut exponent = -transform.load_shift;
        let mut error = Error::default();
        error.shift(self.dropped(exponent.max(0) as u32), exponent);
        let fraction = twiddle_fraction_bits(transform.twiddle_bits);
        let count = transform.stages.len() as u32;
        let merged = self.structure == Structure::Merged;
        if !merged {
            error.energy += self.product_energy(fraction, exponent);
        }
        for (number, stage) in (0..).zip(&transform.stages) {
            error.double();
            if merged {
                error.energy += self.product_energy(fraction, exponent);
            }
            exponent += stage.shift as i32;
            error.shift(self.dropped(stage.shift), exponent);
            error.energy += self.structure.turned(count, number) * self.product_energy(fraction, exponent);
        }
        error
    }

    /// Error of a right shift by `shift` bits if the dropped bits are uniform.
    fn dropped(&self, shift: u32) -> Dropped {
        let unit = 2f64.powi(-(shift as i32));
        match self.rounding {
            Rounding::Truncate => Dropped { variance: (1.0 - unit * unit) / 12.0, mean: -(1.0 - unit) / 2.0 },
            Rounding::HalfUp => {
                Dropped { variance: (1.0 - unit * unit) / 12.0, mean: if shift == 0 { 0.0 } else { unit / 2.0 } }
            }
            Rounding::HalfEven => {
                Dropped { variance: if shift == 0 { 0.0 } else { (1.0 + 2.0 * unit * unit) / 12.0 }, mean: 0.0 }
            }
        }
    }

    /// Error energy of rounding a product with a twiddle factor of `fraction` fraction bits; its bias has opposite signs in a butterfly's two results.
    fn product_energy(&self, fraction: u32, exponent: i32) -> f64 {
        let Dropped { variance, mean } = self.dropped(fraction);
        (variance + mean * mean) * 4f64.powi(exponent)
    }
}

/// Error of a right shift, in units of the last bit kept.
#[derive(Clone, Copy)]
struct Dropped {
    variance: f64,
    mean: f64,
}

/// Error of each part of a point: mean square over the points, the same times its concentration, and mean.
#[derive(Clone, Copy, Default)]
struct Error {
    energy: f64,
    concentrated: f64,
    mean: f64,
}

impl Error {
    /// Propagates earlier errors through a stage.
    fn double(&mut self) {
        self.energy *= 2.0;
        self.concentrated *= 2.0;
    }

    fn shift(&mut self, dropped: Dropped, exponent: i32) {
        let unit = 2f64.powi(exponent);
        let mean = dropped.mean * unit;
        self.energy += dropped.variance * unit * unit + mean * mean + 2.0 * self.mean * mean;
        self.mean += mean;
    }
}
