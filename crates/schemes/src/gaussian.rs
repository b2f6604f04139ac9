//! Gaussian noise in integers, drawn in a time that does not depend on what is drawn.
//!
//! | σ | what is drawn |
//! |---|---|
//! | up to 64 | a normal variable rounded to the nearest integer, by its table |
//! | above | the same table at 2^e units an entry, 8 ≤ σ/2^e < 16, and e uniform bits below: a normal variable whose density is levelled within each entry |
//!
//! All entries of a table are looked at for every draw, and sign and low bits are bits of the stream: no branch and no address depends on
//! a secret. The deviation is exactly the one asked for in both (the table's own is set so that entries and low bits make it up). What
//! the security of learning with errors is known to depend on is the deviation; a levelled density is no worse a choice than
//! the uniform noise of other libraries, whose density has one level.

use std::f64::consts::SQRT_2;

use zeroize::Zeroizing;

use crate::random::Stream;
use crate::tfhe::noise::ln_erfc;

/// A centred Gaussian of deviation σ in whole numbers. Its tail ends where its weight is below 2^-64, at about nine deviations.
#[derive(Clone, Debug)]
pub struct RoundedGaussian {
    sigma: f64,
    /// log2 of the units that an entry is wide.
    log2_width: u32,
    /// 2^63 times the weight of the entries up to and with number 0, 1, …
    thresholds: Vec<u64>,
}

impl RoundedGaussian {
    /// Largest σ whose table has an entry for every integer.
    const TABLE_SIGMA: f64 = 64.0;

    /// Largest σ taken of parameters: draws stay far below 2^63.
    pub const MAX_SIGMA: f64 = (1u64 << 48) as f64;

    /// Largest σ at all: a quarter of a torus of 64 bits, on which draws wrap around.
    const WIDEST: f64 = (1u64 << 62) as f64;

    /// Of deviation `sigma`, from 0 to [`Self::MAX_SIGMA`]; on a torus, where draws may wrap around, to 2^62.
    ///
    /// # Panics
    /// If `sigma` is outside.
    pub fn new(sigma: f64) -> Self {
        assert!((0.0..=Self::WIDEST).contains(&sigma), "deviation {sigma} is outside 0 to 2^62");
        let log2_width = if sigma <= Self::TABLE_SIGMA { 0 } else { sigma.log2() as u32 - 3 };
        let mut gaussian = Self { sigma, log2_width, thresholds: Vec::new() };
        if sigma > 0.0 {
            let mut deviation = sigma / f64::from(log2_width).exp2();
            gaussian.fill(deviation);
            // Levelling adds a sixth of an entry's square, and low bits are whole: the table makes up for both.
            for _ in 0..if log2_width == 0 { 0 } else { 3 } {
                deviation *= sigma / gaussian.variance().sqrt();
                gaussian.fill(deviation);
            }
        }
        gaussian
    }

    /// The table of a deviation in entries. An entry is the integers from k − 1/2 to k + 1/2, or the numbers from k to k + 1 on either
    /// side of 0.
    fn fill(&mut self, deviation: f64) {
        let end = if self.log2_width == 0 { 0.5 } else { 1.0 };
        let whole = 2f64.powi(63);
        let outside = |k: usize| whole * ln_erfc((k as f64 + end) / (deviation * SQRT_2)).exp();
        let tails = (0..).map(outside).take_while(|&tail| tail >= 0.5);
        self.thresholds = tails.map(|tail| (1 << 63) - tail.round() as u64).collect();
    }

    /// σ.
    pub fn sigma(&self) -> f64 {
        self.sigma
    }

    /// The variance of what is drawn: σ² + 1/12 up to 64 (less below 1), σ² above.
    pub fn variance(&self) -> f64 {
        // E|x|² = Σ_k P(|x| > k)·(E of entry k + 1's square less that of entry k's).
        let tails = self.thresholds.iter().map(|&inside| ((1u64 << 63) - inside) as f64 / 2f64.powi(63));
        let (width, low) = (f64::from(self.log2_width).exp2(), if self.log2_width == 0 { 0.0 } else { 1.0 });
        let mean = low * (width - 1.0) / 2.0;
        let least = low * (width - 1.0) * (2.0 * width - 1.0) / 6.0;
        let step = |k: usize| width * width * (2 * k + 1) as f64 + 2.0 * width * mean;
        least + tails.enumerate().map(|(k, tail)| step(k) * tail).sum::<f64>()
    }

