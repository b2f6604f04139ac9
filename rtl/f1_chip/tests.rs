//! Do the streams of a compiled key switch compute it on a whole chip, with every stored word in the schedule's cycle?

use crate::f1;
use crate::f1_replay::{Case, rotation};
use crate::four_step_ntt::rows;
use polyfabric_kernels::automorphism::GaloisElement;
use polyfabric_kernels::modular::PrimeForm;
use polyfabric_kernels::ntt::EvaluationOrder;
use polyfabric_machines::f1::action::{Action, Destination, Source};
use polyfabric_machines::f1::compile::{Accepted, compile};
use polyfabric_machines::f1::graph::{Function, UnitKind};
use polyfabric_machines::f1::machine::F1;
use polyfabric_machines::f1::stream::{Component, Operation, Stream, decode, encode};
use polyfabric_machines::rns::leaf::Leaf;
use polyfabric_rtl::{Bench, Bits, Output, Reader, Simulation};
use polyfabric_schemes::rns::LimbId;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

const WIDTH: usize = 32;
const LIMBS: usize = 3;
const TABLES: usize = 2 * LIMBS;
const ACCESSES: usize = 2;
const DEPTH: u64 = 512;

fn bits_of(most: usize) -> usize {
    most.next_power_of_two().ilog2() as usize
}

/// A chip that holds the whole program of a ring of degree `lanes`², with one memory stack that brings a word a cycle.
fn machine(lanes: usize, clusters: usize) -> F1 {
    let bytes = (lanes * lanes * 4) as u64;
    F1 {
        clusters,
        banks: 4,
        stacks: 1,
        stack_bytes: (lanes * 4) as f64,
        register_file: 16 * bytes,
        bank_bytes: 32 * bytes,
        ..f1(lanes)
    }
}

/// Where a receiver gets its words.
#[derive(Clone, Copy, Debug)]
enum From {
    /// A stream of a register file or a bank, by its number.
    Move(usize),
    Scratchpad,
    Clusters,
    /// A unit of the cluster, by its number.
    Unit(usize),
    Memory,
}

/// A vector that enters or leaves a register file or a bank.
#[derive(Debug)]
struct Move {
    component: Component,
    cycle: u64,
    /// Source or destination, as the memory's operation has it.
    route: usize,
    /// The access that carries it.
    access: usize,
}

/// An instruction with what its stream does not say: which words meet in one cycle.
enum Routed {
    Move(usize),
    Unit(Function, Vec<From>),
    Port(From),
    Stack,
}

/// The connections of a schedule.
struct Routes<'a> {
    machine: &'a F1,
    moves: Vec<Move>,
    routed: HashMap<(Component, u64, Operation), VecDeque<Routed>>,
}

