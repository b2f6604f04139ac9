//! How far a fixed-point external product is off, from its specification alone.

use super::spec::{FixedFftSpec, Rounding, TransformSpec, twiddle_fraction_bits};
use super::structure::Structure;
use crate::decompose::Gadget;

/// The error of one external product, of a polynomial that it gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProductError {
    /// Variance over the coefficients, in units of 1/q², a constant part included.
    pub variance: f64,
    /// How much more than a white error of this variance it has of a constant polynomial's spectrum; 0 of a white one.
    pub concentration: f64,
    /// log2 of the unit of results, in units of 1/q: they are multiples of it.
    pub log2_unit: u32,
}

/// The mean over the N points of g·g, g being the energy of the polynomial 1 + X + … + X^(N−1) at a point, of mean 1: (N² + 2)/3N.
///
/// At e^(iθ) it is 1/(N sin²(θ/2)): nearly all of it lies at the few points next to 1. A secret of bits has half of its energy there, and digits, whose
/// mean is −1/2, a share of theirs: errors that grow with the digits meet the secret where both are large.
fn constant_squared(degree: f64) -> f64 {
    (degree * degree + 2.0) / (3.0 * degree)
}

/// The share of a uniform digit's energy that its mean of −1/2 has: 1/4 of (β² + 2)/12.
fn constant_share(gadget: Gadget) -> f64 {
    3.0 / (4f64.powi(gadget.log2_base as i32) + 2.0)
}

/// [`ProductError::concentration`] of an error that at each point is as large as the digits of `gadget` there, the key being exact or known
/// but for a white error.
pub fn digit_concentration(degree: f64, gadget: Gadget) -> f64 {
    constant_share(gadget) * (constant_squared(degree) - 1.0)
}

impl FixedFftSpec {
    /// The deviation of [`Self::error`].
    pub fn error_deviation(&self, gadget: Gadget, rows: usize, torus_bits: u32) -> f64 {
        self.error(gadget, rows, torus_bits).variance.sqrt()
    }

    /// Model of one external product's error, for uniform digits of `gadget` and a uniform key of `torus_bits` bits, no saturation.
    ///
    /// A right shift that leaves block exponent E errs by `Dropped` times 4^E. An error at one stage
    /// doubles in energy at each later stage, and so does a bias on average over the points, while its mean stays and meets the next
    /// stage's bias coherently. A twiddle factor of f fraction
    /// bits errs by 4^-f/12 in each part, times the energy that it multiplies. Every point of the two spectra's errors
    /// meets the other's energy; the inverse, divided by M, leaves 1/M of the energy of one point.
    ///
    /// Roundings are white. What grows with the digits is not: an error of the key at a point is multiplied by the digits there, and what a
    /// twiddle factor between stages that have split M points into sets of 2^u errs by spreads over such a set, whose points lie apart, and is
    /// as large as the digits on average over it.
    pub fn error(&self, gadget: Gadget, rows: usize, torus_bits: u32) -> ProductError {
        let points = self.ring_degree.get() as f64 / 2.0;
        // (β² − 1)/12 and the mean of −1/2, squared.
        let digit_variance = (4f64.powi(gadget.log2_base as i32) + 2.0) / 12.0;
        let key_variance = 4f64.powi(torus_bits as i32) / 12.0;
        let spread = |log2_set: u32| {
            constant_share(gadget) * (constant_squared((2.0 * points) / f64::from(log2_set).exp2()) - 1.0)
        };
        let digit_error = self.forward_error(&self.digits, digit_variance, &spread);
        let key_error = self.forward_error(&self.key, key_variance, &|_| 0.0);
        let (digit_energy, key_energy) = (digit_variance * points, key_variance * points);
        let rows = rows as f64;
        let met = rows * 2.0 * digit_energy * key_error.energy;
        let mut error = Error {
            energy: rows * 2.0 * digit_error.energy * key_energy + met,
            concentrated: rows * 2.0 * digit_error.concentrated * key_energy + met * spread(0),
            mean: 0.0,
        };
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
            error.add(before * self.product_energy(fraction, exponent), 0.0);
            error.add(before * twiddle_energy(fraction, energy), spread(number - 1));
            exponent += stage.shift as i32;
            energy *= 2.0;
            error.double();
            error.shift(self.dropped(stage.shift), exponent);
            // Half of the outputs of merged stages pass through a product.
            let after = if self.structure == Structure::Merged { 0.5 } else { 0.0 };
            error.add(after * self.product_energy(fraction, exponent), 0.0);
            error.add(after * twiddle_energy(fraction, energy), spread(number));
        }
        if self.structure != Structure::Merged {
            error.add(self.product_energy(fraction, exponent) + twiddle_energy(fraction, energy), 0.0);
        }
        let output = exponent - points.log2() as i32;
        let unit = self.result_unit(torus_bits) as i32;
        error.energy /= points * points;
        error.concentrated /= points * points;
        // Biases of points end in one coefficient. The last shift's is the same in all of them.
        let last = self.dropped((unit - output).max(0) as u32);
        error.shift(last, unit);
        let constant = (last.mean * 2f64.powi(unit)).powi(2);
        error.concentrated += constant * (constant_squared(2.0 * points) - 1.0);
        let concentration = if error.energy > 0.0 { error.concentrated / error.energy } else { 0.0 };
        ProductError { variance: error.energy, concentration, log2_unit: unit.max(output) as u32 }
    }

    /// Error of each part of a forward transform of parts of variance `variance`; `spread` is the concentration of what is as large as the
    /// input on average over sets of 2^u points.
    fn forward_error(&self, transform: &TransformSpec, variance: f64, spread: &dyn Fn(u32) -> f64) -> Error {
        let mut exponent = -transform.load_shift;
        let mut error = Error::default();
        error.shift(self.dropped(exponent.max(0) as u32), exponent);
        let mut energy = variance;
        let fraction = twiddle_fraction_bits(transform.twiddle_bits);
        let count = transform.stages.len() as u32;
        let merged = self.structure == Structure::Merged;
        let product = |error: &mut Error, share: f64, energy: f64, exponent: i32, log2_set: u32| {
            error.add(share * self.product_energy(fraction, exponent), 0.0);
            error.add(share * twiddle_energy(fraction, energy), spread(log2_set));
        };
        if !merged {
            product(&mut error, 1.0, energy, exponent, count);
        }
        for (number, stage) in (0..).zip(&transform.stages) {
            error.double();
            if merged {
                product(&mut error, 1.0, energy, exponent, count - number);
            }
            exponent += stage.shift as i32;
            error.shift(self.dropped(stage.shift), exponent);
            energy *= 2.0;
            product(&mut error, self.structure.turned(count, number), energy, exponent, count - number - 1);
        }
        error
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

/// Error of each part of a point: mean square over the points, the same times its concentration, and mean.
#[derive(Clone, Copy, Default)]
struct Error {
    energy: f64,
    concentrated: f64,
    mean: f64,
}

impl Error {
    fn add(&mut self, energy: f64, concentration: f64) {
        self.energy += energy;
        self.concentrated += energy * concentration;
    }

    /// What a stage does to what came before it.
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
