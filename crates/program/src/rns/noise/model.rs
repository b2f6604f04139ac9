//! How much error each operation adds.
//!
//! Errors are followed in the slots: of a polynomial with independent coefficients of variance v, the value at a root of
//! X^N + 1 has E|·|² = N·v, and products of polynomials are products of values. So a deviation here is √E|error in a slot|², in
//! units of the phase (scaled integers), and every formula is the usual canonical-embedding one (A. Costache, B. Curtis,
//! E. Hales, S. Murphy, T. Ogilvie, R. Player, "On the precision loss in approximate homomorphic encryption", SAC 2023).
//!
//! BGV's errors are multiples of t; the same formulas hold with every rounding and key error t times as large.

use crate::rns::kernel::Conversion;
use crate::rns::levels::Scale;
use crate::rns::lowering::Noise;
use polyfabric_kernels::RingDegree;

/// What the error of an operation depends on, besides the operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoiseModel {
    /// N.
    pub degree: RingDegree,
    /// σ of the errors in keys and fresh encryptions.
    pub error_deviation: f64,
    /// E of the secret's Hamming weight: its value at a root has E|·|² of as much.
    pub secret_weight: f64,
    /// t for BGV, 1 for CKKS: what errors are multiples of.
    pub unit: f64,
}

impl NoiseModel {
    /// CKKS with σ = 3.2 and a secret of uniformly random ternary coefficients.
    pub fn ternary(degree: RingDegree) -> Self {
        Self { degree, error_deviation: 3.2, secret_weight: degree.get() as f64 * 2.0 / 3.0, unit: 1.0 }
    }

    fn n(&self) -> f64 {
        self.degree.get() as f64
    }

    /// Of a fresh public-key encryption v·(b, a) + (e_0 + m, e_1), v ternary: error v·e + e_0 + e_1·s, and m rounded.
    pub fn fresh(&self) -> f64 {
        let n = self.n();
        let error = n * self.error_deviation.powi(2) * (1.0 + self.secret_weight + n * 2.0 / 3.0);
        self.unit * (error + n / 12.0).sqrt()
    }

    /// Of rounding the coefficients of a public polynomial to integers.
    pub fn encoding(&self) -> f64 {
        (self.n() / 12.0).sqrt()
    }

    /// E\[(x/B)²\] of a residue x modulo a product B of `primes` primes, as `conversion` represents it.
    fn representation(primes: usize, conversion: Conversion) -> f64 {
        let primes = primes as f64;
        match conversion {
            // A sum of uniform numbers from [0, 1), [-1/2, 1/2), or one of the latter.
            Conversion::Approximate => primes / 12.0 + primes * primes / 4.0,
            Conversion::Balanced => primes / 12.0,
            Conversion::Centred => 1.0 / 12.0,
        }
    }

    /// Of a division of two parts by `primes` primes: ρ_0 + ρ_1·s, ρ the rounding errors.
    pub fn division(&self, primes: usize, conversion: Conversion) -> f64 {
        let rounding = self.n() * Self::representation(primes, conversion);
        self.unit * (rounding * (1.0 + self.secret_weight)).sqrt()
    }

    /// Of a key switch's inner product, before division by P: √Σ_d E|digit|²·E|e|² with digit d below 2^`log2` and made of
    /// `primes` primes.
    pub fn inner_product(&self, digits: &[DigitSize], conversion: Conversion) -> f64 {
        let n = self.n();
        let squares = digits.iter().map(|digit| match *digit {
            DigitSize::Limbs { log2, primes } => (2.0 * log2).exp2() * Self::representation(primes, conversion),
            DigitSize::Window { bits, last } => (2.0 * f64::from(bits)).exp2() / if last { 3.0 } else { 12.0 },
        });
        self.unit * self.error_deviation * n * squares.sum::<f64>().sqrt()
    }

    /// Of a product with public values up to `magnitude` at `scale`, whose coefficients are rounded.
    pub fn times_plain(&self, a: Noise, a_scale: Scale, magnitude: f64, scale: Scale) -> Noise {
        let deviation = match scale {
            Scale::Real(scale) => {
                let phase = a_scale.real() * a.magnitude;
                (a.deviation * magnitude * scale).hypot((a.deviation + phase) * self.encoding())
            }
            // Public values modulo t: coefficients are as good as uniform in (-t/2, t/2).
            Scale::Factor(_) => a.deviation * self.unit * self.encoding(),
        };
        Noise { deviation, magnitude: a.magnitude * magnitude, sources: a.sources }
    }

    /// How many deviations an error stays below in all slots, but for a probability of 2^-40: a slot's |error|² is close to
    /// exponentially distributed.
    pub fn tail(&self) -> f64 {
        ((40.0 + self.n().log2()) * std::f64::consts::LN_2).sqrt()
    }
}

/// One digit of a key switch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DigitSize {
    /// The residue modulo some limbs.
    Limbs {
        /// log2 of the product of their primes.
        log2: f64,
        /// How many.
        primes: usize,
    },
    /// So many bits of a limb.
    Window {
        /// Bits.
        bits: u32,
        /// Whether it is the last, which is not balanced.
        last: bool,
    },
}
