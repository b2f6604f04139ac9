//! The audit of schedules in which bodies repeat.
//!
//! Each body is audited once against its program ([`super::audit`]). That audit treats inputs, public polynomials, keys and automorphisms
//! as symbols, so its result holds for every round. The rest is checked here: rounds come in the program's order, each once. A round's
//! results carry its number, its inputs are the outputs of the round before, and a value shared by several rounds is one limb of one key.

use super::{AuditError, audit};
use crate::rns::leaf::Leaf;
use crate::rns::rounds::MappedBody;
use polyfabric_program::rns::kernel::{KernelProgram, Round, Rounds};
use polyfabric_sim::list::EventList;
use polyfabric_sim::schedule::{ClassId, Event, Item, Resources, Schedule, Shift, Value};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::ControlFlow;
use std::sync::Arc;

/// The events of a body, in order of time.
struct InOrder<'a> {
    resources: &'a Resources,
    events: Vec<&'a Event>,
}

impl EventList for InOrder<'_> {
    fn resources(&self) -> &Resources {
        self.resources
    }

    fn visit(&self, visit: &mut dyn FnMut(&Event) -> ControlFlow<()>) {
        let _ = self.events.iter().try_for_each(|event| visit(event));
    }
}

/// An audited body.
#[derive(Clone, Debug)]
pub struct HeldBody {
    /// Kept, so that no other body gets its address.
    items: Arc<Vec<Item>>,
    program: usize,
    first: bool,
    /// The names of its inputs, by input and position of the limb.
    takes: BTreeMap<(usize, usize), Value>,
    /// The names by output, then by limb.
    gives: Vec<Vec<Value>>,
    /// Values that all rounds share.
    shared: HashMap<Value, Leaf>,
    /// Classes of all other values except inputs and outputs.
    inner: HashSet<ClassId>,
}

fn wrong(cause: impl Into<String>) -> AuditError {
    AuditError::Rounds { cause: cause.into() }
}

impl HeldBody {
    /// Audits `items` against body `number` of a program. `changes(leaf)`: another round may have a different leaf there, so its name has
    /// the round's number.
    pub fn new(
        (number, program): (usize, &KernelProgram),
        resources: &Resources,
        items: &Arc<Vec<Item>>,
        (body, first): (&dyn MappedBody, bool),
        changes: &dyn Fn(&Leaf) -> bool,
    ) -> Result<Self, AuditError> {
        let events = items.iter().map(|item| if let Item::Event(event) = item { Some(event) } else { None });
        let events: Option<Vec<&Event>> = events.collect();
        let mut list = InOrder { resources, events: events.ok_or_else(|| wrong("a loop in the body of a loop"))? };
        list.events.sort_by_key(|event| event.start);
        let meaning = body.meaning(first);
        audit(program, &list, &*meaning)?;
        let inputs: Vec<_> = program.inputs().map(|(.., value)| value.limbs.clone()).collect();
        let mut gives = Vec::with_capacity(program.outputs.len());
        for (output, value) in program.outputs.iter().enumerate() {
            let limbs = 0..program.value(value.value).limbs.len();
            let name = |position| {
                meaning.output(output, position, 0).filter(|&name| meaning.leaf(name).is_none() && name.ciphertext == 1)
            };
            let names: Option<Vec<Value>> = limbs.map(name).collect();
            gives.push(names.ok_or_else(|| wrong("a body gives a limb that it was given"))?);
        }
        let given: HashSet<Value> = gives.iter().flatten().copied().collect();
        let (mut takes, mut shared, mut inner) = (BTreeMap::new(), HashMap::new(), HashSet::new());
        for event in list.events {
            if event.op.ciphertext != 0 {
                return Err(wrong("an event is named as of another round"));
            }
            for access in event.reads.iter().chain(&event.writes) {
                let name = access.value;
                meaning.number(name).ok_or_else(|| wrong("a name that is none of the body's"))?;
                let leaf = meaning.leaf(name).map(|leaf| leaf.leaf);
                if let Some(Leaf::Input { index, limb }) = leaf {
                    let position = inputs.get(index).and_then(|limbs| limbs.position(limb));
                    let position = position.ok_or_else(|| wrong(format!("limb {limb} of input {index}")))?;
                    takes.insert((index, position), name);
                } else if name.ciphertext == Value::NONE {
                    let leaf = leaf.filter(|leaf| !changes(leaf));
                    let leaf = leaf.ok_or_else(|| wrong(format!("value {} has one name in all rounds", name.index)))?;
                    shared.insert(name, leaf);
                } else if name.ciphertext == 0 {
                    inner.insert(name.class);
                } else if !given.contains(&name) {
                    return Err(wrong(format!("value {} is named as of another round", name.index)));
                }
            }
        }
        Ok(Self { items: Arc::clone(items), program: number, first, takes, gives, shared, inner })
    }
}

