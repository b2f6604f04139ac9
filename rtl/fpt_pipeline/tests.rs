//! Does the whole pipeline compute batches of blind rotations, one behind the other, in the cycles of FPT's schedule, equal to the interpreter word by word, and do they decrypt to the table's values?

use crate::fixed_fft::{Layout, Point, Setting, word, zipped};
use polyfabric_kernels::fixed::{FixedFft, FixedSpectrum, Stage};
use polyfabric_machines::contract::tfhe::lowering;
use polyfabric_machines::fpt::machine::{Fpt, Shape};
use polyfabric_machines::fpt::{Mapped, map};
use polyfabric_machines::registry;
use polyfabric_program::tfhe::builtin::{BuiltIn, build_for};
use polyfabric_program::tfhe::homomorphic::{decode_output, encode_input, evaluate};
use polyfabric_program::tfhe::lowering::{Arithmetic, KeySwitchOrder};
use polyfabric_rtl::{Bench, Bits, Reader, Simulation};
use polyfabric_runtime::NoProgress;
use polyfabric_runtime::tfhe::interpreter::{self, Primitives};
use polyfabric_schemes::tfhe::noise::Transform;
use polyfabric_schemes::tfhe::{ClientKey, LweBatch, LweKind, Parameters, ParametersLiteral, ServerKey, sets};
use std::collections::{BTreeMap, BTreeSet};

/// Four lanes, and no more ciphertexts in flight than the pipeline's depth takes.
const FOUR_LANES: [(&str, f64); 2] = [("units.cmux.forward_points", 4.0), ("units.cmux.batch", 1.0)];
/// Bytes of a word of a channel, and those of an amount.
const CHANNEL_BYTES: usize = 128;
const AMOUNT_BYTES: usize = 2;

/// Commands and data of a cycle.
#[derive(Clone, Default)]
struct Cycle {
    begins: bool,
    /// Amounts of a batch.
    amounts: Option<Vec<u32>>,
    /// Number of a word.
    table: Option<usize>,
    /// Iteration, and word of each bank.
    key: Option<(usize, usize)>,
}

/// A single wrong thing.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Wrong {
    Nothing,
    /// The second batch begins a cycle early.
    Begin,
    /// The last amount of each word.
    Amount,
    /// A word of the key.
    Key,
}

/// FPT with a program, keys and ciphertexts.
struct Pipeline {
    machine: Fpt,
    setting: Setting,
    arithmetic: Arithmetic,
    program: BuiltIn,
    mapped: Mapped,
    client: ClientKey<u32>,
    server: ServerKey<u32>,
    inputs: BTreeMap<String, LweBatch<u32>>,
    messages: Vec<i64>,
}

impl Pipeline {
    /// As many bootstraps as fill `batches`, with different messages of one bit, on FPT with changed `figures`.
    fn new(figures: &[(&str, f64)], parameters: &Parameters, batches: usize) -> Self {
        let figures: Vec<(String, f64)> = figures.iter().map(|&(key, value)| (key.to_owned(), value)).collect();
        let machine = registry::description("fpt").expect("a machine").changed(&figures).expect("its figures");
        let choice = lowering(&machine, parameters, KeySwitchOrder::None).expect("a 32-bit set");
        let arithmetic = choice.arithmetic.clone();
        let Arithmetic::Fixed(spec) = &arithmetic else { panic!("fixed point") };
        let glwe_dimension = parameters.glwe_dimension().get();
        let setting = Setting { gadget: parameters.bootstrap_gadget(), glwe_dimension, spec: (**spec).clone() };
        let machine = Fpt::new(&machine).expect("its figures");
        let count = batches * machine.shape(parameters).expect("a pipeline").in_flight as usize;
        let program = build_for("pbs", Some(1), parameters, count, &choice, Transform::Exact).expect("a program");
        let mapped = map(&machine, &program.kernel).expect("it fits");
        let client = ClientKey::<u32>::for_tests(parameters, 7).expect("a checked set");
        let server = ServerKey::for_tests(&client, 8);
        let messages: Vec<i64> = (0..count as i64).map(|number| (number / 3 + number) % 2).collect();
        let plain = encode_input(&program.program, "x", &messages).expect("messages");
        let inputs = [("x".to_owned(), client.encrypt_for_tests(LweKind::Small, &plain, 3))].into();
        Self { machine, setting, arithmetic, program, mapped, client, server, inputs, messages }
    }

