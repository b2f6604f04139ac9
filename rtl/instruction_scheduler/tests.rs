//! Do instructions of compiled programs start in the cycles of Morphling's schedule, in its order?

use crate::morphling_xpu::built_in;
use polyfabric_kernels::decompose::Gadget;
use polyfabric_machines::contract::tfhe::lowering;
use polyfabric_machines::morphling::channels::items;
use polyfabric_machines::morphling::hardware::Timeline;
use polyfabric_machines::morphling::instruction::{Instruction, Opcode, WORD_BYTES};
use polyfabric_machines::morphling::machine::Morphling;
use polyfabric_machines::morphling::map;
use polyfabric_machines::morphling::software::{Group, Streams, Unit, schedule};
use polyfabric_machines::tfhe::dispatcher::{self, Started};
use polyfabric_machines::{Machine, registry};
use polyfabric_program::tfhe::builtin::build_for;
use polyfabric_program::tfhe::homomorphic::{Builder, ElementType, LookupResult, Range, Table};
use polyfabric_program::tfhe::kernel::KernelProgram;
use polyfabric_program::tfhe::lowering::{KeySwitchOrder, lower};
use polyfabric_rtl::{Bench, Bits, Output, Reader, Simulation};
use polyfabric_schemes::tfhe::noise::Transform;
use polyfabric_schemes::tfhe::{Parameters, ParametersLiteral, sets};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Kinds of instructions that are not of lane groups; those follow, three for each.
const KINDS: [Opcode; 11] = [
    Opcode::Fetch,
    Opcode::LoadSmall,
    Opcode::LoadTables,
    Opcode::LoadTile,
    Opcode::StoreLarge,
    Opcode::StoreSmall,
    Opcode::LoadTwiddles,
    Opcode::LoadAccumulators,
    Opcode::StoreAccumulators,
    Opcode::FillTwiddles,
    Opcode::BlindRotate,
];

/// Groups whose words the queues have room for. In the model, six wait at most.
const ROOM: u64 = 8;

/// The inputs of the scheduler in a cycle.
#[derive(Clone, Default)]
pub struct Cycle {
    /// Node whose word comes.
    pub word: Option<usize>,
    pub fetched: bool,
    wave: bool,
    pub frees: BTreeSet<usize>,
    pub ends: BTreeSet<usize>,
}

/// A machine with a program of bootstraps.
pub struct Program {
    machine: Morphling,
    /// With the dependences, which the schedule no longer has.
    pub streams: Streams,
    pub timeline: Timeline,
    results: HashMap<usize, u32>,
}

impl Program {
    pub fn new(machine: &Machine, parameters: &Parameters, order: KeySwitchOrder, count: usize) -> Self {
        let choice = lowering(machine, parameters, order).expect("a 32-bit set");
        let program =
            build_for(built_in(order), Some(1), parameters, count, &choice, Transform::Exact).expect("a program");
        Self::of(machine, &program.kernel)
    }

    fn of(machine: &Machine, program: &KernelProgram) -> Self {
        let machine = Morphling::new(machine).expect("its figures");
        let streams = schedule(&machine, program).expect("it fits");
        let timeline = map(&machine, program).expect("it fits").timeline;
        let mut scheduled = Self { machine, streams, timeline, results: HashMap::new() };
        scheduled.results = scheduled.results();
        scheduled
    }

    /// For loads of earlier results, how far stores must be done: words up to the last of them, in the order of the words.
    fn results(&self) -> HashMap<usize, u32> {
        let order: HashMap<usize, u32> = self.words().values().filter_map(|cycle| cycle.word).zip(1..).collect();
        let stores = |node: &usize| {
            let waits = self.streams.waits.of(*node).iter().map(|wait| wait.node as usize);
            let stored =
                |&wait: &usize| matches!(self.instruction(wait).opcode, Opcode::StoreLarge | Opcode::StoreSmall);
            waits.filter(stored).map(|store| order[&store]).max()
        };
        let loads = (0..self.streams.nodes.len()).filter(|&node| self.instruction(node).opcode == Opcode::LoadSmall);
        loads.filter_map(|node| Some((node, stores(&node)?))).collect()
    }

