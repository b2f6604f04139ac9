//! Noise model of CKKS operations.
//!
//! Errors are tracked per slot. For a polynomial with independent coefficients of variance v, the value at a root of X^N + 1 has
//! E|·|² = N·v and is close to a complex Gaussian; products of polynomials are products of these values. All formulas are the usual
//! canonical-embedding ones (A. Costache, B. Curtis, E. Hales, S. Murphy, T. Ogilvie, R. Player, "On the precision loss in
//! approximate homomorphic encryption", SAC 2023), in units of the phase (scaled integers).
//!
//! Most errors are not Gaussian: they are a Gaussian times the secret's value in the slot, or times another random value, so large
//! errors are more frequent. A *deviation* here is therefore that of a Gaussian for which the same bound is valid: each kind of error
//! exceeds [`NoiseModel::tail`] deviations with at most the stated probability. For a Gaussian it is √E|error in a slot|², for a
//! product more ([`NoiseModel::product`]). Without a stated probability it is √E|error in a slot|² for all of them.

use crate::rns::kernel::Conversion;
use polyfabric_kernels::RingDegree;
use polyfabric_schemes::rns::KeyErrors;

/// Largest relative rounding error of an f64.
pub const F64_ROUNDING: f64 = f64::EPSILON / 2.0;

/// Parameters of the noise model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoiseModel {
    /// N.
    pub degree: RingDegree,
    /// σ of the errors in keys and fresh encryptions.
    pub error_deviation: f64,
    /// Expected Hamming weight of the secret, which equals E|·|² of its value at a root.
    pub secret_weight: f64,
    /// n: errors of the public key and of switching keys are sums of as many parties' errors. 1 for one owner.
    pub parties: usize,
    pub encryption: Encryption,
    /// Whether arithmetic in f64 counts as exact, for errors relative to the result on the numbers as they are encoded.
    pub exact_encoding: bool,
    /// log2 of the probability that some slot of a ciphertext exceeds its bound. `None` for expected deviations, which bound nothing.
    pub failure_log2: Option<f64>,
}

/// log2 of the usual probability that some slot exceeds its bound.
pub const USUAL_FAILURE_LOG2: f64 = -40.0;

/// log2 of that probability for integers: decryption returns them without their errors, so a wrong one is worse than an inexact real number.
/// A program of 2^16 bounds then fails with 2^-128.
pub const INTEGER_FAILURE_LOG2: f64 = -144.0;

/// The key that encrypts inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encryption {
    /// The secret key, which can also decrypt.
    Secret,
    /// The public key.
    Public,
}

impl NoiseModel {
    /// σ = 3.2, a secret of uniformly random ternary coefficients, inputs encrypted with the public key.
    pub fn ternary(degree: RingDegree) -> Self {
        Self {
            degree,
            error_deviation: 3.2,
            secret_weight: degree.get() as f64 * 2.0 / 3.0,
            parties: 1,
            encryption: Encryption::Public,
            exact_encoding: false,
            failure_log2: Some(USUAL_FAILURE_LOG2),
        }
    }

    fn n(&self) -> f64 {
        self.degree.get() as f64
    }

    /// Error of a fresh encryption of a message whose scaled slots are up to `phase`. Secret key (m − a·s + e, a): e and the encoding's
    /// error. Public key v·(b, a) + (e_0 + m, e_1) with ternary v: v·e + e_0 + e_1·s and the encoding's error. e is the sum of all parties'.
    pub fn fresh(&self, phase: f64) -> f64 {
        let n = self.n();
        let products = match self.encryption {
            Encryption::Secret => 0.0,
            Encryption::Public => (self.secret_weight + self.parties as f64 * n * 2.0 / 3.0) * self.product(1),
        };
        (self.error_deviation * (n * (1.0 + products)).sqrt()).hypot(self.encoding(phase))
    }

    /// Error of encoding a public vector whose scaled slots are up to `phase`: a transform in f64, and coefficients rounded to integers.
    pub fn encoding(&self, phase: f64) -> f64 {
        (self.n() / 12.0).sqrt().hypot(self.transform() * phase)
    }

    /// Deviation of the f64 transform's error in a slot, relative to the largest slot. Each of log2 N − 1 butterfly layers, and the product
    /// with the scale, has relative error below 2·2^-53; the values keep their mean square, and the errors are nearly independent.
    pub fn transform(&self) -> f64 {
        2.0 * self.f64_rounding() * self.n().log2().sqrt()
    }

    /// Largest relative rounding error of a public number.
    pub fn f64_rounding(&self) -> f64 {
        if self.exact_encoding { 0.0 } else { F64_ROUNDING }
    }

    /// E|·|² of the worst slot of a polynomial whose coefficients have this `variance` and `mean`.
    ///
    /// The mean contributes through Σ X^j, whose value at a root ω is 2/(1 − ω): about 2N/π at the root next to 1, which is slot 0.
    fn worst_slot(&self, variance: f64, mean: f64) -> f64 {
        let n = self.n();
        n * variance + (2.0 * n / std::f64::consts::PI * mean).powi(2)
    }

    /// E|·|² of the worst slot of x/B, where x are the residues modulo a product B of `primes` primes in the representation of
    /// `conversion`.
    fn representation(&self, primes: usize, conversion: Conversion) -> f64 {
        let primes = primes as f64;
        match conversion {
            // A sum of uniform numbers from [0, 1), a sum from [-1/2, 1/2), or one such number.
            Conversion::Approximate => self.worst_slot(primes / 12.0, primes / 2.0),
            Conversion::Balanced => self.worst_slot(primes / 12.0, 0.0),
            Conversion::Centred => self.worst_slot(1.0 / 12.0, 0.0),
        }
    }

