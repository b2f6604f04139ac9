//! Converts residues modulo one set of primes to residues modulo another.
//!
//! A number x in [0, Q), Q = Π q_i, is given by its residues x_i modulo α primes. With y_i = x_i·(Q/q_i)^-1 mod q_i, the Chinese remainder
//! theorem gives Σ_i y_i·(Q/q_i) = x + u·Q for some 0 ≤ u < α.
//!
//! - [`BaseConverter::convert`] computes this sum modulo each p_j: x + u·Q, an error of up to α − 1 times Q (J.-C. Bajard et al., SAC 2016;
//!   S. Halevi, Y. Polyakov and V. Shoup, CT-RSA 2019).
//! - [`BaseConverter::convert_exact`] also subtracts v·Q, v = floor(Σ y_i/q_i + 1/2), which gives the representative of x in [−Q/2, Q/2).
//!   v comes from a sum in f64; if that is closer to an integer than its error bound, big integers decide.
//! - [`BaseConverter::convert_balanced`] computes the first sum with every y_i in [−h_i, q_i − h_i), h_i = floor(q_i/2): unbiased, and
//!   within α·Q/2 of 0. It equals Σ z_i·(Q/q_i) − Σ h_i·(Q/q_i) with z_i = y_i + h_i mod q_i, so it costs one more constant.
//!
//! Each is a product of the constant matrix (Q/q_i mod p_j) with the matrix of the y_i, in blocks of coefficients that stay in the
//! first-level cache for all p_j.

mod exact;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod float;
#[cfg(target_arch = "x86_64")]
mod ifma;

use crate::isa::Isa;
use crate::memory::NextUse;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use crate::modular::Form;
use crate::modular::{Limb, Modulus};
use exact::ExactQuotient;
use thiserror::Error;

/// A set of pairwise coprime moduli.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RnsBasis {
    moduli: Vec<Modulus>,
}

/// Why moduli are not a basis.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum RnsBasisError {
    #[error("a basis of residues needs a modulus")]
    Empty,
    #[error("moduli {0} and {1} of a basis have a common factor; use distinct primes")]
    NotCoprime(u64, u64),
}

impl RnsBasis {
    /// Checks `moduli`.
    ///
    /// # Errors
    /// [`RnsBasisError`] if there is none, or two have a common factor.
    pub fn new(moduli: Vec<Modulus>) -> Result<Self, RnsBasisError> {
        if moduli.is_empty() {
            return Err(RnsBasisError::Empty);
        }
        for (index, &a) in moduli.iter().enumerate() {
            if let Some(b) = moduli[..index].iter().find(|b| a.inverse(b.value()).is_none()) {
                return Err(RnsBasisError::NotCoprime(b.value(), a.value()));
            }
        }
        Ok(Self { moduli })
    }

    pub fn moduli(&self) -> &[Modulus] {
        &self.moduli
    }

    /// log2 of their product.
    pub fn log2_product(&self) -> f64 {
        self.moduli.iter().map(|modulus| (modulus.value() as f64).log2()).sum()
    }
}

/// Words of a block over all source primes: three quarters of the usual 32 KiB first-level cache.
const BLOCK_WORDS: usize = 3072;

/// Coefficients of a block of `rows` rows. Long runs help the prefetchers, which follow all target limbs.
fn block_columns(rows: usize) -> usize {
    (BLOCK_WORDS / rows / 64 * 64).clamp(64, 1024)
}

/// The representative that a conversion computes; see the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Approximate,
    Balanced,
    Exact,
}

/// The conversion from one basis to another.
#[derive(Debug)]
pub struct BaseConverter {
    from: RnsBasis,
    to: RnsBasis,
    /// t.
    multiple: u64,
    /// (Q/q_i)^-1·t^-1 mod q_i.
    inverses: Vec<u64>,
    /// For each p_j: t·(Q/q_i) mod p_j for all i, then −t·Q mod p_j.
    rows: Vec<Vec<u64>>,
    /// For each p_j: −t·Σ h_i·(Q/q_i) mod p_j.
    constants: Vec<u64>,
    exact: ExactQuotient,
    from_limbs: Vec<Limb>,
    to_limbs: Vec<Limb>,
}

impl BaseConverter {
    /// Converts residues modulo `from` to residues modulo `to`, with the best instruction set.
    pub fn new(from: RnsBasis, to: RnsBasis) -> Self {
        Self::build(from, to, 1, Limb::new)
    }

