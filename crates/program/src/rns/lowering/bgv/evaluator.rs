//! Operations on BGV ciphertexts, with modulus switching driven by noise.

use super::error::LESS_NOISE;
use super::factor::{common_multiples, log2};
use super::rules::{Rules, State};
use super::{BgvError, Result};
use crate::rns::homomorphic::Values;
use crate::rns::kernel::{LimbSet, ValueId};
use crate::rns::levels::{Chain, Scale};
use crate::rns::lowering::gsw::GswRows;
use crate::rns::lowering::{CiphertextValue, Lowering, Noise as SlotNoise};
use polyfabric_kernels::automorphism::GaloisElement;
use polyfabric_kernels::modular::Modulus;
use polyfabric_schemes::bgv::noise::{Noise, RARE_KAPPA};
use polyfabric_schemes::joint::Smudging;
use polyfabric_schemes::rns::{KeyErrors, KeyId};
use std::collections::BTreeMap;

/// A BGV ciphertext: its tracked state and, unless the run is dry, its polynomials.
#[derive(Clone, Debug, PartialEq)]
pub struct BgvValue {
    /// Limbs, correction factor and noise.
    pub state: State,
    parts: Vec<ValueId>,
}

impl BgvValue {
    pub fn new(state: State, parts: Vec<ValueId>) -> Self {
        Self { state, parts }
    }

    /// Its polynomials; empty in a dry run.
    pub fn parts(&self) -> &[ValueId] {
        &self.parts
    }
}

/// Evaluates operations on states, and on polynomials too if it has a [`Lowering`].
///
/// Moduli are switched where it reduces noise. A product uses the fewest limbs that nearly maximize the budget between noise and
/// modulus. Relinearization waits until an operation needs two parts, and shares its division with the modulus switch there.
#[derive(Debug)]
pub struct Evaluator<'l, 'a> {
    lowering: Option<&'l mut Lowering<'a>>,
    chain: &'a Chain,
    rules: &'l Rules,
    t: Modulus,
    at: &'static str,
    steps: Steps,
    held: Held,
}

/// The weakest guarantees along a program's execution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Held {
    /// Largest κ for which all noise bounds stay within their moduli.
    pub kappa: f64,
    /// Number of bootstraps, and the smallest margin of their rounding errors, in deviations.
    pub bootstraps: (usize, f64),
}

