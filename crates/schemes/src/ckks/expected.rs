//! What is known of a message before it is decrypted, and whether a phase can be an encryption of it.
//!
//! Every word of a ciphertext moves every coefficient of the phase by a number that is as good as uniform modulo Q. So a ciphertext that was
//! damaged, or belongs to another computation, has a phase as large as Q, in all coefficients: where the plan allows much less, it is told
//! from one that was computed. What stays within the plan's bounds cannot be told from it: encryption hides, it does not sign.

use thiserror::Error;

use super::encoding::Complex;

/// What a plan bounds of the slots of a ciphertext, in units of the message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expected {
    /// The largest absolute value of a slot.
    pub magnitude: f64,
    /// The largest error of a slot, but for a probability of 2^-40.
    pub error: f64,
    /// Whether the message is real in every slot.
    pub real: bool,
}

/// How often the bound of an error must be passed before a phase is refused: with a Gaussian tail a bound of 2^-40 is passed twice over with
/// 2^-160, and products of two have 2^-80.
const SLACK: f64 = 4.0;

/// A phase that no computation of the plan leaves.
#[derive(Clone, Debug, Error, PartialEq)]
#[error(
    "{what} is {found:.3e}, and by the plan it is at most {bound:.3e}: the ciphertext was damaged or altered, or comes from another computation or other keys, so nothing of it is shown; bring the outputs of one execution of this program"
)]
pub struct Implausible {
    /// Which number.
    pub what: &'static str,
    /// What was found.
    pub found: f64,
    /// What it may be.
    pub bound: f64,
}

fn within(what: &'static str, numbers: impl Iterator<Item = f64>, bound: f64) -> Result<(), Implausible> {
    // One that is no number stays; `f64::max` would pass over it.
    let larger = |most: f64, number: f64| if number > most || number.is_nan() { number } else { most };
    let found = numbers.map(f64::abs).fold(0.0, larger);
    // A bound that is no number, or infinite, bounds nothing.
    if found > bound || found.is_nan() { Err(Implausible { what, found, bound }) } else { Ok(()) }
}

impl Expected {
    /// Fails unless `values`, the slots of a polynomial with these `coefficients` (in units of the message), can be what is expected.
    ///
    /// # Errors
    /// [`Implausible`].
    pub fn check(&self, coefficients: &[f64], values: &[Complex]) -> Result<(), Implausible> {
        let (error, gap) = (SLACK * self.error, coefficients.len() / 2 / values.len());
        // No coefficient of an error is larger than its largest value at a root.
        let between = coefficients.chunks(gap).flat_map(|chunk| &chunk[1..]).copied();
        within("the largest coefficient between those of the message", between, error)?;
        within("the largest slot", values.iter().map(|value| value.abs()), self.magnitude + error)?;
        let imaginary = values.iter().map(|value| value.im).filter(|_| self.real);
        within("the largest imaginary part of a real message", imaginary, error)
    }
}

#[cfg(test)]
mod tests {
    //! Is what is beyond the plan refused, and what is no number at all?
    use super::*;

    #[test]
    fn what_no_plan_leaves_is_refused() {
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
        // Of a set whose bound says nothing, too.
        let anything = Expected { magnitude: f64::INFINITY, ..expected };
        assert!(anything.check(&[0.0; 4], &[Complex::new(f64::NAN, 0.0)]).is_err());
        assert_eq!(anything.check(&[0.0; 4], &[Complex::new(1e300, 0.0)]), Ok(()));
    }
}
