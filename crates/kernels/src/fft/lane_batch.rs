//! External products of eight ciphertexts at once, one per lane.
//!
//! All lanes take the same path through the transform, so no level exchanges lanes, and a twiddle or key number, which is read once for eight
//! ciphertexts, is the same for all of them. Rotations differ per ciphertext: accumulators stay consecutive, and 32-bit words are
//! transposed once for all digit levels and once for the sums.
//!
//! A spectrum has eight real parts, then eight imaginary ones, for each point. Every eighth point in tree order is adjacent; the eight such
//! sequences are consecutive. A sequence goes through all levels except the last three at once in first-level-cache scratch, and is then
//! written once with streaming stores. The last three levels, the products and the first three inverse levels run on nodes of eight points,
//! and only sums are written back. Key numbers are in tree order. Each lane performs the operations of [`super::product`] in the same order, so
//! results are bit-identical.

use super::butterflies::{Complex, NUMBERS, OfLanes, Same, cyclic_8, levels, reversed};
use super::lanes::{Lanes, magic};
use super::monomial::{Roots, turned};
use super::passes::{Ahead, multiply_add, node_down, read, write, zero};
use super::plan::{BLOCK, BLOCK_TWIDDLES, Pass, Plan};
use super::product::{MAX_PATTERNS, Shape};
use super::words::{Field, Mixed, Rotated, STEP};

/// Ciphertexts of a batch across lanes.
pub const LANE_BATCH: usize = 8;

/// Numbers per point.
const POINT: usize = 2 * LANE_BATCH;

/// Distance of one sequence of every eighth point to the next, for a spectrum of `points` points: two extra lines, because otherwise all would
/// map to the same lines of the first-level cache.
const fn eighth(points: usize) -> usize {
    points / 8 * POINT + 16
}

/// Numbers of eight points.
const EIGHT: usize = 8 * POINT;

/// Maximum number of columns: their sums stay in registers together and overwrite the first rows.
pub(super) const MAX_COLUMNS: usize = 4;

/// Numbers of a spectrum of `points` points, a multiple of [`BLOCK`].
pub(super) const fn spectrum_len(points: usize) -> usize {
    8 * eighth(points)
}

/// Numbers of one pattern's monomial: one block of points.
pub(super) const MONOMIAL: usize = BLOCK * POINT;

/// Scratch for one product.
#[derive(Clone, Copy)]
pub(super) struct Scratch {
    /// Two words per number, for one column: [`pairs_len`]. Prepared words on input, sums on output.
    pub pairs: *mut f64,
    /// Every eighth point of a spectrum, N numbers.
    pub points: *mut f64,
    /// One spectrum per row, each of [`spectrum_len`].
    pub spectra: *mut f64,
    /// Eight points for each row: [`node_len`].
    pub node: *mut f64,
    /// For each pattern of an unrolled key [`MONOMIAL`] numbers.
    pub monomials: *mut f64,
}

/// Distance from the pairs of two coefficients of eight to those of the next two: two extra lines, as in [`eighth`].
const fn pair_apart(degree: usize) -> usize {
    degree + 16
}

/// Numbers of [`Scratch::pairs`].
pub(super) const fn pairs_len(degree: usize) -> usize {
    4 * pair_apart(degree)
}

/// Numbers of [`Scratch::node`].
pub(super) const fn node_len(rows: usize) -> usize {
    rows * EIGHT
}

/// Factor of an iteration; see [`super::product::Iteration`].
#[derive(Clone, Copy)]
pub(super) enum Iteration<'a> {
    /// An exponent for each ciphertext.
    Rotation(&'a [u32]),
    /// Exponents of each ciphertext's patterns, and the number of patterns.
    Patterns(&'a [u32], usize, &'a Roots),
}

/// Number of steps of [`product`] that prefetch the next key.
pub(super) fn steps(plan: &Plan, shape: Shape) -> usize {
    2 * shape.columns * BLOCK / 8 + shape.rows() * plan.points / BLOCK
}

