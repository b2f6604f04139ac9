//! Do both butterflies match the kernels' sums and products, at the latency of a multiplier and an adder?

use crate::{described, primes, rng};
use polyfabric_kernels::modular::{Modulus, PrimeForm};
use polyfabric_rtl::{Bench, Bits, Reader};
use rand::Rng;

const WIDTH: usize = 32;

/// A butterfly per cycle, each modulo another prime.
fn butterflies_are_the_kernels(in_frequency: bool) {
    let unit = Bench::new("modular_butterfly").parameter("IN_FREQUENCY", in_frequency).simulate().expect("a unit");
    let mut rng = rng(3);
    let mut cases = Vec::new();
    for bits in 24..=32 {
        for prime in primes(1 << 15, bits, 3) {
            let multiplier = PrimeForm::new(Modulus::new(prime).expect("a modulus")).expect("of the form");
            let ends = [(0, 0, 0), (1, prime - 1, prime - 1), (prime - 1, prime - 1, prime - 1), (prime - 1, 0, 1)];
            cases.extend(ends.map(|operands| (multiplier, operands)));
            let mut any = || rng.random_range(0..prime);
            cases.extend((0..20).map(|_| (multiplier, (any(), any(), any()))));
        }
    }
    let words = cases.iter().map(|&(multiplier, (w, u, v))| {
        let high = multiplier.modulus().value() >> PrimeForm::WORD_BITS;
        Some(Bits::new().field(high, WIDTH - 16).fields([multiplier.enter(w), u, v], WIDTH))
    });
    let latency = described("f1", "units.pipeline.multiplier") + described("f1", "units.pipeline.adder");
    let outputs = unit.run(words, latency as usize).expect("a run");
    assert_eq!(outputs.len(), cases.len());
    for (cycle, (output, &(multiplier, (w, u, v)))) in outputs.iter().zip(&cases).enumerate() {
        assert_eq!(output.cycle, cycle as u64 + latency);
        let modulus = multiplier.modulus();
        let expected = if in_frequency {
            [modulus.add(u, v), modulus.multiply(modulus.sub(u, v), w)]
        } else {
            let product = modulus.multiply(v, w);
            [modulus.add(u, product), modulus.sub(u, product)]
        };
        let mut reader = Reader::new(&output.bytes);
        let found = [reader.unsigned(WIDTH), reader.unsigned(WIDTH)];
        assert_eq!(found, expected.map(u128::from), "w {w}, u {u}, v {v} mod {}", modulus.value());
    }
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn decimation_in_time_multiplies_first() {
    butterflies_are_the_kernels(false);
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn decimation_in_frequency_adds_first() {
    butterflies_are_the_kernels(true);
}
