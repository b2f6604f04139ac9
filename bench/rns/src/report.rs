//! Result rows of the comparison, and the table drawn from them.

use crate::BenchError;
use crate::protocol::Work;
use polyfabric_bench_common::{Limit, Measured};
use serde::Serialize;
use std::path::Path;

/// One operation of ours and of one peer. Times are the least of the run, in milliseconds, and medians.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    pub op: String,
    pub params: String,
    pub ours_ms: f64,
    pub ours_peak_gib: f64,
    pub ours_median_ms: f64,
    /// Largest error of a decrypted slot; for exact schemes, the number of wrong slots, which is 0.
    pub ours_error: f64,
    /// log2 of the modulus and of the special modulus.
    pub ours_log_q: f64,
    pub ours_log_p: f64,
    /// `None` if our side ran alone.
    #[serde(flatten)]
    pub peer: Option<PeerFigures>,
    /// Our work, the processor's least time for it divided by our time, and what that least time is bound by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work: Option<Work>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub floor_fraction: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
    /// For bootstrapping: bits of precision in the worst slot and on average, levels left, and seconds of set-up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bootstrapping: Option<Bootstrapping>,
}

/// The peer's measurements in a row, with the fields of ours.
#[derive(Clone, Debug, Serialize)]
pub struct PeerFigures {
    pub peer: String,
    pub peer_ms: f64,
    /// Our speed divided by the peer's.
    pub ratio: f64,
    pub peer_peak_gib: f64,
    pub peer_median_ms: f64,
    pub peer_error: f64,
    /// 0 if the peer does not report it.
    pub peer_log_q: f64,
    pub peer_log_p: f64,
}

/// Properties of a bootstrapping besides its time.
#[derive(Clone, Debug, Serialize)]
pub struct Bootstrapping {
    pub ours_precision_min: f64,
    pub ours_precision_mean: f64,
    pub ours_levels_left: usize,
    pub ours_setup_seconds: f64,
    #[serde(flatten)]
    pub peer: Option<PeerBootstrapping>,
}

/// [`Bootstrapping`] of a peer.
#[derive(Clone, Debug, Serialize)]
pub struct PeerBootstrapping {
    pub peer_precision_min: f64,
    pub peer_precision_mean: f64,
    pub peer_levels_left: usize,
    pub peer_setup_seconds: f64,
}

/// The result file of one run.
#[derive(Debug, Serialize)]
pub struct Results {
    /// Seconds since 1970.
    pub time: u64,
    pub threads: usize,
    pub peers: Vec<String>,
    /// Cases and peers that were not measured, with reasons.
    pub left_out: Vec<String>,
    pub rows: Vec<Measured<Row>>,
}

/// Writes `results` to `path` atomically.
pub fn write(path: &Path, results: &impl Serialize) -> Result<(), BenchError> {
    polyfabric_bench_common::write(results, path).map_err(|source| BenchError::Output { path: path.to_owned(), source })
}

pub fn print_header() {
    println!(
        "{:20} {:36} {:14} {:>10} {:>10} {:>7} {:>6} {:10} {:>10} {:>10}  error",
        "operation", "parameters", "peer", "ours ms", "peer ms", "ratio", "floor", "limit", "ours peak", "peer peak"
    );
}

pub fn print_row(row: &Row) {
    let of_peer = |figure: &dyn Fn(&PeerFigures) -> String| row.peer.as_ref().map_or("-".to_owned(), figure);
    println!(
        "{:20} {:36} {:14} {:>10.4} {:>10} {:>7} {:>6} {:10} {:>6.2} GiB {:>10}  {}",
        row.op,
        row.params,
        of_peer(&|peer| peer.peer.clone()),
        row.ours_ms,
        of_peer(&|peer| format!("{:.4}", peer.peer_ms)),
        of_peer(&|peer| format!("{:.2}x", peer.ratio)),
        row.floor_fraction.map_or("-".to_owned(), |fraction| format!("{:.0}%", 100.0 * fraction)),
        row.limit.map_or("-", Limit::name),
        row.ours_peak_gib,
        of_peer(&|peer| format!("{:.2} GiB", peer.peer_peak_gib)),
        errors(row)
    );
}

/// Accuracy of both sides.
fn errors(row: &Row) -> String {
    let both = |ours: String, peers: Option<String>| peers.map_or(ours.clone(), |peers| format!("{ours} / {peers}"));
    match &row.bootstrapping {
        Some(b) => {
            let bits = both(
                format!("{:.1}", b.ours_precision_min),
                b.peer.as_ref().map(|peer| format!("{:.1}", peer.peer_precision_min)),
            );
            let levels =
                both(b.ours_levels_left.to_string(), b.peer.as_ref().map(|peer| peer.peer_levels_left.to_string()));
            format!("{bits} bits in the worst slot, {levels} levels left")
        }
        None => {
            let of = |error: f64| if error == 0.0 { "none".to_owned() } else { format!("2^{:.1}", error.log2()) };
            both(of(row.ours_error), row.peer.as_ref().map(|peer| of(peer.peer_error)))
        }
    }
}
