//! Bounds on the phase of a ciphertext after each operation.
//!
//! The phase of a BGV ciphertext is the integer polynomial v = \[f·m\]_t + t·e modulo Q. It decrypts correctly while every coefficient
//! lies in [−Q/2, Q/2). *Noise* here means v as a whole, with three logarithmic measures:
//!
//! - [`Noise::deviation`]: the standard deviation of a coefficient, assuming independent polynomials with independent coefficients.
//!   Tests compare it with measurements.
//! - [`Noise::bound`]: a bound on |v(ζ)| at every root ζ of X^N + 1 (the canonical norm, which also bounds every coefficient;
//!   I. Damgård et al., CRYPTO 2012). It is submultiplicative even for dependent polynomials. The number of limbs follows from it.
//! - [`Noise::rare_bound`]: the same with [`RARE_KAPPA`] instead of [`KAPPA`], exceeded with negligible probability. If it fits the
//!   modulus, decryption never fails; otherwise [`Noise::kappa_within`] gives the largest κ that fits.
//!
//! # Assumptions of the bound
//! Messages are arbitrary: each coefficient is at most t/2, so |m(ζ)| ≤ N·t/2; the values of a public factor are computed
//! ([`Noise::of`]). All other polynomials have independent coefficients, with zero mean unless stated. Their distributions (uniform,
//! Gaussian, ternary) have tails no heavier than a Gaussian of the same variance V. Hence |v(ζ)| exceeds [`KAPPA`]·√(N·V) with
//! probability e^(−κ²) = 2^−52 as a complex Gaussian, and at most e·κ²·e^(−κ²) = 2^−45 by Chernoff's bound. A constant mean μ
//! contributes μ·Σ X^j, which is μ/sin(π/2N) at the root next to 1.
//!
//! - *Secrets and errors* follow these distributions by construction. An inner product uses n error polynomials of a key. Their
//!   Σ_i |e_i(ζ)|² is σ²N times a sum of n exponential variables, which exceeds n + √(2n)·κ + κ² with probability e^(−κ²). This is a
//!   property of the key alone and holds for every use of it.
//! - *Digits and roundings* are functions of public words: masks, their images and products, and sums of key masks times digits.
//!   Anyone with the ciphertexts and evaluation keys can test whether one exceeds its bound. For uniformly random words that
//!   probability is as above; a noticeably larger probability for real words would distinguish them from random ones and break
//!   the scheme's security. The argument needs pseudorandom masks, not digits independent of errors: |Σ_i d_i(ζ)·e_i(ζ)| is bounded
//!   by Cauchy-Schwarz from bounds of Σ_i |d_i(ζ)|² and Σ_i |e_i(ζ)|². (As usual, we assume that digits stay random after many
//!   operations with the same key; the difference x − x has digits 0, which are smaller.)
//!
//! | operation | variance of a coefficient |
//! |---|---|
//! | fresh, secret key | t²σ² + t²/12 |
//! | fresh, public key | t²σ²·(2N/3 + 1 + h) + t²/12 |
//! | sum | V₁ + V₂ |
//! | sum with a public vector | V + t²/12 |
//! | product with an integer r | r²·V |
//! | product with a public vector p | ‖p‖²·V |
//! | product; square | N·V₁·V₂; 2N·V² |
//! | key switch, added | t²σ²·N·Σ_d Var(digit d)/P² + k·(1 + h)·t²/12 if P ≠ 1 |
//! | ring-GSW product with m, added | twice the key switch's inner product, and its rounding; V becomes ‖m‖²·V |
//! | selection by a bit | the larger V, and the product's |
//! | division by B of k limbs, B ⊂ Q | V/B² + k·(1 + h)·t²/12 |
//!
//! With keys of n parties, 2N/3 in the second row and σ² in the key switch are n times as large. The relinearization key has errors
//! s·e − u·e' + e'', where s and u have weight h: its σ² is n·(2h + 2) times as large, or with a bound of both secrets' values n·(2κ²h + 2)
//! times.
//!
//! h is the expected squared norm of the secret, σ the deviation of fresh errors. A digit of α limbs, converted without bias, has
//! variance α·Q_d²/12 (each of the α terms of the base conversion is uniform); a digit of b bits has 2^(2b)/12. A division that drops
//! k limbs rounds by t·(a number of variance k/12). The last digit of a limb, and numbers converted from [0, q), also have a mean
//! ([`Spread`]).

