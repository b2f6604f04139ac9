//! Does the f64 transform compute the negacyclic product within the proven bound, on every instruction set and in every form?

use crate::random::{LARGEST_LOG2, digit_vector, torus_vector};
use polyfabric_kernels::Isa;
use polyfabric_kernels::RingDegree;
use polyfabric_kernels::Torus;
use polyfabric_kernels::fft::node_twiddle;
use polyfabric_kernels::fft::*;
use polyfabric_kernels::negacyclic::{ExactMultiplier, multiply_reference};

fn degree(log2: u32) -> RingDegree {
    RingDegree::new(1 << log2).unwrap()
}

fn kinds(log2_degree: u32) -> impl Iterator<Item = (FoldedFft, String)> {
    FoldedFft::kinds(degree(log2_degree))
}

/// Σ over rows of digits · key by `fft`, and exactly.
fn external_product<T: Torus>(fft: &FoldedFft, digit_bound: i32, rows: u32) -> (Vec<T>, Vec<T>) {
    let log2_degree = fft.degree().log2();
    let n = fft.degree().get();
    let exact = ExactMultiplier::new(fft.degree());
    let mut sum = vec![0.0; n];
    let mut expected = vec![T::default(); n];
    for row in 0..rows {
        let digits = digit_vector(n, digit_bound, 1000 * row + log2_degree);
        let key = torus_vector::<T>(n, 1000 * row + 500 + log2_degree);
        let (mut a, mut b) = (vec![0.0; n], vec![0.0; n]);
        fft.forward_digits(&digits, &mut a);
        fft.forward_torus(&key, &mut b);
        if row == 0 {
            fft.multiply(&mut sum, &a, &b);
        } else {
            fft.multiply_accumulate(&mut sum, &a, &b);
        }
        exact.multiply_add(&digits, &key, &mut expected);
    }
    let mut result = vec![T::default(); n];
    fft.inverse_torus(&mut sum, &mut result);
    (result, expected)
}

fn errors<T: Torus>(result: &[T], expected: &[T]) -> (f64, f64) {
    let difference = |(r, e): (&T, &T)| r.wrapping_sub(*e).to_i64() as f64;
    let largest = result.iter().zip(expected).map(difference).fold(0.0, |m: f64, d| m.max(d.abs()));
    let squares: f64 = result.iter().zip(expected).map(|p| difference(p).powi(2)).sum();
    (largest, (squares / result.len() as f64).sqrt())
}

#[test]
fn every_set_stays_within_the_bound_at_32_bits() {
    for log2_degree in 4..=LARGEST_LOG2 {
        for (fft, kind) in kinds(log2_degree) {
            let (result, expected) = external_product::<u32>(&fft, 512, 4);
            let (largest, _) = errors(&result, &expected);
            let bound = error_bound(degree(log2_degree), 512.0, 4, 32);
            assert!(largest <= bound + 0.5, "N 2^{log2_degree} {kind}: {largest} > {bound}");
            assert!(largest <= 2.0, "N 2^{log2_degree} {kind}: {largest}, far above the usual error");
        }
    }
}

#[test]
fn every_set_stays_within_the_bound_and_near_the_model_at_64_bits() {
    for log2_degree in 8..=16 {
        for (fft, kind) in kinds(log2_degree) {
            let (result, expected) = external_product::<u64>(&fft, 1 << 22, 2);
            let (largest, deviation) = errors(&result, &expected);
            let bound = error_bound(degree(log2_degree), 2f64.powi(22), 2, 64);
            let model = error_deviation(degree(log2_degree), 2f64.powi(23), 2, 64);
            assert!(largest <= bound, "N 2^{log2_degree} {kind}: {largest} > {bound}");
            let model = if fft.isa() == Isa::Portable { 1.25 * model } else { model };
            assert!(
                (model / 4.0..model).contains(&deviation),
                "N 2^{log2_degree} {kind}: deviation {deviation}, model {model}"
            );
        }
    }
}

/// A product of equal digits and equal elements.
fn check_largest<T: Torus>(log2_degree: u32, digit: i32, element: u64) {
    let n = 1 << log2_degree;
    let (digits, key) = (vec![digit; n], vec![T::from_u64(element); n]);
    let expected = multiply_reference(&digits, &key);
    for (fft, kind) in kinds(log2_degree) {
        let (mut a, mut b, mut p) = (vec![0.0; n], vec![0.0; n], vec![0.0; n]);
        fft.forward_digits(&digits, &mut a);
        fft.forward_torus(&key, &mut b);
        fft.multiply(&mut p, &a, &b);
        let mut result = vec![T::default(); n];
        fft.inverse_torus(&mut p, &mut result);
        let (largest, _) = errors(&result, &expected);
        let bound = error_bound(fft.degree(), f64::from(digit.unsigned_abs()), 1, T::BITS);
        assert!(largest <= bound + 0.5, "N 2^{log2_degree} {kind}: {largest} > {bound}");
    }
}

