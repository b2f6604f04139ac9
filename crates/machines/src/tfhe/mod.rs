//! What machines for TFHE share, whatever their data path.
//!
//! A machine of this family reads a kernel program as work ([`workload`]) and the blind rotation's body as streams through a
//! pipeline ([`iteration`]), whose latencies follow from its structure ([`pipeline`]). Work is cut into groups that a
//! discrete-event simulation dispatches ([`dispatcher`]); transfers spread over memory channels ([`channels`], [`transfers`]); a loop is
//! simulated until it repeats itself ([`steady`]), and so are groups ([`groups`]). [`replay`] carries a schedule out. [`figures`] are those
//! that the machines' files share.

pub mod channels;
pub mod definition;
pub mod dispatcher;
pub mod figures;
pub mod groups;
pub mod iteration;
pub mod labels;
pub mod pipeline;
pub mod replay;
pub mod sizes;
pub mod steady;
#[cfg(test)]
pub(crate) mod test_support;
pub mod transfers;
pub mod widths;
pub mod workload;
