//! Does the four-step pipeline give the definition's values under its permutation, in both directions?

use polyfabric_kernels::RingDegree;
use polyfabric_kernels::modular::Modulus;
use polyfabric_kernels::ntt::EvaluationOrder;
use polyfabric_kernels::ntt::Ntt;
use polyfabric_kernels::ntt::four_step::*;
use polyfabric_kernels::primes::PrimeClass;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

#[test]
fn equals_the_transform_under_its_permutation() {
    // Toy rings, then real ones at F1's lanes (more for 2^17), at each word size where an arithmetic changes.
    let toys = [(4, &[4, 8][..]), (5, &[8, 16])];
    let sizes = (10..=17).map(|log2| (log2, if log2 <= 14 { &[128, 512][..] } else { &[512] }));
    for (log2, vectors) in toys.into_iter().chain(sizes) {
        let degree = RingDegree::new(1 << log2).unwrap();
        // F1's class has a transform up to N = 2^15.
        let class = if log2 <= 15 { PrimeClass::ONE_MOD_WORD } else { PrimeClass::of_degree(degree) };
        for bits in [28, 32, 36, 40, 60] {
            let prime = class.of_bits(bits, 1).unwrap()[0];
            let modulus = Modulus::new(prime).unwrap();
            let mut generator = ChaCha8Rng::seed_from_u64(bits.into());
            let x: Vec<u64> = (0..degree.get()).map(|_| generator.random_range(0..prime)).collect();
            let mut expected = x.clone();
            Ntt::<u64>::new(degree, modulus).unwrap().forward(&mut expected);
            for &vector in vectors {
                let unit = FourStep::new(degree, modulus, vector).unwrap();
                let values = unit.forward(&x);
                let natural = unit.order().convert(EvaluationOrder::BitReversed, degree, &values);
                assert!(natural == expected, "N = 2^{log2}, E = {vector}, {bits} bits");
                let coefficients = unit.order().convert(EvaluationOrder::Natural, degree, &unit.inverse(&values));
                assert!(coefficients == x, "N = 2^{log2}, E = {vector}, {bits} bits");
            }
        }
    }
}

#[test]
fn input_and_output_cover_every_element_once() {
    let degree = RingDegree::new(1 << 12).unwrap();
    let modulus = Modulus::new(PrimeClass::ONE_MOD_WORD.of_bits(32, 1).unwrap()[0]).unwrap();
    let unit = FourStep::new(degree, modulus, 128).unwrap();
    for element in [FourStep::input_at, FourStep::output_at] {
        let mut seen = vec![false; 1 << 12];
        for cycle in 0..32 {
            (0..128).for_each(|lane| seen[element(&unit, cycle, lane)] = true);
        }
        assert!(seen.into_iter().all(|seen| seen));
    }
}

#[test]
fn unsupported_shapes_are_rejected() {
    let modulus = Modulus::new(PrimeClass::ONE_MOD_WORD.of_bits(32, 1).unwrap()[0]).unwrap();
    let degree = RingDegree::new(1 << 15).unwrap();
    assert_eq!(
        FourStep::new(degree, modulus, 128).unwrap_err().to_string(),
        "a unit of 128 lanes cannot transform degree 32768; it supports 2x to 128x its lanes"
    );
    assert!(FourStep::new(RingDegree::new(128).unwrap(), modulus, 128).is_err());
    assert!(FourStep::new(RingDegree::new(1024).unwrap(), modulus, 96).is_err());
}
