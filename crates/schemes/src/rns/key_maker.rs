//! Makes switching keys from secrets.

use std::sync::Arc;

use polyfabric_kernels::automorphism::{GaloisElement, GaloisElementError};
use polyfabric_kernels::cancel;
use rayon::prelude::*;
use thiserror::Error;
use zeroize::Zeroizing;

use super::gadget::Gadget;
use super::key::{KeyId, KeySet, KeyStorage, SwitchingKey};
use super::limb::Domain;
use super::ring::Ring;
use super::sample::{fill_mask, write_signed};
use super::secret::{SecretKey, SecretPolynomial};
use crate::gaussian::RoundedGaussian;
use crate::progress::{Counter, OnProgress};
use crate::random::{MaskSeed, Purpose, RandomnessError, SecretSeed, Seeds};

/// Noise of keys and ciphertexts: `factor` times a rounded Gaussian, where the factor is 1 in CKKS and the plaintext modulus in BGV.
#[derive(Clone, Debug)]
pub struct NoiseDistribution {
    pub gaussian: RoundedGaussian,
    pub factor: u64,
}

impl NoiseDistribution {
    /// Noise of deviation `sigma` times `factor`.
    ///
    /// # Panics
    /// As [`RoundedGaussian::new`].
    pub fn new(sigma: f64, factor: u64) -> Self {
        Self { gaussian: RoundedGaussian::new(sigma), factor }
    }

    pub fn variance(&self) -> f64 {
        self.gaussian.variance() * (self.factor as f64).powi(2)
    }
}

/// Why a switching key cannot be made.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum KeyMakerError {
    #[error(transparent)]
    Randomness(#[from] RandomnessError),
    #[error(transparent)]
    Galois(#[from] GaloisElementError),
    #[error("{0} needs a sparse ephemeral secret, and these keys have none; use a parameter set with one")]
    NoSparseSecret(KeyId),
    #[error("the secrets of {0} are unknown here; make it with the scheme that numbered it")]
    Unknown(KeyId),
}

/// A key to be made.
#[derive(Clone, Debug)]
pub struct KeyRequest {
    /// Which.
    pub id: KeyId,
    /// How it cuts.
    pub gadget: Arc<Gadget>,
    /// Its storage in memory.
    pub storage: KeyStorage,
}

/// Makes switching keys from borrowed secrets.
#[derive(Clone, Debug)]
pub struct KeyMaker<'a> {
    pub ring: &'a Arc<Ring>,
    /// s.
    pub secret: &'a SecretKey,
    /// The sparse ephemeral secret of bootstrapping.
    pub sparse: Option<&'a SecretKey>,
    /// The keys' noise.
    pub noise: &'a NoiseDistribution,
}

impl KeyMaker<'_> {
    /// The key `id` with `gadget`, from fresh seeds of the operating system.
    ///
    /// Every call draws new seeds: two keys with one seed but different gadgets would reveal a multiple of the secret as their difference.
    pub fn switching_key(&self, id: KeyId, gadget: &Arc<Gadget>) -> Result<SwitchingKey, KeyMakerError> {
        self.seeded(id, gadget, &Seeds::from_os()?)
    }

    /// A reproducible key for tests.
    #[cfg(any(test, feature = "test-seeds"))]
    pub fn for_tests(&self, id: KeyId, gadget: &Arc<Gadget>, seed: u64) -> Result<SwitchingKey, KeyMakerError> {
        self.seeded(id, gadget, &Seeds::for_tests(seed))
    }

    /// Makes all requested keys one after another, each on all cores.
    ///
    /// # Errors
    /// [`KeyMakerError`] of the first key that cannot be made.
    pub fn key_set(&self, requests: &[KeyRequest], progress: OnProgress<'_>) -> Result<KeySet, KeyMakerError> {
        let counter = Counter::new(progress, "switching keys", requests.len());
        let mut keys = KeySet::new(Arc::clone(self.ring));
        for KeyRequest { id, gadget, storage } in requests {
            keys.insert(self.switching_key(*id, gadget)?.stored(*storage));
            counter.row();
        }
        Ok(keys)
    }

    /// (s', s): the source and target secrets of a key, in the evaluation domain over the gadget's limbs.
    pub(crate) fn secrets(
        &self,
        id: KeyId,
        gadget: &Gadget,
    ) -> Result<(SecretPolynomial, SecretPolynomial), KeyMakerError> {
        let values = |secret: &SecretKey| secret.values(self.ring, gadget.qp());
        let element = |value| GaloisElement::new(self.ring.degree(), value);
        let sparse = || self.sparse.ok_or(KeyMakerError::NoSparseSecret(id));
        let dense = values(self.secret);
        Ok(match id {
            KeyId::Relinearisation => (dense.square(self.ring), dense),
            KeyId::Galois(value) => (dense, values(&self.secret.automorphism(element(value)?.inverse()))),
            KeyId::GaloisAfter(value) => (values(&self.secret.automorphism(element(value)?)), dense),
            KeyId::Encapsulate => (dense, values(sparse()?)),
            KeyId::Decapsulate => (values(sparse()?), dense),
            KeyId::Other(_) => return Err(KeyMakerError::Unknown(id)),
        })
    }

    fn seeded(&self, id: KeyId, gadget: &Arc<Gadget>, seeds: &Seeds) -> Result<SwitchingKey, KeyMakerError> {
        let (from, to) = self.secrets(id, gadget)?;
        Ok(encrypt_gadget(self.ring, id, gadget, &from, &to, self.noise, seeds))
    }

    /// A key numbered by the scheme, from the secret polynomial `from` (evaluation domain, over [`Gadget::qp`]) to s.
    ///
    /// # Errors
    /// [`KeyMakerError::Randomness`].
    pub fn other(
        &self,
        number: u32,
        gadget: &Arc<Gadget>,
        from: &SecretPolynomial,
    ) -> Result<SwitchingKey, KeyMakerError> {
        let to = self.secret.values(self.ring, gadget.qp());
        Ok(encrypt_gadget(self.ring, KeyId::Other(number), gadget, from, &to, self.noise, &Seeds::from_os()?))
    }
}

