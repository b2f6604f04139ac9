//! Failure probabilities as logarithms, below the range of f64.

use crate::gaussian::ln_erfc;
use std::f64::consts::LN_2;

/// log2 of the probability that a centred Gaussian error of `variance` exceeds `margin` in absolute value: log2 erfc(margin/√(2V)).
///
/// 0 variance gives −∞, a margin of 0 or less gives 0 (certain failure).
pub fn failure_probability_log2(variance: f64, margin: f64) -> f64 {
    if margin <= 0.0 {
        return 0.0;
    }
    if variance <= 0.0 {
        return f64::NEG_INFINITY;
    }
    ln_erfc(margin / (2.0 * variance).sqrt()) / LN_2
}

/// log2 of a sum of two probabilities given as log2.
pub fn sum_log2(a: f64, b: f64) -> f64 {
    let (large, small) = if a >= b { (a, b) } else { (b, a) };
    if small == f64::NEG_INFINITY {
        return large;
    }
    large + (small - large).exp2().ln_1p() / LN_2
}

/// log2 of the union bound over failures given as (log2 probability, how many), at most 0: the failure of a whole program.
pub fn union_log2(failures: impl IntoIterator<Item = (f64, u64)>) -> f64 {
    failures
        .into_iter()
        .filter(|&(_, count)| count > 0)
        .map(|(log2, count)| log2 + (count as f64).log2())
        .fold(f64::NEG_INFINITY, sum_log2)
        .min(0.0)
}
