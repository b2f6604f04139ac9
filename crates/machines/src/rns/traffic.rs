//! Off-chip bytes by class: compulsory traffic, and reloads and spills for lack of on-chip memory.

use crate::rns::labels::Labels;
use crate::rns::leaf::{Leaf, LeafSubpolynomial};
use polyfabric_sim::list::{EventList, Source};
use polyfabric_sim::schedule::{Access, MemoryKind, Traffic as Class};
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

/// Calls `visit` with each access to off-chip memory: whether it is a store, and whether it loads a value again.
fn off_chip(list: &dyn EventList, labels: &Labels, visit: &mut dyn FnMut(&Access, bool, bool)) {
    let memories = &list.resources().memories;
    let mut loaded = vec![false; labels.vectors];
    Source::List(list).each(&mut |event, _| {
        for (access, store) in event.reads.iter().map(|a| (a, false)).chain(event.writes.iter().map(|a| (a, true))) {
            if memories[usize::from(access.place.memory.0)].kind == MemoryKind::OffChip
                && let Some(numbers) = labels.numbers(access.value)
            {
                visit(access, store, !store && std::mem::replace(&mut loaded[numbers.start], true));
            }
        }
    });
}

impl Traffic {
    pub fn of(list: &dyn EventList, labels: &Labels) -> Self {
        let (classes, results) = (&list.resources().value_classes, labels.results());
        let mut traffic = Self::default();
        off_chip(list, labels, &mut |access, store, again| {
            let class = &classes[usize::from(access.value.class.0)];
            *match (store, class.input, again) {
                (true, ..) if results.contains(&access.value) => &mut traffic.inputs_outputs,
                (true, ..) => &mut traffic.intermediate_stores,
                (false, false, _) => &mut traffic.intermediate_loads,
                (false, true, false) if class.traffic == Class::KeySwitchKey => &mut traffic.hints,
                (false, true, true) if class.traffic == Class::KeySwitchKey => &mut traffic.hints_again,
                (false, true, false) => &mut traffic.inputs_outputs,
                (false, true, true) => &mut traffic.inputs_again,
            } += access.bytes;
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

/// Traffic of one round of a program that repeats.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoundTraffic {
    /// As of a program that has no other round.
    alone: Traffic,
    /// Loads of inputs in it: the first of each, and further ones.
    taken: [u64; 2],
    /// Stores of outputs in it.
    given: u64,
    /// First loads in it of key limbs that other rounds also read.
    shared: HashMap<LeafSubpolynomial, u64>,
}

impl RoundTraffic {
    /// Of a body. `changes` returns whether rounds may have different leaves.
    pub fn of(list: &dyn EventList, labels: &Labels, changes: &dyn Fn(&Leaf) -> bool) -> Self {
        let (mut round, results) = (Self { alone: Traffic::of(list, labels), ..Self::default() }, labels.results());
        off_chip(list, labels, &mut |access, store, again| match labels.leaf(access.value) {
            _ if store && results.contains(&access.value) => round.given += access.bytes,
            Some(LeafSubpolynomial { leaf: Leaf::Input { .. }, .. }) if !store => {
                round.taken[usize::from(again)] += access.bytes;
            }
            Some(of @ LeafSubpolynomial { leaf: Leaf::Hint { .. }, .. }) if !store && !again && !changes(&of.leaf) => {
                round.shared.insert(of, access.bytes);
            }
            _ => {}
        });
        round
    }
}

impl Traffic {
    /// Sums rounds. A round loads what the round before stored, and reloads keys that a round before loaded.
    pub fn of_rounds<'a>(rounds: impl ExactSizeIterator<Item = &'a RoundTraffic>) -> Self {
        let (mut sum, mut known) = (Self::default(), HashSet::new());
        let last = rounds.len().saturating_sub(1);
        for (number, RoundTraffic { alone, taken: [first, again], given, shared }) in rounds.enumerate() {
            sum.hints += alone.hints;
            sum.hints_again += alone.hints_again;
            sum.inputs_outputs += alone.inputs_outputs;
            sum.inputs_again += alone.inputs_again;
            sum.intermediate_loads += alone.intermediate_loads;
            sum.intermediate_stores += alone.intermediate_stores;
            if number > 0 {
                sum.inputs_outputs -= first;
                sum.inputs_again -= again;
                sum.intermediate_loads += first + again;
            }
            if number < last {
                sum.inputs_outputs -= given;
                sum.intermediate_stores += given;
            }
            let reloaded: u64 = shared.iter().filter(|(limb, _)| !known.insert(*limb)).map(|(_, bytes)| bytes).sum();
            sum.hints -= reloaded;
            sum.hints_again += reloaded;
        }
        sum
    }
}