use crate::ckks::encoding::{Complex, SpecialFft};
use crate::rns::KeyErrors;
use polyfabric_kernels::RingDegree;

/// κ: number of deviations that bounds a fresh polynomial at every root.
pub const KAPPA: f64 = 6.0;

/// κ of [`Noise::rare_bound`]. A root exceeds it with probability e·κ²·e^(−κ²) = 2^−199, so 2^71 roots do with 2^-128.
pub const RARE_KAPPA: f64 = 12.0;

/// Bits of Q kept free to detect damage, where possible: a uniform number modulo Q exceeds the limit with probability 1/6, and all N
/// coefficients stay within it with 0.84^N.
const SHOWS_DAMAGE: f64 = 0.25;

/// log2(2^a + 2^b).
fn log2_sum(a: f64, b: f64) -> f64 {
    let (high, low) = if a > b { (a, b) } else { (b, a) };
    if low == f64::NEG_INFINITY { high } else { high + (1.0 + (low - high).exp2()).log2() }
}

/// The noise of a ciphertext: log2 of a deviation and of bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// log2 of the standard deviation of a coefficient, operands taken as independent.
    pub deviation: f64,
    /// log2 of a bound on the canonical norm.
    pub bound: f64,
    /// log2 of the bound that [`RARE_KAPPA`] gives.
    pub rare_bound: f64,
}

impl Noise {
    /// No noise: a phase of 0.
    pub const NONE: Self =
        Self { deviation: f64::NEG_INFINITY, bound: f64::NEG_INFINITY, rare_bound: f64::NEG_INFINITY };

    /// Evaluates the bound `at`, log2 of a sum of powers of κ, for both values of κ.
    fn new(deviation: f64, at: impl Fn(f64) -> f64) -> Self {
        Self { deviation, bound: at(KAPPA), rare_bound: at(RARE_KAPPA) }
    }

    /// The largest κ up to [`RARE_KAPPA`] whose bound is within 2^`limit`; less than [`KAPPA`] if [`Self::bound`] is not.
    ///
    /// A bound is a sum of powers of κ with positive factors, so log2 of it is convex in log2 κ and lies below the chord of both bounds.
    pub fn kappa_within(&self, limit: f64) -> f64 {
        let (room, rise) = (limit - self.bound, self.rare_bound - self.bound);
        if room >= rise {
            return RARE_KAPPA;
        }
        KAPPA * (RARE_KAPPA / KAPPA).powf(room / rise)
    }

    /// Noise of a public polynomial from its values at all roots; `transform` has N/2 slots.
    ///
    /// # Panics
    /// Unless there are twice as many coefficients as slots of `transform`.
    pub fn of(coefficients: &[i64], transform: &SpecialFft) -> Self {
        let (low, high) = coefficients.split_at(transform.max_slots());
        let mut values: Vec<Complex> =
            low.iter().zip(high).map(|(&re, &im)| Complex { re: re as f64, im: im as f64 }).collect();
        let sum = values.iter().map(|value| value.abs()).sum();
        let square: f64 = values.iter().map(|value| value.abs().powi(2)).sum();
        // Twice the forward error also covers the conversion to f64.
        let error = 2.0 * SpecialFft::forward_error(values.len(), sum);
        transform.forward(&mut values);
        let largest = values.iter().map(|value| value.abs()).fold(0.0, f64::max);
        Self::new((square / coefficients.len() as f64).log2() / 2.0, |_| (largest + error).log2())
    }