impl<'a> Routes<'a> {
    fn new(accepted: &Accepted, machine: &'a F1) -> Self {
        let mut routes = Self { machine, moves: Vec::new(), routed: HashMap::new() };
        let mut sent: HashSet<(Source, u64)> = HashSet::new();
        let network = machine.depth.network;
        for timed in &accepted.actions {
            let start = timed.cycle;
            match timed.action {
                Action::Load { stack, frame, value } => {
                    routes.push(Component::Stack(stack), start, Operation::Load(value), Routed::Stack);
                    let arrives = start + accepted.geometry.load_latency;
                    routes.moved(Component::Bank(frame.bank), arrives, Operation::Take(frame.index), From::Memory);
                }
                Action::Store { stack, frame, value } => {
                    routes.moved(Component::Bank(frame.bank), start, Operation::Give(frame.index), From::Memory);
                    routes.push(Component::Stack(stack), start, Operation::Store(value), Routed::Stack);
                }
                Action::Fetch { frame, register, .. } => {
                    routes.read(register.cluster, start + network, Source::Scratchpad(frame), &mut sent);
                    let file = Component::Registers(register.cluster);
                    routes.moved(file, start + network, Operation::Take(register.index), From::Scratchpad);
                }
                Action::WriteBack { register, frame, .. } => {
                    let file = Component::Registers(register.cluster);
                    let from = routes.moved(file, start, Operation::Give(register.index), From::Unit(0));
                    let port = Component::Port(1, register.cluster);
                    routes.push(port, start, Operation::Connect(frame.bank), Routed::Port(from));
                    let bank = Component::Bank(frame.bank);
                    routes.moved(bank, start + network, Operation::Take(frame.index), From::Scratchpad);
                }
                Action::Forward { from, to, .. } => {
                    routes.read(to.cluster, start + network, Source::Cluster(from), &mut sent);
                    let file = Component::Registers(to.cluster);
                    routes.moved(file, start + network, Operation::Take(to.index), From::Clusters);
                }
                Action::Execute { instruction, cluster, unit, operands, result } => {
                    let function = accepted.translation.graph.function(instruction as usize);
                    let first = routes.read(cluster, start, operands[0], &mut sent);
                    let second = match operands[0] == operands[1] {
                        true => first,
                        false => routes.read(cluster, start, operands[1], &mut sent),
                    };
                    let own = Component::Unit(function.unit(), cluster, unit);
                    let routed = Routed::Unit(function, vec![first, second]);
                    routes.push(own, start, Operation::Compute(function), routed);
                    let from = From::Unit(number_of(machine, function.unit(), unit));
                    let end = start + accepted.geometry.latency(function);
                    match result {
                        Destination::Register(index) => {
                            routes.moved(Component::Registers(cluster), end, Operation::Take(index), from);
                        }
                        Destination::Scratchpad(frame) => {
                            let port = Component::Port(1, cluster);
                            routes.push(port, end, Operation::Connect(frame.bank), Routed::Port(from));
                            let bank = Component::Bank(frame.bank);
                            routes.moved(bank, end + network, Operation::Take(frame.index), From::Scratchpad);
                        }
                    }
                }
            }
        }
        routes.allocate();
        routes
    }

    fn push(&mut self, component: Component, cycle: u64, operation: Operation, routed: Routed) {
        self.routed.entry((component, cycle, operation)).or_default().push_back(routed);
    }

    /// A stream of a memory. A register file gives to its own cluster unless `from` says otherwise.
    fn moved(&mut self, component: Component, cycle: u64, operation: Operation, from: From) -> From {
        let units = self.units();
        let route = match (component, from) {
            (Component::Bank(_), From::Memory) => 1,
            (Component::Bank(_), _) => 0,
            (_, From::Unit(unit)) => unit,
            (_, From::Scratchpad) => units,
            (_, From::Clusters) => units + 1,
            (_, From::Memory | From::Move(_)) => unreachable!("not a source of registers"),
        };
        let number = self.moves.len();
        self.moves.push(Move { component, cycle, route, access: 0 });
        self.push(component, cycle, operation, Routed::Move(number));
        From::Move(number)
    }

    /// An operand that is at its reader in a cycle, with what brings it there. One read serves all readers.
    fn read(&mut self, cluster: u16, cycle: u64, of: Source, sent: &mut HashSet<(Source, u64)>) -> From {
        let leaves = cycle - self.machine.depth.network;
        let (giver, index, way, place, from, route) = match of {
            Source::Register(index) => {
                let give = Operation::Give(index);
                return self.moved(Component::Registers(cluster), cycle, give, From::Unit(0));
            }
            Source::Scratchpad(frame) => {
                (Component::Bank(frame.bank), frame.index, 0, frame.bank, From::Scratchpad, From::Scratchpad)
            }
            Source::Cluster(register) => {
                let file = Component::Registers(register.cluster);
                (file, register.index, 2, register.cluster, From::Clusters, From::Unit(1))
            }
        };
        if sent.insert((of, leaves)) {
            self.moved(giver, leaves, Operation::Give(index), route);
        }
        self.push(Component::Port(way, cluster), cycle, Operation::Connect(place), Routed::Port(from));
        from
    }

    fn units(&self) -> usize {
        self.machine.units.iter().sum()
    }

