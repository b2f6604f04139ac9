//! Imports server keys from another library's numbers.

use polyfabric_kernels::Torus;
use thiserror::Error;

use super::parameters::Parameters;
use super::random::{RandomnessError, Seeds};
use super::server_key::ServerKey;
use super::unrolling::KeyUnrolling;
use crate::generation::KeyGeneration;

/// Why numbers are not a server key.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum KeyMaterialError {
    #[error(
        "parameter set {set} is for a torus of {set_bits} bits, but the key's numbers have {given}; give numbers of {set_bits}"
    )]
    TorusBits { set: String, set_bits: u32, given: u32 },
    #[error("the {key} has {given} numbers, but that of parameter set {set} has {expected}; give the key of this set")]
    Length { key: &'static str, set: String, expected: usize, given: usize },
    #[error(transparent)]
    Randomness(#[from] RandomnessError),
}

impl<T: Torus> ServerKey<T> {
    /// Builds a server key from another library's numbers. `bootstrap_key` is
    /// `[GGSW][row = j·l + t][column in 0..=k][coefficient in 0..N]`, where level t = 0 is the most significant, and `key_switch_key` is
    /// `[i in 0..kN][t in 0..l_k][n + 1]`, if the set switches keys.
    ///
    /// The key gets a new generation. It has no key for circuit bootstrapping, and no public encryptions of zero, so it cannot re-randomise results or
    /// be saved.
    pub fn from_material(
        parameters: &Parameters,
        bootstrap_key: Vec<T>,
        key_switch_key: Option<Vec<T>>,
    ) -> Result<Self, KeyMaterialError> {
        let set = || parameters.name().to_owned();
        if parameters.torus_bits() != T::BITS {
            let (set_bits, given) = (parameters.torus_bits(), T::BITS);
            return Err(KeyMaterialError::TorusBits { set: set(), set_bits, given });
        }
        let lengths = [
            ("bootstrapping key", parameters.bootstrap_key_len(), bootstrap_key.len()),
            (
                "key-switching key",
                parameters.key_switch_key_len().unwrap_or(0),
                key_switch_key.as_ref().map_or(0, Vec::len),
            ),
        ];
        if let Some(&(key, expected, given)) = lengths.iter().find(|(_, expected, given)| expected != given) {
            return Err(KeyMaterialError::Length { key, set: set(), expected, given });
        }
        Ok(Self {
            parameters: parameters.clone(),
            generation: KeyGeneration::draw(&Seeds::from_os()?),
            unrolling: KeyUnrolling::ONE,
            bootstrap_key,
            key_switch_key,
            circuit_key: Vec::new(),
            public_zeros: Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    //! Does a key with the right numbers work, and are others rejected?

    use super::*;
    use crate::serial::to_bytes;
    use crate::tfhe::circuit_privacy::RerandomiseError;
    use crate::tfhe::{AnyServerKey, ClientKey, LweBatch, sets};

    #[test]
    fn a_key_is_its_numbers() {
        let parameters = sets::parameters("toy-256").unwrap();
        let client = ClientKey::<u32>::for_tests(&parameters, 1).unwrap();
        let own = ServerKey::for_tests(&client, 2);
        let (bootstrap, switch) = (own.bootstrap_key().to_vec(), own.key_switch_key().map(<[u32]>::to_vec));
        let made = ServerKey::from_material(&parameters, bootstrap.clone(), switch.clone()).unwrap();
        assert_eq!(made.bootstrap_key(), own.bootstrap_key());
        assert_eq!(made.key_switch_key(), own.key_switch_key());
        assert_ne!(made.generation(), own.generation());
        let mut batch = LweBatch::<u32>::zeros(parameters.large_lwe_dimension(), 1);
        let error = made.rerandomise(&mut batch, 0.001).unwrap_err();
        assert_eq!(error, RerandomiseError::NoZeros { parameters: "toy-256".to_owned() });
        assert_eq!(batch, LweBatch::zeros(parameters.large_lwe_dimension(), 1));
        let error = to_bytes(&AnyServerKey::Torus32(made), "server.key").unwrap_err().to_string();
        assert!(error.contains("a server key from another library has none"), "{error}");
    }

    #[test]
    fn others_are_refused() {
        let parameters = sets::parameters("toy-256").unwrap();
        let (bootstrap, switch) = (parameters.bootstrap_key_len(), parameters.key_switch_key_len().unwrap());
        let refused = |bootstrap: usize, switch: Option<usize>| {
            let made =
                ServerKey::from_material(&parameters, vec![0u32; bootstrap], switch.map(|length| vec![0; length]));
            made.unwrap_err().to_string()
        };
        assert_eq!(
            refused(bootstrap - 1, Some(switch)),
            format!(
                "the bootstrapping key has {} numbers, but that of parameter set toy-256 has {bootstrap}; give the key of this set",
                bootstrap - 1
            )
        );
        assert_eq!(
            refused(bootstrap, None),
            format!(
                "the key-switching key has 0 numbers, but that of parameter set toy-256 has {switch}; give the key of this set"
            )
        );
        let wide = ServerKey::from_material(&parameters, vec![0u64; bootstrap], None).unwrap_err();
        assert_eq!(
            wide.to_string(),
            "parameter set toy-256 is for a torus of 32 bits, but the key's numbers have 64; give numbers of 32"
        );
    }
}