    fn lane_groups(&self) -> usize {
        self.machine.lane_groups as usize
    }

    pub fn units(&self) -> usize {
        4 + self.lane_groups()
    }

    fn groups(&self) -> &[Group] {
        &self.streams.groups
    }

    pub fn instruction(&self, node: usize) -> &Instruction {
        &self.streams.nodes[node].instruction
    }

    pub fn unit(&self, node: usize) -> usize {
        match self.streams.nodes[node].unit {
            Unit::Dma => 0,
            Unit::KeyDma => 1,
            Unit::Link => 2,
            Unit::Array => 3,
            Unit::Lanes(group) => 4 + group as usize,
        }
    }

    pub fn kind(&self, node: usize) -> usize {
        let i = self.instruction(node);
        let of_lanes = |number: usize| KINDS.len() + 3 * i.unit as usize + number;
        match i.opcode {
            Opcode::ModulusSwitch => of_lanes(0),
            Opcode::SampleExtract => of_lanes(1),
            Opcode::KeySwitch => of_lanes(2),
            opcode => KINDS.iter().position(|&kind| kind == opcode).expect("an instruction of bootstraps"),
        }
    }

    pub fn word(&self, node: usize) -> Bits {
        let i = self.instruction(node);
        let bits = Bits::new().fields([i.opcode as u8, i.unit, i.wave, i.entry], 8).fields([i.count, i.part], 16);
        let bits = bits.fields([i.operation, i.group, i.first, i.length, i.amount], 32);
        let rest = 8 * WORD_BYTES - bits.width();
        bits.field(self.results.get(&node).copied().unwrap_or(0), rest)
    }

    fn simulate(&self) -> Simulation {
        let layout = &self.streams.layout;
        let tiles = layout.sizes.large_dimension.checked_div(layout.tile_elements).unwrap_or(1);
        Bench::new("instruction_scheduler")
            .parameter("LANE_GROUPS", self.machine.lane_groups)
            .parameter("WAVES", layout.waves)
            .parameter("HALVES", layout.halves)
            .parameter("SHARED_IN", layout.shared_in.entries)
            .parameter("SHARED_OUT", layout.shared_out.entries)
            .parameter("TILES", ROOM * tiles.next_power_of_two())
            .simulate()
            .expect("a unit")
    }