/// b_d = −a_d·`to` + e_d + g_d·`from` for every term d of the gadget, with a_d from a public seed.
pub(crate) struct GadgetEncryption<'a> {
    pub ring: &'a Ring,
    pub gadget: &'a Gadget,
    /// `None` for 0.
    pub from: Option<&'a SecretPolynomial>,
    pub to: &'a SecretPolynomial,
    pub mask: &'a MaskSeed,
    /// e_d over its factor.
    errors: Vec<Zeroizing<Vec<i64>>>,
    factor: u64,
}

impl<'a> GadgetEncryption<'a> {
    pub fn new(
        ring: &'a Ring,
        gadget: &'a Gadget,
        (from, to): (Option<&'a SecretPolynomial>, &'a SecretPolynomial),
        noise: &NoiseDistribution,
        secret: &SecretSeed,
        mask: &'a MaskSeed,
    ) -> Self {
        let count = ring.degree().get();
        let error = |number| noise.gaussian.polynomial(&mut secret.stream(Purpose::KeySwitchKey, number as u64), count);
        let errors = (0..gadget.terms().len()).into_par_iter().map(error).collect();
        Self { ring, gadget, from, to, mask, errors, factor: noise.factor }
    }

    /// Writes the limb at `position` of [`Gadget::qp`] of b_d, d = `number`.
    pub fn limb(&self, number: usize, position: usize, words: &mut [u64]) {
        cancel::check();
        let Self { ring, gadget, .. } = self;
        let (term, limb) = (&gadget.terms()[number], gadget.qp()[position]);
        let (kernel, modulus) = (ring.limb(limb), ring.modulus(limb));
        write_signed(ring, limb, Domain::Evaluation, &self.errors[number], self.factor, words);
        if let Some(from) = self.from.filter(|_| gadget.digits()[term.digit].contains(&limb)) {
            // P·2^shift at the digit's limbs, 0 at the others.
            let special = gadget.special().iter().map(|&p| modulus.reduce(ring.modulus(p).value()));
            let shift = modulus.power(modulus.reduce(2), u64::from(term.shift));
            let factor = special.fold(shift, |product, p| modulus.multiply(product, p));
            kernel.scale_add_assign(words, from.get().limb(position), factor);
        }
        let mut mask = Zeroizing::new(vec![0; ring.degree().get()]);
        fill_mask(ring, self.mask, number as u32, limb, &mut mask);
        // The mask is public, but its product with the secret is not.
        kernel.multiply_assign(&mut mask, self.to.get().limb(position));
        kernel.sub_assign(words, &mask);
    }
}

/// The key whose bodies are those of [`GadgetEncryption`].
fn encrypt_gadget(
    ring: &Arc<Ring>,
    id: KeyId,
    gadget: &Arc<Gadget>,
    from: &SecretPolynomial,
    to: &SecretPolynomial,
    noise: &NoiseDistribution,
    seeds: &Seeds,
) -> SwitchingKey {
    let terms = GadgetEncryption::new(ring, gadget, (Some(from), to), noise, &seeds.secret, &seeds.mask);
    let body = |number: usize, position: usize, words: &mut [u64]| terms.limb(number, position, words);
    SwitchingKey::from_limbs(Arc::clone(ring), id, Arc::clone(gadget), body, seeds.mask)
}
