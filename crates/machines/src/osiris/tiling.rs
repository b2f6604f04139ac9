//! In which order the tiles of several limbs pass a port (section IV-B, figures 2 and 4).
//!
//! Limb interleaving sends one tile of each limb, then the next tile of each: tile c of limb l in cycle c·S + l, S being at least the
//! number of limbs. All kernels take their input and give their output in this order, so a unit's output is the next one's input.
//! The naive order sends a limb after the other: tile c of limb l in cycle l·(N/p) + c.

use super::units::{Shape, Tile};

/// The order of several limbs' tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tiling {
    /// A tile of each limb in turn.
    Interleaved,
    /// All tiles of a limb, then those of the next.
    LimbByLimb,
}

/// The tiles of `limbs` limbs on a port, by cycle after the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TileOrder {
    /// Ring and lanes.
    pub shape: Shape,
    /// Limbs.
    pub limbs: usize,
    /// Cycles from a tile of a limb to its next one: S if limbs are interleaved, 1 if not.
    pub spacing: usize,
    /// The order.
    pub tiling: Tiling,
}

impl TileOrder {
    /// `limbs` limbs interleaved, their tiles `spacing` cycles apart.
    ///
    /// # Panics
    /// If `spacing` is less than `limbs`.
    pub fn interleaved(shape: Shape, limbs: usize, spacing: usize) -> Self {
        assert!(spacing >= limbs, "a cycle for each limb");
        Self { shape, limbs, spacing, tiling: Tiling::Interleaved }
    }

    /// `limbs` limbs, one after the other.
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

    /// Limb and number of the tiles, in order of their cycles.
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

    /// Cycles that the port is taken: from the first tile until the next limbs may begin.
    pub fn cycles(&self) -> u64 {
        let cycles = match self.tiling {
            Tiling::Interleaved => self.shape.tiles() * self.spacing,
            Tiling::LimbByLimb => self.shape.tiles() * self.limbs,
        };
        cycles as u64
    }

    /// The tiles of `limbs`, each given as its tiles one after the other, with the cycle of each.
    ///
    /// # Panics
    /// Unless there are so many limbs, of N words each.
    pub fn cut<L: AsRef<Vec<u64>>>(self, limbs: &[L]) -> impl Iterator<Item = (u64, Tile)> {
        assert_eq!(limbs.len(), self.limbs, "the limbs of the order");
        let lanes = self.shape.lanes();
        self.tiles().map(move |(limb, index)| {
            let words = limbs[limb].as_ref()[index * lanes..][..lanes].to_vec();
            (self.cycle_of(limb, index), Tile { limb, index, words })
        })
    }
}

/// The limbs whose tiles have come, each as its tiles one after the other; `None` if one is missing or came twice.
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
    //! Is each tile in one cycle, in both orders?

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
    fn what_is_cut_is_joined_again() {
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
