//! BGV: exact arithmetic modulo t, with the moduli switched by noise, not by count.
//!
//! The lowering of [`crate::rns::lowering`] has the operations: products, key switches, divisions that keep the message
//! modulo t. What BGV adds to it is here: [`Rules`] say how an operation changes noise, limbs and correction factor,
//! [`Evaluator`] switches moduli by them, [`lower`] takes whole programs, and [`bootstrap`] refreshes
//! a ciphertext.
//!
//! # Correction factor
//! A ciphertext's phase is f·m + t·e. Division by q multiplies f by q^-1 modulo t, a product multiplies factors. All factors
//! are known when a program is lowered; before an addition, operands of different factors are multiplied by small
//! integers r and s with r·f_a ≡ s·f_b (both about √t), or one is multiplied on its way through a modulus switch.

pub mod bootstrap;
mod error;
mod evaluator;
mod expand;
mod factor;
mod program;
mod rules;

pub use error::BgvError;
pub use evaluator::{BgvValue, Evaluator, Held, Steps};
pub use program::{BgvLowered, BgvPlan, BgvPort, SlotEncoder, chain, lower, plan, rules};
pub use rules::{Rules, State};

/// What operations on BGV ciphertexts give.
pub type Result<T> = std::result::Result<T, BgvError>;
