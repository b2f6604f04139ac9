//! Why a kernel program cannot run.

use crate::gpu_error::GpuError;
use polyfabric_kernels::IsaError;
use polyfabric_program::rns::kernel::{KernelError, LimbSet};
use polyfabric_schemes::rns::{Domain, KeyId, LimbId, MissingKey};
use thiserror::Error;

/// Why a kernel program cannot run with these keys and inputs.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RunError {
    #[error("the kernel program is inconsistent: {0}")]
    Program(#[from] KernelError),
    #[error(
        "the program is over a ring of degree {program} with {program_limbs} moduli, the keys over one of degree {keys} with {keys_limbs}; make the keys for the program's ring"
    )]
    Ring { program: usize, program_limbs: usize, keys: usize, keys_limbs: usize },
    #[error(
        "limb {limb} is modulo {program} in the program, modulo {keys} in the keys' ring; make the keys for the program's ring"
    )]
    Modulus { limb: LimbId, program: u64, keys: u64 },
    #[error(transparent)]
    Key(#[from] MissingKey),
    #[error(
        "{key} has {found} rows, but the program reads {needed}; make it for the gadget that the program is lowered with"
    )]
    KeyRows { key: KeyId, found: usize, needed: usize },
    #[error(
        "{key} has no limb {limb}, which the program reads; make it for the gadget that the program is lowered with"
    )]
    KeyLimb { key: KeyId, limb: LimbId },
    #[error("{given} polynomials are given, but the program takes {needed}; give one for each of its inputs, in order")]
    InputCount { given: usize, needed: usize },
    #[error(
        "part {part} of input {name:?} has degree {degree}, limbs {limbs}, domain {domain:?}, but the program takes degree {needed_degree}, limbs {needed_limbs}, domain {needed_domain:?}"
    )]
    InputType {
        name: String,
        part: u16,
        degree: usize,
        limbs: LimbSet,
        domain: Domain,
        needed_degree: usize,
        needed_limbs: LimbSet,
        needed_domain: Domain,
    },
    #[error("part {part} of input {name:?}: a word of limb {limb} is not below its modulus {modulus}; reduce it")]
    NotCanonical { name: String, part: u16, limb: LimbId, modulus: u64 },
    #[error("{threads} threads cannot be started: {cause}; ask for fewer")]
    Threads { threads: usize, cause: String },
    #[error(transparent)]
    Gpu(#[from] GpuError),
    #[error(transparent)]
    Isa(#[from] IsaError),
}
