//! Encodes messages as torus elements, and decodes noisy phases.
//!
//! | encoding | message | torus value | decoding |
//! |---|---|---|---|
//! | [`Boolean`] | false, true | −1/8, +1/8 | the sign |
//! | [`TorusStep`] | an integer v | v / P | rounding, within P values |
//!
//! Both are linear in the message (Boolean up to constants), so sums of ciphertexts encode sums of messages.

mod boolean;
#[cfg(test)]
mod tests;
mod torus_step;

pub use boolean::Boolean;
pub use torus_step::TorusStep;
