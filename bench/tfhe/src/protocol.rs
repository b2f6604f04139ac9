//! The protocol between the harness and the peer: one JSON request per line in, one JSON answer per line out.
//!
//! The peer is a separate program, so that each side is built as its users have it: ours as the package is, the peer for this processor.

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
    /// Only the quotient.
    Divide,
}

/// Clear operands; the lowest bit of `amount` is the selector.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Operands {
    pub x: u64,
    pub y: u64,
    pub amount: u64,
}

/// Result of one operation on one side.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct IntegerRound {
    /// Wall-clock time.
    pub seconds: f64,
    /// Processor time of all threads.
    pub processor_seconds: f64,
    /// The result, decrypted.
    pub value: u64,
}

/// A parameter set on a GPU.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CardSet {
    pub name: String,
    pub dimensions: Dimensions,
    /// Secret bits per iteration.
    pub key_bits: usize,
    /// Whether the modulus switch subtracts the mean of its error; only with one key bit.
    pub centred: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase")]
pub enum Request {
    /// Name, version and instruction sets.
    Hello,
    /// Generates keys of a set; drops the previous keys.
    Keys { dimensions: Dimensions },
    /// One round on fresh inputs.
    Round { batch: usize, threads: usize, clock: Clock },
    /// The peer's own sets for its CUDA backend.
    CardSets,
    /// Generates keys of a set on the first GPU; drops the previous keys. Rounds then run on the GPU, without transfers.
    CardKeys { set: CardSet },
    /// Generates keys for integers, with the peer's default parameters; drops the previous keys.
    IntegerKeys,
    /// One operation on freshly encrypted integers.
    Integer { operation: Operation, bits: u32, operands: Operands, threads: usize },
}

/// An answer; unused fields are left out.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Answer {
    /// Why the request failed.
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
