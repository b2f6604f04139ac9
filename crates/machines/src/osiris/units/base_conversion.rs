//! Base conversion on a two-dimensional array of cells (section IV-C, figure 6).
//!
//! The array has H rows and p columns. A block is one tile of each of α ≤ H source limbs, which arrive in
//! sequence. Limb i stays in row α − 1 − i, one residue per cell, while the base table passes: for target limb
//! j, the constant of row r enters from the left in cycle j + r and moves one cell to the right per cycle.
//! Partial sums move down one cell per cycle. At the bottom leaves one tile for target j.
//!
//! - *Skew*: lane c of a tile is delayed by c cycles before the array and by p − 1 − c after it; row r's
//!   constants by r.
//! - *Double buffering*: a residue moves from the top through the cells' second registers to its row. It
//!   becomes current when the first constant of its block arrives. The next block moves down meanwhile, so blocks
//!   start every max(α, β) cycles, with β the number of target limbs.
//! - *First row*: one additional multiplier per cell, for (Q/q_i)^-1, and an adder for the shift that makes a
//!   digit balanced.
//! - *Switch-modulus multiply-accumulate*: sum ← sum + w·(x mod q') mod q', with q' next to the constant.

use super::{LockstepError, PipelineDepth, StreamingUnit, Tile};
use polyfabric_kernels::base_conversion::BaseConverter;
use polyfabric_kernels::modular::Modulus;
use std::collections::VecDeque;

/// The constants of a conversion: those that stay in the first row, and those that pass.
#[derive(Clone, Debug)]
pub struct BaseTable {
    sources: Vec<Modulus>,
    targets: Vec<Modulus>,
    /// By source: factor and addend, modulo q_i.
    first_row: Vec<(u64, u64)>,
    /// By target, then by source: modulo p_j.
    weights: Vec<Vec<u64>>,
    /// By target: initial value of the partial sums.
    initial: Vec<u64>,
}

impl BaseTable {
    /// The table of `converter`; `balanced` as in [`BaseConverter::convert_balanced`].
    pub fn new(converter: &BaseConverter, balanced: bool) -> Self {
        let (sources, targets) = (converter.from().moduli().to_vec(), converter.to().moduli().to_vec());
        let weigh = |source: usize, balanced: bool, word: u64| {
            let mut words = [word];
            converter.weigh(source, balanced, &mut words);
            words[0]
        };
        let combine = |target: usize, weighed: &[u64], balanced: bool| {
            let weighed: Vec<&[u64]> = weighed.chunks(1).collect();
            let mut words = [0];
            converter.combine(target, balanced, &weighed, &mut words);
            words[0]
        };
        let unit = |source: usize| (0..sources.len()).map(|other| u64::from(other == source)).collect::<Vec<_>>();
        Self {
            first_row: (0..sources.len()).map(|i| (weigh(i, false, 1), weigh(i, balanced, 0))).collect(),
            weights: (0..targets.len())
                .map(|j| (0..sources.len()).map(|i| combine(j, &unit(i), false)).collect())
                .collect(),
            initial: (0..targets.len()).map(|j| combine(j, &vec![0; sources.len()], balanced)).collect(),
            sources,
            targets,
        }
    }

    /// The moduli of the source limbs, q_i.
    pub fn sources(&self) -> &[Modulus] {
        &self.sources
    }

    /// The moduli of the target limbs, p_j.
    pub fn targets(&self) -> &[Modulus] {
        &self.targets
    }

    /// α.
    pub fn source_count(&self) -> usize {
        self.sources.len()
    }

    /// β.
    pub fn target_count(&self) -> usize {
        self.targets.len()
    }

    /// Minimum number of cycles between blocks: max(α, β).
    pub fn period(&self) -> usize {
        self.source_count().max(self.target_count())
    }
}

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

/// The constants of one target limb and one block, as they pass a row.
#[derive(Clone, Copy, Debug)]
struct Packet {
    target: usize,
    /// Index of the block's tiles.
    index: usize,
}

/// A residue that moves down to its row.
#[derive(Clone, Copy, Debug)]
struct Falling {
    word: u64,
    /// Remaining rows.
    rows: usize,
}

