//! LWE ciphertexts in batches, and LWE secret keys.
//!
//! A ciphertext of dimension n is (a_0, …, a_{n-1}, b); its phase is b − Σ a_i s_i = message + noise.

use polyfabric_kernels::Torus;
use thiserror::Error;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::dimension::LweDimension;
use super::random::Stream;
use super::secret::Secret;
use crate::gaussian::RoundedGaussian;

/// One of a client's two LWE keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LweKind {
    /// The LWE key of dimension n: the input key of blind rotation.
    Small,
    /// The flattened GLWE key of dimension kN: the output key of sample extraction.
    Large,
}

/// Consecutive ciphertexts of one dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LweBatch<T> {
    dimension: LweDimension,
    data: Vec<T>,
}

/// Why torus elements are not a batch, or a batch does not match a key.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum BatchError {
    #[error(
        "{given} torus elements are not a whole number of LWE ciphertexts of dimension {dimension} ({each} elements each)"
    )]
    Length { given: usize, dimension: LweDimension, each: usize },
    #[error(
        "ciphertexts of dimension {ciphertext} cannot be decrypted under a key of dimension {key}; ask for the other key of the pair (small or large), or bring the key of the same parameter set"
    )]
    Dimension { ciphertext: LweDimension, key: LweDimension },
}

impl<T: Torus> LweBatch<T> {
    /// `count` ciphertexts of zeros: trivial encryptions of 0.
    pub fn zeros(dimension: LweDimension, count: usize) -> Self {
        Self { dimension, data: vec![T::default(); count * dimension.ciphertext_len()] }
    }

    /// A batch of consecutive ciphertexts in `data`.
    ///
    /// # Errors
    /// [`BatchError::Length`] if `data` is not a whole number of ciphertexts.
    pub fn from_data(dimension: LweDimension, data: Vec<T>) -> Result<Self, BatchError> {
        let each = dimension.ciphertext_len();
        if data.len().is_multiple_of(each) {
            Ok(Self { dimension, data })
        } else {
            Err(BatchError::Length { given: data.len(), dimension, each })
        }
    }

    /// Trivial (unencrypted, noiseless) ciphertexts: zero masks, the plaintexts as bodies.
    pub fn trivial(dimension: LweDimension, plaintexts: &[T]) -> Self {
        let mut batch = Self::zeros(dimension, plaintexts.len());
        for (ciphertext, &plaintext) in batch.iter_mut().zip(plaintexts) {
            ciphertext[dimension.get()] = plaintext;
        }
        batch
    }

    /// The dimension of each ciphertext.
    pub fn dimension(&self) -> LweDimension {
        self.dimension
    }

    /// Number of ciphertexts.
    pub fn len(&self) -> usize {
        self.data.len() / self.dimension.ciphertext_len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// Ciphertext `index`, below [`Self::len`].
    pub fn get(&self, index: usize) -> &[T] {
        let each = self.dimension.ciphertext_len();
        &self.data[index * each..(index + 1) * each]
    }

    /// Ciphertext `index`, below [`Self::len`].
    pub fn get_mut(&mut self, index: usize) -> &mut [T] {
        let each = self.dimension.ciphertext_len();
        &mut self.data[index * each..(index + 1) * each]
    }

    /// The ciphertexts in order.
    pub fn iter(&self) -> std::slice::ChunksExact<'_, T> {
        self.data.chunks_exact(self.dimension.ciphertext_len())
    }

    /// The ciphertexts in order.
    pub fn iter_mut(&mut self) -> std::slice::ChunksExactMut<'_, T> {
        self.data.chunks_exact_mut(self.dimension.ciphertext_len())
    }

    /// All torus elements.
    pub fn data(&self) -> &[T] {
        &self.data
    }

    /// All torus elements.
    pub fn data_mut(&mut self) -> &mut [T] {
        &mut self.data
    }

    /// All torus elements.
    pub fn into_data(self) -> Vec<T> {
        self.data
    }
}

/// A binary LWE secret key, wiped from memory when dropped.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct LweSecretKey {
    /// One bit per byte.
    bits: Vec<u8>,
}

impl LweSecretKey {
    pub(crate) fn from_bits(bits: Vec<u8>) -> Self {
        assert!(bits.iter().all(|&bit| bit <= 1));
        Self { bits }
    }

    /// A key of `dimension` bits of the distribution `secret` from `stream`. Neither time nor addresses depend on the bits: rejected draws are
    /// independent of them, and a block compares its choice with every place.
    pub(crate) fn generate(dimension: LweDimension, secret: Secret, stream: &mut Stream) -> Self {
        let Secret::Block(block) = secret else { return Self { bits: stream.bits(dimension.get()) } };
        let mut bits = vec![0; dimension.get()];
        for block in bits.chunks_exact_mut(block as usize) {
            let choice = Zeroizing::new(stream.below(block.len() as u64 + 1));
            for (place, bit) in block.iter_mut().enumerate() {
                *bit = u8::from(*choice == place as u64);
            }
        }
        Self { bits }
    }

    /// The bits s_i, each 0 or 1.
    pub fn bits(&self) -> &[u8] {
        &self.bits
    }

    /// Σ a_i s_i over the mask, in constant time: reads every element whatever the bit.
    pub(crate) fn dot<T: Torus>(&self, mask: &[T]) -> T {
        mask.iter()
            .zip(&self.bits)
            .fold(T::default(), |sum, (&element, &bit)| sum.wrapping_add(element.wrapping_mul_signed(i64::from(bit))))
    }

    /// b − Σ a_i s_i of a ciphertext of this key's dimension.
    pub fn phase<T: Torus>(&self, ciphertext: &[T]) -> T {
        let (mask, body) = ciphertext.split_at(self.bits.len());
        body[0].wrapping_sub(self.dot(mask))
    }

    /// Writes an encryption of `plaintext` with a sample of `noise`, in units of the torus.
    pub(crate) fn encrypt_into<T: Torus>(
        &self,
        plaintext: T,
        noise: &RoundedGaussian,
        mask: &mut Stream,
        secret: &mut Stream,
        ciphertext: &mut [T],
    ) {
        let (elements, body) = ciphertext.split_at_mut(self.bits.len());
        mask.fill_uniform(elements);
        let noise = T::from_u64(noise.draw(secret) as u64);
        body[0] = self.dot(elements).wrapping_add(plaintext).wrapping_add(noise);
    }
}

impl std::fmt::Debug for LweSecretKey {
    /// Shows the dimension, never the bits.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LweSecretKey(dimension {}, bits not shown)", self.bits.len())
    }
}
