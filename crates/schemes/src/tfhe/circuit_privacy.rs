//! Circuit privacy: hides from the client how the server computed a result.
//!
//! A result reveals more than its value: its mask is a public function of inputs, keys and the server's weights, and its error depends on
//! them too. To hide both, the server
//!
//! 1. adds a fresh encryption of zero: Σ_i R_i·u_i + e, where the k rows R_i are public GLWE encryptions of zero from its keys, u_i has
//!    coefficients −1, 0, 1 (the difference of two bits), and e is fresh noise on every polynomial. The mask hides u by module learning with
//!    errors of dimension kN. That is at least as hard as the parameter set's own problem with binary secrets, which reduces to it by
//!    subtracting chosen bits. For results under the small key, this encryption is key-switched;
//! 2. adds to the body a fresh Gaussian of deviation σ.
//!
//! The client's views of two computations with equal values and errors within B then differ in statistical distance by at most
//! 2B/(σ·√(2π)) per ciphertext, plus the advantage against learning with errors and the probability of an error beyond B.
//! [`flood_deviation`] gives σ for a number of bits. None of this binds a malicious server.

use polyfabric_kernels::key_switch::KeySwitch;
use polyfabric_kernels::sample_extract::sample_extract;
use polyfabric_kernels::{Isa, Torus, cancel};
use rayon::prelude::*;
use std::f64::consts::PI;
use thiserror::Error;

use super::lwe::LweBatch;
use super::public_zeros::Zeros;
use super::random::{Purpose, RandomnessError, Seeds};
use super::server_key::ServerKey;

/// Why results cannot be re-randomised.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum RerandomiseError {
    #[error(
        "ciphertexts of dimension {given} are of no key of parameter set {parameters}, whose keys have {small} and {large} bits"
    )]
    Dimension { given: usize, parameters: String, small: usize, large: usize },
    #[error(
        "results under the small key are re-randomised by a key switch, which parameter set {parameters} lacks; choose a set with one"
    )]
    NoKeySwitch { parameters: String },
    #[error(
        "both keys of parameter set {parameters} have {dimension} bits, so the key of the results is ambiguous; choose a set whose keys differ"
    )]
    Ambiguous { parameters: String, dimension: usize },
    #[error(
        "the server key of parameter set {parameters} comes from another library and has no public encryptions of zero; use a key made here"
    )]
    NoZeros { parameters: String },
    #[error("noise of deviation {deviation} of the torus cannot be added; a deviation is from 0 to 1/4")]
    Deviation { deviation: f64 },
    #[error(transparent)]
    Randomness(#[from] RandomnessError),
}

/// σ, as a fraction of the torus, for which errors up to `error_bound` distinguish two computations with statistical distance 2^-`bits`. Two
/// Gaussians at distance Δ ≤ 2B have 2Φ(Δ/2σ) − 1 ≤ Δ/(σ·√(2π)).
pub fn flood_deviation(error_bound: f64, bits: f64) -> f64 {
    2.0 * error_bound * bits.exp2() / (2.0 * PI).sqrt()
}

/// The inverse of [`flood_deviation`]: −log2 of the statistical distance for `deviation`.
pub fn hidden_bits(error_bound: f64, deviation: f64) -> f64 {
    (deviation * (2.0 * PI).sqrt() / (2.0 * error_bound)).log2()
}

impl<T: Torus> ServerKey<T> {
    /// Re-randomises every ciphertext of `batch`, under either key, and adds noise of `deviation`, a fraction of the torus, to its phase.
    pub fn rerandomise(&self, batch: &mut LweBatch<T>, deviation: f64) -> Result<(), RerandomiseError> {
        self.rerandomise_with(batch, deviation, &Seeds::from_os()?)
    }

