//! Folded negacyclic FFT in f64.
//!
//! A real polynomial of degree N is folded into M = N/2 complex points z_c = p_c + i p_{c+M}, a polynomial
//! of `C[X]/(X^M − i) ≅ R[X]/(X^N + 1)`, and evaluated at the M roots of X^M = i. Products are
//! pointwise. `plan` has the decomposition, `passes` the loops, `bound` the proof of accuracy.
//!
//! A spectrum is N numbers: groups of eight real parts followed by the eight imaginary ones, the points
//! in the plan's own order. That order depends on N alone, so spectra of two instruction sets can
//! be multiplied.
//!
//! # Examples
//! ```
//! use polyfabric_kernels::{RingDegree, fft::FoldedFft};
//! let fft = FoldedFft::new(RingDegree::new(256)?);
//! let (mut digits, mut torus) = (vec![0; 256], vec![0u32; 256]);
//! digits[1] = 3; // 3X
//! torus[255] = 1 << 30; // X^255 / 4
//! let (mut a, mut b) = (vec![0.0; 256], vec![0.0; 256]);
//! fft.forward_digits(&digits, &mut a);
//! fft.forward_torus(&torus, &mut b);
//! let mut product = vec![0.0; 256];
//! fft.multiply(&mut product, &a, &b);
//! let mut result = vec![0u32; 256];
//! fft.inverse_torus(&mut product, &mut result);
//! // X^256 = -1, so the product is -3/4, which is 1/4 on the torus.
//! assert_eq!(result[0], 1 << 30);
//! # Ok::<(), polyfabric_kernels::RingDegreeError>(())
//! ```

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod bound;
mod lanes;
mod passes;
mod plan;

pub use bound::{error_bound, error_deviation};
pub(crate) use plan::twiddle as node_twiddle;

use crate::decompose::{DigitField, Gadget};
use crate::ring::RingDegree;
use crate::torus::Torus;
pub(crate) use passes::Ahead;
#[cfg(target_arch = "x86_64")]
use passes::{Avx2Kernels, Avx512Kernels};
use passes::{Bounded32, Field, Kernels, PortableKernels, Shape, Torus32, Torus64, Words32, Words64};
use plan::{BLOCK, Plan};

/// An instruction set that the vector kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Isa {
    /// Plain Rust, on any processor.
    Portable,
    /// AVX2 and FMA.
    Avx2,
    /// AVX-512 F, DQ, BW and VL.
    Avx512,
}

impl Isa {
    /// Every set, the fastest first.
    pub const ALL: [Self; 3] = [Self::Avx512, Self::Avx2, Self::Portable];

    /// Whether this processor has the set.
    pub fn is_present(self) -> bool {
        match self {
            Self::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => {
                is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512vl")
            }
            #[cfg(not(target_arch = "x86_64"))]
            _ => false,
        }
    }

    /// The fastest set of this processor.
    pub fn best() -> Self {
        Self::ALL.into_iter().find(|isa| isa.is_present()).unwrap_or(Self::Portable)
    }
}

/// A transform of one size for one instruction set.
#[derive(Debug)]
pub struct FoldedFft {
    degree: RingDegree,
    isa: Isa,
    plan: Plan,
}

/// Calls a function of the [`Kernels`] of `self.isa`.
macro_rules! dispatch {
    ($self:ident, $function:ident $(::<$($generic:tt),+>)? ($($argument:expr),*)) => {
        // SAFETY: a plan is only made for a set that the processor has (`with_isa`); each caller
        // checks the lengths that the arguments' pointers stand for.
        unsafe {
            match $self.isa {
                #[cfg(target_arch = "x86_64")]
                Isa::Avx512 => Avx512Kernels::$function $(::<$($generic),+>)? ($($argument),*),
                #[cfg(target_arch = "x86_64")]
                Isa::Avx2 => Avx2Kernels::$function $(::<$($generic),+>)? ($($argument),*),
                _ => PortableKernels::$function $(::<$($generic),+>)? ($($argument),*),
            }
        }
    };
}

impl FoldedFft {
    /// A transform with the processor's best set.
    pub fn new(degree: RingDegree) -> Self {
        Self { degree, isa: Isa::best(), plan: Plan::new(degree.get() / 2) }
    }

