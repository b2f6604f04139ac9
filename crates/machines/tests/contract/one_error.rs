//! Is every schedule of an RNS machine with one error rejected?

use crate::rns_machines::Case;
use polyfabric_sim::schedule::{Access, Event, Lines, MemoryKind, Place, Resources};
use std::collections::{BTreeMap, BTreeSet, HashMap};

pub fn missing_duplicate_or_halved_events_are_rejected(case: &Case) {
    for index in case.listed.samples() {
        let what = format!("{} in {}", case.listed.kind(index), case.name());
        assert!(case.judged(&case.listed.without(index)).is_err(), "no {what}");
        assert!(case.judged(&case.listed.doubled(index)).is_err(), "a second {what}");
        assert!(case.judged(&case.listed.with(index, |event| event.work /= 2)).is_err(), "half a {what}");
    }
}

pub fn wrong_operands_are_rejected(case: &Case) {
    let events = &case.listed.events;
    let mut refused = 0;
    for index in case.listed.samples() {
        for (place, own) in events[index].reads.iter().enumerate() {
            // Another value of its class, at any place.
            let other = |read: &&Access| {
                read.value.class == own.value.class && read.value != own.value && read.place.memory == own.place.memory
            };
            let Some(other) = events.iter().flat_map(|event| &event.reads).find(other) else { continue };
            let changed = case.listed.with(index, |event| {
                (event.reads[place].value, event.reads[place].place) = (other.value, other.place);
            });
            assert!(case.judged(&changed).is_err(), "{}: {}", case.name(), case.listed.kind(index));
            refused += 1;
        }
    }
    assert!(refused > 10);
}

pub fn shifts_by_a_cycle_are_rejected_or_compute_the_same(case: &Case) {
    let mut refused = [0; 2];
    for index in case.listed.samples() {
        for (side, by) in [-1, 1].into_iter().enumerate() {
            let changed = case.listed.with(index, |event| event.start += by);
            match case.judged(&changed) {
                Err(_) => refused[side] += 1,
                Ok(()) => assert!(case.is_right(&changed), "{}", case.name()),
            }
        }
    }
    // Chains of events are tight: most cannot move.
    assert!(refused.iter().all(|&refused| refused > 8), "{}: {refused:?}", case.name());
}

/// Two events at once on a unit or channel, once for each key that `by` gives.
pub fn simultaneous_events_are_rejected<K: Ord>(case: &Case, mut by: impl FnMut(&Event) -> K) {
    let events = &case.listed.events;
    let mut last: HashMap<u32, usize> = HashMap::new();
    let mut moved = BTreeSet::new();
    for (index, event) in events.iter().enumerate() {
        let Some(before) = last.insert(event.resource.0, index) else { continue };
        if moved.insert(by(event)) {
            let changed = case.listed.with(index, |event| event.start = events[before].start);
            let unit = case.listed.resources.name(event.resource);
            assert!(!Case::is_legal(&changed), "{}: two at once on {unit}", case.name());
        }
    }
    assert!(moved.len() > 4);
}

/// The cycle of a read or write, whether it is a write, and the event.
type Use = (i64, bool, usize);

/// The reads and writes of every place on the chip, in order of time.
fn by_place(case: &Case) -> BTreeMap<(u16, u64), Vec<Use>> {
    let mut uses = BTreeMap::<_, Vec<_>>::new();
    for (index, event) in case.listed.events.iter().enumerate() {
        let mut note = |access: &Access, write: bool| {
            let Place { memory, offset, .. } = access.place;
            let kind = &case.listed.resources.memories[usize::from(memory.0)].kind;
            if matches!(kind, MemoryKind::Lines(_) | MemoryKind::OnChip { .. }) {
                uses.entry((memory.0, offset)).or_default().push((event.start + i64::from(access.first), write, index));
            }
        };
        event.reads.iter().for_each(|read| note(read, false));
        event.writes.iter().for_each(|write| note(write, true));
    }
    uses.values_mut().for_each(|uses| uses.sort_unstable());
    uses
}

/// Rejects up to `most` of each, and returns the number of overwrites. A machine whose memories fit a small program
/// overwrites nothing.
pub fn early_reads_and_early_overwrites_are_rejected(case: &Case, most: usize) -> usize {
    let events = &case.listed.events;
    let (mut early, mut over) = (0, 0);
    for uses in by_place(case).into_values() {
        for pair in uses.windows(2) {
            let [(first, write, before), (second, again, index)] = [pair[0], pair[1]];
            let to = match (write, again) {
                _ if before == index => continue,
                // The reader starts in the cycle of the write, so its operand arrives too late.
                (true, false) if early < most => first,
                // The next value is written one cycle before the last read.
                (false, true) if over < most => first - 1,
                _ => continue,
            };
            let start = events[index].start + to - second;
            if start < 0 {
                continue;
            }
            let changed = case.listed.with(index, |event| event.start = start);
            assert!(!Case::is_legal(&changed), "{}: {}", case.name(), case.listed.kind(index));
            *(if again { &mut over } else { &mut early }) += 1;
        }
    }
    assert!(early > 5, "{}: {early} reads", case.name());
    over
}

/// Changes that make a machine better than its file.
pub const BETTER: [fn(&mut Resources); 4] = [
    |resources| resources.kinds[0].elements_per_cycle *= 2.0,
    |resources| resources.kinds[0].latency -= 1,
    |resources| resources.channels[0].bytes_per_cycle *= 2.0,
    |resources| {
        let memory = resources.memories.iter_mut().find_map(|memory| match &mut memory.kind {
            MemoryKind::Lines(Lines { capacity, .. }) | MemoryKind::OnChip { capacity, .. } => Some(capacity),
            _ => None,
        });
        *memory.expect("a memory on the chip") *= 2;
    },
];
