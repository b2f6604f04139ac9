//! Why a kernel program cannot run.

use crate::gpu_error::GpuError;
use polyfabric_kernels::IsaError;
use polyfabric_kernels::fixed::FixedSpecError;
use polyfabric_program::tfhe::kernel::KernelError;
use polyfabric_schemes::tfhe::LweKind;
use thiserror::Error;

/// Why a kernel program cannot run with this key and these inputs.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum RunError {
    #[error("the kernel program is inconsistent: {0}")]
    Program(#[from] KernelError),
    #[error(
        "the program is lowered for {program} secret bit(s) an iteration, but the server key is made for {key}; lower it with key_unrolling = {key}, or make the key for {program}"
    )]
    Unrolling { program: u32, key: u32 },
    #[error(
        "the program is lowered for parameter set {program}, but the server key is of {key} or differs in its figures; lower the program for the key's set, or load the matching key"
    )]
    Parameters { program: String, key: String },
    #[error(
        "the program works on a {program}-bit torus, but the ciphertexts have {given} bits; use the executor of the right width"
    )]
    TorusBits { program: u32, given: u32 },
    #[error("the program's fixed-point arithmetic: {0}")]
    Fixed(#[from] FixedSpecError),
    #[error(
        "the program's fixed-point arithmetic is specified for ring degree {spec}, but parameter set {set} has {ring_degree}; specify it for the set"
    )]
    FixedDegree { spec: usize, set: String, ring_degree: usize },
    #[error(
        "{count} fixed-point values saturated during the run, so the outputs may be wrong; widen the arithmetic, or give it a larger range"
    )]
    Saturated { count: u64 },
    #[error(
        "the program is lowered for {arithmetic} arithmetic, but the CPU and GPU runtimes compute in f64; lower it for f64, or run it in the interpreter"
    )]
    Arithmetic { arithmetic: String },
    #[error(transparent)]
    Gpu(#[from] GpuError),
    #[error("{what}: the ciphertexts have dimension {found}, but it reads dimension {expected}")]
    Dimension { what: &'static str, found: usize, expected: usize },
    #[error("{executions} executions together have more than 2^32 ciphertexts; execute fewer at a time")]
    TooMany { executions: usize },
    #[error("{threads} threads could not be started ({cause}); ask for fewer")]
    Threads { threads: usize, cause: String },
    #[error(transparent)]
    Isa(#[from] IsaError),
    #[error(
        "the program switches keys, but the server key of {set} holds no key-switch key; generate it for a set with a key-switch gadget"
    )]
    NoKeySwitchKey { set: String },
    #[error(
        "the program has circuit bootstrapping, but the server key of {set} holds no key for it; generate it for a set with circuit gadgets"
    )]
    NoCircuitKey { set: String },
    #[error(
        "the program has circuit bootstrapping, which {place} does not have; give tables=\"lookups\" (--tables lookups), or run it on the processor"
    )]
    NoCircuit {
        /// "the GPU", or an arithmetic.
        place: &'static str,
    },
    #[error("input {name:?} is missing; give {count} ciphertexts under the {} key", kind_name(*.kind))]
    MissingInput { name: String, count: usize, kind: LweKind },
    #[error("the program has no input {name:?}; its inputs are {known}")]
    UnknownInput { name: String, known: String },
    #[error(
        "input {name:?} holds {found} ciphertexts of dimension {found_dimension}, but the program takes {count} of dimension {dimension} ({} key); encrypt it so",
        kind_name(*.kind)
    )]
    InputShape { name: String, found: usize, found_dimension: usize, count: usize, dimension: usize, kind: LweKind },
}

fn kind_name(kind: LweKind) -> &'static str {
    match kind {
        LweKind::Small => "small",
        LweKind::Large => "large",
    }
}
