//! Bootstrapping of one number modulo 2^k (J. Alperin-Sheriff, C. Peikert, "Practical bootstrapping in quasilinear time", CRYPTO 2013,
//! sections 3 and 4, for p = 2 and without packing; digit extraction by squaring after C. Gentry, S. Halevi and N. Smart,
//! "Better bootstrapping in fully homomorphic encryption", PKC 2012).
//!
//! The operand is over limb 0 only, with plaintext modulus 2^k and the number in coefficient 0: c_0 + c_1·s = f·m + 2^k·ε mod q_0, with
//! correction factor f.
//!
//! 1. *Modulus switch to 2^e.* With x_i = c_i/2^k mod q_0 the number moves to the top: x_0 + x_1·s is about m'·q_0/2^k, where
//!    m' = u·f·m mod 2^k and u = −q_0^−1 mod 2^k, because 2^−k mod q_0 is (1 + u·q_0)/2^k. The numbers y_i = round(2^e·x_i/q_0) satisfy
//!    y_0 + y_1·s = v mod 2^e with v about m'·2^(e−k). They are public, so they are computed in the clear with residues:
//!    y = (2^e·x − \[2^e·x\]_(q_0))/q_0 modulo every other prime.
//! 2. *Inner product with the encrypted secret*, whose plaintext modulus is 2^e·N: y_0 + y_1·Enc(s) encrypts v. It is a key switch of
//!    one digit, y_1.
//! 3. *Trace.* v ← v + v(X^g) for g = N + 1, N/2 + 1, …, 3 leaves the constant N·v_0. Dividing by N, which is invertible modulo Q,
//!    leaves v_0 with plaintext modulus 2^e.
//! 4. *Digit extraction.* w = v_0 + 2^(e−k−1) mod 2^e has m' as its top k bits. For a bit b, z ≡ b mod 2^i implies z² ≡ b mod 2^(i+1).
//!    So each bit, from the lowest, is lifted by squaring and subtracted, and the rest is halved. The depth is e − 1; with k = 1 there
//!    are e·(e − 1)/2 squarings.
//!
//! The result encrypts m with plaintext modulus 2^k, over the limbs that the noise leaves.

use super::error::LESS_NOISE;
use super::{BgvError, BgvValue, Evaluator, Result, State};
use crate::rns::kernel::{Conversion, LimbSet, ValueId};
use crate::rns::lowering::Lowering;
use polyfabric_kernels::automorphism::GaloisElement;
use polyfabric_schemes::bgv::noise::{DigitSize, KAPPA, RARE_KAPPA, Spread};
use polyfabric_schemes::bgv::parameters::{BootstrapLiteral, MIN_MARGIN};
use polyfabric_schemes::bgv::{BOOTSTRAP_SECRET, Parameters};
use polyfabric_schemes::rns::{KeyErrors, KeyId, LimbId};

/// The automorphisms of the trace in order: N + 1, N/2 + 1, …, 3. After the first i only multiples of X^(2^i) remain.
pub fn trace_elements(degree: polyfabric_kernels::RingDegree) -> Vec<GaloisElement> {
    let count = degree.get();
    let elements = (0..degree.log2()).map(|step| GaloisElement::new(degree, (count >> step) + 1));
    elements.filter_map(std::result::Result::ok).collect()
}

/// Bootstraps `value`: its constant coefficient over the limbs that bootstrapping leaves. Other coefficients are dropped.
///
/// # Errors
/// [`BgvError::Unsupported`] if the parameters have no bootstrapping, [`BgvError::Margin`] if the operand is too noisy,
/// [`BgvError::Noise`] if there are too few limbs.
pub fn refresh(evaluator: &mut Evaluator<'_, '_>, value: &BgvValue, parameters: &Parameters) -> Result<BgvValue> {
    let t = parameters.plaintext_modulus();
    let Some(BootstrapLiteral { exponent }) = parameters.literal().bootstrap else {
        let remedy = match t.is_packed() {
            true => {
                "bootstrapping supports no slots: declare the numbers as pf.Mod(2), one per \
                 ciphertext, or take parameters with enough limbs for the whole program"
            }
            false => "take a parameter set with a bootstrap exponent, such as f1-bootstrap",
        };
        return Err(BgvError::Unsupported { op: "bootstrap", remedy });
    };
    // A power of two, as the parameter check ensures.
    let bits = t.value().trailing_zeros();
    let exhausted = evaluator.switch(value, 1)?;
    let rules = evaluator.rules();
    let left = |bound: f64| {
        let noise = bound + f64::from(exponent - bits) - rules.log2_modulus(1);
        parameters.bootstrap_margin() * (1.0 - (noise - f64::from(exponent - bits - 1)).exp2())
    };
    let noise = exhausted.state.noise;
    let (often, rarely) = (left(noise.bound), left(noise.rare_bound));
    if often < MIN_MARGIN {
        return Err(BgvError::Margin { deviations: often, least: MIN_MARGIN });
    }
    let (kappa, deviations) = if rarely < MIN_MARGIN { (KAPPA, often) } else { (RARE_KAPPA, rarely) };
    evaluator.count_bootstrap(kappa, deviations);
    evaluator.count("modulus_to_power_of_two", 1);
    let parts = match evaluator.lowering() {
        Some(lowering) => Some(to_power_of_two(lowering, exhausted.parts(), exponent, bits)?),
        None => None,
    };
    evaluator.name("bootstrap: inner product with the encrypted secret");
    let inner = inner_product(evaluator, parts, exponent)?;
    let constant = trace(evaluator, &inner)?;
    let mut refreshed = top_bits(evaluator, &constant, exponent, bits)?;
    // The top bits are u·f·m.
    let (t, q) = (t.modulus(), evaluator.chain().modulus(LimbId(0)).value());
    let missing = || BgvError::Factor { op: "bootstrap", t: t.value() };
    let u = t.neg(t.inverse(q % t.value()).ok_or_else(missing)?);
    let taken = t.multiply(u, t.reduce(exhausted.state.factor));
    refreshed.state.factor = t.multiply(t.reduce(refreshed.state.factor), taken);
    Ok(refreshed)
}

