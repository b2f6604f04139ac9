//! Do the shifts round exactly as the definition, at both torus widths?
use crate::random::torus_vector;
use polyfabric_kernels::Torus;
use polyfabric_kernels::modulus_switch::*;

/// Number of values; fewer under Miri.
const COUNT: usize = if cfg!(miri) { 64 } else { 4096 };

fn agree<T: Torus>() {
    for log2_modulus in [1, 5, 9, 12, 17, 18] {
        let mut values = torus_vector::<T>(COUNT, log2_modulus);
        values.extend([0u64, 1, u64::MAX, 1 << 31, (1 << 63) - 1].map(T::from_u64));
        let mut switched = vec![0; values.len()];
        modulus_switch(&values, log2_modulus, &mut switched);
        for (value, out) in values.iter().zip(&switched) {
            assert_eq!(*out, modulus_switch_reference(*value, log2_modulus), "{value:?}");
        }
    }
}

#[test]
fn shifts_equal_the_definition() {
    agree::<u32>();
    agree::<u64>();
}

/// For any key, and for each mean 1/c of its bits, the phase's error is Σ e_i (s_i − 1/c) plus the body's own rounding.
#[test]
fn a_centred_switch_has_the_predicted_error() {
    let log2_modulus = 11;
    let seeds = 0..if cfg!(miri) { 2 } else { 50 };
    for (seed, choices) in seeds.flat_map(|seed| [2, 3, 4].map(|choices| (seed, choices))) {
        let ciphertext = torus_vector::<u64>(601, seed);
        let secret: Vec<u64> = torus_vector::<u64>(600, seed + 1000).iter().map(|x| x >> 63).collect();
        let mut switched = vec![0; 601];
        modulus_switch_centred(&ciphertext, log2_modulus, choices, &mut switched);
        let wide = |value: u32| u64::from(value) << (64 - log2_modulus);
        let phase = |body: u64, mask: &dyn Fn(usize) -> u64| {
            (0..600).fold(body, |sum, i| sum.wrapping_sub(mask(i).wrapping_mul(secret[i])))
        };
        let exact = phase(ciphertext[600], &|i| ciphertext[i]);
        let found = phase(wide(switched[600]), &|i| wide(switched[i]));
        let expected: f64 = (0..600)
            .map(|i| {
                let error = ciphertext[i].wrapping_sub(wide(switched[i])) as i64 as f64;
                error * (secret[i] as f64 - 1.0 / f64::from(choices))
            })
            .sum();
        let unit = 2f64.powi(64 - log2_modulus as i32);
        let error = found.wrapping_sub(exact) as i64 as f64;
        assert!((error - expected).abs() <= unit / 2.0 * 1.0001, "{error} {expected} {unit}");
    }
}

#[test]
fn a_half_rounds_up_and_the_top_wraps_to_zero() {
    let mut out = [9; 3];
    modulus_switch(&[1u32 << 20, (1 << 20) - 1, u32::MAX], 11, &mut out);
    assert_eq!(out, [1, 0, 0]);
}
