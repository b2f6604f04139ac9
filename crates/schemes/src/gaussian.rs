//! Constant-time sampling of Gaussian integers.
//!
//! | σ | sample |
//! |---|---|
//! | up to 64 | a normal variable rounded to the nearest integer, from a table |
//! | above | the sum of two independent *levelled* samples of deviation σ/√2 |
//!
//! A levelled sample is an entry of a table, 2^e integers wide with 2 ≤ σ/(√2·2^e) < 4, plus e uniform bits. Its density is a histogram and
//! must not be used alone: a shift by Δ moves mass across the histogram's steps, so the divergence between samples and shifted samples
//! grows with |Δ|. Flooding relies on the divergence of a Gaussian, Δ²/2σ² (Li, Micciancio, Schultz, Sorrell, CRYPTO 2022). The sum of two
//! levelled samples has a continuous density whose divergence exceeds Δ²/2σ² by at most 2.5 percent or 0.04 bits; the tests compute it.
//!
//! Every sample reads the whole table; signs and low bits are bits of the stream. So no branch or address depends on a secret. The table's
//! own deviation is chosen so that entries and low bits together have the requested one.

use std::f64::consts::{PI, SQRT_2};

use zeroize::Zeroizing;

use crate::random::Stream;

/// A centred integer Gaussian of deviation σ. The tail ends where its weight is below 2^-64, at about nine deviations.
#[derive(Clone, Debug)]
pub struct RoundedGaussian {
    sigma: f64,
    /// log2 of the integers in an entry of a levelled sample; `None` if every integer has an entry and one sample suffices.
    log2_width: Option<u32>,
    /// 2^63 times the weight of the entries up to and including entry 0, 1, …
    thresholds: Vec<u64>,
}

impl RoundedGaussian {
    /// Largest σ whose table has an entry for each integer.
    const TABLE_SIGMA: f64 = 64.0;

    /// Largest σ of a parameter set, so that samples stay far below 2^63.
    pub const MAX_SIGMA: f64 = (1u64 << 48) as f64;

    /// Largest σ on the torus: a quarter of a 64-bit torus, where samples wrap around.
    const WIDEST: f64 = (1u64 << 62) as f64;

    /// Largest σ of [`Self::wide`].
    pub const MAX_WIDE_LOG2: f64 = 112.0;

    /// A Gaussian of deviation `sigma`, from 0 to [`Self::MAX_SIGMA`], or to 2^62 on a torus, where samples may wrap around.
    ///
    /// # Panics
    /// If `sigma` is outside.
    pub fn new(sigma: f64) -> Self {
        assert!((0.0..=Self::WIDEST).contains(&sigma), "deviation {sigma} is outside 0 to 2^62");
        Self::of(sigma)
    }

    /// A Gaussian of deviation `sigma`, from 0 to 2^[`Self::MAX_WIDE_LOG2`], for [`Self::wide_polynomial`] only.
    ///
    /// # Panics
    /// If `sigma` is outside.
    pub fn wide(sigma: f64) -> Self {
        let most = Self::MAX_WIDE_LOG2;
        assert!((0.0..=most.exp2()).contains(&sigma), "deviation {sigma} is outside 0 to 2^{most}");
        Self::of(sigma)
    }

    fn of(sigma: f64) -> Self {
        if sigma <= Self::TABLE_SIGMA {
            let thresholds = if sigma == 0.0 { Vec::new() } else { thresholds(sigma, 0.5) };
            return Self { sigma, log2_width: None, thresholds };
        }
        let half = sigma / SQRT_2;
        let log2_width = half.log2() as u32 - 1;
        let mut deviation = half / f64::from(log2_width).exp2();
        let mut gaussian = Self { sigma, log2_width: Some(log2_width), thresholds: thresholds(deviation, 1.0) };
        // Levels widen an entry's share; a narrower table compensates.
        for _ in 0..8 {
            deviation *= sigma / gaussian.variance().sqrt();
            gaussian.thresholds = thresholds(deviation, 1.0);
        }
        gaussian
    }

    /// σ.
    pub fn sigma(&self) -> f64 {
        self.sigma
    }

    /// The variance of the samples: σ² + 1/12 up to 64 (less below 1), σ² above.
    pub fn variance(&self) -> f64 {
        // E|x|² = Σ_k P(|x| > k)·(E of the square in entry k + 1 minus that in entry k).
        let tails = self.thresholds.iter().map(|&inside| ((1u64 << 63) - inside) as f64 / 2f64.powi(63));
        match self.log2_width {
            None => tails.enumerate().map(|(k, tail)| (2 * k + 1) as f64 * tail).sum(),
            // Entry k is k·w + 1/2 to (k + 1)·w − 1/2; entry 0 has mean square (w² − 1)/3 + 1/4.
            Some(log2_width) => {
                let square = f64::from(log2_width).exp2().powi(2);
                let step = |k: usize| 2.0 * square * (k + 1) as f64;
                2.0 * ((square - 1.0) / 3.0 + 0.25 + tails.enumerate().map(|(k, tail)| step(k) * tail).sum::<f64>())
            }
        }
    }

