//! Bits as sums that count modulo 2, in which shifts by public amounts and exclusive ors take no lookup.
//!
//! A digit that a public shift splits gives its two bits with the same bootstrap, and the integer keeps them next to its digits. An exclusive or of
//! bits is a sum; a lookup reads whether a sum of up to 15 is odd. Choices whose operands differ by public bits are sums too. A checksum is
//! nothing but these:
//!
//!     r = where(r >> 15 == 1, (r << 1) ^ 0x1021, r << 1)      bit 5 of r: bit 4 of the old r + its bit 15
//!
//! An operation takes digits where its operands have them, and bits where digits would take lookups first.
//!
//! # Wide tables
//!
//! Circuit bootstrapping reads a digit modulo its base, so a digit of one bit may be an unreduced sum: an exclusive or takes no lookup. A wide table
//! therefore gives its results twice, in digits of two bits and in single bits; what no one reads is never computed. AES is such tables
//! and exclusive ors of their bits, with no lookup in between:
//!
//!     s = table(x); y = s ^ rotated(s) ^ key      bits of y: sums of three bits, from 0 to 3
//!     table(y)                                    reads each sum modulo 2

use super::digit::{CAPACITY, Circuit, Digit, NORM_LIMIT};
use super::{BASE, BitOperation, DIGIT_BITS, IntegerId, IntegerType, Integers, Result};
use crate::tfhe::homomorphic::{Builder, ElementType, Range};

/// Maximum Σ w² of a sum that a wide table reads. Bits are half a torus apart, so it may exceed that of lookups.
const WIDE_NORM_LIMIT: f64 = 224.0;

impl Integers {
    pub(super) fn has_digits(&self, id: IntegerId) -> Result<bool> {
        let found = self.get(id)?;
        Ok(found.digits.is_some() || found.carried.is_some())
    }

    /// Whether lookups read bits as well as digits: tables on slots have other costs, and wide tables give bits.
    pub(super) fn keeps_bits(&self) -> bool {
        self.slot_tables.is_none() && !self.wide_tables
    }

    /// Lookups before `id` has digits below their base.
    fn lookups_to_digits(&self, id: IntegerId) -> Result<usize> {
        let found = self.get(id)?;
        let own = |digit: &Digit| digit.lo() >= 0 && digit.hi() < BASE;
        Ok(match (&found.carried, &found.digits, &found.bits) {
            (Some(_), ..) => 0,
            (None, Some(digits), _) => digits.iter().filter(|digit| !own(digit)).count(),
            (None, None, Some(bits)) => bits.chunks(DIGIT_BITS as usize).map(lookups_to_digit).sum(),
            (None, None, None) => 0,
        })
    }

    /// Whether `operation` is on bits: exclusive ors and masks if both operands have bits or the digits of one would take lookups, others if that takes no
    /// more lookups than on digits.
    pub(super) fn is_on_bits(&self, operation: BitOperation, a: IntegerId, b: IntegerId) -> Result<bool> {
        let (xor, all) = (operation == BitOperation::Xor, self.all_in_bits(&[a, b])?);
        let masks = self.keeps_bits() && (self.is_public(a)? || self.is_public(b)?);
        if all && (xor || masks) || !self.keeps_bits() {
            return Ok(all && (xor || masks));
        }
        let kind = self.kind(a)?;
        let (mut to_bits, mut to_digits, mut any) = (0, 0, false);
        for id in [a, b] {
            let has = self.get(id)?.bits.is_some();
            any |= has;
            to_bits += if has || self.is_public(id)? { 0 } else { kind.digits() };
            to_digits += self.lookups_to_digits(id)?;
        }
        let on_bits = if xor { 0 } else { kind.bits as usize };
        Ok(any && to_digits > 0 && to_bits + on_bits <= to_digits + kind.digits())
    }

    /// Whether exclusive ors with `id` take no lookup: it has bits, or is public.
    pub(super) fn gives_bits(&self, id: IntegerId) -> Result<bool> {
        Ok(self.get(id)?.bits.is_some() || self.public.contains_key(&id) || self.is_public(id)?)
    }

