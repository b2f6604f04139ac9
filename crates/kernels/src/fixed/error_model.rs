//! How far a fixed-point external product is off, from its specification alone.

use super::spec::{FixedFftSpec, Rounding, TransformSpec, twiddle_fraction_bits};
use super::structure::Structure;
use crate::decompose::Gadget;

impl FixedFftSpec {
    /// Model of the standard deviation of one external product's error over the coefficients, in units of 1/q, for
    /// uniform digits of `gadget` and a uniform key of `torus_bits` bits, no saturation.
    ///
    /// A right shift that leaves block exponent E errs by `Dropped` times 4^E. An error at one stage
    /// doubles in energy at each later stage, and so does a bias on average over the points, while its mean stays and meets the next
    /// stage's bias coherently. A twiddle factor of f fraction
    /// bits errs by 4^-f/12 in each part, times the energy that it multiplies. Every point of the two spectra's errors
    /// meets the other's energy; the inverse, divided by M, leaves 1/M of the energy of one point.
    pub fn error_deviation(&self, gadget: Gadget, rows: usize, torus_bits: u32) -> f64 {
        let points = self.ring_degree.get() as f64 / 2.0;
        let digit_variance = 4f64.powi(gadget.log2_base as i32) / 12.0;
        let key_variance = 4f64.powi(torus_bits as i32) / 12.0;
        let digit_error = self.forward_error(&self.digits, digit_variance);
        let key_error = self.forward_error(&self.key, key_variance);
        let (digit_energy, key_energy) = (digit_variance * points, key_variance * points);
        let rows = rows as f64;
        let mut error = Error { energy: rows * 2.0 * (digit_error * key_energy + digit_energy * key_error), mean: 0.0 };
        let mut exponent = self.accumulator_exponent();
        for _ in 0..rows as usize {
            error.shift(self.dropped(self.accumulator.shift), exponent);
        }
        let mut energy = 2.0 * rows * digit_energy * key_energy;
        let fraction = twiddle_fraction_bits(self.inverse.twiddle_bits);
        let count = self.inverse.stages.len() as u32;
        for (number, stage) in (1..).zip(&self.inverse.stages) {
            // What a twisted transform turns before this stage.
            let before = self.structure.turned(count, count - number);
            error.energy += before * (self.product_energy(fraction, exponent) + twiddle_energy(fraction, energy));
            exponent += stage.shift as i32;
            energy *= 2.0;
            error.energy *= 2.0;
            error.shift(self.dropped(stage.shift), exponent);
            // Half of the outputs of merged stages pass through a product.
            let after = if self.structure == Structure::Merged { 0.5 } else { 0.0 };
            error.energy += after * (self.product_energy(fraction, exponent) + twiddle_energy(fraction, energy));
        }
        if self.structure != Structure::Merged {
            error.energy += self.product_energy(fraction, exponent) + twiddle_energy(fraction, energy);
        }
        let output = exponent - points.log2() as i32;
        let unit = self.result_unit(torus_bits) as i32;
        error.energy /= points * points;
        error.shift(self.dropped((unit - output).max(0) as u32), unit);
        error.energy.sqrt()
    }

    /// Error energy of each part of a forward transform of parts of variance `variance`.
    fn forward_error(&self, transform: &TransformSpec, variance: f64) -> f64 {
        let mut exponent = -transform.load_shift;
        let mut error = Error { energy: 0.0, mean: 0.0 };
        error.shift(self.dropped(exponent.max(0) as u32), exponent);
        let mut energy = variance;
        let fraction = twiddle_fraction_bits(transform.twiddle_bits);
        let product =
            |energy: f64, exponent| self.product_energy(fraction, exponent) + twiddle_energy(fraction, energy);
        let merged = self.structure == Structure::Merged;
        if !merged {
            error.energy += product(energy, exponent);
        }
        for (number, stage) in (0..).zip(&transform.stages) {
            error.energy = 2.0 * error.energy + if merged { product(energy, exponent) } else { 0.0 };
            exponent += stage.shift as i32;
            error.shift(self.dropped(stage.shift), exponent);
            energy *= 2.0;
            error.energy += self.structure.turned(transform.stages.len() as u32, number) * product(energy, exponent);
        }
        error.energy
    }

    /// What a right shift by `shift` bits does to a number whose dropped bits are uniform.
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

    /// Error energy of the rounding of a product with a twiddle factor of `fraction` fraction bits: its bias has both signs in a
    /// butterfly's two results.
    fn product_energy(&self, fraction: u32, exponent: i32) -> f64 {
        let Dropped { variance, mean } = self.dropped(fraction);
        (variance + mean * mean) * 4f64.powi(exponent)
    }
}

/// Error energy of a product of a twiddle factor of `fraction` fraction bits and a complex number of part variance `energy`.
fn twiddle_energy(fraction: u32, energy: f64) -> f64 {
    2.0 * energy * 4f64.powi(-(fraction as i32)) / 12.0
}

/// Error of a right shift, in units of the last bit kept.
#[derive(Clone, Copy)]
struct Dropped {
    variance: f64,
    mean: f64,
}

/// Error of each part of a point: mean square over the points, and mean.
struct Error {
    energy: f64,
    mean: f64,
}

impl Error {
    fn shift(&mut self, dropped: Dropped, exponent: i32) {
        let unit = 2f64.powi(exponent);
        let mean = dropped.mean * unit;
        self.energy += dropped.variance * unit * unit + mean * mean + 2.0 * self.mean * mean;
        self.mean += mean;
    }
}
