//! Folded negacyclic FFT in f64.
//!
//! A real polynomial of degree N is folded into M = N/2 complex points z_c = p_c + i p_{c+M}, a polynomial of `C[X]/(X^M − i) ≅ R[X]/(X^N + 1)`,
//! and evaluated at the M roots of X^M = i. Products are pointwise. `plan` has the decomposition, `passes` the loops, `bound` the accuracy proof.
//!
//! A spectrum is N numbers: groups of eight real parts followed by the eight imaginary ones, in the plan's order of points. That order depends
//! on N only, so spectra of different instruction sets can be multiplied.
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
mod butterflies;
mod kernels;
mod lane_batch;
mod lanes;
mod monomial;
mod narrow;
#[cfg(target_arch = "aarch64")]
mod neon;
mod passes;
mod plan;
mod product;
mod words;

pub use bound::{error_bound, error_deviation, key_error_bound, key_error_deviation};
pub use lane_batch::LANE_BATCH;
pub(crate) use narrow::{key_group, key_len, key_number};
pub use plan::twiddle as node_twiddle;

use crate::aligned::{AlignedTorus, AlignedVector, elements};
use crate::decompose::Gadget;
use crate::isa::Isa;
use crate::ring::RingDegree;
use crate::torus::Torus;
#[cfg(target_arch = "aarch64")]
use kernels::NeonKernels;
#[cfg(target_arch = "x86_64")]
use kernels::{Avx2Kernels, Avx512AdderKernels, Avx512Kernels};
use kernels::{Kernels, PortableKernels};
use monomial::Roots;
use passes::{Ahead, Bounded32, Scaled, Torus32, Torus64};
use plan::{BLOCK, Form, Plan};
use product::{Iteration, MAX_PATTERNS, PADDING, Scratch, Shape};
use std::sync::OnceLock;
use words::Preparation;

/// Scratch of [`FoldedFft::product`].
#[derive(Clone, Debug)]
pub(crate) struct ProductScratch<T> {
    /// Digits of one polynomial as words.
    words: AlignedTorus<T>,
    /// One spectrum per row.
    spectra: AlignedVector,
    /// One block per column.
    block: AlignedVector,
    /// One block per pattern, for as many as any step had.
    monomials: AlignedVector,
}

/// Scratch of [`FoldedFft::lane_batch_product`].
#[derive(Clone, Debug)]
pub(crate) struct LaneBatchScratch {
    pairs: AlignedVector,
    points: AlignedVector,
    spectra: AlignedVector,
    node: AlignedVector,
    /// For as many patterns as any step had.
    monomials: AlignedVector,
}

/// A transform of one size for one instruction set.
#[derive(Debug)]
pub struct FoldedFft {
    degree: RingDegree,
    isa: Isa,
    /// Variant of the AVX-512 kernels; other sets have only one.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    form: Form,
    plan: Plan,
    /// Made when first needed by an unrolled key.
    roots: OnceLock<Roots>,
}

/// Calls a function of the [`Kernels`] of `self.isa`.
macro_rules! dispatch {
    ($self:ident, $function:ident $(::<$($generic:tt),+>)? ($($argument:expr),*)) => {
        // SAFETY: a plan is only made for a set that the processor has (`with_isa`); each caller checks the lengths of the arguments.
        unsafe {
            match $self.isa {
                #[cfg(target_arch = "x86_64")]
                Isa::Avx512 if $self.form == Form::Adders => Avx512AdderKernels::$function $(::<$($generic),+>)? ($($argument),*),
                #[cfg(target_arch = "x86_64")]
                Isa::Avx512 => Avx512Kernels::$function $(::<$($generic),+>)? ($($argument),*),
                #[cfg(target_arch = "x86_64")]
                Isa::Avx2 => Avx2Kernels::$function $(::<$($generic),+>)? ($($argument),*),
                #[cfg(target_arch = "aarch64")]
                Isa::Neon => NeonKernels::$function $(::<$($generic),+>)? ($($argument),*),
                _ => PortableKernels::$function $(::<$($generic),+>)? ($($argument),*),
            }
        }
    };
}

impl FoldedFft {
    /// A transform with the processor's best set.
    pub fn new(degree: RingDegree) -> Self {
        let isa = Isa::best();
        Self::with_form(degree, isa, Form::of(isa))
    }

