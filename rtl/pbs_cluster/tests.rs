//! Does the whole cluster compute the kernel's blind rotation in the cycles of Strix' schedule, and not a cycle earlier?

use crate::fixed_fft::{Layout, Setting, word, zipped};
use crate::rng;
use polyfabric_kernels::decompose::decompose_level;
use polyfabric_kernels::fixed::{FixedFft, Stage, Structure};
use polyfabric_kernels::rotation::rotate_subtract;
use polyfabric_machines::registry;
use polyfabric_machines::tfhe::iteration::plan;
use polyfabric_machines::tfhe::pipeline::{self, PipelineDepth};
use polyfabric_machines::tfhe::steps::Steps;
use polyfabric_machines::torus_pipeline::cluster::{ClusterState, IterationTimes, rotate};
use polyfabric_machines::torus_pipeline::machine::{Pipeline, StepCycles};
use polyfabric_machines::torus_pipeline::streams::{accumulation, steps};
use polyfabric_program::tfhe::kernel::blind_rotation_body;
use polyfabric_program::tfhe::lowering::{Arithmetic, KeySwitchOrder, TfheLowering};
use polyfabric_rtl::{Bench, Bits, Reader, Simulation};
use polyfabric_schemes::tfhe::sets;
use rand::Rng;

const WIDTH: usize = 32;

fn strix() -> Pipeline {
    Pipeline::new(&registry::description("strix").expect("a machine")).expect("its figures")
}

/// The unit's cycles for this many lanes, from the model.
fn cycles(points: u64, lanes: u64, rows: u64) -> StepCycles {
    let depth = strix().depth;
    let polynomial = pipeline::polynomial_cycles(points, lanes) as i64;
    let transform = pipeline::transform(points, lanes, depth) as i64;
    StepCycles {
        polynomial,
        drain: polynomial,
        spacing: polynomial,
        rotate: (depth.memory + depth.adder) as i64,
        decompose: 2 * depth.adder as i64,
        forward: transform,
        multiply: (depth.complex_multiplier() + depth.adder * u64::from(rows.ilog2())) as i64,
        backward: transform,
        accumulate: pipeline::accumulate(depth) as i64,
        // No waiting for keys.
        switch: 0,
        key: 0,
        memory: 0,
    }
}

/// `bench` with the parameters of transforms and products.
pub fn with_arithmetic(bench: Bench, setting: &Setting, log2_lanes: u32, depth: PipelineDepth) -> Bench {
    let (spec, gadget) = (&setting.spec, setting.gadget);
    let shifts = |stages: &[Stage]| stages.iter().rev().fold(0, |shifts, stage| shifts << 2 | u64::from(stage.shift));
    let exponent = spec.result_exponent();
    bench
        .compact()
        .parameter("LOG2_POINTS", setting.log2_points())
        .parameter("LOG2_LANES", log2_lanes)
        .parameter("LOG2_BASE", gadget.log2_base)
        .parameter("LEVELS", gadget.levels)
        .parameter("LOAD", spec.digits.load_shift as u64)
        .parameter("FORWARD", spec.digits.input_width)
        .parameter("FORWARD_SHIFTS", shifts(&spec.digits.stages))
        .parameter("FORWARD_FACTOR", spec.digits.twiddle_bits)
        .parameter("PRODUCT_SHIFT", spec.accumulator.shift)
        .parameter("INVERSE", spec.inverse.input_width)
        .parameter("INVERSE_SHIFTS", shifts(&spec.inverse.stages))
        .parameter("INVERSE_FACTOR", spec.inverse.twiddle_bits)
        .parameter("SHIFT", (-exponent).max(0) as u64)
        .parameter("LEFT", exponent.max(0) as u64)
        .parameter("ADDER", depth.adder)
        .parameter("MULTIPLIER", depth.multiplier)
}

struct Cluster {
    setting: Setting,
    log2_lanes: u32,
    /// Ciphertexts.
    batch: usize,
    iterations: usize,
}

impl Cluster {
    fn polynomials(&self) -> usize {
        self.setting.glwe_dimension + 1
    }

    fn lines(&self) -> usize {
        self.setting.points() >> self.log2_lanes
    }

    fn kernel(&self) -> FixedFft {
        self.setting.transform()
    }

    fn cycles(&self) -> StepCycles {
        cycles(self.setting.points() as u64, 1 << self.log2_lanes, self.polynomials() as u64)
    }

