//! Bootstraps and key switches on a GPU, compared with the GPU's peak and with the peer's CUDA backend.

mod peaks;
mod peer;
#[cfg(all(test, unix))]
mod tests;
mod transforms;

use crate::BenchError;
use crate::clock::Clock;
use crate::errors::Errors;
use crate::ours::Keys;
use crate::protocol::CardSet;
use crate::set::Set;
use crate::side::Side;
use peaks::Peaks;
use peer::{CardPeer, PeerRow, shared};
use polyfabric_bench_common::median;
use polyfabric_runtime::gpu::{Cuda, Device, multiply_adds};
use polyfabric_schemes::tfhe::{KeyUnrolling, sets};
use serde::Serialize;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
pub use transforms::Transform;

#[derive(clap::Args)]
pub struct Arguments {
    /// Only these sets, including the peer's own; can be repeated. Default: every supported set.
    #[arg(long = "set")]
    sets: Vec<String>,
    /// Batch size; can be repeated.
    #[arg(long = "batch", default_values = ["1", "16", "128", "1024", "4096", "16384"])]
    batches: Vec<NonZeroUsize>,
    /// Secret bits per iteration, 1 or 2; can be repeated.
    #[arg(long = "key-bits", default_values_t = [1, 2])]
    key_bits: Vec<u32>,
    /// Secret bits per iteration of the peer, for sets whose key length they divide.
    #[arg(long = "peer-key-bits", default_values = ["1", "2", "4"])]
    peer_key_bits: Vec<NonZeroUsize>,
    /// Timed runs of each batch; the medians are reported.
    #[arg(long, default_value = "5")]
    pub runs: NonZeroUsize,
}

/// One set and batch on the GPU.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    pub set: String,
    /// Secret bits per iteration.
    pub key_bits: u32,
    pub batch: usize,
    /// Median seconds of a batch's bootstraps (modulus switch, blind rotation, extraction), with inputs and outputs in the GPU's memory.
    pub bootstrap_seconds: f64,
    /// Median seconds of its key switches.
    pub key_switch_seconds: f64,
    /// Seconds of both, with transfers from and to the computer's memory.
    pub seconds_with_transfers: f64,
    /// Bootstraps per second, including key switches.
    pub per_second: f64,
    /// Seconds of the bootstraps' multiply-adds at the GPU's measured peak, divided by `bootstrap_seconds`.
    pub multiply_add_share: f64,
    /// Standard deviation of the bootstraps' errors, as a fraction of the torus.
    pub noise: f64,
    pub wrong: usize,
}

/// The result file of one run.
#[derive(Debug, Serialize)]
pub struct Results {
    pub card: String,
    /// Seconds since 1970.
    pub time: u64,
    pub peaks: Peaks,
    /// Butterflies in the number format of the kernels and in others.
    pub transforms: Vec<Transform>,
    pub rows: Vec<Row>,
    /// The peer's name, version and instruction sets.
    pub peer: Option<String>,
    /// The peer's rows: of the sets above, and of the peer's sets.
    pub peer_rows: Vec<PeerRow>,
    /// Sets that the GPU or the peer does not support, with reasons.
    pub refused: Vec<(String, String)>,
}

/// Length of the butterflies' measurement: 2,048 rounds of four levels, some milliseconds.
const STRETCHES: u64 = 64;

