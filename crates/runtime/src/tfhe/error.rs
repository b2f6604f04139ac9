//! Why a kernel program cannot run.

use crate::gpu::GpuError;
use polyfabric_kernels::IsaError;
use polyfabric_kernels::fixed::FixedSpecError;
use polyfabric_program::tfhe::kernel::KernelError;
use polyfabric_schemes::tfhe::LweKind;
use thiserror::Error;

/// Why a kernel program cannot run on the given key and inputs.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum RunError {
    /// The program is not consistent.
    #[error("the kernel program is not consistent: {0}")]
    Program(#[from] KernelError),
    /// The key consumes another number of secret bits an iteration.
    #[error(
        "the program is lowered for {program} secret bit(s) an iteration, but the server key is made for {key}; lower it with key_unrolling = {key}, or make the key for {program}"
    )]
    Unrolling {
        /// The program's.
        program: u32,
        /// The key's.
        key: u32,
    },
    /// The key belongs to another parameter set.
    #[error(
        "the program is lowered for parameter set {program}, but the server key is of {key} or differs in its figures; lower the program for the key's set, or load the matching key"
    )]
    Parameters {
        /// The program's set.
        program: String,
        /// The key's set.
        key: String,
    },
    /// The program's torus has another width than the key's type.
    #[error(
        "the program works on a {program}-bit torus, but the ciphertexts have {given} bits; use the executor of the right width"
    )]
    TorusBits {
        /// Width of the program's set.
        program: u32,
        /// Width of the ciphertexts.
        given: u32,
    },
    /// The fixed-point arithmetic is not possible.
    #[error("the program's fixed-point arithmetic: {0}")]
    Fixed(#[from] FixedSpecError),
    /// The fixed-point arithmetic is made for another ring.
    #[error(
        "the program's fixed-point arithmetic is specified for ring degree {spec}, but parameter set {set} has {ring_degree}; specify it for the set"
    )]
    FixedDegree {
        /// Degree of the specification.
        spec: usize,
        /// The set.
        set: String,
        /// Its degree.
        ring_degree: usize,
    },
    /// Fixed-point values left their width: the outputs may be wrong.
    #[error(
        "{count} fixed-point values left their width during the run, so the outputs may be wrong; widen the arithmetic, or give it a larger range"
    )]
    Saturated {
        /// How many.
        count: u64,
    },
    /// The program's arithmetic is not the CPU and GPU runtimes'.
    #[error(
        "the program is lowered for {arithmetic} arithmetic, but the CPU and GPU runtimes compute in f64; lower it for f64, or run it in the interpreter"
    )]
    Arithmetic {
        /// The program's arithmetic.
        arithmetic: String,
    },
    /// The card cannot.
    #[error(transparent)]
    Gpu(#[from] GpuError),
    /// Ciphertexts under another key than an operation reads.
    #[error("{what}: ciphertexts of dimension {found} given, but it reads dimension {expected}")]
    Dimension {
        /// The operation.
        what: &'static str,
        /// Mask elements given.
        found: usize,
        /// Mask elements needed.
        expected: usize,
    },
    /// The system refused to start the threads.
    #[error("{threads} threads could not be started ({cause}); ask for fewer")]
    Threads {
        /// Threads asked for.
        threads: usize,
        /// The system's words.
        cause: String,
    },
    /// The instruction set asked for is not there.
    #[error(transparent)]
    Isa(#[from] IsaError),
    /// A key switch without key.
    #[error(
        "the program switches keys, but the server key of {set} holds no key-switch key; generate it for a set with a key-switch gadget"
    )]
    NoKeySwitchKey {
        /// The set.
        set: String,
    },
    /// An input is missing.
    #[error("input {name:?} is missing; give {count} ciphertexts under the {} key", kind_name(*.kind))]
    MissingInput {
        /// Name of the input.
        name: String,
        /// Ciphertexts needed.
        count: usize,
        /// Key they must be under.
        kind: LweKind,
    },
    /// Ciphertexts for an input that does not exist.
    #[error("the program has no input {name:?}; its inputs are {known}")]
    UnknownInput {
        /// The unknown name.
        name: String,
        /// The inputs.
        known: String,
    },
    /// An input has the wrong number of ciphertexts, or is under the wrong key.
    #[error(
        "input {name:?} holds {found} ciphertexts of dimension {found_dimension}, but the program takes {count} of dimension {dimension} ({} key); encrypt it so",
        kind_name(*.kind)
    )]
    InputShape {
        /// Name of the input.
        name: String,
        /// Ciphertexts given.
        found: usize,
        /// Their dimension.
        found_dimension: usize,
        /// Ciphertexts needed.
        count: usize,
        /// Dimension needed.
        dimension: usize,
        /// Key needed.
        kind: LweKind,
    },
}

fn kind_name(kind: LweKind) -> &'static str {
    match kind {
        LweKind::Small => "small",
        LweKind::Large => "large",
    }
}
