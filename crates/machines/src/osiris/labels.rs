//! The labels of a schedule's values and events.

use super::chip::{Chip, Does};
use super::machine::Tiling;
use super::schedule::Scheduled;
use super::tasks::{Half, Kernel, Pointwise, Residue, Tasks, inverse_of_product, read_at_once};
use crate::rns::function::Function;
use crate::rns::labels::Labels;
use crate::rns::leaf::{Leaf, LeafSubpolynomial};
use crate::rns::step::{Step, Sum, Term};
use crate::rns::subpolynomials::Subpolynomials;
use polyfabric_kernels::modular::Modulus;
use polyfabric_program::rns::kernel::{KernelProgram, LimbSet};
use polyfabric_schemes::rns::{LimbId, Part};
use polyfabric_sim::schedule::{Item, OpRef};
use std::collections::HashMap;

/// The labels of `scheduled`. Its events, so far with a task and a part, get the number of their step, and its streams that of their first
/// limb.
pub fn labelled(scheduled: &mut Scheduled, program: &KernelProgram) -> Labels {
    let Scheduled { schedule, chip, tasks, streams, tiling, .. } = scheduled;
    let (mut vectors, mut firsts) = (tasks.leaves.len(), Vec::with_capacity(streams.len()));
    for &limbs in &*streams {
        firsts.push(vectors as u32);
        vectors += usize::from(limbs);
    }
    let (steps, mut known) = (Steps { chip, tasks, tiling: *tiling, program }, HashMap::new());
    for item in &mut schedule.items {
        let Item::Event(event) = item else { continue };
        if let Some(step) = steps.step(event.op) {
            let next = known.len() as u32;
            event.op.body_op = *known.entry(step).or_insert(next);
        }
        for access in event.reads.iter_mut().chain(&mut event.writes) {
            if access.value.class == chip.classes.stream {
                access.value.index = firsts[access.value.index as usize];
            }
        }
    }
    let mut steps: Vec<(Step, u32)> = known.into_iter().collect();
    steps.sort_unstable_by_key(|&(_, number)| number);
    let leaf = |leaf: &Option<Leaf>| leaf.map(|leaf| LeafSubpolynomial { leaf, subpolynomial: 0 });
    let output =
        |limbs: &Vec<(LimbId, Residue)>| limbs.iter().map(|&(_, residue)| chip.value(tasks, residue)).collect();
    Labels {
        steps: steps.into_iter().map(|(step, _)| step).collect(),
        composites: true,
        vectors,
        streams: firsts.into_iter().zip(streams.iter().copied()).collect(),
        first_leaf: 0,
        leaves: tasks.leaves.iter().map(leaf).collect(),
        outputs: tasks.outputs.iter().map(output).collect(),
        subpolynomials: Subpolynomials::new(program.degree, program.degree),
    }
}

struct Steps<'a> {
    chip: &'a Chip,
    tasks: &'a Tasks,
    tiling: Tiling,
    program: &'a KernelProgram,
}

fn times(factor: u64, a: usize) -> Term {
    Term { factor, a, b: None }
}

fn product(a: usize, b: usize) -> Term {
    Term { factor: 1, a, b: Some(b) }
}

