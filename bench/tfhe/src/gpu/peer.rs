//! The peer's CUDA backend: the sets that both sides support, and the peer's own sets.

use super::Arguments;
use crate::clock::Clock;
use crate::errors::Errors;
use crate::peer::{Peer, PeerError};
use crate::protocol::CardSet;
use crate::set::Set;
use polyfabric_bench_common::median;
use serde::Serialize;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// One set and batch of the peer on the GPU.
#[derive(Clone, Debug, Serialize)]
pub struct PeerRow {
    pub set: String,
    /// Secret bits per iteration.
    pub key_bits: usize,
    pub batch: usize,
    /// Median seconds of a batch's bootstraps, with inputs and outputs in the GPU's memory, by the public call, which allocates its scratch.
    pub bootstrap_seconds: f64,
    /// Median seconds of its key switches.
    pub key_switch_seconds: f64,
    /// Bootstraps per second, including key switches.
    pub per_second: f64,
    /// Standard deviation of the bootstraps' errors, as a fraction of the torus.
    pub noise: f64,
    pub wrong: usize,
}

/// The peer's process, restarted after a set that ends it.
pub struct CardPeer {
    program: PathBuf,
    peer: Peer,
    own: Vec<CardSet>,
}

impl CardPeer {
    pub fn start(program: &Path) -> Result<Self, PeerError> {
        let mut peer = Peer::start(program)?;
        let own = peer.card_sets()?;
        Ok(Self { program: program.to_owned(), peer, own })
    }

    pub fn version(&self) -> &str {
        &self.peer.version
    }

    /// Whether `name` is one of the peer's own sets.
    pub fn has(&self, name: &str) -> bool {
        self.own.iter().any(|set| set.name == name)
    }

    /// The requested sets of the peer: all, or those that are named.
    pub fn own(&self, asked: &Arguments) -> Vec<CardSet> {
        let named = |set: &&CardSet| asked.sets.is_empty() || asked.sets.contains(&set.name);
        self.own.iter().filter(named).cloned().collect()
    }

    /// Measures every batch of one set; fails with the peer's reason if the peer does not support the set.
    pub fn measure(&mut self, set: &CardSet, asked: &Arguments, rows: &mut Vec<PeerRow>) -> Result<(), PeerError> {
        let measured = self.rows(set, asked, rows);
        if let Err(PeerError::Silent { .. }) = measured {
            self.peer = Peer::start(&self.program)?;
        }
        measured
    }

    fn rows(&mut self, set: &CardSet, asked: &Arguments, rows: &mut Vec<PeerRow>) -> Result<(), PeerError> {
        self.peer.card_keys(set)?;
        for batch in asked.batches.iter().map(|batch| batch.get()) {
            let row = self.row(set, batch, asked.runs.get())?;
            row.print();
            rows.push(row);
        }
        Ok(())
    }

    fn row(&mut self, set: &CardSet, batch: usize, runs: usize) -> Result<PeerRow, PeerError> {
        let mut errors = Errors::default();
        let (mut bootstraps, mut switches) = (Vec::new(), Vec::new());
        for run in 0..=runs {
            let round = self.peer.round(batch, 1, Clock::Wall)?;
            errors.0.extend(round.bootstrap_errors);
            // The first run is a warm-up.
            if run > 0 {
                bootstraps.push(round.bootstrap_seconds);
                switches.push(round.key_switch_seconds);
            }
        }
        let (bootstrap_seconds, key_switch_seconds) = (median(&bootstraps), median(&switches));
        Ok(PeerRow {
            set: set.name.clone(),
            key_bits: set.key_bits,
            batch,
            bootstrap_seconds,
            key_switch_seconds,
            per_second: batch as f64 / (bootstrap_seconds + key_switch_seconds),
            noise: errors.standard_deviation(),
            wrong: errors.wrong(),
        })
    }
}

