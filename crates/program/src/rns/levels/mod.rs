//! Levels and scales: what a program needs, and where rescalings and relinearisations stand.
//!
//! Rescalings and relinearisations are placed by rule, not by nodes of their own: [`Plan`] says of every node at which level it
//! is and whether it stays an unrescaled product; the lowering rescales and relinearises where an operation needs it, once.

mod bootstraps;
mod chain;
mod error;
mod plan;

pub use bootstraps::{Placed, is_mended_by_bootstraps, place_bootstraps};
pub use chain::{Chain, ChainError, Scale};
pub use error::LevelError;
pub use plan::{NodeLevel, Plan, PlanRules, integer_factor, levels_used, polynomial_levels};
