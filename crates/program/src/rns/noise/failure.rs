//! How likely a program's bounds are passed.
//!
//! *BGV.* Bounds hold but where a random polynomial is larger than κ deviations at one of the N roots, which it is with a probability of e·κ²·e^(−κ²)
//! (`polyfabric_schemes::bgv`'s noise model). Limbs are chosen for κ = [`KAPPA`]; what is not used of a modulus holds a larger one
//! ([`polyfabric_schemes::bgv::Noise::kappa_within`]), and the smallest of all moduli on the way counts. A bootstrapping also rounds.
//!
//! *CKKS.* Errors stay below their bounds but for 2^-40 ([`super::NoiseModel::tail`]), of each output.

use crate::rns::lowering::bgv::Held;
use polyfabric_schemes::bgv::KAPPA;
use polyfabric_schemes::tfhe::noise::{ln_erfc, sum_log2};
use std::f64::consts::{LOG2_E, SQRT_2};

/// log2 of the probability that a bound of CKKS is passed in some slot of one ciphertext.
pub const CKKS_BEYOND_LOG2: f64 = -40.0;

/// log2 of the probability that some bound of a BGV program on rings of degree `degree` is passed: that it decrypts to a wrong result, or is
/// refused. `polynomials` is how many random ones its execution meets, at most.
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
    //! Is the probability that of the smallest κ, and what bootstraps add to it?

    use super::*;
    use polyfabric_schemes::bgv::RARE_KAPPA;

    #[test]
    fn room_makes_failures_rarer() {
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
