//! Do the spectra of two polynomials by one transform match the kernel's, at the latency of Morphling's model?

use crate::fixed_fft::{Layout, Point, Setting, first_difference, read, zipped};
use crate::rng;
use polyfabric_kernels::fixed::Structure;
use polyfabric_machines::morphling::array::StepCycles;
use polyfabric_machines::morphling::latency::coef_buffer;
use polyfabric_machines::morphling::machine::Morphling;
use polyfabric_machines::registry;
use polyfabric_rtl::{Bench, Bits, Reader};
use rand::Rng;

fn morphling() -> Morphling {
    Morphling::new(&registry::description("morphling").expect("a machine")).expect("its figures")
}

/// The unit's latency, derived from the model's for this many points per cycle of each polynomial.
fn latency(setting: &Setting, points: u64) -> usize {
    let (depth, rates) = (morphling().depth, morphling().path());
    assert!(rates.merge_split);
    let rates = polyfabric_machines::morphling::array::PathRates { row_points: points, fft_points: points, ..rates };
    let degree = 2 * setting.points() as u64;
    let model = StepCycles::new(degree, &rates, depth, (0, 0), 0).forward as u64;
    // The model has the paper's buffer, in which half of a result waits for its mirror image: here both arrive in the same cycle.
    model as usize - coef_buffer(setting.points() as u64, points) as usize
}

/// Streams pairs of polynomials, contiguous and with pauses. Returns the number of saturated values.
fn spectra_are_the_kernels(setting: &Setting, log2_lanes: u32, pairs: usize) -> u64 {
    let (transform, depth) = (setting.transform(), morphling().depth);
    let of = &transform.spec().digits;
    let shifts = of.stages.iter().rev().fold(0, |shifts, stage| {
        assert!(stage.shift < 4 && stage.width == of.input_width);
        shifts << 2 | u64::from(stage.shift)
    });
    let digit = setting.gadget.log2_base;
    let unit = Bench::new("merge_split_fft")
        .parameter("LOG2_POINTS", setting.log2_points())
        .parameter("LOG2_LANES", log2_lanes)
        .parameter("DIGIT", digit)
        .parameter("LOAD", of.load_shift as u64)
        .parameter("WIDTH", of.input_width)
        .parameter("SHIFTS", shifts)
        .parameter("FACTOR", of.twiddle_bits)
        .parameter("ADDER", depth.adder)
        .parameter("MULTIPLIER", depth.multiplier)
        .simulate()
        .expect("a unit");
    let (lanes, points) = (1 << log2_lanes, setting.points());
    let cycles = points / lanes;
    let layout = Layout::spectrum(setting, log2_lanes, of.input_width);
    let (mut rng, mut saturations) = (rng(41), 0);
    let (mut stream, mut expected) = (Vec::new(), Vec::new());
    let polynomials = setting.digits(pairs + 1);
    for (number, (p, q)) in polynomials.iter().zip(&polynomials[1..]).enumerate() {
        let mut spectra = [setting.zeros(), setting.zeros()];
        saturations += transform.forward_digits_merged([p, q], spectra.each_mut());
        expected.push((stream.len(), spectra.map(|spectrum| zipped(spectrum.re(), spectrum.im()))));
        stream.extend((0..cycles).map(|cycle| {
            let folded = |lane: usize| [lane * cycles + cycle, lane * cycles + cycle + points];
            let coefficients = [p, q].into_iter().flat_map(|of| (0..lanes).flat_map(folded).map(|index| of[index]));
            Some(coefficients.fold(Bits::new(), |bits, value| bits.field(value, digit as usize)))
        }));
        if number % 3 == 2 {
            stream.extend(std::iter::repeat_n(None, rng.random_range(1..3 * cycles)));
        }
    }
    let latency = latency(setting, lanes as u64);
    let outputs = unit.run(stream, latency).expect("a run");
    assert_eq!(outputs.len(), pairs * cycles);
    for (outputs, (start, expected)) in outputs.chunks(cycles).zip(expected) {
        let mut found: [Vec<Point>; 2] = std::array::from_fn(|_| vec![(0, 0); points]);
        for (number, output) in outputs.iter().enumerate() {
            assert_eq!(output.cycle as usize, start + latency + number);
            let mut reader = Reader::new(&output.bytes);
            found.iter_mut().for_each(|found| read(&mut reader, number, found, &layout));
        }
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(first_difference(found, expected), None, "the pair of cycle {start}");
        }
    }
    saturations
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn pairs_of_small_polynomials() {
    let mut setting = Setting::toy([20, 18, 19]);
    setting.spec.structure = Structure::Merged;
    assert!(spectra_are_the_kernels(&setting, 1, 20) > 0, "some values should saturate");
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn full_size_four_lanes_of_each_polynomial() {
    // Section V-A.3's eight coefficients a cycle; the schedule of the machine's own arithmetic.
    assert_eq!(spectra_are_the_kernels(&Setting::of("morphling", "morphling-I"), 2, 8), 0);
}
