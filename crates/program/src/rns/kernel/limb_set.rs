//! Sets of limbs.

use polyfabric_schemes::rns::LimbId;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Distinct limbs in ascending order of their index in the ring's table. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct LimbSet(Arc<[LimbId]>);

impl LimbSet {
    /// The set of `limbs`, in any order, without duplicates.
    pub fn new(limbs: impl IntoIterator<Item = LimbId>) -> Self {
        let mut limbs: Vec<LimbId> = limbs.into_iter().collect();
        limbs.sort_unstable();
        limbs.dedup();
        Self(limbs.into())
    }

    /// The limbs with indices in `range`.
    pub fn range(range: Range<u16>) -> Self {
        Self(range.map(LimbId).collect())
    }

    pub fn one(limb: LimbId) -> Self {
        Self([limb].into())
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn as_slice(&self) -> &[LimbId] {
        &self.0
    }

    /// The limbs in ascending order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = LimbId> + DoubleEndedIterator {
        self.0.iter().copied()
    }

    /// The largest limb.
    pub fn last(&self) -> Option<LimbId> {
        self.0.last().copied()
    }

    pub fn contains(&self, limb: LimbId) -> bool {
        self.position(limb).is_some()
    }

    /// The position of `limb` in the set.
    pub fn position(&self, limb: LimbId) -> Option<usize> {
        self.0.binary_search(&limb).ok()
    }

    pub fn is_subset(&self, other: &Self) -> bool {
        self.iter().all(|limb| other.contains(limb))
    }

    pub fn is_disjoint(&self, other: &Self) -> bool {
        !self.iter().any(|limb| other.contains(limb))
    }

    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        Self::new(self.iter().chain(other.iter()))
    }

    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        Self(self.iter().filter(|&limb| !other.contains(limb)).collect())
    }

    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        Self(self.iter().filter(|&limb| other.contains(limb)).collect())
    }

    /// The first `count` limbs, or all if there are fewer.
    #[must_use]
    pub fn first(&self, count: usize) -> Self {
        Self(self.iter().take(count).collect())
    }
}

impl FromIterator<LimbId> for LimbSet {
    fn from_iter<I: IntoIterator<Item = LimbId>>(limbs: I) -> Self {
        Self::new(limbs)
    }
}

/// Prints runs of indices: `{0-4,7}`.
impl fmt::Display for LimbSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        let mut rest = self.as_slice();
        let mut first = true;
        while let Some(&LimbId(start)) = rest.first() {
            let run = rest.iter().zip(start..).take_while(|&(&LimbId(limb), number)| limb == number).count();
            let comma = if first { "" } else { "," };
            match run {
                1 => write!(f, "{comma}{start}")?,
                _ => write!(f, "{comma}{start}-{}", start + run as u16 - 1)?,
            }
            (rest, first) = (&rest[run..], false);
        }
        f.write_str("}")
    }
}

#[cfg(test)]
mod tests {
    //! Are sets of limbs ordered, and do they print as runs?

    use super::*;

    #[test]
    fn operations_and_runs() {
        let set = LimbSet::new([5, 1, 0, 2, 5, 7].map(LimbId));
        assert_eq!(set.to_string(), "{0-2,5,7}");
        assert_eq!(set.len(), 5);
        assert_eq!(set.position(LimbId(5)), Some(3));
        assert_eq!(LimbSet::default().to_string(), "{}");
        let other = LimbSet::range(2..6);
        assert_eq!(set.difference(&other).to_string(), "{0-1,7}");
        assert_eq!(set.intersection(&other).to_string(), "{2,5}");
        assert_eq!(set.union(&other).to_string(), "{0-5,7}");
        assert!(!set.is_disjoint(&other) && LimbSet::one(LimbId(7)).is_subset(&set));
        assert_eq!(set.first(2), LimbSet::range(0..2));
    }
}
