//! Does the core compute whole programmable bootstraps with their key switch in the cycles of Strix' schedule, equal to the interpreter word by word, and do the results decrypt to the table's values?

use crate::fixed_fft::{Layout, Point, Setting, word, zipped};
use crate::pbs_cluster::with_arithmetic;
use polyfabric_kernels::decompose::Gadget;
use polyfabric_kernels::fixed::FixedSpectrum;
use polyfabric_machines::contract::tfhe::lowering;
use polyfabric_machines::tfhe::replay::replay;
use polyfabric_machines::torus_pipeline::machine::Pipeline;
use polyfabric_machines::torus_pipeline::{Mapped, map};
use polyfabric_machines::{Machine, registry};
use polyfabric_program::tfhe::builtin::{BuiltIn, build_for};
use polyfabric_program::tfhe::homomorphic::{decode_output, encode_input, evaluate};
use polyfabric_program::tfhe::lowering::{Arithmetic, KeySwitchOrder};
use polyfabric_rtl::{Bench, Bits, Reader, Simulation};
use polyfabric_runtime::NoProgress;
use polyfabric_runtime::tfhe::interpreter;
use polyfabric_schemes::tfhe::noise::Transform;
use polyfabric_schemes::tfhe::{ClientKey, LweBatch, LweKind, Parameters, ParametersLiteral, ServerKey, sets};
use polyfabric_sim::schedule::Access;
use std::collections::{BTreeMap, BTreeSet};

/// Words of the link in a cycle, and bytes of a word of buffers.
const LINK: usize = 4;
const WORD_BYTES: f64 = 16.0;

/// Commands and data of a cycle, as numbers of what comes.
#[derive(Clone, Default)]
struct Cycle {
    /// Ciphertext of the core, whether of its test polynomial, word.
    link: Option<(usize, bool, usize)>,
    /// Ciphertext and half of the key buffer.
    start: Option<(usize, u64)>,
    /// Number of ciphertexts and half of the buffer.
    switch: Option<(usize, u64)>,
    send: Option<usize>,
    /// Iteration, and word of each channel.
    key: Option<(usize, usize)>,
    /// Tile, and word of each channel.
    tile: Option<(usize, usize)>,
}

/// The commands that the schedule gives a core, and the cycles of its results.
struct Control {
    cycles: Vec<Cycle>,
    /// Cycles in which words of accumulators are written, with their ciphertext, and extracted ones.
    accumulated: BTreeMap<usize, usize>,
    extracted: BTreeSet<usize>,
    /// Start of the last tile.
    last_tile: usize,
    /// First word of each result, by ciphertext of the core.
    sent: BTreeMap<usize, usize>,
}

impl Control {
    /// Starts the second iteration of the first ciphertext, or the second tile, a cycle early. Both wait for the one before.
    fn spoil(&mut self, wrong: Wrong) {
        let cycles = &mut self.cycles;
        let second = |cycles: &[Cycle], of: fn(&Cycle) -> bool| {
            (0..cycles.len()).filter(|&cycle| of(&cycles[cycle])).nth(1).expect("a second start")
        };
        match wrong {
            Wrong::Start => {
                let at = second(cycles, |cycle| cycle.start.is_some_and(|(ciphertext, _)| ciphertext == 0));
                cycles[at - 1].start = cycles[at].start.take();
            }
            Wrong::Tile => {
                let at = second(cycles, |cycle| cycle.switch.is_some());
                cycles[at - 1].switch = cycles[at].switch.take();
            }
            _ => {}
        }
    }
}

/// A single wrong thing.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Wrong {
    Nothing,
    /// An iteration starts a cycle early.
    Start,
    /// The ciphertext's first element, and so its amount.
    Amount,
    /// A word of either key.
    Key,
    SwitchKey,
    /// A tile starts a cycle early.
    Tile,
}

/// A run's outputs.
struct Found {
    /// By ciphertext of the core.
    results: Vec<Vec<u32>>,
    in_time: bool,
    clashes: usize,
}

/// Core 0 of a machine, with a program, keys and ciphertexts.
struct Core {
    machine: Pipeline,
    setting: Setting,
    parameters: Parameters,
    program: BuiltIn,
    mapped: Mapped,
    client: ClientKey<u32>,
    server: ServerKey<u32>,
    inputs: BTreeMap<String, LweBatch<u32>>,
    messages: Vec<i64>,
}

