//! How far the f64 transform can be from the exact integers, proved, and how far it is, modelled.
//!
//! Setting: r = Σ_{rows} d · g, digits |d_c| ≤ D, key coefficients |g_c| ≤ q/2, R rows, M = N/2 points,
//! m = log2 M levels, u = 2^-53. Terms in u² are covered by the factor 1.001 in the code (m ≤ 16).
//!
//! **One butterfly** a ± w b, computed as t = fl(w b), fl(a ± t). The table has |ŵ − w| ≤ 2√2 u (a test
//! holds each part to 2u); a complex product errs by at most √5 u |w| |b| (Brent, Percival, Zimmermann, Math. Comp. 76,
//! 2007; with FMA, 2u); the sum errs by u |a ± t|. With c = √5 + 2√2 + 1 < 6.07, the error of the
//! two outputs together is at most c u times their Euclidean norm, and an inverse butterfly
//! a + b, w̄(a − b) errs in each output by at most c u (|a| + |b|).
//!
//! **Forward.** A level is √2 times a unitary map, so relative Euclidean errors add:
//! ‖X̂ − X‖₂ ≤ ε ‖X‖₂ with ε = m c u, and ‖X‖₂ = √M ‖x‖₂. Here ‖d‖₂ ≤ D√N, ‖g‖₂ ≤ (q/2)√N.
//! By Cauchy and Schwarz ‖X̂Ĝ − XG‖₁ ≤ 2ε ‖X‖₂‖G‖₂, which the inverse (entries of modulus 1, scaled
//! by 1/M) turns into at most 2ε · D (q/2) N in any coefficient, for each row. A 64-bit key coefficient is
//! first rounded to 53 bits: another u (q/2) N D.
//!
//! **Products.** Each part of a point is a chain of 2R multiply-adds: it errs by at most
//! (2R + 1) u Σ|X||G|, the point by √2 times that; in ‖·‖₁ over M: √2 (2R + 1) u · R D (q/2) N.
//!
//! **Inverse.** After j levels a value is a sum of 2^j points with unit factors; by the butterfly's
//! bound level j adds at most c u times the ‖·‖₁ of those points, and what level j adds at the 2^(m−j)
//! places that meet in one coefficient sums to at most c u ‖P‖₁/M: ε R D (q/2) N in all. Scaling by 1/M
//! is exact.
//!
//! Sum: |r̂ − r| ≤ u · R D (q/2) N · (3 m c + √2 (2R + 1) + 1), before the rounding to the torus (another
//! 1/2), and before the wrap mod q, which is exact below 2^83 and 2^114.

use crate::ring::RingDegree;

/// u, half the distance from 1 to the next f64.
const UNIT_ROUNDOFF: f64 = f64::EPSILON / 2.0;

/// The constant c of one butterfly.
const BUTTERFLY: f64 = 6.07;

/// Proven bound on |computed − exact| of each coefficient of an external product, before the final
/// rounding, in units of 1/q: `rows` products of digits of at most `digit_magnitude` with
/// torus polynomials of `torus_bits` bits.
pub fn error_bound(degree: RingDegree, digit_magnitude: f64, rows: usize, torus_bits: u32) -> f64 {
    let levels = f64::from(degree.log2() - 1);
    let rows = rows as f64;
    let half_modulus = 2f64.powi(torus_bits as i32 - 1);
    let largest = rows * digit_magnitude * half_modulus * degree.get() as f64;
    let relative = 3.0 * levels * BUTTERFLY + 2f64.sqrt() * (2.0 * rows + 1.0) + 1.0;
    1.001 * UNIT_ROUNDOFF * largest * relative
}

/// Model of the standard deviation of that error for uniform digits in [-β/2, β/2) and a uniform key, in units of
/// 1/q: what a noise analysis adds for each external product.
///
/// Roundings are taken as independent. One rounding errs by 0.18 u² of the squared value on average
/// (uniform error, logarithmic mantissa); a butterfly adds one rounding of its outputs and, in half of
/// the energy, one complex product (three roundings in each part and the twiddle's own): 0.6 u² a level.
/// Two forward transforms, the products and the inverse give (3 · 0.6 m + 1) u² of the product's
/// energy R N (β²/12)(q²/12). Tests hold the measured deviation between a quarter of this and this.
pub fn error_deviation(degree: RingDegree, base: f64, rows: usize, torus_bits: u32) -> f64 {
    let levels = f64::from(degree.log2() - 1);
    let energy = rows as f64 * degree.get() as f64 * (base * base / 12.0) * (2f64.powi(2 * torus_bits as i32) / 12.0);
    UNIT_ROUNDOFF * ((1.8 * levels + 1.0) * energy).sqrt()
}
