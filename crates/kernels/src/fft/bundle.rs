//! Products for eight ciphertexts at once, one in each lane.
//!
//! Every lane takes the same way through the transform, so that no level exchanges lanes, a twiddle is one number for all of them, and so is a
//! number of the key, which is read once for eight ciphertexts. Rotations differ from one ciphertext to the next: accumulators
//! stay one after the other, and words of 32 bits change places, once for all levels of digits and once for the sums.
//!
//! A spectrum has for each point eight real parts, then eight imaginary ones, the points in the order of the tree; blocks of 64 are
//! [`STRIDE`] numbers apart. Each lane's operations are those of [`super::product`], in their order: results are the same to the bit.

use super::butterflies::{Complex, Twiddle, cyclic_8, radix, reversed};
use super::lanes::{Lanes, magic};
use super::monomial::{Roots, turned};
use super::passes::{Ahead, entries, multiply_add, node_down, none, read, write, zero};
use super::plan::{BLOCK, BLOCK_TWIDDLES, NODE, Pass, Plan};
use super::product::{MAX_PATTERNS, Shape};
use super::words::{Preparation, rotated_digits};

/// Ciphertexts of a bundle.
pub const BUNDLE: usize = 8;

/// Numbers of a point.
const POINT: usize = 2 * BUNDLE;

/// Numbers from one block of 64 points to the next: two lines more than it has, or all blocks would meet in the same lines of the
/// first-level cache.
const STRIDE: usize = BLOCK * POINT + 16;

/// Most columns: their sums are kept in registers together, and take the place of the first rows.
pub(super) const MAX_COLUMNS: usize = 4;

/// Numbers of a spectrum of `points` points, a multiple of [`BLOCK`].
pub(super) const fn spectrum_len(points: usize) -> usize {
    points / BLOCK * STRIDE
}

/// Numbers that the monomial of one pattern takes: one block of points.
pub(super) const MONOMIAL: usize = BLOCK * POINT;

/// Room for one product.
#[derive(Clone, Copy)]
pub(super) struct Room {
    /// Rotated differences of one column, N for each ciphertext.
    pub differences: *mut u32,
    /// Digits at eight coefficients of each block, levels · N.
    pub digits: *mut u32,
    /// One spectrum a row, each of [`spectrum_len`].
    pub spectra: *mut f64,
    /// Sums at eight coefficients of each block, N.
    pub sums: *mut f64,
    /// For each pattern of an unrolled key [`MONOMIAL`] numbers.
    pub monomials: *mut f64,
}

/// What an iteration multiplies by: see [`super::product::Iteration`].
#[derive(Clone, Copy)]
pub(super) enum Iteration<'a> {
    /// An exponent for each ciphertext.
    Rotation(&'a [u32]),
    /// Exponents of each ciphertext's patterns, and how many those are.
    Patterns(&'a [u32], usize, &'a Roots),
}

/// Steps of [`product`] that bring the next key nearer.
pub(super) fn steps(plan: &Plan, shape: Shape) -> usize {
    2 * shape.columns * BLOCK / 8 + shape.rows() * plan.points / BLOCK
}

