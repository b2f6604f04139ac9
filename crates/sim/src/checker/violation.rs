//! Hazards: why a schedule is illegal.

use crate::schedule::{Event, OpRef, Resources, Shift, Value};
use std::fmt;

/// The kind of hazard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Hazard {
    /// The schedule contradicts itself: an unknown index, an empty access, a start before cycle 0.
    Malformed,
    /// A unit is occupied for fewer cycles than its rate needs for the work.
    Rate,
    /// A result leaves before the operation's latency is over.
    Latency,
    /// A unit starts an operation before it is free.
    UnitBusy,
    /// A unit changes its mode before it is empty, or elements would overtake others.
    NotEmpty,
    /// A value is read before it is written.
    UseBeforeReady,
    /// A value is overwritten before its last read.
    Overwrite,
    /// A value is read at a place to which it is never written.
    NeverWritten,
    /// A place lies outside its memory.
    Capacity,
    /// Accesses need more bytes a cycle than a bank's port moves.
    Port,
    /// An element on a wire is not read when it passes, or is read more than once.
    Stream,
    /// An instruction starts before memory can have delivered it.
    NotFetched,
}

impl Hazard {
    /// Short name.
    pub fn name(self) -> &'static str {
        match self {
            Hazard::Malformed => "malformed schedule",
            Hazard::Rate => "rate exceeded",
            Hazard::Latency => "latency too short",
            Hazard::UnitBusy => "unit busy",
            Hazard::NotEmpty => "unit not empty",
            Hazard::UseBeforeReady => "use before ready",
            Hazard::Overwrite => "overwrite of a live value",
            Hazard::NeverWritten => "value never written",
            Hazard::Capacity => "memory too small",
            Hazard::Port => "port overloaded",
            Hazard::Stream => "stream not taken up",
            Hazard::NotFetched => "instruction not fetched",
        }
    }
}

/// The first hazard of a schedule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name} at cycle {cycle}: {message}", name = .hazard.name())]
pub struct Violation {
    /// Kind of hazard.
    pub hazard: Hazard,
    /// Cycle in which it happens.
    pub cycle: i64,
    /// The first cycle at which the blocked event could start if nothing else changes: blocked at n - 1, legal at n.
    pub legal_start: Option<i64>,
    /// Unit or memory, both events, the value, and the remedy.
    pub message: String,
}

/// A schedule or machine that contradicts itself.
pub(super) fn malformed(message: String) -> Violation {
    Violation { hazard: Hazard::Malformed, cycle: 0, legal_start: None, message }
}

/// An event in words: operation, unit, ciphertext, iteration, start.
pub(super) struct Description<'a> {
    pub resources: &'a Resources,
    pub event: &'a Event,
    pub start: i64,
    pub shift: Shift,
}

impl fmt::Display for Description<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let op: OpRef = self.event.op.shifted(self.shift);
        let kind = self.resources.kinds.get(op.kind.0 as usize).map_or("(unknown operation)", |kind| &kind.name);
        write!(f, "`{kind}` on {}", self.resources.name(self.event.resource))?;
        if op.ciphertext != Value::NONE {
            write!(f, ", ciphertext {}", op.ciphertext)?;
        }
        if op.iteration != Value::NONE {
            write!(f, ", iteration {}", op.iteration)?;
        }
        write!(f, ", start {}", self.start)
    }
}

/// A value in words.
pub(super) struct NamedValue<'a> {
    pub resources: &'a Resources,
    pub value: Value,
}

impl fmt::Display for NamedValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let class = self.resources.value_classes.get(self.value.class.0 as usize);
        write!(f, "{}", class.map_or("(unknown class)", |class| &class.name))?;
        let fields =
            [("ciphertext", self.value.ciphertext), ("iteration", self.value.iteration), ("index", self.value.index)];
        let mut separator = '[';
        for (name, field) in fields {
            if field != Value::NONE {
                write!(f, "{separator}{name} {field}")?;
                separator = ',';
            }
        }
        if separator == ',' { write!(f, "]") } else { Ok(()) }
    }
}
