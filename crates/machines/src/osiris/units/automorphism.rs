//! Automorphisms in the evaluation domain, tile by tile through a Beneš network (section IV-D).
//!
//! X → X^g moves value (g·(2k + 1) mod 2N − 1)/2 to position k. The sources of values c + r·(N/p), r = 0 … p −
//! 1, are also N/p apart: a tile becomes another tile, with its lanes permuted. So one tile enters and one
//! leaves per cycle, and only the tile's index changes. Tiles leave in the order in which their sources
//! entered, and the write uses the new index as address.

use super::{LockstepError, Routing, Shape, StreamingUnit, Tile};
use polyfabric_kernels::automorphism::GaloisElement;

/// The unit configured for one ring and one automorphism.
#[derive(Clone, Debug)]
pub struct AutomorphismUnit {
    shape: Shape,
    element: GaloisElement,
    /// By index of the entering tile.
    routings: Vec<Routing>,
    /// The tile in each column's registers, with the index with which it entered.
    columns: Vec<Option<(usize, Tile)>>,
}

impl AutomorphismUnit {
    /// The unit for `element`, with the switch settings for every tile.
    ///
    /// # Panics
    /// If the element belongs to another ring.
    pub fn new(shape: Shape, element: GaloisElement) -> Self {
        assert_eq!(element.degree(), shape.degree(), "an automorphism of the ring");
        let routing = |entering: usize| {
            let leaving = Self::destination(shape, element, entering);
            let source = |lane: usize| element.source(leaving + lane * shape.tiles()) / shape.tiles();
            Routing::new(&(0..shape.lanes()).map(source).collect::<Vec<_>>())
        };
        let routings = (0..shape.tiles()).map(routing).collect();
        Self { shape, element, routings, columns: vec![None; Routing::column_count(shape.lanes())] }
    }

    /// The index with which a tile leaves.
    pub fn destination(shape: Shape, element: GaloisElement, entering: usize) -> usize {
        element.inverse().source(entering) % shape.tiles()
    }

    /// Cycles from a tile in to the same tile out: one register after each column of switches.
    pub fn latency(shape: Shape) -> u64 {
        Routing::column_count(shape.lanes()) as u64
    }

    /// Bytes of one automorphism's settings: one bit per switch and tile.
    pub fn setting_bytes(shape: Shape) -> f64 {
        (shape.tiles() * Routing::switch_count(shape.lanes())) as f64 / 8.0
    }
}

impl StreamingUnit for AutomorphismUnit {
    fn step(&mut self, tile: Option<Tile>) -> Result<Option<Tile>, LockstepError> {
        let output = self.columns.pop().flatten().map(|(_, tile)| tile);
        self.columns.insert(0, None);
        for (column, held) in self.columns.iter_mut().enumerate().skip(1) {
            if let Some((entered, tile)) = held {
                self.routings[*entered].pass(column, &mut tile.words);
            }
        }
        self.columns[0] = tile.map(|mut tile| {
            let entered = tile.index;
            self.routings[entered].pass(0, &mut tile.words);
            tile.index = Self::destination(self.shape, self.element, entered);
            (entered, tile)
        });
        Ok(output)
    }
}

#[cfg(test)]
mod tests {
    //! Is every automorphism a permutation within tiles that the network can route?

    use super::super::stream;
    use super::super::test_support::{interleaved, moduli, residues, shape};
    use super::*;
    use polyfabric_kernels::ntt::EvaluationOrder;

    fn check(log2: u32, lanes: usize, limbs: usize, element: GaloisElement) {
        let shape = shape(log2, lanes);
        let input = residues(shape, &moduli(log2, limbs), element.value() as u64);
        let mut unit = AutomorphismUnit::new(shape, element);
        let output = stream(&mut unit, interleaved(shape, &input, limbs, 0), AutomorphismUnit::latency(shape)).unwrap();
        let places = element.places(EvaluationOrder::Streaming { lanes });
        let mut moved = vec![vec![u64::MAX; shape.degree().get()]; limbs];
        for (number, (cycle, tile)) in output.iter().enumerate() {
            assert_eq!(*cycle, number as u64 + AutomorphismUnit::latency(shape), "a tile a cycle");
            moved[tile.limb][tile.index * lanes..][..lanes].copy_from_slice(&tile.words);
        }
        for (limb, moved) in input.iter().zip(&moved) {
            let expected: Vec<u64> = places.iter().map(|&place| limb[place]).collect();
            assert!(*moved == expected, "{element:?}, {lanes} lanes");
        }
    }

    #[test]
    fn every_rotation_and_conjugation_of_small_rings() {
        for (log2, lanes) in [(4, 4), (4, 16), (6, 8), (7, 16)] {
            let degree = shape(log2, lanes).degree();
            (0..1 << (log2 - 1)).for_each(|steps| check(log2, lanes, 2, GaloisElement::rotation(degree, steps)));
            check(log2, lanes, 1, GaloisElement::conjugation(degree));
        }
    }

    #[test]
    fn rotations_of_the_rings_in_use() {
        for log2 in [14, 16] {
            let degree = shape(log2, 512).degree();
            for steps in [1, 2, 17, -1, 1 << (log2 - 2)] {
                check(log2, 512, 1, GaloisElement::rotation(degree, steps));
            }
        }
    }
}
