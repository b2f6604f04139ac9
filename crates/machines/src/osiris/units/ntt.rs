//! The bidirectional NTT unit: a radix-2 multi-delay commutator (section IV-B, figures 3 and 4).
//!
//! The unit has log2 N stages of p/2 butterflies. The inverse transform decimates in frequency. Its first log2
//! p stages combine lanes of one tile. Each later stage follows a commutator, which exchanges lane bit 0 with
//! one bit of the tile's index, highest first: a delay of 2^b tiles on the odd lanes, a switch, and a delay of
//! 2^b tiles on the even lanes. The forward transform passes the same stages in reverse.
//!
//! L limbs are interleaved by sending tile c of limb l in cycle c·L + l; every delay is then L times as long.
//! With L = 1, limbs pass in sequence. A smaller ring bypasses the longest delays (section IV-B: "we skip the
//! first 16 − log2 N' stages", that is the first stages with a delay).
//!
//! A butterfly has two multipliers: one computes the factor from two tables of about √N entries (on-the-fly
//! twiddles), and one multiplies by it. The inverse transform's 1/N needs no multiplier: each butterfly halves
//! its sum by a shift, and the factors are halved in the tables.

use super::delay::DelayLine;
use super::{LockstepError, PipelineDepth, Shape, StreamingUnit, Tile};
use polyfabric_kernels::modular::Modulus;
use polyfabric_kernels::ntt::NttError;
use polyfabric_kernels::primes::primitive_root;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Coefficients to values.
    Forward,
    /// Values to coefficients.
    Inverse,
}

/// Powers of a root as products of two table entries.
#[derive(Clone, Debug)]
struct TwiddleTables {
    modulus: Modulus,
    low: Vec<u64>,
    high: Vec<u64>,
}

impl TwiddleTables {
    /// `scale` times the powers of the 2N-th root of unity for `direction`.
    fn new(shape: Shape, modulus: Modulus, direction: Direction) -> Result<Self, NttError> {
        let count = shape.degree().get();
        let missing = NttError::NoRoot { modulus: modulus.value(), degree: count };
        let root = primitive_root(modulus, 2 * count as u64).ok_or(missing)?;
        let (root, scale) = match direction {
            Direction::Forward => (root, 1),
            Direction::Inverse => (modulus.inverse(root).ok_or(missing)?, modulus.inverse(2).ok_or(missing)?),
        };
        let low = table_words(shape);
        let power = |exponent: usize| modulus.power(root, exponent as u64);
        Ok(Self {
            modulus,
            low: (0..low).map(power).collect(),
            high: (0..count / low).map(|entry| modulus.multiply(scale, power(entry * low))).collect(),
        })
    }

    fn factor(&self, exponent: usize) -> u64 {
        self.modulus.multiply(self.low[exponent % self.low.len()], self.high[exponent / self.low.len()])
    }
}

/// Entries of the table of low powers: 2^⌈log2 N / 2⌉.
fn table_words(shape: Shape) -> usize {
    1 << shape.degree().log2().div_ceil(2)
}

/// The lanes of one parity of a tile.
#[derive(Clone, Debug)]
struct Half {
    limb: usize,
    index: usize,
    words: Vec<u64>,
}

/// Exchanges lane bit 0 with bit `bit` of the tile's index.
#[derive(Clone, Debug)]
struct Commutator {
    bit: u32,
    odd: DelayLine<Half>,
    even: DelayLine<Half>,
    /// Limb and index of the tile that leaves.
    tags: DelayLine<(usize, usize)>,
}

impl Commutator {
    fn new(bit: u32, spacing: usize) -> Self {
        let delay = spacing << bit;
        Self { bit, odd: DelayLine::new(delay), even: DelayLine::new(delay), tags: DelayLine::new(delay) }
    }

