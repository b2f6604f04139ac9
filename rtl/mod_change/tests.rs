//! Do changes of modulus that Osiris' mapper scheduled give the interpreter's words, every tile in its cycle of the schedule?

use crate::base_conversion::montgomery;
use crate::montgomery_multiplier::negated_inverse;
use crate::primes;
use crate::twiddle_generator::{Powers, write};
use polyfabric_kernels::RingDegree;
use polyfabric_kernels::base_conversion::{BaseConverter, RnsBasis};
use polyfabric_kernels::modular::Modulus;
use polyfabric_kernels::ntt::EvaluationOrder;
use polyfabric_machines::osiris::machine::Osiris;
use polyfabric_machines::osiris::schedule::{Scheduled, schedule};
use polyfabric_machines::osiris::tasks::{Kernel, Residue};
use polyfabric_machines::osiris::units::{Direction, Shape};
use polyfabric_machines::registry;
use polyfabric_machines::rns::leaf::Leaf;
use polyfabric_program::rns::kernel::{Conversion, KernelBuilder, KernelProgram, LimbSet, ValueType};
use polyfabric_rtl::{Bench, Bits, Reader, Simulation};
use polyfabric_runtime::NoProgress;
use polyfabric_runtime::rns::interpreter;
use polyfabric_schemes::rns::{Domain, KeySet, LimbId, Ring, RnsPolynomial};
use polyfabric_sim::list::EventList;
use polyfabric_sim::schedule::{Event, Mode};
use rand::Rng;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

pub(crate) const WIDTH: usize = 40;

/// Cycles by which commands come ahead of a transform's tiles: its tags', and one to count. The array looks its constants up in one, after one to count.
const TRANSFORM_AHEAD: i64 = 6;
const ARRAY_AHEAD: i64 = 2;

pub(crate) fn bits_of(number: usize) -> usize {
    number.next_power_of_two().ilog2() as usize
}

/// Osiris with fewer lanes and rows, and memory in proportion.
pub(crate) fn osiris(lanes: usize, height: usize) -> Osiris {
    let paper = Osiris::new(&registry::description("osiris").expect("a machine")).expect("its figures");
    let memory_bytes = paper.memory_bytes * lanes as f64 / paper.lanes as f64;
    Osiris { lanes, height, memory_bytes, ..paper }
}

/// Alternately long and short primes, so that residues of one are not residues of the next.
pub(crate) fn ring(log2: u32, limbs: usize) -> Arc<Ring> {
    let degree = RingDegree::new(1 << log2).expect("a degree");
    let [long, short] = [WIDTH as u32, 38].map(|bits| primes(degree.get(), bits, limbs.div_ceil(2)));
    let both = long.into_iter().zip(short).flat_map(|(long, short)| [long, short]).take(limbs);
    let moduli: Vec<Modulus> = both.map(|prime| Modulus::new(prime).expect("a modulus")).collect();
    Ring::new(degree, &moduli).expect("a ring")
}

/// A conversion of limbs that the array has constants for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Converts {
    pub(crate) sources: Vec<LimbId>,
    pub(crate) targets: Vec<LimbId>,
    balanced: bool,
    /// Of sums of products with a key, which lack Montgomery's factor.
    pub(crate) of_sums: bool,
}

/// A stream through a transform.
#[derive(Clone, Debug, Default)]
pub(crate) struct Transform {
    set: bool,
    slots: usize,
    limbs: Vec<LimbId>,
}

/// What the unit is told in a cycle.
#[derive(Clone, Debug, Default)]
pub(crate) struct Commands {
    /// Factors: limb and address.
    factors: Option<(usize, usize)>,
    /// Constants: of a target, conversion, position.
    constants: Option<(bool, usize, usize)>,
    inverse: Option<Transform>,
    /// Conversion and slots.
    conversion: Option<(usize, usize)>,
    forward: Option<Transform>,
}

