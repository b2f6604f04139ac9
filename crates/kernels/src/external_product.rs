//! One fused step of a blind rotation in the f64 transform: ACC += BSK_i ⊡ (X^e · ACC − ACC).
//!
//! By rows and columns (TFHE, Chillotti et al. 2020, section 3): let Λ_j be the k + 1 polynomials of X^e · ACC − ACC. Column c gains
//! Σ_{j,t} digit_t(Λ_j) · `BSK_i[(j, t)][c]`. The digits of each Λ_j are extracted in place, as words that the first pass of a transform
//! reads. The middle of the transforms and the products run block by block in the first-level cache; the last inverse pass rounds and adds
//! to ACC.
//!
//! The key is stored in the transform domain, on the 32-bit torus in 48-bit numbers, scaled by powers of two to spare the transforms a
//! multiplication. It is one consecutive stream per iteration in the order of the products. For single ciphertexts this is
//! `[pattern][row][column][16 numbers]` for each group of eight points; for batches across lanes `[pattern][row][column][2 numbers]` for
//! each point, in 64-bit numbers. There is one pattern unless the key is unrolled.

use crate::aligned::AlignedVector;
use crate::decompose::Gadget;
pub use crate::fft::LANE_BATCH;
use crate::fft::{
    FoldedFft, LaneBatchScratch, ProductScratch, error_bound, key_error_bound, key_group, key_len, key_number,
};
use crate::isa::Isa;
use crate::ring::RingDegree;
use crate::torus::Torus;
use std::marker::PhantomData;

/// External products of one shape.
#[derive(Debug)]
pub struct ExternalProduct<T> {
    fft: FoldedFft,
    gadget: Gadget,
    /// k + 1.
    columns: usize,
    /// log2 of the multiple to which coefficients are rounded, if adding a constant can round them (32-bit torus).
    rounding: Option<u32>,
    element: PhantomData<T>,
}

/// Scratch of one thread.
#[derive(Clone, Debug)]
pub struct Workspace<T>(ProductScratch<T>);

/// Scratch of one thread for batches across lanes of ciphertexts.
#[derive(Clone, Debug)]
pub struct LaneBatchWorkspace(LaneBatchScratch);

/// Coefficients may be rounded to multiples of 2 to this power, in units of 2^-32.
const MAX_ROUNDING: u32 = 2;

impl<T: Torus> ExternalProduct<T> {
    /// For ring degree N, `gadget` and GLWE dimension k, with `isa` or the best set; `None` if the processor lacks `isa`.
    pub fn new(degree: RingDegree, gadget: Gadget, glwe_dimension: usize, isa: Option<Isa>) -> Option<Self> {
        Some(Self::with_transform(FoldedFft::with_isa(degree, isa.unwrap_or_else(Isa::best))?, gadget, glwe_dimension))
    }

    /// One for each of [`FoldedFft::kinds`], with its name. For tests.
    pub fn kinds(degree: RingDegree, gadget: Gadget, glwe_dimension: usize) -> impl Iterator<Item = (Self, String)> {
        FoldedFft::kinds(degree).map(move |(fft, kind)| (Self::with_transform(fft, gadget, glwe_dimension), kind))
    }

    fn with_transform(fft: FoldedFft, gadget: Gadget, glwe_dimension: usize) -> Self {
        let degree = fft.degree();
        let columns = glwe_dimension + 1;
        let rows = columns as f64 * f64::from(gadget.levels);
        // R · N · β/2 · q/2, the largest sum of products: adding a constant rounds up to 2^(51 + rounding).
        let largest = rows.log2() + f64::from(degree.log2() + gadget.log2_base + T::BITS) - 2.0;
        let rounding = (largest - 51.0).ceil().max(0.0) as u32;
        let rounding = (T::BITS == 32 && rounding <= MAX_ROUNDING).then_some(rounding);
        Self { fft, gadget, columns, rounding, element: PhantomData }
    }

    /// Rows of a GGSW ciphertext, (k + 1) · l.
    pub fn rows(&self) -> usize {
        self.columns * self.gadget.levels as usize
    }

    /// Torus elements of a GGSW ciphertext.
    pub fn ggsw_len(&self) -> usize {
        self.rows() * self.columns * self.fft.degree().get()
    }

    /// Numbers of one GGSW ciphertext in the transform domain, in the order for batches across lanes or for single ciphertexts.
    pub fn key_len(&self, lane_batches: bool) -> usize {
        if lane_batches { self.ggsw_len() } else { key_len::<T>(self.ggsw_len()) }
    }

    /// Proven bound on the error of [`Self::rotate_multiply_add`] relative to the exact product, in units of 1/q.
    pub fn error_bound(&self) -> f64 {
        self.bound_of(self.rows())
    }

    /// [`Self::error_bound`] of a sum of `rows` products.
    pub fn bound_of(&self, rows: usize) -> f64 {
        let (degree, digit) = (self.fft.degree(), 2f64.powi(self.gadget.log2_base as i32 - 1));
        error_bound(degree, digit, rows, T::BITS) + key_error_bound(degree, digit, rows, T::BITS) + self.rounding_unit()
    }

    /// Bound on the rounding to the torus, in units of 1/q: 1/2 for a single rounding, and 1.5 · 2^r for the two that replace a reduction
    /// (r ≤ 2), far below the noise of any ciphertext. The second rounds to a multiple of 2^r. The first applies to one of two products, which
    /// may be √2 times the largest sum, 2^(51 + r); above that, numbers are 2^(r + 1) apart.
    pub fn rounding_unit(&self) -> f64 {
        self.rounding.map_or(0.5, |rounding| 1.5 * f64::from(1 << rounding))
    }

