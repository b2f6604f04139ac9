//! One party: its secret, and its messages.

use zeroize::Zeroizing;

use super::message::{Message, Round};
use super::session::{JointError, Session, digest, generation, hash};
use super::smudging::Smudging;
use super::threshold::{self, Deal, Holding};
use super::{keys, shares};
use crate::gaussian::RoundedGaussian;
use crate::generation::KeyGeneration;
use crate::random::{Purpose, SecretSeed, Seeds};
use crate::rns::encryption::{encrypt_zero, noise_polynomial};
use crate::rns::key_maker::GadgetEncryption;
use crate::rns::{
    Ciphertext, Domain, Gadget, KeyId, KeyMaker, NoiseDistribution, RnsPolynomial, SecretDistribution, SecretKey,
    SecretPolynomial,
};

/// One party. Its secrets are wiped when it is dropped, and never printed.
pub struct Party {
    session: Session,
    index: usize,
    /// All of its secrets and noise come from this seed.
    seed: SecretSeed,
    /// s_i.
    secret: SecretKey,
    /// u_i.
    second: SecretKey,
    /// The hash of the first messages that it answered.
    transcript: Option<[u8; 32]>,
    /// Its point of the shared secret, if there is one.
    holding: Option<Holding>,
}

/// The state of a party: the hash of the first messages, and its point of the shared secret.
pub(super) type State = (Option<[u8; 32]>, Option<Holding>);

impl std::fmt::Debug for Party {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Party").field("index", &self.index).finish_non_exhaustive()
    }
}

impl Party {
    /// Party `index` of `session`, with secrets from the operating system's randomness.
    ///
    /// # Errors
    /// [`JointError::Index`], [`JointError::Randomness`].
    pub fn new(session: &Session, index: usize) -> Result<Self, JointError> {
        Self::from_seed(session, index, SecretSeed::from_os()?, (None, None))
    }

    /// A reproducible party for tests.
    ///
    /// # Errors
    /// [`JointError::Index`].
    #[cfg(any(test, feature = "test-seeds"))]
    pub fn for_tests(session: &Session, index: usize, seed: u64) -> Result<Self, JointError> {
        Self::from_seed(session, index, Seeds::for_tests(seed).secret, (None, None))
    }

    pub(super) fn from_seed(
        session: &Session,
        index: usize,
        seed: SecretSeed,
        (transcript, holding): State,
    ) -> Result<Self, JointError> {
        if index >= session.parties() {
            return Err(JointError::Index { index, parties: session.parties() });
        }
        let secret = |purpose| {
            SecretKey::generate(session.degree(), SecretDistribution::UniformTernary, &mut seed.stream(purpose, 0))
        };
        let (own, second) = (secret(Purpose::SecretKey), secret(Purpose::PartySecret));
        Ok(Self { session: session.clone(), index, seed, secret: own, second, transcript, holding })
    }

    pub fn session(&self) -> &Session {
        &self.session
    }

    pub fn index(&self) -> usize {
        self.index
    }

    pub(super) fn seed(&self) -> &SecretSeed {
        &self.seed
    }

    pub(super) fn transcript(&self) -> Option<[u8; 32]> {
        self.transcript
    }

    pub(super) fn holding(&self) -> Option<&Holding> {
        self.holding.as_ref()
    }

    /// s_i, for tests.
    #[cfg(test)]
    pub(super) fn secret(&self) -> &SecretKey {
        &self.secret
    }

    fn message(&self, round: Round, subject: [u8; 32], polynomials: Vec<RnsPolynomial>) -> Message {
        let (session, party) = (self.session.id(), self.index as u32);
        Message { set: self.session.set().clone(), round, party, session, subject, polynomials }
    }

    /// A seed for the noise of `purpose`, and of nothing else.
    fn noise(&self, purpose: &str, of: &[u8]) -> SecretSeed {
        self.seed.derive(&hash("polyfabric 2026 joint noise", &[&self.session.id(), purpose.as_bytes(), of]))
    }

