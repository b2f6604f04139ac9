//! Messages as torus elements, and back from noisy phases.
//!
//! | encoding | message | torus value | read by |
//! |---|---|---|---|
//! | [`Boolean`] | false, true | −1/8, +1/8 | the sign |
//! | [`PaddedInteger`] | 0 ≤ v < 2^(message + carry bits) | v / 2^(1 + message + carry bits) | rounding; the top half of the torus stays free for look-ups |
//! | [`SignedSum`] | −S ≤ v ≤ S | v / P, P = 2(S + 1) | rounding, or a sign look-up over the whole torus (odd sums) |
//! | [`FixedPoint`] | −m ≤ x < m | x / 2m | scaling |
//!
//! The two integer ones are multiples of a [`TorusStep`], which programs use with steps of their own choosing.
//! All of them are linear in the message (the Boolean one up to constants), so sums of ciphertexts encode sums of messages.

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

/// Why a value cannot be encoded or a phase not decoded, or an encoding not be made.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum EncodingError {
    /// An integer outside the message space.
    #[error("{value} does not fit the encoding, which takes {min} to {max}; use more bits or a larger bound")]
    OutOfRange {
        /// The offending value.
        value: i64,
        /// Least value taken.
        min: i64,
        /// Greatest value taken.
        max: i64,
    },
    /// A real outside the interval, or not a number.
    #[error(
        "{value} does not fit the fixed-point encoding of magnitude {magnitude}, which takes -{magnitude} up to, but not including, {magnitude}; use a larger magnitude"
    )]
    RealOutOfRange {
        /// The offending value.
        value: f64,
        /// m.
        magnitude: f64,
    },
    /// The phase fell into the half of the torus that padding keeps free.
    #[error(
        "the decrypted phase {phase} of the torus lies in the padding half: a sum exceeded {max}, or noise exceeded half a step; use more carry bits, or a parameter set with less noise"
    )]
    PaddingUsed {
        /// The phase, a fraction of the torus in [-1/2, 1/2).
        phase: f64,
        /// Greatest value the encoding takes.
        max: u64,
    },
    /// Even sums where odd ones are promised, or the reverse of a decoded parity.
    #[error(
        "{value} is even, but the sign look-up reads odd sums only (an even one could be zero, which has no sign); add one odd constant, or encode without the odd promise"
    )]
    EvenSum {
        /// The offending value.
        value: i64,
    },
    /// Bits that no torus holds.
    #[error(
        "{message_bits} message bits, {carry_bits} carry bits and one padding bit need at least 1 message bit and at most {max} bits in all; lower one of them"
    )]
    Bits {
        /// Message bits.
        message_bits: u32,
        /// Carry bits.
        carry_bits: u32,
        /// Greatest number of bits in all, padding included.
        max: u32,
    },
    /// A bound that no torus holds.
    #[error("a signed sum's bound is 1 to {max}, not {given}; give the greatest absolute value that the sum can reach")]
    Bound {
        /// The offending bound.
        given: u32,
        /// The greatest bound.
        max: u32,
    },
    /// A magnitude that is not a positive number.
    #[error(
        "a fixed-point magnitude must be positive and finite, not {0}; give the largest absolute value that can occur"
    )]
    Magnitude(f64),
}
