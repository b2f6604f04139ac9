//! Products with a key in the transform domain, fused with the inner parts of the forward and inverse transforms, block by block.
//!
//! After the passes above the 64-point blocks, blocks are independent until the inverse returns there. So each block runs its last forward
//! levels, the products of all rows and columns, and its first inverse levels together in the first-level cache, while the key streams by.

use super::butterflies::Complex;
use super::lanes::Lanes;
use super::monomial::{Roots, turned};
use super::passes::{
    Ahead, BLOCK_WORK, Near, Sink, block_down, block_up, first_work, head_down, head_up, last_work, multiply_add, read,
    write, zero,
};
use super::plan::{BLOCK, Plan};
use super::words::{Digits, Preparation, own_digits, rotated_digits};

/// The shape of an external product in the transform domain.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    /// Columns of the key, k + 1; the number of rows is this times the levels of `preparation`.
    pub columns: usize,
    /// The digits.
    pub preparation: Preparation,
}

impl Shape {
    /// Rows of the key.
    pub fn rows(self) -> usize {
        self.columns * self.preparation.levels as usize
    }
}

/// Scratch for one product.
#[derive(Clone, Copy)]
pub(super) struct Scratch<T> {
    /// One polynomial for each level.
    pub words: *mut T,
    /// One spectrum per row, each followed by [`PADDING`].
    pub spectra: *mut f64,
    /// One block of 64 points per column.
    pub block: *mut f64,
    /// One block per pattern of an unrolled key.
    pub monomials: *mut f64,
}

/// Padding between the spectra of two rows: one block. Without it the same block of two rows would be a multiple of 4 KiB apart, and a load of one
/// would wait for stores to the other.
pub(super) const PADDING: usize = 2 * BLOCK;

/// Maximum number of columns whose sums stay in registers together.
const WIDE: usize = 4;

/// Patterns of four secret bits.
pub(super) const MAX_PATTERNS: usize = 15;

/// Work of the products of eight points, in the units of [`first_work`].
const fn product_work(rows: usize, columns: usize) -> usize {
    2 * rows * columns
}

/// Total work of a product, over which prefetching is spread.
pub(super) fn work(plan: &Plan, shape: Shape, patterns: usize) -> usize {
    let Shape { columns, .. } = shape;
    let (rows, radix) = (shape.rows(), plan.passes.first().map_or(0, |pass| pass.radix as usize));
    let blocks = plan.points.div_ceil(BLOCK);
    plan.points / 8 * (rows * first_work(radix) + columns * last_work(radix) + patterns * product_work(rows, columns))
        + blocks * (rows + columns) * BLOCK_WORK
}

/// Factor of an iteration.
#[derive(Clone, Copy)]
pub(super) enum Iteration<'a> {
    /// X^e − 1 and the key of one secret bit: digits of (X^e − 1) · ACC.
    Rotation(usize),
    /// X^{e_u} − 1 for each pattern u of some secret bits, at most [`MAX_PATTERNS`], with a key each: digits of ACC; each key's products are multiplied
    /// in the transform domain.
    Patterns(&'a [u32], &'a Roots),
}

