//! Expands actions to events: the only definition of what an action occupies, reads and writes.
//!
//! A compiled program is a list of compact [`Action`]s. Each expands to events for the checker, the report, the
//! audit and the replay, in order of time:
//!
//! | action | events |
//! |---|---|
//! | load, store | the channel of a stack, between off-chip memory and a frame |
//! | fetch | a cluster's port from the scratchpad: frame to register |
//! | forward | a cluster's port from the other clusters: register to register |
//! | write-back | a register file's output to the crossbar, then the cluster's port to the scratchpad |
//! | execute | for each operand that streams, the port that it comes through, onto a wire to the unit; the unit; for a result that streams, the cluster's port to the scratchpad |
//!
//! A vector is in a crossbar for `network` cycles. Ports into a cluster are reserved from the entry into the
//! crossbar, and ports to the scratchpad from the exit. All streams of a port shift by the same cycles, so
//! conflicts are the same at both ends. The memories have the ports and accesses of banks and register files.

use super::action::{Action, Destination, Frame, Register, Source, Timed};
use super::fetch;
use super::graph::{Function, Graph, LeafClass, UnitKind};
use super::machine::{F1, Geometry, WORD_BYTES};
use polyfabric_kernels::cancel;
use polyfabric_sim;
use polyfabric_sim::calendar::Calendar;
use polyfabric_sim::checker::{Checked, Hazard, Violation};
use polyfabric_sim::list::{EventList, Instructions};
use polyfabric_sim::schedule::{
    Access, BankPort, ClassId, Event, KindId, Lines, MemoryId, MemoryKind, OpRef, Order, Place, Resource, Resources,
    ScheduleBuilder, Traffic, Value, WaitCategory,
};
use std::borrow::Cow;
use std::cell::OnceCell;
use std::ops::ControlFlow;

/// Vectors of switching keys.
pub const HINT: ClassId = ClassId(0);
/// Vectors of inputs and public polynomials.
pub const INPUT: ClassId = ClassId(1);
/// Results of instructions.
pub const RESULT: ClassId = ClassId(2);

/// Functions of the units, in the order of their operation kinds.
pub static FUNCTIONS: [(&str, UnitKind); 9] = [
    ("ntt", UnitKind::Ntt),
    ("intt", UnitKind::Ntt),
    ("aut", UnitKind::Automorphism),
    ("mul", UnitKind::Multiply),
    ("mulc", UnitKind::Multiply),
    ("add", UnitKind::Add),
    ("sub", UnitKind::Add),
    ("neg", UnitKind::Add),
    ("addc", UnitKind::Add),
];

const FETCH: KindId = KindId(FUNCTIONS.len() as u16);
const STREAM: KindId = KindId(FETCH.0 + 1);
const FORWARD: KindId = KindId(FETCH.0 + 2);
const STREAM_FORWARD: KindId = KindId(FETCH.0 + 3);
const READ_OUT: KindId = KindId(FETCH.0 + 4);
const WRITE_IN: KindId = KindId(FETCH.0 + 5);
const LOAD: KindId = KindId(FETCH.0 + 6);
const STORE: KindId = KindId(FETCH.0 + 7);

const HBM: MemoryId = MemoryId(0);
const SCRATCHPAD: MemoryId = MemoryId(1);
const REGISTERS: MemoryId = MemoryId(2);
/// The first of three wires per cluster.
const WIRES: u16 = 3;

const FROM_SCRATCHPAD: &str = "crossbars.from_scratchpad";
const TO_SCRATCHPAD: &str = "crossbars.to_scratchpad";
const BETWEEN_CLUSTERS: &str = "crossbars.between_clusters";

/// Wires of a cluster, by source.
#[derive(Clone, Copy)]
enum Wire {
    /// The scratchpad, to the units.
    Scratchpad,
    /// Other clusters, to the units.
    Clusters,
    /// Units and registers, to the scratchpad.
    Results,
}

