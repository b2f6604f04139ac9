//! Evaluates definitions as work: the cost of each for its unit, if values that are read cost nothing.

use crate::tfhe::definition::{Domain, SwitchPart, Undefined, yielded};
use polyfabric_program::tfhe::kernel::{Body, BodyType, BodyValue, KernelProgram, Primitive};

/// Elements that units process. In a body, a value is the number of products with the key that it needs.
pub(super) struct Work<'a> {
    pub program: &'a KernelProgram,
}

impl Work<'_> {
    /// Number of elements of a ciphertext under the small key: mask and body.
    pub fn small(&self) -> u64 {
        self.program.parameters.lwe_dimension().get() as u64 + 1
    }

    /// Number of mask elements of a ciphertext under the large key.
    pub fn large(&self) -> u64 {
        self.program.parameters.large_lwe_dimension().get() as u64
    }

    /// Work of a key switch over `elements` mask elements: digits, and the products of each with a ciphertext of the key.
    pub fn switch(&self, body: &Body, elements: u64) -> u64 {
        elements * levels(body) * (1 + self.small())
    }

    /// Elements that a unit processes to compute a value of `body`: coefficients, or points of the folded transform.
    pub fn of_body(&self, body: &Body, value: BodyValue, iteration: u32) -> u64 {
        let degree = self.program.parameters.ring_degree().get() as u64;
        let Some((value, _)) = yielded(body, value, iteration) else { return degree };
        let op = value.index().checked_sub(body.carried as usize).map(|index| body.ops[index].primitive);
        match (op, body.value_type(value)) {
            (Some(Primitive::InverseTransform), _) | (_, BodyType::Spectrum | BodyType::Product) => degree / 2,
            _ => degree,
        }
    }
}

/// Levels of a key switch's key.
pub(super) fn levels(body: &Body) -> u64 {
    body.ops.iter().filter(|op| matches!(op.primitive, Primitive::MaskDigit { .. })).count() as u64
}

impl Domain for Work<'_> {
    type Value = u64;
    type Error = Undefined;

    fn primitive(&self, primitive: Primitive, _iteration: u32, operands: &[u64]) -> Result<u64, Undefined> {
        let product = matches!(primitive, Primitive::Multiply { .. } | Primitive::MultiplyAccumulate { .. });
        Ok(operands.iter().sum::<u64>() + u64::from(product))
    }

    fn initial(&self, _table: u64, _amounts: u64, _polynomial: u32) -> Result<u64, Undefined> {
        Ok(0)
    }

    fn modulus_switch(&self, _ciphertext: u64) -> Result<u64, Undefined> {
        Ok(self.small())
    }

    fn sample_extract(&self, _accumulator: &[u64]) -> Result<u64, Undefined> {
        Ok(self.large() + 1)
    }

    fn key_switch(&self, _source: u64, _key: u64, _sum: Option<u64>, of: SwitchPart<'_>) -> Result<u64, Undefined> {
        Ok(self.switch(of.body, u64::from(of.elements)))
    }

    fn linear(&self, _sum: Option<u64>, terms: &[(i32, u64)], length: u32, _bias: u64) -> Result<u64, Undefined> {
        Ok(terms.len() as u64 * u64::from(length))
    }
}
