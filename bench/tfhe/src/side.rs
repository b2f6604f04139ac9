//! What the benchmark asks of either side.

use crate::clock::Clock;
use serde::{Deserialize, Serialize};

/// The messages have two bits below a padding bit, so a slot is 1/8 of the torus and a decryption is right
/// while its error stays under 1/16.
pub const MESSAGES: usize = 4;
/// log2 of the number of slots of the torus, padding included.
pub const SLOT_BITS: u32 = 3;
/// How large an error may be: less than half a step of messages.
pub const MARGIN: f64 = 0.5 / (1u32 << SLOT_BITS) as f64;

/// The table that every look-up of the benchmark evaluates: a permutation, so a wrong slot is seen.
pub fn table(message: usize) -> usize {
    (3 * message + 2) % MESSAGES
}

/// A server under test, with keys, inputs and room for its outputs already made.
pub trait Side {
    /// Draws `batch` random messages and encrypts them under the small key, for `threads` threads.
    fn prepare(&mut self, batch: usize, threads: usize);
    /// Modulus switch, blind rotation and sample extraction of the whole batch.
    fn bootstrap(&mut self);
    /// Key switch of the last bootstrap's outputs back to the small key.
    fn key_switch(&mut self);
    /// Seconds that the last operation took from when its inputs were on a card.
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

/// What a round came to.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Round {
    pub bootstrap_seconds: f64,
    pub key_switch_seconds: f64,
    pub bootstrap_errors: Vec<f64>,
    pub key_switch_errors: Vec<f64>,
}
