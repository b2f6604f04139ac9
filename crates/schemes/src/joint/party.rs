//! One party: its secret, and its messages.

use zeroize::Zeroizing;

use super::message::{Message, Round};
use super::session::{JointError, Session, digest, generation, hash};
use super::smudging::Smudging;
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
}

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
        Self::from_seed(session, index, SecretSeed::from_os()?, None)
    }

    /// A reproducible party for tests.
    ///
    /// # Errors
    /// [`JointError::Index`].
    #[cfg(any(test, feature = "test-seeds"))]
    pub fn for_tests(session: &Session, index: usize, seed: u64) -> Result<Self, JointError> {
        Self::from_seed(session, index, Seeds::for_tests(seed).secret, None)
    }

    pub(super) fn from_seed(
        session: &Session,
        index: usize,
        seed: SecretSeed,
        transcript: Option<[u8; 32]>,
    ) -> Result<Self, JointError> {
        if index >= session.parties() {
            return Err(JointError::Index { index, parties: session.parties() });
        }
        let secret = |purpose| {
            SecretKey::generate(session.degree(), SecretDistribution::UniformTernary, &mut seed.stream(purpose, 0))
        };
        let (own, second) = (secret(Purpose::SecretKey), secret(Purpose::PartySecret));
        Ok(Self { session: session.clone(), index, seed, secret: own, second, transcript })
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

    /// The share of a decryption of `outputs`, each with its smudging noise: s_i·c_1 + e. The noise is determined by c_1 and its deviation:
    /// the same request gives the same share.
    ///
    /// # Errors
    /// [`JointError::Smudging`] below 40 bits; [`JointError::Parts`]; [`JointError::Unfinished`].
    pub fn share(&self, outputs: &[(Ciphertext, Smudging)]) -> Result<Message, JointError> {
        let (session, ring) = (&self.session, self.session.ring());
        let generation = self.generation()?;
        let mut polynomials = Vec::new();
        for (ciphertext, smudging) in outputs {
            let Smudging { bits, log2_deviation } = *smudging;
            if !smudging.is_usable() {
                return Err(JointError::Smudging { bits, log2_deviation });
            }
            if ciphertext.parts.len() != 2 {
                return Err(JointError::Parts(ciphertext.parts.len()));
            }
            let mut share = ciphertext.parts[1].clone();
            share.forward(ring);
            let seed = self.noise("share", &share_label(&share, log2_deviation));
            share.multiply_assign(ring, self.secret.values(ring, share.limbs()).get());
            share.inverse(ring);
            let gaussian = RoundedGaussian::wide(log2_deviation.exp2());
            let noise = gaussian.wide_polynomial(&mut seed.stream(Purpose::Flooding, 0), ring.degree().get());
            shares::add_noise(ring, &mut share, &noise, session.factor());
            polynomials.push(share);
        }
        let subject = shares::subject(session, generation, outputs.iter().map(|(ciphertext, _)| ciphertext));
        Ok(self.message(Round::Decryption, subject, polynomials))
    }
}

/// Names the noise of a share: c_1 and the deviation.
fn share_label(mask: &RnsPolynomial, log2_deviation: f64) -> Vec<u8> {
    let mut label = digest(std::slice::from_ref(mask)).to_vec();
    label.extend(log2_deviation.to_le_bytes());
    label
}

/// A polynomial that reveals a secret until it is part of a sum.
struct Product(RnsPolynomial);

impl zeroize::Zeroize for Product {
    fn zeroize(&mut self) {
        crate::rns::sample::wipe(&mut self.0);
    }
}
