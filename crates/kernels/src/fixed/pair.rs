//! Transforms two real polynomials by one complex transform ("merge-split"; Morphling, section V-A.3), in fixed point.
//!
//! For z = p + i q with real p and q, the N values of z at the roots of X^N = -1 determine those of p and q. The roots come in conjugate pairs, and
//! for each pair p(ω) = (z(ω) + conj z(conj ω)) / 2 and q(ω) = (z(ω) - conj z(conj ω)) / 2i.
//!
//! The first stage of this transform of N points splits X^N + 1 into (X^M - i)(X^M + i), M = N/2. Modulo X^M - i, p is its folded form f(p), and z is
//! f(p) + i f(q); modulo X^M + i, z is the conjugate of f(p) - i f(q). After a first stage of additions it therefore is two folded transforms of M
//! points, and the split is a final stage of additions: two stages more than two separate folded transforms of p and q. Folding already uses
//! the imaginary part, so merging saves nothing in addition.

use super::arithmetic::{Round, saturate};
use super::spec::limit;
use super::{FixedFft, FixedSpectrum};

impl FixedFft {
    /// Spectra of two polynomials of N digits by one complex transform of N points, with the widths of the digits' transform. Each equals that of
    /// [`Self::forward_digits`] up to rounding, which depends on the other. Returns the number of saturations.
    #[must_use = "a saturated value makes the result wrong"]
    pub fn forward_digits_merged(&self, digits: [&[i32]; 2], spectra: [&mut FixedSpectrum; 2]) -> u64 {
        let degree = self.spec.ring_degree.get();
        let [p, q] = digits;
        assert!(p.len() == degree && q.len() == degree, "N coefficients each");
        let transform = &self.spec.digits;
        let points = degree / 2;
        let (left, right) = transform.load_shifts();
        // First stage: half of the sum and of the difference, so that the split needs no halving.
        let round = Round::new(right + 1, self.spec.rounding);
        let widest = i128::from(transform.input_limit());
        let mut saturations = 0;
        let mut half = |sum: i64| {
            let scaled = round.wide(i128::from(sum) << left);
            let kept = scaled.clamp(-widest, widest);
            saturations += u64::from(kept != scaled);
            kept as i64
        };
        let [first, second] = spectra;
        for j in 0..points {
            let [p_low, p_high, q_low, q_high] = [p[j], p[j + points], q[j], q[j + points]].map(i64::from);
            (first.re[j], first.im[j]) = (half(p_low - q_high), half(p_high + q_low));
            (second.re[j], second.im[j]) = (half(p_low + q_high), half(p_high - q_low));
        }
        for spectrum in [&mut *first, &mut *second] {
            saturations += self.digits.forward(transform, self.spec.rounding, &mut spectrum.re, &mut spectrum.im);
        }
        // Split: u = (f(p) + i f(q)) / 2 and v = (f(p) - i f(q)) / 2 give u + v and (u - v) / i.
        let widest = limit(transform.output_width());
        let mut kept = |value: i64| saturate(value, widest, &mut saturations);
        for j in 0..points {
            let (u, v) = ((first.re[j], first.im[j]), (second.re[j], second.im[j]));
            (first.re[j], first.im[j]) = (kept(u.0 + v.0), kept(u.1 + v.1));
            (second.re[j], second.im[j]) = (kept(u.1 - v.1), kept(v.0 - u.0));
        }
        saturations
    }
}
