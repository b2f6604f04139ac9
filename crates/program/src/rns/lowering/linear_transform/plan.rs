//! Chooses baby steps and giant steps.

use super::{Hoisting, MatrixProduct, RnsLowering, StepRates, StepRule};
use crate::rns::levels::Chain;
use std::collections::BTreeSet;

/// Chooses the steps of matrices for ciphertexts of one level.
#[derive(Clone, Copy, Debug)]
pub struct StepChooser<'a> {
    chain: &'a Chain,
    choice: &'a RnsLowering,
    level: usize,
}

impl<'a> StepChooser<'a> {
    /// Uses the rule of `choice` for ciphertexts at `level` of `chain`.
    pub fn new(chain: &'a Chain, choice: &'a RnsLowering, level: usize) -> Self {
        Self { chain, choice, level }
    }

    /// The representative of an offset modulo `period`: the one nearest to 0, for the fewest runs of offsets. With the diagonal method, the
    /// nonnegative one, so that all offsets form one run.
    pub fn reduced(&self, offset: i64, period: i64) -> i64 {
        let least = if self.choice.steps == StepRule::Diagonals { 0 } else { 1 - period / 2 };
        (offset - least).rem_euclid(period) + least
    }

    /// The steps for ascending, [reduced](Self::reduced) `offsets` of vectors of period `period`.
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

/// Costs of a linear transform's steps, in any common unit.
///
/// A baby step costs the maximum of three concurrent parts: its rotation with its diagonals (one per giant step), its key, and the work
/// on another unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BabyStepCosts {
    /// A rotation by a baby step.
    pub baby: f64,
    /// A rotation of a sum by a giant step.
    pub giant: f64,
    /// A diagonal, if it occupies the same unit as rotations.
    pub diagonal: f64,
    /// Loading a key, concurrently.
    pub key: f64,
    /// Concurrent work of a step on another unit.
    pub other_unit: f64,
    /// Maximum number of giant steps with live sums; `None` for no limit.
    pub most_giants: Option<usize>,
    /// Fixed width of the runs of offsets; `None` for the cheapest.
    pub width: Option<i64>,
}

impl BabyStepCosts {
    /// The costs for `choice` and a ciphertext of `limbs` limbs; word products if steps are searched for or no rates are known.
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

    /// The costs on a machine with `rates`.
    fn at_rates(rates: StepRates, hoisting: Hoisting, limbs: usize, digit: usize, special: usize) -> Self {
        let digits = limbs.div_ceil(digit.max(1));
        let raised = limbs + special;
        let decompose = rates.raised_limb * (digits * raised - limbs) as f64;
        // The larger side of the conversion determines the limbs through the array.
        let divide = rates.raised_limb * limbs.max(special) as f64;
        let key = rates.key_limb * (digits * raised) as f64;
        // Inputs of a step, and the rotated ciphertext; with double hoisting its body times P, over Q and P.
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
            other_unit: rates.automorphism_limb * pair as f64,
            most_giants: Some(sums.max(1)),
            width: None,
        }
    }

    /// The costs in transforms of one limb, with a pointwise product or sum counted as a tenth. The ciphertext has `limbs` limbs, digits
    /// have `digit` limbs, and there are `special` special primes.
    pub fn new(hoisting: Hoisting, limbs: usize, digit: usize, special: usize) -> Self {
        const POINTWISE: f64 = 0.1;
        let (limbs, digit, special) = (limbs as f64, digit.max(1) as f64, special as f64);
        let digits = (limbs / digit).ceil();
        let raised = limbs + special;
        // Each limb of the digits is transformed once, and each digit's limbs are multiplied for all other limbs.
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
        Self { baby, giant, diagonal: 0.0, key: 0.0, other_unit: 0.0, most_giants: None, width: None }
    }
}

/// The steps of a transform; each offset is a giant step plus a baby step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Steps {
    /// Offsets are divided into runs of this width: baby steps are from 0 to `width` − 1.
    pub width: i64,
    pub babies: BTreeSet<i64>,
    pub giants: BTreeSet<i64>,
}

impl Steps {
    /// The cheapest power-of-two width for the offsets, or the fixed width.
    pub fn choose(offsets: &[i64], costs: BabyStepCosts) -> Self {
        if let Some(width) = costs.width {
            return Self::with_width(offsets, width);
        }
        let cost = |steps: &Self| {
            let count = |steps: &BTreeSet<i64>| steps.iter().filter(|&&step| step != 0).count() as f64;
            let baby = costs.baby + steps.giants.len() as f64 * costs.diagonal;
            let most = |own: f64| own.max(costs.key).max(costs.other_unit);
            count(&steps.babies) * most(baby) + count(&steps.giants) * most(costs.giant)
        };
        let fits = |steps: &Self| costs.most_giants.is_none_or(|most| steps.giants.len() <= most);
        let candidates = Self::candidates(offsets);
        let fallback = candidates.last().cloned();
        let best = candidates.into_iter().filter(fits).min_by(|a, b| cost(a).total_cmp(&cost(b)));
        best.or(fallback).unwrap_or_else(|| Self::with_width(offsets, 1))
    }

    /// All power-of-two widths in ascending order: from the largest common divisor of the offsets to one that exceeds them all.
    pub fn candidates(offsets: &[i64]) -> Vec<Self> {
        let reach = offsets.iter().map(|offset| offset.unsigned_abs()).max().unwrap_or(0);
        let stride =
            offsets.iter().filter(|&&offset| offset != 0).map(|offset| offset.trailing_zeros()).min().unwrap_or(0);
        let last = (2 * reach + 1).next_power_of_two().ilog2().max(stride);
        (stride..=last).map(|log| Self::with_width(offsets, 1 << log)).collect()
    }

    /// The steps with runs of `width` offsets.
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
    //! Do the steps reach every offset at the least cost?

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
        // If keys dominate, every step costs the same; diagonals that exceed them favor fewer baby steps.
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
