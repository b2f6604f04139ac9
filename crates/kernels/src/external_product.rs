//! One step of a blind rotation, fused: ACC += BSK_i ⊡ (X^e · ACC − ACC), in the f64 transform.
//!
//! The equation in rows and columns (TFHE, Chillotti et al. 2020, section 3): with Λ_j the k + 1 polynomials of
//! X^e · ACC − ACC, column c gains Σ_{j,t} digit_t(Λ_j) · `BSK_i[(j, t)][c]`. Each Λ_j is made once and prepared so that a digit
//! is two shifts inside the first pass of its transform; the sums of all columns are taken together,
//! each key number loaded once; the last inverse pass rounds and adds to ACC.
//!
//! The key is kept in the transform domain, scaled by powers of two that the transforms then need not apply, in the order in which the products read it: for
//! each group of eight points [row][column][16 numbers], one consecutive stream an iteration.

use crate::aligned::{AlignedTorus, AlignedVector};
use crate::decompose::Gadget;
use crate::fft::{Ahead, FoldedFft, Isa};
use crate::ring::RingDegree;
use crate::rotation::rotate_subtract_prepared;
use crate::torus::Torus;
use std::marker::PhantomData;

/// Accumulators that one call of [`ExternalProduct::rotate_multiply_add`] takes: the key's numbers are loaded once for
/// all of them.
pub const GROUP: usize = 4;

/// External products of one shape.
#[derive(Debug)]
pub struct ExternalProduct<T> {
    fft: FoldedFft,
    gadget: Gadget,
    /// k + 1.
    columns: usize,
    /// Whether every coefficient stays under 2^62 before it is taken mod q.
    bounded: bool,
    element: PhantomData<T>,
}

/// Memory of one thread.
#[derive(Clone, Debug)]
pub struct Workspace<T> {
    /// Λ_j, prepared.
    lambda: AlignedTorus<T>,
    /// One spectrum a row, for each accumulator of a group.
    digits: AlignedVector,
    /// One spectrum a column, likewise.
    sums: AlignedVector,
}

impl<T: Torus> ExternalProduct<T> {
    /// For ring degree N, `gadget`, and GLWE dimension k, with `isa` or the processor's best; `None` if
    /// the processor lacks `isa`.
    pub fn new(degree: RingDegree, gadget: Gadget, glwe_dimension: usize, isa: Option<Isa>) -> Option<Self> {
        let fft = FoldedFft::with_isa(degree, isa.unwrap_or_else(Isa::best))?;
        let columns = glwe_dimension + 1;
        let rows = columns as f64 * f64::from(gadget.levels);
        // R · N · β/2 · q/2, the largest sum of products.
        let largest = rows.log2() + f64::from(degree.log2() + gadget.log2_base + T::BITS) - 2.0;
        Some(Self { fft, gadget, columns, bounded: T::BITS == 64 || largest < 61.9, element: PhantomData })
    }

    /// Rows of a GGSW ciphertext, (k + 1) · l.
    pub fn rows(&self) -> usize {
        self.columns * self.gadget.levels as usize
    }

    /// Numbers that one GGSW ciphertext takes in the transform domain.
    pub fn key_len(&self) -> usize {
        self.rows() * self.columns * self.fft.degree().get()
    }

    /// Memory for one thread.
    pub fn workspace(&self) -> Workspace<T> {
        let degree = self.fft.degree().get();
        Workspace {
            lambda: AlignedTorus::zeros(degree),
            digits: AlignedVector::zeros(GROUP * self.rows() * degree),
            sums: AlignedVector::zeros(GROUP * self.columns * degree),
        }
    }

    /// Transforms one GGSW ciphertext, `[row][column][N]` torus elements, to `key` ([`Self::key_len`] numbers).
    pub fn transform_key(&self, ggsw: &[T], key: &mut [f64]) {
        let degree = self.fft.degree().get();
        let polynomials = self.rows() * self.columns;
        assert_eq!([ggsw.len(), key.len()], [polynomials * degree; 2], "rows · columns polynomials");
        // 1/M, and the factor that digits are left with when they are cut out in place.
        let in_place = self.gadget.field::<T>(0).right;
        let scale = 2.0 / degree as f64 / 2f64.powi(in_place as i32);
        let mut spectrum = AlignedVector::zeros(degree);
        for (index, polynomial) in ggsw.chunks_exact(degree).enumerate() {
            self.fft.forward_torus(polynomial, &mut spectrum);
            for (group, values) in spectrum.chunks_exact(16).enumerate() {
                let to = &mut key[(group * polynomials + index) * 16..][..16];
                for (to, value) in to.iter_mut().zip(values) {
                    *to = value * scale;
                }
            }
        }
    }

