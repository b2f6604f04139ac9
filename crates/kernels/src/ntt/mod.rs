//! Negacyclic number-theoretic transform.
//!
//! The NTT of x in Z_q\[X\]/(X^N + 1) is its values at the N odd powers of ψ, a primitive 2N-th root of unity: X_k = Σ_j x_j·ψ^((2k+1)j). Products of
//! polynomials become products of values.
//!
//! - [`mod@reference`] is the definition.
//! - [`Ntt`] is the fast transform, on 64-bit or 32-bit words; its values are in bit-reversed order ([`EvaluationOrder::BitReversed`]) on every
//!   instruction set.
//! - [`four_step`] and [`streaming`] compute in the order of F1's and Osiris's units, for a machine's replay.
//!
//! # Examples
//! ```
//! use polyfabric_kernels::{RingDegree, modular::{Limb, Modulus}, ntt::Ntt, primes::PrimeClass};
//! let degree = RingDegree::new(1024)?;
//! let q = Modulus::new(PrimeClass::of_degree(degree).of_bits(40, 1)?[0])?;
//! let ntt = Ntt::<u64>::new(degree, q)?;
//! let (mut a, mut b) = (vec![0; 1024], vec![0; 1024]);
//! a[1023] = 5; // 5·X^1023
//! b[1] = 7; // 7·X
//! ntt.forward(&mut a);
//! ntt.forward(&mut b);
//! Limb::new(q).multiply_assign(&mut a, &b);
//! ntt.inverse(&mut a);
//! assert_eq!(a[0], q.value() - 35); // X^1024 = −1
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod butterfly;
pub mod four_step;
mod kernel;
#[cfg(target_arch = "aarch64")]
mod neon;
pub mod order;
mod passes;
pub mod reference;
pub mod streaming;
mod tables;
mod words32;
mod words64;
#[cfg(target_arch = "x86_64")]
mod words64_avx512;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod words64_float;

pub use kernel::NttWord;
pub use order::EvaluationOrder;

use crate::isa::Isa;
use crate::modular::Modulus;
use crate::primes::is_prime;
use crate::ring::RingDegree;
use kernel::{FORWARD_BEGIN, FORWARD_END, INVERSE, Kernel, More};
use tables::Tables;
use thiserror::Error;

/// Why a modulus has no transform of a degree.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum NttError {
    #[error("modulus {modulus} has no root of unity of order {order}; use a prime = 1 mod {order}", order = 2 * .degree)]
    NoRoot { modulus: u64, degree: usize },
    #[error("modulus {0} is not prime; the transform needs a prime")]
    Composite(u64),
    #[error("modulus {modulus} does not fit a word of {word_bits} bits; use the transform of 64-bit words")]
    WordSize { modulus: u64, word_bits: u32 },
    #[error(
        "no transform of degree {degree} modulo {modulus} in {isa:?} on this processor; let the library choose the set"
    )]
    Isa { isa: Isa, modulus: u64, degree: usize },
}

/// Whether there is a 64-bit transform of `degree` modulo `modulus`: the check that [`Ntt::new`] makes before its tables.
///
/// # Errors
/// [`NttError`] if q is not a prime ≡ 1 mod 2N.
pub fn check(degree: RingDegree, modulus: Modulus) -> Result<(), NttError> {
    let (q, count) = (modulus.value(), degree.get());
    if !is_prime(q) {
        return Err(NttError::Composite(q));
    }
    if (q - 1).is_multiple_of(2 * count as u64) { Ok(()) } else { Err(NttError::NoRoot { modulus: q, degree: count }) }
}

/// The transform modulo one prime, on words `W`: `u64` for primes below 2^61, `u32` for primes below 2^32.
///
/// | words | set | primes | values between butterflies |
/// |---|---|---|---|
/// | `u64` | AVX-512 with IFMA | below 2^46 | forward (0, 35q), inverse [0, 2q), Montgomery products of 52 bits |
/// | `u64` | AVX-512 with IFMA | 2^46 to 2^50 | [0, 4q), Montgomery products of 52 bits |
/// | `u64` | AVX2, AVX-512 without IFMA, NEON | below 2^48 | forward (−13q, 13q), inverse (−q, q), products in f64 |
/// | `u64` | AVX2, AVX-512 without IFMA, NEON | 2^48 to 2^50 | forward (−6q, 6q), inverse (−q, q), products in f64 |
/// | `u64` | AVX-512, portable | below 2^61 | [0, 4q), Shoup products of 64 bits |
/// | `u32` | AVX-512, AVX2, NEON, portable | below 2^30 | [0, 4q), Shoup products of 32 bits |
/// | `u32` | AVX-512, AVX2, NEON, portable | 2^30 to 2^32 | [0, q), Montgomery products of 32 bits |
#[derive(Debug)]
pub struct Ntt<W: NttWord> {
    degree: RingDegree,
    isa: Isa,
    kernel: Kernel,
    tables: Tables<W>,
}