/// The array configured for one conversion.
#[derive(Clone, Debug)]
pub struct BaseConversionArray {
    height: usize,
    lanes: usize,
    table: BaseTable,
    depth: PipelineDepth,
    cycle: u64,
    /// First cycle of the last block, and the number of its tiles so far.
    block: Option<(u64, usize)>,
    /// Tiles before the array, latest first: lane c of the tile that arrived c cycles ago enters the first
    /// row's multiplier.
    skew: VecDeque<Option<Tile>>,
    /// Blocks whose constants have yet to enter: cycle of the first constant, and index of the tiles.
    waiting: VecDeque<(u64, usize)>,
    /// By row: constants by their column, latest first, including those still used by a multiplier.
    rows: Vec<VecDeque<Option<Packet>>>,
    /// By row and column.
    falling: Vec<Option<Falling>>,
    current: Vec<u64>,
    /// Products in the multipliers, by cycle modulo their depth.
    products: Vec<Vec<u64>>,
    sums: Vec<u64>,
    /// Tiles after the array whose last lanes are missing.
    unskew: VecDeque<Tile>,
}

impl BaseConversionArray {
    /// An array of `height` rows and `lanes` columns for `table`.
    pub fn new(height: usize, lanes: usize, table: BaseTable, depth: PipelineDepth) -> Result<Self, HeightError> {
        if table.source_count() > height {
            return Err(HeightError { sources: table.source_count(), height });
        }
        let row = || (0..lanes + depth.multiplier).map(|_| None).collect();
        Ok(Self {
            height,
            lanes,
            depth,
            cycle: 0,
            block: None,
            skew: (0..lanes + depth.multiplier).map(|_| None).collect(),
            waiting: VecDeque::new(),
            rows: (0..height).map(|_| row()).collect(),
            falling: vec![None; height * lanes],
            current: vec![0; height * lanes],
            products: vec![vec![0; height * lanes]; depth.multiplier],
            sums: vec![0; height * lanes],
            unskew: VecDeque::new(),
            table,
        })
    }

    /// Cycles from a block's first tile in to its first tile out: the first row's multiplier, the block's tiles
    /// (the adder's register is the cell's second one), a multiplier, the rows, and the skew of the lanes.
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

    fn enter(&mut self, tile: Option<Tile>) -> Result<(), LockstepError> {
        let (cycle, alpha) = (self.cycle, self.table.source_count());
        let arrived = match self.block {
            Some((_, arrived)) if arrived < alpha => arrived,
            _ => 0,
        };
        if let Some(tile) = &tile {
            if tile.limb != arrived {
                return Err(LockstepError::Block { cycle, awaited: arrived, limb: tile.limb, index: tile.index });
            }
            if arrived == 0 {
                let (since, period) = (self.block.map(|(first, _)| cycle - first), self.table.period() as u64);
                if let Some(since) = since.filter(|&since| since < period) {
                    return Err(LockstepError::Early { cycle, since, period });
                }
                let first = cycle + (self.depth.multiplier + alpha) as u64;
                self.waiting.push_back((first, tile.index));
                self.block = Some((cycle, 1));
            } else if let Some((_, arrived)) = &mut self.block {
                *arrived += 1;
            }
        } else if arrived > 0 {
            let index = self.waiting.back().map_or(0, |&(_, index)| index);
            return Err(LockstepError::Block { cycle, awaited: arrived, limb: arrived, index });
        }
        self.skew.push_front(tile);
        self.skew.truncate(self.lanes + self.depth.multiplier + 1);
        Ok(())
    }

    /// Moves the constants one column to the right, and inserts those of this cycle.
    fn shift_constants(&mut self) {
        while self
            .waiting
            .front()
            .is_some_and(|&(first, _)| self.cycle >= first + (self.table.target_count() + self.height - 1) as u64)
        {
            self.waiting.pop_front();
        }
        for (row, line) in self.rows.iter_mut().enumerate() {
            let entering = self.waiting.iter().find_map(|&(first, index)| {
                let target = (self.cycle.checked_sub(first + row as u64)?) as usize;
                (target < self.table.target_count()).then_some(Packet { target, index })
            });
            line.pop_back();
            line.push_front(entering);
        }
    }

    /// One cycle of all cells.
    fn cells(&mut self) {
        let (lanes, depth, alpha) = (self.lanes, self.depth.multiplier, self.table.source_count());
        let plane = (self.cycle % depth as u64) as usize;
        for row in (0..self.height).rev() {
            for column in 0..lanes {
                let cell = row * lanes + column;
                // The product that left the multiplier is added to the sum from above.
                let product = self.products[plane][cell];
                if let Some(packet) = self.rows[row].get(column + depth).copied().flatten() {
                    let above = match row {
                        0 => self.table.initial[packet.target],
                        _ => self.sums[cell - lanes],
                    };
                    self.sums[cell] = self.table.targets[packet.target].add(above, product);
                    if row + 1 == self.height {
                        self.leave(packet, column, self.sums[cell]);
                    }
                }
                let Some(packet) = self.rows[row][column] else { continue };
                if packet.target == 0
                    && let Some(settled) = self.falling[cell].take_if(|falling| falling.rows == 0)
                {
                    self.current[cell] = settled.word;
                }
                let modulus = self.table.targets[packet.target];
                let weight = if row < alpha { self.table.weights[packet.target][alpha - 1 - row] } else { 0 };
                self.products[plane][cell] = modulus.multiply(weight, modulus.reduce(self.current[cell]));
            }
        }
    }

