//! The reasons why a key or a batch is refused.

use polyfabric_machines::MachineError;
use polyfabric_program::tfhe::lowering::{KeySwitchOrder, LoweringError};
use polyfabric_runtime::tfhe::RunError;
use polyfabric_schemes::tfhe::{BatchError, KeyMaterialError, ParameterError};
use thiserror::Error;

/// The reason why a key or a batch is refused.
#[derive(Debug, Error)]
pub enum AdapterError {
    /// A modulus that is not native.
    #[error(
        "{what} have the modulus {modulus}; make them with CiphertextModulus::new_native(), the modulus of Polyfabric's torus"
    )]
    Modulus {
        /// The object with this modulus.
        what: &'static str,
        /// The modulus, as tfhe-rs prints it.
        modulus: String,
    },
    /// An invalid standard deviation.
    #[error(
        "the {what} noise has a deviation of {deviation}; give what the key was made with, a fraction of the torus above 0"
    )]
    Deviation {
        /// LWE or GLWE.
        what: &'static str,
        /// The value that was passed.
        deviation: f64,
    },
    /// Keys of different clients, or of different parameter sets.
    #[error(
        "the key-switching key goes from {from} to {to} bits, and the bootstrapping key's results have {large} and its inputs {small}; give keys that were made together"
    )]
    KeySwitch {
        /// Bits of the source key.
        from: usize,
        /// Bits of the target key.
        to: usize,
        /// kN.
        large: usize,
        /// n.
        small: usize,
    },
    /// Ciphertexts under a different key than the batch expects.
    #[error(
        "the ciphertexts have {given} mask elements, and with the key switch {order:?} the lookup they have {expected}; choose another order, or other ciphertexts"
    )]
    Dimension {
        /// Position of the key switch.
        order: KeySwitchOrder,
        /// Mask elements that the batch expects.
        expected: usize,
        /// Mask elements that were passed.
        given: usize,
    },
    /// Lookup tables of another ring.
    #[error(
        "the lookup tables have k = {} and N = {}, and the bootstrapping key k = {} and N = {}; make them for this key", given.0, given.1, expected.0, expected.1
    )]
    TableSize {
        /// k and N of the key.
        expected: (usize, usize),
        /// k and N of the tables.
        given: (usize, usize),
    },
    /// The number of lookup tables is neither one nor one for each ciphertext.
    #[error("{tables} lookup tables for {ciphertexts} ciphertexts; give one for all, or one for each")]
    TableCount {
        /// Number of ciphertexts in the batch.
        ciphertexts: usize,
        /// Number of lookup tables.
        tables: usize,
    },
    /// A lookup table that is encrypted.
    #[error(
        "lookup table {index} is encrypted: its mask is not 0; give a trivial GLWE ciphertext, as generate_programmable_bootstrap_glwe_lut makes it"
    )]
    EncryptedTable {
        /// Index of the table.
        index: usize,
    },
    /// A machine's numbers overflowed.
    #[error(
        "{count} values left their fixed-point width on {machine}, so that results may be wrong; take a machine with widths for this set, as `polyfabric widths` derives them"
    )]
    Saturated {
        /// The machine.
        machine: String,
        /// Number of overflows.
        count: u64,
    },
    /// The keys' dimensions are not a valid parameter set.
    #[error(transparent)]
    Parameters(#[from] ParameterError),
    /// The keys' numbers are not a valid server key.
    #[error(transparent)]
    Key(#[from] KeyMaterialError),
    /// The ciphertexts are not a valid batch.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// The batch cannot be lowered.
    #[error(transparent)]
    Lowering(#[from] LoweringError),
    /// The batch cannot run.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The machine refuses the batch.
    #[error(transparent)]
    Machine(#[from] MachineError),
}
