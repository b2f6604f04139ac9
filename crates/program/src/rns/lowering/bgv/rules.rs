//! The tracked state of a BGV ciphertext, and the effect of each operation on it.

use crate::rns::kernel::Conversion;
use crate::rns::levels::Chain;
use crate::rns::lowering::RnsLowering;
use polyfabric_kernels::modular::Modulus;
use polyfabric_schemes::bgv::noise::{DigitSize, Noise, NoiseModel, Spread};
use polyfabric_schemes::joint::Smudging;
use polyfabric_schemes::rns::{GadgetLiteral, KeyErrors};

/// A ciphertext's state, independent of its data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct State {
    /// It has the first `limbs` limbs of Q.
    pub limbs: usize,
    /// Correction factor f, which multiplies the message modulo the chain's t.
    pub factor: u64,
    pub noise: Noise,
    /// log2 of t; errors are multiples of t.
    pub log2_t: f64,
    /// Whether it has three parts.
    pub quadratic: bool,
}

/// The noise rules of one parameter set.
#[derive(Clone, Debug)]
pub struct Rules {
    model: NoiseModel,
    /// Entry ℓ is log2 of the modulus of the first ℓ limbs.
    log2_q: Vec<f64>,
    log2_special: f64,
    special: usize,
    gadget: GadgetLiteral,
    moduli: Vec<Modulus>,
    conversion: Conversion,
    division: Conversion,
    log2_key_t: f64,
    /// Bits that smudging hides errors of outputs with, if the keys have several owners.
    smudging_bits: Option<f64>,
}

impl Rules {
    /// Rules for the limbs of `chain` and keys with the gadget of `choice`, whose errors are multiples of 2^`log2_key_t`.
    pub fn new(chain: &Chain, choice: &RnsLowering, model: NoiseModel, log2_key_t: f64) -> Self {
        let gadget = &choice.gadget;
        let q = chain.limbs(chain.top());
        let mut log2_q = vec![0.0];
        for limb in q.iter() {
            log2_q.push(log2_q[log2_q.len() - 1] + (chain.modulus(limb).value() as f64).log2());
        }
        let special = gadget.special.iter().map(|&limb| (chain.modulus(limb).value() as f64).log2());
        Self {
            model,
            log2_q,
            log2_special: special.sum(),
            special: gadget.special.len(),
            gadget: gadget.clone(),
            moduli: q.iter().map(|limb| chain.modulus(limb)).collect(),
            conversion: choice.conversion,
            division: choice.division,
            log2_key_t,
            smudging_bits: (model.parties > 1).then_some(choice.smudging_bits),
        }
    }

    pub fn model(&self) -> &NoiseModel {
        &self.model
    }

    pub fn limbs(&self) -> usize {
        self.moduli.len()
    }

    pub fn log2_modulus(&self, limbs: usize) -> f64 {
        self.log2_q[limbs]
    }

    /// Bits between the noise bound and Q/2; if negative, decryption may fail.
    pub fn budget(&self, state: &State) -> f64 {
        self.log2_q[state.limbs] - 1.0 - state.noise.bound
    }

    /// Largest κ for which the noise stays below Q/2 ([`Noise::kappa_within`]).
    pub fn kappa(&self, state: &State) -> f64 {
        state.noise.kappa_within(self.log2_q[state.limbs] - 1.0)
    }

    /// Largest κ for which decryption accepts an output ([`Noise::phase_limit`]).
    pub fn kappa_of_output(&self, state: &State) -> f64 {
        state.noise.kappa_within(state.noise.phase_limit(self.log2_q[state.limbs] - 1.0))
    }

    /// The smudging noise of an output with several owners, and its state with that noise.
    pub fn smudged(&self, state: State) -> (Option<Smudging>, State) {
        let Some(bits) = self.smudging_bits else { return (None, state) };
        let smudging = Smudging::hiding(state.noise.rare_bound - state.log2_t, bits);
        let noise = state.noise.plus(self.model.smudging(state.log2_t, smudging.log2_deviation));
        (Some(smudging), State { noise, ..state })
    }

    /// The limbs of an output. With several owners smudging noise adds to it, which grows with its noise: the fewest limbs with which it never
    /// fails, or else those with which it fails most rarely.
    pub fn output_limbs(&self, state: State) -> usize {
        if self.smudging_bits.is_none() {
            return state.limbs;
        }
        let kappa = |limbs: usize| match self.smudged(self.switched(state, limbs)) {
            (Some(smudging), state) if smudging.is_usable() => self.kappa_of_output(&state),
            _ => f64::NEG_INFINITY,
        };
        let best = (1..=state.limbs).map(kappa).fold(f64::NEG_INFINITY, f64::max);
        (1..=state.limbs).find(|&limbs| kappa(limbs) >= best).unwrap_or(state.limbs)
    }