    /// For a present `isa`, and `form`, of which only AVX-512 has more than one.
    fn with_form(degree: RingDegree, isa: Isa, form: Form) -> Self {
        Self { degree, isa, form, plan: Plan::new(degree.get() / 2, form), roots: OnceLock::new() }
    }

    /// A transform with `isa`, or `None` if this processor lacks it.
    pub fn with_isa(degree: RingDegree, isa: Isa) -> Option<Self> {
        isa.is_present().then(|| Self::with_form(degree, isa, Form::of(isa)))
    }

    /// A transform for each set of this processor and each form, with its name. For tests: there is no other way to choose a form.
    pub fn kinds(degree: RingDegree) -> impl Iterator<Item = (Self, String)> {
        Isa::present().flat_map(move |isa| {
            let other = if Form::of(isa) == Form::Adders { Form::Fused } else { Form::Adders };
            let forms = [Some(Form::of(isa)), (isa == Isa::Avx512).then_some(other)];
            forms.into_iter().flatten().map(move |form| (Self::with_form(degree, isa, form), format!("{isa} {form:?}")))
        })
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
        dispatch!(self, forward(&self.plan, digits.as_ptr(), spectrum))
    }

    /// Spectrum of N torus elements, as representatives in [-q/2, q/2) (for q = 2^64 rounded to 53 bits).
    pub fn forward_torus<T: Torus>(&self, polynomial: &[T], spectrum: &mut [f64]) {
        self.check([polynomial.len(), spectrum.len()]);
        // `Torus` is sealed: an element is a u32 if it has 32 bits, otherwise a u64.
        if T::BITS == 32 {
            // SAFETY: N elements, checked above.
            unsafe { self.forward_words(polynomial.as_ptr().cast(), spectrum) }
        } else {
            // SAFETY: N elements, checked above.
            unsafe { self.forward_long_words(polynomial.as_ptr().cast(), spectrum) }
        }
    }

    /// Adds the polynomial of `spectrum`, rounded to the torus, to `polynomial`. Overwrites `spectrum`. Coefficients may reach 2^83 (32-bit torus) or
    /// 2^114 (64-bit) before they wrap.
    pub fn inverse_add_torus<T: Torus>(&self, spectrum: &mut [f64], polynomial: &mut [T]) {
        self.check([polynomial.len(), spectrum.len()]);
        let scale = 1.0 / self.plan.points as f64;
        if T::BITS == 32 {
            // SAFETY: N elements, checked above.
            unsafe { self.inverse_words(spectrum, Scaled(Torus32(polynomial.as_mut_ptr().cast()), scale)) }
        } else {
            // SAFETY: N elements, checked above.
            unsafe { self.inverse_long_words(spectrum, Scaled(Torus64(polynomial.as_mut_ptr().cast()), scale)) }
        }
    }

    /// Writes the polynomial of `spectrum`, rounded to the torus. Overwrites `spectrum`.
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

    /// Scratch for [`Self::product`] of `columns` columns with digits of `gadget`.
    pub(crate) fn scratch<T: Torus>(&self, gadget: Gadget, columns: usize) -> ProductScratch<T> {
        let (degree, levels) = (self.degree.get(), gadget.levels as usize);
        ProductScratch {
            words: AlignedTorus::zeros(elements(&[levels, degree])),
            spectra: AlignedVector::zeros(elements(&[columns, levels, degree + PADDING])),
            block: AlignedVector::zeros(elements(&[columns, 2 * BLOCK])),
            monomials: AlignedVector::zeros(0),
        }
    }

