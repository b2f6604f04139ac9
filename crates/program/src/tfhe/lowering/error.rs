//! Why a program cannot be lowered.

use crate::tfhe::dataflow::DataflowError;
use crate::tfhe::homomorphic::NodeId;
use crate::tfhe::kernel::KernelError;
use polyfabric_schemes::tfhe::UnrollingError;
use thiserror::Error;

/// Why a program cannot be lowered with a choice, for a parameter set.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum LoweringError {
    /// The choice wants a key switch, the set has no gadget for one.
    #[error(
        "parameter set {set} has no key-switch gadget, but the choice places a key switch {order}; choose another set, or no key switch"
    )]
    NoKeySwitchKey {
        /// The set.
        set: String,
        /// "before" or "after".
        order: &'static str,
    },
    /// Keys are not made for so many secret bits an iteration.
    #[error(transparent)]
    KeyUnrolling(#[from] UnrollingError),
    /// Look-ups of look-ups need a key switch.
    #[error(
        "{place}{op} {node} reads the result of another look-up, which needs a key switch between them; choose a parameter set with a key-switching key, and with it a key switch before or after the blind rotation"
    )]
    Chained {
        /// "file:line: ", or nothing.
        place: String,
        /// The operation.
        op: &'static str,
        /// The node.
        node: NodeId,
    },
    /// An output mixes ciphertexts under two keys.
    #[error(
        "{place}output {name:?} combines inputs with look-up results, which are under different keys without a key switch; choose a parameter set with a key-switching key, and with it a key switch before or after the blind rotation"
    )]
    MixedKeys {
        /// "file:line: ", or nothing.
        place: String,
        /// Name of the output.
        name: String,
    },
    /// The program cannot be flattened.
    #[error(transparent)]
    Dataflow(#[from] DataflowError),
    /// The kernel program is not consistent.
    #[error(transparent)]
    Kernel(#[from] KernelError),
}
