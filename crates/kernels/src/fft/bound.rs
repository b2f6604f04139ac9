//! Error of the f64 transform relative to exact integers: a proven bound, and a model of the typical error.
//!
//! Setting: r = Σ_{rows} d · g, digits |d_c| ≤ D, key coefficients |g_c| ≤ q/2, R rows, M = N/2 points,
//! m = log2 M levels, u = 2^-53. Terms in u² are covered by the factor 1.001 in the code (m ≤ 16).
//!
//! **One butterfly** a ± w b with w = c (1 + i t), computed as z = fl(b (1 + i t̂)), d = fl(a − ĉ z), s = fl(d + 2ĉ z). In the table ĉ is within
//! 2u of the cosine (a test bounds each part by 2u; a cosine of 0 is 2^-60) and t̂ = fl(ŝ/ĉ), so that ĉ t̂ is within u of ŝ. The applied
//! twiddle ĉ (1 + i t̂) is therefore within √(2² + 3²) u < 3.61 u of w, however large t̂. Each part of z is a multiply-add of b's parts and errs
//! by at most 2u times the larger of b and z there (u with FMA). ĉ scales z back to |w b| = |b|, so that z adds at most 2u |b|. Without FMA the
//! products ĉ z and 2ĉ z round too, u |b| in d and 3u |b| in s. The sums round by u |d| and u (|s| + |d|), because s contains the error of d.
//! So d errs by at most (5.61 + 1) u |b| + u |d|, and s by (5.61 + 3) u |b| + u (|s| + |d|). With c = 10.7 ≥ 8.61 + 2, each output errs by at
//! most c u (|a| + |b|), and both together by at most c u times their Euclidean norm √2 √(|a|² + |b|²), since
//! 5.61 + √(1² + 3²)/√2 + 1.62 < 9.5.
//!
//! Two or three fused levels (`butterflies::levels`) apply one twiddle to each element instead of one per level: a product of at most four
//! rounded constants with 1 + i t̂, within 3.61 u + 5u. z adds 2u, e^{iπ/4} u (for three levels), and each level at most 3.9 u as above: 18.5 u
//! and 23.4 u, less than two and three times c u. Cosines are applied as ratios, some of them later. All roundings are relative, so a scale
//! common to both operands changes nothing.
//!
//! **The other form**, full products and plain sums, has fewer roundings: parts of a table entry are within 2u, the entry within 2√2 u, the
//! product adds √5 u (Brent, Percival, Zimmermann, Math. Comp. 76, 2007; less with FMA), and each sum rounds by u of itself. Both outputs err by
//! at most (2.83 + 2.24) u |b| + u (|a| + |b|). In two or three fused levels each element has one such product, and e^{iπ/4} adds less than a
//! butterfly of the first form, so c still holds.
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
//! **Inverse.** After j levels a value is a sum of 2^j points with unit factors. By the butterfly's bound, level j adds at most c u times the
//! ‖·‖₁ of those points; its contributions at the 2^(m−j) places that meet in one coefficient sum to at most c u ‖P‖₁/M, or ε R D (q/2) N in
//! total. Removing the twist is a product with a table entry: at most (2√2 + √5) u (Brent, Percival, Zimmermann, Math. Comp. 76, 2007), less
//! than another level. Scaling by 1/M is exact.
//!
//! Sum: |r̂ − r| ≤ u · R D (q/2) N · ((3 m + 1) c + √2 (2R + 1) + 1), before the rounding to the torus and before the wrap mod q. The rounding adds
//! 1/2, or twice 2^r/2 · 2 where adding a constant rounds to multiples of 2^r. The wrap is exact below 2^83 and 2^114.
//!
//! **Narrow keys.** On the 32-bit torus a key number has 36 bits of mantissa after the leading one, so each part of Ĝ has a relative error of at
//! most 2^-37, and so does ‖Ĝ‖₂. By Cauchy-Schwarz a coefficient errs by 2^-37 · D (q/2) N per row. Each error of a key polynomial is that of an
//! element of its column, and is multiplied by the secret in the phase like the transform's own error.
//!
//! **Unrolled keys.** With P patterns of R rows each, 2RP + 4 rows bound the sum: each row once for X^e and once for −1. A factor X^e − 1 comes
//! from three table entries and two complex products, within 16 u, and 2P more multiply-adds sum the patterns: at most
//! R P (16 + 2√2 (2P + 1)) u, which the four rows and the longer chain in √2 (2R + 1) cover.

