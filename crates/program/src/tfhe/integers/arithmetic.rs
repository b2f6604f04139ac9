//! Sums, differences, products, powers, and operations built from them.

use super::carry::Columns;
use super::digit::{Circuit, Digit, Function};
use super::{BASE, BitOperation, CAPACITY, Integer, IntegerError, IntegerId, IntegerType, Integers, Operands, Result};
use crate::tfhe::homomorphic::Builder;
use std::collections::BTreeMap;

/// Largest digit that can still receive a carry of up to 3.
const WAITING: i64 = CAPACITY - BASE;

/// One addend of a sum: a factor times an integer.
#[derive(Clone, Copy, Debug)]
pub struct Weighted {
    pub weight: i64,
    pub value: IntegerId,
}

impl Integers {
    /// Σ weight · value modulo 2^bits, for weights from −3 to 3.
    ///
    /// # Errors
    /// [`IntegerError::Types`], [`IntegerError::Lengths`].
    pub fn sum(&mut self, builder: &mut Builder, op: &'static str, addends: &[Weighted]) -> Result<IntegerId> {
        let Some(&first) = addends.first() else { return Err(IntegerError::Unknown(u32::MAX)) };
        let count = addends.iter().map(|addend| self.count(addend.value)).try_fold(1, |n, c| c.map(|c| n.max(c)))?;
        let kind = self.kind(first.value)?;
        let mut columns = Columns::new(kind.digits());
        let mut digits = vec![Digit::constant(0); kind.digits()];
        let mut waits = true;
        for addend in addends {
            let (_, value, _) = self.matched(builder, op, first.value, addend.value)?;
            let value = if self.count(value)? == count { value } else { self.take(builder, value, &vec![0; count])? };
            let own = self.digits(builder, value)?;
            for (position, digit) in own.iter().enumerate() {
                columns.add_weighted(position, addend.weight, digit);
                if waits {
                    digits[position] = Digit::combine(&[(1, &digits[position]), (addend.weight, digit)], 0);
                }
            }
            waits &= addend.weight > 0 && digits.iter().all(|digit| digit.hi() <= WAITING);
        }
        if waits {
            return Ok(self.add_value(kind, count, digits));
        }
        let lanes = self.lanes;
        let mut circuit = self.circuit(builder, count);
        let digits = circuit.carried(columns, lanes)?;
        let digits = circuit.fitted(kind, digits)?;
        Ok(self.add_value(kind, count, digits))
    }

    /// `a + b`.
    ///
    /// # Errors
    /// As [`Self::sum`].
    pub fn add(&mut self, builder: &mut Builder, a: IntegerId, b: IntegerId) -> Result<IntegerId> {
        self.sum(builder, "+", &[Weighted { weight: 1, value: a }, Weighted { weight: 1, value: b }])
    }

    /// `a - b`.
    ///
    /// # Errors
    /// As [`Self::sum`].
    pub fn sub(&mut self, builder: &mut Builder, a: IntegerId, b: IntegerId) -> Result<IntegerId> {
        self.sum(builder, "-", &[Weighted { weight: 1, value: a }, Weighted { weight: -1, value: b }])
    }

    /// `a + b`, or `a - b` with `subtract`, and a bit: whether the result is outside the type's range.
    ///
    /// # Errors
    /// As [`Self::sum`].
    pub fn overflowing(
        &mut self,
        builder: &mut Builder,
        a: IntegerId,
        b: IntegerId,
        subtract: bool,
    ) -> Result<(IntegerId, IntegerId)> {
        let kind = self.kind(a)?;
        let wide = IntegerType { bits: kind.bits + 1, signed: kind.signed || subtract };
        let (left, right) = (self.cast(builder, a, wide)?, self.cast(builder, b, wide)?);
        let sum = if subtract { self.sub(builder, left, right)? } else { self.add(builder, left, right)? };
        let result = self.cast(builder, sum, kind)?;
        // The bit above the width is the sign, or 0.
        let above = self.bit(builder, sum, kind.bits)?;
        let over = if kind.signed {
            let sign = self.bit(builder, sum, kind.bits - 1)?;
            self.bitwise(builder, BitOperation::Xor, above, sign)?
        } else {
            above
        };
        Ok((result, over))
    }