    /// Cycles of a transfer's parts on its channels: channel, first, and the one after the last.
    fn parts(&self, node: usize) -> impl Iterator<Item = (u32, i64, i64)> + '_ {
        let (timeline, bytes) = (&self.timeline, items(self.instruction(node)).bytes);
        timeline.parts.of(node as u32).iter().map(move |part| {
            let start = timeline.starts[node] + part.start;
            (part.channel, start, start + self.machine.channel_cycles(part.count * bytes))
        })
    }

    /// The first cycle in which a node's unit is free after it.
    pub fn free(&self, node: usize) -> i64 {
        let (start, info) = (self.timeline.starts[node], &self.streams.nodes[node]);
        match info.unit {
            Unit::Dma | Unit::KeyDma => {
                let mut last = BTreeMap::new();
                for (channel, _, end) in self.parts(node) {
                    last.insert(channel, end);
                }
                *last.values().min().expect("a part")
            }
            _ if info.instruction.opcode == Opcode::BlindRotate => {
                start + self.timeline.rotations[&(node as u32)].issue_end
            }
            _ => start + i64::from(info.occupancy),
        }
    }

    /// Words by cycle of the schedule. A word takes a cycle, and a group's last one comes as its fetch ends.
    pub fn words(&self) -> BTreeMap<i64, Cycle> {
        let timeline = &self.timeline;
        let mut words: BTreeMap<i64, usize> = BTreeMap::new();
        // From the last group on, so that earlier words come earlier.
        let mut next = i64::MAX;
        for (number, group) in self.groups().iter().enumerate().rev() {
            let fetch = group.nodes.start as usize;
            let following = (number > 0).then(|| self.groups().get(number + 1)).flatten();
            let own = group.nodes.clone().skip(1).map(|node| node as usize);
            let of_group: Vec<usize> = own.chain(following.map(|group| group.nodes.start as usize)).collect();
            let mut at = timeline.ends[fetch].min(next);
            for node in of_group.into_iter().rev() {
                at -= 1;
                words.insert(at, node);
            }
            next = at;
        }
        let word = |(at, node)| (at, Cycle { word: Some(node), ..Cycle::default() });
        words.into_iter().map(word).collect()
    }

    /// The same with frees and ends of the schedule's units. The first two fetches are the host's.
    fn cycles(&self, late: Option<usize>) -> BTreeMap<i64, Cycle> {
        let timeline = &self.timeline;
        let mut cycles = self.words();
        for node in 0..self.streams.nodes.len() {
            let mut before = |cycle: i64, change: &dyn Fn(&mut Cycle) -> bool| {
                assert!(change(cycles.entry(cycle - 1).or_default()), "the same twice in cycle {cycle}, node {node}");
            };
            let fetches_first = self.instruction(node).opcode == Opcode::Fetch && self.instruction(node).group < 2;
            let end = timeline.ends[node] + i64::from(late == Some(node));
            if self.instruction(node).opcode == Opcode::Fetch {
                before(end, &|cycle| !std::mem::replace(&mut cycle.fetched, true));
            }
            if !fetches_first {
                before(end, &|cycle| cycle.ends.insert(self.kind(node)));
            }
            // The host's last fetch frees the channels.
            let hosts_last = self.groups().len().min(2) as u32 - 1;
            if !fetches_first || self.instruction(node).group == hosts_last {
                before(self.free(node), &|cycle| cycle.frees.insert(self.unit(node)));
            }
            if let Some(rotation) = timeline.rotations.get(&(node as u32)) {
                for done in &rotation.wave_done {
                    before(timeline.starts[node] + done, &|cycle| !std::mem::replace(&mut cycle.wave, true));
                }
            }
        }
        cycles
    }

    /// Cycles of the schedule in which nodes start, by node, and whether a queue was full or ended what had not started.
    fn run(&self, unit: &Simulation, late: Option<usize>) -> (Vec<(i64, usize)>, bool) {
        let cycles = self.cycles(late);
        let (&origin, &last) =
            cycles.first_key_value().zip(cycles.last_key_value()).map(|(a, b)| (a.0, b.0)).expect("words");
        let kinds = KINDS.len() + 3 * self.lane_groups();
        let flags = |set: &BTreeSet<usize>, count: usize| -> Vec<u8> {
            (0..count).map(|number| u8::from(set.contains(&number))).collect()
        };
        let stream = (origin..=last).map(|cycle| {
            let cycle = cycles.get(&cycle)?;
            let bits = Bits::new().fields([cycle.word.is_some(), cycle.fetched].map(u8::from), 1);
            let bits = bits.fields(flags(&cycle.frees, self.units()), 1).fields(flags(&cycle.ends, kinds), 1);
            let bits = bits.field(u8::from(cycle.wave), 1);
            let word = cycle.word.map_or_else(|| vec![0; WORD_BYTES], |node| self.word(node).bytes().to_vec());
            Some(bits.fields(word, 8))
        });
        let outputs = unit.run(stream, 2).expect("a run");
        let nodes: HashMap<Vec<u8>, usize> =
            (0..self.streams.nodes.len()).map(|node| (self.word(node).bytes().to_vec(), node)).collect();
        assert_eq!(nodes.len(), self.streams.nodes.len(), "different words");
        let mut wrong = false;
        let mut started = |output: &Output| {
            let mut reader = Reader::new(&output.bytes);
            let starts: Vec<bool> = (0..self.units()).map(|_| reader.unsigned(1) == 1).collect();
            wrong |= reader.unsigned(1) == 1;
            let words: Vec<Vec<u8>> =
                starts.iter().map(|_| (0..WORD_BYTES).map(|_| reader.unsigned(8) as u8).collect()).collect();
            let cycle = output.cycle as i64 + origin;
            let of_unit = |unit: usize| (cycle, nodes[&words[unit]]);
            (0..self.units()).filter(|&unit| starts[unit]).map(of_unit).collect::<Vec<_>>()
        };
        let starts = outputs.iter().flat_map(&mut started).collect();
        (starts, wrong)
    }

    /// Cycles in which the model's scheduler takes the instructions, by node. They may wait for a bank or a channel after that.
    pub fn expected(&self) -> Vec<i64> {
        let Timeline { starts, ends, rotations, .. } = &self.timeline;
        let mut expected = vec![0; starts.len()];
        let dispatch = |node: u32, now: i64| {
            expected[node as usize] = now;
            let (start, end, free) = (starts[node as usize], ends[node as usize], self.free(node as usize));
            let waves = rotations.get(&node).map_or(vec![], |rotation| rotation.wave_done.clone());
            Started { start, end, free, waves: waves.into_iter().map(|done| start + done).collect() }
        };
        let times = dispatcher::run(&self.streams.nodes, |node| self.streams.waits.of(node), dispatch);
        assert_eq!(&times.ends, ends);
        expected
    }

    /// Every instruction starts in the schedule's cycle.
    fn holds(&self, unit: &Simulation) {
        let (expected, hosts) = (self.expected(), self.groups().len().min(2));
        let (found, wrong) = self.run(unit, None);
        assert!(!wrong, "a queue is full, or ends what has not started");
        assert_eq!(found.len(), self.streams.nodes.len() - hosts);
        for (cycle, node) in found {
            assert_eq!(cycle, expected[node], "node {node}, {:?}", self.instruction(node));
        }
    }
}

