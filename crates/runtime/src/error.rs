//! Why a kernel program cannot run.

use polyfabric_program::kernel::KernelError;
use polyfabric_schemes::tfhe::LweKind;
use thiserror::Error;

/// Why a kernel program cannot run on the given key and inputs.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum RunError {
    /// The program is not consistent.
    #[error("the kernel program is not consistent: {0}")]
    Program(#[from] KernelError),
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
