//! Circuit privacy: the noise that re-randomizing and flooding outputs adds.

use super::{ERROR_DEVIATIONS, NoiseError, NoiseReport, OutputNoise};
use polyfabric_schemes::tfhe::circuit_privacy::flood_deviation;
use polyfabric_schemes::tfhe::noise::{Formulas, Keys, Noise, union_log2};
use polyfabric_schemes::tfhe::{LweKind, Parameters};

/// Maximum number of bits: the statistical distance that the flood's own truncated tail leaves.
pub const MOST_BITS: f64 = 60.0;

impl OutputNoise {
    fn noise(&self) -> Noise {
        Noise { mean_bound: self.mean_bound, ..Noise::random(self.variance) }
    }

    /// Bound of the phase error, exceeded with probability 2^-128, without the cap at half a value's distance.
    fn error_within(&self) -> f64 {
        ERROR_DEVIATIONS * self.variance.sqrt() + self.mean_bound
    }

    /// This output with `zero` added, and with a flood that hides its error with `bits` bits.
    fn flooded(&self, zero: Noise, bits: f64) -> Self {
        let deviation = flood_deviation(self.error_within(), bits);
        let noise = self.noise().plus(zero).plus(Noise::random(deviation * deviation));
        let mut flooded = self.clone();
        (flooded.variance, flooded.mean_bound, flooded.flood_deviation) =
            (noise.variance, noise.mean_bound, Some(deviation));
        flooded.error_bound = self.margin.min(flooded.error_within());
        flooded.undetected = self.spacing.undetected(flooded.error_bound);
        flooded.log2_failure = noise.failure_log2(self.margin);
        flooded
    }

    /// The most bits with which it decodes wrongly with probability at most 2^`target`, by bisection; `None` if 0 bits are too many.
    fn most_bits(&self, zero: Noise, target: f64) -> Option<f64> {
        let fits = |bits: f64| self.flooded(zero, bits).log2_failure <= target;
        let (mut low, mut high) = (0.0, MOST_BITS);
        if !fits(low) {
            return None;
        }
        while high - low > 0.01 {
            let middle = f64::midpoint(low, high);
            if fits(middle) { low = middle } else { high = middle }
        }
        Some(low)
    }
}

/// Checks a number of bits of circuit privacy.
///
/// # Errors
/// [`NoiseError::PrivacyBits`].
pub fn expect_bits(bits: f64) -> Result<(), NoiseError> {
    if (0.0..=MOST_BITS).contains(&bits) { Ok(()) } else { Err(NoiseError::PrivacyBits { bits }) }
}

impl NoiseReport {
    /// The noise if the server re-randomizes and floods every output, so that each value hides its computation with `bits` bits
    /// ([`polyfabric_schemes::tfhe::circuit_privacy`]). Fails if an output then exceeds failure probability 2^`target`.
    ///
    /// # Errors
    /// [`NoiseError::PrivacyBits`], [`NoiseError::Privacy`], [`NoiseError::NoKeySwitchKey`].
    pub fn with_circuit_privacy(&self, parameters: &Parameters, bits: f64, target: f64) -> Result<Self, NoiseError> {
        expect_bits(bits)?;
        let formulas = Formulas::of(parameters, Keys::Accepted);
        let mut report = self.clone();
        for output in &mut report.outputs {
            let missing = || NoiseError::NoKeySwitchKey { parameters: parameters.name().to_owned() };
            // A set with one LWE key needs no key switch.
            let key = if parameters.has_one_lwe_key() { LweKind::Large } else { output.key };
            let zero = formulas.public_zero(key, parameters).ok_or_else(missing)?;
            let flooded = output.flooded(zero, bits);
            if flooded.log2_failure > target {
                let most = output.most_bits(zero, target);
                let set = parameters.name().to_owned();
                return Err(NoiseError::Privacy { parameters: set, bits, most, target, output: Box::new(flooded) });
            }
            *output = flooded;
        }
        let outputs = report.outputs.iter().map(|output| (output.log2_failure, output.count));
        report.log2_failure = union_log2(outputs.chain([(self.log2_failure, 1)]));
        report.circuit_privacy_bits = Some(bits);
        Ok(report)
    }
}
