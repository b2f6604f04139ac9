//! The meaning of a schedule's values and operations, for the audit.

use super::chip::Does;
use super::schedule::Scheduled;
use super::tasks::{Half, Kernel, Pointwise, Residue, inverse_of_product, read_at_once};
use crate::rns::function::Function;
use crate::rns::leaf::{Leaf, LeafSubpolynomial};
use crate::rns::meaning::Meaning;
use crate::rns::step::{Step, Sum, Term};
use crate::rns::subpolynomials::Subpolynomials;
use polyfabric_kernels::modular::Modulus;
use polyfabric_program::rns::kernel::{KernelProgram, LimbSet};
use polyfabric_schemes::rns::{LimbId, Part};
use polyfabric_sim::schedule::{OpRef, Value};
use std::collections::{HashMap, HashSet};

pub struct Names<'a> {
    scheduled: &'a Scheduled,
    program: &'a KernelProgram,
    /// Index of each stream's first vector, then the total.
    streams: Vec<usize>,
    outputs: HashSet<Residue>,
}

fn times(factor: u64, a: usize) -> Term {
    Term { factor, a, b: None }
}

fn product(a: usize, b: usize) -> Term {
    Term { factor: 1, a, b: Some(b) }
}

impl<'a> Names<'a> {
    pub fn new(scheduled: &'a Scheduled, program: &'a KernelProgram) -> Self {
        let mut next = scheduled.tasks.leaves.len();
        let mut streams = vec![next];
        for &limbs in &scheduled.streams {
            next += usize::from(limbs);
            streams.push(next);
        }
        let outputs = scheduled.tasks.outputs.iter().flatten().map(|&(_, residue)| residue).collect();
        Self { scheduled, program, streams, outputs }
    }

    fn name(&self, residue: Residue) -> Value {
        self.scheduled.chip.value(&self.scheduled.tasks, residue)
    }

    /// The limb with value `value`.
    fn residue(&self, value: Value) -> Option<Residue> {
        let known = (value.index as usize) < self.scheduled.tasks.leaves.len();
        known.then_some(Residue(value.index)).filter(|&residue| self.name(residue) == value)
    }

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
}

impl Meaning for Names<'_> {
    fn step(&self, op: OpRef) -> Option<Step> {
        let task = self.scheduled.tasks.tasks.get(op.body_op as usize)?;
        let kernel = task.kernel.of_event(self.scheduled.tiling, op.iteration)?;
        Some(match (&*kernel, self.scheduled.chip.kinds.does(op.kind)) {
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

    fn composites(&self) -> bool {
        true
    }

    fn values(&self) -> usize {
        self.streams.last().copied().unwrap_or(0)
    }

    fn number(&self, value: Value) -> Option<usize> {
        match self.scheduled.chip.stream_number(value) {
            Some(number) => self.streams[..self.streams.len() - 1].get(number).copied(),
            None => self.residue(value).map(|residue| residue.0 as usize),
        }
    }

    fn vectors(&self, value: Value) -> usize {
        let number = self.scheduled.chip.stream_number(value);
        number.and_then(|number| self.scheduled.streams.get(number)).map_or(1, |&limbs| usize::from(limbs))
    }

    fn leaf(&self, value: Value) -> Option<LeafSubpolynomial> {
        let number = self.number(value)?;
        let leaf = self.scheduled.tasks.leaves.get(number).copied().flatten()?;
        Some(LeafSubpolynomial { leaf, subpolynomial: 0 })
    }

    fn output(&self, output: usize, position: usize, _subpolynomial: usize) -> Option<Value> {
        let &(_, residue) = self.scheduled.tasks.outputs.get(output)?.get(position)?;
        Some(self.name(residue))
    }

    fn is_output(&self, value: Value) -> bool {
        let limb = self.scheduled.chip.stream_number(value).is_none().then(|| self.residue(value)).flatten();
        limb.is_some_and(|residue| self.outputs.contains(&residue))
    }

    fn subpolynomials(&self) -> Subpolynomials {
        Subpolynomials::new(self.program.degree, self.program.degree)
    }
}