/// A program with its schedule.
pub(crate) struct Mapped {
    pub(crate) machine: Osiris,
    pub(crate) program: KernelProgram,
    pub(crate) scheduled: Scheduled,
    pub(crate) conversions: Vec<Converts>,
    /// By limb and direction.
    powers: Vec<[Powers; 2]>,
}

impl Mapped {
    pub(crate) fn new(machine: Osiris, program: KernelProgram) -> Self {
        let scheduled = schedule(&machine, &program).expect("it fits");
        let log2 = program.degree.log2();
        let factors = |&q: &Modulus| [Direction::Inverse, Direction::Forward].map(|way| Powers::new(q, log2, way));
        let powers = program.moduli.iter().map(factors).collect();
        let mut mapped = Self { machine, program, scheduled, conversions: Vec::new(), powers };
        for task in mapped.scheduled.tasks.tasks.clone() {
            let converts = mapped.converts(&task.kernel);
            mapped.conversions.extend(converts.filter(|converts| !mapped.conversions.contains(converts)));
        }
        mapped
    }

    pub(crate) fn shape(&self) -> Shape {
        self.scheduled.units.shape
    }

    pub(crate) fn kernel(&self, event: &Event) -> Option<&Kernel> {
        self.scheduled.tasks.tasks.get(event.op.body_op as usize).map(|task| &task.kernel)
    }

    /// The constants of a change of modulus.
    pub(crate) fn converts(&self, kernel: &Kernel) -> Option<Converts> {
        let Kernel::ModChange { sources, targets, conversion, .. } = kernel else { return None };
        let of_keys = |task: &Kernel| match task {
            Kernel::KeyProduct { results, .. } => results.contains(&sources[0].1),
            _ => false,
        };
        Some(Converts {
            sources: sources.iter().map(|&(limb, _)| limb).collect(),
            targets: targets.clone(),
            balanced: *conversion == Conversion::Balanced,
            of_sums: self.scheduled.tasks.tasks.iter().any(|task| of_keys(&task.kernel)),
        })
    }

    /// Tables of the transforms, and conversions with constants.
    pub(crate) fn tables(&self) -> usize {
        self.program.moduli.len()
    }

    pub(crate) fn stages(&self) -> usize {
        self.machine.stages as usize
    }

    pub(crate) fn tile_bits(&self) -> usize {
        self.stages() - bits_of(self.machine.lanes)
    }

    pub(crate) fn limb_bits(&self) -> usize {
        bits_of(self.machine.limbs).max(1)
    }

    pub(crate) fn slot_bits(&self) -> usize {
        bits_of(self.machine.limbs + 1)
    }

    pub(crate) fn conversion_bits(&self) -> usize {
        bits_of(self.conversions.len()).max(1)
    }

    pub(crate) fn bench(&self, unit: &str) -> Bench {
        assert!(self.tables() <= self.machine.limbs, "a table for each limb");
        Bench::new(unit)
            .parameter("LANES", self.machine.lanes as u64)
            .parameter("STAGES", u64::from(self.machine.stages))
            .parameter("LIMBS", self.machine.limbs as u64)
            .parameter("HEIGHT", self.machine.height as u64)
            .parameter("CONVERSIONS", self.conversions.len() as u64)
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        let mut events = Vec::new();
        self.scheduled.schedule.visit(&mut |event| {
            events.push(event.clone());
            ControlFlow::Continue(())
        });
        events
    }

    /// The cycles in which tables are filled.
    pub(crate) fn fill(&self) -> Vec<Commands> {
        let addresses = 1 << self.stages().div_ceil(2);
        let factors = (0..self.tables()).flat_map(|limb| (0..addresses).map(move |address| (limb, address)));
        let factors = factors.map(|entry| Commands { factors: Some(entry), ..Commands::default() });
        let constants = self.conversions.iter().enumerate().flat_map(|(number, converts)| {
            let sources = (0..converts.sources.len()).map(move |position| (false, number, position));
            sources.chain((0..converts.targets.len()).map(move |position| (true, number, position)))
        });
        factors.chain(constants.map(|entry| Commands { constants: Some(entry), ..Commands::default() })).collect()
    }

