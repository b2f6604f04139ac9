//! Is the reduction modulo 1 accurate enough for bootstrapping at its possible arguments?

use super::*;

fn literal(range: usize, degree: usize, doublings: usize, nodes: Nodes) -> ReductionLiteral {
    let largest_message = 2f64.powi(-8);
    ReductionLiteral { method: Method::Cosine, range, degree, doublings, nodes, arcsine_degree: 0, largest_message }
}

fn around(hamming_weight: usize) -> Nodes {
    Nodes::Integers { radius: 2f64.powi(-8), hamming_weight, floor_log2: -24.0 }
}

/// Largest amplification of an error of the polynomial in the result, in units of q_0, over |I| ≤ `integer`: the derivative of the
/// doublings over 2π. It is 2^r·sin θ/sin(θ/2^r) at θ = 2π(I − 1/4) for the cosine, and 2^r for the exponential.
fn amplification(reduction: &ModularReduction, integer: i64) -> f64 {
    let turns = 2f64.powi(reduction.literal.doublings as i32);
    if reduction.literal.method == Method::Exponential {
        return turns / TAU;
    }
    let factor = |whole: i64| turns / (TAU * (whole as f64 - 0.25) / turns).sin().abs() / TAU;
    (-integer..=integer).map(factor).fold(0.0, f64::max)
}

/// The reduction's error compared with the exact sine.
fn polynomial_error(reduction: &ModularReduction, integer: i64) -> f64 {
    let points = (-32..=32).map(|point| integer as f64 + 2f64.powi(-8) * point as f64 / 32.0);
    points.map(|x| (reduction.evaluate(x) - (TAU * x).sin()).abs() / TAU).fold(0.0, f64::max)
}

#[test]
fn a_fit_on_the_interval_is_accurate_at_every_integer() {
    for (range, degree, doublings) in [(8, 30, 3), (12, 34, 3), (16, 62, 2), (17, 44, 3)] {
        let reduction = ModularReduction::new(literal(range, degree, doublings, Nodes::Interval)).unwrap();
        let last = range as i64 - 1;
        let error = (-last..=last).map(|whole| polynomial_error(&reduction, whole)).fold(0.0, f64::max);
        println!("K {range}, degree {degree}, {doublings} doublings: 2^{:.1} of q0", error.log2());
        assert!(error < 2f64.powi(-40), "K {range}: 2^{}", error.log2());
    }
}

#[test]
fn with_weights_degree_thirty_suffices_for_a_sparse_secret() {
    let interval = ModularReduction::new(literal(17, 30, 3, Nodes::Interval)).unwrap();
    let weighted = ModularReduction::new(literal(17, 30, 3, around(32))).unwrap();
    for whole in 0..=16 {
        let [plain, fitted] =
            [&interval, &weighted].map(|r| polynomial_error(r, whole).max(polynomial_error(r, -whole)));
        println!("I = {whole}: interval 2^{:.1}, weighted 2^{:.1}", plain.log2(), fitted.log2());
        // Two standard deviations (|I| ≤ 3) to 2^-45, |I| ≤ 7 to 2^-40, none worse than 2^-20.
        let bound = if whole <= 3 {
            -45
        } else if whole <= 7 {
            -40
        } else {
            -20
        };
        assert!(fitted < 2f64.powi(bound), "I = {whole}: 2^{}", fitted.log2());
    }
}

#[test]
fn the_arcsine_removes_the_sines_error() {
    let mut with = literal(17, 62, 2, Nodes::Interval);
    with.largest_message = 2f64.powi(-5);
    let without = ModularReduction::new(with).unwrap();
    with.arcsine_degree = 7;
    let with = ModularReduction::new(with).unwrap();
    let [plain, corrected] = [&without, &with].map(|r| r.error(16, 2f64.powi(-5)));
    println!("messages up to q0/32: sine 2^{:.1}, with arcsine 2^{:.1}", plain.log2(), corrected.log2());
    // The sine's error is (2πm)³/6/2π = 2^-12.3 at m = 2^-5.
    assert!((plain.log2() + 12.3).abs() < 0.1 && corrected < 2f64.powi(-28));
}

#[test]
fn amplification_is_the_derivative() {
    let reduction = ModularReduction::new(literal(8, 40, 3, Nodes::Interval)).unwrap();
    let Base::Cosine(cosine) = reduction.base() else { panic!("a cosine was asked for") };
    let mut largest = 0.0f64;
    for whole in -7..=7 {
        let run = |shift: f64| {
            let start = cosine.evaluate((whole as f64 - 0.25) / 8.0) + shift;
            (0..3).fold(start, |value, _| 2.0 * value * value - 1.0) / TAU
        };
        largest = largest.max((run(1e-7) - run(-1e-7)).abs() / 2e-7);
    }
    assert!((amplification(&reduction, 7) / largest - 1.0).abs() < 1e-3, "{} {largest}", amplification(&reduction, 7));
}

