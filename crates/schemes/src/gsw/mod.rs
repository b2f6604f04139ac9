//! Ring-GSW, client side: encryption of small polynomials, names of their keys, noise.
//!
//! For the gadget g of [`crate::rns::gadget`], a ring-GSW ciphertext of m (C. Gentry, A. Sahai and B. Waters, CRYPTO 2013, over rings)
//! encrypts g_d·m and g_d·m·s under s for every term d: two switching keys from the "secrets" m and m·s. For digits c_0,d of an RLWE
//! ciphertext's body and c_1,d of its mask,
//!
//! Σ_d c_0,d·(g_d·m) + c_1,d·(g_d·m·s) = m·(c_0 + c_1·s):
//!
//! so this *external product* encrypts the product of the messages. Noise grows asymmetrically: the RLWE ciphertext's noise is multiplied
//! by m, and the gadget ciphertext's noise by the digits, whatever the RLWE ciphertext's noise.

pub mod noise;

use std::sync::Arc;

use thiserror::Error;
use zeroize::Zeroizing;

use crate::rns::{Gadget, KeyId, KeyMaker, KeyMakerError, KeySet, SecretPolynomial};

/// Key numbers below this belong to other schemes.
const FIRST_KEY: u32 = 1 << 16;

/// The number of a ring-GSW ciphertext in a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GswId(pub u16);

impl GswId {
    /// The key whose rows encrypt g·m; it multiplies the digits of a body.
    pub fn body_key(self) -> KeyId {
        KeyId::Other(FIRST_KEY + 2 * u32::from(self.0))
    }

    /// The key whose rows encrypt g·m·s; it multiplies the digits of a mask.
    pub fn mask_key(self) -> KeyId {
        KeyId::Other(FIRST_KEY + 2 * u32::from(self.0) + 1)
    }
}

impl std::fmt::Display for GswId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ring-GSW ciphertext {}", self.0)
    }
}

/// Why a message cannot be encrypted.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum GswError {
    #[error("{found} coefficients, but the ring has {degree}; pad with zeros")]
    Coefficients { found: usize, degree: usize },
    #[error("X^{exponent} in a ring of degree {degree}; use an exponent from 0 to {}, where the upper half is negative", 2 * degree - 1)]
    Exponent { exponent: usize, degree: usize },
    #[error(transparent)]
    Key(#[from] KeyMakerError),
}

/// Adds a ring-GSW encryption of the polynomial `message` to `keys` as number `id`, with the noise of `maker`.
///
/// # Errors
/// [`GswError::Coefficients`] unless `message` has N coefficients; [`GswError::Key`] without randomness.
pub fn encrypt(
    maker: &KeyMaker<'_>,
    gadget: &Arc<Gadget>,
    id: GswId,
    message: &[i64],
    keys: &mut KeySet,
) -> Result<(), GswError> {
    let degree = maker.ring.degree().get();
    if message.len() != degree {
        return Err(GswError::Coefficients { found: message.len(), degree });
    }
    let message = SecretPolynomial::from_coefficients(maker.ring, gadget.qp(), message);
    let times_secret = message.product(maker.ring, &maker.secret.values(maker.ring, gadget.qp()));
    for (key, from) in [(id.body_key(), &message), (id.mask_key(), &times_secret)] {
        let KeyId::Other(number) = key else { continue };
        keys.insert(maker.other(number, gadget, from)?);
    }
    Ok(())
}

/// [`encrypt`] of a bit.
///
/// # Errors
/// [`GswError::Key`] without randomness.
pub fn encrypt_bit(
    maker: &KeyMaker<'_>,
    gadget: &Arc<Gadget>,
    id: GswId,
    bit: bool,
    keys: &mut KeySet,
) -> Result<(), GswError> {
    let mut message = Zeroizing::new(vec![0; maker.ring.degree().get()]);
    message[0] = i64::from(bit);
    encrypt(maker, gadget, id, &message, keys)
}

/// [`encrypt`] of X^`exponent`, 0 ≤ `exponent` < 2N with X^N = −1.
///
/// # Errors
/// [`GswError::Exponent`], [`GswError::Key`] without randomness.
pub fn encrypt_monomial(
    maker: &KeyMaker<'_>,
    gadget: &Arc<Gadget>,
    id: GswId,
    exponent: usize,
    keys: &mut KeySet,
) -> Result<(), GswError> {
    let degree = maker.ring.degree().get();
    if exponent >= 2 * degree {
        return Err(GswError::Exponent { exponent, degree });
    }
    let mut message = Zeroizing::new(vec![0; degree]);
    message[exponent % degree] = if exponent < degree { 1 } else { -1 };
    encrypt(maker, gadget, id, &message, keys)
}
