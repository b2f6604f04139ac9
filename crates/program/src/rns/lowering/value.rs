//! A ciphertext inside a kernel program in the making.

use super::profile::{Points, Profile};
use super::shifts::Shifts;
use crate::rns::homomorphic::{Complex, Values};
use crate::rns::kernel::ValueId;
use crate::rns::levels::Scale;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A ciphertext: values of the kernel program in the evaluation domain, and what the lowering knows of it.
#[derive(Clone, Debug, PartialEq)]
pub struct CiphertextValue {
    /// `parts[0]` + `parts[1]`·s (+ `parts[2]`·s²).
    pub parts: Vec<ValueId>,
    /// Its level: the parts have the limbs of [`super::Chain::limbs`] of it.
    pub level: usize,
    /// What its message is multiplied by.
    pub scale: Scale,
    /// Whether it is a product that is still to be rescaled.
    pub rescale_due: bool,
    /// What is known of its error.
    pub noise: Noise,
}

/// The rounding of a public factor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rounding {
    /// By how much the factor is off at most.
    pub error: f64,
    /// Scale of the other factor.
    pub scale: f64,
    /// How many deviations an error stays below.
    pub tail: f64,
}

/// How far a public number is from its rounding, which it is multiplied by, in f64: at most a half, and nothing of one that has no more bits.
pub(super) fn rounding_of(scaled: f64) -> f64 {
    (scaled - scaled.round()).abs() + scaled.abs() * f64::EPSILON
}

/// A new independent source of error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source(pub u32);

impl Source {
    /// Its mark among the 64 of [`Noise::sources`].
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
    /// Deviation of the random error in a slot, as [`crate::rns::noise::NoiseModel`] takes it.
    pub deviation: f64,
    /// Bound of the error in a slot that is the same each time, and may be the same in all slots: of rounded numbers.
    pub systematic: f64,
    /// Bound of what is to be added where a bootstrapping's messages had a few large coefficients, as vectors of equal slots have: the sine is
    /// not the identity there. The deviation has it for messages whose coefficients are alike.
    pub concentrated: f64,
    /// Bound of the message in a slot, unscaled: |m|.
    pub magnitude: f64,
    /// Which independent sources are in it, hashed to 64: two values without a common one have independent errors.
    pub sources: u64,
    /// From which slots its errors come: two values without a common one have independent errors.
    pub shifts: Shifts,
    /// Inside of a polynomial: message and error at points of its variable.
    pub profile: Option<Arc<Profile>>,
}

impl Noise {
    /// Nothing, where another model follows the error.
    pub fn none() -> Self {
        Self { sources: 0, ..Self::new(0.0, 0.0, Source(0)) }
    }

    /// Of a message up to `magnitude` with an error of `deviation` from `source`.
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

    /// Bound of all of it, of the random part `tail` deviations.
    pub fn bound(&self, tail: f64) -> f64 {
        tail * self.deviation + self.systematic + self.concentrated
    }

    fn independent(&self, other: &Self, slots: usize) -> bool {
        self.sources & other.sources == 0 || self.shifts.disjoint(&other.shifts, slots)
    }

    /// With a profile, its figures.
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

    /// The variable of a polynomial: its errors are followed at `points` from here on, until [`Self::settled`].
    pub fn at_points(&self, points: Points, source: Source) -> Self {
        let profile = Profile::variable(points, [self.deviation, self.systematic, self.concentrated], source.id());
        self.clone().profiled(Some(profile))
    }

    /// What is known without the points.
    pub fn settled(mut self) -> Self {
        self.profile = None;
        self
    }

    /// Of the sum of both, or the difference, in a ring of `slots` slots: as of independent errors where they are, else the sum of
    /// both.
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

    /// With a public number added to the message.
    pub fn plus_number(mut self, number: Complex) -> Self {
        self.magnitude += number.abs();
        self.with_profile(|profile| profile.plus_number(number))
    }

