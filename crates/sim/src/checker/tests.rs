//! Does the checker accept exactly the legal schedules, and is a folded loop the same as an unrolled one?

mod attribution;
mod folding;
mod modes;
mod mutations;
pub(crate) mod toy;
