//! The CPU runtime: kernel programs in f64, fused, over all cores.
//!
//! [`Executor`] holds the bootstrapping key in the transform domain. A batch of blind rotations is cut into blocks whose
//! accumulators stay in the second-level cache; a block takes one iteration of the loop for each of its
//! ciphertexts before the next, so that the key streams by once for the block. An unrolled key gives an iteration several secret bits. The blocks are spread over the
//! threads. Every ciphertext's result is a function of that ciphertext alone: it depends neither on the batch nor on the threads.

mod blocks;
mod executor;
mod memory;
mod operations;

pub use executor::{Executor, TransformedKey};
pub use memory::Buffers;

#[cfg(test)]
mod tests;
