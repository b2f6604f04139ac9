//! The units of one task: which streams pass which units at which cycles, relative to the task's start.
//!
//! With S interleaved limbs, the tiles of one limb are S cycles apart, starting in the cycle of the limb's
//! position. The key generator produces the tiles of a limb in its own order, and an inner product reads its
//! operands in that order. An automorphism writes tiles in an order that differs from its input's. Operands
//! that are read in such an order must be complete first. All other operands stream: a tile is read as soon as
//! it has been written.

use super::chip::Chip;
use super::machine::Osiris;
use super::tasks::{Extended, Half, Kernel, MapError, Residue, Task, read_with_places};
use super::units::{BaseConversionArray, HadamardUnit, LimbExtension, ModChangeUnits, NttUnit};
use polyfabric_kernels::cancel;
use polyfabric_schemes::rns::LimbId;
use polyfabric_sim::schedule::{KindId, MemoryId, Mode, Order, Resource};

/// A point in time or a duration in cycles.
pub type Cycle = i64;

/// A limb that a segment reads from or writes to the scratchpads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tap {
    pub residue: Residue,
    /// Cycle of the first tile, relative to the segment's start.
    pub first: Cycle,
    /// Cycle of the last tile.
    pub last: Cycle,
    pub order: Order,
}

/// An operand or a result of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Port {
    /// A limb in the scratchpads.
    Place(Tap),
    /// A wire, by its index in the layout.
    Wire(usize),
}

impl Port {
    /// The limb in the scratchpads, if it is one.
    fn place(&self) -> Option<Tap> {
        match self {
            Self::Place(tap) => Some(*tap),
            Self::Wire(_) => None,
        }
    }
}

/// Availability of a unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Free {
    /// First cycle in which it can accept input.
    pub input: Cycle,
    /// First cycle in which it can produce a result, after all previous ones have left.
    pub output: Cycle,
    /// Its mode; `None` initially, when any mode is possible.
    pub mode: Option<Mode>,
}

impl Free {
    /// The first start of an operation with `latency` in `mode`. An NTT unit must be empty before it changes
    /// its mode.
    pub fn begin(&self, mode: Option<Mode>, latency: Cycle) -> Cycle {
        let changes = self.mode.is_some() && self.mode != mode;
        self.input.max(if changes { self.output } else { self.output - latency })
    }
}

/// The part of a task on one unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Segment {
    pub resource: Resource,
    pub kind: KindId,
    pub mode: Option<Mode>,
    /// Cycles after the task's start; negative for masks, which are generated ahead.
    pub offset: Cycle,
    /// Cycles from the first tile in to the first tile out.
    pub latency: Cycle,
    /// Cycles until the unit is free.
    pub cycles: Cycle,
    /// Number of elements.
    pub work: u64,
    /// In order.
    pub reads: Vec<Port>,
    /// In order.
    pub writes: Vec<Port>,
    /// The cell of a key generator, or the index of a limb if limbs pass in sequence.
    pub part: Option<usize>,
}

/// A stream between two units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    pub memory: MemoryId,
    /// Number of limbs.
    pub limbs: usize,
    /// Duration.
    pub cycles: Cycle,
}

/// A unit with the kind of its operation, and the cycles from its first tile in to the first one out.
#[derive(Clone, Copy)]
struct Unit {
    resource: Resource,
    kind: KindId,
    latency: Cycle,
}

/// One alternative to execute a task.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layout {
    /// In stream order.
    pub segments: Vec<Segment>,
    pub links: Vec<Link>,
}

impl Layout {
    fn of(segment: Segment) -> Self {
        Self { segments: vec![segment], links: Vec::new() }
    }

    /// Cycles from the task's start to the first tile out of its last unit, and that unit's duration.
    pub fn span(&self) -> (Cycle, Cycle) {
        self.segments.last().map_or((0, 0), |last| (last.offset + last.latency, last.cycles))
    }

