//! The parameter block: name and figures of a set. Sources are not stored; a set known by name has them.

use polyfabric_kernels::Gadget;

use crate::serial::{Fields, FormatError};
use crate::tfhe::parameters::{CircuitGadgets, Parameters, ParametersLiteral};
use crate::tfhe::secret::Secret;
use crate::tfhe::sets;

/// Maximum length of the block: a name of 64 bytes and the figures.
pub(super) const MAX_LENGTH: u32 = 256;

fn gadget(fields: &mut Fields<'_>) -> Result<Gadget, FormatError> {
    Ok(Gadget { log2_base: fields.u32()?, levels: fields.u32()? })
}

pub(super) fn encode(parameters: &Parameters) -> Vec<u8> {
    let literal = parameters.literal();
    let mut block = Vec::new();
    let mut word = |value: u32| block.extend(value.to_le_bytes());
    // All casts fit: the check bounds names and dimensions.
    word(literal.name.len() as u32);
    block.extend(literal.name.as_bytes());
    let mut word = |value: u32| block.extend(value.to_le_bytes());
    word(literal.torus_bits);
    word(literal.lwe_dimension as u32);
    word(literal.secret.block());
    word(literal.glwe_dimension as u32);
    word(literal.ring_degree as u32);
    word(literal.bootstrap_gadget.log2_base);
    word(literal.bootstrap_gadget.levels);
    word(u32::from(literal.key_switch_gadget.is_some()));
    if let Some(gadget) = literal.key_switch_gadget {
        word(gadget.log2_base);
        word(gadget.levels);
    }
    word(u32::from(literal.circuit.is_some()));
    if let Some(CircuitGadgets { ggsw, trace, square }) = literal.circuit {
        for gadget in [ggsw, trace, square] {
            word(gadget.log2_base);
            word(gadget.levels);
        }
    }
    block.extend(literal.lwe_noise_log2.to_le_bytes());
    block.extend(literal.glwe_noise_log2.to_le_bytes());
    block
}

pub(super) fn decode(block: &[u8]) -> Result<Parameters, FormatError> {
    let mut fields = Fields(block);
    let name = fields.name()?;
    let torus_bits = fields.u32()?;
    let lwe_dimension = fields.u32()? as usize;
    let secret = Secret::of_block(fields.u32()?);
    let glwe_dimension = fields.u32()? as usize;
    let ring_degree = fields.u32()? as usize;
    let bootstrap_gadget = gadget(&mut fields)?;
    let key_switch_gadget = match fields.u32()? {
        0 => None,
        1 => Some(gadget(&mut fields)?),
        _ => return Err(FormatError::ParameterBlock("the key-switch flag is neither 0 nor 1")),
    };
    let circuit = match fields.u32()? {
        0 => None,
        1 => Some(CircuitGadgets {
            ggsw: gadget(&mut fields)?,
            trace: gadget(&mut fields)?,
            square: gadget(&mut fields)?,
        }),
        _ => return Err(FormatError::ParameterBlock("the circuit flag is neither 0 nor 1")),
    };
    let literal = ParametersLiteral {
        name,
        torus_bits,
        lwe_dimension,
        secret,
        glwe_dimension,
        ring_degree,
        bootstrap_gadget,
        key_switch_gadget,
        circuit,
        lwe_noise_log2: fields.f64()?,
        glwe_noise_log2: fields.f64()?,
        sources: Default::default(),
    };
    fields.end()?;
    let parameters = Parameters::check(&literal).map_err(|error| FormatError::Parameters(Box::new(error)))?;
    Ok(sets::parameters(&literal.name).ok().filter(|known| *known == parameters).unwrap_or(parameters))
}
