//! The compiled schedule carried out on real residues, action by action in the order of time.
//!
//! Products are the multiplier's own (section 5.3), transforms the four-step unit's (section 5.2) where a polynomial is one vector that
//! the unit takes. Between instructions vectors keep the order that the project's transforms give; the order in which a unit
//! streams them is what [`super::units`] shows.

use super::action::{Action, Destination, Register, Slot, Source, Timed};
use super::checker::{Moment, Violation, in_time_order};
use super::graph::{Function, Graph};
use super::machine::{F1, Geometry};
use super::pieces::Pieces;
use polyfabric_kernels::automorphism::{GaloisElement, GaloisElementError};
use polyfabric_kernels::modular::{Modulus, PrimeForm, PrimeFormError};
use polyfabric_kernels::ntt::four_step::FourStep;
use polyfabric_kernels::ntt::{EvaluationOrder, Ntt, NttError};
use polyfabric_schemes::rns::MissingKey;
use std::collections::HashMap;
use std::sync::Arc;

/// Residues of one vector.
pub type Words = Arc<[u64]>;

/// Gives the words of a leaf, by index.
pub type Leaves<'a> = &'a dyn Fn(usize) -> Result<Words, ReplayError>;

/// Why a schedule cannot be carried out.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The schedule does not hold.
    #[error(transparent)]
    Schedule(#[from] Violation),
    /// A modulus has no transform of the ring.
    #[error(transparent)]
    Ntt(#[from] NttError),
    /// A modulus is none of the multiplier's.
    #[error(transparent)]
    Prime(#[from] PrimeFormError),
    /// A permutation that is no automorphism.
    #[error(transparent)]
    Element(#[from] GaloisElementError),
    /// A switching key is missing.
    #[error(transparent)]
    Key(#[from] MissingKey),
    /// A switching key has not the limbs that the program reads.
    #[error("a switching key has no limb {limb}; make the program's own keys")]
    Hint {
        /// Limb.
        limb: usize,
    },
    /// An input that does not suit the program.
    #[error("input {index} has no limb {limb} of the program's ring; give the program's inputs, in order")]
    Input {
        /// Which of the program's inputs.
        index: usize,
        /// Limb.
        limb: usize,
    },
    /// A place is read that nothing was written to. The checker refuses such schedules.
    #[error("cycle {cycle}: a place is read that nothing was written to; check the schedule first")]
    Empty {
        /// Cycle.
        cycle: u64,
    },
}

/// A limb's units.
struct LimbUnits {
    modulus: Modulus,
    multiplier: PrimeForm,
    transform: Ntt<u64>,
    /// None where a polynomial is several vectors, or too short for the lanes.
    four_step: Option<FourStep>,
}

impl LimbUnits {
    fn forward(&self, pieces: Pieces, piece: usize, words: Vec<u64>) -> Vec<u64> {
        match &self.four_step {
            Some(unit) => {
                unit.order().convert(EvaluationOrder::BitReversed, self.transform.degree(), &unit.forward(&words))
            }
            None => pieces.forward(&self.transform, piece, words),
        }
    }

    fn inverse(&self, pieces: Pieces, piece: usize, values: &[u64]) -> Vec<u64> {
        match &self.four_step {
            Some(unit) => {
                let degree = self.transform.degree();
                let values = EvaluationOrder::BitReversed.convert(unit.order(), degree, values);
                unit.order().convert(EvaluationOrder::Natural, degree, &unit.inverse(&values))
            }
            None => pieces.inverse(&self.transform, piece, values.to_vec()),
        }
    }
}

struct Replay<'a> {
    graph: &'a Graph,
    geometry: &'a Geometry,
    pieces: Pieces,
    limbs: Vec<LimbUnits>,
    registers: HashMap<Register, Words>,
    slots: HashMap<Slot, Words>,
    memory: HashMap<u32, Words>,
}

/// Carries out `actions` on the words of the leaves (`leaf`, by index); the words of [`Graph::outputs`], in order.
///
/// # Errors
/// [`ReplayError`] if the schedule does not hold, or a modulus has no units.
pub fn replay(
    graph: &Graph,
    actions: &[Timed],
    machine: &F1,
    geometry: &Geometry,
    moduli: &[Modulus],
    leaf: Leaves<'_>,
) -> Result<Vec<Words>, ReplayError> {
    let pieces = geometry.pieces();
    let limb = |&modulus: &Modulus| {
        let (multiplier, transform) = (PrimeForm::new(modulus)?, pieces.transform(modulus)?);
        let four_step = (pieces.count() == 1).then(|| FourStep::new(geometry.degree, modulus, machine.lanes).ok());
        Ok::<_, ReplayError>(LimbUnits { modulus, multiplier, transform, four_step: four_step.flatten() })
    };
    let mut replay = Replay {
        graph,
        geometry,
        pieces,
        limbs: moduli.iter().map(limb).collect::<Result<_, _>>()?,
        registers: HashMap::new(),
        slots: HashMap::new(),
        memory: HashMap::new(),
    };
    let mut carried: HashMap<usize, Words> = HashMap::new();
    let mut under_way: HashMap<usize, [Option<Words>; 2]> = HashMap::new();
    for (cycle, moment, index) in in_time_order(graph, actions, machine, geometry)? {
        let action = actions[index].action;
        match moment {
            Moment::Depart => drop(under_way.insert(index, replay.depart(action))),
            Moment::Start => {
                let streamed = under_way.remove(&index).unwrap_or_default();
                let words = replay.read(action, streamed, leaf)?.ok_or(ReplayError::Empty { cycle })?;
                carried.insert(index, words);
            }
            Moment::Leave => {}
            Moment::Write => {
                if let Some(words) = carried.remove(&index) {
                    replay.write(action, words);
                }
            }
        }
    }
    let outputs = graph.outputs().iter().map(|&output| match output.as_leaf() {
        Some(index) => leaf(index),
        None => {
            let value = graph.number(output) as u32;
            replay.memory.get(&value).cloned().ok_or(ReplayError::Schedule(Violation::Lost { value }))
        }
    });
    outputs.collect()
}

impl Replay<'_> {
    /// What leaves the scratchpad or another cluster for a unit.
    fn depart(&self, action: Action) -> [Option<Words>; 2] {
        let Action::Execute { operands, .. } = action else { return [None, None] };
        operands.map(|operand| match operand {
            Source::Register(_) => None,
            Source::Scratchpad(slot) => self.slots.get(&slot).cloned(),
            Source::Cluster(from) => self.registers.get(&from).cloned(),
        })
    }

    fn read(
        &self,
        action: Action,
        streamed: [Option<Words>; 2],
        leaf: Leaves<'_>,
    ) -> Result<Option<Words>, ReplayError> {
        Ok(match action {
            Action::Load { value, .. } => match self.graph.vector(value as usize).as_leaf() {
                Some(index) => Some(leaf(index)?),
                None => self.memory.get(&value).cloned(),
            },
            Action::Store { slot, .. } | Action::Fetch { slot, .. } => self.slots.get(&slot).cloned(),
            Action::WriteBack { register, .. } | Action::Forward { from: register, .. } => {
                self.registers.get(&register).cloned()
            }
            Action::Execute { instruction, cluster, operands, .. } => {
                let operand = |position: usize| match operands[position] {
                    Source::Register(index) => self.registers.get(&Register { cluster, index }),
                    _ => streamed[position].as_ref(),
                };
                let (Some(a), Some(b)) = (operand(0), operand(1)) else { return Ok(None) };
                Some(self.execute(self.graph.function(instruction as usize), a, b)?)
            }
        })
    }

    fn write(&mut self, action: Action, words: Words) {
        match action {
            Action::Load { slot, .. } | Action::WriteBack { slot, .. } => {
                self.slots.insert(slot, words);
            }
            Action::Store { value, .. } => {
                self.memory.insert(value, words);
            }
            Action::Fetch { register, .. } | Action::Forward { to: register, .. } => {
                self.registers.insert(register, words);
            }
            Action::Execute { cluster, result: Destination::Register(index), .. } => {
                self.registers.insert(Register { cluster, index }, words);
            }
            Action::Execute { result: Destination::Scratchpad(slot), .. } => {
                self.slots.insert(slot, words);
            }
        }
    }

    /// What the unit gives. Elements of another limb's modulus are reduced on their way in where the function says so.
    fn execute(&self, function: Function, a: &[u64], b: &[u64]) -> Result<Words, ReplayError> {
        let units = |limb: u16| &self.limbs[usize::from(limb)];
        let pairs = |f: &dyn Fn(u64, u64) -> u64| a.iter().zip(b).map(|(&a, &b)| f(a, b)).collect();
        Ok(match function {
            Function::ForwardNtt { limb, piece } => {
                let units = units(limb);
                let words: Vec<u64> = a.iter().map(|&word| units.modulus.reduce(word)).collect();
                units.forward(self.pieces, usize::from(piece), words).into()
            }
            Function::InverseNtt { limb, piece } => units(limb).inverse(self.pieces, usize::from(piece), a).into(),
            Function::Automorphism { limb, element, piece, values } => {
                let element = GaloisElement::new(self.geometry.degree, element as usize)?;
                match values {
                    true => self.pieces.permute(element, usize::from(piece), a).into(),
                    false => {
                        let mut words = vec![0; a.len()];
                        element.apply(units(limb).modulus, a, &mut words);
                        words.into()
                    }
                }
            }
            Function::Multiply { limb } => {
                let multiplier = units(limb).multiplier;
                pairs(&|a, b| multiplier.multiply(multiplier.enter(a), b))
            }
            Function::MultiplyConstant { limb, constant } => {
                let LimbUnits { modulus, multiplier, .. } = units(limb);
                let entered = multiplier.enter(u64::from(constant));
                a.iter().map(|&word| multiplier.multiply(entered, modulus.reduce(word))).collect()
            }
            Function::Add { limb } => pairs(&|a, b| units(limb).modulus.add(a, b)),
            Function::Subtract { limb } => pairs(&|a, b| units(limb).modulus.sub(a, b)),
            Function::Negate { limb } => a.iter().map(|&word| units(limb).modulus.neg(word)).collect(),
            Function::AddConstant { limb, constant } => {
                let modulus = units(limb).modulus;
                a.iter().map(|&word| modulus.add(modulus.reduce(word), u64::from(constant))).collect()
            }
        })
    }
}