    /// The first cycle in which `free` units, by index, allow the task to start.
    pub fn units(&self, free: &[Free]) -> Cycle {
        self.segments.iter().fold(0, |start, segment| {
            let free = free[segment.resource.0 as usize];
            start.max(free.begin(segment.mode, segment.latency) - segment.offset)
        })
    }

    /// Results that can overwrite an operand, each with that operand, among operands that `free` selects. A unit
    /// reads and writes both in stream order, so it writes each tile to a place that it read one latency before.
    pub fn in_place(&self, free: impl Fn(Residue) -> bool) -> Vec<(Residue, Residue)> {
        let mut pairs: Vec<(Residue, Residue)> = Vec::new();
        for segment in &self.segments {
            for write in segment.writes.iter().filter_map(Port::place) {
                let overwritten = |read: &Tap| {
                    [read.order, write.order] == [Order::Stream; 2]
                        && read.first + segment.latency == write.first
                        && !pairs.iter().any(|&(_, taken)| taken == read.residue)
                        && free(read.residue)
                };
                let found = segment.reads.iter().filter_map(Port::place).find(overwritten);
                pairs.extend(found.map(|read| (write.residue, read.residue)));
            }
        }
        pairs
    }

    /// A stream on `memory` from a segment to a later one.
    fn link(&mut self, memory: MemoryId, limbs: usize, cycles: Cycle) -> Port {
        self.links.push(Link { memory, limbs, cycles });
        Port::Wire(self.links.len() - 1)
    }
}

/// Computes layouts for a machine.
#[derive(Clone, Copy)]
pub struct Planner<'a> {
    pub machine: &'a Osiris,
    /// The machine's units on the program's ring.
    pub units: ModChangeUnits,
    pub chip: &'a Chip,
}