use crate::ring::RingDegree;

/// u, half the distance from 1 to the next f64.
const UNIT_ROUNDOFF: f64 = f64::EPSILON / 2.0;

/// The constant c of one butterfly.
const BUTTERFLY: f64 = 10.7;

/// Maximum relative error of a part of a key number, for a torus of `torus_bits` bits.
fn key_roundoff(torus_bits: u32) -> f64 {
    if torus_bits == 32 { 2f64.powi(-37) } else { 0.0 }
}

/// Proven bound on |computed − exact| of each coefficient of an external product, before the final
/// rounding, in units of 1/q: `rows` products of digits of at most `digit_magnitude` with
/// torus polynomials of `torus_bits` bits.
pub fn error_bound(degree: RingDegree, digit_magnitude: f64, rows: usize, torus_bits: u32) -> f64 {
    let levels = f64::from(degree.log2() - 1);
    let rows = rows as f64;
    let half_modulus = 2f64.powi(torus_bits as i32 - 1);
    let largest = rows * digit_magnitude * half_modulus * degree.get() as f64;
    let relative = (3.0 * levels + 1.0) * BUTTERFLY + 2f64.sqrt() * (2.0 * rows + 1.0) + 1.0;
    1.001 * UNIT_ROUNDOFF * largest * relative
}

/// Proven bound on the contribution of the key's narrow format ([`crate::external_product`]) in addition to [`error_bound`].
pub fn key_error_bound(degree: RingDegree, digit_magnitude: f64, rows: usize, torus_bits: u32) -> f64 {
    let largest = rows as f64 * digit_magnitude * 2f64.powi(torus_bits as i32 - 1) * degree.get() as f64;
    1.001 * key_roundoff(torus_bits) * largest
}

/// Model of the standard deviation of the error in [`key_error_bound`], as for [`error_deviation`]: a rounding has a mean square of 0.18 u².
pub fn key_error_deviation(degree: RingDegree, base: f64, rows: usize, torus_bits: u32) -> f64 {
    key_roundoff(torus_bits) * (0.18 * energy(degree, base, rows, torus_bits)).sqrt()
}

/// Mean square of a coefficient of an external product, before it wraps.
fn energy(degree: RingDegree, base: f64, rows: usize, torus_bits: u32) -> f64 {
    rows as f64 * degree.get() as f64 * (base * base / 12.0) * (2f64.powi(2 * torus_bits as i32) / 12.0)
}

/// Model of the standard deviation of the transforms' error for uniform digits in [-β/2, β/2) and a uniform key, in units of 1/q: the noise that
/// each external product adds.
///
/// Roundings are assumed independent. One rounding has a mean square of 0.18 u² of the squared value (uniform error, logarithmic mantissa). In
/// fractions of its output's energy, a butterfly with fused multiply-adds adds 0.09 u² in z; 0.18 u² for the twiddle's two numbers, which carry
/// half of that energy; 0.18 u² in the difference and twice that in the sum. The average is 0.54 u², taken as 0.6 u² per level. Two forward
/// transforms, the products and the inverse give (3 · 0.6 m + 1) u² of the product's energy R N (β²/12)(q²/12). Tests check that the measured
/// deviation is between a quarter of the model and the model. Without fused multiply-adds ([`crate::Isa::Portable`]) products round too, 0.9 u²
/// per level: a deviation larger by at most a quarter.
pub fn error_deviation(degree: RingDegree, base: f64, rows: usize, torus_bits: u32) -> f64 {
    let levels = f64::from(degree.log2() - 1);
    UNIT_ROUNDOFF * ((1.8 * levels + 1.0) * energy(degree, base, rows, torus_bits)).sqrt()
}
