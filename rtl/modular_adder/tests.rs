//! Is a sum or difference the canonical residue, after the adder's register?

use crate::{described, primes, rng};
use polyfabric_kernels::modular::Modulus;
use polyfabric_rtl::{Bench, Bits, Reader};
use rand::Rng;

const WIDTH: usize = 32;

#[test]
#[ignore = "needs Verilator: make rtl"]
fn sums_and_differences_are_the_kernels() {
    let unit = Bench::new("modular_adder").parameter("WIDTH", WIDTH as u64).simulate().expect("a unit");
    let mut rng = rng(2);
    let mut cases = Vec::new();
    for bits in 24..=32 {
        let q = primes(1 << 15, bits, 1)[0];
        let ends = [(0, 0), (0, 1), (1, 0), (0, q - 1), (q - 1, 0), (1, q - 1), (q - 1, q - 1), (q / 2, q / 2 + 1)];
        let random: Vec<_> = (0..50).map(|_| (rng.random_range(0..q), rng.random_range(0..q))).collect();
        for (a, b) in ends.into_iter().chain(random) {
            cases.extend([false, true].map(|subtract| (Modulus::new(q).expect("a modulus"), subtract, a, b)));
        }
        // Residues of another modulus, to which a constant is added.
        let most = u64::from(u32::MAX);
        let mut words = vec![(most, 0), (most, q - 1), (q, 0), (q, q - 1)];
        words.extend((0..50).map(|_| (rng.random_range(0..=most), rng.random_range(0..q))));
        cases.extend(words.into_iter().map(|(a, b)| (Modulus::new(q).expect("a modulus"), false, a, b)));
    }
    let words = cases.iter().map(|&(modulus, subtract, a, b)| {
        Some(Bits::new().field(u8::from(subtract), 1).fields([modulus.value(), a, b], WIDTH))
    });
    let latency = described("f1", "units.pipeline.adder");
    let outputs = unit.run(words, latency as usize).expect("a run");
    assert_eq!(outputs.len(), cases.len());
    for (cycle, (output, &(modulus, subtract, a, b))) in outputs.iter().zip(&cases).enumerate() {
        assert_eq!(output.cycle, cycle as u64 + latency);
        let reduced = a < modulus.value();
        let expected = match subtract {
            true => modulus.sub(a, b),
            false if reduced => modulus.add(a, b),
            false => a + b - modulus.value(),
        };
        assert!(reduced || expected < a && modulus.reduce(expected) == modulus.add(modulus.reduce(a), b));
        let result = Reader::new(&output.bytes).unsigned(WIDTH);
        assert_eq!(result, u128::from(expected), "{a}, {b} mod {}, subtract: {subtract}", modulus.value());
    }
}
