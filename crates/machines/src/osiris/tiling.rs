//! The order of the tiles of several limbs on a port (section IV-B, figures 2 and 4).
//!
//! Limb interleaving sends one tile of each limb, then the next tile of each: tile c of limb l in cycle c·S +
//! l, with S at least the number of limbs. All kernels read and write in this order, so the output of a unit
//! can be the input of the next one. The naive order sends the limbs in sequence: tile c of limb l in cycle
//! l·(N/p) + c.

use super::units::{Shape, Tile};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tiling {
    /// Alternates between limbs tile by tile.
    Interleaved,
    /// All tiles of a limb, then those of the next.
    LimbByLimb,
}

/// The tiles of `limbs` limbs on a port, by cycle relative to the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TileOrder {
    pub shape: Shape,
    pub limbs: usize,
    /// Cycles between tiles of a limb: S if limbs are interleaved, otherwise 1.
    pub spacing: usize,
    pub tiling: Tiling,
}

impl TileOrder {
    /// `limbs` limbs interleaved, with `spacing` cycles between tiles of one limb.
    ///
    /// # Panics
    /// If `spacing` is less than `limbs`.
    pub fn interleaved(shape: Shape, limbs: usize, spacing: usize) -> Self {
        assert!(spacing >= limbs, "a cycle for each limb");
        Self { shape, limbs, spacing, tiling: Tiling::Interleaved }
    }

    /// `limbs` limbs in sequence.
    pub fn limb_by_limb(shape: Shape, limbs: usize) -> Self {
        Self { shape, limbs, spacing: 1, tiling: Tiling::LimbByLimb }
    }

    /// The cycle of tile `index` of limb `limb`.
    pub fn cycle_of(&self, limb: usize, index: usize) -> u64 {
        let cycle = match self.tiling {
            Tiling::Interleaved => index * self.spacing + limb,
            Tiling::LimbByLimb => limb * self.shape.tiles() + index,
        };
        cycle as u64
    }

    /// Limb and index of the tiles, in order of their cycles.
    pub fn tiles(self) -> impl Iterator<Item = (usize, usize)> {
        let (outer, inner) = match self.tiling {
            Tiling::Interleaved => (self.shape.tiles(), self.limbs),
            Tiling::LimbByLimb => (self.limbs, self.shape.tiles()),
        };
        (0..outer).flat_map(move |outer| (0..inner).map(move |inner| (outer, inner))).map(move |(outer, inner)| {
            match self.tiling {
                Tiling::Interleaved => (inner, outer),
                Tiling::LimbByLimb => (outer, inner),
            }
        })
    }

    /// Cycles that the port is busy, from the first tile until the next limbs can start.
    pub fn cycles(&self) -> u64 {
        let cycles = match self.tiling {
            Tiling::Interleaved => self.shape.tiles() * self.spacing,
            Tiling::LimbByLimb => self.shape.tiles() * self.limbs,
        };
        cycles as u64
    }

    /// Splits `limbs`, each the concatenation of its tiles, into tiles with their cycles.
    ///
    /// # Panics
    /// If the number of limbs is wrong, or a limb does not have N words.
    pub fn cut<L: AsRef<Vec<u64>>>(self, limbs: &[L]) -> impl Iterator<Item = (u64, Tile)> {
        assert_eq!(limbs.len(), self.limbs, "the limbs of the order");
        let lanes = self.shape.lanes();
        self.tiles().map(move |(limb, index)| {
            let words = limbs[limb].as_ref()[index * lanes..][..lanes].to_vec();
            (self.cycle_of(limb, index), Tile { limb, index, words })
        })
    }
}

/// Joins tiles to limbs, each the concatenation of its tiles; `None` if a tile is missing or occurs twice.
pub fn join(shape: Shape, limbs: usize, tiles: impl IntoIterator<Item = Tile>) -> Option<Vec<Vec<u64>>> {
    let mut joined = vec![vec![Vec::new(); shape.tiles()]; limbs];
    for tile in tiles {
        let place = joined.get_mut(tile.limb)?.get_mut(tile.index)?;
        if !place.is_empty() || tile.words.len() != shape.lanes() {
            return None;
        }
        *place = tile.words;
    }
    let complete = joined.iter().flatten().all(|words| !words.is_empty());
    complete.then(|| joined.into_iter().map(|limb| limb.concat()).collect())
}

#[cfg(test)]
mod tests {
    //! Does each tile have one cycle, in both orders?

    use super::super::units::test_support::{moduli, residues, shape};
    use super::*;

    #[test]
    fn every_tile_has_its_cycle() {
        let shape = shape(7, 8);
        for order in [
            TileOrder::interleaved(shape, 3, 3),
            TileOrder::interleaved(shape, 3, 5),
            TileOrder::limb_by_limb(shape, 3),
        ] {
            let cycles: Vec<u64> = order.tiles().map(|(limb, index)| order.cycle_of(limb, index)).collect();
            assert_eq!(cycles.len(), 3 * 16);
            assert!(
                cycles.is_sorted_by(|a, b| a < b) && cycles.iter().all(|&cycle| cycle < order.cycles()),
                "{order:?}"
            );
        }
    }

    #[test]
    fn join_inverts_cut() {
        let shape = shape(6, 4);
        let limbs = residues(shape, &moduli(6, 3), 3);
        for order in [TileOrder::interleaved(shape, 3, 4), TileOrder::limb_by_limb(shape, 3)] {
            let tiles: Vec<Tile> = order.cut(&limbs).map(|(_, tile)| tile).collect();
            assert_eq!(join(shape, 3, tiles.clone()).as_ref(), Some(&limbs));
            assert_eq!(join(shape, 3, tiles[1..].to_vec()), None, "one is missing");
            assert_eq!(join(shape, 3, tiles.iter().chain(&tiles[..1]).cloned()), None, "one came twice");
        }
    }
}
