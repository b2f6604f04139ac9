//! Secrets and noise: ternary coefficients and the rounded Gaussian, from secret streams; masks, from public seeds.

use std::f64::consts::SQRT_2;

use polyfabric_kernels::expander::UniformStream;
use zeroize::{Zeroize, Zeroizing};

use super::limb::{Domain, LimbId};
use super::polynomial::RnsPolynomial;
use super::ring::Ring;
use crate::random::{MaskSeed, Stream};
use crate::tfhe::noise::ln_erfc;

/// `count` coefficients, −1, 0 and 1 equally likely: two bits at a time, of which the fourth value is skipped.
pub fn uniform_ternary(stream: &mut Stream, count: usize) -> Zeroizing<Vec<i8>> {
    let mut coefficients = Zeroizing::new(Vec::with_capacity(count));
    while coefficients.len() < count {
        let mut word = stream.word();
        for _ in 0..32 {
            let draw = (word & 3) as i8;
            word >>= 2;
            if draw < 3 && coefficients.len() < count {
                coefficients.push(draw - 1);
            }
        }
    }
    coefficients
}

/// `count` coefficients of which exactly `weight` are ±1, every such choice equally likely: the first `weight` steps of a shuffle
/// (R. Fisher and F. Yates; D. Durstenfeld 1964), then a bit for each sign.
///
/// # Panics
/// If `weight` is above `count`.
pub fn sparse_ternary(stream: &mut Stream, count: usize, weight: usize) -> Zeroizing<Vec<i8>> {
    assert!(weight <= count, "{weight} of {count} coefficients cannot be set");
    let mut places = Zeroizing::new((0..count).collect::<Vec<_>>());
    let signs = Zeroizing::new(stream.bits(weight));
    let mut coefficients = Zeroizing::new(vec![0i8; count]);
    for (step, &sign) in signs.iter().enumerate() {
        let other = step + stream.below((count - step) as u64) as usize;
        places.swap(step, other);
        coefficients[places[step]] = 1 - 2 * sign as i8;
    }
    coefficients
}

/// A centred Gaussian of deviation σ, rounded to the nearest integer: k has the weight of \[k − 1/2, k + 1/2\].
///
/// Up to σ = 64 by its table of cumulative weights in units of 2^-63, all of whose entries are looked at whatever is drawn; the tail
/// ends where its weight is below 2^-64. Above, a normal variable is rounded ([`Stream::gaussian`]).
#[derive(Clone, Debug)]
pub struct RoundedGaussian {
    sigma: f64,
    /// 2^63 times the weight of {−k, …, k}, of k = 0, 1, ….
    thresholds: Vec<u64>,
}

impl RoundedGaussian {
    /// Largest σ that is drawn by a table.
    const TABLE_SIGMA: f64 = 64.0;

    /// Largest σ taken: a normal variable has 53 bits.
    pub const MAX_SIGMA: f64 = (1u64 << 48) as f64;

    /// Of deviation `sigma`, from 0 to [`Self::MAX_SIGMA`].
    ///
    /// # Panics
    /// If `sigma` is outside.
    pub fn new(sigma: f64) -> Self {
        assert!((0.0..=Self::MAX_SIGMA).contains(&sigma), "deviation {sigma} is outside 0 to 2^48");
        let mut thresholds = Vec::new();
        if sigma > 0.0 && sigma <= Self::TABLE_SIGMA {
            let whole = 2f64.powi(63);
            let outside = |k: usize| whole * ln_erfc((k as f64 + 0.5) / (sigma * SQRT_2)).exp();
            let tails = (0..).map(outside).take_while(|&tail| tail >= 0.5);
            thresholds = tails.map(|tail| (1 << 63) - tail.round() as u64).collect();
        }
        Self { sigma, thresholds }
    }

    /// σ.
    pub fn sigma(&self) -> f64 {
        self.sigma
    }

