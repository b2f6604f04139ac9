//! Does decoding invert encoding within the documented error at every packing, scale and level, and do products and automorphisms of
//! polynomials act on slots as they should?

use super::*;
use crate::ckks::sets;
use crate::random::{Purpose, Seeds};
use polyfabric_kernels::automorphism::GaloisElement;
use proptest::prelude::*;
use std::sync::Arc;

fn values(count: usize, seed: u64) -> Vec<Complex> {
    let mut stream = Seeds::for_tests(seed).secret.stream(Purpose::SecretKey, 1);
    let mut uniform = || (stream.word() >> 11) as f64 / 2f64.powi(52) - 1.0;
    (0..count).map(|_| Complex::new(uniform(), uniform())).collect()
}

fn set(name: &str) -> (Arc<Ring>, Encoder, Vec<LimbId>) {
    let parameters = sets::parameters(name).expect("a set");
    let limbs = parameters.limbs_at(parameters.max_level()).expect("a level");
    (parameters.ring().expect("a ring"), Encoder::new(parameters.ring_degree()), limbs)
}

/// The module's bound carried over to the slots: n coefficient pairs of that error, plus the forward transform.
fn slot_bound(values: &[Complex], scale: f64) -> f64 {
    let (count, max) = (values.len(), values.iter().map(|value| value.abs()).fold(0.0, f64::max));
    let epsilon = f64::EPSILON / 2.0;
    // |u| ≤ max. A pair has √2 times the error of a coefficient, plus two roundings of |u|, for Δu and for decoding.
    let pair = 2f64.sqrt() * 0.5 / scale + SpecialFft::inverse_error(count, max) + 4.0 * epsilon * max;
    count as f64 * pair + SpecialFft::forward_error(count, count as f64 * max)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn vectors_come_back(log2_slots in 0u32..=9, scale_log2 in 20.0f64..60.0, limbs in 2usize..=5, seed in any::<u64>()) {
        let (ring, encoder, all) = set("toy-10");
        let limbs = &all[..limbs];
        let (values, scale) = (values(1 << log2_slots, seed), scale_log2.exp2());
        for domain in [Domain::Coefficient, Domain::Evaluation] {
            let polynomial = encoder.encode(&ring, limbs, domain, &values, scale).expect("an encoding");
            prop_assert!(polynomial.is_canonical(&ring));
            let back = encoder.decode(&ring, &polynomial, scale, values.len()).expect("a decoding");
            let bound = slot_bound(&values, scale);
            for (back, value) in back.iter().zip(&values) {
                prop_assert!((*back - *value).abs() <= bound, "{} > {bound}", (*back - *value).abs());
            }
            // Sparse packing repeats the vector.
            let full = encoder.decode(&ring, &polynomial, scale, encoder.max_slots()).expect("a decoding");
            for (index, slot) in full.iter().enumerate() {
                prop_assert!((*slot - values[index % values.len()]).abs() <= bound + 1e-12);
            }
        }
    }

    #[test]
    fn coefficients_come_back(count in 0usize..=1024, scale_log2 in 20.0f64..80.0, seed in any::<u64>()) {
        let (ring, encoder, limbs) = set("toy-10");
        let values: Vec<f64> = values(count, seed).into_iter().map(|value| value.re).collect();
        let scale = scale_log2.exp2();
        let polynomial = encoder.encode_coefficients(&ring, &limbs, Domain::Evaluation, &values, scale).expect("fits");
        let back = encoder.decode_coefficients(&ring, &polynomial, scale);
        for (place, back) in back.iter().enumerate() {
            let value = values.get(place).copied().unwrap_or(0.0);
            prop_assert!((back - value).abs() <= 0.5 / scale + 3.0 * f64::EPSILON);
        }
    }
}

#[test]
fn the_largest_coefficient_is_that_of_the_polynomial() {
    let (_, encoder, _) = set("toy-10");
    for (slots, scale_log2) in [(512, 40.0), (64, 60.0), (1, 90.0), (512, 1.0)] {
        let (values, scale) = (values(slots, 3), f64::exp2(scale_log2));
        let coefficients = encoder.coefficients(&values, scale).expect("fits");
        let largest = coefficients.iter().map(|coefficient| coefficient.unsigned_abs()).max().expect("some");
        let found = encoder.largest_coefficient(&values, scale).expect("fits");
        assert!(found.to_bits() == (largest as f64).to_bits(), "{found} and {largest}");
    }
    let refused = encoder.largest_coefficient(&[Complex::from(1.0)], 130f64.exp2());
    assert!(matches!(refused, Err(EncodingError::TooLarge { .. })), "{refused:?}");
}

