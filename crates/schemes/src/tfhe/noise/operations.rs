//! The variance formulas.

use polyfabric_kernels::fixed::{FixedFftSpec, digit_concentration};
use polyfabric_kernels::{Gadget, Isa, RingDegree, fft};
use serde::{Deserialize, Serialize};

use super::keys::{Keys, Noise};
use super::probability::sum_log2;
use crate::tfhe::lwe::LweKind;
use crate::tfhe::parameters::Parameters;
use crate::tfhe::secret::Secret;
use crate::tfhe::unrolling::KeyUnrolling;

/// How polynomial products are computed, which determines their noise.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Transform {
    /// Exact integers: no noise.
    Exact,
    /// The folded negacyclic FFT in f64, with fused multiply-adds.
    F64,
    /// The same without fused multiply-adds, so that products are rounded too.
    F64Unfused,
    /// Any other transform, by the error of one output coefficient of one external product: predicted from a fixed-point transform's widths,
    /// or measured.
    Measured {
        /// Variance of that error, in fractions of the torus squared.
        coefficient_variance: f64,
        /// Excess over a white error at the frequency of the secret's mean; see [`polyfabric_kernels::fixed::ProductError`].
        concentration: f64,
        /// log2 of the unit of results, in units of the torus: accumulators are multiples of it.
        log2_unit: u32,
    },
}

/// Variance of the transform's error without fused multiply-adds, relative to that with: 0.9 u² instead of 0.6 u² per level
/// ([`fft::error_deviation`]).
const UNFUSED: f64 = 1.5;

impl Transform {
    /// The f64 transform of this processor.
    pub fn f64_here() -> Self {
        if Isa::best() == Isa::Portable { Self::F64Unfused } else { Self::F64 }
    }

    /// Growth of the f64 transform's variance by the kind of multiply-add.
    pub(super) fn growth(self) -> f64 {
        if self == Self::F64Unfused { UNFUSED } else { 1.0 }
    }

    /// The fixed-point transform of `spec`, with its predicted error for `parameters`.
    pub fn fixed(spec: &FixedFftSpec, parameters: &Parameters) -> Self {
        Formulas::of(parameters, Keys::Accepted).fixed_transform(spec)
    }
}

/// Rounding of phases to multiples of 1/2N before a blind rotation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PhaseRounding {
    /// Rounds every element to the nearest multiple.
    #[default]
    Nearest,
    /// Rounds the mask's elements to nearest, and subtracts their errors times the mean μ of a secret bit from the body before rounding it:
    /// Σ e_i s_i becomes Σ e_i (s_i − μ), for uniform bits of half the variance.
    Centred,
}

/// The formulas for one parameter set, checked or a candidate, and the keys that they cover.
#[derive(Clone, Copy, Debug)]
pub struct Formulas {
    pub(crate) torus_bits: u32,
    pub(crate) lwe_dimension: usize,
    pub(crate) secret: Secret,
    pub(crate) glwe_dimension: usize,
    pub(crate) ring_degree: RingDegree,
    pub(crate) bootstrap_gadget: Gadget,
    pub(crate) lwe_noise_log2: f64,
    pub(crate) glwe_noise_log2: f64,
    pub(crate) keys: Keys,
}

impl Formulas {
    /// Formulas for `parameters` and `keys`.
    pub fn of(parameters: &Parameters, keys: Keys) -> Self {
        Self {
            torus_bits: parameters.torus_bits(),
            lwe_dimension: parameters.lwe_dimension().get(),
            secret: parameters.secret(),
            glwe_dimension: parameters.glwe_dimension().get(),
            ring_degree: parameters.ring_degree(),
            bootstrap_gadget: parameters.bootstrap_gadget(),
            lwe_noise_log2: parameters.literal().lwe_noise_log2,
            glwe_noise_log2: parameters.literal().glwe_noise_log2,
            keys,
        }
    }

    /// Bits of a torus element.
    pub fn torus_bits(&self) -> u32 {
        self.torus_bits
    }

    /// kN.
    pub(crate) fn masks(&self) -> usize {
        self.glwe_dimension * self.ring_degree.get()
    }