/// [`super::product::product`] for eight consecutive accumulators of the 32-bit torus at `accumulators`. With `rounding`, sums are rounded to
/// multiples of 2 to its power, as in [`super::passes::Bounded32`]; otherwise they are reduced. SAFETY: as there; the plan has blocks and passes
/// before them, and at most [`MAX_COLUMNS`] columns.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
pub(super) unsafe fn product<V: Lanes>(
    plan: &Plan,
    shape: Shape,
    accumulators: *mut u32,
    iteration: Iteration<'_>,
    key: *const f64,
    scratch: Scratch,
    rounding: Option<u32>,
    mut ahead: Ahead,
) {
    // SAFETY: this function's contract.
    unsafe {
        let Shape { columns, preparation } = shape;
        let (rows, levels, degree) = (shape.rows(), preparation.levels as usize, 2 * plan.points);
        let (length, eighth) = (spectrum_len(plan.points), eighth(plan.points));
        let glwe = columns * degree;
        let mut mixed: Mixed = [[0; 2 * STEP]; 8];
        if let Iteration::Patterns(exponents, patterns, roots) = iteration {
            monomials::<V>(exponents, patterns, roots, scratch.monomials);
        }
        for column in 0..columns {
            let own = accumulators.wrapping_add(column * degree).cast_const();
            match iteration {
                Iteration::Rotation(exponents) => {
                    let rotated = Rotated::new(own, glwe, degree, exponents, &mut mixed);
                    let mut start = 0;
                    while start < degree {
                        let (mut from, negated, end) = rotated.run(start);
                        for at in (start..end).step_by(STEP) {
                            let to = scratch.pairs.add(at);
                            let rows = (from, negated);
                            V::pairs_of_eight::<true>(rows, own.add(at), glwe, preparation, to, pair_apart(degree));
                            from = from.map(|from| from.wrapping_add(STEP));
                        }
                        start = end;
                    }
                }
                Iteration::Patterns(..) => {
                    let from = ([own; 8], [0; 8]);
                    for at in (0..degree).step_by(STEP) {
                        let to = scratch.pairs.add(at);
                        V::pairs_of_eight::<false>(from, own.add(at), glwe, preparation, to, pair_apart(degree));
                    }
                }
            }
            for first in 0..8 {
                ahead.step::<V>(1);
                let pairs = scratch.pairs.add(first / 2 * pair_apart(degree));
                for level in 0..levels {
                    let spectrum = scratch.spectra.add((column * levels + level) * length + first * eighth);
                    let field = Field::new(preparation, level as u32, first % 2 == 1);
                    columns_down::<V>(plan, Digits { pairs, field }, scratch.points, spectrum);
                }
            }
        }
        match (columns, rows) {
            (2, 4) if V::SHAPED => middle::<V, 2, 4>(plan, rows, iteration, key, scratch, &mut ahead),
            (2, 6) if V::SHAPED => middle::<V, 2, 6>(plan, rows, iteration, key, scratch, &mut ahead),
            (3, 6) if V::SHAPED => middle::<V, 3, 6>(plan, rows, iteration, key, scratch, &mut ahead),
            (4, 12) if V::SHAPED => middle::<V, 4, 12>(plan, rows, iteration, key, scratch, &mut ahead),
            (2, _) => middle::<V, 2, 0>(plan, rows, iteration, key, scratch, &mut ahead),
            (3, _) => middle::<V, 3, 0>(plan, rows, iteration, key, scratch, &mut ahead),
            (_, _) => middle::<V, 4, 0>(plan, rows, iteration, key, scratch, &mut ahead),
        }
        for column in 0..columns {
            for first in 0..8 {
                ahead.step::<V>(1);
                let spectrum = scratch.spectra.add(column * length + first * eighth);
                columns_up::<V>(plan, first, spectrum, scratch.points, scratch.pairs, rounding);
            }
            for at in (0..degree).step_by(STEP) {
                let to = accumulators.add(column * degree + at);
                V::add_to_eight(scratch.pairs.add(at), pair_apart(degree), rounding.unwrap_or(0), to, glwe);
            }
        }
    }
}

/// The first lane of each of `V`'s vectors in a line. A line has all lanes: loops finish its vectors before the next line.
#[inline(always)]
fn parts<V: Lanes>() -> impl Iterator<Item = usize> {
    (0..LANE_BATCH).step_by(V::WIDTH)
}

