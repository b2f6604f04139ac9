//! Interface of the passes to a vector type and a multiplication method.

use super::tables::Tables;

/// Butterflies of one arithmetic on one vector type.
///
/// Each arithmetic states its ranges: values between forward butterflies are *loose*, values between inverse butterflies are *tight*.
///
/// # Safety
/// Every method may use the implementation's instruction set; the caller has checked that it is present. Pointers are valid for a whole vector.
pub(super) trait Butterfly: Copy {
    /// A word of memory.
    type Word: Copy;
    /// [`Self::LANES`] words.
    type Vector: Copy;
    /// A factor, broadcast or per lane, with its multiplication data.
    type Factor: Copy;
    /// log2 of the number of lanes.
    const LOG2_LANES: usize;
    /// Whether a pass loops over rows in memory instead of registers: 14 % faster if factors use too many registers.
    const LOOPED: bool = false;
    /// Whether two innermost blocks are transformed at once: a block's butterflies wait for one another, and 32 registers hold two blocks.
    const PAIRED: bool = false;
    /// Words of a vector.
    const LANES: usize = 1 << Self::LOG2_LANES;

    /// The arithmetic of the tables' modulus.
    unsafe fn new(tables: &Tables<Self::Word>) -> Self;
    unsafe fn load(from: *const Self::Word) -> Self::Vector;
    unsafe fn store(to: *mut Self::Word, value: Self::Vector);
    /// The pair (factor, companion) in every lane.
    unsafe fn broadcast(&self, pair: &[Self::Word; 2]) -> Self::Factor;
    /// The factors of in-register stage `stage` of a pair of vectors: lane c gets factor number c >> `stage` of `block`, or with `MIRRORED` the one at the
    /// same distance from the stage's end. See [`Tables::lanes`].
    unsafe fn lane_factors<const MIRRORED: bool>(
        &self,
        block: *const Self::Word,
        companions: *const Self::Word,
        stage: usize,
    ) -> Self::Factor;
    /// Converts a canonical word from memory to the arithmetic's format.
    #[inline(always)]
    unsafe fn enter(&self, canonical: Self::Vector) -> Self::Vector {
        canonical
    }
    /// Prepares an operand u of the first stage of a forward pass, except the transform's first pass.
    #[inline(always)]
    unsafe fn refresh(&self, loose: Self::Vector) -> Self::Vector {
        loose
    }
    /// Prepares an operand u of the first in-register stage of the forward transform.
    #[inline(always)]
    unsafe fn refresh_lanes(&self, loose: Self::Vector) -> Self::Vector {
        loose
    }
    /// Makes loose a word that is an operand u of the first forward stage.
    #[inline(always)]
    unsafe fn loosen(&self, canonical: Self::Vector) -> Self::Vector {
        canonical
    }
    /// (u + w·v, u − w·v), loose to loose.
    unsafe fn forward(&self, u: Self::Vector, v: Self::Vector, w: Self::Factor) -> (Self::Vector, Self::Vector);
    /// (u + v, w·(v − u)), tight to tight.
    unsafe fn inverse(&self, u: Self::Vector, v: Self::Vector, w: Self::Factor) -> (Self::Vector, Self::Vector);
    /// [`Self::inverse`] as stage `level` of a pass, whose sums may stay unreduced: for words below 2^level times the tight bound, the sum is below twice
    /// that, and the product is tight.
    #[inline(always)]
    unsafe fn inverse_at(
        &self,
        u: Self::Vector,
        v: Self::Vector,
        w: Self::Factor,
        _level: usize,
    ) -> (Self::Vector, Self::Vector) {
        // SAFETY: by the trait's contract.
        unsafe { self.inverse(u, v, w) }
    }
    /// Makes tight a word after `doublings` sums of [`Self::inverse_at`].
    #[inline(always)]
    unsafe fn tighten(&self, word: Self::Vector, _doublings: usize) -> Self::Vector {
        word
    }
    /// (s·(u + v), w·(v − u)), canonical, as stage `level` of a pass.
    unsafe fn inverse_last(
        &self,
        u: Self::Vector,
        v: Self::Vector,
        s: Self::Factor,
        w: Self::Factor,
        level: usize,
    ) -> (Self::Vector, Self::Vector);
    unsafe fn canonical(&self, loose: Self::Vector) -> Self::Vector;
    /// Exchanges lane bit `bit` with the register's number: the first result has the words whose lane has this bit 0. Self-inverse.
    unsafe fn swap(a: Self::Vector, b: Self::Vector, bit: usize) -> (Self::Vector, Self::Vector);
    /// (a_0, b_0, a_1, b_1, …) as two vectors: undoes the swaps of all lane bits from the highest to the lowest.
    unsafe fn interleave(a: Self::Vector, b: Self::Vector) -> (Self::Vector, Self::Vector);
    /// Even words, odd words: the result of swapping all lane bits from the highest to the lowest.
    unsafe fn deinterleave(a: Self::Vector, b: Self::Vector) -> (Self::Vector, Self::Vector);
}
