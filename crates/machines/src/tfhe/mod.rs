//! Code that all TFHE machines share, whatever their data path.
//!
//! A machine of this family reads a kernel program as work ([`workload`]). It reads the blind rotation's body as streams through a pipeline
//! ([`iteration`], [`steps`]), whose events are one table ([`cmux`]) and whose latencies follow from its structure ([`pipeline`]). Work is divided into groups, which a discrete-event
//! simulation dispatches ([`dispatcher`]). Transfers are distributed over memory channels ([`channels`], [`transfers`]). Loops ([`steady`])
//! and groups ([`groups`]) are simulated until they repeat. [`replay`] executes a schedule. [`figures`] has the figures that the machine
//! files share.

pub mod channels;
pub mod cmux;
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
pub mod steps;
#[cfg(test)]
pub(crate) mod test_support;
pub mod transfers;
pub mod widths;
pub mod workload;
