//! Does the whole cluster compute the kernel's key switch in the cycles of Strix' schedule, and not a cycle earlier?

use crate::rng;
use polyfabric_kernels::decompose::Gadget;
use polyfabric_kernels::isa::Isa;
use polyfabric_kernels::key_switch::KeySwitch;
use polyfabric_machines::registry;
use polyfabric_machines::tfhe::steady::Steady;
use polyfabric_machines::torus_pipeline::cluster::{SwitchState, TileCycles, switch};
use polyfabric_machines::torus_pipeline::layout::{Layout, Needs};
use polyfabric_machines::torus_pipeline::machine::Pipeline;
use polyfabric_rtl::{Bench, Bits, Reader, Simulation};
use polyfabric_schemes::tfhe::sets;
use rand::Rng;
use std::collections::BTreeMap;

const WIDTH: usize = 32;

fn strix() -> Pipeline {
    Pipeline::new(&registry::description("strix").expect("a machine")).expect("its figures")
}

/// A cluster, and keys for it.
struct Cluster {
    machine: Pipeline,
    gadget: Gadget,
    /// Elements of a ciphertext's mask, kN, and those of a tile of the schedule.
    large: usize,
    tile: usize,
    lwe_dimension: usize,
    /// Ciphertexts that fit the scratchpad.
    batch: usize,
}

/// Inputs of a cycle.
#[derive(Clone, Default)]
struct Word {
    /// A line of a ciphertext.
    line: Option<(usize, usize)>,
    /// A ciphertext whose body is loaded.
    body: Option<usize>,
    starts: bool,
    /// A row of digits, by line and level, and a column of the key.
    key: Option<(usize, usize, usize)>,
}

impl Cluster {
    fn lanes(&self) -> usize {
        self.machine.switch_lanes as usize
    }

    fn columns(&self) -> usize {
        self.machine.switch_columns as usize
    }

    fn lines(&self) -> usize {
        self.large / self.lanes()
    }

    fn levels(&self) -> usize {
        self.gadget.levels as usize
    }

    /// The element of a lane in a line: far apart, as in the PBS cluster.
    fn element(&self, lane: usize, line: usize) -> usize {
        lane * self.lines() + line
    }

    /// From a tile's first cycle until the sum of its last column can be read.
    fn latency(&self) -> usize {
        self.machine.steps(&sets::parameters("strix-I").expect("a set")).switch as usize
    }

    fn simulate(&self) -> Simulation {
        let depth = self.machine.depth;
        Bench::new("key_switch_cluster")
            .compact()
            .parameter("LANES", self.lanes() as u64)
            .parameter("COLUMNS", self.columns() as u64)
            .parameter("LINES", self.lines() as u64)
            .parameter("TILE_LINES", (self.tile / self.lanes()) as u64)
            .parameter("LWE_DIMENSION", self.lwe_dimension as u64)
            .parameter("BATCH", self.batch as u64)
            .parameter("WIDTH", WIDTH as u64)
            .parameter("LOG2_BASE", self.gadget.log2_base)
            .parameter("LEVELS", self.gadget.levels)
            .parameter("ADDER", depth.adder)
            .parameter("MULTIPLIER", depth.multiplier)
            .simulate()
            .expect("a unit")
    }

    /// Start cycles of the schedule's tiles, for ciphertexts available from cycle `ready`.
    fn starts(&self, cycles: TileCycles, ready: usize, state: &mut SwitchState) -> Vec<usize> {
        let times = switch(self.large / self.tile, cycles, ready as i64, state);
        let mut starts: Vec<i64> = times.tiles.prologue.iter().map(|times| times.switch).collect();
        if let Some(Steady { pair, period, rounds, .. }) = &times.tiles.steady {
            for round in 0..*rounds as i64 {
                starts.extend(pair.iter().map(|times| times.switch + round * period));
            }
        }
        starts.extend(times.tiles.epilogue.iter().chain([&times.last]).map(|times| times.switch));
        starts.into_iter().map(|start| start as usize).collect()
    }

