//! Levels and scales of a program, and the placement of rescalings and relinearizations.
//!
//! They are placed by rule instead of by nodes. [`Plan`] assigns a level to each node and decides whether it stays an unrescaled
//! product. The lowering rescales and relinearizes a value once, where an operation first needs it.

mod bootstraps;
mod chain;
mod error;
mod plan;

pub use bootstraps::{Placed, is_mended_by_bootstraps, place_bootstraps};
pub use chain::{Chain, ChainError, Scale};
pub use error::LevelError;
pub use plan::{NodeLevel, Plan, PlanRules, integer_factor, levels_used, polynomial_levels};
