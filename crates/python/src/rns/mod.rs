//! Programs on vectors of slots: CKKS and BGV.

mod program;

pub use program::{PySlotBuilder, PySlotProgram};
