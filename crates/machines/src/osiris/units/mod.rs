//! Osiris's functional units (sections IV and V): their structure, and the latencies and sizes that follow from it.
//!
//! A limb of N residues is N/p *tiles* of p residues, and a unit with p lanes accepts one tile per cycle. In the evaluation domain, tile c has
//! the values c + r·(N/p) for lanes r, which are evenly spaced. Limbs pass interleaved, one tile of each, then the next tile of each: tile c of
//! limb l in cycle c·S + l, with S at least the number of limbs. So the output of a unit can be the input of the next one.
//!
//! The units are in `rtl/`, register by register, where tests compare results with the kernels and cycles with these latencies.
//! [`super::arithmetic`] has their results for replays.
//!
//! The paper publishes no pipeline depths. A modular multiplier has [`PipelineDepth::multiplier`] registers; a modular adder and a column of
//! switches have one each.

mod benes;
mod key_generator;

pub use benes::Routing;
pub use key_generator::KeyGenerator;

use polyfabric_kernels::RingDegree;

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
}

/// The two NTT units and the array on a ring. A change of modulus (algorithm 1) passes inverse transform, array and transform as one stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModChangeUnits {
    pub shape: Shape,
    /// Rows of the array.
    pub height: usize,
    /// Pipeline registers of the arithmetic.
    pub depth: PipelineDepth,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Coefficients to values.
    Forward,
    /// Values to coefficients.
    Inverse,
}

/// The bidirectional NTT unit: a radix-2 multi-delay commutator (section IV-B, figures 3 and 4).
///
/// The unit has log2 N stages of p/2 butterflies. The inverse transform decimates in frequency. Its first log2 p stages combine lanes of one
/// tile. Each later stage follows a commutator, which exchanges lane bit 0 with one bit of the tile's index, highest first: a delay of 2^b
/// tiles on the odd lanes, a switch, and a delay of 2^b tiles on the even lanes. The forward transform passes the same stages in reverse.
///
/// With S limbs interleaved, every delay is S times as long; with S = 1, limbs pass in sequence. A smaller ring bypasses the longest delays
/// (section IV-B: "we skip the first 16 − log2 N' stages", that is the first stages with a delay).
///
/// A butterfly has two multipliers: one computes the factor from two tables of about √N entries (on-the-fly twiddles), and one multiplies by
/// it. The inverse transform's 1/N needs no multiplier: each butterfly halves its sum by a shift, and the factors are halved in the tables.
pub struct NttUnit;

impl NttUnit {
    /// Cycles from a tile in to the tile with the same index out, with `spacing` cycles between tiles of a limb: a multiplier and an adder
    /// per stage, and the commutators' delays.
    pub fn latency(shape: Shape, spacing: usize, depth: PipelineDepth) -> u64 {
        let butterflies = shape.degree().log2() as usize * (depth.multiplier + 1);
        (butterflies + spacing * (shape.tiles() - 1)) as u64
    }

    /// Words in the delays of the commutators: `spacing`·(N − p).
    pub fn buffer_words(shape: Shape, spacing: usize) -> usize {
        spacing * (shape.degree().get() - shape.lanes())
    }

    /// Words of both tables of factors of one limb and direction.
    pub fn table_words(shape: Shape) -> usize {
        let low = 1 << shape.degree().log2().div_ceil(2);
        low + shape.degree().get() / low
    }

    /// Words of the tables of one limb and direction if each stage stores its own factors. Stage s multiplies by the N/2^s powers of the
    /// root's 2^s-th power. Every stage reads its tables in every cycle, so none can be shared.
    pub fn table_words_by_stage(shape: Shape) -> usize {
        let stages = shape.degree().log2();
        (0..stages).map(|stage| (1 << (stages - stage).div_ceil(2)) + (1 << ((stages - stage) / 2))).sum()
    }

    /// Multipliers of a unit with `stages` stages: two per butterfly.
    pub fn multipliers(lanes: usize, stages: u32) -> usize {
        stages as usize * lanes / 2 * 2
    }
}