    /// Whether all of `ids` have bits or are public, and one has bits.
    pub(super) fn all_in_bits(&self, ids: &[IntegerId]) -> Result<bool> {
        let mut any = false;
        for &id in ids {
            any |= self.get(id)?.bits.is_some();
            if !self.gives_bits(id)? {
                return Ok(false);
            }
        }
        Ok(any)
    }

    /// The bits of `id`, least significant first; with wide tables of one that [`Self::gives_bits`].
    pub(super) fn bits(&mut self, builder: &mut Builder, id: IntegerId) -> Result<Vec<Digit>> {
        let found = self.get(id)?.clone();
        if let Some(bits) = found.bits {
            return Ok(bits);
        }
        let (width, places) = (found.kind.bits, |bit: u32| ((bit / DIGIT_BITS) as usize, bit % DIGIT_BITS));
        if let Some(elements) = self.public.get(&id).cloned() {
            let circuit = self.circuit(builder, found.count);
            let (mut bits, range) = (Vec::new(), Range::new(0, 1).unwrap_or(Range::point(0)));
            for (digit, place) in (0..width).map(places) {
                let values: Vec<i64> = elements.iter().map(|digits| i64::from(digits[digit] >> place & 1)).collect();
                let node = circuit.builder.constant(ElementType::Integer(range), &values)?;
                bits.push(circuit.existing(node)?);
            }
            return Ok(bits);
        }
        if !self.is_public(id)? {
            self.split_into_bits(builder, id)?;
            return Ok(self.get(id)?.bits.clone().unwrap_or_default());
        }
        let digits = self.carried(builder, id)?;
        let bit = |(digit, place): (usize, u32)| digits[digit].public().unwrap_or(0) >> place & 1;
        Ok((0..width).map(places).map(|at| Digit::constant(bit(at))).collect())
    }

    /// Gives `id` bits, by one bootstrap a digit. Returns 2 · bit for each bit: of the low ones by the same bootstrap, with the noise of one lookup.
    pub(super) fn split_into_bits(&mut self, builder: &mut Builder, id: IntegerId) -> Result<Vec<Digit>> {
        let (kind, count, digits) = (self.kind(id)?, self.count(id)?, self.carried(builder, id)?);
        let mut circuit = self.circuit(builder, count);
        let (mut bits, mut doubled) = (Vec::new(), Vec::new());
        let twice = |bit: &Digit| Digit::combine(&[(2, bit)], 0);
        for digit in &digits {
            let (low, high, low_twice) = if digit.hi() <= 1 {
                (digit.clone(), Digit::constant(0), twice(digit))
            } else if let Some(half) = digit.halved() {
                (Digit::constant(0), half, Digit::constant(0))
            } else {
                let noisy = circuit.norm(digit) * 9.0 > NORM_LIMIT;
                let digit = if noisy { circuit.refreshed(digit)? } else { digit.clone() };
                let parts = circuit.lookup_each(&digit, &[&|v| v % 2, &|v| v / 2, &|v| v % 2 * 2])?;
                // Tables of one bootstrap have one range.
                let mut bit = |part: &Digit| -> Result<Digit> {
                    let node = circuit.node(&part.clone().within(0, 1))?;
                    circuit.existing(node)
                };
                (bit(&parts[0])?, bit(&parts[1])?, parts[2].clone().within(0, 2))
            };
            doubled.extend([low_twice, twice(&high)]);
            bits.extend([low, high]);
        }
        for form in [&mut bits, &mut doubled] {
            form.truncate(kind.bits as usize);
        }
        self.values[id.0 as usize].bits = Some(bits);
        Ok(doubled)
    }

    /// A gate of each pair of bits. Bits that must be read first keep what was read.
    pub(super) fn bitwise_on_bits(
        &mut self,
        builder: &mut Builder,
        operation: BitOperation,
        (a, b): (IntegerId, IntegerId),
        (kind, count): (IntegerType, usize),
    ) -> Result<IntegerId> {
        let (mut x, mut y) = (self.bits(builder, a)?, self.bits(builder, b)?);
        let mut circuit = self.circuit(builder, count);
        let pairs = x.iter_mut().zip(&mut y);
        let bits = pairs.map(|(x, y)| circuit.gate(operation, x, y)).collect::<Result<_>>()?;
        self.keep_bits(a, x);
        self.keep_bits(b, y);
        Ok(self.add_forms(kind, count, None, Some(bits)))
    }

