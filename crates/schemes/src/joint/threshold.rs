//! t of n: each party's secret is shared among all, so that any t of them decrypt, 2 ≤ t < n.
//!
//! After the second round, party i draws r_1, .., r_(t−1), uniform over the ciphertexts' primes. For f_i(X) = s_i + r_1·X + .. + r_(t−1)·X^(t−1)
//! it *deals* f_i(j + 1) to each party j, in secret. Party j keeps the sum S_j = F(j + 1) with F = Σ f_i and F(0) = s. The t parties of a set T
//! then have additive shares of the secret: s = Σ λ_j·S_j over T with λ_j = Π (k + 1)/(k − j) over the others k of T, modulo each prime. That
//! needs primes above n, so that no k + 1 and no k − j is 0. This is A. Shamir's scheme (1979) for RLWE, as C. Mouchet, E. Bertrand and
//! J.-P. Hubaux have it (J. Cryptology 36, 2023).
//!
//! A share of a decryption is λ_j·S_j·c_1 + e + Σ ±m_jk over the others k of T.
//!
//! - λ_j scales the share of the secret before e is drawn, so no coefficient scales the noise: the sum of the shares has the smudging noise of
//!   t parties, less than that of n, for which the planner's bounds hold.
//! - The masks m_jk cancel in the sum. Two parties derive them from a seed that both dealt a half of, for each request and set T. Without masks,
//!   t − 1 parties outside T would see γ·(m + e_c) + e in a single share, with the ciphertext's error e_c and a fraction γ modulo the primes:
//!   that gives e_c modulo its denominator. With masks, all shares of others but their sum are uniform, and [`super::Smudging`] holds for the sum.
//!
//! Semi-honest parties, t − 1 of them together, learn no more than with n of n. Any t can decrypt everything.

use super::message::{Joint, Kind, ring_of};
use super::session::{JointError, Session, limbs_of};
use crate::random::{Purpose, SecretSeed};
use crate::rns::serial::{polynomial_bytes, read_polynomial, write_polynomial};
use crate::rns::{Domain, LimbId, Ring, RnsPolynomial, SecretPolynomial};
use crate::serial::{FormatError, Reader, Sink, Storable, expect_length};
use crate::set_file::ParameterSet;

/// The point of one party's secret for one other party. It is secret.
#[derive(Clone)]
pub struct Deal {
    pub(super) set: ParameterSet,
    /// The session's hash, and that of the first messages.
    pub(super) subject: [[u8; 32]; 2],
    /// t.
    pub(super) threshold: u32,
    pub(super) from: u32,
    pub(super) to: u32,
    /// One half of the seed of the masks of both.
    pub(super) seed: SecretSeed,
    /// f_from(to + 1), over the limbs of ciphertexts, in the evaluation domain.
    pub(super) value: SecretPolynomial,
}

/// The sum of all deals to a party, and the seeds of its masks.
#[derive(Clone)]
pub(super) struct Holding {
    /// t.
    pub threshold: usize,
    /// S_j.
    pub value: SecretPolynomial,
    /// By party, the seed of the masks of both; that of the party itself is unused.
    pub seeds: Vec<SecretSeed>,
}

impl Holding {
    /// λ_j·S_j over `limbs` for party j = `index` in the set `among`.
    pub fn share(
        &self,
        ring: &Ring,
        index: usize,
        among: &[usize],
        limbs: &[LimbId],
    ) -> Result<SecretPolynomial, JointError> {
        let mut value =
            self.value.get().select(limbs).ok_or_else(|| JointError::Form { what: "a result".to_owned() })?;
        for (limb, words) in value.iter_mut() {
            let coefficient = coefficient(ring, limb, index, among)?;
            ring.limb(limb).scale_assign(words, coefficient);
        }
        Ok(SecretPolynomial::new(value))
    }

    /// Adds to a share the masks of party `index` with the others of `among`, for what `label` names.
    pub fn mask(&self, ring: &Ring, index: usize, among: &[usize], label: &[u8], share: &mut RnsPolynomial) {
        for &other in among.iter().filter(|&&other| other != index) {
            let seed = self.seeds[other].derive(label);
            let mask = uniform(ring, &seed, 0, share.limbs(), share.domain());
            if index < other {
                share.add_assign(ring, mask.get());
            } else {
                share.sub_assign(ring, mask.get());
            }
        }
    }
}

/// λ_index for the set `among`, modulo the prime of `limb`.
fn coefficient(ring: &Ring, limb: LimbId, index: usize, among: &[usize]) -> Result<u64, JointError> {
    let modulus = ring.modulus(limb);
    let point = |party: usize| modulus.reduce(party as u64 + 1);
    let mut coefficient = 1;
    for &other in among.iter().filter(|&&other| other != index) {
        let difference = modulus.sub(point(other), point(index));
        let inverse = modulus.inverse(difference).ok_or(JointError::Points { prime: modulus.value() })?;
        coefficient = modulus.multiply(coefficient, modulus.multiply(point(other), inverse));
    }
    Ok(coefficient)
}

/// Whether no two parties have the same point modulo a prime, and none has 0.
pub(super) fn expect_points(session: &Session) -> Result<(), JointError> {
    let primes = session.public_limbs().into_iter().map(|limb| session.ring().modulus(limb).value());
    match primes.into_iter().find(|&prime| prime <= session.parties() as u64) {
        Some(prime) => Err(JointError::Points { prime }),
        None => Ok(()),
    }
}

