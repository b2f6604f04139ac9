//! Programs that repeat: sequences of rounds, many of which share a body.
//!
//! A round's inputs are the previous round's outputs, in order. Rounds of one body may differ in their public polynomials (such as
//! weights) and in the amounts of some rotations. So any property of a body that does not depend on its constants is true for all its
//! rounds.

use super::{KernelProgram, Op, OpKind, ValueType};
use polyfabric_kernels::RingDegree;
use polyfabric_kernels::automorphism::GaloisElement;
use polyfabric_kernels::modular::Modulus;
use polyfabric_schemes::rns::KeyId;
use std::collections::BTreeSet;
use std::sync::Arc;
use thiserror::Error;

/// One round.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Round {
    /// Index of its body.
    pub body: usize,
    /// Replaced automorphisms, with their keys: X → X^to instead of X → X^from, as (from, to).
    pub elements: Vec<(GaloisElement, GaloisElement)>,
}

impl Round {
    /// A round of body `body` with its automorphisms.
    pub fn of(body: usize) -> Self {
        Self { body, ..Self::default() }
    }

    /// Checks that every replaced automorphism is a whole rotation in the body.
    ///
    /// # Errors
    /// [`RoundsError::Shared`] if another operation also uses it, or no operation does.
    pub fn check(&self, name: &Arc<str>, body: &KernelProgram) -> Result<(), RoundsError> {
        let key_of = |op: &Op| match op.kind {
            OpKind::InnerProduct { key, .. } => Some(key),
            _ => None,
        };
        for &(from, _) in &self.elements {
            let own = |key| [KeyId::Galois(from.value()), KeyId::GaloisAfter(from.value())].contains(&key);
            let by_key = body.ops.iter().filter(|op| key_of(op).is_some_and(own));
            let origins: BTreeSet<_> = by_key.map(|op| op.origin).collect();
            let other = |op: &&Op| key_of(op).is_some_and(|key| !own(key)) && origins.contains(&op.origin);
            let others: BTreeSet<_> = body.ops.iter().filter(other).map(|op| op.origin).collect();
            if origins.is_empty() || !others.is_empty() {
                let (name, body) = (Arc::clone(name), Arc::clone(&body.name));
                return Err(RoundsError::Shared { name, body, operations: origins.len(), others: others.len() });
            }
        }
        Ok(())
    }

    /// The round's key that replaces the body's `own`.
    pub fn key(&self, own: KeyId) -> KeyId {
        let of = |element| {
            let found = self.elements.iter().find(|(from, _)| from.value() == element);
            found.map_or(element, |(_, to)| to.value())
        };
        match own {
            KeyId::Galois(element) => KeyId::Galois(of(element)),
            KeyId::GaloisAfter(element) => KeyId::GaloisAfter(of(element)),
            other => other,
        }
    }
}

/// Why rounds do not form a program.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RoundsError {
    #[error("{name}: round {round} uses body {body}, but there are only {bodies}; use one of them")]
    Body { name: Arc<str>, round: usize, body: usize, bodies: usize },
    #[error(
        "{name}: round {round} takes {takes}, but the previous round gives {gives}; end each round at the level at which the next begins"
    )]
    Ports { name: Arc<str>, round: usize, takes: String, gives: String },
    #[error(
        "{name}: a round replaces a rotation key of body `{body}`, which {operations} operations use, and {others} of them use \
         other keys too; give the body's rotation an amount that nothing else in it has"
    )]
    Shared { name: Arc<str>, body: Arc<str>, operations: usize, others: usize },
    #[error(
        "{body}: a limb of `{output}` is an unchanged input, or occurs twice: pass only computed limbs to the next round, each once"
    )]
    Given { body: Arc<str>, output: Arc<str> },
    #[error("{name}: its bodies have different rings or moduli; lower all of them with one set")]
    Ring { name: Arc<str> },
}

/// Inputs and outputs of a body, part by part.
#[derive(Clone, Debug, PartialEq)]
pub struct Ports {
    /// Ring degree and moduli.
    pub ring: (RingDegree, Arc<[Modulus]>),
    /// Types of the inputs.
    pub takes: Vec<ValueType>,
    /// Types of the outputs.
    pub gives: Vec<ValueType>,
}

impl Ports {
    pub fn of(body: &KernelProgram) -> Self {
        Self {
            ring: (body.degree, Arc::clone(&body.moduli)),
            takes: body.inputs().map(|(.., value)| value.clone()).collect(),
            gives: body.outputs.iter().map(|output| body.value(output.value).clone()).collect(),
        }
    }

    /// Checks for a program `name` with rounds of these bodies in `order` that each round's inputs match the previous outputs.
    ///
    /// # Errors
    /// [`RoundsError`] at the first round that does not match.
    pub fn check(name: &Arc<str>, order: &[usize], bodies: &[Self]) -> Result<(), RoundsError> {
        let outside = order.iter().copied().enumerate().find(|&(_, body)| body >= bodies.len());
        if let Some((round, body)) = outside.or(order.is_empty().then_some((0, 0))) {
            return Err(RoundsError::Body { name: Arc::clone(name), round, body, bodies: bodies.len() });
        }
        if bodies.iter().any(|body| body.ring != bodies[0].ring) {
            return Err(RoundsError::Ring { name: Arc::clone(name) });
        }
        let differ = order.windows(2).position(|pair| bodies[pair[0]].gives != bodies[pair[1]].takes);
        let Some(before) = differ else { return Ok(()) };
        let words = |ports: &[ValueType]| {
            ports.iter().map(|value| format!("limbs {}", value.limbs)).collect::<Vec<_>>().join("; ")
        };
        let (gives, takes) = (words(&bodies[order[before]].gives), words(&bodies[order[before + 1]].takes));
        Err(RoundsError::Ports { name: Arc::clone(name), round: before + 1, takes, gives })
    }
}
