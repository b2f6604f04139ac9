//! Does every odd g act on coefficients and values as X → X^g?

use polyfabric_kernels::RingDegree;
use polyfabric_kernels::automorphism::*;
use polyfabric_kernels::memory::NextUse;
use polyfabric_kernels::modular::Modulus;
use polyfabric_kernels::ntt::EvaluationOrder;
use polyfabric_kernels::ntt::Ntt;
use polyfabric_kernels::primes::PrimeClass;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn ring(log2: u32) -> (RingDegree, Modulus, Ntt<u64>, Vec<u64>) {
    let degree = RingDegree::new(1 << log2).unwrap();
    let modulus = Modulus::new(PrimeClass::of_degree(degree).of_bits(40, 1).unwrap()[0]).unwrap();
    let mut generator = ChaCha8Rng::seed_from_u64(log2.into());
    let x: Vec<u64> = (0..degree.get()).map(|_| generator.random_range(0..modulus.value())).collect();
    (degree, modulus, Ntt::new(degree, modulus).unwrap(), x)
}

fn check(degree: RingDegree, modulus: Modulus, ntt: &Ntt<u64>, x: &[u64], g: usize) {
    let element = GaloisElement::new(degree, g).unwrap();
    let mut result = vec![0; x.len()];
    element.apply(modulus, x, &mut result);
    if x.len() <= 1 << 12 {
        assert_eq!(result, element.apply_reference(modulus, x), "g = {g}");
    }
    let mut values = x.to_vec();
    ntt.forward(&mut values);
    ntt.forward(&mut result);
    let permutation = ValuePermutation::new(element);
    let mut permuted = vec![0; x.len()];
    permutation.apply(&values, &mut permuted, NextUse::Soon);
    assert!(permuted == result, "values of g = {g}, {degree:?}");
    permuted.fill(0);
    permutation.apply(&values, &mut permuted, NextUse::Late);
    assert!(permuted == result, "values of g = {g}, {degree:?}");
    permuted.fill(0);
    permutation.apply_portable(&values, &mut permuted);
    assert!(permuted == result, "values of g = {g} in portable code, {degree:?}");
}

#[test]
fn every_odd_number_of_small_rings() {
    for log2 in 4..=9 {
        let (degree, modulus, ntt, x) = ring(log2);
        (1..2 * degree.get()).step_by(2).for_each(|g| check(degree, modulus, &ntt, &x, g));
    }
}

#[test]
fn rotations_and_conjugation_of_large_rings() {
    for log2 in 10..=17 {
        let (degree, modulus, ntt, x) = ring(log2);
        for element in [1, 7, -3].map(|steps| GaloisElement::rotation(degree, steps)) {
            check(degree, modulus, &ntt, &x, element.value());
        }
        check(degree, modulus, &ntt, &x, GaloisElement::conjugation(degree).value());
    }
}

#[test]
fn tables_of_every_order() {
    let (degree, modulus, ntt, x) = ring(8);
    let element = GaloisElement::rotation(degree, 5);
    let mut values = x.clone();
    ntt.forward(&mut values);
    let mut expected = element.apply_reference(modulus, &x);
    ntt.forward(&mut expected);
    for order in [
        EvaluationOrder::Natural,
        EvaluationOrder::BitReversed,
        EvaluationOrder::FourStep { vector: 32 },
        EvaluationOrder::Streaming { lanes: 16 },
    ] {
        let stood = EvaluationOrder::BitReversed.convert(order, degree, &values);
        let permuted: Vec<u64> = element.places(order).into_iter().map(|place| stood[place]).collect();
        assert_eq!(permuted, EvaluationOrder::BitReversed.convert(order, degree, &expected), "{order:?}");
    }
}

#[test]
fn elements_are_a_group() {
    let degree = RingDegree::new(1 << 10).unwrap();
    let one = GaloisElement::new(degree, 1).unwrap();
    for g in (1..2048).step_by(2) {
        let element = GaloisElement::new(degree, g).unwrap();
        assert_eq!(element.then(element.inverse()), one);
    }
    let (a, b) = (GaloisElement::rotation(degree, 100), GaloisElement::rotation(degree, -30));
    assert_eq!(a.then(b), GaloisElement::rotation(degree, 70));
    assert_eq!(GaloisElement::rotation(degree, 512), one);
    for wrong in [0, 2, 2048, 2049] {
        let error = GaloisElement::new(degree, wrong).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("{wrong} is no automorphism of degree 1024; use an odd number below 2048")
        );
    }
}

#[test]
fn torus_polynomials_follow_the_definition() {
    let degree = RingDegree::new(256).unwrap();
    let mut generator = ChaCha8Rng::seed_from_u64(3);
    let x: Vec<u64> = (0..256).map(|_| generator.random()).collect();
    let short: Vec<u32> = x.iter().map(|&word| word as u32).collect();
    for g in (1..512).step_by(2) {
        let element = GaloisElement::new(degree, g).unwrap();
        let (mut image, mut short_image) = (vec![0; 256], vec![0; 256]);
        element.apply_torus(&x, &mut image);
        element.apply_torus(&short, &mut short_image);
        for (place, &word) in x.iter().enumerate() {
            // X^(place·g), with X^256 = −1.
            let (wraps, at) = (place * g / 256, place * g % 256);
            let expected = if wraps % 2 == 0 { word } else { word.wrapping_neg() };
            assert_eq!((image[at], short_image[at]), (expected, expected as u32), "g = {g}");
        }
    }
}
