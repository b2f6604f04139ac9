//! CKKS, BGV and ring-GSW programs: arithmetic on vectors of slots, lowered to operations on limbs.

pub mod approximation;
pub mod builtin;
pub mod folding;
pub mod homomorphic;
pub mod kernel;
pub mod levels;
pub mod lowering;
pub mod noise;
pub mod parameters;
pub mod signature;
pub mod text;
