//! Do digits match the kernel's, at the machine models' latencies?

use crate::fixed_fft::{PAPERS_SET, fpt, shape};
use crate::{described, rng};
use polyfabric_kernels::decompose::{Gadget, decompose_scalar};
use polyfabric_machines::fpt::machine::{Balance, Fpt};
use polyfabric_machines::registry;
use polyfabric_machines::torus_pipeline::machine::Pipeline;
use polyfabric_rtl::{Bench, Bits, Reader};
use polyfabric_schemes::tfhe::sets;
use rand::Rng;

#[derive(Clone, Copy)]
struct Unit {
    /// Bits of a coefficient: the highest ones of 32.
    width: u32,
    gadget: Gadget,
    /// Whether all levels are output in parallel.
    all_levels: bool,
    steps: u32,
    lanes: usize,
    adder: u64,
}

impl Unit {
    fn digits_are_the_kernels(self, latency: u64) {
        let Gadget { log2_base, levels } = self.gadget;
        let side = if self.all_levels { levels } else { 1 };
        let unit = Bench::new("decomposer")
            .parameter("WIDTH", self.width)
            .parameter("LOG2_BASE", log2_base)
            .parameter("LEVELS", levels)
            .parameter("SIDE", side)
            .parameter("STEPS", self.steps)
            .parameter("LANES", self.lanes as u64)
            .parameter("ADDER", self.adder)
            .simulate()
            .expect("a unit");
        let (mut rng, unused) = (rng(4), 32 - self.width);
        let half = 1u32 << (31 - log2_base * levels.min(31 / log2_base));
        let extremes = [0, 1, u32::MAX, 1 << 31, (1 << 31) - 1, half, half - 1, half.wrapping_neg(), !half];
        let mut cases = Vec::new();
        for cycle in 0..300 {
            let any = |lane: usize| match extremes.get(cycle * self.lanes + lane) {
                Some(&value) => value >> unused << unused,
                None => rng.random::<u32>() >> unused << unused,
            };
            let coefficients: Vec<u32> = (0..self.lanes).map(any).collect();
            cases.push((coefficients, cycle as u32 % levels));
        }
        let level_bits = levels.next_power_of_two().ilog2().max(1) as usize;
        let words = cases.iter().map(|(coefficients, level)| {
            let coefficients = coefficients.iter().map(|value| value >> unused);
            Some(Bits::new().fields(coefficients, self.width as usize).field(*level, level_bits))
        });
        let outputs = unit.run(words, latency as usize).expect("a run");
        assert_eq!(outputs.len(), cases.len());
        for (cycle, (output, (coefficients, level))) in outputs.iter().zip(&cases).enumerate() {
            assert_eq!(output.cycle, cycle as u64 + latency);
            let mut reader = Reader::new(&output.bytes);
            for &value in coefficients {
                let mut digits = vec![0; levels as usize];
                decompose_scalar(value, self.gadget, &mut digits);
                let expected = if self.all_levels { &digits[..] } else { &digits[*level as usize..][..1] };
                let found: Vec<i32> = expected.iter().map(|_| reader.signed(log2_base as usize) as i32).collect();
                assert_eq!(found, expected, "of {value:#x}, level {level}");
            }
        }
    }
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn strix_rounds_and_then_extracts_level_after_level() {
    let strix = Pipeline::new(&registry::description("strix").expect("a machine")).expect("its figures");
    let set = sets::parameters("strix-I").expect("a set");
    let lanes = strix.coefficients_of(strix.stages.decomposer) as usize;
    let (gadget, adder) = (set.bootstrap_gadget(), strix.depth.adder);
    let unit = Unit { width: 32, gadget, all_levels: false, steps: 2, lanes, adder };
    unit.digits_are_the_kernels(strix.steps(&set).decompose as u64);
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn full_size_morphling_adds_once() {
    let adder = described("morphling", "units.pipeline.adder");
    let unit =
        Unit { width: 32, gadget: Gadget { log2_base: 7, levels: 3 }, all_levels: false, steps: 1, lanes: 2, adder };
    // `pipeline::decomposition` without the banks, the reorder unit and the subtraction.
    unit.digits_are_the_kernels(adder);
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn full_size_fpt_does_not_round() {
    let (shape, adder) = (shape(PAPERS_SET), described("fpt", "units.pipeline.adder"));
    let gadget = Gadget { log2_base: shape.bits.digit, levels: shape.levels as u32 };
    assert_eq!(shape.bits.coefficient, gadget.kept_bits());
    let lanes = 2 * shape.widths.0 as usize;
    let unit = Unit { width: gadget.kept_bits(), gadget, all_levels: false, steps: 2, lanes, adder };
    unit.digits_are_the_kernels(shape.decompose as u64);
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn full_size_fpt_unrolled_has_all_levels_at_once() {
    let unrolled = Fpt { balance: Balance::DotProductUnrolled, ..fpt() };
    let shape = unrolled.shape(&sets::parameters(PAPERS_SET).expect("a set")).expect("a pipeline");
    let gadget = Gadget { log2_base: shape.bits.digit, levels: shape.levels as u32 };
    let (lanes, adder) = (2 * shape.widths.0 as usize, unrolled.depth.adder);
    let unit = Unit { width: gadget.kept_bits(), gadget, all_levels: true, steps: 2, lanes, adder };
    unit.digits_are_the_kernels(shape.decompose as u64);
}
