//! GLWE secret keys, and products of torus polynomials with their binary polynomials.
//!
//! A ciphertext of dimension k over degree N is (A_0, …, A_{k-1}, B); its phase is B − Σ A_j S_j in T[X]/(X^N + 1).

use polyfabric_kernels::{RingDegree, Torus};
use zeroize::{Zeroize, ZeroizeOnDrop};

use super::dimension::GlweDimension;
use super::lwe::LweSecretKey;
use super::random::Stream;

/// k binary polynomials of degree N, wiped from memory when dropped.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct GlweSecretKey {
    /// One bit a byte, polynomial after polynomial.
    bits: Vec<u8>,
    #[zeroize(skip)]
    ring_degree: RingDegree,
}

impl GlweSecretKey {
    pub(crate) fn from_bits(bits: Vec<u8>, ring_degree: RingDegree) -> Self {
        debug_assert!(bits.len().is_multiple_of(ring_degree.get()) && bits.iter().all(|&bit| bit <= 1));
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

    /// The large LWE key s'_{jN+c} = S_j[c], under which extracted samples are.
    pub fn flatten(&self) -> LweSecretKey {
        LweSecretKey::from_bits(self.bits.clone())
    }

    /// `sum` += Σ A_j S_j for the k mask polynomials in `masks` (k·N elements), exactly modulo q.
    pub(crate) fn add_mask_product<T: Torus>(&self, masks: &[T], sum: &mut [T]) {
        for (mask, secret) in masks.chunks_exact(self.ring_degree.get()).zip(self.polynomials()) {
            add_binary_product(mask, secret, sum);
        }
    }

    /// B − Σ A_j S_j of a ciphertext of (k+1)·N elements.
    pub fn phase<T: Torus>(&self, ciphertext: &[T]) -> Vec<T> {
        let (masks, body) = ciphertext.split_at(self.bits.len());
        let mut product = vec![T::default(); self.ring_degree.get()];
        self.add_mask_product(masks, &mut product);
        body.iter().zip(product).map(|(&b, product)| b.wrapping_sub(product)).collect()
    }
}

/// `sum` += `polynomial` · `secret` in T[X]/(X^N + 1), exact: one rotated addition for each bit that is set.
fn add_binary_product<T: Torus>(polynomial: &[T], secret: &[u8], sum: &mut [T]) {
    let degree = polynomial.len();
    for (shift, _) in secret.iter().enumerate().filter(|&(_, &bit)| bit == 1) {
        let (wrapped, straight) = sum.split_at_mut(shift);
        let (low, high) = polynomial.split_at(degree - shift);
        straight.iter_mut().zip(low).for_each(|(sum, &term)| *sum = sum.wrapping_add(term));
        wrapped.iter_mut().zip(high).for_each(|(sum, &term)| *sum = sum.wrapping_sub(term));
    }
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
