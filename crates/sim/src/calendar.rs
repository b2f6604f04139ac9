//! A queue of items, ordered by the cycle in which they are due.

use std::collections::BTreeMap;

/// Cycles that the ring covers.
const AHEAD: usize = 1 << 12;

/// Cycles of the ring that one word of marks covers.
const WORD: usize = u64::BITS as usize;

/// A calendar queue. An item that is due within 4,096 cycles costs one push and one pop of a vector.
#[derive(Debug)]
pub struct Calendar<T> {
    ring: Vec<Vec<T>>,
    /// One bit for each cycle of the ring, set if something is due. Empty cycles are skipped 64 at a time.
    marks: [u64; AHEAD / WORD],
    /// All earlier cycles have been taken.
    now: i64,
    /// Number of items in the ring.
    held: usize,
    /// Items beyond the ring.
    far: BTreeMap<i64, Vec<T>>,
}

impl<T> Calendar<T> {
    /// An empty calendar that starts at cycle `now`.
    pub fn new(now: i64) -> Self {
        let ring = std::iter::repeat_with(Vec::new).take(AHEAD).collect();
        Self { ring, marks: [0; AHEAD / WORD], now, held: 0, far: BTreeMap::new() }
    }

    /// The first cycle that has not been taken.
    pub fn now(&self) -> i64 {
        self.now
    }

    fn place(cycle: i64) -> usize {
        cycle.rem_euclid(AHEAD as i64) as usize
    }

    /// Adds `thing` in cycle `cycle`, or now if that cycle has passed.
    pub fn push(&mut self, cycle: i64, thing: T) {
        let cycle = cycle.max(self.now);
        if cycle - self.now < AHEAD as i64 {
            let place = Self::place(cycle);
            self.ring[place].push(thing);
            self.marks[place / WORD] |= 1 << (place % WORD);
            self.held += 1;
        } else {
            self.far.entry(cycle).or_default().push(thing);
        }
    }

    /// The first cycle from `now` on in which something in the ring is due.
    fn next_in_ring(&self) -> Option<i64> {
        if self.held == 0 {
            return None;
        }
        let first = Self::place(self.now);
        let words = self.marks.len();
        // The first word is read again at the end, for the cycles that wrapped around.
        let place = (0..=words).find_map(|step| {
            let word = (first / WORD + step) % words;
            let kept = if step == 0 { u64::MAX << (first % WORD) } else { u64::MAX };
            let marks = self.marks[word] & kept;
            (marks != 0).then(|| word * WORD + marks.trailing_zeros() as usize)
        })?;
        Some(self.now + ((place + AHEAD - first) % AHEAD) as i64)
    }

    /// The first cycle before `until` in which something is due. If there is none, the calendar advances to `until`.
    pub fn next_before(&mut self, until: i64) -> Option<i64> {
        let far = self.far.first_key_value().map_or(i64::MAX, |(&cycle, _)| cycle);
        let next = far.min(self.next_in_ring().unwrap_or(i64::MAX));
        self.now = self.now.max(next.min(until));
        (next < until).then_some(next)
    }

    /// Replaces `things` by everything that is due in the cycle that [`Self::next_before`] returned.
    pub fn take(&mut self, things: &mut Vec<T>) {
        things.clear();
        if let Some(entry) = self.far.first_entry().filter(|entry| *entry.key() == self.now) {
            things.append(&mut entry.remove());
        }
        let place = Self::place(self.now);
        let due = &mut self.ring[place];
        self.held -= due.len();
        things.append(due);
        self.marks[place / WORD] &= !(1 << (place % WORD));
        self.now += 1;
    }

    /// All items, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.ring.iter().chain(self.far.values()).flatten()
    }

    /// Removes the items that `keep` rejects.
    pub fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        for (place, due) in self.ring.iter_mut().enumerate().filter(|(_, due)| !due.is_empty()) {
            let before = due.len();
            due.retain(&mut keep);
            self.held -= before - due.len();
            if due.is_empty() {
                self.marks[place / WORD] &= !(1 << (place % WORD));
            }
        }
        self.far.retain(|_, due| {
            due.retain(&mut keep);
            !due.is_empty()
        });
    }
}

#[cfg(test)]
mod tests {
    //! Is every item taken once, in order of time, however far ahead it was added?
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
            // Every fifth of the outstanding items is removed.
            let kept = |number: usize| !number.is_multiple_of(5);
            expected.retain(|thing| found.contains(thing) || kept(thing.1));
            calendar.retain(|&(_, number)| kept(number));
            prop_assert_eq!(calendar.iter().count() + found.len(), expected.len());
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