impl Core {
    /// `count` bootstraps with different messages of `bits` bits.
    fn new(machine: &Machine, parameters: &Parameters, count: usize, bits: u32) -> Self {
        let choice = lowering(machine, parameters, KeySwitchOrder::After).expect("a 32-bit set");
        let Arithmetic::Fixed(spec) = &choice.arithmetic else { panic!("fixed point") };
        let glwe_dimension = parameters.glwe_dimension().get();
        let setting = Setting { gadget: parameters.bootstrap_gadget(), glwe_dimension, spec: (**spec).clone() };
        let program = build_for("pbs+ks", Some(bits), parameters, count, &choice, Transform::Exact);
        let program = program.expect("a program");
        let machine = Pipeline::new(machine).expect("its figures");
        let mapped = map(&machine, &program.kernel).expect("it fits");
        let client = ClientKey::<u32>::for_tests(parameters, 7).expect("a checked set");
        let server = ServerKey::for_tests(&client, 8);
        let messages: Vec<i64> = (0..count as i64).map(|number| (number / 8 + number) % (1 << bits)).collect();
        let plain = encode_input(&program.program, "x", &messages).expect("messages");
        let inputs = [("x".to_owned(), client.encrypt_for_tests(LweKind::Small, &plain, 3))].into();
        Self { machine, setting, parameters: parameters.clone(), program, mapped, client, server, inputs, messages }
    }

    fn log2_lanes(&self) -> u32 {
        self.machine.lanes.ilog2()
    }

    fn lines(&self) -> usize {
        self.setting.points() >> self.log2_lanes()
    }

    /// Lanes of the key-switch cluster: those of a polynomial's coefficients.
    fn switch_lanes(&self) -> usize {
        2 << self.log2_lanes()
    }

    /// Elements of a result.
    fn size(&self) -> usize {
        self.parameters.lwe_dimension().get() + 1
    }

    fn waves(&self) -> usize {
        self.messages.len().div_ceil(self.machine.cores as usize)
    }

    fn switch_gadget(&self) -> Gadget {
        self.parameters.key_switch_gadget().expect("a key switch")
    }

    /// Places for ciphertexts in the simulated core.
    fn batch(&self) -> usize {
        self.waves().max(3)
    }

    fn simulate(&self) -> Simulation {
        let gadget = self.switch_gadget();
        assert_eq!(self.machine.switch_lanes as usize, self.switch_lanes());
        let choice = self.batch().next_power_of_two().ilog2();
        let bench = Bench::new("strix_core")
            .parameter("LWE_DIMENSION", self.size() as u64 - 1)
            .parameter("BATCH", self.batch() as u64)
            .parameter("KEY", self.setting.spec.key.output_width())
            .parameter("LOG2_GROUPS", choice.min(2))
            .parameter("SWITCH_COLUMNS", self.machine.switch_columns)
            .parameter("TILE_LINES", self.mapped.tasks.layout.tile_elements / self.machine.switch_lanes)
            .parameter("SWITCH_LOG2_BASE", gadget.log2_base)
            .parameter("SWITCH_LEVELS", gadget.levels)
            .parameter("KEY_CHANNELS", self.machine.key_channels)
            .parameter("SWITCH_CHANNELS", self.machine.switch_channels);
        with_arithmetic(bench, &self.setting, self.log2_lanes(), self.machine.depth).simulate().expect("a unit")
    }