    /// For each (exponent, accumulator) of up to [`GROUP`]: the accumulator, k + 1 polynomials, gains
    /// `key` ⊡ (X^exponent · accumulator − accumulator); exponents are mod 2N. `next` is brought nearer in the meantime: the
    /// key of the next step, or nothing.
    pub fn rotate_multiply_add(
        &self,
        key: &[f64],
        next: &[f64],
        group: &mut [(usize, &mut [T])],
        workspace: &mut Workspace<T>,
    ) {
        let degree = self.fft.degree().get();
        let (rows, columns, levels) = (self.rows(), self.columns, self.gadget.levels as usize);
        assert!(group.len() <= GROUP, "a group is at most {GROUP} accumulators");
        let transforms = (rows + columns) * group.len();
        let share = (next.len() / transforms.max(1)).next_multiple_of(8);
        let mut shares = next.chunks(share.max(8));
        let mut ahead = || shares.next().map_or(Ahead::NONE, |share| Ahead::new(share, self.fft.steps()));
        let digits = &mut workspace.digits[..group.len() * rows * degree];
        let sums = &mut workspace.sums[..group.len() * columns * degree];
        let lambda = &mut workspace.lambda;
        for ((exponent, accumulator), digits) in group.iter().zip(digits.chunks_exact_mut(rows * degree)) {
            assert_eq!(accumulator.len(), columns * degree, "k + 1 polynomials");
            for (polynomial, spectra) in accumulator.chunks_exact(degree).zip(digits.chunks_exact_mut(levels * degree))
            {
                rotate_subtract_prepared(polynomial, *exponent, self.gadget, lambda, self.fft.isa());
                for (level, spectrum) in spectra.chunks_exact_mut(degree).enumerate() {
                    let field = self.gadget.field::<T>(level as u32);
                    self.fft.forward_field(lambda, field, spectrum, ahead());
                }
            }
        }
        self.fft.row_products((rows, columns), digits, key, sums);
        for ((_, accumulator), sums) in group.iter_mut().zip(sums.chunks_exact_mut(columns * degree)) {
            for (polynomial, spectrum) in accumulator.chunks_exact_mut(degree).zip(sums.chunks_exact_mut(degree)) {
                self.fft.inverse_add_scaled(self.bounded, spectrum, polynomial, ahead());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    //! Is the fused step the exact external product, within the proven bound, on every instruction set?
    use super::*;
    use crate::decompose::decompose_level;
    use crate::fft::{error_bound, error_deviation};
    use crate::negacyclic::ExactMultiplier;
    use crate::random::torus_vector;
    use crate::rotation::rotate_subtract;

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
        for isa in Isa::ALL.into_iter().filter(|isa| isa.is_present()) {
            let product = ExternalProduct::<T>::new(degree, gadget, k, Some(isa)).unwrap();
            let ggsw = torus_vector::<T>(product.key_len(), 1);
            let mut key = AlignedVector::zeros(product.key_len());
            product.transform_key(&ggsw, &mut key);
            let mut workspace = product.workspace();
            let bound = error_bound(degree, 2f64.powi(gadget.log2_base as i32 - 1), product.rows(), T::BITS);
            for exponent in [0, 1, 333, degree.get() + 8] {
                let start = torus_vector::<T>((k + 1) * degree.get(), 2);
                let (mut fused, mut expected) = (start.clone(), start);
                product.rotate_multiply_add(&key, &[], &mut [(exponent, &mut fused[..])], &mut workspace);
                exact(degree, gadget, &ggsw, exponent, &mut expected);
                let largest =
                    fused.iter().zip(&expected).map(|(a, b)| a.wrapping_sub(*b).to_i64().unsigned_abs()).max().unwrap();
                assert!(
                    largest as f64 <= bound + 0.5,
                    "N 2^{log2_degree} k {k} {gadget:?} {isa:?} exponent {exponent}: {largest} > {bound}"
                );
                let usual = error_deviation(degree, 2f64.powi(gadget.log2_base as i32), product.rows(), T::BITS);
                assert!(largest as f64 <= 8.0 * usual + 0.5, "{largest} is far over the usual {usual}");
            }
        }
    }

    #[test]
    fn a_group_gives_what_each_gives_alone() {
        for k in 1..=4 {
            let degree = RingDegree::new(256).unwrap();
            let gadget = Gadget { log2_base: 8, levels: 2 };
            let product = ExternalProduct::<u32>::new(degree, gadget, k, None).unwrap();
            let mut key = AlignedVector::zeros(product.key_len());
            product.transform_key(&torus_vector(product.key_len(), 1), &mut key);
            let mut workspace = product.workspace();
            for count in 1..=GROUP {
                let mut together: Vec<Vec<u32>> =
                    (0..count).map(|c| torus_vector((k + 1) * 256, 10 + c as u32)).collect();
                let mut alone = together.clone();
                let mut group: Vec<(usize, &mut [u32])> =
                    together.iter_mut().enumerate().map(|(c, a)| (77 * c + 1, a.as_mut_slice())).collect();
                product.rotate_multiply_add(&key, &key, &mut group, &mut workspace);
                for (c, accumulator) in alone.iter_mut().enumerate() {
                    product.rotate_multiply_add(&key, &[], &mut [(77 * c + 1, accumulator)], &mut workspace);
                }
                assert_eq!(together, alone, "k {k}, {count} together");
            }
        }
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
