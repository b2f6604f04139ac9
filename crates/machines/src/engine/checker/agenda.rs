//! What the replay still has to do, in order of time, then phase, then position.

use super::state::Action;
use crate::engine::calendar::Calendar;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The entries of the agenda: those of later cycles lie by their cycle, and only those of one cycle are sorted.
pub(super) struct Agenda {
    /// What is due in the cycle that was reached, and what a folded loop has brought back from before it.
    due: BinaryHeap<Reverse<Action>>,
    /// The first cycle that was not reached.
    next: i64,
    later: Calendar<Reverse<Action>>,
}

impl Agenda {
    /// Nothing, from cycle 0 on.
    pub fn new() -> Self {
        Self { due: BinaryHeap::new(), next: 0, later: Calendar::new(0) }
    }

    /// Adds an entry, of any cycle.
    pub fn push(&mut self, action: Action) {
        if action.time < self.next {
            self.due.push(Reverse(action));
        } else {
            self.later.push(action.time, Reverse(action));
        }
    }

    /// Takes the first entry.
    pub fn pop(&mut self) -> Option<Action> {
        if self.due.is_empty()
            && let Some(cycle) = self.later.next_before(i64::MAX)
        {
            self.next = cycle + 1;
            let mut entries = std::mem::take(&mut self.due).into_vec();
            self.later.take(&mut entries);
            self.due = entries.into();
        }
        self.due.pop().map(|Reverse(action)| action)
    }

    /// All entries, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &Action> {
        self.due.iter().chain(self.later.iter()).map(|Reverse(action)| action)
    }

    /// Drops what `keep` does not want.
    pub fn retain(&mut self, mut keep: impl FnMut(&Action) -> bool) {
        self.due.retain(|Reverse(action)| keep(action));
        self.later.retain(|Reverse(action)| keep(action));
    }
}
