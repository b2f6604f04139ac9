//! Residues of a modulus below 2^50 as f64, multiplied by fused multiply-adds: for processors without IFMA.
//!
//! An integer below 2^53 is an f64 exactly, and so is what a fused multiply-add gives if it is one. With h the rounded product of a and b,
//! l = ab − h is exact; with c an integer near ab/q, h − cq is an integer below 2^53 and so exact too, and ab − cq = (h − cq) + l. How near c is
//! bounds the result: c is the rounding of a quotient that errs by a few parts in 2^53 of itself.
//!
//! Every function is unsafe for one reason: the instruction set must be present, and pointers valid for [`Floats::LANES`] words.

use super::Modulus;
use std::arch::x86_64::*;

/// Largest number of bits of a modulus.
pub(crate) const MAX_BITS: u32 = 50;

/// Whether `modulus` is below 2^50.
pub(crate) fn serves(modulus: Modulus) -> bool {
    modulus.bits() <= MAX_BITS
}

/// 2^52: a word below it in the mantissa of this is the number that is so much more.
const SHIFT: f64 = (1u64 << 52) as f64;

/// Residues side by side.
pub(crate) trait Floats: Copy {
    /// The same register as integers.
    type Words: Copy;
    /// log2 of how many.
    const LOG2_LANES: usize;
    /// How many.
    const LANES: usize = 1 << Self::LOG2_LANES;

    unsafe fn load(from: *const u64) -> Self::Words;
    unsafe fn store(to: *mut u64, words: Self::Words);
    /// [`Self::store`] past the cache, to a multiple of 64 bytes or a register further.
    unsafe fn stream(to: *mut u64, words: Self::Words);
    unsafe fn splat_word(word: u64) -> Self::Words;
    unsafe fn add_words(a: Self::Words, b: Self::Words) -> Self::Words;
    unsafe fn sub_words(a: Self::Words, b: Self::Words) -> Self::Words;
    unsafe fn or_words(a: Self::Words, b: Self::Words) -> Self::Words;
    unsafe fn xor_words(a: Self::Words, b: Self::Words) -> Self::Words;
    unsafe fn shift_right_32(a: Self::Words) -> Self::Words;
    unsafe fn shift_left_32(a: Self::Words) -> Self::Words;
    /// [0, 2q) to [0, q).
    unsafe fn reduce_once(words: Self::Words, q: Self::Words) -> Self::Words;
    /// The integers (−q, q) to [0, q).
    unsafe fn raise(words: Self::Words, q: Self::Words) -> Self::Words;
    /// The bits as numbers.
    unsafe fn from_bits(words: Self::Words) -> Self;
    /// The numbers' bits.
    unsafe fn bits(self) -> Self::Words;
    unsafe fn splat(value: f64) -> Self;
    unsafe fn add(self, other: Self) -> Self;
    unsafe fn sub(self, other: Self) -> Self;
    unsafe fn mul(self, other: Self) -> Self;
    /// self · factor + term.
    unsafe fn mul_add(self, factor: Self, term: Self) -> Self;
    /// self · factor − term.
    unsafe fn mul_sub(self, factor: Self, term: Self) -> Self;
    /// term − self · factor.
    unsafe fn neg_mul_add(self, factor: Self, term: Self) -> Self;
    /// The nearest integers.
    unsafe fn round(self) -> Self;
    /// `addend` more where self is below `bound`.
    unsafe fn add_where_less(self, bound: Self, addend: Self) -> Self;
    /// Exchanges lane bit `bit` with the number of the register.
    unsafe fn swap(a: Self, b: Self, bit: usize) -> (Self, Self);
    /// (a_0, b_0, a_1, b_1, …).
    unsafe fn interleave(a: Self, b: Self) -> (Self, Self);
    /// Even numbers, odd numbers.
    unsafe fn deinterleave(a: Self, b: Self) -> (Self, Self);
    /// The factors of in-register stage `stage` from a block of twice the lanes: see [`crate::ntt`]'s tables.
    unsafe fn spread<const MIRRORED: bool>(block: *const u64, stage: usize) -> Self;
    /// Of eight words of `places.width` bytes each those from `lane` on.
    unsafe fn unpack(block: *const u64, lane: usize, places: &Places) -> Self::Words;
}

