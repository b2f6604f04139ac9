//! Coefficients to slots, slots to coefficients, and the real and imaginary parts between them.

use super::{Bootstrapping, BootstrappingOrder, real};
use crate::rns::approximation::embedding::Packing;
use crate::rns::homomorphic::{Complex, Values};
use crate::rns::kernel::{PublicPolynomial, ValueType};
use crate::rns::levels::Scale;
use crate::rns::lowering::{CiphertextValue, Lowering, PreparedTransform, Result};
use std::sync::Arc;

/// The coefficients as slots: real vectors, in bit-reversed order.
#[derive(Clone, Debug)]
pub(super) enum Parts {
    /// Full packing: c_0, …, c_(n−1), and c_n, …, c_(2n−1).
    Two(Box<[CiphertextValue; 2]>),
    /// Sparse packing: both in one vector of 2n slots.
    One(CiphertextValue),
}

impl Lowering<'_> {
    /// The real and imaginary parts of the inverse transform.
    pub(super) fn coefficients_to_slots(&mut self, a: CiphertextValue, plan: &Bootstrapping) -> Result<Parts> {
        let target = self.chain().dropped_product(plan.reduction_level());
        let mut both = self.transforms(a, plan.to_slots(), target, None)?;
        both.noise.magnitude = 0.5;
        let conjugate = self.conjugate(&both)?;
        let mut first = self.add(&both, &conjugate)?;
        first.noise.magnitude = 1.0;
        if plan.packing() == Packing::Sparse {
            return Ok(Parts::One(first));
        }
        let difference = self.sub(&both, &conjugate)?;
        // (z − z̄)·(−i) is twice the imaginary part.
        let mut second = self.times_imaginary(&difference, true)?;
        second.noise.magnitude = 1.0;
        Ok(Parts::Two(Box::new([first, second])))
    }

    /// x + i·y of full packing; the vector (x | y) of sparse packing as it is.
    pub(super) fn join_parts(&mut self, parts: Parts, plan: &Bootstrapping) -> Result<CiphertextValue> {
        match parts {
            Parts::Two(both) => {
                let imaginary = self.times_imaginary(&both[1], false)?;
                self.add(&both[0], &imaginary)
            }
            Parts::One(both) => match plan.literal().order {
                BootstrappingOrder::Full => Ok(both),
                BootstrappingOrder::Slim => self.joined_halves(&both, plan),
            },
        }
    }

    /// (x | y) to x + i·y, repeating after n slots: the product with (1 | i), and its rotation by n added.
    fn joined_halves(&mut self, both: &CiphertextValue, plan: &Bootstrapping) -> Result<CiphertextValue> {
        let slots = plan.literal().slots;
        let entry = |slot: usize| if slot < slots { Complex::from(1.0) } else { Complex::new(0.0, 1.0) };
        let mask = Values::Complex((0..2 * slots).map(entry).collect());
        let target = self.chain().scale(plan.output_level()).real();
        let scale = target * self.chain().dropped_product(both.level) / real(both.scale);
        let product = self.multiply_plain_at(both, &mask, Scale::Real(scale))?;
        let mut product = self.rescale(&product)?;
        product.scale = Scale::Real(target);
        let rotated = self.rotate(&product, slots as i64)?;
        self.add(&product, &rotated)
    }

    /// The transform to the chain's scale.
    pub(super) fn slots_to_coefficients(
        &mut self,
        a: &CiphertextValue,
        plan: &Bootstrapping,
    ) -> Result<CiphertextValue> {
        let level = match plan.literal().order {
            BootstrappingOrder::Full => plan.output_level(),
            BootstrappingOrder::Slim => 0,
        };
        let target = self.chain().scale(level).real();
        let fold = match (plan.packing(), plan.literal().order) {
            (Packing::Sparse, BootstrappingOrder::Full) => Some(plan.literal().slots),
            _ => None,
        };
        self.transforms(a.clone(), plan.to_coefficients(), target, fold)
    }

    /// The factors one after the other; scales change by equal factors from level to level, to `target` exactly. With `fold` the first
    /// product has its rotation by so many slots added.
    fn transforms(
        &mut self,
        a: CiphertextValue,
        factors: &[PreparedTransform],
        target: f64,
        fold: Option<usize>,
    ) -> Result<CiphertextValue> {
        let start = real(a.scale);
        let count = factors.len() as f64;
        let mut value = a;
        for (index, factor) in factors.iter().enumerate() {
            let scale = if index + 1 == factors.len() {
                target
            } else {
                start * (target / start).powf((index + 1) as f64 / count)
            };
            value = self.transform(&value, factor, scale)?;
            // Partial transforms of numbers up to 1 with random signs stay near √(their number).
            value.noise.magnitude = value.noise.magnitude.min(1.0);
            if let Some(slots) = fold.filter(|_| index == 0) {
                let rotated = self.rotate(&value, slots as i64)?;
                value = self.add(&value, &rotated)?;
            }
        }
        Ok(value)
    }

    /// ±i·a, without an error: X^(N/2) is i in every slot.
    fn times_imaginary(&mut self, a: &CiphertextValue, negative: bool) -> Result<CiphertextValue> {
        let count = self.chain().degree().get();
        let mut coefficients = vec![0i64; count];
        coefficients[count / 2] = if negative { -1 } else { 1 };
        let polynomial = Arc::new(PublicPolynomial::Narrow(coefficients.into()));
        let limbs = self.chain().limbs(a.level);
        let monomial = self.builder().plaintext(&polynomial, ValueType::evaluation(limbs))?;
        self.map(a, |lowering, _, part| Ok(lowering.builder().multiply(part, monomial)?))
    }
}
