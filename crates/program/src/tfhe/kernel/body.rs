//! Bodies of the composite operations: one loop iteration in primitive operations.

use super::primitive::{BodyType, Primitive};
use crate::tfhe::lowering::{Accumulation, InputTransform, TfheLowering};
use std::sync::Arc;

/// Index of a value within a body: first the carried values, then the results of the operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BodyValue(pub u32);

impl BodyValue {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BodyOp {
    pub primitive: Primitive,
    pub operands: Vec<BodyValue>,
}

/// The body of a loop. Values `0..carried` enter an iteration, and `yields` are their values in the next one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body {
    pub iterations: usize,
    pub carries: BodyType,
    pub carried: u32,
    /// The operations; operation i defines value `carried + i`.
    pub ops: Vec<BodyOp>,
    pub yields: Vec<BodyValue>,
}

impl Body {
    /// Type of `value`, which the body defines or carries.
    pub fn value_type(&self, value: BodyValue) -> BodyType {
        match value.index().checked_sub(self.carried as usize) {
            None => self.carries,
            Some(op) => self.ops[op].primitive.signature().1,
        }
    }

    pub(super) fn push(&mut self, primitive: Primitive, operands: &[BodyValue]) -> BodyValue {
        self.ops.push(BodyOp { primitive, operands: operands.to_vec() });
        BodyValue(self.carried + self.ops.len() as u32 - 1)
    }
}

/// One blind-rotation iteration, ACC + BSK_i ⊡ (X^(a~_i) · ACC - ACC) (Morphling, algorithm 1, line 4), for GLWE
/// dimension k = `glwe_dimension`, l = `levels`, over n = `lwe_dimension` iterations.
///
/// Transforms per iteration (Morphling, section IV-B and figure 3): 2(k+1)²l without reuse, (k+1)l + (k+1)²l with shared
/// inputs, and (k+1)l + (k+1) if sums stay in the transform domain too. [`Accumulation::Split`] with blocks of k + 1 polynomials
/// and one level has (k+1)l in each direction (Strix, section IV-B).
pub fn blind_rotation_body(
    glwe_dimension: usize,
    levels: u32,
    lwe_dimension: usize,
    choice: &TfheLowering,
) -> Arc<Body> {
    let width = glwe_dimension as u32 + 1;
    let mut body = Body {
        iterations: lwe_dimension,
        carries: BodyType::Polynomial,
        carried: width,
        ops: Vec::new(),
        yields: Vec::new(),
    };
    let mut digits = Vec::new();
    for polynomial in 0..width {
        let carried = BodyValue(polynomial);
        let rotated = body.push(Primitive::Rotate, &[carried]);
        let difference = body.push(Primitive::Subtract, &[rotated, carried]);
        for level in 0..levels {
            digits.push(body.push(Primitive::Digit { level }, &[difference]));
        }
    }
    let mut shared: Vec<BodyValue> = Vec::new();
    if choice.input_transform == InputTransform::Shared {
        shared = digits.iter().map(|&digit| body.push(Primitive::ForwardTransform, &[digit])).collect();
    }
    let blocks = row_blocks(width, levels, choice.accumulation);
    for column in 0..width {
        let mut result = BodyValue(column);
        for block in &blocks {
            let mut sum = None;
            for &row in block {
                let spectrum = match shared.get(row as usize) {
                    Some(&spectrum) => spectrum,
                    None => body.push(Primitive::ForwardTransform, &[digits[row as usize]]),
                };
                sum = Some(match sum {
                    Some(sum) => body.push(Primitive::MultiplyAccumulate { row, column }, &[sum, spectrum]),
                    None => body.push(Primitive::Multiply { row, column }, &[spectrum]),
                });
            }
            if let Some(sum) = sum {
                let product = body.push(Primitive::InverseTransform, &[sum]);
                result = body.push(Primitive::Add, &[result, product]);
            }
        }
        body.yields.push(result);
    }
    Arc::new(body)
}

/// The rows j · l + level of a GGSW ciphertext, grouped into blocks that are summed in the transform domain; k + 1 = `width`,
/// l = `levels`.
fn row_blocks(width: u32, levels: u32, accumulation: Accumulation) -> Vec<Vec<u32>> {
    let (polynomials, at_a_time) = match accumulation {
        Accumulation::TransformDomain => return vec![(0..width * levels).collect()],
        Accumulation::CoefficientDomain => (1, 1),
        Accumulation::Split { polynomials, levels } => (polynomials.max(1), levels.max(1)),
    };
    let mut blocks = Vec::new();
    for first in (0..width).step_by(polynomials as usize) {
        for first_level in (0..levels).step_by(at_a_time as usize) {
            let of_level = |level| (first..(first + polynomials).min(width)).map(move |j| j * levels + level);
            blocks.push((first_level..(first_level + at_a_time).min(levels)).flat_map(of_level).collect());
        }
    }
    blocks
}

/// One key-switch iteration on mask element i of kN = `large_dimension`. The carried ciphertext starts as (0, .., 0, b') and
/// loses Σ_t digit_t(a'_i) · KSK(i, t) (Morphling, algorithm 1, line 6).
pub fn key_switch_body(large_dimension: usize, levels: u32) -> Arc<Body> {
    let mut body =
        Body { iterations: large_dimension, carries: BodyType::Lwe, carried: 1, ops: Vec::new(), yields: Vec::new() };
    let mut result = BodyValue(0);
    for level in 0..levels {
        let digit = body.push(Primitive::MaskDigit { level }, &[]);
        result = body.push(Primitive::SubtractKeyProduct { level }, &[result, digit]);
    }
    body.yields.push(result);
    Arc::new(body)
}
