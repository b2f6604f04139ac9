//! Evaluates polynomials and linear transforms of a BGV program by sums, products and rotations.

use super::{BgvValue, Evaluator, Result};
use crate::rns::homomorphic::{Diagonals, Values};
use polyfabric_kernels::automorphism::GaloisElement;
use polyfabric_kernels::modular::Modulus;
use polyfabric_schemes::bgv::Noise;
use std::collections::BTreeMap;

/// Excess noise, in bits, that a sum of two products may have; a sum of two equally noisy products has one bit.
const ALIKE: f64 = 1.25;

/// Σ_d diagonal_d·rotate(a, d); the rotations share the digits of a. `sizes` are those of the encoded diagonals.
pub fn linear_transform(
    evaluator: &mut Evaluator<'_, '_>,
    a: &BgvValue,
    diagonals: &Diagonals,
    sizes: &[Noise],
    rotation: impl Fn(i64) -> GaloisElement,
) -> Result<BgvValue> {
    let a = evaluator.linear(a)?;
    let mut sum: Option<BgvValue> = None;
    for ((&offset, diagonal), &size) in diagonals.by_offset.iter().zip(sizes) {
        let rotated = evaluator.automorphism(&a, rotation(offset))?;
        let term = evaluator.multiply_public(&rotated, diagonal, size)?;
        sum = Some(match sum {
            Some(sum) => evaluator.add(&sum, &term, false)?,
            None => term,
        });
    }
    Ok(sum.unwrap_or(a))
}

/// Powers of one ciphertext, each of minimal depth: x^i = x^(2^k)·x^(i − 2^k), where 2^k is the largest power of two below i.
#[derive(Clone)]
struct Powers {
    known: BTreeMap<usize, BgvValue>,
    /// Powers with two parts, by exponent and limbs: several sums share one relinearization and switch.
    switched: BTreeMap<(usize, usize), BgvValue>,
}

impl Powers {
    fn get(&mut self, evaluator: &mut Evaluator<'_, '_>, exponent: usize) -> Result<BgvValue> {
        if let Some(known) = self.known.get(&exponent) {
            return Ok(known.clone());
        }
        let power = if exponent.is_power_of_two() {
            let half = self.get(evaluator, exponent / 2)?;
            evaluator.square(&half)?
        } else {
            let high = 1 << exponent.ilog2();
            let (high, low) = (self.get(evaluator, high)?, self.get(evaluator, exponent - high)?);
            evaluator.multiply(&high, &low)?
        };
        self.known.insert(exponent, power.clone());
        Ok(power)
    }

    /// x^`exponent` over the first `limbs` limbs, with two parts.
    fn over(&mut self, evaluator: &mut Evaluator<'_, '_>, exponent: usize, limbs: usize) -> Result<BgvValue> {
        if let Some(switched) = self.switched.get(&(exponent, limbs)) {
            return Ok(switched.clone());
        }
        let power = self.get(evaluator, exponent)?;
        let switched = evaluator.switch(&power, limbs)?;
        self.switched.insert((exponent, limbs), switched.clone());
        Ok(switched)
    }

    /// Σ c_i·x^i over `terms` (i, c_i), over the fewest limbs of any of the powers. The noisiest power is not multiplied: its correction
    /// factor absorbs the coefficient, and the others are multiplied to reach the same factor. With `once`, nothing else reads these
    /// powers, so a product is not relinearized.
    fn combine(
        &mut self,
        evaluator: &mut Evaluator<'_, '_>,
        terms: &[(usize, i64)],
        once: bool,
    ) -> Result<Option<BgvValue>> {
        let mut values = Vec::with_capacity(terms.len());
        for &(exponent, coefficient) in terms {
            values.push((exponent, coefficient, self.get(evaluator, exponent)?));
        }
        let limbs = values.iter().map(|(_, _, power)| power.state.limbs).min().unwrap_or(0);
        for (exponent, _, power) in &mut values {
            if !once || power.state.limbs > limbs {
                *power = self.over(evaluator, *exponent, limbs)?;
            }
        }
        values.sort_by(|(.., a), (.., b)| b.state.noise.bound.total_cmp(&a.state.noise.bound));
        let factor = values.iter().find_map(|(_, coefficient, power)| evaluator.taken_up(power, *coefficient));
        let mut sum: Option<BgvValue> = None;
        for (_, coefficient, power) in &values {
            let term = evaluator.times_with_factor(power, *coefficient, factor.unwrap_or(power.state.factor))?;
            sum = Some(match sum {
                Some(sum) => evaluator.add(&sum, &term, false)?,
                None => term,
            });
        }
        Ok(sum)
    }
}

/// Σ_i c_i·a^i with coefficients modulo t, by the Paterson-Stockmeyer method.
///
/// Baby steps are a, …, a^(k−1) and giant steps a^k, a^2k, a^4k, …. A block of k coefficients is a sum of integer multiples, and a giant
/// step joins two halves of the polynomial (M. Paterson, L. Stockmeyer, SIAM J. Comput. 2, 1973). If the noise permits, the lower half
/// uses the limbs of the product that it is added to, so that only their sum is relinearized.
pub fn polynomial(
    evaluator: &mut Evaluator<'_, '_>,
    a: &BgvValue,
    coefficients: &[i64],
    t: Modulus,
) -> Result<BgvValue> {
    let mut coefficients: Vec<i64> = coefficients.iter().map(|&c| t.centre(t.reduce_signed(c))).collect();
    while coefficients.len() > 1 && coefficients.last() == Some(&0) {
        coefficients.pop();
    }
    let mut powers = Powers { known: BTreeMap::from([(1, a.clone())]), switched: BTreeMap::new() };
    let degree = coefficients.len() - 1;
    // √(d/2) baby steps, rounded to a power of two so that giant steps are squares.
    let baby = ((degree as f64 / 2.0).sqrt().ceil() as usize).max(1).next_power_of_two().max(2);
    let once = coefficients.len() <= baby;
    match block(evaluator, &mut powers, &coefficients, baby, once)? {
        (Some(value), 0) => Ok(value),
        (Some(value), constant) => evaluator.add_public(&value, &Values::integer(&[constant]), false),
        // A constant polynomial: 0·a + c.
        (None, constant) => {
            let zero = evaluator.times_integer(a, 0)?;
            evaluator.add_public(&zero, &Values::integer(&[constant]), false)
        }
    }
}

