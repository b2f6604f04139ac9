//! What stands before an NTT unit that makes the limbs of a diagonal of one of them (section V, on-the-fly limb extension).
//!
//! A residue of one prime is none of another, and a transform takes residues: the number nearest to 0 that the residue stands for is reduced modulo
//! the prime of the limb that is made. A lane has a subtractor for its sign and a multiplier that reduces it. The paper counts neither.

use super::delay::DelayLine;
use super::{LockstepError, PipelineDepth, StreamingUnit, Tile};
use polyfabric_kernels::modular::Modulus;

/// The unit set up for coefficients modulo one prime, and the limbs that are made of them.
#[derive(Clone, Debug)]
pub struct LimbExtension {
    source: Modulus,
    /// By limb.
    targets: Vec<Modulus>,
    registers: DelayLine<Tile>,
}

impl LimbExtension {
    /// From `source` to `targets`.
    pub fn new(source: Modulus, targets: Vec<Modulus>, depth: PipelineDepth) -> Self {
        Self { source, targets, registers: DelayLine::new(Self::latency(depth) as usize) }
    }

    /// Cycles from a tile in to the tile out: a subtractor and a multiplier.
    pub fn latency(depth: PipelineDepth) -> u64 {
        depth.multiplier as u64 + 1
    }

    /// Multipliers of a unit: one a lane.
    pub fn multipliers(lanes: usize) -> usize {
        lanes
    }
}

impl StreamingUnit for LimbExtension {
    fn step(&mut self, tile: Option<Tile>) -> Result<Option<Tile>, LockstepError> {
        let extended = tile.map(|mut tile| {
            let target = self.targets[tile.limb];
            tile.words.iter_mut().for_each(|word| *word = target.reduce_signed(self.source.centre(*word)));
            tile
        });
        Ok(self.registers.step(extended))
    }
}

#[cfg(test)]
mod tests {
    //! Are residues of one limb those of the others, a subtractor and a multiplier later?

    use super::super::stream;
    use super::super::test_support::{DEPTH, moduli};
    use super::*;

    #[test]
    fn numbers_around_zero_are_reduced_for_each_limb() {
        let moduli = moduli(8, 3);
        let source = moduli[0];
        let numbers = [0, 1, -1, (source.value() / 2) as i64, -((source.value() / 2) as i64)];
        let words: Vec<u64> = numbers.iter().map(|&number| source.reduce_signed(number)).collect();
        let mut unit = LimbExtension::new(source, moduli.clone(), DEPTH);
        let tiles = (0..3).map(|limb| (limb as u64, Tile { limb, index: 7, words: words.clone() }));
        let latency = LimbExtension::latency(DEPTH);
        let output = stream(&mut unit, tiles, latency).expect("tiles");
        assert_eq!(output.len(), 3);
        for (limb, (cycle, tile)) in output.into_iter().enumerate() {
            assert_eq!((cycle, tile.limb, tile.index), (latency + limb as u64, limb, 7));
            let q = i128::from(moduli[limb].value());
            let expected = numbers.map(|number| i128::from(number).rem_euclid(q) as u64);
            assert_eq!(tile.words, expected);
        }
    }
}
