//! Switching keys, and the set of them that a server has.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use polyfabric_kernels::RingDegree;
use polyfabric_kernels::aligned::AlignedTorus;
use polyfabric_kernels::expander::UniformStream;
use polyfabric_kernels::modular::{BLOCK, Modulus, block_width, in_block, pack_block};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::gadget::Gadget;
use super::limb::LimbId;
use super::packed::PackedBits;
use super::polynomial::RnsPolynomial;
use super::ring::Ring;
use super::sample;
use crate::random::MaskSeed;

/// Identifies a switching key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum KeyId {
    /// From s² to s.
    Relinearisation,
    /// For X → X^g with odd g below 2N: from s to σ_g^-1(s).
    ///
    /// The key switch precedes the automorphism, which turns the phase under σ_g^-1(s) into one under s. Rotations of the same ciphertext
    /// therefore share its digits (hoisting; J.-P. Bossuat et al., EUROCRYPT 2021).
    Galois(usize),
    /// For X → X^g in the other order: from σ_g(s) to s, after the automorphism (F1, Listing 2).
    GaloisAfter(usize),
    /// From the dense s to the sparse ephemeral secret, at the lowest modulus (J.-P. Bossuat, J. Troncoso-Pastoriza and
    /// J.-P. Hubaux, ACNS 2022).
    Encapsulate,
    /// From the sparse ephemeral secret to the dense s, at the top.
    Decapsulate,
    /// Any other key, numbered by its scheme.
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

/// How the errors of a key arise. With one owner they are drawn in all keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyErrors {
    /// Drawn by each party.
    Drawn,
    /// Those of a joint relinearisation key, s·e − u·e' + e'': the protocol multiplies errors by two secrets ([`crate::joint`]).
    Relinearisation,
}

impl KeyErrors {
    /// Those of the key `id`.
    pub fn of(id: KeyId) -> Self {
        if id == KeyId::Relinearisation { Self::Relinearisation } else { Self::Drawn }
    }
}

/// The halves of a key's terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// b_d, which is multiplied by digits into part 0 of the result.
    Body,
    /// a_d, which is multiplied by digits into part 1.
    Mask,
}

/// Memory layout of a switching key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct KeyStorage {
    /// Stores residues in 32, 40, 50, 60 or 64 bits, the least that fit their prime, instead of the whole bytes that a key switch reads.
    pub packed: bool,
    /// Expands masks from their seed at every use instead of storing them: halves the size.
    pub seeded: bool,
}

impl KeyStorage {
    /// Whole bytes for all residues: largest and fastest.
    pub const BYTES: Self = Self { packed: false, seeded: false };
    /// Packed bodies and a seed: smallest, for transport.
    pub const TRANSPORT: Self = Self { packed: true, seeded: true };

    /// Bytes of a key of `gadget`.
    pub fn key_bytes(self, ring: &Ring, gadget: &Gadget) -> usize {
        self.key_bytes_of(ring.degree(), ring.moduli(), gadget)
    }

    /// Bytes of a key of `gadget` over a ring of `degree` with this table of moduli, which must contain the gadget's limbs.
    pub fn key_bytes_of(self, degree: RingDegree, moduli: &[Modulus], gadget: &Gadget) -> usize {
        let halves = if self.seeded { 1 } else { 2 };
        let bytes = |limb: &LimbId| {
            let modulus = moduli[limb.index()];
            if self.packed { PackedBits::of(modulus).bytes(degree.get()) } else { block_width(modulus) * degree.get() }
        };
        gadget.terms().len() * halves * gadget.qp().iter().map(bytes).sum::<usize>()
    }

    fn half_term_bytes(self, ring: &Ring, gadget: &Gadget) -> usize {
        Self { seeded: true, ..self }.key_bytes(ring, gadget) / gadget.terms().len()
    }
}

/// One half of a key: a polynomial for each term.
#[derive(Clone, Debug)]
enum Half {
    /// Limb by limb, [`BLOCK`] residues of each term in turn, in whole bytes: a key switch streams all terms of a limb.
    InBlocks(AlignedTorus<u64>),
    /// For each term the packed limbs in order.
    Packed(Vec<Vec<u8>>),
    /// Expanded from the key's seed.
    Seeded,
}

/// Writes `residues` of `term` into a limb made of blocks of `width` words, one block per term.
fn put(limb: &mut [u64], (terms, width): (usize, usize), term: usize, residues: &[u64]) {
    for (blocks, residues) in limb.chunks_exact_mut(terms * width).zip(residues.chunks_exact(BLOCK)) {
        pack_block(residues, &mut blocks[term * width..(term + 1) * width]);
    }
}

