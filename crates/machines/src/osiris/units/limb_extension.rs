//! On-the-fly limb extension before an NTT unit: extends a diagonal from one limb to the others (section V).
//!
//! A residue modulo one prime is in general no residue modulo another, but a transform needs residues. So the
//! representative nearest to 0 is reduced modulo the new limb's prime. A lane has a subtractor for the sign and
//! a multiplier for the reduction. The paper counts neither.

use super::delay::DelayLine;
use super::{LockstepError, PipelineDepth, StreamingUnit, Tile};
use polyfabric_kernels::modular::Modulus;

/// The unit configured for coefficients modulo one prime and the limbs to extend them to.
#[derive(Clone, Debug)]
pub struct LimbExtension {
    source: Modulus,
    /// By limb.
    targets: Vec<Modulus>,
    registers: DelayLine<Tile>,
}

impl LimbExtension {
    pub fn new(source: Modulus, targets: Vec<Modulus>, depth: PipelineDepth) -> Self {
        Self { source, targets, registers: DelayLine::new(Self::latency(depth) as usize) }
    }

    /// Cycles from a tile in to the tile out: a subtractor and a multiplier.
    pub fn latency(depth: PipelineDepth) -> u64 {
        depth.multiplier as u64 + 1
    }

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
    //! Are residues of one limb extended correctly, after a subtractor and a multiplier?

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
