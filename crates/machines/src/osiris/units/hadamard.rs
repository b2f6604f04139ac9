//! The Hadamard unit: p columns of dnum cells, each with four multipliers and adders (section IV-E).
//!
//! A cell has two parallel functions. Two of its multipliers work on a key switch: cell d multiplies digit d by
//! the two halves of row d of a switching key, and adds the sums from the cell above. The other two multiply a
//! diagonal by the two parts of a rotated ciphertext, and add a partial sum. So key and diagonal multiplication
//! run at the same time (section V), each at one tile per cycle.
//!
//! Digit d and its row are delayed by d cycles before the column, so that one inner product leaves per cycle.

use super::delay::DelayLine;
use super::{PipelineDepth, Tile};
use polyfabric_kernels::modular::Modulus;

/// Tiles of one inner product with a switching key: for each cell from the top, a digit and both halves of its
/// row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyProduct {
    pub index: usize,
    pub limb: usize,
    /// Digit, body, mask.
    pub terms: Vec<[Vec<u64>; 3]>,
}

/// Tiles of one multiplication by a diagonal: partial sums + diagonal · parts of a ciphertext.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiagonalProduct {
    pub index: usize,
    pub limb: usize,
    pub diagonal: Vec<u64>,
    /// Both parts of the ciphertext.
    pub parts: [Vec<u64>; 2],
    /// Both partial sums.
    pub partials: [Vec<u64>; 2],
}

/// Two tiles that leave together.
type Pair = [Tile; 2];

/// The registers between two cells of the columns: sums, and their product.
#[derive(Clone, Debug)]
struct Passing {
    product: KeyProduct,
    sums: [Vec<u64>; 2],
}

/// The unit configured for limbs modulo several primes.
#[derive(Clone, Debug)]
pub struct HadamardUnit {
    moduli: Vec<Modulus>,
    /// Products in the multipliers of the first cell; those of cell d follow d cycles later.
    multipliers: DelayLine<KeyProduct>,
    /// Sums after each cell.
    cells: Vec<Option<Passing>>,
    diagonals: DelayLine<Pair>,
}

impl HadamardUnit {
    /// A unit with `height` (dnum) cells per column, for limbs modulo `moduli`.
    pub fn new(moduli: Vec<Modulus>, height: usize, depth: PipelineDepth) -> Self {
        let (multipliers, diagonals) = (DelayLine::new(depth.multiplier), DelayLine::new(depth.multiplier + 1));
        Self { moduli, multipliers, cells: vec![None; height], diagonals }
    }

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

    /// Multipliers that can be busy: two per cell for keys. Diagonals arrive at one tile per cycle, so two
    /// multipliers per column suffice. The paper does not describe a use for those in the other cells.
    pub fn multipliers_at_work(lanes: usize, height: usize) -> usize {
        2 * lanes * height + 2 * lanes
    }

    /// One cycle: returns the body and mask of the inner product that leaves, and likewise the partial sums.
    ///
    /// # Panics
    /// If an inner product has more terms than a column has cells.
    pub fn step(&mut self, key: Option<KeyProduct>, diagonal: Option<DiagonalProduct>) -> (Option<Pair>, Option<Pair>) {
        let height = self.cells.len();
        assert!(key.as_ref().is_none_or(|key| key.terms.len() <= height), "a cell for each digit");
        let leaving = self.cells[height - 1].take().map(|Passing { product: KeyProduct { index, limb, .. }, sums }| {
            sums.map(|words| Tile { limb, index, words })
        });
        let mut multiplied = self.multipliers.step(key).map(|product| {
            let lanes = product.terms.first().map_or(0, |[digit, ..]| digit.len());
            Passing { sums: [vec![0; lanes], vec![0; lanes]], product }
        });
        // The multipliers' products are added to the sums of the cell above; a cell without a digit passes them
        // on.
        for cell in (0..height).rev() {
            let above = if cell == 0 { multiplied.take() } else { self.cells[cell - 1].take() };
            self.cells[cell] = above.map(|mut passing| {
                let modulus = self.moduli[passing.product.limb];
                if let Some([digit, halves @ ..]) = passing.product.terms.get(cell) {
                    for (sums, half) in passing.sums.iter_mut().zip(halves) {
                        accumulate(modulus, sums, digit, half);
                    }
                }
                passing
            });
        }
        let sums = diagonal.map(|DiagonalProduct { index, limb, diagonal, parts, mut partials }| {
            for (sums, part) in partials.iter_mut().zip(&parts) {
                accumulate(self.moduli[limb], sums, &diagonal, part);
            }
            partials.map(|words| Tile { limb, index, words })
        });
        (leaving, self.diagonals.step(sums))
    }
}

