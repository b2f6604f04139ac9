//! Derives the lowering's inputs from a CKKS parameter set: levels, noise model, key-switch gadget, encoder.

use crate::rns::approximation::modular_reduction::{Nodes, ReductionLiteral};
use crate::rns::homomorphic::Values;
use crate::rns::kernel::{Conversion, PublicPolynomial};
use crate::rns::levels::{Chain, ChainError, Scale};
use crate::rns::lowering::bootstrap::{Bootstrapping, BootstrappingError, BootstrappingLiteral, BootstrappingSecret};
use crate::rns::lowering::{Hoisting, PlaintextEncoder, Rescaling, RnsLowering};
use crate::rns::noise::{Encryption, INTEGER_FAILURE_LOG2, NoiseModel, USUAL_FAILURE_LOG2};
use polyfabric_schemes::ckks::{Complex, Encoder, Parameters, PrimeKind};
use polyfabric_schemes::rns::{KeyId, SecretDistribution};

/// The chain of levels of `parameters`; level 0 has the parameters' scale.
///
/// # Errors
/// [`ChainError::Scale`] if the modulus of level 0 is too small for that scale.
pub fn chain(parameters: &Parameters) -> Result<Chain, ChainError> {
    Chain::ckks(parameters.ring_degree(), parameters.moduli(), parameters.level_limbs(), parameters.scale())
}

/// The noise model of `parameters` for inputs of the given encryption.
pub fn model(parameters: &Parameters, encryption: Encryption) -> NoiseModel {
    let degree = parameters.ring_degree();
    NoiseModel {
        degree,
        error_deviation: parameters.literal().noise_std,
        secret_weight: parameters.secret().expected_weight(degree),
        parties: parameters.secret().parties(),
        encryption,
        exact_encoding: false,
        failure_log2: Some(if has_tables(parameters) { INTEGER_FAILURE_LOG2 } else { USUAL_FAILURE_LOG2 }),
    }
}

/// Whether the set's bootstrapping applies lookup tables.
pub fn has_tables(parameters: &Parameters) -> bool {
    longest_table(parameters) > 0
}

/// Most entries of a lookup table; 0 without tables.
pub fn longest_table(parameters: &Parameters) -> usize {
    match parameters.literal().bootstrap.map_or(0, |bootstrap| bootstrap.method.table_levels()) {
        0 => 0,
        levels => 1 << levels,
    }
}

/// The fastest lowering on a CPU, with the gadget of `parameters`. Bootstrapping sets hoist rotations twice, since linear transforms
/// dominate their work. F1's primes leave a scale near the key-switch noise, so rotations come before rescalings.
pub fn choice(parameters: &Parameters) -> RnsLowering {
    let choice = RnsLowering::new(parameters.gadget().literal().clone());
    let rescaling = match parameters.literal().primes {
        PrimeKind::OfDegree => choice.rescaling,
        PrimeKind::OneModWord => Rescaling::AfterRotations,
    };
    let choice = RnsLowering { rescaling, ..choice };
    match parameters.literal().bootstrap {
        Some(_) => RnsLowering {
            hoisting: Hoisting::Double,
            conversion: Conversion::Centred,
            division: Conversion::Centred,
            ..choice
        },
        None => choice,
    }
}

/// The bootstrapping of `parameters` for vectors of `slots` slots, if the set has one. Without an ephemeral secret it uses the
/// scheme's own.
///
/// # Errors
/// [`BootstrappingError`] if the set's figures do not fit its chain.
pub fn bootstrapping(
    parameters: &Parameters,
    chain: &Chain,
    choice: &RnsLowering,
    slots: usize,
) -> Result<Option<Bootstrapping>, BootstrappingError> {
    let Some(written) = parameters.literal().bootstrap else { return Ok(None) };
    let secret = match parameters.ephemeral_secret() {
        Some(SecretDistribution::SparseTernary(hamming_weight)) => BootstrappingSecret::Encapsulated {
            hamming_weight,
            special: parameters.gadget_of(KeyId::Encapsulate).special().to_vec(),
        },
        _ => {
            let hamming_weight = parameters.secret().expected_weight(parameters.ring_degree()).round() as usize;
            BootstrappingSecret::Dense { hamming_weight }
        }
    };
    // Messages up to 1 have coefficients up to the scale. A quarter is the most; a prime may be a little less than its power of two.
    let largest_message = (chain.scale(0).real().log2() - chain.log2_modulus(0)).exp2().min(0.25);
    let nodes =
        Nodes::Integers { radius: largest_message, hamming_weight: secret.hamming_weight(), floor_log2: RARE_LOG2 };
    let literal = BootstrappingLiteral {
        order: written.order,
        slots,
        secret,
        coefficients_to_slots: written.coefficients_to_slots as usize,
        slots_to_coefficients: written.slots_to_coefficients as usize,
        reduction: ReductionLiteral {
            method: written.method,
            range: written.range as usize,
            degree: written.degree as usize,
            doublings: written.doublings as usize,
            nodes,
            arcsine_degree: written.arcsine_degree as usize,
            largest_message,
        },
    };
    Bootstrapping::new(literal, chain, choice).map(Some)
}

/// log2 of the minimum weight of an integer part in the fit of the cosine, however improbable it is.
const RARE_LOG2: f64 = -24.0;

#[derive(Debug)]
pub struct SlotEncoder<'a>(pub &'a Encoder);

/// The CKKS slots in `values`, and their scale.
fn slots_of(values: &Values, scale: Scale) -> Result<(&[Complex], f64), String> {
    match (values, scale) {
        (Values::Complex(values), Scale::Real(scale)) => Ok((values, scale)),
        _ => Err("CKKS takes real or complex values; give those".to_owned()),
    }
}

impl PlaintextEncoder for SlotEncoder<'_> {
    fn encode(&self, values: &Values, scale: Scale) -> Result<PublicPolynomial, String> {
        let (slots, scale) = slots_of(values, scale)?;
        let coefficients = self.0.coefficients(slots, scale).map_err(|error| error.to_string())?;
        let narrow: Option<Vec<i64>> = coefficients.iter().map(|&coefficient| coefficient.try_into().ok()).collect();
        Ok(match narrow {
            Some(narrow) => PublicPolynomial::Narrow(narrow.into()),
            None => PublicPolynomial::Wide(coefficients.into()),
        })
    }

    fn largest_coefficient(&self, values: &Values, scale: Scale) -> Result<f64, String> {
        let (slots, scale) = slots_of(values, scale)?;
        self.0.largest_coefficient(slots, scale).map_err(|error| error.to_string())
    }
}
