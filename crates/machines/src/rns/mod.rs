//! What machines that execute programs on residue polynomials share: what their units do to vectors, what vectors in memory are, how long
//! polynomials are cut, the traffic by class, and the replay.

pub mod function;
pub mod leaf;
pub mod replay;
pub mod rounds;
pub mod step;
pub mod subpolynomials;
pub mod traffic;
