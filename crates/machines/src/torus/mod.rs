//! What machines for TFHE share, whatever their data path.
//!
//! A machine of this family reads a kernel program as work ([`workload`]) and the blind rotation's body as streams through a
//! pipeline ([`iteration`]), whose latencies follow from its structure ([`pipeline`]). Work is cut into groups that a
//! discrete-event simulation dispatches ([`dispatcher`]); transfers spread over memory channels ([`channels`]); a loop is
//! simulated until it repeats itself ([`steady`]), and so are groups ([`groups`]).

pub mod channels;
pub mod dispatcher;
pub mod groups;
pub mod iteration;
pub mod pipeline;
pub mod sizes;
pub mod steady;
pub mod workload;