    /// Replaces the bits of `id` by equal ones with fewer terms.
    fn keep_bits(&mut self, id: IntegerId, bits: Vec<Digit>) {
        if let Some(own) = &mut self.values[id.0 as usize].bits {
            *own = bits;
        }
    }

    /// `a == b`, where at most one bit of both may differ: that decides, without a lookup. `None` if more may.
    pub(super) fn equal_but_for_one_bit(
        &mut self,
        builder: &mut Builder,
        (a, b): (IntegerId, IntegerId),
        count: usize,
    ) -> Result<Option<Digit>> {
        if !self.keeps_bits() || !self.all_in_bits(&[a, b])? {
            return Ok(None);
        }
        let (x, y) = (self.bits(builder, a)?, self.bits(builder, b)?);
        let mut circuit = self.circuit(builder, count);
        let mut differing = None;
        for (x, y) in x.iter().zip(&y) {
            let difference = circuit.difference(x, y)?;
            match (difference.public(), &differing) {
                (Some(0), _) => {}
                (Some(_), _) => return Ok(Some(Digit::constant(0))),
                (None, None) => differing = Some((x.clone(), y.clone())),
                (None, Some(_)) => return Ok(None),
            }
        }
        let Some((mut x, mut y)) = differing else { return Ok(Some(Digit::constant(1))) };
        let mut unequal = circuit.sum_of_bits(&mut x, &mut y)?;
        Ok(Some(circuit.sum_of_bits(&mut unequal, &mut Digit::constant(1))?))
    }

    /// Choices on bits, where that takes no more lookups than on digits: bits of both that are equal or each other's opposites take none. `None` otherwise.
    pub(super) fn chosen_bits(
        &mut self,
        builder: &mut Builder,
        condition: IntegerId,
        (then, otherwise): (IntegerId, IntegerId),
        (kind, count): (IntegerType, usize),
    ) -> Result<Option<IntegerId>> {
        if !self.keeps_bits() || !self.all_in_bits(&[then, otherwise])? {
            return Ok(None);
        }
        let (mut x, mut y) = (self.bits(builder, then)?, self.bits(builder, otherwise)?);
        let circuit = self.circuit(builder, count);
        let pairs = x.iter().zip(&y);
        let read: Vec<bool> =
            pairs.map(|(x, y)| Ok(circuit.difference(x, y)?.public().is_none())).collect::<Result<_>>()?;
        let on_digits = read.chunks(DIGIT_BITS as usize).filter(|pair| pair.contains(&true)).count();
        let first = self.lookups_to_digits(then)? + self.lookups_to_digits(otherwise)?;
        if read.iter().filter(|read| **read).count() > on_digits + first {
            return Ok(None);
        }
        let mut chosen = self.bits(builder, condition)?.remove(0);
        let mut circuit = self.circuit(builder, count);
        let mut bits = Vec::new();
        for (x, y) in x.iter_mut().zip(&mut y) {
            let mut difference = circuit.sum_of_bits(x, y)?;
            let mut change = circuit.gate(BitOperation::And, &mut difference, &mut chosen)?;
            bits.push(circuit.sum_of_bits(&mut change, y)?);
        }
        self.keep_bits(then, x);
        self.keep_bits(otherwise, y);
        self.keep_bits(condition, vec![chosen]);
        Ok(Some(self.add_forms(kind, count, None, Some(bits))))
    }
}

/// Lookups that make a digit of one or two bits.
fn lookups_to_digit(pair: &[Digit]) -> usize {
    match pair {
        [low, high] if (low.hi() + 1) * (high.hi() + 1) <= CAPACITY => usize::from(low.hi() > 1 || high.hi() > 1),
        _ => pair.iter().filter(|bit| bit.hi() > 1).count(),
    }
}