impl<W: NttWord> Ntt<W> {
    /// The transform with the best instruction set in use that supports it.
    ///
    /// # Errors
    /// [`NttError`] if q is not a prime ≡ 1 mod 2N, or does not fit the word.
    pub fn new(degree: RingDegree, modulus: Modulus) -> Result<Self, NttError> {
        let isa = Isa::usable().find(|&isa| W::kernel(isa, degree, modulus).is_some());
        Self::with_isa(degree, modulus, isa.unwrap_or(Isa::Portable))
    }

    /// The transform with `isa`. For `u64`, AVX-512 uses IFMA if present and q < 2^50, otherwise f64.
    ///
    /// # Errors
    /// As [`Self::new`], and if `isa` does not support this degree and modulus.
    pub fn with_isa(degree: RingDegree, modulus: Modulus, isa: Isa) -> Result<Self, NttError> {
        if modulus.bits() > W::BITS {
            return Err(NttError::WordSize { modulus: modulus.value(), word_bits: W::BITS });
        }
        let missing = NttError::Isa { isa, modulus: modulus.value(), degree: degree.get() };
        let kernel = W::kernel(isa, degree, modulus).ok_or(missing)?;
        let tables = Tables::new(degree, modulus, &W::layout(kernel))?;
        Ok(Self { degree, isa, kernel, tables })
    }

    /// The transform of polynomials in X^(N/n), n = `degree`, by their n coefficients at multiples of N/n: that of degree n with root ψ^(N/n). In the
    /// transform of degree N each of its values occurs N/n times in a row: the value at ψ^(2k+1) is that of Y = X^(N/n) at ψ^((N/n)(2k+1)), which depends on
    /// the low bits of k, the high bits of its place ([`repeat`]).
    ///
    /// # Panics
    /// If `degree` is above N.
    pub fn subring(&self, degree: RingDegree) -> Self {
        let modulus = self.modulus();
        assert!(degree <= self.degree, "a subring's degree divides the ring's");
        let kernel_of = |isa| W::kernel(isa, degree, modulus).map(|kernel| (isa, kernel));
        let found = Isa::present().filter(|&isa| isa <= self.isa).find_map(kernel_of);
        let (isa, kernel) = found.expect("portable code serves every degree");
        let root = modulus.power(self.root(), (self.degree.get() / degree.get()) as u64);
        Self { degree, isa, kernel, tables: Tables::with_root(degree, modulus, root, &W::layout(kernel)) }
    }

    /// N.
    pub fn degree(&self) -> RingDegree {
        self.degree
    }

    /// q.
    pub fn modulus(&self) -> Modulus {
        self.tables.modulus
    }

    /// The instruction set in use.
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// ψ, the primitive 2N-th root of unity; depends on q and N only.
    pub fn root(&self) -> u64 {
        self.tables.root
    }

    pub fn table_bytes(&self) -> usize {
        let words = 2 * self.tables.pairs.len() + self.tables.lanes.len() + self.tables.lane_companions.len();
        words * size_of::<W>()
    }

    /// Coefficients in natural order to values in bit-reversed order, in place. Both are canonical, in [0, q).
    ///
    /// # Panics
    /// Unless `polynomial` has N words.
    pub fn forward(&self, polynomial: &mut [W]) {
        self.check(polynomial);
        // SAFETY: the kernel was chosen for a set of this processor, the tables for the kernel; N words are valid.
        unsafe {
            let more = More { words: 0..polynomial.len(), source: std::ptr::null(), next: &[] };
            W::run(FORWARD_BEGIN, self.kernel, &self.tables, polynomial.as_mut_ptr(), more.clone());
            W::run(FORWARD_END, self.kernel, &self.tables, polynomial.as_mut_ptr(), more);
        }
    }

