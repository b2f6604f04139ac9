//! What a client knows of a program: names, types and encodings of its inputs and outputs, and nothing of what it computes.

use super::encoding::{CodecError, decode_values, encode_values, named};
use super::{ElementType, NodeId, Program};
use crate::tfhe::kernel::{KernelProgram, ValueType};
use polyfabric_kernels::Torus;
use polyfabric_schemes::port::{Direction, Port, ProgramHash};
use polyfabric_schemes::tfhe::LweKind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// An input or an output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Terminal {
    /// Its name.
    pub name: String,
    /// What an element is.
    pub element: ElementType,
    /// Elements.
    pub length: usize,
    /// P: values are carried as multiples of 1/P.
    pub step: u32,
    /// Which key its ciphertexts are under.
    pub key: LweKind,
    /// Of an output: what an error of its phase stays within, a fraction of the torus, but for a probability of 2^-128; none if that is not known.
    pub error_bound: Option<f64>,
}

/// The outside of a program, lowered for a parameter set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Signature {
    /// The program's name.
    pub program: String,
    /// Its hash, which its files of ciphertexts name.
    pub hash: ProgramHash,
    /// Its inputs, in order.
    pub inputs: Vec<Terminal>,
    /// Its outputs, in order.
    pub outputs: Vec<Terminal>,
}

impl Signature {
    /// Of `program`, lowered to `kernel`, with the error bounds of its outputs; none if it has an input or output that is no LWE ciphertext.
    pub fn of(program: &Program, kernel: &KernelProgram, bounds: &BTreeMap<String, f64>) -> Option<Self> {
        let terminal = |id: NodeId, name: &str, result: ValueType| {
            let ValueType::Lwe { kind, .. } = result else { return None };
            let node = program.node(id);
            let (element, length, step) = (node.element, node.length, program.step(id));
            Some(Terminal {
                name: name.to_owned(),
                element,
                length,
                step,
                key: kind,
                error_bound: bounds.get(name).copied(),
            })
        };
        let of_kernel = |name: &str| kernel.inputs().find(|(own, ..)| *own == name).map(|(_, _, result)| result);
        let output = |name: &str| {
            let output = kernel.outputs.iter().find(|output| &*output.name == name)?;
            Some(kernel.op(output.value).result)
        };
        let inputs = program.inputs().map(|(id, name)| terminal(id, name, of_kernel(name)?)).collect::<Option<_>>()?;
        let outputs = program.outputs().map(|(id, name)| terminal(id, name, output(name)?)).collect::<Option<_>>()?;
        let hash = program.port(Direction::Input, "").program;
        Some(Self { program: program.name().to_owned(), hash, inputs, outputs })
    }

    /// What a ciphertext of the input or output `name` is for, as its file says.
    pub fn port(&self, direction: Direction, name: &str) -> Port {
        Port { program: self.hash, program_name: self.program.clone(), direction, name: name.to_owned() }
    }

    /// The plaintexts of input `name`, ready to encrypt.
    ///
    /// # Errors
    /// [`CodecError::Unknown`], [`CodecError::Values`].
    pub fn encode<T: Torus>(&self, name: &str, values: &[i64]) -> Result<Vec<T>, CodecError> {
        let own = named("input", name, &self.inputs)?;
        encode_values(name, (own.element, own.length, own.step), values)
    }

    /// The values of output `name` nearest to the decrypted `phases`, refused where no execution leaves them.
    ///
    /// # Errors
    /// As [`super::decode_output`].
    pub fn decode<T: Torus>(&self, name: &str, phases: &[T]) -> Result<Vec<i64>, CodecError> {
        let own = named("output", name, &self.outputs)?;
        decode_values(name, (own.element, own.length, own.step), phases, own.error_bound)
    }
}
