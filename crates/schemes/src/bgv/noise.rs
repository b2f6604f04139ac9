//! What the phase of a ciphertext is bounded by: formulas for every operation.
//!
//! The phase of a BGV ciphertext is the integer polynomial v = \[f·m\]_t + t·e, held modulo Q; it decrypts as long as every
//! coefficient lies in [−Q/2, Q/2). Here *noise* is v as a whole, described in two ways, both as log2:
//!
//! - [`Noise::deviation`]: the standard deviation of a coefficient, as if all polynomials that meet were independent and
//!   their coefficients too. Tests hold it against measurement.
//! - [`Noise::bound`]: a bound on |v(ζ)| at every root ζ of X^N + 1 (the canonical norm, hence also on every coefficient; I.
//!   Damgård et al., CRYPTO 2012). It is submultiplicative whatever depends on whatever, so only fresh randomness is a
//!   heuristic: at a root, a polynomial of independent coefficients of variance V is a complex Gaussian variable of
//!   variance N·V and exceeds [`KAPPA`]·√(N·V) with probability e^(−κ²) = 2^−52; a product of two fresh polynomials, κ²·√….
//!
//! | operation | variance of a coefficient |
//! |---|---|
//! | fresh, secret key | t²σ² + t²/12 |
//! | fresh, public key | t²σ²·(2N/3 + 1 + h) + t²/12 |
//! | sum | V₁ + V₂ |
//! | sum with a public vector | V + t²/12 |
//! | product with an integer r | r²·V |
//! | product with a public vector | N·t²/12·V |
//! | product; square | N·V₁·V₂; 2N·V² |
//! | key switch, added | t²σ²·N·Σ_d Var(digit d)/P² + k·(1 + h)·t²/12 if P ≠ 1 |
//! | division by B of k limbs, B ⊂ Q | V/B² + k·(1 + h)·t²/12 |
//!
//! h is the expected squared norm of the secret, σ the deviation of fresh errors. A digit of α limbs that is converted
//! without bias has variance α·Q_d²/12 (each of the α terms of the base conversion is uniform), one of b bits 2^(2b)/12. A
//! division rounds by t·(a number of variance k/12), k limbs being dropped.

use polyfabric_kernels::RingDegree;

/// κ: how many deviations a fresh polynomial is taken to stay within at every root.
pub const KAPPA: f64 = 6.0;

/// log2(2^a + 2^b).
fn log2_sum(a: f64, b: f64) -> f64 {
    let (high, low) = if a > b { (a, b) } else { (b, a) };
    if low == f64::NEG_INFINITY { high } else { high + (1.0 + (low - high).exp2()).log2() }
}

/// The noise of a ciphertext: log2 of a deviation and of a bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// log2 of the standard deviation of a coefficient, operands taken as independent.
    pub deviation: f64,
    /// log2 of a bound on the canonical norm.
    pub bound: f64,
}

impl Noise {
    /// No noise: a phase of 0.
    pub const NONE: Self = Self { deviation: f64::NEG_INFINITY, bound: f64::NEG_INFINITY };

    /// Of the sum of this and `other`.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let deviation = log2_sum(2.0 * self.deviation, 2.0 * other.deviation) / 2.0;
        Self { deviation, bound: log2_sum(self.bound, other.bound) }
    }

    /// Of the product with an integer of absolute value 2^`log2`, or, with a negative `log2`, of an exact division.
    #[must_use]
    pub fn scale(self, log2: f64) -> Self {
        Self { deviation: self.deviation + log2, bound: self.bound + log2 }
    }
}

/// One digit of a key switch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DigitSize {
    /// log2 of its modulus, or its bits.
    pub log2: f64,
    /// Limbs that the base conversion adds up; 1 if it is exact or cut from one limb.
    pub limbs: usize,
}

/// The formulas for one parameter set; t is given with each, as bootstrapping changes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoiseModel {
    /// N.
    pub degree: RingDegree,
    /// h = E‖s‖².
    pub secret_weight: f64,
    /// σ.
    pub error_deviation: f64,
}

impl NoiseModel {
    fn log2_degree(&self) -> f64 {
        f64::from(self.degree.log2())
    }

    /// A fresh random polynomial of deviation 2^`log2_deviation`, as a product of `factors` fresh ones.
    fn fresh_polynomial(&self, log2_deviation: f64, factors: u32) -> Noise {
        let bound = log2_deviation + self.log2_degree() / 2.0 + f64::from(factors) * KAPPA.log2();
        Noise { deviation: log2_deviation, bound }
    }

