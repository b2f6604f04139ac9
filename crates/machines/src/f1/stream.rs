//! The instruction streams, one per component: each instruction is an operation and the cycles to wait until
//! the next (section 3).
//!
//! | component | operations |
//! |---|---|
//! | functional unit | a function of the arriving vector |
//! | register file | send or receive a register's vector |
//! | crossbar port of a cluster | connect to a bank or to another cluster |
//! | scratchpad bank | send or receive a frame's vector |
//! | memory stack | load or store a vector by number |
//!
//! In the binary form, which parses back, every number is a varint with seven bits per byte; the text form has
//! one instruction per line.

use super::action::{Action, Destination, Source, Timed};
use super::bytes::{BytesError, Reader, put};
use super::graph::{Function, Graph, UnitKind};
use super::machine::{F1, Geometry};
use polyfabric_kernels::cancel;
use std::collections::{BTreeMap, HashSet};
use std::fmt::{self, Write};

/// A component with a separate stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Component {
    /// A functional unit: kind, cluster, number.
    Unit(UnitKind, u16, u8),
    Registers(u16),
    /// A cluster's port: 0 from the scratchpad, 1 to it, 2 from the other clusters.
    Port(u8, u16),
    Bank(u16),
    Stack(u16),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// A unit's function.
    Compute(Function),
    /// Send the vector in a register or frame.
    Give(u16),
    /// Receive a vector into a register or frame.
    Take(u16),
    /// Connect to a bank or cluster.
    Connect(u16),
    /// Load a vector by number.
    Load(u32),
    /// Store a vector by number.
    Store(u32),
}

/// An operation, and the cycles from its start to the next one's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Instruction {
    pub operation: Operation,
    /// 0 after the last.
    pub wait: u64,
}

impl Instruction {
    /// Bytes of the binary form.
    pub fn bytes(self) -> u64 {
        self.operation.bytes() + bytes_of(self.wait)
    }
}