    /// Gives each stream of a memory a free access.
    fn allocate(&mut self) {
        let banks = self.machine.register_banks as u64;
        let mut order: Vec<usize> = (0..self.moves.len()).collect();
        order.sort_by_key(|&number| self.moves[number].cycle);
        let mut busy: HashMap<(Component, u64), [u64; ACCESSES]> = HashMap::new();
        for number in order {
            let one = &mut self.moves[number];
            let class = if matches!(one.component, Component::Bank(_)) { 0 } else { one.cycle % banks };
            let until = busy.entry((one.component, class)).or_default();
            one.access = until.iter().position(|&until| until <= one.cycle).expect("an access is free");
            until[one.access] = one.cycle + self.machine.lanes as u64;
        }
    }
}

fn number_of(machine: &F1, kind: UnitKind, unit: u8) -> usize {
    machine.units[..kind as usize].iter().sum::<usize>() + usize::from(unit)
}

/// What the test loads and starts.
struct Chip<'a> {
    machine: &'a F1,
    accepted: &'a Accepted,
    limbs: Vec<PrimeForm>,
    simulation: Simulation,
}

impl<'a> Chip<'a> {
    fn new(machine: &'a F1, accepted: &'a Accepted) -> Self {
        let simulation = Bench::new("f1_chip")
            .compact()
            .parameter("LANES", machine.lanes as u64)
            .parameter("TABLES", TABLES as u64)
            .parameter("MULTIPLIERS", machine.units[UnitKind::Multiply as usize] as u64)
            .parameter("ADDERS", machine.units[UnitKind::Add as usize] as u64)
            .parameter("REGISTERS", accepted.geometry.registers as u64)
            .parameter("REGISTER_BANKS", machine.register_banks as u64)
            .parameter("BANKS", machine.banks as u64)
            .parameter("FRAMES", accepted.geometry.frames as u64)
            .parameter("CLUSTERS", machine.clusters as u64)
            .parameter("NETWORK", machine.depth.network)
            .parameter("DEPTH", DEPTH)
            .parameter("LATENCY", accepted.geometry.load_latency)
            .simulate()
            .expect("a chip");
        let moduli = accepted.translation.moduli.iter();
        let limbs = moduli.map(|&modulus| PrimeForm::new(modulus).expect("of the form")).collect();
        Self { machine, accepted, limbs, simulation }
    }

    /// Words of a vector, and its words' residues.
    fn lanes(&self) -> usize {
        self.machine.lanes
    }

    fn bus(&self, kind: u8, number: usize, component: usize, words: Bits) -> Bits {
        let padding = self.lanes() * WIDTH - words.width();
        let bus = Bits::new().field(kind, 2).field(number as u64, 8).field(component as u64, 8);
        let words = words.fields(std::iter::repeat_n(0u8, padding), 1);
        let mut reader = Reader::new(words.bytes());
        (0..self.lanes()).fold(bus, |bus, _| bus.field(reader.unsigned(WIDTH) as u64, WIDTH))
    }

    fn order(&self) -> EvaluationOrder {
        EvaluationOrder::FourStep { vector: self.lanes() }
    }

    /// The rows of all tables, in the forms that the vectors have: coefficients are plain, and values are Montgomery's.
    fn tables(&self) -> Vec<Bits> {
        let mut buses = Vec::new();
        for (limb, multiplier) in self.limbs.iter().enumerate() {
            for inverse in [false, true] {
                let rows = rows(multiplier.modulus(), self.lanes(), self.lanes(), inverse);
                for (number, row) in rows.into_iter().enumerate() {
                    let form = |factor: u64| match (number < self.lanes(), inverse) {
                        (true, false) => multiplier.enter(multiplier.enter(factor)),
                        (true, true) => factor,
                        (false, _) => multiplier.enter(factor),
                    };
                    let words = Bits::new().fields(row.into_iter().map(form), WIDTH);
                    buses.push(self.bus(1, 2 * limb + usize::from(inverse), number, words));
                }
            }
        }
        buses
    }

