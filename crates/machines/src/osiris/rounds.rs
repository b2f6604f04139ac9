//! A body of a program that repeats, scheduled once, with values for every round.
//!
//! Results, streams and public polynomials of a round have values with the round's index. An operand from the
//! previous round has the value of its producer; in the first round it has the value of an input. Key limbs
//! that all rounds read have the same value in all.

use super::arithmetic::Units;
use super::machine::Osiris;
use super::meaning::Names;
use super::schedule::{Scheduled, schedule};
use super::tasks::{MapError, Residue};
use crate::rns::arithmetic::{Arithmetic, ReplayError};
use crate::rns::leaf::Leaf;
use crate::rns::meaning::Meaning;
use crate::rns::rounds::{MappedBody, SharedKeys};
use polyfabric_program::rns::kernel::KernelProgram;
use polyfabric_sim::schedule::{Item, Resources, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// A body mapped to the machine.
#[derive(Debug)]
pub struct Body {
    /// Its schedule; the events are in `items` instead.
    pub scheduled: Scheduled,
    pub program: Arc<KernelProgram>,
    /// Cycles from its first load to its last store.
    pub cycles: u64,
    /// The values of the limbs in round 0: as a program's first round, and as a later one.
    forms: [Form; 2],
    /// Events in order of the schedule, with the values of later rounds.
    items: Arc<Vec<Item>>,
}

/// The values of the limbs in round 0.
#[derive(Debug)]
pub struct Form {
    /// By residue.
    pub names: Vec<Value>,
    /// The inverse of `names`.
    pub residues: HashMap<Value, u32>,
}

impl Body {
    /// `program` as a body; `own` selects the keys that differ between rounds.
    pub fn new(
        machine: &Osiris,
        program: &Arc<KernelProgram>,
        own: &dyn Fn(&Leaf) -> bool,
        keys: &mut SharedKeys,
    ) -> Result<Self, MapError> {
        let mut scheduled = schedule(machine, program)?;
        let cycles = scheduled.schedule.cycles().max(0) as u64;
        let [first, other] = [true, false].map(|first| form(&scheduled, program, first, own, keys));
        let forms = [first?, other?];
        let items = std::mem::take(&mut scheduled.schedule.items);
        let name = |own: Value| match scheduled.chip.stream_number(own) {
            Some(_) => Some(Value { ciphertext: 0, ..own }),
            None => forms[1].names.get(own.index as usize).copied(),
        };
        let items = Arc::new(renamed(items, name));
        Ok(Self { scheduled, program: Arc::clone(program), cycles, forms, items })
    }

    /// The values of a program's first round, or of later rounds.
    pub fn form(&self, first: bool) -> &Form {
        &self.forms[usize::from(!first)]
    }
}

/// The events of `items` in round 0, with the values that `name` gives.
fn renamed(mut items: Vec<Item>, name: impl Fn(Value) -> Option<Value>) -> Vec<Item> {
    for item in &mut items {
        let Item::Event(event) = item else { continue };
        event.op.ciphertext = 0;
        for access in event.reads.iter_mut().chain(&mut event.writes) {
            access.value = name(access.value).unwrap_or(access.value);
        }
    }
    items
}

fn form(
    scheduled: &Scheduled,
    program: &KernelProgram,
    first: bool,
    own: &dyn Fn(&Leaf) -> bool,
    keys: &mut SharedKeys,
) -> Result<Form, MapError> {
    let (chip, tasks) = (&scheduled.chip, &scheduled.tasks);
    // The limbs of all parts are numbered consecutively.
    let mut inputs: Vec<(u32, _)> = Vec::new();
    let mut next = 0;
    for (.., value) in program.inputs() {
        inputs.push((next, &value.limbs));
        next += value.limbs.len() as u32;
    }
    let mut given: HashMap<Residue, u32> = HashMap::new();
    for (number, &(_, residue)) in (0..).zip(tasks.outputs.iter().flatten()) {
        let again = given.insert(residue, number).is_some();
        if again || tasks.leaves[residue.0 as usize].is_some() {
            return Err(MapError::Given { output: program.outputs[0].name.to_string() });
        }
    }
    let name = |(index, leaf): (u32, &Option<Leaf>)| {
        let residue = Residue(index);
        let of_round = Value { ciphertext: 0, ..chip.value(tasks, residue) };
        match leaf {
            Some(Leaf::Input { index, limb }) => {
                let (from, limbs) = inputs[*index];
                let number = from + limbs.position(*limb).unwrap_or(0) as u32;
                if first { chip.input(number) } else { chip.carried(number, false) }
            }
            Some(leaf @ Leaf::Hint { .. }) if !own(leaf) => chip.shared_key(keys.number(*leaf)),
            Some(_) => of_round,
            None => given.get(&residue).map_or(of_round, |&number| chip.carried(number, true)),
        }
    };
    let names: Vec<Value> = (0..).zip(&tasks.leaves).map(name).collect();
    let residues = names.iter().copied().zip(0..).collect();
    Ok(Form { names, residues })
}

impl MappedBody for Body {
    fn meaning(&self, first: bool) -> Box<dyn Meaning + '_> {
        Box::new(Names::of_round(self, first))
    }

    fn items(&self, first: bool) -> Arc<Vec<Item>> {
        let [of_first, other] = &self.forms;
        let name = |name| of_first.names.get(*other.residues.get(&name)? as usize).copied();
        if first { Arc::new(renamed(self.items.to_vec(), name)) } else { Arc::clone(&self.items) }
    }

    fn cycles(&self) -> u64 {
        self.cycles
    }

    fn resources(&self) -> &Resources {
        &self.scheduled.schedule.resources
    }

    fn arithmetic(&self) -> Result<Box<dyn Arithmetic + '_>, ReplayError> {
        Ok(Box::new(Units::new(&self.scheduled, &self.program)?))
    }
}