    /// Converts x·t^-1 and multiplies by t: a multiple of `t` that equals x modulo Q, for BGV's division by Q.
    ///
    /// # Panics
    /// If `t` and Q have a common factor.
    pub fn multiples_of(t: u64, from: RnsBasis, to: RnsBasis) -> Self {
        let coprime = |q: &Modulus| q.inverse(q.reduce(t)).is_some();
        assert!(from.moduli.iter().all(coprime), "{t} and a modulus have a common factor");
        Self::build(from, to, t, Limb::new)
    }

    /// [`Self::new`] with `isa` for the moduli that it supports, and portable code for the others.
    pub fn with_isa(from: RnsBasis, to: RnsBasis, isa: Isa) -> Self {
        Self::build(from, to, 1, |modulus| Limb::at_most(modulus, isa))
    }

    fn build(from: RnsBasis, to: RnsBasis, t: u64, limb: impl Fn(Modulus) -> Limb) -> Self {
        let product_but = |index: usize, modulus: Modulus| {
            let others = from.moduli.iter().enumerate().filter(|&(other, _)| other != index);
            others.fold(1 % modulus.value(), |product, (_, q)| modulus.multiply(product, modulus.reduce(q.value())))
        };
        let inverses = from.moduli.iter().enumerate();
        let times_t = |product: u64, modulus: Modulus| modulus.multiply(product, modulus.reduce(t));
        // These inverses exist because the moduli are pairwise coprime.
        let inverse = |(index, &q): (usize, &Modulus)| q.inverse(times_t(product_but(index, q), q)).unwrap_or(0);
        let inverses = inverses.map(inverse).collect();
        let row = |&p: &Modulus| {
            let mut row: Vec<u64> = (0..from.moduli.len()).map(|index| times_t(product_but(index, p), p)).collect();
            row.push(p.neg(times_t(product_but(usize::MAX, p), p)));
            row
        };
        let rows: Vec<Vec<u64>> = to.moduli.iter().map(row).collect();
        let constant = |(&p, row): (&Modulus, &Vec<u64>)| {
            let terms = from.moduli.iter().zip(row);
            p.neg(terms.fold(0, |sum, (q, &w)| p.add(sum, p.multiply(p.reduce(q.value() / 2), w))))
        };
        let constants = to.moduli.iter().zip(&rows).map(constant).collect();
        let limbs = |basis: &RnsBasis| basis.moduli.iter().map(|&modulus| limb(modulus)).collect();
        let (from_limbs, to_limbs) = (limbs(&from), limbs(&to));
        Self {
            multiple: t,
            inverses,
            rows,
            constants,
            exact: ExactQuotient::new(&from),
            from_limbs,
            to_limbs,
            from,
            to,
        }
    }

    /// The source basis.
    pub fn from(&self) -> &RnsBasis {
        &self.from
    }

    /// The target basis.
    pub fn to(&self) -> &RnsBasis {
        &self.to
    }

    /// t: every result is a multiple of it modulo Q. It is 1 except after [`Self::multiples_of`].
    pub fn multiple(&self) -> u64 {
        self.multiple
    }

    /// The factor of [`Self::weigh`] for source limb `source`, and its addend in a balanced conversion.
    pub fn weight(&self, source: usize) -> (u64, u64) {
        (self.inverses[source], self.from.moduli[source].value() / 2)
    }

    /// The factors of [`Self::combine`] for target limb `target`, one per source limb, and its addend in a balanced conversion.
    pub fn combination(&self, target: usize) -> (&[u64], u64) {
        (&self.rows[target][..self.inverses.len()], self.constants[target])
    }

    /// x + u·Q modulo each target prime, with 0 ≤ u < α: `output[j][c]` from all `input[i][c]`.
    ///
    /// # Panics
    /// Unless there is a limb for each modulus, all of one length.
    pub fn convert(&self, input: &[&[u64]], output: &mut [&mut [u64]], next_use: NextUse) {
        self.run(input, output, Kind::Approximate, next_use);
    }

    /// A number within α·Q/2 of 0 that equals x modulo Q, modulo each target prime: `output[j][c]` from all `input[i][c]`.
    ///
    /// # Panics
    /// As [`Self::convert`].
    pub fn convert_balanced(&self, input: &[&[u64]], output: &mut [&mut [u64]], next_use: NextUse) {
        self.run(input, output, Kind::Balanced, next_use);
    }

    /// The first half of [`Self::convert`] or [`Self::convert_balanced`]: prepares source limb `source` for [`Self::combine`].
    ///
    /// # Panics
    /// If there is no such source.
    pub fn weigh(&self, source: usize, balanced: bool, words: &mut [u64]) {
        self.from_limbs[source].scale_assign(words, self.inverses[source]);
        if balanced {
            self.from_limbs[source].add_scalar_assign(words, self.from.moduli[source].value() / 2);
        }
    }

