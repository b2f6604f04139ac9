//! Do sums over the rows of a key match the kernel's, in both arrangements of FPT?

use crate::fixed_fft::{Layout, PAPERS_SET, Point, Setting, first_difference, fpt, read, shape, word, zipped};
use crate::rng;
use polyfabric_machines::fpt::machine::{Balance, Fpt};
use polyfabric_rtl::{Bench, Bits, Reader};
use polyfabric_schemes::tfhe::sets;
use rand::Rng;

/// External products of `count` ciphertexts' digits with a separate key each; `side` rows pass in parallel. Returns the number of saturated values.
fn sums_are_the_kernels(setting: &Setting, log2_lanes: u32, side: usize, count: usize, latency: i64) -> u64 {
    let latency = latency as usize;
    let transform = setting.transform();
    let (spec, depth) = (transform.spec(), fpt().depth);
    let (rows, columns) = (setting.rows(), setting.glwe_dimension + 1);
    let (steps, cycles) = (rows / side, setting.points() >> log2_lanes);
    let (width, key_width, out) = (spec.digits.output_width(), spec.key.output_width(), spec.accumulator.width);
    let unit = Bench::new("multiply_accumulate")
        .parameter("LANES", 1u64 << log2_lanes)
        .parameter("CYCLES", cycles as u64)
        .parameter("COLUMNS", columns as u64)
        .parameter("SIDE", side as u64)
        .parameter("STEPS", steps as u64)
        .parameter("WIDTH", width)
        .parameter("KEY", key_width)
        .parameter("SHIFT", spec.accumulator.shift)
        .parameter("OUT", out)
        .parameter("ADDER", depth.adder)
        .parameter("MULTIPLIER", depth.multiplier)
        .simulate()
        .expect("a unit");
    let layouts = [width, key_width, out].map(|width| Layout::spectrum(setting, log2_lanes, width));
    let (mut rng, mut saturations) = (rng(10), 0);
    let (mut stream, mut expected) = (Vec::new(), Vec::new());
    for (number, polynomials) in setting.digits(count * rows).chunks(rows).enumerate() {
        let keys = setting.keys(rows * columns);
        let mut sums = vec![setting.zeros(); columns];
        // For each row, the digits' points and the key's.
        let mut of_rows = Vec::new();
        for (digits, keys) in polynomials.iter().zip(keys.chunks(columns)) {
            let mut spectrum = setting.zeros();
            saturations += transform.forward_digits(digits, &mut spectrum);
            for (sum, key) in sums.iter_mut().zip(keys) {
                saturations += transform.multiply_accumulate(sum, &spectrum, key);
            }
            let keys: Vec<Vec<Point>> = keys.iter().map(|key| zipped(key.re(), key.im())).collect();
            of_rows.push((zipped(spectrum.re(), spectrum.im()), keys));
        }
        if number % 3 == 2 {
            stream.extend(std::iter::repeat_n(None, rng.random_range(1..3 * cycles)));
        }
        for rows in of_rows.chunks(side) {
            stream.extend((0..cycles).map(|cycle| {
                let bits = rows.iter().fold(Bits::new(), |bits, (digits, keys)| {
                    let bits = word(bits, cycle, digits, &layouts[0]);
                    keys.iter().fold(bits, |bits, key| word(bits, cycle, key, &layouts[1]))
                });
                Some(bits)
            }));
        }
        expected.push((stream.len() - cycles, sums));
    }
    let outputs = unit.run(stream, latency).expect("a run");
    assert_eq!(outputs.len(), count * cycles);
    for (outputs, (start, sums)) in outputs.chunks(cycles).zip(expected) {
        let mut found = vec![vec![(0, 0); setting.points()]; columns];
        for (number, output) in outputs.iter().enumerate() {
            assert_eq!(output.cycle as usize, start + latency + number);
            let mut reader = Reader::new(&output.bytes);
            found.iter_mut().for_each(|found| read(&mut reader, number, found, &layouts[2]));
        }
        for (column, (found, sum)) in found.iter().zip(&sums).enumerate() {
            let expected = zipped(sum.re(), sum.im());
            assert_eq!(first_difference(found, &expected), None, "column {column}, last step in cycle {start}");
        }
    }
    saturations
}

/// FPT's latency, from the last of the sequential rows.
fn one_after_the_other() -> i64 {
    let shape = shape(PAPERS_SET);
    shape.multiply + shape.add
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn one_row_after_the_other() {
    let saturated = sums_are_the_kernels(&Setting::toy([20, 18, 19]), 1, 1, 8, one_after_the_other());
    assert!(saturated > 0, "some values should saturate");
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn full_size_one_row_after_the_other() {
    assert_eq!(sums_are_the_kernels(&Setting::of("fpt", PAPERS_SET), 2, 1, 4, one_after_the_other()), 0);
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn full_size_all_rows_side_by_side() {
    let setting = Setting::of("fpt", PAPERS_SET);
    let unrolled = Fpt { balance: Balance::DotProductUnrolled, ..fpt() };
    let shape = unrolled.shape(&sets::parameters(PAPERS_SET).expect("a set")).expect("a pipeline");
    let side = shape.side_rows as usize;
    assert_eq!(sums_are_the_kernels(&setting, 2, side, 4, shape.multiply + shape.add), 0);
}
