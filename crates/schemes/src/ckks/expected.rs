//! Tests whether a phase can be an encryption of a message within the bounds of a plan.
//!
//! Changing any word of a ciphertext shifts every coefficient of the phase by a nearly uniform amount modulo Q. The phase of a damaged
//! or foreign ciphertext is therefore as large as Q in all coefficients, and detectable where the plan allows much less. Damage within
//! the plan's bounds is undetectable: encryption hides a message but does not sign it.

use thiserror::Error;

use super::encoding::{Complex, Encoder};
use crate::rns::{Ring, RnsPolynomial};

/// A plan's bounds on the slots of a ciphertext, in units of the message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expected {
    /// The largest absolute value of a slot.
    pub magnitude: f64,
    /// The largest error of a slot, exceeded with probability 2^-40.
    pub error: f64,
    /// Whether the message is real in every slot.
    pub real: bool,
}

/// Factor on the error bound before a phase is rejected. For a Gaussian tail, exceeding twice a bound of 2^-40 has probability 2^-160;
/// for products of two Gaussians it is 2^-80.
const SLACK: f64 = 4.0;

/// A phase that violates the plan.
#[derive(Clone, Debug, Error, PartialEq)]
#[error(
    "{what} is {found:.3e}, but the plan allows at most {bound:.3e}: the ciphertext was damaged or altered, or comes from another computation or other keys, so nothing of it is shown; bring the outputs of one execution of this program"
)]
pub struct Implausible {
    pub what: &'static str,
    pub found: f64,
    pub bound: f64,
}

fn within(what: &'static str, numbers: impl Iterator<Item = f64>, bound: f64) -> Result<(), Implausible> {
    // Keeps a NaN, which `f64::max` would drop.
    let larger = |most: f64, number: f64| if number > most || number.is_nan() { number } else { most };
    let found = numbers.map(f64::abs).fold(0.0, larger);
    // A bound that is NaN or infinite allows everything.
    if found > bound || found.is_nan() { Err(Implausible { what, found, bound }) } else { Ok(()) }
}

impl Expected {
    /// Decodes the `phase` of a ciphertext of `scale` and `slots` slots, if the plan allows it.
    ///
    /// # Errors
    /// [`Implausible`].
    pub fn decode(
        &self,
        encoder: &Encoder,
        ring: &Ring,
        phase: &RnsPolynomial,
        (scale, slots): (f64, usize),
    ) -> Result<Vec<Complex>, Implausible> {
        let coefficients = encoder.decode_coefficients(ring, phase, scale);
        let values = encoder.slots_of(&coefficients, slots);
        self.check(&coefficients, &values)?;
        Ok(values)
    }

    /// Fails unless `values`, the slots of the polynomial with these `coefficients` (in units of the message), satisfy the bounds.
    pub fn check(&self, coefficients: &[f64], values: &[Complex]) -> Result<(), Implausible> {
        let (error, gap) = (SLACK * self.error, coefficients.len() / 2 / values.len());
        // A coefficient of an error is at most its largest value at a root.
        let between = coefficients.chunks(gap).flat_map(|chunk| &chunk[1..]).copied();
        within("the largest coefficient between those of the message", between, error)?;
        within("the largest slot", values.iter().map(|value| value.abs()), self.magnitude + error)?;
        let imaginary = values.iter().map(|value| value.im).filter(|_| self.real);
        within("the largest imaginary part of a real message", imaginary, error)
    }
}

#[cfg(test)]
mod tests {
    //! Are phases beyond the plan and NaNs rejected?
    use super::*;

    #[test]
    fn phases_beyond_the_plan_are_rejected() {
        let expected = Expected { magnitude: 1.0, error: 0.25, real: true };
        let check = |coefficients: [f64; 4], slot: Complex| expected.check(&coefficients, &[slot]);
        let good = Complex::new(1.5, 0.5);
        assert_eq!(check([3.0, 0.5, -1.0, 0.25], good), Ok(()));
        for (coefficients, slot, what) in [
            ([0.0, 1.5, 0.0, 0.0], good, "the largest coefficient between those of the message"),
            ([0.0, f64::NAN, 0.5, 0.0], good, "the largest coefficient between those of the message"),
            ([0.0; 4], Complex::new(2.5, 0.0), "the largest slot"),
            ([0.0; 4], Complex::new(f64::NAN, 0.0), "the largest slot"),
            ([0.0; 4], Complex::new(0.0, 1.5), "the largest imaginary part of a real message"),
        ] {
            let refused = check(coefficients, slot).expect_err("no such message");
            assert_eq!(refused.what, what);
        }
        // An infinite bound allows everything except NaN.
        let anything = Expected { magnitude: f64::INFINITY, ..expected };
        assert!(anything.check(&[0.0; 4], &[Complex::new(f64::NAN, 0.0)]).is_err());
        assert_eq!(anything.check(&[0.0; 4], &[Complex::new(1e300, 0.0)]), Ok(()));
    }
}
