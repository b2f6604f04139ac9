//! Bootstrapping of a single bit (J. Alperin-Sheriff, C. Peikert, "Practical bootstrapping in quasilinear time", CRYPTO 2013,
//! sections 3 and 4, for p = 2 and without packing; digit extraction by squaring after C. Gentry, S. Halevi and N. Smart,
//! "Better bootstrapping in fully homomorphic encryption", PKC 2012).
//!
//! The input is over limb 0 alone, with plaintext modulus 2 and the bit in coefficient 0: c_0 + c_1·s = m + 2ε mod q_0.
//!
//! 1. *Modulus switch to 2^e.* With x_i = c_i/2 mod q_0 the bit moves to the top: x_0 + x_1·s is about m·q_0/2. The numbers
//!    y_i = round(2^e·x_i/q_0) satisfy y_0 + y_1·s = v mod 2^e, v about m·2^(e−1). They are public, so they are computed
//!    in the clear, with residues: y = (2^e·x − \[2^e·x\]_(q_0))/q_0 modulo every other prime.
//! 2. *Inner product with the encrypted secret*, whose plaintext modulus is 2^e·N: y_0 + y_1·Enc(s) encrypts v. It is a key
//!    switch of one digit, y_1.
//! 3. *Trace.* v ← v + v(X^g) for g = N + 1, N/2 + 1, …, 3 leaves N·v_0, a constant; division by N, exact as N is invertible
//!    modulo Q, leaves v_0 with plaintext modulus 2^e.
//! 4. *Digit extraction.* w = v_0 + 2^(e−2) mod 2^e has the bit m at the top. If z ≡ b mod 2^i then z² ≡ b mod 2^(i+1), b a bit; so
//!    from the lowest bit on every bit is lifted by squaring, subtracted, and the rest halved. e·(e − 1)/2 squarings, of
//!    depth e − 1.
//!
//! The result encrypts m with plaintext modulus 2, over the limbs that noise leaves.

use super::program::chain;
use super::{BgvError, BgvValue, Evaluator, Result, Rules, State, Steps};
use crate::rns::kernel::{Conversion, KernelProgram, KeyUse, LimbSet, ValueId, ValueType};
use crate::rns::lowering::{Lowering, PlaintextEncoder, RnsLowering};
use crate::rns::noise::NoiseModel as SlotModel;
use polyfabric_kernels::automorphism::GaloisElement;
use polyfabric_schemes::bgv::noise::DigitSize;
use polyfabric_schemes::bgv::{BOOTSTRAP_SECRET, Parameters};
use polyfabric_schemes::rns::{KeyId, LimbId};
use std::collections::BTreeMap;

/// Name of the one input: two parts over limb 0.
pub const INPUT: &str = "exhausted";
/// Name of the one output.
pub const OUTPUT: &str = "refreshed";

/// A lowered bootstrapping.
#[derive(Clone, Debug)]
pub struct BootstrapProgram {
    /// What a machine executes.
    pub kernel: KernelProgram,
    /// The result: its limbs, its noise.
    pub output: State,
    /// The switching keys needed, [`BOOTSTRAP_SECRET`] among them.
    pub keys: BTreeMap<KeyId, KeyUse>,
    /// The homomorphic operations, by name and limbs.
    pub steps: Steps,
}

/// The automorphisms of the trace, in order: N + 1, N/2 + 1, …, 3. After the first i only multiples of X^(2^i) are left.
pub fn trace_elements(degree: polyfabric_kernels::RingDegree) -> Vec<GaloisElement> {
    let count = degree.get();
    let elements = (0..degree.log2()).map(|step| GaloisElement::new(degree, (count >> step) + 1));
    elements.filter_map(std::result::Result::ok).collect()
}

/// Lowers the bootstrapping of `parameters`, over all their limbs.
///
/// # Errors
/// [`BgvError::Unsupported`] if they have none, [`BgvError::Noise`] if they have too few limbs.
pub fn lower_bootstrap(parameters: &Parameters, choice: &RnsLowering) -> Result<BootstrapProgram> {
    let Some(literal) = parameters.literal().bootstrap else {
        return Err(BgvError::Unsupported {
            op: "bootstrap",
            remedy: "take a parameter set with a bootstrap exponent",
        });
    };
    let model = parameters.noise_model();
    let key_t = parameters.key_noise_factor();
    let chain = chain(parameters, key_t)?;
    let rules = Rules::new(&chain, &choice.gadget, choice.conversion, model, (key_t as f64).log2());
    let slots = SlotModel {
        degree: model.degree,
        error_deviation: model.error_deviation,
        secret_weight: model.secret_weight,
        unit: key_t as f64,
    };
    let mut lowering = Lowering::new("bgv-bootstrap", &chain, choice.clone(), slots, &NoPlaintext)?;
    let (body, mask) = to_power_of_two(&mut lowering, literal.exponent)?;
    let mut evaluator = Evaluator::emitting(&mut lowering, &rules)?;
    let inner = inner_product(&mut evaluator, body, mask, literal.exponent)?;
    let constant = trace(&mut evaluator, &inner)?;
    let bit = top_bit(&mut evaluator, &constant, literal.exponent)?;
    evaluator.name("output");
    let output = evaluator.output(OUTPUT, &bit)?;
    let steps = evaluator.steps().clone();
    let kernel = lowering.finish()?;
    let keys = kernel.keys();
    Ok(BootstrapProgram { kernel, output: output.state, keys, steps })
}

