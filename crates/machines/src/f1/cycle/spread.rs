//! Which bank of the scratchpad takes a vector. A bank sends one vector at a time, so vectors whose readers have their turns at the same time
//! go to different banks.

use super::{LOOKED_AT, Scheduler};

/// Instructions of each cluster that count as having their turns at the same time.
const SAME_TIME: usize = 4;

/// Turns of a vector that are looked at: later ones may find it in a register, or in another bank.
const TURNS: usize = 4;

/// How many vectors of each bank are read at which time, as far as their places were chosen.
#[derive(Clone)]
pub(super) struct Spread {
    /// Instructions of all clusters that have their turns at the same time.
    together: usize,
    /// By bank and time.
    reads: Vec<Vec<u32>>,
}

impl Spread {
    pub(super) fn new(banks: usize, clusters: usize, instructions: usize) -> Self {
        let together = SAME_TIME * clusters;
        Self { together, reads: vec![vec![0; instructions / together + 1]; banks] }
    }

    /// Of the places, each with the cycle from which it can be written, its frame and its bank, the one in the bank from which fewest other vectors are
    /// read at these times, which is noted. Of equal ones that which has been free for longest, and then the one whose bank has fewest vectors.
    fn choose(&mut self, times: &[usize], places: &[(u64, u16, u16)]) -> Option<(u64, u16, u16)> {
        let reads = |bank: u16| times.iter().map(|&time| self.reads[usize::from(bank)][time]).sum::<u32>();
        let found = places.iter().copied().min_by_key(|&(from, frame, bank)| (reads(bank), from, frame));
        if let Some((.., bank)) = found {
            times.iter().for_each(|&time| self.reads[usize::from(bank)][time] += 1);
        }
        found
    }
}

impl Scheduler<'_> {
    /// The place among these for a value, by when its readers have their turns.
    pub(super) fn least_read(&mut self, value: u32, places: &[(u64, u16, u16)]) -> Option<(u64, u16, u16)> {
        let users = &self.graph.users(value as usize)[self.cursor[value as usize] as usize..];
        let waiting = users.iter().filter(|&&user| !self.issued[user as usize]).take(LOOKED_AT);
        let mut times: Vec<usize> = waiting.map(|&user| user as usize / self.spread.together).collect();
        times.dedup();
        times.truncate(TURNS);
        self.spread.choose(&times, places)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_that_are_read_at_the_same_time_go_to_different_banks() {
        let mut spread = Spread::new(4, 2, 100);
        let places: Vec<(u64, u16, u16)> = (0..4).map(|bank| (u64::from(bank), 0, bank)).collect();
        let banks = |spread: &mut Spread, times: &[usize], places: &[(u64, u16, u16)]| {
            let mut banks: Vec<u16> =
                (0..4).filter_map(|_| spread.choose(times, places)).map(|(.., bank)| bank).collect();
            banks.sort_unstable();
            banks
        };
        assert_eq!(banks(&mut spread, &[3], &places), [0, 1, 2, 3]);
        // What is read at another time does not mind.
        assert_eq!(spread.choose(&[7], &places), Some(places[0]));
        // At either time one more is read from the first bank, so that the others come before it.
        assert_eq!(spread.choose(&[3, 7], &places), Some(places[1]));
        assert_eq!(spread.choose(&[], &[]), None);
        // What nobody reads yet fills the banks evenly.
        assert_eq!(spread.choose(&[], &[(0, 1, 0), (0, 0, 1), (0, 0, 2)]), Some((0, 0, 1)));
    }

    #[test]
    fn the_last_instruction_has_a_time() {
        for instructions in [1, 7, 8, 9, 64] {
            let spread = Spread::new(1, 2, instructions);
            assert!((instructions - 1) / spread.together < spread.reads[0].len());
        }
    }
}
