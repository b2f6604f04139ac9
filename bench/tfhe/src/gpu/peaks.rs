//! Measured peak rates of a GPU.

use polyfabric_runtime::gpu::{Device, GpuError, Launch, Source};
use serde::Serialize;
use std::fmt;
use std::time::Instant;

/// Rates of the whole GPU, per second.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Peaks {
    /// Multiply-adds of doubles.
    pub multiply_adds: f64,
    /// Multiply-adds of f32.
    pub single_multiply_adds: f64,
    /// Multiply-adds of 32-bit integers, with the lower half of the product.
    pub integer_multiply_adds: f64,
    /// Products of 32-bit integers, summed in pairs, of which the upper half is kept.
    pub upper_halves: f64,
    /// Bytes read from shared memory.
    pub shared_bytes: f64,
    /// Bytes read from the L2 cache.
    pub cache_bytes: f64,
}

const BLOCK: u32 = 256;
/// Blocks per multiprocessor.
const BLOCKS: u32 = 4;
/// Pairs of doubles in the L2 cache: 16 MiB.
const PAIRS: u64 = 1 << 20;
const ROUNDS: u64 = 1 << 13;

/// Integer products for these kernels and those of the transforms.
pub const PRODUCTS: (&str, &str) = ("products.h", include_str!("products.h"));

/// `work` per second: the best of three runs of `launch`.
pub fn rate<D: Device>(device: &D, work: f64, launch: impl Fn() -> Result<(), GpuError>) -> Result<f64, GpuError> {
    let mut best = 0f64;
    for _ in 0..3 {
        let start = Instant::now();
        launch()?;
        device.finish()?;
        best = best.max(work / start.elapsed().as_secs_f64());
    }
    Ok(best)
}

impl Peaks {
    /// Measures `device`: the best of three runs of each.
    pub fn measure<D: Device>(device: &D) -> Result<Self, GpuError> {
        let source = Source {
            definitions: Vec::new(),
            files: vec![PRODUCTS, ("peaks.cu", include_str!("peaks.cu"))],
            kernels: vec![
                "multiply_adds",
                "single_multiply_adds",
                "integer_multiply_adds",
                "upper_halves",
                "shared_reads",
                "cache_reads",
            ],
        };
        let kernels = device.compile(&source)?;
        let blocks = device.multiprocessors() as u32 * BLOCKS;
        let threads = f64::from(blocks * BLOCK);
        let out = device.allocate((blocks * BLOCK) as usize * size_of::<f64>(), "sums")?;
        let pairs = device.upload(&vec![0; PAIRS as usize * 16], "pairs to read")?;
        let (out, pairs) = (device.address(&out), device.address(&pairs));
        let rate = |kernel: &'static str, arguments: &[u64], work: f64| {
            let launch = Launch { kernel, blocks, threads: BLOCK, shared_bytes: 32 << 10 };
            // SAFETY: one sum a thread, and reads of `PAIRS` pairs.
            rate(device, work, || unsafe { device.launch(&kernels, launch, arguments) })
        };
        let chains = |kernel, steps: f64| rate(kernel, &[out, 8 * ROUNDS], threads * steps * 64.0 * ROUNDS as f64);
        Ok(Self {
            multiply_adds: chains("multiply_adds", 1.0)?,
            single_multiply_adds: chains("single_multiply_adds", 1.0)?,
            integer_multiply_adds: chains("integer_multiply_adds", 1.0)?,
            upper_halves: chains("upper_halves", 2.0)?,
            shared_bytes: rate("shared_reads", &[out, ROUNDS], threads * 16.0 * ROUNDS as f64)?,
            cache_bytes: rate("cache_reads", &[out, pairs, PAIRS, ROUNDS], threads * 16.0 * ROUNDS as f64)?,
        })
    }
}

impl fmt::Display for Peaks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:.2} T multiply-adds of doubles, {:.2} T of f32, {:.2} T of 32-bit integers, {:.2} T of their products into upper halves, \
 {:.2} TB/s of shared memory, {:.2} TB/s of the L2 cache",
            self.multiply_adds / 1e12,
            self.single_multiply_adds / 1e12,
            self.integer_multiply_adds / 1e12,
            self.upper_halves / 1e12,
            self.shared_bytes / 1e12,
            self.cache_bytes / 1e12
        )
    }
}