    /// Set bits of the small key.
    fn small_weight(&self) -> f64 {
        self.keys.weights((self.lwe_dimension, self.secret), self.masks())[0]
    }

    /// Set bits of the large key.
    pub(crate) fn large_weight(&self) -> f64 {
        self.keys.weights((self.lwe_dimension, self.secret), self.masks())[1]
    }

    fn ggsw_rows(&self) -> usize {
        (self.glwe_dimension + 1) * self.bootstrap_gadget.levels as usize
    }

    /// As [`fresh`].
    pub fn fresh(&self, kind: LweKind) -> Noise {
        let log2 = match kind {
            LweKind::Small => self.lwe_noise_log2,
            LweKind::Large => self.glwe_noise_log2,
        };
        Noise::random((2.0 * log2).exp2() + unit_squared(self.torus_bits) / 12.0)
    }

    /// As [`key_switch`], for a gadget of the caller's choice.
    pub fn key_switch(&self, gadget: Gadget) -> Noise {
        let (inputs, bits, weight) = (self.masks() as f64, self.torus_bits, self.large_weight());
        let digits = inputs * f64::from(gadget.levels);
        let rows = self.fresh(LweKind::Small).variance;
        let rounding = weight * rounding_variance(bits, gadget.kept_bits());
        // The rows' energy is constant per key too; the formulas use its mean. The digits' mean of −1/2 times the rows' noise, and half a
        // unit for every set bit, are shared by all ciphertexts of a key.
        let shared = digits * rows / 4.0 + rounding_mean_squared(bits, gadget.kept_bits()) * weight * weight;
        Noise::with_mean(digits * digit_variance(gadget.log2_base) * rows + rounding, shared.sqrt())
    }

    /// As [`modulus_switch_with`].
    pub fn modulus_switch(&self, rounding: PhaseRounding, log2_tables: u32) -> Noise {
        let kept = self.ring_degree.log2() + 1 - log2_tables;
        let mask = match rounding {
            PhaseRounding::Nearest => self.small_weight(),
            // Σ (s_i − μ)²: for uniform bits 1/4 each, for every key.
            PhaseRounding::Centred => {
                let mean = self.secret.mean();
                self.small_weight() * (1.0 - 2.0 * mean) + self.lwe_dimension as f64 * mean * mean
            }
        };
        Noise::random((1.0 + mask) * rounding_variance(self.torus_bits, kept))
    }

    /// As [`transform_error`].
    pub fn transform_error(&self, transform: Transform) -> f64 {
        match transform {
            Transform::Exact => 0.0,
            Transform::Measured { coefficient_variance, .. } => coefficient_variance,
            Transform::F64 | Transform::F64Unfused => {
                let base = f64::from(self.bootstrap_gadget.log2_base).exp2();
                let of = |model: fn(RingDegree, f64, usize, u32) -> f64| {
                    model(self.ring_degree, base, self.ggsw_rows(), self.torus_bits).powi(2)
                };
                (transform.growth() * of(fft::error_deviation) + of(fft::key_error_deviation) + 1.0 / 12.0)
                    * unit_squared(self.torus_bits)
            }
        }
    }

    pub(crate) fn fixed_transform(&self, spec: &FixedFftSpec) -> Transform {
        let error = spec.error(self.bootstrap_gadget, self.ggsw_rows(), self.torus_bits);
        Transform::Measured {
            coefficient_variance: error.variance * unit_squared(self.torus_bits),
            concentration: error.concentration,
            log2_unit: error.log2_unit,
        }
    }

    /// The transform's error of one external product in a phase: the body's error, and the masks' errors times S_j. Half of the energy of S_j is
    /// that of its mean, w'/kN in every coefficient, which an error may correlate with, and which correlates neighbours.
    pub(super) fn transform_in_phase(&self, transform: Transform) -> Noise {
        let weight = self.large_weight();
        let concentration = match transform {
            Transform::Exact => 0.0,
            Transform::F64 | Transform::F64Unfused => {
                digit_concentration(self.ring_degree.get() as f64, self.bootstrap_gadget)
            }
            Transform::Measured { concentration, .. } => concentration,
        };
        // The key's error and the digits' mean are the same for all products of a key.
        let concentration = concentration * (1.0 + self.keys.mean_spread(self.lwe_dimension));
        let of_mean = self.neighbours() * (1.0 + concentration);
        let error = self.transform_error(transform);
        let variance = (1.0 + weight - self.neighbours() + of_mean) * error;
        // The body contributes as much as its concentration implies, at most all of it.
        Noise { together: (of_mean + concentration.min(1.0)) * error, ..Noise::random(variance) }
    }

