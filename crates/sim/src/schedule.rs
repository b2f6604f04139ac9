//! The schedule: what every unit, memory and channel of a machine does in every cycle.
//!
//! A schedule is a tree. Leaves are [`Event`]s: one operation on one unit, or one transfer on one channel. An event
//! starts at a cycle, occupies the unit for some cycles, and reads and writes values at places of memories. Inner nodes
//! are [`Repeat`]s: a body that starts again every `period` cycles, with its ciphertext and iteration numbers
//! increased. Rounds may overlap, because a body may be longer than its period. Repeats nest, and items around a repeat
//! may overlap it in time. So a software-pipelined loop of millions of lookups takes only a few items.
//!
//! Time. Cycles are counted from 0. Every `start` is relative to the start of the round of the enclosing repeat, or to
//! cycle 0 at the top. A unit is occupied in `start .. start + occupancy`.
//!
//! Streaming. An [`Access`] moves its place's elements evenly from cycle `start + first` to cycle `start + last`, both
//! included. An element may be read in any cycle after the one in which it was written. It may be overwritten in or
//! after the cycle in which it was last read. [`Order::Any`] says that elements move in an order unknown to the other
//! side, for example in a rotated read. Then the whole value must be there before the first read, and stay until after
//! the last.
//!
//! Pipelines. Units that are linked by registers ([`MemoryKind::Wire`]) start together: none can wait for another. For
//! the stalls such a pipeline is one unit: a constraint on one of its units delays all of them.
//!
//! Values are named ([`Value`]). So the checker knows not only that a place was written, but also that it holds the
//! value that the event means to read. Places do not move from round to round: a body that alternates between two
//! buffers is two rounds long.

mod builder;

use super::function::{Function, Step};
use polyfabric_kernels::cancel;
use std::collections::HashMap;
use std::sync::Arc;

pub use builder::{Emit, ScheduleBuilder};

/// Index of a unit or channel in [`Resources`]: units first, in their order, then channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Resource(pub u32);

/// Index of a memory in [`Resources::memories`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MemoryId(pub u16);

/// Index of an operation kind in [`Resources::kinds`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KindId(pub u16);

/// The mode for which a unit is set up. A machine chooses the numbers. Two operations of one unit share a mode if their
/// numbers are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Mode(pub u16);

/// Index of a value class in [`Resources::value_classes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClassId(pub u16);

/// Stall category of a wait for a producer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WaitCategory {
    /// The producer is part of the same pipeline: its latency is the consumer's wait.
    Pipeline,
    /// The producer is the general vector unit.
    VectorUnit,
    /// The producer moves data between memories, or from a memory to a unit: a transfer.
    Network,
}

/// One functional unit. It takes one operation at a time and is free again after the occupancy.
#[derive(Clone, Debug, PartialEq)]
pub struct Unit {
    /// Unique name, for example `xpu0.fft1`.
    pub name: String,
    /// Class: units of one class are interchangeable in statistics, for example `fft`.
    pub class: String,
    /// Category of a wait for this unit.
    pub wait: WaitCategory,
}

/// A path to off-chip memory, or any other link of a fixed bandwidth.
#[derive(Clone, Debug, PartialEq)]
pub struct Channel {
    /// Unique name, for example `hbm.xpu`.
    pub name: String,
    /// Class in statistics.
    pub class: String,
    /// Bandwidth, bytes a cycle.
    pub bytes_per_cycle: f64,
}

