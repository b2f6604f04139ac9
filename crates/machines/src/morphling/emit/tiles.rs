//! Folds the tiles of the key-switch key of a group into loops.

use super::{Emitter, GroupPlace, Times, hash_of};
use crate::morphling::instruction::{Instruction, Opcode};
use crate::tfhe::groups;
use polyfabric_sim::schedule::{Emit, Shift};
use std::ops::Range;

impl Emitter<'_> {
    /// Consecutive tiles from the first of `nodes` on: each has the load of its part of the key, and the lane groups'
    /// instructions. Empty if the first node belongs to no tile.
    pub(super) fn tiles(&self, nodes: Range<u32>) -> Vec<Range<u32>> {
        let mut tiles: Vec<Range<u32>> = Vec::new();
        for node in nodes {
            match (self.streams.nodes[node as usize].instruction.opcode, tiles.last_mut()) {
                (Opcode::LoadTile, _) => tiles.push(node..node + 1),
                (Opcode::KeySwitch, Some(tile)) => tile.end = node + 1,
                _ => break,
            }
        }
        tiles
    }

    /// Events of the tiles of one key switch, relative to cycle `base`. The first tile starts the sums, and the last
    /// one completes the ciphertexts, so both are outside the loop.
    pub(super) fn tile_loops(&mut self, place: &GroupPlace<'_>, tiles: &[Range<u32>], base: i64) {
        let [first, inner @ .., last] = tiles else {
            return tiles.iter().cloned().flatten().for_each(|node| self.one(place, node, base));
        };
        first.clone().for_each(|node| self.one(place, node, base));
        let starts: Vec<i64> = inner.iter().map(|tile| self.timeline.starts[tile.start as usize]).collect();
        let hash = |tile: usize| hash_of(self.steps_of_tile(&inner[tile]));
        let alike = |one: usize, other: usize| self.steps_of_tile(&inner[one]).eq(self.steps_of_tile(&inner[other]));
        let kinds = groups::kinds(inner.len(), hash, alike);
        for run in groups::runs(&starts, |one, other| kinds[one] == kinds[other]) {
            let round = &inner[run.first..run.first + run.span];
            if run.rounds == 1 {
                round.iter().cloned().flatten().for_each(|node| self.one(place, node, base));
                continue;
            }
            let period = starts[run.first + run.span] - starts[run.first];
            let start = self.earliest(round.iter().cloned().flatten());
            let shift = Shift::iterations(run.span as i64 * self.streams.layout.tile_elements as i64);
            self.repeat(start - base, run.rounds as u64, period as u64, shift, |emitter| {
                round.iter().cloned().flatten().for_each(|node| emitter.one(place, node, start));
            });
        }
        last.clone().for_each(|node| self.one(place, node, base));
    }

    /// The steps of a tile without its number and start.
    fn steps_of_tile(&self, tile: &Range<u32>) -> impl Iterator<Item = (Instruction, Times)> {
        self.steps(tile.clone(), self.timeline.starts[tile.start as usize], |instruction| instruction.part = 0)
    }
}
