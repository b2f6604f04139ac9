//! GLWE secret keys, and products of torus polynomials with binary ones.
//!
//! A ciphertext of dimension k over degree N is (A_0, …, A_{k-1}, B); its phase is B − Σ A_j S_j in `T[X]/(X^N + 1)`.

use polyfabric_kernels::decompose::decompose_level;
use polyfabric_kernels::fft::{self, FoldedFft};
use polyfabric_kernels::{Gadget, RingDegree, Torus};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::dimension::GlweDimension;
use super::lwe::LweSecretKey;
use super::random::Stream;

/// k binary polynomials of degree N, wiped from memory when dropped.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct GlweSecretKey {
    /// One bit per byte, polynomial after polynomial.
    bits: Vec<u8>,
    #[zeroize(skip)]
    ring_degree: RingDegree,
}

impl GlweSecretKey {
    pub(crate) fn from_bits(bits: Vec<u8>, ring_degree: RingDegree) -> Self {
        assert!(bits.len().is_multiple_of(ring_degree.get()) && bits.iter().all(|&bit| bit <= 1));
        Self { bits, ring_degree }
    }

    pub(crate) fn generate(dimension: GlweDimension, ring_degree: RingDegree, stream: &mut Stream) -> Self {
        Self { bits: stream.bits(dimension.get() * ring_degree.get()), ring_degree }
    }

    /// The coefficients, polynomial after polynomial, each 0 or 1.
    pub fn bits(&self) -> &[u8] {
        &self.bits
    }

    /// S_j, one polynomial after another.
    pub fn polynomials(&self) -> std::slice::ChunksExact<'_, u8> {
        self.bits.chunks_exact(self.ring_degree.get())
    }

    /// N.
    pub fn ring_degree(&self) -> RingDegree {
        self.ring_degree
    }

    /// The large LWE key `s'_{jN+c} = S_j[c]` of extracted samples.
    pub fn flatten(&self) -> LweSecretKey {
        LweSecretKey::from_bits(self.bits.clone())
    }

    /// B − Σ A_j S_j of a ciphertext of (k+1)·N elements.
    pub fn phase<T: Torus>(&self, ciphertext: &[T]) -> Vec<T> {
        let (masks, body) = ciphertext.split_at(self.bits.len());
        let product = MaskProduct::new(self);
        let mut sum = vec![T::default(); self.ring_degree.get()];
        product.add(masks, &mut sum, &mut product.scratch());
        body.iter().zip(sum).map(|(&b, product)| b.wrapping_sub(product)).collect()
    }
}

/// Torus polynomials are cut into pieces of this many bits to multiply them exactly in f64.
const PIECE_BITS: u32 = 16;

/// Multiplies torus polynomials by the k binary polynomials of a key, exactly modulo q. Torus polynomials are cut into signed 16-bit pieces,
/// for which the transform's proven error is far below 1/2 in every ring, so that rounding gives the integer product.
pub(crate) struct MaskProduct {
    transform: FoldedFft,
    /// Spectra of the S_j.
    secrets: Zeroizing<Vec<f64>>,
}

/// Scratch of one thread; depends on the secret and is wiped.
pub(crate) struct Scratch {
    digits: Vec<i32>,
    piece: Vec<f64>,
    product: Zeroizing<Vec<f64>>,
}

impl MaskProduct {
    pub(crate) fn new(key: &GlweSecretKey) -> Self {
        let transform = FoldedFft::new(key.ring_degree);
        let mut secrets = Zeroizing::new(vec![0.0; key.bits.len()]);
        for (secret, spectrum) in key.polynomials().zip(secrets.chunks_exact_mut(key.ring_degree.get())) {
            let digits: Zeroizing<Vec<i32>> = Zeroizing::new(secret.iter().map(|&bit| i32::from(bit)).collect());
            transform.forward_digits(&digits, spectrum);
        }
        let rows = key.bits.len() / key.ring_degree.get();
        assert!(fft::error_bound(key.ring_degree, 1.0, rows, PIECE_BITS) < 0.5);
        Self { transform, secrets }
    }