    /// The schedule's events of core 0 and of the keys' channels, as a core's commands. A command that reads an amount comes one cycle ahead.
    fn control(&self) -> Control {
        let (schedule, layout, cores) = (&self.mapped.schedule, &self.mapped.tasks.layout, self.machine.cores as usize);
        let resources = &schedule.resources;
        let memory = self.machine.depth.memory as usize;
        let cycles = vec![Cycle::default(); schedule.cycles() as usize + 1];
        let (accumulated, extracted, sent) = Default::default();
        let mut control = Control { cycles, accumulated, extracted, last_tile: 0, sent };
        let (mut halves, mut tile_halves) = (BTreeMap::new(), BTreeMap::new());
        for placed in schedule.events() {
            let (event, op) = (placed.event, placed.op());
            let start = usize::try_from(placed.start).expect("after cycle 0");
            let (iteration, wave) = (op.iteration as usize, op.ciphertext as usize / cores);
            let spans = || event.writes.iter().flat_map(|to| start + to.first as usize..=start + to.last as usize);
            let into =
                |name: &str| event.writes.iter().any(|to| resources.memories[to.place.memory.0 as usize].name == name);
            let arrivals = || {
                // A channel brings whole words when their last bytes have come.
                let (bytes, to) = (self.machine.channel_bytes, &event.writes[0]);
                let last = to.last as usize;
                let words = (event.work as f64 / WORD_BYTES) as usize;
                let times = (1..=words).map(move |word| (word as f64 * WORD_BYTES / bytes - 1e-9).ceil() as usize - 1);
                let times: Vec<usize> = times.map(|time| start + to.first as usize + time).collect();
                assert_eq!(times.last(), Some(&(start + last)), "whole words at the rate of a channel");
                times
            };
            match (resources.name(event.resource), resources.kinds[op.kind.0 as usize].name.as_str()) {
                ("core0.link.in", kind) => {
                    for word in 0..event.occupancy as usize {
                        control.cycles[start + memory + word].link = Some((wave, kind == "load accumulators", word));
                    }
                }
                ("hbm.key0", _) => {
                    halves.insert(iteration, (event.writes[0].place.offset - layout.keys.offset) / layout.sizes.key);
                    for (word, at) in arrivals().into_iter().enumerate() {
                        control.cycles[at].key = Some((iteration, word));
                    }
                }
                ("hbm.switch0", _) => {
                    let (tile, ring) = (iteration / layout.tile_elements as usize, layout.tiles);
                    tile_halves.insert(tile, (event.writes[0].place.offset - ring.offset) / ring.entry_bytes);
                    for (word, at) in arrivals().into_iter().enumerate() {
                        control.cycles[at].tile = Some((tile, word));
                    }
                }
                ("core0.rotator", _) => control.cycles[start - 1].start = Some((wave, halves[&iteration])),
                ("core0.accumulator", _) if into("core0.local") => {
                    control.accumulated.extend(spans().map(|cycle| (cycle, wave)));
                }
                ("core0.extractor", _) => control.extracted.extend(spans()),
                ("core0.key_switch", _) => {
                    let tile = iteration / layout.tile_elements as usize;
                    control.cycles[start].switch = Some((self.waves(), tile_halves[&tile]));
                    control.last_tile = control.last_tile.max(start);
                }
                ("core0.link.out", _) => {
                    control.cycles[start].send = Some(wave);
                    control.sent.insert(wave, start + memory);
                }
                _ => {}
            }
        }
        control
    }

    /// The words of the bootstrapping key, by iteration, in the order of use.
    fn key_words(&self) -> Vec<Vec<u32>> {
        let (kernel, degree) = (self.setting.transform(), 2 * self.setting.points());
        let layout = Layout::spectrum(&self.setting, self.log2_lanes(), u32::BITS);
        let spectrum = |polynomial: &[u32]| -> Vec<Point> {
            let mut spectrum = FixedSpectrum::zeros(self.setting.spec.ring_degree);
            assert_eq!(kernel.forward_torus(polynomial, &mut spectrum), 0);
            zipped(spectrum.re(), spectrum.im())
        };
        let steps = self.mapped.tasks.steps.values().next().expect("a blind rotation");
        let polynomials = steps.polynomials as usize;
        let ggsw = self.setting.rows() * polynomials * degree;
        let iteration = |key: &[u32]| {
            let spectra: Vec<Vec<Point>> = key.chunks(degree).map(spectrum).collect();
            let mut words = Vec::new();
            for step in &steps.steps {
                for line in 0..self.lines() {
                    let columns = |row| (0..polynomials).map(move |column| row as usize * polynomials + column);
                    let bits = step.rows.iter().flat_map(|row| columns(row.row));
                    let bits = bits.fold(Bits::new(), |bits, place| word(bits, line, &spectra[place], &layout));
                    let mut reader = Reader::new(bits.bytes());
                    words.extend((0..bits.width() / 32).map(|_| reader.unsigned(32) as u32));
                }
            }
            words
        };
        self.server.bootstrap_key().chunks(ggsw).map(iteration).collect()
    }

    /// The words of a tile of the key-switch key, in the order of use.
    fn tile_words(&self, tile: usize) -> Vec<u32> {
        let (lanes, size, levels) = (self.switch_lanes(), self.size(), self.switch_gadget().levels as usize);
        let key = self.server.key_switch_key().expect("a key");
        let count = self.mapped.tasks.layout.tile_elements as usize / lanes;
        let lines = tile * count..(tile + 1) * count;
        let rows = lines.flat_map(|line| (0..levels).map(move |level| (line, level)));
        let places = rows.flat_map(|row| (0..size).map(move |element| (row, element)));
        let places = places.flat_map(|((line, level), element)| {
            let row = move |lane| (lane * self.lines() + line) * levels + level;
            (0..lanes).map(move |lane| row(lane) * size + element)
        });
        places.map(|place| key[place]).collect()
    }