    /// The variance of what is drawn: σ² + 1/12 for σ from 1 on, less below.
    pub fn variance(&self) -> f64 {
        if self.thresholds.is_empty() {
            return if self.sigma == 0.0 { 0.0 } else { self.sigma * self.sigma + 1.0 / 12.0 };
        }
        // E|x|² = Σ (2k + 1)·P(|x| > k).
        let tails = self.thresholds.iter().map(|&inside| ((1u64 << 63) - inside) as f64 / 2f64.powi(63));
        tails.enumerate().map(|(k, tail)| (2 * k + 1) as f64 * tail).sum()
    }

    /// One draw.
    pub fn draw(&self, stream: &mut Stream) -> i64 {
        if self.thresholds.is_empty() {
            return if self.sigma == 0.0 { 0 } else { (stream.normal() * self.sigma).round() as i64 };
        }
        let word = stream.word();
        let magnitude: i64 = self.thresholds.iter().map(|&inside| i64::from(word >> 1 >= inside)).sum();
        let sign = (word & 1) as i64;
        // Negation by two's complement where the sign is set.
        (magnitude ^ -sign) + sign
    }

    /// `count` draws.
    pub fn polynomial(&self, stream: &mut Stream, count: usize) -> Zeroizing<Vec<i64>> {
        let mut coefficients = Zeroizing::new(vec![0; count]);
        coefficients.iter_mut().for_each(|coefficient| *coefficient = self.draw(stream));
        coefficients
    }
}

/// words ← coefficients·factor modulo `limb`'s prime, transformed to values if `domain` asks for it.
pub(crate) fn write_signed(
    ring: &Ring,
    limb: LimbId,
    domain: Domain,
    coefficients: &[i64],
    factor: u64,
    words: &mut [u64],
) {
    let modulus = ring.modulus(limb);
    // Noise and secrets are below every modulus but toys': no division then.
    let q = modulus.value() as i64;
    for (word, &coefficient) in words.iter_mut().zip(coefficients) {
        *word = if -q < coefficient && coefficient < q {
            (coefficient + (q & (coefficient >> 63))) as u64
        } else {
            modulus.reduce_signed(coefficient)
        };
    }
    if factor != 1 {
        ring.limb(limb).scale_assign(words, modulus.reduce(factor));
    }
    if domain == Domain::Evaluation {
        ring.ntt(limb).forward(words);
    }
}

/// A polynomial of small signed coefficients over `limbs`, wiped when dropped.
pub fn signed_polynomial(ring: &Ring, limbs: &[LimbId], domain: Domain, coefficients: &[i64]) -> RnsPolynomial {
    let mut polynomial = RnsPolynomial::zero(ring.degree(), limbs, domain);
    polynomial.for_each_limb(|limb, _, words| write_signed(ring, limb, domain, coefficients, 1, words));
    polynomial
}

/// The limb `limb` of mask number `row` of `seed`: uniform residues, each limb from a stream of its own.
pub fn fill_mask(ring: &Ring, seed: &MaskSeed, row: u32, limb: LimbId, words: &mut [u64]) {
    mask_stream(ring, seed, row, limb).fill(words);
}

/// [`fill_mask`]'s words, piece after piece.
pub fn mask_stream(ring: &Ring, seed: &MaskSeed, row: u32, limb: LimbId) -> UniformStream {
    UniformStream::new(&seed.0, u64::from(row) << 16 | u64::from(limb.0), ring.modulus(limb))
}

/// Mask number `row` of `seed` over `limbs`: uniform, whichever domain it is read in.
pub fn mask(ring: &Ring, seed: &MaskSeed, row: u32, limbs: &[LimbId], domain: Domain) -> RnsPolynomial {
    let mut mask = RnsPolynomial::zero(ring.degree(), limbs, domain);
    mask.for_each_limb(|limb, _, words| fill_mask(ring, seed, row, limb, words));
    mask
}

/// Overwrites a polynomial that was secret.
pub(crate) fn wipe(polynomial: &mut RnsPolynomial) {
    polynomial.words_mut().zeroize();
}

#[cfg(test)]
mod tests {
    //! Are secrets and noise distributed as they say?

    use super::*;
    use crate::random::{Purpose, Seeds};

    fn stream(seed: u64) -> Stream {
        Seeds::for_tests(seed).secret.stream(Purpose::SecretKey, 0)
    }

