//! The parameter block: name, figures and primes of a set. Sources are not stored; a set known by name has them.

use crate::ckks::parameters::{
    BootstrapLiteral, BootstrapMethod, BootstrapOrder, GadgetChoice, Parameters, ParametersLiteral, PrimeKind,
};
use crate::ckks::sets;
use crate::rns::ring::MAX_LIMBS;
use crate::rns::{ChainLink, SecretDistribution};
use crate::serial::{Fields, FormatError};

/// Maximum length of the block: a name of 64 bytes, figures, 2·256 links of 20 bytes and 256 primes of 8.
pub(super) const MAX_LENGTH: u32 = 16_384;

fn push(block: &mut Vec<u8>, words: &[u32]) {
    words.iter().for_each(|word| block.extend(word.to_le_bytes()));
}

/// A link: its kind and two numbers.
fn link_words(link: ChainLink) -> (u32, u64, u64) {
    match link {
        ChainLink::Bits { bits, count } => (0, u64::from(bits), count as u64),
        ChainLink::Pairs { pair_bits, count } => (1, u64::from(pair_bits), count as u64),
        ChainLink::Prime { prime } => (2, prime, 1),
    }
}

fn link(fields: &mut Fields<'_>) -> Result<ChainLink, FormatError> {
    let kind = fields.u32()?;
    let (number, count) = (fields.u64()?, fields.u64()?);
    let wrong = || FormatError::ParameterBlock("a link of the chain is out of range");
    let bits = u32::try_from(number).map_err(|_| wrong());
    let count = usize::try_from(count).map_err(|_| wrong())?;
    match kind {
        0 => Ok(ChainLink::Bits { bits: bits?, count }),
        1 => Ok(ChainLink::Pairs { pair_bits: bits?, count }),
        2 => Ok(ChainLink::Prime { prime: number }),
        _ => Err(FormatError::ParameterBlock("a link of the chain is of no known kind")),
    }
}

fn links(fields: &mut Fields<'_>) -> Result<Vec<ChainLink>, FormatError> {
    let count = fields.u32()? as usize;
    if count > MAX_LIMBS {
        return Err(FormatError::ParameterBlock("the chain has more links than any ring has moduli"));
    }
    (0..count).map(|_| link(fields)).collect()
}

pub(super) fn encode(parameters: &Parameters) -> Vec<u8> {
    let literal = parameters.literal();
    let mut block = Vec::new();
    // All casts fit: the check bounds names, degrees and weights.
    push(&mut block, &[literal.name.len() as u32]);
    block.extend(literal.name.as_bytes());
    push(&mut block, &[literal.ring_degree as u32, u32::from(literal.primes == PrimeKind::OneModWord)]);
    for chain in [&literal.q, &literal.p] {
        push(&mut block, &[chain.len() as u32]);
        for &link in chain {
            let (kind, number, count) = link_words(link);
            push(&mut block, &[kind]);
            [number, count].iter().for_each(|word| block.extend(word.to_le_bytes()));
        }
    }
    let gadget = match literal.gadget {
        GadgetChoice::Hybrid { digit_limbs } => [0, digit_limbs as u32],
        GadgetChoice::PerLimb => [1, 0],
        GadgetChoice::OneDigit => [2, 0],
        GadgetChoice::SubLimb { bits } => [3, bits],
    };
    push(&mut block, &gadget);
    let secret = match literal.secret {
        SecretDistribution::UniformTernary => [0, 0],
        SecretDistribution::SparseTernary(weight) => [1, weight as u32],
        SecretDistribution::JointTernary(parties) => [2, parties as u32],
    };
    push(&mut block, &secret);
    push(&mut block, &[literal.ephemeral_weight.unwrap_or(0) as u32]);
    // Zeros mean no bootstrapping: one always has levels.
    let bootstrap = literal.bootstrap.map_or([0; 8], |bootstrap| {
        [
            u32::from(bootstrap.order == BootstrapOrder::Slim),
            bootstrap.coefficients_to_slots,
            bootstrap.slots_to_coefficients,
            bootstrap.range,
            bootstrap.degree,
            bootstrap.doublings,
            bootstrap.arcsine_degree,
            match bootstrap.method {
                BootstrapMethod::Cosine => 0,
                BootstrapMethod::Exponential => 1,
                BootstrapMethod::Tables { levels } => levels.saturating_add(1),
            },
        ]
    });
    push(&mut block, &bootstrap);
    block.extend(literal.scale_log2.to_le_bytes());
    block.extend(literal.noise_std.to_le_bytes());
    push(&mut block, &[parameters.moduli().len() as u32]);
    parameters.moduli().iter().for_each(|modulus| block.extend(modulus.value().to_le_bytes()));
    block
}

