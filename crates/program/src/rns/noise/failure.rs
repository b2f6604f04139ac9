//! The probability that a program exceeds its noise bounds.
//!
//! *BGV.* A bound fails if a random polynomial exceeds κ deviations at one of the N roots, with probability e·κ²·e^(−κ²) (the noise
//! model of `polyfabric_schemes::bgv`). Limbs are chosen for κ = [`KAPPA`]. Unused modulus bits permit a larger κ
//! ([`polyfabric_schemes::bgv::Noise::kappa_within`]); the smallest along the way counts. Bootstrapping also rounds.
//!
//! *CKKS.* The error of each output, and each error that a lookup relies on, exceeds its bound with probability at most
//! 2^[`super::NoiseModel::failure_log2`]: 2^-40, for integers 2^-144. A bootstrapping or lookup also fails if an integer part leaves its range
//! ([`crate::rns::approximation::modular_reduction::overflow_probability_log2`]).

use crate::rns::lowering::bgv::Held;
use polyfabric_schemes::bgv::KAPPA;
use polyfabric_schemes::gaussian::ln_erfc;
use polyfabric_schemes::tfhe::noise::sum_log2;
use std::f64::consts::{LOG2_E, SQRT_2};

/// log2 of the probability that a CKKS program exceeds one of `bounds` error bounds, each with probability 2^`beyond_log2`, or that one of
/// its bootstrappings or lookups overflows (with probability 2^`overflow_log2`).
pub fn ckks_failure_log2(bounds: usize, beyond_log2: f64, overflow_log2: f64) -> f64 {
    sum_log2(beyond_log2 + (bounds as f64).log2(), overflow_log2).min(0.0)
}

/// log2 of the probability that a BGV program exceeds a bound, so that it decrypts wrongly or is rejected. `degree` is the ring degree
/// and `polynomials` an upper bound of the number of random polynomials that its execution meets.
pub fn bgv_failure_log2(held: &Held, polynomials: u64, degree: usize) -> f64 {
    let square = held.kappa.max(KAPPA).powi(2);
    let one = (1.0 + square.ln() - square) * LOG2_E;
    let bounds = one + (polynomials as f64 * degree as f64).log2();
    let (bootstraps, deviations) = held.bootstraps;
    let rounding = match bootstraps {
        0 => f64::NEG_INFINITY,
        _ => (bootstraps as f64).log2() + ln_erfc(deviations / SQRT_2) * LOG2_E,
    };
    sum_log2(bounds, rounding).min(0.0)
}

#[cfg(test)]
mod tests {
    //! Does each term of a failure probability count where it dominates?

    use super::*;
    use polyfabric_schemes::bgv::RARE_KAPPA;

    #[test]
    fn outputs_and_overflows_of_ckks_both_count() {
        let of = |bounds, overflow| ckks_failure_log2(bounds, -40.0, overflow);
        assert_eq!(of(1, f64::NEG_INFINITY), -40.0);
        assert_eq!(of(1 << 10, f64::NEG_INFINITY), -30.0);
        assert!((of(1, -40.0) + 39.0).abs() < 1e-9 && (of(1, -20.0) + 20.0).abs() < 1e-5);
        assert_eq!(of(1, 3.0), 0.0);
    }

    #[test]
    fn unused_modulus_bits_make_failures_rarer() {
        let at = |kappa: f64, bootstraps| bgv_failure_log2(&Held { kappa, bootstraps }, 1 << 10, 1 << 12);
        let none = (0, f64::INFINITY);
        // e·36·e^-36 for 2^22 numbers.
        assert!((at(KAPPA, none) + 45.33 - 22.0).abs() < 0.01, "{}", at(KAPPA, none));
        assert!(at(RARE_KAPPA, none) < -170.0 && (-80.0..-70.0).contains(&at(72f64.sqrt(), none)));
        // Eight deviations on either side are 2^-49.5.
        assert!((at(RARE_KAPPA, (4, 8.0)) + 47.5).abs() < 0.1, "{}", at(RARE_KAPPA, (4, 8.0)));
        assert!((at(KAPPA, (4, 8.0)) - at(KAPPA, none)).abs() < 1e-6);
    }
}
