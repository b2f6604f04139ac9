//! A body of a program that repeats, scheduled once, with values for every round.
//!
//! Results, streams and public polynomials of a round have values with the round's index. An operand from the
//! previous round has the value of its producer; in the first round it has the value of an input. Key limbs
//! that all rounds read have the same value in all.

use super::machine::Osiris;
use super::meaning::Names;
use super::schedule::{Scheduled, schedule};
use super::tasks::{MapError, Residue};
use crate::audit::rns::rounds::BodyMeaning;
use crate::rns::leaf::Leaf;
use crate::rns::meaning::Meaning;
use crate::rns::rounds::SharedKeys;
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
    /// By residue, the values of the limbs in round 0: as a program's first round, and as a later one.
    names: [Vec<Value>; 2],
    /// The inverse of `names`.
    residues: [HashMap<Value, u32>; 2],
    /// Events in order of the schedule, with the values of later rounds.
    items: Arc<Vec<Item>>,
}

/// Index for a first round, or for later ones.
fn form(first: bool) -> usize {
    usize::from(!first)
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
        let names = [true, false].map(|first| names(&scheduled, program, first, own, keys));
        let [first, other] = names;
        let names = [first?, other?];
        let residues = [0, 1].map(|form| (0..).zip(&names[form]).map(|(residue, &name)| (name, residue)).collect());
        let items = std::mem::take(&mut scheduled.schedule.items);
        let mut body = Self { scheduled, program: Arc::clone(program), cycles, names, residues, items: Arc::default() };
        body.items = Arc::new(body.renamed(items, |body, own| body.name(false, own)));
        Ok(body)
    }

    fn renamed(&self, mut items: Vec<Item>, name: impl Fn(&Self, Value) -> Option<Value>) -> Vec<Item> {
        for item in &mut items {
            let Item::Event(event) = item else { continue };
            event.op.ciphertext = 0;
            for access in event.reads.iter_mut().chain(&mut event.writes) {
                // Every value of the schedule has a replacement.
                access.value = name(self, access.value).unwrap_or(access.value);
            }
        }
        items
    }

    /// The events of a program's first round, or of later rounds.
    pub fn items(&self, first: bool) -> Arc<Vec<Item>> {
        match first {
            false => Arc::clone(&self.items),
            true => Arc::new(self.renamed(self.items.to_vec(), |body, name| body.name(true, body.own(false, name)?))),
        }
    }

    pub fn resources(&self) -> &Resources {
        &self.scheduled.schedule.resources
    }

    /// The limb with value `name`; `None` for a stream.
    pub fn residue(&self, first: bool, name: Value) -> Option<Residue> {
        self.residues[form(first)].get(&name).copied().map(Residue)
    }
}

/// The value of every limb in round 0.
fn names(
    scheduled: &Scheduled,
    program: &KernelProgram,
    first: bool,
    own: &dyn Fn(&Leaf) -> bool,
    keys: &mut SharedKeys,
) -> Result<Vec<Value>, MapError> {
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
    Ok((0..).zip(&tasks.leaves).map(name).collect())
}

impl BodyMeaning for Body {
    fn meaning(&self) -> Box<dyn Meaning + '_> {
        Box::new(Names::new(&self.scheduled, &self.program))
    }

    fn name(&self, first: bool, own: Value) -> Option<Value> {
        match self.scheduled.chip.stream_number(own) {
            Some(_) => Some(Value { ciphertext: 0, ..own }),
            None => self.names[form(first)].get(own.index as usize).copied(),
        }
    }

    fn own(&self, first: bool, name: Value) -> Option<Value> {
        match self.scheduled.chip.stream_number(name) {
            Some(_) => Some(Value { ciphertext: Value::NONE, ..name }),
            None => {
                let residue = self.residue(first, name)?;
                Some(self.scheduled.chip.value(&self.scheduled.tasks, residue))
            }
        }
    }
}
