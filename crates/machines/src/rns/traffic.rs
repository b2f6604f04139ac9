//! Bytes between chip and memory, as a compiler of residue polynomials sees them: what has to come once, and what comes for want of room.

use crate::audit::residue::Meaning;
use crate::engine::list::{EventList, Source, each};
use crate::engine::schedule::{Access, Item, MemoryKind, Resources, Traffic as Class, Value};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Bytes by class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Hints, once each.
    pub hints: u64,
    /// Hints that had to come again.
    pub hints_again: u64,
    /// Inputs once each, and results.
    pub inputs_outputs: u64,
    /// Inputs that had to come again.
    pub inputs_again: u64,
    /// Intermediate values that came back.
    pub intermediate_loads: u64,
    /// Intermediate values that made room.
    pub intermediate_stores: u64,
}

impl Traffic {
    /// Of the events of a schedule.
    pub fn of(list: &dyn EventList, meaning: &dyn Meaning) -> Self {
        let resources = list.resources();
        let off_chip = |memory: u16| resources.memories[usize::from(memory)].kind == MemoryKind::OffChip;
        let mut loaded = vec![false; meaning.values()];
        let mut traffic = Self::default();
        Source::List(list).each(&mut |event, _| {
            for (access, store) in event.reads.iter().map(|a| (a, false)).chain(event.writes.iter().map(|a| (a, true)))
            {
                if !off_chip(access.place.memory.0) {
                    continue;
                }
                let class = &resources.value_classes[access.value.class.0 as usize];
                let Some(number) = meaning.number(access.value) else { continue };
                let result = || meaning.is_output(access.value);
                let again = !store && std::mem::replace(&mut loaded[number], true);
                *match (store, class.input, again) {
                    (true, ..) if result() => &mut traffic.inputs_outputs,
                    (true, ..) => &mut traffic.intermediate_stores,
                    (false, false, _) => &mut traffic.intermediate_loads,
                    (false, true, false) if class.traffic == Class::KeySwitchKey => &mut traffic.hints,
                    (false, true, true) if class.traffic == Class::KeySwitchKey => &mut traffic.hints_again,
                    (false, true, false) => &mut traffic.inputs_outputs,
                    (false, true, true) => &mut traffic.inputs_again,
                } += access.bytes;
            }
        });
        traffic
    }

    /// Name and bytes of each class.
    pub fn classes(&self) -> BTreeMap<&'static str, u64> {
        [
            ("hints", self.hints),
            ("hints_again", self.hints_again),
            ("inputs_outputs", self.inputs_outputs),
            ("inputs_again", self.inputs_again),
            ("intermediate_loads", self.intermediate_loads),
            ("intermediate_stores", self.intermediate_stores),
        ]
        .into()
    }

    /// Everything.
    pub fn total(&self) -> u64 {
        self.classes().values().sum()
    }

    /// What came or went for want of room: all but hints and inputs once each, and results.
    pub fn not_compulsory(&self) -> u64 {
        self.total() - self.hints - self.inputs_outputs
    }
}

/// Bytes of one round of a schedule whose bodies repeat.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoundTraffic {
    /// All but limbs of keys that other rounds read too.
    own: Traffic,
    /// Limbs of keys that other rounds read too, once each.
    shared: HashMap<Value, u64>,
    /// These as often as they come.
    shared_loads: u64,
    /// What it stores for the next round.
    given: u64,
}

impl RoundTraffic {
    /// Of the events of a body, named as in round 0.
    pub fn of(resources: &Resources, items: &[Item]) -> Self {
        let off_chip =
            |access: &Access| resources.memories[usize::from(access.place.memory.0)].kind == MemoryKind::OffChip;
        let (mut round, mut seen) = (Self::default(), HashSet::new());
        each(items, 1, &mut |event, _| {
            for write in event.writes.iter().filter(|write| off_chip(write)) {
                // What is named as the next round's is for that.
                *(if write.value.ciphertext == 1 { &mut round.given } else { &mut round.own.intermediate_stores }) +=
                    write.bytes;
            }
            for read in event.reads.iter().filter(|read| off_chip(read)) {
                let class = &resources.value_classes[read.value.class.0 as usize];
                let again = !seen.insert(read.value);
                let key = class.traffic == Class::KeySwitchKey;
                if key && read.value.ciphertext == Value::NONE {
                    round.shared.insert(read.value, read.bytes);
                    round.shared_loads += read.bytes;
                    continue;
                }
                *match (class.input, key, again) {
                    (false, ..) => &mut round.own.intermediate_loads,
                    (true, true, false) => &mut round.own.hints,
                    (true, true, true) => &mut round.own.hints_again,
                    (true, false, false) => &mut round.own.inputs_outputs,
                    (true, false, true) => &mut round.own.inputs_again,
                } += read.bytes;
            }
        });
        round
    }
}

impl Traffic {
    /// Of rounds one after the other, the last with `true` beside it: what that gives are results, and what others give goes and comes back.
    pub fn of_rounds<'a>(rounds: impl Iterator<Item = (&'a RoundTraffic, bool)>) -> Self {
        let (mut sum, mut known, mut shared) = (Self::default(), HashMap::new(), 0);
        for (round, last) in rounds {
            let own = &round.own;
            sum.hints += own.hints;
            sum.hints_again += own.hints_again;
            sum.inputs_outputs += own.inputs_outputs + if last { round.given } else { 0 };
            sum.inputs_again += own.inputs_again;
            sum.intermediate_loads += own.intermediate_loads;
            sum.intermediate_stores += own.intermediate_stores + if last { 0 } else { round.given };
            known.extend(round.shared.iter().map(|(&name, &bytes)| (name, bytes)));
            shared += round.shared_loads;
        }
        let once: u64 = known.values().sum();
        sum.hints += once;
        sum.hints_again += shared - once;
        sum
    }
}
