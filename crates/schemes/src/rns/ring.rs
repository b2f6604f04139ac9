//! The ring of a parameter set: degree, table of moduli and NTTs.

use std::sync::{Arc, OnceLock};

use polyfabric_kernels::RingDegree;
use polyfabric_kernels::modular::{Limb, Modulus};
use polyfabric_kernels::ntt::{self, Ntt, NttError};
use thiserror::Error;

use super::limb::LimbId;

/// Maximum number of moduli.
pub const MAX_LIMBS: usize = 256;

/// Number of subring degrees of the largest ring.
const MOST_SUBRINGS: usize = (RingDegree::MAX / RingDegree::MIN).ilog2() as usize;

/// `Z[X]/(X^N + 1)` modulo each of a table of primes, with their NTTs. Shared by reference.
#[derive(Debug)]
pub struct Ring {
    degree: RingDegree,
    moduli: Vec<Modulus>,
    limbs: Vec<Limb>,
    /// Made at first use: a ring named by a file costs nothing until something is computed in it.
    transforms: Vec<OnceLock<Ntt<u64>>>,
    /// Subring transforms, by limb and power of two, also made at first use ([`Self::ntt_of_power`]).
    subrings: Vec<[OnceLock<Ntt<u64>>; MOST_SUBRINGS]>,
}

/// Why moduli do not define a ring.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum RingError {
    #[error("a ring has 1 to {MAX_LIMBS} moduli, not {0}; give another number")]
    Count(usize),
    #[error("modulus {modulus} occurs twice in the table (places {first} and {second}); give distinct primes")]
    Repeated { modulus: u64, first: usize, second: usize },
    #[error("limb {limb}: {source}")]
    Transform { limb: LimbId, source: NttError },
}

impl Ring {
    /// The ring of `degree` with `moduli` as its table. Transform tables are made at first use.
    ///
    /// # Errors
    /// [`RingError`] unless the moduli are 1 to [`MAX_LIMBS`] distinct primes ≡ 1 mod 2N.
    pub fn new(degree: RingDegree, moduli: &[Modulus]) -> Result<Arc<Self>, RingError> {
        if moduli.is_empty() || moduli.len() > MAX_LIMBS {
            return Err(RingError::Count(moduli.len()));
        }
        for (second, modulus) in moduli.iter().enumerate() {
            if let Some(first) = moduli[..second].iter().position(|other| other == modulus) {
                return Err(RingError::Repeated { modulus: modulus.value(), first, second });
            }
        }
        for (index, &modulus) in moduli.iter().enumerate() {
            ntt::check(degree, modulus)
                .map_err(|source| RingError::Transform { limb: LimbId(index as u16), source })?;
        }
        let transforms = moduli.iter().map(|_| OnceLock::new()).collect();
        let subrings = moduli.iter().map(|_| Default::default()).collect();
        let limbs = moduli.iter().map(|&modulus| Limb::new(modulus)).collect();
        Ok(Arc::new(Self { degree, moduli: moduli.to_vec(), limbs, transforms, subrings }))
    }

    /// N.
    pub fn degree(&self) -> RingDegree {
        self.degree
    }

    /// The table of moduli, indexed by [`LimbId`].
    pub fn moduli(&self) -> &[Modulus] {
        &self.moduli
    }

    /// All limbs, in order.
    pub fn limb_ids(&self) -> Vec<LimbId> {
        LimbId::range(0, self.moduli.len())
    }

    /// Whether `limb` is in the table.
    pub fn holds(&self, limb: LimbId) -> bool {
        limb.index() < self.moduli.len()
    }

    /// The modulus of `limb`.
    ///
    /// # Panics
    /// If the table has no such limb ([`Self::holds`]).
    #[inline]
    pub fn modulus(&self, limb: LimbId) -> Modulus {
        self.moduli[limb.index()]
    }

    /// The vector operations modulo `limb`'s prime.
    ///
    /// # Panics
    /// As [`Self::modulus`].
    #[inline]
    pub fn limb(&self, limb: LimbId) -> Limb {
        self.limbs[limb.index()]
    }

    /// The transform modulo `limb`'s prime.
    ///
    /// # Panics
    /// As [`Self::modulus`].
    #[inline]
    pub fn ntt(&self, limb: LimbId) -> &Ntt<u64> {
        self.transforms[limb.index()].get_or_init(|| {
            Ntt::new(self.degree, self.modulus(limb)).expect("the modulus was checked when the ring was made")
        })
    }

    /// The NTT modulo `limb`'s prime for polynomials in X^(2^`log2`), given by every 2^`log2`-th coefficient ([`Ntt::subring`]).
    ///
    /// # Panics
    /// As [`Self::modulus`], and if there is no degree of N/2^`log2`.
    #[inline]
    pub fn ntt_of_power(&self, limb: LimbId, log2: u32) -> &Ntt<u64> {
        let Some(place) = log2.checked_sub(1) else { return self.ntt(limb) };
        self.subrings[limb.index()][place as usize].get_or_init(|| {
            let degree = RingDegree::new(self.degree.get() >> log2).expect("a subring of a degree that there is");
            self.ntt(limb).subring(degree)
        })
    }

    /// log2 of the product of `limbs`' primes.
    ///
    /// # Panics
    /// As [`Self::modulus`].
    pub fn log2_product(&self, limbs: &[LimbId]) -> f64 {
        limbs.iter().map(|&limb| (self.modulus(limb).value() as f64).log2()).sum()
    }

    /// Bytes of the transform tables made so far.
    pub fn table_bytes(&self) -> usize {
        let all = self.transforms.iter().chain(self.subrings.iter().flatten());
        all.filter_map(OnceLock::get).map(Ntt::table_bytes).sum()
    }
}
