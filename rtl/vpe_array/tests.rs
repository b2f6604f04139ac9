//! Do sums over the rows of a key match the kernel's in every element of the array, at the latency of Morphling's model?

use crate::fixed_fft::{Layout, Point, Setting, first_difference, read, word, zipped};
use crate::rng;
use polyfabric_kernels::fixed::FixedSpectrum;
use polyfabric_machines::morphling::latency;
use polyfabric_machines::morphling::machine::Morphling;
use polyfabric_machines::registry;
use polyfabric_rtl::{Bench, Bits, Reader};
use rand::Rng;

fn morphling() -> Morphling {
    Morphling::new(&registry::description("morphling").expect("a machine")).expect("its figures")
}

/// External products of `groups` times as many ciphertexts as there are rows.
fn sums_are_the_kernels(setting: &Setting, rows: usize, columns: usize, log2_points: u32, groups: usize) {
    let (depth, transform) = (morphling().depth, setting.transform());
    let spec = transform.spec();
    let (width, steps, cycles) = (spec.digits.output_width(), setting.rows(), setting.points() >> log2_points);
    assert!(columns <= steps && setting.glwe_dimension < columns);
    let unit = Bench::new("vpe_array")
        .parameter("ROWS", rows as u64)
        .parameter("COLUMNS", columns as u64)
        .parameter("POINTS", 1u64 << log2_points)
        .parameter("CYCLES", cycles as u64)
        .parameter("STEPS", steps as u64)
        .parameter("WIDTH", width)
        .parameter("SHIFT", spec.accumulator.shift)
        .parameter("OUT", spec.accumulator.width)
        .parameter("ADDER", depth.adder)
        .parameter("MULTIPLIER", depth.multiplier)
        .simulate()
        .expect("a unit");
    let layout = Layout::spectrum(setting, log2_points, width);
    let mut rng = rng(13);
    let mut digits = setting.digits(groups * rows * steps).into_iter();
    let (mut stream, mut expected) = (Vec::new(), Vec::new());
    for group in 0..groups {
        // For each row of the key, all columns; more than a ciphertext has if the array has more.
        let keys: Vec<Vec<FixedSpectrum>> = (0..steps)
            .map(|_| {
                (0..columns)
                    .map(|_| {
                        let mut spectrum = setting.zeros();
                        let polynomial: Vec<u32> = (0..2 * setting.points()).map(|_| rng.random()).collect();
                        assert_eq!(transform.forward_torus(&polynomial, &mut spectrum), 0);
                        spectrum
                    })
                    .collect()
            })
            .collect();
        let mut sums = vec![vec![setting.zeros(); columns]; rows];
        let spectra: Vec<Vec<FixedSpectrum>> = (0..rows)
            .map(|row| {
                (0..steps)
                    .map(|step| {
                        let mut spectrum = setting.zeros();
                        let _ = transform.forward_digits(&digits.next().expect("enough"), &mut spectrum);
                        for (sum, key) in sums[row].iter_mut().zip(&keys[step]) {
                            let _ = transform.multiply_accumulate(sum, &spectrum, key);
                        }
                        spectrum
                    })
                    .collect()
            })
            .collect();
        if group % 3 == 2 {
            stream.extend(std::iter::repeat_n(None, rng.random_range(1..3 * cycles)));
        }
        for step in 0..steps {
            let side = spectra.iter().map(|row| &row[step]).chain(&keys[step]);
            let points: Vec<Vec<Point>> = side.map(|spectrum| zipped(spectrum.re(), spectrum.im())).collect();
            stream.extend(
                (0..cycles).map(|cycle| {
                    Some(points.iter().fold(Bits::new(), |bits, points| word(bits, cycle, points, &layout)))
                }),
            );
        }
        expected.push((stream.len() - cycles, sums));
    }
    // From the last step, plus the last row's shift (`StepCycles::skew`).
    let latency = latency::multiply_accumulate(columns as u64, depth) as usize + rows - 1;
    let outputs = unit.run(stream, latency + columns * cycles).expect("a run");
    assert_eq!(outputs.len(), groups * columns * cycles);
    for (outputs, (start, sums)) in outputs.chunks(columns * cycles).zip(expected) {
        let mut found = vec![vec![vec![(0, 0); setting.points()]; columns]; rows];
        for (number, output) in outputs.iter().enumerate() {
            assert_eq!(output.cycle as usize, start + latency + number);
            let mut reader = Reader::new(&output.bytes);
            for row in &mut found {
                read(&mut reader, number % cycles, &mut row[number / cycles], &layout);
            }
        }
        for (row, (found, sums)) in found.iter().zip(&sums).enumerate() {
            for (column, (found, sum)) in found.iter().zip(sums).enumerate() {
                let expected = zipped(sum.re(), sum.im());
                assert_eq!(
                    first_difference(found, &expected),
                    None,
                    "row {row}, column {column}, last step in cycle {start}"
                );
            }
        }
    }
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn two_by_three_elements() {
    sums_are_the_kernels(&Setting::toy([18; 3]), 2, 3, 1, 5);
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn full_size_array_of_morphling() {
    let machine = morphling();
    let points = machine.path().row_points.ilog2();
    let setting = Setting::of("morphling", "morphling-I");
    sums_are_the_kernels(&setting, machine.rows as usize, machine.columns as usize, points, 3);
}
