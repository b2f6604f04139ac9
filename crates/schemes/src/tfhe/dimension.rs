//! Types for dimensions, so that n, k and N cannot be confused.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Number of mask elements of an LWE ciphertext: n for the small key, kN for the large one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "usize", into = "usize")]
pub struct LweDimension(usize);

/// Number k of mask polynomials of a GLWE ciphertext.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "usize", into = "usize")]
pub struct GlweDimension(usize);

/// Why a number is not a dimension.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum DimensionError {
    #[error("LWE dimension {given} is outside 1 to {max}; published sets use 450 to 2048")]
    Lwe { given: usize, max: usize },
    #[error("GLWE dimension {given} is outside 1 to {max}; published sets use 1 to 4")]
    Glwe { given: usize, max: usize },
}

impl LweDimension {
    /// The largest dimension, 2^17.
    pub const MAX: usize = 1 << 17;

    /// Checks `dimension`.
    ///
    /// # Errors
    /// [`DimensionError::Lwe`] unless 1 ≤ `dimension` ≤ [`Self::MAX`].
    pub const fn new(dimension: usize) -> Result<Self, DimensionError> {
        if dimension >= 1 && dimension <= Self::MAX {
            Ok(Self(dimension))
        } else {
            Err(DimensionError::Lwe { given: dimension, max: Self::MAX })
        }
    }

    /// The number of mask elements.
    #[inline]
    pub const fn get(self) -> usize {
        self.0
    }

    /// Torus elements of one ciphertext: the mask and the body.
    #[inline]
    pub const fn ciphertext_len(self) -> usize {
        self.0 + 1
    }
}

impl GlweDimension {
    /// The largest dimension taken.
    pub const MAX: usize = 16;

    /// Checks `dimension`.
    ///
    /// # Errors
    /// [`DimensionError::Glwe`] unless 1 ≤ `dimension` ≤ [`Self::MAX`].
    pub const fn new(dimension: usize) -> Result<Self, DimensionError> {
        if dimension >= 1 && dimension <= Self::MAX {
            Ok(Self(dimension))
        } else {
            Err(DimensionError::Glwe { given: dimension, max: Self::MAX })
        }
    }

    /// k.
    #[inline]
    pub const fn get(self) -> usize {
        self.0
    }

    /// Polynomials of one ciphertext: k masks and the body.
    #[inline]
    pub const fn ciphertext_polynomials(self) -> usize {
        self.0 + 1
    }
}

macro_rules! impl_conversions {
    ($name:ident) => {
        impl TryFrom<usize> for $name {
            type Error = DimensionError;
            fn try_from(dimension: usize) -> Result<Self, DimensionError> {
                Self::new(dimension)
            }
        }

        impl From<$name> for usize {
            fn from(dimension: $name) -> usize {
                dimension.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

impl_conversions!(LweDimension);
impl_conversions!(GlweDimension);
