//! Arithmetic on a limb: a residue polynomial as a slice of canonical residues.

use super::{BLOCK, Modulus, ShoupFactor, in_block};
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use super::{blocks::Steps, float, limb_float};
#[cfg(target_arch = "x86_64")]
use super::{ifma, limb_ifma};
use crate::aligned::elements;
use crate::isa::Isa;
use crate::memory::NextUse;

/// Coefficient-wise operations modulo one q. Operands and results are canonical, in [0, q), unless an operation states otherwise.
///
/// Every operation panics if its slices differ in length, or a scalar is not canonical.
#[derive(Clone, Copy, Debug)]
pub struct Limb {
    modulus: Modulus,
    isa: Isa,
    form: Form,
}

/// Arithmetic of a limb's vector operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// None: 64-bit words one by one.
    Scalar,
    /// Integers of 52 bits.
    #[cfg(target_arch = "x86_64")]
    Ifma,
    /// f64.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    Float,
}

/// The factors of an inner product, one row per term.
#[derive(Clone, Copy, Debug)]
pub enum Rows<'a> {
    /// Separate rows.
    Apart(&'a [&'a [u64]]),
    /// [`BLOCK`] residues of each of several rows in turn, so that all are one stream to read, packed in whole bytes ([`super::pack_block`]).
    InBlocks {
        words: &'a [u64],
        /// Words per block.
        width: usize,
        /// Number of rows stored.
        count: usize,
        /// The selected rows.
        rows: &'a [u16],
    },
}

impl Rows<'_> {
    /// Number of selected rows.
    ///
    /// # Panics
    /// Unless each has `words` words.
    fn check(&self, words: usize) -> usize {
        match *self {
            Self::Apart(rows) => {
                assert!(rows.iter().all(|row| row.len() == words), "limbs of different lengths");
                rows.len()
            }
            Self::InBlocks { words: all, width, count, rows } => {
                let whole = words.is_multiple_of(BLOCK) && all.len() == elements(&[count, words / BLOCK, width]);
                assert!(whole && (1..=8).contains(&width), "limbs of different lengths");
                assert!(rows.iter().all(|&row| usize::from(row) < count), "a row that is there");
                rows.len()
            }
        }
    }

    fn word(&self, term: usize, index: usize) -> u64 {
        match *self {
            Self::Apart(rows) => rows[term][index],
            Self::InBlocks { words, width, count, rows } => {
                let block = index / BLOCK * count + usize::from(rows[term]);
                in_block(&words[block * width..(block + 1) * width], index % BLOCK)
            }
        }
    }

    /// Start of each selected row.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    fn pointers(self) -> Vec<*const u64> {
        match self {
            Self::Apart(rows) => rows.iter().map(|row| row.as_ptr()).collect(),
            Self::InBlocks { words, width, rows, .. } => {
                rows.iter().map(|&row| words.as_ptr().wrapping_add(usize::from(row) * width)).collect()
            }
        }
    }

    /// Words per block of a row, and the distance to the next block.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    fn steps(self) -> Steps {
        match self {
            Self::Apart(_) => Steps { width: BLOCK, stride: BLOCK },
            Self::InBlocks { width, count, .. } => Steps { width, stride: count * width },
        }
    }
}

