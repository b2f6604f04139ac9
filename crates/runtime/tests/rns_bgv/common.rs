//! Keys, encryption, execution and decryption around one program.

use polyfabric_program::rns::homomorphic::{NodeId, Program, Values, evaluate};
use polyfabric_program::rns::kernel::KernelProgram;
use polyfabric_program::rns::lowering::RnsLowering;
use polyfabric_program::rns::lowering::bgv::{BgvLowered, BgvPort, lower};
use polyfabric_runtime::NoProgress;
use polyfabric_runtime::rns::cpu::Executor;
use polyfabric_runtime::rns::interpreter;
use polyfabric_schemes::bgv::{ClientKey, Decrypted, Parameters, sets};
use polyfabric_schemes::progress::no_progress;
use polyfabric_schemes::rns::{Ciphertext, KeyId, KeySet, RnsPolynomial};
use std::collections::HashMap;

/// A stream of small numbers, the same on every run (xorshift; G. Marsaglia 2003).
pub struct Numbers(pub u64);

impl Numbers {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

/// Relative tolerance: five deviations of a variance over `draws` keys in set bgv-toy-1024-subdigit.
///
/// The last digit of a limb is not centred. With four digits per limb its mean is three sevenths of the variance, and the means of all digits multiply one sum of errors by
/// 1 + X + … + X^(N−1): a random walk along the coefficients, a single sample per measurement, so averaging over coefficients does not help. Its mean square has the cosine
/// series of a negacyclic walk, whose variance is the sum of (8/(π²(2k+1)²))², two thirds of its squared mean.
pub fn mean_of_windows(draws: u64) -> f64 {
    5.0 * 3.0 / 7.0 * (2.0 / 3.0 / draws as f64).sqrt()
}

pub struct Client {
    pub parameters: Parameters,
    pub key: ClientKey,
}

/// The result for one output.
pub struct Outcome {
    pub port: BgvPort,
    pub slots: Vec<u64>,
    pub decrypted: Decrypted,
}

impl Client {
    pub fn new(set: &str, seed: u64) -> Self {
        let parameters = sets::named(set).unwrap();
        let key = ClientKey::for_tests(&parameters, seed).unwrap();
        Self { parameters, key }
    }

    pub fn t(&self) -> u64 {
        self.parameters.plaintext_modulus().value()
    }

    pub fn choice(&self) -> RnsLowering {
        RnsLowering::new(self.parameters.gadget().literal().clone())
    }

    pub fn keys(&self, ids: impl IntoIterator<Item = KeyId>) -> KeySet {
        self.key.switching_keys(ids, &no_progress).unwrap()
    }

    pub fn lower(&self, program: &Program, choice: &RnsLowering) -> BgvLowered {
        lower(program, &self.parameters, choice, self.key.encoder()).unwrap()
    }

    /// Encrypts `inputs`, runs, decrypts.
    pub fn run(
        &self,
        program: &Program,
        lowered: &BgvLowered,
        inputs: &HashMap<String, Values>,
        fast: bool,
    ) -> Vec<Outcome> {
        let t = self.parameters.plaintext_modulus().modulus();
        let public = self.key.public_key().unwrap();
        let encrypt = |port: &BgvPort| {
            let Values::Integer(values) = &inputs[&port.name] else { panic!("integers") };
            let values: Vec<u64> = values.iter().map(|&value| t.reduce_signed(value)).collect();
            (port.name.clone(), public.encrypt(&values, port.state.limbs).unwrap())
        };
        let select = |(&id, &limbs): (&NodeId, &usize)| {
            let name = program.inputs().find(|(own, _)| *own == id).unwrap().1;
            let bit = inputs[name].bit().unwrap();
            let ciphertext = self.key.encrypt_selector(bit, &self.parameters.limbs(limbs)).unwrap();
            (name.to_owned(), Ciphertext::new(ciphertext.polynomials()))
        };
        let selectors = lowered.plan.selectors.iter().map(select);
        let ciphertexts = lowered.plan.inputs.iter().map(encrypt).chain(selectors).collect();
        let keys = self.keys(lowered.keys.keys().copied());
        let outputs = execute(&lowered.kernel, &keys, &ciphertexts, fast);
        let outcome = |port: &BgvPort| {
            let ciphertext = &outputs[&port.name];
            let decrypted = self.key.decrypt_coefficients(ciphertext, port.state.factor).unwrap();
            let slots = self.key.decrypt(ciphertext, port.state.factor, program.slots()).unwrap();
            Outcome { port: port.clone(), slots, decrypted }
        };
        lowered.plan.outputs.iter().map(outcome).collect()
    }

    /// Runs `program`, compares every output with the clear evaluation, and checks that its noise is within its bound.
    pub fn check(
        &self,
        program: &Program,
        choice: &RnsLowering,
        inputs: &HashMap<String, Values>,
        fast: bool,
    ) -> Vec<Outcome> {
        let lowered = self.lower(program, choice);
        let outcomes = self.run(program, &lowered, inputs, fast);
        let clear = evaluate(program, inputs).unwrap();
        let expected = clear.outputs(program);
        let t = self.parameters.plaintext_modulus().modulus();
        for outcome in &outcomes {
            let Values::Integer(values) = expected[&*outcome.port.name] else { panic!("integers") };
            let values: Vec<u64> = values.iter().map(|&value| t.reduce_signed(value)).collect();
            assert_eq!(outcome.slots, values, "{}: output {}", program.name(), outcome.port.name);
            let (measured, bound) = (outcome.decrypted.log2_noise, outcome.port.state.noise.bound);
            assert!(measured <= bound, "{}: noise 2^{measured} above its bound 2^{bound}", program.name());
        }
        outcomes
    }
}

/// Runs a kernel program with the interpreter or, if `fast`, with the CPU executor.
pub fn execute(
    kernel: &KernelProgram,
    keys: &KeySet,
    inputs: &HashMap<String, Ciphertext>,
    fast: bool,
) -> HashMap<String, Ciphertext> {
    let given: Vec<&RnsPolynomial> =
        kernel.inputs().map(|(name, part, ..)| &inputs[name].parts[usize::from(part)]).collect();
    let results = if fast {
        Executor::new(kernel, keys).unwrap().run(&given, &NoProgress).unwrap()
    } else {
        interpreter::run(kernel, keys, &given, &NoProgress).unwrap()
    };
    let mut parts: HashMap<String, Vec<(u16, RnsPolynomial)>> = HashMap::new();
    for (output, polynomial) in kernel.outputs.iter().zip(results) {
        parts.entry(output.name.to_string()).or_default().push((output.part, polynomial));
    }
    let ciphertext = |mut parts: Vec<(u16, RnsPolynomial)>| {
        parts.sort_by_key(|part| part.0);
        Ciphertext::new(parts.into_iter().map(|part| part.1).collect())
    };
    parts.into_iter().map(|(name, parts)| (name, ciphertext(parts))).collect()
}

pub fn integers(values: impl IntoIterator<Item = u64>) -> Values {
    let values: Vec<i64> = values.into_iter().map(|value| value as i64).collect();
    Values::integer(&values)
}
