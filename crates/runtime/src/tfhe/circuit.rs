//! Circuit bootstrapping, and tables read with the GGSW ciphertexts that it makes.
//!
//! **GGSW ciphertexts** ([`polyfabric_schemes::tfhe::circuit_key`]). A blind rotation of a bit s leaves ±g_t/2 in coefficient t of its accumulator, + where s
//! is 1. For each level t: X^(−t) times the accumulator plus g_t/2, its trace, and with the square of the key the row for the mask.
//!
//! **A table** of 2^w entries with up to 2^o outputs per entry is 2^(w + o) coefficients, in polynomials of N: entry v has its outputs from coefficient
//! v·2^o of its polynomial on. The most significant bits choose a polynomial, by a tree of CMUXes. Each other bit v_i rotates the
//! chosen one by X^(−v_i·2^(i + o)), one CMUX each. Then entry v begins at coefficient 0.
//!
//! Tables are read in X → −X: digits have a mean, and so has the secret key, but after this automorphism their frequencies are opposite. Otherwise
//! the error of the first coefficients was up to four times as large (N = 2048).

use super::RunError;
use polyfabric_kernels::aligned::AlignedVector;
use polyfabric_kernels::automorphism::GaloisElement;
use polyfabric_kernels::decompose::decompose_level;
use polyfabric_kernels::fft::FoldedFft;
use polyfabric_kernels::negacyclic::ExactMultiplier;
use polyfabric_kernels::rotation::{rotate, rotate_subtract};
use polyfabric_kernels::row_product::{RowProduct, Scratch};
use polyfabric_kernels::{Gadget, Isa, Torus};
use polyfabric_program::tfhe::kernel::{KernelProgram, OpKind};
use polyfabric_schemes::tfhe::circuit_key::automorphisms;
use polyfabric_schemes::tfhe::server_key::gadget_weight;
use polyfabric_schemes::tfhe::{CircuitGadgets, ServerKey};

/// Polynomials of a GLWE ciphertext, k + 1 with k = 1.
const COLUMNS: usize = 2;

/// Exact or f64 products, with the circuit-bootstrapping key.
enum Products<'k, T> {
    Exact { multiplier: ExactMultiplier, key: &'k [T] },
    F64 { product: RowProduct, key: AlignedVector },
}

/// Rows of a key or of a GGSW ciphertext, `[row][column][N]`.
enum Rows<'r, T> {
    Exact(&'r [T]),
    F64(&'r [f64]),
}

/// A GGSW ciphertext of a bit in X → −X, `[row][column][N]`.
#[derive(Clone, Debug)]
pub enum Ggsw<T> {
    /// Torus coefficients.
    Exact(Vec<T>),
    /// In the transform domain.
    F64(AlignedVector),
}

/// Circuit bootstrapping with one server key.
pub(crate) struct Circuit<'k, T> {
    gadgets: CircuitGadgets,
    degree: usize,
    automorphisms: Vec<GaloisElement>,
    products: Products<'k, T>,
}

/// The layout of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableShape {
    /// w.
    pub width: u32,
    /// o.
    pub log2_outputs: u32,
}

impl TableShape {
    /// Bits that choose a polynomial.
    pub fn tree_bits(self, degree: usize) -> u32 {
        (self.width + self.log2_outputs).saturating_sub(degree.ilog2())
    }
}

impl<'k, T: Torus> Circuit<'k, T> {
    /// With f64 products in `isa`, or exact ones.
    ///
    /// # Errors
    /// [`RunError::NoCircuitKey`], [`RunError::Isa`].
    pub fn new(key: &'k ServerKey<T>, isa: Option<Isa>) -> Result<Self, RunError> {
        let parameters = key.parameters();
        let missing = || RunError::NoCircuitKey { set: parameters.name().to_owned() };
        let gadgets = parameters.circuit().filter(|_| !key.circuit_key().is_empty()).ok_or_else(missing)?;
        let degree = parameters.ring_degree();
        let products = match isa {
            None => Products::Exact { multiplier: ExactMultiplier::new(degree), key: key.circuit_key() },
            Some(isa) => {
                let fft = FoldedFft::with_isa(degree, isa).ok_or(polyfabric_kernels::IsaError::Absent { isa })?;
                let product = RowProduct::new(fft);
                let mut spectra = AlignedVector::zeros(key.circuit_key().len());
                product.transform(key.circuit_key(), &mut spectra);
                Products::F64 { product, key: spectra }
            }
        };
        Ok(Self { gadgets, degree: degree.get(), automorphisms: automorphisms(degree).collect(), products })
    }