    /// Distribution of the numbers that a conversion from `limbs` limbs gives.
    fn spread(conversion: Conversion, limbs: usize) -> Spread {
        match conversion {
            Conversion::Approximate => Spread::from_zero(limbs),
            Conversion::Balanced => Spread::centred(limbs),
            Conversion::Centred => Spread::centred(1),
        }
    }

    fn digits(&self, limbs: usize) -> Vec<DigitSize> {
        let mut digits = Vec::new();
        for digit in &self.gadget.digits {
            let present: Vec<_> = digit.iter().filter(|limb| limb.index() < limbs).collect();
            let Some(bits) = self.gadget.sub_digit_bits else {
                let log2 = present.iter().map(|limb| self.log2_q[limb.index() + 1] - self.log2_q[limb.index()]).sum();
                if !present.is_empty() {
                    digits.push(DigitSize { log2, spread: Self::spread(self.conversion, present.len()) });
                }
                continue;
            };
            for limb in present {
                let modulus = self.moduli[limb.index()];
                let below = modulus.bits().div_ceil(bits) - 1;
                let digit = DigitSize { log2: f64::from(bits), spread: Spread::centred(1) };
                digits.extend((0..below).map(|_| digit));
                // The top digit is what the others leave, from 0, including carries.
                let left = (modulus.value() >> (below * bits)) + 1;
                digits.push(DigitSize { log2: (left as f64).log2(), spread: Spread::from_zero(1) });
            }
        }
        digits
    }

    /// The noise that a key switch over the first `limbs` limbs adds to a ciphertext whose errors are multiples of 2^`log2_t`.
    pub fn key_switch(&self, limbs: usize, log2_t: f64, errors: KeyErrors) -> Noise {
        self.after_division(self.model.inner_product(self.log2_key_t, &self.digits(limbs), errors), log2_t)
    }

    /// The noise that a ring-GSW external product over the first `limbs` limbs adds: inner products of the body's digits and of the mask's.
    pub fn external_product(&self, limbs: usize, log2_t: f64) -> Noise {
        let inner = self.model.inner_product(self.log2_key_t, &self.digits(limbs), KeyErrors::Drawn);
        self.after_division(inner.plus(inner), log2_t)
    }

    /// The noise `inner` of inner products after the ModDown by P.
    fn after_division(&self, inner: Noise, log2_t: f64) -> Noise {
        let inner = inner.scale(-self.log2_special);
        let rounded = Self::spread(self.division, self.special);
        if self.special == 0 { inner } else { inner.plus(self.model.rounding(log2_t, rounded)) }
    }

    /// The state after relinearization.
    #[must_use]
    pub fn linear(&self, state: State) -> State {
        if !state.quadratic {
            return state;
        }
        let noise = state.noise.plus(self.key_switch(state.limbs, state.log2_t, KeyErrors::Relinearisation));
        State { noise, quadratic: false, ..state }
    }

    /// The state after switching to the first `limbs` limbs with two parts; the caller updates the correction factor.
    #[must_use]
    pub fn switched(&self, state: State, limbs: usize) -> State {
        // Relinearization shares this division, by P too.
        let special = if state.quadratic { self.special } else { 0 };
        let state = self.linear(state);
        if limbs >= state.limbs {
            return state;
        }
        let divisor = self.log2_q[state.limbs] - self.log2_q[limbs];
        let rounded = Self::spread(self.division, state.limbs - limbs + special);
        let noise = state.noise.scale(-divisor).plus(self.model.rounding(state.log2_t, rounded));
        State { noise, limbs, ..state }
    }

    /// The product of `a` and `b` over the fewest limbs that nearly maximize the budget.
    pub fn product(&self, a: State, b: State, square: bool) -> State {
        self.with_largest_budget(a.limbs.min(b.limbs), |limbs| self.product_over(a, b, square, limbs))
    }

    /// The product of `a` and `b` over the first `limbs` limbs, which both have.
    #[must_use]
    pub fn product_over(&self, a: State, b: State, square: bool, limbs: usize) -> State {
        let (a, b) = (self.switched(a, limbs), self.switched(b, limbs));
        State { noise: self.model.multiply(a.noise, b.noise, square), limbs, quadratic: true, ..a }
    }

    /// The product of `a` with a public vector; `product` gives its effect on the noise.
    pub fn public_product(&self, a: State, product: impl Fn(Noise) -> Noise) -> State {
        self.with_largest_budget(a.limbs, |limbs| {
            let a = if limbs == a.limbs { a } else { self.switched(a, limbs) };
            State { noise: product(a.noise), ..a }
        })
    }

    fn with_largest_budget(&self, most: usize, at: impl Fn(usize) -> State) -> State {
        let budget = |limbs: usize| self.budget(&self.linear(at(limbs)));
        let best = (1..=most).map(budget).fold(f64::NEG_INFINITY, f64::max);
        // Accept a quarter of a bit less to save a limb.
        at((1..=most).find(|&limbs| budget(limbs) >= best - 0.25).unwrap_or(most))
    }
}
