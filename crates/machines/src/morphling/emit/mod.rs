//! Converts the timeline to a schedule; equal groups become loops.

mod nodes;
pub(crate) mod places;
pub(crate) mod resources;
pub(crate) mod rotation;
mod tiles;
mod vector;

use crate::morphling::array::Rotation;
use crate::morphling::channels::items;
use crate::morphling::hardware::Timeline;
use crate::morphling::instruction::Instruction;
use crate::morphling::machine::Morphling;
use crate::morphling::software::{Group, Streams, Unit, wave_range};
use crate::tfhe::groups::{self, EmitGroups};
use crate::tfhe::workload::Item;
use places::{KeyRows, Places};
use polyfabric_sim::schedule::{self, Emit, Event, Schedule, ScheduleBuilder};
use resources::Chip;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

/// A group and its place on the chip.
pub(crate) struct GroupPlace<'a> {
    pub group: &'a Group,
    /// The half of Private-A1 with its accumulators.
    pub half: u64,
}

impl<'a> GroupPlace<'a> {
    pub fn new(streams: &Streams, group: &'a Group) -> Self {
        Self { group, half: group.sequence % streams.layout.halves }
    }

    fn wave_count(&self, machine: &Morphling, wave: u64) -> u64 {
        wave_range(machine, self.group, wave).len() as u64
    }

    /// Index in the program of the lookup at a position of a wave.
    fn ciphertext(&self, machine: &Morphling, wave: u64, position: u64) -> u32 {
        self.group.number + (wave * machine.positions() + position) as u32
    }
}

pub(crate) struct Emitter<'a> {
    places: &'a Places<'a>,
    machine: &'a Morphling,
    streams: &'a Streams,
    chip: &'a Chip,
    timeline: &'a Timeline,
    builder: ScheduleBuilder,
    /// Cached events of rotations, by times, half of Private-A1 and number of ciphertexts.
    rotations: HashMap<(*const Rotation, u64, u32), Arc<Vec<schedule::Item>>>,
}

/// The schedule of `places` at the cycles of `timeline`, on the resources in `builder`.
pub(crate) fn emit(places: &Places<'_>, timeline: &Timeline, builder: ScheduleBuilder) -> Schedule {
    let Places { machine, streams, ref chip, .. } = *places;
    let mut emitter = Emitter { places, machine, streams, chip, timeline, builder, rotations: HashMap::new() };
    for groups in streams.groups.chunk_by(|one, next| one.work == next.work) {
        let hash = |group: usize| hash_of(emitter.steps_of(&groups[group]));
        let alike = |one: usize, other: usize| emitter.alike(&groups[one], &groups[other]);
        let kinds = groups::kinds(groups.len(), hash, alike);
        emitter.groups(groups, |_, one, other| kinds[one] == kinds[other]);
    }
    emitter.builder.finish()
}

/// Result of [`Emitter::times`].
type Times = (i64, u32, KeyRows);

fn hash_of(steps: impl Iterator<Item = impl Hash>) -> u64 {
    let mut hasher = DefaultHasher::new();
    steps.for_each(|step| step.hash(&mut hasher));
    hasher.finish()
}

impl Emit for Emitter<'_> {
    fn builder(&mut self) -> &mut ScheduleBuilder {
        &mut self.builder
    }
}

impl EmitGroups for Emitter<'_> {
    type Group = Group;

    fn base(&self, group: &Group) -> i64 {
        let node = group.rotation.unwrap_or(group.nodes.start);
        self.timeline.starts[node as usize]
    }

    fn first(group: &Group) -> u32 {
        group.first
    }

    fn begin(&self, round: &[Group]) -> i64 {
        self.earliest(round.iter().flat_map(|group| group.nodes.clone()))
    }

    fn group(&mut self, group: &Group, base: i64) {
        let place = GroupPlace::new(self.streams, group);
        let mut node = group.nodes.start;
        while node < group.nodes.end {
            let tiles = self.tiles(node..group.nodes.end);
            node = tiles.last().map_or(node + 1, |tile| tile.end);
            match tiles.first() {
                Some(_) => self.tile_loops(&place, &tiles, base),
                None => self.one(&place, node - 1, base),
            }
        }
    }
}

impl Emitter<'_> {
    fn sources(&self, group: &Group) -> &[Item] {
        self.streams.works[group.work].sources(group.range())
    }

    fn tables(&self, group: &Group) -> &[u32] {
        self.streams.works[group.work].tables(group.range())
    }

    /// Instructions `nodes` with their times relative to cycle `base`. `apart` removes from each what depends on its
    /// position in the program.
    fn steps(
        &self,
        nodes: Range<u32>,
        base: i64,
        apart: impl Fn(&mut Instruction),
    ) -> impl Iterator<Item = (Instruction, Times)> {
        nodes.map(move |node| {
            let mut instruction = self.streams.nodes[node as usize].instruction;
            apart(&mut instruction);
            (instruction, self.times(node, base))
        })
    }

    fn steps_of(&self, group: &Group) -> impl Iterator<Item = (Instruction, Times)> {
        let first = group.first;
        self.steps(group.nodes.clone(), self.base(group), move |instruction| {
            instruction.group = 0;
            // Ciphertext addresses, also those of instruction words and tables, move with the group.
            instruction.first = instruction.first.wrapping_sub(first);
        })
    }

    /// Whether two groups differ only in their ciphertexts and their start.
    fn alike(&self, one: &Group, other: &Group) -> bool {
        let half = |group: &Group| group.sequence % self.streams.layout.halves;
        let rotation = |group: &Group| group.rotation.map(|node| Rc::as_ptr(&self.timeline.rotations[&node]));
        let sources = |group: &Group| {
            let first = i64::from(group.first);
            self.sources(group).iter().map(move |item| (item.op, i64::from(item.element) - first))
        };
        half(one) == half(other)
            && rotation(one) == rotation(other)
            && self.tables(one) == self.tables(other)
            && sources(one).eq(sources(other))
            && self.steps_of(one).eq(self.steps_of(other))
    }

    /// Start relative to cycle `base`, number of the parts, and order in which key rows are read.
    fn times(&self, node: u32, base: i64) -> Times {
        (self.timeline.starts[node as usize] - base, self.timeline.parts.number(node), self.rows(node))
    }

    fn rows(&self, node: u32) -> KeyRows {
        self.timeline.rows[node as usize]
    }

    fn earliest(&self, nodes: impl Iterator<Item = u32>) -> i64 {
        nodes.map(|node| self.timeline.starts[node as usize]).min().unwrap_or(0)
    }

    /// Emits an instruction's events, relative to cycle `base`.
    fn one(&mut self, place: &GroupPlace<'_>, node: u32, base: i64) {
        let start = self.timeline.starts[node as usize] - base;
        if matches!(self.streams.nodes[node as usize].unit, Unit::Dma | Unit::KeyDma) {
            let info = &self.streams.nodes[node as usize];
            let transfer = self.places.transfer(place, &info.instruction);
            for part in self.timeline.parts.of(node) {
                let event = self.places.part(info, &transfer, part, items(&info.instruction).bytes);
                self.builder.event(Event { start: start + part.start, ..event });
            }
        } else if Some(node) == place.group.rotation {
            let operation = self.streams.nodes[node as usize].instruction.operation;
            let rotation = Rc::clone(&self.timeline.rotations[&node]);
            self.rotation(place, operation, &rotation, start);
        } else {
            let rows = self.rows(node);
            for event in self.places.events(place, &self.streams.nodes[node as usize], rows) {
                self.builder.event(Event { start: start + event.start, ..event });
            }
        }
    }
}
