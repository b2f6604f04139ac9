//! Encodes messages as torus elements, and decodes noisy phases.
//!
//! | encoding | message | torus value | decoding |
//! |---|---|---|---|
//! | [`Boolean`] | false, true | −1/8, +1/8 | the sign |
//! | [`PaddedInteger`] | 0 ≤ v < 2^(message + carry bits) | v / 2^(1 + message + carry bits) | rounding; the top half of the torus stays free for LUTs |
//! | [`SignedSum`] | −S ≤ v ≤ S | v / P, P = 2(S + 1) | rounding, or a sign LUT over the whole torus (odd sums) |
//! | [`FixedPoint`] | −m ≤ x < m | x / 2m | scaling |
//!
//! Both integer encodings are multiples of a [`TorusStep`], which programs also use with other steps. All encodings are linear in the
//! message (Boolean up to constants), so sums of ciphertexts encode sums of messages.

mod boolean;
mod fixed_point;
mod padded_integer;
mod signed_sum;
#[cfg(test)]
mod tests;
mod torus_step;

pub use boolean::Boolean;
pub use fixed_point::FixedPoint;
pub use padded_integer::PaddedInteger;
pub use signed_sum::SignedSum;
pub use torus_step::TorusStep;

use thiserror::Error;

/// Why a value cannot be encoded, a phase decoded, or an encoding made.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum EncodingError {
    #[error("{value} does not fit the encoding, which takes {min} to {max}; use more bits or a larger bound")]
    OutOfRange { value: i64, min: i64, max: i64 },
    #[error(
        "{value} does not fit the fixed-point encoding of magnitude {magnitude}, which takes -{magnitude} up to, but not including, {magnitude}; use a larger magnitude"
    )]
    RealOutOfRange { value: f64, magnitude: f64 },
    #[error(
        "the decrypted phase {phase} of the torus lies in the padding half: a sum exceeded {max}, or noise exceeded half a step; use more carry bits, or a parameter set with less noise"
    )]
    PaddingUsed { phase: f64, max: u64 },
    #[error(
        "{value} is even, but the sign lookup reads odd sums only (an even one could be zero, which has no sign); add one odd constant, or encode without the odd promise"
    )]
    EvenSum { value: i64 },
    #[error(
        "{message_bits} message bits, {carry_bits} carry bits and one padding bit need at least 1 message bit and at most {max} bits in all; lower one of them"
    )]
    Bits { message_bits: u32, carry_bits: u32, max: u32 },
    #[error("a signed sum's bound is 1 to {max}, not {given}; give the greatest absolute value that the sum can reach")]
    Bound { given: u32, max: u32 },
    #[error(
        "a fixed-point magnitude must be positive and finite, not {0}; give the largest absolute value that can occur"
    )]
    Magnitude(f64),
}
