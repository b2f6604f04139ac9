//! Residue number systems: shared by CKKS, BGV and ring-GSW, on the client and on the server.
//!
//! A ciphertext is a vector of polynomials over R_Q = `Z_Q[X]/(X^N + 1)`, Q = Π q_i. Every polynomial is represented by its residues
//! modulo each prime, the *limbs*.
//!
//! # Conventions
//! - The phase of a ciphertext is Σ_i `parts[i]`·s^i: the body b first, the mask a second.
//! - The ring's table of moduli is q_0, …, q_L, then the special primes p_0, …, p_{k−1}, then any others. A [`LimbId`] is an index into it,
//!   so a number identifies the same prime everywhere.
//! - [`Domain::Evaluation`] is the order of [`polyfabric_kernels::ntt::Ntt`]. Residues are canonical, in [0, q).
//! - A switching key from s' to s has for each digit d a pair (b_d, a_d) with b_d + a_d·s = e_d + g_d·s' ([`gadget`] defines g_d).

pub mod chain;
pub mod ciphertext;
pub mod encryption;
pub mod gadget;
pub mod key;
pub mod key_maker;
pub mod limb;
pub mod packed;
pub mod polynomial;
pub mod reconstruct;
pub mod ring;
pub mod sample;
pub mod secret;
pub mod security;
pub(crate) mod serial;
#[cfg(test)]
mod tests;
pub mod variant;

pub use crate::gaussian::RoundedGaussian;
pub use chain::{ChainError, ChainLink};
pub use ciphertext::Ciphertext;
pub use encryption::PublicKey;
pub use gadget::{Gadget, GadgetError, GadgetLiteral};
pub use key::{KeyErrors, KeyId, KeySet, KeyStorage, MissingKey, Part, SwitchingKey};
pub use key_maker::{KeyMaker, KeyMakerError, KeyRequest, NoiseDistribution};
pub use limb::{Domain, LimbId};
pub use polynomial::RnsPolynomial;
pub use ring::{Ring, RingError};
pub(crate) use secret::joint_problem;
pub use secret::{MOST_PARTIES, SecretDistribution, SecretKey, SecretPolynomial, parties_in};
pub use serial::WantedKeys;
pub use variant::{KeySwitchVariant, VariantError};