    /// The commands of the schedule's changes of modulus, each as many cycles ahead as its unit needs.
    pub(crate) fn commands(&self, events: &[Event]) -> BTreeMap<i64, Commands> {
        let chip = &self.scheduled.chip;
        let mut commands: BTreeMap<i64, Commands> = BTreeMap::new();
        let mut modes: [Option<Mode>; 2] = [None; 2];
        for event in events {
            let Some((Kernel::ModChange { sources, targets, .. }, converts)) =
                self.kernel(event).and_then(|kernel| Some((kernel, self.converts(kernel)?)))
            else {
                continue;
            };
            let slots = sources.len().max(targets.len());
            let mut transform = |unit: usize, limbs: &[LimbId]| {
                let mode = chip.kinds.mode(event.op.kind);
                let set = std::mem::replace(&mut modes[unit], mode) != mode;
                Some(Transform { set, slots, limbs: limbs.to_vec() })
            };
            if event.resource == chip.ntt[0][0] {
                let command = transform(0, &converts.sources);
                commands.entry(event.start - TRANSFORM_AHEAD).or_default().inverse = command;
            } else if event.resource == chip.array[0] {
                let number = self.conversions.iter().position(|other| *other == converts).expect("with constants");
                commands.entry(event.start - ARRAY_AHEAD).or_default().conversion = Some((number, slots));
            } else if event.resource == chip.ntt[0][1] {
                let command = transform(1, &converts.targets);
                commands.entry(event.start - TRANSFORM_AHEAD).or_default().forward = command;
            }
        }
        commands
    }

    /// The bus of a cycle's commands.
    pub(crate) fn bus(&self, commands: &Commands) -> Bits {
        let (stages, low) = (self.stages(), self.stages().div_ceil(2));
        let (limb_bits, slot_bits, tables) = (self.limb_bits(), self.slot_bits(), self.machine.limbs);
        let factors = commands.factors.map(|(limb, address)| (limb, address, &self.powers[limb]));
        let bits = write(Bits::new(), (limb_bits, low, stages - low), factors);
        let bits = self.constants(bits, commands.constants);
        let bits = bits.field(self.shape().tiles().ilog2(), bits_of(self.tile_bits() + 1));
        let transform = |bits: Bits, stream: &Option<Transform>| {
            let told = stream.clone().unwrap_or_default();
            let bits = bits.field(u8::from(stream.is_some()), 1).field(u8::from(told.set), 1);
            let bits = bits.field(told.slots as u64, slot_bits).field(told.limbs.len() as u64, slot_bits);
            let numbers = told.limbs.iter().map(|limb| u64::from(limb.0)).chain(std::iter::repeat(0));
            bits.fields(numbers.take(tables), limb_bits)
        };
        let bits = transform(bits, &commands.inverse);
        let (number, slots) = commands.conversion.unwrap_or_default();
        let converts = commands.conversion.map(|(number, _)| &self.conversions[number]);
        let limbs = converts.map_or([0; 2], |converts| [converts.sources.len(), converts.targets.len()]);
        let bits = bits.field(u8::from(commands.conversion.is_some()), 1).field(number as u64, self.conversion_bits());
        let bits = bits.fields([slots, limbs[0], limbs[1]].map(|count| count as u64), slot_bits);
        transform(bits, &commands.forward)
    }

