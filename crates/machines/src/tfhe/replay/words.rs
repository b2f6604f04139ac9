//! Definitions evaluated on polynomials, in the machine's arithmetic.

use super::{Context, ReplayError};
use crate::tfhe::definition::{Domain, SwitchPart, Undefined};
use crate::tfhe::labels::Meaning;
use polyfabric_kernels::Torus;
use polyfabric_program::tfhe::kernel::Primitive;
use polyfabric_runtime::tfhe::interpreter::{BodyDatum, Mismatch, Operand, Scalars, Spectrum};
use std::borrow::Cow;
use std::sync::Arc;

/// Data at a place.
#[derive(Clone, Debug)]
pub enum Datum {
    /// Torus coefficients, or an LWE ciphertext.
    Torus(Arc<Vec<u32>>),
    /// Digits of a polynomial.
    Digits(Arc<Vec<i32>>),
    /// A polynomial in the transform domain.
    Spectrum(Arc<Spectrum<u32>>),
    /// Rotation amounts.
    Amounts(Arc<Vec<u32>>),
    /// A key, a constant or a token, by its meaning.
    Given(Meaning),
}

impl Datum {
    /// Torus coefficients.
    pub fn torus(values: Vec<u32>) -> Self {
        Self::Torus(Arc::new(values))
    }

    /// Name of its kind, for messages.
    fn name(&self) -> &'static str {
        match self {
            Self::Torus(_) => "torus elements",
            Self::Digits(_) => "digits",
            Self::Spectrum(_) => "a spectrum",
            Self::Amounts(_) => "rotation amounts",
            Self::Given(_) => "a key or a constant",
        }
    }
}

/// Why an event does not compute a value that it writes.
#[derive(Clone, Debug, PartialEq)]
pub enum Wrong {
    /// The program does not define it from the values that the event reads.
    Undefined(Undefined),
    /// An operand of another kind than the operation needs.
    Operand { expected: &'static str, found: &'static str },
}

impl From<Undefined> for Wrong {
    fn from(undefined: Undefined) -> Self {
        Self::Undefined(undefined)
    }
}

impl Wrong {
    /// The error of an event that starts in cycle `cycle`.
    pub fn at(self, cycle: i64) -> ReplayError {
        match self {
            Self::Undefined(undefined) => ReplayError::Undefined { cycle, undefined },
            Self::Operand { expected, found } => ReplayError::Kind { cycle, expected, found },
        }
    }
}

macro_rules! takes {
    ($(#[$doc:meta] $name:ident: $variant:ident -> $result:ty, $expected:literal;)*) => {
        $(
            #[$doc]
            fn $name(datum: &Datum) -> Result<&$result, Wrong> {
                match datum {
                    Datum::$variant(found) => Ok(found),
                    other => Err(Wrong::Operand { expected: $expected, found: other.name() }),
                }
            }
        )*
    };
}

takes! {
    /// Torus elements.
    torus: Torus -> Arc<Vec<u32>>, "torus elements";
    /// Digits.
    digits: Digits -> Arc<Vec<i32>>, "digits";
    /// Rotation amounts.
    amounts: Amounts -> Arc<Vec<u32>>, "rotation amounts";
    /// A key or a constant.
    given: Given -> Meaning, "a key or a constant";
}

impl Context<'_> {
    /// A polynomial, whose place may hold other torus elements in a wrong schedule.
    fn polynomial<'a>(&self, datum: &'a Datum) -> Result<&'a [u32], Wrong> {
        self.of_length(datum, self.program.parameters.ring_degree().get(), "a polynomial")
    }

    fn of_length<'a>(&self, datum: &'a Datum, length: usize, expected: &'static str) -> Result<&'a [u32], Wrong> {
        let found = torus(datum)?;
        let other = Wrong::Operand { expected, found: "another number of torus elements" };
        (found.len() == length).then_some(&***found).ok_or(other)
    }

    /// Spectra of two polynomials of digits, through one complex transform.
    pub fn merged(&self, pair: [&Datum; 2]) -> Result<[Datum; 2], Wrong> {
        let [first, second] = pair.map(digits);
        let spectra = self.primitives.forward_merged([first?, second?]);
        Ok(spectra.map(|spectrum| Datum::Spectrum(Arc::new(spectrum))))
    }
}

impl From<Mismatch> for Wrong {
    fn from(Mismatch { expected, found }: Mismatch) -> Self {
        Self::Operand { expected, found }
    }
}

/// `primitive` with the key polynomial at `row` and `column`, if it takes one.
fn with_key(primitive: Primitive, row: u32, column: u32) -> Primitive {
    match primitive {
        Primitive::Multiply { .. } => Primitive::Multiply { row, column },
        Primitive::MultiplyAccumulate { .. } => Primitive::MultiplyAccumulate { row, column },
        other => other,
    }
}

