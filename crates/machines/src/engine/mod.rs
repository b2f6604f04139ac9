//! What every machine shares: the schedule and everything that is computed from one.
//!
//! A machine is a description plus a mapper that yields a [`schedule::Schedule`]. The schedule alone decides the time; the
//! checker replays it without asking the mapper, and stalls, bound, energy, traffic and timeline are read from it.

pub mod checker;
pub mod schedule;
pub mod stalls;

pub use schedule::{
    Access, Channel, Event, Item, Memory, MemoryKind, OpKind, OpRef, Order, Place, Repeat, Resource, Resources,
    Schedule, ScheduleBuilder, Shift, Unit, Value, WaitCategory,
};
