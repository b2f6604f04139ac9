//! The primitive operations on data, in the selected arithmetic.

use crate::tfhe::RunError;
use crate::tfhe::phases::switched;
use polyfabric_kernels::aligned::AlignedVector;
use polyfabric_kernels::decompose::{decompose_level, decompose_scalar};
use polyfabric_kernels::fft::FoldedFft;
use polyfabric_kernels::fixed::{FixedFft, FixedSpectrum};
use polyfabric_kernels::negacyclic::ExactMultiplier;
use polyfabric_kernels::rotation::rotate;
use polyfabric_kernels::sample_extract::sample_extract;
use polyfabric_kernels::{Gadget, Torus};
use polyfabric_program::tfhe::lowering::Arithmetic;
use polyfabric_schemes::tfhe::noise::PhaseRounding;
use polyfabric_schemes::tfhe::{KeyUnrolling, Parameters, ServerKey};
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

/// A polynomial in the transform domain.
#[derive(Clone, Debug)]
pub enum Spectrum<T> {
    /// Digits in exact arithmetic, which needs no transform.
    Digits(Vec<i32>),
    /// A product in exact arithmetic.
    Product(Vec<T>),
    /// N/2 complex values in f64, in the transform's order.
    F64(AlignedVector),
    /// N/2 complex values in fixed point, in the transform's order.
    Fixed(FixedSpectrum),
}

/// The arithmetic, with the bootstrapping key in its transform domain.
enum Engine<'k, T> {
    Exact { multiplier: ExactMultiplier, key: &'k [T] },
    F64 { fft: FoldedFft, key: AlignedVector },
    Fixed { fft: Box<FixedFft>, key: Vec<FixedSpectrum> },
}

/// The primitive operations of kernel programs, for one server key and one arithmetic.
///
/// A machine's replay calls these functions in schedule order, the interpreter in program order. Exact and fixed-point results are bit-identical everywhere.
pub struct Primitives<'k, T> {
    parameters: Parameters,
    unrolling: KeyUnrolling,
    /// Polynomials of the bootstrapping key.
    key_polynomials: usize,
    engine: Engine<'k, T>,
    /// Number of saturated values.
    saturations: AtomicU64,
    key_switch_key: Option<(&'k [T], Gadget)>,
}

impl<'k, T: Torus> Primitives<'k, T> {
    /// Transforms the bootstrapping key of `key` for `arithmetic`.
    ///
    /// # Errors
    /// [`RunError::TorusBits`] if the key's set does not have `T`'s width; [`RunError::Fixed`] and [`RunError::FixedDegree`] if a fixed-point specification is invalid, or for another
    /// ring.
    pub fn new(key: &'k ServerKey<T>, arithmetic: &Arithmetic) -> Result<Self, RunError> {
        let parameters = key.parameters().clone();
        if parameters.torus_bits() != T::BITS {
            return Err(RunError::TorusBits { program: parameters.torus_bits(), given: T::BITS });
        }
        let degree = parameters.ring_degree();
        let saturations = AtomicU64::new(0);
        let key_polynomials = key.bootstrap_key().len() / degree.get();
        let engine = match arithmetic {
            Arithmetic::ExactInteger => {
                Engine::Exact { multiplier: ExactMultiplier::new(degree), key: key.bootstrap_key() }
            }
            Arithmetic::F64 => {
                let fft = FoldedFft::new(degree);
                let mut spectra = AlignedVector::zeros(key.bootstrap_key().len());
                let polynomials = key.bootstrap_key().par_chunks_exact(degree.get());
                spectra
                    .par_chunks_exact_mut(degree.get())
                    .zip(polynomials)
                    .for_each(|(spectrum, polynomial)| fft.forward_torus(polynomial, spectrum));
                Engine::F64 { fft, key: spectra }
            }
            Arithmetic::Fixed(spec) => {
                if spec.ring_degree != degree {
                    let (spec, ring_degree) = (spec.ring_degree.get(), degree.get());
                    return Err(RunError::FixedDegree { spec, set: parameters.name().to_owned(), ring_degree });
                }
                let fft = Box::new(FixedFft::new((**spec).clone())?);
                let transform = |polynomial: &[T]| {
                    let mut spectrum = FixedSpectrum::zeros(degree);
                    saturations.fetch_add(fft.forward_torus(polynomial, &mut spectrum), Ordering::Relaxed);
                    spectrum
                };
                let key = key.bootstrap_key().par_chunks_exact(degree.get()).map(transform).collect();
                Engine::Fixed { fft, key }
            }
        };
        let key_switch_key = key.key_switch_key().zip(parameters.key_switch_gadget());
        Ok(Self { unrolling: key.unrolling(), key_polynomials, parameters, engine, saturations, key_switch_key })
    }

