//! What a CKKS parameter set gives the lowering: levels, error model, key-switch gadget, encoder.

use crate::rns::homomorphic::Values;
use crate::rns::kernel::PublicPolynomial;
use crate::rns::levels::{Chain, ChainError, Scale};
use crate::rns::lowering::{PlaintextEncoder, RnsLowering};
use crate::rns::noise::NoiseModel;
use polyfabric_schemes::ckks::{Complex, Encoder, Parameters};

/// The levels of `parameters`; values at level 0 have the parameters' scale.
///
/// # Errors
/// [`ChainError::Scale`] if the modulus of level 0 does not hold that scale.
pub fn chain(parameters: &Parameters) -> Result<Chain, ChainError> {
    Chain::ckks(parameters.ring_degree(), parameters.moduli(), parameters.level_limbs(), parameters.scale())
}

/// How much error the operations of `parameters` add.
pub fn model(parameters: &Parameters) -> NoiseModel {
    let degree = parameters.ring_degree();
    NoiseModel {
        degree,
        error_deviation: parameters.literal().noise_std,
        secret_weight: parameters.secret().expected_weight(degree),
        unit: 1.0,
    }
}

/// What is fastest on a CPU, with the gadget of `parameters`.
pub fn choice(parameters: &Parameters) -> RnsLowering {
    RnsLowering::new(parameters.gadget().literal().clone())
}

/// Encodes public vectors of slots for the lowering.
#[derive(Debug)]
pub struct SlotEncoder<'a>(pub &'a Encoder);

impl PlaintextEncoder for SlotEncoder<'_> {
    fn encode(&self, values: &Values, scale: Scale) -> Result<PublicPolynomial, String> {
        let (Values::Complex(values), Scale::Real(scale)) = (values, scale) else {
            return Err("CKKS takes real or complex values; give those".to_owned());
        };
        let slots: Vec<_> = values.iter().map(|value| Complex::new(value.re, value.im)).collect();
        let coefficients = self.0.coefficients(&slots, scale).map_err(|error| error.to_string())?;
        let narrow: Option<Vec<i64>> = coefficients.iter().map(|&coefficient| coefficient.try_into().ok()).collect();
        Ok(match narrow {
            Some(narrow) => PublicPolynomial::Narrow(narrow.into()),
            None => PublicPolynomial::Wide(coefficients.into()),
        })
    }
}
