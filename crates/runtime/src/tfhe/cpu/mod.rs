//! The CPU runtime: kernel programs in f64, fused, over all cores.
//!
//! [`Executor`] has the bootstrapping key in the transform domain. A batch of blind rotations is divided into blocks whose accumulators stay in the second-level cache. A block
//! computes one iteration for each of its ciphertexts before the next, so that it reads the key once. An unrolled key has several secret bits per iteration. Threads process
//! blocks in parallel. Every result depends on its ciphertext only, not on the batch or the threads.

mod blocks;
mod executor;
mod memory;
mod operations;
mod together;

pub use executor::{Executor, TransformedKey};
pub use memory::Buffers;

#[cfg(test)]
mod tests;