/// Adds Σ_r d_r · key[r][c] to polynomial c of `accumulator`, for the digits d of (X^e − 1) · `accumulator`; or
/// Σ_u (X^{e_u} − 1) Σ_r d_r · key_u[r][c] for the digits of `accumulator`. For each group of eight points the key has
/// [pattern][row][column], [`Digits::KEY`] numbers each. SAFETY: `V`'s set is present, the pointers are valid for these lengths, and the sink is the
/// accumulator.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
pub(super) unsafe fn product<V: Lanes, T: Digits, S: Sink>(
    plan: &Plan,
    shape: Shape,
    accumulator: *const T,
    iteration: Iteration<'_>,
    key: *const f64,
    scratch: Scratch<T>,
    sink: S,
    mut ahead: Ahead,
    near: *const T,
) {
    // SAFETY: this function's contract.
    unsafe {
        let Shape { columns, preparation } = shape;
        let (rows, levels, degree) = (shape.rows(), preparation.levels as usize, 2 * plan.points);
        let patterns = match iteration {
            Iteration::Rotation(_) => 1,
            Iteration::Patterns(exponents, _) => exponents.len(),
        };
        let stride = degree + PADDING;
        let Scratch { words, spectra, block: products, monomials } = scratch;
        if let Iteration::Patterns(exponents, roots) = iteration {
            for (pattern, &exponent) in exponents.iter().enumerate() {
                roots.places::<V>(exponent, monomials.add(pattern * 2 * BLOCK));
            }
        }
        for column in 0..columns {
            let polynomial = std::slice::from_raw_parts(accumulator.add(column * degree), degree);
            match iteration {
                Iteration::Rotation(exponent) => rotated_digits::<V, T>(polynomial, exponent, preparation, words),
                Iteration::Patterns(..) => own_digits::<V, T>(polynomial, preparation, words),
            }
            for level in 0..levels {
                let spectrum = spectra.add((column * levels + level) * stride);
                head_down::<V, _>(plan, T::source(words.add(level * degree)), spectrum, &mut ahead);
            }
        }
        // A transform under 64 points is one smaller block.
        let size = plan.points.min(BLOCK);
        for block in 0..plan.points / size {
            let length = rows * columns * size / 8 * T::KEY * patterns;
            let key = key.wrapping_add(block * length);
            // Prefetches the first of the block's keys, a share per row.
            let share = columns * size / 8 * T::KEY / 8;
            for row in 0..rows {
                ahead.step::<V>(BLOCK_WORK);
                let near = Near { next: key.wrapping_add(8 * row * share).cast(), lines: share };
                block_down::<V>(plan, block, spectra.add(row * stride), near);
            }
            let spectra = spectra.add(block * 2 * size);
            let block_of = Block { rows, columns, size, stride, spectra, index: block };
            for first in (0..columns).step_by(WIDE) {
                let (key, products) = (key.wrapping_add(T::KEY * first), products.add(first * 2 * BLOCK));
                /// The products of `$wide` columns and `$rows` rows; any number of rows if that is 0.
                macro_rules! products {
                    ($wide:tt, $rows:tt) => {
                        match iteration {
                            Iteration::Rotation(_) => {
                                block_products::<V, T, $wide, $rows>(block_of, key, products, &mut ahead)
                            }
                            Iteration::Patterns(exponents, roots) => {
                                let keys = Keys { key, exponents, roots, monomials };
                                pattern_products::<V, T, $wide, $rows>(block_of, keys, products, &mut ahead)
                            }
                        }
                    };
                }
                match (columns - first, rows) {
                    (2, 4) if V::SHAPED && columns == 2 => products!(2, 4),
                    (2, 2) if V::SHAPED && columns == 2 => products!(2, 2),
                    (2, 6) if V::SHAPED && columns == 2 => products!(2, 6),
                    (3, 6) if V::SHAPED && columns == 3 => products!(3, 6),
                    (4, 12) if V::SHAPED && columns == 4 => products!(4, 12),
                    (1, _) => products!(1, 0),
                    (2, _) => products!(2, 0),
                    (3, _) => products!(3, 0),
                    (_, _) => products!(WIDE, 0),
                }
            }
            // The first spectra's blocks are no longer needed.
            for column in 0..columns {
                ahead.step::<V>(BLOCK_WORK);
                block_up::<V>(plan, products.add(column * 2 * BLOCK), spectra.add(column * stride));
            }
        }
        let lines = if near.is_null() { 0 } else { columns * degree * size_of::<T>() / 64 };
        let mut near = Near { next: near.cast(), lines };
        for column in 0..columns {
            head_up::<V, S>(plan, spectra.add(column * stride), sink.from(column * degree), &mut ahead, &mut near);
        }
    }
}

