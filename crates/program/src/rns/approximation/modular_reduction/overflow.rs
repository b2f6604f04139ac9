//! Probability that the integers from modulus raising leave the supported range.

/// log2 of an upper bound of the probability that any of `coefficients` phases leaves the range: |I| ≥ `range`, which means
/// |phase/q_0| ≥ K − 1/2. −∞ if this is impossible.
///
/// A phase b + a·s with uniform b and a, and h nonzero coefficients ±1 of s, all reduced to \[−q_0/2, q_0/2), is q_0 times a sum of
/// n = h + 1 independent uniform numbers on \[−1/2, 1/2). The bound is Chernoff's, P(X ≥ x) ≤ min over λ of
/// e^(−λx)·(sinh(λ/2)/(λ/2))^n, for both signs and the union over the coefficients.
pub fn overflow_probability_log2(hamming_weight: usize, range: usize, coefficients: usize) -> f64 {
    let terms = hamming_weight as f64 + 1.0;
    let threshold = range as f64 - 0.5;
    if threshold >= terms / 2.0 {
        return f64::NEG_INFINITY;
    }
    // ln(sinh(λ/2)/(λ/2)), without overflow for large λ.
    let cumulant = |lambda: f64| lambda / 2.0 + (-(-lambda).exp()).ln_1p() - lambda.ln();
    let exponent = |lambda: f64| terms * cumulant(lambda) - lambda * threshold;
    // Convex in λ: golden-section search over log λ.
    let (mut low, mut high) = (1e-6f64, 1e6f64);
    let golden = (5f64.sqrt() - 1.0) / 2.0;
    for _ in 0..200 {
        let (a, b) = (high - golden * (high - low), low + golden * (high - low));
        if exponent(a) < exponent(b) { high = b } else { low = a }
    }
    let per_coefficient = exponent(low.midpoint(high)).min(0.0) / std::f64::consts::LN_2;
    (per_coefficient + 1.0 + (coefficients.max(1) as f64).log2()).min(0.0)
}
