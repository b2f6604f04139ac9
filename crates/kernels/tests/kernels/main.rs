//! The crate's unit tests, in modules named like those of the library, and its property tests: one program, linked with a library that is compiled once.

mod aligned;
mod automorphism;
mod base_conversion;
mod cancel;
mod decompose;
mod expander;
mod external_product;
mod fft;
mod fixed;
mod isa;
mod key_switch;
mod lengths;
mod modular;
mod modulus_switch;
mod negacyclic;
mod ntt;
mod primes;
mod properties;
mod random;
mod rotation;
mod row_product;
mod sample_extract;