    /// One step of a blind rotation: adds key ⊡ (X^e − 1) · accumulator to `accumulator` for the single exponent, or if `unrolled`
    /// Σ_u (X^{e_u} − 1) · (key_u ⊡ accumulator) over `exponents`, with digits of `gadget`. The key's spectra are scaled for digits extracted in place, as
    /// [`crate::external_product`] stores them. With `rounding`, coefficients of the 32-bit torus are rounded to multiples of 2 to that power and must
    /// stay within 2^(51 + rounding); without it they may reach 2^83, or 2^114 on the 64-bit torus. Meanwhile prefetches `next`, and finally the
    /// accumulator `following`.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn product<T: Torus>(
        &self,
        gadget: Gadget,
        rounding: Option<u32>,
        exponents: &[u32],
        unrolled: bool,
        key: &[f64],
        next: &[f64],
        following: Option<&[T]>,
        scratch: &mut ProductScratch<T>,
        accumulator: &mut [T],
    ) {
        let degree = self.degree.get();
        let columns = accumulator.len() / degree;
        let shape = Shape { columns, preparation: Preparation::new::<T>(gadget) };
        let levels = gadget.levels as usize;
        assert_eq!(
            [accumulator.len(), key.len(), scratch.words.len(), scratch.spectra.len(), scratch.block.len()],
            [
                columns * degree,
                key_len::<T>(elements(&[exponents.len(), columns, levels, columns, degree])),
                elements(&[levels, degree]),
                elements(&[columns, levels, degree + PADDING]),
                elements(&[columns, 2 * BLOCK])
            ],
            "whole polynomials and spectra: columns of sums, rows · columns of key, and the scratch of this shape"
        );
        let iteration = match exponents {
            [exponent] if !unrolled => Iteration::Rotation(*exponent as usize),
            _ => {
                assert!(
                    unrolled && exponents.len() <= MAX_PATTERNS,
                    "one exponent for one key, or those of four bits at most"
                );
                if scratch.monomials.len() < exponents.len() * 2 * BLOCK {
                    scratch.monomials = AlignedVector::zeros(exponents.len() * 2 * BLOCK);
                }
                Iteration::Patterns(exponents, self.roots.get_or_init(|| Roots::new(&self.plan)))
            }
        };
        let ahead = Ahead::new(next, product::work(&self.plan, shape, exponents.len()));
        let key = key.as_ptr();
        let near: *const T = following.map_or(std::ptr::null(), |following| following.as_ptr());
        let (spectra, block) = (scratch.spectra.as_mut_ptr(), scratch.block.as_mut_ptr());
        let monomials = scratch.monomials.as_mut_ptr();
        let (accumulator, words) = (accumulator.as_mut_ptr(), scratch.words.as_mut_ptr());
        // `Torus` is sealed: an element is a u32 if it has 32 bits, otherwise a u64.
        if T::BITS == 64 {
            let scratch = Scratch { words: words.cast::<u64>(), spectra, block, monomials };
            // SAFETY: whole polynomials, key and scratch of this shape, checked above.
            unsafe {
                self.product_of_long_words(shape, accumulator.cast(), iteration, key, scratch, ahead, near.cast())
            }
        } else {
            let scratch = Scratch { words: words.cast::<u32>(), spectra, block, monomials };
            // SAFETY: whole polynomials, key and scratch of this shape, checked above.
            unsafe {
                self.product_of_words(shape, accumulator.cast(), iteration, key, scratch, rounding, ahead, near.cast())
            }
        }
    }

    /// Point `point`, in tree order, of a spectrum that has blocks: real, imaginary.
    pub(crate) fn point(spectrum: &[f64], point: usize) -> (f64, f64) {
        let (block, node, first) = (point / BLOCK, point / 8 % 8, point % 8);
        let at = (block * 8 + first) * 16 + lane_batch::lane_of(node);
        (spectrum[at], spectrum[at + 8])
    }

    /// Whether [`Self::lane_batch_product`] supports this degree and number of columns.
    pub(crate) fn lane_batches(&self, columns: usize) -> bool {
        !self.plan.passes.is_empty() && (2..=lane_batch::MAX_COLUMNS).contains(&columns)
    }

    /// Scratch for [`Self::lane_batch_product`] of `columns` columns with digits of `gadget`.
    pub(crate) fn lane_batch_scratch(&self, gadget: Gadget, columns: usize) -> LaneBatchScratch {
        let (degree, levels) = (self.degree.get(), gadget.levels as usize);
        let rows = columns * levels;
        LaneBatchScratch {
            pairs: AlignedVector::zeros(lane_batch::pairs_len(degree)),
            points: AlignedVector::zeros(degree),
            spectra: AlignedVector::zeros(elements(&[rows, lane_batch::spectrum_len(self.plan.points)])),
            node: AlignedVector::zeros(lane_batch::node_len(rows)),
            monomials: AlignedVector::zeros(0),
        }
    }

    /// [`Self::product`] for [`LANE_BATCH`] consecutive accumulators of the 32-bit torus, with bit-identical results. `exponents` has those of the
    /// first accumulator, then of the second, and so on.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn lane_batch_product(
        &self,
        gadget: Gadget,
        rounding: Option<u32>,
        exponents: &[u32],
        unrolled: bool,
        key: &[f64],
        next: &[f64],
        scratch: &mut LaneBatchScratch,
        accumulators: &mut [u32],
    ) {
        let degree = self.degree.get();
        let (columns, patterns) = (accumulators.len() / (LANE_BATCH * degree), exponents.len() / LANE_BATCH);
        let shape = Shape { columns, preparation: Preparation::new::<u32>(gadget) };
        let rows = shape.rows();
        assert!(self.lane_batches(columns), "a degree with blocks and passes before them, and 2 to 4 columns");
        assert_eq!(
            [accumulators.len(), exponents.len(), key.len()],
            [LANE_BATCH * columns * degree, LANE_BATCH * patterns, elements(&[patterns, rows, columns, degree])],
            "whole polynomials, and exponents of eight ciphertexts"
        );
        assert_eq!(
            [scratch.pairs.len(), scratch.points.len(), scratch.spectra.len(), scratch.node.len()],
            [
                lane_batch::pairs_len(degree),
                degree,
                rows * lane_batch::spectrum_len(self.plan.points),
                lane_batch::node_len(rows)
            ],
            "the scratch of this shape"
        );
        let iteration = if unrolled {
            assert!(patterns <= MAX_PATTERNS, "the patterns of four bits at most");
            if scratch.monomials.len() < patterns * lane_batch::MONOMIAL {
                scratch.monomials = AlignedVector::zeros(patterns * lane_batch::MONOMIAL);
            }
            lane_batch::Iteration::Patterns(exponents, patterns, self.roots.get_or_init(|| Roots::new(&self.plan)))
        } else {
            assert_eq!(patterns, 1, "one exponent for each ciphertext");
            lane_batch::Iteration::Rotation(exponents)
        };
        let ahead = Ahead::new(next, lane_batch::steps(&self.plan, shape));
        let scratch = lane_batch::Scratch {
            pairs: scratch.pairs.as_mut_ptr(),
            points: scratch.points.as_mut_ptr(),
            spectra: scratch.spectra.as_mut_ptr(),
            node: scratch.node.as_mut_ptr(),
            monomials: scratch.monomials.as_mut_ptr(),
        };
        let (plan, key, accumulators) = (&self.plan, key.as_ptr(), accumulators.as_mut_ptr());
        dispatch!(self, lane_batch_product(plan, shape, accumulators, iteration, key, scratch, rounding, ahead))
    }

    // The following functions are not generic, so that the loops of all instruction sets are compiled only here, not in each crate that uses
    // them. They are unsafe because their pointers must be valid for the lengths of `self` and the shape.

    unsafe fn forward_words(&self, words: *const i32, spectrum: &mut [f64]) {
        dispatch!(self, forward(&self.plan, words, spectrum))
    }

    unsafe fn forward_long_words(&self, words: *const i64, spectrum: &mut [f64]) {
        dispatch!(self, forward(&self.plan, words, spectrum))
    }

    unsafe fn inverse_words(&self, spectrum: &mut [f64], sink: Scaled<Torus32>) {
        dispatch!(self, inverse(&self.plan, spectrum, sink))
    }

    unsafe fn inverse_long_words(&self, spectrum: &mut [f64], sink: Scaled<Torus64>) {
        dispatch!(self, inverse(&self.plan, spectrum, sink))
    }

    #[allow(clippy::too_many_arguments)]
    unsafe fn product_of_words(
        &self,
        shape: Shape,
        accumulator: *mut u32,
        iteration: Iteration<'_>,
        key: *const f64,
        scratch: Scratch<u32>,
        rounding: Option<u32>,
        ahead: Ahead,
        near: *const u32,
    ) {
        let plan = &self.plan;
        if let Some(shift) = rounding {
            let sink = Bounded32(accumulator, shift);
            dispatch!(self, product(plan, shape, accumulator, iteration, key, scratch, sink, ahead, near))
        } else {
            let sink = Torus32(accumulator);
            dispatch!(self, product(plan, shape, accumulator, iteration, key, scratch, sink, ahead, near))
        }
    }

    #[allow(clippy::too_many_arguments)]
    unsafe fn product_of_long_words(
        &self,
        shape: Shape,
        accumulator: *mut u64,
        iteration: Iteration<'_>,
        key: *const f64,
        scratch: Scratch<u64>,
        ahead: Ahead,
        near: *const u64,
    ) {
        let (plan, sink) = (&self.plan, Torus64(accumulator));
        dispatch!(self, product(plan, shape, accumulator, iteration, key, scratch, sink, ahead, near))
    }
}