    /// Makes scratch for one thread.
    pub fn workspace(&self) -> Workspace<T> {
        Workspace(self.fft.scratch(self.gadget, self.columns))
    }

    /// Transforms the GGSW ciphertexts of one iteration, `[pattern][row][column][N]` torus elements (one pattern without unrolling), into `key`,
    /// [`Self::key_len`] numbers each, in the order for single ciphertexts or for batches across lanes.
    pub fn transform_key(&self, ggsw: &[T], lane_batches: bool, key: &mut [f64]) {
        let degree = self.fft.degree().get();
        let polynomials = ggsw.len() / degree;
        assert!(
            key.len() * self.ggsw_len() == ggsw.len() * self.key_len(lane_batches)
                && polynomials.is_multiple_of(self.rows() * self.columns),
            "rows · columns polynomials for each pattern"
        );
        assert!(!lane_batches || self.lane_batches(), "a key for batches across lanes, where supported");
        // 1/M, and the factor left on digits that are extracted in place.
        let in_place = self.gadget.field::<T>(0).right;
        let scale = 2.0 / degree as f64 / 2f64.powi(in_place as i32);
        let mut spectrum = AlignedVector::zeros(degree);
        for (index, polynomial) in ggsw.chunks_exact(degree).enumerate() {
            self.fft.forward_torus(polynomial, &mut spectrum);
            spectrum.iter_mut().for_each(|value| *value = key_number::<T>(*value * scale));
            if lane_batches {
                for (point, numbers) in key.chunks_exact_mut(2 * polynomials).enumerate() {
                    (numbers[2 * index], numbers[2 * index + 1]) = FoldedFft::point(&spectrum, point);
                }
            } else {
                let length = key_len::<T>(16);
                for (group, values) in spectrum.chunks_exact(16).enumerate() {
                    key_group::<T>(values, &mut key[(group * polynomials + index) * length..][..length]);
                }
            }
        }
    }

    /// Adds `key` ⊡ (X^`exponent` · accumulator − accumulator) to `accumulator`, k + 1 polynomials; the exponent is mod 2N. Meanwhile
    /// prefetches `next`, part of the next step's key or empty, and the accumulator `following`.
    pub fn rotate_multiply_add(
        &self,
        key: &[f64],
        next: &[f64],
        exponent: usize,
        accumulator: &mut [T],
        following: Option<&[T]>,
        workspace: &mut Workspace<T>,
    ) {
        assert_eq!(accumulator.len(), self.columns * self.fft.degree().get(), "k + 1 polynomials");
        let scratch = &mut workspace.0;
        let exponents = [exponent as u32];
        self.fft.product(self.gadget, self.rounding, &exponents, false, key, next, following, scratch, accumulator);
    }

    /// Adds Σ_u (X^{e_u} − 1) · (key_u ⊡ accumulator) over the patterns u of an unrolled key to `accumulator`. `exponents` are the e_u mod 2N;
    /// `keys` come from [`Self::transform_key`], one per pattern, at most 15. `next` and `following` as for [`Self::rotate_multiply_add`].
    pub fn patterns_multiply_add(
        &self,
        keys: &[f64],
        next: &[f64],
        exponents: &[u32],
        accumulator: &mut [T],
        following: Option<&[T]>,
        workspace: &mut Workspace<T>,
    ) {
        assert_eq!(accumulator.len(), self.columns * self.fft.degree().get(), "k + 1 polynomials");
        let scratch = &mut workspace.0;
        self.fft.product(self.gadget, None, exponents, true, keys, next, following, scratch, accumulator);
    }

    /// Whether [`LANE_BATCH`] ciphertexts can be processed together: on the 32-bit torus, from 256 coefficients, with at most four
    /// polynomials per ciphertext.
    pub fn lane_batches(&self) -> bool {
        T::BITS == 32 && self.fft.lane_batches(self.columns)
    }

    /// Makes scratch for one thread and [`LANE_BATCH`] ciphertexts, if [`Self::lane_batches`].
    pub fn lane_batch_workspace(&self) -> Option<LaneBatchWorkspace> {
        self.lane_batches().then(|| LaneBatchWorkspace(self.fft.lane_batch_scratch(self.gadget, self.columns)))
    }

    /// [`Self::rotate_multiply_add`] or, if `unrolled`, [`Self::patterns_multiply_add`] for [`LANE_BATCH`] consecutive accumulators, with
    /// bit-identical results. `exponents` are those of the first accumulator, then of the second, and so on.
    ///
    /// # Panics
    /// On the 64-bit torus.
    pub fn lane_batch_multiply_add(
        &self,
        key: &[f64],
        next: &[f64],
        exponents: &[u32],
        unrolled: bool,
        accumulators: &mut [T],
        workspace: &mut LaneBatchWorkspace,
    ) {
        assert_eq!(
            accumulators.len(),
            LANE_BATCH * self.columns * self.fft.degree().get(),
            "k + 1 polynomials of each"
        );
        let rounding = if unrolled { None } else { self.rounding };
        let accumulators = as_words_32(accumulators);
        let scratch = &mut workspace.0;
        self.fft.lane_batch_product(self.gadget, rounding, exponents, unrolled, key, next, scratch, accumulators);
    }
}

/// Views `words` as `u32`, which they are on the 32-bit torus.
fn as_words_32<T: Torus>(words: &mut [T]) -> &mut [u32] {
    assert_eq!(T::BITS, 32, "batches across lanes are of the 32-bit torus");
    // SAFETY: `Torus` is sealed to u32 and u64: an element of 32 bits is a u32.
    unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), words.len()) }
}