impl Domain for Context<'_> {
    type Value = Datum;
    type Error = Wrong;

    fn primitive(&self, primitive: Primitive, iteration: u32, operands: &[Datum]) -> Result<Datum, Wrong> {
        let (mut primitive, mut iteration, mut scalars) = (primitive, iteration, Scalars::None);
        let mut values = Vec::new();
        for datum in operands {
            match datum {
                Datum::Torus(_) => values.push(Operand::Torus(self.polynomial(datum)?.into())),
                Datum::Digits(digits) => values.push(Operand::Digits(digits)),
                Datum::Spectrum(spectrum) => values.push(Operand::Spectrum(Cow::Borrowed(spectrum))),
                Datum::Amounts(amounts) => scalars = Scalars::Indices(amounts),
                // The key polynomial is the one stored at the place.
                Datum::Given(Meaning::Key { row, column, iteration: of }) => {
                    iteration = *of;
                    primitive = with_key(primitive, *row, *column);
                }
                Datum::Given(_) => {
                    return Err(Wrong::Operand { expected: "bootstrapping key", found: "another key or constant" });
                }
            }
        }
        if values.len() != primitive.signature().0.len() {
            return Err(Wrong::Operand { expected: "rotation amounts or a key", found: "another operand" });
        }
        Ok(match self.primitives.compute(primitive, iteration as usize, scalars, values)? {
            BodyDatum::Torus(values) => Datum::torus(values),
            BodyDatum::Digits(digits) => Datum::Digits(Arc::new(digits)),
            BodyDatum::Spectrum(spectrum) => Datum::Spectrum(Arc::new(spectrum)),
            BodyDatum::Digit(_) => return Err(Undefined::Other.into()),
        })
    }

    fn initial(&self, table: Datum, by: Datum, polynomial: u32) -> Result<Datum, Wrong> {
        let Meaning::Table { index } = *given(&table)? else {
            return Err(Wrong::Operand { expected: "a test polynomial", found: "another key or constant" });
        };
        let body = amounts(&by)?.last().copied().unwrap_or(0);
        let accumulator = self.primitives.initial_accumulator(body, &self.tables[index as usize]);
        accumulator.into_iter().nth(polynomial as usize).map(Datum::torus).ok_or(Undefined::Other.into())
    }

    fn modulus_switch(&self, ciphertext: Datum) -> Result<Datum, Wrong> {
        Ok(Datum::Amounts(Arc::new(self.primitives.modulus_switch(torus(&ciphertext)?))))
    }

    fn sample_extract(&self, accumulator: &[Datum]) -> Result<Datum, Wrong> {
        let polynomials = accumulator.iter().map(|datum| Ok(self.polynomial(datum)?.to_vec()));
        Ok(Datum::torus(self.primitives.sample_extract(&polynomials.collect::<Result<Vec<_>, Wrong>>()?)))
    }

    fn key_switch(&self, source: Datum, key: Datum, sum: Option<Datum>, _: SwitchPart<'_>) -> Result<Datum, Wrong> {
        let Meaning::SwitchKey { from, length } = *given(&key)? else {
            return Err(Wrong::Operand { expected: "key-switch key", found: "another key or constant" });
        };
        let source = torus(&source)?;
        let mut sum = match &sum {
            Some(sum) => {
                let length = self.program.parameters.lwe_dimension().ciphertext_len();
                self.of_length(sum, length, "a sum of a key switch")?.to_vec()
            }
            None => self.primitives.initial_switched(source.last().copied().unwrap_or(0)),
        };
        let levels = self.program.parameters.key_switch_gadget().map_or(0, |gadget| gadget.levels);
        let elements = (from as usize..).zip(source.iter().skip(from as usize).take(length as usize));
        for (element, &value) in elements {
            for level in 0..levels {
                let digit = self.primitives.mask_digit(value, level);
                sum = self.primitives.subtract_key_product(sum, digit, element, level);
            }
        }
        Ok(Datum::torus(sum))
    }

    fn linear(&self, sum: Option<Datum>, terms: &[(i32, Datum)], length: u32, bias: u64) -> Result<Datum, Wrong> {
        let mut sum = match &sum {
            Some(sum) => torus(sum)?.to_vec(),
            None => self.primitives.combine(length as usize, bias, std::iter::empty()),
        };
        for (weight, ciphertext) in terms {
            for (sum, &element) in sum.iter_mut().zip(torus(ciphertext)?.iter()) {
                *sum = sum.wrapping_add(element.wrapping_mul_signed(i64::from(*weight)));
            }
        }
        Ok(Datum::torus(sum))
    }
}