    /// The parameter set of the key.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Number of values saturated so far, including in the key's transform. If it is not 0, results may be wrong.
    pub fn saturations(&self) -> u64 {
        self.saturations.load(Ordering::Relaxed)
    }

    fn count(&self, saturations: u64) {
        if saturations > 0 {
            self.saturations.fetch_add(saturations, Ordering::Relaxed);
        }
    }

    fn degree(&self) -> usize {
        self.parameters.ring_degree().get()
    }

    /// The initial accumulator of a blind rotation, X^(-b~) · (0, .., 0, `test_polynomial`): k + 1 polynomials, rounded to the arithmetic's accumulator bits.
    pub fn initial_accumulator(&self, body_index: u32, test_polynomial: &[T]) -> Vec<Vec<T>> {
        let degree = self.degree();
        let mut accumulator = vec![vec![T::default(); degree]; self.parameters.glwe_dimension().get()];
        let kept: Vec<T> = match &self.engine {
            Engine::Fixed { fft, .. } => test_polynomial.iter().map(|&value| fft.kept(value)).collect(),
            _ => test_polynomial.to_vec(),
        };
        accumulator.push(self.rotate(&kept, (2 * degree as u32 - body_index) % (2 * degree as u32)));
        accumulator
    }

    /// `polynomial` · X^`amount`, `amount` below 2N.
    pub fn rotate(&self, polynomial: &[T], amount: u32) -> Vec<T> {
        let mut rotated = vec![T::default(); polynomial.len()];
        rotate(polynomial, amount as usize, &mut rotated);
        rotated
    }

    /// ⟨a~, u⟩ mod 2N of one iteration: the sum of the `indices` (of a ciphertext's whole mask) selected by `pattern`. The last group may have fewer bits.
    pub fn pattern_index(&self, indices: &[u32], iteration: usize, pattern: u32) -> u32 {
        let bits = self.unrolling.bits();
        let selected = (0..bits).filter(|bit| pattern >> bit & 1 == 1);
        let index = |bit| indices.get(iteration * bits as usize + bit as usize).copied().unwrap_or(0);
        selected.map(index).sum::<u32>() % (2 * self.degree() as u32)
    }

    /// `product` times the transform of X^`amount`, `amount` below 2N.
    ///
    /// # Panics
    /// If `product` is not a product in exact or f64 arithmetic: fixed point has no such operation, and checked programs do not use it.
    pub fn rotate_product(&self, product: &Spectrum<T>, amount: u32) -> Spectrum<T> {
        match (&self.engine, product) {
            (Engine::Exact { .. }, Spectrum::Product(product)) => Spectrum::Product(self.rotate(product, amount)),
            (Engine::F64 { fft, .. }, Spectrum::F64(product)) => {
                let degree = self.degree();
                let mut monomial = vec![0; degree];
                monomial[amount as usize % degree] = if (amount as usize) < degree { 1 } else { -1 };
                let mut factor = AlignedVector::zeros(degree);
                fft.forward_digits(&monomial, &mut factor);
                let mut rotated = AlignedVector::zeros(degree);
                fft.multiply(&mut rotated, product, &factor);
                Spectrum::F64(rotated)
            }
            _ => unreachable!("the program is checked: fixed-point products are not rotated in the transform domain"),
        }
    }

    /// Sum of two products, `a` minus `b` if `SUBTRACT`.
    fn combine_products<const SUBTRACT: bool>(a: &Spectrum<T>, b: &Spectrum<T>) -> Spectrum<T> {
        match (a, b) {
            (Spectrum::Product(a), Spectrum::Product(b)) => {
                let pairs = a.iter().zip(b);
                let combine = |(&a, &b): (&T, &T)| if SUBTRACT { a.wrapping_sub(b) } else { a.wrapping_add(b) };
                Spectrum::Product(pairs.map(combine).collect())
            }
            (Spectrum::F64(a), Spectrum::F64(b)) => {
                let mut result = a.clone();
                result.iter_mut().zip(b.iter()).for_each(|(a, b)| if SUBTRACT { *a -= b } else { *a += b });
                Spectrum::F64(result)
            }
            _ => unreachable!("the program is checked: products of exact or f64 arithmetic are combined"),
        }
    }

    /// `a` - `b`, products.
    ///
    /// # Panics
    /// As [`Self::rotate_product`].
    pub fn subtract_product(&self, a: &Spectrum<T>, b: &Spectrum<T>) -> Spectrum<T> {
        Self::combine_products::<true>(a, b)
    }