#[test]
fn overflow_is_bounded() {
    // h + 1 = 33 terms sum to at most 16.5.
    assert_eq!(overflow_probability_log2(32, 17, 1 << 16), f64::NEG_INFINITY);
    // Beyond 15.5: exactly 2·1/33!·2^16 = 2^-105.7; the bound is slightly above.
    let bound = overflow_probability_log2(32, 16, 1 << 16);
    assert!((-105.7..-101.0).contains(&bound), "{bound}");
    // Compared with simulation where overflows are frequent: 5 terms beyond 1.5, with probability 2·(1/5!)·(1 − …).
    let mut state = 1u64;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / 2f64.powi(53) - 0.5
    };
    let trials = 200_000;
    let beyond = (0..trials).filter(|_| (0..5).map(|_| uniform()).sum::<f64>().abs() >= 1.5).count();
    let measured = (beyond as f64 / trials as f64).log2();
    let bound = overflow_probability_log2(4, 2, 1);
    assert!(measured <= bound && bound < measured + 4.0, "measured 2^{measured}, bound 2^{bound}");
}

#[test]
fn errors_name_the_parameter() {
    let bad = ReductionLiteral { largest_message: 0.5, ..literal(8, 30, 3, Nodes::Interval) };
    let error = ModularReduction::new(bad).unwrap_err().to_string();
    assert_eq!(error, "largest message as a part of q_0 is 0.5; it must be from 0.000000001 to 0.25");
    assert!(ModularReduction::new(literal(2, 200, 3, around(32))).is_err());
}

#[test]
fn the_exponentials_error_is_taylors_remainder() {
    for (range, degree, doublings) in [(17, 7, 8), (13, 7, 6), (9, 15, 4)] {
        let literal =
            ReductionLiteral { method: Method::Exponential, ..literal(range, degree, doublings, Nodes::Interval) };
        let reduction = ModularReduction::new(literal).unwrap();
        for whole in [0, 1, range as i64 / 2, range as i64 - 1] {
            let found = polynomial_error(&reduction, whole).max(polynomial_error(&reduction, -whole));
            // |e^(iθ) − Σ_(k ≤ d) (iθ)^k/k!| ≤ |θ|^(d+1)/(d+1)!, times 2^r for the squarings.
            let angle = TAU * (whole as f64 + 2f64.powi(-8)) / 2f64.powi(doublings as i32);
            let remainder = (1..=degree + 1).fold(1.0, |product, k| product * angle / k as f64);
            let bound = remainder * amplification(&reduction, whole);
            assert!(found <= 1.01 * bound + 1e-12, "I = {whole}: {found} over {bound}");
            assert!(bound < 1e-9 || found > bound / 64.0, "I = {whole}: {found} far below {bound}");
        }
    }
}

#[test]
fn predicted_errors_match_the_evaluation() {
    for method in [Method::Cosine, Method::Exponential] {
        let nodes = Nodes::Integers { radius: 2f64.powi(-5), hamming_weight: 32, floor_log2: -24.0 };
        let mut literal = ReductionLiteral { method, largest_message: 2f64.powi(-5), ..literal(17, 7, 8, nodes) };
        if method == Method::Cosine {
            (literal.degree, literal.doublings) = (30, 3);
        }
        for arcsine_degree in [0, 5] {
            let reduction = ModularReduction::new(ReductionLiteral { arcsine_degree, ..literal }).unwrap();
            // Near 0 the polynomial's error is smallest, so the function's own error dominates.
            let largest = literal.largest_message;
            let own = reduction.error(0, largest);
            assert!((reduction.sine_error(largest) / own - 1.0).abs() < 0.05, "{method:?}: {own}");
            let (deviation, worst) = (reduction.polynomial_deviation(64, largest), reduction.error(16, 0.0));
            assert!(deviation > 0.0 && deviation < worst, "{method:?}: {deviation} and {worst}");
            // Messages beyond the supported size have errors proportional to the cube of their size.
            if arcsine_degree == 0 {
                let growth = (reduction.sine_error(2.0 * largest) / reduction.sine_error(largest)).log2();
                assert!((growth - 3.0).abs() < 0.1, "{method:?}: 2^{growth}");
            }
            assert!(reduction.sine_error(1.0) > 0.8, "{method:?}");
        }
    }
}