    /// Whether all words of consecutive key switches of `counts` ciphertexts match the kernel's; with `early`, the second tile starts one cycle before the schedule.
    fn is_the_kernels(&self, unit: &Simulation, cycles: TileCycles, counts: &[usize], early: bool) -> bool {
        let (lanes, columns, lines, levels) = (self.lanes(), self.columns(), self.lines(), self.levels());
        let size = self.lwe_dimension + 1;
        let blocks = size.div_ceil(columns);
        let mut rng = rng(46);
        let key: Vec<u32> = (0..self.large * levels * size).map(|_| rng.random()).collect();
        let kernel = KeySwitch::new(&key, self.gadget, self.large, self.lwe_dimension, Isa::best());
        let mut state = SwitchState::new(self.machine.key_buffers);
        let (mut stream, mut masks) = (Vec::<Word>::new(), Vec::new());
        let mut expected = BTreeMap::<usize, Vec<Option<u32>>>::new();
        for &count in counts {
            // The last key switch's elements have been read.
            let loaded = stream.len();
            let ready = loaded + count * lines;
            let inputs: Vec<u32> = (0..count * (self.large + 1))
                .map(|index| [0, u32::MAX, 1 << 31, (1 << 31) - 1].get(index).copied().unwrap_or_else(|| rng.random()))
                .collect();
            let mut outputs = vec![0; count * size];
            kernel.switch(&inputs, &mut outputs);
            let line = |number: usize| Word {
                line: Some((number / lines, number % lines)),
                body: number.is_multiple_of(lines).then_some(number / lines),
                ..Word::default()
            };
            stream.extend((0..count * lines).map(line));
            masks.push((loaded, count, inputs));
            // A tile of the schedule is several of the cluster's.
            let pass = count.max(self.machine.switch_tile_cycles() as usize);
            let passes = self.tile / lanes * levels * blocks;
            assert_eq!(cycles.switch as usize, passes * pass, "the model's tile");
            let mut starts = self.starts(cycles, ready, &mut state);
            if early {
                assert_eq!(starts[1], starts[0] + passes * pass, "the second tile should wait for the first only");
                starts[1] -= 1;
            }
            for (number, &start) in starts.iter().enumerate() {
                stream.resize(stream.len().max(start + passes * pass), Word::default());
                stream[start].starts = true;
                for of_tile in 0..passes {
                    let row = number * self.tile / lanes * levels + of_tile / blocks;
                    for column in 0..columns {
                        let element = of_tile % blocks * columns + column;
                        let at = start + of_tile * pass + column;
                        // The last block has fewer columns.
                        stream[at].key = (element < size).then_some((row / levels, row % levels, element));
                        if element < size && row + 1 == lines * levels {
                            for ciphertext in 0..count {
                                // The model gives the cycle in which the last column's sum can be read: it is visible, and written, one cycle before.
                                let seen = at + ciphertext + self.latency() - columns;
                                let words = expected.entry(seen).or_insert_with(|| vec![None; columns]);
                                assert_eq!(words[column].replace(outputs[ciphertext * size + element]), None);
                            }
                        }
                    }
                }
            }
        }
        let (choice, place) = (self.batch.next_power_of_two().ilog2(), lines.next_power_of_two().ilog2());
        let nothing = vec![0u32; lanes];
        let words = stream.iter().enumerate().map(|(cycle, word)| {
            let (_, count, inputs) = masks.iter().rev().find(|&&(loaded, ..)| loaded <= cycle).expect("ciphertexts");
            let (ciphertext, line) = word.line.unwrap_or_default();
            let of = &inputs[ciphertext * (self.large + 1)..][..=self.large];
            let bits = Bits::new().field(u8::from(word.line.is_some()), 1).field(u8::from(word.body.is_some()), 1);
            let bits = bits.field(ciphertext as u64, choice as usize).field(line as u64, place as usize);
            let bits = bits.field(u8::from(word.starts), 1).field(*count as u64, choice as usize + 1);
            let bits = bits.field(if word.body.is_some() { of[self.large] } else { 0 }, WIDTH);
            let bits = match word.line {
                Some(_) => bits.fields((0..lanes).map(|lane| of[self.element(lane, line)]), WIDTH),
                None => bits.fields(nothing.iter().copied(), WIDTH),
            };
            Some(match word.key {
                Some((line, level, element)) => {
                    let row = |lane| self.element(lane, line) * levels + level;
                    bits.fields((0..lanes).map(|lane| key[row(lane) * size + element]), WIDTH)
                }
                None => bits.fields(nothing.iter().copied(), WIDTH),
            })
        });
        let outputs = unit.run(words, self.latency()).expect("a run");
        let found = outputs.iter().map(|output| {
            let mut reader = Reader::new(&output.bytes);
            let word = |_| (reader.unsigned(1) == 1, reader.unsigned(WIDTH) as u32);
            let words = (0..columns).map(word).map(|(valid, word)| valid.then_some(word)).collect::<Vec<_>>();
            (output.cycle as usize, words)
        });
        let found: BTreeMap<usize, Vec<Option<u32>>> = found.collect();
        let cycles = |of: &BTreeMap<usize, Vec<Option<u32>>>| of.keys().copied().collect::<Vec<_>>();
        assert!(early || cycles(&found) == cycles(&expected), "words appear in other cycles");
        found == expected
    }
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn several_switches_of_small_ciphertexts() {
    let machine = Pipeline { switch_lanes: 4, switch_columns: 4, switch_bus: 16, ..strix() };
    let gadget = Gadget { log2_base: 4, levels: 3 };
    let cluster = Cluster { machine, gadget, large: 32, tile: 16, lwe_dimension: 10, batch: 6 };
    let unit = cluster.simulate();
    let cycles = |load, count| TileCycles { load, switch: cluster.machine.switch_cycles(48, 11, count), memory: 9 };
    // More ciphertexts than columns, fewer, and one; contiguous tiles, and ones that wait for their channels.
    for load in [20, 300] {
        for counts in [&[6usize, 6][..], &[3, 3], &[1, 1, 1]] {
            assert!(cluster.is_the_kernels(&unit, cycles(load, counts[0] as u64), counts, false), "{counts:?}");
        }
    }
    assert!(
        !cluster.is_the_kernels(&unit, cycles(20, 6), &[6], true),
        "a tile that starts before the previous one has passed should give wrong words"
    );
}

/// A key switch of one of the paper's sets, for a core's share of `ciphertexts`, in that many of the machine's tiles. Returns the number of ciphertexts per core.
fn of_a_set(name: &str, ciphertexts: u64, tiles: impl Fn(usize) -> usize) -> usize {
    let (machine, set) = (strix(), sets::parameters(name).expect("a set"));
    let needs = Needs { ciphertexts, tables: 1, switches: true, linear: 0 };
    let layout = Layout::new(&machine, &set, needs).expect("it fits");
    let cycles = TileCycles::new(&machine, &layout, &machine.steps(&set), layout.waves);
    let (tile, batch) = (layout.tile_elements as usize, layout.waves as usize);
    let large = tile * tiles(layout.sizes.large_dimension as usize / tile);
    let gadget = set.key_switch_gadget().expect("a key switch");
    let cluster = Cluster { machine, gadget, large, tile, lwe_dimension: set.lwe_dimension().get(), batch };
    assert!(cluster.is_the_kernels(&cluster.simulate(), cycles, &[batch], false));
    batch
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn full_size_set_one() {
    // Figure 8: three ciphertexts a core.
    assert_eq!(of_a_set("strix-I", 24, |all| all), 3);
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn full_size_first_tiles_of_as_many_ciphertexts_as_fit() {
    let most = strix().cores * strix().batch;
    // More than columns, so the bus waits for the multipliers; and fewer, which wait for the bus.
    assert!(of_a_set("strix-II", most, |_| 2) > 8);
    assert!(of_a_set("strix-IV", most, |_| 2) < 8);
}
