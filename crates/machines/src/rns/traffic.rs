//! Off-chip bytes by class: compulsory traffic, and reloads and spills for lack of on-chip memory.

use crate::rns::meaning::Meaning;
use polyfabric_sim::list::{EventList, Source, each};
use polyfabric_sim::schedule::{Access, Item, MemoryKind, Resources, Traffic as Class, Value};
use std::collections::{BTreeMap, HashMap, HashSet};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// First load of each hint.
    pub hints: u64,
    /// Reloads of hints.
    pub hints_again: u64,
    /// First load of each input, and stores of results.
    pub inputs_outputs: u64,
    /// Reloads of inputs.
    pub inputs_again: u64,
    /// Loads of spilled values.
    pub intermediate_loads: u64,
    /// Spills.
    pub intermediate_stores: u64,
}

impl Traffic {
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

    pub fn total(&self) -> u64 {
        self.classes().values().sum()
    }

    /// Reloads and spills.
    pub fn not_compulsory(&self) -> u64 {
        self.total() - self.hints - self.inputs_outputs
    }
}

/// Traffic of one round of a schedule with repeated bodies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoundTraffic {
    /// Excludes key limbs that other rounds also read.
    own: Traffic,
    /// Key limbs that other rounds also read, each counted once.
    shared: HashMap<Value, u64>,
    /// The same limbs with every load counted.
    shared_loads: u64,
    /// Bytes stored for the next round.
    given: u64,
}

impl RoundTraffic {
    /// From the events of a body, with the values of round 0.
    pub fn of(resources: &Resources, items: &[Item]) -> Self {
        let off_chip =
            |access: &Access| resources.memories[usize::from(access.place.memory.0)].kind == MemoryKind::OffChip;
        let (mut round, mut seen) = (Self::default(), HashSet::new());
        each(items, 1, &mut |event, _| {
            for write in event.writes.iter().filter(|write| off_chip(write)) {
                // Values with index 1 belong to the next round.
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
    /// Sums rounds; the flag marks the last one. Its output is the program's result; other rounds' output is a spill.
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