/// [`super::product::product`] for the eight accumulators of the 32-bit torus at `accumulators`, one after the other; with `rounding` sums are
/// rounded to multiples of 2 to its power, as [`super::passes::Bounded32`] has it, and else reduced. SAFETY: as there; the plan has
/// blocks and passes before them, and there are [`MAX_COLUMNS`] at most.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
pub(super) unsafe fn product<V: Lanes>(
    plan: &Plan,
    shape: Shape,
    accumulators: *mut u32,
    iteration: Iteration<'_>,
    key: *const f64,
    room: Room,
    rounding: Option<u32>,
    mut ahead: Ahead,
) {
    // SAFETY: this function's contract.
    unsafe {
        let Shape { columns, preparation } = shape;
        let (rows, levels, degree) = (shape.rows(), preparation.levels as usize, 2 * plan.points);
        let length = spectrum_len(plan.points);
        let glwe = columns * degree;
        if let Iteration::Patterns(exponents, patterns, roots) = iteration {
            monomials::<V>(exponents, patterns, roots, room.monomials);
        }
        for column in 0..columns {
            let own = accumulators.wrapping_add(column * degree);
            let (words, apart) = match iteration {
                Iteration::Rotation(exponents) => {
                    for (lane, &exponent) in exponents.iter().enumerate() {
                        let polynomial = std::slice::from_raw_parts(own.add(lane * glwe), degree);
                        // Whole words: their digits are cut out when they have changed places.
                        let differences = room.differences.add(lane * degree);
                        rotated_digits::<V, u32>(polynomial, exponent as usize, Preparation::NONE, differences);
                    }
                    (room.differences.cast_const(), degree)
                }
                Iteration::Patterns(..) => (own.cast_const(), glwe),
            };
            for first in (0..BLOCK).step_by(8) {
                ahead.step::<V>();
                for at in (0..degree).step_by(BLOCK) {
                    V::digits_of_eight(words.add(at + first), apart, preparation, room.digits.add(at), degree);
                }
                for level in 0..levels {
                    let spectrum = room.spectra.add((column * levels + level) * length);
                    columns_down::<V>(plan, room.digits.add(level * degree).cast(), spectrum.add(first * POINT));
                }
            }
        }
        for block in 0..plan.points / BLOCK {
            let spectra = room.spectra.add(block * STRIDE);
            for row in 0..rows {
                ahead.step::<V>();
                let following = if row + 1 < rows { spectra.add((row + 1) * length) } else { std::ptr::null_mut() };
                block_down::<V>(plan, block, spectra.add(row * length), following);
            }
            let block_of = Block { rows, length, spectra, index: block };
            match (columns, rows) {
                (2, 4) => block_products::<V, 2, 4>(block_of, iteration, key, room.monomials),
                (2, 6) => block_products::<V, 2, 6>(block_of, iteration, key, room.monomials),
                (3, 6) => block_products::<V, 3, 6>(block_of, iteration, key, room.monomials),
                (4, 12) => block_products::<V, 4, 12>(block_of, iteration, key, room.monomials),
                (2, _) => block_products::<V, 2, 0>(block_of, iteration, key, room.monomials),
                (3, _) => block_products::<V, 3, 0>(block_of, iteration, key, room.monomials),
                (_, _) => block_products::<V, 4, 0>(block_of, iteration, key, room.monomials),
            }
            for column in 0..columns {
                block_up::<V>(plan, spectra.add(column * length));
            }
        }
        for column in 0..columns {
            let spectrum = room.spectra.add(column * length);
            for first in (0..BLOCK).step_by(8) {
                ahead.step::<V>();
                columns_up::<V>(plan, first, spectrum.add(first * POINT), room.sums, rounding);
                for at in (0..degree).step_by(BLOCK) {
                    let to = accumulators.add(column * degree + at + first);
                    V::accumulate_of_eight(room.sums.add(at), rounding.unwrap_or(0), to, glwe);
                }
            }
        }
    }
}

/// Blocks of a spectrum: `BLOCKS`, or if that is 0 as many as there are. Addresses are constants where they are known.
#[inline(always)]
fn blocks<const BLOCKS: usize>(plan: &Plan) -> usize {
    if BLOCKS == 0 { plan.points / BLOCK } else { BLOCKS }
}

/// One number for all lanes. SAFETY: `V`'s set is present, and there are a cosine at `number`, its double eight further, a tangent sixteen
/// further: one lane of [`super::butterflies::twiddle`].
#[inline(always)]
unsafe fn twiddle<V: Lanes>(number: *const f64) -> Twiddle<V> {
    // SAFETY: this function's contract.
    unsafe { Twiddle { cos: V::splat(*number), twice: V::splat(*number.add(8)), tan: V::splat(*number.add(16)) } }
}

/// The levels above the blocks at eight points of each block. SAFETY: the contract of [`product`]; a block's digits are
/// [`BLOCK`] words from the next's.
#[inline(always)]
unsafe fn columns_down<V: Lanes>(plan: &Plan, digits: *const i32, to: *mut f64) {
    // SAFETY: this function's contract.
    unsafe {
        let Some((head, rest)) = plan.passes.split_first() else { return };
        match (plan.points / BLOCK, head.radix, rest) {
            (4, 2, []) => first::<V, 2, 4>(plan, head, digits, to),
            (8, 3, []) => first::<V, 3, 8>(plan, head, digits, to),
            (16, 2, [pass]) => {
                first::<V, 2, 16>(plan, head, digits, to);
                middle_down::<V, 2, 16>(plan, pass, to);
            }
            _ => {
                match head.radix {
                    1 => first::<V, 1, 0>(plan, head, digits, to),
                    2 => first::<V, 2, 0>(plan, head, digits, to),
                    _ => first::<V, 3, 0>(plan, head, digits, to),
                }
                for pass in rest {
                    match pass.radix {
                        1 => middle_down::<V, 1, 0>(plan, pass, to),
                        2 => middle_down::<V, 2, 0>(plan, pass, to),
                        _ => middle_down::<V, 3, 0>(plan, pass, to),
                    }
                }
            }
        }
    }
}

