//! A program with keys, random inputs and the interpreter's outputs, for tests of RNS machines.

use super::arithmetic::{Arithmetic, ReplayError};
use super::labels::Labels;
use super::replay::{Given, replay};
use crate::audit::rns::audit;
use polyfabric_program::rns::kernel::{KernelProgram, ValueType};
use polyfabric_runtime::NoProgress;
use polyfabric_runtime::rns::interpreter;
use polyfabric_schemes::rns::{Gadget, KeyMaker, KeySet, NoiseDistribution, Ring, RnsPolynomial, SecretKey};
use polyfabric_sim::list::EventList;
use std::sync::Arc;

pub(crate) struct Case {
    pub program: KernelProgram,
    pub expected: Vec<RnsPolynomial>,
    keys: KeySet,
    inputs: Vec<RnsPolynomial>,
}

impl Case {
    /// For a program on `ring` with keys for `gadget`.
    pub fn new(program: KernelProgram, ring: &Arc<Ring>, gadget: &Arc<Gadget>, mut seed: u64) -> Self {
        let secret = SecretKey::from_coefficients(ring.degree(), vec![1; ring.degree().get()]).expect("a secret");
        let noise = NoiseDistribution::new(3.2, 1);
        let maker = KeyMaker { ring, secret: &secret, sparse: None, noise: &noise };
        let mut keys = KeySet::new(Arc::clone(ring));
        for &key in program.keys().keys() {
            keys.insert(maker.for_tests(key, gadget, seed).expect("a key"));
        }
        let inputs: Vec<RnsPolynomial> =
            program.inputs().map(|(_, _, _, value)| random(ring, value, &mut seed)).collect();
        let given: Vec<&RnsPolynomial> = inputs.iter().collect();
        let expected = interpreter::run(&program, &keys, &given, &NoProgress).expect("it runs");
        Self { program, expected, keys, inputs }
    }

    pub fn replay(
        &self,
        events: &dyn EventList,
        labels: &Labels,
        arithmetic: &dyn Arithmetic,
    ) -> Result<Vec<RnsPolynomial>, ReplayError> {
        let inputs: Vec<&RnsPolynomial> = self.inputs.iter().collect();
        replay(events, labels, arithmetic, &Given { program: &self.program, keys: &self.keys, inputs: &inputs })
    }

    /// Audits and replays a schedule, and compares word by word.
    pub fn accepts(&self, events: &dyn EventList, labels: &Labels, arithmetic: &dyn Arithmetic) {
        audit(&self.program, events, labels).unwrap_or_else(|error| panic!("{error}"));
        assert!(self.replay(events, labels, arithmetic).expect("it runs") == self.expected);
    }
}

fn random(ring: &Ring, value: &ValueType, seed: &mut u64) -> RnsPolynomial {
    let mut polynomial = RnsPolynomial::zero(ring.degree(), value.limbs.as_slice(), value.domain);
    for (limb, words) in polynomial.iter_mut() {
        for word in words {
            *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            *word = ring.modulus(limb).reduce(*seed >> 8);
        }
    }
    polynomial
}
