//! Modes of units: for which mode a unit is set up, and until when it holds elements.
//!
//! The time that an element stays in a unit follows from the machine's operation kinds, not from the mapper's event. An
//! event can only extend it, with a later last result.

use crate::schedule::{Event, Mode, OpKind};

/// Earlier than any cycle.
pub(super) const NEVER: i64 = i64::MIN / 4;

/// The mode of a unit, and when the unit is empty. Units whose operations have no mode keep [`Content::NONE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Content {
    mode: Option<Mode>,
    /// The first cycle in which it is empty.
    pub empty: i64,
}

impl Content {
    /// A unit that has not started yet.
    pub const NONE: Self = Self { mode: None, empty: NEVER };

    /// Whether an operation of `kind` requires a change of mode.
    pub fn changes(&self, kind: &OpKind) -> bool {
        self.mode.is_some() && self.mode != kind.mode
    }

    /// First cycle in which an operation of `kind` may start. A change of mode requires an empty unit. Otherwise no
    /// element may overtake those in the unit.
    pub fn legal_start(&self, kind: &OpKind) -> i64 {
        match self.mode {
            None => NEVER,
            Some(_) if self.changes(kind) => self.empty,
            Some(_) => self.empty.saturating_sub(latency(kind)),
        }
    }

    /// The content after an event that starts in cycle `start`.
    #[must_use]
    pub fn with(self, kind: &OpKind, event: &Event, start: i64) -> Self {
        if kind.mode.is_none() {
            return self;
        }
        let through = i64::from(event.occupancy).saturating_add(latency(kind));
        let written = event.writes.iter().map(|write| i64::from(write.last) + 1);
        Self { mode: kind.mode, empty: start.saturating_add(written.fold(through, i64::max)) }
    }

    /// Whether `later` equals this content, shifted by `cycles`.
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

/// Cycles that an element stays in the unit.
fn latency(kind: &OpKind) -> i64 {
    i64::try_from(kind.latency).unwrap_or(i64::MAX / 4)
}
