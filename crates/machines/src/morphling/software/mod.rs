//! The software scheduler (section V-E): splits a program's work into groups of 64 ciphertexts, that is four waves of
//! one ciphertext per row. It writes the instruction streams with the dependences of each instruction: the ciphertexts
//! that it reads, and the ring-buffer entry that it fills.
//!
//! An instruction's duration is its data divided by its unit's rate; start cycles come from the hardware scheduler.

mod linear;

pub use linear::{LinearNeeds, linear_block};

use super::array::KEY_HOP;
use super::instruction::{Instruction, Opcode, WORD_BYTES};
use super::latency;
use super::layout::{Layout, LayoutError, positions_in_bank};
use super::machine::{Morphling, POINT_BYTES};
use crate::tfhe::channels::BURST_BYTES;
use crate::tfhe::dispatcher::{Priority, Task, Wait};
use crate::tfhe::iteration::{IterationPlan, PlanError, plan};
use crate::tfhe::labels::Lookups;
use crate::tfhe::workload::{Bootstraps, Item, KeySwitches, Work, WorkloadError, distinct, read};
use polyfabric_kernels::cancel;
use polyfabric_program::tfhe::kernel::{KernelProgram, OpKind};
use std::collections::HashMap;
use std::ops::Range;

/// A unit that executes one instruction at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Unit {
    /// The HBM channels, except for the bootstrapping key; an instruction uses all of them.
    Dma,
    /// The channels of the bootstrapping key, for other data of the XPUs.
    KeyDma,
    /// The links between the Shared buffer and the XPUs' Private-A1 banks, in lockstep.
    Link,
    /// The XPUs, in lockstep.
    Array,
    /// A lane group of the VPU.
    Lanes(u8),
}

/// An instruction and its duration. A network has tens of millions.
#[derive(Clone, Debug)]
pub struct Node {
    pub instruction: Instruction,
    pub unit: Unit,
    /// Cycles that the instruction occupies its unit. The dispatch computes those of blind rotations and transfers.
    pub occupancy: u32,
    /// Cycles from its first read to its first write.
    pub latency: u32,
    pub priority: Priority,
}

impl Task for Node {
    type Unit = Unit;

    fn unit(&self) -> Unit {
        self.unit
    }

    fn priority(&self) -> Priority {
        self.priority
    }
}

/// The dependences of every node, concatenated.
#[derive(Clone, Debug, Default)]
pub struct Waits {
    ends: Vec<u32>,
    all: Vec<Wait>,
}

impl Waits {
    fn push(&mut self, waits: Vec<Wait>) {
        self.all.extend(waits);
        self.ends.push(self.all.len() as u32);
    }

    /// The dependences of node `node`.
    pub fn of(&self, node: usize) -> &[Wait] {
        let first = node.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.all[first as usize..self.ends[node] as usize]
    }
}

/// Ciphertexts processed together.
#[derive(Clone, Debug)]
pub struct Group {
    /// Index of its work.
    pub work: usize,
    /// First element of the work.
    pub first: u32,
    pub count: u32,
    /// Index of its first lookup in the program ([`Lookups`]).
    pub number: u32,
    /// Number of earlier bootstrap groups in the program; selects ring entries.
    pub sequence: u64,
    pub nodes: Range<u32>,
    /// Index of the blind-rotation node.
    pub rotation: Option<u32>,
}

impl Group {
    /// Elements, as indices into the work.
    pub fn range(&self) -> Range<usize> {
        self.first as usize..(self.first + self.count) as usize
    }
}

/// The streams of a program, and the data for the hardware scheduler.
#[derive(Clone, Debug)]
pub struct Streams {
    pub works: Vec<Work>,
    /// The plans of blind rotations; most programs have one.
    pub plans: Vec<IterationPlan>,
    /// For each blind-rotation operation, the index of its plan.
    pub plan_of: HashMap<u32, usize>,
    /// For each linear layer, by operation, the ciphertexts that its rows need.
    pub needs: HashMap<u32, LinearNeeds>,
    pub lookups: Lookups,
    pub layout: Layout,
    /// In stream order.
    pub nodes: Vec<Node>,
    /// Their dependences, until dispatch.
    pub waits: Waits,
    /// In program order.
    pub groups: Vec<Group>,
}

