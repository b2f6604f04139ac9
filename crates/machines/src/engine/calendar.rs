//! Things by the cycle in which they are due, taken in order of time.

use std::collections::BTreeMap;

/// Cycles ahead that are kept in a ring.
const AHEAD: usize = 1 << 12;

/// A calendar: what is due within [`AHEAD`] cycles costs a push and a pop of a vector.
#[derive(Debug)]
pub(crate) struct Calendar<T> {
    ring: Vec<Vec<T>>,
    /// Everything before has been taken.
    now: i64,
    /// Things in the ring.
    held: usize,
    /// Things further ahead.
    far: BTreeMap<i64, Vec<T>>,
}

impl<T> Calendar<T> {
    /// An empty one, of which nothing is due before `now`.
    pub fn new(now: i64) -> Self {
        Self { ring: std::iter::repeat_with(Vec::new).take(AHEAD).collect(), now, held: 0, far: BTreeMap::new() }
    }

    fn place(cycle: i64) -> usize {
        cycle.rem_euclid(AHEAD as i64) as usize
    }

    /// Puts `thing` on the day `cycle`; what is late is due now.
    pub fn push(&mut self, cycle: i64, thing: T) {
        let cycle = cycle.max(self.now);
        if cycle - self.now < AHEAD as i64 {
            self.ring[Self::place(cycle)].push(thing);
            self.held += 1;
        } else {
            self.far.entry(cycle).or_default().push(thing);
        }
    }

    /// The first cycle before `until` in which something is due; without one, `until` comes next.
    pub fn next_before(&mut self, until: i64) -> Option<i64> {
        while self.now < until {
            let far = self.far.first_key_value().map_or(i64::MAX, |(&cycle, _)| cycle);
            if far == self.now || !self.ring[Self::place(self.now)].is_empty() {
                return Some(self.now);
            }
            self.now = if self.held == 0 { far.min(until) } else { self.now + 1 };
        }
        None
    }

    /// What is due in the cycle that [`Self::next_before`] gave, in the place of what is in `things`.
    pub fn take(&mut self, things: &mut Vec<T>) {
        things.clear();
        if let Some(entry) = self.far.first_entry().filter(|entry| *entry.key() == self.now) {
            things.append(&mut entry.remove());
        }
        let due = &mut self.ring[Self::place(self.now)];
        self.held -= due.len();
        things.append(due);
        self.now += 1;
    }
}

#[cfg(test)]
mod tests {
    //! Does everything come once, in order of time, however far ahead it was put?
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn things_come_in_order(steps in prop::collection::vec((0_i64..6000, 0_i64..3000), 1..60)) {
            let (mut calendar, mut expected, mut found) = (Calendar::new(0), Vec::new(), Vec::new());
            let (mut now, mut due) = (0, Vec::new());
            for (number, (ahead, on)) in steps.into_iter().enumerate() {
                calendar.push(now + ahead, (now + ahead, number));
                expected.push((now + ahead, number));
                now += on;
                while let Some(cycle) = calendar.next_before(now) {
                    calendar.take(&mut due);
                    prop_assert!(due.iter().all(|&(of, _)| of == cycle));
                    found.append(&mut due);
                }
            }
            while calendar.next_before(i64::MAX).is_some() {
                calendar.take(&mut due);
                found.append(&mut due);
            }
            prop_assert!(found.is_sorted_by_key(|&(cycle, _)| cycle));
            expected.sort_unstable();
            found.sort_unstable();
            prop_assert_eq!(found, expected);
        }
    }
}
