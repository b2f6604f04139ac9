//! Osiris's functional units, register by register (sections IV and V).
//!
//! A limb of N residues is N/p *tiles* of p residues, and a unit with p lanes accepts one tile per cycle. In
//! the evaluation domain, tile c has the values c + r·(N/p) for lanes r, which are evenly spaced.
//! [`StreamingUnit::step`] simulates one cycle of a unit. Its registers determine the output and its timing;
//! tests compare both with the kernels and with the latency formula.
//!
//! The paper publishes no pipeline depths. A modular multiplier has [`PipelineDepth::multiplier`] registers; a
//! modular adder and a column of switches have one each.

pub mod automorphism;
pub mod base_conversion;
pub mod benes;
mod delay;
pub mod hadamard;
pub mod key_generator;
pub mod limb_extension;
pub mod ntt;
#[cfg(test)]
pub(crate) mod test_support;

pub use automorphism::AutomorphismUnit;
pub use base_conversion::{BaseConversionArray, BaseTable};
pub use benes::Routing;
pub use hadamard::{DiagonalProduct, HadamardUnit, KeyProduct};
pub use key_generator::KeyGenerator;
pub use limb_extension::LimbExtension;
pub use ntt::{Direction, NttUnit};

use polyfabric_kernels::RingDegree;

/// The p residues of one limb that pass a port in one cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tile {
    /// Index of the limb in the unit's tables.
    pub limb: usize,
    /// Index of the tile in the limb: 0 to N/p − 1.
    pub index: usize,
    /// One residue per lane.
    pub words: Vec<u64>,
}

/// Pipeline registers of the arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PipelineDepth {
    /// Cycles of a modular multiplier, at least 1. An adder has one.
    pub multiplier: usize,
}

/// A ring on units with some number of lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    degree: RingDegree,
    lanes: usize,
}

/// A ring that does not fit the units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "units of {lanes} lanes and {stages} stages support rings of degree {lanes} to 2^{stages}, not {degree}: choose a set with \
     such a ring, or change lanes and stages in the machine file"
)]
pub struct ShapeError {
    /// N.
    pub degree: usize,
    /// p.
    pub lanes: usize,
    /// Stages of an NTT unit: log2 of the largest ring.
    pub stages: u32,
}

impl Shape {
    /// A ring of `degree` on units with `lanes` (p) lanes and NTT units with `stages` stages.
    ///
    /// # Errors
    /// [`ShapeError`] unless p is a power of two from 2 to N, and N at most 2^`stages`.
    pub fn new(degree: RingDegree, lanes: usize, stages: u32) -> Result<Self, ShapeError> {
        let fits = lanes.is_power_of_two() && (2..=degree.get()).contains(&lanes) && degree.log2() <= stages;
        let error = ShapeError { degree: degree.get(), lanes, stages };
        if fits { Ok(Self { degree, lanes }) } else { Err(error) }
    }

    /// N.
    pub fn degree(self) -> RingDegree {
        self.degree
    }

    /// p.
    pub fn lanes(self) -> usize {
        self.lanes
    }

    /// Tiles of a limb, N/p; also its duration in cycles.
    pub fn tiles(self) -> usize {
        self.degree.get() / self.lanes
    }

    /// log2 p.
    pub fn lane_bits(self) -> u32 {
        self.lanes.ilog2()
    }

    /// log2(N/p).
    pub fn tile_bits(self) -> u32 {
        self.tiles().ilog2()
    }
}

/// Tiles that arrive when a unit cannot accept them: units run in lockstep and cannot wait.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LockstepError {
    #[error(
        "cycle {cycle}: stage {stage} of the NTT unit lacks the partner of tile {index} of limb {limb}: tiles of a limb must be \
         {spacing} cycles apart, without a gap"
    )]
    Partner { cycle: u64, stage: u32, limb: usize, index: usize, spacing: usize },
    #[error(
        "cycle {cycle}: the base conversion expects limb {awaited} of its block but gets tile {index} of limb {limb}: the limbs of \
         a block must arrive in order"
    )]
    Block { cycle: u64, awaited: usize, limb: usize, index: usize },
    #[error(
        "cycle {cycle}: a block of the base conversion begins {since} cycles after the last one, which takes {period}: begin \
         blocks as many cycles apart as the larger of its source and target limbs"
    )]
    Early { cycle: u64, since: u64, period: u64 },
}

/// A unit that accepts and produces at most one tile per cycle.
pub trait StreamingUnit {
    /// One cycle.
    fn step(&mut self, tile: Option<Tile>) -> Result<Option<Tile>, LockstepError>;
}

/// The output of `unit`, with cycles, if `tiles`, in order of their cycles, enter; then it drains for `drain`
/// cycles.
pub fn stream(
    unit: &mut impl StreamingUnit,
    tiles: impl IntoIterator<Item = (u64, Tile)>,
    drain: u64,
) -> Result<Vec<(u64, Tile)>, LockstepError> {
    let mut output = Vec::new();
    let mut now = 0;
    let mut step = |now: u64, tile| unit.step(tile).map(|tile| output.extend(tile.map(|tile| (now, tile))));
    for (cycle, tile) in tiles {
        debug_assert!(cycle >= now, "tiles are in order of their cycles");
        while now < cycle {
            step(now, None)?;
            now += 1;
        }
        step(now, Some(tile))?;
        now += 1;
    }
    (now..now + drain).try_for_each(|now| step(now, None))?;
    Ok(output)
}