impl Streams {
    pub fn plan(&self, operation: u32) -> &IterationPlan {
        &self.plans[self.plan_of[&operation]]
    }
}

/// Why no streams exist for a program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SoftwareError {
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Layout(#[from] LayoutError),
    #[error(
        "operation %{operation} needs {count} {what}, and an instruction can number at most {most}: enlarge \
         `memories.private_b.capacity` in the machine file, or use a smaller program or parameter set"
    )]
    Parts { operation: u32, what: &'static str, count: u64, most: u64 },
}

/// Part `number` of the `count` parts, called `what`, of operation `operation`, as a field of an instruction.
fn part(operation: u32, what: &'static str, number: u64, count: u64) -> Result<u16, SoftwareError> {
    let most = 1 + u64::from(u16::MAX);
    u16::try_from(number).map_err(|_| SoftwareError::Parts { operation, what, count, most })
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Buffer {
    Resident(u64),
    SharedIn(u64),
    SharedOut(u64),
    SmallIn(u64),
    Large(u64),
    Sums,
    Tile(u64),
    Operands(u64),
    LinearSums,
}

/// The lane group of position `position` of a wave.
pub fn lane_group(machine: &Morphling, position: u64) -> u64 {
    position * machine.lane_groups / machine.positions()
}

/// Positions below `count` that lane group `group` processes.
pub fn lane_positions(machine: &Morphling, group: u64, count: u64) -> Range<u64> {
    let first = (0..machine.positions()).find(|&p| lane_group(machine, p) >= group).unwrap_or(machine.positions());
    let end = (first..machine.positions()).find(|&p| lane_group(machine, p) > group).unwrap_or(machine.positions());
    first.min(count)..end.min(count)
}

struct Writer<'a> {
    machine: &'a Morphling,
    streams: Streams,
    /// Producer of each item in HBM; inputs have none.
    stored: HashMap<Item, u32>,
    /// Instructions that must finish before a buffer entry is overwritten.
    users: HashMap<Buffer, Vec<Wait>>,
    sequence: u64,
    small_count: u64,
    shared_in_count: u64,
    shared_out_count: u64,
    large_count: u64,
    fetch: u32,
    /// Whether the twiddle factors are loaded; all rotations of a program use one ring.
    has_twiddles: bool,
}

pub fn schedule(machine: &Morphling, program: &KernelProgram) -> Result<Streams, SoftwareError> {
    let works = read(program)?;
    let (mut plans, mut plan_of) = (Vec::new(), HashMap::new());
    let (mut accumulators, mut tables, mut linear) = (1, 1, false);
    for work in &works {
        match work {
            Work::Bootstraps(bootstraps) => {
                let op = &program.ops[bootstraps.blind_rotation as usize];
                if let OpKind::BlindRotation { body, .. } = &op.kind {
                    let plan = plan(body, machine.columns as u32)?;
                    accumulators = accumulators.max(1 + u64::from(plan.two_accumulators));
                    let known = plans.iter().position(|known| *known == plan);
                    plan_of.insert(bootstraps.blind_rotation, known.unwrap_or(plans.len()));
                    plans.extend(known.is_none().then_some(plan));
                }
                let waves = bootstraps.tables.chunks(machine.positions() as usize);
                tables = waves.map(|wave| distinct(wave).len() as u64).max().unwrap_or(1).max(tables);
            }
            Work::Linear(_) => linear = true,
            Work::KeySwitches(_) => {}
        }
    }
    let layout = Layout::new(machine, &program.parameters, accumulators, tables, linear)?;
    let mut writer = Writer {
        machine,
        streams: Streams {
            works: works.clone(),
            plans,
            plan_of,
            needs: HashMap::new(),
            lookups: Lookups::new(program),
            layout,
            nodes: Vec::new(),
            waits: Waits::default(),
            groups: Vec::new(),
        },
        stored: HashMap::new(),
        users: HashMap::new(),
        sequence: 0,
        small_count: 0,
        shared_in_count: 0,
        shared_out_count: 0,
        large_count: 0,
        fetch: 0,
        has_twiddles: false,
    };
    for (index, work) in works.iter().enumerate() {
        match work {
            Work::Bootstraps(bootstraps) => {
                writer.in_groups(index, bootstraps.sources.len(), |writer, group| {
                    writer.bootstrap_group(bootstraps, group)
                })?;
            }
            Work::KeySwitches(switches) => {
                writer
                    .in_groups(index, switches.sources.len(), |writer, group| writer.switch_group(switches, group))?;
            }
            Work::Linear(layer) => {
                let OpKind::Linear { matrix, .. } = &program.ops[layer.op as usize].kind else { continue };
                let rows = matrix.rows() as u32;
                let nodes = writer.streams.nodes.len() as u32;
                let (first, number, sequence, rotation) = (0, 0, 0, None);
                let group = Group { work: index, first, count: rows, number, sequence, nodes: nodes..nodes, rotation };
                writer.one_group(group, |writer, _| writer.linear(layer, matrix))?;
            }
        }
    }
    Ok(writer.streams)
}

