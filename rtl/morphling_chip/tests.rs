//! Do programmable bootstraps of a compiled program run on one XPU with its lane groups, from the words of the program to switched ciphertexts? Each instruction starts in the cycle of Morphling's schedule, words equal the replay's, and they decrypt to the table's values.

use crate::instruction_scheduler::{Cycle, Program};
use crate::lane_group::{Group, LARGE, PLACES, SUMS, small_set};
use crate::morphling_xpu::{Waits, Xpu, iterations, morphling};
use crate::pbs_cluster::with_arithmetic;
use polyfabric_machines::Machine;
use polyfabric_machines::morphling::array::KEY_HOP;
use polyfabric_machines::morphling::instruction::{Opcode, WORD_BYTES};
use polyfabric_machines::tfhe::dispatcher::{self, Started};
use polyfabric_program::tfhe::lowering::KeySwitchOrder;
use polyfabric_rtl::{Bench, Bits, Reader, Simulation};
use polyfabric_schemes::tfhe::{LweKind, Parameters, sets};
use std::collections::{BTreeMap, BTreeSet};

/// The words that memory channels bring in a cycle: a vector for each lane group.
#[derive(Clone)]
enum Brought {
    /// Elements of ciphertexts, by their place in the sets.
    Elements(usize),
    Tile,
    /// A line, by the table's entry.
    Table(u8),
}

/// The inputs of a cycle.
#[derive(Clone, Default)]
struct Given {
    scheduler: Cycle,
    brought: Option<(Brought, Vec<Vec<u32>>)>,
    /// Iteration, and word of each column.
    key: Option<(usize, usize)>,
    key_comes: bool,
}

/// A single wrong thing.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Wrong {
    Nothing,
    /// The load of ciphertexts ends as its first vectors come.
    Load,
    /// A word of the key-switch key.
    Word,
}

/// A run's outputs.
struct Found {
    results: Vec<Vec<u32>>,
    in_time: bool,
    wrong: bool,
}

/// A program of bootstraps for one XPU.
struct Chip {
    xpu: Xpu,
    group: Group,
    program: Program,
    order: KeySwitchOrder,
}

impl Chip {
    fn new(machine: &Machine, parameters: &Parameters, waves: usize, order: KeySwitchOrder) -> Self {
        let xpu = Xpu::new(machine, parameters, waves, order);
        assert_eq!(xpu.machine.xpus, 1);
        assert_eq!(xpu.machine.lane_groups, xpu.machine.rows, "a lane group for each row");
        let program = Program::new(machine, parameters, order, waves * xpu.positions());
        assert_eq!(program.streams.groups.len(), 1);
        Self { xpu, group: Group::new(machine, parameters), program, order }
    }

    fn rows(&self) -> usize {
        self.xpu.rows()
    }

    fn simulate(&self) -> Simulation {
        // The key switch's, so that programs without one have the same chip.
        let (xpu, layout) = (&self.xpu, &self.group.mapped.streams.layout);
        let (coef, waits) = xpu.waits(Waits::Papers);
        let tiles = layout.sizes.large_dimension / layout.tile_elements;
        let blocks = self.group.blocks();
        assert!(blocks.is_multiple_of(self.rows()), "equal shares of a tile");
        let bench = Bench::new("morphling_chip")
            .parameter("ROWS", xpu.machine.rows)
            .parameter("COLUMNS", xpu.machine.columns)
            .parameter("WAVES", layout.waves)
            .parameter("LWE_DIMENSION", xpu.lwe_dimension() as u64)
            .parameter("COEF", coef)
            .parameter("WAITS", waits)
            .parameter("LOG2_VECTOR", xpu.machine.lanes.ilog2())
            .parameter("SWITCH_LOG2_BASE", self.group.gadget.log2_base)
            .parameter("SWITCH_LEVELS", self.group.gadget.levels)
            .parameter("BLOCKS", blocks as u64)
            .parameter("PLACES", PLACES as u64)
            .parameter("LARGE_AT", LARGE as u64)
            .parameter("SUMS_AT", SUMS as u64)
            .parameter("SHARED_IN", layout.shared_in.entries)
            .parameter("SHARED_OUT", layout.shared_out.entries)
            .parameter("TILES", tiles.next_power_of_two());
        with_arithmetic(bench, &xpu.setting, xpu.lanes().ilog2(), xpu.machine.depth).simulate().expect("a chip")
    }

