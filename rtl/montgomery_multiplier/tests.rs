//! Does the unit compute the kernels' Montgomery product, in the four stages that Osiris' machine file assumes?

use crate::{described, primes, rng};
use polyfabric_kernels::modular::{Modulus, Montgomery};
use polyfabric_rtl::{Bench, Bits, Reader};
use rand::Rng;

/// −q^-1 mod 2^width by Newton's iteration, which doubles the number of correct bits.
pub(crate) fn negated_inverse(q: u64, width: usize) -> u64 {
    let inverse = (0..6).fold(q, |x, _| x.wrapping_mul(2u64.wrapping_sub(q.wrapping_mul(x))));
    inverse.wrapping_neg() & (u64::MAX >> (64 - width))
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn words_of_40_bits_in_four_stages() {
    let (width, latency) =
        (described("osiris", "machine.arithmetic.word") as usize, described("osiris", "units.pipeline.multiplier"));
    let unit = Bench::new("montgomery_multiplier").parameter("WIDTH", width as u64).simulate().expect("a unit");
    let mut rng = rng(1);
    let mut cases = Vec::new();
    for bits in [24, 28, 36, 39, 40] {
        for prime in primes(1 << 14, bits, 3) {
            let multiplier =
                Montgomery::new(Modulus::new(prime).expect("a modulus"), width as u32).expect("a multiplier");
            // Any word times a residue, as after a switch of the modulus.
            let word = (1 << width) - 1;
            let ends =
                [(0, 0), (1, prime - 1), (prime - 1, prime - 1), (word, prime - 1), (word, 1), (prime, prime - 1)];
            cases.extend(ends.map(|(a, b)| Some((multiplier, a, b))));
            cases.extend((0..100).map(|_| Some((multiplier, rng.random_range(0..=word), rng.random_range(0..prime)))));
            cases.extend((0..100).map(|_| {
                let b = rng.random_range(0..prime);
                rng.random::<bool>().then(|| (multiplier, rng.random_range(0..prime), b))
            }));
        }
    }
    let words = cases.iter().map(|case| {
        case.map(|(multiplier, a, b)| {
            let q = multiplier.modulus().value();
            Bits::new().fields([q, negated_inverse(q, width), a, b], width)
        })
    });
    let mut outputs = unit.run(words, latency as usize).expect("a run").into_iter();
    for (cycle, case) in cases.iter().enumerate() {
        let Some((multiplier, a, b)) = case else { continue };
        let output = outputs.next().expect("a product");
        assert_eq!(output.cycle, cycle as u64 + latency);
        let product = Reader::new(&output.bytes).unsigned(width);
        assert_eq!(product, u128::from(multiplier.multiply(*a, *b)), "{a} * {b} mod {}", multiplier.modulus().value());
    }
    assert!(outputs.next().is_none());
}
