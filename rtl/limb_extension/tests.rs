//! Are coefficients of one limb converted to the others, in Montgomery form, with the model's latency?

use crate::base_conversion::{depth, moduli, montgomery};
use crate::montgomery_multiplier::negated_inverse;
use crate::{described, rng};
use polyfabric_kernels::modular::Modulus;
use polyfabric_machines::osiris::units::LimbExtension;
use polyfabric_rtl::{Bench, Bits, Reader};
use rand::Rng;

const WIDTH: usize = 40;

fn coefficients_are_the_kernels(lanes: usize, cycles: usize) {
    let bench = Bench::new("limb_extension").parameter("WIDTH", WIDTH as u64);
    let unit = bench.parameter("LANES", lanes as u64).simulate().expect("a unit");
    let (mut rng, moduli) = (rng(7), moduli(1 << 14, 6));
    // A long source to short targets and the reverse, with gaps.
    let cases: Vec<Option<(Modulus, Modulus, Vec<u64>)>> = (0..cycles)
        .map(|cycle| {
            let (from, to) = (moduli[rng.random_range(0..2)], moduli[rng.random_range(0..moduli.len())]);
            let q = from.value();
            let ends = [0, 1, q / 2, q / 2 + 1, q - 1];
            let word = |lane: usize| match cycle {
                0 => ends[lane % ends.len()],
                _ => rng.random_range(0..q),
            };
            let words = (0..lanes).map(word).collect();
            (cycle < 5 || rng.random()).then_some((from, to, words))
        })
        .collect();
    let words = cases.iter().map(|case| {
        case.as_ref().map(|(from, to, words)| {
            let q = to.value();
            let square = montgomery(*to).enter(montgomery(*to).enter(1));
            let source = montgomery(*to).enter(to.reduce(from.value()));
            let bits = Bits::new().fields([q, negated_inverse(q, WIDTH), square, source, from.value() / 2], WIDTH);
            bits.fields(words.iter().copied(), WIDTH)
        })
    });
    let latency = LimbExtension::latency(depth());
    let mut outputs = unit.run(words, latency as usize).expect("a run").into_iter();
    for (cycle, case) in cases.iter().enumerate() {
        let Some((from, to, words)) = case else { continue };
        let output = outputs.next().expect("coefficients");
        assert_eq!(output.cycle, cycle as u64 + latency);
        let mut reader = Reader::new(&output.bytes);
        for &word in words {
            let lifted = to.reduce_signed(from.centre(word));
            assert_eq!(reader.unsigned(WIDTH) as u64, montgomery(*to).enter(lifted), "{word} of {from:?} to {to:?}");
        }
    }
    assert!(outputs.next().is_none());
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn five_lanes() {
    coefficients_are_the_kernels(5, 200);
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn full_size_512_lanes_of_coefficients() {
    coefficients_are_the_kernels(described("osiris", "units.ntt.lanes") as usize, 10);
}
