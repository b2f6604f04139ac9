//! Does the streaming pipeline give the definition's values in its order, and is each commutator a pair of delays and a switch?

use polyfabric_kernels::RingDegree;
use polyfabric_kernels::modular::Modulus;
use polyfabric_kernels::ntt::EvaluationOrder;
use polyfabric_kernels::ntt::Ntt;
use polyfabric_kernels::ntt::streaming::*;
use polyfabric_kernels::primes::PrimeClass;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::VecDeque;

/// Degree, modulus, lanes and unit of each shape.
fn units(bits: u32, shapes: &[(u32, &[usize])]) -> Vec<(RingDegree, Modulus, usize, StreamingNtt)> {
    let prime = |log2: u32| PrimeClass::of_degree(RingDegree::new(1 << log2).unwrap()).of_bits(bits, 1).unwrap()[0];
    let unit = |log2: u32, lanes: usize| {
        let (degree, modulus) = (RingDegree::new(1 << log2).unwrap(), Modulus::new(prime(log2)).unwrap());
        (degree, modulus, lanes, StreamingNtt::new(degree, modulus, lanes).unwrap())
    };
    shapes.iter().flat_map(|&(log2, lanes)| lanes.iter().map(move |&lanes| unit(log2, lanes))).collect()
}

#[test]
fn equals_the_transform_under_its_permutation() {
    // Toy rings at every number of lanes, then real ones at Osiris's, at each word size where an arithmetic changes.
    let toys = [(4, &[2, 4, 8, 16][..]), (7, &[2, 16, 128])];
    let sizes: Vec<(u32, &[usize])> = (10..=17).map(|log2| (log2, &[512][..])).collect();
    let all = [28, 36, 40, 60].map(|bits| [units(bits, &toys), units(bits, &sizes)]);
    for &(degree, modulus, lanes, ref unit) in all.iter().flatten().flatten() {
        let mut generator = ChaCha8Rng::seed_from_u64(lanes as u64);
        let x: Vec<u64> = (0..degree.get()).map(|_| generator.random_range(0..modulus.value())).collect();
        let mut expected = x.clone();
        Ntt::<u64>::new(degree, modulus).unwrap().forward(&mut expected);
        let stream: Vec<u64> = (0..degree.get()).map(|place| x[unit.coefficient_at(place)]).collect();
        let values = unit.forward(&stream);
        let natural = unit.order().convert(EvaluationOrder::BitReversed, degree, &values);
        assert!(natural == expected, "{degree:?}, {modulus:?}, {lanes} lanes");
        assert!(unit.inverse(&values) == stream, "{degree:?}, {modulus:?}, {lanes} lanes");
    }
}

#[test]
fn values_of_a_cycle_are_evenly_spaced() {
    for (degree, _, _, unit) in units(40, &[(10, &[32])]) {
        for place in 0..1024 {
            assert_eq!(unit.order().value_at(degree, place), place / 32 + place % 32 * 32);
        }
        assert_eq!(unit.twiddle_words(), 64);
    }
}

/// A delay of `delay` on the lower of two lanes, a switch that toggles every `delay` cycles, and a delay of `delay` on the upper lane; drops the first
/// `delay` outputs, which belong to the filling.
fn delay_switch_delay(pairs: &[[u64; 2]], delay: usize) -> Vec<[u64; 2]> {
    let (mut lower, mut upper) = (VecDeque::from(vec![0; delay]), VecDeque::from(vec![0; delay]));
    let mut output = Vec::new();
    let flush = std::iter::repeat_n(&[0, 0], delay);
    for (cycle, &[top, bottom]) in pairs.iter().chain(flush).enumerate() {
        lower.push_back(bottom);
        let late = lower.pop_front().unwrap();
        let [top, bottom] = if (cycle / delay).is_multiple_of(2) { [top, late] } else { [late, top] };
        upper.push_back(top);
        output.push([upper.pop_front().unwrap(), bottom]);
    }
    output.split_off(delay)
}

#[test]
fn commutators_are_delays_and_a_switch() {
    for (_, _, _, unit) in units(40, &[(8, &[8])]) {
        let stream: Vec<u64> = (0..256).collect();
        let mut words = 0;
        for bit in 0..unit.cycle_bits() {
            let commuted = unit.commute(&stream, bit);
            for first in (0..8).step_by(2) {
                let lanes = |stream: &[u64]| -> Vec<[u64; 2]> {
                    (0..32).map(|cycle| [stream[cycle * 8 + first], stream[cycle * 8 + first + 1]]).collect()
                };
                assert_eq!(delay_switch_delay(&lanes(&stream), 1 << bit), lanes(&commuted), "bit {bit}");
                words += 2 << bit;
            }
        }
        assert_eq!(words, unit.buffer_words(1));
    }
}

#[test]
fn unsupported_lanes_are_rejected() {
    let degree = RingDegree::new(64).unwrap();
    let modulus = Modulus::new(PrimeClass::of_degree(degree).of_bits(40, 1).unwrap()[0]).unwrap();
    for lanes in [0, 1, 3, 128] {
        let error = StreamingNtt::new(degree, modulus, lanes).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("{lanes} lanes cannot stream degree 64; use a power of two from 2 to 64")
        );
    }
}