impl Planner<'_> {
    fn tiles(&self) -> Cycle {
        self.units.shape.tiles() as Cycle
    }

    fn limb_words(&self) -> u64 {
        self.units.shape.degree().get() as u64
    }

    /// The read of a limb at position `place` of interleaved limbs whose tiles are `spacing` cycles apart.
    fn read(&self, residue: Residue, place: usize, spacing: usize) -> Port {
        let first = place as Cycle;
        let last = first + (self.tiles() - 1) * spacing as Cycle;
        Port::Place(Tap { residue, first, last, order: Order::Stream })
    }

    /// The write of such a limb. All interleaved limbs count as complete with the last one.
    fn write(&self, residue: Residue, place: usize, spacing: usize, latency: Cycle) -> Port {
        let (first, last) = (latency + place as Cycle, latency + self.tiles() * spacing as Cycle - 1);
        Port::Place(Tap { residue, first, last, order: Order::Stream })
    }

    /// A limb in a unit-specific order of tiles.
    fn whole(&self, residue: Residue, latency: Cycle) -> Port {
        Port::Place(Tap { residue, first: latency, last: latency + self.tiles() - 1, order: Order::Any })
    }

    /// All alternatives to execute `task`.
    pub fn layouts(&self, task: &Task) -> Result<Vec<Layout>, MapError> {
        cancel::check();
        self.machine.holds(task)?;
        // Any other kernel is on the units of a group, named by its first Hadamard unit.
        let units = if task.kernel.on_a_hadamard_unit() { 1 } else { self.machine.hadamard_units };
        let sides = (0..self.chip.keys.len()).step_by(units);
        let way = |side| match task.kernel.in_turn(self.machine.tiling) {
            None => self.way(task.op, &task.kernel, side),
            Some(limbs) => {
                let of_limb = |limb| self.way(task.op, &task.kernel.part(limb), side);
                Ok(self.one_after_the_other((0..limbs).map(of_limb).collect::<Result<_, _>>()?))
            }
        };
        sides.map(way).collect()
    }

    /// The layout of `kernel` for operation `op`; `side` selects the Hadamard unit, and so the group.
    fn way(&self, op: u32, kernel: &Kernel, side: usize) -> Result<Layout, MapError> {
        Ok(match kernel {
            Kernel::ModChange { sources, targets, division, results, .. } => {
                return self.mod_change((op, side), sources, targets, division.as_deref(), results);
            }
            Kernel::Inverse { sources, results } => {
                self.through(self.inverse(side, sources.len()), sources, results, sources.len())
            }
            Kernel::Convert { sources, results, .. } => {
                let spacing = sources.len().max(results.len());
                self.through(self.conversion(side, sources.len()), sources, results, spacing)
            }
            Kernel::Forward { targets, division, results } => {
                self.forward(side, targets, division.as_ref().map(|(kept, _)| &**kept), results)
            }
            Kernel::KeyProduct { terms, results, .. } => self.key_product(side, terms, results),
            Kernel::Pointwise { limbs, diagonal, halves, .. } => self.pointwise(side, limbs.len(), *diagonal, halves),
            Kernel::Automorphism { operand, result, .. } => self.automorphism(side, *operand, *result),
        })
    }

    /// The reads of `residues`, interleaved.
    fn reads(&self, residues: impl IntoIterator<Item = Residue>, spacing: usize) -> Vec<Port> {
        (0..).zip(residues).map(|(place, residue)| self.read(residue, place, spacing)).collect()
    }

    /// The writes of `results`, interleaved.
    fn writes(&self, results: &[Residue], spacing: usize, latency: Cycle) -> Vec<Port> {
        (0..).zip(results).map(|(place, &residue)| self.write(residue, place, spacing, latency)).collect()
    }

    /// `limbs` limbs through a unit from the task's start on, with tiles of a limb `spacing` cycles apart.
    fn segment(
        &self,
        Unit { resource, kind, latency }: Unit,
        (limbs, spacing): (usize, usize),
        reads: Vec<Port>,
        writes: Vec<Port>,
    ) -> Segment {
        let (mode, cycles) = (self.chip.kinds.mode(kind), self.tiles() * spacing as Cycle);
        let work = limbs as u64 * self.limb_words();
        Segment { resource, kind, mode, offset: 0, latency, cycles, work, reads, writes, part: None }
    }

    /// The group of a Hadamard unit.
    fn group(&self, side: usize) -> usize {
        side / self.machine.hadamard_units
    }

    fn inverse(&self, side: usize, spacing: usize) -> Unit {
        let latency = NttUnit::latency(self.units.shape, spacing, self.units.depth) as Cycle;
        Unit { resource: self.chip.ntt[self.group(side)][0], kind: self.chip.kinds.inverse(spacing), latency }
    }

    fn conversion(&self, side: usize, alpha: usize) -> Unit {
        let ModChangeUnits { shape, height, depth } = self.units;
        let latency = BaseConversionArray::latency(height, shape.lanes(), alpha, depth) as Cycle;
        Unit { resource: self.chip.array[self.group(side)], kind: self.chip.kinds.conversion(alpha), latency }
    }

    fn transform(&self, side: usize, spacing: usize) -> Unit {
        let latency = NttUnit::latency(self.units.shape, spacing, self.units.depth) as Cycle;
        Unit { resource: self.chip.ntt[self.group(side)][1], kind: self.chip.kinds.transform(spacing), latency }
    }

    /// One limb through the automorphism unit.
    fn automorphism(&self, side: usize, operand: Residue, result: Residue) -> Layout {
        let latency = self.machine.automorphism_latency(self.units.shape) as Cycle;
        let resource = self.chip.automorphism[self.group(side)];
        let unit = Unit { resource, kind: self.chip.kinds.automorphism, latency };
        let (reads, writes) = (vec![self.read(operand, 0, 1)], vec![self.whole(result, latency)]);
        Layout::of(self.segment(unit, (1, 1), reads, writes))
    }

    /// A change of modulus, and the division that may follow it.
    fn mod_change(
        &self,
        (op, side): (u32, usize),
        sources: &[(LimbId, Residue)],
        targets: &[LimbId],
        division: Option<&[Residue]>,
        results: &[Residue],
    ) -> Result<Layout, MapError> {
        let (alpha, beta) = (sources.len(), targets.len());
        let spacing = alpha.max(beta);
        // Targets are split into streams that fit; sources are not.
        if spacing > self.machine.limbs {
            return Err(MapError::Interleaved { op, limbs: spacing, most: self.machine.limbs });
        }
        let mut layout = Layout::default();
        let units = [self.inverse(side, spacing), self.conversion(side, alpha), self.transform(side, spacing)];
        let stages = units.into_iter().zip([alpha, beta, beta]);
        let (mut reads, mut offset) = (self.reads(sources.iter().map(|&(_, residue)| residue), spacing), 0);
        for (stage, (unit, limbs)) in stages.enumerate() {
            let (writes, next) = if stage == 2 && division.is_none() {
                (self.writes(results, spacing, unit.latency), Vec::new())
            } else {
                let wire =
                    layout.link(self.chip.wires[self.group(side)][stage], limbs, self.tiles() * spacing as Cycle);
                (vec![wire], vec![wire])
            };
            let reads = std::mem::replace(&mut reads, next);
            layout.segments.push(Segment { offset, ..self.segment(unit, (limbs, spacing), reads, writes) });
            offset += unit.latency + 1;
        }
        if let Some(kept) = division {
            layout.segments.push(self.division(side, kept, results, spacing, (offset, reads)));
        }
        Ok(layout)
    }

    /// (kept − remainders) / (product of the dropped limbs); `reads` are the remainders.
    fn division(
        &self,
        side: usize,
        kept: &[Residue],
        results: &[Residue],
        spacing: usize,
        (offset, mut reads): (Cycle, Vec<Port>),
    ) -> Segment {
        let latency = HadamardUnit::key_latency(self.machine.hadamard_height, self.units.depth) as Cycle;
        let unit = Unit { resource: self.chip.keys[side], kind: self.chip.kinds.division, latency };
        reads.extend(self.reads(kept.iter().copied(), spacing));
        let writes = self.writes(results, spacing, latency);
        Segment { offset, ..self.segment(unit, (kept.len(), spacing), reads, writes) }
    }

    /// Single limbs in sequence, each a limb's duration after the previous one.
    fn one_after_the_other(&self, limbs: Vec<Layout>) -> Layout {
        let mut whole = Layout::default();
        for (number, one) in limbs.into_iter().enumerate() {
            let before = whole.links.len();
            let behind = |port: Port| match port {
                Port::Wire(link) => Port::Wire(before + link),
                place @ Port::Place(_) => place,
            };
            whole.links.extend(one.links);
            whole.segments.extend(one.segments.into_iter().map(|segment| Segment {
                offset: segment.offset + number as Cycle * self.tiles(),
                reads: segment.reads.into_iter().map(behind).collect(),
                writes: segment.writes.into_iter().map(behind).collect(),
                part: Some(number),
                ..segment
            }));
        }
        whole
    }

    /// Limbs from the scratchpads through one unit, with tiles of a limb `spacing` cycles apart.
    fn through(&self, unit: Unit, sources: &[(LimbId, Residue)], results: &[Residue], spacing: usize) -> Layout {
        let reads = self.reads(sources.iter().map(|&(_, residue)| residue), spacing);
        let writes = self.writes(results, spacing, unit.latency);
        Layout::of(self.segment(unit, (results.len(), spacing), reads, writes))
    }

    /// Coefficients from the scratchpads through the second NTT unit, and the division that may follow.
    fn forward(
        &self,
        side: usize,
        targets: &[(LimbId, Residue)],
        kept: Option<&[Residue]>,
        results: &[Residue],
    ) -> Layout {
        let spacing = targets.len();
        let unit = self.transform(side, spacing);
        let Some(kept) = kept else { return self.through(unit, targets, results, spacing) };
        let mut layout = Layout::default();
        let wire = layout.link(self.chip.wires[self.group(side)][2], spacing, self.tiles() * spacing as Cycle);
        let reads = self.reads(targets.iter().map(|&(_, residue)| residue), spacing);
        let behind = (unit.latency + 1, vec![wire]);
        layout.segments.push(self.segment(unit, (spacing, spacing), reads, vec![wire]));
        layout.segments.push(self.division(side, kept, results, spacing, behind));
        layout
    }

    /// An inner product of one limb with rows of a key. Masks are generated ahead; the task starts when they
    /// meet the operands from the scratchpads.
    fn key_product(&self, side: usize, terms: &[(u16, Residue, Residue)], results: &[Residue; 2]) -> Layout {
        let latency = HadamardUnit::key_latency(self.machine.hadamard_height, self.units.depth) as Cycle;
        let ahead = self.machine.generator_latency() as Cycle;
        let mut layout = Layout::default();
        let operands = terms.iter().flat_map(|&(_, digit, body)| [digit, body]);
        let mut reads: Vec<Port> = operands.map(|operand| self.whole(operand, 0)).collect();
        for cell in 0..terms.len() {
            let wire = layout.link(self.chip.mask_wires[side][cell], 1, self.tiles());
            reads.push(wire);
            let (resource, kind) = (self.chip.generators[side][cell], self.chip.kinds.masks);
            let masks = self.segment(Unit { resource, kind, latency: ahead }, (1, 1), Vec::new(), vec![wire]);
            layout.segments.push(Segment { offset: -(ahead + 1), part: Some(cell), ..masks });
        }
        let unit = Unit { resource: self.chip.keys[side], kind: self.chip.kinds.inner_product, latency };
        let writes = results.iter().map(|&result| self.whole(result, latency)).collect();
        layout.segments.push(self.segment(unit, (1, 1), reads, writes));
        layout
    }

    /// Element-wise arithmetic, after the transform of an extended diagonal, if there is one.
    fn pointwise(&self, side: usize, limbs: usize, diagonal: Option<Extended>, halves: &[Half]) -> Layout {
        let (mut layout, mut reads, mut offset) = (Layout::default(), Vec::new(), 0);
        if let Some(Extended { source, .. }) = diagonal {
            let wire = layout.link(self.chip.diagonal_wires[side], limbs, self.tiles() * limbs as Cycle);
            let transform = NttUnit::latency(self.units.shape, limbs, self.units.depth);
            let latency = (LimbExtension::latency(self.units.depth) + transform) as Cycle;
            // The first Hadamard unit of a group follows its second NTT unit.
            let number = 1 - side % self.machine.hadamard_units;
            let (resource, kind) = (self.chip.ntt[self.group(side)][number], self.chip.kinds.extension(limbs));
            let source = vec![self.read(source, 0, limbs)];
            layout.segments.push(self.segment(Unit { resource, kind, latency }, (limbs, limbs), source, vec![wire]));
            reads.push(wire);
            offset = latency + 1;
        }
        let latency = HadamardUnit::diagonal_latency(self.units.depth) as Cycle;
        // A limb keeps its position among the limbs of its polynomial.
        reads.extend(read_with_places(halves).map(|(place, residue)| self.read(residue, place, limbs)));
        let results = (0..limbs).flat_map(|limb| halves.iter().map(move |half| (limb, half.results[limb])));
        let writes = results.map(|(limb, result)| self.write(result, limb, limbs, latency)).collect();
        let kind = if halves.len() == 2 { self.chip.kinds.both } else { self.chip.kinds.pointwise };
        let unit = Unit { resource: self.chip.diagonals[side], kind, latency };
        layout.segments.push(Segment { offset, ..self.segment(unit, (limbs, limbs), reads, writes) });
        layout
    }
}