    /// The message of the first round, always the same one.
    ///
    /// # Errors
    /// [`JointError::Keys`] for an automorphism that the ring lacks.
    pub fn first(&self) -> Result<Message, JointError> {
        let (session, ring) = (&self.session, self.session.ring());
        let [public, noise] = session.noises();
        let seeds = Seeds { secret: self.noise("public", &[]), mask: session.mask("public") };
        let mut zero =
            encrypt_zero(ring, &session.public_limbs(), &self.secret, &public, &seeds, Purpose::PublicKey).parts;
        zero.truncate(1);
        let mut polynomials = zero;
        let maker = KeyMaker { ring, secret: &self.secret, sparse: None, noise: &noise };
        for wanted in &session.wanted {
            let (name, gadget) = (wanted.id.to_string(), &*wanted.gadget);
            let values = |secret: &SecretKey| secret.values(ring, gadget.qp());
            let own = |purpose: &str, from: Option<&SecretPolynomial>, to: &SecretPolynomial| {
                self.bodies(gadget, (from, to), &noise, &format!("{name} {purpose}"), &name)
            };
            match wanted.id {
                KeyId::Relinearisation => {
                    let (secret, second) = (values(&self.secret), values(&self.second));
                    polynomials.extend(own("secret", Some(&secret), &second));
                    polynomials.extend(own("mask", None, &secret));
                }
                id => {
                    let (from, to) = maker.secrets(id, gadget)?;
                    polynomials.extend(own("", Some(&from), &to));
                }
            }
        }
        Ok(self.message(Round::First, session.id(), polynomials))
    }

    /// −a_d·`to` + e_d + g_d·`from` for each term d.
    fn bodies(
        &self,
        gadget: &Gadget,
        secrets: (Option<&SecretPolynomial>, &SecretPolynomial),
        noise: &NoiseDistribution,
        purpose: &str,
        mask: &str,
    ) -> Vec<RnsPolynomial> {
        let (ring, mask) = (self.session.ring(), self.session.mask(mask));
        let terms = GadgetEncryption::new(ring, gadget, secrets, noise, &self.noise(purpose, &[]), &mask);
        let body = |number| {
            let mut body = RnsPolynomial::zero(ring.degree(), gadget.qp(), Domain::Evaluation);
            body.for_each_limb(|_, position, words| terms.limb(number, position, words));
            body
        };
        (0..gadget.terms().len()).map(body).collect()
    }

    /// The message of the second round, for the first messages of all parties. A party answers one set of first messages only.
    ///
    /// # Errors
    /// [`JointError`] if the messages are not those of all parties, or this party answered others before.
    pub fn second(&mut self, first: &[Message]) -> Result<Message, JointError> {
        let session = &self.session;
        let first = keys::first_messages(session, first)?;
        let transcript = session.transcript(first.iter().map(|message| &message.polynomials[..]));
        if self.transcript.is_some_and(|before| before != transcript) {
            return Err(JointError::Answered(self.index));
        }
        let ring = session.ring();
        let [_, noise] = session.noises();
        let mut polynomials = Vec::new();
        for (wanted, range) in keys::places(session) {
            if wanted.id != KeyId::Relinearisation {
                continue;
            }
            let (terms, limbs) = (wanted.gadget.terms().len(), wanted.gadget.qp());
            let secret = self.secret.values(ring, limbs);
            let difference = self.second.values(ring, limbs).minus(ring, &secret);
            let errors = [self.noise("second", &transcript), self.noise("second too", &transcript)];
            for term in 0..terms {
                // H_0, and −H_1.
                let mut sum = keys::sum(ring, &first, range.start + term);
                let mask = keys::sum(ring, &first, range.start + terms + term);
                sum.multiply_assign(ring, secret.get());
                let mut product = Zeroizing::new(Product(mask));
                product.0.multiply_assign(ring, difference.get());
                sum.sub_assign(ring, &product.0);
                for error in &errors {
                    let mut stream = error.stream(Purpose::KeySwitchKey, term as u64);
                    let error = Zeroizing::new(Product(noise_polynomial(ring, limbs, &noise, &mut stream)));
                    sum.add_assign(ring, &error.0);
                }
                polynomials.push(sum);
            }
        }
        self.transcript = Some(transcript);
        Ok(self.message(Round::Second, transcript, polynomials))
    }