/// The first levels of [`columns_down`], from digits.
#[inline(always)]
unsafe fn first<V: Lanes, const R: u32, const BLOCKS: usize>(
    plan: &Plan,
    pass: &Pass,
    digits: *const i32,
    to: *mut f64,
) {
    let blocks = blocks::<BLOCKS>(plan);
    let stride = blocks >> R;
    // SAFETY: the contract of `columns_down`.
    unsafe {
        for c in 0..stride {
            for i in 0..8 {
                let mut x = [zero::<V>(); 8];
                for (r, x) in x.iter_mut().enumerate().take(1 << R) {
                    near::<V>(to.add((r * stride + c) * STRIDE + (i + AHEAD) * POINT), 1);
                    let at = digits.add((r * stride + c) * BLOCK + 8 * i);
                    *x = Complex { re: V::from_i32(at), im: V::from_i32(at.add(blocks * BLOCK)) };
                }
                node_down::<V, R>(&mut x, pass.down.as_ptr());
                for (r, x) in x.iter().enumerate().take(1 << R) {
                    write(*x, to.add((r * stride + c) * STRIDE), 8 * i);
                }
            }
        }
    }
}

/// Further levels of [`columns_down`].
#[inline(always)]
unsafe fn middle_down<V: Lanes, const R: u32, const BLOCKS: usize>(plan: &Plan, pass: &Pass, to: *mut f64) {
    let size = blocks::<BLOCKS>(plan) >> pass.depth;
    let stride = size >> R;
    // SAFETY: the contract of `columns_down`.
    unsafe {
        for node in 0..1usize << pass.depth {
            let numbers = pass.down.as_ptr().wrapping_add(node * NODE[R as usize]);
            for c in 0..stride {
                let at = to.add((node * size + c) * STRIDE);
                for i in 0..8 {
                    let mut x = [zero::<V>(); 8];
                    for (r, x) in x.iter_mut().enumerate().take(1 << R) {
                        *x = read(at.add(r * stride * STRIDE), 8 * i);
                    }
                    node_down::<V, R>(&mut x, numbers);
                    for (r, x) in x.iter().enumerate().take(1 << R) {
                        write(*x, at.add(r * stride * STRIDE), 8 * i);
                    }
                }
            }
        }
    }
}

/// Points ahead of the one at hand that are brought into the first-level cache.
const AHEAD: usize = 2;

/// Brings `points` points into the first-level cache. SAFETY: `V`'s set is present.
#[inline(always)]
unsafe fn near<V: Lanes>(at: *const f64, points: usize) {
    for line in 0..2 * points {
        // SAFETY: this function's contract.
        unsafe { V::prefetch_near(at.wrapping_add(8 * line).cast()) };
    }
}

/// The last six levels of block `index`, which is at `block`. SAFETY: the contract of [`product`].
#[inline(always)]
unsafe fn block_down<V: Lanes>(plan: &Plan, index: usize, block: *mut f64, following: *const f64) {
    // SAFETY: this function's contract.
    unsafe {
        let own = plan.blocks.as_ptr().add(index * BLOCK_TWIDDLES);
        for i in 0..8 {
            let mut x = [zero::<V>(); 8];
            for (r, x) in x.iter_mut().enumerate() {
                *x = read(block, 8 * (i + 8 * r));
            }
            node_down::<V, 3>(&mut x, own);
            for (r, x) in x.iter().enumerate() {
                write(*x, block, 8 * (i + 8 * r));
            }
        }
        let lanes = own.add(NODE[3]);
        for node in 0..8 {
            let at = block.add(node * 8 * POINT);
            // Where `Plan::blocks` has the twiddles of this node and of its children, whose siblings' are i times them.
            let bit = |position: usize| node >> position & 1;
            let w = [
                twiddle::<V>(lanes.add(24 * bit(1) + 4 * bit(2))),
                twiddle(lanes.add(24 * (2 + bit(0)) + 4 * bit(1) + 2 * bit(2))),
                twiddle(lanes.add(24 * 4 + 4 * bit(1) + 2 * bit(2) + bit(0))),
                twiddle(lanes.add(24 * 5 + 4 * bit(1) + 2 * bit(2) + bit(0))),
            ];
            let mut x = [zero::<V>(); 8];
            near::<V>(following.wrapping_add(node * 8 * POINT), 8);
            for (r, x) in x.iter_mut().enumerate() {
                *x = read(at, 8 * r);
            }
            if bit(0) == 0 {
                radix::<V, 3, true, false>(&mut x, w);
            } else {
                radix::<V, 3, true, true>(&mut x, w);
            }
            for (r, x) in x.iter().enumerate() {
                write(*x, at, 8 * r);
            }
        }
    }
}