    fn constants(&self, bits: Bits, entry: Option<(bool, usize, usize)>) -> Bits {
        let (words, widths) = (3 + self.machine.height, [self.conversion_bits(), self.limb_bits()]);
        let Some((of_target, number, position)) = entry else {
            return bits.field(0, 2 + widths[0] + widths[1]).fields(vec![0; words], WIDTH);
        };
        let Converts { sources, targets, balanced, of_sums } = &self.conversions[number];
        let moduli = |limbs: &[LimbId]| limbs.iter().map(|&limb| self.program.modulus(limb)).collect::<Vec<_>>();
        let (from, to) = (moduli(sources), moduli(targets));
        let basis = |moduli: &[Modulus]| RnsBasis::new(moduli.to_vec()).expect("a basis");
        let converter = BaseConverter::new(basis(&from), basis(&to));
        let head = |q: Modulus| vec![q.value(), negated_inverse(q.value(), WIDTH)];
        let constants: Vec<u64> = if of_target {
            let q = to[position];
            let (weights, initial) = converter.combination(position);
            let rows = weights.iter().rev().map(|&weight| montgomery(q).enter(weight));
            head(q).into_iter().chain([if *balanced { initial } else { 0 }]).chain(rows).collect()
        } else {
            let q = from[position];
            let (factor, addend) = converter.weight(position);
            let factor = montgomery(q).enter(factor);
            let factor = if *of_sums { montgomery(q).enter(factor) } else { factor };
            head(q).into_iter().chain([factor, if *balanced { addend } else { 0 }]).collect()
        };
        let bits = bits.field(u8::from(!of_target), 1).field(u8::from(of_target), 1);
        let bits = bits.field(number as u64, widths[0]).field(position as u64, widths[1]);
        bits.fields(constants.into_iter().chain(std::iter::repeat(0)).take(words), WIDTH)
    }

    /// A limb in the order of the units.
    pub(crate) fn streamed(&self, words: &[u64]) -> Vec<u64> {
        let order = EvaluationOrder::Streaming { lanes: self.machine.lanes };
        EvaluationOrder::BitReversed.convert(order, self.program.degree, words)
    }
}

/// Polynomials with random words.
pub(crate) fn random_inputs(ring: &Ring, program: &KernelProgram) -> Vec<RnsPolynomial> {
    let mut rng = crate::rng(33);
    let mut input = |limbs: &LimbSet| {
        let mut polynomial = RnsPolynomial::zero(ring.degree(), limbs.as_slice(), Domain::Evaluation);
        for (limb, words) in polynomial.iter_mut() {
            let q = ring.modulus(limb).value();
            words.iter_mut().for_each(|word| *word = rng.random_range(0..q));
        }
        polynomial
    };
    program.inputs().map(|(_, _, _, value)| input(&value.limbs)).collect()
}

/// Changes of modulus alone: sources and targets of each.
struct Changes {
    mapped: Mapped,
    inputs: Vec<RnsPolynomial>,
    /// By residue, in the order of the units.
    outputs: BTreeMap<u32, Vec<u64>>,
}

/// A run's outputs: whether a tile was lost, and the tiles by cycle, with limb and number.
type Found = (bool, BTreeMap<i64, (usize, usize, Vec<u64>)>);

impl Changes {
    fn new(machine: Osiris, log2: u32, limbs: usize, changes: &[(&[u16], &[u16])]) -> Self {
        let ring = ring(log2, limbs);
        let mut builder = KernelBuilder::new("changes", ring.degree(), ring.moduli()).expect("moduli");
        let set = |limbs: &[u16]| LimbSet::new(limbs.iter().copied().map(LimbId));
        for (number, (sources, targets)) in (0..).zip(changes) {
            let own = set(sources);
            let a = builder.input(format!("x{number}"), 0, ValueType::evaluation(own.clone())).expect("an input");
            let to = own.union(&set(targets));
            let raised = builder.mod_up(a, own, to, Conversion::Balanced).expect("a digit");
            builder.output("raised", number, raised);
        }
        let program = builder.finish().expect("a program");
        let inputs = random_inputs(&ring, &program);
        let given: Vec<&RnsPolynomial> = inputs.iter().collect();
        let expected = interpreter::run(&program, &KeySet::new(ring), &given, &NoProgress).expect("it runs");
        let mapped = Mapped::new(machine, program);
        let mut outputs = BTreeMap::new();
        for (limbs, polynomial) in mapped.scheduled.tasks.outputs.iter().zip(&expected) {
            for &(limb, Residue(residue)) in limbs {
                let position = polynomial.position(limb).expect("a limb");
                outputs.insert(residue, mapped.streamed(polynomial.limb(position)));
            }
        }
        Self { mapped, inputs, outputs }
    }

