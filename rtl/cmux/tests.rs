//! Does the whole ring compute the kernel's blind rotation, with key and amounts in the cycles of FPT's model?

use crate::fixed_fft::{Layout, PAPERS_SET, Point, Setting, fpt, shape, word, zipped};
use crate::rng;
use polyfabric_kernels::decompose::decompose_level;
use polyfabric_kernels::fixed::FixedFft;
use polyfabric_kernels::rotation::rotate_subtract;
use polyfabric_rtl::{Bench, Bits, Reader};
use rand::Rng;

/// `iterations` of as many random ciphertexts as the ring has, with random keys and amounts; returns every accumulator after every iteration.
fn rotations_are_the_kernels(setting: &Setting, log2_lanes: u32, iterations: usize) {
    let (fpt, gadget) = (fpt(), setting.gadget);
    let (width, levels, columns) = (gadget.kept_bits(), gadget.levels as usize, setting.glwe_dimension + 1);
    let spec = setting.spec.clone().with_result_bits(width);
    let unit_bits = spec.result_unit(32);
    let finer = unit_bits as i32 - spec.result_exponent();
    let (points, degree) = (setting.points(), 2 * setting.points());

    // The model's cycles for this many lanes.
    let (adder, memory) = (fpt.depth.adder as usize, fpt.depth.memory as usize);
    let step = points >> log2_lanes;
    let (group, cmux) = (levels * step, columns * levels * step);
    let transform = |lanes: usize| fpt.transform(points as u64, lanes as u64) as usize;
    let rotate = memory + group + (degree.ilog2() as usize + 1) * fpt.multiplexer as usize + adder;
    let modelled = shape(PAPERS_SET);
    let to_multiply = rotate + group - 1 + modelled.decompose as usize + transform(1 << log2_lanes);
    let product = (modelled.multiply + modelled.add) as usize;
    let through = to_multiply + (columns * levels - 1) * step + product + transform((1 << log2_lanes) / levels);
    let accumulate = memory + adder;
    let depth = through + accumulate + group - 1;
    let in_flight = depth.div_ceil(cmux);
    let period = in_flight * cmux;

    let shifts = |stages: &[polyfabric_kernels::fixed::Stage]| {
        stages.iter().rev().fold(0, |shifts, stage| shifts << 2 | u64::from(stage.shift))
    };
    let key_width = spec.key.output_width();
    let unit = Bench::new("cmux")
        .parameter("LOG2_POINTS", setting.log2_points())
        .parameter("LOG2_LANES", log2_lanes)
        .parameter("COLUMNS", columns as u64)
        .parameter("LOG2_BASE", gadget.log2_base)
        .parameter("LEVELS", gadget.levels)
        .parameter("IN_FLIGHT", in_flight as u64)
        .parameter("LOG2_RADIX", fpt.log2_radix)
        .parameter("LOAD", spec.digits.load_shift as u64)
        .parameter("FORWARD", spec.digits.input_width)
        .parameter("FORWARD_SHIFTS", shifts(&spec.digits.stages))
        .parameter("FORWARD_FACTOR", spec.digits.twiddle_bits)
        .parameter("KEY", key_width)
        .parameter("PRODUCT_SHIFT", spec.accumulator.shift)
        .parameter("INVERSE", spec.inverse.input_width)
        .parameter("INVERSE_SHIFTS", shifts(&spec.inverse.stages))
        .parameter("INVERSE_FACTOR", spec.inverse.twiddle_bits)
        .parameter("SHIFT", finer.max(0) as u64)
        .parameter("LEFT", (-finer).max(0) as u64)
        .parameter("MULTIPLEXER", fpt.multiplexer)
        .parameter("ADDER", fpt.depth.adder)
        .parameter("MULTIPLIER", fpt.depth.multiplier)
        .simulate()
        .expect("a unit");

    let kernel = FixedFft::new(spec).expect("a schedule");
    let mut rng = rng(16);
    let mut ciphertexts: Vec<Vec<Vec<u32>>> = (0..in_flight)
        .map(|_| {
            (0..columns).map(|_| (0..degree).map(|_| rng.random::<u32>() >> unit_bits << unit_bits).collect()).collect()
        })
        .collect();
    // The accumulators after loading and after each iteration, in the order of their words.
    let coefficients = degree / group;
    let in_words = |ciphertexts: &[Vec<Vec<u32>>]| -> Vec<Vec<u32>> {
        let polynomials = ciphertexts.iter().flatten();
        polynomials
            .flat_map(|polynomial| {
                (0..group)
                    .map(|cycle| (0..coefficients).map(|lane| polynomial[lane * group + cycle] >> unit_bits).collect())
            })
            .collect()
    };
    let mut expected = in_words(&ciphertexts);
    let cycles = (iterations + 1) * period + accumulate;
    // For each cycle: the amount, and the key's points.
    let mut amounts = vec![0usize; cycles + period];
    let mut keys: Vec<Option<(usize, usize, usize)>> = vec![None; cycles + period];
    let mut spectra = Vec::new();
    for iteration in 0..iterations {
        let key = setting.keys(columns * levels * columns);
        for (number, ciphertext) in ciphertexts.iter_mut().enumerate() {
            let amount = rng.random_range(0..2 * degree);
            // The ring is extended to its period, so a word is at the rotator one pipeline latency before it returns.
            let at_rotator = (iteration + 1) * period - through + number * cmux;
            let mut sums = vec![setting.zeros(); columns];
            for (polynomial, coefficients) in ciphertext.iter().enumerate() {
                amounts[at_rotator + polynomial * group] = amount;
                let mut difference = vec![0; degree];
                rotate_subtract(coefficients, amount, &mut difference);
                for level in 0..levels {
                    let row = polynomial * levels + level;
                    let (mut digits, mut spectrum) = (vec![0; degree], setting.zeros());
                    decompose_level(&difference, gadget, level as u32, &mut digits);
                    let _ = kernel.forward_digits(&digits, &mut spectrum);
                    for (column, sum) in sums.iter_mut().enumerate() {
                        let _ = kernel.multiply_accumulate(sum, &spectrum, &key[row * columns + column]);
                    }
                    for word in 0..step {
                        keys[at_rotator + to_multiply + row * step + word] = Some((iteration, row, word));
                    }
                }
            }
            for (sum, polynomial) in sums.iter_mut().zip(ciphertext) {
                let _ = kernel.inverse_add_torus(sum, polynomial);
            }
        }
        spectra.push(key.iter().map(|key| zipped(key.re(), key.im())).collect::<Vec<Vec<Point>>>());
        expected.extend(in_words(&ciphertexts));
    }
    let layout = Layout::spectrum(setting, log2_lanes, key_width);
    let nothing = vec![(0, 0); points];
    let stream = (0..cycles).map(|cycle| {
        let loaded = expected.get(cycle).filter(|_| cycle < period);
        let fresh = loaded.cloned().unwrap_or_else(|| vec![0; coefficients]);
        let bits = Bits::new()
            .field(u8::from(loaded.is_some()), 1)
            .field(amounts[cycle] as u64, degree.ilog2() as usize + 1)
            .fields(fresh, width as usize);
        let bits = (0..columns).fold(bits, |bits, column| match keys[cycle] {
            Some((iteration, row, number)) => word(bits, number, &spectra[iteration][row * columns + column], &layout),
            None => word(bits, 0, &nothing, &layout),
        });
        Some(bits)
    });
    let outputs = unit.run(stream, 0).expect("a run");
    assert_eq!(outputs.len(), expected.len());
    for (number, (output, expected)) in outputs.iter().zip(expected).enumerate() {
        assert_eq!(output.cycle as usize, number + accumulate);
        let mut reader = Reader::new(&output.bytes);
        let found: Vec<u32> = expected.iter().map(|_| reader.unsigned(width as usize) as u32).collect();
        assert_eq!(found, expected, "word {} of iteration {}", number % period, number / period);
    }
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn three_iterations_of_a_small_ring() {
    rotations_are_the_kernels(&Setting::toy([24, 26, 30]), 2, 3);
}
