//! Does one complex transform give the spectra of two real polynomials, and how much noise does it add?

use crate::random::{digit_vector, torus_vector};
use polyfabric_kernels::decompose::Gadget;
use polyfabric_kernels::fixed::*;
use polyfabric_kernels::fixed::{FixedFftSpec, FixedWidths, RangeRule, Rounding};
use polyfabric_kernels::negacyclic::ExactMultiplier;
use polyfabric_kernels::ring::RingDegree;
use std::f64::consts::PI;

fn transform(degree: usize, gadget: Gadget, widths: FixedWidths) -> FixedFft {
    let degree = RingDegree::new(degree).expect("a power of two");
    let rule = RangeRule::OverflowProbability { log2: -64.0, first_step: 0.25 };
    let spec = FixedFftSpec::for_external_product(degree, gadget, 1, 32, widths, Rounding::HalfEven, rule);
    FixedFft::new(spec).expect("a schedule")
}

/// Textbook merge and split: N values of z by definition, and the two halves of each.
fn by_definition(p: &[i32], q: &[i32]) -> [Vec<(f64, f64)>; 2] {
    let n = p.len();
    let value = |k: usize| {
        let mut sum = (0.0, 0.0);
        for j in 0..n {
            let (sin, cos) = (PI * ((2 * k + 1) * j % (2 * n)) as f64 / n as f64).sin_cos();
            let (re, im) = (f64::from(p[j]), f64::from(q[j]));
            sum = (sum.0 + re * cos - im * sin, sum.1 + re * sin + im * cos);
        }
        sum
    };
    let z: Vec<(f64, f64)> = (0..n).map(value).collect();
    let split = |k: usize| (z[k], (z[n - 1 - k].0, -z[n - 1 - k].1));
    let first = (0..n).map(&split).map(|(a, b)| ((a.0 + b.0) / 2.0, (a.1 + b.1) / 2.0)).collect();
    let second = (0..n).map(&split).map(|(a, b)| ((a.1 - b.1) / 2.0, (b.0 - a.0) / 2.0)).collect();
    [first, second]
}

#[test]
fn the_halves_of_the_merged_transform_are_the_spectra() {
    let gadget = Gadget { log2_base: 7, levels: 2 };
    let fft = transform(64, gadget, FixedWidths::uniform(50).with_twiddles(50));
    let degree = fft.spec().ring_degree;
    let (p, q) = (digit_vector(64, 64, 1), digit_vector(64, 64, 2));
    let [mut first, mut second, mut alone] = [(); 3].map(|()| FixedSpectrum::zeros(degree));
    assert_eq!(fft.forward_digits_merged([&p, &q], [&mut first, &mut second]), 0);
    let textbook = by_definition(&p, &q);
    for (digits, merged, values) in [(&p, &first, &textbook[0]), (&q, &second, &textbook[1])] {
        assert_eq!(fft.forward_digits(digits, &mut alone), 0);
        // The scale of all values: the first one is a sum of digits.
        let power: f64 = values.iter().map(|(re, im)| re * re + im * im).sum::<f64>() / 2.0;
        let scaled: f64 =
            alone.re().iter().zip(alone.im()).map(|(&re, &im)| (re as f64).powi(2) + (im as f64).powi(2)).sum();
        let unit = (scaled / power).sqrt();
        for (&re, &im) in merged.re().iter().zip(merged.im()) {
            let there = |&(x, y): &(f64, f64)| (x * unit - re as f64).hypot(y * unit - im as f64) < 1e-6 * unit;
            assert!(values.iter().any(there), "({re}, {im}) is no value of the polynomial");
        }
        let differ = |a: &[i64], b: &[i64]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).max().unwrap_or(0);
        let largest = differ(merged.re(), alone.re()).max(differ(merged.im(), alone.im()));
        assert!(largest < 64, "{largest} units from the folded transform, of {unit}");
    }
}

/// Deviation of external products of two ciphertexts whose digits were transformed separately, and merged.
fn deviations(degree: usize, gadget: Gadget, rows: u32) -> (f64, f64) {
    let fft = transform(degree, gadget, FixedWidths::uniform(32));
    let ring = fft.spec().ring_degree;
    let exact = ExactMultiplier::new(ring);
    let zeros = || [FixedSpectrum::zeros(ring), FixedSpectrum::zeros(ring)];
    let (mut alone, mut merged, mut key) = (zeros(), zeros(), FixedSpectrum::zeros(ring));
    let mut expected = [vec![0u32; degree], vec![0u32; degree]];
    for row in 0..rows {
        let digits = [0, 1].map(|of| digit_vector(degree, 1 << (gadget.log2_base - 1), 2 * row + of));
        let polynomial = torus_vector::<u32>(degree, 500 + row);
        assert_eq!(fft.forward_torus(&polynomial, &mut key), 0);
        let [mut one, mut two] = zeros();
        assert_eq!(fft.forward_digits_merged([&digits[0], &digits[1]], [&mut one, &mut two]), 0);
        for (of, spectrum) in [one, two].iter().enumerate() {
            assert_eq!(fft.multiply_accumulate(&mut merged[of], spectrum, &key), 0);
            let mut folded = FixedSpectrum::zeros(ring);
            assert_eq!(fft.forward_digits(&digits[of], &mut folded), 0);
            assert_eq!(fft.multiply_accumulate(&mut alone[of], &folded, &key), 0);
            exact.multiply_add(&digits[of], &polynomial, &mut expected[of]);
        }
    }
    let deviation = |sums: &mut [FixedSpectrum; 2]| {
        let mut square = 0.0;
        for (sum, expected) in sums.iter_mut().zip(&expected) {
            let mut result = vec![0u32; degree];
            assert_eq!(fft.inverse_add_torus(sum, &mut result), 0);
            let errors = result.iter().zip(expected).map(|(r, e)| f64::from(r.wrapping_sub(*e) as i32));
            square += errors.map(|e| e * e).sum::<f64>();
        }
        (square / (2 * degree) as f64).sqrt()
    };
    (deviation(&mut alone), deviation(&mut merged))
}

#[test]
fn in_32_bits_merging_adds_noise_only() {
    for (degree, levels) in [(512, 3), (1024, 2), (2048, 3)] {
        let (alone, merged) = deviations(degree, Gadget { log2_base: 8, levels }, 2 * levels);
        // The digits' transform is one part of a product's error; its variance at most doubles.
        assert!((0.9..1.6).contains(&(merged / alone)), "N {degree}: {merged} merged, {alone} separate");
    }
}