    /// One cycle; the error is the limb and index of a tile with a missing half.
    fn step(&mut self, tile: Option<Tile>) -> Result<Option<Tile>, (usize, usize)> {
        let tag = tile.as_ref().map(|tile| (tile.limb, tile.index));
        let half = |parity: usize| {
            tile.as_ref().map(|tile| Half {
                limb: tile.limb,
                index: tile.index,
                words: tile.words.iter().skip(parity).step_by(2).copied().collect(),
            })
        };
        let (now, late) = (half(0), self.odd.step(half(1)));
        let turned = tag.is_some_and(|(_, index)| index >> self.bit & 1 == 1);
        let (upper, lower) = if turned { (late, now) } else { (now, late) };
        let upper = self.even.step(upper);
        let Some((limb, index)) = self.tags.step(tag) else { return Ok(None) };
        let from = |half: Option<Half>, expected: usize| {
            half.filter(|half| (half.limb, half.index) == (limb, expected)).ok_or((limb, index))
        };
        let upper = from(upper, index & !(1 << self.bit))?;
        let lower = from(lower, index | 1 << self.bit)?;
        let words = upper.words.into_iter().zip(lower.words).flat_map(|(even, odd)| [even, odd]).collect();
        Ok(Some(Tile { limb, index, words }))
    }
}

/// Butterflies, with a commutator before (inverse) or after (forward) them.
#[derive(Clone, Debug)]
struct Stage {
    /// Number of the stage in the inverse transform.
    number: u32,
    /// The lane bit that butterflies combine.
    bit: u32,
    commutator: Option<Commutator>,
    registers: DelayLine<Tile>,
}

/// The NTT unit configured for one ring, direction, list of limbs and interleaving.
#[derive(Clone, Debug)]
pub struct NttUnit {
    shape: Shape,
    direction: Direction,
    spacing: usize,
    /// In stream order.
    stages: Vec<Stage>,
    /// By limb.
    tables: Vec<TwiddleTables>,
    cycle: u64,
}

impl NttUnit {
    /// The unit for limbs modulo `moduli` with tiles `spacing` cycles apart: the number of interleaved limbs,
    /// or 1 for limbs in sequence.
    pub fn new(
        shape: Shape,
        direction: Direction,
        moduli: &[Modulus],
        spacing: usize,
        depth: PipelineDepth,
    ) -> Result<Self, NttError> {
        let stage = |number: u32| {
            let late = number.checked_sub(shape.lane_bits());
            Stage {
                number,
                bit: if late.is_some() { 0 } else { shape.lane_bits() - 1 - number },
                commutator: late.map(|late| Commutator::new(shape.tile_bits() - 1 - late, spacing)),
                registers: DelayLine::new(depth.multiplier + 1),
            }
        };
        let mut stages: Vec<Stage> = (0..shape.degree().log2()).map(stage).collect();
        if direction == Direction::Forward {
            stages.reverse();
        }
        let tables = moduli.iter().map(|&modulus| TwiddleTables::new(shape, modulus, direction));
        let tables = tables.collect::<Result<_, _>>()?;
        Ok(Self { shape, direction, spacing, stages, tables, cycle: 0 })
    }