    /// Σ s'_i s'_(i+d) of the large key's bits: w'²/kN.
    fn neighbours(&self) -> f64 {
        self.large_weight().powi(2) / self.masks() as f64
    }

    /// Contributions of one external product to a phase: those of every row, and those of rounding if the message is 1.
    fn external_product_parts(&self, transform: Transform) -> (Noise, Noise) {
        let (gadget, bits) = (self.bootstrap_gadget, self.torus_bits);
        let (masks, weight) = (self.masks() as f64, self.large_weight());
        let digits = self.ggsw_rows() as f64 * self.ring_degree.get() as f64;
        let unit = if let Transform::Measured { log2_unit, .. } = transform { log2_unit } else { 0 };
        let rounding = rounding_variance_of(bits, gadget.kept_bits(), unit);
        let mean = rounding_mean_squared_of(bits, gadget.kept_bits(), unit) * (masks * masks / 12.0 + masks / 4.0);
        let rounding =
            Noise { together: self.neighbours() * rounding + mean, ..Noise::random((1.0 + weight) * rounding + mean) };
        let noise = self.fresh(LweKind::Large).variance;
        let products = self.transform_in_phase(transform);
        let variance = digits * digit_variance(gadget.log2_base) * noise;
        (Noise::with_mean(variance, (digits * noise / 4.0).sqrt()).plus(products), rounding)
    }

    /// As [`external_product`].
    pub fn external_product(&self, transform: Transform) -> Noise {
        let (rows, rounding) = self.external_product_parts(transform);
        // Rounding contributes where the secret bit is 1.
        let ones = self.small_weight() / self.lwe_dimension as f64;
        rows.plus(rounding.sometimes(ones))
    }

    /// `count` iterations of a rotation, the last `shared` of which may share their mean over all results of a key.
    fn turned(&self, iteration: Noise, count: usize, shared: usize) -> Noise {
        iteration.rotated(count, shared, self.keys.mean_spread(count))
    }

    /// As [`blind_rotation_with`].
    pub fn blind_rotation(&self, transform: Transform) -> Noise {
        self.blind_rotation_unrolled(KeyUnrolling::of(self.secret), transform)
    }

    /// One iteration of [`Self::blind_rotation`].
    pub(crate) fn iteration(&self, transform: Transform) -> Noise {
        let own = KeyUnrolling::of(self.secret);
        if own.is_block() {
            self.unrolled_iteration(own, own.bits(), transform)
        } else {
            self.external_product(transform)
        }
    }

    /// One iteration that consumes `bits` secret bits, of `unrolling` or fewer in the last group.
    fn unrolled_iteration(&self, unrolling: KeyUnrolling, bits: u32, transform: Transform) -> Noise {
        let (rows, rounding) = self.external_product_parts(transform);
        let patterns = unrolling.patterns_of(bits as usize) as f64;
        // Probability that the secret bits are not all 0: at most one bit of a block is 1.
        let ones = (self.small_weight() / self.lwe_dimension as f64).min(1.0);
        let any = if unrolling.is_block() { ones * patterns } else { 1.0 - (1.0 - ones).powi(bits as i32) };
        let rows = rows.plus(rounding.sometimes(any / patterns));
        // X^e − 1 with a random e doubles a variance. It randomises a mean, and leaves a shared one of the same size.
        let mean = rows.shared * rows.shared;
        Noise {
            together: patterns * (2.0 * rows.together + mean),
            ..Noise::with_mean(patterns * (2.0 * rows.variance + mean), rows.shared * patterns.sqrt())
        }
    }