    fn shape(&self) -> &Shape {
        &self.mapped.tasks.shape
    }

    fn group(&self) -> usize {
        self.shape().group as usize
    }

    fn columns(&self) -> usize {
        self.shape().polynomials as usize
    }

    fn in_flight(&self) -> usize {
        self.shape().in_flight as usize
    }

    /// Coefficients of a word of a polynomial.
    fn coefficients(&self) -> usize {
        self.shape().ring_degree as usize / self.group()
    }

    /// Bits of an accumulator's coefficient, and those of the torus below them.
    fn widths(&self) -> (usize, u32) {
        let unit = self.setting.spec.result_unit(u32::BITS);
        ((u32::BITS - unit) as usize, unit)
    }

    /// Points of the forward transform in a cycle.
    fn lanes(&self) -> u64 {
        self.shape().widths.0
    }

    /// Coefficients of a test polynomial in a word of the channel.
    fn table(&self) -> usize {
        let most = 8 * CHANNEL_BYTES / self.widths().0;
        (self.shape().ring_degree as usize / 2).min(1 << most.ilog2())
    }

    /// Banks of the key buffer: the columns' for each of eight channels, or of fewer groups of channels if a bank had a single word.
    fn key_banks(&self) -> usize {
        self.columns() * 8.min(self.shape().cmux as usize / 2)
    }

    fn simulate(&self) -> Simulation {
        let (spec, depth, gadget) = (&self.setting.spec, self.machine.depth, self.setting.gadget);
        let shifts =
            |stages: &[Stage]| stages.iter().rev().fold(0, |shifts, stage| shifts << 2 | u64::from(stage.shift));
        let finer = self.widths().1 as i32 - spec.result_exponent();
        Bench::new("fpt_pipeline")
            .compact()
            .parameter("LOG2_POINTS", self.setting.log2_points())
            .parameter("LOG2_LANES", self.lanes().ilog2())
            .parameter("COLUMNS", self.columns() as u64)
            .parameter("LOG2_BASE", gadget.log2_base)
            .parameter("LEVELS", gadget.levels)
            .parameter("IN_FLIGHT", self.in_flight() as u64)
            .parameter("LOG2_RADIX", self.machine.log2_radix)
            .parameter("LOAD", spec.digits.load_shift as u64)
            .parameter("FORWARD", spec.digits.input_width)
            .parameter("FORWARD_SHIFTS", shifts(&spec.digits.stages))
            .parameter("FORWARD_FACTOR", spec.digits.twiddle_bits)
            .parameter("KEY", spec.key.output_width())
            .parameter("PRODUCT_SHIFT", spec.accumulator.shift)
            .parameter("INVERSE", spec.inverse.input_width)
            .parameter("INVERSE_SHIFTS", shifts(&spec.inverse.stages))
            .parameter("INVERSE_FACTOR", spec.inverse.twiddle_bits)
            .parameter("SHIFT", finer.max(0) as u64)
            .parameter("LEFT", (-finer).max(0) as u64)
            .parameter("MULTIPLEXER", self.machine.multiplexer)
            .parameter("ADDER", depth.adder)
            .parameter("MULTIPLIER", depth.multiplier)
            .parameter("LWE_DIMENSION", self.shape().lwe_dimension)
            .parameter("TABLE", self.table() as u64)
            .parameter("KEY_BANKS", self.key_banks() as u64)
            .simulate()
            .expect("a unit")
    }