    /// A unit's operation with its operands.
    fn unit(&self, function: Function, operands: &[From], moves: &[Move]) -> Bits {
        let multiplier = self.limbs[usize::from(function.limb())];
        let from = |operand: &From| match *operand {
            From::Move(number) => moves[number].access,
            From::Scratchpad => 2,
            From::Clusters => 3,
            From::Unit(_) | From::Memory => unreachable!("not an operand"),
        };
        let enter = |constant: u32| multiplier.enter(u64::from(constant));
        let (mut inverse, mut subtract, mut negate, mut constant, mut factor) = (false, false, false, None, 0);
        match function {
            Function::ForwardNtt { .. } | Function::Multiply { .. } | Function::Add { .. } => {}
            Function::InverseNtt { .. } => inverse = true,
            Function::Automorphism { element, values, .. } => {
                assert!(values, "the unit moves values");
                let element = GaloisElement::new(self.accepted.geometry.degree, element as usize).expect("odd");
                factor = element.inverse().value();
            }
            Function::MultiplyConstant { constant: by, .. } => constant = Some(enter(by)),
            Function::Subtract { .. } => subtract = true,
            Function::Negate { .. } => (subtract, negate) = (true, true),
            Function::AddConstant { constant: by, values, .. } => {
                constant = Some(if values { enter(by) } else { u64::from(by) });
            }
        }
        let bits = bits_of(self.lanes() * self.lanes());
        Bits::new()
            .fields(operands.iter().map(from).map(|from| from as u64), 2)
            .fields([negate, constant.is_some(), subtract].map(u8::from), 1)
            .field(2 * u64::from(function.limb()) + u64::from(inverse), bits_of(TABLES))
            .field(multiplier.modulus().value(), WIDTH)
            .field(constant.unwrap_or(0), WIDTH)
            .field(factor as u64, bits + 1)
            .field(factor.saturating_sub(1) as u64 / 2, bits)
    }

    /// The instructions of all streams in the order of their cycles, as words of the memory; the stream of `late` begins a cycle late.
    fn instructions(&self, streams: &[Stream], late: Option<Component>) -> Vec<(u64, Bits)> {
        let mut routes = Routes::new(self.accepted, self.machine);
        let units = routes.units();
        let mut found = Vec::new();
        for stream in streams {
            let (group, component) = match stream.component {
                Component::Unit(kind, cluster, unit) => (usize::from(cluster), number_of(self.machine, kind, unit)),
                Component::Registers(cluster) => (usize::from(cluster), units),
                Component::Port(way, cluster) => (usize::from(cluster), units + 1 + usize::from(way)),
                Component::Bank(bank) => (self.machine.clusters, usize::from(bank)),
                Component::Stack(stack) => (self.machine.clusters, self.machine.banks + usize::from(stack)),
            };
            let begin = stream.begin + u64::from(late == Some(stream.component));
            let mut cycle = stream.begin;
            for (number, instruction) in (1..).zip(&stream.instructions) {
                let key = (stream.component, cycle, instruction.operation);
                let routed = routes.routed.get_mut(&key).and_then(VecDeque::pop_front).expect("an action has it");
                let operation = match (routed, instruction.operation) {
                    (Routed::Move(number), Operation::Give(place) | Operation::Take(place)) => {
                        let of = &routes.moves[number];
                        let (route, index) = match of.component {
                            Component::Bank(_) => (1, bits_of(self.accepted.geometry.frames)),
                            _ => (bits_of(units + 2), bits_of(self.accepted.geometry.registers)),
                        };
                        let writes = matches!(instruction.operation, Operation::Take(_));
                        Bits::new()
                            .field(u8::from(writes), 1)
                            .field(of.access as u64, 1)
                            .field(of.route as u64, route)
                            .field(place, index)
                    }
                    (Routed::Unit(function, operands), _) => self.unit(function, &operands, &routes.moves),
                    (Routed::Port(from), Operation::Connect(place)) => {
                        let source = match from {
                            From::Unit(unit) => unit,
                            From::Move(number) => units + routes.moves[number].access,
                            _ => 0,
                        };
                        Bits::new().field(place, 8).field(source as u64, 8)
                    }
                    (Routed::Stack, Operation::Load(value)) => Bits::new().field(0, 1).field(value, 16),
                    (Routed::Stack, Operation::Store(value)) => Bits::new().field(1, 1).field(value, 16),
                    _ => unreachable!("another kind of instruction"),
                };
                let head = Bits::new().fields([group as u64, component as u64], 8);
                let head = head.field(u8::from(number == stream.instructions.len()), 1);
                let mut words = head.field(instruction.wait, 16).field(begin, 16);
                let mut reader = Reader::new(operation.bytes());
                for _ in 0..operation.width() {
                    words = words.field(reader.unsigned(1) as u8, 1);
                }
                found.push((cycle, words));
                cycle += instruction.wait;
            }
        }
        assert!(routes.routed.values().all(VecDeque::is_empty), "actions without an instruction");
        found.sort_by_key(|&(cycle, _)| cycle);
        found
    }