    /// The machine's own arrangement of the key's rows.
    fn steps(&self) -> Steps {
        let (machine, levels) = (strix(), self.setting.gadget.levels);
        let mut choice = TfheLowering::new(KeySwitchOrder::None, Arithmetic::ExactInteger);
        choice.accumulation = accumulation(&machine, self.polynomials() as u32, levels);
        let body = blind_rotation_body(self.setting.glwe_dimension, levels, self.iterations, &choice);
        let plan = plan(&body, machine.columns as u32).expect("a body of the lowering");
        steps(&machine, &plan).expect("the machine's own sums")
    }

    /// Its schedule: a ciphertext is ready when its last line is written.
    fn times(&self, steps: &Steps) -> Vec<IterationTimes> {
        let loaded: Vec<i64> = (1..=self.batch).map(|number| (number * self.lines()) as i64).collect();
        let rotation = rotate((steps, &self.cycles(), false), &loaded, 0, &mut ClusterState::new(2));
        assert!(rotation.iterations.steady.is_none(), "so few iterations repeat nothing");
        rotation.iterations.prologue.into_iter().chain([rotation.last]).collect()
    }

    fn simulate(&self) -> Simulation {
        let bench = Bench::new("pbs_cluster")
            .parameter("POLYNOMIALS", self.polynomials() as u64)
            .parameter("KEY", self.setting.spec.key.output_width())
            .parameter("WIDTH", WIDTH as u64)
            .parameter("BATCH", self.batch as u64);
        with_arithmetic(bench, &self.setting, self.log2_lanes, strix().depth).simulate().expect("a unit")
    }