    /// `a * b` modulo 2^bits.
    ///
    /// # Errors
    /// As [`Self::sum`].
    pub fn mul(&mut self, builder: &mut Builder, a: IntegerId, b: IntegerId) -> Result<IntegerId> {
        let (a, b, _) = self.matched(builder, "*", a, b)?;
        if let Some((encrypted, public)) = self.public_factor(a, b) {
            let product = |own: &mut Self, builder: &mut Builder, x, y| Ok([own.mul(builder, x, y)?]);
            let [product] = self.by_value(builder, encrypted, &public, product)?;
            return Ok(product);
        }
        let [product] =
            self.by_table(builder, "*", &[a, b], |own, builder, x| Ok([own.mul_digits(builder, x[0], x[1])?]))?;
        Ok(product)
    }

    /// The product of digits, of operands that match.
    fn mul_digits(&mut self, builder: &mut Builder, a: IntegerId, b: IntegerId) -> Result<IntegerId> {
        let (kind, count) = (self.kind(a)?, self.count(a)?);
        let (x, y) = (self.carried(builder, a)?, self.carried(builder, b)?);
        let (square, lanes) = (a == b, self.lanes);
        let mut circuit = self.circuit(builder, count);
        let columns = circuit.products(&x, &y, square, kind.digits())?;
        let digits = circuit.carried(columns, lanes)?;
        let digits = circuit.fitted(kind, digits)?;
        Ok(self.add_value(kind, count, digits))
    }

    /// `a * b`, and a bit: whether the result is outside the type's range.
    ///
    /// # Errors
    /// As [`Self::sum`].
    pub fn overflowing_mul(
        &mut self,
        builder: &mut Builder,
        a: IntegerId,
        b: IntegerId,
    ) -> Result<(IntegerId, IntegerId)> {
        let (a, b, Operands { kind, .. }) = self.matched(builder, "*", a, b)?;
        if let Some((encrypted, public)) = self.public_factor(a, b) {
            let product =
                |own: &mut Self, builder: &mut Builder, x, y| own.overflowing_mul(builder, x, y).map(<[_; 2]>::from);
            return Ok(self.by_value(builder, encrypted, &public, product)?.into());
        }
        let product = |own: &mut Self, builder: &mut Builder, x: &[IntegerId]| {
            own.overflowing_mul_digits(builder, (x[0], x[1]), kind).map(<[_; 2]>::from)
        };
        Ok(self.by_table(builder, "overflowing *", &[a, b], product)?.into())
    }

    fn overflowing_mul_digits(
        &mut self,
        builder: &mut Builder,
        (a, b): (IntegerId, IntegerId),
        kind: IntegerType,
    ) -> Result<(IntegerId, IntegerId)> {
        if !kind.signed {
            return self.overflowing_product(builder, a, b);
        }
        let top = kind.bits - 1;
        let signs = (self.bit(builder, a, top)?, self.bit(builder, b, top)?);
        let negative = self.bitwise(builder, BitOperation::Xor, signs.0, signs.1)?;
        let left = self.magnitude(builder, a, signs.0)?;
        let right = if a == b { left } else { self.magnitude(builder, b, signs.1)? };
        let (product, beyond) = self.overflowing_product(builder, left, right)?;
        let result = self.negated_if(builder, negative, product)?;
        let result = self.cast(builder, result, kind)?;
        // If the magnitude uses the sign's bit, it is that of the least number (if the result is negative) or too large.
        let (taken, sign) = (self.bit(builder, product, top)?, self.bit(builder, result, top)?);
        let wrong = self.bitwise(builder, BitOperation::Xor, sign, negative)?;
        let lost = self.bitwise(builder, BitOperation::And, taken, wrong)?;
        let over = self.bitwise(builder, BitOperation::Or, beyond, lost)?;
        Ok((result, over))
    }

    /// If one operand is a public vector, the other operand and the public elements.
    fn public_factor(&self, a: IntegerId, b: IntegerId) -> Option<(IntegerId, Vec<Vec<u8>>)> {
        let of = |id| self.public.get(&id).cloned();
        of(b).map(|public| (a, public)).or_else(|| of(a).map(|public| (b, public)))
    }

