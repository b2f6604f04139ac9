//! What a cluster's resources are given to, with a way back: placing an instruction takes many of them, and the last may be missing.

use std::collections::BTreeMap;

/// Reservations of equal length of something that serves `width` of them at a time.
#[derive(Clone, Debug)]
struct Track {
    width: usize,
    starts: Vec<u64>,
}

impl Track {
    /// Whether it serves one more from `at` on.
    fn fits(&self, at: u64, length: u64) -> bool {
        let first = self.starts.partition_point(|&start| start + length <= at);
        let near = &self.starts[first..];
        let near = &near[..near.partition_point(|&start| start < at + length)];
        if near.len() < self.width {
            return true;
        }
        let open = |point: u64| near.iter().filter(|&&start| start <= point && point < start + length).count();
        let points = std::iter::once(at).chain(near.iter().copied().filter(|&start| start > at));
        points.into_iter().all(|point| open(point) < self.width)
    }
}

/// What was done, to be undone.
#[derive(Clone, Copy, Debug)]
enum Done {
    Taken { track: usize, at: u64 },
    Counted { cycle: u64, change: i32 },
}

/// The resources of one cluster over time: tracks that are reserved for a vector each, and registers, of which only the number counts. For
/// intervals of time, as many registers suffice as are held at once.
#[derive(Clone, Debug)]
pub struct Table {
    length: u64,
    tracks: Vec<Track>,
    registers: i32,
    /// Registers held after everything that is reserved.
    held: i32,
    /// By how much the number of registers held changes, by cycle.
    changes: BTreeMap<u64, i32>,
    done: Vec<Done>,
}

impl Table {
    /// Everything free: tracks of the given widths, reserved for `length` cycles each, and `registers`.
    pub fn new(length: u64, widths: &[usize], registers: usize) -> Self {
        let tracks = widths.iter().map(|&width| Track { width, starts: Vec::new() }).collect();
        Self { length, tracks, registers: registers as i32, held: 0, changes: BTreeMap::new(), done: Vec::new() }
    }

    /// Where [`undo`](Self::undo) can come back to.
    pub fn mark(&self) -> usize {
        self.done.len()
    }

    /// Undoes everything since `mark`.
    pub fn undo(&mut self, mark: usize) {
        while self.done.len() > mark {
            match self.done.pop() {
                Some(Done::Taken { track, at }) => {
                    let starts = &mut self.tracks[track].starts;
                    starts.remove(starts.partition_point(|&start| start < at));
                }
                Some(Done::Counted { cycle, change }) => self.change(cycle, -change),
                None => {}
            }
        }
    }

    /// Whether `track` is free for a vector that starts in `at`.
    pub fn is_free(&self, track: usize, at: u64) -> bool {
        self.tracks[track].fits(at, self.length)
    }

    /// Reserves `track` for a vector that starts in `at`, if it is free.
    pub fn take(&mut self, track: usize, at: u64) -> bool {
        let free = self.is_free(track, at);
        if free {
            let starts = &mut self.tracks[track].starts;
            starts.insert(starts.partition_point(|&start| start < at), at);
            self.done.push(Done::Taken { track, at });
        }
        free
    }

    /// One register more, or less, from `cycle` on.
    pub fn count(&mut self, cycle: u64, change: i32) {
        self.change(cycle, change);
        self.done.push(Done::Counted { cycle, change });
    }

    fn change(&mut self, cycle: u64, change: i32) {
        self.held += change;
        let sum = self.changes.entry(cycle).or_default();
        *sum += change;
        if *sum == 0 {
            self.changes.remove(&cycle);
        }
    }

    /// Whether the registers suffice at every time.
    pub fn registers_suffice(&self) -> bool {
        let mut held = 0;
        self.changes.values().all(|change| {
            held += change;
            held <= self.registers
        })
    }

    /// Whether they do after everything that is reserved; if not, no later place helps.
    pub fn registers_suffice_at_last(&self) -> bool {
        self.held <= self.registers
    }

    /// Forgets what lies before `cycle`, so that nothing can be undone and nothing is placed there.
    pub fn forget(&mut self, cycle: u64) {
        self.done.clear();
        for track in &mut self.tracks {
            track.starts.drain(..track.starts.partition_point(|&start| start + self.length <= cycle));
        }
        let later = self.changes.split_off(&cycle);
        let held: i32 = self.changes.values().sum();
        self.changes = later;
        if held != 0 {
            *self.changes.entry(cycle).or_default() += held;
        }
    }
}

#[cfg(test)]
mod tests {
    //! Does a track never serve more than its width, and does undoing leave no trace?
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn tracks_serve_their_width(requests in prop::collection::vec(0_u64..300, 1..120), width in 1_usize..4, length in 1_u64..20) {
            let mut table = Table::new(length, &[width], 1);
            let mut load = vec![0_usize; 400];
            for at in requests {
                let span = at as usize..(at + length) as usize;
                let free = load[span.clone()].iter().all(|&load| load < width);
                prop_assert_eq!(table.take(0, at), free);
                if free {
                    load[span].iter_mut().for_each(|load| *load += 1);
                }
            }
        }

        #[test]
        fn undone_is_as_before(before in prop::collection::vec((0_u64..200, 0_usize..3), 0..40), after in prop::collection::vec((0_u64..200, 0_usize..3), 0..40)) {
            let mut table = Table::new(7, &[1, 2, 1], 3);
            let place = |table: &mut Table, requests: &[(u64, usize)]| for &(at, track) in requests {
                if table.take(track, at) {
                    table.count(at, 1);
                    table.count(at + 9, -1);
                }
            };
            place(&mut table, &before);
            let (mark, copy) = (table.mark(), table.clone());
            place(&mut table, &after);
            table.undo(mark);
            prop_assert_eq!(table.registers_suffice(), copy.registers_suffice());
            prop_assert_eq!(table.changes, copy.changes);
            for (track, other) in table.tracks.iter().zip(&copy.tracks) {
                prop_assert_eq!(&track.starts, &other.starts);
            }
        }
    }
}