/// Where the bytes of two words come from in sixteen that begin with them, or end with them.
pub(crate) struct Places {
    width: usize,
    first: [u8; 16],
    last: [u8; 16],
}

/// Fewest bytes a word that [`Floats::unpack`] reads: with fewer, sixteen bytes would go beyond eight words.
pub(crate) const LEAST_WIDTH: usize = 4;

impl Places {
    /// Of words of `width` bytes, [`LEAST_WIDTH`] to eight.
    pub(crate) fn new(width: usize) -> Self {
        let mut places = Self { width, first: [0x80; 16], last: [0x80; 16] };
        for byte in 0..2 * width {
            let to = byte / width * 8 + byte % width;
            (places.first[to], places.last[to]) = (byte as u8, (16 - 2 * width + byte) as u8);
        }
        places
    }
}

/// Four in an AVX2 register; needs FMA too.
#[derive(Clone, Copy)]
pub(crate) struct Avx2(__m256d);

/// Eight in an AVX-512 register; needs F, BW, DQ and VL.
#[derive(Clone, Copy)]
pub(crate) struct Avx512(__m512d);

const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

impl Floats for Avx2 {
    type Words = __m256i;
    const LOG2_LANES: usize = 2;

    #[inline(always)]
    unsafe fn load(from: *const u64) -> __m256i {
        // SAFETY: the trait's contract, here and in every method below.
        unsafe { _mm256_loadu_si256(from.cast()) }
    }
    #[inline(always)]
    unsafe fn store(to: *mut u64, words: __m256i) {
        // SAFETY: the trait's contract.
        unsafe { _mm256_storeu_si256(to.cast(), words) }
    }
    #[inline(always)]
    unsafe fn stream(to: *mut u64, words: __m256i) {
        // SAFETY: the trait's contract.
        unsafe { _mm256_stream_si256(to.cast(), words) }
    }
    #[inline(always)]
    unsafe fn splat_word(word: u64) -> __m256i {
        // SAFETY: the trait's contract.
        unsafe { _mm256_set1_epi64x(word as i64) }
    }
    #[inline(always)]
    unsafe fn add_words(a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: the trait's contract.
        unsafe { _mm256_add_epi64(a, b) }
    }
    #[inline(always)]
    unsafe fn sub_words(a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: the trait's contract.
        unsafe { _mm256_sub_epi64(a, b) }
    }
    #[inline(always)]
    unsafe fn or_words(a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: the trait's contract.
        unsafe { _mm256_or_si256(a, b) }
    }
    #[inline(always)]
    unsafe fn xor_words(a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: the trait's contract.
        unsafe { _mm256_xor_si256(a, b) }
    }
    #[inline(always)]
    unsafe fn shift_right_32(a: __m256i) -> __m256i {
        // SAFETY: the trait's contract.
        unsafe { _mm256_srli_epi64::<32>(a) }
    }
    #[inline(always)]
    unsafe fn shift_left_32(a: __m256i) -> __m256i {
        // SAFETY: the trait's contract.
        unsafe { _mm256_slli_epi64::<32>(a) }
    }
    #[inline(always)]
    unsafe fn reduce_once(words: __m256i, q: __m256i) -> __m256i {
        // SAFETY: the trait's contract.
        unsafe {
            // The set has no minimum of 64 bits; a blend goes by signs.
            let less = _mm256_castsi256_pd(_mm256_sub_epi64(words, q));
            _mm256_castpd_si256(_mm256_blendv_pd(less, _mm256_castsi256_pd(words), less))
        }
    }
    #[inline(always)]
    unsafe fn raise(words: __m256i, q: __m256i) -> __m256i {
        // SAFETY: the trait's contract.
        unsafe {
            let (more, words) = (_mm256_castsi256_pd(_mm256_add_epi64(words, q)), _mm256_castsi256_pd(words));
            _mm256_castpd_si256(_mm256_blendv_pd(words, more, words))
        }
    }
    #[inline(always)]
    unsafe fn from_bits(words: __m256i) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm256_castsi256_pd(words) })
    }
    #[inline(always)]
    unsafe fn bits(self) -> __m256i {
        // SAFETY: the trait's contract.
        unsafe { _mm256_castpd_si256(self.0) }
    }
    #[inline(always)]
    unsafe fn splat(value: f64) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm256_set1_pd(value) })
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm256_add_pd(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm256_sub_pd(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm256_mul_pd(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn mul_add(self, factor: Self, term: Self) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm256_fmadd_pd(self.0, factor.0, term.0) })
    }
    #[inline(always)]
    unsafe fn mul_sub(self, factor: Self, term: Self) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm256_fmsub_pd(self.0, factor.0, term.0) })
    }
    #[inline(always)]
    unsafe fn neg_mul_add(self, factor: Self, term: Self) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm256_fnmadd_pd(self.0, factor.0, term.0) })
    }
    #[inline(always)]
    unsafe fn round(self) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm256_round_pd::<NEAREST>(self.0) })
    }
    #[inline(always)]
    unsafe fn add_where_less(self, bound: Self, addend: Self) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm256_add_pd(self.0, _mm256_and_pd(_mm256_cmp_pd::<_CMP_LT_OQ>(self.0, bound.0), addend.0)) })
    }
    #[inline(always)]
    unsafe fn swap(a: Self, b: Self, bit: usize) -> (Self, Self) {
        // SAFETY: the trait's contract.
        unsafe {
            if bit == 0 {
                (Self(_mm256_unpacklo_pd(a.0, b.0)), Self(_mm256_unpackhi_pd(a.0, b.0)))
            } else {
                (Self(_mm256_permute2f128_pd::<0x20>(a.0, b.0)), Self(_mm256_permute2f128_pd::<0x31>(a.0, b.0)))
            }
        }
    }
    #[inline(always)]
    unsafe fn interleave(a: Self, b: Self) -> (Self, Self) {
        // SAFETY: the trait's contract.
        unsafe {
            let (low, high) = Self::swap(a, b, 0);
            Self::swap(low, high, 1)
        }
    }
    #[inline(always)]
    unsafe fn deinterleave(a: Self, b: Self) -> (Self, Self) {
        // SAFETY: the trait's contract.
        unsafe {
            let (low, high) = Self::swap(a, b, 1);
            Self::swap(low, high, 0)
        }
    }
    #[inline(always)]
    unsafe fn spread<const MIRRORED: bool>(block: *const u64, stage: usize) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe {
            let source = _mm256_loadu_pd(block.add(if stage == 0 { 4 } else { 0 }).cast());
            match (stage, MIRRORED) {
                (0, false) => source,
                // Lanes (3, 2, 1, 0), (2, 2, 3, 3) and (3, 3, 2, 2).
                (0, true) => _mm256_permute4x64_pd::<0x1b>(source),
                (_, false) => _mm256_permute4x64_pd::<0xfa>(source),
                (_, true) => _mm256_permute4x64_pd::<0xaf>(source),
            }
        })
    }
    #[inline(always)]
    unsafe fn unpack(block: *const u64, lane: usize, places: &Places) -> __m256i {
        // SAFETY: the trait's contract; a block has eight times `width` bytes, at least 32.
        unsafe {
            let (block, width) = (block.cast::<u8>(), places.width);
            let first = _mm_loadu_si128(places.first.as_ptr().cast());
            let low = _mm_shuffle_epi8(_mm_loadu_si128(block.add(lane * width).cast()), first);
            // The last two words with the bytes before them.
            let (from, places) = if lane == 0 { (2 * width, &places.first) } else { (8 * width - 16, &places.last) };
            let second = _mm_loadu_si128(places.as_ptr().cast());
            let high = _mm_shuffle_epi8(_mm_loadu_si128(block.add(from).cast()), second);
            _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(low), high)
        }
    }
}

