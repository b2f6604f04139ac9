//! The variance formulas.

use polyfabric_kernels::fixed::FixedFftSpec;
use polyfabric_kernels::{Gadget, RingDegree, fft};
use serde::{Deserialize, Serialize};

use crate::tfhe::lwe::LweKind;
use crate::tfhe::parameters::Parameters;
use crate::tfhe::unrolling::KeyUnrolling;

/// How polynomial products are computed, hence the noise that they add.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Transform {
    /// Exact integers: none.
    Exact,
    /// The folded negacyclic FFT in f64.
    F64,
    /// Any other transform, by the error of one output coefficient of one external product: for a fixed-point transform, what its
    /// widths give or what was measured.
    Measured {
        /// Variance of that error, in fractions of the torus squared.
        coefficient_variance: f64,
    },
}

impl Transform {
    /// The fixed-point transform of `spec`, by the error that it predicts of itself for `parameters`.
    pub fn fixed(spec: &FixedFftSpec, parameters: &Parameters) -> Self {
        Figures::from(parameters).fixed_transform(spec)
    }
}

/// How phases are rounded to multiples of 1/2N before a blind rotation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PhaseRounding {
    /// Every element to the nearest multiple.
    #[default]
    Nearest,
    /// The mask's elements to the nearest, and half the sum of their rounding errors is taken off the body before it is rounded: Σ e_i s_i
    /// becomes Σ e_i (s_i − 1/2), of half the variance.
    Centred,
}

/// What the formulas read of a parameter set, checked or a candidate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figures {
    pub torus_bits: u32,
    pub lwe_dimension: usize,
    pub glwe_dimension: usize,
    pub ring_degree: RingDegree,
    pub bootstrap_gadget: Gadget,
    pub lwe_noise_log2: f64,
    pub glwe_noise_log2: f64,
}

impl From<&Parameters> for Figures {
    fn from(parameters: &Parameters) -> Self {
        Self {
            torus_bits: parameters.torus_bits(),
            lwe_dimension: parameters.lwe_dimension().get(),
            glwe_dimension: parameters.glwe_dimension().get(),
            ring_degree: parameters.ring_degree(),
            bootstrap_gadget: parameters.bootstrap_gadget(),
            lwe_noise_log2: parameters.literal().lwe_noise_log2,
            glwe_noise_log2: parameters.literal().glwe_noise_log2,
        }
    }
}

impl Figures {
    /// kN.
    fn masks(&self) -> f64 {
        (self.glwe_dimension * self.ring_degree.get()) as f64
    }

    fn ggsw_rows(&self) -> usize {
        (self.glwe_dimension + 1) * self.bootstrap_gadget.levels as usize
    }

    pub fn fresh(&self, kind: LweKind) -> f64 {
        let log2 = match kind {
            LweKind::Small => self.lwe_noise_log2,
            LweKind::Large => self.glwe_noise_log2,
        };
        (2.0 * log2).exp2() + unit_squared(self.torus_bits) / 12.0
    }

    pub fn key_switch(&self, gadget: Gadget) -> f64 {
        let (inputs, bits) = (self.masks(), self.torus_bits);
        let digits = inputs * f64::from(gadget.levels) * digit_second_moment(gadget.log2_base);
        let rounding = inputs / 2.0 * rounding_variance(bits, gadget.kept_bits());
        // Σ s'_i · 1/2 has mean kN/4 and variance kN/16: taken as a second moment.
        let mean = rounding_mean_squared(bits, gadget.kept_bits()) * (inputs * inputs / 4.0 + inputs / 4.0);
        digits * self.fresh(LweKind::Small) + rounding + mean
    }

    /// To multiples of 2^`log2_tables`/2N.
    pub fn modulus_switch(&self, rounding: PhaseRounding, log2_tables: u32) -> f64 {
        let kept = self.ring_degree.log2() + 1 - log2_tables;
        let key_weight = match rounding {
            PhaseRounding::Nearest => 0.5,
            PhaseRounding::Centred => 0.25,
        };
        (1.0 + self.lwe_dimension as f64 * key_weight) * rounding_variance(self.torus_bits, kept)
    }

