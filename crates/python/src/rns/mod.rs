//! CKKS and BGV programs.

mod approximation;
mod joint;
mod machine;
mod parameters;
mod plan;
mod prepared;
mod program;
mod rounds;
mod run;
mod signature;

pub use approximation::composite_sign;
pub use joint::{PyJointParty, PyJointSession};
pub use machine::{PyMapped, PyRnsKernel};
pub use parameters::{PyRnsParameters, slot_parameter_sets};
pub use plan::PyRnsPlan;
pub use prepared::let_go;
pub use program::{PyRnsBuilder, PyRnsProgram};
pub use rounds::{PyMappedRounds, PyRoundsMapper};
pub use run::{PyRnsCiphertexts, PyRnsClient, PyRnsPublicKey, PyRnsServer};
pub use signature::PyRnsSignature;