    /// The words of a test polynomial, in the order of the link: lines, and their columns in groups.
    fn table_words(&self) -> Vec<u32> {
        let table: Vec<u32> = self.program.kernel.tables[0].coefficients();
        (0..self.lines())
            .flat_map(|line| (0..self.switch_lanes()).map(move |c| (line, c)))
            .map(|(line, c)| table[c * self.lines() + line])
            .collect()
    }

    fn run(&self, unit: &Simulation, wrong: Wrong) -> Found {
        let mut control = self.control();
        control.spoil(wrong);
        let (cores, batch) = (self.machine.cores as usize, self.batch());
        let choice = batch.next_power_of_two().ilog2() as usize;
        let (key_channels, switch_channels) =
            (self.machine.key_channels as usize, self.machine.switch_channels as usize);
        let (mut keys, table) = (self.key_words(), self.table_words());
        let mut tiles: Vec<Vec<u32>> = (0..self.parameters.large_lwe_dimension().get()
            / self.mapped.tasks.layout.tile_elements as usize)
            .map(|tile| self.tile_words(tile))
            .collect();
        let mut ciphertexts: Vec<Vec<u32>> = self.inputs["x"].iter().step_by(cores).map(<[u32]>::to_vec).collect();
        match wrong {
            Wrong::Amount => ciphertexts[0][0] ^= 1 << 31,
            Wrong::Key => keys[3][5] ^= 1 << 20,
            Wrong::SwitchKey => tiles[1][7] ^= 1,
            _ => {}
        }
        let pad = |words: &[u32], from: usize, count: usize| -> Vec<u32> {
            (from..from + count).map(|at| words.get(at).copied().unwrap_or(0)).collect()
        };
        let stream = control.cycles.iter().map(|cycle| {
            if matches!(cycle, Cycle { link: None, start: None, switch: None, send: None, key: None, tile: None }) {
                return None;
            }
            let flag = u8::from;
            let (target, is_table, number) = cycle.link.unwrap_or_default();
            let bits = Bits::new().field(flag(cycle.link.is_some()), 1).field(flag(number == 0), 1);
            let bits = bits.field(flag(is_table), 1).field(target as u64, choice);
            let (ciphertext, half) = cycle.start.unwrap_or_default();
            let bits = bits.field(flag(cycle.start.is_some()), 1).field(ciphertext as u64, choice).field(half, 1);
            let (count, tile_half) = cycle.switch.unwrap_or_default();
            let bits = bits.field(flag(cycle.switch.is_some()), 1).field(count as u64, choice + 1).field(tile_half, 1);
            let bits = bits.field(flag(cycle.send.is_some()), 1).field(cycle.send.unwrap_or(0) as u64, choice);
            let bits = bits.field(flag(cycle.key.is_some()), 1).field(flag(cycle.tile.is_some()), 1);
            let words = if is_table { &table } else { &ciphertexts[target] };
            let bits = bits.fields(pad(if cycle.link.is_some() { words } else { &[] }, LINK * number, LINK), 32);
            let of = |words: Option<(&Vec<u32>, usize)>, channels: usize| {
                let (words, number) = words.map_or((&[][..], 0), |(words, number)| (words.as_slice(), number));
                pad(words, LINK * channels * number, LINK * channels)
            };
            let bits = bits.fields(of(cycle.key.map(|(key, number)| (&keys[key], number)), key_channels), 32);
            Some(bits.fields(of(cycle.tile.map(|(tile, number)| (&tiles[tile], number)), switch_channels), 32))
        });
        let outputs = unit.run(stream, 2 * self.machine.depth.memory as usize).expect("a run");
        let (mut accumulated, mut extracted, mut switched) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
        let (mut left, mut clashes) = (BTreeMap::new(), 0);
        for output in outputs {
            let (cycle, mut reader) = (output.cycle as usize, Reader::new(&output.bytes));
            let leaves = reader.unsigned(1) == 1;
            let (accumulates, ciphertext) = (reader.unsigned(1) == 1, reader.unsigned(choice) as usize);
            if accumulates {
                accumulated.insert(cycle, ciphertext);
            }
            for seen in [&mut extracted, &mut switched] {
                if reader.unsigned(1) == 1 {
                    seen.insert(cycle);
                }
            }
            clashes += reader.unsigned(1) as usize;
            if leaves {
                left.insert(cycle, (0..LINK).map(|_| reader.unsigned(32) as u32).collect::<Vec<_>>());
            }
        }
        let words = self.size().div_ceil(LINK);
        let expected: BTreeSet<usize> = control.sent.values().flat_map(|&first| first..first + words).collect();
        let in_time = accumulated == control.accumulated
            && extracted == control.extracted
            && switched.last() == Some(&self.last_sum(&control))
            && left.keys().copied().collect::<BTreeSet<_>>() == expected;
        let result = |&first: &usize| {
            let words = (first..first + words).flat_map(|cycle| left.get(&cycle).cloned().unwrap_or_default());
            words.take(self.size()).collect()
        };
        Found { results: control.sent.values().map(result).collect(), in_time, clashes }
    }

