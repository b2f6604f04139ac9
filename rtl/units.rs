//! Compares every unit's results with the kernels, and its cycles with the models. `make rtl` runs these tests.

use polyfabric_kernels::RingDegree;
use polyfabric_kernels::primes::PrimeClass;
use polyfabric_machines::f1::machine::F1;
use polyfabric_machines::registry;
use polyfabric_rtl::Bits;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

#[path = "accumulator/tests.rs"]
mod accumulator;
#[path = "automorphism/tests.rs"]
mod automorphism;
#[path = "automorphism_benes/tests.rs"]
mod automorphism_benes;
#[path = "barrett_multiplier/tests.rs"]
mod barrett_multiplier;
#[path = "base_conversion/tests.rs"]
mod base_conversion;
#[path = "benes/tests.rs"]
mod benes;
#[path = "cmux/tests.rs"]
mod cmux;
#[path = "complex_multiplier/tests.rs"]
mod complex_multiplier;
#[path = "decomposer/tests.rs"]
mod decomposer;
#[path = "double_pointer_rotator/tests.rs"]
mod double_pointer_rotator;
#[path = "f1_chip/tests.rs"]
mod f1_chip;
#[path = "f1_replay/tests.rs"]
mod f1_replay;
#[path = "fixed_fft/tests.rs"]
mod fixed_fft;
#[path = "four_step_ntt/tests.rs"]
mod four_step_ntt;
#[path = "fpt_pipeline/tests.rs"]
mod fpt_pipeline;
#[path = "hadamard/tests.rs"]
mod hadamard;
#[path = "instruction_scheduler/tests.rs"]
mod instruction_scheduler;
#[path = "key_generator/tests.rs"]
mod key_generator;
#[path = "key_switch_cluster/tests.rs"]
mod key_switch_cluster;
#[path = "lane_group/tests.rs"]
mod lane_group;
#[path = "limb_extension/tests.rs"]
mod limb_extension;
#[path = "mdc_ntt/tests.rs"]
mod mdc_ntt;
#[path = "merge_split_fft/tests.rs"]
mod merge_split_fft;
#[path = "mod_change/tests.rs"]
mod mod_change;
#[path = "modular_adder/tests.rs"]
mod modular_adder;
#[path = "modular_butterfly/tests.rs"]
mod modular_butterfly;
#[path = "modulus_switch/tests.rs"]
mod modulus_switch;
#[path = "montgomery_multiplier/tests.rs"]
mod montgomery_multiplier;
#[path = "morphling_chip/tests.rs"]
mod morphling_chip;
#[path = "morphling_xpu/tests.rs"]
mod morphling_xpu;
#[path = "multiply_accumulate/tests.rs"]
mod multiply_accumulate;
#[path = "osiris_pipeline/tests.rs"]
mod osiris_pipeline;
#[path = "pbs_cluster/tests.rs"]
mod pbs_cluster;
#[path = "prime_form_multiplier/tests.rs"]
mod prime_form_multiplier;
#[path = "rotator/tests.rs"]
mod rotator;
#[path = "sample_extractor/tests.rs"]
mod sample_extractor;
#[path = "strix_core/tests.rs"]
mod strix_core;
#[path = "transpose/tests.rs"]
mod transpose;
#[path = "twiddle_generator/tests.rs"]
mod twiddle_generator;
#[path = "vpe_array/tests.rs"]
mod vpe_array;

/// The residues of one limb that pass a port of a unit of Osiris in one cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Tile {
    limb: usize,
    /// Index of the tile in the limb.
    index: usize,
    /// One residue per lane.
    words: Vec<u64>,
}

/// Operands for a test.
fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

/// Primes of `bits` that are 1 modulo 2N.
fn primes(degree: usize, bits: u32, count: usize) -> Vec<u64> {
    PrimeClass::of_degree(RingDegree::new(degree).expect("a degree")).of_bits(bits, count).expect("primes")
}

/// A figure of a machine file, in cycles.
fn described(machine: &str, key: &str) -> u64 {
    registry::description(machine).expect("a machine").count(key).expect("a figure")
}

/// F1 with this many lanes.
fn f1(lanes: usize) -> F1 {
    F1 { lanes, ..F1::new(&registry::description("f1").expect("a machine")).expect("a description") }
}

/// Consecutive vectors of chunks, about half of them contiguous and the others after a few idle cycles, with the cycle in which each begins.
fn spaced(vectors: impl IntoIterator<Item = Vec<Bits>>, rng: &mut ChaCha8Rng) -> (Vec<Option<Bits>>, Vec<u64>) {
    let (mut words, mut starts) = (Vec::new(), Vec::new());
    for vector in vectors {
        if rng.random_bool(0.5) {
            words.extend(std::iter::repeat_n(None, rng.random_range(1..12)));
        }
        starts.push(words.len() as u64);
        words.extend(vector.into_iter().map(Some));
    }
    (words, starts)
}