pub fn kind_of(function: Function) -> KindId {
    let place = FUNCTIONS.iter().position(|(name, _)| *name == function.name());
    KindId(place.unwrap_or(FUNCTIONS.len()) as u16)
}

pub fn value(graph: &Graph, number: u32) -> Value {
    let class = match graph.vector(number as usize).as_leaf().map(|leaf| graph.leaves()[leaf]) {
        Some(LeafClass::Hint) => HINT,
        Some(LeafClass::Input) => INPUT,
        None => RESULT,
    };
    Value { class, ciphertext: Value::NONE, iteration: Value::NONE, index: number }
}

/// The units, ports, channels and memories of a machine for rings of one degree, from its figures only.
pub fn resources(machine: &F1, geometry: &Geometry) -> Resources {
    let mut builder = ScheduleBuilder::new();
    let vector = geometry.vector.get() as f64;
    for kind in UnitKind::ALL {
        for cluster in 0..machine.clusters {
            for unit in 0..machine.units[kind as usize] {
                let name = format!("cluster {cluster} {} {unit}", kind.name());
                builder.unit(name, kind.name(), WaitCategory::Pipeline);
            }
        }
    }
    let ways = [
        ("from scratchpad", FROM_SCRATCHPAD),
        ("to scratchpad", TO_SCRATCHPAD),
        ("from clusters", BETWEEN_CLUSTERS),
        ("registers to scratchpad", "register_output"),
    ];
    for (way, class) in ways {
        for cluster in 0..machine.clusters {
            builder.unit(format!("cluster {cluster} {way}"), class, WaitCategory::Network);
        }
    }
    for stack in 0..machine.stacks {
        builder.channel(format!("hbm{stack}"), "hbm", machine.stack_bytes);
    }
    memories(&mut builder, machine, geometry);
    for (name, kind) in &FUNCTIONS {
        let busy = geometry.occupancy_of(*kind);
        // A low-throughput unit produces its result at the full rate, at the end of its busy time.
        let latency = geometry.latency_of(*kind) + geometry.occupancy - busy;
        let made = builder.kind(*name, kind.name(), vector / busy as f64, latency);
        builder.does(made, polyfabric_sim::Function::Compute(std::slice::from_ref(name)));
    }
    let (network, lanes) = (machine.depth.network, machine.lanes as f64);
    for (name, class, latency) in [
        ("fetch", FROM_SCRATCHPAD, network),
        ("stream", FROM_SCRATCHPAD, 0),
        ("forward", BETWEEN_CLUSTERS, network),
        ("stream from a cluster", BETWEEN_CLUSTERS, 0),
        ("read out", "register_output", 0),
        ("write in", TO_SCRATCHPAD, 0),
        ("load", "hbm", machine.memory_latency),
        ("store", "hbm", 0),
    ] {
        builder.kind(name, class, lanes, latency);
    }
    // A code, an operand and the cycles to wait.
    builder.instructed(polyfabric_sim::schedule::Instructed { latency: machine.memory_latency, least: 3 });
    let bits = 8 * WORD_BYTES as u32;
    builder.value_class("hint", Traffic::KeySwitchKey, true, bits);
    builder.value_class("input", Traffic::Ciphertexts, true, bits);
    builder.value_class("value", Traffic::Ciphertexts, false, bits);
    builder.finish().resources
}

