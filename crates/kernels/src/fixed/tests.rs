//! Does the fixed-point transform compute the external product, with the error that its widths imply, the same on
//! every path, and does it count what it cannot hold?

use super::*;
use crate::decompose::Gadget;
use crate::negacyclic::ExactMultiplier;
use crate::random::{digit_vector, torus_vector};

fn spec<T: Torus>(log2_degree: u32, gadget: Gadget, k: usize, widths: FixedWidths, rule: RangeRule) -> FixedFftSpec {
    let degree = RingDegree::new(1 << log2_degree).unwrap();
    FixedFftSpec::for_external_product(degree, gadget, k, T::BITS, widths, Rounding::HalfEven, rule)
}

const FPT_RULE: RangeRule = RangeRule::OverflowProbability { log2: -64.0, first_step: 0.25 };

/// (result − exact, saturations) of an external product of uniform operands.
fn product_error<T: Torus>(fft: &FixedFft, gadget: Gadget, rows: u32) -> (Vec<f64>, u64) {
    let degree = fft.spec().ring_degree;
    let n = degree.get();
    let exact = ExactMultiplier::new(degree);
    let mut expected = vec![T::default(); n];
    let mut sum = FixedSpectrum::zeros(degree);
    let (mut a, mut b) = (sum.clone(), sum.clone());
    let mut saturations = 0;
    for row in 0..rows {
        let digits = digit_vector(n, 1 << (gadget.log2_base - 1), row);
        let key = torus_vector::<T>(n, 100 + row);
        saturations += fft.forward_digits(&digits, &mut a);
        saturations += fft.forward_torus(&key, &mut b);
        saturations += fft.multiply_accumulate(&mut sum, &a, &b);
        exact.multiply_add(&digits, &key, &mut expected);
    }
    let mut result = vec![T::default(); n];
    saturations += fft.inverse_add_torus(&mut sum, &mut result);
    let errors = result.iter().zip(&expected).map(|(r, e)| r.wrapping_sub(*e).to_i64() as f64).collect();
    (errors, saturations)
}

fn deviation(errors: &[f64]) -> f64 {
    (errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64).sqrt()
}

fn near_the_model<T: Torus>(log2_degree: u32, gadget: Gadget, k: usize, widths: FixedWidths, rule: RangeRule) {
    let spec = spec::<T>(log2_degree, gadget, k, widths, rule);
    let fft = FixedFft::new(spec.clone()).unwrap();
    let rows = (k as u32 + 1) * gadget.levels;
    let (errors, saturations) = product_error::<T>(&fft, gadget, rows);
    let (measured, model) = (deviation(&errors), spec.error_deviation(gadget, rows as usize, T::BITS));
    assert_eq!(saturations, 0, "N 2^{log2_degree} {widths:?} {rule:?}");
    // Past a tenth of the torus an error wraps and says nothing.
    assert!(model < 0.1 * 2f64.powi(T::BITS as i32), "model {model}");
    assert!(
        (0.7 * model..1.4 * model + 0.3).contains(&measured),
        "N 2^{log2_degree} {widths:?} {rule:?}: measured {measured}, model {model}"
    );
}

#[test]
fn machine_widths_err_as_the_model_says() {
    let narrow = FixedWidths::uniform(32);
    for log2_degree in 8..=13 {
        near_the_model::<u32>(log2_degree, Gadget { log2_base: 10, levels: 2 }, 1, narrow, FPT_RULE);
        near_the_model::<u32>(log2_degree, Gadget { log2_base: 7, levels: 3 }, 1, narrow, FPT_RULE);
    }
    near_the_model::<u32>(9, Gadget { log2_base: 7, levels: 3 }, 3, narrow, FPT_RULE);
    let coarse_twiddles = FixedWidths { twiddle: 18, ..narrow };
    near_the_model::<u32>(10, Gadget { log2_base: 8, levels: 2 }, 2, coarse_twiddles, FPT_RULE);
}

#[test]
fn wide_data_is_exact_at_32_bits_up_to_the_largest_rings() {
    let wide = FixedWidths { digits: 58, key: 58, accumulator: 60, inverse: 60, twiddle: 50 };
    for log2_degree in [8, 10, 12, 14, 16] {
        let gadget = Gadget { log2_base: 8, levels: 2 };
        let spec = spec::<u32>(log2_degree, gadget, 1, wide, FPT_RULE);
        let (errors, saturations) = product_error::<u32>(&FixedFft::new(spec).unwrap(), gadget, 4);
        assert_eq!(saturations, 0);
        let largest = errors.iter().fold(0.0f64, |m, e| m.max(e.abs()));
        assert!(largest <= 4.0, "N 2^{log2_degree}: {largest}");
    }
}