    /// log2 of the largest phase that decryption accepts modulo Q, where Q/2 = 2^`half`: the rare bound, or less if that leaves too little
    /// of Q to detect damage. A damaged ciphertext has coefficients anywhere modulo Q; one above the limit is enough.
    pub fn phase_limit(&self, half: f64) -> f64 {
        self.rare_bound.min(half - SHOWS_DAMAGE).max(self.bound)
    }

    /// Noise of the sum.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let deviation = log2_sum(2.0 * self.deviation, 2.0 * other.deviation) / 2.0;
        let rare_bound = log2_sum(self.rare_bound, other.rare_bound);
        Self { deviation, bound: log2_sum(self.bound, other.bound), rare_bound }
    }

    /// Noise of one of two ciphertexts.
    #[must_use]
    pub fn either(self, other: Self) -> Self {
        Self {
            deviation: self.deviation.max(other.deviation),
            bound: self.bound.max(other.bound),
            rare_bound: self.rare_bound.max(other.rare_bound),
        }
    }

    /// Noise after multiplying by an integer of absolute value 2^`log2`; a negative `log2` means an exact division.
    #[must_use]
    pub fn scale(self, log2: f64) -> Self {
        self.times(log2, log2)
    }

    /// Noise of the product with a polynomial of deviation 2^`deviation` whose values at the roots are below 2^`bound`.
    #[must_use]
    pub fn times(self, deviation: f64, bound: f64) -> Self {
        let (all, rare) = (self.bound + bound, self.rare_bound + bound);
        Self { deviation: self.deviation + deviation, bound: all, rare_bound: rare }
    }
}

/// Distribution of the representatives of residues, in units of the modulus: a sum of uniform variables.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Number of uniform variables.
    pub summands: usize,
    pub mean: f64,
}

impl Spread {
    /// `summands` numbers from [−1/2, 1/2).
    pub fn centred(summands: usize) -> Self {
        Self { summands, mean: 0.0 }
    }

    /// `summands` numbers from [0, 1).
    pub fn from_zero(summands: usize) -> Self {
        Self { summands, mean: summands as f64 / 2.0 }
    }

    fn variance(self) -> f64 {
        self.summands as f64 / 12.0
    }

    /// log2 of the root of the mean square.
    fn log2_size(self) -> f64 {
        (self.variance() + self.mean.powi(2)).log2() / 2.0
    }
}

/// One digit of a key switch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DigitSize {
    /// log2 of its modulus, or its bits.
    pub log2: f64,
    /// Their distribution in units of that modulus.
    pub spread: Spread,
}

/// The formulas for one parameter set. Each takes t as an argument because bootstrapping changes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoiseModel {
    /// N.
    pub degree: RingDegree,
    /// h = E‖s‖².
    pub secret_weight: f64,
    /// σ.
    pub error_deviation: f64,
    /// n: errors of the public key and of switching keys are sums of as many parties' errors. 1 for one owner.
    pub parties: usize,
}

impl NoiseModel {
    fn log2_degree(&self) -> f64 {
        f64::from(self.degree.log2())
    }

    /// A product of `factors` fresh random polynomials, of deviation 2^`log2_deviation`.
    fn fresh_polynomial(&self, log2_deviation: f64, factors: u32) -> Noise {
        let one = log2_deviation + self.log2_degree() / 2.0;
        Noise::new(log2_deviation, |kappa| one + f64::from(factors) * kappa.log2())
    }

    /// log2 of a bound at every root for coefficients distributed as `spread`.
    fn log2_bound(&self, spread: Spread, kappa: f64) -> f64 {
        let degree = self.degree.get() as f64;
        (kappa * (degree * spread.variance()).sqrt() + spread.mean.abs() * self.log2_ones().exp2()).log2()
    }

