//! Both sides on the same set, interleaved, so that drift of the machine meets both alike.

use crate::clock::Clock;
use crate::machine::Peak;
use crate::report::Row;
use crate::set::Set;
use crate::side::{Errors, Side};

/// A batch size and a number of threads.
#[derive(Clone, Copy, Debug)]
pub struct Configuration {
    pub batch: usize,
    pub threads: usize,
}

/// Times and errors of one side in one configuration.
#[derive(Default)]
struct Samples {
    bootstrap: Vec<f64>,
    key_switch: Vec<f64>,
    bootstrap_errors: Vec<f64>,
    key_switch_errors: Vec<f64>,
}

impl Samples {
    fn take(&mut self, side: &mut dyn Side, configuration: Configuration, clock: Clock) {
        side.prepare(configuration.batch, configuration.threads);
        let per_ciphertext = 1e3 / configuration.batch as f64;
        self.bootstrap.push(clock.seconds(|| side.bootstrap()) * per_ciphertext);
        self.key_switch.push(clock.seconds(|| side.key_switch()) * per_ciphertext);
        self.bootstrap_errors.extend(side.bootstrap_errors().0);
        self.key_switch_errors.extend(side.key_switch_errors().0);
    }
}

fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { 0.5 * (sorted[middle - 1] + sorted[middle]) }
}

/// Runs both sides `repetitions` times each, taking turns and swapping who goes first; one round before
/// that warms caches and allocations and is not counted.
#[allow(clippy::too_many_arguments)]
pub fn compare(
    set: &Set,
    ours: &mut dyn Side,
    peer: &mut dyn Side,
    configuration: Configuration,
    repetitions: usize,
    clock: Clock,
    peak: &Peak,
    unroll: u32,
) -> [Row; 2] {
    let (mut our_samples, mut peer_samples) = (Samples::default(), Samples::default());
    Samples::default().take(ours, configuration, clock);
    Samples::default().take(peer, configuration, clock);
    for repetition in 0..repetitions {
        if repetition % 2 == 0 {
            our_samples.take(ours, configuration, clock);
            peer_samples.take(peer, configuration, clock);
        } else {
            peer_samples.take(peer, configuration, clock);
            our_samples.take(ours, configuration, clock);
        }
    }
    let Configuration { batch, threads } = configuration;
    let row = |operation, floor_seconds: f64, ours_ms: f64, peer_ms: f64, errors: [&Vec<f64>; 2]| {
        let [ours, peer] = errors.map(|errors| Errors(errors.clone()));
        Row {
            set: set.name.clone(),
            operation,
            torus_bits: set.torus_bits,
            batch,
            unroll,
            threads,
            ours_ms,
            peer_ms,
            ratio: peer_ms / ours_ms,
            floor_fraction: floor_seconds * 1e3 / (ours_ms * batch as f64),
            noise_ours: ours.standard_deviation(),
            noise_peer: peer.standard_deviation(),
            wrong_ours: ours.wrong(),
            wrong_peer: peer.wrong(),
            decrypted: ours.0.len(),
        }
    };
    let bootstrap_floor =
        peak.bootstrap_floor(set.bootstrap_flops() * batch as f64, set.transform_key_bytes(), threads);
    let key_switch_floor =
        peak.key_switch_floor(set.key_switch_macs() * batch as f64, set.key_switch_key_bytes(), threads);
    [
        row(
            "pbs",
            bootstrap_floor,
            median(&our_samples.bootstrap),
            median(&peer_samples.bootstrap),
            [&our_samples.bootstrap_errors, &peer_samples.bootstrap_errors],
        ),
        row(
            "keyswitch",
            key_switch_floor,
            median(&our_samples.key_switch),
            median(&peer_samples.key_switch),
            [&our_samples.key_switch_errors, &peer_samples.key_switch_errors],
        ),
    ]
}