    /// Cycles from a tile in to the tile with the same index out: a multiplier and an adder per stage, and the
    /// commutators' delays.
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
        table_words(shape) + shape.degree().get() / table_words(shape)
    }

    /// Words of the tables of one limb and direction if each stage stores its own factors. Stage s multiplies
    /// by the N/2^s powers of the root's 2^s-th power. Every stage reads its tables in every cycle, so none can
    /// be shared.
    pub fn table_words_by_stage(shape: Shape) -> usize {
        let stages = shape.degree().log2();
        (0..stages).map(|stage| (1 << (stages - stage).div_ceil(2)) + (1 << ((stages - stage) / 2))).sum()
    }

    /// Multipliers of a unit with `stages` stages: two per butterfly.
    pub fn multipliers(lanes: usize, stages: u32) -> usize {
        stages as usize * lanes / 2 * 2
    }

    /// The butterflies of one stage on one tile.
    fn butterflies(&self, number: u32, bit: u32, tile: &mut Tile) {
        let (shape, tables) = (self.shape, &self.tables[tile.limb]);
        let q = tables.modulus;
        for lane in (0..shape.lanes()).filter(|lane| lane >> bit & 1 == 0) {
            // Index of the pair in its block of N/2^(number + 1) pairs.
            let pair = match number.checked_sub(shape.lane_bits()) {
                None => tile.index + (lane & ((1 << bit) - 1)) * shape.tiles(),
                Some(late) => tile.index & ((1 << (shape.tile_bits() - 1 - late)) - 1),
            };
            let factor = tables.factor((2 * pair + 1) << number);
            let (u, v) = (tile.words[lane], tile.words[lane | 1 << bit]);
            let (sum, difference) = match self.direction {
                Direction::Inverse => (halve(q, q.add(u, v)), q.multiply(q.sub(u, v), factor)),
                Direction::Forward => {
                    let product = q.multiply(v, factor);
                    (q.add(u, product), q.sub(u, product))
                }
            };
            (tile.words[lane], tile.words[lane | 1 << bit]) = (sum, difference);
        }
    }
}

/// x/2 modulo an odd q: a shift, after the addition of q if x is odd.
fn halve(q: Modulus, x: u64) -> u64 {
    (x + (x & 1) * q.value()) >> 1
}

impl StreamingUnit for NttUnit {
    fn step(&mut self, tile: Option<Tile>) -> Result<Option<Tile>, LockstepError> {
        let mut passing = tile;
        let mut stages = std::mem::take(&mut self.stages);
        for Stage { number, bit, commutator, registers } in &mut stages {
            let mut commute = |tile, cycle| match commutator {
                None => Ok(tile),
                Some(commutator) => commutator.step(tile).map_err(|(limb, index)| LockstepError::Partner {
                    cycle,
                    stage: *number,
                    limb,
                    index,
                    spacing: self.spacing,
                }),
            };
            if self.direction == Direction::Inverse {
                passing = commute(passing, self.cycle)?;
            }
            if let Some(tile) = &mut passing {
                self.butterflies(*number, *bit, tile);
            }
            passing = registers.step(passing);
            if self.direction == Direction::Forward {
                passing = commute(passing, self.cycle)?;
            }
        }
        self.stages = stages;
        self.cycle += 1;
        Ok(passing)
    }
}

#[cfg(test)]
mod tests {
    //! Does the unit, register by register, compute the kernel's transform in its streaming order and at its
    //! latency, for any number of interleaved limbs?

    use super::super::stream;
    use super::super::test_support::{DEPTH, LimbStream, interleaved, moduli, residues, shape};
    use super::*;
    use polyfabric_kernels::ntt::Ntt;
    use polyfabric_kernels::ntt::streaming::StreamingNtt;
    use proptest::prelude::*;

