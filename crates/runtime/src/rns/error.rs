//! Why a kernel program cannot run.

use crate::gpu::GpuError;
use polyfabric_kernels::IsaError;
use polyfabric_program::rns::kernel::{KernelError, LimbSet};
use polyfabric_schemes::rns::{Domain, KeyId, LimbId, MissingKey};
use thiserror::Error;

/// Why a kernel program cannot run with the given keys and inputs.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RunError {
    /// The program is not consistent.
    #[error("the kernel program is not consistent: {0}")]
    Program(#[from] KernelError),
    /// The keys are of another ring.
    #[error(
        "the program is over a ring of degree {program} with {program_limbs} moduli, the keys over one of degree {keys} with {keys_limbs}; make the keys for the program's ring"
    )]
    Ring {
        /// The program's N.
        program: usize,
        /// The program's moduli.
        program_limbs: usize,
        /// The keys' N.
        keys: usize,
        /// The keys' moduli.
        keys_limbs: usize,
    },
    /// A modulus of the table is another one in the keys' ring.
    #[error(
        "limb {limb} is modulo {program} in the program, modulo {keys} in the keys' ring; make the keys for the program's ring"
    )]
    Modulus {
        /// The limb.
        limb: LimbId,
        /// The program's modulus.
        program: u64,
        /// The keys' modulus.
        keys: u64,
    },
    /// A key is not in the set.
    #[error(transparent)]
    Key(#[from] MissingKey),
    /// A key has fewer rows than the program reads.
    #[error(
        "{key} has {found} rows, the program reads {needed}; make it for the gadget that the program is lowered with"
    )]
    KeyRows {
        /// The key.
        key: KeyId,
        /// Its rows.
        found: usize,
        /// The rows that are read.
        needed: usize,
    },
    /// A key lacks a limb that the program reads.
    #[error(
        "{key} has no limb {limb}, which the program reads; make it for the gadget that the program is lowered with"
    )]
    KeyLimb {
        /// The key.
        key: KeyId,
        /// The limb.
        limb: LimbId,
    },
    /// Too few or too many inputs.
    #[error("{given} polynomials are given, the program takes {needed}; give one for each of its inputs, in order")]
    InputCount {
        /// How many are given.
        given: usize,
        /// How many it takes.
        needed: usize,
    },
    /// An input is not of the program's type.
    #[error(
        "part {part} of input {name:?} has degree {degree}, limbs {limbs}, domain {domain:?}; the program takes degree {needed_degree}, limbs {needed_limbs}, domain {needed_domain:?}"
    )]
    InputType {
        /// Name of the input.
        name: String,
        /// Its part.
        part: u16,
        /// The degree that is given.
        degree: usize,
        /// The limbs that are given.
        limbs: LimbSet,
        /// The domain that is given.
        domain: Domain,
        /// The program's degree.
        needed_degree: usize,
        /// The limbs that the program takes.
        needed_limbs: LimbSet,
        /// The domain that the program takes.
        needed_domain: Domain,
    },
    /// A word of an input is not a residue.
    #[error("part {part} of input {name:?}: a word of limb {limb} is not below its modulus {modulus}; reduce it")]
    NotCanonical {
        /// Name of the input.
        name: String,
        /// Its part.
        part: u16,
        /// The limb.
        limb: LimbId,
        /// q.
        modulus: u64,
    },
    /// The threads cannot be started.
    #[error("{threads} threads cannot be started: {cause}; ask for fewer")]
    Threads {
        /// How many.
        threads: usize,
        /// Why.
        cause: String,
    },
    /// What a card cannot do or hold.
    #[error(transparent)]
    Gpu(#[from] GpuError),
    /// The instruction set asked for is not there.
    #[error(transparent)]
    Isa(#[from] IsaError),
}
