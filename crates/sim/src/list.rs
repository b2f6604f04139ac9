//! Schedules in the form of a list: millions of events without loops, in any compact form that the machine chooses.
//!
//! A list is visited in order of time. Everything that is computed from a tree of loops is computed from a list too.
//! The checker, stalls, totals, timeline and report take a [`Source`], which is either.

use super::schedule::{Event, Item, Resources, Schedule};
use polyfabric_kernels::cancel;
use std::ops::ControlFlow;

/// A schedule without loops.
pub trait EventList {
    /// Units, channels, memories and kinds that events refer to.
    fn resources(&self) -> &Resources;

    /// Calls `visit` with every event, in order of their starts, until it breaks.
    fn visit(&self, visit: &mut dyn FnMut(&Event) -> ControlFlow<()>);

    /// The instructions of the components, if these are stored in off-chip memory and fetched in the channels' idle
    /// cycles.
    fn instructions(&self) -> Option<&Instructions> {
        None
    }
}

impl<L: EventList + ?Sized> EventList for &L {
    fn resources(&self) -> &Resources {
        (**self).resources()
    }

    fn visit(&self, visit: &mut dyn FnMut(&Event) -> ControlFlow<()>) {
        (**self).visit(visit);
    }

    fn instructions(&self) -> Option<&Instructions> {
        (**self).instructions()
    }
}

/// Instructions that are fetched from memory before they start, in the channels' idle cycles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Instructions {
    /// Start cycle and bytes of each instruction, in order.
    pub starts: Vec<(u64, u64)>,
    /// Bytes of all instructions in memory.
    pub bytes: u64,
}

/// A schedule in either form.
#[derive(Clone, Copy)]
pub enum Source<'a> {
    /// A tree of loops.
    Loops(&'a Schedule),
    List(&'a dyn EventList),
}

impl std::fmt::Debug for Source<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Loops(schedule) => f.debug_tuple("Loops").field(schedule).finish(),
            Self::List(_) => f.debug_tuple("List").finish_non_exhaustive(),
        }
    }
}

impl<'a> From<&'a Schedule> for Source<'a> {
    fn from(schedule: &'a Schedule) -> Self {
        Self::Loops(schedule)
    }
}

impl<'a> Source<'a> {
    /// Units, channels, memories and kinds that events refer to.
    pub fn resources(self) -> &'a Resources {
        match self {
            Self::Loops(schedule) => &schedule.resources,
            Self::List(list) => list.resources(),
        }
    }

    /// Calls `visit` with every event as it is written, and how often it occurs. A list is visited in order of time,
    /// loops in the order of the tree.
    pub fn each(self, visit: &mut dyn FnMut(&Event, u64)) {
        match self {
            Self::Loops(schedule) => each(&schedule.items, 1, visit),
            Self::List(list) => list.visit(&mut |event| {
                visit(event, 1);
                ControlFlow::Continue(())
            }),
        }
    }

    /// Start of the first event on a channel.
    pub fn first_transfer(self) -> Option<i64> {
        match self {
            Self::Loops(schedule) => {
                first_start(&schedule.items, &|event| schedule.resources.as_channel(event.resource).is_some())
            }
            Self::List(list) => {
                let mut first = None;
                list.visit(&mut |event| match list.resources().as_channel(event.resource) {
                    Some(_) => {
                        first = Some(event.start);
                        ControlFlow::Break(())
                    }
                    None => ControlFlow::Continue(()),
                });
                first
            }
        }
    }
}

/// Calls `visit` with every event of a tree and how often it occurs, in the order of the tree.
pub fn each(items: &[Item], times: u64, visit: &mut dyn FnMut(&Event, u64)) {
    for item in items {
        cancel::check();
        match item {
            Item::Event(event) => visit(event, times),
            Item::Repeat(repeat) => each(&repeat.body, times.saturating_mul(repeat.count), visit),
        }
    }
}

fn first_start(items: &[Item], counts: &impl Fn(&Event) -> bool) -> Option<i64> {
    let start = |item: &Item| match item {
        Item::Event(event) => counts(event).then_some(event.start),
        // Later rounds start later.
        Item::Repeat(repeat) => first_start(&repeat.body, counts).map(|start| repeat.start + start),
    };
    items.iter().filter_map(start).min()
}

/// A tree of loops as a list, unrolled on the way.
impl EventList for Schedule {
    fn resources(&self) -> &Resources {
        &self.resources
    }

    fn visit(&self, visit: &mut dyn FnMut(&Event) -> ControlFlow<()>) {
        for placed in self.events() {
            if visit(&placed.to_event()).is_break() {
                return;
            }
        }
    }
}