impl Circuit<'_> {
    /// x − y modulo 2, whatever its size.
    fn difference(&self, x: &Digit, y: &Digit) -> Result<Digit> {
        Digit::combine(&[(1, x), (1, y)], 0).modulo_two(|node| self.existing(node).map(|own| (own.lo(), own.hi())))
    }

    /// x + y modulo 2. If one lookup cannot read the sum, the operand with more terms is read first; a sum for wide tables is itself.
    pub(super) fn sum_of_bits(&mut self, x: &mut Digit, y: &mut Digit) -> Result<Digit> {
        loop {
            let sum = self.difference(x, y)?;
            if self.wide_tables {
                return if self.norm(&sum) <= WIDE_NORM_LIMIT { Ok(sum) } else { self.parity(&sum) };
            }
            if sum.hi() < CAPACITY && self.norm(&sum) <= NORM_LIMIT {
                return Ok(sum);
            }
            self.read_larger(x, y)?;
        }
    }

    /// A gate of two bits.
    fn gate(&mut self, operation: BitOperation, x: &mut Digit, y: &mut Digit) -> Result<Digit> {
        if operation == BitOperation::Xor {
            return self.sum_of_bits(x, y);
        }
        let (read, public) = if x.public().is_some() { (y, x) } else { (x, y) };
        if let Some(public) = public.public() {
            // With one public bit the result is the other bit or public.
            let of = |bit: i64| operation.of(bit, public & 1);
            return Ok(if of(0) == of(1) { Digit::constant(of(0)) } else { read.clone() });
        }
        while (read.hi() + 1) * (public.hi() + 1) > CAPACITY {
            self.read_larger(read, public)?;
        }
        let radix = read.hi() + 1;
        let both = self.read(&[(1, read), (radix, public)], 0)?;
        self.lookup(&both, &|value| operation.of(value % radix % 2, value / radix % 2))
    }

    /// Replaces the noisier or longer sum of two by its bit.
    fn read_larger(&mut self, x: &mut Digit, y: &mut Digit) -> Result<()> {
        let larger = if (x.hi(), self.norm(x)) >= (y.hi(), self.norm(y)) { x } else { y };
        *larger = self.parity(larger)?;
        Ok(())
    }

    /// The bit that a sum stands for.
    fn parity(&mut self, sum: &Digit) -> Result<Digit> {
        if self.wide_tables {
            let fresh = self.wide(&[(1, sum.clone())], &[vec![0, 1]])?;
            return Ok(fresh.into_iter().next().unwrap_or(Digit::constant(0)));
        }
        self.lookup(sum, &|value| value & 1)
    }

    /// The digits of an integer with these bits.
    pub(super) fn digits_of(&mut self, kind: IntegerType, bits: &[Digit]) -> Result<Vec<Digit>> {
        let mut digits = Vec::new();
        for (index, pair) in bits.chunks(DIGIT_BITS as usize).enumerate() {
            if !self.wide_tables {
                digits.push(self.digit_of(pair)?);
                continue;
            }
            let most = kind.base(index) - 1;
            let index: Vec<(u32, Digit)> = pair.iter().map(|bit| (1, bit.clone())).collect();
            digits.extend(self.wide(&index, &[(0..=most).collect()])?);
        }
        Ok(digits)
    }

    /// The digit of one or two bits: a sum if they are read already, else one lookup of both if it can read both, else one of each.
    fn digit_of(&mut self, pair: &[Digit]) -> Result<Digit> {
        if let [low, high] = pair
            && lookups_to_digit(pair) == 1
            && (low.hi() + 1) * (high.hi() + 1) <= CAPACITY
        {
            let radix = low.hi() + 1;
            let both = self.read(&[(1, low), (radix, high)], 0)?;
            return self.lookup(&both, &|value| value % radix % 2 + value / radix % 2 * 2);
        }
        let mut sum = Digit::constant(0);
        for (bit, weight) in pair.iter().zip([1, 2]) {
            let part = match bit.hi() > 1 {
                true => self.lookup(bit, &|value| (value & 1) * weight)?,
                false => Digit::combine(&[(weight, bit)], 0),
            };
            sum = Digit::combine(&[(1, &sum), (1, &part)], 0);
        }
        Ok(sum)
    }
}
