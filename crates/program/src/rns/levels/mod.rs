//! Levels and scales: what a program needs, and where rescalings and relinearisations stand.

mod chain;

pub use chain::{Chain, ChainError, Scale};