    #[inline]
    pub fn draw(&self, stream: &mut Stream) -> i64 {
        if self.sigma == 0.0 {
            return 0;
        }
        match self.log2_width {
            None => {
                let (entry, sign) = self.entry(stream);
                // Negates in two's complement if the sign is set.
                (entry as i64 ^ -sign).wrapping_add(sign)
            }
            // Each is symmetric around −1/2, so that 0 is as likely as its neighbours.
            Some(log2_width) => {
                self.levelled(log2_width, stream).wrapping_add(self.levelled(log2_width, stream)).wrapping_add(1)
            }
        }
    }

    /// [`Self::draw`] for any deviation, also of [`Self::wide`].
    fn draw_wide(&self, stream: &mut Stream) -> i128 {
        let Some(log2_width) = self.log2_width else { return i128::from(self.draw(stream)) };
        let mut levelled = || {
            let (entry, sign) = self.entry(stream);
            let low = (u128::from(stream.word()) << 64 | u128::from(stream.word())) >> (u128::BITS - log2_width);
            (u128::from(entry) << log2_width | low) as i128 ^ -i128::from(sign)
        };
        levelled() + levelled() + 1
    }

    /// `count` draws, of any deviation.
    pub fn wide_polynomial(&self, stream: &mut Stream, count: usize) -> Zeroizing<Vec<i128>> {
        let mut coefficients = Zeroizing::new(vec![0; count]);
        coefficients.iter_mut().for_each(|coefficient| *coefficient = self.draw_wide(stream));
        coefficients
    }

    /// The number of an entry, and a sign bit.
    #[inline]
    fn entry(&self, stream: &mut Stream) -> (u64, i64) {
        let word = stream.word();
        let entry = self.thresholds.iter().map(|&inside| u64::from(word >> 1 >= inside)).sum();
        (entry, (word & 1) as i64)
    }

    /// An integer m of an entry, or −1 − m.
    #[inline]
    fn levelled(&self, log2_width: u32, stream: &mut Stream) -> i64 {
        let (entry, sign) = self.entry(stream);
        let low = stream.word() >> (u64::BITS - log2_width);
        (entry << log2_width | low) as i64 ^ -sign
    }

    /// `count` draws.
    pub fn polynomial(&self, stream: &mut Stream, count: usize) -> Zeroizing<Vec<i64>> {
        let mut coefficients = Zeroizing::new(vec![0; count]);
        coefficients.iter_mut().for_each(|coefficient| *coefficient = self.draw(stream));
        coefficients
    }
}

/// The table of a Gaussian of `deviation` entries: entry k holds the absolute values from k − 1 + `end` to k + `end`.
fn thresholds(deviation: f64, end: f64) -> Vec<u64> {
    let whole = 2f64.powi(63);
    let outside = |k: usize| whole * ln_erfc((k as f64 + end) / (deviation * SQRT_2)).exp();
    let tails = (0..).map(outside).take_while(|&tail| tail >= 0.5);
    tails.map(|tail| (1 << 63) - tail.round() as u64).collect()
}

/// ln erfc(x) for x ≥ 0, to a relative error of about 1e-14 of the logarithm.
///
/// Below 2: erf(x) = 2/√π · exp(−x²) · Σ 2^n x^(2n+1) / (1·3·…·(2n+1)), all terms positive (DLMF 7.6.2). From 2: the continued fraction
/// √π · exp(x²) · erfc(x) = 1/(x + (1/2)/(x + 1/(x + (3/2)/(x + …)))) (DLMF 7.9.1). Only its logarithm is computed, so nothing underflows.
pub fn ln_erfc(x: f64) -> f64 {
    if x < 2.0 {
        let mut term = x;
        let mut sum = x;
        for n in 1..100 {
            term *= 2.0 * x * x / f64::from(2 * n + 1);
            sum += term;
            if term < 1e-17 * sum {
                break;
            }
        }
        return (-(2.0 / PI.sqrt()) * (-x * x).exp() * sum).ln_1p();
    }
    // The truncation error after this many terms is about exp(−2x√(2n)), relatively.
    let terms = (200.0 / (x * x)) as u32 + 10;
    let mut denominator = x;
    for n in (1..terms).rev() {
        denominator = x + f64::from(n) / 2.0 / denominator;
    }
    -x * x - denominator.ln() - PI.ln() / 2.0
}