    /// Amounts of a batch in the order of use, bodies first, in words of the channel.
    fn amounts(&self, batch: usize) -> Vec<Vec<u32>> {
        let primitives = Primitives::new(&self.server, &self.arithmetic).expect("the key's arithmetic");
        let count = self.in_flight();
        let ciphertexts = self.inputs["x"].iter().skip(batch * count).take(count);
        let switched: Vec<Vec<u32>> = ciphertexts.map(|ciphertext| primitives.modulus_switch(ciphertext)).collect();
        let n = self.shape().lwe_dimension as usize;
        let amounts = std::iter::once(n).chain(0..n).flat_map(|i| switched.iter().map(move |amounts| amounts[i]));
        amounts.collect::<Vec<_>>().chunks(CHANNEL_BYTES / AMOUNT_BYTES).map(<[u32]>::to_vec).collect()
    }

    /// The words of the key of each iteration, in the order of use.
    fn key_words(&self) -> Vec<Vec<u32>> {
        let (kernel, degree) = (self.setting.transform(), 2 * self.setting.points());
        let layout = Layout::spectrum(&self.setting, self.lanes().ilog2(), u32::BITS);
        let spectrum = |polynomial: &[u32]| -> Vec<Point> {
            let mut spectrum = FixedSpectrum::zeros(self.setting.spec.ring_degree);
            assert_eq!(kernel.forward_torus(polynomial, &mut spectrum), 0);
            zipped(spectrum.re(), spectrum.im())
        };
        let (columns, step) = (self.columns(), self.shape().step as usize);
        let iteration = |key: &[u32]| {
            let spectra: Vec<Vec<Point>> = key.chunks(degree).map(spectrum).collect();
            let lines = spectra.chunks(columns).flat_map(|row| (0..step).map(move |line| (row, line)));
            let words = lines.flat_map(|(row, line)| {
                let bits = row.iter().fold(Bits::new(), |bits, points| word(bits, line, points, &layout));
                let mut reader = Reader::new(bits.bytes());
                (0..bits.width() / 32).map(|_| reader.unsigned(32) as u32).collect::<Vec<_>>()
            });
            words.collect()
        };
        self.server.bootstrap_key().chunks(self.setting.rows() * columns * degree).map(iteration).collect()
    }

    /// The words of the test polynomial in those of the channel.
    fn table_words(&self) -> Vec<Vec<u32>> {
        let kernel = FixedFft::new(self.setting.spec.clone()).expect("a schedule");
        let table: Vec<u32> = self.program.kernel.tables[0].coefficients();
        let (group, (_, unit)) = (self.group(), self.widths());
        let words: Vec<u32> = (0..group)
            .flat_map(|line| (0..self.coefficients()).map(move |lane| lane * group + line))
            .map(|place| kernel.kept(table[place]) >> unit)
            .collect();
        words.chunks(self.table()).map(<[u32]>::to_vec).collect()
    }