    /// The unit on the schedule's events, or changed ones.
    fn run(&self, unit: &Simulation, events: &[Event]) -> Found {
        let mapped = &self.mapped;
        let (lanes, tiles) = (mapped.machine.lanes, mapped.shape().tiles());
        let chip = &mapped.scheduled.chip;
        let fill = mapped.fill();
        let origin = fill.len() as i64 + TRANSFORM_AHEAD;
        let mut cycles = mapped.commands(events);
        let mut entering: BTreeMap<i64, Vec<u64>> = BTreeMap::new();
        for event in events.iter().filter(|event| event.resource == chip.ntt[0][0]) {
            let Some(Kernel::ModChange { sources, targets, .. }) = mapped.kernel(event) else { continue };
            let slots = sources.len().max(targets.len());
            for (position, &(_, Residue(residue))) in sources.iter().enumerate() {
                let leaf = mapped.scheduled.tasks.leaves[residue as usize];
                let Some(Leaf::Input { index, limb }) = leaf else { panic!("an input") };
                let own = self.inputs[index].limb(self.inputs[index].position(limb).expect("a limb"));
                for (index, words) in mapped.streamed(own).chunks(lanes).enumerate() {
                    entering.insert(event.start + (index * slots + position) as i64, words.to_vec());
                }
            }
        }
        for &cycle in entering.keys() {
            cycles.entry(cycle).or_default();
        }
        let last = *cycles.keys().last().expect("commands");
        let zeros = vec![0; lanes];
        let before = fill.iter().map(|commands| Some(mapped.bus(commands).fields(zeros.iter().copied(), WIDTH)));
        let stream = before.chain((-TRANSFORM_AHEAD..=last).map(|cycle| {
            let bits = mapped.bus(cycles.get(&cycle)?);
            Some(bits.fields(entering.get(&cycle).unwrap_or(&zeros).iter().copied(), WIDTH))
        }));
        let idle = (mapped.scheduled.schedule.cycles() - last) as usize + 2;
        let (mut lost, mut found) = (false, BTreeMap::new());
        for output in unit.run(stream, idle).expect("a run") {
            let mut reader = Reader::new(&output.bytes);
            lost |= reader.unsigned(1) == 1;
            if reader.unsigned(1) == 1 {
                let index = reader.unsigned(mapped.tile_bits()) as usize;
                let limb = reader.unsigned(mapped.limb_bits()) as usize;
                assert!(index < tiles, "of the ring");
                let words = (0..lanes).map(|_| reader.unsigned(WIDTH) as u64).collect();
                found.insert(output.cycle as i64 - origin, (limb, index, words));
            }
        }
        (lost, found)
    }

    /// The tiles that the schedule's events write, by cycle.
    fn expected(&self, events: &[Event]) -> BTreeMap<i64, (usize, usize, Vec<u64>)> {
        let (mapped, mut expected) = (&self.mapped, BTreeMap::new());
        for event in events.iter().filter(|event| event.resource == mapped.scheduled.chip.ntt[0][1]) {
            let Some(Kernel::ModChange { sources, targets, results, .. }) = mapped.kernel(event) else { continue };
            let slots = sources.len().max(targets.len());
            for ((limb, Residue(residue)), write) in targets.iter().zip(results).zip(&event.writes) {
                let first = event.start + i64::from(write.first);
                for (index, words) in self.outputs[residue].chunks(mapped.machine.lanes).enumerate() {
                    let tile = (usize::from(limb.0), index, words.to_vec());
                    expected.insert(first + (index * slots) as i64, tile);
                }
            }
        }
        expected
    }

