//! Does an XPU carry out whole blind rotations in the cycles of Morphling's schedule, equal to the replay word by word, and do they decrypt to the table's values?

use crate::fixed_fft::{Layout, Point, Setting, word, zipped};
use crate::pbs_cluster::with_arithmetic;
use polyfabric_kernels::fixed::FixedSpectrum;
use polyfabric_machines::contract::tfhe::lowering;
use polyfabric_machines::morphling::array::{ArrayState, IterationTimes, Rotation, StepCycles, rotate};
use polyfabric_machines::morphling::latency::coef_buffer;
use polyfabric_machines::morphling::machine::Morphling;
use polyfabric_machines::morphling::{Mapped, map};
use polyfabric_machines::tfhe::replay::replay;
use polyfabric_machines::tfhe::steady::{Settled, Steady};
use polyfabric_machines::{Machine, registry};
use polyfabric_program::tfhe::builtin::{BuiltIn, build_for};
use polyfabric_program::tfhe::homomorphic::{decode_output, encode_input, evaluate};
use polyfabric_program::tfhe::lowering::{Arithmetic, KeySwitchOrder};
use polyfabric_rtl::{Bench, Bits, Reader, Simulation};
use polyfabric_runtime::NoProgress;
use polyfabric_runtime::tfhe::interpreter::Primitives;
use polyfabric_schemes::tfhe::noise::Transform;
use polyfabric_schemes::tfhe::{ClientKey, LweBatch, LweKind, Parameters, ParametersLiteral, ServerKey, sets};
use std::collections::{BTreeMap, BTreeSet};

/// Commands and data of a cycle.
#[derive(Clone, Default, PartialEq)]
struct Cycle {
    /// Wave, and word of the link.
    link: Option<(usize, usize)>,
    /// Wave, index in the plan's forward transforms, half of the key's buffer.
    start: Option<(usize, usize, u64)>,
    /// Wave.
    send: Option<usize>,
    /// Iteration, and word of each column.
    key: Option<(usize, usize)>,
}

/// The schedule's commands to an XPU, and the cycles of what its units do.
struct Control {
    cycles: Vec<Cycle>,
    seen: Seen,
}

/// What is seen of the units: first digits, points and sums of polynomials, words of accumulators by row, with their wave, and words on the link.
#[derive(Default, PartialEq)]
struct Seen {
    decomposed: BTreeSet<usize>,
    transformed: BTreeSet<usize>,
    drained: BTreeSet<usize>,
    accumulated: Vec<BTreeMap<usize, usize>>,
    left: BTreeSet<usize>,
}

/// A single wrong thing.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Wrong {
    Nothing,
    /// The second iteration of the first wave starts a cycle early.
    Start,
    /// An amount of the last row.
    Amount,
    /// A word of the key.
    Key,
}

/// Which waits the unit has.
#[derive(Clone, Copy)]
pub enum Waits {
    /// The paper's: half of a result in the Coef buffer, and sums in the array until the last product.
    Papers,
    None,
}

/// A run's outputs.
struct Found {
    /// Extracted ciphertexts, wave by wave.
    results: Vec<Vec<u32>>,
    in_time: bool,
    clashes: usize,
}

/// XPU 0 of a machine, with a program, keys and ciphertexts.
pub struct Xpu {
    pub machine: Morphling,
    arithmetic: Arithmetic,
    pub setting: Setting,
    program: BuiltIn,
    pub mapped: Mapped,
    client: ClientKey<u32>,
    server: ServerKey<u32>,
    pub inputs: BTreeMap<String, LweBatch<u32>>,
    messages: Vec<i64>,
}