/// Number of leading words done by the vector form of an operation; 0 without one.
macro_rules! vector {
    ($self:ident, $operation:ident($($argument:expr),*)) => {
        match ($self.form, $self.isa) {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `form_of` returns the form only if the processor has the set.
            (Form::Ifma, _) => unsafe { limb_ifma::$operation($self.modulus, $($argument),*) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            (Form::Float, Isa::Avx512) => unsafe { limb_float::avx512::$operation($self.modulus, $($argument),*) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            (Form::Float, _) => unsafe { limb_float::avx2::$operation($self.modulus, $($argument),*) },
            #[cfg(target_arch = "aarch64")]
            // SAFETY: as above.
            (Form::Float, _) => unsafe { limb_float::neon::$operation($self.modulus, $($argument),*) },
            _ => 0,
        }
    };
}

fn check(lengths: &[usize]) {
    assert!(lengths.windows(2).all(|pair| pair[0] == pair[1]), "limbs of different lengths: {lengths:?}");
}

impl Limb {
    /// Modulo `modulus`, with the best instruction set in use that supports it.
    pub fn new(modulus: Modulus) -> Self {
        Self::at_most(modulus, Isa::best())
    }

    /// Modulo `modulus`, with the best instruction set up to `isa` that supports it.
    pub(crate) fn at_most(modulus: Modulus, isa: Isa) -> Self {
        let mut serving = Isa::present().filter(|&set| set <= isa);
        let scalar = Self { modulus, isa: Isa::Portable, form: Form::Scalar };
        serving.find_map(|set| Self::with_isa(modulus, set)).unwrap_or(scalar)
    }

    /// Modulo `modulus` with `isa`; `None` unless [`Self::serves`].
    pub fn with_isa(modulus: Modulus, isa: Isa) -> Option<Self> {
        Self::form_of(modulus, isa).map(|form| Self { modulus, isa, form })
    }

    /// [`Self::with_isa`] for AVX-512 in f64, as on a processor without IFMA. For tests.
    #[cfg(target_arch = "x86_64")]
    pub fn without_ifma(modulus: Modulus) -> Option<Self> {
        let isa = Isa::Avx512;
        (isa.is_present() && float::serves(modulus)).then_some(Self { modulus, isa, form: Form::Float })
    }

    /// The vector arithmetic of `isa` for `modulus` on this processor, if any.
    fn form_of(modulus: Modulus, isa: Isa) -> Option<Form> {
        match isa {
            Isa::Portable => Some(Form::Scalar),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 if crate::isa::multiplies_words() && ifma::serves(modulus) => Some(Form::Ifma),
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            _ => (isa.is_present() && float::serves(modulus)).then_some(Form::Float),
            #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
            _ => None,
        }
    }

    /// Whether this processor computes modulo `modulus` with `isa`: always in portable code, otherwise if it has the set and the modulus is below 2^50.
    /// AVX-512 uses IFMA if present and the modulus is odd, and f64 otherwise.
    pub fn serves(modulus: Modulus, isa: Isa) -> bool {
        Self::form_of(modulus, isa).is_some()
    }

    /// q.
    pub fn modulus(&self) -> Modulus {
        self.modulus
    }

    /// The instruction set in use.
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// The arithmetic in use.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    pub(crate) fn form(&self) -> Form {
        self.form
    }

    /// Whether every word is canonical.
    pub fn holds(&self, words: &[u64]) -> bool {
        match (self.form, self.isa) {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `form_of` returns the form only if the processor has the set.
            (Form::Ifma, _) => self.modulus.holds(unsafe { limb_ifma::largest(words) }),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            (Form::Float, Isa::Avx512) => unsafe { limb_float::avx512::holds(self.modulus, words) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            (Form::Float, _) => unsafe { limb_float::avx2::holds(self.modulus, words) },
            #[cfg(target_arch = "aarch64")]
            // SAFETY: as above.
            (Form::Float, _) => unsafe { limb_float::neon::holds(self.modulus, words) },
            _ => self.modulus.holds(words.iter().copied().max().unwrap_or(0)),
        }
    }

    /// a ← a + b.
    pub fn add_assign(&self, a: &mut [u64], b: &[u64]) {
        check(&[a.len(), b.len()]);
        let done = vector!(self, add_assign(a, b));
        for (a, &b) in a[done..].iter_mut().zip(&b[done..]) {
            *a = self.modulus.add(*a, b);
        }
    }

    /// a ← a − b.
    pub fn sub_assign(&self, a: &mut [u64], b: &[u64]) {
        check(&[a.len(), b.len()]);
        let done = vector!(self, sub_assign(a, b));
        for (a, &b) in a[done..].iter_mut().zip(&b[done..]) {
            *a = self.modulus.sub(*a, b);
        }
    }

    /// a ← −a.
    pub fn neg_assign(&self, a: &mut [u64]) {
        let done = vector!(self, neg_assign(a));
        for a in &mut a[done..] {
            *a = self.modulus.neg(*a);
        }
    }

    /// a ← a · b.
    pub fn multiply_assign(&self, a: &mut [u64], b: &[u64]) {
        check(&[a.len(), b.len()]);
        let done = vector!(self, multiply_assign(a, b));
        for (a, &b) in a[done..].iter_mut().zip(&b[done..]) {
            *a = self.modulus.multiply(*a, b);
        }
    }

    /// product ← a · b.
    pub fn multiply(&self, product: &mut [u64], a: &[u64], b: &[u64]) {
        check(&[product.len(), a.len(), b.len()]);
        let done = vector!(self, multiply(product, a, b));
        for ((product, &a), &b) in product[done..].iter_mut().zip(&a[done..]).zip(&b[done..]) {
            *product = self.modulus.multiply(a, b);
        }
    }

    /// sum ← sum + a · b.
    pub fn multiply_add_assign(&self, sum: &mut [u64], a: &[u64], b: &[u64]) {
        check(&[sum.len(), a.len(), b.len()]);
        let done = vector!(self, multiply_add_assign(sum, a, b));
        for ((sum, &a), &b) in sum[done..].iter_mut().zip(&a[done..]).zip(&b[done..]) {
            *sum = self.modulus.add(*sum, self.modulus.multiply(a, b));
        }
    }

    /// target ← a + b.
    pub fn add(&self, target: &mut [u64], a: &[u64], b: &[u64]) {
        check(&[target.len(), a.len(), b.len()]);
        let done = vector!(self, add(target, a, b));
        for ((target, &a), &b) in target[done..].iter_mut().zip(&a[done..]).zip(&b[done..]) {
            *target = self.modulus.add(a, b);
        }
    }

    /// target ← a − b.
    pub fn sub(&self, target: &mut [u64], a: &[u64], b: &[u64]) {
        check(&[target.len(), a.len(), b.len()]);
        let done = vector!(self, sub(target, a, b));
        for ((target, &a), &b) in target[done..].iter_mut().zip(&a[done..]).zip(&b[done..]) {
            *target = self.modulus.sub(a, b);
        }
    }

    /// b ← a − b.
    pub fn sub_from_assign(&self, b: &mut [u64], a: &[u64]) {
        check(&[a.len(), b.len()]);
        let done = vector!(self, sub_from_assign(b, a));
        for (b, &a) in b[done..].iter_mut().zip(&a[done..]) {
            *b = self.modulus.sub(a, *b);
        }
    }

    /// target ← a·b + c.
    pub fn multiply_add(&self, target: &mut [u64], a: &[u64], b: &[u64], c: &[u64]) {
        check(&[target.len(), a.len(), b.len(), c.len()]);
        let done = vector!(self, multiply_add(target, a, b, c));
        let terms = a[done..].iter().zip(&b[done..]).zip(&c[done..]);
        for (target, ((&a, &b), &c)) in target[done..].iter_mut().zip(terms) {
            *target = self.modulus.add(c, self.modulus.multiply(a, b));
        }
    }

    /// target ← a · w.
    pub fn scale(&self, target: &mut [u64], a: &[u64], w: u64) {
        assert!(self.modulus.holds(w), "factor {w} is not below modulus {}", self.modulus.value());
        check(&[target.len(), a.len()]);
        let done = vector!(self, scale(target, a, w));
        let factor = ShoupFactor::new(self.modulus, w);
        for (target, &a) in target[done..].iter_mut().zip(&a[done..]) {
            *target = factor.multiply(self.modulus, a);
        }
    }

    /// a ← a + w, of every word.
    pub fn add_scalar_assign(&self, a: &mut [u64], w: u64) {
        assert!(self.modulus.holds(w), "addend {w} is not below modulus {}", self.modulus.value());
        let done = vector!(self, add_scalar_assign(a, w));
        for a in &mut a[done..] {
            *a = self.modulus.add(*a, w);
        }
    }

    /// b ← (a − b) · w: the last step of a rescaling or ModDown, in place on the subtrahend.
    pub fn sub_from_scale_assign(&self, b: &mut [u64], a: &[u64], w: u64) {
        assert!(self.modulus.holds(w), "factor {w} is not below modulus {}", self.modulus.value());
        check(&[a.len(), b.len()]);
        let done = vector!(self, sub_from_scale_assign(b, a, w));
        let factor = ShoupFactor::new(self.modulus, w);
        for (b, &a) in b[done..].iter_mut().zip(&a[done..]) {
            *b = factor.multiply(self.modulus, self.modulus.sub(a, *b));
        }
    }

    /// a ← a · w.
    pub fn scale_assign(&self, a: &mut [u64], w: u64) {
        assert!(self.modulus.holds(w), "factor {w} is not below modulus {}", self.modulus.value());
        let done = vector!(self, scale_assign(a, w));
        let factor = ShoupFactor::new(self.modulus, w);
        for a in &mut a[done..] {
            *a = factor.multiply(self.modulus, *a);
        }
    }

    /// sum ← sum + a · w.
    pub fn scale_add_assign(&self, sum: &mut [u64], a: &[u64], w: u64) {
        assert!(self.modulus.holds(w), "factor {w} is not below modulus {}", self.modulus.value());
        check(&[sum.len(), a.len()]);
        let done = vector!(self, scale_add_assign(sum, a, w));
        let factor = ShoupFactor::new(self.modulus, w);
        for (sum, &a) in sum[done..].iter_mut().zip(&a[done..]) {
            *sum = self.modulus.add(*sum, factor.multiply(self.modulus, a));
        }
    }

    /// a ← (a − b) · w: the last step of a rescaling or ModDown.
    pub fn sub_scale_assign(&self, a: &mut [u64], b: &[u64], w: u64) {
        assert!(self.modulus.holds(w), "factor {w} is not below modulus {}", self.modulus.value());
        check(&[a.len(), b.len()]);
        let done = vector!(self, sub_scale_assign(a, b, w));
        let factor = ShoupFactor::new(self.modulus, w);
        for (a, &b) in a[done..].iter_mut().zip(&b[done..]) {
            *a = factor.multiply(self.modulus, self.modulus.sub(*a, b));
        }
    }

    /// target ← (a − b) · w.
    pub fn sub_scale(&self, target: &mut [u64], a: &[u64], b: &[u64], w: u64, next_use: NextUse) {
        assert!(self.modulus.holds(w), "factor {w} is not below modulus {}", self.modulus.value());
        check(&[target.len(), a.len(), b.len()]);
        let done = vector!(self, sub_scale(target, a, b, w, next_use));
        let factor = ShoupFactor::new(self.modulus, w);
        for ((target, &a), &b) in target[done..].iter_mut().zip(&a[done..]).zip(&b[done..]) {
            *target = factor.multiply(self.modulus, self.modulus.sub(a, b));
        }
    }

    /// target ← source, for residues modulo `from` with representatives in [0, `from`).
    pub fn reduce_from(&self, target: &mut [u64], source: &[u64], from: Modulus) {
        check(&[target.len(), source.len()]);
        let done = vector!(self, reduce_from(target, source, from));
        for (target, &source) in target[done..].iter_mut().zip(&source[done..]) {
            *target = self.modulus.reduce(source);
        }
    }

    /// target ← source, for residues modulo `from` with representatives in [−`from`/2, `from`/2).
    pub fn reduce_centred_from(&self, target: &mut [u64], source: &[u64], from: Modulus) {
        check(&[target.len(), source.len()]);
        let done = vector!(self, reduce_centred_from(target, source, from));
        let (half, whole) = (from.value().div_ceil(2), self.modulus.reduce(from.value()));
        for (target, &source) in target[done..].iter_mut().zip(&source[done..]) {
            let residue = self.modulus.reduce(source);
            *target = if source >= half { self.modulus.sub(residue, whole) } else { residue };
        }
    }

    /// target ← source, for signed integers.
    pub fn reduce_signed(&self, target: &mut [u64], source: &[i64]) {
        check(&[target.len(), source.len()]);
        let done = vector!(self, reduce_signed(target, source));
        for (target, &source) in target[done..].iter_mut().zip(&source[done..]) {
            *target = self.modulus.reduce_signed(source);
        }
    }

    /// target ← source, for signed two-word integers.
    pub fn reduce_signed_wide(&self, target: &mut [u64], source: &[i128]) {
        check(&[target.len(), source.len()]);
        let done = match self.form {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `form_of` returns the form only if the processor has the set.
            Form::Ifma => unsafe { limb_ifma::reduce_signed_wide(self.modulus, target, source) },
            _ => 0,
        };
        for (target, &source) in target[done..].iter_mut().zip(&source[done..]) {
            *target = source.rem_euclid(i128::from(self.modulus.value())) as u64;
        }
    }

    /// sums\[s\] ← Σ_i digits\[i\] · keys\[s\]\[i\], for S sums at once: the inner product of a key switch, whose two halves share the digits. Each term is
    /// read once and reduced only when necessary.
    ///
    /// # Bound
    /// Scalar: a sum of 32 products below 2^122 and a residue stays below 2^128. AVX-512 with 52-bit integers: 7 products below 2^100 and a residue stay
    /// below 2^103. In f64: 4 products for moduli of 50 bits, and up to 16 for smaller ones, while sums are exact (`float::split_capacity`). A longer sum
    /// is reduced after this many terms.
    ///
    /// # Panics
    /// If a key's number of terms differs from that of the digits, or slices differ in length.
    pub fn inner_products<const S: usize>(
        &self,
        sums: [&mut [u64]; S],
        digits: &[&[u64]],
        keys: [Rows<'_>; S],
        next_use: NextUse,
    ) {
        let count = sums.first().map_or(0, |sum| sum.len());
        let alike = digits.iter().all(|digit| digit.len() == count) && sums.iter().all(|sum| sum.len() == count);
        assert!(alike, "limbs of different lengths");
        assert!(keys.iter().all(|key| key.check(count) == digits.len()), "a key has one term for each digit");
        let mut sums = sums;
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        let done = {
            let (rows, steps) = (keys.map(Rows::pointers), keys.map(Rows::steps));
            // `check` verified the factors' lengths.
            vector!(self, inner_products(&mut sums, digits, &rows, steps, next_use))
        };
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        let done = 0;
        for (sum, key) in sums.iter_mut().zip(keys) {
            for (index, sum) in sum.iter_mut().enumerate().skip(done) {
                let mut wide = 0u128;
                for (term, digit) in digits.iter().enumerate() {
                    if term % 32 == 0 {
                        wide = u128::from(self.modulus.reduce_wide(wide));
                    }
                    wide += u128::from(digit[index]) * u128::from(key.word(term, index));
                }
                *sum = self.modulus.reduce_wide(wide);
            }
        }
    }
}