    /// Error of dividing `parts` parts by `primes` primes: ρ_0 + ρ_1·s (+ ρ_2·s²), with rounding errors ρ.
    pub fn division(&self, primes: usize, conversion: Conversion, parts: usize) -> f64 {
        let rounding = self.representation(primes, conversion);
        let powers = (0..parts as i32).map(|power| self.secret_weight.powi(power) * self.product(power));
        (rounding * powers.sum::<f64>()).sqrt()
    }

    /// Error of a key switch's inner product before ModDown: √Σ_d E|digit d|²·E|e|². It is treated as if one digit had all of it, which
    /// has the heaviest tail.
    ///
    /// With n parties a key's error is the sum of n. In the joint relinearization key it is s·e − u·e' + e'', a product with two secrets of
    /// weight h. A digit times a secret's value is a product of two independent values, whose tail that of one value's square exceeds.
    pub fn inner_product(&self, digits: &[DigitSize], conversion: Conversion, errors: KeyErrors) -> f64 {
        let squares = digits.iter().map(|digit| match *digit {
            DigitSize::Limbs { log2, primes } => (2.0 * log2).exp2() * self.representation(primes, conversion),
            DigitSize::Window { log2, balanced } => {
                (2.0 * log2).exp2() * self.worst_slot(1.0 / 12.0, if balanced { 0.0 } else { 0.5 })
            }
        });
        let own = match errors {
            KeyErrors::Relinearisation if self.parties > 1 => {
                2.0 * self.secret_weight * self.product(2) + 2.0 * self.product(1)
            }
            _ => self.product(1),
        };
        self.error_deviation * (self.parties as f64 * self.n() * own * squares.sum::<f64>()).sqrt()
    }

    /// Number of deviations that an error exceeds in any slot with probability 2^[`Self::failure_log2`]; |error|² of a Gaussian is
    /// exponentially distributed. 1 for expected deviations.
    pub fn tail(&self) -> f64 {
        self.failure_log2.map_or(1.0, |failure| self.log_slots_beyond(failure).sqrt())
    }

    /// −ln of 2^`failure_log2`/N.
    fn log_slots_beyond(&self, failure_log2: f64) -> f64 {
        (self.n().log2() - failure_log2) * std::f64::consts::LN_2
    }

    /// Factor by which the squared deviation of g·σ^`power` must exceed E|g|²·(E|σ|²)^`power`, for independent complex Gaussians g and σ.
    /// σ is the secret's value, common to all errors, or a digit's.
    ///
    /// With E|g|² = E|σ|² = 1 the squares u and w are exponentially distributed, and u·w^k ≤ k^k·((u + w)/(k + 1))^(k + 1) by the
    /// inequality of means for u and k times w/k. u + w exceeds y with probability (1 + y)·e^-y. Choose y so that this is the stated
    /// probability over N: then |g·σ^k|² exceeds k^k·(y/(k + 1))^(k + 1) at most that often. The factor is this value over tail². For expected
    /// deviations it is E w^k = k!.
    fn product(&self, power: i32) -> f64 {
        if power == 0 {
            return 1.0;
        }
        let Some(failure) = self.failure_log2 else { return (1..=power).map(f64::from).product() };
        let beyond = self.log_slots_beyond(failure);
        // y = beyond + ln(1 + y): a contraction by 1/(1 + y).
        let y = (0..20).fold(beyond, |y, _| beyond + (1.0 + y).ln());
        let k = f64::from(power);
        k.powi(power) * (y / (k + 1.0)).powi(power + 1) / beyond
    }
}

/// One digit of a key switch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DigitSize {
    /// The residue modulo some limbs.
    Limbs { log2: f64, primes: usize },
    /// A window of bits of a limb.
    Window {
        /// log2 of the number of values.
        log2: f64,
        /// Whether values are centered at 0; the last digit of a limb starts at 0.
        balanced: bool,
    },
}

#[cfg(test)]
mod tests {
    //! Is the bound of a product of random values exceeded with the stated probability, and not far less often?

    use super::*;

    /// The probability that u·w^`power` > `square` for exponentially distributed u and w: ∫ e^(−w − square/w^power) dw, by the trapezoidal
    /// rule in ln w.
    fn exceeds(square: f64, power: i32) -> f64 {
        let step = 1e-3;
        let at = |index: i32| {
            let w = (f64::from(index) * step).exp();
            (-w - square / w.powi(power)).exp() * w * step
        };
        (-15_000..15_000).map(at).sum()
    }

    #[test]
    fn products_exceed_the_bound_as_rarely_as_gaussians() {
        for log2 in [4, 10, 16] {
            let model = NoiseModel::ternary(RingDegree::new(1 << log2).unwrap());
            let allowed = (-40.0 - f64::from(log2)).exp2();
            let tail = model.tail().powi(2);
            let found = [0, 1, 2].map(|power| exceeds(tail * model.product(power), power) / allowed);
            assert!((found[0] - 1.0).abs() < 1e-3, "{found:?}");
            assert!(found[1..].iter().all(|found| (0.02..1.0).contains(found)), "{found:?}");
            // Treating the secret's value as its average would exceed the bound thousands of times as often.
            assert!(exceeds(tail, 1) > 1e3 * allowed && exceeds(2.0 * tail, 2) > 1e6 * allowed);
        }
    }
}
