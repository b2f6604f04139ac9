//! The limits of this machine, measured in the same run as everything else.

use crate::clock::Clock;
use std::hint::black_box;

/// What one core of this machine can do.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct Peak {
    /// `f64` operations a second with fused multiply-adds, which count as two.
    pub flops: f64,
    /// Bytes a second read from a working set that stays in the second-level cache.
    pub cache_bandwidth: f64,
    /// Bytes a second read from a working set far larger than any cache.
    pub memory_bandwidth: f64,
    /// Multiply-accumulates a second of wrapping 32-bit integers; a 64-bit one counts as two here.
    pub integer_macs: f64,
}

/// `f64` numbers of a 512-bit register.
const LANES: usize = 8;
/// Independent chains, enough to cover the latency of a fused multiply-add on two ports.
const CHAINS: usize = 12;
const ROUNDS: usize = 4_000_000;

impl Peak {
    /// Measures every limit; takes about a second.
    pub fn measure(clock: Clock) -> Self {
        let operations = (ROUNDS * CHAINS * LANES) as f64;
        Self {
            flops: best(5, clock, 2.0 * operations, fused_multiply_adds),
            cache_bandwidth: bandwidth(clock, 512 << 10, 2_000),
            memory_bandwidth: bandwidth(clock, 256 << 20, 3),
            integer_macs: best(5, clock, 2.0 * operations, integer_multiply_adds),
        }
    }

    /// Least seconds of a batch that needs `flops` operations on `threads` cores, which share one pass over
    /// `key_bytes` in memory.
    pub fn bootstrap_floor(&self, flops: f64, key_bytes: f64, threads: usize) -> f64 {
        (flops / (self.flops * threads as f64)).max(key_bytes / self.memory_bandwidth)
    }

    /// Least seconds of a key switch of a batch: `macs` multiply-accumulates and one pass over the key.
    pub fn key_switch_floor(&self, macs: f64, key_bytes: f64, threads: usize) -> f64 {
        (macs / (self.integer_macs * threads as f64)).max(key_bytes / self.memory_bandwidth)
    }
}

/// Operations a second in the best of `repetitions`: a limit is what the machine can do, not what it does on average.
fn best(repetitions: usize, clock: Clock, operations: f64, work: impl Fn()) -> f64 {
    (0..repetitions).map(|_| operations / clock.seconds(&work)).fold(0.0, f64::max)
}

/// Bytes a second of repeated sequential reads of `bytes`.
fn bandwidth(clock: Clock, bytes: usize, passes: usize) -> f64 {
    let data = vec![1u64; bytes / size_of::<u64>()];
    best(3, clock, (bytes * passes) as f64, || {
        for _ in 0..passes {
            let mut sums = [0u64; 8 * LANES];
            for block in black_box(&data).chunks_exact(sums.len()) {
                for (sum, word) in sums.iter_mut().zip(block) {
                    *sum = sum.wrapping_add(*word);
                }
            }
            black_box(sums);
        }
    })
}

/// [`ROUNDS`] rounds of [`CHAINS`] fused multiply-adds of [`LANES`] numbers, all in registers.
fn fused_multiply_adds() {
    #[cfg(target_arch = "x86_64")]
    if std::is_x86_feature_detected!("avx512f") {
        // SAFETY: the processor has just been asked for the feature.
        unsafe { x86::fused_multiply_adds() };
        return;
    }
    let mut chains = [[1.0f64; LANES]; CHAINS];
    let (factor, addend) = (black_box(0.999_999_9f64), black_box(1e-9f64));
    for _ in 0..ROUNDS {
        for lane in chains.as_flattened_mut() {
            *lane = lane.mul_add(factor, addend);
        }
    }
    black_box(chains);
}

/// [`ROUNDS`] rounds of [`CHAINS`] multiply-accumulates of twice [`LANES`] 32-bit integers, all in registers.
fn integer_multiply_adds() {
    #[cfg(target_arch = "x86_64")]
    if std::is_x86_feature_detected!("avx512f") {
        // SAFETY: the processor has just been asked for the feature.
        unsafe { x86::integer_multiply_adds() };
        return;
    }
    let mut chains = [[1u32; 2 * LANES]; CHAINS];
    let (digit, key) = (black_box(3u32), black_box(2_654_435_761u32));
    for _ in 0..ROUNDS {
        for lane in chains.as_flattened_mut() {
            *lane = lane.wrapping_mul(digit).wrapping_add(key);
        }
    }
    black_box(chains);
}

/// The same in 512-bit registers by name: in plain code the compiler may prefer narrower ones.
#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{CHAINS, ROUNDS};
    use std::arch::x86_64::{_mm512_add_epi32, _mm512_fmadd_pd, _mm512_mullo_epi32, _mm512_set1_epi32, _mm512_set1_pd};
    use std::hint::black_box;

    #[target_feature(enable = "avx512f")]
    pub fn fused_multiply_adds() {
        let mut chains = [_mm512_set1_pd(1.0); CHAINS];
        let (factor, addend) = (black_box(_mm512_set1_pd(0.999_999_9)), black_box(_mm512_set1_pd(1e-9)));
        for _ in 0..ROUNDS {
            for chain in &mut chains {
                *chain = _mm512_fmadd_pd(*chain, factor, addend);
            }
        }
        black_box(chains);
    }

    #[target_feature(enable = "avx512f")]
    pub fn integer_multiply_adds() {
        let mut chains = [_mm512_set1_epi32(1); CHAINS];
        let (digit, key) = (black_box(_mm512_set1_epi32(3)), black_box(_mm512_set1_epi32(0x5bd1_e995)));
        for _ in 0..ROUNDS {
            for chain in &mut chains {
                *chain = _mm512_add_epi32(_mm512_mullo_epi32(*chain, digit), key);
            }
        }
        black_box(chains);
    }
}