/// Audits a `schedule` of rounds whose bodies were audited.
pub fn audit_rounds(order: &[usize], schedule: &Schedule, held: &[HeldBody]) -> Result<(), AuditError> {
    let mut found = Vec::with_capacity(order.len());
    collect(&schedule.items, 0, Shift::default(), order.len(), &mut found)?;
    found.sort_by_key(|&(start, ..)| start);
    if found.len() != order.len() {
        return Err(wrong(format!("{} rounds, where the program has {}", found.len(), order.len())));
    }
    let mut shared: HashMap<Value, Leaf> = HashMap::new();
    let mut before: Option<&HeldBody> = None;
    for (round, (&body, &(_, shift, items))) in order.iter().zip(&found).enumerate() {
        if shift != Shift::ciphertexts(round as i64) {
            return Err(wrong(format!("round {round} has the names of another")));
        }
        let of_body = |held: &&HeldBody| {
            std::ptr::eq(Arc::as_ptr(&held.items), items) && (held.program, held.first) == (body, round == 0)
        };
        let own = held.iter().find(of_body).ok_or_else(|| wrong(format!("round {round} is of another body")))?;
        for (&name, &leaf) in own.shared.iter().filter(|_| before.is_none_or(|before| !std::ptr::eq(before, own))) {
            if *shared.entry(name).or_insert(leaf) != leaf {
                return Err(wrong(format!("value {} stands for {leaf:?} and another key", name.index)));
            }
        }
        if let Some(before) = before {
            let one = Shift::ciphertexts(-1);
            let given = |&(output, limb): &(usize, usize)| before.gives.get(output)?.get(limb).map(|v| v.shifted(one));
            let taken = own.takes.iter().all(|(port, &name)| given(port) == Some(name));
            if !taken || before.gives.iter().flatten().any(|name| own.inner.contains(&name.class)) {
                return Err(wrong(format!("round {round} does not take what the round before gives")));
            }
        }
        before = Some(own);
    }
    Ok(())
}

type Found = (i64, Shift, *const Vec<Item>);

/// Every round with its start, its shift and its body.
fn collect(items: &[Item], base: i64, shift: Shift, most: usize, found: &mut Vec<Found>) -> Result<(), AuditError> {
    for item in items {
        let Item::Repeat(repeat) = item else { return Err(wrong("an event outside of all rounds")) };
        for round in 0..repeat.count {
            let start = base + repeat.start + round as i64 * repeat.period as i64;
            let inner = repeat.shift_of(shift, round);
            if repeat.body.iter().all(|item| matches!(item, Item::Event(_))) {
                found.push((start, inner, Arc::as_ptr(&repeat.body)));
            } else {
                collect(&repeat.body, start, inner, most, found)?;
            }
            if found.len() > most {
                return Err(wrong(format!("more than the {most} rounds of the program")));
            }
        }
    }
    Ok(())
}

/// Audits a schedule of rounds, including its bodies.
pub fn audit_whole(rounds: &Rounds, schedule: &Schedule, bodies: &[&dyn MappedBody]) -> Result<(), AuditError> {
    rounds.check().map_err(|error| AuditError::Program { cause: error.to_string() })?;
    let order: Vec<usize> = rounds.rounds.iter().map(|round| round.body).collect();
    let mut found = Vec::new();
    collect(&schedule.items, 0, Shift::default(), order.len(), &mut found)?;
    found.sort_by_key(|&(start, ..)| start);
    let mut held: Vec<HeldBody> = Vec::new();
    for (round, &(.., items)) in found.iter().enumerate() {
        let Some(&number) = order.get(round) else { break };
        let known = |held: &HeldBody| {
            std::ptr::eq(Arc::as_ptr(&held.items), items) && (held.program, held.first) == (number, round == 0)
        };
        if held.iter().any(known) {
            continue;
        }
        let Some(items) = body_at(&schedule.items, items) else { break };
        let changes = |leaf: &Leaf| changes(&rounds.rounds, number, leaf);
        let body = (bodies[number], round == 0);
        held.push(HeldBody::new((number, &rounds.bodies[number]), &schedule.resources, items, body, &changes)?);
    }
    audit_rounds(&order, schedule, &held)
}

/// Whether rounds of body `body` may differ in `leaf`.
pub fn changes(rounds: &[Round], body: usize, leaf: &Leaf) -> bool {
    match *leaf {
        Leaf::Hint { key, .. } => rounds.iter().any(|round| round.body == body && round.key(key) != key),
        Leaf::Input { .. } | Leaf::Plaintext { .. } => true,
    }
}

fn body_at(items: &[Item], wanted: *const Vec<Item>) -> Option<&Arc<Vec<Item>>> {
    items.iter().find_map(|item| match item {
        Item::Event(_) => None,
        Item::Repeat(repeat) if std::ptr::eq(Arc::as_ptr(&repeat.body), wanted) => Some(&repeat.body),
        Item::Repeat(repeat) => body_at(&repeat.body, wanted),
    })
}