/// Number of homomorphic operations by name and limbs.
pub type Steps = BTreeMap<(&'static str, usize), usize>;

impl<'l, 'a> Evaluator<'l, 'a> {
    /// A dry run that computes only states.
    ///
    /// # Errors
    /// [`BgvError::NotBgv`] if the chain has no plaintext modulus.
    pub fn dry(chain: &'a Chain, rules: &'l Rules) -> Result<Self> {
        let t = chain.plaintext_modulus().and_then(|t| Modulus::new(t).ok()).ok_or(BgvError::NotBgv)?;
        Ok(Self {
            lowering: None,
            chain,
            rules,
            t,
            at: "input",
            steps: Steps::new(),
            held: Held { kappa: RARE_KAPPA, bootstraps: (0, f64::INFINITY) },
        })
    }

    /// A run that also adds operations to `lowering`, over the same chain.
    ///
    /// # Errors
    /// [`BgvError::NotBgv`] if the chain has no plaintext modulus.
    pub fn emitting(lowering: &'l mut Lowering<'a>, rules: &'l Rules) -> Result<Self> {
        let chain = lowering.chain();
        Ok(Self { lowering: Some(lowering), ..Self::dry(chain, rules)? })
    }

    /// The kernel program under construction; `None` in a dry run.
    pub fn lowering(&mut self) -> Option<&mut Lowering<'a>> {
        self.lowering.as_deref_mut()
    }

    pub fn chain(&self) -> &'a Chain {
        self.chain
    }

    pub fn rules(&self) -> &'l Rules {
        self.rules
    }

    /// Sets the operation name for errors.
    pub fn name(&mut self, op: &'static str) {
        self.at = op;
    }

    /// Operations so far.
    pub fn steps(&self) -> &Steps {
        &self.steps
    }

    /// Guarantees so far.
    pub fn held(&self) -> Held {
        self.held
    }

    /// Records a bootstrap whose rounding error has a margin of `deviations`, if bounds with `kappa` are true.
    pub fn count_bootstrap(&mut self, kappa: f64, deviations: f64) {
        let (count, least) = self.held.bootstraps;
        self.held = Held { kappa: self.held.kappa.min(kappa), bootstraps: (count + 1, least.min(deviations)) };
    }

    /// Records the start of an operation.
    pub fn count(&mut self, op: &'static str, limbs: usize) {
        *self.steps.entry((op, limbs)).or_default() += 1;
        if let Some(lowering) = &mut self.lowering {
            lowering.next_step();
        }
    }

    /// Rejects a ciphertext that might not decrypt.
    fn checked(&mut self, value: BgvValue) -> Result<BgvValue> {
        let state = &value.state;
        if self.rules.budget(state) < 0.0 {
            return Err(BgvError::Noise {
                op: self.at,
                bound: state.noise.bound,
                modulus: self.rules.log2_modulus(state.limbs),
                limbs: state.limbs,
                remedy: LESS_NOISE,
            });
        }
        self.held.kappa = self.held.kappa.min(self.rules.kappa(state));
        Ok(value)
    }

    fn ciphertext(value: &BgvValue) -> CiphertextValue {
        CiphertextValue {
            parts: value.parts.clone(),
            level: value.state.limbs - 1,
            scale: Scale::Factor(value.state.factor),
            rescale_due: value.state.quadratic,
            noise: SlotNoise::none(),
        }
    }

    /// Adds operations on `values` and returns the resulting parts; empty in a dry run.
    fn emit(
        &mut self,
        values: &[&BgvValue],
        f: impl FnOnce(&mut Lowering<'a>, &[CiphertextValue]) -> crate::rns::lowering::Result<Vec<ValueId>>,
    ) -> Result<Vec<ValueId>> {
        let t = self.smaller(values.first().map_or(f64::INFINITY, |value| value.state.log2_t));
        match &mut self.lowering {
            None => Ok(Vec::new()),
            Some(lowering) => {
                let ciphertexts: Vec<_> = values.iter().map(|value| Self::ciphertext(value)).collect();
                lowering.set_division_modulus(t.value());
                Ok(f(lowering, &ciphertexts)?)
            }
        }
    }

    /// A fresh input ciphertext with messages modulo `t`, over the first `limbs` limbs, with correction factor 1.
    ///
    /// # Errors
    /// [`BgvError::Noise`] if the limbs are too few.
    pub fn input(&mut self, name: &str, t: Modulus, limbs: usize, noise: Noise) -> Result<BgvValue> {
        self.name("input");
        let state = State { limbs, factor: 1, noise, log2_t: (t.value() as f64).log2(), quadratic: false };
        let parts = match &mut self.lowering {
            None => Vec::new(),
            Some(lowering) => lowering.input(name, limbs - 1, 0.0)?.parts,
        };
        self.checked(BgvValue { state, parts })
    }

    /// Declares `value`, with two parts, as an output; returns its final state.
    ///
    /// # Errors
    /// [`BgvError::Noise`].
    pub fn output(&mut self, name: &str, value: &BgvValue) -> Result<(BgvValue, Option<Smudging>)> {
        let mut value = self.linear(value)?;
        let limbs = self.rules.output_limbs(value.state);
        if limbs < value.state.limbs {
            value = self.switch(&value, limbs)?;
        }
        let (smudging, state) = self.rules.smudged(value.state);
        let value = self.checked(BgvValue { state, ..value })?;
        self.held.kappa = self.held.kappa.min(self.rules.kappa_of_output(&value.state));
        if let Some(lowering) = &mut self.lowering {
            lowering.output(name, &Self::ciphertext(&value));
        }
        Ok((value, smudging))
    }

    /// `value` relinearized to two parts.
    ///
    /// # Errors
    /// [`BgvError::Noise`].
    pub fn linear(&mut self, value: &BgvValue) -> Result<BgvValue> {
        if !value.state.quadratic {
            return Ok(value.clone());
        }
        self.count("relinearise", value.state.limbs);
        let state = self.rules.linear(value.state);
        let parts = self.emit(&[value], |lowering, of| Ok(lowering.relinearise(&of[0])?.parts))?;
        self.checked(BgvValue { state, parts })
    }

    /// `value` switched to the first `limbs` limbs with two parts: one ModDown by P and the dropped limbs.
    ///
    /// # Errors
    /// [`BgvError::Noise`].
    pub fn switch(&mut self, value: &BgvValue, limbs: usize) -> Result<BgvValue> {
        self.switch_scaled(value, limbs, 1)
    }

    /// The factor that becomes `factor` when multiplied by `divisor`.
    ///
    /// # Errors
    /// [`BgvError::Factor`] unless `divisor` is coprime to t.
    pub fn quotient(&self, factor: u64, divisor: u64) -> Result<u64> {
        let inverse = self.t.inverse(divisor).ok_or(BgvError::Factor { op: self.at, t: self.t.value() })?;
        Ok(self.t.multiply(factor, inverse))
    }

    /// `value` switched to the first `limbs` limbs with two parts and correction factor `factor`; it is multiplied before the division.
    ///
    /// # Errors
    /// [`BgvError::Noise`].
    pub fn switch_with_factor(&mut self, value: &BgvValue, limbs: usize, factor: u64) -> Result<BgvValue> {
        let dropped = LimbSet::range(limbs.min(value.state.limbs) as u16..value.state.limbs as u16);
        let Scale::Factor(divided) = self.chain.divided(Scale::Factor(value.state.factor), &dropped) else {
            return Err(BgvError::NotBgv);
        };
        let t = self.smaller(value.state.log2_t);
        let scale = t.centre(t.reduce(self.quotient(factor, divided)?));
        let noise = value.state.noise.scale(log2(scale));
        self.checked(BgvValue { state: State { noise, ..value.state }, parts: Vec::new() })?;
        self.switch_scaled(value, limbs, scale)
    }

    /// `value`·`scale`, switched.
    fn switch_scaled(&mut self, value: &BgvValue, limbs: usize, scale: i64) -> Result<BgvValue> {
        if limbs >= value.state.limbs {
            let linear = self.linear(value)?;
            return self.multiply_integer(&linear, scale);
        }
        let scaled = State { noise: value.state.noise.scale(log2(scale)), ..value.state };
        let state = self.rules.switched(scaled, limbs);
        let dropped = LimbSet::range(limbs as u16..value.state.limbs as u16);
        let factor = self.t.multiply(value.state.factor, self.t.reduce_signed(scale));
        let Scale::Factor(factor) = self.chain.divided(Scale::Factor(factor), &dropped) else {
            return Err(BgvError::NotBgv);
        };
        self.count(if value.state.quadratic { "relinearise_and_switch" } else { "switch" }, value.state.limbs);
        let scaled = self.scaled(value, scale)?;
        let parts = self.emit(&[&scaled], |lowering, of| {
            let (pairs, drop) = match *of[0].parts {
                [body, mask, square] if !lowering.special_limbs().is_empty() => {
                    let digits = lowering.digits(square)?;
                    let (more_body, more_mask) = lowering.inner_product(&digits, KeyId::Relinearisation)?;
                    let drop = dropped.union(lowering.special_limbs());
                    let body = lowering.add_times_special(more_body, body)?;
                    (vec![body, lowering.add_times_special(more_mask, mask)?], drop)
                }
                _ => (lowering.relinearise(&of[0])?.parts, dropped.clone()),
            };
            pairs.into_iter().map(|part| lowering.divide(part, &drop)).collect()
        })?;
        self.checked(BgvValue { state: State { factor, ..state }, parts })
    }

    /// The parts of `value` times an integer.
    fn scaled(&mut self, value: &BgvValue, scale: i64) -> Result<BgvValue> {
        if scale == 1 {
            return Ok(value.clone());
        }
        let parts =
            self.emit(&[value], |lowering, of| Ok(lowering.multiply_integer(&of[0], i128::from(scale))?.parts))?;
        Ok(BgvValue { parts, ..value.clone() })
    }

    /// `value` times a small integer that its correction factor absorbs, so the message is unchanged.
    fn multiply_integer(&mut self, value: &BgvValue, scale: i64) -> Result<BgvValue> {
        let scaled = self.scaled(value, scale)?;
        let factor = self.t.multiply(value.state.factor, self.t.reduce_signed(scale));
        let state = State { factor, noise: value.state.noise.scale(log2(scale)), ..value.state };
        self.checked(BgvValue { state, ..scaled })
    }

    /// `value` with its message multiplied by `scale`.
    ///
    /// # Errors
    /// [`BgvError::Noise`].
    pub fn times_integer(&mut self, value: &BgvValue, scale: i64) -> Result<BgvValue> {
        let scaled = self.scaled(value, scale)?;
        let state = State { noise: value.state.noise.scale(log2(scale)), ..value.state };
        self.checked(BgvValue { state, ..scaled })
    }

    /// The correction factor that multiplies the message of the unchanged `value` by `scale`; `None` unless `scale` is coprime to t.
    pub fn taken_up(&self, value: &BgvValue, scale: i64) -> Option<u64> {
        Some(self.t.multiply(value.state.factor, self.t.inverse(self.t.reduce_signed(scale))?))
    }

    /// `value` with its message multiplied by `scale` and with correction factor `factor`, coprime to t: times the smallest suitable
    /// integer.
    ///
    /// # Errors
    /// [`BgvError::Noise`].
    pub fn times_with_factor(&mut self, value: &BgvValue, scale: i64, factor: u64) -> Result<BgvValue> {
        let t = self.smaller(value.state.log2_t);
        let inverse = t.inverse(t.reduce(value.state.factor)).ok_or(BgvError::Factor { op: self.at, t: t.value() })?;
        let scale = t.centre(t.multiply(t.reduce_signed(scale), t.multiply(t.reduce(factor), inverse)));
        let scaled = self.times_integer(value, scale)?;
        Ok(BgvValue { state: State { factor, ..scaled.state }, ..scaled })
    }

    /// Divides a message that is a multiple of 2^`bits` by it, and also t, a power of two.
    ///
    /// # Errors
    /// [`BgvError::Noise`].
    pub fn halve(&mut self, value: &BgvValue, bits: u32) -> Result<BgvValue> {
        self.count("scale", value.state.limbs);
        let parts = self.emit(&[value], |lowering, of| {
            let limbs = lowering.builder().limbs(of[0].parts[0]).clone();
            // The inverse of 2^bits modulo each odd prime.
            let factors: Vec<u64> = limbs
                .iter()
                .map(|limb| {
                    let modulus = lowering.chain().modulus(limb);
                    modulus.power(modulus.value().div_ceil(2), u64::from(bits))
                })
                .collect();
            of[0].parts.iter().map(|&part| Ok(lowering.builder().scale(part, &factors)?)).collect()
        })?;
        let state = State {
            noise: value.state.noise.scale(-f64::from(bits)),
            log2_t: value.state.log2_t - f64::from(bits),
            ..value.state
        };
        Ok(BgvValue { state, parts })
    }

    /// The same ciphertext interpreted modulo 2^`log2_t`, a divisor of its t.
    pub fn reduced(&self, value: &BgvValue, log2_t: f64) -> BgvValue {
        BgvValue { state: State { log2_t: value.state.log2_t.min(log2_t), ..value.state }, ..value.clone() }
    }

    /// −`value`.
    ///
    /// # Errors
    /// [`BgvError::Lowering`].
    pub fn negate(&mut self, value: &BgvValue) -> Result<BgvValue> {
        let parts = self.emit(&[value], |lowering, of| Ok(lowering.negate(&of[0])?.parts))?;
        Ok(BgvValue { parts, ..value.clone() })
    }

    /// 2^`log2_t` as a modulus if that is less than the chain's t, which is then a power of two; otherwise the chain's t.
    fn smaller(&self, log2_t: f64) -> Modulus {
        if log2_t < (self.t.value() as f64).log2() {
            Modulus::new(log2_t.exp2() as u64).unwrap_or(self.t)
        } else {
            self.t
        }
    }

    /// Both values over the same limbs and with one factor, by the less noisy of two ways:
    ///
    /// - multiply the one with more limbs so that switching it gives the other's factor; or
    /// - drop its extra limbs, and multiply both by small integers.
    fn aligned(&mut self, a: &BgvValue, b: &BgvValue) -> Result<(BgvValue, BgvValue)> {
        if a.state.limbs < b.state.limbs {
            let (b, a) = self.aligned(b, a)?;
            return Ok((a, b));
        }
        let limbs = b.state.limbs;
        // Factors must agree only modulo the smaller t.
        let t = self.smaller(a.state.log2_t.min(b.state.log2_t));
        let missing = || BgvError::Factor { op: self.at, t: t.value() };
        let (left, right) = (t.reduce(a.state.factor), t.reduce(b.state.factor));
        let (r, s) = common_multiples(left, right, t).ok_or_else(missing)?;
        let small = State { noise: a.state.noise.scale(log2(r)), limbs, ..a.state };
        let selected = small.noise.plus(b.state.noise.scale(log2(s)));
        if limbs < a.state.limbs {
            let dropped = LimbSet::range(limbs as u16..a.state.limbs as u16);
            let Scale::Factor(factor) = self.chain.divided(Scale::Factor(a.state.factor), &dropped) else {
                return Err(BgvError::NotBgv);
            };
            let inverse = t.inverse(factor).ok_or_else(missing)?;
            let scale = t.centre(t.multiply(right, inverse));
            let scaled = State { noise: a.state.noise.scale(log2(scale)), ..a.state };
            let switched = self.rules.switched(scaled, limbs).noise.plus(b.state.noise);
            let fits = scaled.noise.bound < self.rules.log2_modulus(a.state.limbs) - 1.0;
            if fits && switched.bound < selected.bound {
                return Ok((self.switch_scaled(a, limbs, scale)?, b.clone()));
            }
        }
        let a = self.restricted(a, limbs)?;
        Ok((self.multiply_integer(&a, r)?, self.multiply_integer(b, s)?))
    }

    /// `value` restricted to its first `limbs` limbs, without division.
    fn restricted(&mut self, value: &BgvValue, limbs: usize) -> Result<BgvValue> {
        if limbs >= value.state.limbs {
            return Ok(value.clone());
        }
        let parts = self.emit(&[value], |lowering, of| Ok(lowering.drop_to(&of[0], limbs - 1)?.parts))?;
        self.checked(BgvValue { state: State { limbs, ..value.state }, parts })
    }

    /// a + b, or a − b.
    ///
    /// # Errors
    /// [`BgvError::Noise`].
    pub fn add(&mut self, a: &BgvValue, b: &BgvValue, subtract: bool) -> Result<BgvValue> {
        let (a, mut b) = self.aligned(a, b)?;
        // The factors may differ by a multiple of the smaller t, which is the sum's plaintext modulus.
        b.state.factor = a.state.factor;
        self.count("add", a.state.limbs);
        let state = State {
            noise: a.state.noise.plus(b.state.noise),
            quadratic: a.state.quadratic || b.state.quadratic,
            log2_t: a.state.log2_t.min(b.state.log2_t),
            ..a.state
        };
        let parts = self.emit(&[&a, &b], |lowering, of| {
            let sum = if subtract { lowering.sub(&of[0], &of[1])? } else { lowering.add(&of[0], &of[1])? };
            Ok(sum.parts)
        })?;
        self.checked(BgvValue { state, parts })
    }

    /// a·b of two different ciphertexts, with three parts.
    ///
    /// # Errors
    /// [`BgvError::Noise`].
    pub fn multiply(&mut self, a: &BgvValue, b: &BgvValue) -> Result<BgvValue> {
        self.product(a, b, false)
    }

    /// a², with three parts.
    ///
    /// # Errors
    /// [`BgvError::Noise`].
    pub fn square(&mut self, a: &BgvValue) -> Result<BgvValue> {
        self.product(a, a, true)
    }

    /// a·b of two different ciphertexts over the first `limbs` limbs, with three parts.
    ///
    /// # Errors
    /// [`BgvError::Noise`].
    pub fn multiply_over(&mut self, a: &BgvValue, b: &BgvValue, limbs: usize) -> Result<BgvValue> {
        let limbs = limbs.min(a.state.limbs).min(b.state.limbs);
        self.product_as(a, b, false, self.rules.product_over(a.state, b.state, false, limbs))
    }

    fn product(&mut self, a: &BgvValue, b: &BgvValue, square: bool) -> Result<BgvValue> {
        self.product_as(a, b, square, self.rules.product(a.state, b.state, square))
    }

    fn product_as(&mut self, a: &BgvValue, b: &BgvValue, square: bool, target: State) -> Result<BgvValue> {
        let a = self.switch(a, target.limbs)?;
        let b = if square { a.clone() } else { self.switch(b, target.limbs)? };
        self.count(if square { "square" } else { "multiply" }, target.limbs);
        let factor = self.t.multiply(a.state.factor, b.state.factor);
        let log2_t = a.state.log2_t.min(b.state.log2_t);
        let parts = self.emit(&[&a, &b], |lowering, of| Ok(lowering.multiply(&of[0], &of[1])?.parts))?;
        self.checked(BgvValue { state: State { factor, log2_t, ..target }, parts })
    }

    /// The automorphism X → X^g of the message.
    ///
    /// # Errors
    /// [`BgvError::Noise`].
    pub fn automorphism(&mut self, value: &BgvValue, element: GaloisElement) -> Result<BgvValue> {
        if element.value() == 1 {
            return Ok(value.clone());
        }
        let value = self.linear(value)?;
        self.count("automorphism", value.state.limbs);
        let noise =
            value.state.noise.plus(self.rules.key_switch(value.state.limbs, value.state.log2_t, KeyErrors::Drawn));
        let parts = self.emit(&[&value], |lowering, of| Ok(lowering.automorphism(&of[0], element)?.parts))?;
        self.checked(BgvValue { state: State { noise, ..value.state }, parts })
    }

    /// A selector's rows for products over the first `limbs` limbs; none in a dry run.
    ///
    /// # Errors
    /// [`BgvError::Unsupported`] if several parties have shares of the secret.
    pub fn selector(&mut self, name: &str, limbs: usize) -> Result<GswRows> {
        if self.rules.model().parties > 1 {
            let remedy = "only the owner of the whole secret key encrypts selectors; use keys of one owner";
            return Err(BgvError::Unsupported { op: "selector", remedy });
        }
        match &mut self.lowering {
            None => Ok(GswRows::default()),
            Some(lowering) => Ok(lowering.gsw_input(name, &LimbSet::range(0..limbs as u16))?),
        }
    }

    /// A public vector as a ciphertext without a mask, like one in the state `like`.
    ///
    /// # Errors
    /// [`BgvError::Lowering`] if the vector cannot be encoded.
    pub fn public(&mut self, public: &Values, like: State) -> Result<BgvValue> {
        let model = self.rules.model();
        let noise =
            if one_integer(public).is_some() { model.constant(like.log2_t) } else { model.message(like.log2_t) };
        let (factor, limbs) = (self.smaller(like.log2_t).reduce(like.factor), LimbSet::range(0..like.limbs as u16));
        let parts = self.emit(&[], |lowering, _| {
            Ok(vec![lowering.plaintext("select", public, Scale::Factor(factor), &limbs)?])
        })?;
        Ok(BgvValue { state: State { noise, quadratic: false, ..like }, parts })
    }

    /// `one` if the bit of `rows` is 1, otherwise `zero`, or an encryption of zeros.
    ///
    /// # Errors
    /// [`BgvError::Noise`].
    pub fn select(&mut self, rows: &GswRows, one: &BgvValue, zero: Option<&BgvValue>) -> Result<BgvValue> {
        let one = self.linear(one)?;
        let (one, zero) = match zero {
            None => (one, None),
            Some(zero) => {
                let zero = self.linear(zero)?;
                let (mut one, mut zero) = self.aligned(&one, &zero)?;
                // The factors may differ by a multiple of the smaller t, which is the result's plaintext modulus.
                zero.state.factor = one.state.factor;
                one.state.log2_t = one.state.log2_t.min(zero.state.log2_t);
                zero.state.log2_t = one.state.log2_t;
                (one, Some(zero))
            }
        };
        self.count("select", one.state.limbs);
        let added = self.rules.external_product(one.state.limbs, one.state.log2_t);
        let (noise, parts) = match &zero {
            None => {
                let parts = self.emit(&[&one], |lowering, of| Ok(lowering.external_product(&of[0], rows)?.parts))?;
                (one.state.noise.plus(added), parts)
            }
            Some(zero) => {
                let parts = self.emit(&[zero, &one], |lowering, of| Ok(lowering.cmux(rows, &of[0], &of[1])?.parts))?;
                (one.state.noise.either(zero.state.noise).plus(added), parts)
            }
        };
        self.checked(BgvValue { state: State { noise, ..one.state }, parts })
    }

    /// `value` plus or minus a public vector.
    ///
    /// # Errors
    /// [`BgvError::Noise`], [`BgvError::Lowering`] if the vector cannot be encoded.
    pub fn add_public(&mut self, value: &BgvValue, public: &Values, subtract: bool) -> Result<BgvValue> {
        self.count("add_public", value.state.limbs);
        let (model, log2_t) = (self.rules.model(), value.state.log2_t);
        let added = if one_integer(public).is_some() { model.constant(log2_t) } else { model.message(log2_t) };
        let noise = value.state.noise.plus(added);
        let t = self.smaller(log2_t);
        let parts = self.emit(&[value], |lowering, of| {
            let Some(number) = one_integer(public) else {
                return Ok(lowering.add_plain(&of[0], public, subtract)?.parts);
            };
            // The smallest representative modulo the ciphertext's own t, which may be smaller than the chain's.
            let number = t.centre(t.multiply(t.reduce_signed(number), t.reduce(value.state.factor)));
            let plain = CiphertextValue { scale: Scale::Factor(1), ..of[0].clone() };
            Ok(lowering.add_plain(&plain, &Values::integer(&[number]), subtract)?.parts)
        })?;
        self.checked(BgvValue { state: State { noise, ..value.state }, parts })
    }

    /// `value` times a public vector, whose encoding has size `size`.
    ///
    /// # Errors
    /// [`BgvError::Noise`], [`BgvError::Lowering`] if the vector cannot be encoded.
    pub fn multiply_public(&mut self, value: &BgvValue, public: &Values, size: Noise) -> Result<BgvValue> {
        let t = self.smaller(value.state.log2_t);
        let integer = one_integer(public).map(|number| t.centre(t.reduce_signed(number)));
        let target = self.rules.public_product(value.state, |noise| match integer {
            Some(number) => noise.scale(log2(number)),
            None => self.rules.model().multiply(noise, size, false),
        });
        let value = if target.limbs < value.state.limbs { self.switch(value, target.limbs)? } else { value.clone() };
        let public = &integer.map_or_else(|| public.clone(), |number| Values::integer(&[number]));
        let parts = self
            .emit(&[&value], |lowering, of| Ok(lowering.multiply_plain_at(&of[0], public, Scale::Factor(1))?.parts))?;
        self.checked(BgvValue { state: State { noise: target.noise, ..value.state }, parts })
    }
}

/// The single integer of all slots, if `public` is one.
fn one_integer(public: &Values) -> Option<i64> {
    match public {
        Values::Integer(values) if values.len() == 1 => Some(values[0]),
        _ => None,
    }
}
