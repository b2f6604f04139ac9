//! Events of a schedule as data: when units are at work, and which memories they read and write.

use super::schedule::{Access, Schedule, Value};
use serde::Serialize;

/// An access of an event to a memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Passage {
    pub memory: String,
    /// Whether it is written.
    pub writes: bool,
    /// Cycle of the first element.
    pub start: i64,
    /// First cycle after the last one.
    pub end: i64,
}

/// An event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// Its unit or channel.
    pub unit: String,
    /// Iteration of the body's loop, if the event is part of one.
    pub iteration: Option<u32>,
    /// Its first cycle.
    pub start: i64,
    /// First cycle in which the unit can start another event.
    pub end: i64,
    /// Reads, then writes.
    pub passages: Vec<Passage>,
}

/// The events of `units` that start before cycle `end`, in order of their start.
pub fn listing(schedule: &Schedule, units: &[String], end: i64) -> Vec<Listed> {
    let resources = &schedule.resources;
    let memory = |access: &Access| resources.memories[usize::from(access.place.memory.0)].name.clone();
    let events = schedule.events().take_while(|placed| placed.start < end);
    let listed = events.filter_map(|placed| {
        let event = placed.event;
        let unit = units.iter().find(|unit| resources.name(event.resource) == **unit)?;
        let passage = |access, writes| Passage {
            memory: memory(access),
            writes,
            start: placed.start + i64::from(access.first),
            end: placed.start + i64::from(access.last) + 1,
        };
        let (reads, writes) =
            (event.reads.iter().map(|of| passage(of, false)), event.writes.iter().map(|of| passage(of, true)));
        Some(Listed {
            unit: unit.clone(),
            iteration: Some(placed.op().iteration).filter(|&iteration| iteration != Value::NONE),
            start: placed.start,
            end: placed.start + i64::from(event.occupancy),
            passages: reads.chain(writes).collect(),
        })
    });
    listed.collect()
}
