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
pub use parameters::{PySlotParameters, slot_parameter_sets};
pub use plan::PySlotPlan;
pub use prepared::let_go;
pub use program::{PySlotBuilder, PySlotProgram};
pub use rounds::{PyMappedRounds, PyRoundsMapper};
pub use run::{PySlotCiphertexts, PySlotClient, PySlotPublicKey, PySlotServer};
pub use signature::PySlotSignature;
