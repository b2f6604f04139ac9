//! Integers of any width, which JSON's readers do not keep: their decimal texts, and their bits in two's complement.

use std::fmt;

/// Most digits of a decimal text. An integer of 4,096 bits has 1,234, and as many may follow its point.
const MOST_DIGITS: usize = 8192;

/// Sign and magnitude.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Integer {
    negative: bool,
    /// Least significant first, without zeros at the end.
    words: Vec<u32>,
}

/// How a number between two integers is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rounding {
    /// Down.
    Floor,
    /// To the nearest one, and to the even one of two.
    Nearest,
    /// Toward 0.
    Zero,
}

impl From<i64> for Integer {
    fn from(value: i64) -> Self {
        Self::of(value < 0, value.unsigned_abs())
    }
}

impl From<u64> for Integer {
    fn from(value: u64) -> Self {
        Self::of(false, value)
    }
}

impl Integer {
    fn of(negative: bool, magnitude: u64) -> Self {
        Self { negative, words: vec![magnitude as u32, (magnitude >> 32) as u32] }.trimmed()
    }

    fn trimmed(mut self) -> Self {
        while self.words.last() == Some(&0) {
            self.words.pop();
        }
        self.negative &= !self.words.is_empty();
        self
    }

    /// Magnitude times `factor` plus `addend`.
    fn scale(&mut self, factor: u32, addend: u32) {
        let mut carry = u64::from(addend);
        for word in &mut self.words {
            carry += u64::from(*word) * u64::from(factor);
            *word = carry as u32;
            carry >>= 32;
        }
        if carry > 0 {
            self.words.push(carry as u32);
        }
    }

    /// Divides the magnitude, rounded down; returns the remainder.
    fn divide(&mut self, by: u32) -> u32 {
        let mut rest = 0;
        for word in self.words.iter_mut().rev() {
            rest = rest << 32 | u64::from(*word);
            *word = (rest / u64::from(by)) as u32;
            rest %= u64::from(by);
        }
        while self.words.last() == Some(&0) {
            self.words.pop();
        }
        rest as u32
    }

