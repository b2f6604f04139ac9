//! Reservations of a cluster's resources with undo: placing an instruction needs many, and the last one may
//! fail.

const NONE: u64 = u64::MAX;

/// Reservations of equal length on a resource with capacity `width`: at most as many start within one length.
#[derive(Clone, Debug)]
struct Track {
    width: usize,
    /// Starts in the first interval of one length, in any order, then those in the next one.
    starts: Vec<u64>,
}

impl Track {
    /// Whether one more reservation fits at `at`.
    fn fits(&self, at: u64, length: u64) -> bool {
        let part = (at / length) as usize;
        let first = (part.saturating_sub(1) * self.width).min(self.starts.len());
        let near = &self.starts[first..((part + 2) * self.width).min(self.starts.len())];
        let near = || near.iter().copied().filter(|start| start.abs_diff(at) < length);
        if near().count() < self.width {
            return true;
        }
        let open = |point: u64| near().filter(|&start| start <= point && point < start + length).count();
        std::iter::once(at).chain(near().filter(|&start| start > at)).all(|point| open(point) < self.width)
    }

    /// Adds a reservation that fits.
    fn put(&mut self, at: u64, length: u64) {
        let end = ((at / length) as usize + 1) * self.width;
        if self.starts.len() < end {
            self.starts.resize(end, NONE);
        }
        self.replace(NONE, at, end);
    }

    /// Removes a reservation.
    fn clear(&mut self, at: u64, length: u64) {
        self.replace(at, NONE, ((at / length) as usize + 1) * self.width);
    }

    fn replace(&mut self, old: u64, new: u64, end: usize) {
        let places = &mut self.starts[end - self.width..end];
        if let Some(place) = places.iter_mut().find(|start| **start == old) {
            *place = new;
        }
    }
}

/// An undoable change.
#[derive(Clone, Copy, Debug)]
enum Done {
    Taken { track: usize, at: u64 },
    Counted { cycle: u64, change: i32 },
}

/// The resources of one cluster over time: tracks, reserved for one vector each, and registers, of which only
/// the number counts. Intervals of time need as many registers as overlap.
#[derive(Clone, Debug)]
pub struct Table {
    length: u64,
    tracks: Vec<Track>,
    registers: i32,
    /// Number of occupied registers from a cycle up to the next entry; sorted, starting at cycle 0.
    held: Vec<(u64, i32)>,
    done: Vec<Done>,
}

impl Table {
    /// All tracks free, with the given widths, reserved for `length` cycles each, and `registers` registers.
    pub fn new(length: u64, widths: &[usize], registers: usize) -> Self {
        let tracks = widths.iter().map(|&width| Track { width, starts: Vec::new() }).collect();
        Self { length, tracks, registers: registers as i32, held: vec![(0, 0)], done: Vec::new() }
    }

    /// A position for [`undo`](Self::undo).
    pub fn checkpoint(&self) -> usize {
        self.done.len()
    }

    /// Undoes all changes since `checkpoint`.
    pub fn undo(&mut self, checkpoint: usize) {
        while self.done.len() > checkpoint {
            match self.done.pop() {
                Some(Done::Taken { track, at }) => {
                    self.tracks[track].clear(at, self.length);
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
            self.tracks[track].put(at, self.length);
            self.done.push(Done::Taken { track, at });
        }
        free
    }

    /// Occupies or releases registers from `cycle` on.
    pub fn count(&mut self, cycle: u64, change: i32) {
        self.change(cycle, change);
        self.done.push(Done::Counted { cycle, change });
    }

    fn change(&mut self, cycle: u64, change: i32) {
        let first = self.held.partition_point(|&(from, _)| from < cycle);
        if self.held.get(first).is_none_or(|&(from, _)| from != cycle) {
            self.held.insert(first, (cycle, self.held[first - 1].1));
        }
        self.held[first..].iter_mut().for_each(|(_, held)| *held += change);
        if first > 0 && self.held[first].1 == self.held[first - 1].1 {
            self.held.remove(first);
        }
    }

    /// Whether the registers suffice at all times.
    pub fn registers_suffice(&self) -> bool {
        self.held.iter().all(|&(_, held)| held <= self.registers)
    }

    /// Whether the registers suffice after all reservations; if not, no later place helps.
    pub fn registers_suffice_at_last(&self) -> bool {
        self.held.last().is_none_or(|&(_, held)| held <= self.registers)
    }

    /// Drops everything before `cycle`; nothing can be undone or placed there.
    pub fn forget(&mut self, cycle: u64) {
        self.done.clear();
        let last = self.held.partition_point(|&(from, _)| from <= cycle).max(1) - 1;
        self.held.drain(..last);
        self.held[0].0 = 0;
    }
}

#[cfg(test)]
mod tests {
    //! Is a track's width never exceeded, and does undo leave no trace?
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
            let (checkpoint, copy) = (table.checkpoint(), table.clone());
            place(&mut table, &after);
            table.undo(checkpoint);
            prop_assert_eq!(table.registers_suffice(), copy.registers_suffice());
            prop_assert_eq!(&table.held, &copy.held);
            let sorted = |track: &Track| {
                let mut starts = track.starts.clone();
                starts.retain(|&start| start != NONE);
                starts.sort_unstable();
                starts
            };
            let tracks = |table: &Table| table.tracks.iter().map(sorted).collect::<Vec<_>>();
            prop_assert_eq!(tracks(&table), tracks(&copy));
        }
    }
}
