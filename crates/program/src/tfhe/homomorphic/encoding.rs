//! Values to torus elements and back.

use super::clear::{ClearError, check_input};
use super::{ElementType, NodeId, Program};
use polyfabric_kernels::Torus;
use polyfabric_schemes::tfhe::encoding::{Boolean, TorusStep};
use thiserror::Error;

/// Why values cannot be encoded or decoded.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CodecError {
    /// No input or output of that name.
    #[error("the program has no {what} {name:?}; it has {known}")]
    Unknown {
        /// "input" or "output".
        what: &'static str,
        /// The name asked for.
        name: String,
        /// The names there are.
        known: String,
    },
    /// The values do not suit the input.
    #[error(transparent)]
    Values(#[from] ClearError),
    /// An output has the wrong number of phases.
    #[error("output {name:?} has {expected} elements, but {found} phases were given")]
    Length {
        /// Name of the output.
        name: String,
        /// Phases given.
        found: usize,
        /// Elements of the output.
        expected: usize,
    },
}

fn find<'a>(
    what: &'static str,
    name: &str,
    mut all: impl Iterator<Item = (NodeId, &'a str)> + Clone,
) -> Result<NodeId, CodecError> {
    let known = all.clone();
    all.find(|(_, known)| *known == name).map(|(id, _)| id).ok_or_else(|| {
        let names: Vec<_> = known.map(|(_, name)| format!("{name:?}")).collect();
        CodecError::Unknown { what, name: name.to_owned(), known: names.join(", ") }
    })
}

/// The plaintexts of input `name`, ready to encrypt.
///
/// # Errors
/// [`CodecError::Unknown`], [`CodecError::Values`].
pub fn encode_input<T: Torus>(program: &Program, name: &str, values: &[i64]) -> Result<Vec<T>, CodecError> {
    let id = find("input", name, program.inputs().collect::<Vec<_>>().into_iter())?;
    let node = program.node(id);
    check_input(node, name, values)?;
    let step = TorusStep { denominator: program.step(id) };
    Ok(values.iter().map(|&value| step.encode(node.element.to_units(value))).collect())
}

/// The values of output `name` nearest to the decrypted `phases`.
///
/// An integer is the representative modulo P that is nearest to the middle of the output's range.
///
/// # Errors
/// [`CodecError::Unknown`], [`CodecError::Length`].
pub fn decode_output<T: Torus>(program: &Program, name: &str, phases: &[T]) -> Result<Vec<i64>, CodecError> {
    let id = find("output", name, program.outputs().collect::<Vec<_>>().into_iter())?;
    let (node, step) = (program.node(id), TorusStep { denominator: program.step(id) });
    if phases.len() != node.length {
        return Err(CodecError::Length { name: name.to_owned(), found: phases.len(), expected: node.length });
    }
    Ok(phases.iter().map(|&phase| decode(node.element, step, phase)).collect())
}

fn decode<T: Torus>(element: ElementType, step: TorusStep, phase: T) -> i64 {
    match element {
        ElementType::Boolean => i64::from(Boolean.decode(phase)),
        ElementType::Torus { .. } => {
            let modulus = i64::from(step.denominator);
            let half = modulus / 2;
            // A tie between the two ends of the window is one value modulo P.
            (step.nearest(phase, -half, half - 1, 1) + half).rem_euclid(modulus) - half
        }
        ElementType::Integer(range) => step.nearest(phase, range.lo(), range.hi(), range.slot()),
    }
}