    /// `a` + `b`, products.
    ///
    /// # Panics
    /// As [`Self::rotate_product`].
    pub fn add_product(&self, a: &Spectrum<T>, b: &Spectrum<T>) -> Spectrum<T> {
        Self::combine_products::<false>(a, b)
    }

    /// `a` - `b`.
    pub fn subtract(&self, a: &[T], b: &[T]) -> Vec<T> {
        a.iter().zip(b).map(|(&a, &b)| a.wrapping_sub(b)).collect()
    }

    /// `a` + `b`.
    pub fn add(&self, a: &[T], b: &[T]) -> Vec<T> {
        a.iter().zip(b).map(|(&a, &b)| a.wrapping_add(b)).collect()
    }

    /// Digits of level `level` of the bootstrapping gadget.
    pub fn digit(&self, polynomial: &[T], level: u32) -> Vec<i32> {
        let mut digits = vec![0; polynomial.len()];
        decompose_level(polynomial, self.parameters.bootstrap_gadget(), level, &mut digits);
        digits
    }

    /// Digits to the transform domain.
    pub fn forward(&self, digits: &[i32]) -> Spectrum<T> {
        match &self.engine {
            Engine::Exact { .. } => Spectrum::Digits(digits.to_vec()),
            Engine::F64 { fft, .. } => {
                let mut spectrum = AlignedVector::zeros(digits.len());
                fft.forward_digits(digits, &mut spectrum);
                Spectrum::F64(spectrum)
            }
            Engine::Fixed { fft, .. } => {
                let mut spectrum = FixedSpectrum::zeros(self.parameters.ring_degree());
                self.count(fft.forward_digits(digits, &mut spectrum));
                Spectrum::Fixed(spectrum)
            }
        }
    }

    /// Spectra of two digit polynomials by one complex transform in fixed point: those of [`Self::forward`] up to rounding. In other arithmetic they are equal to it.
    pub fn forward_merged(&self, digits: [&[i32]; 2]) -> [Spectrum<T>; 2] {
        let Engine::Fixed { fft, .. } = &self.engine else { return digits.map(|digits| self.forward(digits)) };
        let [mut first, mut second] = [(); 2].map(|()| FixedSpectrum::zeros(self.parameters.ring_degree()));
        self.count(fft.forward_digits_merged(digits, [&mut first, &mut second]));
        [Spectrum::Fixed(first), Spectrum::Fixed(second)]
    }

    /// Index of bootstrapping-key polynomial (iteration, row, column).
    fn key_index(&self, iteration: usize, row: u32, column: u32) -> usize {
        let width = self.parameters.glwe_dimension().ciphertext_polynomials();
        (iteration * self.unrolling.patterns() * self.parameters.ggsw_rows() + row as usize) * width + column as usize
    }

    /// `spectrum`, of digits, times key polynomial (`iteration`, `row`, `column`).
    pub fn multiply(&self, spectrum: &Spectrum<T>, iteration: usize, row: u32, column: u32) -> Spectrum<T> {
        let zero = match &self.engine {
            Engine::Exact { .. } => Spectrum::Product(vec![T::default(); self.degree()]),
            Engine::F64 { .. } => Spectrum::F64(AlignedVector::zeros(self.degree())),
            Engine::Fixed { .. } => Spectrum::Fixed(FixedSpectrum::zeros(self.parameters.ring_degree())),
        };
        self.multiply_accumulate(zero, spectrum, iteration, row, column)
    }

    /// `sum` + `spectrum`, of digits, times key polynomial (`iteration`, `row`, `column`); adds nothing for a row of a pattern that the last group of an unrolled key lacks.
    ///
    /// # Panics
    /// If the spectra are not this arithmetic's: a product `sum`, and digits `spectrum`.
    pub fn multiply_accumulate(
        &self,
        mut sum: Spectrum<T>,
        spectrum: &Spectrum<T>,
        iteration: usize,
        row: u32,
        column: u32,
    ) -> Spectrum<T> {
        let index = self.key_index(iteration, row, column);
        if index >= self.key_polynomials {
            return sum;
        }
        let range = index * self.degree()..(index + 1) * self.degree();
        match (&self.engine, &mut sum, spectrum) {
            (Engine::Exact { multiplier, key }, Spectrum::Product(sum), Spectrum::Digits(digits)) => {
                multiplier.multiply_add(digits, &key[range], sum);
            }
            (Engine::F64 { fft, key }, Spectrum::F64(sum), Spectrum::F64(digits)) => {
                fft.multiply_accumulate(sum, digits, &key[range]);
            }
            (Engine::Fixed { fft, key }, Spectrum::Fixed(sum), Spectrum::Fixed(digits)) => {
                self.count(fft.multiply_accumulate(sum, digits, &key[index]));
            }
            _ => unreachable!("the spectra belong to another arithmetic"),
        }
        sum
    }

