//! F1's units that permute a vector's elements (section 5): their structure and latency.
//!
//! A residue vector of N elements enters a unit of E lanes as G = N / E chunks in consecutive cycles. Chunk r has elements r·E to r·E + E − 1.
//! The units are in `rtl/`, register by register, where tests compare results with the kernels and cycles with these latencies.

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
}

/// The quadrant-swap transpose unit (section 5.1, figure 7).
///
/// A K × K matrix of quadrants A B / C D enters column by column, K lanes wide. First come the columns of A over C, then those of B over D. A
/// quadrant swap exchanges B and C: its output is A over B, then C over D. Swaps with K, K/2, …, 2 transpose the matrix, since (A B / C D)ᵀ =
/// (Aᵀ Cᵀ / Bᵀ Dᵀ). With G < E chunks, the layers above G are bypassed, and the E lanes contain E / G matrices of G × G.
pub struct Transpose;

impl Transpose {
    /// Cycles from the first chunk in to the first chunk out: K/2 per layer, G − 1 in total.
    pub fn latency(shape: Shape) -> u64 {
        shape.chunks() as u64 - 1
    }
}

/// The vector automorphism unit (section 5.1, figures 5 and 6): a permutation within each chunk, a transpose, a permutation within each chunk,
/// the transpose back.
///
/// σ_k moves element i to k·i, and the value at ψ^(2j+1) to place j' with k(2j'+1) = 2j + 1: both are affine maps of indices modulo N. Let i =
/// r·E + c. An affine map i → m·i + o moves column c to (m·c + o) mod E, the same in every row. It moves row r to m·r + ⌊(m·c + o) / E⌋ modulo
/// G, which is affine in r with an offset for each column. So each of the two permutations stays within what a chunk holds before or after the
/// transpose. An affine map modulo 2^b is, in turn, a series of fixed permutations, each applied or bypassed: −1, the squarings of 5, and the
/// rotations by powers of two.
pub struct AutomorphismUnit;

impl AutomorphismUnit {
    /// Number of fixed permutations in series for chunks of `size` elements: −1 and 5^(2^i) for the factor, 2^i for the offset.
    fn sub_permutations(size: usize) -> u64 {
        let bits = u64::from(size.ilog2());
        bits.saturating_sub(1) + bits
    }

    /// Cycles from the first chunk in to the first chunk out: a register after each fixed permutation, and two transposes.
    pub fn latency(shape: Shape) -> u64 {
        Self::sub_permutations(shape.lanes()) + Self::sub_permutations(shape.chunks()) + 2 * Transpose::latency(shape)
    }
}