/// Range of limb `position` of `limbs` in a half of `terms` terms in blocks, and the words of a block.
fn place(ring: &Ring, limbs: &[LimbId], terms: usize, position: usize) -> (Range<usize>, usize) {
    let width = |limb: &LimbId| block_width(ring.modulus(*limb));
    let words = |width: usize| terms * ring.degree().get() / BLOCK * width;
    let start = words(limbs[..position].iter().map(width).sum());
    let width = width(&limbs[position]);
    (start..start + words(width), width)
}

impl Half {
    /// Builds a half in blocks; `fill` writes each limb from its position, words and words per block.
    fn in_blocks(ring: &Ring, limbs: &[LimbId], terms: usize, fill: impl Fn(usize, &mut [u64], usize) + Sync) -> Self {
        let places: Vec<_> = (0..limbs.len()).map(|position| place(ring, limbs, terms, position)).collect();
        let mut words = AlignedTorus::zeros(places.last().map_or(0, |(range, _)| range.end));
        let mut rest = &mut words[..];
        let mut parts = Vec::with_capacity(limbs.len());
        for (position, (range, width)) in places.into_iter().enumerate() {
            let (limb, after) = rest.split_at_mut(range.len());
            parts.push((position, limb, width));
            rest = after;
        }
        parts.into_par_iter().for_each(|(position, limb, width)| fill(position, limb, width));
        Self::InBlocks(words)
    }

    /// Builds a half from one polynomial per term.
    fn of(ring: &Ring, limbs: &[LimbId], polynomials: &[RnsPolynomial]) -> Self {
        let terms = polynomials.len();
        Self::in_blocks(ring, limbs, terms, |position, limb, width| {
            for (term, polynomial) in polynomials.iter().enumerate() {
                put(limb, (terms, width), term, polynomial.limb(position));
            }
        })
    }
}

/// A switching key in the evaluation domain: a pair (b_d, a_d) for each term of its gadget, over [`Gadget::qp`].
#[derive(Clone, Debug)]
pub struct SwitchingKey {
    id: KeyId,
    ring: Arc<Ring>,
    gadget: Arc<Gadget>,
    /// Seed of the masks, if they come from one.
    seed: Option<MaskSeed>,
    bodies: Half,
    masks: Half,
}

impl PartialEq for SwitchingKey {
    /// Compares keys independently of their storage.
    fn eq(&self, other: &Self) -> bool {
        let (mut one, mut two) = (vec![0; self.ring.degree().get()], vec![0; other.ring.degree().get()]);
        let mut same = |part, term, position| {
            self.limb(part, term, position, &mut one) == other.limb(part, term, position, &mut two)
        };
        self.id == other.id
            && self.gadget == other.gadget
            && self.ring.moduli() == other.ring.moduli()
            && (0..self.gadget.terms().len())
                .all(|term| (0..self.limbs().len()).all(|at| same(Part::Body, term, at) && same(Part::Mask, term, at)))
    }
}

impl SwitchingKey {
    /// Makes a key from its halves, one polynomial per term of `gadget`.
    ///
    /// # Panics
    /// Unless each half has a polynomial for each term, over [`Gadget::qp`] in order.
    pub fn new(
        ring: Arc<Ring>,
        id: KeyId,
        gadget: Arc<Gadget>,
        bodies: Vec<RnsPolynomial>,
        masks: Vec<RnsPolynomial>,
    ) -> Self {
        assert_eq!([bodies.len(), masks.len()], [gadget.terms().len(); 2], "a pair for each term");
        assert!(bodies.iter().chain(&masks).all(|polynomial| polynomial.limbs() == gadget.qp()), "limbs of the gadget");
        let half = |polynomials: &[RnsPolynomial]| Half::of(&ring, gadget.qp(), polynomials);
        let (bodies, masks) = (half(&bodies), half(&masks));
        Self { id, ring, gadget, seed: None, bodies, masks }
    }

    /// Makes a key from its bodies and its masks' seed ([`super::sample::fill_mask`], where the row is the term).
    ///
    /// # Panics
    /// As [`Self::new`].
    pub fn from_seed(
        ring: Arc<Ring>,
        id: KeyId,
        gadget: Arc<Gadget>,
        bodies: Vec<RnsPolynomial>,
        seed: MaskSeed,
    ) -> Self {
        assert_eq!(bodies.len(), gadget.terms().len(), "a body for each term");
        assert!(bodies.iter().all(|polynomial| polynomial.limbs() == gadget.qp()), "limbs of the gadget");
        let bodies = Half::of(&ring, gadget.qp(), &bodies);
        Self { id, ring, gadget, seed: Some(seed), bodies, masks: Half::Seeded }
    }

