//! Changes of modulus: inverse transform, base conversion, transform (algorithm 1), with limbs interleaved or
//! in sequence.
//!
//! With interleaving, a unit passes each tile to the next unit in the cycle in which the tile leaves. No
//! buffers are needed, and α limbs become β limbs in one stream of max(α, β)·N/p cycles. The cost is longer
//! delays in the commutators, by the number of limbs.
//!
//! With limbs in sequence, the array must wait for a tile of the last source limb. The second transform must
//! wait for all tiles of the first target limb, as the array alternates between targets. Two buffers store α
//! and β limbs meanwhile. If another change of modulus uses the same buffers, each place must be read before it
//! is overwritten.

use super::tiling::{TileOrder, Tiling, join};
use super::units::base_conversion::HeightError;
use super::units::{
    BaseConversionArray, BaseTable, Direction, LockstepError, NttUnit, PipelineDepth, Shape, StreamingUnit, Tile,
};
use polyfabric_kernels::ntt::NttError;
use std::collections::HashMap;

/// The two NTT units and the array that a change of modulus uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModChangeUnits {
    pub shape: Shape,
    /// Rows of the array.
    pub height: usize,
    /// Pipeline registers of the arithmetic.
    pub depth: PipelineDepth,
}

/// Why a change of modulus fails.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModChangeError {
    #[error(transparent)]
    Height(#[from] HeightError),
    #[error(transparent)]
    Ntt(#[from] NttError),
    #[error(transparent)]
    Lockstep(#[from] LockstepError),
    #[error("cycle {cycle}: tile {index} of limb {limb} is not in the buffer before {unit}")]
    Missing { cycle: u64, unit: &'static str, limb: usize, index: usize },
}

/// The cycles in which the tiles of one change of modulus enter the units, relative to the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModChangeSchedule {
    units: ModChangeUnits,
    tiling: Tiling,
    /// α and β.
    limbs: (usize, usize),
    /// Start of each block in the array.
    blocks: Vec<u64>,
    /// Cycle in which the first tile of each target limb enters the second NTT unit.
    transforms: Vec<u64>,
}

/// Live range of a tile in a buffer: the cycles of its write and of its last read.
type LiveRange = (u64, u64);

impl ModChangeSchedule {
    /// From α = `sources` limbs to β = `targets`.
    pub fn new(units: ModChangeUnits, tiling: Tiling, sources: usize, targets: usize) -> Self {
        let ModChangeUnits { shape, height, depth } = units;
        let period = sources.max(targets);
        let inverse = NttUnit::latency(shape, if tiling == Tiling::Interleaved { period } else { 1 }, depth);
        let conversion = BaseConversionArray::latency(height, shape.lanes(), sources, depth);
        let tiles = shape.tiles() as u64;
        let (blocks, transforms): (Vec<u64>, Vec<u64>) = match tiling {
            Tiling::Interleaved => (
                (0..tiles).map(|index| inverse + index * period as u64).collect(),
                (0..targets as u64).map(|target| inverse + conversion + target).collect(),
            ),
            Tiling::LimbByLimb => {
                // The array reads limb i of a block i cycles after the block's start, and at least one cycle
                // after its write: the last limb determines the start.
                let last = inverse + (sources as u64 - 1) * tiles + 1 - (sources as u64 - 1);
                let blocks: Vec<u64> = (0..tiles).map(|index| last + index * period as u64).collect();
                let mut free = 0;
                let transform = |target: u64| {
                    // No tile may be missing later, and the last one arrives latest.
                    let whole = blocks[tiles as usize - 1] + conversion + target + 1;
                    let begin = (whole.saturating_sub(tiles - 1)).max(blocks[0] + conversion + target + 1).max(free);
                    free = begin + tiles;
                    begin
                };
                let transforms = (0..targets as u64).map(transform).collect();
                (blocks, transforms)
            }
        };
        Self { units, tiling, limbs: (sources, targets), blocks, transforms }
    }

    fn spacing(&self) -> usize {
        match self.tiling {
            Tiling::Interleaved => self.limbs.0.max(self.limbs.1),
            Tiling::LimbByLimb => 1,
        }
    }

    /// The order in which the values enter.
    pub fn input(&self) -> TileOrder {
        match self.tiling {
            Tiling::Interleaved => TileOrder::interleaved(self.units.shape, self.limbs.0, self.spacing()),
            Tiling::LimbByLimb => TileOrder::limb_by_limb(self.units.shape, self.limbs.0),
        }
    }

    /// Cycle after the last tile out, if no other change of modulus uses the units.
    pub fn cycles(&self) -> u64 {
        let last = self
            .transforms
            .last()
            .map_or(0, |begin| begin + self.spacing() as u64 * (self.units.shape.tiles() as u64 - 1));
        last + NttUnit::latency(self.units.shape, self.spacing(), self.units.depth) + 1
    }

    /// Words in the delays of both NTT units' commutators.
    pub fn delay_words(&self) -> usize {
        2 * NttUnit::buffer_words(self.units.shape, self.spacing())
    }

    /// Live ranges in the buffers before and after the array.
    fn live_ranges(&self) -> [Vec<LiveRange>; 2] {
        if self.tiling == Tiling::Interleaved {
            return [Vec::new(), Vec::new()];
        }
        let ModChangeUnits { shape, height, depth } = self.units;
        let (inverse, input) = (NttUnit::latency(shape, 1, depth), self.input());
        let conversion = BaseConversionArray::latency(height, shape.lanes(), self.limbs.0, depth);
        let before = input
            .tiles()
            .map(|(limb, index)| (inverse + input.cycle_of(limb, index), self.blocks[index] + limb as u64));
        let targets = TileOrder::limb_by_limb(shape, self.limbs.1);
        let behind = targets
            .tiles()
            .map(|(limb, index)| (self.blocks[index] + conversion + limb as u64, self.transforms[limb] + index as u64));
        [before.collect(), behind.collect()]
    }

    /// Maximum number of words in the buffers before and after the array.
    pub fn buffer_words(&self) -> [usize; 2] {
        self.live_ranges().map(|live_ranges| {
            let written = live_ranges.iter().map(|&(written, _)| (written, 1i64));
            // A place is free from the cycle of its last read on.
            let read = live_ranges.iter().map(|&(_, read)| (read, -1i64));
            let mut changes: Vec<(u64, i64)> = written.chain(read).collect();
            changes.sort_unstable();
            let levels = changes.iter().scan(0i64, |level, &(_, change)| {
                *level += change;
                Some(*level)
            });
            levels.max().unwrap_or(0) as usize * self.units.shape.lanes()
        })
    }

    /// Cycles between two changes of modulus of the same kind, with `copies` of each buffer used alternately:
    /// until every unit is free and every place has been read.
    pub fn period(&self, copies: u64) -> u64 {
        let tiles = self.units.shape.tiles() as u64;
        let spacing = self.spacing() as u64;
        let block = self.limbs.0.max(self.limbs.1) as u64;
        let span =
            |first: Option<&u64>, last: Option<&u64>, rest: u64| last.zip(first).map_or(0, |(l, f)| l - f + rest);
        let units = [
            self.input().cycles(),
            span(self.blocks.first(), self.blocks.last(), block),
            match self.tiling {
                Tiling::Interleaved => spacing * tiles,
                Tiling::LimbByLimb => span(self.transforms.first(), self.transforms.last(), tiles),
            },
        ];
        let live_ranges = self.live_ranges();
        let places = live_ranges.iter().flatten().map(|&(written, read)| (read - written).div_ceil(copies));
        units.into_iter().chain(places).max().unwrap_or(0)
    }

    /// Executes the change on `values`, in the units, each tile at its cycle. A limb is the concatenation of
    /// its tiles. Returns the target limbs and the cycle after the last tile out.
    ///
    /// # Panics
    /// If the table or the values do not match the schedule's limbs.
    pub fn run(&self, table: &BaseTable, values: &[Vec<u64>]) -> Result<(Vec<Vec<u64>>, u64), ModChangeError> {
        let ModChangeUnits { shape, height, depth } = self.units;
        assert_eq!((table.source_count(), table.target_count()), self.limbs, "the conversion of the schedule");
        let mut inverse = NttUnit::new(shape, Direction::Inverse, table.sources(), self.spacing(), depth)?;
        let mut array = BaseConversionArray::new(height, shape.lanes(), table.clone(), depth)?;
        let mut forward = NttUnit::new(shape, Direction::Forward, table.targets(), self.spacing(), depth)?;
        let mut input = self.input().cut(values).peekable();
        let (mut before, mut behind) = (Buffer::new("the array"), Buffer::new("the second NTT unit"));
        let by_cycle = |tiles: Vec<(u64, (usize, usize))>| tiles.into_iter().collect::<HashMap<_, _>>();
        let (to_array, to_forward) = (by_cycle(self.array_reads()), by_cycle(self.transform_reads()));
        let mut output = Vec::new();
        for cycle in 0..self.cycles() {
            let coefficients = inverse.step(input.next_if(|&(at, _)| at == cycle).map(|(_, tile)| tile))?;
            let coefficients = match self.tiling {
                Tiling::Interleaved => coefficients,
                Tiling::LimbByLimb => before.pass(cycle, coefficients, to_array.get(&cycle))?,
            };
            let converted = array.step(coefficients)?;
            let converted = match self.tiling {
                Tiling::Interleaved => converted,
                Tiling::LimbByLimb => behind.pass(cycle, converted, to_forward.get(&cycle))?,
            };
            output.extend(forward.step(converted)?.map(|tile| (cycle, tile)));
        }
        let end = output.last().map_or(0, |&(cycle, _)| cycle + 1);
        let limbs = join(shape, self.limbs.1, output.into_iter().map(|(_, tile)| tile));
        let missing = ModChangeError::Missing { cycle: end, unit: "the output", limb: self.limbs.1, index: 0 };
        Ok((limbs.ok_or(missing)?, end))
    }

    /// The array's reads from the buffer before it, with their cycles.
    fn array_reads(&self) -> Vec<(u64, (usize, usize))> {
        let read = |index: usize, limb: usize| (self.blocks[index] + limb as u64, (limb, index));
        (0..self.blocks.len()).flat_map(|index| (0..self.limbs.0).map(move |limb| read(index, limb))).collect()
    }

    /// The second NTT unit's reads from the buffer before it, with their cycles.
    fn transform_reads(&self) -> Vec<(u64, (usize, usize))> {
        let read = |limb: usize, index: usize| (self.transforms[limb] + index as u64, (limb, index));
        (0..self.limbs.1).flat_map(|limb| (0..self.units.shape.tiles()).map(move |index| read(limb, index))).collect()
    }
}

/// Tiles stored between two units.
struct Buffer {
    reader: &'static str,
    tiles: HashMap<(usize, usize), Tile>,
}

impl Buffer {
    fn new(reader: &'static str) -> Self {
        Self { reader, tiles: HashMap::new() }
    }

    /// One cycle: the wanted tile leaves, if it was written in an earlier cycle; then `tile` is written.
    fn pass(
        &mut self,
        cycle: u64,
        tile: Option<Tile>,
        wanted: Option<&(usize, usize)>,
    ) -> Result<Option<Tile>, ModChangeError> {
        let leaving = wanted.map(|&(limb, index)| {
            let missing = ModChangeError::Missing { cycle, unit: self.reader, limb, index };
            self.tiles.remove(&(limb, index)).ok_or(missing)
        });
        self.tiles.extend(tile.map(|tile| ((tile.limb, tile.index), tile)));
        leaving.transpose()
    }
}

#[cfg(test)]
mod tests {
    //! Do the three units compute the kernels' change of modulus in both orders, in the scheduled cycles, and
    //! what does each order cost?

    use super::super::units::test_support::{DEPTH, convert, moduli, residues, shape};
    use super::*;
    use polyfabric_kernels::base_conversion::{BaseConverter, RnsBasis};
    use polyfabric_kernels::modular::Modulus;
    use polyfabric_kernels::ntt::streaming::StreamingNtt;
    use proptest::prelude::*;

    fn check(log2: u32, lanes: usize, height: usize, (alpha, beta): (usize, usize), tiling: Tiling, seed: u64) {
        let shape = shape(log2, lanes);
        let moduli = moduli(log2, alpha + beta);
        let basis = |moduli: &[Modulus]| RnsBasis::new(moduli.to_vec()).unwrap();
        let converter = BaseConverter::new(basis(&moduli[..alpha]), basis(&moduli[alpha..]));
        let values = residues(shape, &moduli[..alpha], seed);
        let kernel = |&q: &Modulus| StreamingNtt::new(shape.degree(), q, lanes).unwrap();
        let coefficients: Vec<Vec<u64>> = moduli.iter().zip(&values).map(|(q, limb)| kernel(q).inverse(limb)).collect();
        let converted = convert(&converter, true, &coefficients);
        let expected: Vec<Vec<u64>> =
            moduli[alpha..].iter().zip(&converted).map(|(q, limb)| kernel(q).forward(limb)).collect();
        let schedule = ModChangeSchedule::new(ModChangeUnits { shape, height, depth: DEPTH }, tiling, alpha, beta);
        let (result, end) = schedule.run(&BaseTable::new(&converter, true), &values).unwrap();
        assert!(result == expected, "{shape:?}, {alpha} to {beta} limbs, {tiling:?}");
        assert_eq!(end, schedule.cycles(), "{shape:?}, {alpha} to {beta} limbs, {tiling:?}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn both_orders_give_the_kernels_words(
            log2 in 4u32..=8, lane_bits in 1u32..=4, alpha in 1usize..=5, beta in 1usize..=7, interleaved: bool, seed: u64,
        ) {
            let tiling = if interleaved { Tiling::Interleaved } else { Tiling::LimbByLimb };
            check(log2, 1 << lane_bits, 6, (alpha, beta), tiling, seed);
        }
    }

    #[test]
    fn both_orders_at_the_machines_size() {
        check(14, 512, 16, (4, 8), Tiling::Interleaved, 1);
        check(14, 512, 16, (4, 8), Tiling::LimbByLimb, 2);
        check(16, 512, 16, (5, 10), Tiling::Interleaved, 3);
    }

    /// Bootstrapping's set: 14 limbs of a digit to the 26 others of Q and P.
    fn at_the_top(tiling: Tiling) -> ModChangeSchedule {
        let units = ModChangeUnits { shape: shape(16, 512), height: 16, depth: DEPTH };
        ModChangeSchedule::new(units, tiling, 14, 26)
    }

    #[test]
    fn interleaved_limbs_need_no_buffer() {
        let schedule = at_the_top(Tiling::Interleaved);
        assert_eq!(schedule.period(1), 26 * 128);
        assert_eq!(schedule.buffer_words(), [0, 0]);
        assert_eq!(schedule.delay_words(), 2 * 26 * (65536 - 512));
        // Twice 16 butterflies of 5 cycles and 26·127 cycles of delays, the array, and 26 limbs.
        assert_eq!(schedule.cycles(), 2 * (80 + 26 * 127) + (4 + 14 + 4 + 16 + 511) + 26 * 128);
    }

    #[test]
    fn sequential_limbs_are_buffered() {
        let (naive, interleaved) = (at_the_top(Tiling::LimbByLimb), at_the_top(Tiling::Interleaved));
        let [before, behind] = naive.buffer_words();
        // All source limbs, except for the tiles that the array has read when the last limb arrives; nearly all
        // target limbs.
        assert!((13 * 65536..=14 * 65536).contains(&before), "{before} words before the array");
        assert!((24 * 65536..=26 * 65536).contains(&behind), "{behind} words after it");
        assert_eq!(naive.delay_words(), 2 * (65536 - 512));
        // A single change is faster without interleaving, as delays are short. With one buffer each, the next
        // change waits for its places; with two each, it runs at the units' rate.
        assert_eq!((naive.cycles(), interleaved.cycles()), (9_119, 10_641));
        assert_eq!((naive.period(1), interleaved.period(1)), (6_351, 3_328));
        assert_eq!(naive.period(2), interleaved.period(1));
    }

    #[test]
    fn early_reads_are_reported() {
        let shape = shape(6, 8);
        let moduli = moduli(6, 4);
        let basis = |moduli: &[Modulus]| RnsBasis::new(moduli.to_vec()).unwrap();
        let converter = BaseConverter::new(basis(&moduli[..2]), basis(&moduli[2..]));
        let units = ModChangeUnits { shape, height: 4, depth: DEPTH };
        let mut schedule = ModChangeSchedule::new(units, Tiling::LimbByLimb, 2, 2);
        schedule.blocks.iter_mut().for_each(|begin| *begin -= 1);
        let values = residues(shape, &moduli[..2], 5);
        let error = schedule.run(&BaseTable::new(&converter, false), &values).unwrap_err();
        assert_eq!(error.to_string(), "cycle 45: tile 0 of limb 1 is not in the buffer before the array");
    }
}
