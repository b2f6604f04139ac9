//! Sizes of a TFHE program's keys and ciphertexts, and the memory of its server.

use crate::memory::{peak, threads};
use crate::{Fault, PlanError};
use polyfabric_program::tfhe::kernel::{KernelProgram, ValueType};
use polyfabric_runtime::tfhe::cpu::Buffers;
use serde::Serialize;

/// Sizes in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// Evaluation keys, before transforms.
    pub server_key: u64,
    /// Evaluation keys in their transport form.
    pub server_key_compressed: u64,
    /// Evaluation keys in the forms that executions of the program derive.
    pub server_key_transformed: u64,
    /// Secret keys.
    pub client_key: u64,
    /// Ciphertexts of all inputs.
    pub inputs: u64,
    /// Ciphertexts of all outputs.
    pub outputs: u64,
    /// Intermediate values of an execution at their peak, including inputs.
    pub values: u64,
    /// Peak memory of a server on this computer: process, keys in every form, inputs, intermediate values, and outputs.
    pub server: u64,
}

impl Memory {
    /// The sizes for a kernel program.
    ///
    /// # Errors
    /// [`Fault::Internal`] if keys do not support its unrolling.
    pub fn of(kernel: &KernelProgram) -> Result<Self, PlanError> {
        let set = &kernel.parameters;
        let unrolling = set.unrolling(Some(kernel.choice.key_unrolling)).map_err(PlanError::of(Fault::Internal))?;
        let word = u64::from(set.torus_bits() / 8);
        let bytes = |result: ValueType| match result {
            ValueType::Lwe { count, dimension, .. } => count as u64 * (dimension as u64 + 1) * word,
            ValueType::Indices { .. } | ValueType::Glwe { .. } | ValueType::Ggsw { .. } => 0,
        };
        let inputs: u64 = kernel.inputs().map(|(_, _, result)| bytes(result)).sum();
        let outputs: u64 = kernel.outputs.iter().map(|output| bytes(kernel.op(output.value).result)).sum();
        let client_key = set.lwe_dimension().get() + set.large_lwe_dimension().get();
        let server_key = set.server_key_bytes(unrolling);
        let buffers = Buffers::of(kernel, unrolling, threads()).map_err(PlanError::of(Fault::Internal))?;
        let server_key_compressed = set.compressed_key_bytes(unrolling);
        // The allocator retains the memory of the transport form after expansion; outputs are copies of computed values.
        let held = server_key_compressed + server_key + buffers.keys + inputs + buffers.values + outputs;
        Ok(Self {
            server_key,
            server_key_compressed,
            server_key_transformed: buffers.keys,
            client_key: client_key as u64,
            inputs,
            outputs,
            values: buffers.values,
            server: peak(held),
        })
    }
}
