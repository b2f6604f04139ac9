//! Integers of any width, which JSON's readers do not keep: their decimal texts, and their bits in two's complement.

use num_bigint::{BigInt, Sign};
use num_integer::Integer as _;
use num_traits::{Pow, Signed, ToPrimitive};
use std::fmt;

/// Most digits of a decimal text. An integer of 4,096 bits has 1,234, and as many may follow its point.
const MOST_DIGITS: usize = 8192;

/// An integer of any width.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Integer(BigInt);

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
        Self(value.into())
    }
}

impl From<u64> for Integer {
    fn from(value: u64) -> Self {
        Self(value.into())
    }
}

impl Integer {
    /// Reads a decimal integer; `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('-').unwrap_or(text);
        let decimal = digits.bytes().all(|digit| digit.is_ascii_digit()) && digits.len() <= MOST_DIGITS;
        // `parse` refuses an empty text.
        if decimal { text.parse().ok().map(Self) } else { None }
    }

    /// A decimal number such as -1.25 in steps of 2^-point; `None` for any other text.
    pub fn parse_steps(text: &str, point: u32, rounding: Rounding) -> Option<Self> {
        let (whole, after) = text.split_once('.').unwrap_or((text, ""));
        if whole.is_empty() || whole == "-" {
            return None;
        }
        let Self(digits) = Self::parse(&format!("{whole}{after}"))?;
        Some(Self::quotient(&(digits << point), &BigInt::from(10).pow(after.len()), rounding))
    }

    /// A finite number in steps of 2^-point.
    pub fn steps(value: f64, point: u32, rounding: Rounding) -> Self {
        let bits = value.abs().to_bits();
        let (exponent, fraction) = ((bits >> 52) as i32, bits & ((1 << 52) - 1));
        // The number is magnitude * 2^power.
        let (magnitude, power) = if exponent == 0 { (fraction, -1074) } else { (fraction | 1 << 52, exponent - 1075) };
        let sign = if value < 0.0 { Sign::Minus } else { Sign::Plus };
        let steps = BigInt::from_biguint(sign, magnitude.into()) << point;
        if power >= 0 { Self(steps << power) } else { Self::quotient(&steps, &(BigInt::from(1) << -power), rounding) }
    }

    /// A quotient by a positive number, rounded.
    fn quotient(numerator: &BigInt, denominator: &BigInt, rounding: Rounding) -> Self {
        Self(match rounding {
            Rounding::Zero => numerator / denominator,
            Rounding::Floor => numerator.div_floor(denominator),
            Rounding::Nearest => {
                let (floor, rest) = numerator.div_mod_floor(denominator);
                let twice: BigInt = rest * 2;
                let up = twice > *denominator || (twice == *denominator && floor.is_odd());
                floor + u8::from(up)
            }
        })
    }

    /// This integer, if it has at most 64 bits.
    pub fn to_i64(&self) -> Option<i64> {
        self.0.to_i64()
    }

    /// The residue modulo `modulus`, from 0.
    pub fn modulo(&self, modulus: u64) -> u64 {
        self.0.mod_floor(&modulus.into()).to_u64().expect("below the modulus")
    }

    /// Whether an integer of `bits` bits, with or without a sign, has this value.
    pub fn fits(&self, bits: usize, signed: bool) -> bool {
        // Of a negative integer in two's complement, all bits above its own are 1.
        let magnitude = if self.0.is_negative() { !&self.0 } else { self.0.clone() };
        (signed || !self.0.is_negative()) && magnitude.bits() + u64::from(signed) <= bits as u64
    }

    /// The least significant `count` bits in two's complement.
    pub fn bits(&self, count: usize) -> Vec<u8> {
        (0..count as u64).map(|at| self.0.bit(at).into()).collect()
    }

    /// The integer with these bits in two's complement, or without a sign.
    pub fn of_bits(bits: &[u8], signed: bool) -> Self {
        let value = BigInt::from_radix_le(Sign::Plus, bits, 2).expect("bits");
        let negative = signed && bits.last() == Some(&1);
        Self(if negative { value - (BigInt::from(1) << bits.len()) } else { value })
    }

    /// This many steps of 2^-point as an exact decimal number.
    pub fn decimal(&self, point: u32) -> String {
        // 2^-point is 5^point * 10^-point.
        let scaled = self.0.abs() * BigInt::from(5).pow(point);
        let digits = format!("{scaled:0>0$}", point as usize + 1);
        let (whole, after) = digits.split_at(digits.len() - point as usize);
        let after = after.trim_end_matches('0');
        let (sign, dot) = (if self.0.is_negative() { "-" } else { "" }, if after.is_empty() { "" } else { "." });
        format!("{sign}{whole}{dot}{after}")
    }
}

impl fmt::Display for Integer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
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
