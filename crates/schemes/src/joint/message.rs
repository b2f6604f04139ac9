//! The messages of the parties, and their files. Readers treat them as hostile: sizes are known before anything is allocated, and every
//! message names its session, party, round and what it answers.

use super::party::Party;
use super::session::{JointError, Session};
use super::threshold::Holding;
use crate::random::SecretSeed;
use crate::rns::serial::{polynomial_bytes, read_polynomial, write_polynomial};
use crate::rns::{Domain, LimbId, Ring, RnsPolynomial};
use crate::serial::{Family, Fields, FormatError, Reader, Sink, Storable, expect_length, file_kinds};
use crate::set_file::ParameterSet;
use crate::{bgv, ckks};
use std::sync::Arc;

file_kinds! {
    /// [`Party`].
    ClientKey = 1, "a party's secret";
    /// [`Message`].
    Message = 2, "a message of a party";
    /// [`Deal`](super::Deal).
    Deal = 3, "a secret share for one party";
}

/// The files of several parties.
#[derive(Clone, Copy, Debug)]
pub struct Joint;

/// The block of the set's own scheme, then the scheme.
pub(super) fn block(set: &ParameterSet) -> Vec<u8> {
    let (mut block, scheme) = match set {
        ParameterSet::Ckks(set) => (ckks::serial::Ckks::encode(set), 0u32),
        ParameterSet::Bgv(set) => (bgv::serial::Bgv::encode(set), 1),
    };
    block.extend(scheme.to_le_bytes());
    block
}

impl Family for Joint {
    type Kind = Kind;
    type Parameters = ParameterSet;
    const MAGIC: [u8; 8] = *b"PLYFJOIN";
    const VERSION: u32 = 1;
    const MAX_PARAMETERS: u32 = ckks::serial::Ckks::MAX_PARAMETERS + 4;

    fn encode(set: &ParameterSet) -> Vec<u8> {
        block(set)
    }

    fn decode(block: &[u8]) -> Result<ParameterSet, FormatError> {
        let at = block.len().checked_sub(4).ok_or(FormatError::ParameterBlock("it ends within a field"))?;
        let (block, scheme) = block.split_at(at);
        match Fields(scheme).u32()? {
            0 => ckks::serial::Ckks::decode(block).map(ParameterSet::Ckks),
            1 => bgv::serial::Bgv::decode(block).map(ParameterSet::Bgv),
            _ => Err(FormatError::ParameterBlock("its scheme is neither CKKS nor BGV")),
        }
    }
}

/// The purpose of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Round {
    /// Parts of the joint keys.
    First,
    /// The second part of the relinearisation key.
    Second,
    /// A share of a decryption.
    Decryption,
}

impl std::fmt::Display for Round {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::First => "first",
            Self::Second => "second",
            Self::Decryption => "decryption",
        })
    }
}

/// One message of one party.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    pub(super) set: ParameterSet,
    pub(super) round: Round,
    pub(super) party: u32,
    /// The session's hash.
    pub(super) session: [u8; 32],
    /// The hash of what it answers: the first messages, or the ciphertexts; the session's for a first message.
    pub(super) subject: [u8; 32],
    pub(super) polynomials: Vec<RnsPolynomial>,
}

/// Maximum number of polynomials of a message.
const MOST_POLYNOMIALS: u32 = 1 << 20;

pub(super) fn ring_of(set: &ParameterSet) -> Result<Arc<Ring>, FormatError> {
    match set {
        ParameterSet::Ckks(set) => set.ring().map_err(|error| FormatError::Parameters(Box::new(error))),
        ParameterSet::Bgv(set) => Ok(Arc::clone(set.ring())),
    }
}

/// Bytes before a message's polynomials.
const HEAD: u64 = 4 + 4 + 32 + 32 + 4;

/// The payload is the round, party, session, subject and number of polynomials, then domain, limbs and residues of each.
impl Storable for Message {
    type Family = Joint;
    const KIND: Kind = Kind::Message;

    fn parameters(&self) -> &ParameterSet {
        &self.set
    }

    fn payload_bytes(&self) -> u64 {
        let moduli = match &self.set {
            ParameterSet::Ckks(set) => set.moduli(),
            ParameterSet::Bgv(set) => set.ring().moduli(),
        };
        let one = |polynomial: &RnsPolynomial| {
            let limbs = polynomial.limbs();
            8 + 4 * limbs.len() as u64 + polynomial_bytes(polynomial.degree().get(), moduli, limbs)
        };
        HEAD + self.polynomials.iter().map(one).sum::<u64>()
    }

    fn write_payload(&self, sink: &mut Sink<'_>) -> std::io::Result<()> {
        let ring = ring_of(&self.set).map_err(std::io::Error::other)?;
        sink.bytes(&(self.round as u32).to_le_bytes())?;
        sink.bytes(&self.party.to_le_bytes())?;
        sink.bytes(&self.session)?;
        sink.bytes(&self.subject)?;
        sink.bytes(&(self.polynomials.len() as u32).to_le_bytes())?;
        for polynomial in &self.polynomials {
            let limbs = polynomial.limbs();
            sink.bytes(&u32::from(polynomial.domain() == Domain::Evaluation).to_le_bytes())?;
            sink.bytes(&(limbs.len() as u32).to_le_bytes())?;
            limbs.iter().try_for_each(|limb| sink.bytes(&u32::from(limb.0).to_le_bytes()))?;
            write_polynomial(&ring, polynomial, sink)?;
        }
        Ok(())
    }

