//! Measures both sides on the same set in alternation, so that the machine's drift affects both equally.

use crate::BenchError;
use crate::clock::Clock;
use crate::errors::Errors;
use crate::machine::Peak;
use crate::peer::Peer;
use crate::report::{PeerFigures, Row};
use crate::set::Set;
use crate::side::{Round, Side};
use polyfabric_bench_common::{Floor, median};
use polyfabric_schemes::tfhe::KeyUnrolling;

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
    bootstrap_errors: Errors,
    key_switch_errors: Errors,
}

impl Samples {
    fn take(&mut self, round: Round, batch: usize) {
        let per_ciphertext = 1e3 / batch as f64;
        self.bootstrap.push(round.bootstrap_seconds * per_ciphertext);
        self.key_switch.push(round.key_switch_seconds * per_ciphertext);
        self.bootstrap_errors.0.extend(round.bootstrap_errors);
        self.key_switch_errors.0.extend(round.key_switch_errors);
    }
}

/// Runs our side and the peer, if any, `repetitions` times each, and alternates which goes first. One round before that
/// warms caches and allocations and is not counted.
#[allow(clippy::too_many_arguments)]
pub fn compare(
    set: &Set,
    ours: &mut dyn Side,
    mut peer: Option<&mut Peer>,
    configuration: Configuration,
    repetitions: usize,
    clock: Clock,
    peak: &Peak,
    unrolling: KeyUnrolling,
) -> Result<[Row; 2], BenchError> {
    let Configuration { batch, threads } = configuration;
    let (mut our_samples, mut peer_samples) = (Samples::default(), Samples::default());
    ours.round(batch, threads, clock);
    if let Some(peer) = &mut peer {
        peer.round(batch, threads, clock)?;
    }
    for repetition in 0..2 * repetitions {
        if matches!(repetition % 4, 0 | 3) {
            our_samples.take(ours.round(batch, threads, clock), batch);
        } else if let Some(peer) = &mut peer {
            peer_samples.take(peer.round(batch, threads, clock)?, batch);
        }
    }
    let row = |operation, floor: Floor, log2_failure: f64, of: &dyn Fn(&Samples) -> (&Vec<f64>, &Errors)| {
        let (times, errors) = of(&our_samples);
        let ours_ms = median(times);
        let figures = |(peer_times, errors): (&Vec<f64>, &Errors)| {
            let ratios: Vec<f64> = peer_times.iter().zip(times).map(|(peer, ours)| peer / ours).collect();
            PeerFigures {
                ms: median(peer_times),
                ratio: median(peer_times) / ours_ms,
                least_ratio: ratios.iter().copied().fold(f64::INFINITY, f64::min),
                largest_ratio: ratios.iter().copied().fold(0.0, f64::max),
                noise: errors.standard_deviation(),
                wrong: errors.wrong(),
            }
        };
        Row {
            set: set.name.clone(),
            operation,
            torus_bits: set.dimensions.torus_bits,
            batch,
            unroll: unrolling.bits(),
            threads,
            ours_ms,
            floor_fraction: floor.seconds * 1e3 / (ours_ms * batch as f64),
            limit: floor.limit,
            noise: errors.standard_deviation(),
            wrong: errors.wrong(),
            decrypted: errors.0.len(),
            log2_failure,
            peer: peer.is_some().then(|| figures(of(&peer_samples))),
        }
    };
    let bootstrap_floor =
        peak.bootstrap_floor(set.bootstrap_flops() * batch as f64, set.transform_key_bytes(), threads);
    let key_switch_floor =
        peak.key_switch_floor(set.key_switch_macs() * batch as f64, set.key_switch_key_bytes(), threads);
    Ok([
        row("pbs", bootstrap_floor, set.bootstrap_failure_log2(unrolling), &|samples| {
            (&samples.bootstrap, &samples.bootstrap_errors)
        }),
        row("keyswitch", key_switch_floor, set.key_switch_failure_log2(), &|samples| {
            (&samples.key_switch, &samples.key_switch_errors)
        }),
    ])
}
