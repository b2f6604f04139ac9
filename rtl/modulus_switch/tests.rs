//! Are exponents the kernel's?

use crate::{described, rng};
use polyfabric_kernels::modulus_switch::modulus_switch;
use polyfabric_rtl::{Bench, Bits, Reader};
use rand::Rng;

#[test]
#[ignore = "needs Verilator: make rtl"]
fn full_size_exponents_are_the_kernels() {
    // N = 1024, on a group of Morphling's lanes (section V-B: the vector unit includes MS).
    let (log2_modulus, lanes) = (11, described("morphling", "units.vpu.lanes") as usize);
    let adder = described("morphling", "units.pipeline.adder");
    let unit = Bench::new("modulus_switch")
        .parameter("LOG2_MODULUS", log2_modulus)
        .parameter("LANES", lanes as u64)
        .parameter("ADDER", adder)
        .simulate()
        .expect("a unit");
    let mut rng = rng(14);
    let half = 1u32 << (31 - log2_modulus);
    let mut values = vec![0, 1, u32::MAX, half, half - 1, 3 * half, half.wrapping_neg(), !half, 1 << 31];
    values.resize_with(200 * lanes, || rng.random());
    let mut expected = vec![0; values.len()];
    modulus_switch(&values, log2_modulus, &mut expected);
    let words = values.chunks(lanes).map(|values| Some(Bits::new().fields(values.iter().copied(), 32)));
    let outputs = unit.run(words, adder as usize).expect("a run");
    assert_eq!(outputs.len(), 200);
    for (cycle, (output, expected)) in outputs.iter().zip(expected.chunks(lanes)).enumerate() {
        assert_eq!(output.cycle, cycle as u64 + adder);
        let mut reader = Reader::new(&output.bytes);
        let found: Vec<u32> = expected.iter().map(|_| reader.unsigned(log2_modulus as usize) as u32).collect();
        assert_eq!(found, expected);
    }
}
