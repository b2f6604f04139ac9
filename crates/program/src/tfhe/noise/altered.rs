//! Which alterations of a result does decryption accept?
//!
//! Decryption rejects a phase further from every value than the program's error, and values outside the output's type. Any other
//! altered phase decodes like a computed one. Encryption does not authenticate; this module quantifies what goes unnoticed.

use serde::Serialize;

/// Positions of an output's values on the torus.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spacing {
    /// Number of values.
    pub values: u64,
    /// Distance of neighboring values, a fraction of the torus.
    pub distance: f64,
    /// Width of a torus element.
    pub torus_bits: u32,
}

/// How much tampering decryption cannot detect.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Undetected {
    /// Bits of a torus element whose flip may yield another valid value, in a body or in a mask element that meets a set key bit.
    /// All other flips are rejected or harmless.
    pub bits: u32,
    /// Probability that a uniformly random phase decodes to a wrong valid value.
    pub anywhere: f64,
}

/// Assumed error before a bit flip, as a fraction of the bound: 6.6 deviations, exceeded with probability 2^-34.
const USUAL: f64 = 0.5;

impl Spacing {
    /// Whether moving a phase by ±`change` (a fraction of the torus) may yield another value, if errors are bounded by `bound`.
    pub fn may_pass(self, change: f64, bound: f64) -> bool {
        // A move by the whole torus is none.
        [change, change - 1.0].into_iter().any(|change| {
            let steps = change / self.distance;
            [steps.floor(), steps.ceil()].into_iter().any(|whole| {
                let other = whole != 0.0 && whole.abs() < self.values as f64;
                other && (steps - whole).abs() * self.distance <= (1.0 + USUAL) * bound
            })
        })
    }

    pub fn undetected(self, bound: f64) -> Undetected {
        let flips = (1..=self.torus_bits).filter(|&bit| self.may_pass((-f64::from(bit)).exp2(), bound));
        let anywhere = ((self.values - 1) as f64 * 2.0 * bound).min(1.0);
        Undetected { bits: flips.count() as u32, anywhere }
    }
}

#[cfg(test)]
mod tests {
    //! Compares the formula with a search over all values and errors.
    use super::*;

    /// Tries all values and errors, in 4096ths of a step.
    fn by_trial(spacing: Spacing, period: u64, bound: f64) -> u32 {
        let fine = 4096.0;
        let (bound, whole) = (bound / spacing.distance * fine, period as f64 * fine);
        let flips = (1..=spacing.torus_bits).filter(|&bit| {
            let change = whole * (-f64::from(bit)).exp2();
            let pairs = (0..spacing.values).flat_map(|from| (0..spacing.values).map(move |to| (from, to)));
            pairs.filter(|(from, to)| from != to).any(|(from, to)| {
                let off = (from as f64 * fine + change - to as f64 * fine).rem_euclid(whole);
                off.min(whole - off) <= 1.5 * bound
            })
        });
        flips.count() as u32
    }

    #[test]
    fn flips_that_reach_another_value() {
        for (values, period) in [(2u64, 4u64), (6, 6), (6, 8), (3, 8), (4, 20), (16, 16), (8, 16)] {
            for share in [0.01, 0.1, 0.2, 0.3285, 0.45] {
                let spacing = Spacing { values, distance: 1.0 / period as f64, torus_bits: 32 };
                let bound = share * spacing.distance;
                let found = spacing.undetected(bound);
                assert_eq!(found.bits, by_trial(spacing, period, bound), "{values} of {period}, {share}");
                let expected = (values - 1) as f64 * 2.0 * share / period as f64;
                assert!((found.anywhere - expected).abs() < 1e-12);
            }
        }
    }

    /// A Boolean at ±1/8: a quarter of the torus reaches the other value, half of it none. Six values in six steps: half the torus
    /// is three steps, a quarter 1.5, and an eighth 0.75, which is near 1 if errors may reach a third of a step.
    #[test]
    fn undetected_bits_of_two_types() {
        let boolean = Spacing { values: 2, distance: 0.25, torus_bits: 32 };
        assert!(boolean.may_pass(0.25, 0.03) && !boolean.may_pass(0.5, 0.03) && !boolean.may_pass(0.125, 0.03));
        let six = Spacing { values: 6, distance: 1.0 / 6.0, torus_bits: 32 };
        assert_eq!([0.5, 0.25, 0.125, 0.0625].map(|change| six.may_pass(change, 0.05)), [true, false, true, false]);
        assert_eq!([0.5, 0.25, 0.125, 0.0625].map(|change| six.may_pass(change, 0.02)), [true, false, false, false]);
    }
}