    /// Whether all words of all iterations match the kernel's; with `early`, the second iteration starts one cycle before the schedule.
    fn is_the_kernels(&self, unit: &Simulation, early: bool) -> bool {
        let (setting, kernel, gadget) = (&self.setting, self.kernel(), self.setting.gadget);
        let (polynomials, lines, lanes) = (self.polynomials(), self.lines(), 1usize << self.log2_lanes);
        let (degree, levels, c) = (2 * setting.points(), gadget.levels as usize, self.cycles());
        let steps = self.steps();
        let times = self.times(&steps);
        let mut rng = rng(23);
        let mut ciphertexts: Vec<Vec<Vec<u32>>> = (0..self.batch)
            .map(|_| (0..polynomials).map(|_| (0..degree).map(|_| rng.random()).collect()).collect())
            .collect();
        let line = |ciphertext: &[Vec<u32>], line: usize| -> Vec<u32> {
            ciphertext.iter().flat_map(|p| (0..2 * lanes).map(move |column| p[column * lines + line])).collect()
        };
        // For each cycle: the loaded line, the start, each step's key row and its word.
        let end = times.last().and_then(|times| times.drains.last()).and_then(|drains| drains.last());
        let end = (end.expect("a drain") + c.backward + c.accumulate + c.drain) as usize;
        let mut loads = vec![None; end];
        let mut starts = vec![None; end];
        let mut keys = vec![None; end];
        for (number, ciphertext) in ciphertexts.iter().enumerate() {
            for at in 0..lines {
                loads[number * lines + at] = Some((number, at, line(ciphertext, at)));
            }
        }
        let (mut expected, mut spectra) = (Vec::new(), Vec::new());
        // The second iteration waits for its first ciphertext, not for the decomposer.
        let passed = times[0].waves.iter().flatten().max().expect("a step") + c.polynomial;
        assert!(!early || times[1].waves[0][0] > passed);
        for (iteration, times) in times.iter().enumerate() {
            let key = setting.keys(polynomials * levels * polynomials);
            for (number, ciphertext) in ciphertexts.iter_mut().enumerate() {
                let ahead = usize::from(early && iteration == 1 && number == 0);
                // With X^1 the first word of a rotation needs the last line written.
                let amount = if ahead == 1 { 1 } else { rng.random_range(0..2 * degree) };
                starts[(times.waves[number][0] - c.rotate) as usize - ahead] = Some((number, amount));
                let differences: Vec<Vec<u32>> = ciphertext
                    .iter()
                    .map(|polynomial| {
                        let mut difference = vec![0; degree];
                        rotate_subtract(polynomial, amount, &mut difference);
                        difference
                    })
                    .collect();
                for (step, start) in steps.steps.iter().zip(&times.waves[number]) {
                    let mut sums = vec![setting.zeros(); polynomials];
                    for row in &step.rows {
                        let (mut digits, mut spectrum) = (vec![0; degree], setting.zeros());
                        decompose_level(&differences[row.polynomial as usize], gadget, row.level, &mut digits);
                        assert_eq!(kernel.forward_digits(&digits, &mut spectrum), 0);
                        for (column, sum) in sums.iter_mut().enumerate() {
                            let of_key = &key[row.row as usize * polynomials + column];
                            assert_eq!(kernel.multiply_accumulate(sum, &spectrum, of_key), 0);
                        }
                    }
                    for (sum, polynomial) in sums.iter_mut().zip(&mut *ciphertext) {
                        assert_eq!(kernel.inverse_add_torus(sum, polynomial), 0);
                    }
                    let first = (start + c.to_multiply()) as usize - ahead;
                    let rows: Vec<usize> = step.rows.iter().map(|row| row.row as usize).collect();
                    for at in 0..lines {
                        keys[first + at] = Some((iteration, rows.clone(), at));
                    }
                }
                let drained = times.drains[number].last().expect("a drain");
                // The model gives the cycle in which a word can be read after its product: it is visible, and written, one cycle before.
                let first = (drained + c.backward + c.accumulate - 1) as usize - ahead;
                expected.extend((0..lines).map(|at| (first + at, line(ciphertext, at))));
            }
            spectra.push(key.iter().map(|key| zipped(key.re(), key.im())).collect::<Vec<_>>());
        }
        let key_layout = Layout::spectrum(setting, self.log2_lanes, kernel.spec().key.output_width());
        let nothing = vec![(0, 0); setting.points()];
        let choice = self.batch.next_power_of_two().ilog2().max(1) as usize;
        let (line_bits, amount_bits) = (lines.ilog2() as usize, degree.ilog2() as usize + 1);
        let stream = (0..end).map(|cycle| {
            let (number, at, fresh) = loads[cycle].clone().unwrap_or((0, 0, vec![0; 2 * lanes * polynomials]));
            let (started, amount) = starts[cycle].unwrap_or((0, 0));
            let bits = Bits::new().field(u8::from(loads[cycle].is_some()), 1).field(number as u64, choice);
            let bits = bits.field(at as u64, line_bits).field(u8::from(starts[cycle].is_some()), 1);
            let bits = bits.field(started as u64, choice).field(amount as u64, amount_bits).fields(fresh, WIDTH);
            Some((0..polynomials * polynomials).fold(bits, |bits, place| {
                let (row, column) = (place / polynomials, place % polynomials);
                match &keys[cycle] {
                    Some((iteration, rows, at)) => {
                        word(bits, *at, &spectra[*iteration][rows[row] * polynomials + column], &key_layout)
                    }
                    None => word(bits, 0, &nothing, &key_layout),
                }
            }))
        });
        let outputs = unit.run(stream, 0).expect("a run");
        assert_eq!(outputs.len(), expected.len());
        outputs.iter().zip(expected).enumerate().all(|(number, (output, (cycle, expected)))| {
            assert_eq!(output.cycle as usize, cycle, "word {number}");
            let mut reader = Reader::new(&output.bytes);
            expected.iter().all(|&word| reader.unsigned(WIDTH) as u32 == word)
        })
    }
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn four_iterations_of_a_small_ring() {
    let mut setting = Setting::toy([24, 28, 32]);
    setting.spec.structure = Structure::Merged;
    let cluster = Cluster { setting, log2_lanes: 1, batch: 3, iterations: 4 };
    let unit = cluster.simulate();
    assert!(cluster.is_the_kernels(&unit, false));
    assert!(
        !cluster.is_the_kernels(&unit, true),
        "a ciphertext that starts before it is complete should give wrong words"
    );
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn full_size_set_one() {
    let (machine, set) = (strix(), sets::parameters("strix-I").expect("a set"));
    let setting = Setting::of("strix", "strix-I");
    // Figure 8: three ciphertexts per core, two iterations.
    let cluster = Cluster { setting, log2_lanes: machine.lanes.ilog2(), batch: 3, iterations: 2 };
    let (own, model) = (cluster.cycles(), machine.steps(&set));
    let StepCycles { switch, key, memory, .. } = model;
    assert_eq!(StepCycles { switch, key, memory, ..own }, model);
    assert!(cluster.is_the_kernels(&cluster.simulate(), false));
}