/// Number of blocks of a spectrum: `BLOCKS`, or the plan's if that is 0. A constant makes addresses constant.
#[inline(always)]
fn blocks<const BLOCKS: usize>(plan: &Plan) -> usize {
    if BLOCKS == 0 { plan.points / BLOCK } else { BLOCKS }
}

/// All levels except the last three for every eighth point, via scratch `points` to `to`. SAFETY: the contract of [`product`].
#[inline(always)]
unsafe fn columns_down<V: Lanes>(plan: &Plan, digits: Digits, points: *mut f64, to: *mut f64) {
    // SAFETY: this function's contract.
    unsafe {
        let Some((head, rest)) = plan.passes.split_first() else { return };
        match (plan.points / BLOCK, head.radix, rest) {
            (4, 2, []) if V::SHAPED => first::<V, 2, 4>(plan, head, digits, points),
            (8, 3, []) if V::SHAPED => first::<V, 3, 8>(plan, head, digits, points),
            (16, 2, [pass]) if V::SHAPED => {
                first::<V, 2, 16>(plan, head, digits, points);
                middle_down::<V, 2, 16>(plan, pass, points);
            }
            _ => {
                match head.radix {
                    1 => first::<V, 1, 0>(plan, head, digits, points),
                    2 => first::<V, 2, 0>(plan, head, digits, points),
                    _ => first::<V, 3, 0>(plan, head, digits, points),
                }
                for pass in rest {
                    match pass.radix {
                        1 => middle_down::<V, 1, 0>(plan, pass, points),
                        2 => middle_down::<V, 2, 0>(plan, pass, points),
                        _ => middle_down::<V, 3, 0>(plan, pass, points),
                    }
                }
            }
        }
        for block in 0..plan.points / BLOCK {
            for lane in parts::<V>() {
                let (from, to) = (points.add(block * EIGHT + lane), to.add(block * EIGHT + lane));
                let mut x = [zero::<V>(); 8];
                for (r, x) in x.iter_mut().enumerate() {
                    *x = read(from, 8 * r);
                }
                node_down::<V, 3>(&mut x, plan.blocks.as_ptr().add(block * BLOCK_TWIDDLES));
                for (r, x) in x.iter().enumerate() {
                    write(*x, to, 8 * r);
                }
            }
        }
    }
}

/// Digits of one level of every eighth coefficient.
#[derive(Clone, Copy)]
struct Digits {
    pairs: *const f64,
    field: Field,
}

/// The first levels of [`columns_down`], from digits.
#[inline(always)]
unsafe fn first<V: Lanes, const R: u32, const BLOCKS: usize>(
    plan: &Plan,
    pass: &Pass,
    Digits { pairs, field }: Digits,
    to: *mut f64,
) {
    let points = 8 * blocks::<BLOCKS>(plan);
    let stride = points >> R;
    // SAFETY: the contract of `columns_down`.
    unsafe {
        let numbers = pass.down.as_ptr();
        for i in 0..stride {
            for lane in parts::<V>() {
                let (pairs, to) = (pairs.add(lane), to.add(lane));
                let mut x = [zero::<V>(); 8];
                for (r, x) in x.iter_mut().enumerate().take(1 << R) {
                    let at = pairs.add((r * stride + i) * LANE_BATCH);
                    let im = V::from_field(at.add(points * LANE_BATCH), field);
                    *x = Complex { re: V::from_field(at, field), im };
                }
                node_down::<V, R>(&mut x, numbers);
                for (r, x) in x.iter().enumerate().take(1 << R) {
                    write(*x, to, 8 * (r * stride + i));
                }
            }
        }
    }
}

/// Further levels of [`columns_down`].
#[inline(always)]
unsafe fn middle_down<V: Lanes, const R: u32, const BLOCKS: usize>(plan: &Plan, pass: &Pass, points: *mut f64) {
    let size = (8 * blocks::<BLOCKS>(plan)) >> pass.depth;
    let stride = size >> R;
    // SAFETY: the contract of `columns_down`.
    unsafe {
        for node in 0..1usize << pass.depth {
            let numbers = pass.down.as_ptr().wrapping_add(node * NUMBERS);
            for i in 0..stride {
                for lane in parts::<V>() {
                    let points = points.add(lane);
                    let mut x = [zero::<V>(); 8];
                    for (r, x) in x.iter_mut().enumerate().take(1 << R) {
                        *x = read(points, 8 * (node * size + r * stride + i));
                    }
                    node_down::<V, R>(&mut x, numbers);
                    for (r, x) in x.iter().enumerate().take(1 << R) {
                        write(*x, points, 8 * (node * size + r * stride + i));
                    }
                }
            }
        }
    }
}