impl Steps<'_> {
    fn modulus(&self, limb: LimbId) -> Modulus {
        self.program.modulus(limb)
    }

    /// The sum that the Hadamard unit computes for one limb; `at` are the operands' indices among the reads.
    fn pointwise(&self, limb: LimbId, what: Pointwise, at: &[usize]) -> Sum {
        let minus_one = self.modulus(limb).neg(1);
        let (terms, addend) = match what {
            Pointwise::Add => (vec![times(1, at[0]), times(1, at[1])], 0),
            Pointwise::Subtract => (vec![times(1, at[0]), times(minus_one, at[1])], 0),
            Pointwise::Negate => (vec![times(minus_one, at[0])], 0),
            Pointwise::Multiply => (vec![product(at[0], at[1])], 0),
            Pointwise::MultiplyAdd => (vec![product(at[0], at[1]), times(1, at[2])], 0),
            Pointwise::Scale(factor) => (vec![times(factor, at[0])], 0),
            Pointwise::AddConstant(addend) => (vec![times(1, at[0])], addend),
        };
        Sum { limb: limb.0, terms, addend }
    }

    /// The sums of each polynomial, limb by limb.
    fn halves(&self, limbs: &LimbSet, what: &[Pointwise], diagonal: bool, halves: &[Half]) -> Vec<Sum> {
        // A diagonal from an NTT unit is the first read, on the wire.
        let behind = if diagonal { limbs.len() } else { 0 };
        let places: HashMap<Residue, usize> =
            read_at_once(halves).into_iter().enumerate().map(|(place, residue)| (residue, behind + place)).collect();
        let mut sums = Vec::new();
        for (position, (limb, &what)) in limbs.iter().zip(what).enumerate() {
            for half in halves {
                let of = |operand: &Vec<Residue>| operand.get(position).map_or(position, |residue| places[residue]);
                let at: Vec<usize> = half.operands.iter().map(of).collect();
                sums.push(self.pointwise(limb, what, &at));
            }
        }
        sums
    }

    /// (kept − remainder) / (product of the dropped limbs); the remainders are the first reads.
    fn division(
        &self,
        dropped: impl Iterator<Item = LimbId> + Clone,
        targets: impl ExactSizeIterator<Item = LimbId>,
    ) -> Vec<Sum> {
        let count = targets.len();
        let of = |(place, limb): (usize, LimbId)| {
            let modulus = self.modulus(limb);
            let factor = inverse_of_product(modulus, dropped.clone().map(|limb| self.modulus(limb)));
            let terms = vec![times(factor, count + place), times(modulus.neg(factor), place)];
            Sum { limb: limb.0, terms, addend: 0 }
        };
        targets.enumerate().map(of).collect()
    }

    /// The step of an event that computes.
    fn step(&self, op: OpRef) -> Option<Step> {
        let task = self.tasks.tasks.get(op.body_op as usize)?;
        let kernel = task.kernel.of_event(self.tiling, op.iteration)?;
        Some(match (&*kernel, self.chip.kinds.does(op.kind)) {
            (Kernel::ModChange { sources, targets, conversion, factor, .. }, does) => {
                let from = LimbSet::new(sources.iter().map(|&(limb, _)| limb));
                let to = LimbSet::new(targets.iter().copied());
                match does {
                    Does::Inverse => Step::Transforms { inverse: true, limbs: from },
                    Does::Conversion => Step::Conversion { from, to, conversion: *conversion, factor: *factor },
                    Does::Forward => Step::Transforms { inverse: false, limbs: to },
                    Does::Division => {
                        let dropped = sources.iter().map(|&(limb, _)| limb);
                        Step::Sums(self.division(dropped, targets.iter().copied()))
                    }
                    _ => return None,
                }
            }
            (Kernel::Inverse { sources, .. }, Does::Inverse) => {
                Step::Transforms { inverse: true, limbs: LimbSet::new(sources.iter().map(|&(limb, _)| limb)) }
            }
            (Kernel::Convert { sources, targets, conversion, factor, .. }, Does::Conversion) => Step::Conversion {
                from: LimbSet::new(sources.iter().map(|&(limb, _)| limb)),
                to: LimbSet::new(targets.iter().copied()),
                conversion: *conversion,
                factor: *factor,
            },
            (Kernel::Forward { targets, .. }, Does::Forward) => {
                Step::Transforms { inverse: false, limbs: LimbSet::new(targets.iter().map(|&(limb, _)| limb)) }
            }
            (Kernel::Forward { targets, division: Some((_, dropped)), .. }, Does::Division) => {
                Step::Sums(self.division(dropped.iter().copied(), targets.iter().map(|&(limb, _)| limb)))
            }
            (Kernel::KeyProduct { key, limb, terms, .. }, Does::Masks) => {
                let &(row, ..) = terms.get(op.iteration as usize)?;
                let leaf = Leaf::Hint { key: *key, row, part: Part::Mask, limb: *limb };
                Step::Generated(LeafSubpolynomial { leaf, subpolynomial: 0 })
            }
            (Kernel::KeyProduct { limb, terms, .. }, Does::InnerProduct) => {
                // Digits and bodies alternate; the masks follow.
                let count = terms.len();
                let body = (0..count).map(|term| product(2 * term, 2 * term + 1)).collect();
                let mask = (0..count).map(|term| product(2 * term, 2 * count + term)).collect();
                Step::Sums([body, mask].map(|terms| Sum { limb: limb.0, terms, addend: 0 }).into())
            }
            (Kernel::Pointwise { limbs, what, diagonal, halves }, Does::Pointwise | Does::Both) => {
                Step::Sums(self.halves(limbs, what, diagonal.is_some(), halves))
            }
            (Kernel::Pointwise { limbs, diagonal: Some(diagonal), .. }, Does::Extension) => {
                Step::Extension { plaintext: diagonal.plaintext, from: diagonal.from, to: limbs.clone() }
            }
            (Kernel::Automorphism { limb, element, .. }, Does::Automorphism) => Step::One(Function::Automorphism {
                limb: limb.0,
                element: element.value() as u32,
                subpolynomial: 0,
                values: true,
            }),
            _ => return None,
        })
    }
}
