//! Does the streaming transform match the kernel bit for bit, with the latency of FPT's model?

use crate::{described, rng};
use polyfabric_kernels::RingDegree;
use polyfabric_kernels::decompose::Gadget;
use polyfabric_kernels::fixed::{
    FixedFft, FixedFftSpec, FixedSpectrum, FixedWidths, RangeRule, Rounding, StageWidths, Structure, TransformSpec,
};
use polyfabric_machines::contract::tfhe::arithmetic;
use polyfabric_machines::fpt::machine::{Fpt, Shape};
use polyfabric_machines::registry;
use polyfabric_machines::tfhe::pipeline::{self, PipelineDepth};
use polyfabric_program::tfhe::lowering::Arithmetic;
use polyfabric_rtl::{Bench, Bits, Reader};
use polyfabric_schemes::tfhe::sets;
use rand::Rng;

/// Decomposition and arithmetic of external products in fixed point.
#[derive(Clone)]
pub struct Setting {
    pub gadget: Gadget,
    pub glwe_dimension: usize,
    pub spec: FixedFftSpec,
}

/// The parameter set of full-size tests: II of FPT's table 1.
pub const PAPERS_SET: &str = "fpt-II";

impl Setting {
    /// For fast tests: 32 points, FPT's structure, and the given bits of the key, the forward and the inverse transform. Its schedule assumes the variance only, which extreme inputs exceed.
    pub fn toy([key, forward, inverse]: [u32; 3]) -> Self {
        let (gadget, glwe_dimension) = (Gadget { log2_base: 6, levels: 2 }, 1);
        let widths = FixedWidths {
            digits: StageWidths::uniform(forward),
            accumulator: inverse,
            inverse: StageWidths::uniform(inverse),
            // Section 4.3.
            twiddle: forward - 4,
            inverse_twiddle: inverse - 4,
            ..FixedWidths::uniform(key)
        };
        let rule = RangeRule::OverflowProbability { log2: -64.0, first_step: 0.0 };
        let (degree, rounding) = (RingDegree::new(64).expect("a degree"), Rounding::HalfEven);
        let spec = FixedFftSpec::for_external_product(degree, gadget, glwe_dimension, 32, widths, rounding, rule)
            .with_structure(Structure::Twisted { log2_radix: fpt().log2_radix });
        Self { gadget, glwe_dimension, spec }
    }

    /// A machine's arithmetic for a parameter set.
    pub fn of(machine: &str, set: &str) -> Self {
        let parameters = sets::parameters(set).expect("a set");
        let machine = registry::description(machine).expect("a machine");
        let Ok(Arithmetic::Fixed(spec)) = arithmetic(&machine, &parameters) else { panic!("fixed point") };
        let glwe_dimension = parameters.glwe_dimension().get();
        Self { gadget: parameters.bootstrap_gadget(), glwe_dimension, spec: *spec }
    }

    pub fn log2_points(&self) -> u32 {
        self.spec.ring_degree.log2() - 1
    }

    pub fn points(&self) -> usize {
        1 << self.log2_points()
    }

    pub fn rows(&self) -> usize {
        (self.glwe_dimension + 1) * self.gadget.levels as usize
    }

    pub fn transform(&self) -> FixedFft {
        FixedFft::new(self.spec.clone()).expect("a schedule")
    }

    pub fn zeros(&self) -> FixedSpectrum {
        FixedSpectrum::zeros(self.spec.ring_degree)
    }

    /// Polynomials of digits: extreme and random ones.
    pub fn digits(&self, count: usize) -> Vec<Vec<i32>> {
        let (half, degree) = (1 << (self.gadget.log2_base - 1), 2 * self.points());
        let mut rng = rng(7);
        let mut polynomials = vec![vec![-half; degree], vec![half - 1; degree], vec![0; degree]];
        polynomials.push((0..degree).map(|i| if i % 2 == 0 { -half } else { half - 1 }).collect());
        polynomials.resize_with(count, || (0..degree).map(|_| rng.random_range(-half..half)).collect());
        polynomials
    }

    /// Spectra of random key polynomials.
    pub fn keys(&self, count: usize) -> Vec<FixedSpectrum> {
        let (transform, mut rng) = (self.transform(), rng(8));
        let mut spectra = vec![self.zeros(); count];
        for spectrum in &mut spectra {
            let polynomial: Vec<u32> = (0..2 * self.points()).map(|_| rng.random()).collect();
            assert_eq!(transform.forward_torus(&polynomial, spectrum), 0);
        }
        spectra
    }
}

pub fn fpt() -> Fpt {
    Fpt::new(&registry::description("fpt").expect("a machine")).expect("its figures")
}

/// FPT's pipeline for a parameter set.
pub fn shape(set: &str) -> Shape {
    fpt().shape(&sets::parameters(set).expect("a set")).expect("a pipeline")
}

/// Real and imaginary part of a point.
pub type Point = (i64, i64);

/// Layout of polynomials in words.
pub struct Layout {
    pub log2_lanes: u32,
    /// Bits of each part of a point.
    pub width: u32,
    /// The point of a lane in a cycle.
    index: Box<dyn Fn(usize, usize) -> usize>,
}

