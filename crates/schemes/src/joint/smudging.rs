//! The noise that hides the error of a ciphertext in a party's decryption share.
//!
//! All parties but one together see c_0 + s·c_1 + e_i = m + e_c + e_i. Here m is the result on the inputs as they are encoded, and e_i is
//! the noise of the last party. A simulator that knows m alone gives m + e_i. Both are Gaussians of deviation σ, shifted by e_c. Their divergence is ‖e_c‖²/2σ², so by
//! Pinsker's inequality their statistical distance is at most ‖e_c‖/2σ. With σ = 2^κ·B for a bound B of the norm this is 2^-(κ + 1); the
//! rest up to 2^-κ is for the sampler, whose divergence is 2.5 percent larger at most ([`crate::gaussian`]). Distances of several shares add.

use polyfabric_kernels::RingDegree;
use serde::{Deserialize, Serialize};

use crate::gaussian::RoundedGaussian;

/// The smudging noise of one output.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Smudging {
    /// κ: a share is within statistical distance 2^-κ of one that the result alone determines.
    pub bits: f64,
    /// log2 of the deviation of a coefficient, in BGV over t.
    pub log2_deviation: f64,
}

impl Smudging {
    /// The least κ.
    pub const LEAST_BITS: f64 = 40.0;
    /// The largest κ.
    pub const MOST_BITS: f64 = 80.0;

    /// Hides errors whose Euclidean norm is up to 2^`log2_norm` with `bits` bits.
    pub fn hiding(log2_norm: f64, bits: f64) -> Self {
        Self { bits, log2_deviation: (bits + log2_norm).max(0.0) }
    }

    /// Whether `bits` are supported.
    pub fn allows(bits: f64) -> bool {
        (Self::LEAST_BITS..=Self::MOST_BITS).contains(&bits)
    }

    /// Whether it can be drawn and has enough bits.
    pub fn is_usable(&self) -> bool {
        Self::allows(self.bits) && (0.0..=RoundedGaussian::MAX_WIDE_LOG2).contains(&self.log2_deviation)
    }

    /// log2 of a bound on the noise of all `parties` at every root of X^N + 1, exceeded in some root with probability 2^`failure_log2`. It
    /// bounds every coefficient too.
    pub fn bound_log2(&self, parties: usize, degree: RingDegree, failure_log2: f64) -> f64 {
        let tail = ((f64::from(degree.log2()) - failure_log2) * std::f64::consts::LN_2).sqrt();
        let sum = parties as f64 * degree.get() as f64;
        self.log2_deviation + sum.log2() / 2.0 + tail.log2()
    }
}