    /// Cycles in which instructions start, and those of their ends: the model's dispatch, except that instructions of links and lanes do not wait for banks.
    fn times(&self) -> (Vec<i64>, Vec<Started>) {
        let (program, timeline) = (&self.program, &self.program.timeline);
        let model = program.expected();
        let (mut starts, mut times) = (vec![0; model.len()], vec![Started::default(); model.len()]);
        let dispatch = |node: u32, now: i64| {
            let number = node as usize;
            let transfers = program.unit(number) < 2;
            let moved = now - if transfers { model[number] } else { timeline.starts[number] };
            let waves = timeline.rotations.get(&node).map_or(vec![], |rotation| rotation.wave_done.clone());
            starts[number] = now;
            times[number] = Started {
                start: timeline.starts[number] + moved,
                end: timeline.ends[number] + moved,
                free: program.free(number) + moved,
                waves: waves.into_iter().map(|done| now + done).collect(),
            };
            times[number].clone()
        };
        dispatcher::run(&program.streams.nodes, |node| program.streams.waits.of(node), dispatch);
        (starts, times)
    }

    /// Vectors for each lane group's set that an instruction of the channels brings.
    fn brought(&self, node: usize) -> Vec<(Brought, Vec<Vec<u32>>)> {
        let (i, group, rows) = (self.program.instruction(node), &self.group, self.rows());
        let (lanes, columns) = (group.lanes(), 2 * self.xpu.lanes());
        match i.opcode {
            Opcode::LoadSmall => {
                let own = self.xpu.inputs["x"].iter().skip(i.first as usize).take(rows);
                let own: Vec<Vec<Vec<u32>>> = own.map(|ciphertext| group.vectors(ciphertext)).collect();
                let place = |number| Brought::Elements(usize::from(i.entry) * group.small() + number);
                (0..group.small()).map(|v| (place(v), own.iter().map(|of| of[v].clone()).collect())).collect()
            }
            Opcode::LoadTables => {
                let line = |words: &[u32]| {
                    let mut vectors = vec![vec![0; lanes]; rows];
                    vectors[0][..columns].copy_from_slice(words);
                    (Brought::Table(i.entry), vectors)
                };
                self.xpu.table_words().chunks(columns).map(line).collect()
            }
            Opcode::LoadTile => {
                let (tile, blocks) = (usize::from(i.part), group.blocks());
                let share = |set: usize| {
                    let of_set = set * blocks / rows..(set + 1) * blocks / rows;
                    of_set.flat_map(|block| group.block_rows(tile * blocks + block)).collect()
                };
                let shares: Vec<Vec<Vec<u32>>> = (0..rows).map(share).collect();
                let vectors = |number: usize| shares.iter().map(|share| share[number].clone()).collect();
                (0..shares[0].len()).map(|number| (Brought::Tile, vectors(number))).collect()
            }
            _ => vec![],
        }
    }

    /// The inputs by cycle: words of the program, what the channels bring before their instructions end, and keys as the schedule has them.
    fn inputs(&self, times: &[Started], wrong: Wrong) -> BTreeMap<i64, Given> {
        let (program, timeline) = (&self.program, &self.program.timeline);
        let words = program.words().into_iter();
        let mut inputs: BTreeMap<i64, Given> =
            words.map(|(at, scheduler)| (at, Given { scheduler, ..Given::default() })).collect();
        for (node, time) in times.iter().enumerate() {
            let i = program.instruction(node);
            let fetches = i.opcode == Opcode::Fetch;
            if program.unit(node) < 2 || i.opcode == Opcode::FillTwiddles {
                let spoiled = wrong == Wrong::Load && i.opcode == Opcode::LoadSmall;
                let early = if spoiled { self.group.small() as i64 + 2 } else { 0 };
                let end = inputs.entry(time.end - 1 - early).or_default();
                end.scheduler.fetched |= fetches;
                if !fetches {
                    end.scheduler.ends.insert(program.kind(node));
                }
                inputs.entry(time.free - 1).or_default().scheduler.frees.insert(program.unit(node));
            }
            let mut at = time.end;
            for brought in self.brought(node).into_iter().rev() {
                at -= 1;
                while inputs.get(&at).is_some_and(|given| given.brought.is_some()) {
                    at -= 1;
                }
                assert!(at >= time.start, "the channels have time for it");
                inputs.entry(at).or_default().brought = Some(brought);
            }
            let Some(rotation) = timeline.rotations.get(&(node as u32)) else { continue };
            let steps = &timeline.steps;
            let ahead = steps.key_latency + steps.key + KEY_HOP - steps.decomposition - steps.forward;
            for (number, (from, times)) in iterations(rotation, time.start).into_iter().enumerate() {
                let key = from + times.key;
                inputs.entry(key + ahead - 1).or_default().key_comes = true;
                for (word, at) in self.xpu.arrivals(0).enumerate() {
                    inputs.entry(key + steps.key_latency + at as i64).or_default().key = Some((number, word));
                }
            }
        }
        if wrong == Wrong::Word {
            let last = inputs.values_mut().rev().find_map(|given| given.brought.as_mut()).expect("a vector");
            last.1[0][0] ^= 1 << 20;
        }
        inputs
    }

