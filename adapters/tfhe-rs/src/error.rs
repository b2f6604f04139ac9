//! Why a key or a batch is not taken.

use polyfabric_machines::MachineError;
use polyfabric_program::tfhe::lowering::{KeySwitchOrder, LoweringError};
use polyfabric_runtime::tfhe::RunError;
use polyfabric_schemes::tfhe::{BatchError, KeyMaterialError, ParameterError};
use thiserror::Error;

/// Why a key or a batch is not taken.
#[derive(Debug, Error)]
pub enum AdapterError {
    /// A modulus of its own.
    #[error(
        "{what} have the modulus {modulus}; make them with CiphertextModulus::new_native(), the modulus of Polyfabric's torus"
    )]
    Modulus {
        /// What has it.
        what: &'static str,
        /// As tfhe-rs writes it.
        modulus: String,
    },
    /// A deviation that is none.
    #[error(
        "the {what} noise has a deviation of {deviation}; give what the key was made with, a fraction of the torus above 0"
    )]
    Deviation {
        /// LWE or GLWE.
        what: &'static str,
        /// What was given.
        deviation: f64,
    },
    /// Keys of two clients, or of two parameter sets.
    #[error(
        "the key-switching key goes from {from} to {to} bits, and the bootstrapping key's results have {large} and its inputs {small}; give keys that were made together"
    )]
    KeySwitch {
        /// Bits of the key that it goes from.
        from: usize,
        /// Bits of the key that it goes to.
        to: usize,
        /// kN.
        large: usize,
        /// n.
        small: usize,
    },
    /// Ciphertexts under another key than the batch reads.
    #[error(
        "the ciphertexts have {given} mask elements, and with the key switch {order:?} the look-up they have {expected}; choose another order, or other ciphertexts"
    )]
    Dimension {
        /// Place of the key switch.
        order: KeySwitchOrder,
        /// Mask elements of its inputs.
        expected: usize,
        /// Mask elements that were given.
        given: usize,
    },
    /// Look-up tables of another ring.
    #[error(
        "the look-up tables have k = {} and N = {}, and the bootstrapping key k = {} and N = {}; make them for this key", given.0, given.1, expected.0, expected.1
    )]
    TableSize {
        /// k and N of the key.
        expected: (usize, usize),
        /// k and N of the tables.
        given: (usize, usize),
    },
    /// Neither one look-up table nor one for each ciphertext.
    #[error("{tables} look-up tables for {ciphertexts} ciphertexts; give one for all, or one for each")]
    TableCount {
        /// Ciphertexts of the batch.
        ciphertexts: usize,
        /// Look-up tables.
        tables: usize,
    },
    /// A look-up table that is encrypted.
    #[error(
        "look-up table {index} is encrypted: its mask is not 0; give a trivial GLWE ciphertext, as generate_programmable_bootstrap_glwe_lut makes it"
    )]
    EncryptedTable {
        /// Its number.
        index: usize,
    },
    /// A machine's numbers left their width.
    #[error(
        "{count} values left their fixed-point width on {machine}, so that results may be wrong; take a machine with widths for this set, as `polyfabric widths` derives them"
    )]
    Saturated {
        /// The machine.
        machine: String,
        /// How many.
        count: u64,
    },
    /// The keys' dimensions are no parameter set.
    #[error(transparent)]
    Parameters(#[from] ParameterError),
    /// The keys' numbers are no server key.
    #[error(transparent)]
    Key(#[from] KeyMaterialError),
    /// The ciphertexts are no batch.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// The batch cannot be lowered.
    #[error(transparent)]
    Lowering(#[from] LoweringError),
    /// The batch cannot run.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The machine does not take the batch.
    #[error(transparent)]
    Machine(#[from] MachineError),
}
