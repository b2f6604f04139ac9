//! Rows of the comparison, as data first and as a table drawn from it.

use crate::machine::Peak;
use serde::Serialize;
use std::path::Path;

/// One measured configuration. Times are medians in milliseconds for one ciphertext of the batch.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    pub set: String,
    /// `pbs`: modulus switch, blind rotation, sample extraction. `keyswitch`: large key back to small key.
    pub operation: &'static str,
    pub torus_bits: u32,
    pub batch: usize,
    /// Bits of the small key that one iteration of our blind rotation consumes; the peer's is always 1.
    pub unroll: u32,
    pub threads: usize,
    pub ours_ms: f64,
    pub peer_ms: f64,
    /// How many times faster ours is.
    pub ratio: f64,
    /// The machine's floor for the work, as a fraction of our time: 1 would be perfect.
    pub floor_fraction: f64,
    /// Standard deviations of the decrypted error, as fractions of the torus.
    pub noise_ours: f64,
    pub noise_peer: f64,
    pub wrong_ours: usize,
    pub wrong_peer: usize,
    pub decrypted: usize,
}

/// Everything that one run writes.
#[derive(Debug, Serialize)]
pub struct Results {
    pub peer: &'static str,
    pub processor: String,
    pub peak: Peak,
    pub rows: Vec<Row>,
}

impl Results {
    /// Writes the JSON beside its place and then renames it, so that a reader never sees half a file.
    pub fn write(&self, path: &Path) -> std::io::Result<()> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let partial = path.with_extension("json.partial");
        std::fs::write(&partial, serde_json::to_string_pretty(self)?)?;
        std::fs::rename(&partial, path)
    }
}

pub fn print_peak(processor: &str, peak: &Peak) {
    println!("{processor}");
    println!(
        "one core: {:.1} GFLOP/s of fused multiply-adds, {:.1} G 32-bit multiply-accumulates/s, \
         {:.1} GB/s from L2, {:.1} GB/s from memory",
        peak.flops * 1e-9,
        peak.integer_macs * 1e-9,
        peak.cache_bandwidth * 1e-9,
        peak.memory_bandwidth * 1e-9
    );
}

pub fn print_header() {
    println!(
        "{:13} {:9} {:>5} {:>5} {:>6} {:>7} {:>9} {:>9} {:>6} {:>6} {:>11} {:>11}  wrong",
        "set",
        "operation",
        "torus",
        "batch",
        "unroll",
        "threads",
        "ours ms",
        "peer ms",
        "ratio",
        "floor",
        "noise ours",
        "noise peer"
    );
}

pub fn print_row(row: &Row) {
    println!(
        "{:13} {:9} {:>5} {:>5} {:>6} {:>7} {:>9.3} {:>9.3} {:>5.2}x {:>5.0}% {:>11} {:>11}  {} / {} of {}",
        row.set,
        row.operation,
        row.torus_bits,
        row.batch,
        row.unroll,
        row.threads,
        row.ours_ms,
        row.peer_ms,
        row.ratio,
        row.floor_fraction * 100.0,
        format!("2^{:.2}", row.noise_ours.log2()),
        format!("2^{:.2}", row.noise_peer.log2()),
        row.wrong_ours,
        row.wrong_peer,
        row.decrypted,
    );
}

/// The processor's own name, where the system tells it.
pub fn processor_name() -> String {
    std::fs::read_to_string("/proc/cpuinfo")
        .ok()
        .and_then(|text| {
            text.lines()
                .find(|line| line.starts_with("model name"))
                .and_then(|line| line.split(':').nth(1))
                .map(|name| name.trim().to_owned())
        })
        .unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}
