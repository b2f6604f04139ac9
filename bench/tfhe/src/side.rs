//! The interface of both sides.

use crate::clock::Clock;
use serde::{Deserialize, Serialize};

/// Messages have two bits below a padding bit: a slot is 1/8 of the torus, and a decryption is correct
/// while its error is below 1/16.
pub const MESSAGES: usize = 4;
/// log2 of the number of slots of the torus, padding included.
pub const SLOT_BITS: u32 = 3;
/// Largest allowed error: half a step of messages.
pub const MARGIN: f64 = 0.5 / (1u32 << SLOT_BITS) as f64;

/// The table of all lookups of the benchmark: a permutation, so that a wrong slot is detected.
pub fn table(message: usize) -> usize {
    (3 * message + 2) % MESSAGES
}

/// A server under test, with keys, inputs and memory for its outputs.
pub trait Side {
    /// Draws `batch` random messages and encrypts them under the small key, for `threads` threads.
    fn prepare(&mut self, batch: usize, threads: usize);
    /// Modulus switch, blind rotation and sample extraction of the whole batch.
    fn bootstrap(&mut self);
    /// Key switch of the last bootstrap's outputs back to the small key.
    fn key_switch(&mut self);
    /// Seconds of the last operation on a GPU, after the transfer of its inputs.
    fn seconds_on_card(&self) -> f64 {
        0.0
    }
    /// Errors of the last bootstrap's outputs against the table, as fractions of the torus.
    fn bootstrap_errors(&self) -> Vec<f64>;
    /// Errors that the last key switch added, as fractions of the torus.
    fn key_switch_errors(&self) -> Vec<f64>;

    /// One round on fresh inputs.
    fn round(&mut self, batch: usize, threads: usize, clock: Clock) -> Round {
        self.prepare(batch, threads);
        let bootstrap_seconds = clock.seconds(|| self.bootstrap());
        let key_switch_seconds = clock.seconds(|| self.key_switch());
        Round {
            bootstrap_seconds,
            key_switch_seconds,
            bootstrap_errors: self.bootstrap_errors(),
            key_switch_errors: self.key_switch_errors(),
        }
    }
}

/// Measurements of one round.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Round {
    pub bootstrap_seconds: f64,
    pub key_switch_seconds: f64,
    pub bootstrap_errors: Vec<f64>,
    pub key_switch_errors: Vec<f64>,
}