    /// [`Self::from_seed`], where `body` overwrites each limb of each term's body: it gets the term, the limb's position in [`Gadget::qp`] and
    /// the words. Only one limb per thread is unpacked at a time.
    pub(crate) fn from_limbs(
        ring: Arc<Ring>,
        id: KeyId,
        gadget: Arc<Gadget>,
        body: impl Fn(usize, usize, &mut [u64]) + Sync,
        seed: MaskSeed,
    ) -> Self {
        let terms = gadget.terms().len();
        let bodies = Half::in_blocks(&ring, gadget.qp(), terms, |position, limb, width| {
            let mut words = vec![0; ring.degree().get()];
            for term in 0..terms {
                body(term, position, &mut words);
                put(limb, (terms, width), term, &words);
            }
        });
        Self { id, ring, gadget, seed: Some(seed), bodies, masks: Half::Seeded }
    }

    /// Makes a key from the packed limbs of each term, which have canonical residues. `None` without masks and without a seed.
    pub(crate) fn from_packed(
        ring: Arc<Ring>,
        id: KeyId,
        gadget: Arc<Gadget>,
        bodies: Vec<Vec<u8>>,
        masks: Option<Vec<Vec<u8>>>,
        seed: Option<MaskSeed>,
    ) -> Option<Self> {
        let masks = match masks {
            Some(masks) => Half::Packed(masks),
            None => seed.map(|_| Half::Seeded)?,
        };
        Some(Self { id, ring, gadget, seed, bodies: Half::Packed(bodies), masks })
    }

    /// Converts the key to `storage`. A key without a seed keeps its masks.
    #[must_use]
    pub fn stored(mut self, storage: KeyStorage) -> Self {
        self.bodies = self.half(Part::Body, storage);
        self.masks = if storage.seeded && self.seed.is_some() { Half::Seeded } else { self.half(Part::Mask, storage) };
        self
    }

    fn half(&mut self, part: Part, storage: KeyStorage) -> Half {
        let half = match part {
            Part::Body => &mut self.bodies,
            Part::Mask => &mut self.masks,
        };
        match (half, storage.packed) {
            (Half::InBlocks(words), false) => return Half::InBlocks(std::mem::replace(words, AlignedTorus::zeros(0))),
            (Half::Packed(bytes), true) => return Half::Packed(std::mem::take(bytes)),
            _ => {}
        }
        let (count, this) = (self.ring.degree().get(), &*self);
        if storage.packed {
            let terms = (0..self.gadget.terms().len()).into_par_iter();
            let pack = |term| {
                let mut scratch = vec![0; count];
                let mut bytes = Vec::with_capacity(storage.half_term_bytes(&this.ring, &this.gadget));
                for (position, &limb) in this.limbs().iter().enumerate() {
                    let bits = PackedBits::of(this.ring.modulus(limb));
                    let start = bytes.len();
                    bytes.resize(start + bits.bytes(count), 0);
                    bits.pack(this.limb(part, term, position, &mut scratch), &mut bytes[start..]);
                }
                bytes
            };
            return Half::Packed(terms.map(pack).collect());
        }
        let terms = this.gadget.terms().len();
        Half::in_blocks(&this.ring, this.limbs(), terms, |position, limb, width| {
            let mut scratch = vec![0; count];
            for term in 0..terms {
                put(limb, (terms, width), term, this.limb(part, term, position, &mut scratch));
            }
        })
    }

    pub fn id(&self) -> KeyId {
        self.id
    }

    pub fn ring(&self) -> &Arc<Ring> {
        &self.ring
    }

    /// How it cuts.
    pub fn gadget(&self) -> &Arc<Gadget> {
        &self.gadget
    }

    /// The seed of its masks, if they come from one.
    pub fn seed(&self) -> Option<MaskSeed> {
        self.seed
    }

    /// The limbs of its polynomials: Q's, then P's.
    pub fn limbs(&self) -> &[LimbId] {
        self.gadget.qp()
    }

    /// One limb of all terms in blocks of [`BLOCK`] residues: the words, and the words per block. `position` is an index into
    /// [`Self::limbs`]. `None` if the half is stored differently.
    ///
    /// # Panics
    /// If there is no such limb.
    pub fn limb_in_blocks(&self, part: Part, position: usize) -> Option<(&[u64], usize)> {
        let half = match part {
            Part::Body => &self.bodies,
            Part::Mask => &self.masks,
        };
        let Half::InBlocks(words) = half else { return None };
        let (range, width) = place(&self.ring, self.limbs(), self.gadget.terms().len(), position);
        Some((&words[range], width))
    }

