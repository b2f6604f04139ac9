//! The key switch, whatever the gadget.
//!
//! 1. *Digits*: the polynomial is cut as the gadget says, and every digit raised to all limbs of Q at the level and of P.
//! 2. *Inner product* of the digits with the key's rows: two polynomials over Q and P.
//! 3. *Division* by P, if there are special primes. It may divide by limbs of Q at the same time (a fused rescaling).
//!
//! Without special primes (F1's Listing 1) step 1 is, limb by limb, an inverse transform and a transform modulo every
//! other prime, and step 3 falls away.

use super::{Lowering, Result};
use crate::rns::kernel::{DigitWindow, LimbSet, ValueId};
use crate::rns::noise::DigitSize;
use polyfabric_schemes::rns::KeyId;
use std::collections::HashMap;

/// The digits of one polynomial, raised to all limbs of a key switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digits {
    /// One value a row of the key.
    pub values: Vec<ValueId>,
    /// Rows of the key that they belong to.
    pub rows: Vec<u16>,
    /// Limbs of Q that the polynomial has.
    pub q: LimbSet,
}

#[derive(Debug, Default)]
pub(super) struct KeySwitchMemo {
    digits: HashMap<ValueId, Digits>,
    inner_products: HashMap<(Vec<ValueId>, KeyId), (ValueId, ValueId)>,
    divisions: HashMap<(ValueId, LimbSet, Option<u64>), ValueId>,
    /// t that divisions keep the message modulo; the chain's if there is none.
    division_modulus: Option<u64>,
}

impl Lowering<'_> {
    /// Limbs of Q at `level`, and P's.
    pub fn raised_limbs(&self, q: &LimbSet) -> LimbSet {
        q.union(&self.special)
    }

    /// P's limbs.
    pub fn special_limbs(&self) -> &LimbSet {
        &self.special
    }

    /// The digits of `value`, a polynomial over limbs of Q, computed once for all key switches of it.
    ///
    /// # Errors
    /// [`super::LoweringError::Kernel`] if the polynomial has limbs that the gadget has not.
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
    /// [`super::LoweringError::Kernel`] if the digits are not of one level.
    pub fn inner_product(&mut self, digits: &Digits, key: KeyId) -> Result<(ValueId, ValueId)> {
        let memo = (digits.values.clone(), key);
        if let Some(&known) = self.key_switches.inner_products.get(&memo) {
            return Ok(known);
        }
        let product = self.builder.inner_product_of_rows(key, &digits.rows, &digits.values)?;
        self.key_switches.inner_products.insert(memo, product);
        Ok(product)
    }

    /// `value` divided by the primes of `drop`, with rounding; BGV's message is kept but for the division.
    ///
    /// # Errors
    /// [`super::LoweringError::Kernel`] if `drop` is not part of its limbs.
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

    /// From now on divisions keep messages modulo `t`, a divisor of the chain's plaintext modulus, and round to multiples of it.
    pub fn set_division_modulus(&mut self, t: u64) {
        self.key_switches.division_modulus = Some(t);
    }

    /// `value`, over limbs of Q, times P and with P's limbs, which are 0: what may be added to an inner product. The value
    /// itself without special primes.
    ///
    /// # Errors
    /// [`super::LoweringError::Kernel`] if it has limbs of P.
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

    /// `value`·P modulo its own limbs.
    ///
    /// # Errors
    /// [`super::LoweringError::Kernel`] if the value is of another program.
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

    /// What `value` under `key`'s source secret adds to the two parts under its target: digits, inner product, division by P.
    ///
    /// # Errors
    /// As [`Self::digits`].
    pub fn key_switch(&mut self, value: ValueId, key: KeyId) -> Result<(ValueId, ValueId)> {
        let digits = self.digits(value)?;
        let (body, mask) = self.inner_product(&digits, key)?;
        let special = self.special.clone();
        Ok((self.divide(body, &special)?, self.divide(mask, &special)?))
    }

    /// Deviation of the error of a key switch over the limbs `q`, in a slot: of the inner product, divided by P, and of the division.
    pub fn key_switch_noise(&self, q: &LimbSet) -> (f64, f64) {
        let gadget = &self.choice.gadget;
        // Against P from the start: of one digit and as many special primes, neither is a floating-point number.
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
                        // What the others leave, carries included.
                        let left = (modulus.value() >> (below * bits)) + 1;
                        sizes.push(DigitSize::Window { log2: (left as f64).log2() - special, balanced: false });
                    }
                }
            }
        }
        let product = self.model.inner_product(&sizes, self.choice.conversion);
        let division = match self.special.len() {
            0 => 0.0,
            primes => self.model.division(primes, self.choice.division, 2),
        };
        (product, division)
    }

    /// Deviation of the error that a whole key switch over the limbs `q` adds to a slot.
    pub fn switched_noise(&self, q: &LimbSet) -> f64 {
        let (product, division) = self.key_switch_noise(q);
        product.hypot(division)
    }

    /// Forgets the digits of `value`, so that they are made again.
    pub(super) fn forget_digits(&mut self, value: ValueId) {
        self.key_switches.digits.remove(&value);
    }
}