    /// Any message modulo t = 2^`log2_t`; the deviation assumes a uniform one.
    pub fn message(&self, log2_t: f64) -> Noise {
        Noise::new(log2_t - 12f64.log2() / 2.0, |_| log2_t - 1.0 + self.log2_degree())
    }

    /// Any constant message modulo t = 2^`log2_t`.
    pub fn constant(&self, log2_t: f64) -> Noise {
        let bound = log2_t - 1.0;
        Noise::new(bound - self.log2_degree() / 2.0, |_| bound)
    }

    /// Encrypted under the secret key.
    pub fn fresh(&self, log2_t: f64) -> Noise {
        self.fresh_polynomial(log2_t + self.error_deviation.log2(), 1).plus(self.message(log2_t))
    }

    /// Encrypted under the public key, with a ternary u.
    pub fn fresh_public(&self, log2_t: f64) -> Noise {
        let error = log2_t + self.error_deviation.log2();
        let ternary = self.log2_degree() + (self.parties as f64 * 2.0 / 3.0).log2();
        let secret = self.secret_weight.log2();
        let products = log2_sum(ternary, secret) / 2.0;
        self.fresh(log2_t).plus(self.fresh_polynomial(error + products, 2))
    }

    /// Noise t·e of all parties, each of deviation 2^`log2_deviation` before t.
    pub fn smudging(&self, log2_t: f64, log2_deviation: f64) -> Noise {
        self.fresh_polynomial(log2_t + log2_deviation + (self.parties as f64).log2() / 2.0, 1)
    }

    /// log2 of the size of a key's errors over that of one party's, if both secrets' squares are at most `secrets` times their mean.
    fn log2_key_errors(&self, errors: KeyErrors, secrets: f64) -> f64 {
        let parties = self.parties as f64;
        match errors {
            KeyErrors::Relinearisation if self.parties > 1 => {
                (parties * (2.0 * secrets * self.secret_weight + 2.0)).log2() / 2.0
            }
            _ => parties.log2() / 2.0,
        }
    }

    /// Noise of the product; `square` if both operands are the same ciphertext.
    pub fn multiply(&self, a: Noise, b: Noise, square: bool) -> Noise {
        let pairs = self.log2_degree() + f64::from(u8::from(square));
        Noise {
            deviation: a.deviation + b.deviation + pairs / 2.0,
            bound: a.bound + b.bound,
            rare_bound: a.rare_bound + b.rare_bound,
        }
    }

    /// Rounding noise of a division: each part of the ciphertext changes by t times a number distributed as `spread`.
    pub fn rounding(&self, log2_t: f64, spread: Spread) -> Noise {
        let secret = self.secret_weight.log2() / 2.0;
        let deviation = log2_t + spread.log2_size();
        let bound = |kappa| log2_t + self.log2_bound(spread, kappa);
        let with_secret = Noise::new(deviation + secret, |kappa| bound(kappa) + secret + kappa.log2());
        Noise::new(deviation, bound).plus(with_secret)
    }

    /// Noise that the inner product of a key switch adds before any division: Σ digit·t·error, for keys whose errors are multiples of
    /// 2^`log2_key_t`.
    pub fn inner_product(&self, log2_key_t: f64, digits: &[DigitSize], of: KeyErrors) -> Noise {
        let one = log2_key_t + self.error_deviation.log2() + self.log2_degree() / 2.0;
        let error = |secrets| one + self.log2_key_errors(of, secrets);
        let sum = |log2: &dyn Fn(&DigitSize) -> f64| {
            digits.iter().fold(f64::NEG_INFINITY, |sum, digit| log2_sum(sum, 2.0 * log2(digit))) / 2.0
        };
        let variances: Vec<f64> =
            digits.iter().map(|digit| 2.0 * digit.log2 + digit.spread.variance().log2()).collect();
        let means = sum(&|digit| digit.log2 + (digit.spread.mean.abs() * self.log2_ones().exp2()).log2());
        let errors = vec![0.0; digits.len()];
        Noise::new(error(1.0) + sum(&|digit| digit.log2 + digit.spread.log2_size()), |kappa| {
            let random = log2_sum_of_squares(&variances, kappa) / 2.0 + self.log2_degree() / 2.0;
            error(kappa * kappa) + log2_sum_of_squares(&errors, kappa) / 2.0 + log2_sum(random, means)
        })
    }

