//! Shifts and rotations by public and by encrypted amounts.
//!
//! Whole digits move for free. A shift by one bit takes one lookup per digit, with two results: the part that stays and the part that
//! moves to the neighbor. With an encrypted amount, each of its bits moves all digits by a power of two or not at all. One lookup per
//! digit gives the part that moves; the part that stays is the difference.

use super::digit::{Circuit, Digit};
use super::{BASE, DIGIT_BITS, IntegerError, IntegerId, IntegerType, Integers, Result};
use crate::tfhe::homomorphic::Builder;

/// Direction of a shift, and whether it rotates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Toward more significant bits; fills with zeros.
    Left,
    /// Toward less significant bits; fills with zeros, or with the sign.
    Right,
    /// Toward more significant bits, wrapping around.
    RotateLeft,
    /// Toward less significant bits, wrapping around.
    RotateRight,
}

impl Direction {
    fn left(self) -> bool {
        matches!(self, Self::Left | Self::RotateLeft)
    }

    fn round(self) -> bool {
        matches!(self, Self::RotateLeft | Self::RotateRight)
    }
}

/// Number of bits to shift by.
#[derive(Clone, Copy, Debug)]
pub enum Amount {
    Public(u64),
    /// An unsigned integer of the program.
    Encrypted(IntegerId),
}

/// Parameters of one shift of `length` digits.
struct Shift {
    direction: Direction,
    /// Bit that a right shift fills with: 0, or 1 for a negative number.
    sign: Digit,
    length: usize,
}

impl Shift {
    /// The position from which a digit moves to `position`, `distance` digits away; `None` beyond the ends.
    fn source(&self, position: usize, distance: usize) -> Option<usize> {
        let length = self.length;
        match (self.direction.left(), self.direction.round()) {
            (true, true) => Some((position + length - distance % length) % length),
            (false, true) => Some((position + distance) % length),
            (true, false) => position.checked_sub(distance),
            (false, false) => position.checked_add(distance).filter(|&source| source < length),
        }
    }

    /// The digit shifted in from beyond the end.
    fn beyond(&self) -> Digit {
        match self.direction {
            Direction::Right => Digit::combine(&[(BASE - 1, &self.sign)], 0),
            _ => Digit::constant(0),
        }
    }

    /// The part of a digit that stays in place when it moves by one bit.
    fn stays(&self, value: i64) -> i64 {
        if self.direction.left() { value * 2 % BASE } else { value / 2 }
    }

    /// The part of a digit that goes to its neighbor when it moves by one bit.
    fn goes(&self, value: i64) -> i64 {
        if self.direction.left() { value / 2 } else { value % 2 * 2 }
    }
}

impl Integers {
    /// `a` shifted or rotated. Shifting by the full width or more gives 0 (or the sign); rotation amounts are modulo the width.
    ///
    /// # Errors
    /// [`IntegerError::Needs`] for a signed amount; [`IntegerError::Lengths`].
    pub fn shift(
        &mut self,
        builder: &mut Builder,
        direction: Direction,
        a: IntegerId,
        amount: Amount,
    ) -> Result<IntegerId> {
        let (kind, count) = (self.kind(a)?, self.count(a)?);
        let splits =
            matches!(amount, Amount::Public(amount) if self.keeps_bits() && splits_digits(kind, direction, amount));
        if let Amount::Public(amount) = amount
            && splits
            && !self.gives_bits(a)?
        {
            let doubled = self.split_into_bits(builder, a)?;
            return self.moved(builder, direction, a, amount, &doubled);
        }
        let moved = match (amount, &self.get(a)?.bits) {
            (Amount::Public(amount), Some(bits)) => Some(moved_bits(direction, kind, bits, amount)),
            _ => None,
        };
        if moved.is_some() && (splits || !self.has_digits(a)?) {
            return Ok(self.add_forms(kind, count, None, moved));
        }
        let shifted = match amount {
            Amount::Public(_) => self.shift_digits(builder, direction, a, amount)?,
            Amount::Encrypted(amount) => {
                expect_unsigned(self.kind(amount)?)?;
                let (a, amount, _) = self.stretched(builder, "shift", a, amount)?;
                let name = format!("{direction:?}");
                let [shifted] = self.by_table(builder, &name, &[a, amount], |own, builder, x| {
                    Ok([own.shift_digits(builder, direction, x[0], Amount::Encrypted(x[1]))?])
                })?;
                shifted
            }
        };
        if moved.is_some() {
            self.values[shifted.0 as usize].bits = moved;
        }
        Ok(shifted)
    }