impl Operation {
    /// Bytes of the binary form, without the wait cycles.
    pub fn bytes(self) -> u64 {
        let (_, [first, second]) = code(self);
        1 + first.map_or(0, bytes_of) + second.map_or(0, bytes_of)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    pub component: Component,
    /// The cycle of the first instruction.
    pub begin: u64,
    /// In order.
    pub instructions: Vec<Instruction>,
}

/// Why bytes are not streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}; the file is damaged or has no instruction streams")]
pub struct StreamError(#[from] BytesError);

/// The streams of a schedule, in the order of their components.
pub fn streams(graph: &Graph, actions: &[Timed], machine: &F1, geometry: &Geometry) -> Vec<Stream> {
    let mut events: BTreeMap<Component, Vec<(u64, Operation)>> = BTreeMap::new();
    let mut given: HashSet<(Source, u64)> = HashSet::new();
    for timed in actions {
        cancel::check();
        each(graph, timed, machine, geometry, |component, cycle, operation, read| {
            if read.is_none_or(|source| given.insert((source, cycle)) || !machine.multicast) {
                events.entry(component).or_default().push((cycle, operation));
            }
        });
    }
    let stream = |(component, mut events): (Component, Vec<(u64, Operation)>)| {
        events.sort_by_key(|&(cycle, _)| cycle);
        let next = events.iter().skip(1).map(|&(cycle, _)| Some(cycle)).chain([None]);
        let instructions = events
            .iter()
            .zip(next)
            .map(|(&(cycle, operation), next)| Instruction { operation, wait: next.map_or(0, |next| next - cycle) });
        Stream { component, begin: events[0].0, instructions: instructions.collect() }
    };
    events.into_iter().map(stream).collect()
}

/// Calls `at` for each operation of an action, with component, cycle, operation, and the source of a crossbar's
/// read, if any. One read serves all clusters that connect to it in the same cycle.
pub(super) fn each(
    graph: &Graph,
    timed: &Timed,
    machine: &F1,
    geometry: &Geometry,
    mut at: impl FnMut(Component, u64, Operation, Option<Source>),
) {
    let (network, start) = (machine.depth.network, timed.cycle);
    match timed.action {
        Action::Load { stack, frame, value } => {
            at(Component::Stack(stack), start, Operation::Load(value), None);
            at(Component::Bank(frame.bank), start + geometry.load_latency, Operation::Take(frame.index), None);
        }
        Action::Store { stack, frame, value } => {
            at(Component::Bank(frame.bank), start, Operation::Give(frame.index), None);
            at(Component::Stack(stack), start, Operation::Store(value), None);
        }
        Action::Fetch { frame, register, .. } => {
            at(Component::Bank(frame.bank), start, Operation::Give(frame.index), Some(Source::Scratchpad(frame)));
            at(Component::Port(0, register.cluster), start + network, Operation::Connect(frame.bank), None);
            at(Component::Registers(register.cluster), start + network, Operation::Take(register.index), None);
        }
        Action::WriteBack { register, frame, .. } => {
            at(Component::Registers(register.cluster), start, Operation::Give(register.index), None);
            at(Component::Port(1, register.cluster), start, Operation::Connect(frame.bank), None);
            at(Component::Bank(frame.bank), start + network, Operation::Take(frame.index), None);
        }
        Action::Forward { from, to, .. } => {
            at(Component::Registers(from.cluster), start, Operation::Give(from.index), Some(Source::Cluster(from)));
            at(Component::Port(2, to.cluster), start + network, Operation::Connect(from.cluster), None);
            at(Component::Registers(to.cluster), start + network, Operation::Take(to.index), None);
        }
        Action::Execute { instruction, cluster, unit, operands, result } => {
            let function = graph.function(instruction as usize);
            let distinct = if operands[0] == operands[1] { &operands[..1] } else { &operands[..] };
            for &operand in distinct {
                let (giver, index, port) = match operand {
                    Source::Register(index) => {
                        at(Component::Registers(cluster), start, Operation::Give(index), None);
                        continue;
                    }
                    Source::Scratchpad(frame) => (Component::Bank(frame.bank), frame.index, (0, frame.bank)),
                    Source::Cluster(from) => (Component::Registers(from.cluster), from.index, (2, from.cluster)),
                };
                at(giver, start - network, Operation::Give(index), Some(operand));
                at(Component::Port(port.0, cluster), start, Operation::Connect(port.1), None);
            }
            at(Component::Unit(function.unit(), cluster, unit), start, Operation::Compute(function), None);
            let end = start + geometry.latency(function);
            match result {
                Destination::Register(index) => at(Component::Registers(cluster), end, Operation::Take(index), None),
                Destination::Scratchpad(frame) => {
                    at(Component::Port(1, cluster), end, Operation::Connect(frame.bank), None);
                    at(Component::Bank(frame.bank), end + network, Operation::Take(frame.index), None);
                }
            }
        }
    }
}

/// Bytes of a varint.
pub(super) fn bytes_of(number: u64) -> u64 {
    u64::from((64 - (number | 1).leading_zeros()).div_ceil(7))
}

impl Component {
    /// Bytes of the header of a stream with `instructions` instructions in the binary form.
    pub(super) fn head_bytes(self, begin: u64, instructions: u64) -> u64 {
        let [kind, first, second] = self.numbers();
        [kind, first, second, begin, instructions].map(bytes_of).iter().sum()
    }

    fn numbers(self) -> [u64; 3] {
        match self {
            Component::Unit(kind, cluster, unit) => [kind as u64, u64::from(cluster), u64::from(unit)],
            Component::Registers(cluster) => [4, u64::from(cluster), 0],
            Component::Port(way, cluster) => [5, u64::from(cluster), u64::from(way)],
            Component::Bank(bank) => [6, u64::from(bank), 0],
            Component::Stack(stack) => [7, u64::from(stack), 0],
        }
    }
}

/// The binary form of all streams.
pub fn encode(streams: &[Stream]) -> Vec<u8> {
    let mut bytes = Vec::new();
    put(&mut bytes, streams.len() as u64);
    for stream in streams {
        let [kind, first, second] = stream.component.numbers();
        for number in [kind, first, second, stream.begin, stream.instructions.len() as u64] {
            put(&mut bytes, number);
        }
        for instruction in &stream.instructions {
            let (code, numbers) = code(instruction.operation);
            bytes.push(code);
            for number in numbers.into_iter().flatten().chain([instruction.wait]) {
                put(&mut bytes, number);
            }
        }
    }
    bytes
}

/// Code and operands of an operation.
fn code(operation: Operation) -> (u8, [Option<u64>; 2]) {
    let one = |number: u64| [Some(number), None];
    // The subpolynomial is almost always 0, so this is as short as the limb.
    let of_subpolynomial = |limb: u16, subpolynomial: u16| u64::from(subpolynomial) << 16 | u64::from(limb);
    let two = |a: u16, b: u32| [Some(u64::from(a)), Some(u64::from(b))];
    match operation {
        Operation::Compute(Function::ForwardNtt { limb, subpolynomial }) => {
            (0, one(of_subpolynomial(limb, subpolynomial)))
        }
        Operation::Compute(Function::InverseNtt { limb, subpolynomial }) => {
            (1, one(of_subpolynomial(limb, subpolynomial)))
        }
        Operation::Compute(Function::Automorphism { limb, element, subpolynomial, values }) => {
            (2 + u8::from(values), [Some(of_subpolynomial(limb, subpolynomial)), Some(element.into())])
        }
        Operation::Compute(Function::Multiply { limb }) => (4, one(limb.into())),
        Operation::Compute(Function::MultiplyConstant { limb, constant }) => (5, two(limb, constant)),
        Operation::Compute(Function::Add { limb }) => (6, one(limb.into())),
        Operation::Compute(Function::Subtract { limb }) => (7, one(limb.into())),
        Operation::Compute(Function::Negate { limb }) => (8, one(limb.into())),
        Operation::Compute(Function::AddConstant { limb, constant, values }) => {
            (9 + u8::from(values), two(limb, constant))
        }
        Operation::Give(place) => (11, one(place.into())),
        Operation::Take(place) => (12, one(place.into())),
        Operation::Connect(to) => (13, one(to.into())),
        Operation::Load(value) => (14, one(value.into())),
        Operation::Store(value) => (15, one(value.into())),
    }
}

/// Decodes the output of [`encode`].
pub fn decode(bytes: &[u8]) -> Result<Vec<Stream>, StreamError> {
    let mut reader = Reader::new(bytes);
    let streams = reader.count(5)?;
    let mut found = Vec::with_capacity(streams);
    for _ in 0..streams {
        let kind: usize = reader.narrow()?;
        let (first, second): (u16, u8) = (reader.narrow()?, reader.narrow()?);
        let component = match kind {
            0..=3 => Component::Unit(UnitKind::ALL[kind], first, second),
            4 => Component::Registers(first),
            5 => Component::Port(second, first),
            6 => Component::Bank(first),
            7 => Component::Stack(first),
            _ => return Ok(reader.fail("no such component")?),
        };
        let begin = reader.number()?;
        let count = reader.count(3)?;
        let mut instructions = Vec::with_capacity(count);
        for _ in 0..count {
            let code = reader.byte()?;
            let operation = match code {
                0..=3 => {
                    let number: u32 = reader.narrow()?;
                    let (limb, subpolynomial) = (number as u16, (number >> 16) as u16);
                    Operation::Compute(match code {
                        0 => Function::ForwardNtt { limb, subpolynomial },
                        1 => Function::InverseNtt { limb, subpolynomial },
                        _ => {
                            Function::Automorphism { limb, element: reader.narrow()?, subpolynomial, values: code == 3 }
                        }
                    })
                }
                4 => Operation::Compute(Function::Multiply { limb: reader.narrow()? }),
                5 => {
                    let (limb, constant) = (reader.narrow()?, reader.narrow()?);
                    Operation::Compute(Function::MultiplyConstant { limb, constant })
                }
                6 => Operation::Compute(Function::Add { limb: reader.narrow()? }),
                7 => Operation::Compute(Function::Subtract { limb: reader.narrow()? }),
                8 => Operation::Compute(Function::Negate { limb: reader.narrow()? }),
                9 | 10 => {
                    let (limb, constant) = (reader.narrow()?, reader.narrow()?);
                    Operation::Compute(Function::AddConstant { limb, constant, values: code == 10 })
                }
                11 => Operation::Give(reader.narrow()?),
                12 => Operation::Take(reader.narrow()?),
                13 => Operation::Connect(reader.narrow()?),
                14 => Operation::Load(reader.narrow()?),
                15 => Operation::Store(reader.narrow()?),
                _ => return Ok(reader.fail("no such operation")?),
            };
            instructions.push(Instruction { operation, wait: reader.number()? });
        }
        found.push(Stream { component, begin, instructions });
    }
    reader.finish()?;
    Ok(found)
}

impl fmt::Display for Component {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unit(kind, cluster, unit) => write!(f, "cluster {cluster} {} {unit}", kind.name()),
            Self::Registers(cluster) => write!(f, "cluster {cluster} registers"),
            Self::Port(way, cluster) => {
                let way = ["from scratchpad", "to scratchpad", "from clusters"].get(usize::from(*way)).unwrap_or(&"?");
                write!(f, "cluster {cluster} {way}")
            }
            Self::Bank(bank) => write!(f, "bank {bank}"),
            Self::Stack(stack) => write!(f, "hbm {stack}"),
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Compute(function) => {
                write!(f, "{} q{}", function.name(), function.limb())?;
                if let Function::ForwardNtt { subpolynomial: subpolynomial @ 1.., .. }
                | Function::InverseNtt { subpolynomial: subpolynomial @ 1.., .. }
                | Function::Automorphism { subpolynomial: subpolynomial @ 1.., .. } = function
                {
                    write!(f, " subpolynomial {subpolynomial}")?;
                }
                match function {
                    Function::Automorphism { element: number, values, .. }
                    | Function::AddConstant { constant: number, values, .. } => {
                        write!(f, " {number} {}", if *values { "values" } else { "coefficients" })
                    }
                    Function::MultiplyConstant { constant, .. } => write!(f, " {constant}"),
                    _ => Ok(()),
                }
            }
            Self::Give(place) => write!(f, "give {place}"),
            Self::Take(place) => write!(f, "take {place}"),
            Self::Connect(to) => write!(f, "connect {to}"),
            Self::Load(value) => write!(f, "load {value}"),
            Self::Store(value) => write!(f, "store {value}"),
        }
    }
}

/// The text form of all streams: a header with the first cycle, then one instruction per line.
pub fn text(streams: &[Stream]) -> String {
    let mut text = String::new();
    for stream in streams {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{}: from cycle {}", stream.component, stream.begin);
        for Instruction { operation, wait } in &stream.instructions {
            cancel::check();
            let _ = writeln!(text, "    {operation}, wait {wait}");
        }
    }
    text
}