    /// log2 |Σ X^j| at the root next to 1.
    fn log2_ones(&self) -> f64 {
        -(std::f64::consts::PI / (2.0 * self.degree.get() as f64)).sin().log2()
    }
}

/// log2 of a bound on Σ a_i·u_i that fails with probability e^(−κ²). Each u_i is the square of a complex Gaussian variable of variance 1
/// and a_i = 2^`log2`\[i\]: Σ a_i + √(2·Σ a_i²)·κ + max a_i·κ² (B. Laurent, P. Massart, Ann. Statist. 28, 2000).
fn log2_sum_of_squares(log2: &[f64], kappa: f64) -> f64 {
    let largest = log2.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let parts: Vec<f64> = log2.iter().map(|log2| (log2 - largest).exp2()).collect();
    let (sum, squares): (f64, f64) = (parts.iter().sum(), parts.iter().map(|part| part * part).sum());
    largest + (sum + (2.0 * squares).sqrt() * kappa + kappa * kappa).log2()
}

#[cfg(test)]
mod tests {
    //! Do the formulas agree with random polynomials multiplied by definition, and do the bounds hold?

    use super::*;
    use rand_chacha::ChaCha20Rng;
    use rand_chacha::rand_core::{RngCore, SeedableRng};

    const COUNT: usize = 256;

