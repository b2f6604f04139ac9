//! Encodes vectors of complex numbers as polynomials, and decodes them.
//!
//! Let n be the number of slots, a power of two up to N/2, g = N/2n, Δ the scale and u the slots' inverse transform ([`special_fft`]).
//! Then round(Δ·Re u_i) is the coefficient of X^(i·g) and round(Δ·Im u_i) that of X^(N/2 + i·g). With fewer than N/2 slots the
//! polynomial is in X^g (sparse packing); decoded with N/2 slots it shows the vector N/2n times.
//!
//! # Error
//! Each coefficient is exact to within 1/2 (the rounding) + Δ·6·log2(n)·2^-53·max|z| (the transform) + 2^-53·|Δu_i| (the product with
//! Δ). Integers above 2^53 are multiples of a power of two and are reduced to limbs exactly. Decoding reconstructs each coefficient
//! exactly modulo Q and rounds it once to f64 before the forward transform.

mod complex;
pub mod special_fft;

pub use complex::Complex;
pub use special_fft::SpecialFft;

use polyfabric_kernels::RingDegree;
use rayon::prelude::*;
use thiserror::Error;

use crate::rns::reconstruct::Reconstruction;
use crate::rns::{Domain, LimbId, Ring, RnsPolynomial};

/// Why values cannot be encoded.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum EncodingError {
    #[error(
        "{given} values, but a ring of degree {degree} has {max} slots; use fewer values, several ciphertexts, or a larger degree"
    )]
    TooMany { given: usize, degree: usize, max: usize },
    #[error("{0} slots; slots are a power of two of at least 1: fill the vector up with zeros")]
    Slots(usize),
    #[error("{given} coefficients, but a ring of degree {degree} has {degree}; give at most that many")]
    TooManyCoefficients { given: usize, degree: usize },
    #[error("value {index} is {value}; only finite numbers can be encoded")]
    NotFinite { index: usize, value: f64 },
    #[error("scale {0} is not a positive number; use the parameters' scale")]
    Scale(f64),
    #[error(
        "a coefficient of 2^{coefficient_log2:.1} at scale 2^{scale_log2:.1} does not fit the modulus, 2^{modulus_log2:.1}; use smaller values, a smaller scale, or a higher level"
    )]
    TooLarge { coefficient_log2: f64, scale_log2: f64, modulus_log2: f64 },
}

/// Encodes and decodes for one ring degree. Owns large tables; share it.
#[derive(Clone, Debug)]
pub struct Encoder {
    degree: RingDegree,
    fft: SpecialFft,
}

/// Largest coefficient: integers have 127 bits.
pub const MAX_COEFFICIENT: f64 = (1u128 << 126) as f64;

impl Encoder {
    /// For rings of `degree`.
    pub fn new(degree: RingDegree) -> Self {
        Self { degree, fft: SpecialFft::new(degree.get() / 2) }
    }

    /// N.
    pub fn degree(&self) -> RingDegree {
        self.degree
    }

    /// N/2.
    pub fn max_slots(&self) -> usize {
        self.degree.get() / 2
    }

    /// The transform.
    pub fn fft(&self) -> &SpecialFft {
        &self.fft
    }

    fn check_slots(&self, slots: usize) -> Result<(), EncodingError> {
        if slots > self.max_slots() {
            return Err(EncodingError::TooMany { given: slots, degree: self.degree.get(), max: self.max_slots() });
        }
        if slots.is_power_of_two() { Ok(()) } else { Err(EncodingError::Slots(slots)) }
    }

    /// The N integer coefficients of `values`, one per slot, at `scale`. The vector's length is the number of slots.
    pub fn coefficients(&self, values: &[Complex], scale: f64) -> Result<Vec<i128>, EncodingError> {
        let u = self.transformed(values)?;
        let count = self.degree.get();
        let gap = count / 2 / u.len();
        let mut coefficients = vec![0; count];
        let (low, high) = coefficients.split_at_mut(count / 2);
        for (u, (low, high)) in u.iter().zip(low.iter_mut().step_by(gap).zip(high.iter_mut().step_by(gap))) {
            *low = round(u.re, scale)?;
            *high = round(u.im, scale)?;
        }
        Ok(coefficients)
    }

    /// The largest absolute value of those coefficients.
    pub fn largest_coefficient(&self, values: &[Complex], scale: f64) -> Result<f64, EncodingError> {
        let u = self.transformed(values)?;
        let largest = u.iter().fold(0.0, |largest: f64, u| largest.max(u.re.abs()).max(u.im.abs()));
        // Rounding is monotonic, so the largest stays the largest.
        Ok(round(largest, scale)? as f64)
    }

    /// The coefficients before scaling and rounding.
    fn transformed(&self, values: &[Complex]) -> Result<Vec<Complex>, EncodingError> {
        self.check_slots(values.len())?;
        if let Some((index, value)) = values.iter().enumerate().find(|(_, value)| !value.is_finite()) {
            let value = if value.re.is_finite() { value.im } else { value.re };
            return Err(EncodingError::NotFinite { index, value });
        }
        let mut u = values.to_vec();
        self.fft.inverse(&mut u);
        Ok(u)
    }

    /// The polynomial whose slots are `values` at `scale`, over `limbs`.
    pub fn encode(
        &self,
        ring: &Ring,
        limbs: &[LimbId],
        domain: Domain,
        values: &[Complex],
        scale: f64,
    ) -> Result<RnsPolynomial, EncodingError> {
        residues(ring, limbs, domain, &self.coefficients(values, scale)?, scale)
    }