fn accumulate(modulus: Modulus, sums: &mut [u64], a: &[u64], b: &[u64]) {
    for ((sum, &a), &b) in sums.iter_mut().zip(a).zip(b) {
        *sum = modulus.add(*sum, modulus.multiply(a, b));
    }
}

#[cfg(test)]
mod tests {
    //! Do parallel inner products and diagonal products match their definition, at one tile per cycle and their
    //! latency?

    use super::super::test_support::{DEPTH, LimbStream, moduli, residues, shape};
    use super::*;
    use polyfabric_kernels::modular::reference;
    use proptest::prelude::*;

    /// The words of all tiles, limb by limb, as a function of limb and position.
    fn tiles(moduli: &[Modulus], count: usize, lanes: usize, word: impl Fn(usize, usize) -> u64) -> Vec<Tile> {
        let tile = |limb: usize, index: usize| Tile {
            limb,
            index,
            words: (0..lanes).map(|lane| word(limb, index * lanes + lane)).collect(),
        };
        (0..moduli.len()).flat_map(|limb| (0..count).map(move |index| (limb, index))).map(|(l, i)| tile(l, i)).collect()
    }

    fn check(log2: u32, lanes: usize, height: usize, digits: usize, seed: u64) {
        let (shape, moduli) = (shape(log2, lanes), moduli(log2, 3));
        let polynomial = |number: usize| residues(shape, &moduli, seed.wrapping_add(number as u64));
        let rows: Vec<[LimbStream; 3]> = (0..digits).map(|d| [0, 1, 2].map(|part| polynomial(3 * d + part))).collect();
        let [diagonal, body, mask, first, second] = [100, 101, 102, 103, 104].map(polynomial);
        let at = |polynomial: &LimbStream, tile: &Tile| polynomial[tile.limb][tile.index * lanes..][..lanes].to_vec();
        let order = tiles(&moduli, shape.tiles(), lanes, |_, _| 0);
        let mut unit = HadamardUnit::new(moduli.clone(), height, DEPTH);
        let (mut keyed, mut summed) = (Vec::new(), Vec::new());
        let drain = std::iter::repeat_n(None, height + DEPTH.multiplier + 1);
        for (cycle, tile) in order.iter().map(Some).chain(drain).enumerate() {
            let key = tile.map(|tile| KeyProduct {
                index: tile.index,
                limb: tile.limb,
                terms: rows.iter().map(|row| [0, 1, 2].map(|part| at(&row[part], tile))).collect(),
            });
            let diagonal = tile.map(|tile| DiagonalProduct {
                index: tile.index,
                limb: tile.limb,
                diagonal: at(&diagonal, tile),
                parts: [at(&body, tile), at(&mask, tile)],
                partials: [at(&first, tile), at(&second, tile)],
            });
            let (key, diagonal) = unit.step(key, diagonal);
            keyed.extend(key.map(|pair| (cycle as u64, pair)));
            summed.extend(diagonal.map(|pair| (cycle as u64, pair)));
        }
        let inner = |half: usize| {
            tiles(&moduli, shape.tiles(), lanes, |limb, at| {
                let terms: Vec<_> = rows.iter().map(|row| (row[0][limb][at], row[half][limb][at])).collect();
                reference::inner_product(moduli[limb], &terms)
            })
        };
        let sum = |part: &LimbStream, partial: &LimbStream| {
            tiles(&moduli, shape.tiles(), lanes, |limb, at| {
                let product = reference::multiply(moduli[limb], diagonal[limb][at], part[limb][at]);
                reference::add(moduli[limb], partial[limb][at], product)
            })
        };
        let wanted = |pairs: [Vec<Tile>; 2], latency: u64| -> Vec<(u64, Pair)> {
            let [a, b] = pairs;
            a.into_iter().zip(b).enumerate().map(|(cycle, (a, b))| (cycle as u64 + latency, [a, b])).collect()
        };
        assert!(keyed == wanted([inner(1), inner(2)], HadamardUnit::key_latency(height, DEPTH)));
        let latency = HadamardUnit::diagonal_latency(DEPTH);
        assert!(summed == wanted([sum(&body, &first), sum(&mask, &second)], latency));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn both_jobs_are_done(log2 in 4u32..=8, lane_bits in 1u32..=4, height in 1usize..=4, fewer in 0usize..=3, seed: u64) {
            check(log2, 1 << lane_bits, height, height.saturating_sub(fewer).max(1), seed);
        }
    }

    #[test]
    fn both_jobs_are_done_at_the_machines_size() {
        check(14, 512, 3, 2, 9);
        check(16, 512, 3, 3, 10);
    }
}