    /// Applies `operation` to `a` and public `elements`, once for each distinct public number with the elements of `a` that meet it.
    /// All digits of the second operand are then public constants, so most products are sums. A digit that differs between elements
    /// would have to be multiplied as if it were encrypted.
    fn by_value<const N: usize>(
        &mut self,
        builder: &mut Builder,
        a: IntegerId,
        elements: &[Vec<u8>],
        operation: impl Fn(&mut Self, &mut Builder, IntegerId, IntegerId) -> Result<[IntegerId; N]>,
    ) -> Result<[IntegerId; N]> {
        let kind = self.kind(a)?;
        let mut places: BTreeMap<&Vec<u8>, Vec<usize>> = BTreeMap::new();
        for (place, element) in elements.iter().enumerate() {
            places.entry(element).or_default().push(place);
        }
        let mut parts: [Vec<IntegerId>; N] = std::array::from_fn(|_| Vec::new());
        for (&element, own) in &places {
            let partner = self.take(builder, a, own)?;
            let public = self.public(builder, kind, &vec![element.clone(); own.len()])?;
            let results = operation(self, builder, partner, public)?;
            parts.iter_mut().zip(results).for_each(|(parts, result)| parts.push(result));
        }
        // Position of each element's result among the results of all numbers.
        let mut order = vec![0; elements.len()];
        places.values().flatten().enumerate().for_each(|(at, &place)| order[place] = at);
        let mut joined = Vec::with_capacity(N);
        for parts in &parts {
            let all = self.concat(builder, parts)?;
            joined.push(self.take(builder, all, &order)?);
        }
        joined.try_into().map_err(|_| IntegerError::Unknown(u32::MAX))
    }

    /// |a| as an unsigned integer; `sign` is the sign of `a`.
    fn magnitude(&mut self, builder: &mut Builder, a: IntegerId, sign: IntegerId) -> Result<IntegerId> {
        let bits = self.kind(a)?.bits;
        let magnitude = self.negated_if(builder, sign, a)?;
        self.cast(builder, magnitude, IntegerType::unsigned(bits))
    }

    /// The product of unsigned integers of one type, and whether it overflows.
    fn overflowing_product(
        &mut self,
        builder: &mut Builder,
        a: IntegerId,
        b: IntegerId,
    ) -> Result<(IntegerId, IntegerId)> {
        let (Operands { kind, count }, x, y) = self.pair(builder, "*", a, b)?;
        let (square, lanes, places) = (a == b, self.lanes, kind.digits());
        // Carries from below the last place: products of digits there sum to less than 3 · places times its weight.
        let above = (3 * places).ilog(BASE as usize) as usize + 1;
        let mut circuit = self.circuit(builder, count);
        let columns = circuit.products(&x, &y, square, places + above)?;
        let mut digits = circuit.carried(columns, lanes)?;
        let mut beyond = digits.split_off(places);
        let base = kind.base(places - 1);
        if base < BASE
            && let Some(last) = digits.pop()
        {
            beyond.push(circuit.lookup(&last, &|value| value / base)?);
            digits.push(circuit.lookup(&last, &|value| value % base)?);
        }
        beyond.extend(circuit.met_beyond(&x, &y)?);
        let over = circuit.any(beyond)?;
        Ok((self.add_value(kind, count, digits), self.add_value(IntegerType::unsigned(1), count, vec![over])))
    }

    /// `a` to the power `exponent`, modulo 2^bits.
    ///
    /// # Errors
    /// As [`Self::sum`].
    pub fn pow(&mut self, builder: &mut Builder, a: IntegerId, exponent: u64) -> Result<IntegerId> {
        let name = format!("** {exponent}");
        let [power] =
            self.by_table(builder, &name, &[a], |own, builder, x| Ok([own.pow_digits(builder, x[0], exponent)?]))?;
        Ok(power)
    }