/// Our set on the peer, with each of `key_bits` that divides its key length.
pub fn shared(set: &Set, key_bits: &[NonZeroUsize]) -> Vec<CardSet> {
    let (name, dimensions) = (&set.name, &set.dimensions);
    // The backend supports only the 64-bit torus.
    let served = |bits: &usize| dimensions.torus_bits == 64 && dimensions.lwe_dimension.is_multiple_of(*bits);
    let of = |key_bits| CardSet { name: name.clone(), dimensions: dimensions.clone(), key_bits, centred: false };
    key_bits.iter().map(|bits| bits.get()).filter(served).map(of).collect()
}

impl PeerRow {
    fn print(&self) {
        println!(
            "{:32} {:>4} {:>6} {:>11.3} {:>9.3} {:>10.0} {:>7} {:>9} 2^{:>6.2} {:>6}",
            format!("tfhe-rs: {}", self.set),
            self.key_bits,
            self.batch,
            self.bootstrap_seconds * 1e3,
            self.key_switch_seconds * 1e3,
            self.per_second,
            "",
            "",
            self.noise.log2(),
            self.wrong,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn numbers(all: &[usize]) -> Vec<NonZeroUsize> {
        all.iter().filter_map(|&number| NonZeroUsize::new(number)).collect()
    }

    fn bits(name: &str) -> Vec<usize> {
        let set = Set::named(name).expect("a set of the table");
        shared(&set, &numbers(&[1, 2, 4])).iter().map(|set| set.key_bits).collect()
    }

    #[test]
    fn the_peer_supports_sets_of_64_bits_whose_key_length_the_key_bits_divide() {
        assert_eq!(bits("morphling-IV"), [1, 2]);
        assert_eq!(bits("polyfabric-2-p128-t64"), [1, 2, 4]);
        assert!(bits("morphling-I").is_empty());
    }

    /// A peer that ends on keys of two bits, rejects four, and has rounds of two correct results and a wrong one.
    const PEER: &str = r#"#!/bin/sh
while read -r line; do
    case $line in
    *'"hello"'*) echo '{"version":"a peer"}' ;;
    *'"key_bits":2'*) exit 1 ;;
    *'"key_bits":4'*) echo '{"failure":"not four"}' ;;
    *'"round"'*) echo '{"round":{"bootstrap_seconds":0.5,"key_switch_seconds":0.25,"bootstrap_errors":[0.0,0.01,0.2],"key_switch_errors":[]}}' ;;
    *'"cardsets"'*) echo '{"card_sets":[]}' ;;
    *) echo '{}' ;;
    esac
done
"#;

    #[test]
    fn a_set_that_ends_the_peer_does_not_end_the_run() {
        let program = std::env::temp_dir().join(format!("polyfabric-card-peer-{}", std::process::id()));
        std::fs::write(&program, PEER).expect("a file can be written");
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o700)).expect("it can be made a program");
        let mut peer = CardPeer::start(&program).expect("it starts");
        let (batches, runs) = (numbers(&[3]), numbers(&[2])[0]);
        let asked = Arguments { sets: vec![], batches, key_bits: vec![], peer_key_bits: vec![], runs };
        let set = Set::named("polyfabric-2-p128-t64").expect("a set of the table");
        let mut rows = Vec::new();
        let measured = shared(&set, &numbers(&[2, 4, 1]))
            .iter()
            .map(|set| peer.measure(set, &asked, &mut rows))
            .collect::<Vec<_>>();
        std::fs::remove_file(&program).expect("it is there");
        assert!(matches!(measured.as_slice(), [Err(PeerError::Silent { .. }), Err(PeerError::Refused { .. }), Ok(())]));
        let [row] = rows.as_slice() else { panic!("{rows:?}") };
        // One wrong result in each of three rounds, of which the first is not timed.
        assert_eq!((row.key_bits, row.batch, row.wrong), (1, 3, 3));
        assert_eq!((row.bootstrap_seconds, row.key_switch_seconds, row.per_second), (0.5, 0.25, 4.0));
    }
}
