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

/// The torus element of one unit at step 1/`denominator`: q / P, rounded. `denominator` is 2 at least.
pub fn torus_unit<T: Torus>(denominator: u32) -> T {
    let step = u128::from(denominator.max(1));
    T::from_u64((((1u128 << T::BITS) + step / 2) / step) as u64)
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

#[cfg(test)]
mod tests {
    //! Does decoding give back every value of every type, with noise up to half a slot, on both tori?

    use super::*;
    use crate::homomorphic::{Builder, Range};

    fn round_trip<T: Torus>(element: ElementType, values: &[i64], step: Option<u32>) {
        let mut builder = Builder::new("p").unwrap();
        let x = builder.input("x", element, values.len()).unwrap();
        builder.output("y", x).unwrap();
        if let Some(step) = step {
            builder.pin_step(x, step).unwrap();
        }
        let program = builder.finish().unwrap();
        let plaintexts = encode_input::<T>(&program, "x", values).unwrap();
        let slot = match element {
            ElementType::Boolean => 2.0,
            ElementType::Integer(range) => range.slot() as f64,
            ElementType::Torus { .. } => 1.0,
        };
        let half = slot / 2.0 / f64::from(program.step(x));
        for noise in [-0.99, 0.0, 0.99] {
            let noisy: Vec<T> =
                plaintexts.iter().map(|plaintext| plaintext.wrapping_add(T::from_fraction(noise * half))).collect();
            assert_eq!(decode_output(&program, "y", &noisy).unwrap(), values, "{element} {noise}");
        }
    }

    #[test]
    fn every_value_survives() {
        for (lo, hi, stride) in [(0, 1, 1), (-1, 1, 2), (-5, 9, 1), (100, 130, 3), (-700, -600, 1), (7, 7, 1)] {
            let range = Range::with_stride(lo, hi, stride).unwrap();
            let values: Vec<i64> = range.values().collect();
            for step in [None, Some(256)] {
                round_trip::<u32>(ElementType::Integer(range), &values, step);
                round_trip::<u64>(ElementType::Integer(range), &values, step);
            }
        }
        round_trip::<u32>(ElementType::Boolean, &[0, 1], None);
        round_trip::<u64>(ElementType::Torus { bits: 5 }, &[-16, -1, 0, 3, 15], None);
    }

    #[test]
    fn a_unit_is_the_nearest_fraction_of_the_modulus() {
        assert_eq!(torus_unit::<u32>(2), 1 << 31);
        assert_eq!(torus_unit::<u32>(3), 1_431_655_765);
        assert_eq!(torus_unit::<u64>(10), 1_844_674_407_370_955_162);
    }
}
