//! Variance of the error that each operation adds to a coefficient of the phase, in scaled integers.
//!
//! N is the degree, V_e the variance of key and encryption noise, h the expected weight of the secret (2N/3 if uniform ternary). A product
//! with the secret multiplies a variance by h, and one with an independent polynomial by the sum of its squared coefficients.
//! Coefficients are assumed independent. The error of a slot has E|·|² = N·V ([`slot_deviation`]).
//!
//! # Why Listing 1 with whole digits swamps a one-limb scale
//! Without special primes, the inner product Σ_d \[x\]_{q_d}·e_d has terms as large as a limb and is not divided: its deviation is
//! √(L·N/12)·q·σ. For F1's L = 16, N = 16384 and q ≈ 2^32 that is 2^(7.2 + 32 + 1.7) = 2^41, nine bits *above* a scale of one limb: no
//! bit of the message survives. A scale of two limbs (2^62) keeps 21 bits. Digits of 8 bits instead of 32 reduce the deviation by 2^23
//! to 2^18 (each digit by 2^24, but there are four times as many), which leaves 13 bits of a one-limb scale. Special primes divide the
//! noise by P.

use super::parameters::Parameters;
use crate::rns::{Gadget, LimbId};

/// Rounding a coefficient to an integer.
pub const ENCODING: f64 = 1.0 / 12.0;

/// The representative of a residue modulo a product B of primes that a base conversion produces
/// ([`polyfabric_kernels::base_conversion`]). Second moments, in units of B², assume residues uniform modulo each prime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Representative {
    /// The one in \[−B/2, B/2).
    Centred,
    /// Σ_i y_i·(B/b_i) with y_i in \[−b_i/2, b_i/2): no bias, off by multiples of B.
    Balanced,
    /// Σ_i y_i·(B/b_i) with y_i in \[0, b_i).
    Approximate,
}

impl Representative {
    /// E\[x²\]/B² for `primes` primes: 1/12; k/12; k/12 + (k/2)².
    pub fn second_moment(self, primes: usize) -> f64 {
        let primes = primes as f64;
        match self {
            Self::Centred => 1.0 / 12.0,
            Self::Balanced => primes / 12.0,
            Self::Approximate => primes / 12.0 + primes * primes / 4.0,
        }
    }
}

/// E\[Σ s_i²\]: a product with the secret multiplies a variance by this.
fn secret_weight(parameters: &Parameters) -> f64 {
    parameters.secret().expected_weight(parameters.ring_degree())
}

fn degree(parameters: &Parameters) -> f64 {
    parameters.ring_degree().get() as f64
}

/// Encryption with the secret key: V_e.
pub fn fresh_secret(parameters: &Parameters) -> f64 {
    parameters.noise().variance()
}

/// Encryption with the public key, e·v + e_0 + e_1·s with v uniform ternary: V_e·(n·2N/3 + 1 + h), as e is a sum of n parties' errors.
pub fn fresh_public(parameters: &Parameters) -> f64 {
    let key_errors = parameters.secret().parties() as f64 * 2.0 * degree(parameters) / 3.0;
    fresh_secret(parameters) * (key_errors + 1.0 + secret_weight(parameters))
}

/// ModDown or rescaling: dividing both parts by the product of `primes` primes with rounding, ρ_0 + ρ_1·s. `representative` describes
/// the remainder.
pub fn division(parameters: &Parameters, primes: usize, representative: Representative) -> f64 {
    representative.second_moment(primes) * (1.0 + secret_weight(parameters))
}

/// Key switch of a ciphertext over `limbs` (a prefix of the gadget's): N·V_e·Σ_d E\[digit²\]/P², plus the rounding of the ModDown if P ≠ 1.
/// `representative` describes digits of several limbs and the part modulo P. Digits below a limb are in \[−2^(b−1), 2^(b−1)] unless it
/// is [`Representative::Approximate`]; the topmost is always in \[0, 2^b).
pub fn key_switch(parameters: &Parameters, gadget: &Gadget, limbs: &[LimbId], representative: Representative) -> f64 {
    let log2 = |limbs: &[LimbId]| -> f64 {
        limbs.iter().map(|limb| (parameters.moduli()[limb.index()].value() as f64).log2()).sum()
    };
    let square = |log2: f64| (2.0 * log2).exp2();
    let terms = &gadget.terms()[..gadget.terms_at(limbs)];
    let digits: f64 = terms
        .iter()
        .map(|term| {
            let digit: Vec<LimbId> =
                gadget.digits()[term.digit].iter().copied().filter(|limb| limbs.contains(limb)).collect();
            match gadget.sub_digit_bits() {
                None => square(log2(&digit)) * representative.second_moment(digit.len()),
                Some(bits) => {
                    let left = log2(&digit) - f64::from(term.shift);
                    let balanced = representative != Representative::Approximate && left > f64::from(bits);
                    square(left.min(f64::from(bits))) / if balanced { 12.0 } else { 3.0 }
                }
            }
        })
        .sum();
    let product = degree(parameters) * parameters.noise().variance() * digits / square(log2(gadget.special()));
    let primes = gadget.special().len();
    product + if primes == 0 { 0.0 } else { division(parameters, primes, representative) }
}

/// Sum of squared coefficients of a vector encoded at `scale` whose slots have mean square `mean_square`: Δ²·E|z|² (the embedding is
/// orthogonal up to N/2), plus the rounding.
pub fn plaintext_energy(parameters: &Parameters, mean_square: f64, scale: f64) -> f64 {
    scale * scale * mean_square + degree(parameters) * ENCODING
}

/// Product with an encoded public vector of energy `plaintext`: `variance` times that energy, plus the `message` energy times the
/// vector's rounding error.
pub fn multiply_plaintext(variance: f64, message: f64, plaintext: f64) -> f64 {
    variance * plaintext + message * ENCODING
}

/// Product of two ciphertexts with errors `a`, `b` and message energies `message_a`, `message_b`, before relinearisation:
/// m_a·e_b + m_b·e_a + e_a·e_b.
pub fn multiply(parameters: &Parameters, a: f64, message_a: f64, b: f64, message_b: f64) -> f64 {
    a * message_b + b * message_a + degree(parameters) * a * b
}

/// √E|error|² of a slot at `scale` if every coefficient has `variance`.
pub fn slot_deviation(parameters: &Parameters, variance: f64, scale: f64) -> f64 {
    (degree(parameters) * variance).sqrt() / scale
}

#[cfg(test)]
mod tests;
