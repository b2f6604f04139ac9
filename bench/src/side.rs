//! What the benchmark asks of either side.

/// The messages have two bits below a padding bit, so a slot is 1/8 of the torus and a decryption is right
/// while its error stays under 1/16.
pub const MESSAGES: usize = 4;
/// log2 of the number of slots of the torus, padding included.
pub const SLOT_BITS: u32 = 3;

/// The table that every look-up of the benchmark evaluates: a permutation, so a wrong slot is seen.
pub fn table(message: usize) -> usize {
    (3 * message + 2) % MESSAGES
}

/// Errors of a decrypted result, as fractions of the torus.
#[derive(Clone, Debug)]
pub struct Errors(pub Vec<f64>);

impl Errors {
    /// Standard deviation about zero: a bias counts as noise.
    pub fn standard_deviation(&self) -> f64 {
        (self.0.iter().map(|error| error * error).sum::<f64>() / self.0.len().max(1) as f64).sqrt()
    }

    /// How many results decrypt to another message.
    pub fn wrong(&self) -> usize {
        let margin = 0.5 / f64::from(1u32 << SLOT_BITS);
        self.0.iter().filter(|error| error.abs() >= margin).count()
    }
}

/// A server under test, with keys, inputs and room for its outputs already made.
pub trait Side {
    /// Draws `batch` random messages and encrypts them under the small key, for `threads` threads.
    fn prepare(&mut self, batch: usize, threads: usize);
    /// Modulus switch, blind rotation and sample extraction of the whole batch.
    fn bootstrap(&mut self);
    /// Key switch of the last bootstrap's outputs back to the small key.
    fn key_switch(&mut self);
    /// Errors of the last bootstrap's outputs against the table.
    fn bootstrap_errors(&self) -> Errors;
    /// Errors that the last key switch added.
    fn key_switch_errors(&self) -> Errors;
}