    fn rerandomise_with(&self, batch: &mut LweBatch<T>, deviation: f64, seeds: &Seeds) -> Result<(), RerandomiseError> {
        let parameters = &self.parameters;
        let (small, large) = (parameters.lwe_dimension().get(), parameters.large_lwe_dimension().get());
        if !(0.0..=0.25).contains(&deviation) {
            return Err(RerandomiseError::Deviation { deviation });
        }
        if small == large && !parameters.has_one_lwe_key() {
            return Err(RerandomiseError::Ambiguous { parameters: parameters.name().to_owned(), dimension: large });
        }
        if self.public_zeros.is_empty() {
            return Err(RerandomiseError::NoZeros { parameters: parameters.name().to_owned() });
        }
        let given = batch.dimension().get();
        let switch = if given == large {
            None
        } else if given == small {
            let without = || RerandomiseError::NoKeySwitch { parameters: parameters.name().to_owned() };
            let (gadget, key) = parameters.key_switch_gadget().zip(self.key_switch_key()).ok_or_else(without)?;
            Some(KeySwitch::new(key, gadget, large, small, Isa::best()))
        } else {
            let parameters = parameters.name().to_owned();
            return Err(RerandomiseError::Dimension { given, parameters, small, large });
        };
        let zeros = Zeros::new(parameters, &self.public_zeros);
        let flood = parameters.torus_noise(deviation);
        let each = batch.dimension().ciphertext_len();
        batch.data_mut().par_chunks_exact_mut(each).enumerate().for_each(|(index, ciphertext)| {
            cancel::check();
            let glwe = zeros.draw(&mut seeds.secret.stream(Purpose::PublicKey, index as u64));
            let mut zero = vec![T::default(); large + 1];
            sample_extract(&glwe, parameters.ring_degree().get(), 0, &mut zero);
            if let Some(switch) = &switch {
                let mut switched = vec![T::default(); each];
                switch.switch(&zero, &mut switched);
                zero = switched;
            }
            let drawn = flood.draw(&mut seeds.secret.stream(Purpose::Flooding, index as u64));
            for (element, &zero) in ciphertext.iter_mut().zip(&zero) {
                *element = element.wrapping_add(zero);
            }
            ciphertext[each - 1] = ciphertext[each - 1].wrapping_add(T::from_u64(drawn as u64));
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    //! Are re-randomised ciphertexts fresh encryptions of the same value with the predicted noise, and does flooding hide an error as
    //! predicted?
    use super::*;
    use crate::tfhe::noise::{Formulas, Keys};
    use crate::tfhe::{ClientKey, LweKind, sets};

    /// Mean square of the phases of re-randomised zeros, over `keys` keys with `each` of them, and the formula's average.
    fn measured<T: Torus>(name: &str, kind: LweKind, deviation: f64, (keys, each): (u64, usize)) -> (f64, f64) {
        let parameters = sets::parameters(name).expect("a known set");
        let dimension = match kind {
            LweKind::Small => parameters.lwe_dimension(),
            LweKind::Large => parameters.large_lwe_dimension(),
        };
        let mut sum = 0.0;
        for seed in 0..keys {
            let client = ClientKey::<T>::for_tests(&parameters, seed).expect("the right torus");
            let server = ServerKey::for_tests(&client, seed + 1);
            let mut batch = LweBatch::zeros(dimension, each);
            server.rerandomise_with(&mut batch, deviation, &Seeds::for_tests(seed + 2)).expect("usable");
            sum += batch.iter().map(|zero| client.lwe(kind).phase(zero).to_fraction().powi(2)).sum::<f64>();
            let masks: Vec<&[T]> = batch.iter().map(|zero| &zero[..dimension.get()]).collect();
            assert!(masks.windows(2).all(|pair| pair[0].iter().zip(pair[1]).filter(|(a, b)| a == b).count() < 8));
        }
        let formulas = Formulas::of(&parameters, Keys::Average);
        let zero = formulas.public_zero(kind, &parameters).expect("a key switch");
        (sum / (keys * each as u64) as f64, zero.second_moment() + deviation * deviation)
    }

    /// Measurements match the average to five deviations, and stay below the bound for every key. The mean of the squares varies by
    /// √(2/draws). In addition each key has its own noise in N places and its own secret's weight, which change its variance by up to a
    /// sixth (measured), and a mean of its key switch.
    #[test]
    fn encryptions_of_zero_have_the_predicted_noise() {
        let full = std::env::var_os("POLYFABRIC_FULL").is_some();
        let counts = |kind| match (kind, full) {
            (LweKind::Small, false) => (60, 40),
            (LweKind::Small, true) => (600, 40),
            (LweKind::Large, false) => (24, 50),
            (LweKind::Large, true) => (60, 400),
        };
        for (name, bits) in [("toy-256", 32), ("toy-512-k2", 32), ("toy-256-t64", 64)] {
            let run = |kind, deviation| {
                let (keys, each) = counts(kind);
                let (found, average) = match bits {
                    32 => measured::<u32>(name, kind, deviation, (keys, each)),
                    _ => measured::<u64>(name, kind, deviation, (keys, each)),
                };
                let (keys, ratio) = (keys as f64, found / average);
                let width = 5.0 * (2.0 / (keys * each as f64) + 0.03 / keys).sqrt();
                println!("{name}, {kind:?}, flooded by {deviation}: {ratio:.3} within {width:.3} of 1");
                assert!((ratio - 1.0).abs() < width, "{name}, {kind:?}, flooded by {deviation}: {ratio}");
                found
            };
            let parameters = sets::parameters(name).expect("a known set");
            let stated = Formulas::of(&parameters, Keys::Accepted).public_zero(LweKind::Large, &parameters);
            let stated = stated.expect("a key switch").second_moment();
            let found = run(LweKind::Large, 0.0);
            assert!(found < stated, "{name}: {found} for {stated}");
            run(LweKind::Small, 0.0);
            run(LweKind::Large, 1e-3);
        }
    }

    /// The best threshold distinguishes the predicted share of floods.
    #[test]
    fn floods_hide_errors_as_well_as_they_say() {
        let (bound, bits) = (1e-5, 2.0);
        let deviation = flood_deviation(bound, bits);
        assert!((hidden_bits(bound, deviation) - bits).abs() < 1e-12);
        let parameters = sets::parameters("toy-256-t64").expect("a known set");
        let noise = parameters.torus_noise(deviation);
        let mut stream = Seeds::for_tests(9).secret.stream(Purpose::Flooding, 0);
        // Both counts together vary by 0.0007.
        let runs = 1_000_000;
        let mut above = |error: f64| {
            let drawn = (0..runs).filter(|_| noise.draw(&mut stream) as f64 / 2f64.powi(64) + error > 0.0).count();
            drawn as f64 / f64::from(runs)
        };
        let difference = above(bound) - above(-bound);
        assert!(difference <= 0.25 && difference > 0.22, "{difference}");
    }

    #[test]
    fn unsupported_batches_are_rejected() {
        let parameters = sets::parameters("toy-256").expect("a known set");
        let client = ClientKey::<u32>::for_tests(&parameters, 1).expect("32 bits");
        let server = ServerKey::for_tests(&client, 2);
        let large = parameters.large_lwe_dimension();
        let refused =
            |batch: &mut LweBatch<u32>, deviation| server.rerandomise(batch, deviation).unwrap_err().to_string();
        assert!(refused(&mut LweBatch::zeros(large, 1), 0.3).contains("deviation 0.3 of the torus"));
        assert!(refused(&mut LweBatch::zeros(large, 1), f64::NAN).contains("from 0 to 1/4"));
        let odd = crate::tfhe::LweDimension::new(17).expect("small");
        assert!(
            refused(&mut LweBatch::zeros(odd, 1), 0.1).contains("dimension 17 are of no key of parameter set toy-256")
        );
    }
}
