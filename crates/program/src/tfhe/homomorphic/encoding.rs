//! Values to torus elements and back.

use super::clear::{ClearError, check_input};
use super::{ElementType, NodeId, Program, Terminal};
use polyfabric_kernels::Torus;
use polyfabric_schemes::tfhe::encoding::{Boolean, TorusStep};
use thiserror::Error;

/// Why values cannot be encoded or decoded.
#[derive(Clone, Debug, PartialEq, Error)]
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
    /// A phase is further from every value than the plan's noise.
    #[error(
        "output {name:?}, element {index}: its phase is 2^{:.1} of the torus from the nearest value, {value}, and by the plan errors are at most 2^{:.1}, but for a probability of 2^-128: the ciphertext was damaged or altered, or comes from another computation or other keys, so nothing of it is shown; bring the outputs of one execution of this program",
        f64::log2(*.distance), f64::log2(*.bound)
    )]
    Noise {
        /// Name of the output.
        name: String,
        /// Which element.
        index: usize,
        /// The nearest value.
        value: i64,
        /// How far the phase is from it, a fraction of the torus.
        distance: f64,
        /// What errors may be.
        bound: f64,
    },
    /// A value that the output cannot take.
    #[error(
        "output {name:?}, element {index}: it decrypts to {value}, which {element} does not hold: the ciphertext was damaged or altered, or comes from another computation or other keys, or its inputs broke a promise of the program (assume); bring the outputs of one execution of this program"
    )]
    Range {
        /// Name of the output.
        name: String,
        /// Which element.
        index: usize,
        /// The value.
        value: i64,
        /// The output's type.
        element: ElementType,
    },
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

/// The input or output called `name`.
pub(super) fn named<'a>(what: &'static str, name: &str, all: &'a [Terminal]) -> Result<&'a Terminal, CodecError> {
    all.iter().find(|own| own.name == name).ok_or_else(|| {
        let known: Vec<_> = all.iter().map(|own| format!("{:?}", own.name)).collect();
        CodecError::Unknown { what, name: name.to_owned(), known: known.join(", ") }
    })
}

/// An element, how many there are, and P.
type Encoding = (ElementType, usize, u32);

/// The plaintexts of input `name`, ready to encrypt.
///
/// # Errors
/// [`CodecError::Unknown`], [`CodecError::Values`].
pub fn encode_input<T: Torus>(program: &Program, name: &str, values: &[i64]) -> Result<Vec<T>, CodecError> {
    let id = find("input", name, program.inputs().collect::<Vec<_>>().into_iter())?;
    let node = program.node(id);
    encode_values(name, (node.element, node.length, program.step(id)), values)
}

/// The plaintexts of values of this encoding.
pub(super) fn encode_values<T: Torus>(
    name: &str,
    (element, length, denominator): Encoding,
    values: &[i64],
) -> Result<Vec<T>, CodecError> {
    check_input(element, length, name, values)?;
    let step = TorusStep { denominator };
    Ok(values.iter().map(|&value| step.encode(element.to_units(value))).collect())
}

/// The values of output `name` nearest to the decrypted `phases`.
///
/// An integer is the representative modulo P that is nearest to the middle of the output's range. A phase that is further than `bound`, a fraction
/// of the torus, from every value, and a value that the output's type does not hold, are refused: a damaged or foreign ciphertext decrypts to
/// these. One that was moved by whole steps within the range cannot be told from one that was computed: encryption hides, it does not sign.
///
/// # Errors
/// [`CodecError::Unknown`], [`CodecError::Length`], [`CodecError::Noise`], [`CodecError::Range`].
pub fn decode_output<T: Torus>(
    program: &Program,
    name: &str,
    phases: &[T],
    bound: Option<f64>,
) -> Result<Vec<i64>, CodecError> {
    let id = find("output", name, program.outputs().collect::<Vec<_>>().into_iter())?;
    let node = program.node(id);
    decode_values(name, (node.element, node.length, program.step(id)), phases, bound)
}

/// The values of this encoding that are nearest to `phases`, refused as [`decode_output`] refuses them.
pub(super) fn decode_values<T: Torus>(
    name: &str,
    (element, length, denominator): Encoding,
    phases: &[T],
    bound: Option<f64>,
) -> Result<Vec<i64>, CodecError> {
    let step = TorusStep { denominator };
    if phases.len() != length {
        return Err(CodecError::Length { name: name.to_owned(), found: phases.len(), expected: length });
    }
    let values = phases.iter().enumerate().map(|(index, &phase)| {
        let (value, name) = (decode(element, step, phase), || name.to_owned());
        let encoded: T = step.encode(element.to_units(value));
        let distance = phase.wrapping_sub(encoded).to_fraction().abs();
        match bound {
            Some(bound) if distance > bound => Err(CodecError::Noise { name: name(), index, value, distance, bound }),
            _ if !element.holds(value) => Err(CodecError::Range { name: name(), index, value, element }),
            _ => Ok(value),
        }
    });
    values.collect()
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