    /// [`blind_rotation_with`] a key for `unrolling` secret bits per iteration. An iteration of b > 1 bits adds
    /// Σ_u (X^⟨a~,u⟩ − 1) · (GGSW_u ⊡ ACC) over P patterns u, 2^b − 1 of uniform bits or b of a block, and X^e − 1 doubles a variance:
    ///
    /// V = 2 · P · (digits times rows' noise, their mean, and transform) + 2 · P(bits not all 0) · (rounding, its mean)
    ///
    /// with the terms of [`external_product`].
    pub fn blind_rotation_unrolled(&self, unrolling: KeyUnrolling, transform: Transform) -> Noise {
        let shared = unrolling.groups_within(self.secret.turning_bits());
        if unrolling == KeyUnrolling::ONE {
            return self.turned(self.external_product(transform), self.lwe_dimension, shared);
        }
        let (whole, rest) = unrolling.groups_of(self.lwe_dimension);
        let groups = self.turned(self.unrolled_iteration(unrolling, unrolling.bits(), transform), whole, shared);
        if rest == 0 {
            return groups;
        }
        groups.plus(self.turned(self.unrolled_iteration(unrolling, rest, transform), 1, 1))
    }

    /// log2 of the probability that `noise` exceeds one margin on one side or the other margin on the other; 0 if the first is not positive.
    pub fn failure_between_log2(&self, noise: Noise, [nearer, further]: [f64; 2]) -> f64 {
        let [nearer, further] = [nearer, further].map(|margin| self.failure_log2(noise, margin));
        if nearer == 0.0 { 0.0 } else { sum_log2(nearer - 1.0, further - 1.0) }
    }

    /// log2 of the probability that `noise` exceeds `margin`.
    pub fn failure_log2(&self, noise: Noise, margin: f64) -> f64 {
        self.keys.failure_log2(noise, margin)
    }
}

/// q^-2, the square of one unit of the torus.
pub(super) fn unit_squared(torus_bits: u32) -> f64 {
    (-2.0 * f64::from(torus_bits)).exp2()
}

/// Variance of rounding a uniform torus element to its `kept_bits` top bits: (D² − 1)/12 units², D = q / 2^kept_bits.
pub(super) fn rounding_variance(torus_bits: u32, kept_bits: u32) -> f64 {
    rounding_variance_of(torus_bits, kept_bits, 0)
}

/// [`rounding_variance`] for multiples of U = 2^`log2_unit` units: (D² − U²)/12; 0 if no bits are dropped.
fn rounding_variance_of(torus_bits: u32, kept_bits: u32, log2_unit: u32) -> f64 {
    let dropped = f64::from(torus_bits) - f64::from(kept_bits);
    ((2.0 * dropped).exp2() - (2.0 * f64::from(log2_unit)).exp2()).max(0.0) / 12.0 * unit_squared(torus_bits)
}

/// Mean of a decomposition's rounding error: half a unit (halves are rounded up); 0 if no bits are dropped.
fn rounding_mean_squared(torus_bits: u32, kept_bits: u32) -> f64 {
    rounding_mean_squared_of(torus_bits, kept_bits, 0)
}

/// [`rounding_mean_squared`] for multiples of 2^`log2_unit` units.
fn rounding_mean_squared_of(torus_bits: u32, kept_bits: u32, log2_unit: u32) -> f64 {
    let unit = unit_squared(torus_bits) * (2.0 * f64::from(log2_unit)).exp2();
    if kept_bits + log2_unit < torus_bits { unit / 4.0 } else { 0.0 }
}

/// Variance of a uniform digit in [−β/2, β/2), whose mean is −1/2: (β² − 1)/12.
pub(super) fn digit_variance(log2_base: u32) -> f64 {
    ((2.0 * f64::from(log2_base)).exp2() - 1.0) / 12.0
}

fn accepted(parameters: &Parameters) -> Formulas {
    Formulas::of(parameters, Keys::Accepted)
}

/// A fresh encryption: σ², and 1/12 of a unit² from rounding the Gaussian to the torus.
pub fn fresh(parameters: &Parameters, kind: LweKind) -> Noise {
    accepted(parameters).fresh(kind)
}