/// The last three forward levels, the products in `C` columns and the first three inverse levels, one node of eight points at a time, so that the
/// points of all rows stay in the first-level cache. There are `ROWS` rows, or `rows` if that is 0. SAFETY: the contract of [`product`].
#[inline(always)]
unsafe fn middle<V: Lanes, const C: usize, const ROWS: usize>(
    plan: &Plan,
    rows: usize,
    iteration: Iteration<'_>,
    key: *const f64,
    scratch: Scratch,
    ahead: &mut Ahead,
) {
    let length = spectrum_len(plan.points);
    // SAFETY: this function's contract.
    unsafe {
        let mut scales = [0.0; MAX_PATTERNS * POINT];
        for block in 0..plan.points / BLOCK {
            if let Iteration::Patterns(exponents, patterns, roots) = iteration {
                for (pattern, scale) in scales.chunks_exact_mut(POINT).enumerate().take(patterns) {
                    for lane in 0..LANE_BATCH {
                        let (re, im) = roots.block(exponents[lane * patterns + pattern], block);
                        (scale[lane], scale[LANE_BATCH + lane]) = (re, im);
                    }
                }
            }
            for index in 0..8 {
                let spectra = scratch.spectra.add((block * 8 + index) * POINT);
                if index == 0 {
                    (0..rows).for_each(|_| ahead.step::<V>(1));
                }
                for lane in parts::<V>() {
                    let (spectra, points) = (spectra.add(lane), scratch.node.add(lane));
                    for row in 0..rows {
                        eight_down::<V>(plan, block, index, spectra.add(row * length), points.add(row * EIGHT));
                    }
                    let node = Node::<ROWS> { rows, points, block, index };
                    products::<V, C, ROWS>(
                        node,
                        iteration,
                        scales.as_ptr().add(lane),
                        key,
                        scratch.monomials.add(lane),
                    );
                    for column in 0..C {
                        eight_up::<V>(plan, points.add(column * EIGHT), spectra.add(column * length));
                    }
                }
            }
        }
    }
}

/// The last three levels of the eight points of `node` of block `index`. SAFETY: the contract of [`product`].
#[inline(always)]
unsafe fn eight_down<V: Lanes>(plan: &Plan, index: usize, node: usize, from: *const f64, to: *mut f64) {
    // SAFETY: this function's contract.
    unsafe {
        let numbers = plan.blocks.as_ptr().add(index * BLOCK_TWIDDLES + NUMBERS);
        let mut x = [zero::<V>(); 8];
        for (r, x) in x.iter_mut().enumerate() {
            *x = read(from.add(r * eighth(plan.points)), 0);
        }
        levels::<V, 3, true>(&mut x, OfLanes::<true> { numbers, node });
        for (r, x) in x.iter().enumerate() {
            write(*x, to, 8 * r);
        }
    }
}

/// A node in the spectra of all rows; `ROWS` of them unless that is 0.
#[derive(Clone, Copy)]
struct Node<const ROWS: usize> {
    rows: usize,
    points: *mut f64,
    block: usize,
    /// Index of the node.
    index: usize,
}

impl<const ROWS: usize> Node<ROWS> {
    /// Σ_r d_r · key[r][c] for all `C` columns at `P` points from `at`, whose key numbers are `apart` from one another.
    #[inline(always)]
    unsafe fn sums<V: Lanes, const C: usize, const P: usize>(
        self,
        at: usize,
        key: *const f64,
        apart: usize,
    ) -> [[Complex<V>; C]; P] {
        let rows = if ROWS == 0 { self.rows } else { ROWS };
        // SAFETY: the contract of `product`.
        unsafe {
            let mut sums = [[zero::<V>(); C]; P];
            for row in 0..rows {
                for (point, sums) in sums.iter_mut().enumerate() {
                    let x: Complex<V> = read(self.points.add(row * EIGHT), 8 * (at + point));
                    for (column, sum) in sums.iter_mut().enumerate() {
                        let key = key.wrapping_add(point * apart + 2 * (row * C + column));
                        let number = Complex { re: V::splat(*key), im: V::splat(*key.add(1)) };
                        *sum = multiply_add(x, number, *sum);
                    }
                }
            }
            sums
        }
    }
}