    /// Scratch of one thread.
    pub fn scratch(&self) -> Option<Scratch> {
        match &self.products {
            Products::Exact { .. } => None,
            Products::F64 { product, .. } => Some(product.scratch(COLUMNS)),
        }
    }

    /// [`Self::new`] for a program that needs it, if the key suffices; otherwise the check of the program refuses it.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn of(program: &KernelProgram, key: &'k ServerKey<T>, isa: Option<Isa>) -> Result<Option<Self>, RunError> {
        let needed = is_used(program) && !key.circuit_key().is_empty();
        if needed { Self::new(key, isa).map(Some) } else { Ok(None) }
    }

    /// The rows of the key of `gadget` from row `first` on.
    fn key_rows(&self, gadget: Gadget, first: usize) -> Rows<'_, T> {
        let row = COLUMNS * self.degree;
        let range = first * row..(first + gadget.levels as usize) * row;
        match &self.products {
            Products::Exact { key, .. } => Rows::Exact(&key[range]),
            Products::F64 { key, .. } => Rows::F64(&key[range]),
        }
    }

    /// `sum` += Σ_t digit_t(`polynomial`) · row_t.
    fn multiply_add(
        &self,
        gadget: Gadget,
        polynomial: &[T],
        rows: Rows<'_, T>,
        sum: &mut [T],
        scratch: &mut Option<Scratch>,
    ) {
        match (&self.products, rows, scratch) {
            (Products::Exact { multiplier, .. }, Rows::Exact(rows), _) => {
                let mut digits = vec![0; self.degree];
                for (level, row) in (0..).zip(rows.chunks_exact(COLUMNS * self.degree)) {
                    decompose_level(polynomial, gadget, level, &mut digits);
                    for (sum, key) in sum.chunks_exact_mut(self.degree).zip(row.chunks_exact(self.degree)) {
                        multiplier.multiply_add(&digits, key, sum);
                    }
                }
            }
            (Products::F64 { product, .. }, Rows::F64(rows), Some(scratch)) => {
                product.multiply_add(gadget, polynomial, rows, sum, scratch);
            }
            _ => unreachable!("rows and scratch are those of one arithmetic"),
        }
    }

    /// Replaces every coefficient of the message except the constant one by 0.
    fn trace(&self, glwe: &mut [T], scratch: &mut Option<Scratch>) {
        let mut image = vec![T::default(); self.degree];
        for (index, element) in self.automorphisms.iter().enumerate() {
            let mut switched = vec![T::default(); COLUMNS * self.degree];
            glwe.iter_mut().for_each(|word| *word = halved(*word));
            let (mask, body) = glwe.split_at(self.degree);
            element.apply_torus(body, &mut switched[self.degree..]);
            element.apply_torus(mask, &mut image);
            let rows = self.key_rows(self.gadgets.trace, index * self.gadgets.trace.levels as usize);
            self.multiply_add(self.gadgets.trace, &image, rows, &mut switched, scratch);
            for (word, switched) in glwe.iter_mut().zip(switched) {
                *word = word.wrapping_add(switched);
            }
        }
    }

    /// The GGSW ciphertext of the bit whose multiples ±g_t/2 an accumulator has in its first coefficients, `[row][column][N]`.
    pub fn ggsw_rows(&self, accumulator: &[T], scratch: &mut Option<Scratch>) -> Vec<T> {
        let (degree, gadget) = (self.degree, self.gadgets.ggsw);
        let half = gadget.levels as usize * COLUMNS * degree;
        let mut rows = vec![T::default(); 2 * half];
        let (masks, bodies) = rows.split_at_mut(half);
        let square = self.automorphisms.len() * self.gadgets.trace.levels as usize;
        let of_levels = masks.chunks_exact_mut(COLUMNS * degree).zip(bodies.chunks_exact_mut(COLUMNS * degree));
        for (level, (mask, body)) in of_levels.enumerate() {
            for (from, to) in accumulator.chunks_exact(degree).zip(body.chunks_exact_mut(degree)) {
                rotate(from, 2 * degree - level, to);
            }
            body[degree] = body[degree].wrapping_add(half_weight(gadget, level as u32));
            self.trace(body, scratch);
            mask[..degree].copy_from_slice(&body[degree..]);
            let rows = self.key_rows(self.gadgets.square, square);
            self.multiply_add(self.gadgets.square, &body[..degree], rows, mask, scratch);
        }
        rows
    }

    /// [`Self::ggsw_rows`], ready for [`Self::read`].
    pub fn ggsw(&self, accumulator: &[T], scratch: &mut Option<Scratch>) -> Ggsw<T> {
        let mut rows = self.ggsw_rows(accumulator, scratch);
        negate_odd(&mut rows);
        match &self.products {
            Products::Exact { .. } => Ggsw::Exact(rows),
            Products::F64 { product, .. } => {
                let mut spectra = AlignedVector::zeros(rows.len());
                product.transform(&rows, &mut spectra);
                Ggsw::F64(spectra)
            }
        }
    }

    /// `sum` += `ggsw` ⊡ `glwe`.
    fn external_product_add(&self, ggsw: &Ggsw<T>, glwe: &[T], sum: &mut [T], scratch: &mut Option<Scratch>) {
        let gadget = self.gadgets.ggsw;
        let half = gadget.levels as usize * COLUMNS * self.degree;
        for (column, polynomial) in glwe.chunks_exact(self.degree).enumerate() {
            let range = column * half..(column + 1) * half;
            let rows = match ggsw {
                Ggsw::Exact(rows) => Rows::Exact(&rows[range]),
                Ggsw::F64(spectra) => Rows::F64(&spectra[range]),
            };
            self.multiply_add(gadget, polynomial, rows, sum, scratch);
        }
    }

    /// The entry of a table that `bits`, least significant first, select: its outputs are the first coefficients of a GLWE ciphertext. The table is the
    /// first 2^[`TableShape::tree_bits`] polynomials of `tables`.
    pub fn read(
        &self,
        shape: TableShape,
        bits: &[&Ggsw<T>],
        tables: &[Vec<T>],
        scratch: &mut Option<Scratch>,
    ) -> Vec<T> {
        let degree = self.degree;
        let mut layer: Vec<Vec<T>> = tables[..1 << shape.tree_bits(degree)]
            .iter()
            .map(|table| {
                let mut glwe = vec![T::default(); degree];
                glwe.extend(table);
                negate_odd(&mut glwe);
                glwe
            })
            .collect();
        let (rotations, tree) = bits.split_at(bits.len() - shape.tree_bits(degree) as usize);
        for bit in tree {
            let pairs = layer.chunks_exact(2).map(|pair| {
                let difference: Vec<T> = pair[1].iter().zip(&pair[0]).map(|(a, b)| a.wrapping_sub(*b)).collect();
                let mut chosen = pair[0].clone();
                self.external_product_add(bit, &difference, &mut chosen, scratch);
                chosen
            });
            layer = pairs.collect();
        }
        let mut chosen = layer.swap_remove(0);
        let mut difference = vec![T::default(); COLUMNS * degree];
        for (place, bit) in (shape.log2_outputs..).zip(rotations) {
            // X → −X makes −X^(−1) of X^(−1).
            let exponent = if place == 0 { degree - 1 } else { 2 * degree - (1 << place) };
            for (from, to) in chosen.chunks_exact(degree).zip(difference.chunks_exact_mut(degree)) {
                rotate_subtract(from, exponent, to);
            }
            self.external_product_add(bit, &difference, &mut chosen, scratch);
        }
        negate_odd(&mut chosen);
        chosen
    }
}

/// Whether `program` has circuit bootstrapping.
pub(crate) fn is_used(program: &KernelProgram) -> bool {
    program.ops.iter().any(|op| matches!(op.kind, OpKind::CircuitBootstrap | OpKind::PackedLookup { .. }))
}

/// x/2, halves rounded up.
fn halved<T: Torus>(word: T) -> T {
    let word = word.to_u64();
    T::from_u64((word >> 1) + (word & 1))
}

/// g_t/2.
pub(crate) fn half_weight<T: Torus>(gadget: Gadget, level: u32) -> T {
    T::from_u64(gadget_weight::<T>(gadget, level).to_u64() >> 1)
}

/// X → −X in each polynomial of even length.
fn negate_odd<T: Torus>(polynomials: &mut [T]) {
    polynomials.iter_mut().skip(1).step_by(2).for_each(|word| *word = word.wrapping_neg());
}
