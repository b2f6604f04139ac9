//! Result rows of the comparison, and the table drawn from them.

use crate::clock::Clock;
use crate::errors::more_than_chance;
use crate::integers;
use crate::machine::Peak;
use polyfabric_bench_common::{Limit, Measured, Origin, bars};
use serde::Serialize;

/// One measured configuration. Times are medians in milliseconds per ciphertext.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    pub set: String,
    /// `pbs`: modulus switch, blind rotation, sample extraction. `keyswitch`: from the large key back to the small key.
    pub operation: &'static str,
    pub torus_bits: u32,
    pub batch: usize,
    /// Secret bits per iteration of our blind rotation; the peer's is always 1.
    pub unroll: u32,
    pub threads: usize,
    pub ours_ms: f64,
    /// The machine's least time for the work, divided by our time: 1 is optimal.
    pub floor_fraction: f64,
    /// The bound of that least time.
    pub limit: Limit,
    /// Standard deviation of the decrypted error, as a fraction of the torus.
    pub noise: f64,
    pub wrong: usize,
    pub decrypted: usize,
    /// log2 of the probability that one result is wrong, by the noise formulas, for the worst key. In some published sets, key switches fail.
    pub log2_failure: f64,
    /// `None` if our side ran alone.
    pub peer: Option<PeerFigures>,
}

impl Row {
    /// The side with more wrong results than chance explains, and their number.
    pub fn wrong_side(&self) -> Option<(&'static str, usize)> {
        let sides = [Some(("Polyfabric", self.wrong)), self.peer.as_ref().map(|peer| ("tfhe-rs", peer.wrong))];
        sides.into_iter().flatten().find(|&(_, wrong)| more_than_chance(wrong, self.decrypted, self.log2_failure))
    }
}

/// The peer's measurements in a row, with the fields of ours.
#[derive(Clone, Debug, Serialize)]
pub struct PeerFigures {
    pub ms: f64,
    /// Our speed divided by the peer's, of the medians.
    pub ratio: f64,
    /// The least and the largest ratio of single rounds.
    pub least_ratio: f64,
    pub largest_ratio: f64,
    pub noise: f64,
    pub wrong: usize,
}

/// The result file of one run.
#[derive(Debug, Serialize)]
pub struct Results {
    /// The peer's version and build; `None` if our side ran alone.
    pub peer: Option<String>,
    pub clock: Clock,
    /// Seconds since 1970.
    pub time: u64,
    pub peak: Peak,
    pub rows: Vec<Measured<Row>>,
}

/// The result file of one run on integers.
#[derive(Debug, Serialize)]
pub struct IntegerResults {
    /// The peer's version and build; `None` if our side ran alone.
    pub peer: Option<String>,
    pub peak: Peak,
    /// Seconds since 1970.
    pub time: u64,
    /// Timed rounds of each row.
    pub repetitions: usize,
    pub rows: Vec<Measured<integers::Row>>,
}

pub fn print_integer_header() {
    println!(
        "{:9} {:>4} {:>7} {:>8} {:>11} {:>11} {:>6} {:>15} {:>6} {:10} {:>10} {:>10} {:>7}  wrong",
        "operation",
        "bits",
        "threads",
        "lookups",
        "ours cpu ms",
        "peer cpu ms",
        "ratio",
        "",
        "floor",
        "limit",
        "ours ms",
        "peer ms",
        "failure"
    );
}

pub fn print_integer(row: &integers::Row) {
    let of_peer = |figure: &dyn Fn(&integers::PeerFigures) -> String| row.peer.as_ref().map_or("-".to_owned(), figure);
    println!(
        "{:9} {:>4} {:>7} {:>8} {:>11.1} {:>11} {:>6} {:>15} {:>5.0}% {:10} {:>10.1} {:>10} {:>7}  {} / {} of {}",
        row.operation.name(),
        row.bits,
        row.threads,
        row.lookups,
        row.ours.processor_ms,
        of_peer(&|peer| format!("{:.1}", peer.times.processor_ms)),
        of_peer(&|peer| format!("{:.2}x", peer.ratio)),
        of_peer(&|peer| format!("{:.2} to {:.2}", peer.least_ratio, peer.largest_ratio)),
        row.floor_fraction * 100.0,
        row.limit.name(),
        row.ours.ms,
        of_peer(&|peer| format!("{:.1}", peer.times.ms)),
        format!("2^{:.0}", row.log2_failure),
        row.wrong,
        of_peer(&|peer| peer.wrong.to_string()),
        row.decrypted,
    );
}

/// Prints where a run takes place, next to which peer, and the processor's peak rates.
pub fn print_place(origin: &Origin, peer: Option<&str>, peak: &Peak) {
    let Origin { processor, isa, commit } = origin;
    println!("{processor}; our kernels in {isa}, commit {commit}; {}", peer.unwrap_or("no peer"));
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
        "{:28} {:9} {:>5} {:>5} {:>6} {:>7} {:>9} {:>9} {:>6} {:>6} {:10} {:>11} {:>11}  wrong",
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
        "limit",
        "noise ours",
        "noise peer"
    );
}

pub fn print_row(row: &Row) {
    let of_peer = |figure: &dyn Fn(&PeerFigures) -> String| row.peer.as_ref().map_or("-".to_owned(), figure);
    println!(
        "{:28} {:9} {:>5} {:>5} {:>6} {:>7} {:>9.3} {:>9} {:>6} {:>5.0}% {:10} {:>11} {:>11}  {} / {} of {}",
        row.set,
        row.operation,
        row.torus_bits,
        row.batch,
        row.unroll,
        row.threads,
        row.ours_ms,
        of_peer(&|peer| format!("{:.3}", peer.ms)),
        of_peer(&|peer| format!("{:.2}x", peer.ratio)),
        row.floor_fraction * 100.0,
        row.limit.name(),
        format!("2^{:.2}", row.noise.log2()),
        of_peer(&|peer| format!("2^{:.2}", peer.noise.log2())),
        row.wrong,
        of_peer(&|peer| peer.wrong.to_string()),
        row.decrypted,
    );
}

/// Prints a bar for the speed-up over the peer in each row that has one.
pub fn print_bars<R>(rows: &[Measured<R>], bar: impl Fn(&R) -> Option<(String, f64)>) {
    let values: Vec<_> = rows.iter().filter_map(|measured| bar(&measured.row)).collect();
    if !values.is_empty() {
        println!("{}", bars("speed-up over the peer", &values));
    }
}

/// The label and the length of a row's bar.
pub fn bar(row: &Row) -> Option<(String, f64)> {
    let unrolled = if row.unroll > 1 { format!(", {} key bits", row.unroll) } else { String::new() };
    let label = format!("{} {}, batch of {}{unrolled}", row.set, row.operation, row.batch);
    row.peer.as_ref().map(|peer| (label, peer.ratio))
}

/// [`bar`] of an operation on integers.
pub fn integer_bar(row: &integers::Row) -> Option<(String, f64)> {
    let label = format!("{}, {} bits, {} threads", row.operation.name(), row.bits, row.threads);
    row.peer.as_ref().map(|peer| (label, peer.ratio))
}
