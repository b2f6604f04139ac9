//! From work to the engine's schedule: every stream on its units, in the order of the program, as early as units, operands and room allow.
//!
//! A change of modulus is a pipeline of units that hand tiles on through registers: inverse transform, array, transform, and for a division the
//! Hadamard unit, which start together. Whatever else is read lies in the scratchpads whole before it is: the key generator gives the tiles of a
//! limb in an order of its own, and an inner product takes its operands in that order.
//!
//! Memory brings what is read next as soon as the channel and a place are free, in the order of first use. Each limb of a polynomial has a place
//! of its own. What lies off chip too gives its place up where room is short, that which is needed last first; what was computed stays until
//! its last reader.

use super::machine::Osiris;
use super::mod_change::ModChangeUnits;
use super::tasks::{Leaf, MapError, Residue, Task, Tasks, Work};
use super::units::base_conversion::HeightError;
use super::units::{BaseConversionArray, HadamardUnit, NttUnit};
use crate::engine::schedule::{
    Access, ClassId, Event, KindId, MemoryId, MemoryKind, OpRef, Order, Place, Resource, Schedule, ScheduleBuilder,
    Traffic, Value, WaitCategory,
};
use polyfabric_program::rns::kernel::KernelProgram;
use std::collections::{HashMap, VecDeque};

/// What the names in a schedule stand for.
#[derive(Clone, Debug, PartialEq)]
pub struct Chip {
    /// The NTT unit at the beginning of a change of modulus, and the one at its end.
    pub ntt: [Resource; 2],
    /// The array.
    pub array: Resource,
    /// Hadamard units, the first behind the second NTT unit.
    pub hadamard: Vec<Resource>,
    /// Key generators of each Hadamard unit, one a cell.
    pub generators: Vec<Vec<Resource>>,
    /// The automorphism unit.
    pub automorphism: Resource,
    /// Off-chip memory.
    pub channel: Resource,
    /// The scratchpads.
    pub scratchpad: MemoryId,
    off_chip: MemoryId,
    /// From the first NTT unit to the array, on to the second, on to the Hadamard unit.
    pub wires: [MemoryId; 3],
    /// From each generator.
    pub mask_wires: Vec<Vec<MemoryId>>,
    classes: Classes,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Classes {
    input: ClassId,
    key: ClassId,
    table: ClassId,
    computed: ClassId,
    stream: ClassId,
}

/// A program on the machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Scheduled {
    /// The schedule.
    pub schedule: Schedule,
    /// What its names stand for; an event's `body_op` is the number of its task.
    pub chip: Chip,
    /// The work.
    pub tasks: Tasks,
    /// Ring and units.
    pub units: ModChangeUnits,
}

/// When something may happen, in cycles.
type Cycle = i64;

/// A place for a limb.
#[derive(Clone, Copy, Debug)]
struct Frame {
    /// From when on it may be written; `None` while it holds something.
    free: Option<Cycle>,
}

/// A limb on its way through the program.
#[derive(Clone, Debug, Default)]
struct State {
    frame: Option<usize>,
    /// First cycle in which it may be read.
    ready: Cycle,
    last_read: Cycle,
    /// Tasks that are still to read it.
    uses: VecDeque<usize>,
    output: bool,
}

struct Scheduler<'a> {
    machine: &'a Osiris,
    program: &'a KernelProgram,
    units: ModChangeUnits,
    tasks: &'a Tasks,
    chip: Chip,
    builder: ScheduleBuilder,
    kinds: HashMap<String, KindId>,
    /// By resource: from when on it may begin, and give its first result.
    free: Vec<(Cycle, Cycle)>,
    frames: Vec<Frame>,
    frame_bytes: u64,
    states: Vec<State>,
    /// Task at hand.
    task: usize,
    /// Streams so far: each wire's values have their own numbers.
    streams: u32,
}

