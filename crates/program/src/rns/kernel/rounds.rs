//! Programs that repeat: rounds one after the other, many of them of the same body.
//!
//! A round takes what the round before gives, part by part in the order of the outputs. Its public polynomials are its own, as weights are, and so may
//! be the amounts of some of its rotations; all else is its body's. So a round is its body with other constants, and what holds of a body whatever its
//! constants are holds of all its rounds.

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
    /// Number of its body.
    pub body: usize,
    /// Automorphisms that are others than the body's, with their keys: X → X^(to) in the place of X → X^(from), from first.
    pub elements: Vec<(GaloisElement, GaloisElement)>,
    /// Its public polynomials, by their numbers in the body; nothing if they are those of the body.
    pub plaintexts: Option<Vec<Arc<PublicPolynomial>>>,
}

impl Round {
    /// Of body number `body`, with its constants.
    pub fn of(body: usize) -> Self {
        Self { body, ..Self::default() }
    }

    /// The automorphism that the round has in the place of the body's.
    pub fn element(&self, own: GaloisElement) -> GaloisElement {
        self.elements.iter().find(|&&(from, _)| from == own).map_or(own, |&(_, to)| to)
    }

    /// Whether the automorphisms that the round has others in the place of are whole operations of the body: rotations.
    ///
    /// # Errors
    /// [`RoundsError::Shared`] if one is there, too, as a part of something else, or is not there.
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

    /// The key that the round reads in the place of the body's.
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

/// Rounds of a few bodies.
#[derive(Clone, Debug, PartialEq)]
pub struct Rounds {
    /// Name of the program.
    pub name: Arc<str>,
    /// What rounds do.
    pub bodies: Vec<Arc<KernelProgram>>,
    /// Rounds, in order; at least one.
    pub rounds: Vec<Round>,
}

/// Why rounds are no program.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RoundsError {
    /// A round of a body that is not there, or no round at all.
    #[error("{name}: round {round} is of body {body}, and there are {bodies}; name one of them")]
    Body {
        /// Program.
        name: Arc<str>,
        /// Round.
        round: usize,
        /// Its body.
        body: usize,
        /// How many there are.
        bodies: usize,
    },
    /// A round that does not take what the round before gives.
    #[error(
        "{name}: round {round} takes {takes}, and the round before gives {gives}; end each round at the level at which the next begins"
    )]
    Ports {
        /// Program.
        name: Arc<str>,
        /// Round.
        round: usize,
        /// What it takes.
        takes: String,
        /// What it is given.
        gives: String,
    },
    /// A rotation that a round cannot have another one in the place of.
    #[error(
        "{name}: of body `{body}` {operations} operations have a key switch by the key that a round has another one in the place of, and {others} of them \
         others too: give the body's rotation an amount that nothing else in it has"
    )]
    Shared {
        /// Program.
        name: Arc<str>,
        /// Name of the body.
        body: Arc<str>,
        /// Operations that have a key switch by the key.
        operations: usize,
        /// Those of them that have others.
        others: usize,
    },
    /// Rings or moduli that differ.
    #[error("{name}: its bodies are not over one ring and its moduli; lower all of them with one set")]
    Ring {
        /// Program.
        name: Arc<str>,
    },
}

/// What passes into a body and out of it, part by part.
#[derive(Clone, Debug, PartialEq)]
pub struct Ports {
    /// Its ring, and the table of its moduli.
    pub ring: (RingDegree, Arc<[Modulus]>),
    /// Types of its inputs.
    pub takes: Vec<ValueType>,
    /// Types of its outputs.
    pub gives: Vec<ValueType>,
}

impl Ports {
    /// Of `body`.
    pub fn of(body: &KernelProgram) -> Self {
        Self {
            ring: (body.degree, Arc::clone(&body.moduli)),
            takes: body.inputs().map(|(.., value)| value.clone()).collect(),
            gives: body.outputs.iter().map(|output| body.value(output.value).clone()).collect(),
        }
    }

    /// Whether in a program of that name, of rounds of these bodies in `order`, each takes what the one before gives.
    ///
    /// # Errors
    /// [`RoundsError`] with the first round that does not.
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
    /// Whether each round takes what the one before gives.
    ///
    /// # Errors
    /// [`RoundsError`] with the first round that does not.
    pub fn check(&self) -> Result<(), RoundsError> {
        let order: Vec<usize> = self.rounds.iter().map(|round| round.body).collect();
        let ports: Vec<Ports> = self.bodies.iter().map(|body| Ports::of(body)).collect();
        Ports::check(&self.name, &order, &ports)?;
        self.rounds.iter().try_for_each(|round| round.check(&self.name, &self.bodies[round.body]))
    }

    /// All rounds as one program without any: for tests of small ones, as it can be very long.
    ///
    /// # Errors
    /// [`KernelError`] if an automorphism of a round is none of the ring.
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