/// The products of a node, which overwrite the first rows' points. `scales` has each pattern's monomial at this node. SAFETY: the contract of
/// [`product`].
#[inline(always)]
unsafe fn products<V: Lanes, const C: usize, const ROWS: usize>(
    node: Node<ROWS>,
    iteration: Iteration<'_>,
    scales: *const f64,
    key: *const f64,
    monomials: *const f64,
) {
    let length = 2 * node.rows * C;
    let first = (node.block * 8 + node.index) * 8;
    // SAFETY: this function's contract.
    unsafe {
        let store = |at: usize, sums: [Complex<V>; C]| {
            for (column, sum) in sums.iter().enumerate() {
                write(*sum, node.points.add(column * EIGHT), 8 * at);
            }
        };
        match iteration {
            Iteration::Rotation(_) => {
                let key = key.wrapping_add(first * length);
                // Two points' sums are independent. Three columns gained nothing from this, nor do sums that exceed sixteen registers.
                let step = if C == 3 || (V::WIDTH < 8 && C > 2) { 1 } else { 2 };
                for at in (0..8).step_by(step) {
                    let key = key.wrapping_add(at * length);
                    if step == 1 {
                        let [sums] = node.sums::<V, C, 1>(at, key, length);
                        store(at, sums);
                    } else {
                        let [one, other] = node.sums::<V, C, 2>(at, key, length);
                        store(at, one);
                        store(at + 1, other);
                    }
                }
            }
            Iteration::Patterns(_, patterns, _) => {
                let key = key.wrapping_add(first * length * patterns);
                let mut own = [zero::<V>(); MAX_PATTERNS];
                for (pattern, scale) in own.iter_mut().enumerate().take(patterns) {
                    *scale = read(scales.add(pattern * POINT), 0);
                }
                for at in 0..8 {
                    let mut totals = [zero::<V>(); C];
                    for (pattern, scale) in own.iter().enumerate().take(patterns) {
                        let [sums] =
                            node.sums::<V, C, 1>(at, key.wrapping_add((at * patterns + pattern) * length), length);
                        let place = 8 * at + lane_of(node.index);
                        let place: Complex<V> = read(monomials.add(pattern * MONOMIAL), 8 * place);
                        let factor = turned(place, scale.re, scale.im, V::splat(-1.0));
                        for (total, sum) in totals.iter_mut().zip(sums) {
                            *total = multiply_add(factor, sum, *total);
                        }
                    }
                    store(at, totals);
                }
            }
        }
    }
}

/// The lane of node `node` of a block in the spectrum of a single ciphertext: bits (b₄ b₅ b₃) of (b₅ b₄ b₃).
#[inline(always)]
pub(super) fn lane_of(node: usize) -> usize {
    (node >> 1 & 1) << 2 | (node >> 2) << 1 | node & 1
}

/// For each pattern, at each place of a block in key order, the value of [`Roots::places`] for each ciphertext. SAFETY: `V`'s set is present, and
/// the scratch is valid.
#[inline(always)]
unsafe fn monomials<V: Lanes>(exponents: &[u32], patterns: usize, roots: &Roots, to: *mut f64) {
    // SAFETY: this function's contract.
    unsafe {
        for pattern in 0..patterns {
            let to = to.add(pattern * MONOMIAL);
            // The first eight places, then the first of each eight.
            let mut numbers = [[0.0; POINT]; 16];
            for (place, numbers) in numbers.iter_mut().enumerate() {
                let place = if place < 8 { place } else { 8 * (place - 8) };
                for lane in 0..LANE_BATCH {
                    (numbers[lane], numbers[LANE_BATCH + lane]) =
                        roots.place(exponents[lane * patterns + pattern], place);
                }
            }
            for lane in parts::<V>() {
                let mut lanes = [zero::<V>(); 8];
                for (place, number) in lanes.iter_mut().enumerate() {
                    *number = read(numbers[place].as_ptr(), lane);
                }
                for group in 0..8 {
                    let factor: Complex<V> = read(numbers[8 + group].as_ptr(), lane);
                    for (place, &number) in lanes.iter().enumerate() {
                        let number = turned(number, factor.re, factor.im, V::splat(0.0));
                        write(number, to.add(lane), 8 * (8 * group + place));
                    }
                }
            }
        }
    }
}