    /// One draw.
    #[inline]
    pub fn draw(&self, stream: &mut Stream) -> i64 {
        if self.sigma == 0.0 {
            return 0;
        }
        let word = stream.word();
        let entry: u64 = self.thresholds.iter().map(|&inside| u64::from(word >> 1 >= inside)).sum();
        let low = if self.log2_width == 0 { 0 } else { stream.word() >> (u64::BITS - self.log2_width) };
        let magnitude = (entry << self.log2_width | low) as i64;
        let sign = (word & 1) as i64;
        // Negation by two's complement where the sign is set.
        (magnitude ^ -sign).wrapping_add(sign)
    }

    /// `count` draws.
    pub fn polynomial(&self, stream: &mut Stream, count: usize) -> Zeroizing<Vec<i64>> {
        let mut coefficients = Zeroizing::new(vec![0; count]);
        coefficients.iter_mut().for_each(|coefficient| *coefficient = self.draw(stream));
        coefficients
    }
}

#[cfg(test)]
mod tests {
    //! Is the noise Gaussian, of the deviation that was asked for, at every size?
    use super::*;
    use crate::random::{Purpose, Seeds};

    fn stream(seed: u64) -> Stream {
        Seeds::for_tests(seed).secret.stream(Purpose::SecretKey, 0)
    }

    /// Shares of each integer against the integral of the density by Simpson's rule, and the variance.
    #[test]
    fn narrow_noise_is_the_rounded_gaussian() {
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
    }

    /// Moments of 200,000 draws and the shares beyond one, two and three deviations, to five deviations of each.
    #[test]
    fn wide_noise_is_gaussian() {
        for sigma in [65.0, 1000.0, 4096.0, 3.3e9, 2f64.powi(48), 1.5 * 2f64.powi(55)] {
            let gaussian = RoundedGaussian::new(sigma);
            assert!((gaussian.variance().sqrt() / sigma - 1.0).abs() < 2e-5, "{sigma}: {}", gaussian.variance().sqrt());
            let count = 200_000;
            let draws: Vec<f64> =
                gaussian.polynomial(&mut stream(5), count).iter().map(|&draw| draw as f64 / sigma).collect();
            let moment = |power: i32| draws.iter().map(|draw| draw.powi(power)).sum::<f64>() / count as f64;
            let root = (count as f64).sqrt();
            assert!(moment(1).abs() < 5.0 / root);
            assert!((moment(2) - 1.0).abs() < 5.0 * 2f64.sqrt() / root);
            assert!(moment(3).abs() < 5.0 * 15f64.sqrt() / root);
            assert!((moment(4) - 3.0).abs() < 5.0 * 96f64.sqrt() / root, "{sigma}: {}", moment(4));
            for (limit, share) in [(1.0, 0.317_310_5), (2.0, 0.045_500_3), (3.0, 0.002_699_8f64)] {
                let beyond = draws.iter().filter(|draw| draw.abs() > limit).count() as f64 / count as f64;
                // A levelled entry may hold a few per cent more than its Gaussian beyond a number within it.
                let allowed = 5.0 * (share / count as f64).sqrt() + 0.02 * share;
                assert!((beyond - share).abs() < allowed, "{sigma}, {limit}: {beyond}");
            }
        }
    }

    /// A quarter of the torus: draws wrap around, and are as good as uniform.
    #[test]
    fn the_widest_noise_wraps() {
        let draws = RoundedGaussian::new(2f64.powi(62)).polynomial(&mut stream(6), 10_000);
        let mean = draws.iter().map(|&draw| draw as f64 / 2f64.powi(64)).sum::<f64>() / 1e4;
        assert!(mean.abs() < 0.02, "{mean}");
    }
}
