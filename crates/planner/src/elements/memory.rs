//! What keys and ciphertexts of a program of TFHE take.

use crate::memory::{peak, threads};
use crate::{Fault, PlanError};
use polyfabric_program::tfhe::kernel::{KernelProgram, ValueType};
use polyfabric_runtime::tfhe::cpu::Buffers;
use polyfabric_schemes::tfhe::KeyUnrolling;
use serde::Serialize;

/// Bytes of keys and ciphertexts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// Of the keys that a server holds, before it transforms them.
    pub server_key: u64,
    /// Of the same in their transport form.
    pub server_key_compressed: u64,
    /// Of the same in the forms that executions of the program make of them.
    pub server_key_transformed: u64,
    /// Of the client's keys.
    pub client_key: u64,
    /// Of the ciphertexts of all inputs.
    pub inputs: u64,
    /// Of the ciphertexts of all outputs.
    pub outputs: u64,
    /// Of a server at its peak, while it executes the program on this computer: its process, keys in every form, inputs, what is computed, and outputs.
    pub server: u64,
}

impl Memory {
    /// What keys and ciphertexts of a kernel program take.
    ///
    /// # Errors
    /// [`Fault::Internal`] if it takes secret bits that keys are not made for.
    pub fn of(kernel: &KernelProgram) -> Result<Self, PlanError> {
        let set = &kernel.parameters;
        let unrolling = KeyUnrolling::new(kernel.choice.key_unrolling).map_err(PlanError::of(Fault::Internal))?;
        let word = u64::from(set.torus_bits() / 8);
        let bytes = |result: ValueType| match result {
            ValueType::Lwe { count, dimension, .. } => count as u64 * (dimension as u64 + 1) * word,
            ValueType::Indices { .. } | ValueType::Glwe { .. } => 0,
        };
        let inputs: u64 = kernel.inputs().map(|(_, _, result)| bytes(result)).sum();
        let outputs: u64 = kernel.outputs.iter().map(|output| bytes(kernel.op(output.value).result)).sum();
        let client_key = set.lwe_dimension().get() + set.large_lwe_dimension().get();
        let server_key = set.server_key_bytes(unrolling);
        let buffers = Buffers::of(kernel, unrolling, threads()).map_err(PlanError::of(Fault::Internal))?;
        let server_key_compressed = set.compressed_key_bytes(unrolling);
        // The allocator keeps what the transport form took, from which keys are expanded; outputs are copied from what was computed.
        let held = server_key_compressed + server_key + buffers.keys + inputs + buffers.values + outputs;
        Ok(Self {
            server_key,
            server_key_compressed,
            server_key_transformed: buffers.keys,
            client_key: client_key as u64,
            inputs,
            outputs,
            server: peak(held),
        })
    }
}