impl Floats for Avx512 {
    type Words = __m512i;
    const LOG2_LANES: usize = 3;

    #[inline(always)]
    unsafe fn load(from: *const u64) -> __m512i {
        // SAFETY: the trait's contract, here and in every method below.
        unsafe { _mm512_loadu_si512(from.cast()) }
    }
    #[inline(always)]
    unsafe fn store(to: *mut u64, words: __m512i) {
        // SAFETY: the trait's contract.
        unsafe { _mm512_storeu_si512(to.cast(), words) }
    }
    #[inline(always)]
    unsafe fn stream(to: *mut u64, words: __m512i) {
        // SAFETY: the trait's contract.
        unsafe { _mm512_stream_si512(to.cast(), words) }
    }
    #[inline(always)]
    unsafe fn splat_word(word: u64) -> __m512i {
        // SAFETY: the trait's contract.
        unsafe { _mm512_set1_epi64(word as i64) }
    }
    #[inline(always)]
    unsafe fn add_words(a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: the trait's contract.
        unsafe { _mm512_add_epi64(a, b) }
    }
    #[inline(always)]
    unsafe fn sub_words(a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: the trait's contract.
        unsafe { _mm512_sub_epi64(a, b) }
    }
    #[inline(always)]
    unsafe fn or_words(a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: the trait's contract.
        unsafe { _mm512_or_si512(a, b) }
    }
    #[inline(always)]
    unsafe fn xor_words(a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: the trait's contract.
        unsafe { _mm512_xor_si512(a, b) }
    }
    #[inline(always)]
    unsafe fn shift_right_32(a: __m512i) -> __m512i {
        // SAFETY: the trait's contract.
        unsafe { _mm512_srli_epi64::<32>(a) }
    }
    #[inline(always)]
    unsafe fn shift_left_32(a: __m512i) -> __m512i {
        // SAFETY: the trait's contract.
        unsafe { _mm512_slli_epi64::<32>(a) }
    }
    #[inline(always)]
    unsafe fn reduce_once(words: __m512i, q: __m512i) -> __m512i {
        // SAFETY: the trait's contract.
        unsafe { _mm512_min_epu64(words, _mm512_sub_epi64(words, q)) }
    }
    #[inline(always)]
    unsafe fn raise(words: __m512i, q: __m512i) -> __m512i {
        // SAFETY: the trait's contract.
        unsafe { _mm512_min_epu64(words, _mm512_add_epi64(words, q)) }
    }
    #[inline(always)]
    unsafe fn from_bits(words: __m512i) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm512_castsi512_pd(words) })
    }
    #[inline(always)]
    unsafe fn bits(self) -> __m512i {
        // SAFETY: the trait's contract.
        unsafe { _mm512_castpd_si512(self.0) }
    }
    #[inline(always)]
    unsafe fn splat(value: f64) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm512_set1_pd(value) })
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm512_add_pd(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm512_sub_pd(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm512_mul_pd(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn mul_add(self, factor: Self, term: Self) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm512_fmadd_pd(self.0, factor.0, term.0) })
    }
    #[inline(always)]
    unsafe fn mul_sub(self, factor: Self, term: Self) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm512_fmsub_pd(self.0, factor.0, term.0) })
    }
    #[inline(always)]
    unsafe fn neg_mul_add(self, factor: Self, term: Self) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm512_fnmadd_pd(self.0, factor.0, term.0) })
    }
    #[inline(always)]
    unsafe fn round(self) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm512_roundscale_pd::<NEAREST>(self.0) })
    }
    #[inline(always)]
    unsafe fn add_where_less(self, bound: Self, addend: Self) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe { _mm512_mask_add_pd(self.0, _mm512_cmp_pd_mask::<_CMP_LT_OQ>(self.0, bound.0), self.0, addend.0) })
    }
    #[inline(always)]
    unsafe fn swap(a: Self, b: Self, bit: usize) -> (Self, Self) {
        // SAFETY: the trait's contract.
        let (a, b) = unsafe {
            match bit {
                0 => (_mm512_unpacklo_pd(a.0, b.0), _mm512_unpackhi_pd(a.0, b.0)),
                1 => (
                    _mm512_permutex2var_pd(a.0, _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13), b.0),
                    _mm512_permutex2var_pd(a.0, _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15), b.0),
                ),
                _ => (_mm512_shuffle_f64x2::<0x44>(a.0, b.0), _mm512_shuffle_f64x2::<0xee>(a.0, b.0)),
            }
        };
        (Self(a), Self(b))
    }
    #[inline(always)]
    unsafe fn interleave(a: Self, b: Self) -> (Self, Self) {
        // SAFETY: the trait's contract.
        unsafe {
            (
                Self(_mm512_permutex2var_pd(a.0, _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11), b.0)),
                Self(_mm512_permutex2var_pd(a.0, _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15), b.0)),
            )
        }
    }
    #[inline(always)]
    unsafe fn deinterleave(a: Self, b: Self) -> (Self, Self) {
        // SAFETY: the trait's contract.
        unsafe {
            (
                Self(_mm512_permutex2var_pd(a.0, _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14), b.0)),
                Self(_mm512_permutex2var_pd(a.0, _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15), b.0)),
            )
        }
    }
    #[inline(always)]
    unsafe fn spread<const MIRRORED: bool>(block: *const u64, stage: usize) -> Self {
        // SAFETY: the trait's contract.
        Self(unsafe {
            let source = _mm512_loadu_pd(block.add(if stage == 0 { 8 } else { 0 }).cast());
            match (stage, MIRRORED) {
                (0, false) => source,
                (0, true) => _mm512_permutexvar_pd(_mm512_setr_epi64(7, 6, 5, 4, 3, 2, 1, 0), source),
                (1, false) => _mm512_permutexvar_pd(_mm512_setr_epi64(4, 4, 5, 5, 6, 6, 7, 7), source),
                (1, true) => _mm512_permutexvar_pd(_mm512_setr_epi64(7, 7, 6, 6, 5, 5, 4, 4), source),
                (_, false) => _mm512_permutexvar_pd(_mm512_setr_epi64(2, 2, 2, 2, 3, 3, 3, 3), source),
                (_, true) => _mm512_permutexvar_pd(_mm512_setr_epi64(3, 3, 3, 3, 2, 2, 2, 2), source),
            }
        })
    }
    #[inline(always)]
    unsafe fn unpack(block: *const u64, _lane: usize, places: &Places) -> __m512i {
        // SAFETY: the trait's contract.
        unsafe {
            let (low, high) = (Avx2::unpack(block, 0, places), Avx2::unpack(block, 4, places));
            _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high)
        }
    }
}

