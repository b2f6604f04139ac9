//! Joins the parties' messages to keys.

use std::ops::Range;
use std::sync::Arc;

use super::message::{Message, Round};
use super::session::{JointError, Session, Wanted, generation};
use crate::generation::KeyGeneration;
use crate::rns::{Domain, KeyId, KeySet, LimbId, PublicKey, Ring, RnsPolynomial, SwitchingKey};
use crate::set_file::ParameterSet;
use crate::{bgv, ckks};

/// A joint public key.
#[derive(Clone, Debug)]
pub enum JointPublicKey {
    Ckks(ckks::PublicEncryptionKey),
    Bgv(bgv::BgvPublicKey),
}

/// The joint keys, all of them public.
#[derive(Clone, Debug)]
pub struct JointKeys {
    pub public: JointPublicKey,
    pub evaluation: KeySet,
    pub generation: KeyGeneration,
}

/// Polynomials of a wanted key in a message of the first round: one a term, and two for the relinearisation key.
fn first_count(wanted: &Wanted) -> usize {
    let terms = wanted.gadget.terms().len();
    if wanted.id == KeyId::Relinearisation { 2 * terms } else { terms }
}

/// Where the polynomials of each wanted key are in a message of the first round.
pub(super) fn places(session: &Session) -> impl Iterator<Item = (&Wanted, Range<usize>)> {
    session.wanted.iter().scan(1, |at, wanted| {
        let start = *at;
        *at += first_count(wanted);
        Some((wanted, start..*at))
    })
}

/// The messages by party, if they are one of each party, or of each of some, of one session and round, about `subject`, with polynomials over
/// `limbs`.
pub(super) fn one_of_each<'m>(
    session: &Session,
    (messages, among): (&'m [Message], Option<&[usize]>),
    round: Round,
    (subject, needed): ([u8; 32], &'static str),
    form: (&[Vec<LimbId>], Domain),
) -> Result<Vec<&'m Message>, JointError> {
    let parties = session.parties();
    if among.is_none() && messages.len() != parties {
        return Err(JointError::Count { found: messages.len(), parties });
    }
    let mut by_party: Vec<Option<&Message>> = vec![None; parties];
    for (position, message) in messages.iter().enumerate() {
        let what = || format!("message {position}, of party {}", message.party);
        if message.session != session.id() || message.set != *session.set() {
            return Err(JointError::Session { what: what() });
        }
        if message.round != round {
            return Err(JointError::Round { what: what(), found: message.round, needed: round });
        }
        if message.subject != subject {
            return Err(JointError::Subject { what: what(), needed });
        }
        let (limbs, domain) = form;
        let fits = message.polynomials.len() == limbs.len()
            && message.polynomials.iter().zip(limbs).all(|(own, limbs)| own.limbs() == limbs && own.domain() == domain);
        if !fits {
            return Err(JointError::Form { what: what() });
        }
        let index = message.party as usize;
        let place = by_party.get_mut(index).ok_or(JointError::Index { index, parties })?;
        if place.replace(message).is_some() {
            return Err(JointError::Twice { what: what(), index });
        }
    }
    Ok(by_party.into_iter().flatten().collect())
}

/// The messages of the first round by party.
pub(super) fn first_messages<'m>(session: &Session, first: &'m [Message]) -> Result<Vec<&'m Message>, JointError> {
    let keys =
        session.wanted.iter().flat_map(|wanted| std::iter::repeat_n(wanted.gadget.qp().to_vec(), first_count(wanted)));
    let limbs: Vec<_> = [session.public_limbs()].into_iter().chain(keys).collect();
    one_of_each(session, (first, None), Round::First, (session.id(), "a first round"), (&limbs, Domain::Evaluation))
}

/// The sum of the polynomials at `place` of all messages.
pub(super) fn sum(ring: &Ring, messages: &[&Message], place: usize) -> RnsPolynomial {
    let mut sum = messages[0].polynomials[place].clone();
    messages[1..].iter().for_each(|message| sum.add_assign(ring, &message.polynomials[place]));
    sum
}

impl JointKeys {
    /// Joins the messages of both rounds, in any order.
    ///
    /// # Errors
    /// [`JointError`] unless they are one of each party in each round, of one run of the protocol.
    pub fn new(session: &Session, first: &[Message], second: &[Message]) -> Result<Self, JointError> {
        let first = first_messages(session, first)?;
        let transcript = session.transcript(first.iter().map(|message| &message.polynomials[..]));
        let relinearisation = session.wanted.iter().filter(|wanted| wanted.id == KeyId::Relinearisation);
        let limbs: Vec<_> = relinearisation
            .flat_map(|wanted| std::iter::repeat_n(wanted.gadget.qp().to_vec(), wanted.gadget.terms().len()))
            .collect();
        let subject = (transcript, "other first messages");
        let second = one_of_each(session, (second, None), Round::Second, subject, (&limbs, Domain::Evaluation))?;
        let (ring, generation) = (session.ring(), generation(&transcript));
        let mut evaluation = KeySet::new(Arc::clone(ring));
        for (wanted, range) in places(session) {
            let (id, gadget) = (wanted.id, Arc::clone(&wanted.gadget));
            let terms = gadget.terms().len();
            let sums = |range: Range<usize>| range.map(|place| sum(ring, &first, place)).collect::<Vec<_>>();
            let key = if id == KeyId::Relinearisation {
                let bodies = (0..terms).map(|term| sum(ring, &second, term)).collect();
                let mut masks = sums(range.start + terms..range.end);
                masks.iter_mut().for_each(|mask| mask.neg_assign(ring));
                SwitchingKey::new(Arc::clone(ring), id, gadget, bodies, masks)
            } else {
                SwitchingKey::from_seed(Arc::clone(ring), id, gadget, sums(range), session.mask(&id.to_string()))
            };
            evaluation.insert(key.stored(wanted.storage));
        }
        let zero = PublicKey::from_seed(ring, sum(ring, &first, 0), session.mask("public"));
        let zero = zero.unwrap_or_else(|| unreachable!("the form of the first messages was checked"));
        let public = match session.set() {
            ParameterSet::Ckks(set) => JointPublicKey::Ckks(ckks::PublicEncryptionKey::new(set, generation, zero)?),
            ParameterSet::Bgv(set) => JointPublicKey::Bgv(bgv::BgvPublicKey::new(set, generation, zero)?),
        };
        Ok(Self { public, evaluation, generation })
    }
}
