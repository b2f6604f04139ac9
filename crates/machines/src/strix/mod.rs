//! Strix: streaming cores with two-level ciphertext batching, a machine of the mapper [`crate::torus_pipeline`].
//!
//! What is the paper's own lies here: its tables and figures, and what it says of batches on other devices.

pub mod contract;
pub mod fragmentation;
pub mod reproduce;

#[cfg(test)]
mod tests;
