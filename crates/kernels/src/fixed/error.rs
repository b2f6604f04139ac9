//! What a fixed-point specification may not be.

use thiserror::Error;

/// Why a fixed-point specification cannot be.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum FixedSpecError {
    /// The vectorised stages need 16 points.
    #[error("a fixed-point transform needs a ring degree of at least 32, not {0}")]
    Degree(usize),
    /// A width is out of range.
    #[error("{what}: a width of {width} bits is outside {least} to {most}")]
    Width {
        /// Of what.
        what: &'static str,
        /// As written.
        width: u32,
        /// Smallest width supported.
        least: u32,
        /// Largest width supported.
        most: u32,
    },
    /// The stage list does not fit the ring.
    #[error("{what}: {found} stages given, but a ring degree of {degree} takes {expected}")]
    Stages {
        /// Which transform.
        what: &'static str,
        /// As written.
        found: usize,
        /// log2 of half the degree.
        expected: usize,
        /// N.
        degree: usize,
    },
    /// A radix that no transform here has.
    #[error("a radix of 2^{log2_radix}: groups have 1 to {most} stages")]
    Radix {
        /// As written.
        log2_radix: u32,
        /// Most stages of a group.
        most: u32,
    },
    /// A shift is out of range.
    #[error("{what}: a shift by {shift} bits is outside {least} to {most}")]
    Shift {
        /// Of what.
        what: &'static str,
        /// As written, or as it follows.
        shift: i64,
        /// Smallest shift supported.
        least: i64,
        /// Largest shift supported.
        most: i64,
    },
}
