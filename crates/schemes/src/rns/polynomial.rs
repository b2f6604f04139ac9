//! One polynomial over a list of limbs.

use polyfabric_kernels::RingDegree;
use polyfabric_kernels::aligned::AlignedTorus;
use rayon::prelude::*;
use std::sync::OnceLock;

use super::limb::{Domain, LimbId};
use super::ring::Ring;

/// A polynomial by its limbs: N words each, in order, all in one domain. Limbs are aligned to 64 bytes.
#[derive(Clone, Debug)]
pub struct RnsPolynomial {
    degree: RingDegree,
    domain: Domain,
    limbs: Vec<LimbId>,
    words: AlignedTorus<u64>,
    /// The moduli below which all words were found since the last mutable access, limb by limb.
    canonical: OnceLock<Box<[u64]>>,
}

impl PartialEq for RnsPolynomial {
    fn eq(&self, other: &Self) -> bool {
        self.degree == other.degree
            && self.domain == other.domain
            && self.limbs == other.limbs
            && self.words[..] == other.words[..]
    }
}

impl RnsPolynomial {
    /// Zero over `limbs`.
    pub fn zero(degree: RingDegree, limbs: &[LimbId], domain: Domain) -> Self {
        let words = AlignedTorus::zeros(degree.get() * limbs.len());
        Self { degree, domain, limbs: limbs.to_vec(), words, canonical: OnceLock::new() }
    }

    /// N.
    pub fn degree(&self) -> RingDegree {
        self.degree
    }

    /// Meaning of the words.
    pub fn domain(&self) -> Domain {
        self.domain
    }

    /// Its limbs, in order.
    pub fn limbs(&self) -> &[LimbId] {
        &self.limbs
    }

    /// The index of `limb` in [`Self::limbs`].
    pub fn position(&self, limb: LimbId) -> Option<usize> {
        self.limbs.iter().position(|&other| other == limb)
    }

    /// The N words of the limb at `position`.
    ///
    /// # Panics
    /// If there are not so many limbs.
    #[inline]
    pub fn limb(&self, position: usize) -> &[u64] {
        let count = self.degree.get();
        &self.words[position * count..(position + 1) * count]
    }

    /// Mutable access to the limb at `position`.
    ///
    /// # Panics
    /// If there are not so many limbs.
    #[inline]
    pub fn limb_mut(&mut self, position: usize) -> &mut [u64] {
        let count = self.degree.get();
        &mut self.words_mut()[position * count..(position + 1) * count]
    }

    /// All words, limb by limb.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Mutable access to all words.
    pub fn words_mut(&mut self) -> &mut [u64] {
        self.canonical.take();
        &mut self.words
    }

    /// Each limb with its words.
    pub fn iter(&self) -> impl Iterator<Item = (LimbId, &[u64])> {
        self.limbs.iter().copied().zip(self.words.chunks_exact(self.degree.get()))
    }