/// The inverse of the last three levels, from the eight points at `from` to those at `to`. SAFETY: the contract of [`product`].
#[inline(always)]
unsafe fn eight_up<V: Lanes>(plan: &Plan, from: *const f64, to: *mut f64) {
    // SAFETY: this function's contract.
    unsafe {
        let mut x = [zero::<V>(); 8];
        for (r, x) in x.iter_mut().enumerate() {
            *x = read(from, 8 * r);
        }
        let mut x = reversed::<_, 3>(x);
        cyclic_8(&mut x);
        let x = reversed::<_, 3>(x);
        for (r, x) in x.iter().enumerate() {
            write(*x, to.add(r * eighth(plan.points)), 0);
        }
    }
}

/// The inverse of [`columns_down`] at every eighth coefficient from `at`, rounded, to `sums`: even coefficients fill the low halves of numbers,
/// odd ones the high halves. SAFETY: the contract of [`product`].
#[inline(always)]
unsafe fn columns_up<V: Lanes>(
    plan: &Plan,
    at: usize,
    from: *const f64,
    points: *mut f64,
    sums: *mut f64,
    rounding: Option<u32>,
) {
    // SAFETY: this function's contract.
    unsafe {
        let w = OfLanes::<false> { numbers: plan.block_up.as_ptr(), node: at };
        for block in 0..plan.points / BLOCK {
            for lane in parts::<V>() {
                let (from, to) = (from.add(block * EIGHT + lane), points.add(block * EIGHT + lane));
                let mut x = [zero::<V>(); 8];
                for (r, x) in x.iter_mut().enumerate() {
                    *x = read(from, 8 * r);
                }
                let mut x = reversed::<_, 3>(x);
                levels::<V, 3, false>(&mut x, w);
                let x = reversed::<_, 3>(x);
                for (r, x) in x.iter().enumerate() {
                    write(*x, to, 8 * r);
                }
            }
        }
        let Some((head, rest)) = plan.passes.split_first() else { return };
        let sums = sums.add(at / 2 * pair_apart(2 * plan.points));
        match (plan.points / BLOCK, head.radix, rest) {
            (4, 2, []) if V::SHAPED => last::<V, 2, 4>(plan, head, at, points, sums, rounding),
            (8, 3, []) if V::SHAPED => last::<V, 3, 8>(plan, head, at, points, sums, rounding),
            (16, 2, [pass]) if V::SHAPED => {
                middle_up::<V, 2, 16>(plan, pass, at, points);
                last::<V, 2, 16>(plan, head, at, points, sums, rounding);
            }
            _ => {
                for pass in rest.iter().rev() {
                    match pass.radix {
                        1 => middle_up::<V, 1, 0>(plan, pass, at, points),
                        2 => middle_up::<V, 2, 0>(plan, pass, at, points),
                        _ => middle_up::<V, 3, 0>(plan, pass, at, points),
                    }
                }
                match head.radix {
                    1 => last::<V, 1, 0>(plan, head, at, points, sums, rounding),
                    2 => last::<V, 2, 0>(plan, head, at, points, sums, rounding),
                    _ => last::<V, 3, 0>(plan, head, at, points, sums, rounding),
                }
            }
        }
    }
}

/// Inverse levels of `2^R` elements with the twiddles at `numbers`, one lane of [`Pass::up`].
#[inline(always)]
unsafe fn node_up<V: Lanes, const R: u32>(x: [Complex<V>; 8], numbers: *const f64) -> [Complex<V>; 8] {
    // SAFETY: the contract of `columns_up`.
    unsafe {
        let mut x = reversed::<_, R>(x);
        levels::<V, R, false>(&mut x, Same { numbers, apart: 8 });
        reversed::<_, R>(x)
    }
}

