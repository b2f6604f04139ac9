//! How many baby steps and giant steps.

use super::{Hoisting, MatrixProduct, RnsLowering, StepRates, StepRule};
use crate::rns::levels::Chain;
use std::collections::BTreeSet;

/// Chooses the steps of a matrix for ciphertexts of one level.
#[derive(Clone, Copy, Debug)]
pub struct StepChooser<'a> {
    chain: &'a Chain,
    choice: &'a RnsLowering,
    level: usize,
}

impl<'a> StepChooser<'a> {
    /// By the rule of `choice`, for ciphertexts at `level` of `chain`.
    pub fn new(chain: &'a Chain, choice: &'a RnsLowering, level: usize) -> Self {
        Self { chain, choice, level }
    }

    /// An offset of vectors that repeat after `period` slots as it goes into the steps: the one nearest to 0, which leaves the fewest runs of
    /// offsets, or the one from 0 on, where all of them are one run.
    pub fn reduced(&self, offset: i64, period: i64) -> i64 {
        let least = if self.choice.steps == StepRule::Diagonals { 0 } else { 1 - period / 2 };
        (offset - least).rem_euclid(period) + least
    }

    /// The steps for `offsets`, ascending and [reduced](Self::reduced), of vectors that repeat after `period` slots.
    pub fn steps(&self, offsets: &[i64], period: usize) -> Steps {
        let &Self { chain, choice, level } = self;
        match &choice.steps {
            StepRule::Search(search) => {
                let width = search.0.width(&MatrixProduct { chain, choice, level, offsets, period });
                Steps::with_width(offsets, width)
            }
            StepRule::Diagonals => Steps::with_width(offsets, period as i64),
            _ => Steps::choose(offsets, BabyStepCosts::of(choice, chain.limbs(level).len())),
        }
    }
}

/// What the steps of a linear transform cost, in any common unit.
///
/// A baby step costs the most of: its rotation with its diagonals, one a giant step; its key; and what else it needs beside them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BabyStepCosts {
    /// A rotation by a baby step.
    pub baby: f64,
    /// A rotation of a sum by a giant step.
    pub giant: f64,
    /// A diagonal, if it takes what rotations take.
    pub diagonal: f64,
    /// A key, which comes while something else is done.
    pub key: f64,
    /// What a step takes of another unit, at the same time.
    pub beside: f64,
    /// Giant steps whose sums are held at once; as many as there are if none is given.
    pub most_giants: Option<usize>,
    /// The width that runs of offsets have; the cheapest if none is given.
    pub width: Option<i64>,
}

impl BabyStepCosts {
    /// As `choice` has it, for a ciphertext of `limbs` limbs; by products where steps are searched for, or there is no choice.
    pub fn of(choice: &RnsLowering, limbs: usize) -> Self {
        let digit = choice.gadget.digits.iter().map(Vec::len).max().unwrap_or(1);
        let special = choice.gadget.special.len();
        match choice.steps {
            StepRule::Products | StepRule::Search(_) | StepRule::Diagonals => {
                Self::new(choice.hoisting, limbs, digit, special)
            }
            StepRule::Rates(rates) => Self::at_rates(rates, choice.hoisting, limbs, digit, special),
            StepRule::Width(width) => {
                let width = Some(i64::from(width));
                Self { width, ..Self::new(choice.hoisting, limbs, digit, special) }
            }
        }
    }

