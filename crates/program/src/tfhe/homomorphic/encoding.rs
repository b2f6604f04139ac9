//! Encodes values as torus elements and decodes them.

use super::clear::{ClearError, check_input};
use super::{ElementType, NodeId, Program, Terminal};
use polyfabric_kernels::Torus;
use polyfabric_schemes::tfhe::encoding::{Boolean, TorusStep};
use thiserror::Error;

/// Why values cannot be encoded or decoded.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum CodecError {
    #[error("the program has no {what} {name:?}; it has {known}")]
    Unknown {
        /// "input" or "output".
        what: &'static str,
        name: String,
        known: String,
    },
    #[error(transparent)]
    Values(#[from] ClearError),
    #[error(
        "output {name:?}, element {index}: its phase is 2^{:.1} of the torus from the nearest value, {value}, but the program's error exceeds 2^{:.1} only with probability 2^-128. The ciphertext was damaged or altered, or belongs to another computation or other keys, so its value is not shown; use the outputs of one execution of this program",
        f64::log2(*.distance), f64::log2(*.bound)
    )]
    Noise {
        name: String,
        index: usize,
        value: i64,
        /// How far the phase is from it, a fraction of the torus.
        distance: f64,
        bound: f64,
    },
    #[error(
        "output {name:?}, element {index}: it decrypts to {value}, which is outside {element}. The ciphertext was damaged or altered, belongs to another computation or other keys, or the inputs violate an assume() of the program; use the outputs of one execution of this program"
    )]
    Range { name: String, index: usize, value: i64, element: ElementType },
    #[error("output {name:?} has {expected} elements, but {found} phases were given")]
    Length { name: String, found: usize, expected: usize },
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

/// Element type, length and P.
type Encoding = (ElementType, usize, u32);

/// Encodes the values of input `name` as plaintexts.
///
/// # Errors
/// [`CodecError::Unknown`], [`CodecError::Values`].
pub fn encode_input<T: Torus>(program: &Program, name: &str, values: &[i64]) -> Result<Vec<T>, CodecError> {
    let id = find("input", name, program.inputs().collect::<Vec<_>>().into_iter())?;
    let node = program.node(id);
    encode_values(name, (node.element, node.length, program.step(id)), values)
}

pub(super) fn encode_values<T: Torus>(
    name: &str,
    (element, length, denominator): Encoding,
    values: &[i64],
) -> Result<Vec<T>, CodecError> {
    check_input(element, length, name, values)?;
    let step = TorusStep { denominator };
    Ok(values.iter().map(|&value| step.encode(element.to_units(value))).collect())
}

/// Decodes the decrypted `phases` of output `name` to the nearest values.
///
/// An integer decodes to the representative modulo P nearest to the middle of the output's range. Phases further than `bound`
/// (a fraction of the torus) from every value are rejected, as are values outside the output's type: they come from damaged or
/// foreign ciphertexts. An alteration by whole steps within the range goes unnoticed: encryption does not authenticate.
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

/// As [`decode_output`], for a given encoding.
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
            // Both ends of the window are the same value modulo P; normalize a tie.
            (step.nearest(phase, -half, half - 1, 1) + half).rem_euclid(modulus) - half
        }
        ElementType::Integer(range) => step.nearest(phase, range.lo(), range.hi(), range.slot()),
    }
}