    pub fn transform_error(&self, transform: Transform) -> f64 {
        match transform {
            Transform::Exact => 0.0,
            Transform::Measured { coefficient_variance } => coefficient_variance,
            Transform::F64 => {
                let base = f64::from(self.bootstrap_gadget.log2_base).exp2();
                let of = |model: fn(RingDegree, f64, usize, u32) -> f64| {
                    model(self.ring_degree, base, self.ggsw_rows(), self.torus_bits).powi(2)
                };
                (of(fft::error_deviation) + of(fft::key_error_deviation) + 1.0 / 12.0) * unit_squared(self.torus_bits)
            }
        }
    }

    pub fn fixed_transform(&self, spec: &FixedFftSpec) -> Transform {
        let deviation = spec.error_deviation(self.bootstrap_gadget, self.ggsw_rows(), self.torus_bits);
        Transform::Measured { coefficient_variance: deviation * deviation * unit_squared(self.torus_bits) }
    }

    /// What one external product adds to a phase: what every row brings, and what rounding brings if the message is 1.
    fn external_product_parts(&self, transform: Transform) -> (f64, f64) {
        let (gadget, bits, masks) = (self.bootstrap_gadget, self.torus_bits, self.masks());
        let digits = self.ggsw_rows() as f64 * self.ring_degree.get() as f64 * digit_second_moment(gadget.log2_base);
        let rounding = (1.0 + masks / 2.0) * rounding_variance(bits, gadget.kept_bits());
        let mean = rounding_mean_squared(bits, gadget.kept_bits()) * (masks * masks / 12.0 + masks / 4.0);
        let rows = digits * self.fresh(LweKind::Large) + (1.0 + masks / 2.0) * self.transform_error(transform);
        (rows, rounding + mean)
    }

    pub fn external_product(&self, transform: Transform) -> f64 {
        let (rows, rounding) = self.external_product_parts(transform);
        rows + rounding / 2.0
    }

    /// One iteration that consumes `bits` secret bits.
    fn unrolled_iteration(&self, bits: u32, transform: Transform) -> f64 {
        let (rows, rounding) = self.external_product_parts(transform);
        let patterns = f64::from((1u32 << bits) - 1);
        2.0 * patterns * rows + 2.0 * patterns / f64::from(1u32 << bits) * rounding
    }
}

/// q^-2, the square of one unit of the torus.
fn unit_squared(torus_bits: u32) -> f64 {
    (-2.0 * f64::from(torus_bits)).exp2()
}

/// Variance of rounding a uniform torus element to its `kept_bits` top bits: (D² − 1)/12 units², D = q / 2^kept_bits.
fn rounding_variance(torus_bits: u32, kept_bits: u32) -> f64 {
    let dropped = f64::from(torus_bits) - f64::from(kept_bits);
    ((2.0 * dropped).exp2() - 1.0) / 12.0 * unit_squared(torus_bits)
}

/// Mean of a decomposition's rounding error: half a unit (halves are rounded up), none if nothing is dropped.
fn rounding_mean_squared(torus_bits: u32, kept_bits: u32) -> f64 {
    if kept_bits < torus_bits { unit_squared(torus_bits) / 4.0 } else { 0.0 }
}

/// `E[d²]` of a uniform digit in [−β/2, β/2): (β² − 1)/12 + 1/4, as its mean is −1/2.
fn digit_second_moment(log2_base: u32) -> f64 {
    ((2.0 * f64::from(log2_base)).exp2() + 2.0) / 12.0
}

/// A fresh encryption: σ², and 1/12 of a unit² from rounding the Gaussian to the torus.
pub fn fresh(parameters: &Parameters, kind: LweKind) -> f64 {
    Figures::from(parameters).fresh(kind)
}

/// Σ w_i², by which independent ciphertexts of equal variance scale.
pub fn squared_norm(weights: impl IntoIterator<Item = i64>) -> f64 {
    weights.into_iter().map(|weight| (weight as f64).powi(2)).sum()
}

/// Σ w_i c_i of independent ciphertexts, as (w_i, V_i): Σ w_i² V_i. A clear constant adds nothing.
pub fn linear(terms: impl IntoIterator<Item = (i64, f64)>) -> f64 {
    terms.into_iter().map(|(weight, variance)| (weight as f64).powi(2) * variance).sum()
}