/// How a memory is addressed.
#[derive(Clone, Debug, PartialEq)]
pub enum MemoryKind {
    /// By byte offset, with a capacity and ports that are checked.
    OnChip {
        /// Bytes.
        capacity: u64,
        /// Banks of equal size, in address order. An access loads the ports of the banks that its place lies in.
        banks: u32,
        /// Bytes a cycle that one bank can be read.
        read_bytes_per_cycle: f64,
        /// Bytes a cycle that one bank can be written.
        write_bytes_per_cycle: f64,
        /// Whether every port both reads and writes: then the sum of the two widths serves reads and writes together.
        dual_port: bool,
    },
    /// By line. It holds vectors of one size, and each access is a stream of one whole vector.
    Lines(Lines),
    /// Off-chip memory, by value. It holds the inputs from cycle 0 on and keeps everything that is written to it.
    /// Places are ignored, and there is no capacity and no port. Bytes that channels move from and to it count as
    /// traffic.
    OffChip,
    /// The registers between two units of one pipeline. An element passes to its reader a fixed number of cycles after
    /// it was written, and cannot wait. Each value is read exactly once. There is no capacity, because the registers
    /// are part of the units.
    Wire {
        bytes_per_cycle: f64,
        /// Cycles from a write to its read; at least 1.
        delay: u32,
    },
    /// A scoreboard, by value. It is empty at first and keeps everything that is written to it. A value of zero bytes
    /// in it is a token that expresses precedence.
    Scoreboard,
}

/// A memory of vectors. Its banks are equal parts in address order.
#[derive(Clone, Debug, PartialEq)]
pub struct Lines {
    /// Bytes.
    pub capacity: u64,
    /// Bytes of a vector.
    pub line: u64,
    pub banks: u32,
    /// Parts of a bank over which each of its vectors is striped. With s parts, a stream that begins in cycle c is in
    /// part (t + s - c) mod s in cycle t. So two streams meet only if their starts differ by a multiple of s.
    pub stripes: u32,
    /// Streams that a part of a bank serves at the same time, in either direction.
    pub accesses: u32,
    /// Largest bandwidth of a stream, bytes a cycle.
    pub bytes_per_cycle: f64,
    /// The port through which streams leave a bank for a network, if there is one.
    pub out: Option<BankPort>,
    /// The port through which streams come to a bank from a network, if there is one.
    pub into: Option<BankPort>,
}

/// A bank's port to a network. It moves one stream at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BankPort {
    /// Class of the network's units, whose reads or writes pass the port.
    pub class: String,
    /// Whether the network delivers one read to all units that begin it in the same cycle.
    pub multicast: bool,
}

impl MemoryKind {
    /// Whether the memory is addressed by value instead of by place.
    pub fn by_value(&self) -> bool {
        matches!(self, MemoryKind::OffChip | MemoryKind::Scoreboard)
    }

    /// Cycles from a write to its read on a wire.
    pub fn wire_delay(&self) -> Option<u32> {
        match self {
            MemoryKind::Wire { delay, .. } => Some(*delay),
            _ => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Memory {
    /// Unique name.
    pub name: String,
    /// Addressing, capacity and ports.
    pub kind: MemoryKind,
    /// The units that write and read it, if it connects two alone.
    pub ends: Option<[Resource; 2]>,
}

/// One kind of operation, with its rate and latency. The checker checks every event against it.
#[derive(Clone, Debug, PartialEq)]
pub struct OpKind {
    /// Name, for example `forward transform`.
    pub name: String,
    /// Class of the units or channels that execute it.
    pub class: String,
    /// Elements that a unit takes a cycle with all its parts. Ignored for channels, whose bandwidth counts.
    pub elements_per_cycle: f64,
    /// Equal parts of the unit that work in parallel, for example the columns of an array. An event may use fewer.
    pub parts: u32,
    /// Cycles from the first element in to the first element out.
    pub latency: u64,
    /// The mode that it requires, if its unit has modes. Elements then pass in order, and none overtakes another. A
    /// change of mode requires an empty unit: its last element has left, [`OpKind::latency`] cycles after it entered.
    pub mode: Option<Mode>,
    /// Whether it reads addends, which may arrive later than the other operands. Every other operand is read at least
    /// [`OpKind::latency`] cycles before its result.
    pub addends: bool,
    /// Whether the unit is outside the chip and works on off-chip memory directly, as a host does. All other units
    /// reach it over channels.
    pub off_chip: bool,
    /// Whether its unit reads values in an order of its own, and whether it writes them so. Such an access to a memory
    /// on the chip is [`Order::Any`]: a value must be complete before it is read.
    pub shuffles: [bool; 2],
    /// The computation that it may do.
    pub function: Function,
}

impl OpKind {
    /// Whether results are sums of elements of the operands, of which each is needed in its turn.
    pub fn sums(&self) -> bool {
        let adder = matches!(self.function, Function::Body(unit) if unit.steps == [Step::Add]);
        adder || self.addends
    }
}

/// Traffic class: how a value counts in the traffic report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Traffic {
    /// Bootstrapping key.
    BootstrapKey,
    KeySwitchKey,
    /// LWE and GLWE ciphertexts, and everything derived from one.
    Ciphertexts,
    /// Test polynomials, twiddle factors and other constants.
    Tables,
    /// Instruction streams.
    Instructions,
}

impl Traffic {
    /// All classes, in report order.
    pub const ALL: [Traffic; 5] =
        [Traffic::BootstrapKey, Traffic::KeySwitchKey, Traffic::Ciphertexts, Traffic::Tables, Traffic::Instructions];

    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Traffic::BootstrapKey => "bootstrap_key",
            Traffic::KeySwitchKey => "key_switch_key",
            Traffic::Ciphertexts => "ciphertexts",
            Traffic::Tables => "tables",
            Traffic::Instructions => "instructions",
        }
    }
}