    /// A word of a tile leaves the last row.
    fn leave(&mut self, packet: Packet, column: usize, word: u64) {
        if column == 0 {
            let words = vec![0; self.lanes];
            self.unskew.push_back(Tile { limb: packet.target, index: packet.index, words });
        }
        // Lane c of the tile that started c cycles ago; all later tiles have also started.
        let tile = self.unskew.iter_mut().rev().find(|tile| (tile.limb, tile.index) == (packet.target, packet.index));
        if let Some(tile) = tile {
            tile.words[column] = word;
        }
    }

    /// Moves residues down one row, and inserts those from the first row's multiplier.
    fn fall(&mut self) {
        let (lanes, alpha) = (self.lanes, self.table.source_count());
        for cell in (lanes..self.height * lanes).rev() {
            if let Some(falling) = self.falling[cell - lanes].take_if(|falling| falling.rows > 0) {
                debug_assert!(self.falling[cell].is_none(), "the previous block has left the row");
                self.falling[cell] = Some(Falling { rows: falling.rows - 1, ..falling });
            }
        }
        for column in 0..lanes {
            let Some(Some(tile)) = self.skew.get(column + self.depth.multiplier) else { continue };
            let (modulus, (factor, addend)) = (self.table.sources[tile.limb], self.table.first_row[tile.limb]);
            let word = modulus.add(modulus.multiply(tile.words[column], factor), addend);
            self.falling[column] = Some(Falling { word, rows: alpha - 1 - tile.limb });
        }
    }
}

impl StreamingUnit for BaseConversionArray {
    fn step(&mut self, tile: Option<Tile>) -> Result<Option<Tile>, LockstepError> {
        // The last lane of the oldest tile is its last word.
        let complete = self.rows[self.height - 1].get(self.lanes - 1 + self.depth.multiplier).copied().flatten();
        let output = if complete.is_some() { self.unskew.pop_front() } else { None };
        self.enter(tile)?;
        self.shift_constants();
        self.cells();
        self.fall();
        self.cycle += 1;
        Ok(output)
    }
}

#[cfg(test)]
mod tests {
    //! Does the array, cell by cell, compute the kernel's conversion of interleaved limbs at its latency and
    //! rate?

    use super::super::stream;
    use super::super::test_support::{DEPTH, convert, interleaved, moduli, residues, shape};
    use super::*;
    use crate::osiris::tiling::join;
    use polyfabric_kernels::base_conversion::RnsBasis;
    use proptest::prelude::*;

    fn check(log2: u32, lanes: usize, height: usize, (alpha, beta): (usize, usize), balanced: bool, seed: u64) {
        let shape = shape(log2, lanes);
        let moduli = moduli(log2, alpha + beta);
        let basis = |moduli: &[Modulus]| RnsBasis::new(moduli.to_vec()).unwrap();
        let converter = BaseConverter::new(basis(&moduli[..alpha]), basis(&moduli[alpha..]));
        let input = residues(shape, &moduli[..alpha], seed);
        let expected = convert(&converter, balanced, &input);
        let table = BaseTable::new(&converter, balanced);
        let period = table.period();
        let mut array = BaseConversionArray::new(height, lanes, table, DEPTH).unwrap();
        let latency = BaseConversionArray::latency(height, lanes, alpha, DEPTH);
        let output = stream(&mut array, interleaved(shape, &input, period, 0), latency + period as u64).unwrap();
        let wanted: Vec<(u64, Tile)> = interleaved(shape, &expected, period, latency).collect();
        assert!(output == wanted, "{shape:?}, {height} rows, {alpha} to {beta} limbs, balanced: {balanced}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn equals_the_kernel(
            log2 in 4u32..=8, lane_bits in 1u32..=4, height in 1usize..=6, alpha in 1usize..=6, beta in 1usize..=8,
            balanced: bool, seed: u64,
        ) {
            check(log2, 1 << lane_bits, height.max(alpha), (alpha, beta), balanced, seed);
        }
    }

