//! Bytes between chip and memory, as a compiler of residue polynomials sees them: what has to come once, and what comes for want of room.

use crate::audit::residue::Meaning;
use crate::engine::list::{EventList, Source};
use crate::engine::schedule::{MemoryKind, Traffic as Class};
use std::collections::BTreeMap;

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