#[cfg(test)]
mod tests {
    //! Is the noise Gaussian with the requested deviation at every size?
    use super::*;
    use crate::random::{Purpose, Seeds};

    fn stream(seed: u64) -> Stream {
        Seeds::for_tests(seed).secret.stream(Purpose::SecretKey, 0)
    }

    /// Compares the share of each integer with the integral of the density by Simpson's rule, and the variance.
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

    /// Tests moments of 200,000 samples and the shares beyond one, two and three deviations, to five deviations each.
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
                let allowed = 5.0 * (share / count as f64).sqrt();
                assert!((beyond - share).abs() < allowed, "{sigma}, {limit}: {beyond}");
            }
        }
    }

    /// The probability of each integer from −`reach` to `reach`, computed from the tables.
    fn probabilities(gaussian: &RoundedGaussian, reach: usize) -> Vec<f64> {
        let width = 1usize << gaussian.log2_width.expect("a wide Gaussian");
        let inside: Vec<f64> = gaussian.thresholds.iter().map(|&inside| inside as f64 / 2f64.powi(63)).collect();
        let entry = |k: usize| match k {
            0 => inside[0],
            _ => inside.get(k).copied().unwrap_or(1.0) - inside.get(k - 1).copied().unwrap_or(1.0),
        };
        // P(m) for one levelled sample, at m = −reach to reach − 1.
        let levelled: Vec<f64> = (0..2 * reach)
            .map(|at| entry(if at < reach { reach - 1 - at } else { at - reach } / width) / (2 * width) as f64)
            .collect();
        let sum = |total: usize| {
            (0..2 * reach).filter_map(|a| levelled.get(total.checked_sub(a)?).map(|b| levelled[a] * b)).sum()
        };
        (0..=2 * reach).map(|at| sum(at + reach - 1)).collect()
    }

    /// Does a shift by Δ change the distribution by the divergence of a Gaussian, Δ²/2σ², as flooding assumes?
    #[test]
    fn a_shift_of_wide_noise_diverges_as_a_gaussian() {
        for sigma in [65.0, 90.0, 91.0, 128.0, 180.0, 200.0] {
            let shares = probabilities(&RoundedGaussian::new(sigma), 8 * sigma as usize);
            assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            for shift in [1usize, 2, 3, 5, 8, 16, 32] {
                let pairs = shares[..shares.len() - shift].iter().zip(&shares[shift..]);
                let divergence: f64 =
                    pairs.filter(|(a, b)| **a > 0.0 && **b > 0.0).map(|(a, b)| a * (a / b).ln()).sum();
                let expected = (shift as f64 / sigma).powi(2) / 2.0;
                assert!(
                    (divergence / expected - 1.0).abs() < 0.025,
                    "σ {sigma}, Δ {shift}: {divergence} for {expected}"
                );
            }
        }
    }

    /// Does each integer occur as often as the integral of the density? A single histogram fails by far.
    #[test]
    fn every_integer_of_wide_noise_has_its_share() {
        for sigma in [65.0, 100.0, 127.0] {
            let count = 1_000_000;
            let reach = 3 * sigma as i64;
            let mut drawn = vec![0u32; 2 * reach as usize + 1];
            for draw in RoundedGaussian::new(sigma).polynomial(&mut stream(8), count).iter() {
                if let Some(own) = usize::try_from(draw + reach).ok().and_then(|at| drawn.get_mut(at)) {
                    *own += 1;
                }
            }
            let below =
                |x: f64| if x < 0.0 { ln_erfc(-x / SQRT_2).exp() / 2.0 } else { 1.0 - ln_erfc(x / SQRT_2).exp() / 2.0 };
            let distance: f64 = (-reach..=reach)
                .zip(&drawn)
                .map(|(k, &drawn)| {
                    let expected = (below((k as f64 + 0.5) / sigma) - below((k as f64 - 0.5) / sigma)) * count as f64;
                    (f64::from(drawn) - expected).powi(2) / expected
                })
                .sum();
            let freedom = drawn.len() as f64;
            assert!((distance - freedom).abs() < 5.0 * (2.0 * freedom).sqrt(), "σ {sigma}: χ² {distance} of {freedom}");
        }
    }

    /// A quarter of the torus: samples wrap around and are nearly uniform.
    #[test]
    fn the_widest_noise_wraps() {
        let draws = RoundedGaussian::new(2f64.powi(62)).polynomial(&mut stream(6), 10_000);
        let mean = draws.iter().map(|&draw| draw as f64 / 2f64.powi(64)).sum::<f64>() / 1e4;
        assert!(mean.abs() < 0.02, "{mean}");
    }
}