/// Measures all requested sets, with the peer's program if there is one; prints rows as they finish.
pub fn measure(asked: &Arguments, peer: Option<&Path>) -> Result<Results, BenchError> {
    let mut peer = peer.map(CardPeer::start).transpose()?;
    let card = Arc::new(Cuda::first()?);
    eprintln!("{}: measuring its limits", card.name());
    let peaks = Peaks::measure(&*card)?;
    println!("{}: {peaks}", card.name());
    let transforms = Transform::measure(&*card, &peaks, STRETCHES)?;
    for transform in &transforms {
        println!("{transform}");
    }
    let own = |name: &str| peer.as_ref().is_some_and(|peer| peer.has(name));
    let names: Vec<&str> = match asked.sets.as_slice() {
        [] => sets::names().into_iter().filter(|name| !name.starts_with("toy-")).collect(),
        named => named.iter().map(String::as_str).filter(|name| !own(name)).collect(),
    };
    let version = peer.as_ref().map(|peer| peer.version().to_owned());
    println!("{}", version.as_deref().unwrap_or("no peer: Polyfabric alone"));
    let mut results = Results {
        card: card.name().to_owned(),
        time: polyfabric_bench_common::now(),
        peaks,
        transforms,
        rows: Vec::new(),
        peer: version,
        peer_rows: Vec::new(),
        refused: Vec::new(),
    };
    println!(
        "{:32} {:>4} {:>6} {:>11} {:>9} {:>10} {:>7} {:>9} {:>8} {:>6}",
        "set", "bits", "batch", "PBS ms", "KS ms", "PBS+KS/s", "of f64", "both ms", "noise", "wrong"
    );
    for name in names {
        let set = Set::named(name)?;
        if let Err(refusal) = card.serves(&set.parameters, KeyUnrolling::ONE) {
            results.refuse(name, refusal);
            continue;
        }
        for &key_bits in &asked.key_bits {
            eprintln!("{name}: keys of {key_bits} bit(s) per iteration");
            let unrolling = set.parameters.unrolling(Some(key_bits))?;
            let keys = Keys::generate(&set, unrolling)?;
            let mut side = keys.side(&set, Some(&card));
            for batch in asked.batches.iter().map(|batch| batch.get()) {
                let row = measured(&set, unrolling, batch, asked.runs.get(), side.as_mut(), &results.peaks);
                row.print();
                results.rows.push(row);
            }
        }
        if let Some(peer) = &mut peer {
            results.measure_peer(peer, &shared(&set, &asked.peer_key_bits), asked);
        }
    }
    if let Some(peer) = &mut peer {
        results.measure_peer(peer, &peer.own(asked), asked);
    }
    Ok(results)
}

impl Results {
    /// Fails with the reasons if every set was rejected.
    pub fn expect_rows(&self) -> Result<(), BenchError> {
        if self.rows.is_empty() && self.peer_rows.is_empty() {
            let refused: Vec<_> = self.refused.iter().map(|(set, reason)| format!("{set}: {reason}")).collect();
            return Err(BenchError::Nothing(refused.join("; ")));
        }
        Ok(())
    }

    fn refuse(&mut self, name: &str, refusal: impl ToString) {
        let refusal = refusal.to_string();
        eprintln!("{name}: {refusal}");
        self.refused.push((name.to_owned(), refusal));
    }

    /// Measures `sets` on the peer. A set that the peer rejects does not stop the others.
    fn measure_peer(&mut self, peer: &mut CardPeer, sets: &[CardSet], asked: &Arguments) {
        for set in sets {
            let name = format!("tfhe-rs: {} with keys of {} bit(s) per iteration", set.name, set.key_bits);
            eprintln!("{name}");
            if let Err(refusal) = peer.measure(set, asked, &mut self.peer_rows) {
                self.refuse(&name, refusal);
            }
        }
    }
}

/// Measures a batch of one set on the GPU.
fn measured(set: &Set, unrolling: KeyUnrolling, batch: usize, runs: usize, side: &mut dyn Side, peaks: &Peaks) -> Row {
    let mut errors = Errors::default();
    let (mut bootstraps, mut switches, mut all) = (Vec::new(), Vec::new(), Vec::new());
    for run in 0..=runs {
        side.prepare(batch, 0);
        let whole = Clock::Wall.seconds(|| side.bootstrap());
        let bootstrap = side.seconds_on_card();
        let whole = whole + Clock::Wall.seconds(|| side.key_switch());
        errors.0.extend(side.bootstrap_errors());
        // The first run is a warm-up.
        if run > 0 {
            bootstraps.push(bootstrap);
            switches.push(side.seconds_on_card());
            all.push(whole);
        }
    }
    let (bootstrap_seconds, key_switch_seconds) = (median(&bootstraps), median(&switches));
    let least_seconds = multiply_adds(&set.parameters, unrolling) as f64 * batch as f64 / peaks.multiply_adds;
    Row {
        set: set.name.clone(),
        key_bits: unrolling.bits(),
        batch,
        bootstrap_seconds,
        key_switch_seconds,
        seconds_with_transfers: median(&all),
        per_second: batch as f64 / (bootstrap_seconds + key_switch_seconds),
        multiply_add_share: least_seconds / bootstrap_seconds,
        noise: errors.standard_deviation(),
        wrong: errors.wrong(),
    }
}

impl Row {
    fn print(&self) {
        println!(
            "{:32} {:>4} {:>6} {:>11.3} {:>9.3} {:>10.0} {:>6.1}% {:>9.3} 2^{:>6.2} {:>6}",
            self.set,
            self.key_bits,
            self.batch,
            self.bootstrap_seconds * 1e3,
            self.key_switch_seconds * 1e3,
            self.per_second,
            self.multiply_add_share * 100.0,
            self.seconds_with_transfers * 1e3,
            self.noise.log2(),
            self.wrong,
        );
    }
}