    /// `a`, which has bits, shifted across digits, with twice each of its bits.
    fn moved(
        &mut self,
        builder: &mut Builder,
        direction: Direction,
        a: IntegerId,
        amount: u64,
        doubled: &[Digit],
    ) -> Result<IntegerId> {
        let (kind, count, bits) = (self.kind(a)?, self.count(a)?, self.bits(builder, a)?);
        let (bits, doubled) =
            (moved_bits(direction, kind, &bits, amount), moved_bits(direction, kind, doubled, amount));
        let pairs = bits.chunks(DIGIT_BITS as usize).zip(doubled.chunks(DIGIT_BITS as usize));
        let digits = pairs.map(|(bits, doubled)| match doubled {
            [_, high] => Digit::combine(&[(1, &bits[0]), (1, high)], 0),
            _ => bits[0].clone(),
        });
        let digits = digits.collect();
        Ok(self.add_forms(kind, count, Some(digits), Some(bits)))
    }

    fn shift_digits(
        &mut self,
        builder: &mut Builder,
        direction: Direction,
        a: IntegerId,
        amount: Amount,
    ) -> Result<IntegerId> {
        let (own, kind) = (self.kind(a)?, self.kind(a)?);
        if kind.bits % 2 == 1 && direction.round() {
            return self.rotate_odd(builder, direction, a, amount);
        }
        let (a, count, bits) = match amount {
            Amount::Public(_) => (a, self.count(a)?, Vec::new()),
            Amount::Encrypted(amount) => {
                let found = self.kind(amount)?;
                expect_unsigned(found)?;
                let (a, amount, count) = self.stretched(builder, "shift", a, amount)?;
                let digits = self.carried(builder, amount)?;
                let bits = self.circuit(builder, count).bits(found, &digits)?;
                (a, count, bits)
            }
        };
        let digits = self.carried(builder, a)?;
        let mut circuit = self.circuit(builder, count);
        // Treat an odd width as the next even one.
        let mut digits = circuit.extended(own, digits, kind.digits())?;
        let sign = match (kind.signed && direction == Direction::Right, digits.last()) {
            (true, Some(top)) => circuit.lookup(top, &|value| i64::from(value >= BASE / 2))?,
            _ => Digit::constant(0),
        };
        let shift = Shift { direction, sign, length: digits.len() };
        match amount {
            Amount::Public(amount) => {
                let most = u64::from(kind.bits);
                let amount = if direction.round() { amount % most } else { amount.min(most + 1) } as usize;
                digits = shift.moved(&digits, amount / DIGIT_BITS as usize);
                if amount % 2 == 1 {
                    digits = circuit.one_bit(&shift, &digits, None)?;
                }
            }
            Amount::Encrypted(_) => digits = circuit.by_bits(&shift, digits, &bits)?,
        }
        let digits = circuit.fitted(kind, digits)?;
        Ok(self.add_value(kind, count, digits))
    }

    /// Rotates an odd width, where bits that wrap around do not align with digits. A public amount takes two shifts; for an encrypted
    /// amount, each of its bits selects whether to rotate by its weight.
    fn rotate_odd(
        &mut self,
        builder: &mut Builder,
        direction: Direction,
        a: IntegerId,
        amount: Amount,
    ) -> Result<IntegerId> {
        let kind = self.kind(a)?;
        let unsigned = IntegerType::unsigned(kind.bits);
        let mut rotated = self.cast(builder, a, unsigned)?;
        match amount {
            Amount::Public(amount) => rotated = self.rotate_publicly(builder, direction, rotated, amount)?,
            Amount::Encrypted(amount) => {
                let found = self.kind(amount)?;
                expect_unsigned(found)?;
                let width = u64::from(kind.bits);
                let mut stands_for = 1 % width;
                for index in 0..found.bits {
                    let bit = self.bit(builder, amount, index)?;
                    let moved = self.rotate_publicly(builder, direction, rotated, stands_for)?;
                    rotated = self.select(builder, bit, moved, rotated)?;
                    stands_for = stands_for * 2 % width;
                }
            }
        }
        self.cast(builder, rotated, kind)
    }

