//! The parts that all machines share: machine files, schedules, and the results that are computed from them. No machine is named here.
//!
//! A machine is a [`description`] plus a mapper that yields a [`schedule::Schedule`]. The schedule alone decides the
//! time. The [`checker`] replays it without asking the mapper. [`stalls`], [`bound`], [`energy`], traffic ([`totals`])
//! and the timeline ([`mod@trace`]) are computed from it, and [`report`] puts them together.

pub mod bound;
pub mod calendar;
pub mod checker;
pub mod description;
pub mod energy;
pub mod function;
pub mod list;
pub mod listing;
pub mod report;
pub mod schedule;
pub mod stalls;
pub mod totals;
pub mod trace;

#[cfg(test)]
mod tests;

pub use checker::{Checked, Hazard, Violation, check};
pub use description::{Description, DescriptionError, DescriptionLiteral, Dimension, FigureError, FigureSpec};
pub use function::{BodyUnit, Function, Step};
pub use report::{SimulationError, SimulationReport, Subject};
pub use schedule::{
    Access, Channel, ClassId, Event, Item, KindId, Memory, MemoryId, MemoryKind, OpKind, OpRef, Order, Place, Placed,
    Repeat, Resource, Resources, Schedule, ScheduleBuilder, Shift, Traffic, Unit, Value, ValueClass, WaitCategory,
};
pub use trace::{Trace, TraceOptions, trace};
