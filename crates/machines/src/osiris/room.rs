//! Allocation of limbs to places in the scratchpads, and eviction.

use super::layout::Cycle;
use super::tasks::Residue;
use std::collections::BTreeSet;

/// The limb in a place, with the properties that decide on eviction.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    pub residue: Residue,
    /// Whether it is loaded or loading; otherwise it is a result of the current task.
    pub known: bool,
    /// Whether it is also off chip.
    pub off_chip: bool,
    /// The next task that reads it.
    pub next: u32,
    /// First cycle in which its place may be written.
    pub free: Cycle,
}

impl Held {
    /// Whether it can be evicted without a store: it is also off chip, and the next task to read it comes after
    /// `current`.
    fn spare(&self, current: usize) -> bool {
        self.known && self.off_chip && self.next as usize > current
    }
}

/// All places. Each load and each result searches them, so the relevant data is contiguous.
#[derive(Debug)]
pub struct Room {
    /// Empty places, each with the first cycle in which it may be written.
    empty: BTreeSet<(Cycle, usize)>,
    /// By place.
    held: Vec<Option<Held>>,
}

impl Room {
    /// `places` empty places.
    pub fn new(places: usize) -> Self {
        Self { empty: (0..places).map(|place| (0, place)).collect(), held: vec![None; places] }
    }

    /// Number of places.
    pub fn places(&self) -> usize {
        self.held.len()
    }

    /// Number of empty places.
    pub fn empty(&self) -> usize {
        self.empty.len()
    }

    /// A place for a limb that is `wanted` in that cycle, and the first cycle in which it may be written.
    /// Prefers an empty place that is free by then, as late as possible, to keep earlier ones for earlier
    /// limbs. Otherwise evicts the limb that is free by then and needed last. Otherwise takes the place that is
    /// free first. `None` if task `current` cannot evict without a store.
    pub fn find(&self, wanted: Cycle, current: usize) -> Option<(Cycle, usize)> {
        if let Some(&found) = self.empty.range(..=(wanted, usize::MAX)).next_back() {
            return Some(found);
        }
        let (mut last, mut first) = (None, self.empty.first().copied());
        for (place, held) in self.held.iter().enumerate() {
            let Some(held) = held.as_ref().filter(|held| held.spare(current)) else { continue };
            if held.free <= wanted {
                last = last.max(Some((held.next, held.free, place)));
            }
            if first.is_none_or(|first| (held.free, place) < first) {
                first = Some((held.free, place));
            }
        }
        last.map(|(_, free, place)| (free, place)).or(first)
    }

    /// The limb needed last among those known and not `pinned`; limbs that are also off chip are preferred.
    pub fn needed_last(&self, pinned: impl Fn(Residue) -> bool) -> Option<Residue> {
        let mut best = None;
        for held in self.held.iter().flatten().filter(|held| held.known) {
            let key = Some((held.next, held.off_chip, held.residue));
            if key > best && !pinned(held.residue) {
                best = key;
            }
        }
        best.map(|(.., residue)| residue)
    }

    /// Puts `held` into `place`, which was free from cycle `free` on; returns its previous limb.
    pub fn put(&mut self, (free, place): (Cycle, usize), held: Held) -> Option<Residue> {
        self.empty.remove(&(free, place));
        self.held[place].replace(held).map(|before| before.residue)
    }

    /// Updates the properties of the limb in `place`.
    pub fn update(&mut self, place: usize, held: Held) {
        self.held[place] = Some(held);
    }

    /// Empties `place`, which may be written from cycle `free` on.
    pub fn leave(&mut self, place: usize, free: Cycle) {
        self.held[place] = None;
        self.empty.insert((free, place));
    }
}

#[cfg(test)]
mod tests {
    //! Which place is allocated, and which limb is evicted?

    use super::*;

    fn held(residue: u32, next: u32, free: Cycle) -> Held {
        Held { residue: Residue(residue), known: true, off_chip: true, next, free }
    }

    /// A scratchpad full of `held`.
    fn full(held: &[Held]) -> Room {
        let mut room = Room::new(held.len());
        for (place, &held) in held.iter().enumerate() {
            assert_eq!(room.put((0, place), held), None);
        }
        room
    }

    #[test]
    fn the_latest_free_place_in_time_is_allocated() {
        let mut room = full(&[held(0, 9, 0), held(1, 9, 0), held(2, 9, 0)]);
        for (place, free) in [(0, 10), (1, 20), (2, 30)] {
            room.leave(place, free);
        }
        assert_eq!((room.empty(), room.places()), (3, 3));
        assert_eq!(room.find(25, 0), Some((20, 1)));
        assert_eq!(room.find(20, 0), Some((20, 1)));
        assert_eq!(room.find(5, 0), Some((10, 0)), "the first one if none is free by then");
        assert_eq!(room.put((10, 0), held(3, 9, 0)), None);
        assert_eq!((room.empty(), room.find(15, 0)), (2, Some((0, 0))), "spare by then, before one that is free later");
    }

    #[test]
    fn among_limbs_that_are_also_off_chip_the_last_needed_is_evicted() {
        let computed = Held { off_chip: false, ..held(4, 50, 0) };
        let coming = Held { known: false, ..held(5, 50, 0) };
        let room = full(&[held(0, 7, 5), held(1, 9, 5), held(2, 30, 40), held(3, 2, 0), computed, coming]);
        assert_eq!(room.find(10, 2), Some((5, 1)));
        assert_eq!(room.find(40, 2), Some((40, 2)));
        assert_eq!(room.find(4, 2), Some((5, 0)), "the first of all, if none may be written by then");
        assert_eq!(room.find(40, 30), None, "none is needed later");
    }

    #[test]
    fn the_last_needed_limb_is_stored_unless_in_use() {
        let computed = |residue, next| Held { off_chip: false, ..held(residue, next, 0) };
        let coming = Held { known: false, ..computed(3, 99) };
        let room = full(&[computed(0, 7), computed(1, 9), held(2, 9, 0), coming]);
        assert_eq!(room.needed_last(|_| false), Some(Residue(2)), "preferably one that is also off chip");
        assert_eq!(room.needed_last(|residue| residue == Residue(2)), Some(Residue(1)));
        assert_eq!(room.needed_last(|_| true), None);
    }
}
