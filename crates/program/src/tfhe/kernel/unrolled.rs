//! The blind-rotation body for keys with several secret bits an iteration.

use super::body::{Body, BodyValue};
use super::primitive::{BodyType, Primitive};
use crate::tfhe::lowering::{Accumulation, Arithmetic, InputTransform, TfheLowering};
use polyfabric_schemes::tfhe::KeyUnrolling;
use std::sync::Arc;

/// One iteration on a group of secret bits: ACC + Σ_u (X^⟨a~,u⟩ − 1) · (BSK_(i,u) ⊡ ACC) over the P nonzero patterns u of
/// `unrolling`, for GLWE dimension k = `glwe_dimension` and l = `levels`.
///
/// An external product is linear in its GGSW ciphertext, so all patterns share one decomposition and transform of the accumulator.
/// The body multiplies by each BSK_(i,u) instead of forming Σ_u (X^⟨a~,u⟩ − 1) · BSK_(i,u): the key operands are then equal for
/// all ciphertexts of a batch. With accumulation in the transform domain, monomials multiply there and an iteration has
/// (k+1)l + (k+1) transforms, as without unrolling. Fixed-point arithmetic cannot multiply by a monomial's transform, so each
/// pattern's sum is transformed back first: (k+1)l + P(k+1) transforms.
///
/// If the last group has fewer bits, its missing patterns have zero key rows.
pub fn unrolled_rotation_body(
    glwe_dimension: usize,
    levels: u32,
    (iterations, unrolling): (usize, KeyUnrolling),
    choice: &TfheLowering,
) -> Arc<Body> {
    let width = glwe_dimension as u32 + 1;
    let mut body =
        Body { iterations, carries: BodyType::Polynomial, carried: width, ops: Vec::new(), yields: Vec::new() };
    let mut digits = Vec::new();
    for polynomial in 0..width {
        for level in 0..levels {
            digits.push(body.push(Primitive::Digit { level }, &[BodyValue(polynomial)]));
        }
    }
    let mut shared: Vec<BodyValue> = Vec::new();
    if choice.input_transform == InputTransform::Shared {
        shared = digits.iter().map(|&digit| body.push(Primitive::ForwardTransform, &[digit])).collect();
    }
    for column in 0..width {
        let mut external = Column { body: &mut body, digits: &digits, shared: &shared, column };
        let mut result = BodyValue(column);
        match (choice.accumulation, &choice.arithmetic) {
            (Accumulation::TransformDomain, Arithmetic::ExactInteger | Arithmetic::F64) => {
                let mut sum = None;
                for (ggsw, pattern) in unrolling.masks().enumerate() {
                    let product = external.product(ggsw);
                    let body = &mut *external.body;
                    let rotated = body.push(Primitive::RotateProduct { pattern }, &[product]);
                    let change = body.push(Primitive::SubtractProduct, &[rotated, product]);
                    sum = Some(match sum {
                        Some(sum) => body.push(Primitive::AddProduct, &[sum, change]),
                        None => change,
                    });
                }
                if let Some(sum) = sum {
                    let change = body.push(Primitive::InverseTransform, &[sum]);
                    result = body.push(Primitive::Add, &[result, change]);
                }
            }
            (accumulation, _) => {
                for (ggsw, pattern) in unrolling.masks().enumerate() {
                    let product = match accumulation {
                        Accumulation::TransformDomain => {
                            let product = external.product(ggsw);
                            external.body.push(Primitive::InverseTransform, &[product])
                        }
                        Accumulation::CoefficientDomain | Accumulation::Split { .. } => external.polynomial(ggsw),
                    };
                    let body = &mut *external.body;
                    let rotated = body.push(Primitive::RotatePattern { pattern }, &[product]);
                    let change = body.push(Primitive::Subtract, &[rotated, product]);
                    result = body.push(Primitive::Add, &[result, change]);
                }
            }
        }
        body.yields.push(result);
    }
    Arc::new(body)
}

/// One column of an iteration's external products.
struct Column<'a> {
    body: &'a mut Body,
    digits: &'a [BodyValue],
    /// Spectra of the digits; empty if each product transforms its own.
    shared: &'a [BodyValue],
    column: u32,
}

impl Column<'_> {
    fn spectrum(&mut self, row: usize) -> BodyValue {
        match self.shared.get(row) {
            Some(&spectrum) => spectrum,
            None => self.body.push(Primitive::ForwardTransform, &[self.digits[row]]),
        }
    }

    /// Row within the iteration's key, of the GGSW ciphertext number `ggsw`.
    fn key_row(&self, ggsw: usize, row: usize) -> u32 {
        (ggsw * self.digits.len() + row) as u32
    }

    /// The sum over rows in the transform domain.
    fn product(&mut self, ggsw: usize) -> BodyValue {
        let column = self.column;
        let spectrum = self.spectrum(0);
        let row = self.key_row(ggsw, 0);
        let mut sum = self.body.push(Primitive::Multiply { row, column }, &[spectrum]);
        for digit in 1..self.digits.len() {
            let spectrum = self.spectrum(digit);
            let row = self.key_row(ggsw, digit);
            sum = self.body.push(Primitive::MultiplyAccumulate { row, column }, &[sum, spectrum]);
        }
        sum
    }

    /// The sum over rows in the coefficient domain.
    fn polynomial(&mut self, ggsw: usize) -> BodyValue {
        let column = self.column;
        let mut sum = None;
        for digit in 0..self.digits.len() {
            let spectrum = self.spectrum(digit);
            let row = self.key_row(ggsw, digit);
            let product = self.body.push(Primitive::Multiply { row, column }, &[spectrum]);
            let product = self.body.push(Primitive::InverseTransform, &[product]);
            sum = Some(match sum {
                Some(sum) => self.body.push(Primitive::Add, &[sum, product]),
                None => product,
            });
        }
        // Unreachable fallback: a GGSW ciphertext has at least one row.
        sum.unwrap_or(BodyValue(column))
    }
}

#[cfg(test)]
mod tests {
    //! Does an iteration have the transforms, products and rotations that the formulas give?
    use super::*;
    use crate::tfhe::kernel::count::iteration;
    use crate::tfhe::lowering::KeySwitchOrder;
    use polyfabric_schemes::tfhe::Secret;

    #[test]
    fn counts() {
        let block = KeyUnrolling::of(Secret::Block(3));
        for (unrolling, patterns, k, l) in
            [(KeyUnrolling::TWO, 3, 1u64, 2u64), (KeyUnrolling::FOUR, 15, 2, 3), (block, 3, 1, 2)]
        {
            let mut choice = TfheLowering::new(KeySwitchOrder::None, Arithmetic::F64);
            let counts = iteration(&unrolled_rotation_body(k as usize, l as u32, (1, unrolling), &choice));
            assert_eq!(counts.forward_transforms, (k + 1) * l);
            assert_eq!(counts.inverse_transforms, k + 1);
            assert_eq!(counts.multiplies, patterns * (k + 1) * (k + 1) * l);
            assert_eq!((counts.product_rotations, counts.rotations), (patterns * (k + 1), 0));
            choice.accumulation = Accumulation::CoefficientDomain;
            let counts = iteration(&unrolled_rotation_body(k as usize, l as u32, (1, unrolling), &choice));
            assert_eq!(counts.inverse_transforms, patterns * (k + 1) * (k + 1) * l);
            assert_eq!((counts.product_rotations, counts.rotations), (0, patterns * (k + 1)));
        }
    }
}