impl Layout {
    /// For coefficients and products: the coefficients of a lane are far apart.
    pub fn coefficients(setting: &Setting, log2_lanes: u32, width: u32) -> Self {
        let cycles = setting.points() >> log2_lanes;
        Self { log2_lanes, width, index: Box::new(move |cycle, lane| lane * cycles + cycle) }
    }

    /// For spectra.
    pub fn spectrum(setting: &Setting, log2_lanes: u32, width: u32) -> Self {
        let cycles = setting.points() >> log2_lanes;
        Self { log2_lanes, width, index: Box::new(move |cycle, lane| (lane / 2 * cycles + cycle) * 2 + lane % 2) }
    }
}

/// Appends the points of word `cycle` to `bits`, each part of `width` bits.
pub fn word(bits: Bits, cycle: usize, points: &[Point], layout: &Layout) -> Bits {
    (0..1 << layout.log2_lanes).fold(bits, |bits, lane| {
        let (re, im) = points[(layout.index)(cycle, lane)];
        bits.field(re, layout.width as usize).field(im, layout.width as usize)
    })
}

/// Reads the points of an output word.
pub fn read(reader: &mut Reader<'_>, cycle: usize, points: &mut [Point], layout: &Layout) {
    for lane in 0..1 << layout.log2_lanes {
        let mut part = || reader.signed(layout.width as usize) as i64;
        points[(layout.index)(cycle, lane)] = (part(), part());
    }
}

/// The first differing point: its number, and both values.
pub fn first_difference(found: &[Point], expected: &[Point]) -> Option<(usize, Point, Point)> {
    assert_eq!(found.len(), expected.len());
    let both = found.iter().zip(expected).enumerate();
    both.map(|(number, (&found, &expected))| (number, found, expected)).find(|(_, found, expected)| found != expected)
}

pub fn zipped(re: &[i64], im: &[i64]) -> Vec<Point> {
    re.iter().copied().zip(im.iter().copied()).collect()
}

fn toy() -> Setting {
    Setting::toy([20, 18, 19])
}

/// The same with the twist in the butterflies.
fn merged_toy() -> Setting {
    let mut setting = toy();
    setting.spec.structure = Structure::Merged;
    setting
}

/// Registers in the units of the machine with this structure: FPT's with three real products, or Strix' and Morphling's with four.
fn depth(setting: &Setting) -> (PipelineDepth, u64) {
    match setting.spec.structure {
        Structure::Twisted { .. } => (fpt().depth, 3),
        Structure::Merged => {
            let [adder, multiplier, memory] =
                ["adder", "multiplier", "memory"].map(|unit| described("strix", &format!("units.pipeline.{unit}")));
            (PipelineDepth { adder, multiplier, memory }, 4)
        }
    }
}

/// The model's latency.
fn latency(setting: &Setting, log2_lanes: u32) -> u64 {
    let (points, lanes) = (setting.points() as u64, 1 << log2_lanes);
    match setting.spec.structure {
        Structure::Twisted { .. } => fpt().transform(points, lanes) as u64,
        Structure::Merged => pipeline::transform(points, lanes, depth(setting).0),
    }
}

fn bench(setting: &Setting, log2_lanes: u32, of: &TransformSpec, inverse: bool) -> Bench {
    let shifts = of.stages.iter().rev().fold(0, |shifts, stage| {
        assert!(stage.shift < 4 && stage.width == of.input_width);
        shifts << 2 | u64::from(stage.shift)
    });
    let (depth, reals) = depth(setting);
    let bench = match setting.spec.structure {
        Structure::Twisted { log2_radix } => Bench::new("fixed_fft").parameter("LOG2_RADIX", log2_radix),
        Structure::Merged => Bench::new("fixed_fft").parameter("MERGED", true),
    };
    bench
        .parameter("LOG2_POINTS", setting.log2_points())
        .parameter("LOG2_LANES", log2_lanes)
        .parameter("INVERSE", inverse)
        .parameter("WIDTH", of.input_width)
        .parameter("SHIFTS", shifts)
        .parameter("FACTOR", of.twiddle_bits)
        .parameter("REALS", reals)
        .parameter("ADDER", depth.adder)
        .parameter("MULTIPLIER", depth.multiplier)
}

