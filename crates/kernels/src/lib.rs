//! What a functional unit does to one polynomial, or to one ciphertext.
//!
//! Each kernel has a slow, obvious reference and a fast form that property tests hold equal.

pub mod decompose;
pub mod ring;
pub mod torus;

pub use decompose::Gadget;
pub use ring::{RingDegree, RingDegreeError};
pub use torus::Torus;