/// `program` on `machine`.
///
/// # Errors
/// [`MapError`] if the program does not fit.
pub fn schedule(machine: &Osiris, program: &KernelProgram) -> Result<Scheduled, MapError> {
    let units = machine.units(program.degree)?;
    for (limb, modulus) in program.moduli.iter().enumerate() {
        if u64::from(modulus.bits()) > machine.word_bits {
            let (modulus, bits) = (modulus.value(), modulus.bits());
            return Err(MapError::Word { limb, modulus, bits, word_bits: machine.word_bits });
        }
    }
    let tasks = Tasks::of(program)?;
    let mut builder = ScheduleBuilder::new();
    let chip = declare(&mut builder, machine);
    let mut states = vec![State::default(); tasks.leaves.len()];
    for (number, task) in tasks.tasks.iter().enumerate() {
        task.work.operands().into_iter().for_each(|operand| states[operand.0 as usize].uses.push_back(number));
    }
    tasks.outputs.iter().flatten().for_each(|(_, residue)| states[residue.0 as usize].output = true);
    let frame_bytes = machine.limb_bytes(program.degree);
    let mut scheduler = Scheduler {
        machine,
        program,
        units,
        free: vec![(0, 0); builder.resources().len()],
        frames: vec![Frame { free: Some(0) }; (machine.scratchpad / frame_bytes) as usize],
        frame_bytes,
        states,
        kinds: HashMap::new(),
        tasks: &tasks,
        chip,
        builder,
        task: 0,
        streams: 0,
    };
    for (number, task) in tasks.tasks.iter().enumerate() {
        scheduler.task = number;
        scheduler.task(task)?;
    }
    scheduler.store()?;
    let Scheduler { builder, chip, .. } = scheduler;
    Ok(Scheduled { schedule: builder.finish(), chip, tasks, units })
}

/// Units, channels, memories and classes.
fn declare(builder: &mut ScheduleBuilder, machine: &Osiris) -> Chip {
    let mut unit = |name: String, class: &str| builder.unit(name, class, WaitCategory::Pipeline);
    let ntt = [0, 1].map(|number| unit(format!("ntt{number}"), "ntt"));
    let array = unit("base_conversion".to_owned(), "base_conversion");
    let hadamard = (0..machine.hadamard_units).map(|number| unit(format!("hadamard{number}"), "hadamard")).collect();
    let generators = (0..machine.hadamard_units)
        .map(|side| {
            let cells = 0..machine.hadamard_height;
            cells.map(|cell| unit(format!("hadamard{side}.generator{cell}"), "key_generator")).collect()
        })
        .collect();
    let automorphism = unit("automorphism".to_owned(), "automorphism");
    let channel = builder.channel("hbm", "hbm", machine.memory_bytes);
    let tile = machine.tile_bytes();
    let scratchpad = MemoryKind::OnChip {
        capacity: machine.scratchpad,
        banks: 1,
        read_bytes_per_cycle: tile * machine.port_tiles.0 as f64,
        write_bytes_per_cycle: tile * machine.port_tiles.1 as f64,
    };
    let scratchpad = builder.memory("scratchpad", scratchpad);
    let off_chip = builder.memory("hbm", MemoryKind::OffChip);
    let mut wire = |name: String| builder.memory(name, MemoryKind::Wire { bytes_per_cycle: tile, delay: 1 });
    let wires = ["coefficients", "converted", "remainders"].map(|name| wire(name.to_owned()));
    let mask_wires = (0..machine.hadamard_units)
        .map(|side| (0..machine.hadamard_height).map(|cell| wire(format!("masks{side}.{cell}"))).collect())
        .collect();
    let classes = Classes {
        input: builder.value_class("input", Traffic::Ciphertexts, true),
        key: builder.value_class("switching key", Traffic::KeySwitchKey, true),
        table: builder.value_class("public polynomial", Traffic::Tables, true),
        computed: builder.value_class("polynomial", Traffic::Ciphertexts, false),
        stream: builder.value_class("stream", Traffic::Ciphertexts, false),
    };
    Chip { ntt, array, hadamard, generators, automorphism, channel, scratchpad, off_chip, wires, mask_wires, classes }
}

/// One unit's part in a pipeline.
struct Part {
    resource: Resource,
    kind: KindId,
    /// Cycles after the pipeline's start.
    offset: Cycle,
    latency: Cycle,
    work: u64,
    reads: Vec<Access>,
    writes: Vec<Access>,
}