/// A block of all rows' spectra.
#[derive(Clone, Copy)]
struct Block {
    rows: usize,
    columns: usize,
    /// Points.
    size: usize,
    /// Numbers from one row to the next.
    stride: usize,
    spectra: *const f64,
    /// Index of the block.
    index: usize,
}

impl Block {
    /// Σ_r d_r · key[r][c] at the points from `at` for `C` columns c of the key, which starts at their eight. A nonzero `ROWS` is the number of rows, with
    /// `C` columns in all, and unrolls the loops.
    #[inline(always)]
    unsafe fn sums<V: Lanes, T: Digits, const C: usize, const ROWS: usize>(
        self,
        at: usize,
        key: *const f64,
    ) -> [Complex<V>; C] {
        let (rows, columns) = if ROWS == 0 { (self.rows, self.columns) } else { (ROWS, C) };
        // SAFETY: the contract of `product`.
        unsafe {
            let mut sums = [zero::<V>(); C];
            for row in 0..rows {
                let x: Complex<V> = read(self.spectra.add(row * self.stride), at);
                for (column, sum) in sums.iter_mut().enumerate() {
                    let key = T::key(key.wrapping_add(T::KEY * (row * columns + column)), at % 8);
                    *sum = multiply_add(x, key, *sum);
                }
            }
            sums
        }
    }
}

/// The products of one block in `C` columns.
#[inline(always)]
unsafe fn block_products<V: Lanes, T: Digits, const C: usize, const ROWS: usize>(
    block: Block,
    key: *const f64,
    products: *mut f64,
    ahead: &mut Ahead,
) {
    // SAFETY: the contract of `product`.
    unsafe {
        for at in (0..block.size).step_by(V::WIDTH) {
            ahead.step::<V>(product_work(block.rows, C) * V::WIDTH / 8);
            let sums = block.sums::<V, T, C, ROWS>(at, key.wrapping_add(at / 8 * T::KEY * block.rows * block.columns));
            for (column, sum) in sums.iter().enumerate() {
                write(*sum, products.add(column * 2 * BLOCK), at);
            }
        }
    }
}

/// The keys of some patterns at one block.
struct Keys<'a> {
    key: *const f64,
    exponents: &'a [u32],
    roots: &'a Roots,
    /// Output of [`Roots::places`] for each pattern.
    monomials: *const f64,
}

/// The products of one block in `C` columns with the keys of all patterns, each times its monomial minus one.
#[inline(always)]
unsafe fn pattern_products<V: Lanes, T: Digits, const C: usize, const ROWS: usize>(
    block: Block,
    keys: Keys<'_>,
    products: *mut f64,
    ahead: &mut Ahead,
) {
    let mut scales = [(0.0, 0.0); MAX_PATTERNS];
    for (scale, &exponent) in scales.iter_mut().zip(keys.exponents) {
        *scale = keys.roots.block(exponent, block.index);
    }
    let (length, patterns) = (T::KEY * block.rows * block.columns, keys.exponents.len());
    // SAFETY: the contract of `product`.
    unsafe {
        for at in (0..block.size).step_by(V::WIDTH) {
            let mut key = keys.key.wrapping_add(at / 8 * patterns * length);
            let mut totals = [zero::<V>(); C];
            for (pattern, &(re, im)) in scales[..patterns].iter().enumerate() {
                ahead.step::<V>(product_work(block.rows, C) * V::WIDTH / 8);
                let sums = block.sums::<V, T, C, ROWS>(at, key);
                key = key.wrapping_add(length);
                let place = read(keys.monomials.add(pattern * 2 * BLOCK), at);
                let factor = turned(place, V::splat(re), V::splat(im), V::splat(-1.0));
                for (total, sum) in totals.iter_mut().zip(sums) {
                    *total = multiply_add(factor, sum, *total);
                }
            }
            for (column, total) in totals.iter().enumerate() {
                write(*total, products.add(column * 2 * BLOCK), at);
            }
        }
    }
}
