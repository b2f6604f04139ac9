//! Failure probabilities as logarithms, below the range of f64.

use std::f64::consts::{LN_2, PI};

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