    /// The cycle of the last sum of the last tile: its body's column, of the last ciphertext.
    fn last_sum(&self, control: &Control) -> usize {
        let (columns, elements) = (self.machine.switch_columns as usize, self.size());
        let pass = self.waves().max(self.machine.switch_tile_cycles() as usize);
        let rows = self.mapped.tasks.layout.tile_elements as usize / self.switch_lanes()
            * self.switch_gadget().levels as usize;
        let last_pass = control.last_tile + (rows * elements.div_ceil(columns) - 1) * pass;
        // The model's latency is that of the last column, to the cycle after.
        let latency = self.machine.steps(&self.parameters).switch as usize;
        last_pass + (elements - 1) % columns + self.waves() - 1 + latency - columns
    }

    /// Holds a run against schedule and interpreter, and the decrypted results against the table if the set's noise allows it.
    fn holds(&self, unit: &Simulation, decrypts: bool) {
        let found = self.run(unit, Wrong::Nothing);
        assert_eq!(found.clashes, 0, "accesses on a port of the scratchpad");
        assert!(found.in_time, "other cycles than the schedule's");
        let kernel = &self.program.kernel;
        let expected = interpreter::run(kernel, &self.server, &self.inputs, &NoProgress).expect("it runs")["y"].clone();
        let own: Vec<&[u32]> = expected.iter().step_by(self.machine.cores as usize).collect();
        assert_eq!(found.results.len(), own.len());
        assert!(found.results.iter().zip(own).all(|(found, expected)| found == expected), "other words");
        if decrypts {
            let phases = self.client.decrypt_phase(LweKind::Small, &expected).expect("its key");
            let given = [("x".to_owned(), self.messages.clone())].into();
            let outputs = evaluate(&self.program.program, &given).expect("messages").outputs(&self.program.program);
            let decoded = decode_output(&self.program.program, "y", &phases, None).expect("messages");
            assert_eq!(decoded, outputs["y"], "decrypted");
        }
    }
}

/// Strix with factors that suffice for its data.
fn strix() -> Machine {
    registry::description("strix").expect("a machine").choose(&[("twiddle", "wide")]).expect("its reading")
}

