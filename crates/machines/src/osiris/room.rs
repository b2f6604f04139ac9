//! The places of limbs in the scratchpads, and which of them is given up where none is free.

use super::layout::Cycle;
use super::tasks::Residue;
use std::collections::BTreeSet;

/// What a place holds, with all that decides on whether it is given up.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    /// The limb.
    pub residue: Residue,
    /// Whether it is on its way, or there; else it is a result of the task at hand.
    pub known: bool,
    /// Whether it lies off chip too.
    pub off_chip: bool,
    /// The first task that is still to read it.
    pub next: u32,
    /// From when on its place may be written.
    pub free: Cycle,
}

impl Held {
    /// Whether its place can be given up at once: it lies off chip too, and is needed after task `current`, which its operands are not.
    fn spare(&self, current: usize) -> bool {
        self.known && self.off_chip && self.next as usize > current
    }
}

/// All places. They are looked through for each limb that is brought or computed, so what decides lies side by side.
#[derive(Debug)]
pub struct Room {
    /// Those that hold nothing, with the cycle from which on each may be written.
    empty: BTreeSet<(Cycle, usize)>,
    /// By place.
    held: Vec<Option<Held>>,
}

impl Room {
    /// So many places, all free.
    pub fn new(places: usize) -> Self {
        Self { empty: (0..places).map(|place| (0, place)).collect(), held: vec![None; places] }
    }

    /// All places.
    pub fn places(&self) -> usize {
        self.held.len()
    }

    /// How many hold nothing.
    pub fn empty(&self) -> usize {
        self.empty.len()
    }

    /// The place for a limb that is `wanted` in that cycle, and from when on it may be written: one that is free by then, as late as possible, so that
    /// those that are free earlier remain for what comes earlier; else the one given up by then that is needed last; else the first of both. None where
    /// nothing can be given up at once by task `current`.
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

    /// What is needed last of that which is known and not `pinned`, rather what lies off chip too.
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

    /// Gives `place`, which was free from that cycle on, to `held`; what it held until then.
    pub fn put(&mut self, (free, place): (Cycle, usize), held: Held) -> Option<Residue> {
        self.empty.remove(&(free, place));
        self.held[place].replace(held).map(|before| before.residue)
    }

    /// What is known of what `place` holds has changed.
    pub fn update(&mut self, place: usize, held: Held) {
        self.held[place] = Some(held);
    }

    /// `place` holds nothing any more, and may be written from cycle `free` on.
    pub fn leave(&mut self, place: usize, free: Cycle) {
        self.held[place] = None;
        self.empty.insert((free, place));
    }
}

#[cfg(test)]
mod tests {
    //! Which place is taken, and which is given up?

    use super::*;

    fn held(residue: u32, next: u32, free: Cycle) -> Held {
        Held { residue: Residue(residue), known: true, off_chip: true, next, free }
    }

    /// All places of it, holding that.
    fn full(held: &[Held]) -> Room {
        let mut room = Room::new(held.len());
        for (place, &held) in held.iter().enumerate() {
            assert_eq!(room.put((0, place), held), None);
        }
        room
    }

    #[test]
    fn a_free_place_is_taken_as_late_as_it_may_be_written() {
        let mut room = full(&[held(0, 9, 0), held(1, 9, 0), held(2, 9, 0)]);
        for (place, free) in [(0, 10), (1, 20), (2, 30)] {
            room.leave(place, free);
        }
        assert_eq!((room.empty(), room.places()), (3, 3));
        assert_eq!(room.find(25, 0), Some((20, 1)));
        assert_eq!(room.find(20, 0), Some((20, 1)));
        assert_eq!(room.find(5, 0), Some((10, 0)), "the first, where none is free by then");
        assert_eq!(room.put((10, 0), held(3, 9, 0)), None);
        assert_eq!(
            (room.empty(), room.find(15, 0)),
            (2, Some((0, 0))),
            "what is held and spare by then, before what is free later"
        );
    }

    #[test]
    fn of_what_lies_off_chip_too_that_is_given_up_which_is_needed_last() {
        let computed = Held { off_chip: false, ..held(4, 50, 0) };
        let coming = Held { known: false, ..held(5, 50, 0) };
        let room = full(&[held(0, 7, 5), held(1, 9, 5), held(2, 30, 40), held(3, 2, 0), computed, coming]);
        assert_eq!(room.find(10, 2), Some((5, 1)));
        assert_eq!(room.find(40, 2), Some((40, 2)));
        assert_eq!(room.find(4, 2), Some((5, 0)), "the first of all, where none may be written by then");
        assert_eq!(room.find(40, 30), None, "none is needed later");
    }

    #[test]
    fn what_is_needed_last_goes_to_memory_unless_it_is_in_use() {
        let computed = |residue, next| Held { off_chip: false, ..held(residue, next, 0) };
        let coming = Held { known: false, ..computed(3, 99) };
        let room = full(&[computed(0, 7), computed(1, 9), held(2, 9, 0), coming]);
        assert_eq!(room.needed_last(|_| false), Some(Residue(2)), "rather what lies off chip too");
        assert_eq!(room.needed_last(|residue| residue == Residue(2)), Some(Residue(1)));
        assert_eq!(room.needed_last(|_| true), None);
    }
}