    /// The polynomial whose coefficients are `values` at `scale`, X^0's first.
    pub fn encode_coefficients(
        &self,
        ring: &Ring,
        limbs: &[LimbId],
        domain: Domain,
        values: &[f64],
        scale: f64,
    ) -> Result<RnsPolynomial, EncodingError> {
        if values.len() > self.degree.get() {
            return Err(EncodingError::TooManyCoefficients { given: values.len(), degree: self.degree.get() });
        }
        if let Some((index, &value)) = values.iter().enumerate().find(|(_, value)| !value.is_finite()) {
            return Err(EncodingError::NotFinite { index, value });
        }
        let mut coefficients = values.iter().map(|&value| round(value, scale)).collect::<Result<Vec<_>, _>>()?;
        coefficients.resize(self.degree.get(), 0);
        residues(ring, limbs, domain, &coefficients, scale)
    }

    /// Divides the coefficients of `polynomial`, centred modulo its limbs' product, by `scale`.
    pub fn decode_coefficients(&self, ring: &Ring, polynomial: &RnsPolynomial, scale: f64) -> Vec<f64> {
        let mut polynomial = polynomial.clone();
        polynomial.inverse(ring);
        let moduli: Vec<_> = polynomial.limbs().iter().map(|&limb| ring.modulus(limb)).collect();
        let reconstruction = Reconstruction::new(&moduli);
        let value = |place: usize| {
            let residues = (0..moduli.len()).map(|position| polynomial.limb(position)[place]);
            let (fraction, exponent) = reconstruction.integer(residues).to_scaled();
            let scaled = fraction / scale;
            scaled * f64::from(exponent / 2).exp2() * f64::from(exponent - exponent / 2).exp2()
        };
        (0..self.degree.get()).into_par_iter().map(value).collect()
    }

    /// Decodes the first `slots` slots of `polynomial` at `scale`; a vector of this length repeats in it.
    ///
    /// # Errors
    /// [`EncodingError::TooMany`], [`EncodingError::Slots`], [`EncodingError::Scale`].
    pub fn decode(
        &self,
        ring: &Ring,
        polynomial: &RnsPolynomial,
        scale: f64,
        slots: usize,
    ) -> Result<Vec<Complex>, EncodingError> {
        self.check_slots(slots)?;
        if !(scale > 0.0 && scale.is_finite()) {
            return Err(EncodingError::Scale(scale));
        }
        Ok(self.slots_of(&self.decode_coefficients(ring, polynomial, scale), slots))
    }

    /// The first `slots` slots of N real coefficients; ignores the coefficients between packed ones.
    ///
    /// # Panics
    /// Unless there are N coefficients, and `slots` is a power of two of at most N/2.
    pub fn slots_of(&self, coefficients: &[f64], slots: usize) -> Vec<Complex> {
        assert_eq!(coefficients.len(), self.degree.get(), "a polynomial has N coefficients");
        let half = self.max_slots();
        let packed = (0..half).step_by(half / slots);
        let mut values: Vec<Complex> =
            packed.map(|place| Complex::new(coefficients[place], coefficients[place + half])).collect();
        self.fft.forward(&mut values);
        values
    }
}

/// The integer nearest to value·scale.
fn round(value: f64, scale: f64) -> Result<i128, EncodingError> {
    if !(scale > 0.0 && scale.is_finite()) {
        return Err(EncodingError::Scale(scale));
    }
    let product = (value * scale).round();
    if product.abs() > MAX_COEFFICIENT {
        let (coefficient_log2, scale_log2) = (product.abs().log2(), scale.log2());
        return Err(EncodingError::TooLarge { coefficient_log2, scale_log2, modulus_log2: MAX_COEFFICIENT.log2() });
    }
    Ok(product as i128)
}

/// Reduces integers to `limbs`, in `domain`.
///
/// # Errors
/// [`EncodingError::TooLarge`] for an integer of at least half of the limbs' product.
pub fn residues(
    ring: &Ring,
    limbs: &[LimbId],
    domain: Domain,
    coefficients: &[i128],
    scale: f64,
) -> Result<RnsPolynomial, EncodingError> {
    let largest = coefficients.iter().map(|coefficient| coefficient.unsigned_abs()).max().unwrap_or(0);
    let modulus_log2 = ring.log2_product(limbs);
    let coefficient_log2 = (largest as f64).log2();
    if coefficient_log2 >= modulus_log2 - 1.0 {
        return Err(EncodingError::TooLarge { coefficient_log2, scale_log2: scale.log2(), modulus_log2 });
    }
    let small = largest < 1 << 62;
    let mut polynomial = RnsPolynomial::zero(ring.degree(), limbs, domain);
    polynomial.for_each_limb(|limb, _, words| {
        let modulus = ring.modulus(limb);
        for (word, &coefficient) in words.iter_mut().zip(coefficients) {
            *word = if small {
                modulus.reduce_signed(coefficient as i64)
            } else {
                let residue = modulus.reduce_wide(coefficient.unsigned_abs());
                if coefficient < 0 { modulus.neg(residue) } else { residue }
            };
        }
        if domain == Domain::Evaluation {
            ring.ntt(limb).forward(words);
        }
    });
    Ok(polynomial)
}

#[cfg(test)]
mod tests;
