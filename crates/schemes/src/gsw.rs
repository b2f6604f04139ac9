//! Ring-GSW ciphertexts of small polynomials, client side.
//!
//! For the gadget g of [`crate::rns::gadget`], a ring-GSW ciphertext of m (C. Gentry, A. Sahai and B. Waters, CRYPTO 2013, over rings)
//! encrypts g_d·m and g_d·m·s under s for every term d: two switching keys from the "secrets" m and m·s. For digits c_0,d of an RLWE
//! ciphertext's body and c_1,d of its mask,
//!
//! Σ_d c_0,d·(g_d·m) + c_1,d·(g_d·m·s) = m·(c_0 + c_1·s):
//!
//! so this *external product* encrypts the product of the messages. Noise grows asymmetrically: the RLWE ciphertext's noise is multiplied
//! by m, and the gadget ciphertext's noise by the digits, whatever the RLWE ciphertext's noise.

use std::collections::BTreeMap;
use std::sync::Arc;

use thiserror::Error;
use zeroize::Zeroizing;

use crate::rns::serial::{key_set_bytes, read_key_set, write_key_set};
use crate::rns::{
    Domain, Gadget, KeyId, KeyMaker, KeyMakerError, KeySet, Part, Ring, RnsPolynomial, SecretPolynomial, SwitchingKey,
};
use crate::serial::{FormatError, Reader, Sink};

/// Key numbers below this belong to other schemes.
const FIRST_KEY: u32 = 1 << 16;

/// The rows that encrypt g·m, which multiply the digits of a body, and those that encrypt g·m·s, which multiply the digits of a mask.
const HALVES: [u32; 2] = [FIRST_KEY, FIRST_KEY + 1];

/// Why a message cannot be encrypted.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum GswError {
    #[error("{found} coefficients, but the ring has {degree}; pad with zeros")]
    Coefficients { found: usize, degree: usize },
    #[error(transparent)]
    Key(#[from] KeyMakerError),
}

/// A ring-GSW ciphertext.
#[derive(Clone, Debug)]
pub struct GswCiphertext {
    /// The keys of [`HALVES`], with one gadget.
    keys: KeySet,
}

/// A half's identity, for which a parameter set states the gadget.
pub const ID: KeyId = KeyId::Other(FIRST_KEY);

/// Polynomials of a ring-GSW ciphertext with this gadget.
pub fn parts(gadget: &Gadget) -> usize {
    HALVES.len() * 2 * gadget.terms().len()
}

impl GswCiphertext {
    /// Encrypts the polynomial `message` with the noise of `maker`.
    ///
    /// # Errors
    /// [`GswError::Coefficients`] unless `message` has N coefficients; [`GswError::Key`] without randomness.
    pub fn encrypt(maker: &KeyMaker<'_>, gadget: &Arc<Gadget>, message: &[i64]) -> Result<Self, GswError> {
        let degree = maker.ring.degree().get();
        if message.len() != degree {
            return Err(GswError::Coefficients { found: message.len(), degree });
        }
        let message = SecretPolynomial::from_coefficients(maker.ring, gadget.qp(), message);
        let times_secret = message.product(maker.ring, &maker.secret.values(maker.ring, gadget.qp()));
        let mut keys = KeySet::new(Arc::clone(maker.ring));
        for (number, from) in HALVES.into_iter().zip([&message, &times_secret]) {
            keys.insert(maker.other(number, gadget, from)?);
        }
        Ok(Self { keys })
    }

    /// [`Self::encrypt`] of a bit.
    ///
    /// # Errors
    /// [`GswError::Key`] without randomness.
    pub fn encrypt_bit(maker: &KeyMaker<'_>, gadget: &Arc<Gadget>, bit: bool) -> Result<Self, GswError> {
        let mut message = Zeroizing::new(vec![0; maker.ring.degree().get()]);
        message[0] = i64::from(bit);
        Self::encrypt(maker, gadget, &message)
    }

    /// The rows (b, a) of g·m, then those of g·m·s, each row's b before its a.
    pub fn polynomials(&self) -> Vec<RnsPolynomial> {
        let mut all = Vec::new();
        for key in self.keys.iter() {
            let mut scratch = vec![0; key.ring().degree().get()];
            for term in 0..key.gadget().terms().len() {
                for part in [Part::Body, Part::Mask] {
                    let mut one = RnsPolynomial::zero(key.ring().degree(), key.limbs(), Domain::Evaluation);
                    for (position, (_, words)) in one.iter_mut().enumerate() {
                        words.copy_from_slice(key.limb(part, term, position, &mut scratch));
                    }
                    all.push(one);
                }
            }
        }
        all
    }

    /// The ciphertext with these [`Self::polynomials`]; `None` unless they are [`parts`] in number, over [`Gadget::qp`] and in values.
    pub fn of_polynomials(ring: &Arc<Ring>, gadget: &Arc<Gadget>, polynomials: &[RnsPolynomial]) -> Option<Self> {
        let fits = |one: &RnsPolynomial| {
            one.degree() == ring.degree() && one.limbs() == gadget.qp() && one.domain() == Domain::Evaluation
        };
        if polynomials.len() != parts(gadget) || !polynomials.iter().all(fits) {
            return None;
        }
        let mut keys = KeySet::new(Arc::clone(ring));
        for (number, rows) in HALVES.into_iter().zip(polynomials.chunks_exact(2 * gadget.terms().len())) {
            let bodies = rows.iter().step_by(2).cloned().collect();
            let masks = rows.iter().skip(1).step_by(2).cloned().collect();
            let id = KeyId::Other(number);
            keys.insert(SwitchingKey::new(Arc::clone(ring), id, Arc::clone(gadget), bodies, masks));
        }
        Some(Self { keys })
    }

    /// Bytes that [`Self::write`] writes.
    pub(crate) fn file_bytes(&self) -> u64 {
        key_set_bytes(&self.keys)
    }

    pub(crate) fn write(&self, sink: &mut Sink<'_>) -> std::io::Result<()> {
        write_key_set(&self.keys, sink)
    }

    /// Reads a ciphertext with the digits of `gadget`, possibly over fewer limbs of Q.
    pub(crate) fn read(ring: &Arc<Ring>, gadget: &Arc<Gadget>, reader: &mut Reader<'_>) -> Result<Self, FormatError> {
        let wanted = BTreeMap::from(HALVES.map(|number| (KeyId::Other(number), &[][..])));
        let keys = read_key_set(ring, |_| Arc::clone(gadget), Some(&wanted), reader)?;
        let gadgets: Vec<_> = keys.iter().map(|key| Arc::clone(key.gadget())).collect();
        if gadgets[0] != gadgets[1] {
            return Err(FormatError::Content("the halves of a selector have different limbs"));
        }
        Ok(Self { keys })
    }
}