/// Uniform residues that only those with `seed` know.
fn uniform(ring: &Ring, seed: &SecretSeed, row: u64, limbs: &[LimbId], domain: Domain) -> SecretPolynomial {
    let mut polynomial = RnsPolynomial::zero(ring.degree(), limbs, domain);
    polynomial.for_each_limb(|limb, _, words| {
        let mut stream = seed.stream(Purpose::Sharing, row << 16 | u64::from(limb.0));
        let modulus = ring.modulus(limb).value();
        words.iter_mut().for_each(|word| *word = stream.below(modulus));
    });
    SecretPolynomial::new(polynomial)
}

/// f(j + 1) for all of `parties` j, where f has degree `threshold` − 1, the constant `secret`, and other coefficients of `seed`.
pub(super) fn values(
    ring: &Ring,
    secret: &SecretPolynomial,
    threshold: usize,
    parties: usize,
    seed: &SecretSeed,
) -> Vec<SecretPolynomial> {
    let (limbs, domain) = (secret.get().limbs(), secret.get().domain());
    let mut values: Vec<RnsPolynomial> = vec![RnsPolynomial::zero(ring.degree(), limbs, domain); parties];
    // Horner's rule, from the highest coefficient to the secret.
    for power in (0..threshold).rev() {
        let drawn = (power > 0).then(|| uniform(ring, seed, power as u64, limbs, domain));
        let coefficient = drawn.as_ref().unwrap_or(secret).get();
        for (party, value) in values.iter_mut().enumerate() {
            value.for_each_limb(|limb, _, words| {
                ring.limb(limb).scale_assign(words, ring.modulus(limb).reduce(party as u64 + 1));
            });
            value.add_assign(ring, coefficient);
        }
    }
    values.into_iter().map(SecretPolynomial::new).collect()
}

/// Bytes of a value in a file, over the limbs of ciphertexts.
fn value_bytes(set: &ParameterSet) -> u64 {
    let (moduli, degree) = match set {
        ParameterSet::Ckks(set) => (set.moduli(), set.ring_degree()),
        ParameterSet::Bgv(set) => (set.ring().moduli(), set.ring().degree()),
    };
    polynomial_bytes(degree.get(), moduli, &limbs_of(set))
}

/// Bytes of a deal before its value.
const HEAD: u64 = 2 * 32 + 3 * 4 + SecretSeed::BYTES as u64;

fn write_value(set: &ParameterSet, value: &SecretPolynomial, sink: &mut Sink<'_>) -> std::io::Result<()> {
    let ring = ring_of(set).map_err(std::io::Error::other)?;
    write_polynomial(&ring, value.get(), sink)
}

fn read_value(ring: &Ring, limbs: &[LimbId], reader: &mut Reader<'_>) -> Result<SecretPolynomial, FormatError> {
    Ok(SecretPolynomial::new(read_polynomial("a secret share", ring, limbs, Domain::Evaluation, reader)?))
}

fn read_seed(reader: &mut Reader<'_>) -> Result<SecretSeed, FormatError> {
    let mut seed = zeroize::Zeroizing::new([0; SecretSeed::BYTES]);
    reader.bytes("a seed", &mut *seed)?;
    Ok(SecretSeed::from_bytes(*seed))
}

/// The payload is session, first messages, threshold, dealer, receiver, seed and value.
impl Storable for Deal {
    type Family = Joint;
    const KIND: Kind = Kind::Deal;

    fn parameters(&self) -> &ParameterSet {
        &self.set
    }

    fn payload_bytes(&self) -> u64 {
        HEAD + value_bytes(&self.set)
    }

    fn write_payload(&self, sink: &mut Sink<'_>) -> std::io::Result<()> {
        self.subject.iter().try_for_each(|hash| sink.bytes(hash))?;
        [self.threshold, self.from, self.to].iter().try_for_each(|number| sink.bytes(&number.to_le_bytes()))?;
        sink.bytes(self.seed.bytes())?;
        write_value(&self.set, &self.value, sink)
    }

    fn read_payload(set: ParameterSet, length: u64, reader: &mut Reader<'_>) -> Result<Self, FormatError> {
        expect_length("the secret share", length, HEAD + value_bytes(&set))?;
        let mut subject = [[0; 32]; 2];
        subject.iter_mut().try_for_each(|hash| reader.bytes("what a secret share belongs to", hash))?;
        let threshold = reader.u32("the threshold")?;
        let (from, to) = (reader.u32("the dealer")?, reader.u32("the receiver")?);
        let seed = read_seed(reader)?;
        let value = read_value(&*ring_of(&set)?, &limbs_of(&set), reader)?;
        Ok(Self { set, subject, threshold, from, to, seed, value })
    }
}

impl Holding {
    /// Bytes in a party's file.
    pub fn bytes(set: &ParameterSet, parties: usize) -> u64 {
        4 + parties as u64 * SecretSeed::BYTES as u64 + value_bytes(set)
    }

    pub fn write(&self, set: &ParameterSet, sink: &mut Sink<'_>) -> std::io::Result<()> {
        sink.bytes(&(self.threshold as u32).to_le_bytes())?;
        self.seeds.iter().try_for_each(|seed| sink.bytes(seed.bytes()))?;
        write_value(set, &self.value, sink)
    }

    pub fn read(session: &Session, reader: &mut Reader<'_>) -> Result<Self, FormatError> {
        let (threshold, parties) = (reader.u32("the threshold")? as usize, session.parties());
        if !(2..parties).contains(&threshold) {
            return Err(FormatError::Content("the threshold is not from 2 to the number of parties less one"));
        }
        let seeds = (0..parties).map(|_| read_seed(reader)).collect::<Result<_, _>>()?;
        let value = read_value(session.ring(), &session.public_limbs(), reader)?;
        Ok(Self { threshold, value, seeds })
    }
}
