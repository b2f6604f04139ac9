//! Switching keys and the set of them that a server holds.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::gadget::Gadget;
use super::limb::LimbId;
use super::polynomial::RnsPolynomial;
use super::ring::Ring;

/// Which switching key: what a kernel program asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum KeyId {
    /// From s² to s.
    Relinearisation,
    /// For X → X^g, g odd below 2N (its number): from s to σ_g^-1(s).
    ///
    /// The key switch comes first, the automorphism second, on its two results: the phase under σ_g^-1(s) becomes one under s. So
    /// rotations that share a ciphertext share its digits as they are (hoisting; J.-P. Bossuat et al., EUROCRYPT 2021).
    Galois(usize),
    /// For X → X^g as [`Self::Galois`], for the other order: from σ_g(s) to s, after the automorphism (F1, Listing 2).
    GaloisAfter(usize),
    /// From the dense s to the sparse ephemeral secret, at the lowest modulus (J.-P. Bossuat, J. Troncoso-Pastoriza and
    /// J.-P. Hubaux, ACNS 2022).
    Encapsulate,
    /// From the sparse ephemeral secret to the dense s, at the top.
    Decapsulate,
    /// Whatever else a scheme numbers itself.
    Other(u32),
}

impl std::fmt::Display for KeyId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Relinearisation => f.write_str("the relinearisation key"),
            Self::Galois(element) => write!(f, "the key of the automorphism {element}"),
            Self::GaloisAfter(element) => write!(f, "the key for after the automorphism {element}"),
            Self::Encapsulate => f.write_str("the key from the dense to the sparse secret"),
            Self::Decapsulate => f.write_str("the key from the sparse to the dense secret"),
            Self::Other(number) => write!(f, "key number {number}"),
        }
    }
}

/// The halves of a key's terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// b_d, which multiplied digits add to part 0 of the result.
    Body,
    /// a_d, which multiplied digits add to part 1.
    Mask,
}

/// A switching key in the evaluation domain: a pair (b_d, a_d) for each term of its gadget, over [`Gadget::qp`].
#[derive(Clone, Debug, PartialEq)]
pub struct SwitchingKey {
    id: KeyId,
    gadget: Arc<Gadget>,
    bodies: Vec<RnsPolynomial>,
    masks: Vec<RnsPolynomial>,
}

impl SwitchingKey {
    /// From its halves, a polynomial for each term of `gadget`.
    ///
    /// # Panics
    /// Unless each half has a polynomial for each term, over [`Gadget::qp`] in order.
    pub fn new(id: KeyId, gadget: Arc<Gadget>, bodies: Vec<RnsPolynomial>, masks: Vec<RnsPolynomial>) -> Self {
        assert_eq!([bodies.len(), masks.len()], [gadget.terms().len(); 2], "a pair for each term");
        assert!(bodies.iter().chain(&masks).all(|polynomial| polynomial.limbs() == gadget.qp()), "limbs of the gadget");
        Self { id, gadget, bodies, masks }
    }

    /// What it is for.
    pub fn id(&self) -> KeyId {
        self.id
    }

    /// How it cuts.
    pub fn gadget(&self) -> &Arc<Gadget> {
        &self.gadget
    }

    /// The limbs of its polynomials: Q's, then P's.
    pub fn limbs(&self) -> &[LimbId] {
        self.gadget.qp()
    }

    /// The N words of one limb of term `term`, `position` an index into [`Self::limbs`]. `scratch`, of N words, is used only if the key
    /// is not stored as words: what comes back is either inside the key or inside `scratch`.
    ///
    /// # Panics
    /// If there is no such term or limb.
    pub fn limb<'a>(&'a self, part: Part, term: usize, position: usize, scratch: &'a mut [u64]) -> &'a [u64] {
        let _ = scratch;
        match part {
            Part::Body => self.bodies[term].limb(position),
            Part::Mask => self.masks[term].limb(position),
        }
    }

    /// Its bytes in memory.
    pub fn bytes(&self) -> usize {
        self.bodies.iter().chain(&self.masks).map(RnsPolynomial::bytes).sum()
    }
}

/// A key that a program asks for is not in the set.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{wanted} is missing; the set has {available} keys: make it with the others, from the program's list of keys")]
pub struct MissingKey {
    /// The key that was asked for.
    pub wanted: KeyId,
    /// How many keys there are.
    pub available: usize,
}

/// The switching keys that a server holds, over one ring.
#[derive(Clone, Debug)]
pub struct KeySet {
    ring: Arc<Ring>,
    keys: BTreeMap<KeyId, Arc<SwitchingKey>>,
}

impl KeySet {
    /// Without a key.
    pub fn new(ring: Arc<Ring>) -> Self {
        Self { ring, keys: BTreeMap::new() }
    }

    /// The ring.
    pub fn ring(&self) -> &Arc<Ring> {
        &self.ring
    }

    /// Adds `key`, in the place of an earlier one of the same [`KeyId`].
    pub fn insert(&mut self, key: SwitchingKey) {
        self.keys.insert(key.id, Arc::new(key));
    }

    /// The key `id`.
    ///
    /// # Errors
    /// [`MissingKey`].
    pub fn get(&self, id: KeyId) -> Result<&Arc<SwitchingKey>, MissingKey> {
        self.keys.get(&id).ok_or(MissingKey { wanted: id, available: self.keys.len() })
    }

    /// What keys there are, in order.
    pub fn ids(&self) -> impl Iterator<Item = KeyId> {
        self.keys.keys().copied()
    }

    /// All keys, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<SwitchingKey>> {
        self.keys.values()
    }

    /// Bytes of all keys in memory.
    pub fn bytes(&self) -> usize {
        self.keys.values().map(|key| key.bytes()).sum()
    }
}
