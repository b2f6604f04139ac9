//! From which slots a value's errors come.

use std::sync::Arc;

/// Set of numbers r such that the error in slot i comes from errors that arose in slots i + r, modulo the ring's slots.
///
/// Errors of one source are independent from slot to slot. So a value and its rotation have independent errors, as long as no r is in
/// both their sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shifts {
    /// One number.
    One(u32),
    /// Bit r of the words: whether r is in the set.
    Many(Arc<[u64]>),
}

impl Shifts {
    /// Errors that arose where they are.
    pub const HERE: Self = Self::One(0);

    fn words(&self, slots: usize) -> Vec<u64> {
        match self {
            Self::Many(words) => words.to_vec(),
            &Self::One(shift) => {
                let mut words = vec![0; slots.div_ceil(64)];
                words[shift as usize / 64] |= 1 << (shift % 64);
                words
            }
        }
    }

    /// The whole of `slots` slots: nothing is known.
    pub fn anywhere(slots: usize) -> Self {
        Self::Many((0..slots.div_ceil(64)).map(|_| u64::MAX).collect())
    }

    /// After slot i took slot i + `steps`.
    pub fn rotated(&self, steps: i64, slots: usize) -> Self {
        let steps = steps.rem_euclid(slots as i64) as usize;
        match self {
            &Self::One(shift) => Self::One(((shift as usize + steps) % slots) as u32),
            // Fewer slots than a word's bits: not worth following.
            Self::Many(_) if slots < 64 => Self::anywhere(slots),
            Self::Many(words) => {
                let (count, bits) = (words.len(), steps % 64);
                let mut rotated = vec![0; count];
                for (index, &word) in words.iter().enumerate() {
                    rotated[(index + steps / 64) % count] |= word << bits;
                    if bits > 0 {
                        rotated[(index + steps / 64 + 1) % count] |= word >> (64 - bits);
                    }
                }
                Self::Many(rotated.into())
            }
        }
    }

    /// Those of both.
    pub fn union(&self, other: &Self, slots: usize) -> Self {
        if self == other {
            return self.clone();
        }
        Self::Many(self.words(slots).iter().zip(other.words(slots)).map(|(a, b)| a | b).collect())
    }

    /// Whether none is in both.
    pub fn disjoint(&self, other: &Self, slots: usize) -> bool {
        match (self, other) {
            (Self::One(a), Self::One(b)) => a != b,
            (Self::Many(a), Self::Many(b)) => a.iter().zip(b.iter()).all(|(a, b)| a & b == 0),
            _ => self.words(slots).iter().zip(other.words(slots)).all(|(a, b)| a & b == 0),
        }
    }
}

#[cfg(test)]
mod tests {
    //! Are the sets those of the definition?

    use super::*;
    use std::collections::BTreeSet;

    fn members(shifts: &Shifts, slots: usize) -> BTreeSet<usize> {
        let words = shifts.words(slots);
        (0..slots).filter(|r| words[r / 64] >> (r % 64) & 1 == 1).collect()
    }

    #[test]
    fn rotations_and_unions_are_those_of_sets() {
        let slots = 256;
        let (mut shifts, mut plain) = (Shifts::HERE, BTreeSet::from([0]));
        for steps in [1i64, -3, 64, 100, -130, 255, 17] {
            let rotated = shifts.rotated(steps, slots);
            let moved: BTreeSet<usize> = plain.iter().map(|&r| (r as i64 + steps).rem_euclid(256) as usize).collect();
            assert_eq!(members(&rotated, slots), moved);
            assert_eq!(shifts.disjoint(&rotated, slots), plain.is_disjoint(&moved));
            shifts = shifts.union(&rotated, slots);
            plain.extend(moved);
            assert_eq!(members(&shifts, slots), plain);
        }
        assert!(!shifts.disjoint(&Shifts::anywhere(slots), slots));
    }

    #[test]
    fn of_fewer_slots_than_a_word_has_bits_nothing_is_claimed() {
        let slots = 8;
        let both = Shifts::HERE.union(&Shifts::One(1), slots);
        assert!(!both.rotated(2, slots).disjoint(&Shifts::One(3), slots));
    }

    #[test]
    fn the_sum_of_all_slots_is_of_independent_errors() {
        let slots = 8192;
        let (mut shifts, mut step) = (Shifts::HERE, slots);
        while step > 1 {
            step /= 2;
            let rotated = shifts.rotated(step as i64, slots);
            assert!(shifts.disjoint(&rotated, slots), "{step}");
            shifts = shifts.union(&rotated, slots);
        }
        assert_eq!(shifts, Shifts::anywhere(slots));
    }
}