/// A class of values that the machine defines, for example `accumulator` or `bootstrap key`.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueClass {
    /// Name in messages.
    pub name: String,
    /// Class in the traffic report.
    pub traffic: Traffic,
    /// Whether values of this class lie in [`MemoryKind::OffChip`] memory from cycle 0 on: keys, tables, inputs.
    pub input: bool,
    /// Bits of an element (a coefficient, a residue, a number of a ciphertext) as stored on this machine. They give the
    /// least size of a value's place and of an access. 0 if places hold parts of values, tokens or words of
    /// instructions.
    pub bits: u32,
}

/// Everything that events refer to by index.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Resources {
    /// Functional units.
    pub units: Vec<Unit>,
    /// Channels; as a [`Resource`], channel `i` is `units.len() + i`.
    pub channels: Vec<Channel>,
    pub memories: Vec<Memory>,
    /// Operation kinds.
    pub kinds: Vec<OpKind>,
    pub value_classes: Vec<ValueClass>,
    /// Set if units take instructions from memory. Then a schedule must have instructions.
    pub instructed: Option<Instructed>,
}

/// How units take instructions from memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instructed {
    /// Cycles from a request to its first byte.
    pub latency: u64,
    /// Bytes of the shortest instruction that computes.
    pub least: u64,
}

impl Resources {
    /// Number of units and channels.
    pub fn len(&self) -> usize {
        self.units.len() + self.channels.len()
    }

    /// Whether there is neither a unit nor a channel.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Resource of the channel with this index.
    pub fn channel(&self, index: usize) -> Resource {
        Resource((self.units.len() + index) as u32)
    }

    /// The channel that this resource is, if it is one.
    pub fn as_channel(&self, resource: Resource) -> Option<&Channel> {
        (resource.0 as usize).checked_sub(self.units.len()).and_then(|index| self.channels.get(index))
    }

    /// Name of a unit or channel.
    pub fn name(&self, resource: Resource) -> &str {
        match self.units.get(resource.0 as usize) {
            Some(unit) => &unit.name,
            None => self.as_channel(resource).map_or("(no such unit)", |channel| &channel.name),
        }
    }

    /// Class of a unit or channel.
    pub fn class(&self, resource: Resource) -> &str {
        match self.units.get(resource.0 as usize) {
            Some(unit) => &unit.class,
            None => self.as_channel(resource).map_or("(no such unit)", |channel| &channel.class),
        }
    }

    /// Cycles that a resource needs for `work` elements (units) or bytes (channels) of an operation kind, with all its
    /// parts.
    pub fn cycles(&self, resource: Resource, kind: KindId, work: u64) -> u64 {
        self.cycles_on(resource, kind, work, u32::MAX)
    }

