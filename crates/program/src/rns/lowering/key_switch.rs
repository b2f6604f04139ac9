//! Key switching for any gadget.
//!
//! 1. *Digits*: the gadget decomposes the polynomial, and every digit is raised to all limbs of Q at the level and of P.
//! 2. *Inner product* of the digits with the key's rows: two polynomials over Q and P.
//! 3. *ModDown* by P, if there are special primes. It may drop limbs of Q at the same time (a fused rescaling).
//!
//! Without special primes (F1's Listing 1), step 1 is an inverse transform per limb and a transform modulo every other prime, and
//! step 3 is omitted.

use super::{Lowering, Result};
use crate::rns::kernel::{DigitWindow, LimbSet, ValueId};
use crate::rns::noise::DigitSize;
use polyfabric_schemes::rns::{KeyErrors, KeyId};
use std::collections::HashMap;

/// The digits of one polynomial, raised to all limbs of a key switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digits {
    /// One value per key row.
    pub values: Vec<ValueId>,
    /// The key row of each value.
    pub rows: Vec<u16>,
    /// The polynomial's limbs of Q.
    pub q: LimbSet,
}

#[derive(Debug, Default)]
pub(super) struct KeySwitchMemo {
    digits: HashMap<ValueId, Digits>,
    inner_products: HashMap<(Vec<ValueId>, KeyId), (ValueId, ValueId)>,
    divisions: HashMap<(ValueId, LimbSet, Option<u64>), ValueId>,
    /// Plaintext modulus that divisions preserve, if it differs from the chain's.
    division_modulus: Option<u64>,
}

