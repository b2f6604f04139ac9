//! The least time of some work on a processor, and what it is bound by.

use polyfabric_kernels::aligned::prefer_large_pages;
use serde::Serialize;
use std::hint::black_box;

/// The bound of the least time: operations, or one pass over the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Limit {
    Arithmetic,
    Memory,
}

impl Limit {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Arithmetic => "arithmetic",
            Self::Memory => "memory",
        }
    }
}

/// The least time of some work.
#[derive(Clone, Copy, Debug)]
pub struct Floor {
    pub seconds: f64,
    pub limit: Limit,
}

impl Floor {
    /// Of work whose operations and whose data take so many seconds.
    pub fn of(arithmetic: f64, memory: f64) -> Self {
        let limit = if memory > arithmetic { Limit::Memory } else { Limit::Arithmetic };
        Self { seconds: arithmetic.max(memory), limit }
    }
}

/// Bytes per second of repeated reads of `bytes` on large pages, the best of three measurements by `clock`.
pub fn bandwidth(clock: impl Fn(&dyn Fn()) -> f64, bytes: usize, read: fn(&[u64])) -> f64 {
    const AT_LEAST: usize = 1 << 30;
    let mut data = vec![0u64; bytes.div_ceil(size_of::<u64>())];
    prefer_large_pages(&mut data);
    data.fill(1);
    let passes = AT_LEAST.div_ceil(bytes);
    let work = || (0..passes).for_each(|_| read(black_box(&data)));
    (0..3).map(|_| (bytes * passes) as f64 / clock(&work)).fold(0.0, f64::max)
}

/// Reads all of `data`.
#[inline(always)]
pub fn read(data: &[u64]) {
    let mut sums = [0u64; 64];
    for block in data.chunks_exact(sums.len()) {
        for (sum, word) in sums.iter_mut().zip(block) {
            *sum = sum.wrapping_add(*word);
        }
    }
    black_box(sums);
}