    /// The same, with `parts` of the resource's parts.
    pub fn cycles_on(&self, resource: Resource, kind: KindId, work: u64, parts: u32) -> u64 {
        let rate = match self.as_channel(resource) {
            Some(channel) => channel.bytes_per_cycle,
            None => self.kinds.get(kind.0 as usize).map_or(f64::INFINITY, |kind| {
                kind.elements_per_cycle * f64::from(parts.min(kind.parts)) / f64::from(kind.parts)
            }),
        };
        // A rounding error must not cost a cycle if the exact quotient is an integer.
        let cycles = work as f64 / rate;
        (cycles - 1e-9_f64.max(1e-12 * cycles)).ceil().max(0.0) as u64
    }
}

/// Name of a value. Two values are the same if and only if all four fields are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value {
    /// Class, as the machine defines it.
    pub class: ClassId,
    /// Ciphertext number, or [`Value::NONE`]; increased by [`Shift::ciphertext`].
    pub ciphertext: u32,
    /// Loop iteration, or [`Value::NONE`]; increased by [`Shift::iteration`].
    pub iteration: u32,
    /// In a TFHE schedule a label that the machine interns, in an RNS schedule the number of the vector. Repeats do not
    /// change it.
    pub index: u32,
}

impl Value {
    /// A field that does not apply. Repeats do not change it.
    pub const NONE: u32 = u32::MAX;

    /// This value, with its numbers increased by `shift`.
    #[must_use]
    pub fn shifted(self, shift: Shift) -> Self {
        Self {
            ciphertext: shift_field(self.ciphertext, shift.ciphertext),
            iteration: shift_field(self.iteration, shift.iteration),
            ..self
        }
    }
}

fn shift_field(field: u32, by: i64) -> u32 {
    if field == Value::NONE { field } else { (i64::from(field) + by) as u32 }
}

/// Increase of numbers from round to round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Shift {
    /// Added to every ciphertext number that is not [`Value::NONE`].
    pub ciphertext: i64,
    /// Added to every iteration number that is not [`Value::NONE`].
    pub iteration: i64,
    /// Added to the number of the operation that an event performs.
    pub operation: i64,
}

impl Shift {
    /// An increase of ciphertext numbers.
    pub fn ciphertexts(by: i64) -> Self {
        Self { ciphertext: by, ..Self::default() }
    }

    /// An increase of iteration numbers.
    pub fn iterations(by: i64) -> Self {
        Self { iteration: by, ..Self::default() }
    }

    /// `self` plus `rounds` times `step`.
    #[must_use]
    pub fn advanced(self, step: Shift, rounds: i64) -> Self {
        Self {
            ciphertext: self.ciphertext + step.ciphertext * rounds,
            iteration: self.iteration + step.iteration * rounds,
            operation: self.operation + step.operation * rounds,
        }
    }
}

/// The operation of the kernel program that an event performs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OpRef {
    /// Kind of operation, with its rate and latency.
    pub kind: KindId,
    /// Index of the operation in the kernel program, or of the instruction that was compiled from it.
    pub kernel_op: u32,
    /// Index of the operation in that operation's body, or [`Value::NONE`].
    pub body_op: u32,
    /// First ciphertext, or [`Value::NONE`].
    pub ciphertext: u32,
    /// Iteration of the body's loop, or [`Value::NONE`].
    pub iteration: u32,
}

impl OpRef {
    /// This operation, with its numbers increased by `shift`.
    #[must_use]
    pub fn shifted(self, shift: Shift) -> Self {
        Self {
            kernel_op: shift_field(self.kernel_op, shift.operation),
            ciphertext: shift_field(self.ciphertext, shift.ciphertext),
            iteration: shift_field(self.iteration, shift.iteration),
            ..self
        }
    }
}

/// A range of a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    pub memory: MemoryId,
    /// First byte. Ignored in a memory that is addressed by value.
    pub offset: u64,
    /// Extent in bytes; at least 1. Ignored in a memory that is addressed by value.
    pub bytes: u64,
}

/// Order in which an access moves the elements of its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// In the order in which the other side moves them.
    Stream,
    /// In an order unknown to the other side: nothing may overlap.
    Any,
}