    fn pow_digits(&mut self, builder: &mut Builder, a: IntegerId, mut exponent: u64) -> Result<IntegerId> {
        let kind = self.kind(a)?;
        let mut one = vec![0; kind.digits()];
        one[0] = 1;
        let mut result: Option<IntegerId> = None;
        let mut square = a;
        while exponent > 0 {
            if exponent & 1 == 1 {
                result = Some(match result {
                    None => square,
                    Some(result) => self.mul(builder, result, square)?,
                });
            }
            exponent >>= 1;
            if exponent > 0 {
                square = self.mul(builder, square, square)?;
            }
        }
        match result {
            Some(result) => Ok(result),
            None => {
                let ones = vec![one; self.count(a)?];
                self.public(builder, kind, &ones)
            }
        }
    }

    /// `-a` modulo 2^bits.
    ///
    /// # Errors
    /// As [`Self::sum`].
    pub fn neg(&mut self, builder: &mut Builder, a: IntegerId) -> Result<IntegerId> {
        self.sum(builder, "-", &[Weighted { weight: -1, value: a }])
    }

    /// `-a` if the bit `condition` is 1, otherwise `a`.
    ///
    /// # Errors
    /// As [`Self::sum`], and [`IntegerError::Needs`] unless `condition` is a bit.
    pub fn negated_if(&mut self, builder: &mut Builder, condition: IntegerId, a: IntegerId) -> Result<IntegerId> {
        let condition = self.condition(builder, "negation", condition, self.count(a)?)?;
        let digits = self.carried(builder, a)?;
        let Integer { kind, count, .. } = *self.get(a)?;
        let mut circuit = self.circuit(builder, count);
        let mut turned = Vec::new();
        for (index, digit) in digits.iter().enumerate() {
            let base = kind.base(index);
            let both = circuit.read(&[(1, digit), (BASE, &condition)], 0)?;
            turned.push(circuit.lookup(&both, &|value| match value {
                value if value >= BASE => base - 1 - (value - BASE).min(base - 1),
                value => value.min(base - 1),
            })?);
        }
        turned[0] = Digit::combine(&[(1, &turned[0]), (1, &condition)], 0);
        Ok(self.add_value(kind, count, turned))
    }

    /// |a|; the least signed integer is its own absolute value.
    ///
    /// # Errors
    /// As [`Self::sum`].
    pub fn abs(&mut self, builder: &mut Builder, a: IntegerId) -> Result<IntegerId> {
        let kind = self.kind(a)?;
        if !kind.signed {
            return Ok(a);
        }
        let sign = self.bit(builder, a, kind.bits - 1)?;
        self.negated_if(builder, sign, a)
    }

    /// `a` converted to type `to`, modulo its 2^bits.
    ///
    /// # Errors
    /// [`IntegerError::Bits`].
    pub fn cast(&mut self, builder: &mut Builder, a: IntegerId, to: IntegerType) -> Result<IntegerId> {
        super::check_bits("cast", to.bits)?;
        let from = self.kind(a)?;
        if from == to {
            return Ok(a);
        }
        let Integer { count, digits, bits, .. } = self.get(a)?.clone();
        let bits = bits.map(|mut bits| {
            let above = if from.signed { bits[bits.len() - 1].clone() } else { Digit::constant(0) };
            bits.resize(to.bits as usize, above);
            bits
        });
        if digits.is_none() {
            return Ok(self.add_forms(to, count, None, bits));
        }
        let digits = self.carried(builder, a)?;
        let mut circuit = self.circuit(builder, count);
        let mut digits = circuit.extended(from, digits, to.digits())?;
        digits.truncate(to.digits());
        let digits = circuit.fitted(to, digits)?;
        Ok(self.add_forms(to, count, Some(digits), bits))
    }

    pub(super) fn expect_condition(&self, op: &'static str, condition: IntegerId) -> Result<()> {
        match self.kind(condition)? {
            found if found == IntegerType::unsigned(1) => Ok(()),
            found => Err(IntegerError::Needs { op, expected: "a condition, which is one bit", found }),
        }
    }

    /// The single bit `condition` with `count` elements.
    pub(super) fn condition(
        &mut self,
        builder: &mut Builder,
        op: &'static str,
        condition: IntegerId,
        count: usize,
    ) -> Result<Digit> {
        self.expect_condition(op, condition)?;
        let condition = match self.count(condition)? {
            own if own == count => condition,
            1 => self.take(builder, condition, &vec![0; count])?,
            own => return Err(IntegerError::Lengths { op, left: own, right: count }),
        };
        Ok(self.carried(builder, condition)?.remove(0))
    }
}