    /// The fewest cycles from the first fetch to cycle 0 with which each instruction is there before its cycle.
    fn lead(&self, instructions: &[(u64, Bits)]) -> i64 {
        let actions = self.accepted.actions.iter();
        let moves = actions.filter(|timed| matches!(timed.action, Action::Load { .. } | Action::Store { .. }));
        let busy: HashSet<i64> =
            moves.flat_map(|timed| timed.cycle as i64..timed.cycle as i64 + self.lanes() as i64).collect();
        let mut lead = 1;
        loop {
            let (mut now, mut worst) = (-lead, 0);
            for &(cycle, _) in instructions {
                while busy.contains(&now) {
                    now += 1;
                }
                worst = worst.max(now + self.accepted.geometry.load_latency as i64 + 1 - cycle as i64);
                now += 1;
            }
            if worst == 0 {
                return lead;
            }
            lead += worst;
        }
    }

    /// The vector of a leaf in the chip's order and form.
    fn vector(&self, case: &Case, leaf: Leaf) -> Vec<u64> {
        let degree = case.program.degree;
        let residues = match leaf {
            Leaf::Input { index, limb } => {
                let input = &case.inputs[index];
                input.limb(input.position(limb).expect("a limb")).to_vec()
            }
            Leaf::Hint { key, row, part, limb } => {
                let key = case.keys.get(key).expect("a key");
                let position = key.limbs().iter().position(|&held| held == limb).expect("a limb");
                key.limb(part, usize::from(row), position, &mut vec![0; degree.get()]).to_vec()
            }
            Leaf::Plaintext { .. } => unreachable!("the program has none"),
        };
        let multiplier = self.limbs[leaf.limb().index()];
        let words: Vec<u64> = residues.iter().map(|&residue| multiplier.enter(residue)).collect();
        EvaluationOrder::BitReversed.convert(self.order(), degree, &words)
    }

    /// Fills the memory, starts and runs; returns what is stored, and the number of cycle 0.
    fn run(&self, case: &Case, streams: &[Stream], late: Option<Component>) -> (Vec<Output>, u64) {
        let mut buses = self.tables();
        let graph = &self.accepted.translation.graph;
        let instructions = self.instructions(streams, late);
        let lead = self.lead(&instructions);
        let mut fill = |address: usize, words: Bits| buses.push(self.bus(0, address & 255, address >> 8, words));
        for timed in &self.accepted.actions {
            let Action::Load { value, .. } = timed.action else { continue };
            let leaf = (value as usize).checked_sub(graph.len()).expect("the chip holds all results");
            let vector = self.vector(case, self.accepted.translation.leaves[leaf].leaf);
            for (chunk, words) in vector.chunks(self.lanes()).enumerate() {
                fill(value as usize * self.lanes() + chunk, Bits::new().fields(words.iter().copied(), WIDTH));
            }
        }
        let (first, count) = (self.vectors() * self.lanes(), instructions.len());
        for (address, (_, words)) in (first..).zip(instructions) {
            fill(address, words);
        }
        buses.push(self.bus(2, 0, 0, Bits::new().fields([lead as u64 - 1, count as u64, first as u64], 16)));
        let zero = buses.len() as u64 + lead as u64;
        let idle = zero as usize + self.accepted.checked.cycles as usize + 8 - buses.len();
        (self.simulation.run(buses.into_iter().map(Some), idle).expect("a run"), zero)
    }

