//! Do the instructions of a lane group compute what the interpreter does, in the cycles of Morphling's schedule?

use crate::rng;
use polyfabric_kernels::decompose::Gadget;
use polyfabric_machines::contract::tfhe::lowering;
use polyfabric_machines::morphling::hardware::Timeline;
use polyfabric_machines::morphling::instruction::{Instruction, Opcode};
use polyfabric_machines::morphling::latency;
use polyfabric_machines::morphling::machine::Morphling;
use polyfabric_machines::morphling::software::Unit;
use polyfabric_machines::morphling::{Mapped, map};
use polyfabric_machines::{Machine, registry};
use polyfabric_program::tfhe::builtin::build_for;
use polyfabric_program::tfhe::lowering::{Arithmetic, KeySwitchOrder};
use polyfabric_rtl::{Bench, Bits, Reader, Simulation};
use polyfabric_runtime::tfhe::interpreter::Primitives;
use polyfabric_schemes::tfhe::noise::Transform;
use polyfabric_schemes::tfhe::{ClientKey, LweKind, Parameters, ParametersLiteral, ServerKey, sets};
use rand::Rng;
use std::collections::BTreeMap;

/// Places of ciphertexts in the set: under the small key, under the large one, and that of the sums.
pub const PLACES: usize = 256;
const SMALL: usize = 0;
pub const LARGE: usize = 64;
pub const SUMS: usize = 160;

/// An instruction of the program in the schedule: first cycle, occupancy, and first cycle of its results.
#[derive(Clone, Copy, Debug)]
struct Timed {
    instruction: Instruction,
    start: usize,
    occupancy: usize,
    returned: usize,
}

/// Lane group 0, with one ciphertext.
pub struct Group {
    machine: Morphling,
    arithmetic: Arithmetic,
    pub gadget: Gadget,
    degree: usize,
    pub mapped: Mapped,
    server: ServerKey<u32>,
    ciphertext: Vec<u32>,
}

/// A cycle's vector and commands.
#[derive(Clone, Default)]
struct Cycle {
    /// Place in the set.
    fill: Option<usize>,
    start: Option<Instruction>,
    vector: Vec<u32>,
}

impl Group {
    pub fn new(machine: &Machine, parameters: &Parameters) -> Self {
        let choice = lowering(machine, parameters, KeySwitchOrder::After).expect("a 32-bit set");
        let arithmetic = choice.arithmetic.clone();
        let machine = Morphling::new(machine).expect("its figures");
        // One for each lane group.
        let count = machine.lane_groups as usize;
        let program = build_for("pbs+ks", Some(1), parameters, count, &choice, Transform::Exact).expect("a program");
        let mapped = map(&machine, &program.kernel).expect("it fits");
        let client = ClientKey::<u32>::for_tests(parameters, 7).expect("a checked set");
        let server = ServerKey::for_tests(&client, 8);
        let encrypted = client.encrypt_for_tests(LweKind::Small, &[1 << 30], 3);
        let ciphertext = encrypted.iter().next().expect("one").to_vec();
        let gadget = parameters.key_switch_gadget().expect("a key switch");
        Self { machine, arithmetic, gadget, degree: parameters.ring_degree().get(), mapped, server, ciphertext }
    }

    pub fn lanes(&self) -> usize {
        self.machine.lanes as usize
    }

    /// Vectors of a polynomial.
    pub fn lines(&self) -> usize {
        self.degree / self.lanes()
    }

    /// Vectors of a ciphertext under the small key.
    pub fn small(&self) -> usize {
        self.ciphertext.len().div_ceil(self.lanes())
    }

    fn levels(&self) -> usize {
        self.gadget.levels as usize
    }

    /// Blocks of rows in a tile: a vector of the mask has as many as there are levels.
    pub fn blocks(&self) -> usize {
        self.mapped.streams.layout.tile_elements as usize * self.levels() / self.lanes()
    }

    fn simulate(&self) -> Simulation {
        Bench::new("lane_group")
            .parameter("LANES", self.machine.lanes)
            .parameter("LWE_DIMENSION", self.ciphertext.len() as u64 - 1)
            .parameter("LINES", self.lines() as u64)
            .parameter("LOG2_BASE", self.gadget.log2_base)
            .parameter("LEVELS", self.gadget.levels)
            .parameter("BLOCKS", self.blocks() as u64)
            .parameter("PLACES", PLACES as u64)
            .parameter("SMALL_AT", SMALL as u64)
            .parameter("LARGE_AT", LARGE as u64)
            .parameter("SUMS_AT", SUMS as u64)
            .parameter("ADDER", self.machine.depth.adder)
            .parameter("MULTIPLIER", self.machine.depth.multiplier)
            .simulate()
            .expect("a unit")
    }

