//! F1: wide-vector units in clusters, a banked scratchpad, and a compiler that decides every cycle (Feldmann et al., MICRO 2021).
//!
//! [`graph`] holds one instruction a residue vector; [`order`] puts them in order (phase 1), [`movement`] decides what is on chip (phase 2; [`csr`] is another one, for comparison), [`cycle`] when and where
//! everything happens (phase 3), and [`checker`] simulates the result without asking either. [`units`] is what the units do.

pub mod action;
mod advance;
mod bank;
mod bytes;
pub mod checker;
mod cluster;
pub mod compile;
pub mod contract;
pub mod csr;
pub mod cycle;
pub mod estimate;
mod fetch;
pub mod graph;
pub mod lockstep;
pub mod machine;
pub mod movement;
pub mod network;
pub mod order;
pub mod pieces;
pub mod replay;
pub mod report;
pub mod reproduce;
pub mod saved;
pub mod specs;
mod stalls;
pub mod stream;
mod timeline;
pub mod trace;
pub mod translate;
pub mod units;

#[cfg(test)]
mod tests;