impl Lowering<'_> {
    /// The limbs `q` and those of P.
    pub fn raised_limbs(&self, q: &LimbSet) -> LimbSet {
        q.union(&self.special)
    }

    /// Limbs of P.
    pub fn special_limbs(&self) -> &LimbSet {
        &self.special
    }

    /// The digits of `value`, a polynomial over limbs of Q. They are computed once and shared by all its key switches.
    ///
    /// # Errors
    /// [`super::LoweringError::Kernel`] if the gadget lacks one of the polynomial's limbs.
    pub fn digits(&mut self, value: ValueId) -> Result<Digits> {
        if let Some(known) = self.key_switches.digits.get(&value) {
            return Ok(known.clone());
        }
        let q = self.builder.limbs(value).clone();
        let to = self.raised_limbs(&q);
        let gadget = self.choice.gadget.clone();
        let (mut values, mut rows, mut row) = (Vec::new(), Vec::new(), 0u16);
        for digit in &gadget.digits {
            let whole = LimbSet::new(digit.iter().copied());
            let present = whole.intersection(&q);
            let Some(bits) = gadget.sub_digit_bits else {
                if !present.is_empty() {
                    values.push(self.raise(value, present, &to)?);
                    rows.push(row);
                }
                row += 1;
                continue;
            };
            for &limb in digit {
                let count = self.chain.modulus(limb).bits().div_ceil(bits);
                if present.contains(limb) {
                    for index in 0..count {
                        let window = DigitWindow { bits, index, count };
                        values.push(self.builder.mod_up_window(value, limb, window, to.clone())?);
                        rows.push(row + index as u16);
                    }
                }
                row += count as u16;
            }
        }
        let digits = Digits { values, rows, q };
        self.key_switches.digits.insert(value, digits.clone());
        Ok(digits)
    }

    fn raise(&mut self, value: ValueId, digit: LimbSet, to: &LimbSet) -> Result<ValueId> {
        if digit == *to {
            return self.select(value, to);
        }
        Ok(self.builder.mod_up(value, digit, to.clone(), self.choice.conversion)?)
    }

    /// The inner product of `digits` with `key`: two polynomials over Q and P whose phase is P times the switched one.
    ///
    /// # Errors
    /// [`super::LoweringError::Kernel`] if the digits have different limbs.
    pub fn inner_product(&mut self, digits: &Digits, key: KeyId) -> Result<(ValueId, ValueId)> {
        let memo = (digits.values.clone(), key);
        if let Some(&known) = self.key_switches.inner_products.get(&memo) {
            return Ok(known);
        }
        let product = self.builder.inner_product_of_rows(key, &digits.rows, &digits.values)?;
        self.key_switches.inner_products.insert(memo, product);
        Ok(product)
    }

    /// `value` divided by the primes of `drop`, with rounding. A BGV message is preserved up to the division.
    ///
    /// # Errors
    /// [`super::LoweringError::Kernel`] unless `drop` is a subset of its limbs.
    pub fn divide(&mut self, value: ValueId, drop: &LimbSet) -> Result<ValueId> {
        if drop.is_empty() {
            return Ok(value);
        }
        let t = self.key_switches.division_modulus.or(self.chain.plaintext_modulus());
        let memo = (value, drop.clone(), t);
        if let Some(&known) = self.key_switches.divisions.get(&memo) {
            return Ok(known);
        }
        let quotient = self.builder.mod_down(value, drop.clone(), self.choice.division, t)?;
        self.key_switches.divisions.insert(memo, quotient);
        Ok(quotient)
    }

    /// Makes divisions from now on preserve messages modulo `t`, a divisor of the chain's plaintext modulus.
    pub fn set_division_modulus(&mut self, t: u64) {
        self.key_switches.division_modulus = Some(t);
    }

    /// `sum` plus P times `value`. `value` is over limbs of Q; P·value is 0 modulo P, so it can be added to an inner product. Without special
    /// primes P is 1.
    ///
    /// # Errors
    /// [`super::LoweringError::Kernel`] if `value` has limbs of P.
    pub fn add_times_special(&mut self, sum: ValueId, value: ValueId) -> Result<ValueId> {
        let q = self.builder.limbs(value).clone();
        let scaled = self.times_special(value)?;
        if self.special.is_empty() {
            return Ok(self.builder.add(sum, scaled)?);
        }
        let kept = self.select(sum, &q)?;
        let kept = self.builder.add(kept, scaled)?;
        let special = self.special.clone();
        let rest = self.select(sum, &special)?;
        Ok(self.builder.concat(&[kept, rest])?)
    }

    /// P·`value` modulo its own limbs.
    ///
    /// # Errors
    /// [`super::LoweringError::Kernel`] if the value belongs to another program.
    pub fn times_special(&mut self, value: ValueId) -> Result<ValueId> {
        if self.special.is_empty() {
            return Ok(value);
        }
        let factors: Vec<u64> = self
            .builder
            .limbs(value)
            .iter()
            .map(|limb| {
                let modulus = self.chain.modulus(limb);
                let primes = self.special.iter().map(|special| self.chain.modulus(special).value() % modulus.value());
                primes.fold(1, |product, prime| modulus.multiply(product, prime))
            })
            .collect();
        Ok(self.builder.scale(value, &factors)?)
    }

    /// Switches `value` from `key`'s source secret to its target: digits, inner product, ModDown. Returns the two parts to add.
    ///
    /// # Errors
    /// As [`Self::digits`].
    pub fn key_switch(&mut self, value: ValueId, key: KeyId) -> Result<(ValueId, ValueId)> {
        let digits = self.digits(value)?;
        let (body, mask) = self.inner_product(&digits, key)?;
        let special = self.special.clone();
        Ok((self.divide(body, &special)?, self.divide(mask, &special)?))
    }

    /// Deviations of a key switch's error in a slot, over the limbs `q`: of the inner product after ModDown, and of the ModDown itself.
    pub fn key_switch_noise(&self, q: &LimbSet, errors: KeyErrors) -> (f64, f64) {
        let gadget = &self.choice.gadget;
        // Relative to P throughout: with large digits and many special primes, the absolute sizes overflow f64.
        let special = self.chain.log2_product(&self.special);
        let mut sizes = Vec::new();
        for digit in &gadget.digits {
            let present = LimbSet::new(digit.iter().copied()).intersection(q);
            if present.is_empty() {
                continue;
            }
            match gadget.sub_digit_bits {
                None => {
                    let log2 = self.chain.log2_product(&present) - special;
                    sizes.push(DigitSize::Limbs { log2, primes: present.len() });
                }
                Some(bits) => {
                    for limb in present.iter() {
                        let modulus = self.chain.modulus(limb);
                        let below = modulus.bits().div_ceil(bits) - 1;
                        let digit = DigitSize::Window { log2: f64::from(bits) - special, balanced: true };
                        sizes.extend((0..below).map(|_| digit));
                        // The top digit is what the others leave, including carries.
                        let left = (modulus.value() >> (below * bits)) + 1;
                        sizes.push(DigitSize::Window { log2: (left as f64).log2() - special, balanced: false });
                    }
                }
            }
        }
        let product = self.model.inner_product(&sizes, self.choice.conversion, errors);
        let division = match self.special.len() {
            0 => 0.0,
            primes => self.model.division(primes, self.choice.division, 2),
        };
        (product, division)
    }

    /// Deviation of the total error that a key switch over the limbs `q` adds to a slot.
    pub fn switched_noise(&self, q: &LimbSet, errors: KeyErrors) -> f64 {
        let (product, division) = self.key_switch_noise(q, errors);
        product.hypot(division)
    }

    /// Forgets the digits of `value`, so that they are recomputed.
    pub(super) fn forget_digits(&mut self, value: ValueId) {
        self.key_switches.digits.remove(&value);
    }
}
