//! The peer's process, as the harness sees it.

use crate::clock::Clock;
use crate::protocol::{Answer, CardSet, Dimensions, IntegerRound, Operands, Operation, Request};
use crate::side::Round;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

#[derive(Debug, thiserror::Error)]
pub enum PeerError {
    #[error(
        "the peer's program {program} cannot be started ({source}); make bench builds it, and without --peer our side runs alone"
    )]
    Start { program: String, source: std::io::Error },
    #[error("the peer does not answer: {reason}; its own words, if any, are above")]
    Silent { reason: String },
    #[error("the peer refuses: {reason}")]
    Refused { reason: String },
}

fn silent(reason: impl ToString) -> PeerError {
    PeerError::Silent { reason: reason.to_string() }
}

/// A running peer. It ends when this is dropped.
pub struct Peer {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// Its name, version and instruction sets.
    pub version: String,
}

impl Peer {
    /// Starts the program.
    pub fn start(program: &Path) -> Result<Self, PeerError> {
        let mut child = Command::new(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|source| PeerError::Start { program: program.display().to_string(), source })?;
        let streams = child.stdin.take().zip(child.stdout.take());
        let (input, output) = streams.ok_or_else(|| silent("its streams are closed"))?;
        let mut peer = Self { child, input, output: BufReader::new(output), version: String::new() };
        peer.version = peer.ask(&Request::Hello)?.version.unwrap_or_default();
        Ok(peer)
    }

    /// Keys of a set; those before are forgotten.
    pub fn keys(&mut self, dimensions: &Dimensions) -> Result<(), PeerError> {
        self.ask(&Request::Keys { dimensions: dimensions.clone() }).map(|_| ())
    }

    /// One round on fresh inputs.
    pub fn round(&mut self, batch: usize, threads: usize, clock: Clock) -> Result<Round, PeerError> {
        let answer = self.ask(&Request::Round { batch, threads, clock })?;
        answer.round.ok_or_else(|| silent("an answer without its round"))
    }

    /// Its own sets for its backend of cards.
    pub fn card_sets(&mut self) -> Result<Vec<CardSet>, PeerError> {
        let answer = self.ask(&Request::CardSets)?;
        answer.card_sets.ok_or_else(|| silent("an answer without its sets"))
    }

    /// Keys of a set on the first card; those before are forgotten.
    pub fn card_keys(&mut self, set: &CardSet) -> Result<(), PeerError> {
        self.ask(&Request::CardKeys { set: set.clone() }).map(|_| ())
    }

    /// Keys for integers, of its default parameters.
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
        let mut line = serde_json::to_string(request).map_err(silent)?;
        line.push('\n');
        self.input.write_all(line.as_bytes()).map_err(silent)?;
        let mut text = String::new();
        if self.output.read_line(&mut text).map_err(silent)? == 0 {
            return Err(silent("its process has ended"));
        }
        let answer: Answer = serde_json::from_str(&text).map_err(silent)?;
        match answer.failure {
            Some(reason) => Err(PeerError::Refused { reason }),
            None => Ok(answer),
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // A peer that has ended by itself is no matter: its answers are in.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
