//! Values to torus elements and back.

use super::clear::{ClearError, check_input};
use super::{ElementType, NodeId, Program};
use polyfabric_kernels::Torus;
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

/// The torus element of one unit at step 1/`denominator`: q / P, rounded.
pub fn torus_unit<T: Torus>(denominator: u32) -> T {
    T::from_fraction(1.0 / f64::from(denominator))
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
    let unit = torus_unit::<T>(program.step(id));
    Ok(values.iter().map(|&value| unit.wrapping_mul_signed(node.element.to_units(value))).collect())
}

/// The values of output `name` nearest to the decrypted `phases`.
///
/// An integer is the representative modulo P that is nearest to the middle of the output's range.
///
/// # Errors
/// [`CodecError::Unknown`], [`CodecError::Length`].
pub fn decode_output<T: Torus>(program: &Program, name: &str, phases: &[T]) -> Result<Vec<i64>, CodecError> {
    let id = find("output", name, program.outputs().collect::<Vec<_>>().into_iter())?;
    let (node, step) = (program.node(id), program.step(id));
    if phases.len() != node.length {
        return Err(CodecError::Length { name: name.to_owned(), found: phases.len(), expected: node.length });
    }
    Ok(phases.iter().map(|&phase| decode(node.element, step, phase)).collect())
}

fn decode<T: Torus>(element: ElementType, step: u32, phase: T) -> i64 {
    match element {
        ElementType::Boolean => i64::from(phase.to_i64() >= 0),
        ElementType::Torus { .. } => {
            let half = i64::from(step) / 2;
            let nearest = (phase.to_fraction() * f64::from(step)).round() as i64;
            if nearest >= half { nearest - i64::from(step) } else { nearest }
        }
        ElementType::Integer(range) => {
            let slot = range.slot() as f64;
            let middle = (range.lo() + range.hi()) as f64 / 2.0;
            // Position relative to the middle of the range, in [-P/2, P/2).
            let step = f64::from(step);
            let offset = phase.to_fraction() * step - middle;
            let offset = offset - (offset / step).round() * step;
            let index = ((offset + middle - range.lo() as f64) / slot).round();
            range.lo() + index as i64 * range.slot()
        }
    }
}
