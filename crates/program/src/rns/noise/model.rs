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

    /// E|·|² of the worst slot of a polynomial whose coefficients have this `variance` and this `mean`.
    ///
    /// The mean stands in Σ X^j, whose value at a root ω is 2/(1 − ω): at the root next to 1, where slot 0 is, about 2N/π.
    fn worst_slot(&self, variance: f64, mean: f64) -> f64 {
        let n = self.n();
        n * variance + (2.0 * n / std::f64::consts::PI * mean).powi(2)
    }

    /// E|·|² of the worst slot of x/B, x the residues modulo a product B of `primes` primes as `conversion` represents them.
    fn representation(&self, primes: usize, conversion: Conversion) -> f64 {
        let primes = primes as f64;
        match conversion {
            // A sum of uniform numbers from [0, 1), [-1/2, 1/2), or one of the latter.
            Conversion::Approximate => self.worst_slot(primes / 12.0, primes / 2.0),
            Conversion::Balanced => self.worst_slot(primes / 12.0, 0.0),
            Conversion::Centred => self.worst_slot(1.0 / 12.0, 0.0),
        }
    }

    /// Of a division of two parts by `primes` primes: ρ_0 + ρ_1·s, ρ the rounding errors.
    pub fn division(&self, primes: usize, conversion: Conversion) -> f64 {
        let rounding = self.representation(primes, conversion);
        self.unit * (rounding * (1.0 + self.secret_weight)).sqrt()
    }

    /// Of a key switch's inner product, before division by P: √Σ_d E|digit d|²·E|e|².
    pub fn inner_product(&self, digits: &[DigitSize], conversion: Conversion) -> f64 {
        let squares = digits.iter().map(|digit| match *digit {
            DigitSize::Limbs { log2, primes } => (2.0 * log2).exp2() * self.representation(primes, conversion),
            DigitSize::Window { log2, balanced } => {
                (2.0 * log2).exp2() * self.worst_slot(1.0 / 12.0, if balanced { 0.0 } else { 0.5 })
            }
        });
        self.unit * self.error_deviation * (self.n() * squares.sum::<f64>()).sqrt()
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
    /// Some bits of a limb.
    Window {
        /// log2 of the number of values.
        log2: f64,
        /// Whether they lie around 0; the last digit of a limb starts at 0.
        balanced: bool,
    },
}
