//! Noise of a phase after each operation, and the probability of wrong decoding.
//!
//! Each function gives the error of its output's phase, or the error that an operation *adds*: a variance, in fractions of the torus squared,
//! and the deviation of a mean shared by all errors of one key ([`Noise`]). Random parts of different operations are assumed independent. A
//! figure covers every accepted key (with the mean energy of a key switch's rows), or the average over keys ([`Keys`]).
//!
//! | operation | function | adds |
//! |---|---|---|
//! | encryption | [`fresh`] | – |
//! | Σ w_i c_i | [`linear`] | Σ w_i² V_i |
//! | key switch | [`key_switch`] | to its input |
//! | modulus switch to 2N | [`modulus_switch`], [`modulus_switch_with`] | to its input |
//! | one CMUX | [`external_product`] | to the accumulator |
//! | blind rotation and sample extraction | [`blind_rotation`] | independent of the input |
//! | circuit bootstrapping and a table | [`Formulas::wide_lookup`] | independent of the input |
//!
//! A PBS fails if the error of its input, including the modulus switch, exceeds the encoding's margin: [`Noise::failure_log2`].
//!
//! The equations are those of Chillotti, Gama, Georgieva, Izabachène, "TFHE: fast fully homomorphic encryption over the torus",
//! J. Cryptology 33, 2020, sections 3–4, as variances under the usual heuristics (Bergerat et al., "Parameter optimization and larger
//! precision for (T)FHE", J. Cryptology 36, 2023, section 3). Two further terms matter on a 32-bit torus: the digits and rounding errors of
//! a two's complement decomposition have a mean of half a unit. Tests compare each formula with measured noise.

mod circuit;
mod keys;
mod operations;
mod probability;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tfhe_rs_comparison;

pub use circuit::CircuitNoise;
pub use keys::{Keys, LOSS_BITS, MEAN_BOUND, Noise, SHARED_ITERATIONS, SHARED_TABLES};
pub use operations::{
    Formulas, PhaseRounding, Transform, blind_rotation, blind_rotation_with, external_product, fresh, key_switch,
    linear, modulus_switch, modulus_switch_with, squared_norm, transform_error,
};
pub use probability::{failure_probability_log2, sum_log2, union_log2};