    fn read_payload(set: ParameterSet, length: u64, reader: &mut Reader<'_>) -> Result<Self, FormatError> {
        let before = reader.left();
        let round = match reader.u32("the round")? {
            0 => Round::First,
            1 => Round::Second,
            2 => Round::Decryption,
            _ => return Err(FormatError::Content("there is no such round")),
        };
        let party = reader.u32("the party")?;
        let (mut session, mut subject) = ([0; 32], [0; 32]);
        reader.bytes("the session", &mut session)?;
        reader.bytes("what a message answers", &mut subject)?;
        let count = reader.u32("the number of polynomials")?;
        if count > MOST_POLYNOMIALS {
            return Err(FormatError::Content("a message has more than 2^20 polynomials"));
        }
        let ring = ring_of(&set)?;
        let mut polynomials = Vec::new();
        for _ in 0..count {
            let domain = match reader.u32("the domain")? {
                0 => Domain::Coefficient,
                1 => Domain::Evaluation,
                _ => return Err(FormatError::Content("the domain is neither 0 nor 1")),
            };
            let limbs = read_limbs(&ring, reader)?;
            polynomials.push(read_polynomial("a polynomial", &ring, &limbs, domain, reader)?);
        }
        expect_length("the message", length, before - reader.left())?;
        Ok(Self { set, round, party, session, subject, polynomials })
    }
}

fn read_limbs(ring: &Ring, reader: &mut Reader<'_>) -> Result<Vec<LimbId>, FormatError> {
    let (count, most) = (reader.u32("the number of limbs")?, ring.moduli().len());
    if count == 0 || count as usize > most {
        return Err(FormatError::Content("a polynomial has no limb, or more than its ring"));
    }
    let mut limbs = Vec::with_capacity(count as usize);
    for _ in 0..count {
        let limb = reader.u32("a limb")?;
        let limb = u16::try_from(limb).ok().map(LimbId).filter(|&limb| ring.holds(limb) && !limbs.contains(&limb));
        limbs.push(limb.ok_or(FormatError::Content("a polynomial has a limb that its ring lacks, or one twice"))?);
    }
    Ok(limbs)
}

/// The payload is the session, party, seed, and whether there is a transcript and which; then what it holds of a dealt secret, if anything.
impl Storable for Party {
    type Family = Joint;
    const KIND: Kind = Kind::ClientKey;

    fn parameters(&self) -> &ParameterSet {
        self.session().set()
    }

    fn payload_bytes(&self) -> u64 {
        let held = |_: &Holding| Holding::bytes(self.session().set(), self.session().parties());
        PARTY + self.holding().map_or(0, held)
    }

    fn write_payload(&self, sink: &mut Sink<'_>) -> std::io::Result<()> {
        sink.bytes(&self.session().id())?;
        sink.bytes(&(self.index() as u32).to_le_bytes())?;
        sink.bytes(self.seed().bytes())?;
        sink.bytes(&u32::from(self.transcript().is_some()).to_le_bytes())?;
        sink.bytes(&self.transcript().unwrap_or_default())?;
        self.holding().map_or(Ok(()), |holding| holding.write(self.session().set(), sink))
    }

    /// A party is read with its session: [`Party::read`].
    fn read_payload(_: ParameterSet, _: u64, _: &mut Reader<'_>) -> Result<Self, FormatError> {
        Err(FormatError::Keys("a party needs its session".to_owned()))
    }
}

const PARTY: u64 = 32 + 4 + SecretSeed::BYTES as u64 + 4 + 32;

impl Party {
    /// As [`Storable::read_payload`], for a party of `session`.
    #[doc(hidden)]
    pub fn read(session: &Session, length: u64, reader: &mut Reader<'_>) -> Result<Self, FormatError> {
        let holds = length > PARTY;
        let held = if holds { Holding::bytes(session.set(), session.parties()) } else { 0 };
        expect_length("the party", length, PARTY + held)?;
        let (mut own, mut transcript) = ([0; 32], [0; 32]);
        reader.bytes("the session", &mut own)?;
        let index = reader.u32("the party")? as usize;
        let mut seed = zeroize::Zeroizing::new([0; SecretSeed::BYTES]);
        reader.bytes("the party's seed", &mut *seed)?;
        let answered = reader.u32("whether there is a transcript")?;
        reader.bytes("the transcript", &mut transcript)?;
        if own != session.id() {
            return Err(FormatError::Keys("it is of another specification or reference".to_owned()));
        }
        if answered > 1 {
            return Err(FormatError::Content("whether there is a transcript is neither 0 nor 1"));
        }
        let holding = if holds { Some(Holding::read(session, reader)?) } else { None };
        let state = ((answered == 1).then_some(transcript), holding);
        let made = Self::from_seed(session, index, SecretSeed::from_bytes(*seed), state);
        made.map_err(|error: JointError| FormatError::Parameters(Box::new(error)))
    }
}
