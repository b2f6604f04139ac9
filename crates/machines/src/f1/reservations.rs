//! Reservations of a port, a unit or a channel.

use std::collections::VecDeque;

/// Default number of busy intervals to remember; all earlier cycles count as busy.
const REMEMBERED: usize = 48;

/// The reservations of one resource: sorted, disjoint, adjacent ones merged.
#[derive(Clone, Debug)]
pub struct Reservations {
    busy: VecDeque<(u64, u64)>,
    /// Nothing can be reserved before this cycle.
    floor: u64,
    remembered: usize,
}

impl Default for Reservations {
    fn default() -> Self {
        Self::remembering(REMEMBERED)
    }
}

impl Reservations {
    /// A free resource that remembers `remembered` busy intervals.
    pub fn remembering(remembered: usize) -> Self {
        Self { busy: VecDeque::new(), floor: 0, remembered }
    }

    /// The first cycle from `from` on with `duration` free cycles.
    pub fn earliest(&self, from: u64, duration: u64) -> u64 {
        let mut at = from.max(self.floor);
        let first = self.first(|(_, end)| end > at);
        for &(start, end) in self.busy.range(first..) {
            if at + duration <= start {
                break;
            }
            at = at.max(end);
        }
        at
    }

    /// The index of the first busy interval for which `behind` is true; it is then true for all later ones.
    /// Searches from the end, where most queries are.
    fn first(&self, behind: impl Fn((u64, u64)) -> bool) -> usize {
        let (mut high, mut step) = (self.busy.len(), 1);
        let mut low = loop {
            match high.checked_sub(step) {
                Some(place) if behind(self.busy[place]) => (high, step) = (place, 2 * step),
                Some(place) => break place + 1,
                None => break 0,
            }
        };
        while low < high {
            let middle = low.midpoint(high);
            match behind(self.busy[middle]) {
                true => high = middle,
                false => low = middle + 1,
            }
        }
        high
    }

    /// Forbids reservations before `cycle`.
    pub fn close(&mut self, cycle: u64) {
        self.busy.clear();
        self.floor = cycle;
    }

    /// Whether `duration` cycles from `at` on are free.
    pub fn is_free(&self, at: u64, duration: u64) -> bool {
        self.earliest(at, duration) == at
    }

    /// Reserves `duration` free cycles from `at` on.
    pub fn reserve(&mut self, at: u64, duration: u64) {
        let end = at + duration;
        let position = self.first(|(start, _)| start >= at);
        let joins_previous = position > 0 && self.busy[position - 1].1 == at;
        let joins_next = self.busy.get(position).is_some_and(|&(start, _)| start == end);
        match (joins_previous, joins_next) {
            (true, true) => {
                self.busy[position - 1].1 = self.busy[position].1;
                self.busy.remove(position);
            }
            (true, false) => self.busy[position - 1].1 = end,
            (false, true) => self.busy[position].0 = at,
            (false, false) => self.busy.insert(position, (at, end)),
        }
        if self.busy.len() > self.remembered
            && let Some((_, end)) = self.busy.pop_front()
        {
            self.floor = end;
        }
    }
}

#[cfg(test)]
mod tests {
    //! Is a cycle never reserved twice, and is the first free cycle always found?
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn reservations_are_disjoint_and_earliest(requests in prop::collection::vec((0_u64..400, 1_u64..20), 1..60)) {
            let mut timeline = Reservations::default();
            let mut taken = vec![false; 4000];
            for (from, duration) in requests {
                let at = timeline.earliest(from, duration);
                let free = |at: u64| !taken[at as usize..(at + duration) as usize].contains(&true);
                prop_assert!(at >= from && free(at));
                // Gaps before the floor may be forgotten.
                prop_assert!((from.max(timeline.floor)..at).all(|earlier| !free(earlier)));
                timeline.reserve(at, duration);
                taken[at as usize..(at + duration) as usize].fill(true);
            }
        }
    }
}
