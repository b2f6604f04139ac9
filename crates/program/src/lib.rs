//! Homomorphic programs, kernel programs, and the lowering between them, for both families of schemes. [`lanes`] converts programs on integers
//! from the first family to the second.
//!
//! | family | a user writes | a machine executes |
//! |---|---|---|
//! | [`tfhe`] | vectors of Booleans, integers and torus values: linear layers, lookup tables, gates | operations on LWE ciphertexts and single torus polynomials |
//! | [`rns`] | arithmetic on vectors of slots (CKKS, BGV) | operations on limbs |

pub mod lanes;
mod lexer;
mod location;
mod memory_budget;
pub mod rns;
pub mod tfhe;

pub use lexer::{SyntaxError, SyntaxErrorCause};
pub use location::{Located, Location};
pub use memory_budget::{MemoryBudget, MemoryExceeded};
