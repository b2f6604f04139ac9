//! What a pass needs of a vector type and of a way to multiply.

use super::tables::Tables;

/// Butterflies of one arithmetic on one vector type.
///
/// The ranges differ by arithmetic, each states its own: values between forward butterflies are *loose*, values
/// between inverse butterflies are *tight*.
///
/// # Safety
/// Every method may use the instruction set that the implementation is for: the caller has checked that
/// the processor has it. Pointers are valid for a whole vector.
pub(super) trait Butterfly: Copy {
    /// A word of memory.
    type Word: Copy;
    /// [`Self::LANES`] words.
    type Vector: Copy;
    /// A factor in every lane, or one for each lane, with what multiplying by it needs.
    type Factor: Copy;
    /// log2 of the number of lanes.
    const LOG2_LANES: usize;
    /// Whether a pass' butterflies are a loop over rows in memory, in place of rows in registers: a seventh faster where factors take too many of these.
    const LOOPED: bool = false;
    /// Words of a vector.
    const LANES: usize = 1 << Self::LOG2_LANES;

    /// The arithmetic of the tables' modulus.
    unsafe fn new(tables: &Tables<Self::Word>) -> Self;
    unsafe fn load(from: *const Self::Word) -> Self::Vector;
    unsafe fn store(to: *mut Self::Word, value: Self::Vector);
    /// The pair (factor, companion) in every lane.
    unsafe fn broadcast(&self, pair: &[Self::Word; 2]) -> Self::Factor;
    /// The factors of in-register stage `stage` of a pair of vectors: lane c gets factor number c >> `stage` of
    /// `block`, or with `MIRRORED` the one as far from the stage's end. See [`Tables::lanes`].
    unsafe fn lane_factors<const MIRRORED: bool>(
        &self,
        block: *const Self::Word,
        companions: *const Self::Word,
        stage: usize,
    ) -> Self::Factor;
    /// A canonical word of memory, as the arithmetic has it.
    #[inline(always)]
    unsafe fn enter(&self, canonical: Self::Vector) -> Self::Vector {
        canonical
    }
    /// An operand u of the first stage of a forward pass that is not the transform's first, ready for the stages of a pass.
    #[inline(always)]
    unsafe fn refresh(&self, loose: Self::Vector) -> Self::Vector {
        loose
    }
    /// A word that is an operand u of the first forward stage, made loose.
    #[inline(always)]
    unsafe fn loosen(&self, canonical: Self::Vector) -> Self::Vector {
        canonical
    }
    /// (u + w·v, u − w·v), loose to loose.
    unsafe fn forward(&self, u: Self::Vector, v: Self::Vector, w: Self::Factor) -> (Self::Vector, Self::Vector);
    /// (u + v, w·(v − u)), tight to tight.
    unsafe fn inverse(&self, u: Self::Vector, v: Self::Vector, w: Self::Factor) -> (Self::Vector, Self::Vector);
    /// [`Self::inverse`] as stage number `level` of a pass, whose sums may be left unreduced: of words below
    /// 2^level times the tight bound it gives a sum below twice that and a tight product.
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
    /// A word after `doublings` sums by [`Self::inverse_at`], made tight.
    #[inline(always)]
    unsafe fn tighten(&self, word: Self::Vector, _doublings: usize) -> Self::Vector {
        word
    }
    /// (s·(u + v), w·(v − u)), to canonical, as stage number `level` of a pass.
    unsafe fn inverse_last(
        &self,
        u: Self::Vector,
        v: Self::Vector,
        s: Self::Factor,
        w: Self::Factor,
        level: usize,
    ) -> (Self::Vector, Self::Vector);
    /// Loose to canonical.
    unsafe fn canonical(&self, loose: Self::Vector) -> Self::Vector;
    /// Exchanges lane bit `bit` with the number of the register: the first result has the words whose lane
    /// has this bit 0. Its own inverse.
    unsafe fn swap(a: Self::Vector, b: Self::Vector, bit: usize) -> (Self::Vector, Self::Vector);
    /// (a_0, b_0, a_1, b_1, …) as two vectors: undoes the swaps of all lane bits from the highest to the lowest.
    unsafe fn interleave(a: Self::Vector, b: Self::Vector) -> (Self::Vector, Self::Vector);
    /// Even words, odd words: what the swaps of all lane bits from the highest to the lowest give.
    unsafe fn deinterleave(a: Self::Vector, b: Self::Vector) -> (Self::Vector, Self::Vector);
}