    /// A transform with `isa`, or `None` if this processor lacks it.
    pub fn with_isa(degree: RingDegree, isa: Isa) -> Option<Self> {
        isa.is_present().then(|| Self { isa, ..Self::new(degree) })
    }

    /// N.
    pub fn degree(&self) -> RingDegree {
        self.degree
    }

    /// The instruction set in use.
    pub fn isa(&self) -> Isa {
        self.isa
    }

    fn check(&self, lengths: [usize; 2]) {
        assert_eq!(lengths, [self.degree.get(); 2], "a polynomial and its spectrum have N numbers");
    }

    /// Spectrum of N digits.
    pub fn forward_digits(&self, digits: &[i32], spectrum: &mut [f64]) {
        self.check([digits.len(), spectrum.len()]);
        let source = Words32::<false>(digits.as_ptr().cast(), Field::WORD);
        dispatch!(self, forward(&self.plan, source, spectrum, Ahead::NONE))
    }

    /// Spectrum of N torus elements, each as its representative in [-q/2, q/2) (for q = 2^64 rounded
    /// to 53 bits).
    pub fn forward_torus<T: Torus>(&self, polynomial: &[T], spectrum: &mut [f64]) {
        self.forward_words(polynomial, Field::WORD, spectrum, Ahead::NONE);
    }

    /// Spectrum of one digit of N prepared words ([`Gadget::preparation`]), times 2^`field.right`: the digit is cut out in its
    /// place, which spares a shift. Brings `ahead` nearer in the meantime.
    pub(crate) fn forward_field<T: Torus>(&self, words: &[T], field: DigitField, spectrum: &mut [f64], ahead: Ahead) {
        let DigitField { left, right } = field;
        assert!(left < T::BITS && right < T::BITS, "a digit lies within its word");
        self.forward_words(words, Field { left, mask: u64::MAX << right }, spectrum, ahead);
    }

    fn forward_words<T: Torus>(&self, words: &[T], field: Field, spectrum: &mut [f64], ahead: Ahead) {
        self.check([words.len(), spectrum.len()]);
        // `Torus` is sealed: an element is a u32 if it has 32 bits, and a u64 otherwise.
        if T::BITS == 64 {
            let source = Words64(words.as_ptr().cast(), field);
            dispatch!(self, forward(&self.plan, source, spectrum, ahead))
        } else if field.left == 0 {
            let source = Words32::<false>(words.as_ptr().cast(), field);
            dispatch!(self, forward(&self.plan, source, spectrum, ahead))
        } else {
            let source = Words32::<true>(words.as_ptr().cast(), field);
            dispatch!(self, forward(&self.plan, source, spectrum, ahead))
        }
    }

    /// Steps that a transform spreads its [`Ahead`] over.
    pub(crate) fn steps(&self) -> usize {
        self.plan.points / BLOCK + ((self.plan.points / 8) >> self.plan.passes.first().map_or(0, |pass| pass.radix))
    }

    /// Adds the polynomial of `spectrum`, rounded to the torus, to `polynomial`. Spends `spectrum`.
    /// Coefficients may reach 2^83 (32-bit torus) or 2^114 (64-bit) before they wrap.
    pub fn inverse_add_torus<T: Torus>(&self, spectrum: &mut [f64], polynomial: &mut [T]) {
        self.inverse_add(1.0 / self.plan.points as f64, spectrum, polynomial, Ahead::NONE);
    }

    /// Adds `scale` times the unscaled inverse.
    fn inverse_add<T: Torus>(&self, scale: f64, spectrum: &mut [f64], polynomial: &mut [T], ahead: Ahead) {
        self.check([polynomial.len(), spectrum.len()]);
        if T::BITS == 32 {
            let sink = Torus32(polynomial.as_mut_ptr().cast(), scale);
            dispatch!(self, inverse(&self.plan, spectrum, sink, ahead))
        } else {
            let sink = Torus64(polynomial.as_mut_ptr().cast(), scale);
            dispatch!(self, inverse(&self.plan, spectrum, sink, ahead))
        }
    }

    /// Writes the polynomial of `spectrum`, rounded to the torus. Spends `spectrum`.
    pub fn inverse_torus<T: Torus>(&self, spectrum: &mut [f64], polynomial: &mut [T]) {
        polynomial.fill(T::default());
        self.inverse_add_torus(spectrum, polynomial);
    }

