//! Noise of circuit bootstrapping, and of a table read with the GGSW ciphertexts that it makes.
//!
//! The row of level t for the body has the phase s·g_t + e. In its constant coefficient e is the rotation's error plus a key switch per
//! automorphism; an automorphism with 2^v of the other coefficients left adds to those, so that their errors have the energy of two key
//! switches per coefficient. The row for the mask has the error −e·S and that of the product with S².
//!
//! - e₀·S, of the rotation's error e₀, is one Gaussian number times a fixed polynomial. Every CMUX adds Σ_t (d_t(B) − d_t(A)·S)·e₀,t to each
//!   coefficient: digits, which are random, times Gaussian numbers. Such a sum over few numbers has heavier tails than a Gaussian ([`tail`]).
//! - Digits have a mean of −1/2. Its product with the mean of S would be N/4 times e₀, so tables are read in X → −X, where S alternates in sign.
//! - Errors that the trace's transforms add to a mask reach the phase times S and the mask's row times S², whose energy is about N³/48, that
//!   of its mean. Later automorphisms separate most of an earlier error from that mean: the energy is 1 + 1/4 + 1/16 + … = 4/3 of the last.
//!   The part that rounding drops is multiplied by the image of S instead, whose mean has other frequencies: 3/4 of the energy of a white one. Rounding before the product with S² is
//!   multiplied by S² itself.
//!
//! A table of w bits takes w CMUXes one after another, each on the path of the index. The first reads a ciphertext without a mask, and adds next to
//! nothing.

use polyfabric_kernels::fixed::digit_concentration;
use polyfabric_kernels::{Gadget, fft};

use super::keys::{Keys, Noise};
use super::operations::{Formulas, Transform, digit_variance, rounding_variance, unit_squared};
use crate::tfhe::parameters::CircuitGadgets;
use crate::tfhe::unrolling::KeyUnrolling;

/// Failure probability, as a natural logarithm, that [`tail`] covers.
const COVERED: f64 = 130.0 * std::f64::consts::LN_2;

/// Errors of the rows of a GGSW ciphertext: variances per coefficient, in fractions of the torus squared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CircuitNoise {
    /// Of the constant coefficient of a row for the body.
    pub constant: f64,
    /// Of each other coefficient of it, on average.
    pub others: f64,
    /// Of each coefficient of a row for the mask, on average.
    pub mask: f64,
}

/// The error of a product of one polynomial's digits with rows of a key.
struct KeySwitch {
    /// Of the rows' own noise, and of the transforms in the body.
    white: f64,
    /// Of a coefficient that is decomposed.
    rounding: f64,
    /// Of the transforms in a coefficient of the mask.
    error: f64,
}

impl Formulas {
    /// Variance of the transforms' error in one coefficient of a sum of `rows` products with digits of `gadget`.
    fn products_error(&self, gadget: Gadget, rows: usize, transform: Transform) -> f64 {
        match transform {
            Transform::F64 | Transform::F64Unfused => {
                let base = f64::from(gadget.log2_base).exp2();
                let error = fft::error_deviation(self.ring_degree, base, rows, self.torus_bits);
                // Digits have a mean, at whose frequency the secret's mean lies too.
                let concentration = digit_concentration(self.ring_degree.get() as f64, gadget);
                let error = transform.growth() * (1.0 + concentration / 2.0) * error.powi(2);
                (error + 1.0 / 12.0) * unit_squared(self.torus_bits)
            }
            // Other transforms are those of machines, which have no circuit bootstrapping.
            Transform::Exact | Transform::Measured { .. } => 0.0,
        }
    }

    fn row_products(&self, gadget: Gadget, transform: Transform) -> KeySwitch {
        let error = self.products_error(gadget, gadget.levels as usize, transform);
        let digits = f64::from(gadget.levels) * self.ring_degree.get() as f64;
        let noise = self.fresh(crate::tfhe::LweKind::Large).variance;
        KeySwitch {
            white: digits * (digit_variance(gadget.log2_base) + 0.25) * noise + error,
            rounding: rounding_variance(self.torus_bits, gadget.kept_bits()),
            error,
        }
    }

    /// ‖S²‖²: of the mean m = w/N of a coefficient of S, and of its deviation from it.
    fn square_energy(&self) -> f64 {
        let degree = self.ring_degree.get() as f64;
        let mean = self.large_weight() / degree;
        let spread = mean * (1.0 - mean);
        mean.powi(4) * degree.powi(3) / 3.0 + 4.0 * mean * mean * spread * degree * degree + (spread * degree).powi(2)
    }

    /// The rows that circuit bootstrapping makes, after a rotation with `unrolling` secret bits per iteration.
    pub fn circuit_bootstrap(
        &self,
        gadgets: CircuitGadgets,
        unrolling: KeyUnrolling,
        transform: Transform,
    ) -> CircuitNoise {
        let (degree, weight) = (self.ring_degree.get() as f64, self.large_weight());
        let trace = self.row_products(gadgets.trace, transform);
        let square = self.row_products(gadgets.square, transform);
        let switch = trace.white + weight * (trace.rounding + trace.error);
        let rotation = self.blind_rotation_unrolled(unrolling, transform).second_moment();
        let constant = rotation + f64::from(self.ring_degree.log2()) * switch;
        let mask = constant * weight / degree
            + 2.0 * weight * (trace.white + 0.75 * weight * trace.rounding)
            + (4.0 / 3.0 * trace.error + square.rounding) * self.square_energy()
            + square.white
            + weight * square.error;
        CircuitNoise { constant, others: 2.0 * switch, mask }
    }

