//! Keys assumed by the noise formulas, and the part of the noise that is constant per key.
//!
//! Key generation draws uniform keys and rejects unlucky ones, so that one figure covers every key, except for the energy of a key-switching
//! key:
//!
//! - *Weight.* Rounding errors add up where a secret bit is 1. A key is accepted if at most m/2 + √m of its m bits are 1, two deviations
//!   above the mean (97.7 % of all keys; for blocks [`Secret::most_weight`]). The formulas assume this weight.
//! - *Shared means.* Digits have a mean of −1/2, so a product of digits with the noise of a key's rows has a mean too, the same for all
//!   ciphertexts under the key. Without a bound, failures would be correlated. In sums it adds up with the weights, not their squares. Rows
//!   are accepted if their mean is within [`MEAN_BOUND`] deviations (98.8 % of key switches); the margin is reduced by as much.
//! - *Means of a rotation* are polynomials that every later iteration with a secret bit of 1 rotates by a random amount. The mean over all
//!   rotations is 0, so they are one more random error. Only the last such iteration and those after it share a mean. A small key is
//!   accepted if one of its last [`SHARED_ITERATIONS`] bits is 1, which excludes one key in 256 (for blocks [`Secret::turning_bits`]). The rows of those iterations are accepted
//!   if their mean is within the bound at each of the first [`SHARED_TABLES`] places of the accumulator.
//! - *Energy of a key switch.* The digits contribute variance Var(digit)·Σ e_row², which is constant per key: R·V·(1 ± √(2/R)) for R rows of
//!   variance V. The formulas use its mean, and no key is rejected for it. Sets of one or two bits have the fewest rows. There, about one
//!   key in a thousand to ten thousand fails more often than stated, by about a bit of the exponent: at most 1.4 bits for 60,000 simulated
//!   keys of `polyfabric-1-p64-t64` below 65.
//!
//! Accepting a share p of all keys costs at most −log2 p bits of security, because an attack on these succeeds on all keys with p times the
//! probability. [`LOSS_BITS`] is the total, which is subtracted from the level of every set.

use super::probability::failure_probability_log2;
use crate::tfhe::secret::Secret;

/// Maximum number of results of one blind rotation, adjacent in its accumulator, whose shared means are each within the bound.
pub const SHARED_TABLES: usize = 16;

/// Bound of a key's shared mean, in its standard deviations.
pub const MEAN_BOUND: f64 = 2.5;

/// Uniform bits at the end of the small key, hence iterations of a blind rotation, that may share a mean over all results of one key.
pub const SHARED_ITERATIONS: usize = 8;

/// Security bits lost by rejecting keys, at most: 0.034 for a secret's weight, 0.039 for its last bits and the rows under it.
pub const LOSS_BITS: f64 = 0.073;

/// The keys that a formula covers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Keys {
    /// Every accepted key: maximum weight, shared mean at the bound. The energy of the key switch's rows is the mean over all keys.
    Accepted,
    /// The average over all keys: half of uniform bits are set, and the shared mean is another Gaussian error.
    Average,
    /// A key with these numbers of set bits in the small and large secret; the shared mean is averaged.
    Weights([usize; 2]),
}

impl Keys {
    /// Set bits of the small key of `small` bits, distributed as `secret`, and of the large one of `large`.
    pub(super) fn weights(self, (small, secret): (usize, Secret), large: usize) -> [f64; 2] {
        let keys = [(small, secret), (large, Secret::Binary)];
        match self {
            Self::Accepted => keys.map(|(bits, secret)| secret.most_weight(bits) as f64),
            Self::Average => keys.map(|(bits, secret)| bits as f64 * secret.mean()),
            Self::Weights(weights) => weights.map(|weight| weight as f64),
        }
    }

    /// Relative spread of the energy of `count` iterations' means. Each is dominated by one complex Gaussian number per key, so their sum
    /// varies by 1/√count.
    pub(super) fn mean_spread(self, count: usize) -> f64 {
        if self == Self::Accepted && count > 0 { MEAN_BOUND / (count as f64).sqrt() } else { 0.0 }
    }

    /// log2 of the probability that `noise` exceeds `margin`.
    pub fn failure_log2(self, noise: Noise, margin: f64) -> f64 {
        match self {
            Self::Accepted => failure_probability_log2(noise.variance, margin - noise.mean_bound),
            _ => failure_probability_log2(noise.second_moment(), margin),
        }
    }
}