    /// Cycles in which the model's XPU begins to read polynomials.
    fn reads(&self, times: &[Started]) -> BTreeSet<i64> {
        let rotations = &self.program.timeline.rotations;
        let reads = rotations.iter().flat_map(|(&node, rotation)| {
            let iterations = iterations(rotation, times[node as usize].start).into_iter();
            iterations.flat_map(|(from, times)| {
                let forwards = times.waves.iter().flat_map(|wave| &wave.forwards);
                forwards.map(move |forward| from + forward.decomposition).collect::<Vec<_>>()
            })
        });
        reads.collect()
    }

    fn run(&self, unit: &Simulation, wrong: Wrong) -> Found {
        let (rows, lanes, columns) = (self.rows(), self.group.lanes(), 2 * self.xpu.lanes());
        let (program, layout) = (&self.program, &self.program.streams.layout);
        let (expected, times) = self.times();
        let (inputs, keys) = (self.inputs(&times, wrong), self.xpu.key_words());
        let origin = *inputs.first_key_value().expect("words").0;
        let end = times.iter().map(|time| time.end).max().expect("instructions");
        let place_bits = PLACES.ilog2() as usize;
        let entry_bits = (layout.shared_in.entries.next_power_of_two().ilog2() as usize).max(1);
        let flags =
            |set: &BTreeSet<usize>, count: usize| (0..count).map(|i| u8::from(set.contains(&i))).collect::<Vec<_>>();
        let stream = (origin..=end).map(|cycle| {
            let given = inputs.get(&cycle)?;
            let Cycle { word, fetched, frees, ends, .. } = &given.scheduler;
            let bits = Bits::new().fields([word.is_some(), *fetched].map(u8::from), 1);
            let bits = bits.fields(flags(frees, 4), 1).fields(flags(ends, 11), 1);
            let (mut place, mut entry, mut comes) = (0, 0, [false; 3]);
            match &given.brought {
                Some((Brought::Elements(at), _)) => (place, comes[0]) = (*at, true),
                Some((Brought::Tile, _)) => comes[1] = true,
                Some((Brought::Table(of), _)) => (entry, comes[2]) = (*of, true),
                None => {}
            }
            let [elements, tile, table] = comes.map(u8::from);
            let bits = bits.field(elements, 1).field(place as u64, place_bits).fields([tile, table], 1);
            let bits = bits.field(entry, entry_bits).fields([given.key.is_some(), given.key_comes].map(u8::from), 1);
            let word = word.map_or_else(|| vec![0; WORD_BYTES], |node| program.word(node).bytes().to_vec());
            let bits = bits.fields(word, 8);
            let vectors = given.brought.as_ref().map_or_else(|| vec![0; rows * lanes], |(_, vectors)| vectors.concat());
            let bits = bits.fields(vectors, 32);
            Some((0..self.xpu.polynomials()).fold(bits, |bits, column| match given.key {
                Some((iteration, word)) => {
                    bits.fields(keys[iteration][column][columns * word..][..columns].iter().copied(), 32)
                }
                None => bits.fields(vec![0u8; 4 * columns], 8),
            }))
        });
        let outputs = unit.run(stream, 2).expect("a run");
        let (mut started, mut reads, mut failed) = (BTreeSet::new(), BTreeSet::new(), false);
        let mut sets: Vec<BTreeMap<usize, Vec<u32>>> = vec![BTreeMap::new(); rows];
        for output in outputs {
            let (cycle, mut reader) = (output.cycle as i64 + origin, Reader::new(&output.bytes));
            let starts: Vec<bool> = (0..program.units()).map(|_| reader.unsigned(1) == 1).collect();
            if reader.unsigned(1) == 1 {
                reads.insert(cycle);
            }
            failed |= reader.unsigned(1) == 1;
            let returns: Vec<bool> = (0..rows).map(|_| reader.unsigned(1) == 1).collect();
            for (unit, starts) in starts.into_iter().enumerate() {
                let word: Vec<u8> = (0..WORD_BYTES / 2).map(|_| reader.unsigned(8) as u8).collect();
                if starts {
                    started.insert((cycle, unit, word));
                }
            }
            for (set, returns) in sets.iter_mut().zip(returns) {
                let place = reader.unsigned(place_bits) as usize;
                let vector: Vec<u32> = (0..lanes).map(|_| reader.unsigned(32) as u32).collect();
                if returns {
                    set.insert(place, vector);
                }
            }
        }
        let dispatched = |&node: &usize| program.instruction(node).opcode != Opcode::Fetch;
        let right: BTreeSet<(i64, usize, Vec<u8>)> = (0..times.len())
            .filter(dispatched)
            .map(|node| (expected[node], program.unit(node), program.word(node).bytes()[..WORD_BYTES / 2].to_vec()))
            .collect();
        let in_time = started == right && reads == self.reads(&times);
        let results = (0..self.xpu.waves()).flat_map(|wave| sets.iter().map(move |set| (wave, set)));
        let results = results.map(|(wave, set)| self.result(wave, set)).collect();
        Found { results, in_time, wrong: failed }
    }