    fn model() -> NoiseModel {
        NoiseModel { degree: RingDegree::new(COUNT).unwrap(), secret_weight: 100.0, error_deviation: 3.2, parties: 1 }
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

    /// Tests to five deviations of the variance of `polynomials`. Their square varies by `squares` times its squared mean at each of the N/2
    /// frequencies: 1 + 2/R for a sum of R products, 5 for a square, 2 for a product with one secret.
    fn assert_close(polynomials: &[Vec<f64>], predicted: f64, squares: f64) {
        let measured = deviation(polynomials);
        let ratio = (2.0 * (measured - predicted)).exp2();
        let width = 5.0 * (squares / (polynomials.len() * COUNT / 2) as f64).sqrt();
        println!("{ratio:.3} within {width:.3} of 1");
        assert!((ratio - 1.0).abs() < width, "{ratio}: deviation 2^{measured} against 2^{predicted}");
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
        let draws: Vec<_> = (0..60).map(|_| (uniform(&mut rng, 65536.0), uniform(&mut rng, 65536.0))).collect();
        let message = model.message(t);
        let check = |polynomials: Vec<Vec<f64>>, noise: Noise, squares: f64| {
            assert_close(&polynomials, noise.deviation, squares);
            let largest = polynomials.iter().map(|polynomial| canonical(polynomial)).fold(0.0, f64::max);
            assert!(largest < noise.bound, "{largest} over {}", noise.bound);
        };
        check(draws.iter().map(|(a, _)| a.clone()).collect(), message, 1.0);
        // The values of a public vector are known.
        let transform = SpecialFft::new(COUNT / 2);
        for (a, b) in &draws {
            let public: Vec<i64> = a.iter().map(|&a| a as i64).collect();
            let size = Noise::of(&public, &transform);
            assert!(
                (size.bound - canonical(a)).abs() < 1e-9
                    && (size.deviation - deviation(std::slice::from_ref(a))).abs() < 1e-9
            );
            assert!(canonical(&multiply(a, b)) < model.multiply(message, size, false).bound);
        }
        let products: Vec<_> = draws.iter().map(|(a, b)| multiply(a, b)).collect();
        check(products, model.multiply(message, message, false), 3.0);
        check(draws.iter().map(|(a, _)| multiply(a, a)).collect(), model.multiply(message, message, true), 5.0);
        // Fourth power: the operands are dependent, so the deviation is not exact, but the bound holds.
        let square = model.multiply(message, message, true);
        let bound = model.multiply(square, square, true).bound;
        let fourth = |a: &[f64]| multiply(&multiply(a, a), &multiply(a, a));
        assert!(draws.iter().all(|(a, _)| canonical(&fourth(a)) < bound));
        let secret: Vec<f64> = (0..COUNT).map(|i| if i % 32 < 12 { 1.0 } else { 0.0 }).collect();
        let weight = secret.iter().sum::<f64>();
        let rounding = NoiseModel { secret_weight: weight, ..model }.rounding(t, Spread::centred(1));
        let rounded =
            draws.iter().map(|(a, b)| multiply(a, &shuffled(&secret)).iter().zip(b).map(|(x, y)| x + y).collect());
        check(rounded.collect(), rounding, 2.0);
    }

    /// The same multiset of coefficients in other places and with other signs.
    fn shuffled(secret: &[f64]) -> Vec<f64> {
        (0..COUNT).map(|i| secret[i * 77 % COUNT] * if i * i % 7 < 3 { -1.0 } else { 1.0 }).collect()
    }

    #[test]
    fn sums_of_powers() {
        assert!((log2_sum(3.0, 3.0) - 4.0).abs() < 1e-12);
        assert!((log2_sum(f64::NEG_INFINITY, 3.0) - 3.0).abs() < 1e-12);
        assert_eq!(Noise::NONE.plus(Noise::NONE), Noise::NONE);
        let noise = Noise { deviation: 10.0, bound: 20.0, rare_bound: 24.0 };
        let double = noise.plus(noise);
        assert!((double.deviation - 10.5).abs() < 1e-12 && (double.bound - 21.0).abs() < 1e-12);
        assert_eq!(noise.scale(-3.0), Noise { deviation: 7.0, bound: 17.0, rare_bound: 21.0 });
    }

    #[test]
    fn a_modulus_holds_as_large_a_kappa_as_its_room_allows() {
        let noise = Noise { deviation: 10.0, bound: 20.0, rare_bound: 24.0 };
        assert_eq!([20.0, 24.0, 30.0].map(|limit| noise.kappa_within(limit)), [KAPPA, RARE_KAPPA, RARE_KAPPA]);
        assert!((noise.kappa_within(22.0) - 72f64.sqrt()).abs() < 1e-12 && noise.kappa_within(19.0) < KAPPA);
        // The limit leaves part of the modulus for detection and allows all that the bound allows.
        assert_eq!([30.0, 24.0, 22.0, 20.1].map(|half| noise.phase_limit(half)), [24.0, 23.75, 21.75, 20.0]);
        // No randomness: both bounds agree.
        let message = model().message(16.0);
        assert_eq!(message.kappa_within(message.bound), RARE_KAPPA);
        // With the κ found, every formula is within the limit.
        let (model, digits) = (model(), [DigitSize { log2: 16.0, spread: Spread::from_zero(2) }; 3]);
        let at = |kappa: f64| {
            let squares = |log2: &[f64]| log2_sum_of_squares(log2, kappa) / 2.0;
            let rounding = model.log2_bound(Spread::from_zero(4), kappa);
            let rounded = log2_sum(rounding, rounding + model.secret_weight.log2() / 2.0 + kappa.log2());
            let variance = 32.0 + (1.0 / 6.0f64).log2();
            let random = squares(&[variance; 3]) + model.log2_degree() / 2.0;
            let mean = 16.0 + 3f64.log2() / 2.0 + model.log2_ones();
            let error = model.error_deviation.log2() + model.log2_degree() / 2.0;
            (rounded, error + squares(&[0.0; 3]) + log2_sum(random, mean))
        };
        let (rounding, inner) =
            (model.rounding(0.0, Spread::from_zero(4)), model.inner_product(0.0, &digits, KeyErrors::Drawn));
        assert!((rounding.bound - at(KAPPA).0).abs() < 1e-9 && (inner.rare_bound - at(RARE_KAPPA).1).abs() < 1e-9);
        for part in [0.1, 0.4, 0.7] {
            let limit = |noise: Noise| noise.bound + part * (noise.rare_bound - noise.bound);
            assert!(at(rounding.kappa_within(limit(rounding))).0 < limit(rounding));
            assert!(at(inner.kappa_within(limit(inner))).1 < limit(inner));
        }
    }

    /// Largest message at the root next to 1, and numbers with a nonzero mean.
    #[test]
    fn bounds_hold_for_every_message_and_where_there_is_a_mean() {
        let (model, t) = (model(), 16.0);
        let sign = |j: usize| (std::f64::consts::PI * j as f64 / COUNT as f64).cos().signum();
        let largest: Vec<f64> = (0..COUNT).map(|j| 32768.0 * sign(j)).collect();
        let (ones, bound) = (vec![32768.0; COUNT], model.message(t).bound);
        assert!(canonical(&largest) < bound && canonical(&largest) > bound - 1.0);
        assert!(canonical(&ones) < bound);
        // Treated as zero-mean, these would exceed their bound.
        let mut rng = ChaCha20Rng::seed_from_u64(9);
        let digit: Vec<f64> = uniform(&mut rng, 65536.0).iter().map(|x| x + 32768.0).collect();
        let of = |spread| 16.0 + model.log2_bound(spread, KAPPA);
        assert!(canonical(&digit) < of(Spread::from_zero(1)) && canonical(&digit) > of(Spread::centred(4)));
    }

    #[test]
    fn inner_products_are_within_their_bound() {
        let mut rng = ChaCha20Rng::seed_from_u64(10);
        let model = NoiseModel { error_deviation: 100.0 / 12f64.sqrt(), ..model() };
        for digits in [1, 3, 12] {
            let last = DigitSize { log2: 8.0, spread: Spread::from_zero(1) };
            let mut sizes = vec![DigitSize { log2: 16.0, spread: Spread::centred(1) }; digits];
            sizes.push(last);
            let noise = model.inner_product(0.0, &sizes, KeyErrors::Drawn);
            let draw = |rng: &mut ChaCha20Rng| {
                sizes.iter().fold(vec![0.0; COUNT], |sum: Vec<f64>, size| {
                    let mean = size.spread.mean * size.log2.exp2();
                    let digit: Vec<f64> = uniform(rng, size.log2.exp2()).iter().map(|x| x + mean).collect();
                    let product = multiply(&digit, &uniform(rng, 100.0));
                    sum.iter().zip(product).map(|(sum, x)| sum + x).collect()
                })
            };
            let sums: Vec<Vec<f64>> = (0..40).map(|_| draw(&mut rng)).collect();
            assert_close(&sums, noise.deviation, 1.0 + 2.0 / digits as f64);
            assert!(sums.iter().all(|sum| canonical(sum) < noise.bound && canonical(sum) > noise.bound - 6.5));
        }
    }

    #[test]
    fn key_switch_is_dominated_by_what_it_should_be() {
        let model = model();
        let digits = [DigitSize { log2: 32.0, spread: Spread::centred(1) }; 4];
        // Without special primes, the full size of the digit remains.
        let per_limb = model.inner_product(16.0, &digits, KeyErrors::Drawn);
        assert!((per_limb.deviation - (16.0 + 3.2f64.log2() + 4.0 + 32.0 + 1.0 - 12f64.log2() / 2.0)).abs() < 1e-9);
        // With P as large as a digit, only the rounding remains.
        let rounding = model.rounding(16.0, Spread::centred(1));
        assert!(per_limb.scale(-40.0).plus(rounding).deviation < rounding.deviation + 0.5);
    }
}
