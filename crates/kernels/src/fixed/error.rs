//! Errors of a fixed-point specification.

use thiserror::Error;

/// Why a fixed-point specification is invalid.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum FixedSpecError {
    #[error("a fixed-point transform needs a ring degree of at least 32, not {0}")]
    Degree(usize),
    #[error("{what}: a width of {width} bits is outside {least} to {most}")]
    Width { what: &'static str, width: u32, least: u32, most: u32 },
    #[error("{what}: {found} stages given, but a ring degree of {degree} takes {expected}")]
    Stages { what: &'static str, found: usize, expected: usize, degree: usize },
    #[error("a radix of 2^{log2_radix}: groups have 1 to {most} stages")]
    Radix { log2_radix: u32, most: u32 },
    #[error("{what}: a shift by {shift} bits is outside {least} to {most}")]
    Shift { what: &'static str, shift: i64, least: i64, most: i64 },
}
