//! Exact products in `T[X]/(X^N + 1)`: digits times a torus polynomial, mod q.

use crate::fft::{FoldedFft, error_bound};
use crate::ring::RingDegree;
use crate::torus::Torus;

/// The product by definition: N² wrapping products. Coefficient c is Σ_{i ≤ c} d_i p_{c−i} − Σ_{i > c} d_i p_{N+c−i}.
pub fn multiply_reference<T: Torus>(digits: &[i32], polynomial: &[T]) -> Vec<T> {
    let degree = polynomial.len();
    assert_eq!(digits.len(), degree, "both operands have N coefficients");
    let mut product = vec![T::default(); degree];
    for (i, &digit) in digits.iter().enumerate() {
        let (wrapped, plain) = product.split_at_mut(i);
        let (low, high) = polynomial.split_at(degree - i);
        for (out, &p) in plain.iter_mut().zip(low) {
            *out = out.wrapping_add(p.wrapping_mul_signed(i64::from(digit)));
        }
        for (out, &p) in wrapped.iter_mut().zip(high) {
            *out = out.wrapping_sub(p.wrapping_mul_signed(i64::from(digit)));
        }
    }
    product
}

/// Fast exact products for one ring degree. The torus polynomial is cut into pieces of so few bits that the transform's proven error is below 1/4, so
/// rounding gives the integer product of each piece.
#[derive(Debug)]
pub struct ExactMultiplier {
    fft: FoldedFft,
}

impl ExactMultiplier {
    /// A multiplier for `degree`.
    pub fn new(degree: RingDegree) -> Self {
        Self { fft: FoldedFft::new(degree) }
    }

    /// Adds digits · polynomial, mod q, to `sum`.
    pub fn multiply_add<T: Torus>(&self, digits: &[i32], polynomial: &[T], sum: &mut [T]) {
        let degree = self.fft.degree();
        let magnitude = digits.iter().map(|d| d.unsigned_abs()).max().unwrap_or(0);
        let Some(piece_bits) = piece_bits(degree, f64::from(magnitude)) else {
            // Digits near 2^31 in a ring near 2^17: no piece is small enough, so use the definition.
            for (out, value) in sum.iter_mut().zip(multiply_reference(digits, polynomial)) {
                *out = out.wrapping_add(value);
            }
            return;
        };
        let mut left = vec![0.0; degree.get()];
        let mut right = vec![0.0; degree.get()];
        let mut product = vec![0.0; degree.get()];
        let mut pieces = vec![0i32; degree.get()];
        let mut result = vec![0u64; degree.get()];
        self.fft.forward_digits(digits, &mut left);
        for shift in (0..T::BITS).step_by(piece_bits as usize) {
            for (piece, value) in pieces.iter_mut().zip(polynomial) {
                *piece = (value.to_u64() >> shift & ((1 << piece_bits) - 1)) as i32;
            }
            self.fft.forward_digits(&pieces, &mut right);
            self.fft.multiply(&mut product, &left, &right);
            self.fft.inverse_torus(&mut product, &mut result);
            for (out, &value) in sum.iter_mut().zip(&result) {
                *out = out.wrapping_add(T::from_u64(value << shift));
            }
        }
    }

    /// Digits · polynomial, mod q.
    pub fn multiply<T: Torus>(&self, digits: &[i32], polynomial: &[T]) -> Vec<T> {
        let mut product = vec![T::default(); polynomial.len()];
        self.multiply_add(digits, polynomial, &mut product);
        product
    }
}

/// The largest number of bits of a piece for which the proven error is at most 1/4, if any.
pub fn piece_bits(degree: RingDegree, magnitude: f64) -> Option<u32> {
    // A piece of b bits is at most 2^b: half a modulus of b + 1 bits.
    (1..=24).rev().find(|b| error_bound(degree, magnitude, 1, b + 1) <= 0.25)
}

/// [`ExactMultiplier::multiply`] for a single use, tables included.
///
/// # Errors
/// [`crate::RingDegreeError`] if the operands' length is not a ring degree.
pub fn multiply_exact<T: Torus>(digits: &[i32], polynomial: &[T]) -> Result<Vec<T>, crate::RingDegreeError> {
    Ok(ExactMultiplier::new(RingDegree::new(polynomial.len())?).multiply(digits, polynomial))
}
