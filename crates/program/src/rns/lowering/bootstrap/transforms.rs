//! Coefficients to slots, slots to coefficients, and separating real and imaginary parts.

use super::{BootstrapOrder, Bootstrapping, real};
use crate::rns::approximation::embedding::Packing;
use crate::rns::homomorphic::{Complex, Values};
use crate::rns::kernel::{PublicPolynomial, ValueType};
use crate::rns::levels::Scale;
use crate::rns::lowering::{CiphertextValue, Lowering, PreparedTransform, Result};
use std::sync::Arc;

/// The coefficients in slots: real vectors in bit-reversed order.
#[derive(Clone, Debug)]
pub(super) enum Parts {
    /// Full packing: c_0, …, c_(n−1) and c_n, …, c_(2n−1).
    Two(Box<[CiphertextValue; 2]>),
    /// Sparse packing: both in one vector of 2n slots.
    One(CiphertextValue),
}

impl Lowering<'_> {
    /// The real and imaginary parts of the inverse transform, with scale `target`.
    pub(super) fn coefficients_to_slots(
        &mut self,
        a: CiphertextValue,
        plan: &Bootstrapping,
        target: f64,
    ) -> Result<Parts> {
        let mut both = self.transforms(a, plan.to_slots(), target, 0.5, None)?;
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

    /// x + i·y for full packing; the unchanged vector (x | y) for sparse packing.
    pub(super) fn join_parts(&mut self, parts: Parts, plan: &Bootstrapping) -> Result<CiphertextValue> {
        match parts {
            Parts::Two(both) => {
                let imaginary = self.times_imaginary(&both[1], false)?;
                self.add(&both[0], &imaginary)
            }
            Parts::One(both) => match plan.literal().order {
                BootstrapOrder::Full => Ok(both),
                BootstrapOrder::Slim => self.joined_halves(&both, plan),
            },
        }
    }

    /// Maps (x | y) to x + i·y with period n: the product with (1 | i), plus its rotation by n.
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

    /// The transform, ending with [`Bootstrapping::coefficient_scale`].
    pub(super) fn slots_to_coefficients(
        &mut self,
        a: &CiphertextValue,
        plan: &Bootstrapping,
    ) -> Result<CiphertextValue> {
        let target = plan.coefficient_scale(self.chain());
        let fold = match (plan.packing(), plan.literal().order) {
            (Packing::Sparse, BootstrapOrder::Full) => Some(plan.literal().slots),
            _ => None,
        };
        self.transforms(a.clone(), plan.to_coefficients(), target, 0.25, fold)
    }

    /// Applies the factors in order, ending with exactly the scale `target`. The matrices' own scales differ by the `share`-th power of their
    /// periods. Rounding a diagonal of period p causes an error of √(2p/12) in a slot, so a share of a half balances all matrices' rounding;
    /// a smaller share keeps scales between the factors larger, so that rescaling errors are smaller. With `fold`, the first product has
    /// its rotation by that many slots added.
    fn transforms(
        &mut self,
        a: CiphertextValue,
        factors: &[PreparedTransform],
        target: f64,
        share: f64,
        fold: Option<usize>,
    ) -> Result<CiphertextValue> {
        let weight = |factor: &PreparedTransform| share * (factor.period() as f64).log2();
        let dropped = |lowering: &Self, level: usize| lowering.chain().dropped_product(level).log2();
        let all: f64 = (0..factors.len()).map(|index| dropped(self, a.level - index)).sum();
        let weights: f64 = factors.iter().map(weight).sum();
        let mean = (all + target.log2() - real(a.scale).log2() - weights) / factors.len() as f64;
        let mut value = a;
        for (index, factor) in factors.iter().enumerate() {
            let scale = if index + 1 == factors.len() {
                target
            } else {
                (real(value.scale).log2() + mean + weight(factor) - dropped(self, value.level)).exp2()
            };
            value = self.transform(&value, factor, scale)?;
            // Partial transforms of numbers up to 1 with random signs stay near the square root of their number.
            value.noise.magnitude = value.noise.magnitude.min(1.0);
            if let Some(slots) = fold.filter(|_| index == 0) {
                let rotated = self.rotate(&value, slots as i64)?;
                value = self.add(&value, &rotated)?;
            }
        }
        Ok(value)
    }

    /// ±i·a, exactly: X^(N/2) is i in every slot.
    pub(super) fn times_imaginary(&mut self, a: &CiphertextValue, negative: bool) -> Result<CiphertextValue> {
        let count = self.chain().degree().get();
        let mut coefficients = vec![0i64; count];
        coefficients[count / 2] = if negative { -1 } else { 1 };
        let polynomial = Arc::new(PublicPolynomial::Narrow(coefficients.into()));
        let limbs = self.chain().limbs(a.level);
        let monomial = self.builder().plaintext(&polynomial, ValueType::evaluation(limbs))?;
        self.map(a, |lowering, _, part| Ok(lowering.builder().multiply(part, monomial)?))
    }
}