    /// The generation of the joint keys.
    ///
    /// # Errors
    /// [`JointError::Unfinished`] before the second message.
    pub fn generation(&self) -> Result<KeyGeneration, JointError> {
        self.transcript.as_ref().map(generation).ok_or(JointError::Unfinished(self.index))
    }

    /// This party's secret for each party, its own included, such that any `threshold` of them can decrypt. Always the same ones.
    ///
    /// # Errors
    /// [`JointError::Threshold`] unless it is at least 2 and below n; [`JointError::Points`]; [`JointError::Unfinished`].
    pub fn deal(&self, threshold: usize) -> Result<Vec<Deal>, JointError> {
        let (session, ring) = (&self.session, self.session.ring());
        let parties = session.parties();
        if !(2..parties).contains(&threshold) {
            return Err(JointError::Threshold { threshold, parties });
        }
        threshold::expect_points(session)?;
        let transcript = self.transcript.ok_or(JointError::Unfinished(self.index))?;
        let secret = self.secret.values(ring, &session.public_limbs());
        let seed = self.dealing("deal", threshold, &transcript);
        let values = threshold::values(ring, &secret, threshold, parties, &seed);
        let deal = |(to, value)| Deal {
            set: session.set().clone(),
            subject: [session.id(), transcript],
            threshold: threshold as u32,
            from: self.index as u32,
            to: to as u32,
            seed: self.half(threshold, &transcript, to),
            value,
        };
        Ok(values.into_iter().enumerate().map(deal).collect())
    }

    /// A seed for dealing with a threshold after these first messages.
    fn dealing(&self, purpose: &str, threshold: usize, transcript: &[u8; 32]) -> SecretSeed {
        self.noise(purpose, &[&(threshold as u64).to_le_bytes()[..], transcript].concat())
    }

    /// This party's half of the seed of its masks with party `other`.
    fn half(&self, threshold: usize, transcript: &[u8; 32], other: usize) -> SecretSeed {
        self.dealing("masks", threshold, transcript).derive(&(other as u64).to_le_bytes())
    }

    /// Keeps what all parties dealt to this one. It then takes part in decryptions by as many parties as they agreed on.
    ///
    /// # Errors
    /// [`JointError`] unless `deals` are one of each party, for this one, with one threshold; [`JointError::Unfinished`].
    pub fn take(&mut self, deals: &[Deal]) -> Result<(), JointError> {
        let (session, ring, parties) = (&self.session, self.session.ring(), self.session.parties());
        let transcript = self.transcript.ok_or(JointError::Unfinished(self.index))?;
        let [first, ..] = deals else { return Err(JointError::Count { found: 0, parties }) };
        if deals.len() != parties {
            return Err(JointError::Count { found: deals.len(), parties });
        }
        let needed = first.threshold as usize;
        if !(2..parties).contains(&needed) {
            return Err(JointError::Threshold { threshold: needed, parties });
        }
        let mut seeds: Vec<Option<SecretSeed>> = vec![None; parties];
        let mut sum =
            Zeroizing::new(Product(RnsPolynomial::zero(session.degree(), &session.public_limbs(), Domain::Evaluation)));
        for (position, deal) in deals.iter().enumerate() {
            let what = || format!("secret share {position}, of party {}", deal.from);
            let (from, to, found) = (deal.from as usize, deal.to as usize, deal.threshold as usize);
            if deal.set != *session.set() || deal.subject[0] != session.id() {
                return Err(JointError::Session { what: what() });
            }
            if deal.subject[1] != transcript {
                return Err(JointError::Subject { what: what(), needed: "other first messages" });
            }
            if to != self.index {
                return Err(JointError::Receiver { what: what(), to, index: self.index });
            }
            if found != needed {
                return Err(JointError::OtherThreshold { what: what(), found, needed });
            }
            let place = seeds.get_mut(from).ok_or(JointError::Index { index: from, parties })?;
            let own = self.half(needed, &transcript, from);
            let (lower, higher) = if self.index < from { (&own, &deal.seed) } else { (&deal.seed, &own) };
            if place.replace(lower.derive(higher.bytes())).is_some() {
                return Err(JointError::Twice { what: what(), index: from });
            }
            sum.0.add_assign(ring, deal.value.get());
        }
        let value = SecretPolynomial::new(sum.0.clone());
        self.holding = Some(Holding { threshold: needed, value, seeds: seeds.into_iter().flatten().collect() });
        Ok(())
    }