impl Writer<'_> {
    fn in_groups(
        &mut self,
        work: usize,
        count: usize,
        mut body: impl FnMut(&mut Self, &mut Group) -> Result<(), SoftwareError>,
    ) -> Result<(), SoftwareError> {
        let size = (self.machine.positions() * self.streams.layout.waves) as u32;
        for first in (0..count as u32).step_by(size as usize) {
            let nodes = self.streams.nodes.len() as u32;
            let count = size.min(count as u32 - first);
            let number = match &self.streams.works[work] {
                Work::Bootstraps(work) => self.streams.lookups.first(work.blind_rotation) + first,
                _ => 0,
            };
            let (sequence, rotation) = (self.sequence, None);
            let group = Group { work, first, count, number, sequence, nodes: nodes..nodes, rotation };
            self.one_group(group, &mut body)?;
            self.sequence += 1;
        }
        Ok(())
    }

    /// The fetch of a group's words comes first; the number of words is filled in at the end.
    fn one_group(
        &mut self,
        mut group: Group,
        body: impl FnOnce(&mut Self, &mut Group) -> Result<(), SoftwareError>,
    ) -> Result<(), SoftwareError> {
        let mut fetch = self.blank(Opcode::Fetch, &group);
        fetch.length = WORD_BYTES as u32;
        // The next group's words are fetched after the blind rotation of the group before the previous one. Those of
        // earlier groups may still wait for key switches; six are the most.
        let earlier = self.streams.groups.len().checked_sub(2).map(|index| &self.streams.groups[index]);
        let waits = earlier.map(|group| Wait::all(group.rotation.unwrap_or(group.nodes.end - 1)));
        self.fetch = self.push(fetch, Unit::Dma, waits.into_iter().collect(), 0, 0, Priority::Rotation);
        body(self, &mut group)?;
        let end = self.streams.nodes.len() as u32;
        group.nodes.end = end;
        // A blind rotation is two words: one in the XPU stream, and one for its key in the DMA stream.
        let words = end - group.nodes.start + u32::from(group.rotation.is_some());
        let bytes = words * WORD_BYTES as u32;
        let fetch = &mut self.streams.nodes[self.fetch as usize];
        fetch.instruction.amount = bytes;
        fetch.latency = self.machine.memory_latency as u32;
        self.streams.groups.push(group);
        Ok(())
    }

    fn blank(&self, opcode: Opcode, group: &Group) -> Instruction {
        Instruction {
            opcode,
            unit: 0,
            wave: 0,
            entry: 0,
            count: 0,
            part: 0,
            operation: group.work as u32,
            group: self.streams.groups.len() as u32,
            first: group.first,
            length: 0,
            amount: 0,
        }
    }

    fn push(
        &mut self,
        instruction: Instruction,
        unit: Unit,
        mut waits: Vec<Wait>,
        occupancy: u32,
        latency: u32,
        priority: Priority,
    ) -> u32 {
        cancel::check();
        waits.sort_unstable();
        waits.dedup();
        self.streams.waits.push(waits);
        self.streams.nodes.push(Node { instruction, unit, occupancy, latency, priority });
        self.streams.nodes.len() as u32 - 1
    }

    fn dma(&mut self, instruction: Instruction, waits: Vec<Wait>, priority: Priority) -> u32 {
        self.push(instruction, Unit::Dma, waits, 0, self.machine.memory_latency as u32, priority)
    }

    fn vectors(&self, elements: u64) -> u64 {
        elements.div_ceil(self.machine.lanes)
    }

    /// An instruction of a lane group: `compute` cycles on its lanes, `loads` vectors into its registers, and `results`
    /// vectors back to the banks.
    fn lanes(
        &mut self,
        instruction: Instruction,
        waits: Vec<Wait>,
        (compute, loads, results): (u32, u64, u64),
        priority: Priority,
    ) -> u32 {
        let depth = self.machine.depth;
        // A register is read in the cycle after its write.
        let latency = (latency::register_load(depth) + latency::vector_lane(depth) + latency::RESULT_RETURN) as u32 - 1;
        // The next instruction reads this one's results as they stream.
        let moves = self.machine.load_cycles(loads).max(self.machine.return_cycles(results));
        let occupancy = compute.max(moves as u32).max(latency + 1);
        let unit = Unit::Lanes(instruction.unit);
        self.push(instruction, unit, waits, occupancy, latency, priority)
    }

    /// An instruction of all links; the busiest link moves `bytes`, and the busiest bank of the Shared buffer
    /// `bank_bytes`.
    fn link(
        &mut self,
        instruction: Instruction,
        waits: Vec<Wait>,
        (bytes, bank_bytes): (u64, u64),
        priority: Priority,
    ) -> u32 {
        let in_bank = bank_bytes.div_ceil(self.machine.bank_bytes());
        let occupancy = bytes.div_ceil(self.machine.network.link).max(in_bank) as u32;
        let latency = 2 * self.machine.depth.memory as u32 - 1;
        self.push(instruction, Unit::Link, waits, occupancy, latency, priority)
    }

    fn free(&self, buffer: Buffer) -> Vec<Wait> {
        self.users.get(&buffer).cloned().unwrap_or_default()
    }

    fn producers(&self, items: &[Item]) -> Vec<Wait> {
        items.iter().filter_map(|item| self.stored.get(item)).map(|&node| Wait::all(node)).collect()
    }

    /// Elements of wave `wave` of `group`, as indices into the work.
    fn wave_range(&self, group: &Group, wave: u64) -> Range<usize> {
        wave_range(self.machine, group, wave)
    }

    fn bootstrap_group(&mut self, work: &Bootstraps, group: &mut Group) -> Result<(), SoftwareError> {
        let layout = self.streams.layout;
        let sizes = layout.sizes;
        let positions = self.machine.positions();
        let waves = u64::from(group.count).div_ceil(positions);
        let half = group.sequence % layout.halves;
        let mut loads = Vec::new();
        for wave in 0..waves {
            loads.push(self.load_wave(work, group, wave, half));
        }
        if !std::mem::replace(&mut self.has_twiddles, true) {
            loads.push(self.twiddles(group));
        }
        let mut rotate = self.blank(Opcode::BlindRotate, group);
        rotate.unit = self.machine.xpus as u8;
        rotate.entry = half as u8;
        rotate.count = group.count as u16;
        rotate.operation = work.blind_rotation;
        rotate.length = sizes.ring_degree as u32;
        rotate.amount = sizes.lwe_dimension as u32;
        let waits = loads.into_iter().map(Wait::all).collect();
        let rotation = self.push(rotate, Unit::Array, waits, 0, 0, Priority::Rotation);
        group.rotation = Some(rotation);
        let extracted: Vec<Vec<Wait>> =
            (0..waves).map(|wave| self.extract_wave(work, group, wave, half, rotation)).collect();
        if let Some(switched) = &work.switched {
            let sources: Vec<(u64, Vec<Wait>)> = (0..waves).zip(extracted).collect();
            self.switch(switched, group, sources, self.large_count - waves)?;
        }
        Ok(())
    }

    /// Loads the twiddle factors to Private-A2 and to the XPUs.
    fn twiddles(&mut self, group: &Group) -> u32 {
        let layout = self.streams.layout;
        let mut load = self.blank(Opcode::LoadTwiddles, group);
        load.length = layout.sizes.ring_degree as u32;
        let pieces = layout.twiddles();
        load.amount = pieces.iter().map(|piece| piece.bursts * BURST_BYTES).sum::<u64>() as u32;
        let latency = self.machine.memory_latency as u32;
        let loaded = self.push(load, Unit::KeyDma, vec![Wait::all(self.fetch)], 0, latency, Priority::Rotation);
        let fill = Instruction { opcode: Opcode::FillTwiddles, unit: self.machine.xpus as u8, ..load };
        // Each bank reads its share at the rate of a key.
        let points = pieces.iter().map(|piece| piece.bursts * BURST_BYTES / POINT_BYTES).max().unwrap_or(0);
        let occupancy = points.div_ceil(self.machine.streams().row_points) as u32;
        self.push(fill, Unit::Array, vec![Wait::all(loaded)], occupancy, KEY_HOP as u32, Priority::Rotation)
    }

    fn load_wave(&mut self, work: &Bootstraps, group: &Group, wave: u64, half: u64) -> u32 {
        let layout = self.streams.layout;
        let sizes = layout.sizes;
        let range = self.wave_range(group, wave);
        let count = range.len() as u64;
        let small_entry = self.small_count % layout.small_in.entries;
        self.small_count += 1;
        let shared_entry = self.shared_in_count % layout.shared_in.entries;
        self.shared_in_count += 1;

        let mut load = self.blank(Opcode::LoadSmall, group);
        load.wave = wave as u8;
        load.entry = small_entry as u8;
        load.first = range.start as u32;
        load.count = count as u16;
        load.operation = work.modulus_switch;
        load.length = sizes.lwe_dimension as u32 + 1;
        load.amount = (count * sizes.small) as u32;
        let mut waits = self.free(Buffer::SmallIn(small_entry));
        waits.extend(self.producers(&work.sources[range.clone()]));
        waits.push(Wait::all(self.fetch));
        let loaded = self.dma(load, waits, Priority::Rotation);

        let tables = distinct(&work.tables[range.clone()]);
        let mut table = Instruction { opcode: Opcode::LoadTables, entry: shared_entry as u8, ..load };
        table.operation = work.blind_rotation;
        table.count = tables.len() as u16;
        table.length = sizes.ring_degree as u32;
        table.amount = (tables.len() as u64 * sizes.polynomial) as u32;
        let mut waits = self.free(Buffer::SharedIn(shared_entry));
        waits.push(Wait::all(self.fetch));
        let tabled = self.dma(table, waits, Priority::Rotation);

        let mut switched = Vec::new();
        for lane in 0..self.machine.lane_groups {
            let positions = lane_positions(self.machine, lane, count);
            if positions.is_empty() {
                continue;
            }
            let served = positions.end - positions.start;
            let mut switch = Instruction { opcode: Opcode::ModulusSwitch, unit: lane as u8, ..load };
            switch.first += positions.start as u32;
            switch.count = served as u16;
            switch.entry = shared_entry as u8;
            switch.amount = 2 * sizes.ring_degree as u32;
            let mut waits = self.free(Buffer::SharedIn(shared_entry));
            waits.push(Wait::all(loaded));
            let vectors = served * self.vectors(sizes.lwe_dimension + 1);
            let moved = (vectors as u32, vectors, vectors);
            switched.push(Wait::all(self.lanes(switch, waits, moved, Priority::Rotation)));
        }
        self.users.insert(Buffer::SmallIn(small_entry), switched.clone());

        let resident = half * layout.waves + wave;
        let mut fill = Instruction { opcode: Opcode::LoadAccumulators, ..table };
        fill.unit = self.machine.xpus as u8;
        fill.entry = resident as u8;
        fill.count = count as u16;
        let row_bytes = sizes.accumulator + sizes.rotations;
        fill.amount = row_bytes as u32;
        let rows = count.min(self.machine.rows);
        let mut waits = self.free(Buffer::Resident(resident));
        waits.extend(switched);
        waits.push(Wait::all(tabled));
        // The amounts once, and the tables of every XPU.
        let tables = tables.len() as u64 * layout.table_stripe(self.machine);
        let in_bank = positions_in_bank(self.machine) * sizes.rotations + self.machine.xpus * tables;
        let filled = self.link(fill, waits, (rows * row_bytes, in_bank), Priority::Rotation);
        self.users.insert(Buffer::SharedIn(shared_entry), vec![Wait::all(filled)]);
        filled
    }

    fn extract_wave(&mut self, work: &Bootstraps, group: &Group, wave: u64, half: u64, rotation: u32) -> Vec<Wait> {
        let layout = self.streams.layout;
        let sizes = layout.sizes;
        let range = self.wave_range(group, wave);
        let count = range.len() as u64;
        let large_entry = self.large_count % layout.large.entries;
        self.large_count += 1;
        let resident = half * layout.waves + wave;
        let (mut stores, mut extracts) = (Vec::new(), Vec::new());
        let parts = self.machine.rows / layout.store_rows;
        for part in 0..parts {
            let rows = part * layout.store_rows..(part + 1) * layout.store_rows;
            let served: Vec<u64> = (0..count).filter(|p| rows.contains(&(p % self.machine.rows))).collect();
            if served.is_empty() {
                continue;
            }
            let out_entry = self.shared_out_count % layout.shared_out.entries;
            self.shared_out_count += 1;
            let mut store = self.blank(Opcode::StoreAccumulators, group);
            store.unit = self.machine.xpus as u8;
            store.wave = wave as u8;
            store.part = part as u16;
            store.entry = out_entry as u8;
            store.first = range.start as u32;
            store.count = served.len() as u16;
            store.operation = work.blind_rotation;
            store.length = sizes.ring_degree as u32;
            store.amount = sizes.accumulator as u32;
            let busiest = (0..self.machine.xpus)
                .map(|xpu| served.iter().filter(|&&p| p / self.machine.rows == xpu).count() as u64)
                .max()
                .unwrap_or(0);
            let mut waits = self.free(Buffer::SharedOut(out_entry));
            waits.push(Wait { node: rotation, wave: Some(wave as u8) });
            let moved = (busiest * sizes.accumulator, layout.shared_out.entry_bytes);
            let stored = self.link(store, waits, moved, Priority::Rest);
            stores.push(Wait::all(stored));
            let mut readers = Vec::new();
            for lane in 0..self.machine.lane_groups {
                let mine = served.iter().filter(|&&p| lane_group(self.machine, p) == lane).count() as u64;
                if mine == 0 {
                    continue;
                }
                let mut extract = Instruction { opcode: Opcode::SampleExtract, unit: lane as u8, ..store };
                extract.entry = large_entry as u8;
                extract.count = mine as u16;
                extract.operation = work.extracted.first().map_or(0, |item| item.op);
                extract.length = sizes.large_dimension as u32 + 1;
                extract.amount = sizes.large as u32;
                let mut waits = self.free(Buffer::Large(large_entry));
                waits.push(Wait::all(stored));
                let vectors = mine * self.vectors(sizes.large_dimension + 1);
                let moved = (vectors as u32, vectors, vectors);
                readers.push(Wait::all(self.lanes(extract, waits, moved, Priority::Rest)));
            }
            self.users.insert(Buffer::SharedOut(out_entry), readers.clone());
            extracts.extend(readers);
        }
        self.users.insert(Buffer::Resident(resident), stores);
        if work.keeps_extracted {
            let items = &work.extracted[range];
            let node = self.store(Opcode::StoreLarge, group, wave, large_entry, items, extracts.clone(), sizes.large);
            self.users.insert(Buffer::Large(large_entry), vec![Wait::all(node)]);
        } else {
            self.users.insert(Buffer::Large(large_entry), Vec::new());
        }
        extracts
    }

    #[allow(clippy::too_many_arguments)]
    fn store(
        &mut self,
        opcode: Opcode,
        group: &Group,
        wave: u64,
        entry: u64,
        items: &[Item],
        waits: Vec<Wait>,
        bytes: u64,
    ) -> u32 {
        let mut store = self.blank(opcode, group);
        store.wave = wave as u8;
        store.entry = entry as u8;
        store.operation = items.first().map_or(0, |item| item.op);
        store.first = items.first().map_or(0, |item| item.element);
        store.count = items.len() as u16;
        store.amount = (items.len() as u64 * bytes) as u32;
        store.length = (bytes / crate::tfhe::sizes::COEFFICIENT_BYTES) as u32;
        let node = self.dma(store, waits, Priority::Rest);
        for &item in items {
            self.stored.insert(item, node);
        }
        node
    }

    fn switch_group(&mut self, work: &KeySwitches, group: &mut Group) -> Result<(), SoftwareError> {
        let layout = self.streams.layout;
        let sizes = layout.sizes;
        let waves = u64::from(group.count).div_ceil(self.machine.positions());
        let mut sources = Vec::new();
        for wave in 0..waves {
            let range = self.wave_range(group, wave);
            let entry = self.large_count % layout.large.entries;
            self.large_count += 1;
            let mut load = self.blank(Opcode::LoadLarge, group);
            load.wave = wave as u8;
            load.entry = entry as u8;
            load.first = range.start as u32;
            load.count = range.len() as u16;
            load.operation = work.results.first().map_or(0, |item| item.op);
            load.length = sizes.large_dimension as u32 + 1;
            load.amount = (range.len() as u64 * sizes.large) as u32;
            let mut waits = self.free(Buffer::Large(entry));
            waits.extend(self.producers(&work.sources[range]));
            waits.push(Wait::all(self.fetch));
            sources.push((wave, vec![Wait::all(self.dma(load, waits, Priority::Rest))]));
        }
        self.switch(&work.results, group, sources, self.large_count - waves)
    }

    /// Key switch of a group whose ciphertexts are in the entries of `large` from `first_entry` on.
    fn switch(
        &mut self,
        results: &[Item],
        group: &Group,
        sources: Vec<(u64, Vec<Wait>)>,
        first_entry: u64,
    ) -> Result<(), SoftwareError> {
        let layout = self.streams.layout;
        let sizes = layout.sizes;
        let tiles = sizes.large_dimension / layout.tile_elements;
        let operation = results.first().map_or(0, |item| item.op);
        let ready: Vec<Wait> = sources.iter().flat_map(|(_, waits)| waits.iter().copied()).collect();
        let group_positions = u64::from(group.count);
        let mut last: Vec<Option<u32>> = vec![None; self.machine.lane_groups as usize];
        let served = |lane| group_lane_count(self.machine, lane, group_positions);
        // All lane groups take as long as the one with most ciphertexts, so that no two access one set of banks.
        let most = (0..self.machine.lane_groups).map(served).max().unwrap_or(0);
        let rows = layout.sets * most * u64::from(switch_cycles(self.machine, &layout));
        let sums = most * switch_blocks(self.machine, &layout) * self.vectors(sizes.lwe_dimension + 1);
        let moves = self.machine.return_cycles(sums);
        let cycles = (latency::first_digits(self.machine.depth) + rows.max(moves)) as u32;
        for tile in 0..tiles {
            let entry = tile % layout.tiles.entries;
            let mut load = self.blank(Opcode::LoadTile, group);
            load.part = part(operation, "tiles of the key-switch key", tile, tiles)?;
            load.entry = entry as u8;
            load.operation = operation;
            load.length = sizes.lwe_dimension as u32 + 1;
            load.count = (layout.tile_elements * sizes.key_switch_levels) as u16;
            load.amount = (layout.tile_elements * sizes.key_switch_levels * sizes.small) as u32;
            let mut waits = self.free(Buffer::Tile(entry));
            waits.push(Wait::all(self.fetch));
            let loaded = self.dma(load, waits, Priority::KeySwitchKey);
            let mut readers = Vec::new();
            for lane in 0..self.machine.lane_groups {
                let served = group_lane_count(self.machine, lane, group_positions);
                if served == 0 {
                    continue;
                }
                let mut work = Instruction { opcode: Opcode::KeySwitch, unit: lane as u8, ..load };
                work.count = served as u16;
                work.amount = (layout.tile_elements * sizes.key_switch_levels) as u32;
                let mut waits = vec![Wait::all(loaded)];
                // A lane group processes the tiles in order, and its sums stream from one to the next. The load of a
                // later tile overwrites an earlier one, so its instructions need no additional waits.
                if tile < layout.tiles.entries {
                    waits.extend(ready.iter().copied());
                    waits.extend(self.free(Buffer::Sums));
                }
                let node = self.lanes(work, waits, (cycles, 0, 0), Priority::Rest);
                last[lane as usize] = Some(node);
                readers.push(Wait::all(node));
            }
            self.users.insert(Buffer::Tile(entry), readers);
        }
        let done: Vec<Wait> = last.into_iter().flatten().map(Wait::all).collect();
        for (wave, _) in sources {
            let entry = Buffer::Large((first_entry + wave) % layout.large.entries);
            self.users.entry(entry).or_default().extend(done.iter().copied());
        }
        let node = self.store(Opcode::StoreSmall, group, 0, 0, &results[group.range()], done, sizes.small);
        self.users.insert(Buffer::Sums, vec![Wait::all(node)]);
        Ok(())
    }
}