#[derive(Debug)]
struct NoPlaintext;

impl PlaintextEncoder for NoPlaintext {
    fn encode(
        &self,
        _: &crate::rns::homomorphic::Values,
        _: crate::rns::levels::Scale,
    ) -> std::result::Result<crate::rns::kernel::PublicPolynomial, String> {
        Err("bootstrapping has no public vectors".to_owned())
    }
}

/// Step 1: y_0 + 2^(e−2) and y_1 over all limbs of Q, values.
fn to_power_of_two(lowering: &mut Lowering<'_>, exponent: u32) -> Result<(ValueId, ValueId)> {
    let chain = lowering.chain();
    let all = chain.limbs(chain.top());
    let (zero, rest) = (LimbSet::one(LimbId(0)), all.difference(&LimbSet::one(LimbId(0))));
    if rest.is_empty() {
        let modulus = chain.log2_modulus(0);
        return Err(BgvError::Noise { op: "bootstrap", bound: modulus, modulus, limbs: 1 });
    }
    let first = LimbSet::one(rest.as_slice()[0]);
    let q = chain.modulus(LimbId(0));
    let half = q.value().div_ceil(2);
    let two_e = q.power(q.reduce(2), u64::from(exponent));
    let inverse_of_q: Vec<u64> = rest
        .iter()
        // Distinct primes: the inverse exists.
        .map(|limb| chain.modulus(limb).inverse(q.value() % chain.modulus(limb).value()).unwrap_or(0))
        .collect();
    let mut parts = Vec::new();
    for part in 0..2 {
        let builder = lowering.builder();
        let given = builder.input(INPUT, part, ValueType::evaluation(zero.clone()))?;
        let given = builder.inverse_ntt(given)?;
        let x = builder.scale(given, &[half])?;
        let remainder = builder.scale(x, &[two_e])?;
        let x = builder.base_conversion(x, rest.clone(), Conversion::Centred)?;
        let remainder = builder.base_conversion(remainder, rest.clone(), Conversion::Centred)?;
        let factors = builder.residues(1 << exponent, &rest);
        let x = builder.scale(x, &factors)?;
        let multiple = builder.sub(x, remainder)?;
        let y = builder.scale(multiple, &inverse_of_q)?;
        // |y| ≤ 2^(e−1): any one limb has all of it.
        let lowest = builder.select_limbs(y, first.clone())?;
        let lowest = builder.base_conversion(lowest, zero.clone(), Conversion::Centred)?;
        let y = builder.concat(&[lowest, y])?;
        parts.push(builder.forward_ntt(y)?);
    }
    let builder = lowering.builder();
    let quarter = builder.residues(1 << (exponent - 2), &all);
    Ok((builder.add_constant(parts[0], &quarter)?, parts[1]))
}

/// Step 2: an encryption of y_0 + y_1·s with plaintext modulus 2^e·N.
fn inner_product(evaluator: &mut Evaluator<'_, '_>, body: ValueId, mask: ValueId, exponent: u32) -> Result<BgvValue> {
    let rules = evaluator.rules();
    let log2_t = f64::from(exponent + rules.model().degree.log2());
    let digit = DigitSize { log2: f64::from(exponent), limbs: 1 };
    // y_0 + y_1·s has the size of a rounding by 2^e.
    let noise = rules.model().inner_product(log2_t, &[digit]).plus(rules.model().rounding(f64::from(exponent), 1));
    let limbs = rules.limbs();
    let mut parts = Vec::new();
    if let Some(lowering) = evaluator.lowering() {
        let builder = lowering.builder();
        let (more, mask) = builder.inner_product_of_rows(KeyId::Other(BOOTSTRAP_SECRET), &[0], &[mask])?;
        parts = vec![builder.add(body, more)?, mask];
    }
    evaluator.count("inner_product", limbs);
    Ok(BgvValue::new(State { limbs, factor: 1, noise, log2_t, quadratic: false }, parts))
}

/// Step 3: the constant coefficient, with plaintext modulus t/N.
fn trace(evaluator: &mut Evaluator<'_, '_>, value: &BgvValue) -> Result<BgvValue> {
    evaluator.name("trace");
    let degree = evaluator.rules().model().degree;
    let mut sum = value.clone();
    for element in trace_elements(degree) {
        let moved = evaluator.automorphism(&sum, element)?;
        sum = evaluator.add(&sum, &moved, false)?;
    }
    evaluator.halve(&sum, degree.log2())
}

/// Step 4: the top one of the e bits of `value`, with plaintext modulus 2.
fn top_bit(evaluator: &mut Evaluator<'_, '_>, value: &BgvValue, exponent: u32) -> Result<BgvValue> {
    evaluator.name("digit extraction");
    // lifted[j] ≡ bit j modulo 2^(k − j), k bits being known.
    let mut lifted: Vec<BgvValue> = Vec::new();
    for _ in 0..exponent {
        let mut rest = value.clone();
        for bit in &mut lifted {
            *bit = evaluator.square(bit)?;
            *bit = evaluator.linear(bit)?;
            let even = evaluator.add(&rest, bit, true)?;
            rest = evaluator.halve(&even, 1)?;
        }
        lifted.push(rest);
    }
    lifted.pop().ok_or(BgvError::NotBgv)
}