    /// Compares both directions with the kernel's stream and with the transform.
    fn check(log2: u32, lanes: usize, limbs: usize, spare: usize, seed: u64) {
        let (shape, spacing) = (shape(log2, lanes), limbs + spare);
        let moduli = moduli(log2, limbs);
        let kernels: Vec<StreamingNtt> =
            moduli.iter().map(|&q| StreamingNtt::new(shape.degree(), q, lanes).unwrap()).collect();
        let values = residues(shape, &moduli, seed);
        let coefficients: LimbStream = kernels.iter().zip(&values).map(|(kernel, limb)| kernel.inverse(limb)).collect();
        let latency = NttUnit::latency(shape, spacing, DEPTH);
        for (direction, from, to) in
            [(Direction::Inverse, &values, &coefficients), (Direction::Forward, &coefficients, &values)]
        {
            let mut unit = NttUnit::new(shape, direction, &moduli, spacing, DEPTH).unwrap();
            // Two groups of limbs, back to back.
            let twice =
                (0..2).flat_map(|group| interleaved(shape, from, spacing, (group * spacing * shape.tiles()) as u64));
            let expected: Vec<(u64, Tile)> = (0..2)
                .flat_map(|group| interleaved(shape, to, spacing, latency + (group * spacing * shape.tiles()) as u64))
                .collect();
            assert!(stream(&mut unit, twice, latency).unwrap() == expected, "{direction:?}, {shape:?}, {limbs} limbs");
        }
        // The kernel's stream is the transform in another order.
        for ((kernel, &q), (values, coefficients)) in kernels.iter().zip(&moduli).zip(values.iter().zip(&coefficients))
        {
            let mut polynomial = vec![0; shape.degree().get()];
            for (place, &word) in coefficients.iter().enumerate() {
                polynomial[kernel.coefficient_at(place)] = word;
            }
            Ntt::<u64>::new(shape.degree(), q).unwrap().forward(&mut polynomial);
            let natural = polyfabric_kernels::ntt::EvaluationOrder::BitReversed;
            assert!(kernel.order().convert(natural, shape.degree(), values) == polynomial);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn equals_the_kernel(log2 in 4u32..=9, lane_bits in 1u32..=5, limbs in 1usize..=5, spare in 0usize..=3, seed: u64) {
            check(log2, 1 << lane_bits.min(log2), limbs, spare, seed);
        }
    }

    #[test]
    fn equals_the_kernel_at_the_rings_in_use() {
        for log2 in 10..=16 {
            check(log2, 512, 2, 1, log2.into());
        }
    }

    #[test]
    fn sequential_limbs_need_short_delays() {
        let (shape, moduli) = (shape(10, 32), moduli(10, 3));
        let values = residues(shape, &moduli, 7);
        let mut unit = NttUnit::new(shape, Direction::Inverse, &moduli, 1, DEPTH).unwrap();
        let tiles = (0..3).flat_map(|limb| {
            let words = values[limb].chunks(32).enumerate();
            words.map(move |(index, words)| ((limb * 32 + index) as u64, Tile { limb, index, words: words.to_vec() }))
        });
        let latency = NttUnit::latency(shape, 1, DEPTH);
        let output = stream(&mut unit, tiles, latency).unwrap();
        assert_eq!(output.len(), 96);
        for (number, (cycle, tile)) in output.iter().enumerate() {
            assert_eq!((*cycle, tile.limb, tile.index), (latency + number as u64, number / 32, number % 32));
            let kernel = StreamingNtt::new(shape.degree(), moduli[tile.limb], 32).unwrap();
            assert_eq!(tile.words, kernel.inverse(&values[tile.limb])[tile.index * 32..][..32]);
        }
    }

    #[test]
    fn delays_match_the_formula() {
        for (log2, lanes, spacing) in [(10, 32, 4), (12, 512, 3), (16, 512, 40)] {
            let shape = shape(log2, lanes);
            let unit = NttUnit::new(shape, Direction::Inverse, &[], spacing, DEPTH).unwrap();
            let delays = unit.stages.iter().filter_map(|stage| stage.commutator.as_ref());
            // Half of the lanes are delayed on each side of the switch.
            let words: usize = delays.map(|commutator| lanes * (spacing << commutator.bit)).sum();
            assert_eq!(words, NttUnit::buffer_words(shape, spacing));
        }
    }

    #[test]
    fn gaps_in_a_limb_are_rejected() {
        let (shape, moduli) = (shape(6, 8), moduli(6, 1));
        let values = residues(shape, &moduli, 1);
        let mut unit = NttUnit::new(shape, Direction::Inverse, &moduli, 1, DEPTH).unwrap();
        let late = interleaved(shape, &values, 1, 0).map(|(cycle, tile)| (cycle + u64::from(cycle > 2), tile));
        let error = stream(&mut unit, late, 100).unwrap_err();
        assert_eq!(
            error.to_string(),
            "cycle 19: stage 3 of the NTT unit lacks the partner of tile 0 of limb 0: tiles of a limb must be 1 cycles apart, \
             without a gap"
        );
    }
}