/// Step 1: y_0 + 2^(e−k−1) and y_1 over all limbs of Q, in the evaluation domain.
fn to_power_of_two(
    lowering: &mut Lowering<'_>,
    given: &[ValueId],
    exponent: u32,
    bits: u32,
) -> Result<(ValueId, ValueId)> {
    let chain = lowering.chain();
    let all = chain.limbs(chain.top());
    let (zero, rest) = (LimbSet::one(LimbId(0)), all.difference(&LimbSet::one(LimbId(0))));
    if rest.is_empty() {
        let modulus = chain.log2_modulus(0);
        return Err(BgvError::Noise { op: "bootstrap", bound: modulus, modulus, limbs: 1, remedy: LESS_NOISE });
    }
    let first = LimbSet::one(rest.as_slice()[0]);
    let q = chain.modulus(LimbId(0));
    // 2^−k is ((q + 1)/2)^k.
    let part = q.power(q.value().div_ceil(2), u64::from(bits));
    let two_e = q.power(q.reduce(2), u64::from(exponent));
    let inverse_of_q: Vec<u64> = rest
        .iter()
        // The inverse exists because the primes are distinct.
        .map(|limb| chain.modulus(limb).inverse(q.value() % chain.modulus(limb).value()).unwrap_or(0))
        .collect();
    let mut parts = Vec::new();
    for &given in given {
        let builder = lowering.builder();
        let given = builder.inverse_ntt(given)?;
        let x = builder.scale(given, &[part])?;
        let remainder = builder.scale(x, &[two_e])?;
        let x = builder.base_conversion(x, rest.clone(), Conversion::Centred)?;
        let remainder = builder.base_conversion(remainder, rest.clone(), Conversion::Centred)?;
        let factors = builder.residues(1 << exponent, &rest);
        let x = builder.scale(x, &factors)?;
        let multiple = builder.sub(x, remainder)?;
        let y = builder.scale(multiple, &inverse_of_q)?;
        // |y| ≤ 2^(e−1), so any single limb determines it.
        let lowest = builder.select_limbs(y, first.clone())?;
        let lowest = builder.base_conversion(lowest, zero.clone(), Conversion::Centred)?;
        let y = builder.concat(&[lowest, y])?;
        parts.push(builder.forward_ntt(y)?);
    }
    let builder = lowering.builder();
    let half_step = builder.residues(1 << (exponent - bits - 1), &all);
    Ok((builder.add_constant(parts[0], &half_step)?, parts[1]))
}

/// Step 2: an encryption of y_0 + y_1·s with plaintext modulus 2^e·N.
fn inner_product(
    evaluator: &mut Evaluator<'_, '_>,
    given: Option<(ValueId, ValueId)>,
    exponent: u32,
) -> Result<BgvValue> {
    let rules = evaluator.rules();
    let log2_t = f64::from(exponent + rules.model().degree.log2());
    let digit = DigitSize { log2: f64::from(exponent), spread: Spread::centred(1) };
    // y_0 + y_1·s is as large as a rounding, times 2^e.
    let noise = rules
        .model()
        .inner_product(log2_t, &[digit], KeyErrors::Drawn)
        .plus(rules.model().rounding(f64::from(exponent), Spread::centred(1)));
    let limbs = rules.limbs();
    evaluator.count("inner_product", limbs);
    let mut parts = Vec::new();
    if let (Some((body, mask)), Some(lowering)) = (given, evaluator.lowering()) {
        let builder = lowering.builder();
        let (more, mask) = builder.inner_product_of_rows(KeyId::Other(BOOTSTRAP_SECRET), &[0], &[mask])?;
        parts = vec![builder.add(body, more)?, mask];
    }
    Ok(BgvValue::new(State { limbs, factor: 1, noise, log2_t, quadratic: false }, parts))
}

/// Step 3: the constant coefficient, with plaintext modulus t/N.
fn trace(evaluator: &mut Evaluator<'_, '_>, value: &BgvValue) -> Result<BgvValue> {
    evaluator.name("bootstrap: trace");
    let degree = evaluator.rules().model().degree;
    let mut sum = value.clone();
    for element in trace_elements(degree) {
        let moved = evaluator.automorphism(&sum, element)?;
        sum = evaluator.add(&sum, &moved, false)?;
    }
    evaluator.halve(&sum, degree.log2())
}

/// Step 4: the top k of the e bits of `value`, with plaintext modulus 2^k.
fn top_bits(evaluator: &mut Evaluator<'_, '_>, value: &BgvValue, exponent: u32, bits: u32) -> Result<BgvValue> {
    evaluator.name("bootstrap: digit extraction");
    let low = exponent - bits;
    // lifted[j] ≡ bit j modulo 2^(i − j) once i bits are known.
    let mut lifted: Vec<BgvValue> = Vec::new();
    for known in 0..=low {
        // Each bit becomes known modulo one more power of two; at the end, modulo all remaining ones.
        let squarings = if known == low { bits } else { 1 };
        let mut rest = value.clone();
        for bit in &mut lifted {
            for _ in 0..squarings {
                *bit = evaluator.square(bit)?;
                *bit = evaluator.linear(bit)?;
            }
            let even = evaluator.add(&rest, bit, true)?;
            rest = evaluator.halve(&even, 1)?;
        }
        lifted.push(rest);
    }
    lifted.pop().ok_or(BgvError::NotBgv)
}
