//! Ciphertexts of a kernel program under construction, and their noise.

use super::profile::{Points, Profile};
use super::shifts::Shifts;
use crate::rns::homomorphic::{Complex, Values};
use crate::rns::kernel::ValueId;
use crate::rns::levels::Scale;
use crate::rns::noise::NoiseModel;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A ciphertext: values of the kernel program in the evaluation domain, and its tracked state.
#[derive(Clone, Debug, PartialEq)]
pub struct CiphertextValue {
    /// `parts[0]` + `parts[1]`·s (+ `parts[2]`·s²).
    pub parts: Vec<ValueId>,
    /// The parts have the limbs [`super::Chain::limbs`] of this level.
    pub level: usize,
    /// Factor of its message.
    pub scale: Scale,
    /// Whether it is a product before its rescaling.
    pub rescale_due: bool,
    pub noise: Noise,
}

/// The rounding of a public factor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rounding {
    /// Maximum error of the factor.
    pub error: f64,
    /// Scale of the other factor.
    pub scale: f64,
    /// Deviations that an error stays below.
    pub tail: f64,
}

/// |scaled − round(scaled)| plus its f64 rounding error: at most a half, and near 0 for numbers with no fractional bits.
pub(super) fn rounding_of(scaled: f64, model: &NoiseModel) -> f64 {
    (scaled - scaled.round()).abs() + scaled.abs() * 2.0 * model.f64_rounding()
}

/// An independent source of error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source(pub u32);

impl Source {
    /// Its bit in [`Noise::sources`].
    fn mark(self) -> u64 {
        1 << (self.0 % 64)
    }

    fn id(self) -> u64 {
        self.0.into()
    }
}

/// The error of a ciphertext, in units of its phase.
#[derive(Clone, Debug, PartialEq)]
pub struct Noise {
    /// Deviation of the random error in a slot, as defined by [`crate::rns::noise::NoiseModel`].
    pub deviation: f64,
    /// Bound of the error in a slot that is equal in every run, and possibly in all slots, such as from rounded numbers.
    pub systematic: f64,
    /// Bound of the additional error if a bootstrapping's message has a few dominant coefficients, as vectors of equal slots have: the sine
    /// is not the identity there. `deviation` covers messages with coefficients of similar size.
    pub concentrated: f64,
    /// Bound of the message |m| in a slot, not scaled.
    pub magnitude: f64,
    /// Bit set of independent sources, hashed to 64 bits. Values without a common source have independent errors.
    pub sources: u64,
    /// Offsets of the slots in which its errors originated. Values without a common offset have independent errors.
    pub shifts: Shifts,
    /// Within a polynomial: message and error at points of its variable.
    pub profile: Option<Arc<Profile>>,
}

impl Noise {
    /// No noise, for schemes with a separate noise model.
    pub fn none() -> Self {
        Self { sources: 0, ..Self::new(0.0, 0.0, Source(0)) }
    }

    /// The noise of a message up to `magnitude` with an error of deviation `deviation` from `source`.
    pub fn new(deviation: f64, magnitude: f64, source: Source) -> Self {
        Self {
            deviation,
            systematic: 0.0,
            concentrated: 0.0,
            magnitude,
            sources: source.mark(),
            shifts: Shifts::HERE,
            profile: None,
        }
    }

    /// Bound of the total error, with `tail` deviations for the random part.
    pub fn bound(&self, tail: f64) -> f64 {
        tail * self.deviation + self.systematic + self.concentrated
    }

    fn independent(&self, other: &Self, slots: usize) -> bool {
        self.sources & other.sources == 0 || self.shifts.disjoint(&other.shifts, slots)
    }

    /// Sets the profile, and derives the figures from it.
    fn profiled(mut self, profile: Option<Profile>) -> Self {
        self.profile = profile.map(Arc::new);
        if let Some(profile) = &self.profile {
            (self.deviation, self.systematic) = (profile.deviation(), profile.systematic());
            self.concentrated = profile.concentrated();
            self.magnitude = profile.magnitude();
        }
        self
    }

    fn with_profile(self, change: impl FnOnce(Profile) -> Profile) -> Self {
        let profile = self.profile.as_deref().cloned().map(change);
        self.profiled(profile)
    }

    /// Makes this value the variable of a polynomial: its errors are followed at `points` until [`Self::settled`].
    pub fn at_points(&self, points: Points, source: Source) -> Self {
        let profile = Profile::variable(points, [self.deviation, self.systematic, self.concentrated], source.id());
        self.clone().profiled(Some(profile))
    }

    /// Drops the profile.
    pub fn settled(mut self) -> Self {
        self.profile = None;
        self
    }

    /// The noise of a sum or difference in a ring of `slots` slots. Independent errors add in quadrature, others linearly.
    pub fn plus(&self, other: &Self, sign: f64, slots: usize) -> Self {
        let deviation = if self.independent(other, slots) {
            self.deviation.hypot(other.deviation)
        } else {
            self.deviation + other.deviation
        };
        let sum = Self {
            deviation,
            systematic: self.systematic + other.systematic,
            concentrated: self.concentrated + other.concentrated,
            magnitude: self.magnitude + other.magnitude,
            sources: self.sources | other.sources,
            shifts: self.shifts.union(&other.shifts, slots),
            profile: None,
        };
        let both = self.profile.as_deref().zip(other.profile.as_deref());
        sum.profiled(both.and_then(|(a, b)| a.plus(b, sign)))
    }

