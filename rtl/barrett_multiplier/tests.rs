//! Does it multiply modulo any number of its width?

use crate::{primes, rng};
use polyfabric_kernels::modular::Modulus;
use polyfabric_rtl::{Bench, Bits, Reader};
use rand::Rng;

const WIDTH: u32 = 32;
/// Product, quotient, remainder, subtractions.
const STAGES: u64 = 4;

#[test]
#[ignore = "needs Verilator: make rtl"]
fn products_are_the_kernels() {
    let unit = Bench::new("barrett_multiplier").parameter("WIDTH", WIDTH).simulate().expect("a unit");
    let mut rng = rng(2);
    let mut cases = Vec::new();
    // The extremes of the width, and primes.
    for modulus in [(1 << 31) + 1, (1 << 32) - 1, (1 << 32) - 5].into_iter().chain(primes(1 << 10, WIDTH, 5)) {
        let ends = [(0, 0), (1, modulus - 1), (modulus - 1, modulus - 1)];
        cases.extend(ends.map(|(a, b)| (modulus, a, b)));
        cases.extend((0..200).map(|_| (modulus, rng.random_range(0..modulus), rng.random_range(0..modulus))));
    }
    let width = WIDTH as usize;
    let words = cases.iter().map(|(modulus, a, b)| {
        let mu = (1u128 << (2 * WIDTH)) / u128::from(*modulus);
        Some(Bits::new().field(*modulus, width).field(mu, width + 1).field(*a, width).field(*b, width))
    });
    let outputs = unit.run(words, STAGES as usize).expect("a run");
    assert_eq!(outputs.len(), cases.len());
    for (cycle, (output, (modulus, a, b))) in outputs.iter().zip(&cases).enumerate() {
        assert_eq!(output.cycle, cycle as u64 + STAGES);
        let expected = Modulus::new(*modulus).expect("a modulus").multiply(*a, *b);
        assert_eq!(Reader::new(&output.bytes).unsigned(width), u128::from(expected), "{a} * {b} mod {modulus}");
    }
}