/// A factor w in [−q/2, q/2], and w/q.
#[derive(Clone, Copy)]
pub(crate) struct Factor<V> {
    pub w: V,
    pub quotient: V,
}

/// w as it is nearest to 0, and w/q rounded.
pub(crate) fn factor(modulus: Modulus, w: u64) -> [f64; 2] {
    let w = modulus.centre(w) as f64;
    [w, w / modulus.value() as f64]
}

/// The modulus in every lane.
#[derive(Clone, Copy)]
pub(crate) struct Residues<V: Floats> {
    pub q: V,
    pub q_words: V::Words,
    inverse: V,
    shift: V,
}

impl<V: Floats> Residues<V> {
    /// Of a modulus that [`serves`] admits.
    #[inline(always)]
    pub(crate) unsafe fn new(q: u64) -> Self {
        // SAFETY: this module's contract, here and in every method below.
        unsafe {
            Self {
                q: V::splat(q as f64),
                q_words: V::splat_word(q),
                inverse: V::splat(1.0 / q as f64),
                shift: V::splat(SHIFT),
            }
        }
    }

    /// The same factor in every lane.
    #[inline(always)]
    pub(crate) unsafe fn factor(modulus: Modulus, w: u64) -> Factor<V> {
        let [w, quotient] = factor(modulus, w);
        // SAFETY: this module's contract.
        unsafe { Factor { w: V::splat(w), quotient: V::splat(quotient) } }
    }

