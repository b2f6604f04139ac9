//! The protocol between the harness and each side: one JSON request per line in, one JSON answer per line out.
//!
//! Each side is a separate process, ours too, so that its memory is measured alone.

use polyfabric_runtime::gpu::rns::{Needs, Share};
use serde::{Deserialize, Serialize};

/// Bits of each modulus of Q, in the order of the chain, and of each special modulus.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
pub struct Chain {
    pub log_q: Vec<u32>,
    pub log_p: Vec<u32>,
}

impl Chain {
    pub fn new(log_q: impl Into<Vec<u32>>, log_p: impl Into<Vec<u32>>) -> Self {
        Self { log_q: log_q.into(), log_p: log_p.into() }
    }

    /// Number of digits of a key switch with as many moduli of Q per digit as there are special moduli.
    pub fn digits(&self) -> usize {
        self.log_q.len().div_ceil(self.log_p.len().max(1))
    }

    pub fn log_qp(&self) -> u32 {
        self.log_q.iter().chain(&self.log_p).sum()
    }
}

/// A family of operations.
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

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase")]
pub enum Request {
    /// Name and version.
    Hello,
    /// Generates keys and inputs of a parameter set; drops the previous set.
    Prepare {
        scheme: Scheme,
        log_n: u32,
        #[serde(flatten)]
        chain: Chain,
        log_scale: u32,
        /// Our set of these parameters: the same ring and bits of Q and P, with moduli that suit this processor.
        set: String,
        rotations: Vec<i64>,
        /// The bootstrapping operation that follows: each is an operating point of ours with other keys.
        point: String,
    },
    /// Times one operation and checks its decrypted result.
    Measure { op: String, repetitions: usize },
}

/// An answer. Unused fields keep their defaults.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Answer {
    /// Why the request failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Seconds of the preparation.
    pub seconds: f64,
    pub log_q: f64,
    pub log_p: f64,
    pub digits: usize,
    /// Milliseconds of each repetition.
    pub ms: Vec<f64>,
    /// Largest error of a decrypted slot; for exact schemes and transforms, the number of wrong values.
    pub error: f64,
    /// Bits of precision of a bootstrapping, in its worst slot and on average.
    pub precision_min: f64,
    pub precision_mean: f64,
    pub levels_left: usize,
    /// Peak memory of the side's process.
    pub peak_gib: f64,
    /// Our work of one run on a processor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work: Option<Work>,
    /// Work and time of a run on a GPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub card: Option<OnCard>,
}

/// The least computation and reading of an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// Butterflies of transforms.
    pub butterflies: u64,
    /// Products of residues outside transforms.
    pub products: u64,
    /// Bytes of inputs, keys, public vectors and results.
    pub bytes: usize,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct OnCard {
    pub launches: usize,
    /// Levels of launches; each waits for the previous one.
    pub levels: usize,
    /// Number of polynomials of one limb.
    pub polynomials: usize,
    pub key_bytes: usize,
    pub plaintext_bytes: usize,
    pub value_bytes: usize,
    /// Bytes that kernels read and write, including those in a cache.
    pub moved_bytes: usize,
    pub butterflies: usize,
    /// Further products of two words.
    pub products: usize,
    pub kernels: Vec<KernelShare>,
}

/// All launches of one kernel, timed one after the other.
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