    /// Numbers of vectors: results and leaves.
    fn vectors(&self) -> usize {
        let translation = &self.accepted.translation;
        translation.graph.len() + translation.leaves.len()
    }
}

/// Whether every stored word is the interpreter's in the schedule's cycle, and no stream or access failed.
fn is_the_schedules(chip: &Chip<'_>, case: &Case, (outputs, zero): &(Vec<Output>, u64)) -> bool {
    let lanes = chip.lanes();
    let mut stored: BTreeMap<u64, (u32, usize)> = BTreeMap::new();
    for timed in &chip.accepted.actions {
        if let Action::Store { value, .. } = timed.action {
            stored.extend((0..lanes).map(|chunk| (zero + timed.cycle + chunk as u64, (value, chunk))));
        }
    }
    let mut vectors: HashMap<u32, Vec<u64>> = HashMap::new();
    let mut failed = false;
    for output in outputs {
        let Some(&(value, chunk)) = stored.get(&output.cycle) else { return false };
        let mut reader = Reader::new(&output.bytes);
        let words = vectors.entry(value).or_insert_with(|| vec![0; lanes * lanes]);
        words[chunk * lanes..][..lanes].fill_with(|| reader.unsigned(WIDTH) as u64);
        failed |= reader.unsigned(16) as u32 != value || reader.unsigned(1) == 1;
    }
    let translation = &chip.accepted.translation;
    let degree = case.program.degree;
    let same = translation.outputs.iter().zip(&case.expected).all(|(output, expected)| {
        output.limbs.iter().all(|(limb, of): &(LimbId, _)| {
            let value = translation.graph.number(of[0]) as u32;
            let Some(words) = vectors.get(&value) else { return false };
            let residues: Vec<u64> = words.iter().map(|&word| chip.limbs[limb.index()].leave(word)).collect();
            let found = chip.order().convert(EvaluationOrder::BitReversed, degree, &residues);
            expected.position(*limb).is_some_and(|position| expected.limb(position) == &found[..])
        })
    });
    same && !failed && outputs.len() == stored.len()
}

/// A rotation with its key switch.
fn case(lanes: usize) -> Case {
    Case::new(lanes * lanes, |ring, gadget| {
        let (mut builder, rotated, _) = rotation(ring, gadget);
        for (part, value) in rotated.into_iter().enumerate() {
            builder.output("z", part as u16, value);
        }
        builder.finish().expect("a program")
    })
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn two_clusters_compute_a_key_switch_from_their_streams() {
    let (case, machine) = (case(8), machine(8, 2));
    let accepted = compile(&machine, &case.program).expect("it compiles");
    let chip = Chip::new(&machine, &accepted);
    let streams = decode(&encode(&accepted.streams(&machine))).expect("the compiler's file");
    assert!(is_the_schedules(&chip, &case, &chip.run(&case, &streams, None)));
    // A cycle matters to each component. The program has no work for second multipliers.
    let components: Vec<Component> = streams.iter().map(|stream| stream.component).collect();
    assert_eq!(components.len(), 2 * (5 + 1 + 3) + 4 + 1, "{components:?}");
    for component in components {
        let late = chip.run(&case, &streams, Some(component));
        assert!(!is_the_schedules(&chip, &case, &late), "{component} a cycle late");
    }
}

#[test]
#[ignore = "slow: make rtl RTL_ARGS=full"]
fn full_size_a_key_switch_of_a_ring_of_4096() {
    one_cluster(64);
}

#[test]
#[ignore = "slow: make rtl RTL_ARGS=full"]
fn full_size_a_key_switch_of_a_ring_of_16384() {
    one_cluster(128);
}

/// The key switch of a ring of degree `lanes`² on one cluster.
fn one_cluster(lanes: usize) {
    let (case, machine) = (case(lanes), machine(lanes, 1));
    let accepted = compile(&machine, &case.program).expect("it compiles");
    let chip = Chip::new(&machine, &accepted);
    let streams = decode(&encode(&accepted.streams(&machine))).expect("the compiler's file");
    assert!(is_the_schedules(&chip, &case, &chip.run(&case, &streams, None)));
}