    /// Rotates the unsigned `a` by a public amount: two shifts without common bits, so their sum has no carries.
    fn rotate_publicly(
        &mut self,
        builder: &mut Builder,
        direction: Direction,
        a: IntegerId,
        amount: u64,
    ) -> Result<IntegerId> {
        let (kind, count) = (self.kind(a)?, self.count(a)?);
        let width = u64::from(kind.bits);
        let amount = amount % width;
        if amount == 0 {
            return Ok(a);
        }
        let left = if direction.left() { amount } else { width - amount };
        let high = self.shift(builder, Direction::Left, a, Amount::Public(left))?;
        let low = self.shift(builder, Direction::Right, a, Amount::Public(width - left))?;
        let (high, low) = (self.carried(builder, high)?, self.carried(builder, low)?);
        let sum = |(index, (high, low)): (usize, (&Digit, &Digit))| {
            Digit::combine(&[(1, high), (1, low)], 0).within(0, kind.base(index) - 1)
        };
        let digits = high.iter().zip(&low).enumerate().map(sum).collect();
        Ok(self.add_value(kind, count, digits))
    }
}

/// Whether a public shift or rotation splits digits of encrypted bits.
fn splits_digits(kind: IntegerType, direction: Direction, amount: u64) -> bool {
    let width = u64::from(kind.bits);
    match direction.round() {
        true => !amount.is_multiple_of(width) && (amount % width % 2 == 1 || width % 2 == 1),
        false => amount < width && amount % 2 == 1,
    }
}

/// Bits that a public shift or rotation moves.
fn moved_bits(direction: Direction, kind: IntegerType, bits: &[Digit], amount: u64) -> Vec<Digit> {
    let width = u64::from(kind.bits);
    let beyond = match (direction, kind.signed) {
        (Direction::Right, true) => bits[bits.len() - 1].clone(),
        _ => Digit::constant(0),
    };
    let source = |place: u64| match direction {
        Direction::Left => place.checked_sub(amount),
        Direction::Right => place.checked_add(amount).filter(|&from| from < width),
        Direction::RotateLeft => Some((place + width - amount % width) % width),
        Direction::RotateRight => Some((place + amount % width) % width),
    };
    (0..width).map(|place| source(place).map_or(beyond.clone(), |from| bits[from as usize].clone())).collect()
}

/// Rejects a signed amount.
fn expect_unsigned(found: IntegerType) -> Result<()> {
    if !found.signed {
        return Ok(());
    }
    Err(IntegerError::Needs { op: "shift", expected: "an unsigned amount", found })
}

impl Shift {
    fn moved(&self, digits: &[Digit], distance: usize) -> Vec<Digit> {
        let from = |position| self.source(position, distance).map_or(self.beyond(), |source| digits[source].clone());
        (0..self.length).map(from).collect()
    }
}

