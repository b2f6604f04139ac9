//! Converts keys of tfhe-rs to keys of Polyfabric.
//!
//! Both have GGSW ciphertexts of (k+1)·l rows, where row j of a level adds s·q/β^level to polynomial j, and LWE ciphertexts of s'·q/β^level. tfhe-rs
//! puts levels first, the least significant one at the front: `[GGSW][level][row][column]`. Polyfabric puts rows first, then the most significant
//! level: `[GGSW][row][level][column]`.

use crate::{AdapterError, Backend, Deviations, Element, native};
use polyfabric_kernels::{Gadget, Torus};
use polyfabric_schemes::tfhe::{Parameters, ParametersLiteral, Secret, ServerKey};
use std::collections::BTreeMap;
use tfhe::core_crypto::prelude::{Container, LweBootstrapKey, LweKeyswitchKey};

impl<T: Element> Backend<T> {
    /// Converts a bootstrapping key in the coefficient domain and, for lookups with a key switch, the key-switching key from its results to its inputs.
    ///
    /// # Errors
    /// [`AdapterError`] if the keys do not match, or are not valid keys in Polyfabric.
    pub fn new<B, K>(
        bootstrap: &LweBootstrapKey<B>,
        key_switch: Option<&LweKeyswitchKey<K>>,
        deviations: Deviations,
    ) -> Result<Self, AdapterError>
    where
        B: Container<Element = T>,
        K: Container<Element = T>,
    {
        native("the bootstrapping key", bootstrap.ciphertext_modulus())?;
        let (lwe_dimension, glwe_dimension) =
            (bootstrap.input_lwe_dimension().0, bootstrap.glwe_size().to_glwe_dimension().0);
        let ring_degree = bootstrap.polynomial_size().0;
        let large = glwe_dimension * ring_degree;
        if let Some(key) = key_switch {
            native("the key-switching key", key.ciphertext_modulus())?;
            let (from, to) = (key.input_key_lwe_dimension().0, key.output_key_lwe_dimension().0);
            if (from, to) != (large, lwe_dimension) {
                return Err(AdapterError::KeySwitch { from, to, large, small: lwe_dimension });
            }
        }
        let gadget = |log2_base: usize, levels: usize| Gadget { log2_base: log2_base as u32, levels: levels as u32 };
        let parameters = Parameters::check(&ParametersLiteral {
            name: "tfhe-rs".to_owned(),
            torus_bits: <T as Torus>::BITS,
            lwe_dimension,
            secret: Secret::Binary,
            glwe_dimension,
            ring_degree,
            bootstrap_gadget: gadget(bootstrap.decomposition_base_log().0, bootstrap.decomposition_level_count().0),
            key_switch_gadget: key_switch
                .map(|key| gadget(key.decomposition_base_log().0, key.decomposition_level_count().0)),
            circuit: None,
            lwe_noise_log2: log2("LWE", deviations.lwe)?,
            glwe_noise_log2: log2("GLWE", deviations.glwe)?,
            sources: BTreeMap::new(),
        })?;
        let levels = bootstrap.decomposition_level_count().0;
        let rows = rows_first(bootstrap.as_ref(), levels, glwe_dimension + 1, large + ring_degree);
        let switch = key_switch
            .map(|key| rows_first(key.as_ref(), key.decomposition_level_count().0, 1, key.output_lwe_size().0));
        Ok(Self { key: ServerKey::from_material(&parameters, rows, switch)? })
    }
}

/// Reorders `[..][level][row][length]`, least significant level first, to `[..][row][level][length]`, most significant first.
fn rows_first<T: Element>(given: &[T], levels: usize, rows: usize, length: usize) -> Vec<T> {
    let mut ordered = Vec::with_capacity(given.len());
    for whole in given.chunks_exact(levels * rows * length) {
        for (row, level) in (0..rows).flat_map(|row| (0..levels).rev().map(move |level| (row, level))) {
            let start = (level * rows + row) * length;
            ordered.extend_from_slice(&whole[start..start + length]);
        }
    }
    ordered
}

fn log2(what: &'static str, deviation: f64) -> Result<f64, AdapterError> {
    if deviation > 0.0 && deviation.is_finite() {
        return Ok(deviation.log2());
    }
    Err(AdapterError::Deviation { what, deviation })
}

#[cfg(test)]
mod tests {
    //! Is every row where Polyfabric expects it?

    use super::rows_first;

    #[test]
    fn rows_come_first_and_the_most_significant_level() {
        // Two GGSW ciphertexts of three levels, two rows of two elements: numbered in tfhe-rs's order.
        let given: Vec<u32> = (0..24).collect();
        let expected = [8, 9, 4, 5, 0, 1, 10, 11, 6, 7, 2, 3];
        let found = rows_first(&given, 3, 2, 2);
        assert_eq!(found[..12], expected);
        assert_eq!(found[12..], expected.map(|element| element + 12));
    }
}