    /// With `sign` times a public vector up to `magnitude` added to the message.
    pub fn plus_vector(mut self, vector: &Values, magnitude: f64, sign: f64) -> Self {
        self.magnitude += magnitude;
        let profile = self.profile.as_deref().cloned().and_then(|profile| profile.plus_vector(vector, sign));
        self.profiled(profile)
    }

    /// Of the message times `message`, and the phase times `phase`, which differ by what the scale is multiplied by.
    pub fn times(mut self, message: Complex, phase: Complex) -> Self {
        let size = phase.abs();
        self.deviation *= size;
        self.systematic *= size;
        self.concentrated *= size;
        self.magnitude *= message.abs();
        self.with_profile(|profile| profile.times(message, phase))
    }

    /// With an independent error of `deviation` more.
    pub fn with_error(mut self, deviation: f64, source: Source) -> Self {
        self.deviation = self.deviation.hypot(deviation);
        self.sources |= source.mark();
        self.with_profile(|profile| profile.with_error(deviation, source.id()))
    }

    /// As it leaves a bootstrapping that adds the errors of `own`, and multiplies the phase by `factor`.
    pub fn restored(self, own: &Self, factor: f64, source: Source) -> Self {
        let mut restored = self.times(1.0.into(), factor.into());
        restored = restored.with_error(own.deviation, source).with_systematic(own.systematic, source);
        restored.sources |= own.sources;
        restored.concentrated += own.concentrated;
        restored.with_profile(|profile| profile.with_concentrated(own.concentrated, source.id()))
    }

    /// With one source of each kind in place of those that no other value has.
    pub fn compacted(self, kept: &BTreeSet<u64>, source: Source) -> Self {
        self.with_profile(|profile| profile.compacted(kept, source.id()))
    }

    /// With the phase off by up to `bound` each time.
    pub fn with_systematic(mut self, bound: f64, source: Source) -> Self {
        self.systematic += bound;
        self.with_profile(|profile| profile.with_systematic(bound, source.id()))
    }

    /// Of the product with a public vector, at `scale`; `rounding.error` is a deviation.
    pub fn times_vector(&self, vector: &Values, scale: f64, rounding: Rounding, source: Source) -> Self {
        let profile = self.profile.as_deref().cloned();
        let profile = profile.and_then(|profile| profile.times_vector(vector, scale, rounding, source.id()));
        let (magnitude, phase) = (vector.magnitude(), rounding.scale * self.magnitude + self.bound(rounding.tail));
        let product = self.clone().settled().times(magnitude.into(), (magnitude * scale).into());
        product.with_error(rounding.error * phase, source).profiled(profile)
    }

    /// Of the product with a public number, the same in all slots, at `scale`.
    pub fn times_rounded(&self, number: Complex, scale: f64, rounding: Rounding, source: Source) -> Self {
        let profile =
            self.profile.as_deref().map(|profile| profile.clone().times_rounded(number, scale, rounding, source.id()));
        let mut product = self.clone().settled().times(number, number * Complex::from(scale));
        let phase = rounding.scale * self.magnitude + self.bound(rounding.tail);
        product.systematic += rounding.error * phase;
        product.profiled(profile)
    }

    /// After slot i took slot i + `steps`, in a ring of `slots` slots.
    pub fn rotated(mut self, steps: i64, slots: usize) -> Self {
        self.shifts = self.shifts.rotated(steps, slots);
        self.settled()
    }

    /// After the slots have changed their places in whatever way.
    pub fn anywhere(mut self, slots: usize) -> Self {
        self.shifts = Shifts::anywhere(slots);
        self.settled()
    }

    /// Of the conjugate.
    pub fn conjugate(self) -> Self {
        self.with_profile(Profile::conjugate)
    }

    /// Of the product of messages with scales `scales`: e_a·m_b + e_b·m_a + e_a·e_b, where an error stays below `tail` deviations.
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