fn memories(builder: &mut ScheduleBuilder, machine: &F1, geometry: &Geometry) {
    let line = geometry.vector.get() as u64 * WORD_BYTES;
    let bytes_per_cycle = (machine.lanes as u64 * WORD_BYTES) as f64;
    let lines = |banks: usize, depth: usize, stripes: usize, out: &str, into: Option<&str>| {
        let port = |class: &str| BankPort { class: class.to_owned(), multicast: machine.multicast };
        MemoryKind::Lines(Lines {
            capacity: (banks * depth) as u64 * line,
            line,
            banks: banks as u32,
            stripes: stripes as u32,
            accesses: machine.accesses_per_cycle as u32,
            bytes_per_cycle,
            out: Some(port(out)),
            into: into.map(port),
        })
    };
    builder.memory("hbm", MemoryKind::OffChip);
    let scratchpad = lines(machine.banks, geometry.frames, 1, FROM_SCRATCHPAD, Some(TO_SCRATCHPAD));
    builder.memory("scratchpad", scratchpad);
    let registers = lines(machine.clusters, geometry.registers, machine.register_banks, BETWEEN_CLUSTERS, None);
    builder.memory("register_file", registers);
    let delay = machine.depth.network as u32;
    for cluster in 0..machine.clusters {
        for way in ["scratchpad to units", "clusters to units", "results to scratchpad"] {
            let name = format!("cluster {cluster} {way}");
            builder.memory(name, MemoryKind::Wire { bytes_per_cycle, delay });
        }
    }
}

/// Checks untrusted `actions`.
pub fn check(graph: &Graph, actions: &[Timed], machine: &F1, geometry: &Geometry) -> Result<Checked, Violation> {
    polyfabric_sim::check(polyfabric_sim::list::Source::List(&Expansion::new(graph, actions, machine, geometry)?), &[])
}

/// One event of an action.
#[derive(Clone, Copy)]
enum Part {
    /// Its own component.
    Main,
    /// The port of operand 0 or 1.
    Operand(u8),
    /// The result's port to the scratchpad.
    Result,
}

/// The actions of a compiled program as events.
pub struct Expansion<'a> {
    graph: &'a Graph,
    machine: &'a F1,
    geometry: &'a Geometry,
    actions: Cow<'a, [Timed]>,
    resources: Resources,
    line: u64,
    /// Index of the first unit of each kind, and of the first port in each direction.
    units: [usize; 4],
    ports: usize,
    /// Operation kind of each of the graph's functions.
    kinds: Vec<KindId>,
    /// Start cycles of instructions, computed on demand.
    instructions: OnceCell<Instructions>,
}

impl<'a> Expansion<'a> {
    /// Untrusted `actions`, preferably in order of their cycles.
    ///
    /// # Errors
    /// A [`Violation`] for an absent unit, place or value, and for an operand that is sent before cycle 0.
    pub fn new(
        graph: &'a Graph,
        actions: &'a [Timed],
        machine: &'a F1,
        geometry: &'a Geometry,
    ) -> Result<Self, Violation> {
        let expansion = Self::of_existing(graph, actions, machine, geometry);
        for timed in expansion.actions.iter() {
            cancel::check();
            if let Err(what) = expansion.exists(timed) {
                let (cycle, message) = (timed.cycle as i64, format!("there is no {what}"));
                return Err(Violation { hazard: Hazard::Malformed, cycle, legal_start: None, message });
            }
        }
        Ok(expansion)
    }

    /// Trusted `actions`: a compiler's, or those that [`Self::new`] has checked.
    pub fn of_existing(graph: &'a Graph, actions: &'a [Timed], machine: &'a F1, geometry: &'a Geometry) -> Self {
        let mut actions = Cow::Borrowed(actions);
        if !actions.is_sorted_by_key(|timed| timed.cycle) {
            actions.to_mut().sort_by_key(|timed| timed.cycle);
        }
        let mut units = [0; 4];
        let mut ports = 0;
        for kind in UnitKind::ALL {
            units[kind as usize] = ports;
            ports += machine.unit_count(kind);
        }
        let line = geometry.vector.get() as u64 * WORD_BYTES;
        let resources = resources(machine, geometry);
        let kinds = graph.functions().iter().map(|&function| kind_of(function)).collect();
        Self { graph, machine, geometry, actions, resources, line, units, ports, kinds, instructions: OnceCell::new() }
    }

