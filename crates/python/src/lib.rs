//! Python bindings of the Rust crates, as `polyfabric._native`. They make no decisions; `python/polyfabric` is the public interface.

mod card;
mod failure;
mod gpu;
mod integers;
mod isa;
mod kernel;
mod keys;
mod lanes;
mod machine;
mod parameters;
mod program;
mod progress;
mod public_key;
mod rns;
mod run;
mod signature;
mod storage;
mod tfhe;
mod workers;

use pyo3::prelude::*;

#[pymodule]
mod _native {
    #[pymodule_export]
    const DEFAULT_FAILURE_LOG2: f64 = polyfabric_planner::DEFAULT_FAILURE_LOG2;
    #[pymodule_export]
    use crate::gpu::{gpu, gpu_card, gpu_for_slots, gpu_kernels, gpu_layout, gpu_peak, gpu_slot_kernels};
    #[pymodule_export]
    use crate::isa::instruction_set;
    #[pymodule_export]
    use crate::kernel::{PyKernelProgram, rotation_transforms};
    #[pymodule_export]
    use crate::keys::{PyCiphertexts, PyClientKey, PyServerKey};
    #[pymodule_export]
    use crate::machine::{PyMachine, PyMappedKernel, machine_names, machine_options};
    #[pymodule_export]
    use crate::parameters::{PyParameters, default_parameter_names, parameter_names};
    #[pymodule_export]
    use crate::program::{PyElementType, PyProgram, PyProgramBuilder};
    #[pymodule_export]
    use crate::public_key::PyPublicKey;
    #[pymodule_export]
    use crate::rns::{
        PyJointParty, PyJointSession, PyMapped, PyMappedRounds, PyRnsBuilder, PyRnsCiphertexts, PyRnsClient,
        PyRnsKernel, PyRnsParameters, PyRnsPlan, PyRnsProgram, PyRnsPublicKey, PyRnsServer, PyRnsSignature,
        PyRoundsMapper, composite_sign, let_go, slot_parameter_sets,
    };
    #[pymodule_export]
    use crate::signature::PySignature;
    #[pymodule_export]
    use crate::storage::{file_kind, pack_ciphertexts, unpack_ciphertexts};
    #[pymodule_export]
    use crate::tfhe::{built_in, built_in_names};
    #[pymodule_export]
    use crate::workers::watch;
}
