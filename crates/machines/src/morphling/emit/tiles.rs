//! Tiles of the key-switch key: within a group, one does as the one before the last, and they become a loop.

use super::{Emitter, GroupPlace, Times, hash_of};
use crate::engine::schedule::{Emit, Shift};
use crate::morphling::instruction::{Instruction, Opcode};
use crate::torus::groups;
use std::ops::Range;

impl Emitter<'_> {
    /// The tiles that follow one another from the first of `nodes` on, each the transfer of its part of the key and what the lane
    /// groups do with it. None if the first is of no tile.
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

    /// Events of the tiles of one key switch, relative to cycle `base`. The first opens the sums and the last turns them into
    /// ciphertexts: they stand alone.
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

    /// A tile but for its number and its time.
    fn steps_of_tile(&self, tile: &Range<u32>) -> impl Iterator<Item = (Instruction, Times)> {
        self.steps(tile.clone(), self.timeline.starts[tile.start as usize], |instruction| instruction.part = 0)
    }
}