impl Xpu {
    /// As many bootstraps as fill `waves` waves of XPU 0, with different messages of one bit.
    pub fn new(machine: &Machine, parameters: &Parameters, waves: usize, order: KeySwitchOrder) -> Self {
        let choice = lowering(machine, parameters, order).expect("a 32-bit set");
        let arithmetic = choice.arithmetic.clone();
        let Arithmetic::Fixed(spec) = &arithmetic else { panic!("fixed point") };
        let glwe_dimension = parameters.glwe_dimension().get();
        let setting = Setting { gadget: parameters.bootstrap_gadget(), glwe_dimension, spec: (**spec).clone() };
        let machine = Morphling::new(machine).expect("its figures");
        let count = (waves - 1) * machine.positions() as usize + machine.rows as usize;
        let program =
            build_for(built_in(order), Some(1), parameters, count, &choice, Transform::Exact).expect("a program");
        let mapped = map(&machine, &program.kernel).expect("it fits");
        let client = ClientKey::<u32>::for_tests(parameters, 7).expect("a checked set");
        let server = ServerKey::for_tests(&client, 8);
        let messages: Vec<i64> = (0..count as i64).map(|number| (number / 3 + number) % 2).collect();
        let plain = encode_input(&program.program, "x", &messages).expect("messages");
        let inputs = [("x".to_owned(), client.encrypt_for_tests(LweKind::Small, &plain, 3))].into();
        Self { machine, arithmetic, setting, program, mapped, client, server, inputs, messages }
    }

    pub fn rows(&self) -> usize {
        self.machine.rows as usize
    }

    pub fn positions(&self) -> usize {
        self.machine.positions() as usize
    }

    pub fn waves(&self) -> usize {
        self.messages.len().div_ceil(self.positions())
    }

    pub fn lanes(&self) -> usize {
        self.machine.streams().row_points as usize
    }

    pub fn lines(&self) -> usize {
        self.setting.points() / self.lanes()
    }

    pub fn polynomials(&self) -> usize {
        self.setting.glwe_dimension + 1
    }

    /// Words of a row's accumulator.
    pub fn words(&self) -> usize {
        self.polynomials() * self.lines()
    }

    pub fn lwe_dimension(&self) -> usize {
        self.mapped.streams.layout.sizes.lwe_dimension as usize
    }

