//! TFHE: parameters, keys, encryption, encodings, noise, files.
//!
//! Conventions: torus elements are wrapping `u32` or `u64` ([`polyfabric_kernels::Torus`]); secrets are binary; an LWE ciphertext is
//! (a_0, …, a_{n-1}, b) with phase b − Σ a_i s_i; a GLWE ciphertext is (A_0, …, A_{k-1}, B) with phase B − Σ A_j S_j.

pub mod circuit_key;
pub mod circuit_privacy;
pub mod client_key;
pub mod dimension;
pub mod encoding;
pub mod glwe;
mod key_material;
pub mod lwe;
pub mod noise;
pub mod optimiser;
pub mod parameters;
pub mod public_key;
pub(crate) mod public_zeros;
pub mod secret;
pub mod security;
pub mod serial;
pub mod server_key;
pub mod sets;
pub mod table;
pub mod unrolling;

pub use crate::random;
pub use client_key::{AnyClientKey, ClientKey, KeyError};
pub use dimension::{DimensionError, GlweDimension, LweDimension};
pub use glwe::GlweSecretKey;
pub use key_material::KeyMaterialError;
pub use lwe::{BatchError, LweBatch, LweKind, LweSecretKey};
pub use parameters::{CircuitGadgets, ParameterError, Parameters, ParametersLiteral};
pub use public_key::{AnyPublicKey, CompactBatch, PublicKey};
pub use random::RandomnessError;
pub use secret::Secret;
pub use server_key::{
    AnyCompressedServerKey, AnyServerKey, CompressedServerKey, KeyProgress, OnProgress, ServerKey, no_progress,
};
pub use table::{Capacity, SetRow, TransformRow, table, transform_row};
pub use unrolling::{KeyUnrolling, UnrollingError};
