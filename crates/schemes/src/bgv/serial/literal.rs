//! The parameter block: name, figures and primes of a set. Sources are not stored; a set known by name has them.

use crate::bgv::parameters::{BootstrapLiteral, Parameters, ParametersLiteral};
use crate::bgv::{PlaintextModulusLiteral, sets};
use crate::ckks::PrimeKind;
use crate::rns::SecretDistribution;
use crate::rns::ring::MAX_LIMBS;
use crate::serial::{Fields, FormatError};

/// Maximum length of the block: a name of 64 bytes, figures, 2·256 sizes and 256 primes of 8 bytes.
pub(super) const MAX_LENGTH: u32 = 8_192;

fn push(block: &mut Vec<u8>, words: &[u32]) {
    words.iter().for_each(|word| block.extend(word.to_le_bytes()));
}

fn sizes(fields: &mut Fields<'_>) -> Result<Vec<u32>, FormatError> {
    let count = fields.u32()? as usize;
    if count > MAX_LIMBS {
        return Err(FormatError::ParameterBlock("there are more moduli than any ring has"));
    }
    (0..count).map(|_| fields.u32()).collect()
}

pub(super) fn encode(parameters: &Parameters) -> Vec<u8> {
    let literal = parameters.literal();
    let mut block = Vec::new();
    // All casts fit: the check bounds names, degrees and weights.
    push(&mut block, &[literal.name.len() as u32]);
    block.extend(literal.name.as_bytes());
    push(&mut block, &[literal.ring_degree as u32, u32::from(literal.primes == PrimeKind::OneModWord)]);
    let (kind, value) = match literal.plaintext_modulus {
        PlaintextModulusLiteral::Packed(t) => (0, t),
        PlaintextModulusLiteral::PowerOfTwo(exponent) => (1, u64::from(exponent)),
    };
    push(&mut block, &[kind]);
    block.extend(value.to_le_bytes());
    for bits in [&literal.q_bits, &literal.special_bits] {
        push(&mut block, &[bits.len() as u32]);
        push(&mut block, bits);
    }
    push(&mut block, &[literal.digit_limbs as u32, literal.sub_digit_bits.unwrap_or(0)]);
    let secret = match literal.secret {
        SecretDistribution::UniformTernary => [0, 0],
        SecretDistribution::SparseTernary(weight) => [1, weight as u32],
        SecretDistribution::JointTernary(parties) => [2, parties as u32],
    };
    push(&mut block, &secret);
    push(&mut block, &[literal.bootstrap.map_or(0, |bootstrap| bootstrap.exponent)]);
    block.extend(literal.noise_std.to_le_bytes());
    let moduli = parameters.ring().moduli();
    push(&mut block, &[moduli.len() as u32]);
    moduli.iter().for_each(|modulus| block.extend(modulus.value().to_le_bytes()));
    block
}

pub(super) fn decode(block: &[u8]) -> Result<Parameters, FormatError> {
    let mut fields = Fields(block);
    let name = fields.name()?;
    let ring_degree = fields.u32()? as usize;
    let primes = match fields.u32()? {
        0 => PrimeKind::OfDegree,
        1 => PrimeKind::OneModWord,
        _ => return Err(FormatError::ParameterBlock("the kind of primes is neither 0 nor 1")),
    };
    let plaintext_modulus = match (fields.u32()?, fields.u64()?) {
        (0, t) => PlaintextModulusLiteral::Packed(t),
        (1, exponent) => PlaintextModulusLiteral::PowerOfTwo(
            u32::try_from(exponent)
                .map_err(|_| FormatError::ParameterBlock("the plaintext modulus is out of range"))?,
        ),
        _ => return Err(FormatError::ParameterBlock("the plaintext modulus is of no known kind")),
    };
    let (q_bits, special_bits) = (sizes(&mut fields)?, sizes(&mut fields)?);
    let (digit_limbs, sub_digit_bits) = (fields.u32()? as usize, fields.u32()?);
    let secret = match (fields.u32()?, fields.u32()?) {
        (0, 0) => SecretDistribution::UniformTernary,
        (1, weight) => SecretDistribution::SparseTernary(weight as usize),
        (2, parties) => SecretDistribution::JointTernary(parties as usize),
        _ => return Err(FormatError::ParameterBlock("the secret is of no known kind")),
    };
    let exponent = fields.u32()?;
    let literal = ParametersLiteral {
        name,
        ring_degree,
        plaintext_modulus,
        q_bits,
        special_bits,
        primes,
        digit_limbs,
        sub_digit_bits: (sub_digit_bits > 0).then_some(sub_digit_bits),
        secret,
        noise_std: fields.f64()?,
        bootstrap: (exponent > 0).then_some(BootstrapLiteral { exponent }),
        sources: Default::default(),
    };
    let parameters = Parameters::check(&literal).map_err(|error| FormatError::Parameters(Box::new(error)))?;
    let moduli = parameters.ring().moduli();
    if fields.u32()? as usize != moduli.len() {
        return Err(FormatError::ParameterBlock("the number of primes differs from the parameters'"));
    }
    for modulus in moduli {
        if fields.u64()? != modulus.value() {
            return Err(FormatError::ParameterBlock("the primes differ from those that the bit sizes determine"));
        }
    }
    fields.end()?;
    Ok(sets::named(&literal.name).ok().filter(|known| *known == parameters).unwrap_or(parameters))
}