/// An error of the phase, in fractions of the torus: a random part, and a mean that errors of this kind share under one key.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Noise {
    /// Variance of the random part.
    pub variance: f64,
    /// Maximum covariance of such errors for results of one blind rotation, which are neighbours in its accumulator.
    pub together: f64,
    /// Deviation, over keys, of the mean.
    pub shared: f64,
    /// Bound of the mean's absolute value for accepted keys: the sum over all keys involved.
    pub mean_bound: f64,
}

impl Noise {
    /// An error without a mean.
    pub fn random(variance: f64) -> Self {
        Self { variance, ..Self::default() }
    }

    /// An error whose mean has deviation `shared` over keys.
    pub fn with_mean(variance: f64, shared: f64) -> Self {
        Self { variance, together: 0.0, shared, mean_bound: MEAN_BOUND * shared }
    }

    /// The larger of both, component by component.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self {
            variance: self.variance.max(other.variance),
            together: self.together.max(other.together),
            shared: self.shared.max(other.shared),
            mean_bound: self.mean_bound.max(other.mean_bound),
        }
    }

    /// A random error that occurs with this probability.
    #[must_use]
    pub fn sometimes(self, probability: f64) -> Self {
        Self { together: self.together * probability, ..Self::random(self.variance * probability) }
    }

    /// The sum of two errors under independent keys.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            variance: self.variance + other.variance,
            together: self.together + other.together,
            shared: self.shared.hypot(other.shared),
            mean_bound: self.mean_bound + other.mean_bound,
        }
    }

    /// The sum of `count` errors of one key with different means. Later rotations randomise the means, except those of the last `shared`, whose
    /// sum key generation bounds; these count both ways. `spread` is the relative spread of the means' energy.
    #[must_use]
    pub fn rotated(self, count: usize, shared: usize, spread: f64) -> Self {
        let last = self.shared * (count.min(shared) as f64).sqrt();
        let count = count as f64;
        // A mean varies slowly over the places of an accumulator, so neighbours share it.
        let means = self.shared * self.shared * (1.0 + spread);
        let together = (self.together + means) * count;
        Self { together, mean_bound: MEAN_BOUND * last, ..Self::random((self.variance + means) * count) }
    }

    /// Σ w_i·e_i for errors of this kind under one key, where `squared_norm` is Σ w_i² and `sum` is Σ w_i: means add up. Means at different
    /// places of an accumulator differ slightly and do not cancel in the bound, which uses `most`, where such terms count as |w_i|.
    #[must_use]
    pub fn combined(self, squared_norm: f64, sum: f64, most: f64) -> Self {
        Self {
            variance: self.variance * squared_norm,
            together: 0.0,
            shared: self.shared * sum.abs(),
            mean_bound: self.mean_bound * most.abs(),
        }
    }

    /// E|error|² over errors and keys.
    pub fn second_moment(self) -> f64 {
        self.variance + self.shared * self.shared
    }

    /// log2 of the probability that it exceeds `margin`, for [`Keys::Accepted`].
    pub fn failure_log2(self, margin: f64) -> f64 {
        Keys::Accepted.failure_log2(self, margin)
    }
}

#[cfg(test)]
mod tests {
    //! Are as many keys accepted as stated, and does the figure for every key bound a key at the bound?
    use super::*;
    use crate::gaussian::RoundedGaussian;
    use crate::gaussian::ln_erfc;
    use crate::tfhe::random::{Purpose, Seeds};

    /// Upper tail of the normal distribution.
    fn beyond(deviations: f64) -> f64 {
        ln_erfc(deviations / std::f64::consts::SQRT_2).exp() / 2.0
    }