/// At 2^60 the rounding is negligible compared with the transform's error.
#[test]
fn a_scale_of_60_bits_keeps_what_an_f64_has() {
    let (ring, encoder, limbs) = set("toy-12");
    let values = values(2048, 5);
    let scale = 60f64.exp2();
    let polynomial = encoder.encode(&ring, &limbs, Domain::Evaluation, &values, scale).expect("an encoding");
    let back = encoder.decode(&ring, &polynomial, scale, 2048).expect("a decoding");
    let worst = back.iter().zip(&values).map(|(back, value)| (*back - *value).abs()).fold(0.0, f64::max);
    assert!(worst <= slot_bound(&values, scale) && worst < 2f64.powi(-46), "2^{:.1}", worst.log2());
}

/// Limbs hold integers of any size exactly: each limb is the remainder by definition.
#[test]
fn limbs_hold_the_rounded_integer() {
    let (ring, encoder, limbs) = set("toy-10");
    for scale_log2 in [0.0, 30.0, 52.5, 60.0, 75.0, 100.0] {
        let values = values(512, 9);
        let scale = f64::exp2(scale_log2);
        let coefficients = encoder.coefficients(&values, scale).expect("fits");
        let polynomial = residues(&ring, &limbs, Domain::Coefficient, &coefficients, scale).expect("fits");
        for (limb, words) in polynomial.iter() {
            let q = i128::from(ring.modulus(limb).value());
            assert!(words.iter().zip(&coefficients).all(|(&word, &c)| i128::from(word) == c.rem_euclid(q)));
        }
    }
}

#[test]
fn products_and_automorphisms_act_on_slots() {
    let (ring, encoder, limbs) = set("toy-10");
    let (scale, slots) = (45f64.exp2(), 512);
    let (x, y) = (values(slots, 1), values(slots, 2));
    let encode = |values: &[Complex]| encoder.encode(&ring, &limbs, Domain::Evaluation, values, scale).expect("fits");
    let mut product = encode(&x);
    product.multiply_assign(&ring, &encode(&y));
    let decoded = encoder.decode(&ring, &product, scale * scale, slots).expect("a decoding");
    for (index, slot) in decoded.iter().enumerate() {
        assert!((*slot - x[index] * y[index]).abs() < 1e-9);
    }
    let degree = ring.degree();
    let apply = |element: GaloisElement| {
        let mut polynomial = encode(&x);
        polynomial.inverse(&ring);
        let mut image = RnsPolynomial::zero(degree, &limbs, Domain::Coefficient);
        for (position, &limb) in limbs.iter().enumerate() {
            element.apply(ring.modulus(limb), polynomial.limb(position), image.limb_mut(position));
        }
        encoder.decode(&ring, &image, scale, slots).expect("a decoding")
    };
    for steps in [1, 5, -3] {
        let rotated = apply(GaloisElement::rotation(degree, steps));
        for (index, slot) in rotated.iter().enumerate() {
            let source = (index as i64 + steps).rem_euclid(slots as i64) as usize;
            assert!((*slot - x[source]).abs() < 1e-9, "rotation by {steps}");
        }
    }
    for (slot, value) in apply(GaloisElement::conjugation(degree)).iter().zip(&x) {
        assert!((*slot - value.conjugate()).abs() < 1e-9);
    }
}

#[test]
fn unusable_values_are_rejected() {
    let (ring, encoder, limbs) = set("toy-10");
    let error = |values: &[Complex], scale: f64, limbs: &[LimbId]| {
        encoder.encode(&ring, limbs, Domain::Coefficient, values, scale).expect_err("no encoding").to_string()
    };
    let one = [Complex::from(1.0)];
    let texts = [
        error(&vec![one[0]; 1024], 1.0, &limbs),
        error(&[one[0]; 3], 1.0, &limbs),
        error(&[], 1.0, &limbs),
        error(&[Complex::new(0.0, f64::INFINITY)], 1.0, &limbs),
        error(&one, 0.0, &limbs),
        error(&one, 60f64.exp2(), &limbs[..1]),
        error(&[Complex::from(1e300)], 1.0, &limbs),
    ];
    let parts = [
        "1024 values, but a ring of degree 1024 has 512 slots",
        "3 slots; slots are a power of two",
        "0 slots",
        "value 0 is inf; only finite numbers",
        "scale 0 is not a positive number",
        "a coefficient of 2^60.0 at scale 2^60.0 does not fit the modulus, 2^50.0",
        "a coefficient of 2^996.6",
    ];
    for (text, part) in texts.iter().zip(parts) {
        assert!(text.contains(part), "{text}");
    }
}