    fn holds(&self, unit: &Simulation) {
        let events = self.mapped.events();
        let (lost, found) = self.run(unit, &events);
        assert!(!lost, "a tile that a unit awaits in another cycle");
        let expected = self.expected(&events);
        assert!(!expected.is_empty());
        for (cycle, tile) in &expected {
            assert_eq!(found.get(cycle), Some(tile), "cycle {cycle}");
        }
        assert_eq!(found.len(), expected.len());
    }
}

/// Four lanes, six limbs: changes that follow each other with as many slots and with others, with fewer sources behind more.
fn small() -> Changes {
    let machine = Osiris { limbs: 7, stages: 6, memory_bytes: 1e6, memory_latency: 1, ..osiris(4, 4) };
    let changes: [(&[u16], &[u16]); 6] = [
        (&[0, 1, 2], &[3, 4, 5, 6]),
        (&[3], &[0, 1, 2, 4]),
        (&[4, 5], &[0, 6]),
        (&[6], &[0]),
        (&[0, 1, 2, 3], &[5]),
        (&[5, 6], &[0, 1, 2, 3, 4]),
    ];
    Changes::new(machine, 5, 7, &changes)
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn changes_of_a_small_ring() {
    let changes = small();
    changes.holds(&changes.mapped.bench("mod_change").simulate().expect("a unit"));
}

/// The mapper waits as many cycles as the array has more sources before, and until a transform with other delays is empty.
#[test]
#[ignore = "needs Verilator: make rtl"]
fn changes_that_begin_a_cycle_early_lose_tiles() {
    let changes = small();
    let unit = changes.mapped.bench("mod_change").simulate().expect("a unit");
    let events = changes.mapped.events();
    let (array, transform) = (changes.mapped.scheduled.chip.array[0], changes.mapped.scheduled.chip.ntt[0][1]);
    let sources = |event: &Event| changes.mapped.converts(changes.mapped.kernel(event)?).map(|of| of.sources.len());
    let conversions: Vec<&Event> = events.iter().filter(|event| event.resource == array).collect();
    let fewer = conversions.windows(2).rfind(|pair| {
        let wait = pair[1].start - pair[0].start - i64::from(pair[0].occupancy);
        Some(wait as usize) == sources(pair[0]).zip(sources(pair[1])).map(|(a, b)| a.saturating_sub(b)) && wait > 0
    });
    let transforms: Vec<&Event> = events.iter().filter(|event| event.resource == transform).collect();
    let empty = |event: &Event| event.start + i64::from(event.occupancy) + i64::from(event.writes[0].first);
    let other = transforms.windows(2).find(|pair| pair[1].start == empty(pair[0]));
    for early in [fewer.expect("fewer sources behind more")[1], other.expect("other delays")[1]] {
        let moved = |event: &Event| {
            let own = event.op.body_op == early.op.body_op && changes.mapped.kernel(event).is_some();
            Event { start: event.start - i64::from(own), ..event.clone() }
        };
        let events: Vec<Event> = events.iter().map(moved).collect();
        let (_, found) = changes.run(&unit, &events);
        assert!(found != changes.expected(&events), "all tiles from an event that starts in cycle {}", early.start - 1);
    }
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn full_size_rings_of_8192_and_65536() {
    let paper = registry::description("osiris").expect("a machine");
    let machine = Osiris::new(&paper).expect("its figures");
    let digits: [(&[u16], &[u16]); 3] = [(&[0, 1, 2], &[3, 4, 5]), (&[4, 5], &[0, 1, 2]), (&[3], &[0])];
    let unit = Changes::new(machine.clone(), 13, 6, &digits);
    let simulation = unit.mapped.bench("mod_change").simulate().expect("a unit");
    unit.holds(&simulation);
    let one: [(&[u16], &[u16]); 3] = [(&[0], &[1]), (&[2], &[0]), (&[1], &[2])];
    Changes::new(machine, 16, 3, &one).holds(&simulation);
}