/// Base conversion on a two-dimensional array of cells (section IV-C, figure 6).
///
/// The array has H rows and p columns. A block is one tile of each of α ≤ H source limbs, which arrive in sequence. Limb i stays in row α − 1 − i,
/// one residue per cell, while the base table passes: for target limb j, the constant of row r enters from the left in cycle j + r and moves
/// one cell to the right per cycle. Partial sums move down one cell per cycle. At the bottom leaves one tile for target j.
///
/// - *Skew*: lane c of a tile is delayed by c cycles before the array and by p − 1 − c after it; row r's constants by r.
/// - *Double buffering*: a residue moves from the top through the cells' second registers to its row. It becomes current when the first
///   constant of its block arrives. The next block moves down meanwhile, so blocks start every max(α, β) cycles, with β the number of target
///   limbs.
/// - *First row*: one additional multiplier per cell, for (Q/q_i)^-1, and an adder for the shift that makes a digit balanced.
/// - *Switch-modulus multiply-accumulate*: sum ← sum + w·(x mod q') mod q', with q' next to the constant.
pub struct BaseConversionArray;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a base conversion from {sources} limbs does not fit an array of {height} rows: choose a set whose digits and special primes \
     are at most {height} limbs, or a higher array in the machine file"
)]
pub struct HeightError {
    /// α.
    pub sources: usize,
    /// H.
    pub height: usize,
}

impl BaseConversionArray {
    /// Cycles from a block's first tile in to its first tile out: the first row's multiplier, the block's tiles (the adder's register is the
    /// cell's second one), a multiplier, the rows, and the skew of the lanes.
    pub fn latency(height: usize, lanes: usize, sources: usize, depth: PipelineDepth) -> u64 {
        (depth.multiplier + sources + depth.multiplier + height + lanes - 1) as u64
    }

    /// One multiplier per cell, and a second one in the first row.
    pub fn multipliers(height: usize, lanes: usize) -> usize {
        (height + 1) * lanes
    }

    /// Words in the triangles of registers before and after the array.
    pub fn skew_words(lanes: usize) -> usize {
        lanes * (lanes - 1)
    }
}

/// The Hadamard unit: p columns of dnum cells, each with four multipliers and adders (section IV-E).
///
/// A cell has two parallel functions. Two of its multipliers work on a key switch: cell d multiplies digit d by the two halves of row d of a
/// switching key, and adds the sums from the cell above. The other two multiply a diagonal by the two parts of a rotated ciphertext, and add a
/// partial sum. So key and diagonal multiplication run at the same time (section V), each at one tile per cycle.
///
/// Digit d and its row are delayed by d cycles before the column, so that one inner product leaves per cycle.
pub struct HadamardUnit;

impl HadamardUnit {
    /// Cycles from the first digit in to the inner product out: a multiplier, and one adder per cell.
    pub fn key_latency(height: usize, depth: PipelineDepth) -> u64 {
        (depth.multiplier + height) as u64
    }

    /// Cycles from a diagonal in to the new partial sums out: a multiplier and an adder.
    pub fn diagonal_latency(depth: PipelineDepth) -> u64 {
        depth.multiplier as u64 + 1
    }

    /// Multipliers of a unit: four per cell.
    pub fn multipliers(lanes: usize, height: usize) -> usize {
        4 * lanes * height
    }

    /// Multipliers that can be busy: two per cell for keys. Diagonals arrive at one tile per cycle, so two multipliers per column suffice. The
    /// paper does not describe a use for those in the other cells.
    pub fn multipliers_at_work(lanes: usize, height: usize) -> usize {
        2 * lanes * height + 2 * lanes
    }
}

/// Automorphisms in the evaluation domain, tile by tile through a Beneš network (section IV-D).
///
/// X → X^g moves value (g·(2k + 1) mod 2N − 1)/2 to position k. The sources of values c + r·(N/p), r = 0 … p − 1, are also N/p apart: a tile
/// becomes another tile, with its lanes permuted. So one tile enters and one leaves per cycle, and only the tile's index changes. Tiles leave
/// in the order in which their sources entered, and the write uses the new index as address.
pub struct AutomorphismUnit;

impl AutomorphismUnit {
    /// Cycles from a tile in to the same tile out: one register after each column of switches.
    pub fn latency(shape: Shape) -> u64 {
        Routing::column_count(shape.lanes()) as u64
    }

    /// Bytes of one automorphism's settings: one bit per switch and tile.
    pub fn setting_bytes(shape: Shape) -> f64 {
        (shape.tiles() * Routing::switch_count(shape.lanes())) as f64 / 8.0
    }
}

/// On-the-fly limb extension before an NTT unit: extends a diagonal from one limb to the others (section V).
///
/// A residue modulo one prime is in general no residue modulo another, but a transform needs residues. So the representative nearest to 0 is
/// reduced modulo the new limb's prime. A lane has a subtractor for the sign and a multiplier for the reduction. The paper counts neither.
pub struct LimbExtension;

impl LimbExtension {
    /// Cycles from a tile in to the tile out: a subtractor and a multiplier.
    pub fn latency(depth: PipelineDepth) -> u64 {
        depth.multiplier as u64 + 1
    }

    pub fn multipliers(lanes: usize) -> usize {
        lanes
    }
}
