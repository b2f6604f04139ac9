//! Errors of the lowering.

use crate::tfhe::dataflow::DataflowError;
use crate::tfhe::homomorphic::NodeId;
use crate::tfhe::kernel::KernelError;
use polyfabric_schemes::tfhe::UnrollingError;
use thiserror::Error;

#[derive(Clone, Debug, Error, PartialEq)]
pub enum LoweringError {
    #[error(
        "parameter set {set} has no key-switch gadget, but each blind rotation has a key switch {order}; choose another set, or no key switch"
    )]
    NoKeySwitchKey {
        set: String,
        /// "before" or "after".
        order: &'static str,
    },
    #[error(transparent)]
    KeyUnrolling(#[from] UnrollingError),
    #[error(
        "{place}{op} {node} reads the result of another lookup, which needs a key switch between them; choose a parameter set with a key-switching key, and with it a key switch before or after the blind rotation"
    )]
    Chained {
        /// "file:line: ", or nothing.
        place: String,
        op: &'static str,
        node: NodeId,
    },
    #[error(
        "{place}output {name:?} combines inputs with lookup results, which are under different keys without a key switch; choose a parameter set with a key-switching key, and with it a key switch before or after the blind rotation"
    )]
    MixedKeys {
        /// "file:line: ", or nothing.
        place: String,
        name: String,
    },
    #[error(
        "{place}{op} {node} reads a wide table by circuit bootstrapping, which parameter set {set} does not have; choose a set with it"
    )]
    NoCircuit {
        /// "file:line: ", or nothing.
        place: String,
        op: &'static str,
        node: NodeId,
        set: String,
    },
    #[error(transparent)]
    Dataflow(#[from] DataflowError),
    #[error(transparent)]
    Kernel(#[from] KernelError),
}
