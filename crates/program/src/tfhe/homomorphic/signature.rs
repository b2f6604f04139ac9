//! The public interface of a program for its client: names, types and encodings of inputs and outputs, but no operations.

use super::encoding::{CodecError, decode_values, encode_values, named};
use super::steps::{BOOLEAN_STEP, MAX_STEP, output_requirement};
use super::{ElementType, MAX_LENGTH, NodeId, Program};
use crate::tfhe::kernel::{KernelProgram, ValueType};
use polyfabric_kernels::Torus;
use polyfabric_schemes::port::{Direction, NAMES, Port, ProgramHash, name_problem};
use polyfabric_schemes::tfhe::LweKind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use thiserror::Error;

/// Why a text is not a valid signature.
#[derive(Debug, Error)]
pub enum SignatureError {
    #[error("{0}; get the specification again")]
    Text(#[from] serde_json::Error),
    #[error("the name {0:?} is invalid: {NAMES}; get the specification again")]
    Name(String),
    #[error(
        "{inputs} inputs and {outputs} outputs, and a program has at least one of each; get the specification again"
    )]
    Empty { inputs: usize, outputs: usize },
    #[error("{name:?} has {length} elements, and a vector has 1 to {MAX_LENGTH}; get the specification again")]
    Length { name: String, length: usize },
    #[error("{name:?}: multiples of 1/{step} of the torus do not carry {element}; get the specification again")]
    Step {
        name: String,
        /// P.
        step: u32,
        element: ElementType,
    },
    #[error(
        "{name:?}: an output of type {element} needs a bound of its phase error, but has none; get the specification again"
    )]
    NoBound { name: String, element: ElementType },
    #[error(
        "{name:?}: the error bound {bound} is not between 0 and {most}, half the distance of its values; get the specification again"
    )]
    Bound { name: String, bound: f64, most: f64 },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Terminal {
    pub name: String,
    pub element: ElementType,
    pub length: usize,
    /// Denominator P of the torus step.
    pub step: u32,
    /// The key that its ciphertexts are encrypted under.
    pub key: LweKind,
    /// Bound of an output's phase error, a fraction of the torus, exceeded with probability 2^-128. `None` for inputs.
    pub error_bound: Option<f64>,
}

impl Terminal {
    /// Checks that the step can encode the type, and for an output that its bound rejects wrong values.
    fn check(&self, direction: Direction) -> Result<(), SignatureError> {
        let Self { element, length, step, .. } = *self;
        let name = || self.name.clone();
        if name_problem(&self.name).is_some() {
            return Err(SignatureError::Name(name()));
        }
        if !(1..=MAX_LENGTH).contains(&length) {
            return Err(SignatureError::Length { name: name(), length });
        }
        // An assume() may narrow an input, so its step need not distinguish all values of its type.
        let (fits, half) = match element {
            ElementType::Boolean => (step == BOOLEAN_STEP, 1.0),
            ElementType::Torus { bits } => ((1..=30).contains(&bits) && step == 1 << bits, 0.5),
            ElementType::Integer(range) => {
                let least = if direction == Direction::Output { output_requirement(range) } else { 2 };
                ((2..=MAX_STEP).contains(&step) && u64::from(step) >= least, range.slot() as f64 / 2.0)
            }
        };
        if !fits {
            return Err(SignatureError::Step { name: name(), step, element });
        }
        let most = half / f64::from(step);
        match self.error_bound {
            Some(bound) if !(0.0..=most).contains(&bound) => Err(SignatureError::Bound { name: name(), bound, most }),
            None if direction == Direction::Output => Err(SignatureError::NoBound { name: name(), element }),
            _ => Ok(()),
        }
    }
}

/// The interface of a program lowered for a parameter set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Signature {
    pub program: String,
    /// The program's hash, which ciphertext files name.
    pub hash: ProgramHash,
    pub inputs: Vec<Terminal>,
    pub outputs: Vec<Terminal>,
    /// Whether inputs may be encrypted with a public key; the noise analysis then includes its noise.
    #[serde(default)]
    pub public: bool,
}

