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
        let fft = FoldedFft::with_isa(degree, isa.unwrap_or_else(Isa::best))?;
        let columns = glwe_dimension + 1;
        let rows = columns as f64 * f64::from(gadget.levels);
        // R · N · β/2 · q/2, the largest sum of products: adding a constant rounds up to 2^(51 + rounding).
        let largest = rows.log2() + f64::from(degree.log2() + gadget.log2_base + T::BITS) - 2.0;
        let rounding = (largest - 51.0).ceil().max(0.0) as u32;
        let rounding = (T::BITS == 32 && rounding <= MAX_ROUNDING).then_some(rounding);
        Some(Self { fft, gadget, columns, rounding, element: PhantomData })
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

    fn bound_of(&self, rows: usize) -> f64 {
        let (degree, digit) = (self.fft.degree(), 2f64.powi(self.gadget.log2_base as i32 - 1));
        error_bound(degree, digit, rows, T::BITS) + key_error_bound(degree, digit, rows, T::BITS) + self.rounding_unit()
    }

    /// Bound on the rounding to the torus, in units of 1/q: 1/2 for a single rounding, and 1.5 · 2^r for the two that replace a reduction
    /// (r ≤ 2), far below the noise of any ciphertext. The second rounds to a multiple of 2^r. The first applies to one of two products, which
    /// may be √2 times the largest sum, 2^(51 + r); above that, numbers are 2^(r + 1) apart.
    fn rounding_unit(&self) -> f64 {
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

#[cfg(test)]
mod tests {
    //! Does the fused step equal the exact external product within the proven bound, on every instruction set?
    use super::*;
    use crate::decompose::decompose_level;
    use crate::fft::{error_deviation, key_error_deviation};
    use crate::negacyclic::ExactMultiplier;
    use crate::random::torus_vector;
    use crate::rotation::rotate_subtract;

    /// Every instruction set and form, with its name.
    fn kinds<T: Torus>(
        degree: RingDegree,
        gadget: Gadget,
        k: usize,
    ) -> impl Iterator<Item = (ExternalProduct<T>, String)> {
        FoldedFft::kinds(degree).map(move |(fft, kind)| {
            (ExternalProduct { fft, ..ExternalProduct::new(degree, gadget, k, None).unwrap() }, kind)
        })
    }

    fn exact<T: Torus>(degree: RingDegree, gadget: Gadget, ggsw: &[T], exponent: usize, accumulator: &mut [T]) {
        let n = degree.get();
        let columns = accumulator.len() / n;
        let multiplier = ExactMultiplier::new(degree);
        let before = accumulator.to_vec();
        let (mut lambda, mut digits) = (vec![T::default(); n], vec![0; n]);
        for (j, polynomial) in before.chunks_exact(n).enumerate() {
            rotate_subtract(polynomial, exponent, &mut lambda);
            for t in 0..gadget.levels {
                decompose_level(&lambda, gadget, t, &mut digits);
                let row = j * gadget.levels as usize + t as usize;
                for (c, sum) in accumulator.chunks_exact_mut(n).enumerate() {
                    multiplier.multiply_add(&digits, &ggsw[(row * columns + c) * n..][..n], sum);
                }
            }
        }
    }

    fn check<T: Torus>(log2_degree: u32, k: usize, gadget: Gadget) {
        let degree = RingDegree::new(1 << log2_degree).unwrap();
        let ggsw = torus_vector::<T>(ExternalProduct::<T>::new(degree, gadget, k, None).unwrap().ggsw_len(), 1);
        let mut kinds: Vec<_> = kinds::<T>(degree, gadget, k)
            .map(|(product, kind)| {
                let mut key = AlignedVector::zeros(product.key_len(false));
                product.transform_key(&ggsw, false, &mut key);
                let workspace = product.workspace();
                (product, kind, key, workspace)
            })
            .collect();
        let start = torus_vector::<T>((k + 1) * degree.get(), 2);
        for exponent in [0, 1, 333, degree.get() + 8] {
            let mut expected = start.clone();
            exact(degree, gadget, &ggsw, exponent, &mut expected);
            for (product, kind, key, workspace) in &mut kinds {
                let mut fused = start.clone();
                product.rotate_multiply_add(key, &[], exponent, &mut fused, None, workspace);
                let largest =
                    fused.iter().zip(&expected).map(|(a, b)| a.wrapping_sub(*b).to_i64().unsigned_abs()).max().unwrap();
                let bound = product.error_bound();
                assert!(
                    largest as f64 <= bound,
                    "N 2^{log2_degree} k {k} {gadget:?} {kind} exponent {exponent}: {largest} > {bound}"
                );
                let base = 2f64.powi(gadget.log2_base as i32);
                let of_key = key_error_deviation(degree, base, product.rows(), T::BITS);
                let usual = error_deviation(degree, base, product.rows(), T::BITS).hypot(of_key);
                assert!(
                    largest as f64 <= 8.0 * usual + product.rounding_unit(),
                    "{largest} is far above the usual {usual}"
                );
            }
        }
    }

    /// Σ_u (X^{e_u} − 1) · (key_u ⊡ ACC), from exact products.
    fn check_patterns<T: Torus>(log2_degree: u32, k: usize, gadget: Gadget, exponents: &[u32]) {
        let degree = RingDegree::new(1 << log2_degree).unwrap();
        let n = degree.get();
        let kinds: Vec<_> = kinds::<T>(degree, gadget, k).collect();
        let length = kinds[0].0.ggsw_len();
        let ggsw = torus_vector::<T>(length * exponents.len(), 1);
        let start = torus_vector::<T>((k + 1) * n, 2);
        let mut expected = start.clone();
        let multiplier = ExactMultiplier::new(degree);
        let (mut digits, mut change) = (vec![0; n], vec![T::default(); n]);
        for (ggsw, &exponent) in ggsw.chunks_exact(length).zip(exponents) {
            let mut sums = vec![T::default(); (k + 1) * n];
            for (row, row_key) in ggsw.chunks_exact((k + 1) * n).enumerate() {
                let (j, level) = (row / gadget.levels as usize, row as u32 % gadget.levels);
                decompose_level(&start[j * n..][..n], gadget, level, &mut digits);
                for (sum, key) in sums.chunks_exact_mut(n).zip(row_key.chunks_exact(n)) {
                    multiplier.multiply_add(&digits, key, sum);
                }
            }
            for (sum, expected) in sums.chunks_exact(n).zip(expected.chunks_exact_mut(n)) {
                rotate_subtract(sum, exponent as usize, &mut change);
                expected.iter_mut().zip(&change).for_each(|(out, change)| *out = out.wrapping_add(*change));
            }
        }
        for (product, kind) in &kinds {
            let mut keys = AlignedVector::zeros(product.key_len(false) * exponents.len());
            product.transform_key(&ggsw, false, &mut keys);
            let mut fused = start.clone();
            product.patterns_multiply_add(&keys, &[], exponents, &mut fused, None, &mut product.workspace());
            // A monomial minus one at most doubles each pattern's product, and has its own error.
            let rows = 2 * product.rows() * exponents.len() + 4;
            let bound = product.bound_of(rows);
            let difference = |(a, b): (&T, &T)| a.wrapping_sub(*b).to_i64().unsigned_abs();
            let largest = fused.iter().zip(&expected).map(difference).max().unwrap();
            assert!(largest as f64 <= bound, "N {n} k {k} {kind}: {largest} > {bound}");
        }
    }

    /// Do eight ciphertexts in a batch get bit-identical results to single ones?
    fn check_lane_batch(log2_degree: u32, k: usize, gadget: Gadget, patterns: usize) {
        let degree = RingDegree::new(1 << log2_degree).unwrap();
        let glwe = (k + 1) * degree.get();
        for (product, kind) in kinds::<u32>(degree, gadget, k) {
            let ggsw = torus_vector::<u32>(product.ggsw_len() * patterns, 1);
            let mut key = AlignedVector::zeros(product.key_len(false) * patterns);
            let mut key_together = AlignedVector::zeros(product.key_len(true) * patterns);
            product.transform_key(&ggsw, false, &mut key);
            product.transform_key(&ggsw, true, &mut key_together);
            let period = 2 * degree.get() as u32;
            let exponents: Vec<u32> = (0..(LANE_BATCH * patterns) as u32)
                .map(|j| (j * 301 + 5 * j * j) % period)
                .map(|exponent| [0, 16, period / 2, period - 1].get(exponent as usize % 7).copied().unwrap_or(exponent))
                .collect();
            let start = torus_vector::<u32>(LANE_BATCH * glwe, 2);
            for unrolled in [false, true] {
                if !unrolled && patterns > 1 {
                    continue;
                }
                let (mut alone, mut together) = (start.clone(), start.clone());
                let mut workspace = product.workspace();
                for (accumulator, exponents) in alone.chunks_exact_mut(glwe).zip(exponents.chunks_exact(patterns)) {
                    if unrolled {
                        product.patterns_multiply_add(&key, &[], exponents, accumulator, None, &mut workspace);
                    } else {
                        let exponent = exponents[0] as usize;
                        product.rotate_multiply_add(&key, &[], exponent, accumulator, None, &mut workspace);
                    }
                }
                let mut workspace = product.lane_batch_workspace().unwrap();
                product.lane_batch_multiply_add(
                    &key_together,
                    &[],
                    &exponents,
                    unrolled,
                    &mut together,
                    &mut workspace,
                );
                assert!(alone == together, "N 2^{log2_degree} k {k} {gadget:?} {patterns} patterns {kind}");
            }
        }
    }

    #[test]
    fn batches_equal_single_ciphertexts() {
        check_lane_batch(8, 1, Gadget { log2_base: 8, levels: 2 }, 1);
        check_lane_batch(8, 1, Gadget { log2_base: 8, levels: 2 }, 3);
        check_lane_batch(9, 2, Gadget { log2_base: 8, levels: 2 }, 3);
        check_lane_batch(9, 3, Gadget { log2_base: 7, levels: 3 }, 1);
        check_lane_batch(10, 1, Gadget { log2_base: 10, levels: 2 }, 1);
        check_lane_batch(10, 2, Gadget { log2_base: 10, levels: 2 }, 15);
        check_lane_batch(11, 1, Gadget { log2_base: 8, levels: 3 }, 1);
        check_lane_batch(12, 1, Gadget { log2_base: 6, levels: 4 }, 1);
        check_lane_batch(14, 1, Gadget { log2_base: 15, levels: 2 }, 1);
    }

    #[test]
    fn patterns_equal_the_exact_products_within_the_bound() {
        check_patterns::<u32>(4, 1, Gadget { log2_base: 8, levels: 2 }, &[5, 31, 4]);
        check_patterns::<u32>(8, 1, Gadget { log2_base: 10, levels: 2 }, &[0, 300, 511]);
        check_patterns::<u32>(9, 2, Gadget { log2_base: 8, levels: 2 }, &[1, 1000, 1001]);
        check_patterns::<u64>(
            10,
            1,
            Gadget { log2_base: 22, levels: 1 },
            &(0..15).map(|u| 131 * u).collect::<Vec<_>>(),
        );
    }

    #[test]
    fn equals_the_exact_product_within_the_bound() {
        for log2_degree in 8..=12 {
            check::<u32>(log2_degree, 1, Gadget { log2_base: 10, levels: 2 });
            check::<u64>(log2_degree, 1, Gadget { log2_base: 22, levels: 1 });
        }
        check::<u32>(14, 1, Gadget { log2_base: 15, levels: 2 });
        check::<u32>(16, 1, Gadget { log2_base: 16, levels: 2 });
        check::<u32>(9, 2, Gadget { log2_base: 8, levels: 2 });
        check::<u32>(9, 3, Gadget { log2_base: 7, levels: 3 });
        check::<u64>(10, 2, Gadget { log2_base: 8, levels: 4 });
        check::<u32>(8, 5, Gadget { log2_base: 10, levels: 1 });
    }
}
