//! Does the fixed-point transform compute the external product with the error that its widths imply, identically on every path, and does it count
//! saturations?

mod arithmetic;
mod pair;
mod reference;
mod spec;
mod structure;
mod twiddle_error;

use crate::random::{digit_vector, torus_vector};
use polyfabric_kernels::RingDegree;
use polyfabric_kernels::Torus;
use polyfabric_kernels::decompose::Gadget;
use polyfabric_kernels::fixed::*;
use polyfabric_kernels::negacyclic::ExactMultiplier;

pub fn spec<T: Torus>(
    log2_degree: u32,
    gadget: Gadget,
    k: usize,
    widths: FixedWidths,
    rule: RangeRule,
) -> FixedFftSpec {
    let degree = RingDegree::new(1 << log2_degree).unwrap();
    FixedFftSpec::for_external_product(degree, gadget, k, T::BITS, widths, Rounding::HalfEven, rule)
}

pub const FPT_RULE: RangeRule = RangeRule::OverflowProbability { log2: -64.0, first_step: 0.25 };

/// (result − exact, saturations) of an external product of uniform operands, different for each `seed`.
pub fn product_error<T: Torus>(fft: &FixedFft, gadget: Gadget, rows: u32, seed: u32) -> (Vec<f64>, u64) {
    let degree = fft.spec().ring_degree;
    let n = degree.get();
    let exact = ExactMultiplier::new(degree);
    let mut expected = vec![T::default(); n];
    let mut sum = FixedSpectrum::zeros(degree);
    let (mut a, mut b) = (sum.clone(), sum.clone());
    let mut saturations = 0;
    for row in 0..rows {
        let digits = digit_vector(n, 1 << (gadget.log2_base - 1), 1000 * seed + row);
        let key = torus_vector::<T>(n, 1000 * seed + 100 + row);
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
    let (errors, saturations) = product_error::<T>(&fft, gadget, rows, 0);
    let (measured, model) = (deviation(&errors), spec.error_deviation(gadget, rows as usize, T::BITS));
    assert_eq!(saturations, 0, "N 2^{log2_degree} {widths:?} {rule:?}");
    // Beyond a tenth of the torus an error wraps and carries no information.
    assert!(model < 0.1 * 2f64.powi(T::BITS as i32), "model {model}");
    assert!(
        (0.7 * model..1.4 * model + 0.3).contains(&measured),
        "N 2^{log2_degree} {widths:?} {rule:?}: measured {measured}, model {model}"
    );
}

#[test]
fn machine_widths_err_as_modelled() {
    let narrow = FixedWidths::uniform(32);
    for log2_degree in 8..=13 {
        near_the_model::<u32>(log2_degree, Gadget { log2_base: 10, levels: 2 }, 1, narrow, FPT_RULE);
        near_the_model::<u32>(log2_degree, Gadget { log2_base: 7, levels: 3 }, 1, narrow, FPT_RULE);
    }
    near_the_model::<u32>(9, Gadget { log2_base: 7, levels: 3 }, 3, narrow, FPT_RULE);
    let coarse_twiddles = narrow.with_twiddles(18);
    near_the_model::<u32>(10, Gadget { log2_base: 8, levels: 2 }, 2, coarse_twiddles, FPT_RULE);
}

#[test]
fn wide_data_is_exact_at_32_bits_up_to_the_largest_rings() {
    let wide = FixedWidths { accumulator: 60, inverse: 60.into(), ..FixedWidths::uniform(58) }.with_twiddles(50);
    for log2_degree in [8, 10, 12, 14, 16] {
        let gadget = Gadget { log2_base: 8, levels: 2 };
        let spec = spec::<u32>(log2_degree, gadget, 1, wide, FPT_RULE);
        let (errors, saturations) = product_error::<u32>(&FixedFft::new(spec).unwrap(), gadget, 4, 0);
        assert_eq!(saturations, 0);
        let largest = errors.iter().fold(0.0f64, |m, e| m.max(e.abs()));
        assert!(largest <= 4.0, "N 2^{log2_degree}: {largest}");
    }
}

#[test]
fn sixty_four_bit_torus_keeps_the_bits_of_the_widths() {
    let wide = FixedWidths { digits: 48.into(), accumulator: 60, inverse: 60.into(), ..FixedWidths::uniform(56) }
        .with_twiddles(50);
    near_the_model::<u64>(11, Gadget { log2_base: 23, levels: 1 }, 1, wide, FPT_RULE);
    near_the_model::<u64>(12, Gadget { log2_base: 8, levels: 2 }, 1, wide, RangeRule::WorstCase);
}

#[test]
fn all_product_methods_give_the_same_bits_in_transforms() {
    // Declared as 33 bits, products are split; as 60, they use 128 bits. Quantised to 32 bits, all tables are equal.
    let gadget = Gadget { log2_base: 10, levels: 2 };
    let spec = spec::<u32>(10, gadget, 1, FixedWidths::uniform(32), FPT_RULE);
    for structure in [Structure::Merged, Structure::Twisted { log2_radix: 4 }] {
        let spec = spec.clone().with_structure(structure);
        let fft = FixedFft::new(spec.clone()).unwrap();
        let digits = digit_vector(1024, 512, 3);
        for twiddle_bits in [33, 60] {
            let wide = fft.clone().widened(twiddle_bits);
            let mut a = FixedSpectrum::zeros(spec.ring_degree);
            let mut b = a.clone();
            assert_eq!(fft.forward_digits(&digits, &mut a), wide.forward_digits(&digits, &mut b));
            assert_eq!(a, b);
            let (mut x, mut y) = (vec![0u32; 1024], vec![0u32; 1024]);
            assert_eq!(fft.inverse_add_torus(&mut a, &mut x), wide.inverse_add_torus(&mut b, &mut y));
            assert_eq!(x, y);
        }
    }
}

#[test]
fn worst_case_inputs_do_not_saturate_a_worst_case_schedule() {
    let gadget = Gadget { log2_base: 10, levels: 2 };
    let widths = FixedWidths { accumulator: 60, inverse: 60.into(), ..FixedWidths::uniform(32) };
    let fft = FixedFft::new(spec::<u32>(10, gadget, 1, widths, RangeRule::WorstCase)).unwrap();
    let degree = fft.spec().ring_degree;
    // Signs that align with a root of X^M = i: the largest possible digit spectrum.
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
fn overflow_is_counted_and_saturated() {
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
fn biased_roundings_err_as_modelled() {
    let gadget = Gadget { log2_base: 10, levels: 2 };
    let mut deviations = vec![];
    for rounding in [Rounding::HalfEven, Rounding::HalfUp, Rounding::Truncate] {
        let mut spec = spec::<u32>(10, gadget, 1, FixedWidths::uniform(32), FPT_RULE);
        spec.rounding = rounding;
        let fft = FixedFft::new(spec.clone()).unwrap();
        let measured = deviation(&product_error::<u32>(&fft, gadget, 4, 0).0);
        let model = spec.error_deviation(gadget, 4, 32);
        assert!((0.6 * model..1.6 * model).contains(&measured), "{rounding:?}: measured {measured}, model {model}");
        deviations.push(measured);
    }
    assert!(deviations.is_sorted(), "{deviations:?}");
}

/// A twisted transform like FPT's: 29-bit data, 25-bit factors, a pretransformed key of 26 bits.
fn streaming(log2_degree: u32, gadget: Gadget, k: usize, log2_radix: u32) -> FixedFftSpec {
    let widths = FixedWidths { key: 26, ..FixedWidths::uniform(29) }.with_twiddles(25).with_key_made_elsewhere();
    spec::<u32>(log2_degree, gadget, k, widths, FPT_RULE).with_structure(Structure::Twisted { log2_radix })
}

#[test]
fn a_twisted_transform_equals_its_definition_bit_for_bit() {
    let gadget = Gadget { log2_base: 8, levels: 2 };
    let wide = |x: &FixedSpectrum| -> Vec<(i128, i128)> {
        x.re().iter().zip(x.im()).map(|(&re, &im)| (i128::from(re), i128::from(im))).collect()
    };
    for (log2_degree, log2_radix) in [(8, 4), (9, 4), (10, 4), (9, 1), (10, 2), (8, 3), (11, 5)] {
        for rounding in [Rounding::HalfEven, Rounding::HalfUp, Rounding::Truncate] {
            let mut spec = streaming(log2_degree, gadget, 2, log2_radix);
            spec.rounding = rounding;
            let fft = FixedFft::new(spec.clone()).unwrap();
            let n = 1 << log2_degree;
            let digits = digit_vector(n, 128, log2_degree + log2_radix);
            let mut spectrum = FixedSpectrum::zeros(spec.ring_degree);
            assert_eq!(fft.forward_digits(&digits, &mut spectrum), 0);
            let load = |x: i32| i128::from(x) << spec.digits.load_shift;
            let mut points: Vec<_> = (0..n / 2).map(|j| (load(digits[j]), load(digits[j + n / 2]))).collect();
            reference::forward(&mut points, &spec.digits, log2_radix, rounding);
            assert_eq!(wide(&spectrum), points, "N 2^{log2_degree}, radix 2^{log2_radix}, {rounding:?}");
            // The same numbers as an accumulated product.
            assert_eq!(fft.inverse_points(&mut spectrum), 0);
            reference::inverse(&mut points, &spec.inverse, log2_radix, rounding);
            assert_eq!(wide(&spectrum), points);
        }
    }
}

#[test]
fn three_and_four_real_products_agree() {
    let parts = torus_vector::<u32>(400, 5);
    for part in parts.chunks_exact(4) {
        let [a, b, c, d] = [0, 1, 2, 3].map(|i| i128::from(part[i] as i32));
        assert_eq!(reference::three_products((a, b), (c, d)), (a * c - b * d, a * d + b * c));
    }
}

#[test]
fn all_structures_give_the_same_points_and_err_as_modelled() {
    let gadget = Gadget { log2_base: 8, levels: 2 };
    for log2_degree in [8, 9, 11] {
        let merged = spec::<u32>(log2_degree, gadget, 1, FixedWidths::uniform(32), FPT_RULE);
        for structure in [Structure::Merged, Structure::Twisted { log2_radix: 4 }, Structure::Twisted { log2_radix: 2 }]
        {
            let spec = merged.clone().with_structure(structure);
            let fft = FixedFft::new(spec.clone()).unwrap();
            let digits = digit_vector(1 << log2_degree, 128, 9);
            let mut points = [FixedSpectrum::zeros(spec.ring_degree), FixedSpectrum::zeros(spec.ring_degree)];
            assert_eq!(fft.forward_digits(&digits, &mut points[0]), 0);
            let other = FixedFft::new(merged.clone()).unwrap();
            assert_eq!(other.forward_digits(&digits, &mut points[1]), 0);
            let [here, there] = &points;
            let apart = here.re().iter().zip(there.re()).map(|(a, b)| (a - b).abs()).max();
            assert!(apart.unwrap() < 1 << 8, "{structure:?}: {apart:?} units of 2^-32");
            let (errors, saturations) = product_error::<u32>(&fft, gadget, 4, 0);
            let (measured, model) = (deviation(&errors), spec.error_deviation(gadget, 4, 32));
            assert_eq!(saturations, 0);
            assert!((0.7 * model..1.4 * model + 0.3).contains(&measured), "{structure:?}: {measured}, model {model}");
        }
    }
}

#[test]
fn a_pretransformed_key_errs_by_its_last_rounding_only() {
    let gadget = Gadget { log2_base: 8, levels: 2 };
    for bits in [16, 20, 26] {
        let widths = FixedWidths { key: bits, ..FixedWidths::uniform(58) }.with_twiddles(50).with_key_made_elsewhere();
        let spec = spec::<u32>(9, gadget, 2, widths, FPT_RULE);
        let fft = FixedFft::new(spec.clone()).unwrap();
        let measured = deviation(&product_error::<u32>(&fft, gadget, 6, 0).0);
        let model = spec.error_deviation(gadget, 6, 32);
        // Six rows of 2 σ_X² σ² with σ² = 4^e / 12 per part, and 1/M of that.
        let exponent = spec.key.exponent();
        let last = (6.0 * 2.0 * 4f64.powi(8) / 12.0 * 4f64.powi(exponent) / 12.0).sqrt();
        assert!((0.9 * last..1.1 * last).contains(&measured), "{bits} bits: {measured}, rounding alone {last}");
        assert!((0.9 * last..1.1 * last).contains(&model), "{bits} bits: model {model}, rounding alone {last}");
    }
}

#[test]
fn results_have_only_the_kept_bits() {
    let gadget = Gadget { log2_base: 8, levels: 2 };
    let widths = FixedWidths { accumulator: 40, inverse: 40.into(), ..FixedWidths::uniform(32) };
    let spec = spec::<u32>(9, gadget, 2, widths, FPT_RULE).with_result_bits(16);
    let fft = FixedFft::new(spec.clone()).unwrap();
    let mut sum = FixedSpectrum::zeros(spec.ring_degree);
    let (mut a, mut b) = (sum.clone(), sum.clone());
    let _ = fft.forward_digits(&digit_vector(512, 128, 1), &mut a);
    let _ = fft.forward_torus(&torus_vector::<u32>(512, 2), &mut b);
    let _ = fft.multiply_accumulate(&mut sum, &a, &b);
    let mut result = vec![0u32; 512];
    assert_eq!(fft.inverse_add_torus(&mut sum, &mut result), 0);
    assert!(result.iter().all(|x| x.trailing_zeros() >= 16) && result.iter().any(|x| x >> 16 & 1 == 1));
    assert_eq!([fft.kept(0x1234_7fffu32), fft.kept(0x1234_8000), fft.kept(0xffff_ffff)], [0x1234_0000, 0x1235_0000, 0]);
    // The model includes the dropped bits.
    let (errors, _) = product_error::<u32>(&fft, gadget, 6, 0);
    let (measured, model) = (deviation(&errors), spec.error_deviation(gadget, 6, 32));
    assert!(
        measured > 0.95 * 65536.0 / 12f64.sqrt() && (0.7 * model..1.4 * model).contains(&measured),
        "{measured}, {model}"
    );
}

#[test]
fn every_stage_may_have_its_own_width() {
    let gadget = Gadget { log2_base: 10, levels: 2 };
    for log2_degree in [6, 9, 11] {
        let stages = log2_degree as usize - 1;
        // Each stage is randomly narrower or wider than the rest.
        let drawn = digit_vector(2 * stages, 4, log2_degree);
        let of = |offset: usize| {
            (0..stages).fold(StageWidths::uniform(34), |widths, stage| {
                widths.with_stage(stage, (34 + drawn[offset + stage]) as u32)
            })
        };
        let widths = FixedWidths { digits: of(0), inverse: of(stages), ..FixedWidths::uniform(34) };
        let spec = spec::<u32>(log2_degree, gadget, 1, widths, FPT_RULE);
        for stage in 0..stages {
            assert_eq!(spec.digits.stages[stage].width, widths.digits.stage(stage));
            assert_eq!(spec.inverse.stages[stage].width, widths.inverse.stage(stage));
        }
        near_the_model::<u32>(log2_degree, gadget, 1, widths, FPT_RULE);
    }
}