/// A value read from or written to a place while an event runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    /// Where.
    pub place: Place,
    /// The value that must be there (read) or is there afterwards (write).
    pub value: Value,
    /// Cycle of the first element, relative to the event's start.
    pub first: u32,
    /// Cycle of the last element, relative to the event's start; not before `first`.
    pub last: u32,
    /// Order of the elements.
    pub order: Order,
    /// Bytes that pass the ports (a place may be read in part, or more than once).
    pub bytes: u64,
}

/// One operation on one unit, or one transfer on one channel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Event {
    /// Unit or channel.
    pub resource: Resource,
    /// First cycle, relative to the enclosing round.
    pub start: i64,
    /// Cycles until the unit can take up the next operation; at least 1.
    pub occupancy: u32,
    /// Elements (units) or bytes (channels).
    pub work: u64,
    /// Parts of the unit that are used, of [`OpKind::parts`]; the others are idle.
    pub parts: u32,
    /// The operation.
    pub op: OpRef,
    /// Values read.
    pub reads: Vec<Access>,
    /// Values written.
    pub writes: Vec<Access>,
}

impl Event {
    /// First cycle after everything of this event has happened, relative to the enclosing round.
    pub fn end(&self) -> i64 {
        let accesses = self.reads.iter().chain(&self.writes).map(|access| i64::from(access.last) + 1);
        self.start + accesses.fold(i64::from(self.occupancy), i64::max)
    }
}

/// A body that starts again every `period` cycles.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Repeat {
    /// First cycle of the first round, relative to the enclosing round.
    pub start: i64,
    /// Number of rounds; at least 1.
    pub count: u64,
    /// Cycles between rounds; at least 1.
    pub period: u64,
    /// Added to the numbers of the body in the first round.
    pub origin: Shift,
    /// Added in each further round.
    pub shift: Shift,
    /// Items, relative to the start of their round, in any order. They may reach beyond the period. Several repeats,
    /// with different starts and origins, can share a body.
    pub body: Arc<Vec<Item>>,
}

impl Repeat {
    /// Increase of the body's numbers in round `round`, in a round of the enclosing loop that adds `outer`.
    pub fn shift_of(&self, outer: Shift, round: u64) -> Shift {
        outer.advanced(self.origin, 1).advanced(self.shift, round as i64)
    }
}

/// A node of the schedule.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Item {
    /// One operation.
    Event(Event),
    /// A loop.
    Repeat(Repeat),
}

/// A complete schedule.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Schedule {
    /// Units, channels, memories and kinds that events refer to.
    pub resources: Resources,
    /// Items, in any order.
    pub items: Vec<Item>,
}

/// One event of the unrolled schedule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placed<'a> {
    /// The event as written.
    pub event: &'a Event,
    /// Absolute first cycle.
    pub start: i64,
    /// Increase of ciphertext and iteration numbers by the enclosing rounds.
    pub shift: Shift,
}

impl Placed<'_> {
    /// The operation with its ciphertext and iteration numbers in this round.
    pub fn op(&self) -> OpRef {
        self.event.op.shifted(self.shift)
    }
}

impl Schedule {
    /// Every event in order of its start cycle. Loops are unrolled lazily: memory holds only the rounds in flight.
    pub fn events(&self) -> Events<'_> {
        Events::new(&self.items)
    }

    /// Number of events when unrolled.
    pub fn event_count(&self) -> u64 {
        count_events(&self.items)
    }

    /// Total cycles: the first cycle after all events.
    pub fn cycles(&self) -> i64 {
        end_of(&self.items)
    }

    /// The same schedule without any loop. It can be very long, so this is for tests of small schedules.
    #[must_use]
    pub fn unrolled(&self) -> Self {
        let items = self.events().map(|placed| Item::Event(placed.to_event())).collect();
        Self { resources: self.resources.clone(), items }
    }
}

impl Placed<'_> {
    /// The event with absolute start and numbers.
    pub fn to_event(&self) -> Event {
        let mut event = self.event.clone();
        event.start = self.start;
        event.op = event.op.shifted(self.shift);
        for access in event.reads.iter_mut().chain(&mut event.writes) {
            access.value = access.value.shifted(self.shift);
        }
        event
    }
}

