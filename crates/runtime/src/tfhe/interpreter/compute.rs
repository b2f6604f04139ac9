//! The result of each primitive operation, from its operands: one arm each. The interpreter and the replays of machines both call it.

use super::{Primitives, Spectrum};
use polyfabric_kernels::Torus;
use polyfabric_program::tfhe::kernel::Primitive;
use std::borrow::Cow;

/// A value within a body.
#[derive(Clone, Debug)]
pub enum BodyDatum<T> {
    /// Torus coefficients, or an LWE ciphertext.
    Torus(Vec<T>),
    /// Digits of a polynomial.
    Digits(Vec<i32>),
    /// A polynomial in the transform domain.
    Spectrum(Spectrum<T>),
    /// Digit of a mask element.
    Digit(i32),
}

/// An operand. An owned sum is updated in place.
#[derive(Clone, Debug)]
pub enum Operand<'a, T: Clone> {
    /// As of [`BodyDatum`].
    Torus(Cow<'a, [T]>),
    /// As of [`BodyDatum`].
    Digits(&'a [i32]),
    /// As of [`BodyDatum`].
    Spectrum(Cow<'a, Spectrum<T>>),
    /// As of [`BodyDatum`].
    Digit(i32),
}

impl<'a, T: Clone> From<&'a BodyDatum<T>> for Operand<'a, T> {
    fn from(datum: &'a BodyDatum<T>) -> Self {
        match datum {
            BodyDatum::Torus(values) => Self::Torus(values.into()),
            BodyDatum::Digits(digits) => Self::Digits(digits),
            BodyDatum::Spectrum(spectrum) => Self::Spectrum(Cow::Borrowed(spectrum)),
            BodyDatum::Digit(digit) => Self::Digit(*digit),
        }
    }
}

/// The run-time scalars of a loop.
#[derive(Clone, Copy, Debug)]
pub enum Scalars<'a, T> {
    /// Rotation amounts a~_i.
    Indices(&'a [u32]),
    /// Mask elements a'_i.
    Mask(&'a [T]),
    /// None are known.
    None,
}

/// An operand of another kind than the operation needs, or a missing one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the operation needs {expected} and finds {found}")]
pub struct Mismatch {
    pub expected: &'static str,
    pub found: &'static str,
}

impl<T: Torus> Primitives<'_, T> {
    /// The result of `primitive` in iteration `iteration`. A key polynomial is that of this iteration, at the operation's row and column.
    ///
    /// # Errors
    /// [`Mismatch`].
    pub fn compute<'a>(
        &self,
        primitive: Primitive,
        iteration: usize,
        scalars: Scalars<'_, T>,
        operands: impl IntoIterator<Item = Operand<'a, T>>,
    ) -> Result<BodyDatum<T>, Mismatch>
    where
        T: 'a,
    {
        let mut operands = operands.into_iter();
        let mut next = || operands.next();
        Ok(match primitive {
            Primitive::Rotate => {
                let amount = indices(scalars)?.get(iteration).copied().unwrap_or(0);
                BodyDatum::Torus(self.rotate(&torus(next())?, amount))
            }
            Primitive::RotatePattern { pattern } => {
                let amount = self.pattern_index(indices(scalars)?, iteration, pattern);
                BodyDatum::Torus(self.rotate(&torus(next())?, amount))
            }
            Primitive::RotateProduct { pattern } => {
                let amount = self.pattern_index(indices(scalars)?, iteration, pattern);
                BodyDatum::Spectrum(self.rotate_product(&*spectrum(next())?, amount))
            }
            Primitive::SubtractProduct => {
                BodyDatum::Spectrum(self.subtract_product(&*spectrum(next())?, &*spectrum(next())?))
            }
            Primitive::AddProduct => BodyDatum::Spectrum(self.add_product(&*spectrum(next())?, &*spectrum(next())?)),
            Primitive::Subtract => BodyDatum::Torus(self.subtract(&torus(next())?, &torus(next())?)),
            Primitive::Add => BodyDatum::Torus(self.add(&torus(next())?, &torus(next())?)),
            Primitive::Digit { level } => BodyDatum::Digits(self.digit(&torus(next())?, level)),
            Primitive::ForwardTransform => match next() {
                Some(Operand::Digits(digits)) => BodyDatum::Spectrum(self.forward(digits)),
                other => return Err(mismatch("digits", other.as_ref())),
            },
            Primitive::Multiply { row, column } => {
                BodyDatum::Spectrum(self.multiply(&*spectrum(next())?, iteration, row, column))
            }
            Primitive::MultiplyAccumulate { row, column } => {
                let sum = spectrum(next())?.into_owned();
                BodyDatum::Spectrum(self.multiply_accumulate(sum, &*spectrum(next())?, iteration, row, column))
            }
            Primitive::InverseTransform => BodyDatum::Torus(self.inverse(spectrum(next())?.into_owned())),
            Primitive::MaskDigit { level } => {
                let Scalars::Mask(mask) = scalars else {
                    return Err(Mismatch { expected: "mask elements", found: "no mask" });
                };
                BodyDatum::Digit(self.mask_digit(mask.get(iteration).copied().unwrap_or_default(), level))
            }
            Primitive::SubtractKeyProduct { level } => {
                let sum = torus(next())?.into_owned();
                match next() {
                    Some(Operand::Digit(digit)) => {
                        BodyDatum::Torus(self.subtract_key_product(sum, digit, iteration, level))
                    }
                    other => return Err(mismatch("a digit", other.as_ref())),
                }
            }
        })
    }
}

fn mismatch<T: Clone>(expected: &'static str, found: Option<&Operand<'_, T>>) -> Mismatch {
    let found = match found {
        Some(Operand::Torus(_)) => "torus elements",
        Some(Operand::Digits(_)) => "digits",
        Some(Operand::Spectrum(_)) => "a spectrum",
        Some(Operand::Digit(_)) => "a digit",
        None => "nothing",
    };
    Mismatch { expected, found }
}

fn torus<T: Clone>(operand: Option<Operand<'_, T>>) -> Result<Cow<'_, [T]>, Mismatch> {
    match operand {
        Some(Operand::Torus(values)) => Ok(values),
        other => Err(mismatch("torus elements", other.as_ref())),
    }
}

fn spectrum<T: Clone>(operand: Option<Operand<'_, T>>) -> Result<Cow<'_, Spectrum<T>>, Mismatch> {
    match operand {
        Some(Operand::Spectrum(spectrum)) => Ok(spectrum),
        other => Err(mismatch("a spectrum", other.as_ref())),
    }
}

fn indices<T>(scalars: Scalars<'_, T>) -> Result<&[u32], Mismatch> {
    match scalars {
        Scalars::Indices(indices) => Ok(indices),
        _ => Err(Mismatch { expected: "rotation amounts", found: "no amounts" }),
    }
}
