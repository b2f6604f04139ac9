//! Orders of a transform's values.

use crate::ring::RingDegree;

/// A permutation of the N values. Value k is the one at ψ^(2k+1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EvaluationOrder {
    /// Place p has value p.
    Natural,
    /// Place p has value rev(p), with log2 N bits reversed: the order of [`super::Ntt`].
    BitReversed,
    /// F1's four-step unit of E = `vector` lanes: rows of N/E values, where place k_1·(N/E) + k_2 has value k_1 + E·k_2 (`four_step`).
    FourStep {
        /// E, a power of two with E ≤ N ≤ E².
        vector: usize,
    },
    /// Osiris's streaming unit of `lanes` inputs: in cycle c lane r has value c + r·(N/lanes), at place c·lanes + r (`streaming`).
    Streaming {
        /// p, a power of two from 2 to N.
        lanes: usize,
    },
}

impl EvaluationOrder {
    /// The index of the value at `place`, for N = `degree`.
    pub fn value_at(self, degree: RingDegree, place: usize) -> usize {
        let count = degree.get();
        match self {
            Self::Natural => place,
            Self::BitReversed => reverse_bits(place, degree.log2()),
            Self::FourStep { vector } => place / (count / vector) + vector * (place % (count / vector)),
            Self::Streaming { lanes } => place / lanes + place % lanes * (count / lanes),
        }
    }

    /// The place of each value: [`Self::value_at`] inverted, as a table.
    pub fn places(self, degree: RingDegree) -> Vec<usize> {
        let mut places = vec![0; degree.get()];
        for place in 0..degree.get() {
            places[self.value_at(degree, place)] = place;
        }
        places
    }

    /// Reorders `values` from this order to `target`.
    pub fn convert<W: Copy>(self, target: Self, degree: RingDegree, values: &[W]) -> Vec<W> {
        let places = self.places(degree);
        (0..degree.get()).map(|place| values[places[target.value_at(degree, place)]]).collect()
    }
}

/// The low `bits` bits of `number` in reverse order.
pub const fn reverse_bits(number: usize, bits: u32) -> usize {
    if bits == 0 { 0 } else { number.reverse_bits() >> (usize::BITS - bits) }
}
