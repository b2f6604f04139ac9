//! Osiris (Ebel and Reagen): a systolic machine for CKKS.
//!
//! - [`units`]: what each functional unit does to a stream of tiles, element by element and cycle by cycle.
//! - [`tiling`]: in which order the tiles of several limbs pass a port: limb interleaving, and the naive order.
//! - [`mod_change`]: inverse transform, base conversion and transform as one stream, in both orders.

pub mod mod_change;
pub mod tiling;
pub mod units;