/// Nonzero coefficients by exponent, without the constant one.
fn terms(coefficients: &[i64]) -> Vec<(usize, i64)> {
    coefficients.iter().copied().enumerate().skip(1).filter(|&(_, c)| c != 0).collect()
}

/// The largest giant step below the length; it splits the polynomial.
fn giant_step(coefficients: &[i64], baby: usize) -> usize {
    let mut giant = baby;
    while 2 * giant < coefficients.len() {
        giant *= 2;
    }
    giant
}

/// The polynomial without its constant coefficient (`None` if nothing else is left), and that coefficient. `once`: the polynomial is a
/// single block.
fn block(
    evaluator: &mut Evaluator<'_, '_>,
    powers: &mut Powers,
    coefficients: &[i64],
    baby: usize,
    once: bool,
) -> Result<(Option<BgvValue>, i64)> {
    if coefficients.len() <= baby {
        let sum = powers.combine(evaluator, &terms(coefficients), once)?;
        return Ok((sum, coefficients.first().copied().unwrap_or(0)));
    }
    let giant = giant_step(coefficients, baby);
    let (low, high) = coefficients.split_at(giant);
    let (high, lead) = block(evaluator, powers, high, baby, once)?;
    let product = match (high, lead) {
        (None, 0) => None,
        (None, lead) => powers.combine(evaluator, &[(giant, lead)], true)?,
        (Some(high), lead) => {
            let high = with_constant(evaluator, high, lead)?;
            let power = powers.get(evaluator, giant)?;
            Some(evaluator.multiply(&power, &high)?)
        }
    };
    let Some(product) = product else { return block(evaluator, powers, low, baby, once) };
    let constant = low[0];
    let joined = if low.len() > baby { joining(evaluator, powers, low, baby, &product)? } else { None };
    let low = match joined {
        Some(low) => Some(low),
        None => block(evaluator, powers, low, baby, once)?.0,
    };
    let sum = match low {
        Some(low) => evaluator.add(&product, &low, false)?,
        None => product,
    };
    Ok((Some(sum), constant))
}

fn with_constant(evaluator: &mut Evaluator<'_, '_>, value: BgvValue, constant: i64) -> Result<BgvValue> {
    match constant {
        0 => Ok(value),
        constant => evaluator.add_public(&value, &Values::integer(&[constant]), false),
    }
}

/// The polynomial without its constant coefficient, over the limbs of `product` and with its factor, if the noise of their sum is at most
/// [`ALIKE`] bits above the product's. A product is then not relinearized, because their sum is relinearized once.
fn joining(
    evaluator: &mut Evaluator<'_, '_>,
    powers: &mut Powers,
    coefficients: &[i64],
    baby: usize,
    product: &BgvValue,
) -> Result<Option<BgvValue>> {
    let (limbs, factor) = (product.state.limbs, product.state.factor);
    // Try it on states only.
    let mut dry = Evaluator::dry(evaluator.chain(), evaluator.rules())?;
    let tried = over_limbs(&mut dry, &mut powers.clone(), coefficients, baby, limbs, factor);
    let fits = |found: &BgvValue| {
        let sum = product.state.noise.plus(found.state.noise);
        found.state.limbs == limbs && sum.bound <= product.state.noise.bound + ALIKE
    };
    match tried {
        Ok(Some(found)) if fits(&found) => over_limbs(evaluator, powers, coefficients, baby, limbs, factor),
        _ => Ok(None),
    }
}

/// The polynomial without its constant coefficient over `limbs` limbs and with `factor`; factors are switched before products.
fn over_limbs(
    evaluator: &mut Evaluator<'_, '_>,
    powers: &mut Powers,
    coefficients: &[i64],
    baby: usize,
    limbs: usize,
    factor: u64,
) -> Result<Option<BgvValue>> {
    if coefficients.len() <= baby {
        let sum = powers.combine(evaluator, &terms(coefficients), false)?;
        return sum.map(|sum| evaluator.switch_with_factor(&sum, limbs, factor)).transpose();
    }
    let giant = giant_step(coefficients, baby);
    let (low, high) = coefficients.split_at(giant);
    let power = powers.over(evaluator, giant, limbs)?;
    let product = match block(evaluator, powers, high, baby, false)? {
        (None, 0) => None,
        (None, lead) => Some(evaluator.times_with_factor(&power, lead, factor)?),
        (Some(high), lead) => {
            let high = with_constant(evaluator, high, lead)?;
            let rest = evaluator.quotient(factor, power.state.factor)?;
            let high = evaluator.switch_with_factor(&high, limbs, rest)?;
            Some(evaluator.multiply_over(&power, &high, limbs)?)
        }
    };
    let low = over_limbs(evaluator, powers, low, baby, limbs, factor)?;
    match (product, low) {
        (Some(product), Some(low)) => Ok(Some(evaluator.add(&product, &low, false)?)),
        (one, other) => Ok(one.or(other)),
    }
}
