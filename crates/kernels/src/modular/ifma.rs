//! Eight residues of a modulus below 2^50 in one AVX-512 register, multiplied by IFMA's 52-bit words.
//!
//! IFMA multiplies the low 52 bits of two lanes and adds the low or high 52 bits of the product to a third. Products are Montgomery's with R = 2^52 in
//! the subtractive form: for m = lo(x·w·q^-1) the low halves of xw and mq are equal, so hi(xw) − hi(mq) = (xw − mq)/R exactly. Unlike Shoup's form, which
//! subtracts low halves, this needs no mask to 52 bits. A factor's companion w·q^-1 mod R can be recomputed from w by one more product, which halves
//! the tables where memory is the bottleneck.
//!
//! Every function needs AVX-512 F and IFMA ([`crate::isa::multiplies_words`]).

use super::{Modulus, inverse_of_odd};
use crate::memory::NextUse;
use std::arch::x86_64::*;

/// Lanes of a register.
pub(crate) const LANES: usize = 8;

/// Bits of IFMA's word.
pub(crate) const WORD_BITS: u32 = 52;

/// The mask of IFMA's word.
pub(crate) const WORD_MASK: u64 = (1 << WORD_BITS) - 1;

/// Largest number of bits of a modulus: 4q ≤ 2^52.
pub(crate) const MAX_BITS: u32 = 50;

/// Whether `modulus` is odd and below 2^50.
pub(crate) fn serves(modulus: Modulus) -> bool {
    modulus.value() % 2 == 1 && modulus.bits() <= MAX_BITS
}

/// q^-1 mod 2^52 of an odd q.
pub(crate) fn word_inverse(q: u64) -> u64 {
    inverse_of_odd(q) & WORD_MASK
}

/// w in Montgomery form, w·2^52 mod q, for a canonical w.
pub(crate) fn enter(modulus: Modulus, w: u64) -> u64 {
    ((u128::from(w) << WORD_BITS) % u128::from(modulus.value())) as u64
}

/// A factor in Montgomery form and its companion, broadcast or per lane.
#[derive(Clone, Copy)]
pub(crate) struct Factor {
    /// w·2^52 mod q.
    pub form: __m512i,
    /// form · q^-1 mod 2^52.
    pub companion: __m512i,
}

/// The modulus in every lane.
#[derive(Clone, Copy)]
pub(crate) struct Constants {
    pub q: __m512i,
    pub two_q: __m512i,
    /// q^-1 mod 2^52.
    pub inverse: __m512i,
    pub zero: __m512i,
}

