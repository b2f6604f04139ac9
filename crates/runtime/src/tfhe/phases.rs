//! The modulus switch of one ciphertext, with a kernel program's rounding and spacing.

use polyfabric_kernels::Torus;
use polyfabric_kernels::modulus_switch::{modulus_switch, modulus_switch_centred};
use polyfabric_schemes::tfhe::Parameters;
use polyfabric_schemes::tfhe::noise::PhaseRounding;

/// t · round(x · 2N / tq) mod 2N of each element of `ciphertext`, t = 2^`log2_tables`.
pub(crate) fn switched<T: Torus>(
    parameters: &Parameters,
    ciphertext: &[T],
    rounding: PhaseRounding,
    log2_tables: u32,
) -> Vec<u32> {
    let log2_modulus = parameters.ring_degree().log2() + 1 - log2_tables;
    let mut indices = vec![0; ciphertext.len()];
    match rounding {
        PhaseRounding::Nearest => modulus_switch(ciphertext, log2_modulus, &mut indices),
        PhaseRounding::Centred => {
            modulus_switch_centred(ciphertext, log2_modulus, parameters.secret().block() + 1, &mut indices);
        }
    }
    indices.iter_mut().for_each(|index| *index <<= log2_tables);
    indices
}