/// Streams polynomials, contiguous and with pauses, and compares the outputs in the model's cycles.
fn check(setting: &Setting, log2_lanes: u32, inverse: bool, cases: &[(Vec<Point>, Vec<Point>)]) {
    let of = if inverse { &setting.spec.inverse } else { &setting.spec.digits };
    let (cycles, latency) = (setting.points() >> log2_lanes, latency(setting, log2_lanes) as usize);
    let (coefficients, spectrum) = (
        Layout::coefficients(setting, log2_lanes, of.input_width),
        Layout::spectrum(setting, log2_lanes, of.input_width),
    );
    let (given_layout, found_layout) = if inverse { (&spectrum, &coefficients) } else { (&coefficients, &spectrum) };
    let mut rng = rng(9);
    let (mut stream, mut starts) = (Vec::new(), Vec::new());
    for (number, (given, _)) in cases.iter().enumerate() {
        starts.push(stream.len());
        stream.extend((0..cycles).map(|cycle| Some(word(Bits::new(), cycle, given, given_layout))));
        if number % 3 == 2 {
            stream.extend(std::iter::repeat_n(None, rng.random_range(1..3 * cycles)));
        }
    }
    let unit = bench(setting, log2_lanes, of, inverse).simulate().expect("a unit");
    let outputs = unit.run(stream, latency).expect("a run");
    assert_eq!(outputs.len(), cases.len() * cycles);
    for ((outputs, start), (_, expected)) in outputs.chunks(cycles).zip(starts).zip(cases) {
        let mut found = vec![(0, 0); setting.points()];
        for (number, output) in outputs.iter().enumerate() {
            assert_eq!(output.cycle as usize, start + latency + number);
            read(&mut Reader::new(&output.bytes), number, &mut found, found_layout);
        }
        assert_eq!(first_difference(&found, expected), None, "the polynomial of cycle {start}");
    }
}

/// Spectra of digits. Returns the number of saturated values.
fn forward_is_the_kernels(setting: &Setting, log2_lanes: u32, count: usize) -> u64 {
    let transform = setting.transform();
    let load = transform.spec().digits.load_shift;
    let mut saturations = 0;
    let cases: Vec<(Vec<Point>, Vec<Point>)> = setting
        .digits(count)
        .into_iter()
        .map(|digits| {
            let mut spectrum = setting.zeros();
            saturations += transform.forward_digits(&digits, &mut spectrum);
            // Loading a digit is wiring.
            let loaded: Vec<i64> = digits.iter().map(|&digit| i64::from(digit) << load).collect();
            let (re, im) = loaded.split_at(setting.points());
            (zipped(re, im), zipped(spectrum.re(), spectrum.im()))
        })
        .collect();
    check(setting, log2_lanes, false, &cases);
    saturations
}

/// Polynomials of sums of products. Returns the number of saturated values.
fn inverse_is_the_kernels(setting: &Setting, log2_lanes: u32, count: usize) -> u64 {
    let mut spec = setting.spec.clone();
    spec.result_bits = None;
    // Scaled so that a unit of the result is one of the 64-bit torus: no rounding after the transform.
    spec.digits.load_shift += spec.result_exponent();
    assert_eq!(spec.result_exponent(), 0);
    let scaled = FixedFft::new(spec).expect("a schedule");
    let transform = setting.transform();
    let keys = setting.keys(setting.rows());
    let mut saturations = 0;
    let cases: Vec<(Vec<Point>, Vec<Point>)> = setting
        .digits(count)
        .into_iter()
        .map(|digits| {
            let mut spectrum = setting.zeros();
            let mut sum = setting.zeros();
            saturations += transform.forward_digits(&digits, &mut spectrum);
            for key in &keys {
                saturations += transform.multiply_accumulate(&mut sum, &spectrum, key);
            }
            let given = zipped(sum.re(), sum.im());
            let mut result = vec![0u64; 2 * setting.points()];
            saturations += scaled.inverse_add_torus(&mut sum, &mut result);
            let result: Vec<i64> = result.into_iter().map(|value| value as i64).collect();
            let (re, im) = result.split_at(setting.points());
            (given, zipped(re, im))
        })
        .collect();
    check(setting, log2_lanes, true, &cases);
    saturations
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn forward_of_four_lanes() {
    assert!(forward_is_the_kernels(&toy(), 2, 20) > 0, "some values should saturate");
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn inverse_of_two_lanes() {
    assert!(inverse_is_the_kernels(&toy(), 1, 20) > 0, "some values should saturate");
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn forward_with_a_merged_twist() {
    assert!(forward_is_the_kernels(&merged_toy(), 1, 20) > 0, "some values should saturate");
}

/// FPT has 128 lanes, which would give 100 MB of C++; only the number of lanes is reduced here.
const FULL_SIZE_LOG2_LANES: u32 = 2;

#[test]
#[ignore = "needs Verilator: make rtl"]
fn full_size_forward_of_four_lanes() {
    assert_eq!(forward_is_the_kernels(&Setting::of("fpt", PAPERS_SET), FULL_SIZE_LOG2_LANES, 8), 0);
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn full_size_inverse_of_two_lanes() {
    // Half of the width, because there are two levels (section 3.3).
    assert_eq!(inverse_is_the_kernels(&Setting::of("fpt", PAPERS_SET), FULL_SIZE_LOG2_LANES - 1, 8), 0);
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn full_size_forward_of_strix() {
    let log2_lanes = described("strix", "units.core.lanes").ilog2();
    assert_eq!(forward_is_the_kernels(&Setting::of("strix", "strix-I"), log2_lanes, 8), 0);
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn full_size_inverse_of_strix() {
    let log2_lanes = described("strix", "units.core.lanes").ilog2();
    assert_eq!(inverse_is_the_kernels(&Setting::of("strix", "strix-I"), log2_lanes, 8), 0);
}