    /// Transforms a product back to torus coefficients.
    ///
    /// # Panics
    /// If `spectrum` is not a product in this arithmetic.
    pub fn inverse(&self, spectrum: Spectrum<T>) -> Vec<T> {
        match (&self.engine, spectrum) {
            (Engine::Exact { .. }, Spectrum::Product(product)) => product,
            (Engine::F64 { fft, .. }, Spectrum::F64(mut spectrum)) => {
                let mut polynomial = vec![T::default(); spectrum.len()];
                fft.inverse_torus(&mut spectrum, &mut polynomial);
                polynomial
            }
            (Engine::Fixed { fft, .. }, Spectrum::Fixed(mut spectrum)) => {
                let mut polynomial = vec![T::default(); self.degree()];
                self.count(fft.inverse_add_torus(&mut spectrum, &mut polynomial));
                polynomial
            }
            _ => unreachable!("the spectrum belongs to another arithmetic"),
        }
    }

    /// Σ weight · ciphertext over `terms`, ciphertexts of `length` elements, plus the trivial ciphertext of `bias`.
    pub fn combine<'c>(&self, length: usize, bias: u64, terms: impl Iterator<Item = (i32, &'c [T])>) -> Vec<T> {
        let mut sum = vec![T::default(); length];
        if let Some(body) = sum.last_mut() {
            *body = T::from_u64(bias);
        }
        for (weight, ciphertext) in terms {
            for (sum, &element) in sum.iter_mut().zip(ciphertext) {
                *sum = sum.wrapping_add(element.wrapping_mul_signed(weight.into()));
            }
        }
        sum
    }

    /// round(x · 2N / q) mod 2N of each element of an LWE ciphertext.
    pub fn modulus_switch(&self, ciphertext: &[T]) -> Vec<u32> {
        switched(&self.parameters, ciphertext, PhaseRounding::Nearest, 0)
    }

    /// The same with `rounding`, to multiples of 2^`log2_tables`.
    pub fn modulus_switch_with(&self, ciphertext: &[T], rounding: PhaseRounding, log2_tables: u32) -> Vec<u32> {
        switched(&self.parameters, ciphertext, rounding, log2_tables)
    }

    /// The constant coefficient of a GLWE ciphertext (k + 1 polynomials) as an LWE ciphertext under the large key.
    pub fn sample_extract(&self, accumulator: &[Vec<T>]) -> Vec<T> {
        self.coefficient_extract(accumulator, 0)
    }

    /// Coefficient `coefficient` of a GLWE ciphertext as an LWE ciphertext under the large key.
    pub fn coefficient_extract(&self, accumulator: &[Vec<T>], coefficient: usize) -> Vec<T> {
        let glwe: Vec<T> = accumulator.concat();
        let mut ciphertext = vec![T::default(); self.parameters.large_lwe_dimension().ciphertext_len()];
        sample_extract(&glwe, self.degree(), coefficient, &mut ciphertext);
        ciphertext
    }

    /// The initial ciphertext of a key switch, (0, .., 0, b'), for the body `body`.
    pub fn initial_switched(&self, body: T) -> Vec<T> {
        let mut ciphertext = vec![T::default(); self.parameters.lwe_dimension().ciphertext_len()];
        if let Some(last) = ciphertext.last_mut() {
            *last = body;
        }
        ciphertext
    }

    /// The digit of level `level` of the key-switch gadget of mask element `element`.
    pub fn mask_digit(&self, element: T, level: u32) -> i32 {
        self.key_switch_key.map_or(0, |(_, gadget)| {
            let mut digits = vec![0; gadget.levels as usize];
            decompose_scalar(element, gadget, &mut digits);
            digits[level as usize]
        })
    }

    /// `ciphertext` - `digit` · KSK(`iteration`, `level`); `ciphertext` unchanged if there is no key-switching key.
    pub fn subtract_key_product(&self, mut ciphertext: Vec<T>, digit: i32, iteration: usize, level: u32) -> Vec<T> {
        if let Some((key, gadget)) = self.key_switch_key {
            let length = ciphertext.len();
            let start = (iteration * gadget.levels as usize + level as usize) * length;
            for (element, &key) in ciphertext.iter_mut().zip(&key[start..start + length]) {
                *element = element.wrapping_sub(key.wrapping_mul_signed(digit.into()));
            }
        }
        ciphertext
    }
}