    /// A Montgomery product of two words is x·y/R, and rows of keys are used without conversion. So all sums
    /// over Q and P lack a factor R, in both halves. The constants of a division by P restore it: R in the
    /// factor of each source, 1/R in the weights, R in 1/P.
    #[test]
    fn constants_of_a_division_restore_the_montgomery_factor() {
        let (shape, moduli) = (shape(6, 8), moduli(6, 5));
        let (p, q) = moduli.split_at(2);
        let basis = |moduli: &[Modulus]| RnsBasis::new(moduli.to_vec()).unwrap();
        let converter = BaseConverter::new(basis(p), basis(q));
        let sums = residues(shape, &moduli, 7);
        let times = |limbs: &[Vec<u64>], moduli: &[Modulus], factor: &dyn Fn(Modulus) -> u64| -> Vec<Vec<u64>> {
            let limb = |(limb, &q): (&Vec<u64>, &Modulus)| limb.iter().map(|&x| q.multiply(x, factor(q))).collect();
            limbs.iter().zip(moduli).map(limb).collect()
        };
        let divided = |sums: &[Vec<u64>], table: BaseTable, factor: &dyn Fn(Modulus) -> u64| {
            let (period, limbs) = (table.period(), table.target_count());
            let mut array = BaseConversionArray::new(2, 8, table, DEPTH).unwrap();
            let latency = BaseConversionArray::latency(2, 8, 2, DEPTH);
            let sources = sums[..2].to_vec();
            let input = interleaved(shape, &sources, period, 0);
            let tiles = stream(&mut array, input, latency + period as u64).unwrap();
            let remainders = join(shape, limbs, tiles.into_iter().map(|(_, tile)| tile)).unwrap();
            let limb = |place: usize| {
                let pairs = sums[2 + place].iter().zip(&remainders[place]);
                pairs.map(|(&sum, &remainder)| q[place].sub(sum, remainder)).collect()
            };
            times(&(0..limbs).map(limb).collect::<Vec<Vec<u64>>>(), q, factor)
        };
        let inverse = |modulus: Modulus, word: u64| modulus.power(word, modulus.value() - 2);
        let r = |modulus: Modulus| modulus.power(2, 40);
        let of_p = |modulus: Modulus| {
            inverse(modulus, p.iter().fold(1, |product, p| modulus.multiply(product, modulus.reduce(p.value()))))
        };
        for balanced in [false, true] {
            let table = BaseTable::new(&converter, balanced);
            let mut other = table.clone();
            other.first_row.iter_mut().zip(p).for_each(|((factor, _), &p)| *factor = p.multiply(*factor, r(p)));
            for (place, &q) in q.iter().enumerate() {
                let over_r = |word: &mut u64| *word = q.multiply(*word, inverse(q, r(q)));
                other.weights[place].iter_mut().chain([&mut other.initial[place]]).for_each(over_r);
            }
            let smaller = times(&sums, &moduli, &|modulus| inverse(modulus, r(modulus)));
            let wanted = divided(&sums, table, &of_p);
            assert_ne!(divided(&smaller, other.clone(), &of_p), wanted);
            assert_eq!(divided(&smaller, other, &|modulus| modulus.multiply(of_p(modulus), r(modulus))), wanted);
        }
    }

    #[test]
    fn equals_the_kernel_at_the_machines_size() {
        check(14, 512, 16, (2, 6), true, 1);
        check(14, 512, 16, (16, 5), false, 2);
        check(16, 512, 16, (14, 26), true, 3);
    }

    #[test]
    fn wrong_streams_are_rejected() {
        let (shape, moduli) = (shape(6, 8), moduli(6, 5));
        let basis = |moduli: &[Modulus]| RnsBasis::new(moduli.to_vec()).unwrap();
        let table = BaseTable::new(&BaseConverter::new(basis(&moduli[..2]), basis(&moduli[2..])), false);
        let error = BaseConversionArray::new(1, 8, table.clone(), DEPTH).unwrap_err();
        assert_eq!(
            error.to_string(),
            "a base conversion from 2 limbs does not fit an array of 1 rows: choose a set whose digits and special primes are at \
             most 1 limbs, or a higher array in the machine file"
        );
        let input = residues(shape, &moduli[..2], 1);
        let told = |tiles: Vec<(u64, Tile)>| {
            let mut array = BaseConversionArray::new(4, 8, table.clone(), DEPTH).unwrap();
            stream(&mut array, tiles, 100).unwrap_err().to_string()
        };
        assert_eq!(
            told(interleaved(shape, &input, 2, 0).collect()),
            "cycle 2: a block of the base conversion begins 2 cycles after the last one, which takes 3: begin blocks as many cycles \
             apart as the larger of its source and target limbs"
        );
        let one_limb_first = interleaved(shape, &input, 3, 0).filter(|(_, tile)| tile.limb == 0);
        assert_eq!(
            told(one_limb_first.enumerate().map(|(cycle, (_, tile))| (cycle as u64, tile)).collect()),
            "cycle 1: the base conversion expects limb 1 of its block but gets tile 1 of limb 0: the limbs of a block must arrive in order"
        );
    }
}