impl Scheduler<'_> {
    fn kind(&mut self, name: String, class: &str, latency: u64) -> KindId {
        if let Some(&kind) = self.kinds.get(&name) {
            return kind;
        }
        let kind = self.builder.kind(name.clone(), class, self.machine.lanes as f64, latency);
        self.kinds.insert(name, kind);
        kind
    }

    fn value(&self, residue: Residue) -> Value {
        let classes = self.chip.classes;
        let class = match self.tasks.leaves[residue.0 as usize] {
            Some(Leaf::Input { .. }) => classes.input,
            Some(Leaf::Plaintext { .. }) => classes.table,
            Some(Leaf::Body { .. }) => classes.key,
            None => classes.computed,
        };
        Value { class, ciphertext: Value::NONE, iteration: Value::NONE, index: residue.0 }
    }

    /// A place in memory `memory` for `bytes`, from cycle `first` to cycle `last` of an event.
    fn access(&self, memory: MemoryId, (offset, bytes): (u64, u64), value: Value, span: (Cycle, Cycle)) -> Access {
        let order = Order::Any;
        let place = Place { memory, offset, bytes };
        Access { place, value, first: span.0 as u32, last: span.1 as u32, order, bytes }
    }

    /// A limb in the scratchpads.
    fn in_frame(&self, residue: Residue, span: (Cycle, Cycle)) -> Access {
        let frame = self.states[residue.0 as usize].frame.unwrap_or(0) as u64;
        let place = (frame * self.frame_bytes, self.frame_bytes);
        self.access(self.chip.scratchpad, place, self.value(residue), span)
    }

    /// A limb off chip.
    fn in_memory(&self, residue: Residue, span: (Cycle, Cycle)) -> Access {
        self.access(self.chip.off_chip, (0, self.frame_bytes), self.value(residue), span)
    }

    /// A stream of `limbs` limbs on a wire.
    fn on_wire(&mut self, memory: MemoryId, limbs: usize, first: Cycle, cycles: Cycle) -> Access {
        let value = Value {
            class: self.chip.classes.stream,
            ciphertext: Value::NONE,
            iteration: Value::NONE,
            index: self.streams,
        };
        let bytes = limbs as u64 * self.frame_bytes;
        let access = self.access(memory, (0, bytes), value, (first, first + cycles - 1));
        Access { order: Order::Stream, ..access }
    }

    fn full(&self) -> MapError {
        let op = self.tasks.tasks.get(self.task).map_or(0, |task| task.op);
        MapError::Capacity { op, frames: self.frames.len(), bytes: self.frame_bytes }
    }

    /// A place for `residue`, and from when on it may be written. `pinned` stay where they are.
    fn place(&mut self, residue: Residue, pinned: &[Residue]) -> Result<Cycle, MapError> {
        let free = self.frames.iter().enumerate().filter_map(|(index, frame)| Some((frame.free?, index)));
        let (free, index) = match free.min() {
            Some(found) => found,
            None => self.evict(pinned)?,
        };
        self.frames[index].free = None;
        self.states[residue.0 as usize].frame = Some(index);
        Ok(free)
    }

    /// Gives up the place of what lies off chip too and is needed last.
    fn evict(&mut self, pinned: &[Residue]) -> Result<(Cycle, usize), MapError> {
        let clean = |&(index, state): &(usize, &State)| {
            state.frame.is_some() && self.tasks.leaves[index].is_some() && !pinned.contains(&Residue(index as u32))
        };
        let next = |state: &State| state.uses.front().copied().unwrap_or(usize::MAX);
        let candidates = self.states.iter().enumerate().filter(clean);
        let victim = candidates.max_by_key(|(_, state)| next(state)).map(|(index, _)| index);
        let found = victim.and_then(|victim| {
            let state = &mut self.states[victim];
            Some((state.last_read.max(state.ready), state.frame.take()?))
        });
        found.ok_or_else(|| self.full())
    }

    /// Brings what does not lie in the scratchpads.
    fn fetch(&mut self, residue: Residue, pinned: &[Residue]) -> Result<(), MapError> {
        if self.states[residue.0 as usize].frame.is_some() {
            return Ok(());
        }
        let free = self.place(residue, pinned)?;
        let latency = self.machine.memory_latency as Cycle;
        let kind = self.kind("load".to_owned(), "hbm", self.machine.memory_latency);
        let cycles = self.transfer_cycles(kind);
        let start = self.free[self.chip.channel.0 as usize].0.max(free - latency);
        let reads = vec![self.in_memory(residue, (0, cycles - 1))];
        let writes = vec![self.in_frame(residue, (latency, latency + cycles - 1))];
        let op = self.tasks.tasks.get(self.task).map_or(0, |task| task.op);
        self.event(self.chip.channel, kind, op, (start, cycles), self.frame_bytes, reads, writes);
        self.free[self.chip.channel.0 as usize].0 = start + cycles;
        let state = &mut self.states[residue.0 as usize];
        state.ready = start + latency + cycles;
        state.last_read = state.ready;
        Ok(())
    }

    fn transfer_cycles(&self, kind: KindId) -> Cycle {
        self.builder.resources().cycles(self.chip.channel, kind, self.frame_bytes) as Cycle
    }

    #[expect(clippy::too_many_arguments, reason = "an event is so many things")]
    fn event(
        &mut self,
        resource: Resource,
        kind: KindId,
        kernel_op: u32,
        (start, cycles): (Cycle, Cycle),
        work: u64,
        reads: Vec<Access>,
        writes: Vec<Access>,
    ) {
        let body_op = if resource == self.chip.channel { Value::NONE } else { self.task as u32 };
        let op = OpRef { kind, kernel_op, body_op, ciphertext: Value::NONE, iteration: Value::NONE };
        self.builder.event(Event { resource, start, occupancy: cycles as u32, work, parts: 1, op, reads, writes });
    }

    /// The task that is at hand has read `operands`, the last word in cycle `last`.
    fn have_read(&mut self, operands: &[Residue], last: Cycle) {
        for operand in operands {
            let state = &mut self.states[operand.0 as usize];
            state.last_read = state.last_read.max(last);
            while state.uses.front().is_some_and(|&task| task <= self.task) {
                state.uses.pop_front();
            }
            if state.uses.is_empty() && !state.output {
                let (frame, free) = (state.frame.take(), state.last_read);
                frame.into_iter().for_each(|frame| self.frames[frame].free = Some(free));
            }
        }
    }

    /// What a task gives: a place, and the first cycle in which all places may be written.
    fn results(&mut self, results: &[Residue], pinned: &[Residue]) -> Result<Cycle, MapError> {
        let mut free = 0;
        for &result in results {
            free = free.max(self.place(result, pinned)?);
        }
        Ok(free)
    }

    /// Results that nobody reads give their places up.
    fn have_written(&mut self, results: &[Residue], ready: Cycle) {
        for result in results {
            let state = &mut self.states[result.0 as usize];
            (state.ready, state.last_read) = (ready, ready);
        }
        self.have_read(
            &results.iter().copied().filter(|r| self.states[r.0 as usize].uses.is_empty()).collect::<Vec<_>>(),
            ready,
        );
    }

    /// First cycle in which all of `operands` may be read.
    fn ready(&self, operands: &[Residue]) -> Cycle {
        operands.iter().map(|operand| self.states[operand.0 as usize].ready).max().unwrap_or(0)
    }

    /// The first start of a pipeline at `earliest` or later that finds all units free, and results that leave behind the last ones.
    fn start(&self, parts: &[Part], earliest: Cycle) -> Cycle {
        let bound = |part: &Part| {
            let (free, out) = self.free[part.resource.0 as usize];
            (free - part.offset).max(out - part.offset - part.latency)
        };
        parts.iter().map(bound).fold(earliest, Cycle::max)
    }

    /// The events of a pipeline whose streams take `cycles`.
    fn emit(&mut self, op: u32, start: Cycle, cycles: Cycle, parts: Vec<Part>) {
        for Part { resource, kind, offset, latency, work, reads, writes } in parts {
            self.event(resource, kind, op, (start + offset, cycles), work, reads, writes);
            let begin = start + offset + cycles;
            self.free[resource.0 as usize] = (begin, begin + latency);
        }
    }

    fn task(&mut self, task: &Task) -> Result<(), MapError> {
        let operands = task.work.operands();
        for &operand in &operands {
            self.fetch(operand, &operands)?;
        }
        match &task.work {
            Work::ModChange { sources, targets, division, results, .. } => {
                let sources: Vec<Residue> = sources.iter().map(|&(_, residue)| residue).collect();
                self.mod_change(task.op, &sources, targets.len(), division.as_deref(), results)
            }
            Work::KeyProduct { terms, results, .. } => self.key_product(task.op, terms, results),
            Work::Pointwise { operands, result, .. } => {
                let latency = HadamardUnit::diagonal_latency(self.units.depth);
                let kind = self.kind("pointwise".to_owned(), "hadamard", latency);
                let freest = self.chip.hadamard.iter().min_by_key(|unit| self.free[unit.0 as usize].0);
                let unit = freest.copied().unwrap_or(self.chip.hadamard[0]);
                self.limb(task.op, (unit, kind, latency), operands, *result)
            }
            Work::Automorphism { operand, result, .. } => {
                let latency = self.machine.automorphism_latency(self.units.shape);
                let kind = self.kind("automorphism".to_owned(), "automorphism", latency);
                self.limb(task.op, (self.chip.automorphism, kind, latency), &[*operand], *result)
            }
        }
    }

    /// A stream of one limb through one unit.
    fn limb(
        &mut self,
        op: u32,
        (resource, kind, latency): (Resource, KindId, u64),
        operands: &[Residue],
        result: Residue,
    ) -> Result<(), MapError> {
        let (cycles, latency) = (self.units.shape.tiles() as Cycle, latency as Cycle);
        let free = self.results(&[result], operands)?;
        let reads = operands.iter().map(|&operand| self.in_frame(operand, (0, cycles - 1))).collect();
        let writes = vec![self.in_frame(result, (latency, latency + cycles - 1))];
        let work = self.program.degree.get() as u64;
        let parts = vec![Part { resource, kind, offset: 0, latency, work, reads, writes }];
        let start = self.start(&parts, self.ready(operands).max(free - latency).max(0));
        self.emit(op, start, cycles, parts);
        self.have_read(operands, start + cycles - 1);
        self.have_written(&[result], start + latency + cycles);
        Ok(())
    }

    /// A change of modulus, with the division behind it if there is one.
    fn mod_change(
        &mut self,
        op: u32,
        sources: &[Residue],
        targets: usize,
        kept: Option<&[Residue]>,
        results: &[Residue],
    ) -> Result<(), MapError> {
        let ModChangeUnits { shape, height, depth } = self.units;
        let (alpha, slots) = (sources.len(), sources.len().max(targets));
        if alpha > height {
            return Err(MapError::Height { op, cause: HeightError { sources: alpha, height } });
        }
        if slots > self.machine.limbs {
            return Err(MapError::Interleaved { op, limbs: slots, most: self.machine.limbs });
        }
        let operands: Vec<Residue> = sources.iter().chain(kept.into_iter().flatten()).copied().collect();
        let free = self.results(results, &operands)?;
        let cycles = (slots * shape.tiles()) as Cycle;
        let limb = self.program.degree.get() as u64;
        let transform = NttUnit::latency(shape, slots, depth);
        let conversion = BaseConversionArray::latency(height, shape.lanes(), alpha, depth);
        let kinds = [
            self.kind(format!("inverse transform, {slots} limbs interleaved"), "ntt", transform),
            self.kind(format!("base conversion, {alpha} source limbs"), "base_conversion", conversion),
            self.kind(format!("transform, {slots} limbs interleaved"), "ntt", transform),
        ];
        let units = [self.chip.ntt[0], self.chip.array, self.chip.ntt[1]];
        let works = [alpha as u64 * limb, targets as u64 * limb, targets as u64 * limb];
        let mut reads: Vec<Access> = sources.iter().map(|&source| self.in_frame(source, (0, cycles - 1))).collect();
        let (mut parts, mut offset) = (Vec::new(), 0);
        for (stage, latency) in
            [transform, conversion, transform].into_iter().map(|latency| latency as Cycle).enumerate()
        {
            let last = stage == 2 && kept.is_none();
            let (writes, next) = if last {
                let span = (latency, latency + cycles - 1);
                (results.iter().map(|&result| self.in_frame(result, span)).collect(), Vec::new())
            } else {
                self.streams += 1;
                let limbs = if stage == 0 { alpha } else { targets };
                let write = self.on_wire(self.chip.wires[stage], limbs, latency, cycles);
                (vec![write], vec![self.on_wire(self.chip.wires[stage], limbs, 0, cycles)])
            };
            let (resource, kind, work) = (units[stage], kinds[stage], works[stage]);
            let reads = std::mem::replace(&mut reads, next);
            parts.push(Part { resource, kind, offset, latency, work, reads, writes });
            offset += latency + 1;
        }
        let mut earliest = self.ready(sources);
        if let Some(kept) = kept {
            let latency = HadamardUnit::key_latency(self.machine.hadamard_height, depth);
            let kind = self.kind("division".to_owned(), "hadamard", latency);
            let latency = latency as Cycle;
            reads.extend(kept.iter().map(|&kept| self.in_frame(kept, (0, cycles - 1))));
            let span = (latency, latency + cycles - 1);
            let writes = results.iter().map(|&result| self.in_frame(result, span)).collect();
            let (resource, work) = (self.chip.hadamard[0], targets as u64 * limb);
            parts.push(Part { resource, kind, offset, latency, work, reads, writes });
            earliest = earliest.max(self.ready(kept) - offset);
        }
        let (end, latency) = parts.last().map_or((0, 0), |part| (part.offset, part.latency));
        let start = self.start(&parts, earliest.max(free - end - latency).max(0));
        self.emit(op, start, cycles, parts);
        self.have_read(sources, start + cycles - 1);
        self.have_read(kept.unwrap_or(&[]), start + end + cycles - 1);
        self.have_written(results, start + end + latency + cycles);
        Ok(())
    }

    /// An inner product of one limb with rows of a key.
    fn key_product(
        &mut self,
        op: u32,
        terms: &[(u16, Residue, Residue)],
        results: &[Residue; 2],
    ) -> Result<(), MapError> {
        let height = self.machine.hadamard_height;
        if terms.len() > height {
            return Err(MapError::Digits { op, digits: terms.len(), height });
        }
        let operands: Vec<Residue> = terms.iter().flat_map(|&(_, digit, body)| [digit, body]).collect();
        let free = self.results(results, &operands)?;
        let cycles = self.units.shape.tiles() as Cycle;
        let work = self.program.degree.get() as u64;
        let latency = HadamardUnit::key_latency(height, self.units.depth);
        let kind = self.kind("inner product".to_owned(), "hadamard", latency);
        let generate = self.kind("masks".to_owned(), "key_generator", self.machine.generator_latency);
        let (latency, ahead) = (latency as Cycle, self.machine.generator_latency as Cycle);
        let sides = 0..self.chip.hadamard.len();
        let side = sides.min_by_key(|&side| self.free[self.chip.hadamard[side].0 as usize].0).unwrap_or(0);
        let mut reads: Vec<Access> = operands.iter().map(|&operand| self.in_frame(operand, (0, cycles - 1))).collect();
        let mut parts = Vec::new();
        for cell in 0..terms.len() {
            self.streams += 1;
            let wire = self.chip.mask_wires[side][cell];
            let writes = vec![self.on_wire(wire, 1, ahead, cycles)];
            reads.push(self.on_wire(wire, 1, 0, cycles));
            let resource = self.chip.generators[side][cell];
            parts.push(Part { resource, kind: generate, offset: 0, latency: ahead, work, reads: Vec::new(), writes });
        }
        let writes = results.iter().map(|&result| self.in_frame(result, (latency, latency + cycles - 1))).collect();
        let (resource, offset) = (self.chip.hadamard[side], ahead + 1);
        parts.push(Part { resource, kind, offset, latency, work, reads, writes });
        let earliest = (self.ready(&operands) - offset).max(free - offset - latency).max(0);
        let start = self.start(&parts, earliest);
        self.emit(op, start, cycles, parts);
        self.have_read(&operands, start + offset + cycles - 1);
        self.have_written(results, start + offset + latency + cycles);
        Ok(())
    }

    /// Every output to memory, in the order in which they are there.
    fn store(&mut self) -> Result<(), MapError> {
        let mut outputs: Vec<Residue> = self.tasks.outputs.iter().flatten().map(|&(_, residue)| residue).collect();
        outputs.sort_unstable();
        outputs.dedup();
        for &output in &outputs {
            self.fetch(output, &outputs)?;
        }
        outputs.sort_by_key(|output| self.states[output.0 as usize].ready);
        let kind = self.kind("store".to_owned(), "hbm", 0);
        let cycles = self.transfer_cycles(kind);
        for output in outputs {
            let start = self.free[self.chip.channel.0 as usize].0.max(self.states[output.0 as usize].ready);
            let reads = vec![self.in_frame(output, (0, cycles - 1))];
            let writes = vec![self.in_memory(output, (0, cycles - 1))];
            let op = self.program.ops.len() as u32;
            self.event(self.chip.channel, kind, op, (start, cycles), self.frame_bytes, reads, writes);
            self.free[self.chip.channel.0 as usize].0 = start + cycles;
        }
        Ok(())
    }
}