    /// A message modulo t = 2^`log2_t`, uniform: deviation t/√12.
    pub fn message(&self, log2_t: f64) -> Noise {
        self.fresh_polynomial(log2_t - 12f64.log2() / 2.0, 1)
    }

    /// Encrypted under the secret key.
    pub fn fresh(&self, log2_t: f64) -> Noise {
        self.fresh_polynomial(log2_t + self.error_deviation.log2(), 1).plus(self.message(log2_t))
    }

    /// Encrypted under the public key, with a ternary u.
    pub fn fresh_public(&self, log2_t: f64) -> Noise {
        let error = log2_t + self.error_deviation.log2();
        let (ternary, secret) = (self.log2_degree() + (2.0 / 3.0f64).log2(), self.secret_weight.log2());
        let products = log2_sum(ternary, secret) / 2.0;
        self.fresh(log2_t).plus(self.fresh_polynomial(error + products, 2))
    }

    /// Of the product; `square` if both operands are one ciphertext.
    pub fn multiply(&self, a: Noise, b: Noise, square: bool) -> Noise {
        let pairs = self.log2_degree() + f64::from(u8::from(square));
        Noise { deviation: a.deviation + b.deviation + pairs / 2.0, bound: a.bound + b.bound }
    }

    /// Of the product with a public vector modulo t.
    pub fn multiply_public(&self, a: Noise, log2_t: f64) -> Noise {
        self.multiply(a, self.message(log2_t), false)
    }

    /// What rounding adds when `limbs` limbs are divided by, each part of the ciphertext changing by t times a fresh number.
    pub fn rounding(&self, log2_t: f64, limbs: usize) -> Noise {
        let each = log2_t + (limbs as f64 / 12.0).log2() / 2.0;
        let by_secret = self.fresh_polynomial(each + self.secret_weight.log2() / 2.0, 2);
        self.fresh_polynomial(each, 1).plus(by_secret)
    }

    /// After a division by `limbs` limbs of Q with product 2^`log2_divisor`.
    pub fn divide(&self, a: Noise, log2_t: f64, log2_divisor: f64, limbs: usize) -> Noise {
        a.scale(-log2_divisor).plus(self.rounding(log2_t, limbs))
    }

    /// What the inner product of a key switch adds before any division: Σ digit·t·error, for keys whose errors are multiples
    /// of 2^`log2_key_t`.
    pub fn inner_product(&self, log2_key_t: f64, digits: &[DigitSize]) -> Noise {
        let error = log2_key_t + self.error_deviation.log2() + self.log2_degree() / 2.0;
        let variance = digits
            .iter()
            .fold(f64::NEG_INFINITY, |sum, digit| log2_sum(sum, 2.0 * digit.log2 + (digit.limbs as f64 / 12.0).log2()));
        self.fresh_polynomial(error + variance / 2.0, 2)
    }

    /// What a whole key switch adds: the inner product, divided by `special` limbs of product 2^`log2_special` (none: 0 and 0.0).
    pub fn key_switch(
        &self,
        log2_t: f64,
        log2_key_t: f64,
        digits: &[DigitSize],
        log2_special: f64,
        special: usize,
    ) -> Noise {
        let inner = self.inner_product(log2_key_t, digits);
        if special == 0 { inner } else { self.divide(inner, log2_t, log2_special, special) }
    }
}

#[cfg(test)]
mod tests {
    //! Do the formulas agree with polynomials drawn at random and multiplied by definition, and does the bound hold?

    use super::*;
    use rand_chacha::ChaCha20Rng;
    use rand_chacha::rand_core::{RngCore, SeedableRng};

    const COUNT: usize = 256;

    fn model() -> NoiseModel {
        NoiseModel { degree: RingDegree::new(COUNT).unwrap(), secret_weight: 100.0, error_deviation: 3.2 }
    }