    /// Ciphertexts of the XPU, wave by wave.
    fn own(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.waves()).flat_map(move |wave| (0..self.rows()).map(move |row| wave * self.positions() + row))
    }

    /// The unit, with the paper's waits or without.
    fn simulate(&self, waits: Waits) -> Simulation {
        let (coef, of_sums) = self.waits(waits);
        let spec = &self.setting.spec;
        assert_eq!(spec.key.output_width(), spec.digits.input_width);
        let bench = Bench::new("morphling_xpu")
            .parameter("ROWS", self.machine.rows)
            .parameter("COLUMNS", self.machine.columns)
            .parameter("POLYNOMIALS", self.polynomials() as u64)
            .parameter("WAVES", self.mapped.streams.layout.waves)
            .parameter("LWE_DIMENSION", self.lwe_dimension() as u64)
            .parameter("COEF", coef)
            .parameter("WAITS", of_sums);
        let lanes = self.lanes().ilog2();
        with_arithmetic(bench, &self.setting, lanes, self.machine.depth).simulate().expect("a unit")
    }

    /// Cycles in the Coef buffer, and those of sums in the array until they are complete.
    pub fn waits(&self, waits: Waits) -> (u64, u64) {
        match waits {
            Waits::Papers => (coef_buffer(self.setting.points() as u64, self.lanes() as u64), self.lines() as u64),
            Waits::None => (0, 0),
        }
    }

    /// Cycles in which the words of a key have come whose first byte comes in cycle `first`: a channel brings whole words of its column.
    pub fn arrivals(&self, first: usize) -> impl Iterator<Item = usize> + '_ {
        let word = 8 * self.lanes();
        let words = self.mapped.streams.layout.key_column(1, 0) as usize / word;
        let after = move |bytes: usize| (bytes as f64 / self.machine.channel_bytes - 1e-9).ceil() as usize - 1;
        (1..=words).map(move |number| first + after(number * word))
    }

    /// The model's blind rotation on idle XPUs without the paper's waits, and the cycles of an iteration once they repeat.
    fn rotation(&self, waits: Waits) -> (StepCycles, Rotation, Option<i64>) {
        let (papers, own) = (self.waits(Waits::Papers), self.waits(waits));
        let steps = self.machine.steps(&self.mapped.streams.layout.sizes);
        let steps = StepCycles {
            forward: steps.forward - (papers.0 - own.0) as i64,
            multiply: steps.multiply - (papers.1 - own.1) as i64,
            ..steps
        };
        let idle = ArrayState::new(self.machine.columns as usize, self.machine.key_buffers as usize);
        let (rotation, _) = rotate(&self.mapped.streams.plans[0], &steps, self.waves(), idle);
        let period = rotation.iterations.steady.as_ref().map(|steady| steady.period / 2);
        (steps, rotation, period)
    }

    /// Commands as the model gives them without the paper's waits: waves are loaded before the rotation and sent back after it.
    fn prompt(&self) -> Control {
        let (steps, rotation, _) = self.rotation(Waits::None);
        let rest = self.machine.depth.memory as usize;
        let origin = (self.waves() * self.link_words() + rest) as i64;
        let sent = self.rows() * self.words();
        let end = (origin + rotation.end) as usize;
        let mut cycles = vec![Cycle::default(); end + self.waves() * sent + 1];
        let mut seen = Seen { accumulated: vec![BTreeMap::new(); self.rows()], ..Seen::default() };
        for wave in 0..self.waves() {
            for word in 0..self.link_words() {
                cycles[wave * self.link_words() + word].link = Some((wave, word));
            }
            cycles[end + wave * sent].send = Some(wave);
            seen.left.extend((0..sent).map(|word| end + wave * sent + rest + word));
        }
        for (iteration, (from, times)) in iterations(&rotation, origin).into_iter().enumerate() {
            let at = |cycle: i64| usize::try_from(from + cycle).expect("after cycle 0");
            for (number, at) in self.arrivals(at(times.key + steps.key_latency)).enumerate() {
                cycles[at].key = Some((iteration, number));
            }
            for (wave, of_wave) in times.waves.iter().enumerate() {
                for (forward, times_of) in of_wave.forwards.iter().enumerate() {
                    let start = Some((wave, forward, u64::from(times.key_buffer)));
                    cycles[at(times_of.decomposition) - 1].start = start;
                    seen.decomposed.insert(at(times_of.transform));
                    seen.transformed.insert(at(times_of.multiply));
                }
                seen.drained.insert(at(of_wave.inverses[0].transform));
                for (inverse, row) in
                    of_wave.inverses.iter().flat_map(|times| (0..self.rows()).map(move |r| (times, r)))
                {
                    let first = at(inverse.accumulate + steps.accumulate - 1) + row;
                    seen.accumulated[row].extend((first..first + self.lines()).map(|cycle| (cycle, wave)));
                }
            }
        }
        Control { cycles, seen }
    }

    /// The schedule's events of XPU 0 and of the key's channels. A command that reads an amount comes one cycle ahead.
    fn control(&self) -> Control {
        let (schedule, streams) = (&self.mapped.schedule, &self.mapped.streams);
        let (resources, layout, [plan]) = (&schedule.resources, &streams.layout, &streams.plans[..]) else {
            panic!("one blind rotation")
        };
        assert_eq!((layout.store_rows, self.machine.key_channels), (self.machine.rows, self.polynomials() as u64));
        let memory = self.machine.depth.memory as usize;
        let mut cycles = vec![Cycle::default(); schedule.cycles() as usize + 1];
        let mut seen = Seen { accumulated: vec![BTreeMap::new(); self.rows()], ..Seen::default() };
        let mut halves = BTreeMap::new();
        let mut decompositions = vec![BTreeSet::new(); self.rows()];
        for placed in schedule.events() {
            let (event, op) = (placed.event, placed.op());
            let start = usize::try_from(placed.start).expect("after cycle 0");
            let (iteration, wave) = (op.iteration as usize, op.ciphertext as usize / self.positions());
            let (resource, kind) = (resources.name(event.resource), resources.kinds[op.kind.0 as usize].name.as_str());
            let row = |unit: &str| resource.strip_prefix(unit).and_then(|row| row.parse::<usize>().ok());
            match (resource, kind) {
                ("xpu0.link", "load accumulators") => {
                    assert_eq!(event.occupancy as usize, self.link_words());
                    for word in 0..self.link_words() {
                        cycles[start + memory + word].link = Some((wave, word));
                    }
                }
                ("xpu0.link", _) => {
                    cycles[start].send = Some(wave);
                    seen.left.extend((0..self.rows() * self.words()).map(|word| start + memory + word));
                }
                ("hbm0", "bootstrapping key") => {
                    let to = &event.writes[0];
                    assert_eq!(event.work, layout.key_column(1, 0), "a channel for each column");
                    halves.insert(iteration, to.place.offset / layout.key_column(1, 0));
                    for (number, at) in self.arrivals(start + to.first as usize).enumerate() {
                        assert!(at <= start + to.last as usize && cycles[at].key.is_none(), "the rate of a channel");
                        cycles[at].key = Some((iteration, number));
                    }
                }
                ("xpu0.fft0", _) => _ = seen.decomposed.insert(start),
                ("xpu0.vpe_row0", _) => _ = seen.transformed.insert(start),
                ("xpu0.ifft0", _) => {
                    let inverse = plan.drains.iter().flatten().nth(op.body_op as usize);
                    if inverse.expect("of the plan").column == 0 {
                        seen.drained.insert(start);
                    }
                }
                _ => {
                    if let Some(row) = row("xpu0.decomposition") {
                        decompositions[row].insert(start);
                        let (forward, half) = (op.body_op as usize, halves[&iteration]);
                        cycles[start - 1].start = Some((wave, forward, half));
                    } else if let Some(row) = row("xpu0.accumulator") {
                        let to = &event.writes[0];
                        let cycles = start + to.first as usize..=start + to.last as usize;
                        seen.accumulated[row].extend(cycles.map(|cycle| (cycle, wave)));
                    }
                }
            }
        }
        assert!(decompositions.windows(2).all(|rows| rows[0] == rows[1]), "rows in lockstep");
        Control { cycles, seen }
    }

    fn amount_words(&self) -> usize {
        (self.rows() * (self.lwe_dimension() + 1)).div_ceil(2 * self.lanes())
    }

    /// Words of a wave on the link.
    fn link_words(&self) -> usize {
        self.amount_words() + self.rows() * self.words()
    }

    /// Words of a wave on the link: amounts of all rows, and their accumulators without the initial rotation, line by line.
    fn wave_words(&self, wave: usize) -> Vec<u32> {
        let primitives = Primitives::new(&self.server, &self.arithmetic).expect("the key's arithmetic");
        let own = self.inputs["x"].iter().skip(wave * self.positions()).take(self.rows());
        let mut words: Vec<u32> = own.flat_map(|ciphertext| primitives.modulus_switch(ciphertext)).collect();
        words.resize(self.amount_words() * 2 * self.lanes(), 0);
        let lines = self.table_words();
        for _ in 0..self.rows() {
            words.resize(words.len() + self.setting.glwe_dimension * lines.len(), 0);
            words.extend(&lines);
        }
        words
    }

    /// The words of the table, line by line.
    pub fn table_words(&self) -> Vec<u32> {
        let table: Vec<u32> = self.program.kernel.tables[0].coefficients();
        let places = (0..self.lines()).flat_map(|line| (0..2 * self.lanes()).map(move |c| (line, c)));
        places.map(|(line, column)| table[column * self.lines() + line]).collect()
    }

    /// The words of the key, by iteration and column, in the order of use.
    pub fn key_words(&self) -> Vec<Vec<Vec<u32>>> {
        let (kernel, degree) = (self.setting.transform(), 2 * self.setting.points());
        let layout = Layout::spectrum(&self.setting, self.lanes().ilog2(), u32::BITS);
        let spectrum = |polynomial: &[u32]| -> Vec<Point> {
            let mut spectrum = FixedSpectrum::zeros(self.setting.spec.ring_degree);
            assert_eq!(kernel.forward_torus(polynomial, &mut spectrum), 0);
            zipped(spectrum.re(), spectrum.im())
        };
        let (polynomials, forwards) = (self.polynomials(), &self.mapped.streams.plans[0].forwards);
        let iteration = |key: &[u32]| {
            let spectra: Vec<Vec<Point>> = key.chunks(degree).map(spectrum).collect();
            let column = |column: usize| {
                let rows = forwards.iter().map(|forward| forward.products[column].row as usize);
                let lines = rows.flat_map(|row| (0..self.lines()).map(move |line| (row, line)));
                let words = lines.flat_map(|(row, line)| {
                    let bits = word(Bits::new(), line, &spectra[row * polynomials + column], &layout);
                    let mut reader = Reader::new(bits.bytes());
                    (0..bits.width() / 32).map(|_| reader.unsigned(32) as u32).collect::<Vec<_>>()
                });
                words.collect()
            };
            (0..polynomials).map(column).collect()
        };
        self.server.bootstrap_key().chunks(self.setting.rows() * polynomials * degree).map(iteration).collect()
    }

    fn run(&self, unit: &Simulation, control: Control, wrong: Wrong) -> Found {
        let Control { mut cycles, seen: expected } = control;
        let (waves, lanes, lines) = (self.waves(), self.lanes(), self.lines());
        let (mut keys, mut links) =
            (self.key_words(), (0..waves).map(|wave| self.wave_words(wave)).collect::<Vec<_>>());
        match wrong {
            Wrong::Start => {
                let starts = |cycle: &Cycle| cycle.start.is_some_and(|(wave, forward, _)| (wave, forward) == (0, 0));
                let mut of_wave = (0..cycles.len()).filter(|&cycle| starts(&cycles[cycle]));
                let at = of_wave.nth(1).expect("a second iteration");
                cycles[at - 1].start = cycles[at].start.take();
            }
            Wrong::Amount => links[0][self.rows() * (self.lwe_dimension() + 1) - 3] ^= 1,
            Wrong::Key => keys[3][1][5] ^= 1 << 20,
            Wrong::Nothing => {}
        }
        let bits_of = |count: usize| count.next_power_of_two().ilog2().max(1) as usize;
        let (wave_bits, polynomial_bits) =
            (bits_of(self.mapped.streams.layout.waves as usize), bits_of(self.polynomials()));
        let level_bits = bits_of(self.setting.gadget.levels as usize);
        let forwards = &self.mapped.streams.plans[0].forwards;
        let pad = |words: Option<&[u32]>, count: usize| words.map_or_else(|| vec![0; count], <[u32]>::to_vec);
        let stream = cycles.iter().map(|cycle| {
            if *cycle == Cycle::default() {
                return None;
            }
            let flag = u8::from;
            let (target, number) = cycle.link.unwrap_or_default();
            let bits = Bits::new().field(flag(cycle.link.is_some()), 1).field(flag(number == 0), 1);
            let (wave, forward, half) = cycle.start.unwrap_or_default();
            let bits = bits.field(target as u64, wave_bits).field(flag(cycle.start.is_some()), 1);
            let bits = bits.field(wave as u64, wave_bits).field(forwards[forward].polynomial, polynomial_bits);
            let bits = bits.field(forwards[forward].level, level_bits).field(half, 1);
            let bits = bits.field(flag(cycle.send.is_some()), 1).field(cycle.send.unwrap_or(0) as u64, wave_bits);
            let bits = bits.field(flag(cycle.key.is_some()), 1);
            let link = cycle.link.map(|(wave, number)| &links[wave][2 * lanes * number..][..2 * lanes]);
            let bits = bits.fields(pad(link, 2 * lanes), 32);
            Some((0..self.polynomials()).fold(bits, |bits, column| {
                let words =
                    |(iteration, number): (usize, usize)| &keys[iteration][column][2 * lanes * number..][..2 * lanes];
                bits.fields(pad(cycle.key.map(words), 2 * lanes), 32)
            }))
        });
        let outputs = unit.run(stream, 2 * self.machine.depth.memory as usize).expect("a run");
        let mut seen = Seen { accumulated: vec![BTreeMap::new(); self.rows()], ..Seen::default() };
        let (mut left, mut clashes) = (Vec::new(), 0);
        for output in outputs {
            let (cycle, mut reader) = (output.cycle as usize, Reader::new(&output.bytes));
            let leaves = reader.unsigned(1) == 1;
            for events in [&mut seen.decomposed, &mut seen.transformed, &mut seen.drained] {
                if reader.unsigned(1) == 1 {
                    events.insert(cycle);
                }
            }
            clashes += reader.unsigned(1) as usize;
            for row in &mut seen.accumulated {
                let (writes, wave) = (reader.unsigned(1) == 1, reader.unsigned(wave_bits) as usize);
                if writes {
                    row.insert(cycle, wave);
                }
            }
            if leaves {
                seen.left.insert(cycle);
                left.push((0..2 * lanes).map(|_| reader.unsigned(32) as u32).collect::<Vec<_>>());
            }
        }
        let primitives = Primitives::new(&self.server, &self.arithmetic).expect("the key's arithmetic");
        let result = |words: &[Vec<u32>]| {
            let polynomials = words.chunks(lines).map(|words| {
                (0..2 * lanes * lines).map(|place| words[place % lines][place / lines]).collect::<Vec<u32>>()
            });
            primitives.sample_extract(&polynomials.collect::<Vec<_>>())
        };
        let results = left.chunks_exact(self.words()).map(result).collect();
        Found { results, in_time: seen == expected, clashes }
    }

    /// The replay's ciphertexts of the XPU, under the key `kind`; they decrypt to the table's values if the set's noise allows it.
    pub fn expected(&self, kind: LweKind, decrypts: bool) -> Vec<Vec<u32>> {
        let (Mapped { schedule, labels, .. }, kernel) = (&self.mapped, &self.program.kernel);
        let replayed = replay(schedule, labels, kernel, &self.server, &self.inputs, &NoProgress).expect("it runs");
        assert_eq!(replayed.saturations, 0);
        let outputs = &replayed.outputs["y"];
        if decrypts {
            let phases = self.client.decrypt_phase(kind, outputs).expect("its key");
            let given = [("x".to_owned(), self.messages.clone())].into();
            let plain = evaluate(&self.program.program, &given).expect("messages").outputs(&self.program.program);
            let decoded = decode_output(&self.program.program, "y", &phases, None).expect("messages");
            assert_eq!(decoded, plain["y"], "decrypted");
        }
        let all: Vec<&[u32]> = outputs.iter().collect();
        self.own().map(|number| all[number].to_vec()).collect()
    }

    fn holds(&self, unit: &Simulation, control: Control, decrypts: bool) {
        let found = self.run(unit, control, Wrong::Nothing);
        assert_eq!(found.clashes, 0, "accesses on a port of a bank");
        assert!(found.in_time, "other cycles than the model's");
        assert!(found.results == self.expected(LweKind::Large, decrypts), "other words");
    }
}