    /// Reads a decimal integer; `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        let (negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
        if digits.is_empty() || digits.len() > MOST_DIGITS {
            return None;
        }
        let mut made = Self { negative: false, words: Vec::new() };
        for digit in digits.bytes() {
            made.scale(10, u32::from(digit.is_ascii_digit().then(|| digit - b'0')?));
        }
        made.negative = negative;
        Some(made.trimmed())
    }

    /// Magnitude times 2^bits.
    fn shifted(mut self, bits: usize) -> Self {
        self.scale(1 << (bits % 32), 0);
        self.words.splice(0..0, std::iter::repeat_n(0, bits / 32));
        self
    }

    /// A decimal number such as -1.25 in steps of 2^-point; `None` for any other text.
    pub fn parse_steps(text: &str, point: u32, rounding: Rounding) -> Option<Self> {
        let (whole, after) = text.split_once('.').unwrap_or((text, ""));
        let digits = format!("{whole}{after}");
        if whole.trim_start_matches('-').is_empty() {
            return None;
        }
        let mut halves = Self::parse(&digits)?.shifted(point as usize + 1);
        halves.negative = text.starts_with('-');
        let mut rest = false;
        for _ in 0..after.len() {
            rest |= halves.divide(10) != 0;
        }
        Some(halves.rounded(rest, rounding))
    }

    /// A finite number in steps of 2^-point.
    pub fn steps(value: f64, point: u32, rounding: Rounding) -> Self {
        let bits = value.abs().to_bits();
        let (exponent, fraction) = ((bits >> 52) as i32, bits & ((1 << 52) - 1));
        // The number is magnitude * 2^power.
        let (magnitude, power) = if exponent == 0 { (fraction, -1074) } else { (fraction | 1 << 52, exponent - 1075) };
        let power = power + point as i32 + 1;
        let own = Self::of(false, magnitude);
        let (mut halves, rest) = match u32::try_from(power) {
            Ok(power) => (own.shifted(power as usize), false),
            Err(_) if power <= -64 => (Self::of(false, 0), magnitude != 0),
            Err(_) => (Self::of(false, magnitude >> -power), magnitude & ((1 << -power) - 1) != 0),
        };
        halves.negative = value < 0.0;
        halves.rounded(rest, rounding)
    }

    /// Half of a number whose magnitude is this integer's and, with `rest`, a fraction more; rounded.
    fn rounded(mut self, rest: bool, rounding: Rounding) -> Self {
        let half = self.divide(2) == 1;
        let up = match rounding {
            Rounding::Floor => self.negative && (half || rest),
            Rounding::Nearest => half && (rest || self.words.first().is_some_and(|word| word & 1 == 1)),
            Rounding::Zero => false,
        };
        if up {
            self.scale(1, 1);
        }
        self.trimmed()
    }

    /// This integer, if it has at most 64 bits.
    pub fn to_i64(&self) -> Option<i64> {
        if self.words.len() > 2 {
            return None;
        }
        let magnitude = self.words.iter().rev().fold(0_i128, |all, &word| all << 32 | i128::from(word));
        i64::try_from(if self.negative { -magnitude } else { magnitude }).ok()
    }

    /// The residue modulo `modulus`, from 0.
    pub fn modulo(&self, modulus: u64) -> u64 {
        let reduced = |all: u128, &word: &u32| (all << 32 | u128::from(word)) % u128::from(modulus);
        let found = self.words.iter().rev().fold(0, reduced) as u64;
        if self.negative && found > 0 { modulus - found } else { found }
    }

    /// Bits of the magnitude.
    fn magnitude_bits(&self) -> usize {
        self.words.last().map_or(0, |last| 32 * self.words.len() - last.leading_zeros() as usize)
    }

    /// Whether an integer of `bits` bits, with or without a sign, has this value.
    pub fn fits(&self, bits: usize, signed: bool) -> bool {
        match (self.negative, signed) {
            (true, false) => false,
            (false, false) => self.magnitude_bits() <= bits,
            (false, true) => self.magnitude_bits() < bits,
            // -2^(bits - 1) is the only one with as many bits.
            (true, true) => {
                let (last, rest) = self.words.split_last().unwrap_or((&0, &[]));
                let power = last.is_power_of_two() && rest.iter().all(|&word| word == 0);
                self.magnitude_bits() < bits || (self.magnitude_bits() == bits && power)
            }
        }
    }

    /// The least significant `count` bits in two's complement.
    pub fn bits(&self, count: usize) -> Vec<u8> {
        let mut borrow = self.negative;
        let bit = |at: usize| {
            let own = self.words.get(at / 32).map_or(0, |word| (word >> (at % 32) & 1) as u8);
            if !self.negative {
                return own;
            }
            // Minus a number: all bits inverted, plus 1.
            let found = own ^ u8::from(!borrow);
            borrow &= own == 0;
            found
        };
        (0..count).map(bit).collect()
    }

    /// The integer with these bits in two's complement, or without a sign.
    pub fn of_bits(bits: &[u8], signed: bool) -> Self {
        let negative = signed && bits.last() == Some(&1);
        let mut words = vec![0_u32; bits.len().div_ceil(32)];
        for (at, &bit) in bits.iter().enumerate() {
            words[at / 32] |= u32::from(bit ^ u8::from(negative)) << (at % 32);
        }
        let mut made = Self { negative: false, words };
        if negative {
            made.scale(1, 1);
        }
        made.negative = negative;
        made.trimmed()
    }

    /// This many steps of 2^-point as an exact decimal number.
    pub fn decimal(&self, point: u32) -> String {
        let mut scaled = Self { negative: false, ..self.clone() };
        // 2^-point is 5^point * 10^-point.
        (0..point).for_each(|_| scaled.scale(5, 0));
        let digits = format!("{:0>1$}", scaled.trimmed().to_string(), point as usize + 1);
        let (whole, after) = digits.split_at(digits.len() - point as usize);
        let after = after.trim_end_matches('0');
        let (sign, dot) = (if self.negative { "-" } else { "" }, if after.is_empty() { "" } else { "." });
        format!("{sign}{whole}{dot}{after}")
    }
}

