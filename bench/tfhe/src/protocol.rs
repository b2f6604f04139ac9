//! What the harness and the peer say to each other: one JSON request a line in, one JSON answer a line out.
//!
//! The peer is a program of its own, so that each side is built as its users have it: ours as the package is, the peer for the processor at hand.

use crate::clock::Clock;
use crate::side::Round;
use serde::{Deserialize, Serialize};

/// The dimensions of a parameter set as plain numbers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Dimensions {
    pub torus_bits: u32,
    pub lwe_dimension: usize,
    pub glwe_dimension: usize,
    pub ring_degree: usize,
    pub log2_base: usize,
    pub levels: usize,
    pub key_switch_log2_base: usize,
    pub key_switch_levels: usize,
    /// Standard deviations, as fractions of the torus.
    pub lwe_noise: f64,
    pub glwe_noise: f64,
}

/// An operation on encrypted integers of one width, unsigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    Add,
    Multiply,
    Less,
    Select,
    /// To the left, by an encrypted amount below the width.
    Shift,
    /// The quotient alone is asked for.
    Divide,
}

/// Clear operands of an operation; the lowest bit of `amount` is what a selection goes by.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Operands {
    pub x: u64,
    pub y: u64,
    pub amount: u64,
}

/// What one operation came to on one side.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct IntegerRound {
    /// Time that passed.
    pub seconds: f64,
    /// Time on processors, all threads together.
    pub processor_seconds: f64,
    /// The result, decrypted.
    pub value: u64,
}

/// A parameter set on a card.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CardSet {
    pub name: String,
    pub dimensions: Dimensions,
    /// Secret bits that an iteration consumes.
    pub key_bits: usize,
    /// Whether the modulus switch takes the mean of its error out; with one key bit alone.
    pub centred: bool,
}

/// A request.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase")]
pub enum Request {
    /// Name, version and instruction sets.
    Hello,
    /// Keys of a set; those before are forgotten.
    Keys { dimensions: Dimensions },
    /// One round on fresh inputs.
    Round { batch: usize, threads: usize, clock: Clock },
    /// The peer's own sets for its backend of cards.
    CardSets,
    /// Keys of a set on the first card; those before are forgotten, and rounds are the card's, from its memory to its memory.
    CardKeys { set: CardSet },
    /// Keys for integers, of the peer's default parameters; those before are forgotten.
    IntegerKeys,
    /// One operation on freshly encrypted integers.
    Integer { operation: Operation, bits: u32, operands: Operands, threads: usize },
}

/// An answer; fields that a request does not fill are left out.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Answer {
    /// Why the request was not served.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round: Option<Round>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub integer: Option<IntegerRound>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub card_sets: Option<Vec<CardSet>>,
}