    /// Words below 2^52 as numbers.
    #[inline(always)]
    pub(crate) unsafe fn enter(&self, words: V::Words) -> V {
        // SAFETY: this module's contract.
        unsafe { V::from_bits(V::or_words(words, self.shift.bits())).sub(self.shift) }
    }

    /// Integers in (−q, q) as canonical words.
    #[inline(always)]
    pub(crate) unsafe fn leave(&self, x: V) -> V::Words {
        // SAFETY: this module's contract.
        unsafe {
            let canonical = x.add_where_less(V::splat(0.0), self.q);
            V::xor_words(canonical.add(self.shift).bits(), self.shift.bits())
        }
    }

    /// x − q·⌊x/q⌉: within q/2 of 0, and |x|·2^-52 more; |x| < 2^53.
    #[inline(always)]
    pub(crate) unsafe fn reduce(&self, x: V) -> V {
        // SAFETY: this module's contract.
        unsafe { x.mul(self.inverse).round().neg_mul_add(self.q, x) }
    }

    /// x·w modulo q, within q/2 + |x|·q·2^-53 of 0, for integers |x| < 2^53: w/q, at most 1/2, and its product with x are each off by a factor
    /// of 1 ± 2^-53 at most, so that the quotient is off by |x|·2^-53 before it is rounded.
    #[inline(always)]
    pub(crate) unsafe fn times(&self, x: V, Factor { w, quotient }: Factor<V>) -> V {
        // SAFETY: this module's contract.
        unsafe {
            let high = x.mul(w);
            let low = x.mul_sub(w, high);
            x.mul(quotient).round().neg_mul_add(self.q, high).add(low)
        }
    }