    /// The program's instructions of the group, in the cycles of the schedule.
    fn instructions(&self) -> Vec<Timed> {
        let (schedule, Timeline { starts, .. }) = (&self.mapped.schedule, &self.mapped.timeline);
        let nodes = &self.mapped.streams.nodes;
        let (mut occupancies, mut returns) = (BTreeMap::new(), Vec::new());
        for placed in schedule.events() {
            let start = placed.start as usize;
            match schedule.resources.name(placed.event.resource) {
                // Its operands' loads begin earlier.
                "vpu.lanes0" => {
                    let start = start - latency::register_load(self.machine.depth) as usize;
                    occupancies.insert(start, placed.event.occupancy as usize);
                }
                "vpu.results0.return" => returns.push(start),
                _ => {}
            }
        }
        let own = (0..nodes.len()).filter(|&node| nodes[node].unit == Unit::Lanes(0));
        let instructions: BTreeMap<usize, Instruction> =
            own.map(|node| (starts[node] as usize, nodes[node].instruction)).collect();
        assert!(instructions.keys().eq(occupancies.keys()), "instructions start with their events");
        returns.sort_unstable();
        assert_eq!(instructions.len(), returns.len());
        let timed =
            |((start, instruction), returned)| Timed { instruction, start, occupancy: occupancies[&start], returned };
        instructions.into_iter().zip(returns).map(timed).collect()
    }

    pub fn vectors(&self, elements: &[u32]) -> Vec<Vec<u32>> {
        let pad = |vector: &[u32]| {
            let mut vector = vector.to_vec();
            vector.resize(self.lanes(), 0);
            vector
        };
        elements.chunks(self.lanes()).map(pad).collect()
    }

    /// The vectors of a block's rows, for each vector of the sum; blocks of all tiles are numbered.
    pub fn block_rows(&self, block: usize) -> Vec<Vec<u32>> {
        let (lanes, levels, size) = (self.lanes(), self.levels(), self.ciphertext.len());
        let key = self.server.key_switch_key().expect("a key");
        let vector = block / levels;
        let row = |row: usize| {
            let lane = block % levels * (lanes / levels) + row / levels;
            let start = ((lane * self.lines() + vector) * levels + row % levels) * size;
            self.vectors(&key[start..start + size])
        };
        let rows: Vec<Vec<Vec<u32>>> = (0..lanes).map(row).collect();
        (0..self.small()).flat_map(|v| rows.iter().map(move |row| row[v].clone())).collect()
    }