impl Circuit<'_> {
    /// The bits of an unsigned integer, least significant first.
    fn bits(&mut self, kind: IntegerType, digits: &[Digit]) -> Result<Vec<Digit>> {
        let mut bits = Vec::new();
        for (index, digit) in digits.iter().enumerate() {
            if kind.base(index) == 2 || digit.hi() <= 1 {
                bits.push(digit.clone());
                bits.push(Digit::constant(0));
            } else {
                bits.extend(self.lookup_each(digit, &[&|value| value % 2, &|value| value / 2])?);
            }
        }
        bits.truncate(kind.bits as usize);
        Ok(bits)
    }

    /// Moves all digits by one bit, or only if `condition` is 1.
    fn one_bit(&mut self, shift: &Shift, digits: &[Digit], condition: Option<&Digit>) -> Result<Vec<Digit>> {
        let (mut stay, mut go) = (Vec::new(), Vec::new());
        for digit in digits {
            let both = match condition {
                Some(condition) => self.read(&[(1, digit), (BASE, condition)], 0)?,
                None => self.read(&[(1, digit)], BASE)?,
            };
            let stays = |value: i64| if value < BASE { value } else { shift.stays(value - BASE) };
            let goes = |value: i64| if value < BASE { 0 } else { shift.goes(value - BASE) };
            let mut parts = self.lookup_each(&both, &[&stays, &goes])?;
            go.push(parts.pop().unwrap_or(Digit::constant(0)));
            stay.push(parts.pop().unwrap_or(Digit::constant(0)));
        }
        // A right shift brings in the sign at the top.
        let incoming = match (shift.direction, condition) {
            (Direction::Right, None) => Digit::combine(&[(2, &shift.sign)], 0),
            (Direction::Right, Some(condition)) => {
                let negative = self.both(condition, &shift.sign)?;
                Digit::combine(&[(2, &negative)], 0)
            }
            _ => Digit::constant(0),
        };
        let sum = |(position, stay): (usize, &Digit)| {
            let came = shift.source(position, 1).map_or(&incoming, |source| &go[source]);
            Digit::combine(&[(1, stay), (1, came)], 0).within(0, BASE - 1)
        };
        Ok(stay.iter().enumerate().map(sum).collect())
    }

    /// Moves by Σ 2^i · bits[i] bits.
    fn by_bits(&mut self, shift: &Shift, mut digits: Vec<Digit>, bits: &[Digit]) -> Result<Vec<Digit>> {
        let Some((lowest, rest)) = bits.split_first() else { return Ok(digits) };
        let mut over = Vec::new();
        // Bit i + 1 of the amount is worth 2^i digits: modulo the number of digits for rotations, saturated for shifts.
        let counted = |distance: usize| {
            if shift.direction.round() { distance % shift.length } else { distance.min(shift.length) }
        };
        let mut distance = counted(1);
        for bit in rest {
            if distance == shift.length {
                over.push(bit.clone());
            } else if distance > 0 {
                digits = self.far(shift, &digits, distance, bit)?;
            }
            distance = counted(2 * distance);
        }
        // Higher bits of the amount shift everything out.
        if !over.is_empty() {
            let none: Vec<Digit> = over.iter().map(|bit| Digit::combine(&[(-1, bit)], 1)).collect();
            let none = self.all(none)?;
            let beyond = shift.beyond();
            for digit in &mut digits {
                *digit = self.chosen(&none, digit, &beyond)?.within(0, BASE - 1);
            }
        }
        self.one_bit(shift, &digits, Some(lowest))
    }

    /// Moves all digits by `distance` if `condition` is 1.
    fn far(&mut self, shift: &Shift, digits: &[Digit], distance: usize, condition: &Digit) -> Result<Vec<Digit>> {
        let mut moves = Vec::new();
        for digit in digits {
            let both = self.read(&[(1, digit), (BASE, condition)], 0)?;
            moves.push(self.lookup(&both, &|value| (value - BASE).max(0))?);
        }
        let incoming = match shift.direction {
            Direction::Right => {
                let negative = self.both(condition, &shift.sign)?;
                Digit::combine(&[(BASE - 1, &negative)], 0)
            }
            _ => Digit::constant(0),
        };
        let sum = |(position, digit): (usize, &Digit)| {
            let came = shift.source(position, distance).map_or(&incoming, |source| &moves[source]);
            Digit::combine(&[(1, digit), (-1, &moves[position]), (1, came)], 0).within(0, BASE - 1)
        };
        Ok(digits.iter().enumerate().map(sum).collect())
    }

    /// 1 if both bits are 1.
    pub(super) fn both(&mut self, a: &Digit, b: &Digit) -> Result<Digit> {
        let sum = self.read(&[(1, a), (1, b)], 0)?;
        self.lookup(&sum, &|value| i64::from(value == 2))
    }
}