    /// The error that a table of `width` bits, at least 1, adds, for every index. For [`Keys::Accepted`] a Gaussian error of this variance exceeds no bound less
    /// often, down to probabilities of 2^-130.
    pub fn wide_lookup(
        &self,
        gadgets: CircuitGadgets,
        width: u32,
        unrolling: KeyUnrolling,
        transform: Transform,
    ) -> Noise {
        let (degree, weight) = (self.ring_degree.get() as f64, self.large_weight());
        let CircuitNoise { constant, others, mask } = self.circuit_bootstrap(gadgets, unrolling, transform);
        let ggsw = gadgets.ggsw;
        let levels = f64::from(ggsw.levels);
        let digits = levels * (digit_variance(ggsw.log2_base) + 0.25);
        // The means of all levels' digits add up, and so may the errors of a rotation's neighbouring results.
        let product = levels * (digit_variance(ggsw.log2_base) + levels / 4.0) * (1.0 + weight) * constant;
        let rows = digits * degree * (mask - constant * weight / degree + others);
        let rounding = (1.0 + weight) * rounding_variance(self.torus_bits, ggsw.kept_bits());
        let error = (1.0 + weight) * self.products_error(ggsw, 2 * ggsw.levels as usize, transform);
        let tail = match self.keys {
            // A bit's errors e₀,t may be one number.
            Keys::Accepted => tail(width - 1),
            Keys::Average | Keys::Weights(_) => 1.0,
        };
        let first = digits * (constant + degree * others);
        let variance = first + f64::from(width) * error + f64::from(width - 1) * (tail * product + rows + rounding);
        // Results of one table are coefficients of one ciphertext: their covariance is at most their variance.
        Noise { together: variance, ..Noise::random(variance) }
    }
}

/// The factor on the variance of Σ x_i·y_i, over `terms` pairs of independent Gaussian numbers, that bounds its tail by a Gaussian's at
/// probability e^-[`COVERED`].
///
/// By Chernoff, −ln P(Σ ≥ a) ≥ λa + (d/2) ln(1 − λ²) for unit variances and d terms. With the best λ, c = d + λa solves
/// c − d − (d/2) ln(c/d) = −ln P, and a² = c·(c − d). A Gaussian sum of the variance d has a² = 2d·(−ln P).
fn tail(terms: u32) -> f64 {
    let terms = f64::from(terms.max(1));
    let exponent = |c: f64| c - terms - terms / 2.0 * (c / terms).ln();
    let (mut low, mut high) = (terms, terms + 4.0 * COVERED + 4.0 * terms);
    for _ in 0..64 {
        let middle = f64::midpoint(low, high);
        if exponent(middle) < COVERED { low = middle } else { high = middle }
    }
    high * (high - terms) / (2.0 * terms * COVERED)
}

#[cfg(test)]
mod tests {
    //! Does the factor bound the tail of a sum of products?
    use super::*;

    /// The sum is Gaussian given one factor of each pair; its variance is then a sum of squares. This integrates over it.
    fn ln_tail(terms: u32, bound: f64) -> f64 {
        let d = f64::from(terms);
        let ln_gamma = |x: f64| (x - 0.5) * x.ln() - x + 0.5 * std::f64::consts::TAU.ln() + 1.0 / (12.0 * x);
        let steps = 200_000;
        let most = d + 8.0 * COVERED + 8.0 * d;
        let term = |step: usize| {
            let c = most * (step as f64 + 0.5) / f64::from(steps);
            let density = (d / 2.0 - 1.0) * c.ln() - c / 2.0 - d / 2.0 * 2f64.ln() - ln_gamma(d / 2.0);
            density + crate::gaussian::ln_erfc(bound / (2.0 * c).sqrt())
        };
        let terms: Vec<f64> = (0..steps as usize).map(term).collect();
        let largest = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = terms.iter().map(|term| (term - largest).exp()).sum();
        largest + sum.ln() + (most / f64::from(steps)).ln()
    }

    #[test]
    fn the_tail_of_a_sum_of_products_is_bounded() {
        for terms in [4, 16, 24, 48, 64] {
            // Where a Gaussian of the larger variance has the covered probability.
            let bound = (2.0 * COVERED * tail(terms) * f64::from(terms)).sqrt();
            let (found, covered) = (ln_tail(terms, bound), std::f64::consts::LN_2 - COVERED);
            assert!(found <= covered && found > covered - 8.0, "{terms} terms: {found} and {covered}");
            // Nearer bounds are exceeded less often than by that Gaussian, too.
            for share in [0.3, 0.6, 0.8] {
                let gaussian = crate::gaussian::ln_erfc(share * bound / (2.0 * tail(terms) * f64::from(terms)).sqrt());
                assert!(ln_tail(terms, share * bound) <= gaussian, "{terms} terms at {share}");
            }
            assert!(tail(terms) > tail(terms + 1) && tail(terms) > 1.0);
        }
        assert!((3.3..3.6).contains(&tail(24)), "{}", tail(24));
    }
}
