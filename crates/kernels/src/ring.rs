//! The ring `Z[X]/(X^N + 1)`, N a power of two.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// N, the degree of the ring's modulus X^N + 1: a power of two from 2^4 to 2^17.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "usize", into = "usize")]
pub struct RingDegree(usize);

/// Why a number is not a ring degree.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("ring degree {0} is not a power of two from 16 to 131072; choose one, such as 1024 or 2048")]
pub struct RingDegreeError(pub usize);

impl RingDegree {
    /// The smallest degree, 2^4.
    pub const MIN: usize = 1 << 4;

    /// The largest degree, 2^17.
    pub const MAX: usize = 1 << 17;

    /// Checks `degree`.
    ///
    /// # Errors
    /// [`RingDegreeError`] unless `degree` is a power of two from [`Self::MIN`] to [`Self::MAX`].
    pub fn new(degree: usize) -> Result<Self, RingDegreeError> {
        if degree.is_power_of_two() && (Self::MIN..=Self::MAX).contains(&degree) {
            Ok(Self(degree))
        } else {
            Err(RingDegreeError(degree))
        }
    }

    /// N.
    #[inline]
    pub const fn get(self) -> usize {
        self.0
    }

    /// log2 N.
    #[inline]
    pub const fn log2(self) -> u32 {
        self.0.trailing_zeros()
    }
}

impl TryFrom<usize> for RingDegree {
    type Error = RingDegreeError;
    fn try_from(degree: usize) -> Result<Self, RingDegreeError> {
        Self::new(degree)
    }
}

impl From<RingDegree> for usize {
    fn from(degree: RingDegree) -> usize {
        degree.0
    }
}