impl Signature {
    /// The signature of `program`, lowered to `kernel`, with `bounds` on its outputs' errors. `None` if an input or output is not an
    /// LWE ciphertext.
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
        Some(Self { program: program.name().to_owned(), hash, inputs, outputs, public: false })
    }

    #[must_use]
    pub fn with_public_inputs(self, public: bool) -> Self {
        Self { public, ..self }
    }

    /// # Errors
    /// [`CodecError::Unknown`].
    pub fn input(&self, name: &str) -> Result<&Terminal, CodecError> {
        named("input", name, &self.inputs)
    }

    /// Parses and checks JSON from an untrusted source.
    ///
    /// # Errors
    /// [`SignatureError`].
    pub fn from_json(text: &str) -> Result<Self, SignatureError> {
        let read: Self = serde_json::from_str(text)?;
        if name_problem(&read.program).is_some() {
            return Err(SignatureError::Name(read.program));
        }
        let (inputs, outputs) = (read.inputs.len(), read.outputs.len());
        if inputs == 0 || outputs == 0 {
            return Err(SignatureError::Empty { inputs, outputs });
        }
        read.inputs.iter().try_for_each(|input| input.check(Direction::Input))?;
        read.outputs.iter().try_for_each(|output| output.check(Direction::Output))?;
        Ok(read)
    }

    /// The identity of the input or output `name`, as ciphertext files store it.
    pub fn port(&self, direction: Direction, name: &str) -> Port {
        Port { program: self.hash, program_name: self.program.clone(), direction, name: name.to_owned() }
    }

    /// Encodes the values of input `name` as plaintexts.
    ///
    /// # Errors
    /// [`CodecError::Unknown`], [`CodecError::Values`].
    pub fn encode<T: Torus>(&self, name: &str, values: &[i64]) -> Result<Vec<T>, CodecError> {
        let own = self.input(name)?;
        encode_values(name, (own.element, own.length, own.step), values)
    }

    /// Decodes `phases` of output `name`; rejects phases that no execution produces.
    ///
    /// # Errors
    /// As [`super::decode_output`].
    pub fn decode<T: Torus>(&self, name: &str, phases: &[T]) -> Result<Vec<i64>, CodecError> {
        let own = named("output", name, &self.outputs)?;
        decode_values(name, (own.element, own.length, own.step), phases, own.error_bound)
    }
}

#[cfg(test)]
mod tests {
    //! Are invalid signatures rejected before anything is encrypted with them?

    use super::*;
    use crate::tfhe::homomorphic::{Builder, LookupResult, Range, Table};
    use crate::tfhe::lowering::{Arithmetic, KeySwitchOrder, TfheLowering, lower};
    use polyfabric_schemes::tfhe::sets;

    fn signature() -> Signature {
        let range = Range::new(0, 3).expect("a range");
        let mut builder = Builder::new("sample").expect("a name");
        let x = builder.input("x", ElementType::Integer(range), 2).expect("an input");
        let table = Table::tabulate(range, |value| 3 - value).expect("a table");
        let y = builder.lookup(x, vec![table], None, LookupResult::Integer).expect("a lookup");
        let sign = builder.sign(x, true).expect("a sign");
        builder.output("y", y).expect("an output");
        builder.output("sign", sign).expect("an output");
        let program = builder.finish().expect("a program");
        let choice = TfheLowering::new(KeySwitchOrder::None, Arithmetic::F64);
        let kernel = lower(&program, &sets::parameters("toy-256").expect("a set"), &choice).expect("a kernel program");
        let bounds = [("y".to_owned(), 0.01), ("sign".to_owned(), 0.02)].into();
        Signature::of(&program, &kernel, &bounds).expect("inputs and outputs")
    }

    fn read(change: impl Fn(&mut Signature)) -> Result<Signature, SignatureError> {
        let mut signature = signature();
        change(&mut signature);
        Signature::from_json(&serde_json::to_string(&signature).expect("text"))
    }

    #[test]
    fn json_round_trips() {
        assert_eq!(read(|_| {}).expect("a signature"), signature());
    }

    #[test]
    fn invalid_signatures_are_rejected() {
        let refused = |change: &dyn Fn(&mut Signature), what: &str| {
            let error = read(change).expect_err(what).to_string();
            assert!(error.contains(what) && error.ends_with("get the specification again"), "{error}");
        };
        for name in ["", "../x", "/x", "a b"] {
            refused(&|all| all.inputs[0].name = name.to_owned(), "letters, digits and _ - + . alone");
            refused(&|all| all.outputs[1].name = name.to_owned(), "letters, digits and _ - + . alone");
            refused(&|all| all.program = name.to_owned(), "letters, digits and _ - + . alone");
        }
        refused(&|all| all.inputs.clear(), "0 inputs");
        refused(&|all| all.outputs.clear(), "0 outputs");
        refused(&|all| all.inputs[0].length = 0, "has 0 elements");
        refused(&|all| all.outputs[0].length = usize::MAX, "a vector has 1 to");
        for step in [0, 1, u32::MAX] {
            refused(&|all| all.inputs[0].step = step, "do not carry integer[0..3]");
        }
        // A step too coarse to distinguish the output's values.
        refused(&|all| all.outputs[0].step = 2, "do not carry integer[0..3]");
        refused(&|all| all.outputs[1].step = 16, "do not carry boolean");
        let torus = |bits| ElementType::Torus { bits };
        refused(&|all| (all.inputs[0].element, all.inputs[0].step) = (torus(0), 1), "do not carry torus[0]");
        refused(&|all| (all.inputs[0].element, all.inputs[0].step) = (torus(40), 8), "do not carry torus[40]");
        // An error bound so large that wrong values pass.
        refused(&|all| all.outputs[0].error_bound = Some(0.2), "is not between");
        refused(&|all| all.outputs[0].error_bound = Some(-0.1), "is not between");
        for output in [0, 1] {
            refused(&|all| all.outputs[output].error_bound = None, "but has none");
        }
        let of_torus = |all: &mut Signature| {
            let output = &mut all.outputs[0];
            (output.element, output.step, output.error_bound) = (torus(4), 16, None);
        };
        refused(&of_torus, "but has none");
        assert!(Signature::from_json("{").expect_err("no text").to_string().contains("get the specification again"));
    }
}
