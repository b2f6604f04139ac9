//! The parameter block: a set's name and figures. Sources are not stored; a set that is known by name gets them back.

use polyfabric_kernels::Gadget;

use super::error::FormatError;
use crate::tfhe::parameters::{Parameters, ParametersLiteral};
use crate::tfhe::sets;

/// Greatest length of the block taken: a name of 64 bytes and the figures.
pub(super) const MAX_LENGTH: u32 = 256;

/// Reads fields one after another out of a slice.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn bytes<const LENGTH: usize>(&mut self) -> Result<[u8; LENGTH], FormatError> {
        let (field, rest) =
            self.0.split_first_chunk::<LENGTH>().ok_or(FormatError::ParameterBlock("it ends within a field"))?;
        self.0 = rest;
        Ok(*field)
    }

    fn u32(&mut self) -> Result<u32, FormatError> {
        self.bytes().map(u32::from_le_bytes)
    }

    fn f64(&mut self) -> Result<f64, FormatError> {
        self.bytes().map(f64::from_le_bytes)
    }

    fn gadget(&mut self) -> Result<Gadget, FormatError> {
        Ok(Gadget { log2_base: self.u32()?, levels: self.u32()? })
    }

    fn name(&mut self) -> Result<String, FormatError> {
        let length = self.u32()? as usize;
        let (name, rest) =
            self.0.split_at_checked(length).ok_or(FormatError::ParameterBlock("the name is longer than the block"))?;
        self.0 = rest;
        String::from_utf8(name.to_vec()).map_err(|_| FormatError::ParameterBlock("the name is not UTF-8"))
    }
}

pub(super) fn encode(parameters: &Parameters) -> Vec<u8> {
    let literal = parameters.literal();
    let mut block = Vec::new();
    let mut word = |value: u32| block.extend(value.to_le_bytes());
    // All of these fit: the check bounds names and dimensions.
    word(literal.name.len() as u32);
    block.extend(literal.name.as_bytes());
    let mut word = |value: u32| block.extend(value.to_le_bytes());
    word(literal.torus_bits);
    word(literal.lwe_dimension as u32);
    word(literal.glwe_dimension as u32);
    word(literal.ring_degree as u32);
    word(literal.bootstrap_gadget.log2_base);
    word(literal.bootstrap_gadget.levels);
    word(u32::from(literal.key_switch_gadget.is_some()));
    if let Some(gadget) = literal.key_switch_gadget {
        word(gadget.log2_base);
        word(gadget.levels);
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
    let glwe_dimension = fields.u32()? as usize;
    let ring_degree = fields.u32()? as usize;
    let bootstrap_gadget = fields.gadget()?;
    let key_switch_gadget = match fields.u32()? {
        0 => None,
        1 => Some(fields.gadget()?),
        _ => return Err(FormatError::ParameterBlock("the key-switch flag is neither 0 nor 1")),
    };
    let literal = ParametersLiteral {
        name,
        torus_bits,
        lwe_dimension,
        glwe_dimension,
        ring_degree,
        bootstrap_gadget,
        key_switch_gadget,
        lwe_noise_log2: fields.f64()?,
        glwe_noise_log2: fields.f64()?,
        sources: Default::default(),
    };
    if !fields.0.is_empty() {
        return Err(FormatError::ParameterBlock("it is longer than its fields"));
    }
    let parameters = Parameters::check(&literal)?;
    Ok(sets::parameters(&literal.name).ok().filter(|known| *known == parameters).unwrap_or(parameters))
}