    pub(crate) fn scratch(&self) -> Scratch {
        let degree = self.transform.degree().get();
        Scratch { digits: vec![0; degree], piece: vec![0.0; degree], product: Zeroizing::new(vec![0.0; degree]) }
    }

    /// `sum` += Σ A_j S_j for the k mask polynomials in `masks` (k·N elements).
    pub(crate) fn add<T: Torus>(&self, masks: &[T], sum: &mut [T], scratch: &mut Scratch) {
        let degree = self.transform.degree().get();
        let gadget = Gadget { log2_base: PIECE_BITS, levels: T::BITS / PIECE_BITS };
        let mut result = vec![T::default(); degree];
        for level in 0..gadget.levels {
            scratch.product.fill(0.0);
            for (mask, secret) in masks.chunks_exact(degree).zip(self.secrets.chunks_exact(degree)) {
                decompose_level(mask, gadget, level, &mut scratch.digits);
                self.transform.forward_digits(&scratch.digits, &mut scratch.piece);
                self.transform.multiply_accumulate(&mut scratch.product, &scratch.piece, secret);
            }
            self.transform.inverse_torus(&mut scratch.product, &mut result);
            let weight = 1i64 << (T::BITS - PIECE_BITS * (level + 1));
            for (sum, &term) in sum.iter_mut().zip(&result) {
                *sum = sum.wrapping_add(term.wrapping_mul_signed(weight));
            }
        }
        wipe(&mut result);
    }
}

/// Overwrites torus elements so that the compiler cannot remove it.
fn wipe<T: Torus>(elements: &mut [T]) {
    elements.fill(T::default());
    std::hint::black_box(elements);
}

impl std::fmt::Debug for GlweSecretKey {
    /// Shows the shape, never the bits.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "GlweSecretKey({} x {} bits, not shown)",
            self.bits.len() / self.ring_degree.get(),
            self.ring_degree.get()
        )
    }
}

#[cfg(test)]
mod tests {
    //! Is the transformed product exact, in small and large rings, on both tori?
    use super::*;
    use crate::tfhe::random::{Purpose, Seeds};

    /// One rotated addition per set bit.
    fn add_reference<T: Torus>(polynomial: &[T], secret: &[u8], sum: &mut [T]) {
        let degree = polynomial.len();
        for shift in (0..degree).filter(|&shift| secret[shift] == 1) {
            for (c, &term) in polynomial.iter().enumerate() {
                let at = (c + shift) % degree;
                sum[at] = if c + shift < degree { sum[at].wrapping_add(term) } else { sum[at].wrapping_sub(term) };
            }
        }
    }

    fn check<T: Torus>(dimension: usize, degree: usize) {
        let seeds = Seeds::for_tests(degree as u64);
        let ring_degree = RingDegree::new(degree).expect("a power of two");
        let dimension = GlweDimension::new(dimension).expect("small");
        let mut secret = seeds.secret.stream(Purpose::SecretKey, 0);
        // The worst case, all bits set, and random keys.
        let keys = [
            GlweSecretKey::generate(dimension, ring_degree, &mut secret),
            GlweSecretKey::from_bits(vec![1; dimension.get() * degree], ring_degree),
        ];
        for key in keys {
            let mut masks = vec![T::default(); dimension.get() * degree];
            seeds.mask.stream(Purpose::Encryption, 0).fill_uniform(&mut masks);
            masks[..degree / 2].fill(T::from_u64(1 << (T::BITS - 1)));
            let mut expected = vec![T::from_u64(3); degree];
            for (mask, bits) in masks.chunks_exact(degree).zip(key.polynomials()) {
                add_reference(mask, bits, &mut expected);
            }
            let product = MaskProduct::new(&key);
            let mut sum = vec![T::from_u64(3); degree];
            product.add(&masks, &mut sum, &mut product.scratch());
            assert_eq!(sum, expected, "degree {degree}");
        }
    }

    #[test]
    fn products_are_exact() {
        for (dimension, degree) in [(1, 16), (3, 512), (1, 1024), (1, 8192)] {
            check::<u32>(dimension, degree);
            check::<u64>(dimension, degree);
        }
    }
}