    /// Runs all batches; returns the large ciphertexts, and whether words appeared in the schedule's cycles.
    fn run(&self, unit: &Simulation, wrong: Wrong) -> (Vec<Vec<u32>>, bool) {
        let (s, schedule) = (self.shape(), &self.mapped.schedule);
        let resources = &schedule.resources;
        let (group, in_flight, period) = (self.group(), self.in_flight(), s.period as usize);
        let mut cycles = vec![Cycle::default(); schedule.cycles() as usize];
        let (mut rotations, mut unloads, mut begins) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
        let mut arrived = 0;
        let mut batches = 0;
        for placed in schedule.events() {
            let (event, op, start) = (placed.event, placed.op(), placed.start as usize);
            // Cycles in which words have come whose bytes, from the first on, are these.
            let arrivals = |bytes: &mut dyn Iterator<Item = usize>| {
                let (first, last) = (start + event.writes[0].first as usize, start + event.writes[0].last as usize);
                let mut times: Vec<usize> = Vec::new();
                for bytes in bytes {
                    times.push(first + (bytes as f64 / self.machine.channel_bytes - 1e-9).ceil() as usize - 1);
                }
                assert_eq!(times.last(), Some(&last), "the channel's rate");
                times
            };
            let into = |name: &str| resources.memories[event.writes[0].place.memory.0 as usize].name == name;
            match resources.name(event.resource) {
                "rotator" => {
                    rotations.insert(start);
                    if op.iteration == 0 && op.body_op == 0 && (op.ciphertext as usize).is_multiple_of(in_flight) {
                        begins.push(start - period + s.to_accumulate() as usize);
                    }
                }
                "extractor" => unloads.extend((1..=s.cmux as usize).map(|cycle| start + cycle)),
                "hbm.key0" => {
                    let (stripe, word) = (event.work as usize, self.key_banks() * self.lanes() as usize);
                    for (number, at) in
                        arrivals(&mut (1..=stripe / word).map(|number| number * word)).into_iter().enumerate()
                    {
                        cycles[at].key = Some((op.iteration as usize, number));
                    }
                }
                "hbm.ciphertexts" if into("fifo") => {
                    let words = self.amounts(batches);
                    batches += 1;
                    let counts = words.iter().scan(0, |sum, word| {
                        *sum += AMOUNT_BYTES * word.len();
                        Some(*sum)
                    });
                    let times = arrivals(&mut counts.collect::<Vec<_>>().into_iter());
                    for (&at, word) in times.iter().zip(words) {
                        cycles[at].amounts = Some(word);
                    }
                    if batches == 1 {
                        arrived = arrived.max(times[times.len() - 1]);
                    }
                }
                "hbm.ciphertexts" if into("tables") => {
                    let (words, bytes) = (s.ring_degree as usize / self.table(), event.work as usize);
                    for (number, at) in
                        arrivals(&mut (1..=words).map(|number| number * bytes / words)).into_iter().enumerate()
                    {
                        cycles[at].table = Some(number);
                        arrived = arrived.max(at);
                    }
                }
                _ => {}
            }
        }
        let rotator = s.rotate as usize + group - 1;
        let lead = (rotator + 1).saturating_sub((self.columns() - 1) * group);
        assert!(begins[0] - lead > arrived, "the first batch begins before its amounts have come");
        for (batch, &at) in begins.iter().enumerate() {
            cycles[at - lead - usize::from(wrong == Wrong::Begin && batch == 1)].begins = true;
        }
        let (mut keys, table) = (self.key_words(), self.table_words());
        if wrong == Wrong::Key {
            keys[3][5] ^= 1 << 25;
        }
        let (width, unit_bits) = self.widths();
        let key_word = self.key_banks() * 2 * self.lanes() as usize;
        let stream = cycles.iter_mut().map(|cycle| {
            if wrong == Wrong::Amount
                && let Some(amounts) = cycle.amounts.as_mut()
            {
                let last = amounts.len() - 1;
                amounts[last] ^= 1 << 3;
            }
            let Cycle { begins, amounts, table: word, key } = &*cycle;
            if !begins && amounts.is_none() && word.is_none() && key.is_none() {
                return None;
            }
            let flags = [*begins, amounts.is_some(), word.is_some(), key.is_some()];
            let bits = Bits::new().fields(flags.map(u8::from), 1);
            let bits = match (amounts, word) {
                (Some(amounts), _) => bits.fields(amounts.iter().copied(), 8 * AMOUNT_BYTES),
                (None, Some(word)) => bits.fields(table[*word].iter().copied(), width),
                (None, None) => bits,
            };
            let rest = 4 + 8 * CHANNEL_BYTES - bits.width();
            let bits = bits.fields(std::iter::repeat_n(0u8, rest), 1);
            let words = key.map(|(iteration, number)| &keys[iteration][number * key_word..][..key_word]);
            Some(bits.fields((0..key_word).map(|at| words.map_or(0, |words| words[at])), 32))
        });
        let outputs = unit.run(stream, 0).expect("a run");
        let (mut seen_rotations, mut seen_unloads) = (BTreeSet::new(), BTreeSet::new());
        let (mut words, place_bits) = (Vec::new(), group.ilog2() as usize);
        for output in outputs {
            let mut reader = Reader::new(&output.bytes);
            let (rotates, unloaded) = (reader.unsigned(1) == 1, reader.unsigned(1) == 1);
            if rotates {
                seen_rotations.insert(output.cycle as usize);
            }
            if unloaded {
                seen_unloads.insert(output.cycle as usize);
                let place = reader.unsigned(place_bits) as usize;
                let elements: Vec<u32> = (0..self.coefficients()).map(|_| reader.unsigned(width) as u32).collect();
                words.push((place, elements));
            }
        }
        let masks = s.large_dimension as usize;
        let ciphertext = |words: &[(usize, Vec<u32>)]| {
            let mut elements = vec![0; masks + s.ring_degree as usize];
            for (number, (place, word)) in words.iter().enumerate() {
                for (lane, element) in word.iter().enumerate() {
                    elements[number / group * s.ring_degree as usize + lane * group + place] = element << unit_bits;
                }
            }
            elements.truncate(masks + 1);
            elements
        };
        let ciphertexts = words.chunks(s.cmux as usize).map(ciphertext).collect();
        (ciphertexts, seen_rotations == rotations && seen_unloads == unloads)
    }

