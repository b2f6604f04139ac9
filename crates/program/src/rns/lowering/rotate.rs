//! Rotations of slots, conjugation, and general automorphisms.

use super::{CiphertextValue, Hoisting, Lowering, Noise, Result, RotationOrder};
use crate::rns::kernel::ValueId;
use polyfabric_kernels::automorphism::GaloisElement;
use polyfabric_schemes::rns::{KeyErrors, KeyId};

impl Lowering<'_> {
    /// Slot i takes slot i + `steps`.
    ///
    /// # Errors
    /// [`super::LoweringError::NotLinear`].
    pub fn rotate(&mut self, a: &CiphertextValue, steps: i64) -> Result<CiphertextValue> {
        let noise = a.noise.clone().rotated(steps, self.ring_slots());
        self.moved(a, GaloisElement::rotation(self.chain.degree(), steps), noise)
    }

    /// CKKS: conjugation. BGV: swaps the rows of slots.
    ///
    /// # Errors
    /// [`super::LoweringError::NotLinear`].
    pub fn conjugate(&mut self, a: &CiphertextValue) -> Result<CiphertextValue> {
        self.moved(a, GaloisElement::conjugation(self.chain.degree()), a.noise.clone().conjugate())
    }

    /// X → X^g under the same secret. With hoisting, all automorphisms of a ciphertext share its digits.
    ///
    /// # Errors
    /// [`super::LoweringError::NotLinear`].
    pub fn automorphism(&mut self, a: &CiphertextValue, element: GaloisElement) -> Result<CiphertextValue> {
        self.moved(a, element, a.noise.clone().anywhere(self.ring_slots()))
    }

    /// Applies the automorphism; `noise` is the resulting noise.
    fn moved(&mut self, a: &CiphertextValue, element: GaloisElement, noise: Noise) -> Result<CiphertextValue> {
        self.linear("rotate", a)?;
        if element.value() == 1 {
            return Ok(a.clone());
        }
        let key = self.galois_key(element);
        let memo = (a.parts.clone(), key);
        let parts = match self.rotations.get(&memo) {
            Some(known) => known.clone(),
            None => {
                self.next_step();
                let parts = match self.choice.rotation {
                    RotationOrder::SwitchFirst => self.switch_first(a, element, key)?,
                    RotationOrder::AutomorphismFirst => self.automorphism_first(a, element, key)?,
                };
                self.rotations.insert(memo, parts.clone());
                parts
            }
        };
        let switched = self.switched_noise(&self.chain.limbs(a.level), KeyErrors::Drawn);
        let noise = noise.with_error(switched, self.source());
        Ok(CiphertextValue { parts, noise, ..a.clone() })
    }

    /// The key that an automorphism needs with the lowering's order.
    pub fn galois_key(&self, element: GaloisElement) -> KeyId {
        match self.choice.rotation {
            RotationOrder::SwitchFirst => KeyId::Galois(element.value()),
            RotationOrder::AutomorphismFirst => KeyId::GaloisAfter(element.value()),
        }
    }

    fn switch_first(&mut self, a: &CiphertextValue, element: GaloisElement, key: KeyId) -> Result<Vec<ValueId>> {
        if self.choice.hoisting == Hoisting::None {
            self.forget_digits(a.parts[1]);
        }
        let (body, mask) = self.key_switch(a.parts[1], key)?;
        let body = self.builder.add(a.parts[0], body)?;
        Ok(vec![self.permute(body, element)?, self.permute(mask, element)?])
    }

    fn automorphism_first(&mut self, a: &CiphertextValue, element: GaloisElement, key: KeyId) -> Result<Vec<ValueId>> {
        let body = self.permute(a.parts[0], element)?;
        let mask = self.permute(a.parts[1], element)?;
        let (more, mask) = self.key_switch(mask, key)?;
        Ok(vec![self.builder.add(body, more)?, mask])
    }

    /// The automorphism of one polynomial, computed once.
    ///
    /// # Errors
    /// [`super::LoweringError::Kernel`] if the element belongs to another degree.
    pub fn permute(&mut self, value: ValueId, element: GaloisElement) -> Result<ValueId> {
        if let Some(&known) = self.automorphisms.get(&(value, element)) {
            return Ok(known);
        }
        let permuted = self.builder.automorphism(value, element)?;
        self.automorphisms.insert((value, element), permuted);
        Ok(permuted)
    }
}