/// Rows of a tile of the key-switch key in the fullest set of banks.
fn switch_rows(layout: &Layout) -> u64 {
    (layout.tile_elements * layout.sizes.key_switch_levels).div_ceil(layout.sets)
}

/// Number of times a key switch by one tile loads and stores each vector of a sum. A register of digits serves as many
/// rows as it has elements.
pub fn switch_blocks(machine: &Morphling, layout: &Layout) -> u64 {
    layout.sets * switch_rows(layout).div_ceil(machine.lanes)
}

/// Cycles of a key switch of one ciphertext by the rows of one set: the digits of the mask elements, a vector at a
/// time, then one vector product per row. Only a tile's first digits are waited for ([`latency::first_digits`]). Sums
/// and mask elements are loaded with the rows; in the same bank, they alternate with them.
fn switch_cycles(machine: &Morphling, layout: &Layout) -> u32 {
    let (rows, sizes) = (switch_rows(layout), &layout.sizes);
    let vectors = (sizes.lwe_dimension + 1).div_ceil(machine.lanes);
    let digits = rows.div_ceil(machine.lanes);
    let loads = rows * vectors + digits * (vectors + 1);
    let bank = machine.private_b / machine.private_b_banks;
    let one_bank = layout.tiles.end().saturating_sub(1) / bank >= layout.sums.offset / bank;
    let in_turn = if one_bank { loads } else { 0 };
    (digits + rows * vectors).max(machine.load_cycles(loads)).max(in_turn) as u32
}

/// Elements of wave `wave` of `group`, as indices into the work.
pub fn wave_range(machine: &Morphling, group: &Group, wave: u64) -> Range<usize> {
    let positions = machine.positions() as usize;
    let start = group.first as usize + wave as usize * positions;
    start..(start + positions).min((group.first + group.count) as usize)
}

/// Ciphertexts of a group of `count` that lane group `lane` processes, over all waves.
fn group_lane_count(machine: &Morphling, lane: u64, count: u64) -> u64 {
    let positions = machine.positions();
    let waves = count.div_ceil(positions);
    let served = |wave: u64| {
        let range = lane_positions(machine, lane, positions.min(count - wave * positions));
        range.end - range.start
    };
    (0..waves).map(served).sum()
}