    /// a·b modulo q within 0.875 q of 0, for |a|, |b| ≤ q < 2^50: the quotient, at most 2^50, is off by three factors of 1 ± 2^-53, which is below 0.375.
    #[inline(always)]
    pub(crate) unsafe fn product(&self, a: V, b: V) -> V {
        // SAFETY: this module's contract.
        unsafe {
            let high = a.mul(b);
            let low = a.mul_sub(b, high);
            high.mul(self.inverse).round().neg_mul_add(self.q, high).add(low)
        }
    }
}

/// How sums of products of numbers below 2^a and 2^b are kept: in a multiple of 2^k, k = ⌈(a + b)/2⌉, and a rest.
///
/// A product plus 1.5·2^(52 + k) is rounded to a multiple of 2^k; what that leaves of the product is an integer of at most 2^(k − 1), so that a fused
/// multiply-add gives it exactly. As many as [`split_capacity`] of both sum up exactly.
#[derive(Clone, Copy)]
pub(crate) struct Split<V>(V);

/// k.
fn split_place(bits: u32) -> u32 {
    bits.div_ceil(2)
}

/// How many products of `bits` bits in all, 100 at most, a [`Sum`] takes, besides a residue to begin with: multiples of 2^k are at most 2^(bits − k) ≤ 2^k of them
/// each, rests at most 2^(k − 1), and both sums must stay below 2^53.
pub(crate) fn split_capacity(bits: u32) -> usize {
    (1 << (53 - split_place(bits)).min(10)) - 1
}

impl<V: Floats> Split<V> {
    /// For products of `bits` bits in all, 100 at most.
    #[inline(always)]
    pub(crate) unsafe fn new(bits: u32) -> Self {
        let large = f64::from_bits(u64::from(1023 + 52 + split_place(bits)) << 52) * 1.5;
        // SAFETY: this module's contract.
        Self(unsafe { V::splat(large) })
    }
}

/// A sum of products.
#[derive(Clone, Copy)]
pub(crate) struct Sum<V> {
    high: V,
    low: V,
}

impl<V: Floats> Sum<V> {
    /// A sum that begins with a residue.
    #[inline(always)]
    pub(crate) unsafe fn new(residue: V) -> Self {
        // SAFETY: this module's contract.
        Self { high: unsafe { V::splat(0.0) }, low: residue }
    }

    /// Adds a·b.
    #[inline(always)]
    pub(crate) unsafe fn add_product(&mut self, split: Split<V>, a: V, b: V) {
        // SAFETY: this module's contract.
        unsafe {
            let high = a.mul_add(b, split.0).sub(split.0);
            self.high = self.high.add(high);
            self.low = self.low.add(a.mul_sub(b, high));
        }
    }

    /// The sum modulo q, canonical, of terms of which one factor is below q.
    ///
    /// With the other below 2^a, a ≤ 50, and n terms, high/q is below n·2^(a + 1), and its rounded quotient off by n·2^(a − 51) + 1: what it leaves is an integer
    /// of at most (n·2^(a − 51) + 1)·q < 2^53, and within q after a reduction, to which the low part is added.
    #[inline(always)]
    pub(crate) unsafe fn reduce(self, residues: &Residues<V>) -> V::Words {
        // SAFETY: this module's contract.
        unsafe {
            let high = residues.reduce(residues.reduce(self.high));
            residues.leave(residues.reduce(high.add(self.low)))
        }
    }
}
