//! Osiris's functional units as their structure has them, register by register (sections IV and V).
//!
//! A limb of N residues is N/p *tiles* of p residues, and a unit of p lanes takes up a tile a cycle. Tile c of values holds the values
//! c + r·(N/p), r being the lane: p evenly spaced ones. Each unit is stepped a cycle at a time, [`StreamingUnit::step`]; what
//! leaves it, and when, follows from its registers, and tests hold both against the kernels and against the unit's latency as a formula.
//!
//! No depth of a pipeline is published. A modular multiplier has [`PipelineDepth::multiplier`] registers, a modular adder and a column of
//! switches one.

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

/// The p residues of one limb that pass a port together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tile {
    /// Which of the limbs that the unit has tables for.
    pub limb: usize,
    /// Which tile of the limb: 0 to N/p − 1.
    pub index: usize,
    /// A residue a lane.
    pub words: Vec<u64>,
}

/// Registers in the arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PipelineDepth {
    /// Cycles of a modular multiplier, at least 1. An adder has one.
    pub multiplier: usize,
}

/// A ring on units of so many lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    degree: RingDegree,
    lanes: usize,
}

/// A ring that the units cannot take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "units of {lanes} lanes and {stages} stages take rings of degree {lanes} to 2^{stages}, not {degree}: choose a set of \
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
    /// A ring of `degree` on units of `lanes` lanes, p, and NTT units of `stages` stages.
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

    /// Tiles of a limb, also the cycles that it takes to pass: N/p.
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

/// Tiles that a unit cannot take up when they come: units run in lockstep, and none can wait.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LockstepError {
    /// The halves of two tiles that an NTT unit's butterflies combine are not there together.
    #[error(
        "cycle {cycle}: stage {stage} of the NTT unit lacks the partner of tile {index} of limb {limb}: tiles of a limb come \
         {spacing} cycles apart, without a gap"
    )]
    Partner {
        /// Cycle of the unit.
        cycle: u64,
        /// Stage of butterflies.
        stage: u32,
        /// Limb of the tile.
        limb: usize,
        /// Number of the tile.
        index: usize,
        /// Cycles between tiles of a limb.
        spacing: usize,
    },
    /// A tile came to the base conversion out of its block's order.
    #[error(
        "cycle {cycle}: the base conversion awaits limb {awaited} of its block and gets tile {index} of limb {limb}: the limbs of \
         a tile come one after the other"
    )]
    Block {
        /// Cycle of the unit.
        cycle: u64,
        /// Limb that is awaited.
        awaited: usize,
        /// Limb of the tile.
        limb: usize,
        /// Number of the tile.
        index: usize,
    },
    /// A block came to the base conversion before the last one was read out.
    #[error(
        "cycle {cycle}: a block of the base conversion begins {since} cycles after the last one, which takes {period}: begin \
         blocks as many cycles apart as the larger of its source and target limbs"
    )]
    Early {
        /// Cycle of the unit.
        cycle: u64,
        /// Cycles since the last block began.
        since: u64,
        /// Cycles that a block takes.
        period: u64,
    },
}

/// A unit that takes up at most one tile a cycle and gives at most one.
pub trait StreamingUnit {
    /// One cycle.
    ///
    /// # Errors
    /// [`LockstepError`] if the unit cannot take up `tile` now.
    fn step(&mut self, tile: Option<Tile>) -> Result<Option<Tile>, LockstepError>;
}

/// What leaves `unit`, with its cycle, when `tiles` enter at theirs, which are in order; nothing enters afterwards for `drain` cycles.
///
/// # Errors
/// [`LockstepError`] of the first tile that the unit cannot take up.
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
