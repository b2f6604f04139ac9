//! A hash of a schedule's events that does not depend on how the schedule packs its names.
//!
//! Each event is a line of text: start, unit, occupancy, work and parts. Each access adds the place, the cycles, the order, the bytes and
//! the meaning of the value in the program. A value without a label in the program (a token, a partial sum, an intermediate result of an
//! RNS program) is numbered by its first appearance. Events in the same cycle are sorted by their text.

use polyfabric_sim::schedule::{Access, Event, Order, Resources, Value};
use std::collections::HashMap;

/// Hash of `events`. `label` returns the text of a value that an event reads or writes, or `None` if the program has no label for it.
pub fn hash(
    resources: &Resources,
    events: impl IntoIterator<Item = Event>,
    mut label: impl FnMut(&Event, Value) -> Option<String>,
) -> String {
    let mut lines: Vec<(i64, String, Vec<Value>)> = Vec::new();
    for event in events {
        let Event { start, occupancy, work, parts, .. } = event;
        let mut text = format!("{start} {} {occupancy} {work} {parts}", resources.name(event.resource));
        let mut own = Vec::new();
        let accesses = event.reads.iter().map(|read| ('r', read)).chain(event.writes.iter().map(|write| ('w', write)));
        for (side, access) in accesses {
            let label = label(&event, access.value).unwrap_or_else(|| {
                own.push(access.value);
                "own".to_owned()
            });
            text += &format!("; {side} {} {label}", place(resources, access));
        }
        lines.push((start, text, own));
    }
    lines.sort();
    let mut numbers = HashMap::new();
    let mut bytes = Vec::new();
    for (_, text, own) in lines {
        bytes.extend(text.bytes());
        for value in own {
            let next = numbers.len() as u64;
            bytes.extend(numbers.entry(value).or_insert(next).to_le_bytes());
        }
        bytes.push(b'\n');
    }
    super::hash(bytes)
}

/// Place, cycles and bytes of an access.
fn place(resources: &Resources, access: &Access) -> String {
    let Access { place, first, last, bytes, .. } = *access;
    let memory = &resources.memories[usize::from(place.memory.0)];
    let order = if access.order == Order::Any { "any" } else { "stream" };
    let range = if memory.kind.by_value() { String::new() } else { format!("{}+{}", place.offset, place.bytes) };
    format!("{} {range} {first}..{last} {order} {bytes}", memory.name)
}
