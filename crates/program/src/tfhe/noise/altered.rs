//! Which alterations of a result pass as another value: decryption refuses a phase that is further from the nearest value than errors are, and one that
//! lies among values that its type has not. What lands near another value of the type is as good as one that was computed so.

use serde::Serialize;

/// Where the values of an output's type lie on the torus.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spacing {
    /// How many there are.
    pub values: u64,
    /// The distance of two neighbours, a fraction of the torus.
    pub distance: f64,
    /// Bits of a torus element.
    pub torus_bits: u32,
}

/// What of an altered result is not told from a right one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Undetected {
    /// How many bits of a torus element may give another value of the type if one of them is flipped, in a body or in an element of the mask that meets a
    /// set bit of the key. Flips of all other bits are refused, or leave the value as it is.
    pub bits: u32,
    /// The probability that a phase anywhere on the torus is read as a wrong value of the type.
    pub anywhere: f64,
}

/// How much of the error's bound an error takes at most, when a flipped bit is judged: 6.6 deviations, which it leaves with 2^-34.
const USUAL: f64 = 0.5;

impl Spacing {
    /// Whether a phase that is moved by `change`, a fraction of the torus, either way, may be read as another value, where errors are bounded by `bound`.
    pub fn may_pass(self, change: f64, bound: f64) -> bool {
        // The whole torus away is where it was.
        [change, change - 1.0].into_iter().any(|change| {
            let steps = change / self.distance;
            [steps.floor(), steps.ceil()].into_iter().any(|whole| {
                let other = whole != 0.0 && whole.abs() < self.values as f64;
                other && (steps - whole).abs() * self.distance <= (1.0 + USUAL) * bound
            })
        })
    }

    /// What passes where errors are bounded by `bound`.
    pub fn undetected(self, bound: f64) -> Undetected {
        let flips = (1..=self.torus_bits).filter(|&bit| self.may_pass((-f64::from(bit)).exp2(), bound));
        let anywhere = ((self.values - 1) as f64 * 2.0 * bound).min(1.0);
        Undetected { bits: flips.count() as u32, anywhere }
    }
}

#[cfg(test)]
mod tests {
    //! Are the alterations that pass those that lie within the bound of another value?
    use super::*;

    /// By looking at all values and errors, in 4096ths of a step.
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

    /// A Boolean at ±1/8: a quarter of the torus is another one, half of it none. Six values, six steps: a half is three steps, a quarter one and a half,
    /// an eighth three quarters, which is near one where errors may be a third of a step.
    #[test]
    fn what_that_comes_to() {
        let boolean = Spacing { values: 2, distance: 0.25, torus_bits: 32 };
        assert!(boolean.may_pass(0.25, 0.03) && !boolean.may_pass(0.5, 0.03) && !boolean.may_pass(0.125, 0.03));
        let six = Spacing { values: 6, distance: 1.0 / 6.0, torus_bits: 32 };
        assert_eq!([0.5, 0.25, 0.125, 0.0625].map(|change| six.may_pass(change, 0.05)), [true, false, true, false]);
        assert_eq!([0.5, 0.25, 0.125, 0.0625].map(|change| six.may_pass(change, 0.02)), [true, false, false, false]);
    }
}