    /// On a machine of such `rates`.
    fn at_rates(rates: StepRates, hoisting: Hoisting, limbs: usize, digit: usize, special: usize) -> Self {
        let digits = limbs.div_ceil(digit.max(1));
        let raised = limbs + special;
        let decompose = rates.raised_limb * (digits * raised - limbs) as f64;
        // As many limbs pass the array as the larger side has.
        let divide = rates.raised_limb * limbs.max(special) as f64;
        let key = rates.key_limb * (digits * raised) as f64;
        // What every step reads, and what is rotated: the ciphertext, or with double hoisting its body times P, over P too.
        let (read, pair, baby, giant) = match hoisting {
            Hoisting::None => (2 * limbs, 2 * limbs, decompose + 2.0 * divide, decompose + 2.0 * divide),
            Hoisting::Single => (2 * limbs, 2 * limbs, 2.0 * divide, decompose + 2.0 * divide),
            Hoisting::Double => (limbs, 2 * raised, 0.0, decompose + divide),
        };
        let sums = rates.limbs_at_hand.saturating_sub(digits * raised + read + pair) / pair;
        Self {
            baby,
            giant,
            diagonal: rates.diagonal_limb * (pair / 2) as f64,
            key,
            beside: rates.automorphism_limb * pair as f64,
            most_giants: Some(sums.max(1)),
            width: None,
        }
    }

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
        let (baby, giant) = match hoisting {
            Hoisting::None => {
                let rotation = decompose + inner + 2.0 * divide;
                (rotation, rotation)
            }
            Hoisting::Single => {
                let baby = inner + 2.0 * divide;
                (baby, decompose + baby)
            }
            Hoisting::Double => (inner + 3.0 * raised * POINTWISE, decompose + inner + divide),
        };
        Self { baby, giant, diagonal: 0.0, key: 0.0, beside: 0.0, most_giants: None, width: None }
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
    /// The cheapest of all power-of-two widths, for the offsets, or of the width that is asked for.
    pub fn choose(offsets: &[i64], costs: BabyStepCosts) -> Self {
        if let Some(width) = costs.width {
            return Self::with_width(offsets, width);
        }
        let cost = |steps: &Self| {
            let count = |steps: &BTreeSet<i64>| steps.iter().filter(|&&step| step != 0).count() as f64;
            let baby = costs.baby + steps.giants.len() as f64 * costs.diagonal;
            let most = |own: f64| own.max(costs.key).max(costs.beside);
            count(&steps.babies) * most(baby) + count(&steps.giants) * most(costs.giant)
        };
        let fits = |steps: &Self| costs.most_giants.is_none_or(|most| steps.giants.len() <= most);
        let candidates = Self::candidates(offsets);
        let fallback = candidates.last().cloned();
        let best = candidates.into_iter().filter(fits).min_by(|a, b| cost(a).total_cmp(&cost(b)));
        best.or(fallback).unwrap_or_else(|| Self::with_width(offsets, 1))
    }

    /// All power-of-two widths, ascending: from the largest that all offsets are multiples of to one that cuts no side of them.
    pub fn candidates(offsets: &[i64]) -> Vec<Self> {
        let reach = offsets.iter().map(|offset| offset.unsigned_abs()).max().unwrap_or(0);
        let stride =
            offsets.iter().filter(|&&offset| offset != 0).map(|offset| offset.trailing_zeros()).min().unwrap_or(0);
        let last = (2 * reach + 1).next_power_of_two().ilog2().max(stride);
        (stride..=last).map(|log| Self::with_width(offsets, 1 << log)).collect()
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
    use crate::rns::parameters;
    use polyfabric_schemes::ckks::sets;

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
    fn the_diagonal_method_has_one_giant_step() {
        let set = sets::parameters("ckks-depth-2").expect("a set");
        let chain = parameters::chain(&set).expect("a chain");
        let choice = RnsLowering { steps: StepRule::Diagonals, ..RnsLowering::new(set.gadget().literal().clone()) };
        let chooser = StepChooser::new(&chain, &choice, 1);
        let period = 32768;
        let mut offsets: Vec<i64> = (-15..=15).map(|offset| chooser.reduced(offset, period)).collect();
        offsets.sort_unstable();
        let steps = chooser.steps(&offsets, period as usize);
        assert_eq!((steps.giants.iter().collect::<Vec<_>>(), steps.babies.len()), (vec![&0], 31));
        for offset in -15..=15i64 {
            let (giant, baby) = steps.split(chooser.reduced(offset, period));
            assert_eq!((giant, baby), (0, offset.rem_euclid(period)));
        }
    }

    #[test]
    fn cheaper_babies_make_more_of_them() {
        let offsets: Vec<i64> = (0..64).collect();
        let babies = |hoisting| Steps::choose(&offsets, BabyStepCosts::new(hoisting, 25, 5, 5)).babies.len();
        assert_eq!(babies(Hoisting::None), 8);
        assert!(babies(Hoisting::Single) >= 8 && babies(Hoisting::Double) >= babies(Hoisting::Single));
        // Keys that take longer than all else are the same for every step; diagonals that do not hide them want fewer babies.
        let base = BabyStepCosts::new(Hoisting::Double, 25, 5, 5);
        let steps = |key| {
            let costs = BabyStepCosts { diagonal: 1.0, baby: 0.0, giant: 200.0, key, ..base };
            Steps::choose(&offsets, costs).babies.len()
        };
        assert!(steps(0.0) > steps(100.0), "{} and {}", steps(0.0), steps(100.0));
        let wide = BabyStepCosts { width: Some(16), ..base };
        assert_eq!(Steps::choose(&offsets, wide).babies.len(), 16);
        let few = BabyStepCosts { most_giants: Some(2), ..BabyStepCosts::new(Hoisting::None, 25, 5, 5) };
        assert_eq!(Steps::choose(&offsets, few).giants.len(), 2);
    }
}
