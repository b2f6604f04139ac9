//! Does the unit match F1's multiplier, at the latency in its machine file?

use crate::{described, primes, rng};
use polyfabric_kernels::modular::{Modulus, PrimeForm};
use polyfabric_rtl::{Bench, Bits, Reader};
use rand::Rng;

/// Products of random and extreme operands, each modulo another prime, one per cycle.
fn products_are_the_kernels(rounds: u32, latency: u64) {
    let width = 16 * rounds as usize;
    let unit = Bench::new("prime_form_multiplier").parameter("ROUNDS", rounds).simulate().expect("a unit");
    let mut rng = rng(1);
    let mut cases = Vec::new();
    for bits in 16 * (rounds - 1) + 8..=16 * rounds {
        for prime in primes(1 << 15, bits, 3) {
            let multiplier = PrimeForm::new(Modulus::new(prime).expect("a modulus")).expect("of the form");
            let ends = [(0, 0), (1, prime - 1), (prime - 1, prime - 1), (1 << 16, 1)];
            cases.extend(ends.map(|(a, b)| (multiplier, a, b)));
            cases.extend((0..50).map(|_| (multiplier, rng.random_range(0..prime), rng.random_range(0..prime))));
        }
    }
    let words = cases.iter().map(|(multiplier, a, b)| {
        let high = multiplier.modulus().value() >> PrimeForm::WORD_BITS;
        Some(Bits::new().field(high, width - 16).field(*a, width).field(*b, width))
    });
    let outputs = unit.run(words, latency as usize).expect("a run");
    assert_eq!(outputs.len(), cases.len());
    for (cycle, (output, (multiplier, a, b))) in outputs.iter().zip(&cases).enumerate() {
        assert_eq!(output.cycle, cycle as u64 + latency);
        let product = Reader::new(&output.bytes).unsigned(width);
        assert_eq!(product, u128::from(multiplier.multiply(*a, *b)), "{a} * {b} mod {}", multiplier.modulus().value());
    }
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn two_rounds_are_f1s_multiplier_of_32_bits() {
    products_are_the_kernels(2, described("f1", "units.pipeline.multiplier"));
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn three_rounds_serve_48_bits() {
    products_are_the_kernels(3, 5);
}

/// Words of log2(2N) bits, for primes that are only 1 modulo 2N: F1's NTT-friendly multiplier for comparison (table 1).
#[test]
#[ignore = "needs Verilator: make rtl"]
fn three_rounds_of_15_bits_serve_any_prime_with_a_transform_at_2_to_the_14() {
    const WORD: u32 = 15;
    const STAGES: u64 = 5;
    let bench = Bench::new("prime_form_multiplier").parameter("ROUNDS", 3u32).parameter("WORD", WORD);
    let unit = bench.parameter("WIDTH", 32u32).simulate().expect("a unit");
    let mut rng = rng(3);
    let mut cases = Vec::new();
    for prime in primes(1 << 14, 32, 5) {
        let modulus = Modulus::new(prime).expect("a modulus");
        let ends = [(0, 0), (1, prime - 1), (prime - 1, prime - 1)];
        cases.extend(ends.map(|(a, b)| (modulus, a, b)));
        cases.extend((0..100).map(|_| (modulus, rng.random_range(0..prime), rng.random_range(0..prime))));
    }
    let words = cases.iter().map(|(modulus, a, b)| {
        Some(Bits::new().field(modulus.value() >> WORD, 32 - WORD as usize).field(*a, 32).field(*b, 32))
    });
    for (cycle, (output, (modulus, a, b))) in unit.run(words, 5).expect("a run").iter().zip(&cases).enumerate() {
        assert_eq!(output.cycle, cycle as u64 + STAGES);
        let product = Reader::new(&output.bytes).unsigned(32) as u64;
        assert!(product < modulus.value());
        let radix = modulus.reduce(1 << (3 * WORD));
        assert_eq!(modulus.multiply(product, radix), modulus.multiply(*a, *b), "{a} * {b} mod {}", modulus.value());
    }
}
