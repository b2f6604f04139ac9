//! Generates masks of switching keys from their seed (section IV-E), so that half of a key is not loaded from
//! memory.
//!
//! A key's mask is one stream of uniform residues per limb, in the bit-reversed order of values. p consecutive
//! residues are a tile: value c + r·(N/p) is at position rev(c)·p + rev(r), each reversed within its bits. So
//! the generator produces one tile per cycle, with indices rev(0), rev(1), …, and its lanes are wired in
//! reverse order. No buffer is needed, because the other factor is read from a scratchpad in the same order.
//!
//! Numbers that are not residues are rejected, up to half of them for some primes: a residue needs
//! [`KeyGenerator::draws`] numbers on average, up to two. So a generator produces more than 2p numbers per
//! cycle, and a limb never draws for more cycles than it has tiles ([`KeyGenerator::cycles`]).
//!
//! The program determines the sequence of limbs, so the generator draws ahead: a ring stores residues, and the
//! generator stalls when the ring is full. So its latency is visible only before the first limb, and even short
//! limbs leave no gap. An event in a schedule is the latest possible draw of a limb: its first tile is
//! available one latency after its start, and events of one generator are a limb's tiles apart.

use super::{Shape, Tile};
use polyfabric_kernels::expander::{GROUP, ROUNDS, UniformStream};
use polyfabric_kernels::modular::Modulus;
use polyfabric_kernels::ntt::order::reverse_bits;

/// Numbers per residue modulo a prime just above a power of two, the worst case.
const MOST_DRAWS: f64 = 2.0;

/// Numbers of 64 bits in the sixteen words of a block.
const NUMBERS_A_BLOCK: usize = 8;

/// The generator for one limb of one term of a key.
pub struct KeyGenerator {
    shape: Shape,
    limb: usize,
    stream: UniformStream,
    next: usize,
}

impl KeyGenerator {
    /// The generator of limb `limb` with residues `stream`.
    pub fn new(shape: Shape, limb: usize, stream: UniformStream) -> Self {
        Self { shape, limb, stream, next: 0 }
    }

    /// The index of the tile in cycle `cycle`.
    pub fn tile_at(shape: Shape, cycle: usize) -> usize {
        reverse_bits(cycle, shape.tile_bits())
    }

    /// One cycle: the next tile, until the limb is complete.
    pub fn step(&mut self) -> Option<Tile> {
        if self.next == self.shape.tiles() {
            return None;
        }
        let mut drawn = vec![0; self.shape.lanes()];
        self.stream.fill(&mut drawn);
        let words = (0..drawn.len()).map(|lane| drawn[reverse_bits(lane, self.shape.lane_bits())]).collect();
        let index = Self::tile_at(self.shape, self.next);
        self.next += 1;
        Some(Tile { limb: self.limb, index, words })
    }

    /// Groups of sixteen blocks that a generator draws per cycle: the fewest that sustain one tile of `lanes`
    /// residues per cycle, modulo any prime.
    pub fn groups(lanes: usize) -> usize {
        (Self::enough(lanes, MOST_DRAWS) / GROUP as f64).ceil() as usize
    }

    /// Numbers per cycle.
    pub fn numbers(lanes: usize) -> usize {
        GROUP * Self::groups(lanes)
    }

    /// ChaCha blocks per cycle of a generator.
    pub fn blocks(lanes: usize) -> usize {
        Self::numbers(lanes) / NUMBERS_A_BLOCK
    }

    /// Cycles from a seed to the first tile: the seed; two registers per round and the last addition;
    /// extraction, comparison and counting; one register per bit of the distance by which a number moves to the
    /// front; the ring.
    pub fn latency(lanes: usize) -> u64 {
        let distances = Self::numbers(lanes).next_power_of_two().ilog2();
        1 + (2 * ROUNDS as u64 + 1) + 2 + u64::from(distances) + 1
    }

    /// Words of the ring: two cycles of numbers, and a tile.
    pub fn ring_words(lanes: usize) -> usize {
        (2 * Self::numbers(lanes) + lanes).next_power_of_two()
    }

