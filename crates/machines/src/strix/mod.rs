//! Strix: streaming cores with two-level ciphertext batching, a machine of the mapper [`crate::torus_pipeline`].

#[cfg(test)]
mod tests;
