//! What the harness and every side say to each other: one JSON request a line in, one JSON answer a line out.
//!
//! Each side is a process of its own, ours too, so that memory is measured for each alone.

use polyfabric_runtime::gpu::rns::{Needs, Share};
use serde::{Deserialize, Serialize};

/// Bits of each modulus, in the order of the chain, and the special ones.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
pub struct Chain {
    pub log_q: Vec<u32>,
    pub log_p: Vec<u32>,
}

impl Chain {
    pub fn new(log_q: impl Into<Vec<u32>>, log_p: impl Into<Vec<u32>>) -> Self {
        Self { log_q: log_q.into(), log_p: log_p.into() }
    }

    /// Number of digits of a key switch that takes as many moduli of Q at once as there are special ones.
    pub fn digits(&self) -> usize {
        self.log_q.len().div_ceil(self.log_p.len().max(1))
    }

    pub fn log_qp(&self) -> u32 {
        self.log_q.iter().chain(&self.log_p).sum()
    }
}

/// The family of operations that a set is for.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Scheme {
    Ckks,
    Bgv,
    /// The transform of one limb.
    Ntt,
    /// CKKS bootstrapping of all slots; the peer has its own named parameters.
    Bootstrapping,
}

/// A request.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase")]
pub enum Request {
    /// Name and version.
    Hello,
    /// Keys and inputs of a parameter set; what was prepared before is forgotten.
    Prepare {
        scheme: Scheme,
        log_n: u32,
        #[serde(flatten)]
        chain: Chain,
        log_scale: u32,
        /// Our set of these parameters: the same ring and bits of Q and P, in moduli that suit this processor.
        set: String,
        rotations: Vec<i64>,
        /// Of bootstrapping, the operation that follows: each is an operating point of ours, with keys of its own.
        point: String,
    },
    /// Times one operation and checks its decrypted result.
    Measure { op: String, repetitions: usize },
}

/// An answer. Fields that a request does not fill stay at their defaults.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Answer {
    /// Why the request was not served.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Seconds that preparing took.
    pub seconds: f64,
    pub log_q: f64,
    pub log_p: f64,
    pub digits: usize,
    /// Milliseconds of each repetition.
    pub ms: Vec<f64>,
    /// Largest error of a decrypted slot; for exact schemes and transforms, the number of wrong values.
    pub error: f64,
    /// Bits of precision of a bootstrapping: of its worst slot, and on average.
    pub precision_min: f64,
    pub precision_mean: f64,
    pub levels_left: usize,
    /// The most memory that the side's process has held.
    pub peak_gib: f64,
    /// What a card did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub card: Option<OnCard>,
}

/// What a card does in a run, and where its time goes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct OnCard {
    pub launches: usize,
    /// Levels of launches, each of which waits for the one before.
    pub levels: usize,
    /// Polynomials of one limb.
    pub polynomials: usize,
    pub key_bytes: usize,
    pub plaintext_bytes: usize,
    pub value_bytes: usize,
    /// Bytes that kernels read and write, whether a cache has them or not.
    pub moved_bytes: usize,
    pub butterflies: usize,
    /// Products of two words besides.
    pub products: usize,
    pub kernels: Vec<KernelShare>,
}

/// All launches of one kernel, each started when the one before had ended.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct KernelShare {
    pub kernel: String,
    pub launches: usize,
    pub polynomials: usize,
    pub ms: f64,
}

impl From<(Needs, Vec<Share>)> for OnCard {
    fn from((needs, shares): (Needs, Vec<Share>)) -> Self {
        let share = |share: Share| KernelShare {
            kernel: share.kernel.to_owned(),
            launches: share.launches,
            polynomials: share.polynomials,
            ms: share.seconds * 1e3,
        };
        Self {
            launches: needs.launches,
            levels: needs.levels,
            polynomials: needs.nodes,
            key_bytes: needs.key_bytes,
            plaintext_bytes: needs.plaintext_bytes,
            value_bytes: needs.value_bytes,
            moved_bytes: needs.moved_bytes,
            butterflies: needs.butterflies,
            products: needs.products,
            kernels: shares.into_iter().map(share).collect(),
        }
    }
}
