//! CKKS bootstrapping: restores the levels of a ciphertext while keeping its message.
//!
//! The phase m of a ciphertext modulo q_0 becomes m + q_0·I, with small integer coefficients I, when read modulo a large Q. The steps
//! remove q_0·I (J. H. Cheon, K. Han, A. Kim, M. Kim and Y. Song, EUROCRYPT 2018; in the form of J.-P. Bossuat, C. Mouchet,
//! J. Troncoso-Pastoriza and J.-P. Hubaux, EUROCRYPT 2021):
//!
//! 1. *Modulus raising* ([`Lowering::raise_modulus`]): reinterprets the residues modulo all primes. A dense secret makes I large, so the
//!    ciphertext is first switched to a sparse ephemeral secret, modulo q_0 and one special prime only, and back afterward
//!    (J.-P. Bossuat, J. Troncoso-Pastoriza and J.-P. Hubaux, ACNS 2022).
//! 2. *Coefficients to slots*: the factors of [`crate::rns::approximation::embedding`] move coefficients into slots.
//! 3. *Modular reduction* of every slot, by
//!    [`ModularReduction`](crate::rns::approximation::modular_reduction::ModularReduction), separately for real and imaginary parts,
//!    which conjugation separates.
//! 4. *Slots to coefficients*: the inverse of step 2.
//!
//! The order 4, 1, 2, 3 is *slim* bootstrapping (H. Chen and K. Han, EUROCRYPT 2018): step 4 runs at the lowest levels, where it is
//! cheap. With fewer than N/2 slots the ciphertext is packed sparsely: after the raising, a trace maps it into the subring of X^(N/2n),
//! one vector of 2n slots contains both parts, and one modular reduction handles them. With one slot, this is the non-packed
//! bootstrapping that F1 measures (J. H. Cheon et al., EUROCRYPT 2018): each transform is one product.
//!
//! Functional bootstrapping applies tables to integers instead ([`Lowering::lookup`]), or to rounded real numbers (`round.rs`).

mod lookup;
mod parameters;
mod raise;
mod reduce;
mod round;
mod transforms;

pub use parameters::{Bootstrapping, BootstrappingError, BootstrappingLiteral, BootstrappingSecret};
pub use polyfabric_schemes::ckks::BootstrapOrder;

use super::{CiphertextValue, Lowering, Noise, Result};
use crate::rns::levels::Scale;

impl Lowering<'_> {
    /// The same message at [`Bootstrapping::output_level`], with that level's scale. The operand's level must be at least
    /// [`Bootstrapping::input_level`].
    ///
    /// # Errors
    /// [`super::LoweringError::LevelRaised`] if the operand's level is below the input level, [`super::LoweringError::NotLinear`].
    pub fn bootstrap(&mut self, a: &CiphertextValue, plan: &Bootstrapping) -> Result<CiphertextValue> {
        let a = if a.rescale_due { self.relinearise_and_rescale(a)? } else { a.clone() };
        let magnitude = a.noise.magnitude;
        let mut start = self.drop_to(&a, plan.input_level())?;
        // An error followed at points passes through unchanged; bootstrapping adds the errors for a message without errors.
        let followed = start.noise.profile.is_some().then(|| start.noise.clone());
        if followed.is_some() {
            start.noise = Noise { magnitude, ..Noise::none() };
        }
        let mut result = match plan.literal().order {
            BootstrapOrder::Full => {
                let raised = self.raise_modulus(&start, plan)?;
                let scale = start.scale.real();
                let target = plan.transformed_scale(self.chain(), scale);
                let parts = self.coefficients_to_slots(raised, plan, target)?;
                let parts = self.reduce_parts(parts, plan, scale)?;
                let joined = self.join_parts(parts, plan)?;
                self.slots_to_coefficients(&joined, plan)?
            }
            BootstrapOrder::Slim => {
                let coefficients = self.slots_to_coefficients(&start, plan)?;
                let scale = coefficients.scale.real();
                let raised = self.raise_modulus(&coefficients, plan)?;
                let target = plan.transformed_scale(self.chain(), scale);
                let parts = self.coefficients_to_slots(raised, plan, target)?;
                let parts = self.reduce_parts(parts, plan, scale)?;
                self.join_parts(parts, plan)?
            }
        };
        result.noise.magnitude = magnitude;
        let scale = real(result.scale);
        let (own, concentrated) = self.reduction_errors(plan, &start);
        result.noise = result.noise.with_error(scale * own, self.source());
        // The operand's errors remain.
        result.noise.systematic += start.noise.systematic * scale / real(start.scale);
        result.noise.concentrated = start.noise.concentrated * scale / real(start.scale) + scale * concentrated;
        result.noise = match followed {
            Some(noise) => noise.restored(&result.noise, scale / real(start.scale), self.source()),
            None => {
                result.noise.sources |= a.noise.sources;
                result.noise
            }
        };
        let expected = self.chain().scale(plan.output_level());
        if self.chain().alike(result.scale, expected) {
            result.scale = expected;
        }
        Ok(result)
    }

    /// Error of the modular reduction's functions in a slot of the result: a deviation, and a bound of the additional error for messages
    /// with few dominant coefficients.
    ///
    /// The polynomial's errors in the 2n coefficients are nearly independent. The sine's error is ε in a coefficient as large as the message
    /// bound B, and proportional to the coefficient's cube. The squares of all coefficients sum to at most B². If the coefficients are
    /// similar, as for random slots, each is Gaussian with deviation B/√2n, its cube has deviation √15·(B/√2n)³, and the sum of 2n such
    /// errors is √15·ε/2n. If one coefficient dominates, the error is ε.
    fn reduction_errors(&self, plan: &Bootstrapping, start: &CiphertextValue) -> (f64, f64) {
        let modulus = self.chain().log2_modulus(0).exp2();
        let count = 2.0 * plan.literal().slots as f64;
        let unit = modulus / real(start.scale);
        let message = start.noise.magnitude / unit;
        let reduction = plan.reduction();
        let polynomial = reduction.polynomial_deviation(plan.literal().secret.hamming_weight(), message);
        let polynomial = polynomial * unit * count.sqrt();
        let sine = reduction.sine_error(message) * unit;
        (polynomial.hypot(sine * (15f64.sqrt() / count).min(1.0 / self.model().tail())), sine)
    }
}

fn real(scale: Scale) -> f64 {
    scale.real()
}
