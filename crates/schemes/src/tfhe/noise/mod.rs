//! How noisy a phase is after each operation, and how likely it decodes wrong.
//!
//! Variances are of the phase's error, in fractions of the torus squared; every operation either gives its output's variance or
//! what it *adds*. Errors of different operations are taken as independent and centred, key bits as uniform.
//!
//! | operation | function | adds |
//! |---|---|---|
//! | encryption | [`fresh`] | – |
//! | Σ w_i c_i | [`linear`] | Σ w_i² V_i |
//! | key switch | [`key_switch`] | to its input |
//! | modulus switch to 2N | [`modulus_switch`], [`modulus_switch_with`] | to its input |
//! | one CMUX | [`external_product`] | to the accumulator |
//! | blind rotation and sample extraction | [`blind_rotation`] | independent of the input |
//!
//! A look-up fails when the error at its input, modulus switch included, exceeds the encoding's margin:
//! [`failure_probability_log2`].
//!
//! The equations are those of Chillotti, Gama, Georgieva, Izabachène, "TFHE: fast fully homomorphic encryption over the torus",
//! J. Cryptology 33, 2020, sections 3–4, as variances under the usual heuristics (Bergerat et al., "Parameter optimization and larger
//! precision for (T)FHE", J. Cryptology 36, 2023, section 3), with two terms spelt out that matter on a 32-bit torus: digits and rounding
//! errors of a two's complement decomposition have a mean of half a unit. Tests hold each against measured noise.

mod operations;
mod probability;
#[cfg(test)]
mod tests;

pub(crate) use operations::Figures;
pub use operations::{
    PhaseRounding, Transform, blind_rotation, blind_rotation_unrolled, blind_rotation_with, external_product, fresh,
    key_switch, linear, modulus_switch, modulus_switch_with, squared_norm, transform_error,
};
pub use probability::{failure_probability_log2, ln_erfc, sum_log2, union_log2};