/// 32 points on two lanes, and eight tiles of the key-switch key.
fn small(count: usize) -> Core {
    let figures = [
        ("units.core.count", 1.0),
        ("units.core.lanes", 2.0),
        ("units.switch.lanes", 4.0),
        ("units.switch.columns", 4.0),
        ("memories.global.capacity", 1.0 / 64.0),
        ("channels.key_bus.rate", 512.0),
        ("channels.switch_bus.rate", 128.0),
    ];
    let machine = strix().changed(&figures.map(|(key, value)| (key.to_owned(), value))).expect("a machine");
    let mut literal: ParametersLiteral = sets::literal("toy-256").expect("a set").clone();
    literal.name = "small".to_owned();
    (literal.lwe_dimension, literal.ring_degree) = (8, 64);
    literal.key_switch_gadget = Some(Gadget { log2_base: 4, levels: 4 });
    (literal.lwe_noise_log2, literal.glwe_noise_log2) = (-28.0, -29.0);
    Core::new(&machine, &Parameters::check(&literal).expect("a set"), count, 2)
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn three_bootstraps_of_a_small_set() {
    let core = small(3);
    let unit = core.simulate();
    core.holds(&unit, true);
    let replayed = replay(
        &core.mapped.schedule,
        &core.mapped.labels,
        &core.program.kernel,
        &core.server,
        &core.inputs,
        &NoProgress,
    );
    let right = core.run(&unit, Wrong::Nothing).results;
    assert_eq!(right.concat(), replayed.expect("it runs").outputs["y"].data());
    for (wrong, in_time, clashes) in [
        (Wrong::Start, false, true),
        (Wrong::Amount, true, false),
        (Wrong::Key, true, false),
        (Wrong::SwitchKey, true, false),
        // The rest of the key switch is another.
        (Wrong::Tile, false, false),
    ] {
        let found = core.run(&unit, wrong);
        assert!(found.results != right, "{wrong:?} should give wrong words");
        assert_eq!((found.in_time, found.clashes > 0), (in_time, clashes), "{wrong:?}");
    }
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn full_size_set_one() {
    let set = sets::parameters("strix-I").expect("a set");
    // One ciphertext, and three per core as in figure 8. The base of 2^10 is too large for transforms of 32 bits: the interpreter's results do not decrypt either.
    for count in [1, 24] {
        let core = Core::new(&strix(), &set, count, 1);
        core.holds(&core.simulate(), false);
    }
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn full_size_set_two_decrypts() {
    let core = Core::new(&strix(), &sets::parameters("strix-II").expect("a set"), 1, 1);
    core.holds(&core.simulate(), true);
}

/// Cycles in which more than one access is on a port of a group of banks, among iterations, and of loads with these. A batch is `waves` ciphertexts a core.
fn clashes(set: &Parameters, waves: usize, batches: usize, groups: usize) -> [usize; 2] {
    let choice = lowering(&strix(), set, KeySwitchOrder::After).expect("a 32-bit set");
    let machine = Pipeline { batch: waves as u64, ..Pipeline::new(&strix()).expect("its figures") };
    let cores = machine.cores as usize;
    let count = cores * waves * batches;
    let program = build_for("pbs+ks", Some(1), set, count, &choice, Transform::Exact).expect("a program");
    let mapped = map(&machine, &program.kernel).expect("it fits");
    let (schedule, layout) = (&mapped.schedule, &mapped.tasks.layout);
    assert_eq!(layout.waves as usize, waves, "the local scratchpad holds as many");
    let resources = &schedule.resources;
    // By cycle and group: accesses on the first and the second port, and loads.
    let mut ports = vec![[0u8; 3]; (schedule.cycles() as usize + 1) * groups];
    for placed in schedule.events() {
        let (event, op) = (placed.event, placed.op());
        let group = op.ciphertext as usize / cores % waves % groups;
        let accumulator = |accesses: &[Access]| {
            let own = |access: &&Access| {
                let memory = &resources.memories[access.place.memory.0 as usize];
                memory.name == "core0.local"
                    && access.place.offset < layout.rotations(access.place.offset / layout.resident.entry_bytes)
            };
            accesses.iter().find(own).map(|access| (access.first, access.last))
        };
        let (reads, writes) = (accumulator(&event.reads), accumulator(&event.writes));
        let uses = match resources.name(event.resource) {
            "core0.rotator" => [reads, reads, None],
            "core0.accumulator" => [writes, reads, None],
            "core0.link.in" => [None, None, writes],
            _ => continue,
        };
        for (port, span) in uses.into_iter().enumerate() {
            for cycle in span.into_iter().flat_map(|(first, last)| first..=last) {
                ports[(placed.start as usize + cycle as usize) * groups + group][port] += 1;
            }
        }
    }
    let count = |clash: fn(&[u8; 3]) -> bool| ports.iter().filter(|ports| clash(ports)).count();
    [count(|&[first, second, _]| first > 1 || second > 1), count(|&[first, _, loads]| first > 0 && loads > 0)]
}

#[test]
#[ignore = "slow: make rtl RTL_ARGS=full"]
fn full_size_ciphertexts_in_flight_need_their_own_banks() {
    let set = sets::parameters("strix-I").expect("a set");
    // Figure 8's three ciphertexts, in three batches.
    assert!(clashes(&set, 3, 3, 1)[0] > 500_000);
    assert_eq!(clashes(&set, 3, 3, 4), [0, 0]);
    // The last of five ciphertexts, and the first one after it, are in the same of four groups.
    assert!(clashes(&set, 5, 1, 4)[0] > 0);
    // All that a core holds: iterations fit four groups, loads of the next batch do not.
    assert_eq!(clashes(&set, 40, 2, 4), [0, 2600]);
}