/// Levels of [`columns_up`] above the blocks and below the last.
#[inline(always)]
unsafe fn middle_up<V: Lanes, const R: u32, const BLOCKS: usize>(
    plan: &Plan,
    pass: &Pass,
    at: usize,
    points: *mut f64,
) {
    let size = (8 * blocks::<BLOCKS>(plan)) >> pass.depth;
    let stride = size >> R;
    // SAFETY: the contract of `columns_up`.
    unsafe {
        for node in 0..1usize << pass.depth {
            for i in 0..stride {
                for lane in parts::<V>() {
                    let points = points.add(lane);
                    let mut x = [zero::<V>(); 8];
                    for (r, x) in x.iter_mut().enumerate().take(1 << R) {
                        *x = read(points, 8 * (node * size + r * stride + i));
                    }
                    let x = node_up::<V, R>(x, pass.up.as_ptr().add(8 * NUMBERS * i + at));
                    for (r, x) in x.iter().enumerate().take(1 << R) {
                        write(*x, points, 8 * (node * size + r * stride + i));
                    }
                }
            }
        }
    }
}

/// The last levels of [`columns_up`]: removes the twist and rounds.
#[inline(always)]
unsafe fn last<V: Lanes, const R: u32, const BLOCKS: usize>(
    plan: &Plan,
    pass: &Pass,
    at: usize,
    from: *const f64,
    sums: *mut f64,
    rounding: Option<u32>,
) {
    // SAFETY: passed on.
    unsafe {
        match (rounding, at % 2 == 1) {
            (Some(shift), false) => untwisted::<V, R, BLOCKS, true, false>(plan, pass, at, from, sums, magic(shift)),
            (Some(shift), true) => untwisted::<V, R, BLOCKS, true, true>(plan, pass, at, from, sums, magic(shift)),
            (None, false) => untwisted::<V, R, BLOCKS, false, false>(plan, pass, at, from, sums, 0.0),
            (None, true) => untwisted::<V, R, BLOCKS, false, true>(plan, pass, at, from, sums, 0.0),
        }
    }
}

/// [`last`] with `bias` added to every number, which rounds it if `BOUNDED`; otherwise it is reduced first. `ODD` is the low bit of `at`: a branch
/// between the stores of a loop would prevent the compiler from computing all sums before the first store.
#[inline(always)]
unsafe fn untwisted<V: Lanes, const R: u32, const BLOCKS: usize, const BOUNDED: bool, const ODD: bool>(
    plan: &Plan,
    pass: &Pass,
    at: usize,
    from: *const f64,
    sums: *mut f64,
    bias: f64,
) {
    let points = 8 * blocks::<BLOCKS>(plan);
    let stride = points >> R;
    // SAFETY: the contract of `columns_up`.
    unsafe {
        let bias = V::splat(bias);
        let (numbers, untwist) = (pass.up.as_ptr().add(at), plan.untwist.as_ptr().add(at));
        for i in 0..stride {
            for lane in parts::<V>() {
                let (from, sums) = (from.add(lane), sums.add(lane));
                let mut x = [zero::<V>(); 8];
                for (r, x) in x.iter_mut().enumerate().take(1 << R) {
                    *x = read(from, 8 * (r * stride + i));
                }
                let x = node_up::<V, R>(x, numbers.add(8 * NUMBERS * i));
                for (r, x) in x.iter().enumerate().take(1 << R) {
                    let z = untwist.add(16 * (r * stride + i));
                    let z = Complex { re: V::splat(*z), im: V::splat(*z.add(8)) };
                    let mut re = x.im.neg_mul_add(z.im, x.re.mul_add(z.re, bias));
                    let mut im = x.re.mul_add(z.im, x.im.mul_add(z.re, bias));
                    if !BOUNDED {
                        re = re.reduce_32().add(V::splat(magic(0)));
                        im = im.reduce_32().add(V::splat(magic(0)));
                    }
                    let to = sums.add((r * stride + i) * LANE_BATCH);
                    if ODD {
                        re.store_above(to);
                        im.store_above(to.add(points * LANE_BATCH));
                    } else {
                        re.store(to);
                        im.store(to.add(points * LANE_BATCH));
                    }
                }
            }
        }
    }
}
