//! Strix: streaming cores with two-level ciphertext batching, a machine of the mapper [`crate::torus_pipeline`].
//!
//! Specific to the paper: its tables and figures, and its model of batches on other devices.

pub mod contract;
pub mod fragmentation;
pub mod reproduce;

#[cfg(test)]
mod tests;
