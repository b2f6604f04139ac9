//! Peak rates of this machine in the selected instruction set, measured in the same run.

use crate::clock::Clock;
use polyfabric_bench_common::{Floor, bandwidth, read};
use polyfabric_kernels::Isa;
use std::hint::black_box;

/// Peak rates of one core.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct Peak {
    /// `f64` operations per second with fused multiply-adds, which count as two; without them, with a product and a sum.
    pub flops: f64,
    /// Bytes per second read from a working set that fits in the L2 cache.
    pub cache_bandwidth: f64,
    /// Bytes per second read from a working set far larger than any cache.
    pub memory_bandwidth: f64,
    /// Multiply-accumulates per second of wrapping 32-bit integers; one of 64 bits counts as two.
    pub integer_macs: f64,
}

/// Independent chains: enough to hide the latency of a fused multiply-add on two ports, and few enough for sixteen registers with two operands.
const CHAINS: usize = 12;
const ROUNDS: usize = 4_000_000;

/// Measurement loops of one instruction set.
struct Loops {
    floats: fn(),
    integers: fn(),
    sum: fn(&[u64]),
    /// Number of 64-bit lanes in a register, which has twice as many of 32 bits.
    lanes: usize,
}

impl Peak {
    /// Measures all rates of `isa`; takes about a second.
    pub fn measure(isa: Isa, clock: Clock) -> Self {
        let Loops { floats, integers, sum, lanes } = match isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => Loops { floats: x86::floats_512, integers: x86::integers_512, sum: x86::sum_512, lanes: 8 },
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => Loops { floats: x86::floats_256, integers: x86::integers_256, sum: x86::sum_256, lanes: 4 },
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => Loops { floats: fused, integers, sum: read, lanes: 2 },
            _ => Loops { floats, integers, sum: read, lanes: 2 },
        };
        let operations = (2 * ROUNDS * CHAINS * lanes) as f64;
        Self {
            flops: best(5, clock, operations, floats),
            cache_bandwidth: bandwidth(|work| clock.seconds(work), 512 << 10, sum),
            memory_bandwidth: bandwidth(|work| clock.seconds(work), 256 << 20, sum),
            integer_macs: best(5, clock, operations, integers),
        }
    }

    /// The floor of a batch with `flops` operations on `threads` cores that share one pass over
    /// `key_bytes` in memory.
    pub fn bootstrap_floor(&self, flops: f64, key_bytes: f64, threads: usize) -> Floor {
        Floor::of(flops / (self.flops * threads as f64), key_bytes / self.memory_bandwidth)
    }

    /// The floor of a key switch of a batch: `macs` multiply-accumulates and one pass over the key.
    pub fn key_switch_floor(&self, macs: f64, key_bytes: f64, threads: usize) -> Floor {
        Floor::of(macs / (self.integer_macs * threads as f64), key_bytes / self.memory_bandwidth)
    }
}

/// Operations per second in the best of `repetitions`: the peak, not the mean.
fn best(repetitions: usize, clock: Clock, operations: f64, work: impl Fn()) -> f64 {
    (0..repetitions).map(|_| operations / clock.seconds(&work)).fold(0.0, f64::max)
}

/// [`ROUNDS`] rounds of [`CHAINS`] products and sums of two numbers, all in registers.
fn floats() {
    let mut chains = [[1.0f64; 2]; CHAINS];
    let (factor, addend) = (black_box(0.999_999_9f64), black_box(1e-9f64));
    for _ in 0..ROUNDS {
        for lane in chains.as_flattened_mut() {
            *lane = *lane * factor + addend;
        }
    }
    black_box(chains);
}

/// [`floats`] with fused multiply-adds, which every aarch64 processor has.
#[cfg(target_arch = "aarch64")]
fn fused() {
    let mut chains = [[1.0f64; 2]; CHAINS];
    let (factor, addend) = (black_box(0.999_999_9f64), black_box(1e-9f64));
    for _ in 0..ROUNDS {
        for lane in chains.as_flattened_mut() {
            *lane = lane.mul_add(factor, addend);
        }
    }
    black_box(chains);
}

/// [`ROUNDS`] rounds of [`CHAINS`] multiply-accumulates of four 32-bit integers, all in registers.
fn integers() {
    let mut chains = [[1u32; 4]; CHAINS];
    let (digit, key) = (black_box(3u32), black_box(2_654_435_761u32));
    for _ in 0..ROUNDS {
        for lane in chains.as_flattened_mut() {
            *lane = lane.wrapping_mul(digit).wrapping_add(key);
        }
    }
    black_box(chains);
}

/// The same with explicit registers: in plain code the compiler may choose narrower ones.
#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{CHAINS, ROUNDS};
    use std::arch::x86_64::*;
    use std::hint::black_box;

    /// The three measurements in one instruction set. SAFETY of the calls: only a set that the kernels use is measured, so the processor has it.
    macro_rules! measurements {
        (
            $feature:literal, $floats:ident, $integers:ident, $sum:ident,
            $set:ident, $multiply_add:ident, $set_32:ident, $multiply_32:ident, $add_32:ident
        ) => {
            pub fn $floats() {
                #[target_feature(enable = $feature)]
                fn measured() {
                    let mut chains = [$set(1.0); CHAINS];
                    let (factor, addend) = (black_box($set(0.999_999_9)), black_box($set(1e-9)));
                    for _ in 0..ROUNDS {
                        for chain in &mut chains {
                            *chain = $multiply_add(*chain, factor, addend);
                        }
                    }
                    black_box(chains);
                }
                // SAFETY: see above.
                unsafe { measured() }
            }

            pub fn $integers() {
                #[target_feature(enable = $feature)]
                fn measured() {
                    let mut chains = [$set_32(1); CHAINS];
                    let (digit, key) = (black_box($set_32(3)), black_box($set_32(0x5bd1_e995)));
                    for _ in 0..ROUNDS {
                        for chain in &mut chains {
                            *chain = $add_32($multiply_32(*chain, digit), key);
                        }
                    }
                    black_box(chains);
                }
                // SAFETY: see above.
                unsafe { measured() }
            }

            pub fn $sum(data: &[u64]) {
                #[target_feature(enable = $feature)]
                fn measured(data: &[u64]) {
                    super::read(data);
                }
                // SAFETY: see above.
                unsafe { measured(data) }
            }
        };
    }

    measurements!(
        "avx2,fma",
        floats_256,
        integers_256,
        sum_256,
        _mm256_set1_pd,
        _mm256_fmadd_pd,
        _mm256_set1_epi32,
        _mm256_mullo_epi32,
        _mm256_add_epi32
    );
    measurements!(
        "avx512f",
        floats_512,
        integers_512,
        sum_512,
        _mm512_set1_pd,
        _mm512_fmadd_pd,
        _mm512_set1_epi32,
        _mm512_mullo_epi32,
        _mm512_add_epi32
    );
}
