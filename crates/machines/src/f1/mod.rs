//! F1: wide-vector units in clusters, a banked scratchpad, and a compiler that decides every cycle (Feldmann et al., MICRO 2021).
//!
//! [`graph`] has one instruction per residue vector. Phase 1 ([`order`]) orders them. Phase 2 ([`movement`], or
//! [`csr`] for comparison) decides what is on chip when. Phase 3 ([`cycle`]) determines cycles and places.
//! [`expand`] defines the events of each action, for the shared checker, audit and report. [`units`] models the
//! functional units.

pub mod action;
mod advance;
pub mod arithmetic;
mod bank;
mod bytes;
mod cluster;
pub mod compile;
pub mod contract;
pub mod csr;
pub mod cycle;
pub mod estimate;
pub mod expand;
mod fetch;
pub mod graph;
mod lift;
pub mod lockstep;
pub mod machine;
pub mod movement;
pub mod order;
mod reservations;
pub mod saved;
pub mod stream;
pub mod translate;
pub mod units;

#[cfg(test)]
mod tests;