    /// The masks of one limb of term `term`, as a stream. `position` is an index into [`Self::limbs`]. `None` unless masks are expanded from
    /// their seed.
    ///
    /// # Panics
    /// If there is no such limb.
    pub fn mask_stream(&self, term: usize, position: usize) -> Option<UniformStream> {
        match (&self.masks, self.seed) {
            (Half::Seeded, Some(seed)) => {
                Some(sample::mask_stream(&self.ring, &seed, term as u32, self.limbs()[position]))
            }
            _ => None,
        }
    }

    /// The N words of one limb of term `term`, unpacked into `scratch` (N words) if necessary. `position` is an index into [`Self::limbs`].
    ///
    /// # Panics
    /// If there is no such term or limb.
    pub fn limb<'a>(&self, part: Part, term: usize, position: usize, scratch: &'a mut [u64]) -> &'a [u64] {
        let half = match part {
            Part::Body => &self.bodies,
            Part::Mask => &self.masks,
        };
        let limb = self.limbs()[position];
        match (half, self.seed) {
            (Half::InBlocks(words), _) => {
                let terms = self.gadget.terms().len();
                let (range, width) = place(&self.ring, self.limbs(), terms, position);
                let blocks = words[range].chunks_exact(terms * width);
                for (target, blocks) in scratch.chunks_exact_mut(BLOCK).zip(blocks) {
                    let block = &blocks[term * width..(term + 1) * width];
                    target.iter_mut().enumerate().for_each(|(place, target)| *target = in_block(block, place));
                }
            }
            (Half::Packed(terms), _) => {
                let bytes = |&limb: &LimbId| PackedBits::of(self.ring.modulus(limb)).bytes(self.ring.degree().get());
                let start: usize = self.limbs()[..position].iter().map(bytes).sum();
                PackedBits::of(self.ring.modulus(limb)).unpack(&terms[term][start..start + bytes(&limb)], scratch);
            }
            (Half::Seeded, Some(seed)) => sample::fill_mask(&self.ring, &seed, term as u32, limb, scratch),
            (Half::Seeded, None) => unreachable!("only a key with a seed omits its masks"),
        }
        scratch
    }

    /// Its bytes in memory.
    pub fn bytes(&self) -> usize {
        let half = |half: &Half| match half {
            Half::InBlocks(words) => size_of_val(&words[..]),
            Half::Packed(terms) => terms.iter().map(Vec::len).sum(),
            Half::Seeded => 0,
        };
        half(&self.bodies) + half(&self.masks)
    }
}

/// A program needs a key that the set lacks.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{wanted} is missing; the set has {available} keys: make it with the others, from the program's list of keys")]
pub struct MissingKey {
    pub wanted: KeyId,
    pub available: usize,
}

/// The switching keys of a server, over one ring.
#[derive(Clone, Debug)]
pub struct KeySet {
    ring: Arc<Ring>,
    keys: BTreeMap<KeyId, Arc<SwitchingKey>>,
}

impl KeySet {
    /// An empty set.
    pub fn new(ring: Arc<Ring>) -> Self {
        Self { ring, keys: BTreeMap::new() }
    }

    pub fn ring(&self) -> &Arc<Ring> {
        &self.ring
    }

    /// Adds `key`, replacing an earlier one of the same [`KeyId`].
    pub fn insert(&mut self, key: SwitchingKey) {
        self.keys.insert(key.id, Arc::new(key));
    }

    /// The key `id`.
    pub fn get(&self, id: KeyId) -> Result<&Arc<SwitchingKey>, MissingKey> {
        self.keys.get(&id).ok_or(MissingKey { wanted: id, available: self.keys.len() })
    }

    /// All identifiers, in order.
    pub fn ids(&self) -> impl Iterator<Item = KeyId> {
        self.keys.keys().copied()
    }

    /// All keys, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<SwitchingKey>> {
        self.keys.values()
    }

    /// Converts all keys to `storage`.
    #[must_use]
    pub fn stored(self, storage: KeyStorage) -> Self {
        let store = |(id, key): (KeyId, Arc<SwitchingKey>)| (id, Arc::new(Arc::unwrap_or_clone(key).stored(storage)));
        Self { keys: self.keys.into_iter().map(store).collect(), ..self }
    }

    /// Bytes of all keys in memory.
    pub fn bytes(&self) -> usize {
        self.keys.values().map(|key| key.bytes()).sum()
    }
}
