//! The homomorphic program, the kernel program, and the lowering between them, for each family of schemes.
//!
//! | family | a user writes | a machine executes |
//! |---|---|---|
//! | [`tfhe`] | vectors of Booleans, integers and torus values: linear layers, look-ups, gates | operations on LWE ciphertexts and single torus polynomials |
//! | [`rns`] | arithmetic on vectors of slots (CKKS, BGV) | operations on polynomials in residue form |

mod lexer;
mod location;
pub mod rns;
mod room;
pub mod tfhe;

pub use lexer::{SyntaxError, SyntaxErrorCause};
pub use location::Location;
pub use room::{NoRoom, Room};