#[test]
fn the_bound_holds_for_the_worst_magnitudes() {
    // Up to 2^53, beyond what adding a constant rounds without a reduction.
    for log2_degree in [8, 10, 11, 13] {
        check_largest::<u32>(log2_degree, -512, 1 << 31);
    }
    // Up to 2^102, which wraps except for multiples of 2^59: the bound is below 2^58.
    check_largest::<u64>(8, -i32::MAX, (1 << 63) + (1 << 58));
}

#[test]
fn instruction_sets_share_one_spectrum_order() {
    for log2_degree in 4..=16 {
        let digits = digit_vector(1 << log2_degree, 128, 77);
        let spectra: Vec<Vec<f64>> = kinds(log2_degree)
            .map(|(fft, _)| {
                let mut spectrum = vec![0.0; 1 << log2_degree];
                fft.forward_digits(&digits, &mut spectrum);
                spectrum
            })
            .collect();
        for spectrum in &spectra[1..] {
            for (a, b) in spectrum.iter().zip(&spectra[0]) {
                assert!((a - b).abs() < 1e-6 * 2f64.powi(log2_degree as i32), "{a} {b}");
            }
        }
    }
}

#[test]
fn the_spectrum_is_the_set_of_evaluations() {
    // Compares each point with the definition: X at each root e^{iπ(4k+1)/N}, in any order.
    let n = 256;
    let fft = FoldedFft::new(degree(8));
    let mut digits = vec![0; n];
    digits[1] = 1;
    let mut spectrum = vec![0.0; n];
    fft.forward_digits(&digits, &mut spectrum);
    let mut seen = vec![false; n / 2];
    for group in spectrum.chunks_exact(16) {
        for lane in 0..8 {
            let turn = group[8 + lane].atan2(group[lane]) / std::f64::consts::PI * n as f64;
            let k = (turn.rem_euclid(2.0 * n as f64) - 1.0) / 4.0;
            assert!((k - k.round()).abs() < 1e-9, "{turn} is no root of X^(N/2) = i");
            assert!(!std::mem::replace(&mut seen[k.round() as usize], true));
        }
    }
}

#[test]
fn twiddles_are_within_two_units() {
    // Compares with sine and cosine in double-double arithmetic: Taylor series of the reduced angle.
    for depth in [0, 1, 2, 5, 9, 15] {
        for index in (0..1usize << depth).step_by(1 + (1 << depth) / 97) {
            let (re, im) = node_twiddle(depth, index);
            let reversed = if depth == 0 { 0 } else { index.reverse_bits() >> (64 - depth) };
            let (cos, sin) = precise::cos_sin_pi(4 * reversed + 1, 1 << (depth + 2));
            for (value, exact) in [(re, cos), (im, sin)] {
                let error = precise::sub(value, exact).abs();
                assert!(error <= f64::EPSILON, "depth {depth}, node {index}: {error}");
            }
        }
    }
}

/// Numbers of about 106 bits as unevaluated sums, as a reference for f64.
mod precise {
    type Double = (f64, f64);

    fn two_sum(a: f64, b: f64) -> Double {
        let s = a + b;
        let v = s - a;
        (s, (a - (s - v)) + (b - v))
    }

    fn mul(a: Double, b: Double) -> Double {
        let p = a.0 * b.0;
        let e = a.0.mul_add(b.0, -p) + (a.0 * b.1 + a.1 * b.0);
        two_sum(p, e)
    }

    fn add(a: Double, b: Double) -> Double {
        let (s, e) = two_sum(a.0, b.0);
        two_sum(s, e + a.1 + b.1)
    }

    fn div(a: Double, b: f64) -> Double {
        let q = a.0 / b;
        let r = q.mul_add(-b, a.0) + a.1;
        two_sum(q, r / b)
    }

    /// `value` − `exact`.
    pub fn sub(value: f64, exact: Double) -> f64 {
        (value - exact.0) - exact.1
    }

    /// (cos, sin) of π · `numerator`/`denominator`, in [0, π).
    pub fn cos_sin_pi(numerator: usize, denominator: usize) -> (Double, Double) {
        const PI: Double = (std::f64::consts::PI, 1.2246467991473532e-16);
        let x = div(mul(PI, (numerator as f64, 0.0)), denominator as f64);
        let square = mul(x, x);
        let (mut cos, mut sin) = ((0.0, 0.0), (0.0, 0.0));
        let (mut even, mut odd) = ((1.0, 0.0), x);
        for k in 0..30 {
            let sign = if k % 2 == 0 { 1.0 } else { -1.0 };
            cos = add(cos, (sign * even.0, sign * even.1));
            sin = add(sin, (sign * odd.0, sign * odd.1));
            let k = f64::from(k);
            even = div(mul(even, square), (2.0 * k + 1.0) * (2.0 * k + 2.0));
            odd = div(mul(odd, square), (2.0 * k + 2.0) * (2.0 * k + 3.0));
        }
        (cos, sin)
    }
}
