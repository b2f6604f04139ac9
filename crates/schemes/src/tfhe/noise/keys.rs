//! Which keys a figure is for, and what of the noise is a number of the key.
//!
//! Keys are drawn uniformly, and drawn again where they are unlucky, so that one figure holds for every key that is used, but for the energy of a
//! key-switching key:
//!
//! - *Weight.* Rounding errors are added up where a secret bit is 1. A key is taken if no more than m/2 + √m of its m bits are 1: two
//!   deviations above the mean, 97.7 % of all keys. The formulas count so many.
//! - *Shared means.* Digits have a mean of −1/2, so a product of digits with the noise of a key's rows has one too, the same for all
//!   ciphertexts that meet the key: without a bound, failures would come in clusters. It adds up in sums, with the weights, not their squares. Rows are
//!   taken if it is within [`MEAN_BOUND`] deviations: 98.8 % of a key switch's; the margin is less by so much.
//! - *A rotation's mean* is a polynomial, which every later iteration whose secret bit is 1 turns by a random amount: of all turns the mean is 0, so it
//!   is one more random error. Only what comes after the last such iteration, and of that iteration itself, is shared. A small key is taken if one of its
//!   last [`SHARED_ITERATIONS`] bits is 1, which leaves out one key in 256; the rows of those iterations if their mean is within its bound at each of
//!   the first [`SHARED_TABLES`] places of the accumulator.
//! - *A key switch's energy.* The digits' part of its error has the variance Var(digit)·Σ e_row², a number of the key: R·V·(1 ± √(2/R)) for R rows of
//!   variance V. It enters by its mean, and no key is drawn again for it. So under about one key in a thousand to ten thousand of the sets of one or
//!   two bits, which have the fewest rows, look-ups fail more often than is stated, by about a bit of the exponent: of 60,000 simulated keys of
//!   `polyfabric-1-p64-t64` under 65, by 1.4 bits at most.
//!
//! Taking a share p of all keys costs at most −log2 p bits of security, as an attack on these succeeds on all with p times the probability:
//! [`LOSS_BITS`] in all, which the level of every set is less by.

use super::probability::failure_probability_log2;

/// Results that one blind rotation may give, side by side in its accumulator, each with a shared mean of its own within the bound.
pub const SHARED_TABLES: usize = 16;

/// How many deviations of it a key's shared mean may be from 0.
pub const MEAN_BOUND: f64 = 2.5;

/// Iterations at a blind rotation's end whose mean all results of one key may share.
pub const SHARED_ITERATIONS: usize = 8;

/// Bits of security that choosing among keys costs a secret at most: 0.034 for its weight, 0.039 for its last bits and the rows under it.
pub const LOSS_BITS: f64 = 0.073;

/// Most set bits of a key of `bits` bits that is used: m/2 + √m.
pub fn most_weight(bits: usize) -> usize {
    (bits as f64 / 2.0 + (bits as f64).sqrt()).floor() as usize
}

/// Which keys a formula is for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Keys {
    /// Every key that is used: its weight is the largest, its shared mean at the bound. The energy of its key switch's rows is the mean of all keys.
    Accepted,
    /// All of them, on average: half of the bits are set, and the shared mean is another Gaussian error.
    Average,
    /// A key of so many set bits of the small and the large secret; the shared mean as on average.
    Weights([usize; 2]),
}

impl Keys {
    /// Set bits of the small key of `small` bits and of the large one of `large`.
    pub(super) fn weights(self, small: usize, large: usize) -> [f64; 2] {
        match self {
            Self::Accepted => [small, large].map(|bits| most_weight(bits) as f64),
            Self::Average => [small, large].map(|bits| bits as f64 / 2.0),
            Self::Weights(weights) => weights.map(|weight| weight as f64),
        }
    }

    /// How much more than on average the energy of `count` iterations' means is: each is little more than that of one complex Gaussian number, of
    /// the key, so that their sum varies by 1/√count.
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

/// An error of the phase, in fractions of the torus: a random part, and a mean that all errors of its kind share under one key.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Noise {
    /// Variance of the random part.
    pub variance: f64,
    /// Covariance that such errors have at most, if they are of results of one blind rotation: neighbours in its accumulator.
    pub together: f64,
    /// Deviation, over keys, of the mean.
    pub shared: f64,
    /// What the mean's absolute value is at most for a key that is used: the bounds of all keys that it is of.
    pub mean_bound: f64,
}

impl Noise {
    /// Without a mean.
    pub fn random(variance: f64) -> Self {
        Self { variance, ..Self::default() }
    }

    /// With a mean of deviation `shared` over keys.
    pub fn with_mean(variance: f64, shared: f64) -> Self {
        Self { variance, together: 0.0, shared, mean_bound: MEAN_BOUND * shared }
    }

