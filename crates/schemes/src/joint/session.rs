//! The data that the parties share before they send anything.

use std::sync::Arc;

use blake3::Hasher;
use polyfabric_kernels::RingDegree;
use thiserror::Error;

use crate::generation::{KeyGeneration, OtherGeneration};
use crate::random::{MaskSeed, RandomnessError};
use crate::rns::{
    Domain, Gadget, KeyId, KeyMakerError, KeyStorage, LimbId, NoiseDistribution, Ring, RingError, RnsPolynomial,
};
use crate::set_file::ParameterSet;
use crate::{bgv, ckks};

/// Why joint keys or results cannot be made.
#[derive(Debug, Error)]
pub enum JointError {
    #[error("parameter set {0} is for one owner of the keys; take one for several parties")]
    Alone(String),
    #[error("{0} is not among the keys that several parties can make; take a program without bootstrapping")]
    Key(KeyId),
    #[error("party {index}, but there are {parties}, 0 to {}; give one of these", parties - 1)]
    Index { index: usize, parties: usize },
    #[error("{found} messages, but {parties} are needed, one of each party; bring all of them")]
    Count { found: usize, parties: usize },
    #[error("{what}: it is of the {found} round, but the {needed} is needed; bring the other message")]
    Round { what: String, found: super::Round, needed: super::Round },
    #[error(
        "{what}: a message of party {index} is there twice, and one of another party is missing; bring one of each"
    )]
    Twice { what: String, index: usize },
    #[error(
        "{what}: it belongs to another program, parameter set, number of parties or reference; all parties must use the same ones"
    )]
    Session { what: String },
    #[error("{what}: it belongs to {needed}, but not to these; bring the messages of one run of the protocol")]
    Subject { what: String, needed: &'static str },
    #[error("{what}: its polynomials have other limbs than its round has; bring a fresh copy")]
    Form { what: String },
    #[error(
        "party {0} has answered another set of first messages already, and a second answer would reveal its secret; make all parties anew"
    )]
    Answered(usize),
    #[error(
        "{threshold} of {parties} parties; give from 2 to one less than the parties, as all decrypt without secret shares"
    )]
    Threshold { threshold: usize, parties: usize },
    #[error(
        "parties {among:?} and party {index}; name {threshold} different parties, this one among them, each from 0 to {}", parties - 1
    )]
    Among { among: Vec<usize>, index: usize, threshold: usize, parties: usize },
    #[error("party {0} holds no secret shares, so only all parties together decrypt; exchange secret shares first")]
    Undealt(usize),
    #[error("{what}: it is for party {to}, but this is party {index}; give each party its own")]
    Receiver { what: String, to: usize, index: usize },
    #[error("{what}: any {found} parties decrypt with it, but {needed} with the first one; deal with one threshold")]
    OtherThreshold { what: String, found: usize, needed: usize },
    #[error("the prime {prime} has too few points for so many parties; take another parameter set")]
    Points { prime: u64 },
    #[error("party {0} has not made its second message, so it knows no joint keys; finish the two rounds first")]
    Unfinished(usize),
    #[error(
        "smudging noise of {bits} bits, deviation 2^{log2_deviation:.1}: it must have at least 40 bits; make the specification again"
    )]
    Smudging { bits: f64, log2_deviation: f64 },
    #[error("a result of {0} parts; parties decrypt ciphertexts of two parts, so relinearise it in the program")]
    Parts(usize),
    #[error(transparent)]
    Generation(#[from] OtherGeneration),
    #[error(transparent)]
    Randomness(#[from] RandomnessError),
    #[error(transparent)]
    Ring(#[from] RingError),
    #[error(transparent)]
    Keys(#[from] KeyMakerError),
    #[error(transparent)]
    Ckks(#[from] ckks::ClientError),
    #[error(transparent)]
    Bgv(#[from] bgv::ClientError),
}

/// A switching key that the parties make, and the limbs that the program reads.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub id: KeyId,
    pub gadget: Arc<Gadget>,
    pub storage: KeyStorage,
}

/// The data that all parties share: parameter set, number of parties, keys, and the seed of the public polynomials.
#[derive(Clone, Debug)]
pub struct Session {
    set: ParameterSet,
    ring: Arc<Ring>,
    pub(super) wanted: Vec<Wanted>,
    id: [u8; 32],
}

impl Session {
    /// For the set and the switching keys of a program. `interface` identifies the program for all parties, and `reference` is any text they
    /// agreed on, from which the public polynomials are derived.
    ///
    /// # Errors
    /// [`JointError::Alone`], [`JointError::Key`].
    pub fn new(
        set: &ParameterSet,
        keys: &[(KeyId, Vec<LimbId>, KeyStorage)],
        interface: &[u8],
        reference: &[u8],
    ) -> Result<Self, JointError> {
        let (ring, secret) = match set {
            ParameterSet::Ckks(set) => (set.ring()?, set.secret()),
            ParameterSet::Bgv(set) => (Arc::clone(set.ring()), set.literal().secret),
        };
        if secret.parties() == 1 {
            return Err(JointError::Alone(set.name().to_owned()));
        }
        let wanted = |(id, limbs, storage): &(KeyId, Vec<LimbId>, KeyStorage)| {
            let gadget = match set {
                ParameterSet::Ckks(set) => set.gadget_over(*id, limbs),
                ParameterSet::Bgv(set) => Arc::clone(set.gadget_of(*id)),
            };
            match id {
                KeyId::Relinearisation | KeyId::Galois(_) | KeyId::GaloisAfter(_) => {
                    Ok(Wanted { id: *id, gadget, storage: *storage })
                }
                _ => Err(JointError::Key(*id)),
            }
        };
        let wanted = keys.iter().map(wanted).collect::<Result<_, _>>()?;
        let id = hash("polyfabric 2026 joint session", &[&super::message::block(set), interface, reference]);
        Ok(Self { set: set.clone(), ring, wanted, id })
    }

    pub fn set(&self) -> &ParameterSet {
        &self.set
    }

    pub fn ring(&self) -> &Arc<Ring> {
        &self.ring
    }

    pub fn degree(&self) -> RingDegree {
        self.ring.degree()
    }

    /// n.
    pub fn parties(&self) -> usize {
        match &self.set {
            ParameterSet::Ckks(set) => set.secret().parties(),
            ParameterSet::Bgv(set) => set.literal().secret.parties(),
        }
    }

    pub(crate) fn id(&self) -> [u8; 32] {
        self.id
    }

    /// The seed of the public polynomials of `purpose`.
    pub(super) fn mask(&self, purpose: &str) -> MaskSeed {
        MaskSeed(hash("polyfabric 2026 joint mask", &[&self.id, purpose.as_bytes()]))
    }

    /// Limbs of the public key and of ciphertexts.
    pub(super) fn public_limbs(&self) -> Vec<LimbId> {
        limbs_of(&self.set)
    }

    /// Errors of the public key are multiples of this, as is smudging noise.
    pub(super) fn factor(&self) -> u64 {
        match &self.set {
            ParameterSet::Ckks(_) => 1,
            ParameterSet::Bgv(set) => set.plaintext_modulus().value(),
        }
    }

    /// A party's errors in the public key, and in switching keys.
    pub(super) fn noises(&self) -> [NoiseDistribution; 2] {
        match &self.set {
            ParameterSet::Ckks(set) => [set.noise(), set.noise()],
            ParameterSet::Bgv(set) => {
                let of = |factor| NoiseDistribution::new(set.literal().noise_std, factor);
                [of(self.factor()), of(set.key_noise_factor())]
            }
        }
    }

    /// Binds the second round and all later messages to the first messages: the polynomials of each, by party.
    pub(super) fn transcript<'a>(&self, first: impl IntoIterator<Item = &'a [RnsPolynomial]>) -> [u8; 32] {
        let digests: Vec<[u8; 32]> = first.into_iter().map(digest).collect();
        hash("polyfabric 2026 joint transcript", &[&self.id, digests.as_flattened()])
    }
}

/// Limbs of ciphertexts of a set.
pub(super) fn limbs_of(set: &ParameterSet) -> Vec<LimbId> {
    match set {
        ParameterSet::Ckks(set) => LimbId::range(0, set.q_limbs()),
        ParameterSet::Bgv(set) => set.gadget().q().to_vec(),
    }
}

/// The key generation that first messages give.
pub(super) fn generation(transcript: &[u8; 32]) -> KeyGeneration {
    KeyGeneration::of(&MaskSeed(*transcript))
}

/// BLAKE3 of `parts`, each with its length, for one purpose.
pub(super) fn hash(purpose: &str, parts: &[&[u8]]) -> [u8; 32] {
    let mut hasher = Hasher::new_derive_key(purpose);
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    *hasher.finalize().as_bytes()
}

/// The hash of polynomials: domain, limbs and words of each.
pub(super) fn digest(polynomials: &[RnsPolynomial]) -> [u8; 32] {
    let mut hasher = Hasher::new_derive_key("polyfabric 2026 joint polynomials");
    for polynomial in polynomials {
        hasher.update(&[u8::from(polynomial.domain() == Domain::Evaluation)]);
        hasher.update(&(polynomial.limbs().len() as u64).to_le_bytes());
        for limb in polynomial.limbs() {
            hasher.update(&limb.0.to_le_bytes());
        }
        let mut bytes = Vec::with_capacity(8 * polynomial.degree().get());
        for (_, words) in polynomial.iter() {
            bytes.clear();
            words.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
            hasher.update(&bytes);
        }
    }
    *hasher.finalize().as_bytes()
}