impl fmt::Display for Integer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.clone();
        let mut digits = Vec::new();
        while !rest.words.is_empty() {
            digits.push(b'0' + rest.divide(10) as u8);
        }
        digits.reverse();
        let digits = String::from_utf8(digits).unwrap_or_default();
        f.pad_integral(!self.negative, "", if digits.is_empty() { "0" } else { &digits })
    }
}

#[cfg(test)]
mod tests {
    //! Are texts, bits and roundings those of 128-bit integers and of floats?

    use super::{Integer, Rounding};
    use proptest::prelude::*;

    fn of(value: i128) -> Integer {
        Integer::parse(&value.to_string()).expect("an integer")
    }

    proptest! {
        #[test]
        fn texts_and_bits_are_those_of_integers(value: i128, width in 1_usize..128) {
            let own = of(value);
            prop_assert_eq!(own.to_string(), value.to_string());
            let bits = own.bits(128);
            prop_assert_eq!(&bits, &(0..128).map(|at| (value >> at & 1) as u8).collect::<Vec<_>>());
            prop_assert_eq!(&Integer::of_bits(&bits, true), &own);
            prop_assert_eq!(Integer::of_bits(&bits, false).to_string(), (value as u128).to_string());
            let narrow = value >> (128 - width);
            prop_assert!(of(narrow).fits(width, true));
            let half = 1_i128 << (width - 1);
            prop_assert_eq!(of(value >> 64).fits(width, true), (-half..half).contains(&(value >> 64)));
            prop_assert_eq!(of(value >> 64).fits(width, false), value >= 0 && (value >> 64) >> (width - 1) >> 1 == 0);
            prop_assert_eq!(own.modulo(65537), value.rem_euclid(65537) as u64);
            prop_assert_eq!(own.to_i64(), i64::try_from(value).ok());
        }

        #[test]
        fn numbers_are_rounded_to_steps(value in -1_000_000_i64..1_000_000, places in 0_u32..6, point in 0_u32..12) {
            // value / 10^places * 2^point, in exact integers.
            let (numerator, denominator) = (i128::from(value) << point, 10_i128.pow(places));
            let floor = numerator.div_euclid(denominator);
            let twice = 2 * (numerator - floor * denominator);
            let odd = floor.rem_euclid(2) == 1;
            let nearest = floor + i128::from(twice > denominator || (twice == denominator && odd));
            let sign = if value < 0 { "-" } else { "" };
            let digits = format!("{:0>1$}", value.unsigned_abs(), places as usize + 1);
            let (whole, after) = digits.split_at(digits.len() - places as usize);
            let text = format!("{sign}{whole}{}{after}", if after.is_empty() { "" } else { "." });
            for (rounding, expected) in
                [(Rounding::Floor, floor), (Rounding::Nearest, nearest), (Rounding::Zero, numerator / denominator)]
            {
                prop_assert_eq!(Integer::parse_steps(&text, point, rounding), Some(of(expected)), "{} {:?}", text, rounding);
                // A float of few bits is exact.
                let float = value as f64 / 1024.0;
                let exact = format!("{sign}{}", Integer::from(value.unsigned_abs()).decimal(10));
                let steps = Integer::steps(float, point, rounding);
                let read = Integer::parse_steps(&exact, point, rounding);
                prop_assert_eq!(Some(steps), read, "{} {:?}", exact, rounding);
                prop_assert_eq!(Integer::from(value).decimal(10).parse::<f64>().ok(), Some(float));
            }
        }
    }

    #[test]
    fn other_texts_and_tiny_numbers() {
        for text in ["", "-", "1e3", "0x1", " 1", "1_000", "--1", "+1"] {
            assert_eq!(Integer::parse(text), None, "{text}");
        }
        for text in ["", "-", ".5", "1.2.3", "1.-2", "1e3"] {
            assert_eq!(Integer::parse_steps(text, 8, Rounding::Floor), None, "{text}");
        }
        assert_eq!(Integer::parse("-0"), Some(Integer::from(0_i64)));
        assert_eq!(Integer::steps(-f64::MIN_POSITIVE, 8, Rounding::Floor), Integer::from(-1_i64));
        assert_eq!(Integer::steps(-5e-324, 8, Rounding::Nearest), Integer::from(0_i64));
        assert_eq!(Integer::steps(1e300, 0, Rounding::Zero).to_string().len(), 301);
    }
}
