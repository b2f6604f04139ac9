//! Programs that repeat: sequences of rounds, many of which share a body.
//!
//! A round's inputs are the previous round's outputs, in order. Rounds of one body may differ in their public polynomials (such as
//! weights) and in the amounts of some rotations. So any property of a body that does not depend on its constants is true for all its
//! rounds.

use super::{KernelError, KernelProgram, Op, OpKind, PublicPolynomial, ValueId, ValueType};
use polyfabric_kernels::RingDegree;
use polyfabric_kernels::automorphism::GaloisElement;
use polyfabric_kernels::modular::Modulus;
use polyfabric_schemes::rns::KeyId;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use thiserror::Error;

/// One round.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Round {
    /// Index of its body.
    pub body: usize,
    /// Replaced automorphisms, with their keys: X → X^to instead of X → X^from, as (from, to).
    pub elements: Vec<(GaloisElement, GaloisElement)>,
    /// Its public polynomials, by index in the body; `None` for the body's own.
    pub plaintexts: Option<Vec<Arc<PublicPolynomial>>>,
}

impl Round {
    /// A round of body `body` with its constants.
    pub fn of(body: usize) -> Self {
        Self { body, ..Self::default() }
    }

    /// The round's automorphism that replaces the body's `own`.
    pub fn element(&self, own: GaloisElement) -> GaloisElement {
        self.elements.iter().find(|&&(from, _)| from == own).map_or(own, |&(_, to)| to)
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

/// A program of rounds over a few bodies.
#[derive(Clone, Debug, PartialEq)]
pub struct Rounds {
    pub name: Arc<str>,
    pub bodies: Vec<Arc<KernelProgram>>,
    /// In order; at least one.
    pub rounds: Vec<Round>,
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

impl Rounds {
    /// Checks that each round's inputs match the previous outputs.
    ///
    /// # Errors
    /// [`RoundsError`] at the first round that does not match.
    pub fn check(&self) -> Result<(), RoundsError> {
        let order: Vec<usize> = self.rounds.iter().map(|round| round.body).collect();
        let ports: Vec<Ports> = self.bodies.iter().map(|body| Ports::of(body)).collect();
        Ports::check(&self.name, &order, &ports)?;
        self.rounds.iter().try_for_each(|round| round.check(&self.name, &self.bodies[round.body]))
    }

    /// All rounds as one plain program, for tests of small ones; it can be very long.
    ///
    /// # Errors
    /// [`KernelError`] if an automorphism of a round does not exist in the ring.
    ///
    /// # Panics
    /// Unless [`Self::check`] accepts it.
    pub fn unrolled(&self) -> Result<KernelProgram, KernelError> {
        let ring = &self.bodies[0];
        let mut whole = KernelProgram {
            name: Arc::clone(&self.name),
            degree: ring.degree,
            moduli: Arc::clone(&ring.moduli),
            plaintexts: Vec::new(),
            values: Vec::new(),
            ops: Vec::new(),
            outputs: Vec::new(),
        };
        for (number, round) in self.rounds.iter().enumerate() {
            let body = &self.bodies[round.body];
            let given: Vec<ValueId> = whole.outputs.iter().map(|output| output.value).collect();
            let polynomials = whole.plaintexts.len() as u32;
            whole.plaintexts.extend(round.plaintexts.as_ref().unwrap_or(&body.plaintexts).iter().cloned());
            let mut given = given.into_iter();
            let mut values: BTreeMap<ValueId, ValueId> = BTreeMap::new();
            for op in &body.ops {
                if let (OpKind::Input { .. }, true) = (&op.kind, number > 0) {
                    values.extend(given.next().map(|value| (op.results[0], value)));
                    continue;
                }
                let kind = match &op.kind {
                    OpKind::Plaintext { plaintext, value } => {
                        OpKind::Plaintext { plaintext: polynomials + plaintext, value: value.clone() }
                    }
                    &OpKind::Automorphism { element } => OpKind::Automorphism { element: round.element(element) },
                    OpKind::InnerProduct { key, rows } => {
                        OpKind::InnerProduct { key: round.key(*key), rows: Arc::clone(rows) }
                    }
                    OpKind::Key { key, row, part, limbs } => {
                        OpKind::Key { key: round.key(*key), row: *row, part: *part, limbs: limbs.clone() }
                    }
                    other => other.clone(),
                };
                let first = whole.values.len() as u32;
                let results: Vec<ValueId> = (first..).take(op.results.len()).map(ValueId).collect();
                whole.values.extend(op.results.iter().map(|&result| body.value(result).clone()));
                values.extend(op.results.iter().copied().zip(results.iter().copied()));
                let operands = op.operands.iter().map(|operand| values[operand]).collect();
                whole.ops.push(Op { kind, operands, results, origin: op.origin, step: op.step });
            }
            whole.outputs.clone_from(&body.outputs);
            whole.outputs.iter_mut().for_each(|output| output.value = values[&output.value]);
        }
        whole.check()?;
        Ok(whole)
    }
}