/// Methods from 2 on are tables of one level, two levels and so on.
const MOST_TABLE_LEVELS_AND_1: u32 = 17;

pub(super) fn decode(block: &[u8]) -> Result<Parameters, FormatError> {
    let mut fields = Fields(block);
    let name = fields.name()?;
    let ring_degree = fields.u32()? as usize;
    let primes = match fields.u32()? {
        0 => PrimeKind::OfDegree,
        1 => PrimeKind::OneModWord,
        _ => return Err(FormatError::ParameterBlock("the kind of primes is neither 0 nor 1")),
    };
    let (q, p) = (links(&mut fields)?, links(&mut fields)?);
    let gadget = match (fields.u32()?, fields.u32()?) {
        (0, digit_limbs) => GadgetChoice::Hybrid { digit_limbs: digit_limbs as usize },
        (1, 0) => GadgetChoice::PerLimb,
        (2, 0) => GadgetChoice::OneDigit,
        (3, bits) => GadgetChoice::SubLimb { bits },
        _ => return Err(FormatError::ParameterBlock("the gadget is of no known kind")),
    };
    let secret = match (fields.u32()?, fields.u32()?) {
        (0, 0) => SecretDistribution::UniformTernary,
        (1, weight) => SecretDistribution::SparseTernary(weight as usize),
        (2, parties) => SecretDistribution::JointTernary(parties as usize),
        _ => return Err(FormatError::ParameterBlock("the secret is of no known kind")),
    };
    let ephemeral = fields.u32()? as usize;
    let order = match fields.u32()? {
        0 => BootstrapOrder::Full,
        1 => BootstrapOrder::Slim,
        _ => return Err(FormatError::ParameterBlock("the order of the bootstrapping is neither 0 nor 1")),
    };
    let bootstrap = BootstrapLiteral {
        order,
        method: BootstrapMethod::Cosine,
        coefficients_to_slots: fields.u32()?,
        slots_to_coefficients: fields.u32()?,
        range: fields.u32()?,
        degree: fields.u32()?,
        doublings: fields.u32()?,
        arcsine_degree: fields.u32()?,
    };
    let method = match fields.u32()? {
        0 => BootstrapMethod::Cosine,
        1 => BootstrapMethod::Exponential,
        after @ 2..=MOST_TABLE_LEVELS_AND_1 => BootstrapMethod::Tables { levels: after - 1 },
        _ => return Err(FormatError::ParameterBlock("the bootstrapping has tables of more than 16 levels")),
    };
    let bootstrap = BootstrapLiteral { method, ..bootstrap };
    let literal = ParametersLiteral {
        name,
        ring_degree,
        q,
        p,
        primes,
        gadget,
        scale_log2: fields.f64()?,
        secret,
        ephemeral_weight: (ephemeral > 0).then_some(ephemeral),
        bootstrap: (bootstrap.coefficients_to_slots > 0).then_some(bootstrap),
        noise_std: fields.f64()?,
        sources: Default::default(),
    };
    let parameters = Parameters::check(&literal).map_err(|error| FormatError::Parameters(Box::new(error)))?;
    if fields.u32()? as usize != parameters.moduli().len() {
        return Err(FormatError::ParameterBlock("the number of primes differs from the chain's"));
    }
    for modulus in parameters.moduli() {
        if fields.u64()? != modulus.value() {
            return Err(FormatError::ParameterBlock("the primes differ from those that the chain determines"));
        }
    }
    fields.end()?;
    Ok(sets::parameters(&literal.name).ok().filter(|known| *known == parameters).unwrap_or(parameters))
}