impl Circuit<'_> {
    /// The products of digits of `x` and `y` whose positions sum to less than `positions`, in columns.
    fn products(&mut self, x: &[Digit], y: &[Digit], square: bool, positions: usize) -> Result<Columns> {
        let mut columns = Columns::new(positions);
        for (i, x) in x.iter().enumerate() {
            for (j, y) in y.iter().enumerate().take(y.len() - i) {
                match (square, x.public(), y.public()) {
                    // A square needs x_i · x_j only once; it counts twice.
                    (true, ..) if j < i => {}
                    (false, Some(public), _) => self.times_public(&mut columns, i + j, y, public),
                    (false, _, Some(public)) => self.times_public(&mut columns, i + j, x, public),
                    _ => self.times(&mut columns, i + j, x, y, square && i != j)?,
                }
            }
        }
        Ok(columns)
    }

    /// For each digit of `y`: whether it and some digit of `x`, with a product beyond the last place, are both nonzero.
    fn met_beyond(&mut self, x: &[Digit], y: &[Digit]) -> Result<Vec<Digit>> {
        let mut met = Vec::new();
        // Whether any digit of x so far, from the top, is nonzero.
        let mut any = Digit::constant(0);
        for (x, y) in x.iter().rev().zip(y.iter().skip(1)) {
            let sum = self.read(&[(1, &any), (1, x)], 0)?;
            any = self.lookup(&sum, &|value| i64::from(value > 0))?;
            let both = self.read(&[(BASE, &any), (1, y)], 0)?;
            met.push(self.lookup(&both, &|value| i64::from(value > BASE))?);
        }
        Ok(met)
    }

    /// Adds x · y, or twice that, to `columns`.
    fn times(&mut self, columns: &mut Columns, at: usize, x: &Digit, y: &Digit, twice: bool) -> Result<()> {
        // A digit times itself is a table of that digit alone, whose noise is not amplified.
        let (own, factor) = (x == y, if twice { 2 } else { 1 });
        let both = if own { self.read(&[(1, x)], 0)? } else { self.read(&[(BASE, x), (1, y)], 0)? };
        let product = |value: i64| factor * if own { value * value } else { (value / BASE) * (value % BASE) };
        let places = (0..3).filter(|place| columns.has(at + place)).collect::<Vec<_>>();
        let digits = [1, BASE, BASE * BASE].map(|power| move |value: i64| product(value) / power % BASE);
        let functions: Vec<Function<'_>> = places.iter().map(|&place| &digits[place] as Function<'_>).collect();
        for (place, digit) in places.iter().zip(self.lookup_each(&both, &functions)?) {
            columns.add(at + place, digit);
        }
        Ok(())
    }

    /// Adds x · public to `columns`; 3 is 4 − 1.
    fn times_public(&mut self, columns: &mut Columns, at: usize, x: &Digit, public: i64) {
        if public == BASE - 1 {
            columns.add_weighted(at, -1, x);
            columns.add_weighted(at + 1, 1, x);
        } else {
            columns.add_weighted(at, public, x);
        }
    }

    /// Extends `digits` of an integer of type `from` to `length` digits, with its sign if it is signed.
    pub(super) fn extended(&mut self, from: IntegerType, mut digits: Vec<Digit>, length: usize) -> Result<Vec<Digit>> {
        let base = from.base(from.digits() - 1);
        if !from.signed || (length <= digits.len() && base == BASE) {
            digits.resize(length.max(digits.len()), Digit::constant(0));
            return Ok(digits);
        }
        let Some(top) = digits.pop() else { return Ok(digits) };
        let sign = if base == BASE { self.lookup(&top, &|value| i64::from(value >= 2))? } else { top.clone() };
        let full = Digit::combine(&[(BASE - 1, &sign)], 0);
        digits.push(if base == BASE { top } else { full.clone() });
        digits.resize(length.max(digits.len()), full);
        Ok(digits)
    }
}
