//! Are the chosen exponents the smallest for the stated ranges?

use polyfabric_kernels::Gadget;
use polyfabric_kernels::RingDegree;
use polyfabric_kernels::fixed::*;
use polyfabric_kernels::internals::gaussian_quantile;
#[test]
fn the_quantile_of_fpt_is_nine_and_a_bit() {
    // erfc(9.1/√2) = 9.0e-20; 2^-64 = 5.4e-20.
    assert!((gaussian_quantile(-64.0) - 9.155).abs() < 0.02, "{}", gaussian_quantile(-64.0));
}

#[test]
fn worst_case_shifts_once_a_stage_and_loads_to_the_top() {
    let degree = RingDegree::new(1024).unwrap();
    let gadget = Gadget { log2_base: 10, levels: 2 };
    let spec = FixedFftSpec::for_external_product(
        degree,
        gadget,
        1,
        32,
        FixedWidths::uniform(32),
        Rounding::HalfEven,
        RangeRule::WorstCase,
    );
    // -512 · 2^21 is the largest power of two inside ±(2^31 − 1).
    assert_eq!(spec.digits.load_shift, 21);
    assert!(spec.digits.stages[1..].iter().all(|s| s.shift == 1));
    assert_eq!(spec.inverse.stages.iter().map(|s| s.shift).sum::<u32>(), 9);
}

#[test]
fn impossible_figures_are_named() {
    let degree = RingDegree::new(256).unwrap();
    let gadget = Gadget { log2_base: 8, levels: 2 };
    let good = FixedFftSpec::for_external_product(
        degree,
        gadget,
        1,
        32,
        FixedWidths::uniform(32),
        Rounding::HalfEven,
        RangeRule::OverflowProbability { log2: -64.0, first_step: 0.25 },
    );
    assert_eq!(good.check(), Ok(()));
    let mut spec = good.clone();
    spec.inverse.twiddle_bits = 99;
    assert_eq!(spec.check().unwrap_err().to_string(), "twiddle factors: a width of 99 bits is outside 3 to 52");
    let mut spec = good.clone();
    spec.key.stages.pop();
    assert_eq!(
        spec.check().unwrap_err().to_string(),
        "key transform: 6 stages given, but a ring degree of 256 takes 7"
    );
    let mut spec = good.clone();
    spec.accumulator.shift = 70;
    assert!(spec.check().unwrap_err().to_string().contains("a shift by 70 bits"));
    assert_eq!(
        good.with_result_bits(0).check().unwrap_err().to_string(),
        "result: a width of 0 bits is outside 1 to 64"
    );
}

#[test]
fn a_last_shift_that_drops_everything_is_rejected() {
    let (degree, gadget) = (RingDegree::new(256).unwrap(), Gadget { log2_base: 8, levels: 2 });
    let (widths, rule) = (FixedWidths::uniform(60).with_twiddles(52), RangeRule::WorstCase);
    let mut spec = FixedFftSpec::for_external_product(degree, gadget, 1, 32, widths, Rounding::HalfEven, rule);
    // No intermediate shifts: units of 2^-32, and log2 M = 7 bits from the inverse; results of two bits need a shift of 30.
    for transform in [&mut spec.digits, &mut spec.key, &mut spec.inverse] {
        transform.stages.iter_mut().for_each(|stage| stage.shift = 0);
    }
    (spec.digits.load_shift, spec.key.load_shift, spec.accumulator.shift) = (20, 5, 0);
    spec = spec.with_result_bits(2);
    assert_eq!((spec.result_exponent(), spec.check()), (-32, Ok(())));
    spec.digits.load_shift += 1;
    assert_eq!(spec.check().unwrap_err().to_string(), "result, last shift: a shift by 63 bits is outside 0 to 62");
    // Without result bits no result is shifted further than its exponent.
    spec.result_bits = None;
    assert_eq!(spec.check(), Ok(()));
}