    fn uniform(rng: &mut ChaCha20Rng, size: f64) -> Vec<f64> {
        (0..COUNT).map(|_| ((rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64 - 0.5) * size).map(f64::round).collect()
    }

    fn multiply(a: &[f64], b: &[f64]) -> Vec<f64> {
        let mut product = vec![0.0; COUNT];
        for (i, a) in a.iter().enumerate() {
            for (j, b) in b.iter().enumerate() {
                product[(i + j) % COUNT] += if i + j < COUNT { a * b } else { -a * b };
            }
        }
        product
    }

    fn deviation(polynomials: &[Vec<f64>]) -> f64 {
        let count = polynomials.iter().map(Vec::len).sum::<usize>() as f64;
        (polynomials.iter().flatten().map(|x| x * x).sum::<f64>() / count).log2() / 2.0
    }

    fn canonical(polynomial: &[f64]) -> f64 {
        let at = |root: usize| {
            let angle = std::f64::consts::PI * (2 * root + 1) as f64 / COUNT as f64;
            let (re, im) = polynomial.iter().enumerate().fold((0.0, 0.0), |(re, im), (k, c)| {
                let angle = angle * k as f64;
                (re + c * angle.cos(), im + c * angle.sin())
            });
            re.hypot(im)
        };
        (0..COUNT / 2).map(at).fold(0.0, f64::max).log2()
    }

    #[test]
    fn products_squares_and_rounding() {
        let mut rng = ChaCha20Rng::seed_from_u64(7);
        let (model, t) = (model(), 16.0);
        let draws: Vec<_> = (0..12).map(|_| (uniform(&mut rng, 65536.0), uniform(&mut rng, 65536.0))).collect();
        let message = model.message(t);
        let check = |polynomials: Vec<Vec<f64>>, noise: Noise, tolerance: f64| {
            let measured = deviation(&polynomials);
            assert!((measured - noise.deviation).abs() < tolerance, "{measured} against {}", noise.deviation);
            let largest = polynomials.iter().map(|polynomial| canonical(polynomial)).fold(0.0, f64::max);
            assert!(largest < noise.bound, "{largest} over {}", noise.bound);
        };
        check(draws.iter().map(|(a, _)| a.clone()).collect(), message, 0.05);
        let products: Vec<_> = draws.iter().map(|(a, b)| multiply(a, b)).collect();
        check(products, model.multiply(message, message, false), 0.1);
        check(draws.iter().map(|(a, _)| multiply(a, a)).collect(), model.multiply(message, message, true), 0.1);
        // A fourth power: operands depend on each other, so the deviation is no longer exact, but the bound holds.
        let square = model.multiply(message, message, true);
        let fourth = draws.iter().map(|(a, _)| multiply(&multiply(a, a), &multiply(a, a))).collect();
        check(fourth, model.multiply(square, square, true), 1.0);
        let secret: Vec<f64> = (0..COUNT).map(|i| if i % 32 < 12 { 1.0 } else { 0.0 }).collect();
        let weight = secret.iter().sum::<f64>();
        let rounding = NoiseModel { secret_weight: weight, ..model }.rounding(t, 1);
        let rounded =
            draws.iter().map(|(a, b)| multiply(a, &shuffled(&secret)).iter().zip(b).map(|(x, y)| x + y).collect());
        check(rounded.collect(), rounding, 0.2);
    }

    /// Signs and places that do not line up.
    fn shuffled(secret: &[f64]) -> Vec<f64> {
        (0..COUNT).map(|i| secret[i * 77 % COUNT] * if i * i % 7 < 3 { -1.0 } else { 1.0 }).collect()
    }

    #[test]
    fn sums_of_powers() {
        assert!((log2_sum(3.0, 3.0) - 4.0).abs() < 1e-12);
        assert!((log2_sum(f64::NEG_INFINITY, 3.0) - 3.0).abs() < 1e-12);
        assert_eq!(Noise::NONE.plus(Noise::NONE), Noise::NONE);
        let noise = Noise { deviation: 10.0, bound: 20.0 };
        let double = noise.plus(noise);
        assert!((double.deviation - 10.5).abs() < 1e-12 && (double.bound - 21.0).abs() < 1e-12);
        assert_eq!(noise.scale(-3.0), Noise { deviation: 7.0, bound: 17.0 });
    }

    #[test]
    fn key_switch_is_dominated_by_what_it_should_be() {
        let model = model();
        let digit = |log2| DigitSize { log2, limbs: 1 };
        // Without special primes the digit's size is there in full.
        let per_limb = model.key_switch(16.0, 16.0, &[digit(32.0); 4], 0.0, 0);
        assert!((per_limb.deviation - (16.0 + 3.2f64.log2() + 4.0 + 32.0 + 1.0 - 12f64.log2() / 2.0)).abs() < 1e-9);
        // With P as large as a digit what is left is rounding.
        let hybrid = model.key_switch(16.0, 16.0, &[digit(32.0); 4], 40.0, 1);
        assert!(hybrid.deviation < model.rounding(16.0, 1).deviation + 0.5);
    }
}
