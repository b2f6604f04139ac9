//! How many baby steps and giant steps.

use super::Hoisting;
use std::collections::BTreeSet;

/// What the steps of a linear transform cost, in any common unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BabyStepCosts {
    /// A rotation by a baby step.
    pub baby: f64,
    /// A rotation of a sum by a giant step.
    pub giant: f64,
    /// Giant steps whose sums are held at once; as many as there are if none is given.
    pub most_giants: Option<usize>,
}

impl BabyStepCosts {
    /// In transforms of one limb, of which a pointwise product or sum is taken to be a tenth: for a ciphertext of `limbs` limbs, digits
    /// of `digit` limbs and `special` special primes.
    pub fn new(hoisting: Hoisting, limbs: usize, digit: usize, special: usize) -> Self {
        const POINTWISE: f64 = 0.1;
        let (limbs, digit, special) = (limbs as f64, digit.max(1) as f64, special as f64);
        let digits = (limbs / digit).ceil();
        let raised = limbs + special;
        // All limbs of the digits: transformed once each, and a product of each digit's limbs with the others.
        let decompose = limbs + digits * (raised - digit) * (1.0 + POINTWISE * digit);
        let inner = 2.0 * digits * raised * POINTWISE;
        let divide = special + limbs + special * limbs * POINTWISE;
        match hoisting {
            Hoisting::None => {
                let rotation = decompose + inner + 2.0 * divide;
                Self { baby: rotation, giant: rotation, most_giants: None }
            }
            Hoisting::Single => {
                let baby = inner + 2.0 * divide;
                Self { baby, giant: decompose + baby, most_giants: None }
            }
            Hoisting::Double => {
                Self { baby: inner + 3.0 * raised * POINTWISE, giant: decompose + inner + divide, most_giants: None }
            }
        }
    }
}

/// The steps of one transform: an offset is a giant step plus a baby step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Steps {
    /// Offsets are cut into runs of so many: baby steps are from 0 to one less.
    pub width: i64,
    /// Baby steps in use.
    pub babies: BTreeSet<i64>,
    /// Giant steps in use.
    pub giants: BTreeSet<i64>,
}

impl Steps {
    /// The cheapest of all power-of-two widths, for the offsets.
    pub fn choose(offsets: &[i64], costs: BabyStepCosts) -> Self {
        let reach = offsets.iter().map(|offset| offset.unsigned_abs()).max().unwrap_or(0);
        let stride =
            offsets.iter().filter(|&&offset| offset != 0).map(|offset| offset.trailing_zeros()).min().unwrap_or(0);
        let last = (2 * reach + 1).next_power_of_two().ilog2().max(stride);
        let cost = |steps: &Self| {
            let count = |steps: &BTreeSet<i64>| steps.iter().filter(|&&step| step != 0).count() as f64;
            count(&steps.babies) * costs.baby + count(&steps.giants) * costs.giant
        };
        let fits = |steps: &Self| costs.most_giants.is_none_or(|most| steps.giants.len() <= most);
        let candidates = (stride..=last).map(|log| Self::with_width(offsets, 1 << log));
        let best = candidates.filter(fits).min_by(|a, b| cost(a).total_cmp(&cost(b)));
        best.unwrap_or_else(|| Self::with_width(offsets, 1 << last))
    }

    /// With runs of `width` offsets.
    pub fn with_width(offsets: &[i64], width: i64) -> Self {
        let mut steps = Self { width, babies: BTreeSet::new(), giants: BTreeSet::new() };
        for &offset in offsets {
            let (giant, baby) = steps.split(offset);
            steps.babies.insert(baby);
            steps.giants.insert(giant);
        }
        steps
    }

    /// Giant step and baby step of an offset.
    pub fn split(&self, offset: i64) -> (i64, i64) {
        let baby = offset.rem_euclid(self.width);
        (offset - baby, baby)
    }
}

#[cfg(test)]
mod tests {
    //! Do the steps reach every offset, at the least cost?

    use super::*;

    #[test]
    fn every_offset_is_a_sum() {
        for stride in [1, 4, 1024] {
            let offsets: Vec<i64> = (-15..=15).map(|k| k * stride).collect();
            for hoisting in [Hoisting::None, Hoisting::Single, Hoisting::Double] {
                let steps = Steps::choose(&offsets, BabyStepCosts::new(hoisting, 25, 5, 5));
                for &offset in &offsets {
                    let (giant, baby) = steps.split(offset);
                    assert_eq!(giant + baby, offset);
                    assert!(steps.giants.contains(&giant) && steps.babies.contains(&baby));
                }
            }
        }
    }

    #[test]
    fn cheaper_babies_make_more_of_them() {
        let offsets: Vec<i64> = (0..64).collect();
        let babies = |hoisting| Steps::choose(&offsets, BabyStepCosts::new(hoisting, 25, 5, 5)).babies.len();
        assert_eq!(babies(Hoisting::None), 8);
        assert!(babies(Hoisting::Single) >= 8 && babies(Hoisting::Double) >= babies(Hoisting::Single));
        let few = BabyStepCosts { most_giants: Some(2), ..BabyStepCosts::new(Hoisting::None, 25, 5, 5) };
        assert_eq!(Steps::choose(&offsets, few).giants.len(), 2);
    }
}
