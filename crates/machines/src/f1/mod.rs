//! F1: wide-vector units in clusters, a banked scratchpad, and a compiler that decides every cycle (Feldmann et al., MICRO 2021).
//!
//! [`graph`] holds one instruction a residue vector; [`order`] puts them in order (phase 1), [`movement`] decides what is on chip (phase 2; [`csr`] is another one, for comparison), [`cycle`] when and where
//! everything happens (phase 3), and [`expand`] says what each action occupies, for the checker, the audit and the report that all machines share. [`units`] is what the units do.

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
pub mod meaning;
pub mod movement;
pub mod network;
pub mod order;
mod reservations;
pub mod saved;
pub mod specs;
pub mod stream;
pub mod translate;
pub mod units;

#[cfg(test)]
mod tests;
