//! What is in a unit that is set up for what it does.
//!
//! How long an element stays follows from the kinds of operations, which are the machine file's, and not from what a mapper says of an event: an
//! event can only say that its last results come later.

use crate::engine::schedule::{Event, Mode, OpKind};

/// Before everything.
pub(super) const NEVER: i64 = i64::MIN / 4;

/// How a unit is set up, and until when something is in it. Nothing where its operations have no mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Content {
    mode: Option<Mode>,
    /// The first cycle in which it is empty.
    pub empty: i64,
}

impl Content {
    /// Of a unit that has not begun.
    pub const NONE: Self = Self { mode: None, empty: NEVER };

    /// Whether an operation of `kind` needs the unit set up in another way.
    pub fn changes(&self, kind: &OpKind) -> bool {
        self.mode.is_some() && self.mode != kind.mode
    }

    /// The first cycle in which an operation of `kind` may start: the unit is empty if it has to be set up anew, and otherwise no element
    /// overtakes those that are in it.
    pub fn legal_start(&self, kind: &OpKind) -> i64 {
        match self.mode {
            None => NEVER,
            Some(_) if self.changes(kind) => self.empty,
            Some(_) => self.empty.saturating_sub(latency(kind)),
        }
    }

    /// The same behind an event that starts in cycle `start`.
    #[must_use]
    pub fn with(self, kind: &OpKind, event: &Event, start: i64) -> Self {
        if kind.mode.is_none() {
            return self;
        }
        let through = i64::from(event.occupancy).saturating_add(latency(kind));
        let written = event.writes.iter().map(|write| i64::from(write.last) + 1);
        Self { mode: kind.mode, empty: start.saturating_add(written.fold(through, i64::max)) }
    }

    /// Whether `later` is this `cycles` on.
    pub fn becomes(&self, later: &Self, cycles: i64) -> bool {
        let mut moved = *self;
        moved.advance(cycles);
        moved == *later
    }

    pub fn advance(&mut self, cycles: i64) {
        if self.mode.is_some() {
            self.empty += cycles;
        }
    }
}

/// Cycles of an element within the unit.
fn latency(kind: &OpKind) -> i64 {
    i64::try_from(kind.latency).unwrap_or(i64::MAX / 4)
}