/// Iterations of a rotation that starts in cycle `origin`, with the cycle to which their times are relative.
pub fn iterations(rotation: &Rotation, origin: i64) -> Vec<(i64, &IterationTimes)> {
    let Settled { prologue, steady, epilogue } = &rotation.iterations;
    let mut iterations: Vec<(i64, &IterationTimes)> = prologue.iter().map(|times| (origin, times)).collect();
    if let Some(Steady { pair, period, rounds, .. }) = steady {
        let round = |round: usize| pair.iter().map(move |times| (origin + round as i64 * period, times));
        iterations.extend((0..*rounds).flat_map(round));
    }
    iterations.extend(epilogue.iter().map(|times| (origin, times)));
    iterations
}

/// The built-in program of bootstraps with a key switch or without.
pub fn built_in(order: KeySwitchOrder) -> &'static str {
    if order == KeySwitchOrder::None { "pbs" } else { "pbs+ks" }
}

/// Morphling whose FFT units merge two rows' polynomials, as the unit's do.
pub fn morphling() -> Machine {
    registry::description("morphling").expect("a machine").choose(&[("transform", "merged")]).expect("its reading")
}

/// 32 points on two lanes, in an XPU of four rows and columns.
fn small(waves: usize) -> Xpu {
    let figures = [
        ("units.xpu.count", 1.0),
        ("units.path.points", 2.0),
        ("units.fft.points", 4.0),
        ("channels.network.link", 16.0),
        ("channels.hbm.bandwidth", 77.5),
    ];
    let machine = morphling().changed(&figures.map(|(key, value)| (key.to_owned(), value))).expect("a machine");
    let mut literal: ParametersLiteral = sets::literal("toy-256").expect("a set").clone();
    literal.name = "small".to_owned();
    (literal.lwe_dimension, literal.ring_degree) = (8, 64);
    (literal.lwe_noise_log2, literal.glwe_noise_log2) = (-28.0, -29.0);
    Xpu::new(&machine, &Parameters::check(&literal).expect("a set"), waves, KeySwitchOrder::None)
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn waves_of_a_small_set() {
    for waves in [1, 4] {
        let xpu = small(waves);
        let unit = xpu.simulate(Waits::Papers);
        xpu.holds(&unit, xpu.control(), true);
        let right = xpu.run(&unit, xpu.control(), Wrong::Nothing).results;
        for wrong in [Wrong::Start, Wrong::Amount, Wrong::Key] {
            let found = xpu.run(&unit, xpu.control(), wrong);
            assert!(found.results != right, "{wrong:?} should give wrong words");
            assert_eq!(found.in_time, wrong != Wrong::Start, "{wrong:?}");
        }
        xpu.holds(&xpu.simulate(Waits::None), xpu.prompt(), true);
    }
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn full_size_set_one() {
    // A whole rotation of one wave. The base of 2^10 is too large for transforms of 32 bits: the interpreter's results do not decrypt either.
    let xpu = Xpu::new(&morphling(), &sets::parameters("morphling-I").expect("a set"), 1, KeySwitchOrder::None);
    // Without the waits 492, but two channels bring a key in 508.
    assert_eq!([Waits::Papers, Waits::None].map(|waits| xpu.rotation(waits).2), [Some(588), Some(508)]);
    xpu.holds(&xpu.simulate(Waits::Papers), xpu.control(), false);
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn full_size_waves_of_set_one() {
    // Sixteen of its iterations, with all waves in flight.
    let mut literal: ParametersLiteral = sets::literal("morphling-I").expect("a set").clone();
    (literal.name, literal.lwe_dimension) = ("sixteen".to_owned(), 16);
    let xpu = Xpu::new(&morphling(), &Parameters::check(&literal).expect("a set"), 4, KeySwitchOrder::None);
    assert_eq!([Waits::Papers, Waits::None].map(|waits| xpu.rotation(waits).2), [Some(1024); 2]);
    xpu.holds(&xpu.simulate(Waits::Papers), xpu.control(), false);
}