    /// Words of a region: an aligned part of the polynomial that [`Self::forward_end`] processes in the first-level cache.
    pub fn region(&self) -> usize {
        passes::region(&self.tables)
    }

    /// The first half of [`Self::forward`]: the passes that stream the whole polynomial. Only [`Self::forward_end`] can use its result. Prefetches `next`.
    ///
    /// # Panics
    /// Unless `polynomial` has N words.
    pub fn forward_begin(&self, polynomial: &mut [W], next: &[&[u64]]) {
        self.check(polynomial);
        let more = More { words: 0..polynomial.len(), source: std::ptr::null(), next };
        // SAFETY: as in `forward`.
        unsafe { W::run(FORWARD_BEGIN, self.kernel, &self.tables, polynomial.as_mut_ptr(), more) }
    }

    /// The second half of [`Self::forward`], for the region that begins at word `start`; regions are independent. The caller can use the values while
    /// they are cached. Prefetches `next`.
    ///
    /// # Panics
    /// Unless `region` has [`Self::region`] words, and `start` is a multiple of it below N.
    pub fn forward_end(&self, region: &mut [W], start: usize, next: &[&[u64]]) {
        let words = self.region();
        assert!(region.len() == words && start.is_multiple_of(words) && start < self.degree.get(), "a region");
        let more = More { words: start..start + words, source: std::ptr::null(), next };
        // SAFETY: as in `forward`; the region's words are valid.
        unsafe { W::run(FORWARD_END, self.kernel, &self.tables, region.as_mut_ptr(), more) }
    }

    /// Values in bit-reversed order to coefficients in natural order, in place. Both are canonical.
    ///
    /// # Panics
    /// Unless `values` has N words.
    pub fn inverse(&self, values: &mut [W]) {
        self.check(values);
        let more = More { words: 0..values.len(), source: values.as_ptr(), next: &[] };
        // SAFETY: as in `forward`; the source is the data.
        unsafe { W::run(INVERSE, self.kernel, &self.tables, values.as_mut_ptr(), more) }
    }

    /// [`Self::inverse`] of `values`, to `coefficients`.
    ///
    /// # Panics
    /// Unless both have N words.
    pub fn inverse_of(&self, values: &[W], coefficients: &mut [W]) {
        self.check(values);
        self.check(coefficients);
        let more = More { words: 0..values.len(), source: values.as_ptr(), next: &[] };
        // SAFETY: as in `forward`; the source has N words, none of them among the result's.
        unsafe { W::run(INVERSE, self.kernel, &self.tables, coefficients.as_mut_ptr(), more) }
    }

    fn check(&self, words: &[W]) {
        assert_eq!(words.len(), self.degree.get(), "a polynomial has N coefficients");
    }
}

#[cfg(target_arch = "x86_64")]
impl Ntt<u64> {
    /// The transform of AVX-512 on a processor without IFMA, in f64 or in words of 64 bits, or `None` without AVX-512. For tests.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn without_ifma(degree: RingDegree, modulus: Modulus, floats: bool) -> Option<Result<Self, NttError>> {
        let isa = Isa::Avx512;
        let kernel =
            if floats { Kernel::Float(isa, modulus.bits() <= words64_float::ROOMY_BITS) } else { Kernel::Wide };
        let made = |tables| Self { degree, isa, kernel, tables };
        isa.is_present().then(|| Tables::new(degree, modulus, &<u64 as kernel::Dispatch>::layout(kernel)).map(made))
    }
}

/// Repeats each of `values` to fill `target`: extends the result of [`Ntt::subring`] to values of the ring.
///
/// # Panics
/// Unless the length of `target` is a multiple of that of `values`.
pub fn repeat(values: &[u64], target: &mut [u64]) {
    assert!(target.len().is_multiple_of(values.len()), "whole rows of each value");
    let times = target.len() / values.len();
    let (chunks, rest) = target.as_chunks_mut::<8>();
    match times {
        1 => target.copy_from_slice(values),
        2 | 4 if rest.is_empty() => {
            for (row, chunk) in chunks.iter_mut().enumerate() {
                *chunk = std::array::from_fn(|at| values[(8 * row + at) / times]);
            }
        }
        _ if times.is_multiple_of(8) => {
            for (rows, &value) in chunks.chunks_exact_mut(times / 8).zip(values) {
                rows.fill([value; 8]);
            }
        }
        _ => target.chunks_exact_mut(times).zip(values).for_each(|(row, &value)| row.fill(value)),
    }
}
