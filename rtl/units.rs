//! Every unit beside the kernels and the models. `make rtl` runs them.

use polyfabric_kernels::RingDegree;
use polyfabric_kernels::primes::PrimeClass;
use polyfabric_machines::registry;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

#[path = "prime_form_multiplier/tests.rs"]
mod prime_form_multiplier;

/// Operands for a test.
fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

/// Primes of `bits` that are 1 modulo 2N.
fn primes(degree: usize, bits: u32, count: usize) -> Vec<u64> {
    PrimeClass::of_degree(RingDegree::new(degree).expect("a degree")).of_bits(bits, count).expect("primes")
}

/// What a machine's description says, in cycles.
fn described(machine: &str, key: &str) -> u64 {
    registry::description(machine).expect("a machine").count(key).expect("a figure")
}