fn morphling() -> Machine {
    registry::description("morphling").expect("a machine")
}

/// The set with `lwe_dimension` iterations, and two levels of the key switch.
fn short(set: &str, lwe_dimension: usize) -> Parameters {
    let mut literal: ParametersLiteral = sets::literal(set).expect("a set").clone();
    (literal.name, literal.lwe_dimension) = ("short".to_owned(), lwe_dimension);
    literal.key_switch_gadget = Some(Gadget { log2_base: 8, levels: 2 });
    Parameters::check(&literal).expect("a set")
}

/// Bootstraps of bootstraps' results, `levels` after each other.
fn chain(machine: &Machine, parameters: &Parameters, order: KeySwitchOrder, count: usize, levels: usize) -> Program {
    let bit = Range::new(0, 1).expect("a range");
    let not = Table::tabulate(bit, |value| 1 - value).expect("a table");
    let mut builder = Builder::new("chain").expect("a name");
    let mut value = builder.input("x", ElementType::Integer(bit), count).expect("an input");
    for _ in 0..levels {
        value = builder.lookup(value, vec![not.clone()], None, LookupResult::Integer).expect("a lookup");
    }
    builder.output("y", value).expect("an output");
    let choice = lowering(machine, parameters, order).expect("a 32-bit set");
    let program = lower(&builder.finish().expect("a program"), parameters, &choice).expect("it is lowered");
    Program::of(machine, &program)
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn bootstraps_of_stored_results() {
    // Each of the three levels has two groups. A group is loaded when the group whose results it reads is stored.
    let mut program = chain(&morphling(), &short("morphling-I", 100), KeySwitchOrder::After, 80, 3);
    assert_eq!(program.groups().len(), 6);
    let unit = program.simulate();
    program.holds(&unit);
    program.results.clear();
    let expected = program.expected();
    let early = program.run(&unit, None).0.into_iter().filter(|&(cycle, node)| cycle < expected[node]);
    assert!(early.count() > 0, "loads wait for stores");
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn instructions_of_four_groups() {
    // The last group is not full.
    for (set, order) in [("morphling-I", KeySwitchOrder::After), ("morphling-III", KeySwitchOrder::None)] {
        let program = Program::new(&morphling(), &short(set, 100), order, 197);
        let unit = program.simulate();
        program.holds(&unit);
        let loads = |&node: &usize| program.instruction(node).opcode == Opcode::LoadAccumulators;
        let rotation = program.groups()[0].rotation.expect("a rotation") as usize;
        let late = (0..rotation).rev().find(loads).expect("a load");
        assert_ne!(program.run(&unit, Some(late)).0, program.run(&unit, None).0, "a late end should delay others");
    }
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn full_size_set_one() {
    let set = sets::parameters("morphling-I").expect("a set");
    let program = Program::new(&morphling(), &set, KeySwitchOrder::After, 80);
    program.holds(&program.simulate());
}