    /// The parties of a decryption in order, if they are as many as were agreed on, with this one.
    fn among(&self, among: &[usize]) -> Result<(&Holding, Vec<usize>), JointError> {
        let (index, parties) = (self.index, self.session.parties());
        let holding = self.holding.as_ref().ok_or(JointError::Undealt(index))?;
        let mut ordered = among.to_vec();
        ordered.sort_unstable();
        ordered.dedup();
        let threshold = holding.threshold;
        let right = among.len() == threshold && ordered.len() == threshold;
        if !right || !ordered.contains(&index) || ordered.iter().any(|&party| party >= parties) {
            return Err(JointError::Among { among: among.to_vec(), index, threshold, parties });
        }
        Ok((holding, ordered))
    }

    /// The share of a decryption of `outputs`, each with its smudging noise: s_i·c_1 + e, and for the parties `among` instead of all what
    /// `threshold.rs` has. The same request gives the same share.
    ///
    /// # Errors
    /// [`JointError::Smudging`] below 40 bits; [`JointError::Parts`]; [`JointError::Unfinished`]; with `among`, [`JointError::Undealt`] and
    /// [`JointError::Among`].
    pub fn share(&self, outputs: &[(Ciphertext, Smudging)], among: Option<&[usize]>) -> Result<Message, JointError> {
        let (session, ring) = (&self.session, self.session.ring());
        let generation = self.generation()?;
        let fewer = among.map(|among| self.among(among)).transpose()?;
        let parties = fewer.as_ref().map(|(_, parties)| &parties[..]);
        let ciphertexts = outputs.iter().map(|(ciphertext, _)| ciphertext);
        let subject = shares::subject(session, generation, ciphertexts, parties);
        let mut polynomials = Vec::new();
        for (place, (ciphertext, smudging)) in outputs.iter().enumerate() {
            let Smudging { bits, log2_deviation } = *smudging;
            if !smudging.is_usable() {
                return Err(JointError::Smudging { bits, log2_deviation });
            }
            if ciphertext.parts.len() != 2 {
                return Err(JointError::Parts(ciphertext.parts.len()));
            }
            let mut share = ciphertext.parts[1].clone();
            share.forward(ring);
            let seed = self.noise("share", &share_label(&share, log2_deviation, parties));
            let secret = match &fewer {
                None => self.secret.values(ring, share.limbs()),
                Some((holding, parties)) => holding.share(ring, self.index, parties, share.limbs())?,
            };
            share.multiply_assign(ring, secret.get());
            share.inverse(ring);
            let gaussian = RoundedGaussian::wide(log2_deviation.exp2());
            let noise = gaussian.wide_polynomial(&mut seed.stream(Purpose::Flooding, 0), ring.degree().get());
            shares::add_noise(ring, &mut share, &noise, session.factor());
            if let Some((holding, parties)) = &fewer {
                let label = hash("polyfabric 2026 joint masks", &[&subject, &(place as u64).to_le_bytes()]);
                holding.mask(ring, self.index, parties, &label, &mut share);
            }
            polynomials.push(share);
        }
        Ok(self.message(Round::Decryption, subject, polynomials))
    }
}

/// Names the noise of a share: c_1, the deviation, and the parties unless they are all.
fn share_label(mask: &RnsPolynomial, log2_deviation: f64, among: Option<&[usize]>) -> Vec<u8> {
    let mut label = digest(std::slice::from_ref(mask)).to_vec();
    label.extend(log2_deviation.to_le_bytes());
    label.extend(among.unwrap_or(&[]).iter().flat_map(|&party| (party as u64).to_le_bytes()));
    label
}

/// A polynomial that reveals a secret until it is part of a sum.
struct Product(RnsPolynomial);

impl zeroize::Zeroize for Product {
    fn zeroize(&mut self) {
        crate::rns::sample::wipe(&mut self.0);
    }
}
