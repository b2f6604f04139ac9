//! Chooses the scratchpad bank for a vector. A bank sends one vector at a time, so vectors that are read at the
//! same time should be in different banks.

use super::{LOOKED_AT, Scheduler};

/// Instructions of each cluster that count as simultaneous.
const SAME_TIME: usize = 4;

/// Number of a vector's reads to consider: for later reads it may be in a register or in another bank.
const TURNS: usize = 4;

/// Number of reads per bank and time, for vectors with chosen places.
#[derive(Clone)]
pub(super) struct Spread {
    /// Instructions of all clusters that count as simultaneous.
    together: usize,
    /// By bank and time.
    reads: Vec<Vec<u32>>,
}

impl Spread {
    pub(super) fn new(banks: usize, clusters: usize, instructions: usize) -> Self {
        let together = SAME_TIME * clusters;
        Self { together, reads: vec![vec![0; instructions / together + 1]; banks] }
    }

    /// Chooses among `places` (first cycle, frame, bank) the bank with the fewest reads at `times`, and records
    /// the choice. Ties are broken by the longest free place, then by the bank with the fewest vectors.
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
    /// The best place for a value, by the times of its reads.
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
        // Reads at other times are irrelevant.
        assert_eq!(spread.choose(&[7], &places), Some(places[0]));
        // At each time, the first bank has one more read, so the others are better.
        assert_eq!(spread.choose(&[3, 7], &places), Some(places[1]));
        assert_eq!(spread.choose(&[], &[]), None);
        // Vectors without readers fill the banks evenly.
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