impl Constants {
    /// For a modulus that [`serves`] accepts.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn new(q: u64) -> Self {
        Self {
            q: _mm512_set1_epi64(q as i64),
            two_q: _mm512_set1_epi64(2 * q as i64),
            inverse: _mm512_set1_epi64(word_inverse(q) as i64),
            zero: _mm512_setzero_si512(),
        }
    }

    /// The same canonical factor `w` in every lane.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn factor(&self, modulus: Modulus, w: u64) -> Factor {
        self.with_companion(_mm512_set1_epi64(enter(modulus, w) as i64))
    }

    /// Factors already in Montgomery form.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn with_companion(&self, form: __m512i) -> Factor {
        Factor { form, companion: _mm512_madd52lo_epu64(self.zero, form, self.inverse) }
    }

    /// x·w in (0, 2q), for any x < 2^52.
    ///
    /// hi(x·form) < form < q and hi(mq) < q, so hi(x·form) − hi(mq) + q lies in (0, 2q).
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn multiply_lazy(&self, x: __m512i, w: Factor) -> __m512i {
        let m = _mm512_madd52lo_epu64(self.zero, x, w.companion);
        let high = _mm512_madd52hi_epu64(self.q, x, w.form);
        _mm512_sub_epi64(high, _mm512_madd52hi_epu64(self.zero, m, self.q))
    }

    /// (high·2^52 + low)·2^-52 in (0, high + q], for high + carry of low < 2^52 − q: the first half of a reduction. `low` may use all 64 bits.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn fold(&self, high: __m512i, low: __m512i) -> __m512i {
        // IFMA reads the low 52 bits of `low`; the rest is carried separately.
        let m = _mm512_madd52lo_epu64(self.zero, low, self.inverse);
        let high = _mm512_add_epi64(_mm512_add_epi64(high, self.q), _mm512_srli_epi64::<WORD_BITS>(low));
        _mm512_sub_epi64(high, _mm512_madd52hi_epu64(self.zero, m, self.q))
    }

    /// [0, 2q) to [0, q).
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn reduce_once(&self, x: __m512i) -> __m512i {
        // Below q the difference wraps to a large number.
        _mm512_min_epu64(x, _mm512_sub_epi64(x, self.q))
    }

    /// [0, 4q) to [0, 2q).
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn reduce_twice(&self, x: __m512i) -> __m512i {
        _mm512_min_epu64(x, _mm512_sub_epi64(x, self.two_q))
    }

    /// a − b in [0, q), of canonical residues.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn sub(&self, a: __m512i, b: __m512i) -> __m512i {
        let difference = _mm512_sub_epi64(a, b);
        _mm512_min_epu64(difference, _mm512_add_epi64(difference, self.q))
    }

    /// a + b in [0, q), of canonical residues.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn add(&self, a: __m512i, b: __m512i) -> __m512i {
        self.reduce_once(_mm512_add_epi64(a, b))
    }
}

/// Eight words of memory.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn load(from: &[u64; LANES]) -> __m512i {
    // SAFETY: the reference covers the 64 bytes.
    unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
}

/// Writes eight words.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn store(to: &mut [u64; LANES], value: __m512i) {
    // SAFETY: the reference covers the 64 bytes.
    unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), value) }
}

/// Writes eight words, as a streaming store for [`NextUse::Late`]: then the address must be a multiple of 64 bytes, and [`finish`] must follow.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn write(to: &mut [u64; LANES], value: __m512i, next_use: NextUse) {
    match next_use {
        NextUse::Soon => store(to, value),
        // SAFETY: the reference covers the 64 bytes, which the caller has aligned.
        NextUse::Late => unsafe { _mm512_stream_si512(to.as_mut_ptr().cast(), value) },
    }
}

/// Sums of products of residues, unreduced: `high`·2^52 + `low`.
#[derive(Clone, Copy)]
pub(crate) struct Sum {
    pub high: __m512i,
    pub low: __m512i,
}

impl Sum {
    /// The empty sum.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn zero() -> Self {
        Self { high: _mm512_setzero_si512(), low: _mm512_setzero_si512() }
    }

    /// Adds a·b, of a, b < 2^52.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn add_product(&mut self, a: __m512i, b: __m512i) {
        self.low = _mm512_madd52lo_epu64(self.low, a, b);
        self.high = _mm512_madd52hi_epu64(self.high, a, b);
    }

    /// The sum modulo q in [0, q). `square` is the factor 2^52 (its Montgomery form is 2^104 mod q).
    ///
    /// Valid for a sum below 2^103 of at most 4,096 products: `low` < 2^12·2^52 does not wrap, and `fold` leaves less than 2^51 + q < 2^52.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(crate) fn reduce(self, constants: &Constants, square: Factor) -> __m512i {
        let folded = constants.fold(self.high, self.low);
        constants.reduce_once(constants.multiply_lazy(folded, square))
    }
}

/// Maximum number of products of factors below 2^`a_bits` and 2^`b_bits` that [`Sum`] accumulates before [`Sum::reduce`].
pub(crate) fn sum_capacity(a_bits: u32, b_bits: u32) -> usize {
    1 << 103u32.saturating_sub(a_bits + b_bits).min(12)
}