    /// The larger of both in each part.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self {
            variance: self.variance.max(other.variance),
            together: self.together.max(other.together),
            shared: self.shared.max(other.shared),
            mean_bound: self.mean_bound.max(other.mean_bound),
        }
    }

    /// A random error that is there with so much probability.
    #[must_use]
    pub fn sometimes(self, probability: f64) -> Self {
        Self { together: self.together * probability, ..Self::random(self.variance * probability) }
    }

    /// Both parts of what is met one after the other, by keys that have nothing to do with each other.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            variance: self.variance + other.variance,
            together: self.together + other.together,
            shared: self.shared.hypot(other.shared),
            mean_bound: self.mean_bound + other.mean_bound,
        }
    }

    /// The sum of `count` of one key, each with a mean of its own. Means are turned by random amounts, hence random, but for those of the last
    /// `shared`, by whose sum the key is taken; they are counted as both. `spread` is how much more than on average the energy of the means is.
    #[must_use]
    pub fn rotated(self, count: usize, shared: usize, spread: f64) -> Self {
        let last = self.shared * (count.min(shared) as f64).sqrt();
        let count = count as f64;
        // A mean is a slow walk over the places of an accumulator: neighbours have it in common.
        let means = self.shared * self.shared * (1.0 + spread);
        let together = (self.together + means) * count;
        Self { together, mean_bound: MEAN_BOUND * last, ..Self::random((self.variance + means) * count) }
    }

    /// Σ w_i·e_i of errors of this kind under one key, `squared_norm` being Σ w_i² and `sum` Σ w_i: means add up. Those of results at different
    /// places of an accumulator differ a little, so that in the bound they do not cancel: it takes `most`, in which such count as |w_i|.
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
    //! Do as many keys pass as is said, and does the figure for every key bound what a key at the bound has?
    use super::*;
    use crate::gaussian::RoundedGaussian;
    use crate::tfhe::noise::ln_erfc;
    use crate::tfhe::random::{Purpose, Seeds};

    /// Upper tail of the normal distribution.
    fn beyond(deviations: f64) -> f64 {
        ln_erfc(deviations / std::f64::consts::SQRT_2).exp() / 2.0
    }

    #[test]
    fn the_loss_is_counted() {
        // Neighbouring places' means differ by twice the noise of one coefficient of N; of the smallest ring in use, these many leave the bound.
        let (mut stream, runs) = (Seeds::for_tests(5).secret.stream(Purpose::Encryption, 0), 200_000);
        let normal = RoundedGaussian::new(f64::from(1u32 << 20));
        let step = 2.0 / 256f64.sqrt();
        let mut rejected = 0;
        for _ in 0..runs {
            let mut draw = || normal.draw(&mut stream) as f64 / f64::from(1u32 << 20);
            let mut mean = draw();
            let mut largest = mean.abs();
            for _ in 1..SHARED_TABLES {
                // A stationary walk: the noise of the place counted against it before.
                mean += step * (draw() * (1.0 - step * step / 4.0).sqrt() - step / 2.0 * mean);
                largest = largest.max(mean.abs());
            }
            rejected += u32::from(largest > MEAN_BOUND);
        }
        // The large secret's rows are judged at several places, by a mean that has so many iterations only where all but the first of the bits are 0.
        let weights = -(1.0 - beyond(2.0)).log2();
        let large = weights - (1.0 - f64::from(rejected) / f64::from(runs)).log2();
        assert!((0.0..0.01).contains(&(LOSS_BITS - large)), "{large}");
        let last = -(1.0 - (-(SHARED_ITERATIONS as f64)).exp2()).log2();
        let small = weights + last - (1.0 - 2.0 * beyond(MEAN_BOUND)).log2();
        assert!((0.0..0.02).contains(&(LOSS_BITS - small)), "{small}");
        // The binomial distribution at the sizes in use, exactly: P(weight > m/2 + √m).
        for bits in [500usize, 800, 1024, 2048] {
            let mut term = (-(bits as f64)).exp2();
            let mut within = 0.0;
            for weight in 0..=most_weight(bits) {
                within += term;
                term *= (bits - weight) as f64 / (weight + 1) as f64;
            }
            assert!(bits > 1000 || -within.log2() < 0.036, "{bits}: {within}");
        }
    }

    /// A key at the bound fails as often as is stated or less, one without a mean less, and the average lies between.
    #[test]
    fn no_key_fails_more_often_than_is_stated() {
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
        // Of a hundred, four are not turned.
        let rotated = Noise { together: 0.5, ..noise }.rotated(100, 4, 0.0);
        assert_eq!(rotated, Noise { mean_bound: MEAN_BOUND, together: 75.0, ..Noise::random(125.0) });
        assert_eq!(rotated.combined(2.0, 0.0, 2.0), Noise { mean_bound: 2.0 * MEAN_BOUND, ..Noise::random(250.0) });
        assert_eq!(noise.rotated(4, 4, 1.0).variance, 6.0);
        assert_eq!(noise.rotated(4, 8, 0.1).mean_bound, MEAN_BOUND);
        // Two keys may both be at their bounds; on average their means are independent.
        assert_eq!((noise.plus(noise).second_moment(), noise.plus(noise).mean_bound), (2.5, 2.5));
    }
}