/// What a key switch adds; `None` for a set without one.
///
/// V = kN · l_k · (β_k² + 2)/12 · V_lwe  (each digit times a row's noise)
///   + kN/2 · (D² − 1)/12 · q^-2 + ((kN)²/16 + kN/16) · q^-2  (rounding to β_k^l_k levels, where s'_i = 1; its mean of half a unit)
///
/// D = q / β_k^l_k. Rounding drops nothing, and the second line is zero, where β_k^l_k = q.
pub fn key_switch(parameters: &Parameters) -> Option<f64> {
    parameters.key_switch_gadget().map(|gadget| Figures::from(parameters).key_switch(gadget))
}

/// What the modulus switch of a small ciphertext to 2N adds: (1 + n/2) · ((1/2N)² − q^-2)/12, the rounding of the body and of every
/// mask element whose secret bit is 1.
pub fn modulus_switch(parameters: &Parameters) -> f64 {
    modulus_switch_with(parameters, PhaseRounding::Nearest, 0)
}

/// [`modulus_switch`] with a rounding, to multiples of 2^`log2_tables`/2N, as 2^`log2_tables` tables in one test polynomial need. Centred:
/// (1 + n/4) in place of (1 + n/2), as (s_i − 1/2)² = 1/4 whatever the key.
pub fn modulus_switch_with(parameters: &Parameters, rounding: PhaseRounding, log2_tables: u32) -> f64 {
    Figures::from(parameters).modulus_switch(rounding, log2_tables)
}

/// Error of one output coefficient of one external product from the transform alone, rounding to the torus included.
pub fn transform_error(parameters: &Parameters, transform: Transform) -> f64 {
    Figures::from(parameters).transform_error(transform)
}

/// What one CMUX adds to a coefficient of the accumulator's phase, on average over the secret bit.
///
/// V = (k+1) · l · N · (β² + 2)/12 · V_glwe  (digits times the noise of the GGSW's rows)
///   + 1/2 · (1 + kN/2) · (D² − 1)/12 · q^-2  (rounding of the k+1 polynomials, where s_i = 1)
///   + 1/2 · ((kN)²/48 + kN/16) · q^-2  (its mean of half a unit: the polynomial ½ Σ X^c times S_j, met at a random rotation)
///   + (1 + kN/2) · V_transform  (each polynomial's error; those of the masks are multiplied by S_j)
///
/// D = q / β^l. The third line is zero where β^l = q.
pub fn external_product(parameters: &Parameters, transform: Transform) -> f64 {
    Figures::from(parameters).external_product(transform)
}

/// Variance of a look-up's output (blind rotation, then sample extraction, which adds nothing): n times [`external_product`]. The
/// test polynomial is not encrypted, and the input's noise does not reach the output.
pub fn blind_rotation_with(parameters: &Parameters, transform: Transform) -> f64 {
    parameters.lwe_dimension().get() as f64 * external_product(parameters, transform)
}

/// [`blind_rotation_with`] a key for `unrolling` secret bits an iteration. An iteration of b > 1 bits adds
/// Σ_u (X^⟨a~,u⟩ − 1) · (GGSW_u ⊡ ACC) over 2^b − 1 patterns u, and X^e − 1 doubles a variance:
///
/// V = 2 · (2^b − 1) · (digits times rows' noise, and transform) + 2 · (1 − 2^-b) · (rounding, its mean)
///
/// with the terms of [`external_product`]; rounding counts where the secret bits are not all 0.
pub fn blind_rotation_unrolled(parameters: &Parameters, unrolling: KeyUnrolling, transform: Transform) -> f64 {
    if unrolling == KeyUnrolling::ONE {
        return blind_rotation_with(parameters, transform);
    }
    let figures = Figures::from(parameters);
    let (whole, rest) = unrolling.groups(parameters.lwe_dimension());
    let last = if rest == 0 { 0.0 } else { figures.unrolled_iteration(rest, transform) };
    whole as f64 * figures.unrolled_iteration(unrolling.bits(), transform) + last
}

/// [`blind_rotation_with`] the f64 transform, as a processor runs it.
pub fn blind_rotation(parameters: &Parameters) -> f64 {
    blind_rotation_with(parameters, Transform::F64)
}