fn count_events(items: &[Item]) -> u64 {
    items
        .iter()
        .map(|item| match item {
            Item::Event(_) => 1,
            Item::Repeat(repeat) => repeat.count.saturating_mul(count_events(&repeat.body)),
        })
        .fold(0, u64::saturating_add)
}

fn end_of(items: &[Item]) -> i64 {
    items
        .iter()
        .map(|item| match item {
            Item::Event(event) => event.end(),
            Item::Repeat(repeat) => {
                let last = (repeat.count as i64 - 1).saturating_mul(repeat.period as i64);
                repeat.start.saturating_add(last).saturating_add(end_of(&repeat.body))
            }
        })
        .max()
        .unwrap_or(0)
}

/// Earliest start cycle among items, relative to their round.
pub(crate) fn earliest(items: &[Item]) -> i64 {
    items
        .iter()
        .map(|item| match item {
            Item::Event(event) => event.start,
            Item::Repeat(repeat) => repeat.start + earliest(&repeat.body),
        })
        .min()
        .unwrap_or(0)
}

/// Iterator of [`Schedule::events`].
#[derive(Debug)]
pub struct Events<'a> {
    heap: std::collections::BinaryHeap<std::cmp::Reverse<Pending>>,
    nodes: Vec<&'a Item>,
    earliest: Vec<i64>,
    children: Vec<std::ops::Range<usize>>,
}

/// Ordered by time, then by position in the schedule: equal starts come in the order written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Pending {
    time: i64,
    node: usize,
    round: u64,
    base: i64,
    shift: Shift,
}

impl<'a> Events<'a> {
    fn new(items: &'a [Item]) -> Self {
        let mut events =
            Self { heap: std::collections::BinaryHeap::new(), nodes: vec![], earliest: vec![], children: vec![] };
        let top = events.index(items, &mut HashMap::new());
        for node in top {
            events.push(node, 0, Shift::default(), 0);
        }
        events
    }

    /// Numbers items consecutively, and then the items of their bodies. A body that several loops share is numbered
    /// once.
    fn index(
        &mut self,
        items: &'a [Item],
        known: &mut HashMap<*const Vec<Item>, std::ops::Range<usize>>,
    ) -> std::ops::Range<usize> {
        let first = self.nodes.len();
        for item in items {
            self.nodes.push(item);
            self.earliest.push(match item {
                Item::Event(event) => event.start,
                Item::Repeat(repeat) => repeat.start + earliest(&repeat.body),
            });
            self.children.push(0..0);
        }
        let range = first..self.nodes.len();
        for (offset, item) in items.iter().enumerate() {
            if let Item::Repeat(repeat) = item {
                let body = Arc::as_ptr(&repeat.body);
                let inner = match known.get(&body) {
                    Some(inner) => inner.clone(),
                    None => self.index(&repeat.body, known),
                };
                known.insert(body, inner.clone());
                self.children[first + offset] = inner;
            }
        }
        range
    }

    fn push(&mut self, node: usize, base: i64, shift: Shift, round: u64) {
        let step = match self.nodes[node] {
            Item::Event(_) => 0,
            Item::Repeat(repeat) => round as i64 * repeat.period as i64,
        };
        self.heap.push(std::cmp::Reverse(Pending {
            time: base + self.earliest[node] + step,
            node,
            round,
            base,
            shift,
        }));
    }
}

impl<'a> Iterator for Events<'a> {
    type Item = Placed<'a>;

    fn next(&mut self) -> Option<Placed<'a>> {
        cancel::check();
        loop {
            let std::cmp::Reverse(next) = self.heap.pop()?;
            let shift = next.shift;
            match self.nodes[next.node] {
                Item::Event(event) => return Some(Placed { event, start: next.time, shift }),
                Item::Repeat(repeat) => {
                    let base = next.base + repeat.start + next.round as i64 * repeat.period as i64;
                    let inner = repeat.shift_of(shift, next.round);
                    for child in self.children[next.node].clone() {
                        self.push(child, base, inner, 0);
                    }
                    if next.round + 1 < repeat.count {
                        self.push(next.node, next.base, shift, next.round + 1);
                    }
                }
            }
        }
    }
}