    /// Runs all instructions with a random accumulator, in the schedule's cycles; with `early`, the second tile starts a cycle before.
    fn run(&self, unit: &Simulation, early: bool) {
        let (lanes, lines, small) = (self.lanes(), self.lines(), self.small());
        let primitives = Primitives::new(&self.server, &self.arithmetic).expect("the key's arithmetic");
        let mut rng = rng(51);
        let accumulator: Vec<Vec<u32>> = (0..2).map(|_| (0..self.degree).map(|_| rng.random()).collect()).collect();
        let line =
            |polynomial: &[u32], t: usize| -> Vec<u32> { (0..lanes).map(|l| polynomial[l * lines + t]).collect() };
        let extracted = primitives.sample_extract(&accumulator);
        let instructions = self.instructions();
        let depth = self.machine.depth;
        // Digits pass the lanes once, and a register, before the first product.
        let lead = latency::vector_lane(depth) as usize + 1;
        let end = instructions.last().expect("a key switch");
        let mut cycles = vec![Cycle::default(); end.start + end.occupancy + 1];
        let (mut wanted, mut returned) = (Vec::new(), BTreeMap::new());
        let (mut freed, mut ended) = (Vec::new(), Vec::new());
        let mut tile = 0;
        for timed in &instructions {
            let start = timed.start - usize::from(early && tile == 1);
            cycles[start].start = Some(timed.instruction);
            match timed.instruction.opcode {
                Opcode::ModulusSwitch => {
                    assert_eq!(timed.occupancy, small);
                    for (number, vector) in self.vectors(&self.ciphertext).into_iter().enumerate() {
                        cycles[start - small + number] = Cycle { fill: Some(SMALL + number), start: None, vector };
                        returned.insert(timed.returned + number, true);
                    }
                }
                Opcode::SampleExtract => {
                    assert_eq!(timed.occupancy, lines + 1);
                    for t in 0..=lines {
                        let polynomial = &accumulator[usize::from(t == lines)];
                        cycles[start + t + 1].vector = line(polynomial, t % lines);
                        wanted.push(start + t);
                        returned.insert(timed.returned + t, false);
                    }
                }
                _ => {
                    let (blocks, products) = (self.blocks(), small * lanes);
                    assert_eq!(timed.occupancy, latency::first_digits(depth) as usize + blocks * (products + 1));
                    for block in 0..blocks {
                        // All but the last block begin with the next one's digits.
                        let first = start + lead + block * (products + 1) + usize::from(block + 1 < blocks);
                        for (number, vector) in self.block_rows(tile * blocks + block).into_iter().enumerate() {
                            wanted.push(first + number);
                            cycles[first + number + 1].vector = vector;
                            if number % lanes == lanes - 1 {
                                returned.insert(first + number + timed.returned - timed.start, false);
                            }
                        }
                    }
                    tile += 1;
                }
            }
            let last = *returned.keys().next_back().expect("results");
            assert_eq!(last - start, timed.returned - timed.start + timed.occupancy - 1);
            freed.push(last + timed.start - timed.returned);
            ended.push((last, timed.instruction.opcode as usize - Opcode::ModulusSwitch as usize));
        }
        assert!(tile > 1, "several tiles");
        let stream = cycles.iter().map(|cycle| {
            let place = PLACES.ilog2() as usize;
            let bits =
                Bits::new().field(u8::from(cycle.fill.is_some()), 1).field(cycle.fill.unwrap_or(0) as u64, place);
            let fields = cycle.start.map_or([0; 3], |i| [u16::from(i.opcode as u8), u16::from(i.entry), i.part]);
            let bits = bits.field(u8::from(cycle.start.is_some()), 1).fields(fields[..2].iter().copied(), 8);
            let bits = bits.field(fields[2], 16);
            let mut vector = cycle.vector.clone();
            vector.resize(lanes, 0);
            Some(bits.fields(vector, 32))
        });
        let outputs = unit.run(stream, 2 * lead).expect("a run");
        let (mut wants, mut returns, mut amounts) = (Vec::new(), BTreeMap::new(), Vec::new());
        let (mut frees, mut ends) = (Vec::new(), Vec::new());
        let mut set: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
        for output in outputs {
            let (cycle, mut reader) = (output.cycle as usize, Reader::new(&output.bytes));
            let [want, result, outside, clash, free] = std::array::from_fn(|_| reader.unsigned(1) == 1);
            assert!(!clash, "two writes to the set in cycle {cycle}");
            let ended = reader.unsigned(3) as usize;
            if free {
                frees.push(cycle);
            }
            if ended > 0 {
                ends.push((cycle, ended.ilog2() as usize));
            }
            let place = reader.unsigned(PLACES.ilog2() as usize) as usize;
            let vector: Vec<u32> = (0..lanes).map(|_| reader.unsigned(32) as u32).collect();
            if want {
                wants.push(cycle);
            }
            if result {
                returns.insert(cycle, outside);
                if outside {
                    amounts.extend(vector);
                } else {
                    set.insert(place, vector);
                }
            }
        }
        let of_set = |from: usize, count: usize| -> Vec<u32> {
            (from..from + count).flat_map(|place| set.get(&place).cloned().unwrap_or_default()).collect()
        };
        amounts.truncate(self.ciphertext.len());
        assert_eq!(amounts, primitives.modulus_switch(&self.ciphertext));
        let large = of_set(LARGE, lines + 1);
        let places = (0..self.degree).map(|element| large[element % lines * lanes + element / lines]);
        assert_eq!(places.chain([large[self.degree]]).collect::<Vec<_>>(), extracted);
        let body = primitives.initial_switched(extracted[self.degree]);
        let rows = (0..self.degree).flat_map(|element| (0..self.gadget.levels).map(move |level| (element, level)));
        let switched = rows.fold(body, |sum, (element, level)| {
            primitives.subtract_key_product(sum, primitives.mask_digit(extracted[element], level), element, level)
        });
        let right = of_set(SUMS, small)[..switched.len()] == switched;
        assert_eq!(right, !early, "a tile in its cycle computes the key switch, and an early one does not");
        if !early {
            assert_eq!((wants, returns), (wanted, returned), "other cycles");
            assert_eq!((frees, ends), (freed, ended), "other ends");
        }
    }
}

/// With eight lanes in a group.
pub fn small_set() -> Parameters {
    let mut literal: ParametersLiteral = sets::literal("toy-256").expect("a set").clone();
    literal.name = "small".to_owned();
    (literal.lwe_dimension, literal.ring_degree) = (79, 128);
    (literal.lwe_noise_log2, literal.glwe_noise_log2) = (-28.0, -29.0);
    literal.key_switch_gadget = Some(Gadget { log2_base: 2, levels: 8 });
    Parameters::check(&literal).expect("a set")
}

fn morphling(figures: &[(&str, f64)]) -> Machine {
    let changes: Vec<(String, f64)> = figures.iter().map(|&(key, value)| (key.to_owned(), value)).collect();
    registry::description("morphling").expect("a machine").changed(&changes).expect("its figures")
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn instructions_of_eight_lanes() {
    let group = Group::new(&morphling(&[("units.xpu.count", 1.0), ("units.vpu.lanes", 8.0)]), &small_set());
    let unit = group.simulate();
    group.run(&unit, false);
    group.run(&unit, true);
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn full_size_lanes_of_set_one() {
    let machine = morphling(&[("units.xpu.count", 1.0)]);
    let group = Group::new(&machine, &sets::parameters("morphling-I").expect("a set"));
    group.run(&group.simulate(), false);
}
