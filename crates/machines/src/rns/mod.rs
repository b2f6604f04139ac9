//! Shared by all RNS machines: functions of units, labels, vectors in off-chip memory, the split of large polynomials, off-chip
//! traffic by class, and replay.

pub mod arithmetic;
pub mod function;
pub mod labels;
pub mod leaf;
pub mod replay;
pub mod rounds;
pub mod step;
pub mod subpolynomials;
#[cfg(test)]
pub(crate) mod test_support;
pub mod traffic;