    /// The second half: target limb `target` from all source limbs after [`Self::weigh`]. For limbs small enough to stay in the cache until
    /// the last target has read them.
    ///
    /// # Panics
    /// Unless there is a limb for each source, all of one length.
    pub fn combine(&self, target: usize, balanced: bool, weighed: &[&[u64]], words: &mut [u64]) {
        assert_eq!(weighed.len(), self.from.moduli.len(), "one limb for each source");
        assert!(weighed.iter().all(|limb| limb.len() == words.len()), "limbs of one length");
        self.product(target, weighed, if balanced { self.constants[target] } else { 0 }, words, NextUse::Soon);
    }

    /// x in [−Q/2, Q/2) modulo each target prime: `output[j][c]` from all `input[i][c]`.
    ///
    /// # Panics
    /// As [`Self::convert`].
    pub fn convert_exact(&self, input: &[&[u64]], output: &mut [&mut [u64]], next_use: NextUse) {
        self.run(input, output, Kind::Exact, next_use);
    }

    fn run(&self, input: &[&[u64]], output: &mut [&mut [u64]], kind: Kind, next_use: NextUse) {
        let sources = self.from.moduli.len();
        assert_eq!((input.len(), output.len()), (sources, self.to.moduli.len()), "one limb for each modulus");
        let count = input[0].len();
        let same = input.iter().all(|limb| limb.len() == count) && output.iter().all(|limb| limb.len() == count);
        assert!(same, "limbs of one length");
        // One more row, for the quotients v.
        let stride = block_columns(sources + 1);
        let mut block = vec![0; (sources + 1) * stride];
        for start in (0..count).step_by(stride) {
            let columns = start..count.min(start + stride);
            for (index, row) in block.chunks_exact_mut(stride).take(sources).enumerate() {
                let row = &mut row[..columns.len()];
                self.from_limbs[index].scale(row, &input[index][columns.clone()], self.inverses[index]);
                if kind == Kind::Balanced {
                    self.from_limbs[index].add_scalar_assign(row, self.from.moduli[index].value() / 2);
                }
            }
            if kind == Kind::Exact {
                let (residues, quotients) = block.split_at_mut(sources * stride);
                let vectors = self.from_limbs.iter().all(|limb| limb.isa() == Isa::Avx512);
                self.exact.quotients(residues, stride, &mut quotients[..columns.len()], vectors);
            }
            let terms = sources + usize::from(kind == Kind::Exact);
            let rows: Vec<&[u64]> = block.chunks_exact(stride).take(terms).map(|row| &row[..columns.len()]).collect();
            for (index, limb) in output.iter_mut().enumerate() {
                let constant = if kind == Kind::Balanced { self.constants[index] } else { 0 };
                self.product(index, &rows, constant, &mut limb[columns.clone()], next_use);
            }
        }
    }

    /// target\[c\] = constant + Σ_i terms\[i\]\[c\]·row\[i\] mod p_j.
    fn product(&self, index: usize, terms: &[&[u64]], constant: u64, target: &mut [u64], next_use: NextUse) {
        let (limb, row) = (self.to_limbs[index], &self.rows[index]);
        let modulus = limb.modulus();
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        let done = {
            let widest = self.from.moduli.iter().map(|q| q.bits()).max().unwrap_or(0);
            match limb.form() {
                #[cfg(target_arch = "x86_64")]
                Form::Ifma if widest <= crate::modular::ifma::MAX_BITS => {
                    // SAFETY: a limb has this form only if the processor has IFMA and the modulus suits it.
                    unsafe { ifma::combine(modulus, widest, terms, row, constant, target, next_use) }
                }
                Form::Float if widest <= crate::modular::float::MAX_BITS => {
                    // SAFETY: a limb has this form only if the processor has its set.
                    unsafe { float::combine(limb.isa(), modulus, widest, terms, row, constant, target, next_use) }
                }
                _ => 0,
            }
        };
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        let done = {
            let _ = next_use;
            0
        };
        for (column, target) in target.iter_mut().enumerate().skip(done) {
            let mut sum = u128::from(constant);
            // Sixteen products below 2^122 plus a residue stay below 2^127.
            for (terms, factors) in terms.chunks(16).zip(row.chunks(16)) {
                for (term, &factor) in terms.iter().zip(factors) {
                    sum += u128::from(term[column]) * u128::from(factor);
                }
                sum = u128::from(modulus.reduce_wide(sum));
            }
            *target = sum as u64;
        }
    }
}