    /// The error names what an action refers to that does not exist.
    fn exists(&self, timed: &Timed) -> Result<(), &'static str> {
        let holds = |there: bool, what| if there { Ok(()) } else { Err(what) };
        let frame = |frame: Frame| {
            let there = usize::from(frame.bank) < self.machine.banks && usize::from(frame.index) < self.geometry.frames;
            holds(there, "such frame")
        };
        let register = |of: Register| {
            let there =
                usize::from(of.cluster) < self.machine.clusters && usize::from(of.index) < self.geometry.registers;
            holds(there, "such register")
        };
        let value = |value: u32| holds((value as usize) < self.graph.values(), "such value");
        match timed.action {
            Action::Load { stack, frame: place, value: of } | Action::Store { stack, frame: place, value: of } => {
                holds(usize::from(stack) < self.machine.stacks, "such stack")?;
                value(of)?;
                frame(place)
            }
            Action::Fetch { frame: place, register: of, value: what }
            | Action::WriteBack { frame: place, register: of, value: what } => {
                value(what)?;
                frame(place)?;
                register(of)
            }
            Action::Forward { from, to, value: what } => {
                value(what)?;
                register(from)?;
                register(to)
            }
            Action::Execute { instruction, cluster, unit, operands, result } => {
                holds((instruction as usize) < self.graph.len(), "such instruction")?;
                let kind = self.graph.function(instruction as usize).unit() as usize;
                let there =
                    usize::from(cluster) < self.machine.clusters && usize::from(unit) < self.machine.units[kind];
                holds(there, "such unit")?;
                for operand in operands {
                    let streams = match operand {
                        Source::Register(index) => register(Register { cluster, index }).map(|()| false),
                        Source::Scratchpad(from) => frame(from).map(|()| true),
                        Source::Cluster(from) => register(from).map(|()| true),
                    }?;
                    let in_time = !streams || timed.cycle >= self.machine.depth.network;
                    holds(in_time, "time for an operand to pass the crossbar")?;
                }
                match result {
                    Destination::Register(index) => register(Register { cluster, index }),
                    Destination::Scratchpad(to) => frame(to),
                }
            }
        }
    }

    fn value(&self, number: u32) -> Value {
        value(self.graph, number)
    }

    fn frame(&self, frame: Frame) -> Place {
        let line = usize::from(frame.bank) * self.geometry.frames + usize::from(frame.index);
        Place { memory: SCRATCHPAD, offset: line as u64 * self.line, bytes: self.line }
    }

    fn register(&self, register: Register) -> Place {
        let line = usize::from(register.cluster) * self.geometry.registers + usize::from(register.index);
        Place { memory: REGISTERS, offset: line as u64 * self.line, bytes: self.line }
    }

    fn wire(&self, cluster: u16, wire: Wire) -> Place {
        Place { memory: MemoryId(WIRES + 3 * cluster + wire as u16), offset: 0, bytes: self.line }
    }

    fn port(&self, way: usize, cluster: u16) -> Resource {
        Resource((self.ports + way * self.machine.clusters + usize::from(cluster)) as u32)
    }

    /// A stream of one vector, one chunk per cycle from `first` on.
    fn stream(&self, place: Place, value: Value, first: u64) -> Access {
        let first = first as u32;
        let last = first + self.geometry.occupancy as u32 - 1;
        Access { place, value, first, last, order: Order::Stream, bytes: self.line }
    }

    /// The operands of an instruction, with each source once.
    fn operands(&self, instruction: u32, sources: [Source; 2]) -> impl Iterator<Item = (u8, Source, Value)> {
        let vectors = self.graph.operands(instruction as usize);
        let repeats = vectors.len() == 2 && vectors[0] == vectors[1] && sources[0] == sources[1];
        let vectors = if repeats { &vectors[..1] } else { vectors };
        let values = vectors.iter().map(|&vector| self.value(self.graph.number(vector) as u32));
        (0..).zip(sources).zip(values).map(|((position, source), value)| (position, source, value))
    }

    /// The parts of an action, with their starts.
    fn parts(&self, timed: &Timed, mut part: impl FnMut(u64, Part)) {
        let network = self.machine.depth.network;
        part(timed.cycle, Part::Main);
        match timed.action {
            Action::WriteBack { .. } => part(timed.cycle + network, Part::Result),
            Action::Execute { instruction, operands, result, .. } => {
                for (position, source, _) in self.operands(instruction, operands) {
                    if !matches!(source, Source::Register(_)) {
                        part(timed.cycle - network, Part::Operand(position));
                    }
                }
                if let Destination::Scratchpad(_) = result {
                    let latency = self.geometry.latency(self.graph.function(instruction as usize));
                    part(timed.cycle + latency + network, Part::Result);
                }
            }
            _ => {}
        }
    }

    fn fill(&self, action: Action, part: Part, start: i64, event: &mut Event) {
        event.reads.clear();
        event.writes.clear();
        event.start = start;
        event.occupancy = self.geometry.occupancy as u32;
        event.work = self.geometry.vector.get() as u64;
        event.op = OpRef {
            kind: WRITE_IN,
            kernel_op: Value::NONE,
            body_op: Value::NONE,
            ciphertext: Value::NONE,
            iteration: Value::NONE,
        };
        let network = self.machine.depth.network;
        match (action, part) {
            (Action::Load { stack, frame, value }, _) => {
                let value = self.value(value);
                self.transfer(event, LOAD, stack);
                let off_chip = Place { memory: HBM, offset: 0, bytes: self.line };
                let last = self.geometry.transfer as u32 - 1;
                event.reads.push(Access { last, ..self.stream(off_chip, value, 0) });
                event.writes.push(self.stream(self.frame(frame), value, self.geometry.load_latency));
            }
            (Action::Store { stack, frame, value }, _) => {
                let value = self.value(value);
                self.transfer(event, STORE, stack);
                event.reads.push(self.stream(self.frame(frame), value, 0));
                // It can be reloaded only when complete.
                let off_chip = Place { memory: HBM, offset: 0, bytes: self.line };
                let last = self.geometry.transfer.max(self.geometry.occupancy) as u32 - 1;
                event.writes.push(Access { last, order: Order::Any, ..self.stream(off_chip, value, 0) });
            }
            (Action::Fetch { frame, register, value }, _) => {
                let value = self.value(value);
                (event.resource, event.op.kind) = (self.port(0, register.cluster), FETCH);
                event.reads.push(self.stream(self.frame(frame), value, 0));
                event.writes.push(self.stream(self.register(register), value, network));
            }
            (Action::Forward { from, to, value }, _) => {
                let value = self.value(value);
                (event.resource, event.op.kind) = (self.port(2, to.cluster), FORWARD);
                event.reads.push(self.stream(self.register(from), value, 0));
                event.writes.push(self.stream(self.register(to), value, network));
            }
            (Action::WriteBack { register, frame, value }, part) => {
                let (value, wire) = (self.value(value), self.wire(register.cluster, Wire::Results));
                let (from, to) = match part {
                    Part::Result => (wire, self.frame(frame)),
                    _ => (self.register(register), wire),
                };
                (event.resource, event.op.kind) = match part {
                    Part::Result => (self.port(1, register.cluster), WRITE_IN),
                    _ => (self.port(3, register.cluster), READ_OUT),
                };
                event.reads.push(self.stream(from, value, 0));
                event.writes.push(self.stream(to, value, 0));
            }
            (Action::Execute { instruction, cluster, unit, operands, result }, part) => {
                self.execute(event, (instruction, cluster, unit), operands, result, part);
            }
        }
    }

    fn transfer(&self, event: &mut Event, kind: KindId, stack: u16) {
        (event.resource, event.op.kind) = (self.resources.channel(usize::from(stack)), kind);
        (event.occupancy, event.work) = (self.geometry.transfer as u32, self.line);
    }

    fn execute(
        &self,
        event: &mut Event,
        (instruction, cluster, unit): (u32, u16, u8),
        operands: [Source; 2],
        result: Destination,
        part: Part,
    ) {
        event.op.kernel_op = instruction;
        event.op.body_op = self.graph.function_number(instruction as usize) as u32;
        match part {
            Part::Operand(wanted) => {
                for (_, source, value) in self.operands(instruction, operands).filter(|&(of, ..)| of == wanted) {
                    let (from, wire, way, kind) = match source {
                        Source::Cluster(from) => (self.register(from), Wire::Clusters, 2, STREAM_FORWARD),
                        Source::Scratchpad(from) => (self.frame(from), Wire::Scratchpad, 0, STREAM),
                        Source::Register(_) => continue,
                    };
                    (event.resource, event.op.kind) = (self.port(way, cluster), kind);
                    event.reads.push(self.stream(from, value, 0));
                    event.writes.push(self.stream(self.wire(cluster, wire), value, 0));
                }
            }
            Part::Result => {
                event.resource = self.port(1, cluster);
                let value = self.value(instruction);
                event.reads.push(self.stream(self.wire(cluster, Wire::Results), value, 0));
                if let Destination::Scratchpad(frame) = result {
                    event.writes.push(self.stream(self.frame(frame), value, 0));
                }
            }
            Part::Main => {
                let function = self.graph.function(instruction as usize);
                let kind = function.unit();
                let number = usize::from(cluster) * self.machine.units[kind as usize] + usize::from(unit);
                event.resource = Resource((self.units[kind as usize] + number) as u32);
                event.op.kind = self.kinds[self.graph.function_number(instruction as usize)];
                event.occupancy = self.geometry.occupancy_of(kind) as u32;
                for (_, source, value) in self.operands(instruction, operands) {
                    let place = match source {
                        Source::Register(index) => self.register(Register { cluster, index }),
                        Source::Scratchpad(_) => self.wire(cluster, Wire::Scratchpad),
                        Source::Cluster(_) => self.wire(cluster, Wire::Clusters),
                    };
                    event.reads.push(self.stream(place, value, 0));
                }
                let place = match result {
                    Destination::Register(index) => self.register(Register { cluster, index }),
                    Destination::Scratchpad(_) => self.wire(cluster, Wire::Results),
                };
                event.writes.push(self.stream(place, self.value(instruction), self.geometry.latency(function)));
            }
        }
    }
}