    /// Adds a public number to the message.
    pub fn plus_number(mut self, number: Complex) -> Self {
        self.magnitude += number.abs();
        self.with_profile(|profile| profile.plus_number(number))
    }

    /// Adds `sign` times a public vector up to `magnitude` to the message.
    pub fn plus_vector(mut self, vector: &Values, magnitude: f64, sign: f64) -> Self {
        self.magnitude += magnitude;
        let profile = self.profile.as_deref().cloned().and_then(|profile| profile.plus_vector(vector, sign));
        self.profiled(profile)
    }

    /// The message times `message` and the phase times `phase`; they differ by the factor of the scale.
    pub fn times(mut self, message: Complex, phase: Complex) -> Self {
        let size = phase.abs();
        self.deviation *= size;
        self.systematic *= size;
        self.concentrated *= size;
        self.magnitude *= message.abs();
        self.with_profile(|profile| profile.times(message, phase))
    }

    /// Adds an independent error of deviation `deviation`.
    pub fn with_error(mut self, deviation: f64, source: Source) -> Self {
        self.deviation = self.deviation.hypot(deviation);
        self.sources |= source.mark();
        self.with_profile(|profile| profile.with_error(deviation, source.id()))
    }

    /// The noise of one of two values.
    pub fn either(&self, other: &Self, slots: usize) -> Self {
        Self {
            deviation: self.deviation.max(other.deviation),
            systematic: self.systematic.max(other.systematic),
            concentrated: self.concentrated.max(other.concentrated),
            magnitude: self.magnitude.max(other.magnitude),
            ..self.clone().settled().plus(&other.clone().settled(), 1.0, slots)
        }
    }

    /// The noise after a bootstrapping that adds the errors of `own` and multiplies the phase by `factor`.
    pub fn restored(self, own: &Self, factor: f64, source: Source) -> Self {
        let mut restored = self.times(1.0.into(), factor.into());
        restored = restored.with_error(own.deviation, source).with_systematic(own.systematic, source);
        restored.sources |= own.sources;
        restored.concentrated += own.concentrated;
        restored.with_profile(|profile| profile.with_concentrated(own.concentrated, source.id()))
    }

    /// Merges the sources that no other value has into one per kind.
    pub fn compacted(self, kept: &BTreeSet<u64>, source: Source) -> Self {
        self.with_profile(|profile| profile.compacted(kept, source.id()))
    }

    /// Adds a systematic error up to `bound`.
    pub fn with_systematic(mut self, bound: f64, source: Source) -> Self {
        self.systematic += bound;
        self.with_profile(|profile| profile.with_systematic(bound, source.id()))
    }

    /// The product with a public vector at `scale`; `rounding.error` is a deviation.
    pub fn times_vector(&self, vector: &Values, scale: f64, rounding: Rounding, source: Source) -> Self {
        let profile = self.profile.as_deref().cloned();
        let profile = profile.and_then(|profile| profile.times_vector(vector, scale, rounding, source.id()));
        let (magnitude, phase) = (vector.magnitude(), rounding.scale * self.magnitude + self.bound(rounding.tail));
        let product = self.clone().settled().times(magnitude.into(), (magnitude * scale).into());
        product.with_error(rounding.error * phase, source).profiled(profile)
    }

    /// The product with a public number at `scale`, equal in all slots.
    pub fn times_rounded(&self, number: Complex, scale: f64, rounding: Rounding, source: Source) -> Self {
        let profile =
            self.profile.as_deref().map(|profile| profile.clone().times_rounded(number, scale, rounding, source.id()));
        let mut product = self.clone().settled().times(number, number * Complex::from(scale));
        let phase = rounding.scale * self.magnitude + self.bound(rounding.tail);
        product.systematic += rounding.error * phase;
        product.profiled(profile)
    }

    /// The noise after slot i took slot i + `steps`, in a ring of `slots` slots.
    pub fn rotated(mut self, steps: i64, slots: usize) -> Self {
        self.shifts = self.shifts.rotated(steps, slots);
        self.settled()
    }

    /// The noise after any permutation of slots.
    pub fn anywhere(mut self, slots: usize) -> Self {
        self.shifts = Shifts::anywhere(slots);
        self.settled()
    }

    pub fn conjugate(self) -> Self {
        self.with_profile(Profile::conjugate)
    }

    /// The product of messages with scales `scales`: e_a·m_b + e_b·m_a + e_a·e_b, where errors stay below `tail` deviations.
    pub fn product(&self, other: &Self, scales: (f64, f64), tail: f64, slots: usize, source: Source) -> Self {
        let phases = (scales.0 * self.magnitude, scales.1 * other.magnitude);
        let (x, y) = (self.deviation * phases.1, other.deviation * phases.0);
        let crossed = if self.independent(other, slots) { x.hypot(y) } else { x + y };
        let systematic = self.systematic * phases.1 + other.systematic * phases.0;
        let concentrated = self.concentrated * phases.1 + other.concentrated * phases.0;
        let (a, b) = (self.bound(tail), other.bound(tail));
        let product = Self {
            deviation: crossed + a * b / tail,
            systematic,
            concentrated,
            magnitude: self.magnitude * other.magnitude,
            sources: self.sources | other.sources,
            shifts: self.shifts.union(&other.shifts, slots),
            profile: None,
        };
        let both = self.profile.as_deref().zip(other.profile.as_deref());
        product.profiled(both.and_then(|(a, b)| a.product(b, scales, tail, source.id())))
    }
}
