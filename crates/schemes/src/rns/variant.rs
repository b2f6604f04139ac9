//! Key-switch variants of a modulus Q: its limbs in more or fewer digits, with or without special primes.
//!
//! A variant is called `listing1`, or `d8` for eight digits. All digits except the last have the same size, so not every number of digits
//! exists: 24 limbs are cut into 24, 12, 8, 6, 5, 4, 3, 2 or 1.

use super::gadget::Gadget;
use std::fmt::{self, Display, Formatter};
use thiserror::Error;

/// Digits of Q's limbs in a key switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeySwitchVariant {
    /// F1's Listing 1: one digit per limb, no special primes.
    PerLimb,
    /// This many digits, with special primes. One digit per limb is the maximum; a single digit has hints that grow with L.
    Digits(usize),
}

/// A name is not a variant of a modulus.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("there is no key switch {given:?} for {limbs} limbs; choose from: {known}")]
pub struct VariantError {
    pub given: String,
    pub limbs: usize,
    pub known: String,
}

impl KeySwitchVariant {
    /// All variants for a modulus of `limbs` limbs, from the largest hints to the smallest.
    pub fn all(limbs: usize) -> Vec<Self> {
        let mut digits: Vec<usize> = (1..=limbs).map(|digit_limbs| limbs.div_ceil(digit_limbs)).collect();
        digits.dedup();
        std::iter::once(Self::PerLimb).chain(digits.into_iter().map(Self::Digits)).collect()
    }

    /// The variant called `name`.
    ///
    /// # Errors
    /// [`VariantError`] with the valid names.
    pub fn named(name: &str, limbs: usize) -> Result<Self, VariantError> {
        let all = Self::all(limbs);
        all.iter().copied().find(|variant| variant.to_string() == name).ok_or_else(|| {
            let known: Vec<String> = all.iter().map(Self::to_string).collect();
            VariantError { given: name.to_owned(), limbs, known: known.join(", ") }
        })
    }

    /// The variant of `gadget`; `None` for digits smaller than a limb.
    pub fn of(gadget: &Gadget) -> Option<Self> {
        let digits = gadget.digits().len();
        match gadget.special() {
            _ if gadget.sub_digit_bits().is_some() => None,
            [] if digits == gadget.q().len() => Some(Self::PerLimb),
            _ => Some(Self::Digits(digits)),
        }
    }

    /// α: limbs of a digit, for a modulus of `limbs` limbs.
    pub fn digit_limbs(self, limbs: usize) -> usize {
        match self {
            Self::PerLimb => 1,
            Self::Digits(digits) => limbs.div_ceil(digits.max(1)),
        }
    }

    /// Number of special primes: `more` than a digit has limbs.
    pub fn special(self, limbs: usize, more: usize) -> usize {
        match self {
            Self::PerLimb => 0,
            Self::Digits(_) => self.digit_limbs(limbs) + more,
        }
    }
}

impl Display for KeySwitchVariant {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::PerLimb => write!(f, "listing1"),
            Self::Digits(digits) => write!(f, "d{digits}"),
        }
    }
}

#[cfg(test)]
mod tests {
    //! Does every name determine one variant, and is any other name rejected?

    use super::*;

    #[test]
    fn names_are_those_of_the_cuts() {
        let names = |limbs| KeySwitchVariant::all(limbs).iter().map(KeySwitchVariant::to_string).collect::<Vec<_>>();
        assert_eq!(names(24), ["listing1", "d24", "d12", "d8", "d6", "d5", "d4", "d3", "d2", "d1"]);
        assert_eq!(names(1), ["listing1", "d1"]);
        for limbs in 1..=24 {
            for variant in KeySwitchVariant::all(limbs) {
                assert_eq!(KeySwitchVariant::named(&variant.to_string(), limbs), Ok(variant));
                if let KeySwitchVariant::Digits(digits) = variant {
                    assert_eq!(limbs.div_ceil(variant.digit_limbs(limbs)), digits);
                }
            }
        }
        let refused = KeySwitchVariant::named("d7", 24).expect_err("24 limbs in 7 digits").to_string();
        assert!(refused.contains("\"d7\" for 24 limbs; choose from: listing1, d24"), "{refused}");
    }
}
