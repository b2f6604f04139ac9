//! Modulus raising, from q_0 to the product of primes at the start of the transforms.

use super::{Bootstrapping, real};
use crate::rns::approximation::embedding::Packing;
use crate::rns::kernel::{Conversion, LimbSet, ValueId};
use crate::rns::levels::Scale;
use crate::rns::lowering::{CiphertextValue, Lowering, Noise, Result};
use crate::rns::noise::{DigitSize, NoiseModel};
use polyfabric_schemes::rns::{GadgetLiteral, KeyErrors, KeyId};

/// log2 of the largest mean scale of the matrices of coefficients to slots. Entries are f64 with 53 bits, so larger scales are useless.
const MOST_BITS: f64 = 58.0;

impl Lowering<'_> {
    /// Raises a, at level 0, to [`Bootstrapping::top`], with phase m + q_0·I up to an integer factor. The message is
    /// (m + q_0·I)/(q_0·K), at most 1 in magnitude.
    ///
    /// # Errors
    /// [`crate::rns::lowering::LoweringError::NotLinear`].
    pub fn raise_modulus(&mut self, a: &CiphertextValue, plan: &Bootstrapping) -> Result<CiphertextValue> {
        self.linear("bootstrap", a)?;
        let top = self.chain().limbs(plan.top());
        let modulus = self.chain().log2_modulus(0).exp2();
        let range = plan.literal().reduction.range as f64;
        let (parts, deviation) = match plan.encapsulation() {
            None => {
                let raised = a.parts.iter().map(|&part| self.centred(part, &top));
                (raised.collect::<Result<Vec<_>>>()?, a.noise.deviation)
            }
            Some(gadget) => {
                let special = LimbSet::new(gadget.special.iter().copied());
                let (body, mask) = self.encapsulated([a.parts[0], a.parts[1]], &special)?;
                let body = self.centred(body, &top)?;
                // One polynomial serves as all digits: the gadget's idempotents sum to 1, and the polynomial is already small.
                let all = self.raised_limbs(&top);
                let mask = self.centred(mask, &all)?;
                let digits = &self.choice().gadget.digits;
                let present = digits.iter().filter(|digit| digit.iter().any(|&limb| top.contains(limb))).count();
                let rows: Vec<u16> = (0..present as u16).collect();
                let digits = vec![mask; rows.len()];
                let (more, mask) = self.builder().inner_product_of_rows(KeyId::Decapsulate, &rows, &digits)?;
                let special = self.special_limbs().clone();
                let (more, mask) = (self.divide(more, &special)?, self.divide(mask, &special)?);
                let body = self.builder().add(body, more)?;
                let switched =
                    self.encapsulation_noise(plan, gadget).hypot(self.switched_noise(&top, KeyErrors::Drawn));
                (vec![body, mask], a.noise.deviation.hypot(switched))
            }
        };
        let noise = Noise::new(deviation, 1.0, self.source());
        let scale = Scale::Real(modulus * range);
        let raised = CiphertextValue { parts, level: plan.top(), scale, rescale_due: false, noise };
        let raised = self.traced(raised, plan)?;
        // An exact integer factor, if the matrices would otherwise need a larger scale than encodings support.
        let levels = plan.reduction_level() + 1..=plan.top();
        let dropped: f64 = levels.clone().map(|level| self.chain().dropped_product(level).log2()).sum();
        let wanted = plan.transformed_scale(self.chain(), real(a.scale)).log2();
        let excess = dropped + wanted - real(raised.scale).log2() - MOST_BITS * levels.count() as f64;
        let factor = excess.max(0.0).exp2().ceil();
        let mut result = self.multiply_integer(&raised, factor as i128)?;
        result.scale = Scale::Real(real(raised.scale) * factor);
        result.noise.magnitude = 1.0;
        Ok(result)
    }

    /// `value`, over the limbs of level 0, as the centered integer modulo the limbs of `to`: its residue modulo the first prime, plus that
    /// prime times the rest. An error by a multiple of q_0 would leave the range of the modular reduction; machines without exact base
    /// conversion would make it when converting several limbs at once.
    fn centred(&mut self, value: ValueId, to: &LimbSet) -> Result<ValueId> {
        let limbs = self.builder.limbs(value).clone();
        let Some((first, rest)) = limbs.as_slice().split_first().filter(|(_, rest)| !rest.is_empty()) else {
            return Ok(self.builder.mod_up(value, limbs, to.clone(), Conversion::Centred)?);
        };
        let (modulus, first) = (self.chain().modulus(*first).value(), LimbSet::one(*first));
        let low = self.builder.mod_up(value, first.clone(), to.clone(), Conversion::Centred)?;
        let high = self.builder.mod_down(value, first, Conversion::Centred, None)?;
        assert_eq!(self.builder.limbs(high).as_slice(), rest);
        let high = self.centred(high, to)?;
        let factors = self.builder.residues(i128::from(modulus), to);
        let high = self.builder.scale(high, &factors)?;
        Ok(self.builder.add(low, high)?)
    }

    /// Switches to the sparse secret modulo q_0, with `special` as the special primes and one limb per digit.
    fn encapsulated(&mut self, parts: [ValueId; 2], special: &LimbSet) -> Result<(ValueId, ValueId)> {
        let limbs = self.chain().limbs(0);
        let to = limbs.union(special);
        let raise = |limb| self.builder.mod_up(parts[1], LimbSet::one(limb), to.clone(), Conversion::Centred);
        let digits: Vec<ValueId> = limbs.iter().map(raise).collect::<std::result::Result<_, _>>()?;
        let rows: Vec<u16> = (0..digits.len() as u16).collect();
        let (more, mask) = self.builder().inner_product_of_rows(KeyId::Encapsulate, &rows, &digits)?;
        let (more, mask) = (self.divide(more, special)?, self.divide(mask, special)?);
        Ok((self.builder().add(parts[0], more)?, mask))
    }

    /// Deviation of the error of the switch to the sparse secret, in units of the phase modulo q_0.
    fn encapsulation_noise(&self, plan: &Bootstrapping, gadget: &GadgetLiteral) -> f64 {
        let special = self.chain().log2_product(&LimbSet::new(gadget.special.iter().copied()));
        let digit =
            |limb| DigitSize::Limbs { log2: self.chain().log2_product(&LimbSet::one(limb)) - special, primes: 1 };
        let digits: Vec<DigitSize> = self.chain().limbs(0).iter().map(digit).collect();
        let model = NoiseModel { secret_weight: plan.literal().secret.hamming_weight() as f64, ..*self.model() };
        let rounding = model.division(gadget.special.len(), self.choice().division, 2);
        model.inner_product(&digits, Conversion::Centred, KeyErrors::Drawn).hypot(rounding)
    }

    /// The sum of rotations by n, 2n, …: N/2n times the component of period n.
    fn traced(&mut self, a: CiphertextValue, plan: &Bootstrapping) -> Result<CiphertextValue> {
        if plan.packing() == Packing::Full {
            return Ok(a);
        }
        let slots = self.chain().degree().get() / 2;
        let mut sum = a;
        let mut steps = plan.literal().slots;
        while steps < slots {
            let rotated = self.rotate(&sum, steps as i64)?;
            sum = self.add(&sum, &rotated)?;
            sum.scale = Scale::Real(2.0 * real(sum.scale));
            sum.noise.magnitude = 1.0;
            steps *= 2;
        }
        Ok(sum)
    }
}