/// Σ w_i²: the factor on the variance of independent ciphertexts of equal variance.
pub fn squared_norm(weights: impl IntoIterator<Item = i64>) -> f64 {
    weights.into_iter().map(|weight| (weight as f64).powi(2)).sum()
}

/// Σ w_i c_i of independent ciphertexts, as (w_i, V_i): Σ w_i² V_i. A clear constant adds nothing.
pub fn linear(terms: impl IntoIterator<Item = (i64, f64)>) -> f64 {
    terms.into_iter().map(|(weight, variance)| (weight as f64).powi(2) * variance).sum()
}

/// Noise added by a key switch; `None` for a set without one.
///
/// V = kN · l_k · (β_k² − 1)/12 · V_lwe  (each digit times a row's noise)
///   + w' · (D² − 1)/12 · q^-2  (rounding to β_k^l_k levels, where s'_i = 1)
///
/// with a shared mean of deviation √(kN · l_k · V_lwe/4 + w'²/4 · q^-2) from the digits' mean of −1/2 and the rounding's of half a unit.
/// D = q / β_k^l_k; w' is the weight of s'. If β_k^l_k = q, rounding drops nothing.
pub fn key_switch(parameters: &Parameters) -> Option<Noise> {
    parameters.key_switch_gadget().map(|gadget| accepted(parameters).key_switch(gadget))
}

/// Noise added by the modulus switch of a small ciphertext to 2N: (1 + w) · ((1/2N)² − q^-2)/12, the rounding of the body and of the w mask
/// elements whose secret bit is 1.
pub fn modulus_switch(parameters: &Parameters) -> Noise {
    modulus_switch_with(parameters, PhaseRounding::Nearest, 0)
}

/// [`modulus_switch`] with the given rounding, to multiples of 2^`log2_tables`/2N, for 2^`log2_tables` LUTs in one test polynomial. Centred
/// rounding has Σ (s_i − μ)² instead of w: n/4 for uniform bits, about n·l/(l + 1)² for blocks of l.
pub fn modulus_switch_with(parameters: &Parameters, rounding: PhaseRounding, log2_tables: u32) -> Noise {
    accepted(parameters).modulus_switch(rounding, log2_tables)
}

/// Error of one output coefficient of one external product due to the transform alone, including rounding to the torus.
pub fn transform_error(parameters: &Parameters, transform: Transform) -> f64 {
    accepted(parameters).transform_error(transform)
}

/// Noise that one CMUX adds to a coefficient of the accumulator's phase, averaged over the secret bit.
///
/// V = (k+1) · l · N · (β² − 1)/12 · V_glwe  (digits times the noise of the GGSW's rows)
///   + w/n · (1 + w') · (D² − 1)/12 · q^-2  (rounding of the k+1 polynomials, where s_i = 1)
///   + w/n · ((kN)²/48 + kN/16) · q^-2  (its mean of half a unit: the polynomial ½ Σ X^c times S_j, at a random rotation)
///   + (1 + w' + c·w'²/kN) · V_transform  (error of each polynomial; those of the masks are multiplied by S_j, whose mean correlates with
///     an error of concentration c)
///
/// with a shared mean of deviation √((k+1) · l · N · V_glwe/4) from the digits' mean of −1/2 times the rows' noise. D = q / β^l; w and w' are
/// the weights of the two keys. The third line is zero if β^l = q. In fixed point, results and therefore accumulators are multiples of a unit
/// U of the torus: (D² − U²)/12 and U² in the second and third line.
pub fn external_product(parameters: &Parameters, transform: Transform) -> Noise {
    accepted(parameters).external_product(transform)
}

/// Noise of a PBS output (blind rotation, then sample extraction, which adds nothing): n times [`external_product`], with its mean, which
/// later iterations rotate ([`Noise::rotated`]); for blocks as in [`Formulas::blind_rotation_unrolled`]. The test polynomial is not encrypted, and the input's noise does not reach the output.
pub fn blind_rotation_with(parameters: &Parameters, transform: Transform) -> Noise {
    accepted(parameters).blind_rotation(transform)
}

/// [`blind_rotation_with`] the f64 transform of this processor.
pub fn blind_rotation(parameters: &Parameters) -> Noise {
    blind_rotation_with(parameters, Transform::F64)
}