    #[test]
    fn ternary_coefficients_are_equally_likely() {
        let count = 90_001;
        let coefficients = uniform_ternary(&mut stream(1), count);
        assert_eq!(coefficients.len(), count);
        for value in [-1, 0, 1] {
            let share = coefficients.iter().filter(|&&coefficient| coefficient == value).count() as f64;
            // Five standard deviations of √(n·2/9).
            assert!((share - count as f64 / 3.0).abs() < 5.0 * (count as f64 * 2.0 / 9.0).sqrt(), "{value}: {share}");
        }
    }

    /// Every place is set, with either sign, as often as every other: 3,000 secrets of 16 in 64.
    #[test]
    fn sparse_secrets_have_their_weight_everywhere() {
        let (count, weight, draws) = (64, 16, 3_000);
        let mut stream = stream(2);
        let (mut set, mut sum) = (vec![0f64; count], vec![0f64; count]);
        for _ in 0..draws {
            let secret = sparse_ternary(&mut stream, count, weight);
            assert_eq!(secret.iter().filter(|&&coefficient| coefficient != 0).count(), weight);
            for (place, &coefficient) in secret.iter().enumerate() {
                set[place] += f64::from(coefficient.abs());
                sum[place] += f64::from(coefficient);
            }
        }
        let share = weight as f64 / count as f64;
        let expected = f64::from(draws) * share;
        let (spread, signs) = ((expected * (1.0 - share)).sqrt(), expected.sqrt());
        assert!(set.iter().all(|&times| (times - expected).abs() < 5.0 * spread), "{set:?}");
        assert!(sum.iter().all(|&sum| sum.abs() < 5.0 * signs), "{sum:?}");
        assert_eq!(sparse_ternary(&mut stream, 16, 16).iter().filter(|&&coefficient| coefficient != 0).count(), 16);
        assert!(sparse_ternary(&mut stream, 16, 0).iter().all(|&coefficient| coefficient == 0));
    }

    /// Shares of each integer against the integral of the density by Simpson's rule, and the variance.
    #[test]
    fn noise_is_the_rounded_gaussian() {
        for sigma in [0.5, 3.2, 20.0] {
            let gaussian = RoundedGaussian::new(sigma);
            let count = 200_000;
            let draws = gaussian.polynomial(&mut stream(3), count);
            let density =
                |x: f64| (-x * x / (2.0 * sigma * sigma)).exp() / (sigma * (2.0 * std::f64::consts::PI).sqrt());
            for k in -8i64..=8 {
                let (steps, width) = (100, 0.01);
                let at = |step: i32| density(k as f64 - 0.5 + width * f64::from(step));
                let weights = |step: i32| if step % 2 == 1 { 4.0 } else { 2.0 };
                let inner: f64 = (1..steps).map(|step| weights(step) * at(step)).sum();
                let share = (inner + at(0) + at(steps)) * width / 3.0;
                let drawn = draws.iter().filter(|&&draw| draw == k).count() as f64;
                let expected = share * count as f64;
                assert!(
                    (drawn - expected).abs() < 5.0 * expected.sqrt() + 1.0,
                    "σ {sigma}, {k}: {drawn} for {expected}"
                );
            }
            let variance = draws.iter().map(|&draw| (draw * draw) as f64).sum::<f64>() / count as f64;
            assert!((variance / gaussian.variance() - 1.0).abs() < 5.0 * (2.0 / count as f64).sqrt(), "{variance}");
            if sigma > 1.0 {
                assert!((gaussian.variance() - sigma * sigma - 1.0 / 12.0).abs() < 1e-9);
            }
        }
        assert!(RoundedGaussian::new(0.0).polynomial(&mut stream(4), 100).iter().all(|&draw| draw == 0));
        let wide = RoundedGaussian::new(2f64.powi(40));
        let draws = wide.polynomial(&mut stream(5), 10_000);
        let variance = draws.iter().map(|&draw| (draw as f64).powi(2)).sum::<f64>() / 1e4;
        assert!((variance / wide.variance() - 1.0).abs() < 0.1);
    }
}
