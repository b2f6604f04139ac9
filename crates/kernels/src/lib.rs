//! Operations of functional units on one polynomial or one ciphertext.
//!
//! Each kernel has a slow, simple reference and a fast version; property tests compare them.

pub mod aligned;
pub mod automorphism;
pub mod base_conversion;
pub mod cancel;
pub mod clock;
pub mod decompose;
pub mod expander;
pub mod external_product;
pub mod fft;
pub mod fixed;
pub mod internals;
pub mod isa;
pub mod key_switch;
pub mod memory;
pub mod modular;
pub mod modulus_switch;
pub mod negacyclic;
pub mod ntt;
pub mod primes;
pub mod ring;
pub mod rotation;
pub mod row_product;
pub mod sample_extract;
pub mod torus;

pub use decompose::Gadget;
pub use isa::{Isa, IsaError};
pub use ring::{RingDegree, RingDegreeError};
pub use torus::Torus;
