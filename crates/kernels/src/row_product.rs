//! Digits of one torus polynomial times the rows of a key: Σ_t digit_t(p) · row_t, in the f64 transform.
//!
//! A row has several polynomials, its columns. Key switches of GLWE ciphertexts and products with GGSW ciphertexts are sums of such products.
//! [`crate::external_product`] fuses those of a blind rotation, which read a long key once; here the keys are short and used often.

use crate::aligned::AlignedVector;
use crate::decompose::{Gadget, decompose_level};
use crate::fft::FoldedFft;
use crate::negacyclic::multiply_reference;
use crate::torus::Torus;

/// Products for one ring degree.
#[derive(Debug)]
pub struct RowProduct {
    fft: FoldedFft,
}

/// Scratch of one thread.
#[derive(Clone, Debug)]
pub struct Scratch {
    digits: Vec<i32>,
    spectrum: AlignedVector,
    /// One sum per column.
    sums: AlignedVector,
}

impl RowProduct {
    /// Products with the transform `fft`.
    pub fn new(fft: FoldedFft) -> Self {
        Self { fft }
    }

    /// Scratch for one thread and rows of `columns` polynomials.
    pub fn scratch(&self, columns: usize) -> Scratch {
        let degree = self.fft.degree().get();
        Scratch {
            digits: vec![0; degree],
            spectrum: AlignedVector::zeros(degree),
            sums: AlignedVector::zeros(columns * degree),
        }
    }

    /// The spectra of `polynomials`, one after another.
    ///
    /// # Panics
    /// Unless both have the same number of elements, a multiple of N.
    pub fn transform<T: Torus>(&self, polynomials: &[T], spectra: &mut [f64]) {
        let degree = self.fft.degree().get();
        assert!(polynomials.len() == spectra.len() && polynomials.len().is_multiple_of(degree), "whole polynomials");
        for (polynomial, spectrum) in polynomials.chunks_exact(degree).zip(spectra.chunks_exact_mut(degree)) {
            self.fft.forward_torus(polynomial, spectrum);
        }
    }

    /// `sum` += Σ_t digit_t(`polynomial`) · row_t, for digits of `gadget`. `rows` are the output of [`Self::transform`] for `[level][column][N]`;
    /// `sum` is `[column][N]`.
    ///
    /// # Panics
    /// Unless the lengths are those of N, the levels, and the columns of `scratch`.
    pub fn multiply_add<T: Torus>(
        &self,
        gadget: Gadget,
        polynomial: &[T],
        rows: &[f64],
        sum: &mut [T],
        scratch: &mut Scratch,
    ) {
        let degree = self.fft.degree().get();
        let row_len = scratch.sums.len();
        assert_eq!([sum.len(), rows.len()], [row_len, gadget.levels as usize * row_len], "rows of one shape");
        for (level, row) in (0..).zip(rows.chunks_exact(row_len)) {
            decompose_level(polynomial, gadget, level, &mut scratch.digits);
            self.fft.forward_digits(&scratch.digits, &mut scratch.spectrum);
            for (sum, key) in scratch.sums.chunks_exact_mut(degree).zip(row.chunks_exact(degree)) {
                if level == 0 {
                    self.fft.multiply(sum, &scratch.spectrum, key);
                } else {
                    self.fft.multiply_accumulate(sum, &scratch.spectrum, key);
                }
            }
        }
        for (spectrum, sum) in scratch.sums.chunks_exact_mut(degree).zip(sum.chunks_exact_mut(degree)) {
            self.fft.inverse_add_torus(spectrum, sum);
        }
    }
}

/// The sum of products in exact integers, by definition. `rows` are `[level][column][N]`; returns `[column][N]`.
pub fn multiply_rows_reference<T: Torus>(gadget: Gadget, polynomial: &[T], rows: &[T]) -> Vec<T> {
    let degree = polynomial.len();
    let row_len = rows.len() / gadget.levels as usize;
    let mut digits = vec![0; degree];
    let mut sum = vec![T::default(); row_len];
    for (level, row) in (0..).zip(rows.chunks_exact(row_len)) {
        decompose_level(polynomial, gadget, level, &mut digits);
        for (sum, key) in sum.chunks_exact_mut(degree).zip(row.chunks_exact(degree)) {
            for (sum, term) in sum.iter_mut().zip(multiply_reference(&digits, key)) {
                *sum = sum.wrapping_add(term);
            }
        }
    }
    sum
}
