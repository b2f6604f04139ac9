//! Rows of the comparison: data first, and a table drawn from them.

use crate::BenchError;
use serde::Serialize;
use std::path::Path;

/// One operation of ours beside one peer's. Times are the least of the run in milliseconds, medians beside.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    pub op: String,
    pub params: String,
    pub peer: String,
    pub ours_ms: f64,
    pub peer_ms: f64,
    /// How many times faster ours is.
    pub ratio: f64,
    pub ours_peak_gib: f64,
    pub peer_peak_gib: f64,
    pub ours_median_ms: f64,
    pub peer_median_ms: f64,
    /// Largest error of a decrypted slot; for exact schemes, the number of wrong ones, which is 0.
    pub ours_error: f64,
    pub peer_error: f64,
    /// log2 of the modulus and of the special modulus of either side; of a peer that does not tell, 0.
    pub ours_log_q: f64,
    pub ours_log_p: f64,
    pub peer_log_q: f64,
    pub peer_log_p: f64,
    /// For transforms: this processor's floor as a fraction of our time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub floor_fraction: Option<f64>,
    /// For bootstrapping: bits of precision in the worst slot and on average, levels left, and seconds of set-up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bootstrapping: Option<Bootstrapping>,
}

/// What a time alone does not say of a bootstrapping.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Bootstrapping {
    pub ours_precision_min: f64,
    pub peer_precision_min: f64,
    pub ours_precision_mean: f64,
    pub peer_precision_mean: f64,
    pub ours_levels_left: usize,
    pub peer_levels_left: usize,
    pub ours_setup_seconds: f64,
    pub peer_setup_seconds: f64,
}

/// Everything that one run writes.
#[derive(Debug, Serialize)]
pub struct Results {
    pub processor: String,
    pub threads: usize,
    pub peers: Vec<String>,
    /// Cases and peers that were left out, with the reason.
    pub left_out: Vec<String>,
    pub rows: Vec<Row>,
}

/// Writes `results` as JSON beside its place and then renames it, so that a reader never sees half a file.
pub fn write(path: &Path, results: &impl Serialize) -> Result<(), BenchError> {
    let all = || {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let partial = path.with_extension("json.partial");
        std::fs::write(&partial, serde_json::to_string_pretty(results)?)?;
        std::fs::rename(&partial, path)
    };
    all().map_err(|source| BenchError::Output { path: path.to_owned(), source })
}

pub fn print_header() {
    println!(
        "{:20} {:36} {:14} {:>10} {:>10} {:>7} {:>10} {:>10}  error",
        "operation", "parameters", "peer", "ours ms", "peer ms", "ratio", "ours peak", "peer peak"
    );
}

pub fn print_row(row: &Row) {
    print!(
        "{:20} {:36} {:14} {:>10.4} {:>10.4} {:>6.2}x {:>6.2} GiB {:>6.2} GiB  ",
        row.op, row.params, row.peer, row.ours_ms, row.peer_ms, row.ratio, row.ours_peak_gib, row.peer_peak_gib
    );
    match (row.floor_fraction, row.bootstrapping) {
        (Some(floor), _) => println!("none; {:.0}% of the floor", floor * 100.0),
        (None, Some(b)) => println!(
            "{:.1} / {:.1} bits in the worst slot, {} / {} levels left",
            b.ours_precision_min, b.peer_precision_min, b.ours_levels_left, b.peer_levels_left
        ),
        (None, None) if row.ours_error == 0.0 && row.peer_error == 0.0 => println!("none"),
        (None, None) => println!("2^{:.1} / 2^{:.1}", row.ours_error.log2(), row.peer_error.log2()),
    }
}

/// The processor's own name, where the system tells it.
pub fn processor_name() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find(|line| line.starts_with("model name")).and_then(|line| line.split(':').nth(1));
    name.map_or_else(|| std::env::consts::ARCH.to_owned(), |name| name.trim().to_owned())
}
