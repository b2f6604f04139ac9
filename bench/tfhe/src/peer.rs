//! The peer's process, as the harness sees it.

use crate::clock::Clock;
use crate::protocol::{Answer, CardSet, Dimensions, IntegerRound, Operands, Operation, Request};
use crate::side::Round;
use polyfabric_bench_common::Process;
use std::path::Path;
use std::process::Command;

#[derive(Debug, thiserror::Error)]
pub enum PeerError {
    #[error(
        "the peer's program {program} cannot be started ({source}); make bench builds it, and without --peer our side runs alone"
    )]
    Start { program: String, source: std::io::Error },
    #[error("the peer does not answer: {reason}; its messages are above")]
    Silent { reason: String },
    #[error("the peer refuses: {reason}")]
    Refused { reason: String },
}

fn silent(reason: impl ToString) -> PeerError {
    PeerError::Silent { reason: reason.to_string() }
}

/// A running peer, which ends when dropped.
pub struct Peer {
    process: Process,
    /// Its name, version and instruction sets.
    pub version: String,
}

impl Peer {
    pub fn start(program: &Path) -> Result<Self, PeerError> {
        let process = Process::start(&mut Command::new(program))
            .map_err(|source| PeerError::Start { program: program.display().to_string(), source })?;
        let mut peer = Self { process, version: String::new() };
        peer.version = peer.ask(&Request::Hello)?.version.unwrap_or_default();
        Ok(peer)
    }

    /// Generates keys of a set; drops the previous keys.
    pub fn keys(&mut self, dimensions: &Dimensions) -> Result<(), PeerError> {
        self.ask(&Request::Keys { dimensions: dimensions.clone() }).map(|_| ())
    }

    /// One round on fresh inputs.
    pub fn round(&mut self, batch: usize, threads: usize, clock: Clock) -> Result<Round, PeerError> {
        let answer = self.ask(&Request::Round { batch, threads, clock })?;
        answer.round.ok_or_else(|| silent("an answer without its round"))
    }

    /// The peer's own sets for its CUDA backend.
    pub fn card_sets(&mut self) -> Result<Vec<CardSet>, PeerError> {
        let answer = self.ask(&Request::CardSets)?;
        answer.card_sets.ok_or_else(|| silent("an answer without its sets"))
    }

    /// Generates keys of a set on the first GPU; drops the previous keys.
    pub fn card_keys(&mut self, set: &CardSet) -> Result<(), PeerError> {
        self.ask(&Request::CardKeys { set: set.clone() }).map(|_| ())
    }

    /// Generates keys for integers, with the peer's default parameters.
    pub fn integer_keys(&mut self) -> Result<(), PeerError> {
        self.ask(&Request::IntegerKeys).map(|_| ())
    }

    /// One operation on fresh ciphertexts.
    pub fn integer(
        &mut self,
        operation: Operation,
        bits: u32,
        operands: Operands,
        threads: usize,
    ) -> Result<IntegerRound, PeerError> {
        let answer = self.ask(&Request::Integer { operation, bits, operands, threads })?;
        answer.integer.ok_or_else(|| silent("an answer without its result"))
    }

    fn ask(&mut self, request: &Request) -> Result<Answer, PeerError> {
        let answer: Answer = self.process.ask(request).map_err(silent)?;
        match answer.failure {
            Some(reason) => Err(PeerError::Refused { reason }),
            None => Ok(answer),
        }
    }
}
