//! Products of ciphertexts, relinearization, and both relinearization and rescaling in one division.

use super::{CiphertextValue, Lowering, LoweringError, Result};
use polyfabric_schemes::rns::{KeyErrors, KeyId};

impl Lowering<'_> {
    /// a·b for operands at one level: three parts, not rescaled yet.
    ///
    /// # Errors
    /// [`LoweringError::NotLinear`], [`LoweringError::Mismatch`].
    pub fn multiply(&mut self, a: &CiphertextValue, b: &CiphertextValue) -> Result<CiphertextValue> {
        if a.parts == b.parts {
            return self.square(a);
        }
        self.linear("mul", a)?;
        self.linear("mul", b)?;
        if a.level != b.level {
            self.matched("mul", a, b)?;
        }
        self.next_step();
        let (a0, a1, b0, b1) = (a.parts[0], a.parts[1], b.parts[0], b.parts[1]);
        let first = self.builder.multiply(a0, b0)?;
        let cross = self.builder.multiply(a0, b1)?;
        let cross = self.builder.multiply_add(a1, b0, cross)?;
        let last = self.builder.multiply(a1, b1)?;
        Ok(self.product(a, b, vec![first, cross, last]))
    }

    /// a²: three parts, not rescaled yet.
    ///
    /// # Errors
    /// [`LoweringError::NotLinear`].
    pub fn square(&mut self, a: &CiphertextValue) -> Result<CiphertextValue> {
        self.linear("mul", a)?;
        self.next_step();
        let (a0, a1) = (a.parts[0], a.parts[1]);
        let first = self.builder.multiply(a0, a0)?;
        let cross = self.builder.multiply(a0, a1)?;
        let cross = self.builder.add(cross, cross)?;
        let last = self.builder.multiply(a1, a1)?;
        Ok(self.product(a, a, vec![first, cross, last]))
    }

    fn product(
        &mut self,
        a: &CiphertextValue,
        b: &CiphertextValue,
        parts: Vec<crate::rns::kernel::ValueId>,
    ) -> CiphertextValue {
        let (scales, tail, slots) = ((a.scale.real(), b.scale.real()), self.model.tail(), self.ring_slots());
        let noise = a.noise.product(&b.noise, scales, tail, slots, self.source());
        let scale = self.chain.product(a.scale, b.scale);
        CiphertextValue { parts, level: a.level, scale, rescale_due: true, noise }
    }

    /// Relinearizes a to two parts.
    ///
    /// # Errors
    /// [`LoweringError::Kernel`] if the gadget does not fit its limbs.
    pub fn relinearise(&mut self, a: &CiphertextValue) -> Result<CiphertextValue> {
        let &[body, mask, square] = a.parts.as_slice() else { return Ok(a.clone()) };
        self.next_step();
        let (more_body, more_mask) = self.key_switch(square, KeyId::Relinearisation)?;
        let parts = vec![self.builder.add(body, more_body)?, self.builder.add(mask, more_mask)?];
        let added = self.switched_noise(&self.chain.limbs(a.level), KeyErrors::Relinearisation);
        let noise = a.noise.clone().with_error(added, self.source());
        Ok(CiphertextValue { parts, noise, ..a.clone() })
    }

    /// Relinearizes and rescales a. A fused rescaling divides by P and the dropped primes of Q in one ModDown.
    ///
    /// # Errors
    /// [`LoweringError::LevelExhausted`] at level 0.
    pub fn relinearise_and_rescale(&mut self, a: &CiphertextValue) -> Result<CiphertextValue> {
        let &[body, mask, square] = a.parts.as_slice() else { return self.rescale(a) };
        if !self.choice.fused_rescale || self.special.is_empty() {
            let linear = self.relinearise(a)?;
            return self.rescale(&linear);
        }
        if a.level == 0 {
            return Err(LoweringError::LevelExhausted { op: "rescale", top: self.chain.top() });
        }
        self.next_step();
        let q = self.chain.limbs(a.level);
        let digits = self.digits(square)?;
        let (switched_body, switched_mask) = self.inner_product(&digits, KeyId::Relinearisation)?;
        let drop = self.chain.dropped(a.level).union(&self.special);
        let mut parts = Vec::new();
        for (switched, part) in [(switched_body, body), (switched_mask, mask)] {
            let sum = self.add_times_special(switched, part)?;
            parts.push(self.divide(sum, &drop)?);
        }
        let (product, _) = self.key_switch_noise(&q, KeyErrors::Relinearisation);
        let noise = a.noise.clone().with_error(product, self.source());
        Ok(self.rescaled(CiphertextValue { parts, noise, ..a.clone() }, a.level - 1, drop.len()))
    }
}