impl EventList for Expansion<'_> {
    fn resources(&self) -> &Resources {
        &self.resources
    }

    fn visit(&self, visit: &mut dyn FnMut(&Event) -> ControlFlow<()>) {
        let op = OpRef {
            kind: LOAD,
            kernel_op: Value::NONE,
            body_op: Value::NONE,
            ciphertext: Value::NONE,
            iteration: Value::NONE,
        };
        let (reads, writes) = (Vec::with_capacity(2), Vec::with_capacity(1));
        let mut event = Event { resource: Resource(0), start: 0, occupancy: 1, work: 0, parts: 1, op, reads, writes };
        let mut calendar = Calendar::new(0);
        let mut due: Vec<(u32, Part)> = Vec::new();
        let mut until = |calendar: &mut Calendar<(u32, Part)>, until: i64| {
            while let Some(cycle) = calendar.next_before(until) {
                calendar.take(&mut due);
                for &(action, part) in &due {
                    self.fill(self.actions[action as usize].action, part, cycle, &mut event);
                    visit(&event)?;
                }
            }
            ControlFlow::Continue(())
        };
        for (index, timed) in (0..).zip(self.actions.iter()) {
            // No operand of the remaining actions is sent before this cycle.
            let earliest = timed.cycle.saturating_sub(self.machine.depth.network) as i64;
            if until(&mut calendar, earliest).is_break() {
                return;
            }
            self.parts(timed, |start, part| calendar.push(start as i64, (index, part)));
        }
        let _ = until(&mut calendar, i64::MAX);
    }

    fn instructions(&self) -> Option<&Instructions> {
        let found = || fetch::instructions(self.graph, &self.actions, self.machine, self.geometry);
        Some(self.instructions.get_or_init(found))
    }
}