#[test]
fn sixty_four_bit_torus_keeps_what_the_widths_keep() {
    let wide = FixedWidths { digits: 48, key: 56, accumulator: 60, inverse: 60, twiddle: 50 };
    near_the_model::<u64>(11, Gadget { log2_base: 23, levels: 1 }, 1, wide, FPT_RULE);
    near_the_model::<u64>(12, Gadget { log2_base: 8, levels: 2 }, 1, wide, RangeRule::WorstCase);
}

#[test]
fn narrow_and_wide_arithmetic_give_the_same_bits() {
    // 33-bit twiddle factors take the 128-bit path; quantised to 32 bits both tables are the same numbers.
    let gadget = Gadget { log2_base: 10, levels: 2 };
    let spec = spec::<u32>(10, gadget, 1, FixedWidths::uniform(32), FPT_RULE);
    let fft = FixedFft::new(spec.clone()).unwrap();
    let wide = FixedFft { spec: spec.clone(), engine: fft.engine.clone().widened() };
    let digits = digit_vector(1024, 512, 3);
    let mut a = FixedSpectrum::zeros(spec.ring_degree);
    let mut b = a.clone();
    assert_eq!(fft.forward_digits(&digits, &mut a), wide.forward_digits(&digits, &mut b));
    assert_eq!(a, b);
    let (mut x, mut y) = (vec![0u32; 1024], vec![0u32; 1024]);
    assert_eq!(fft.inverse_add_torus(&mut a, &mut x), wide.inverse_add_torus(&mut b, &mut y));
    assert_eq!(x, y);
}

#[test]
fn worst_case_inputs_do_not_saturate_a_worst_case_schedule() {
    let gadget = Gadget { log2_base: 10, levels: 2 };
    let widths = FixedWidths { accumulator: 60, inverse: 60, ..FixedWidths::uniform(32) };
    let fft = FixedFft::new(spec::<u32>(10, gadget, 1, widths, RangeRule::WorstCase)).unwrap();
    let degree = fft.spec().ring_degree;
    // Signs that align with a root of X^M = i: the largest spectrum that digits can have.
    let align = |c: usize, root: f64| (std::f64::consts::PI * root * c as f64 / 1024.0).cos() >= 0.0;
    for root in [1.0, 5.0, 509.0, -3.0] {
        let digits: Vec<i32> = (0..1024).map(|c| if align(c, root) { 511 } else { -512 }).collect();
        let key: Vec<u32> = (0..1024).map(|c| if align(c, root) { (1 << 31) - 1 } else { 1 << 31 }).collect();
        let mut sum = FixedSpectrum::zeros(degree);
        let (mut a, mut b) = (sum.clone(), sum.clone());
        assert_eq!(fft.forward_digits(&digits, &mut a), 0);
        assert_eq!(fft.forward_torus(&key, &mut b), 0);
        for _ in 0..4 {
            assert_eq!(fft.multiply_accumulate(&mut sum, &a, &b), 0);
        }
        assert_eq!(fft.inverse_add_torus(&mut sum, &mut vec![0u32; 1024]), 0);
    }
}

#[test]
fn overflow_is_counted_and_kept_at_the_limit() {
    let gadget = Gadget { log2_base: 10, levels: 2 };
    let mut spec = spec::<u32>(8, gadget, 1, FixedWidths::uniform(32), RangeRule::WorstCase);
    for stage in &mut spec.digits.stages {
        stage.shift = 0;
    }
    let fft = FixedFft::new(spec).unwrap();
    let mut spectrum = FixedSpectrum::zeros(fft.spec().ring_degree);
    assert!(fft.forward_digits(&[500; 256], &mut spectrum) > 0);
    let limit = (1i64 << 31) - 1;
    assert!(spectrum.re().iter().chain(spectrum.im()).all(|x| x.abs() <= limit));
    assert!(spectrum.re().iter().any(|x| x.abs() == limit));
}

#[test]
fn biased_roundings_cost_what_the_model_says() {
    let gadget = Gadget { log2_base: 10, levels: 2 };
    let mut deviations = vec![];
    for rounding in [Rounding::HalfEven, Rounding::HalfUp, Rounding::Truncate] {
        let mut spec = spec::<u32>(10, gadget, 1, FixedWidths::uniform(32), FPT_RULE);
        spec.rounding = rounding;
        let fft = FixedFft::new(spec.clone()).unwrap();
        let measured = deviation(&product_error::<u32>(&fft, gadget, 4).0);
        let model = spec.error_deviation(gadget, 4, 32);
        assert!((0.6 * model..1.6 * model).contains(&measured), "{rounding:?}: measured {measured}, model {model}");
        deviations.push(measured);
    }
    assert!(deviations.is_sorted(), "{deviations:?}");
}
