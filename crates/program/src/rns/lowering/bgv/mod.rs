//! BGV: exact arithmetic modulo t, with modulus switching driven by noise instead of levels.
//!
//! [`crate::rns::lowering`] has the operations: products, key switches, divisions that preserve the message modulo t. This module adds
//! the BGV parts: [`Rules`] give the effect of operations on noise, limbs and correction factor, [`Evaluator`] switches moduli by them,
//! [`lower`] lowers whole programs, and [`bootstrap`] bootstraps a ciphertext.
//!
//! # Correction factor
//! A ciphertext's phase is f·m + t·e. Division by q multiplies f by q^-1 modulo t, and a product multiplies factors. All factors are
//! known when a program is lowered. Before an addition, operands with different factors are multiplied by small integers r and s with
//! r·f_a ≡ s·f_b (both about √t), or one is multiplied within a modulus switch.

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

pub type Result<T> = std::result::Result<T, BgvError>;