    /// Each limb with mutable words.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (LimbId, &mut [u64])> {
        self.canonical.take();
        self.limbs.iter().copied().zip(self.words.chunks_exact_mut(self.degree.get()))
    }

    /// Applies `change` to every limb in parallel, with its identifier, position and words.
    pub fn for_each_limb(&mut self, change: impl Fn(LimbId, usize, &mut [u64]) + Sync) {
        self.canonical.take();
        let limbs = &self.limbs;
        let chunks = self.words.par_chunks_exact_mut(self.degree.get()).enumerate();
        chunks.for_each(|(position, words)| change(limbs[position], position, words));
    }

    /// The same polynomial over fewer or reordered limbs. `None` if it lacks one of them.
    pub fn select(&self, limbs: &[LimbId]) -> Option<Self> {
        let mut selected = Self::zero(self.degree, limbs, self.domain);
        for (position, &limb) in limbs.iter().enumerate() {
            selected.limb_mut(position).copy_from_slice(self.limb(self.position(limb)?));
        }
        Some(selected)
    }

    /// Whether every word is a canonical residue of its limb. The result is cached until the next mutable access.
    pub fn is_canonical(&self, ring: &Ring) -> bool {
        let moduli = || self.limbs.iter().map(|&limb| ring.modulus(limb).value());
        if self.canonical.get().is_some_and(|found| found.iter().copied().eq(moduli())) {
            return true;
        }
        let holds = self.iter().all(|(limb, words)| ring.limb(limb).holds(words));
        if holds {
            // If the moduli of another ring are cached, they stay, and this ring is checked again next time.
            let _ = self.canonical.set(moduli().collect());
        }
        holds
    }

    /// Marks every word as a canonical residue, when the writer has checked it.
    pub(crate) fn remember_canonical(&mut self, ring: &Ring) {
        debug_assert!(self.iter().all(|(limb, words)| ring.limb(limb).holds(words)), "canonical residues");
        self.canonical =
            OnceLock::from(self.limbs.iter().map(|&limb| ring.modulus(limb).value()).collect::<Box<[u64]>>());
    }

    /// Transforms to the evaluation domain, if in coefficients.
    pub fn forward(&mut self, ring: &Ring) {
        if self.domain == Domain::Coefficient {
            self.for_each_limb(|limb, _, words| ring.ntt(limb).forward(words));
            self.domain = Domain::Evaluation;
        }
    }

    /// Transforms to coefficients, if in the evaluation domain.
    pub fn inverse(&mut self, ring: &Ring) {
        if self.domain == Domain::Evaluation {
            self.for_each_limb(|limb, _, words| ring.ntt(limb).inverse(words));
            self.domain = Domain::Coefficient;
        }
    }

    fn check_like(&self, other: &Self) {
        assert!(
            self.limbs == other.limbs && self.domain == other.domain,
            "polynomials over one list of limbs, in one domain"
        );
    }

    /// self ← self + other.
    ///
    /// # Panics
    /// Unless both have the same limbs and domain.
    pub fn add_assign(&mut self, ring: &Ring, other: &Self) {
        self.check_like(other);
        self.for_each_limb(|limb, position, words| ring.limb(limb).add_assign(words, other.limb(position)));
    }

    /// self ← self − other.
    ///
    /// # Panics
    /// As [`Self::add_assign`].
    pub fn sub_assign(&mut self, ring: &Ring, other: &Self) {
        self.check_like(other);
        self.for_each_limb(|limb, position, words| ring.limb(limb).sub_assign(words, other.limb(position)));
    }

    /// self ← −self.
    pub fn neg_assign(&mut self, ring: &Ring) {
        self.for_each_limb(|limb, _, words| ring.limb(limb).neg_assign(words));
    }

    /// self ← self · other, in the evaluation domain.
    ///
    /// # Panics
    /// As [`Self::add_assign`], and in the coefficient domain.
    pub fn multiply_assign(&mut self, ring: &Ring, other: &Self) {
        self.check_like(other);
        assert_eq!(self.domain, Domain::Evaluation, "polynomials are multiplied by values");
        self.for_each_limb(|limb, position, words| ring.limb(limb).multiply_assign(words, other.limb(position)));
    }

    /// self ← self + a · b, in the evaluation domain.
    ///
    /// # Panics
    /// As [`Self::multiply_assign`].
    pub fn multiply_add_assign(&mut self, ring: &Ring, a: &Self, b: &Self) {
        self.check_like(a);
        self.check_like(b);
        assert_eq!(self.domain, Domain::Evaluation, "polynomials are multiplied by values");
        self.for_each_limb(|limb, position, words| {
            ring.limb(limb).multiply_add_assign(words, a.limb(position), b.limb(position));
        });
    }

    /// Bytes of its words.
    pub fn bytes(&self) -> usize {
        self.words.len() * size_of::<u64>()
    }
}
