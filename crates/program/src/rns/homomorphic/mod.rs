//! The homomorphic program: what a user writes.