    /// The interpreter's ciphertexts, which decrypt to the table's values.
    fn expected(&self) -> Vec<Vec<u32>> {
        let kernel = &self.program.kernel;
        let expected = interpreter::run(kernel, &self.server, &self.inputs, &NoProgress).expect("it runs")["y"].clone();
        let phases = self.client.decrypt_phase(LweKind::Large, &expected).expect("its key");
        let given = [("x".to_owned(), self.messages.clone())].into();
        let outputs = evaluate(&self.program.program, &given).expect("messages").outputs(&self.program.program);
        let decoded = decode_output(&self.program.program, "y", &phases, None).expect("messages");
        assert_eq!(decoded, outputs["y"], "decrypted");
        expected.iter().map(<[u32]>::to_vec).collect()
    }

    fn holds(&self) {
        let (found, in_time) = self.run(&self.simulate(), Wrong::Nothing);
        assert!(in_time, "other cycles than the schedule's");
        assert!(found == self.expected(), "other words");
    }
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn two_batches_of_a_small_set() {
    let mut literal: ParametersLiteral = sets::literal("toy-256").expect("a set").clone();
    literal.name = "small".to_owned();
    (literal.lwe_dimension, literal.ring_degree) = (8, 64);
    literal.bootstrap_gadget.log2_base = 6;
    (literal.lwe_noise_log2, literal.glwe_noise_log2) = (-28.0, -29.0);
    let pipeline = Pipeline::new(&FOUR_LANES, &Parameters::check(&literal).expect("a set"), 2);
    let (unit, expected) = (pipeline.simulate(), pipeline.expected());
    let (found, in_time) = pipeline.run(&unit, Wrong::Nothing);
    assert!(in_time, "other cycles than the schedule's");
    assert_eq!(found, expected);
    for wrong in [Wrong::Begin, Wrong::Amount, Wrong::Key] {
        let (found, in_time) = pipeline.run(&unit, wrong);
        assert!(found != expected, "{wrong:?} should give wrong words");
        assert_eq!(in_time, wrong != Wrong::Begin, "{wrong:?}");
    }
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn full_size_set_one_on_four_lanes() {
    Pipeline::new(&FOUR_LANES, &sets::parameters("fpt-I").expect("a set"), 1).holds();
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn full_size_two_iterations_on_all_lanes() {
    let mut literal: ParametersLiteral = sets::literal("fpt-I").expect("a set").clone();
    (literal.name, literal.lwe_dimension) = ("two".to_owned(), 2);
    let pipeline = Pipeline::new(&[], &Parameters::check(&literal).expect("a set"), 2);
    assert_eq!(pipeline.shape().widths, (128, 64));
    pipeline.holds();
}
