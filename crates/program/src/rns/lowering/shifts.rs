//! Tracks the slots in which a value's errors originated.

use std::sync::Arc;

/// Set of offsets r such that the error in slot i originates from slots i + r, modulo the ring's slots.
///
/// Errors of one source are independent between slots. So a value and its rotation have independent errors if no r is in both sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shifts {
    One(u32),
    /// A bit set: bit r of the words.
    Many(Arc<[u64]>),
}

impl Shifts {
    /// Errors that originated in their own slot.
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

    /// All `slots` offsets: nothing is known.
    pub fn anywhere(slots: usize) -> Self {
        Self::Many((0..slots.div_ceil(64)).map(|_| u64::MAX).collect())
    }

    /// The set after slot i took slot i + `steps`.
    pub fn rotated(&self, steps: i64, slots: usize) -> Self {
        let steps = steps.rem_euclid(slots as i64) as usize;
        match self {
            &Self::One(shift) => Self::One(((shift as usize + steps) % slots) as u32),
            // With fewer slots than a word has bits, tracking is not worthwhile.
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

    pub fn union(&self, other: &Self, slots: usize) -> Self {
        if self == other {
            return self.clone();
        }
        Self::Many(self.words(slots).iter().zip(other.words(slots)).map(|(a, b)| a | b).collect())
    }

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
    //! Do the operations agree with their definition on sets?

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
    fn fewer_slots_than_word_bits_are_not_tracked() {
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