    /// A wave's ciphertext in a set: switched, or extracted.
    fn result(&self, wave: usize, set: &BTreeMap<usize, Vec<u32>>) -> Vec<u32> {
        let vector = |place: usize| set.get(&place).cloned().unwrap_or_else(|| vec![0; self.group.lanes()]);
        if self.order != KeySwitchOrder::None {
            let mut elements: Vec<u32> = (SUMS..SUMS + self.group.small()).flat_map(vector).collect();
            elements.truncate(self.xpu.lwe_dimension() + 1);
            return elements;
        }
        let lines = self.group.lines();
        let from = LARGE + wave * (lines + 1);
        let vectors: Vec<Vec<u32>> = (from..=from + lines).map(vector).collect();
        let degree = lines * self.group.lanes();
        let mask = (0..degree).map(|element| vectors[element % lines][element / lines]);
        mask.chain([vectors[lines][0]]).collect()
    }

    fn holds(&self, unit: &Simulation, decrypts: bool) {
        let found = self.run(unit, Wrong::Nothing);
        assert!(!found.wrong, "an access or an instruction too many");
        assert!(found.in_time, "other cycles than the model's");
        let kind = if self.order == KeySwitchOrder::None { LweKind::Large } else { LweKind::Small };
        assert!(found.results == self.xpu.expected(kind, decrypts), "other words");
    }
}

/// Morphling with one XPU, whose lane groups share each row of the key-switch key.
fn one_xpu(figures: &[(&str, f64)]) -> Machine {
    let machine = morphling().choose(&[("key_switch_rows", "multicast")]).expect("its reading");
    let figures = figures.iter().copied().chain([("units.xpu.count", 1.0)]);
    let figures: Vec<(String, f64)> = figures.map(|(key, value)| (key.to_owned(), value)).collect();
    machine.changed(&figures).expect("a machine")
}

/// 64 points on two lanes, and lane groups of eight.
fn small(waves: usize, order: KeySwitchOrder) -> Chip {
    let figures = [
        ("units.path.points", 2.0),
        ("units.fft.points", 4.0),
        ("units.vpu.lanes", 8.0),
        ("channels.network.link", 16.0),
        ("channels.hbm.bandwidth", 77.5),
    ];
    Chip::new(&one_xpu(&figures), &small_set(), waves, order)
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn bootstraps_of_a_small_set() {
    let chip = small(1, KeySwitchOrder::After);
    let unit = chip.simulate();
    chip.holds(&unit, true);
    let right = chip.run(&unit, Wrong::Nothing).results;
    for (wrong, in_time) in [(Wrong::Load, false), (Wrong::Word, true)] {
        let found = chip.run(&unit, wrong);
        assert!(found.results != right, "{wrong:?} should give wrong words");
        assert_eq!(found.in_time, in_time, "{wrong:?}");
    }
    small(4, KeySwitchOrder::None).holds(&unit, true);
}

#[test]
#[ignore = "slow: make rtl RTL_ARGS=full"]
fn full_size_set_one() {
    let set = sets::parameters("morphling-I").expect("a set");
    let chip = Chip::new(&one_xpu(&[]), &set, 1, KeySwitchOrder::After);
    // As on the XPU alone, the base of 2^10 is too large for transforms of 32 bits.
    chip.holds(&chip.simulate(), false);
}