    /// `product` = a · b, pointwise.
    pub fn multiply(&self, product: &mut [f64], a: &[f64], b: &[f64]) {
        self.check([product.len(), a.len()]);
        dispatch!(self, multiply::<false>(product, a, b))
    }

    /// `accumulator` += a · b, pointwise.
    pub fn multiply_accumulate(&self, accumulator: &mut [f64], a: &[f64], b: &[f64]) {
        self.check([accumulator.len(), a.len()]);
        dispatch!(self, multiply::<true>(accumulator, a, b))
    }

    /// [`Self::inverse_add_torus`] of a spectrum that is scaled by 1/M already. If `bounded`, coefficients
    /// stay under 2^62 (32-bit torus), which saves their reduction.
    pub(crate) fn inverse_add_scaled<T: Torus>(
        &self,
        bounded: bool,
        spectrum: &mut [f64],
        polynomial: &mut [T],
        ahead: Ahead,
    ) {
        if T::BITS == 32 && bounded {
            self.check([polynomial.len(), spectrum.len()]);
            let sink = Bounded32(polynomial.as_mut_ptr().cast());
            dispatch!(self, inverse(&self.plan, spectrum, sink, ahead))
        } else {
            self.inverse_add(1.0, spectrum, polynomial, ahead);
        }
    }

    /// External products in the transform domain with one key, `rows` × `columns` spectra as
    /// [`crate::external_product`] stores them: for each ciphertext, `rows` spectra of `digits` give `columns` of `sums`.
    pub(crate) fn row_products(&self, (rows, columns): (usize, usize), digits: &[f64], key: &[f64], sums: &mut [f64]) {
        let shape = Shape { numbers: self.degree.get(), rows, columns };
        let count = digits.len() / (rows * shape.numbers);
        assert_eq!(
            [digits.len(), sums.len(), key.len()],
            [count * rows * shape.numbers, count * columns * shape.numbers, rows * columns * shape.numbers],
            "whole spectra: rows of digits and columns of sums for each ciphertext, rows · columns of key"
        );
        for first in (0..columns).step_by(4) {
            let wide = columns - first;
            let key = key[16 * first..].as_ptr();
            let mut done = 0;
            while done < count {
                let digits = digits[done * rows * shape.numbers..].as_ptr();
                let sums = sums[(done * columns + first) * shape.numbers..].as_mut_ptr();
                // As many ciphertexts as leave their sums and the key's row in 32 registers.
                done += match (wide, count - done) {
                    (1, 4..) => {
                        dispatch!(self, row_products::<4, 1>(shape, digits, key, sums));
                        4
                    }
                    (1, 2..) => {
                        dispatch!(self, row_products::<2, 1>(shape, digits, key, sums));
                        2
                    }
                    (1, _) => {
                        dispatch!(self, row_products::<1, 1>(shape, digits, key, sums));
                        1
                    }
                    (2, 4..) => {
                        dispatch!(self, row_products::<4, 2>(shape, digits, key, sums));
                        4
                    }
                    (2, 2..) => {
                        dispatch!(self, row_products::<2, 2>(shape, digits, key, sums));
                        2
                    }
                    (2, _) => {
                        dispatch!(self, row_products::<1, 2>(shape, digits, key, sums));
                        1
                    }
                    (3, 2..) => {
                        dispatch!(self, row_products::<2, 3>(shape, digits, key, sums));
                        2
                    }
                    (3, _) => {
                        dispatch!(self, row_products::<1, 3>(shape, digits, key, sums));
                        1
                    }
                    (_, 2..) => {
                        dispatch!(self, row_products::<2, 4>(shape, digits, key, sums));
                        2
                    }
                    (_, _) => {
                        dispatch!(self, row_products::<1, 4>(shape, digits, key, sums));
                        1
                    }
                };
            }
        }
    }

    /// [`error_bound`] of an external product of `rows` products with digits of `gadget`.
    pub fn external_product_bound<T: Torus>(&self, gadget: Gadget, rows: usize) -> f64 {
        error_bound(self.degree, 2f64.powi(gadget.log2_base as i32 - 1), rows, T::BITS)
    }
}

#[cfg(test)]
mod tests;
