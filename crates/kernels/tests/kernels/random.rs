//! Random inputs for property tests, the same on every run.

use polyfabric_kernels::torus::Torus;
use rand::{Rng, RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// `count` uniform torus elements.
pub fn torus_vector<T: Torus>(count: usize, seed: u32) -> Vec<T> {
    let mut generator = ChaCha8Rng::seed_from_u64(u64::from(seed));
    (0..count).map(|_| T::from_u64(generator.next_u64())).collect()
}

/// `count` digits, uniform in [-`bound`, `bound`).
pub fn digit_vector(count: usize, bound: i32, seed: u32) -> Vec<i32> {
    let mut generator = ChaCha8Rng::seed_from_u64(u64::from(seed));
    (0..count).map(|_| generator.random_range(-bound..bound)).collect()
}

/// log2 of the largest ring degree in tests over all rings; small under Miri (`scripts/miri`).
pub const LARGEST_LOG2: u32 = if cfg!(miri) { 5 } else { 17 };