    /// Numbers that contain `residues` residues, by eight standard deviations, if a residue needs `draws`
    /// numbers on average. Masks are public, so a seed that needs more, one limb in about 10^15, can be
    /// detected and replaced.
    pub fn enough(residues: usize, draws: f64) -> f64 {
        let mean = residues as f64 * draws;
        mean + 8.0 * (mean * (draws - 1.0)).sqrt()
    }

    /// Cycles in which a limb modulo `modulus` draws.
    pub fn cycles(shape: Shape, modulus: Modulus) -> u64 {
        let numbers = Self::numbers(shape.lanes()) as f64;
        (Self::enough(shape.degree().get(), Self::draws(modulus)) / numbers).ceil() as u64
    }

    /// Average numbers per residue modulo `modulus`: 2^bits/q.
    pub fn draws(modulus: Modulus) -> f64 {
        (1u64 << modulus.bits()) as f64 / modulus.value() as f64
    }
}

#[cfg(test)]
mod tests {
    //! Are the tiles those of the key's mask in the transform's order?

    use super::super::test_support::{moduli, shape};
    use super::*;
    use polyfabric_kernels::ntt::EvaluationOrder;

    #[test]
    fn tiles_are_the_masks_values() {
        for (log2, lanes) in [(4, 4), (7, 8), (7, 128), (14, 512), (16, 512)] {
            let (shape, q) = (shape(log2, lanes), moduli(log2, 2)[1]);
            let (seed, degree) = ([log2 as u8; 32], shape.degree());
            let mut mask = vec![0; degree.get()];
            UniformStream::new(&seed, 5, q).fill(&mut mask);
            let order = EvaluationOrder::Streaming { lanes };
            let expected = EvaluationOrder::BitReversed.convert(order, degree, &mask);
            let mut generator = KeyGenerator::new(shape, 3, UniformStream::new(&seed, 5, q));
            let mut seen = vec![false; shape.tiles()];
            while let Some(tile) = generator.step() {
                assert!(tile.limb == 3 && !std::mem::replace(&mut seen[tile.index], true));
                assert_eq!(tile.words, expected[tile.index * lanes..][..lanes], "N = 2^{log2}, tile {}", tile.index);
            }
            assert!(seen.iter().all(|&seen| seen));
            assert!((1.0..2.0).contains(&KeyGenerator::draws(q)));
        }
    }

    #[test]
    fn a_limb_draws_for_at_most_as_many_cycles_as_it_has_tiles() {
        // Including primes just above a power of two, as half of a pair of primes is.
        let modulus = |value: u64| Modulus::new(value).unwrap();
        for (lanes, log2) in [(2, 6), (32, 8), (64, 6), (512, 9), (512, 12), (512, 16), (2048, 16), (65536, 16)] {
            let shape = shape(log2, lanes);
            for q in [65537, (1 << 32) + 15, 0xff_ffe8_0001].map(modulus) {
                let cycles = KeyGenerator::cycles(shape, q);
                assert!((1..=shape.tiles() as u64).contains(&cycles), "N = 2^{log2}, modulo {}: {cycles}", q.value());
                // More than the average, but not a multiple of it.
                let needed = shape.degree().get() as f64 * KeyGenerator::draws(q) / KeyGenerator::numbers(lanes) as f64;
                assert!(cycles as f64 >= needed && (cycles as f64) < 1.3 * needed + 1.0);
            }
        }
    }

    #[test]
    fn a_generator_has_the_fewest_groups_that_keep_up() {
        // The unit as in the RTL, with the paper's lanes: 160 blocks, and 32 cycles.
        assert_eq!(
            (KeyGenerator::groups(512), KeyGenerator::latency(512), KeyGenerator::ring_words(512)),
            (10, 32, 4096)
        );
        assert_eq!(KeyGenerator::blocks(512), 160);
        // 2p numbers and eight deviations: for 32 lanes, exactly the 128 of one group.
        let of = [2, 32, 64, 1024, 2048].map(KeyGenerator::groups);
        assert_eq!(of, [1, 1, 2, 19, 36]);
        for lanes in (1..=16).map(|log2| 1 << log2) {
            let enough = KeyGenerator::enough(lanes, 2.0);
            let groups = KeyGenerator::groups(lanes);
            assert!(enough <= (GROUP * groups) as f64 && enough > (GROUP * (groups - 1)) as f64, "{lanes} lanes");
        }
    }
}
