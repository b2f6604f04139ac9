//! F1's functional units on a stream of chunks, bit-exact and cycle by cycle (section 5).
//!
//! A residue vector of N elements enters a unit of E lanes as G = N / E chunks in consecutive cycles. Chunk r
//! has elements r·E to r·E + E − 1.

pub mod automorphism;
pub mod transpose;

pub use automorphism::{AutomorphismUnit, Layout};
pub use transpose::Transpose;

use polyfabric_kernels::RingDegree;

/// Lanes and chunks of a vector in a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    lanes: usize,
    chunks: usize,
}

/// A vector that does not fit a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a unit of {lanes} lanes supports vectors of 2 to {lanes} chunks of {lanes} elements, not rings of degree {degree}"
)]
pub struct ShapeError {
    /// N.
    pub degree: usize,
    /// E.
    pub lanes: usize,
}

impl Shape {
    /// A ring of `degree` N in a unit with `lanes` E.
    ///
    /// # Errors
    /// [`ShapeError`] unless E is a power of two and 2E ≤ N ≤ E².
    pub fn new(degree: RingDegree, lanes: usize) -> Result<Self, ShapeError> {
        let degree = degree.get();
        let fits = lanes.is_power_of_two() && lanes >= 2 && degree >= 2 * lanes && degree <= lanes * lanes;
        if !fits {
            return Err(ShapeError { degree, lanes });
        }
        Ok(Self { lanes, chunks: degree / lanes })
    }

    /// E.
    pub fn lanes(self) -> usize {
        self.lanes
    }

    /// G; also the cycles that a vector occupies a unit.
    pub fn chunks(self) -> usize {
        self.chunks
    }

    /// N.
    pub fn degree(self) -> usize {
        self.lanes * self.chunks
    }
}