/// A block of all rows' spectra.
#[derive(Clone, Copy)]
struct Block {
    rows: usize,
    /// Numbers from one row's to the next.
    length: usize,
    spectra: *mut f64,
    /// Which one.
    index: usize,
}

impl Block {
    /// Σ_r d_r · key[r][c] at point `at` for all `C` columns, and `ROWS` rows if that is not 0; `key` points at the lane of the key's group that belongs
    /// to the point.
    #[inline(always)]
    unsafe fn sums<V: Lanes, const C: usize, const ROWS: usize>(self, at: usize, key: *const f64) -> [Complex<V>; C] {
        let rows = if ROWS == 0 { self.rows } else { ROWS };
        // SAFETY: the contract of `product`.
        unsafe {
            let mut sums = [zero::<V>(); C];
            for row in 0..rows {
                let x: Complex<V> = read(self.spectra.add(row * self.length), 8 * at);
                for (column, sum) in sums.iter_mut().enumerate() {
                    let key = key.wrapping_add(16 * (row * C + column));
                    let number = Complex { re: V::splat(*key), im: V::splat(*key.add(8)) };
                    *sum = multiply_add(x, number, *sum);
                }
            }
            sums
        }
    }
}

/// The products of one block, in place of the first rows' spectra. SAFETY: the contract of [`product`].
#[inline(always)]
unsafe fn block_products<V: Lanes, const C: usize, const ROWS: usize>(
    block: Block,
    iteration: Iteration<'_>,
    key: *const f64,
    monomials: *const f64,
) {
    let group = 16 * block.rows * C;
    // SAFETY: this function's contract.
    unsafe {
        let store = |at: usize, sums: [Complex<V>; C]| {
            for (column, sum) in sums.iter().enumerate() {
                write(*sum, block.spectra.add(column * block.length), 8 * at);
            }
        };
        match iteration {
            Iteration::Rotation(_) => {
                let key = key.wrapping_add(block.index * 8 * group);
                for first in 0..8 {
                    for lane in 0..8 {
                        let at = 8 * node_of(lane) + first;
                        store(at, block.sums::<V, C, ROWS>(at, key.wrapping_add(first * group + lane)));
                    }
                }
            }
            Iteration::Patterns(exponents, patterns, roots) => {
                let mut scales = [zero::<V>(); MAX_PATTERNS];
                for (pattern, scale) in scales[..patterns].iter_mut().enumerate() {
                    *scale = each(|lane| roots.block(exponents[lane * patterns + pattern], block.index));
                }
                let key = key.wrapping_add(block.index * 8 * group * patterns);
                for first in 0..8 {
                    for lane in 0..8 {
                        let at = 8 * node_of(lane) + first;
                        let mut totals = [zero::<V>(); C];
                        for (pattern, scale) in scales[..patterns].iter().enumerate() {
                            let key = key.wrapping_add((first * patterns + pattern) * group + lane);
                            let sums = block.sums::<V, C, ROWS>(at, key);
                            let place: Complex<V> = read(monomials.add(pattern * MONOMIAL), 8 * (8 * first + lane));
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
}

/// The node of eight points whose points the key has in lane `lane` of its groups: bits (b₅ b₄ b₃) of (b₄ b₅ b₃).
#[inline(always)]
fn node_of(lane: usize) -> usize {
    (lane >> 1 & 1) << 2 | (lane >> 2) << 1 | lane & 1
}

/// A number for each lane. SAFETY: `V`'s set is present.
#[inline(always)]
unsafe fn each<V: Lanes>(number: impl Fn(usize) -> (f64, f64)) -> Complex<V> {
    let mut numbers = [0.0; 16];
    for lane in 0..BUNDLE {
        (numbers[lane], numbers[8 + lane]) = number(lane);
    }
    // SAFETY: this function's contract.
    unsafe { read(numbers.as_ptr(), 0) }
}

/// For each pattern, at each place of a block in the order of the key, what [`Roots::places`] gives each ciphertext. SAFETY: `V`'s set is
/// present, and there is room.
#[inline(always)]
unsafe fn monomials<V: Lanes>(exponents: &[u32], patterns: usize, roots: &Roots, to: *mut f64) {
    // SAFETY: this function's contract.
    unsafe {
        for pattern in 0..patterns {
            let to = to.add(pattern * MONOMIAL);
            let mut lanes = [zero::<V>(); 8];
            for (place, number) in lanes.iter_mut().enumerate() {
                *number = each(|lane| roots.place(exponents[lane * patterns + pattern], place));
            }
            for group in 0..8 {
                let factor: Complex<V> = each(|lane| roots.place(exponents[lane * patterns + pattern], 8 * group));
                for (place, &number) in lanes.iter().enumerate() {
                    write(turned(number, factor.re, factor.im, V::splat(0.0)), to, 8 * (8 * group + place));
                }
            }
        }
    }
}

/// The inverse of the last six levels of the block at `block`. SAFETY: the contract of [`product`].
#[inline(always)]
unsafe fn block_up<V: Lanes>(plan: &Plan, block: *mut f64) {
    // SAFETY: this function's contract.
    unsafe {
        for node in 0..8 {
            let at = block.add(node * 8 * POINT);
            let mut x = [zero::<V>(); 8];
            for (r, x) in x.iter_mut().enumerate() {
                *x = read(at, 8 * r);
            }
            let mut x = reversed::<_, 3>(x);
            cyclic_8(&mut x);
            let x = reversed::<_, 3>(x);
            for (r, x) in x.iter().enumerate() {
                write(*x, at, 8 * r);
            }
        }
        let lanes = plan.block_up.as_ptr();
        for i in 0..8 {
            // Where `Plan::block_up` has the twiddles of coefficient i.
            let bit = |position: usize| i >> position & 1;
            let w = [
                twiddle::<V>(lanes.add(24 * bit(1) + bit(0))),
                twiddle(lanes.add(24 * (2 + bit(2)) + 4 * bit(1) + bit(0))),
                twiddle(lanes.add(24 * 4 + i)),
                twiddle(lanes.add(24 * 5 + i)),
            ];
            let mut x = [zero::<V>(); 8];
            for (r, x) in x.iter_mut().enumerate() {
                *x = read(block, 8 * (i + 8 * r));
            }
            let mut x = reversed::<_, 3>(x);
            if bit(2) == 0 {
                radix::<V, 3, false, false>(&mut x, w);
            } else {
                radix::<V, 3, false, true>(&mut x, w);
            }
            let x = reversed::<_, 3>(x);
            for (r, x) in x.iter().enumerate() {
                write(*x, block, 8 * (i + 8 * r));
            }
        }
    }
}

/// The inverse of [`columns_down`] at eight coefficients of each block from `at` on, rounded, to `sums`: a block's are [`BLOCK`] numbers
/// from the next's. SAFETY: the contract of [`product`].
#[inline(always)]
unsafe fn columns_up<V: Lanes>(plan: &Plan, at: usize, from: *mut f64, sums: *mut f64, rounding: Option<u32>) {
    // SAFETY: this function's contract.
    unsafe {
        let Some((head, rest)) = plan.passes.split_first() else { return };
        match (plan.points / BLOCK, head.radix, rest) {
            (4, 2, []) => last::<V, 2, 4>(plan, head, at, from, sums, rounding),
            (8, 3, []) => last::<V, 3, 8>(plan, head, at, from, sums, rounding),
            (16, 2, [pass]) => {
                middle_up::<V, 2, 16>(plan, pass, at, from);
                last::<V, 2, 16>(plan, head, at, from, sums, rounding);
            }
            _ => {
                for pass in rest.iter().rev() {
                    match pass.radix {
                        1 => middle_up::<V, 1, 0>(plan, pass, at, from),
                        2 => middle_up::<V, 2, 0>(plan, pass, at, from),
                        _ => middle_up::<V, 3, 0>(plan, pass, at, from),
                    }
                }
                match head.radix {
                    1 => last::<V, 1, 0>(plan, head, at, from, sums, rounding),
                    2 => last::<V, 2, 0>(plan, head, at, from, sums, rounding),
                    _ => last::<V, 3, 0>(plan, head, at, from, sums, rounding),
                }
            }
        }
    }
}

/// `2^R` elements up by the twiddles at `numbers`, one lane of [`Pass::up`].
#[inline(always)]
unsafe fn node_up<V: Lanes, const R: u32>(x: [Complex<V>; 8], numbers: *const f64) -> [Complex<V>; 8] {
    // SAFETY: the contract of `columns_up`.
    unsafe {
        let mut w = [none(); 4];
        for (j, w) in w.iter_mut().enumerate().take(entries(R)) {
            *w = twiddle(numbers.add(24 * j));
        }
        let mut x = reversed::<_, R>(x);
        radix::<V, R, false, false>(&mut x, w);
        reversed::<_, R>(x)
    }
}

/// Levels of [`columns_up`] below the last.
#[inline(always)]
unsafe fn middle_up<V: Lanes, const R: u32, const BLOCKS: usize>(
    plan: &Plan,
    pass: &Pass,
    at: usize,
    spectrum: *mut f64,
) {
    let size = blocks::<BLOCKS>(plan) >> pass.depth;
    let stride = size >> R;
    // SAFETY: the contract of `columns_up`.
    unsafe {
        for node in 0..1usize << pass.depth {
            for c in 0..stride {
                let from = spectrum.add((node * size + c) * STRIDE);
                let numbers = pass.up.as_ptr().add(3 * entries(R) * (c * BLOCK + at));
                for i in 0..8 {
                    let mut x = [zero::<V>(); 8];
                    for (r, x) in x.iter_mut().enumerate().take(1 << R) {
                        *x = read(from.add(r * stride * STRIDE), 8 * i);
                    }
                    let x = node_up::<V, R>(x, numbers.add(i));
                    for (r, x) in x.iter().enumerate().take(1 << R) {
                        write(*x, from.add(r * stride * STRIDE), 8 * i);
                    }
                }
            }
        }
    }
}

/// The last levels of [`columns_up`]: takes off the twist and rounds.
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
        match rounding {
            Some(shift) => untwisted::<V, R, BLOCKS, true>(plan, pass, at, from, sums, magic(shift)),
            None => untwisted::<V, R, BLOCKS, false>(plan, pass, at, from, sums, 0.0),
        }
    }
}

/// [`last`] with `bias` on every number, which rounds it if `BOUNDED`; else it is reduced first.
#[inline(always)]
unsafe fn untwisted<V: Lanes, const R: u32, const BLOCKS: usize, const BOUNDED: bool>(
    plan: &Plan,
    pass: &Pass,
    at: usize,
    from: *const f64,
    sums: *mut f64,
    bias: f64,
) {
    let blocks = blocks::<BLOCKS>(plan);
    let stride = blocks >> R;
    // SAFETY: the contract of `columns_up`.
    unsafe {
        let bias = V::splat(bias);
        for c in 0..stride {
            let numbers = pass.up.as_ptr().add(3 * entries(R) * (c * BLOCK + at));
            let untwist = plan.untwist.as_ptr().add(2 * (c * BLOCK + at));
            for i in 0..8 {
                let mut x = [zero::<V>(); 8];
                for (r, x) in x.iter_mut().enumerate().take(1 << R) {
                    near::<V>(from.wrapping_add((r * stride + c) * STRIDE + (i + AHEAD) * POINT), 1);
                    *x = read(from.add((r * stride + c) * STRIDE), 8 * i);
                }
                let x = node_up::<V, R>(x, numbers.add(i));
                for (r, x) in x.iter().enumerate().take(1 << R) {
                    let z = untwist.add(2 * r * stride * BLOCK + i);
                    let z = Complex { re: V::splat(*z), im: V::splat(*z.add(8)) };
                    let mut re = x.im.neg_mul_add(z.im, x.re.mul_add(z.re, bias));
                    let mut im = x.re.mul_add(z.im, x.im.mul_add(z.re, bias));
                    if !BOUNDED {
                        re = re.reduce_32().add(V::splat(magic(0)));
                        im = im.reduce_32().add(V::splat(magic(0)));
                    }
                    let to = sums.add((r * stride + c) * BLOCK + 8 * i);
                    re.store(to);
                    im.store(to.add(blocks * BLOCK));
                }
            }
        }
    }
}