    #[test]
    fn the_loss_is_counted() {
        // Means of neighbouring places differ by twice the noise of one coefficient of N; in the smallest ring, these many leave the bound.
        let (mut stream, runs) = (Seeds::for_tests(5).secret.stream(Purpose::Encryption, 0), 200_000);
        let normal = RoundedGaussian::new(f64::from(1u32 << 20));
        let step = 2.0 / 256f64.sqrt();
        let mut rejected = 0;
        for _ in 0..runs {
            let mut draw = || normal.draw(&mut stream) as f64 / f64::from(1u32 << 20);
            let mut mean = draw();
            let mut largest = mean.abs();
            for _ in 1..SHARED_TABLES {
                // A stationary random walk: each place's noise replaces that of an earlier one.
                mean += step * (draw() * (1.0 - step * step / 4.0).sqrt() - step / 2.0 * mean);
                largest = largest.max(mean.abs());
            }
            rejected += u32::from(largest > MEAN_BOUND);
        }
        // The large secret's rows are tested at several places, with a mean over so many iterations only if all bits but the first are 0.
        let weights = -(1.0 - beyond(2.0)).log2();
        let large = weights - (1.0 - f64::from(rejected) / f64::from(runs)).log2();
        assert!((0.0..0.01).contains(&(LOSS_BITS - large)), "{large}");
        let last = -(1.0 - (-(SHARED_ITERATIONS as f64)).exp2()).log2();
        let small = weights + last - (1.0 - 2.0 * beyond(MEAN_BOUND)).log2();
        assert!((0.0..0.02).contains(&(LOSS_BITS - small)), "{small}");
        // The exact binomial distribution at the sizes in use: P(weight > m/2 + √m).
        for bits in [500usize, 800, 1024, 2048] {
            let mut term = (-(bits as f64)).exp2();
            let mut within = 0.0;
            for weight in 0..=Secret::Binary.most_weight(bits) {
                within += term;
                term *= (bits - weight) as f64 / (weight + 1) as f64;
            }
            assert!(bits > 1000 || -within.log2() < 0.036, "{bits}: {within}");
        }
        // The same of blocks, each with a 1 in l of l + 1 keys, and the share of keys that end in zeros.
        for (bits, secret) in
            [504usize, 750, 1014].into_iter().flat_map(|bits| Secret::BLOCKS.map(|l| (bits, Secret::Block(l))))
        {
            let (block, blocks) = (f64::from(secret.block()), bits / secret.block() as usize);
            let mut term = (block + 1.0).powi(-(blocks as i32));
            let mut within = 0.0;
            for weight in 0..=secret.most_weight(bits) {
                within += term;
                term *= block * (blocks - weight) as f64 / (weight + 1) as f64;
            }
            let last = (block + 1.0).powf(-(secret.turning_bits() as f64) / block);
            let accepted = within * (1.0 - last) * (1.0 - 2.0 * beyond(MEAN_BOUND));
            assert!(-accepted.log2() < LOSS_BITS && last <= 1.0 / 256.0, "{bits}, {secret:?}: {within}, {last}");
        }
    }

    /// A key at the bound fails at most as often as stated, one without a mean less often, and the average lies in between.
    #[test]
    fn no_key_fails_more_often_than_stated() {
        let noise = Noise::with_mean(0.9, 0.1f64.sqrt());
        let margin = 6.0;
        let stated = noise.failure_log2(margin).exp2();
        let at = |mean: f64| beyond((margin - mean) / 0.9f64.sqrt()) + beyond((margin + mean) / 0.9f64.sqrt());
        assert!(at(MEAN_BOUND * noise.shared) <= stated && stated <= 2.0 * at(MEAN_BOUND * noise.shared));
        let average = Keys::Average.failure_log2(noise, margin).exp2();
        assert!(at(0.0) < average && average < stated);
    }

    #[test]
    fn means_add_up_in_sums() {
        let noise = Noise::with_mean(1.0, 0.5);
        assert_eq!(noise.combined(16.0, 16.0, 16.0), Noise::with_mean(16.0, 8.0));
        assert_eq!(noise.combined(2.0, 0.0, 0.0), Noise::random(2.0));
        assert_eq!(noise.combined(2.0, 0.0, 2.0), Noise { mean_bound: 2.0 * noise.mean_bound, ..Noise::random(2.0) });
        // Of a hundred, four are not rotated.
        let rotated = Noise { together: 0.5, ..noise }.rotated(100, 4, 0.0);
        assert_eq!(rotated, Noise { mean_bound: MEAN_BOUND, together: 75.0, ..Noise::random(125.0) });
        assert_eq!(rotated.combined(2.0, 0.0, 2.0), Noise { mean_bound: 2.0 * MEAN_BOUND, ..Noise::random(250.0) });
        assert_eq!(noise.rotated(4, 4, 1.0).variance, 6.0);
        assert_eq!(noise.rotated(4, 8, 0.1).mean_bound, MEAN_BOUND);
        // Both keys may be at their bounds; on average their means are independent.
        assert_eq!((noise.plus(noise).second_moment(), noise.plus(noise).mean_bound), (2.5, 2.5));
    }
}
