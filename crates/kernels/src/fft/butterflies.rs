//! Butterflies in registers, written once over [`Arithmetic`].
//!
//! Every function here is unsafe for one reason: `V`'s instruction set must be present.

use super::lanes::{Arithmetic, Eight};

/// Eight complex numbers.
#[derive(Clone, Copy)]
pub(super) struct Complex<V> {
    pub re: V,
    pub im: V,
}

/// b (1 + i t).
#[inline(always)]
unsafe fn slant<V: Arithmetic>(b: Complex<V>, tan: V) -> Complex<V> {
    // SAFETY: the set is present.
    unsafe { Complex { re: b.im.neg_mul_add(tan, b.re), im: b.re.mul_add(tan, b.im) } }
}

/// (a, z) → (a + c z, a − c z), the sum as the difference plus 2c z: a fused multiply-add overwrites one of its operands, so that the two
/// results of the same operands would need a copy, which takes a place of the arithmetic.
#[inline(always)]
unsafe fn join<V: Arithmetic>(a: &mut Complex<V>, z: &mut Complex<V>, c: V, twice: V) {
    // SAFETY: the set is present.
    unsafe {
        let difference = Complex { re: z.re.neg_mul_add(c, a.re), im: z.im.neg_mul_add(c, a.im) };
        *a = Complex { re: z.re.mul_add(twice, difference.re), im: z.im.mul_add(twice, difference.im) };
        *z = difference;
    }
}

/// (a, z) → (a ± i c z, a ∓ i c z): the upper sign if `DOWN`.
#[inline(always)]
unsafe fn join_turned<V: Arithmetic, const DOWN: bool>(a: &mut Complex<V>, z: &mut Complex<V>, c: V, twice: V) {
    // SAFETY: the set is present.
    unsafe {
        // a − i c z, and that plus 2 i c z.
        let right = Complex { re: z.im.mul_add(c, a.re), im: z.re.neg_mul_add(c, a.im) };
        let left = Complex { re: z.im.neg_mul_add(twice, right.re), im: z.re.mul_add(twice, right.im) };
        (*a, *z) = if DOWN { (left, right) } else { (right, left) };
    }
}

/// (a, b) → (a + b, a − b).
#[inline(always)]
unsafe fn plain<V: Arithmetic>(a: &mut Complex<V>, b: &mut Complex<V>) {
    // SAFETY: the set is present.
    unsafe {
        let sum = Complex { re: a.re.add(b.re), im: a.im.add(b.im) };
        *b = Complex { re: a.re.sub(b.re), im: a.im.sub(b.im) };
        *a = sum;
    }
}

/// (a, b) → (a − i b, a + i b).
#[inline(always)]
unsafe fn plain_turned<V: Arithmetic>(a: &mut Complex<V>, b: &mut Complex<V>) {
    // SAFETY: the set is present.
    unsafe {
        let sum = Complex { re: a.re.add(b.im), im: a.im.sub(b.re) };
        *b = Complex { re: a.re.sub(b.im), im: a.im.add(b.re) };
        *a = sum;
    }
}

/// Applies an operation to elements `$i` and `$j`.
macro_rules! pair {
    ($op:ident $(::<$($generic:tt),+>)?, $x:ident, $i:expr, $j:expr $(, $w:expr)*) => {{
        let (head, tail) = $x.split_at_mut($j);
        $op $(::<$($generic),+>)? (&mut head[$i], &mut tail[0] $(, $w)*);
    }};
}

/// Ratios of cosines that up to three levels take: with c_j (1 + i t_j) = w^j, w being the last level's twiddle, these are c₄, c₅/c₁, c₆/c₂, c₇/c₃ for the
/// first of three levels, c₂, c₃/c₁ for the last but one, c₁ for the last and c₁/√2.
pub(super) const RATIOS: usize = 8;

/// Numbers that up to three levels take for each twiddle w: t_j for each j below 8, then the [`RATIOS`], then their doubles, which are there
/// because a + c z is made from a − c z.
pub(super) const NUMBERS: usize = 8 + 2 * RATIOS;

/// The numbers of levels, one for all lanes each: t_j is `apart` numbers further than t₀, and so with the others.
#[derive(Clone, Copy)]
pub(super) struct Same {
    pub numbers: *const f64,
    pub apart: usize,
}

/// The numbers of levels for each lane: [`NUMBERS`] vectors.
#[derive(Clone, Copy)]
pub(super) struct Each(pub *const f64);

/// What levels are computed with. SAFETY of its methods: `V`'s set is present, and so are the numbers.
pub(super) trait Twiddles: Copy {
    /// t_`j`.
    unsafe fn tangent<V: Arithmetic>(self, j: usize) -> V;
    /// Ratio `index` and its double.
    unsafe fn ratio<V: Arithmetic>(self, index: usize) -> (V, V);
}

impl Twiddles for Same {
    #[inline(always)]
    unsafe fn tangent<V: Arithmetic>(self, j: usize) -> V {
        // SAFETY: this method's contract.
        unsafe { V::splat(*self.numbers.add(j * self.apart)) }
    }
    #[inline(always)]
    unsafe fn ratio<V: Arithmetic>(self, index: usize) -> (V, V) {
        // SAFETY: this method's contract.
        unsafe { (self.tangent(8 + index), self.tangent(8 + RATIOS + index)) }
    }
}

impl Twiddles for Each {
    #[inline(always)]
    unsafe fn tangent<V: Arithmetic>(self, j: usize) -> V {
        // SAFETY: this method's contract.
        unsafe { V::load(self.0.add(8 * j)) }
    }
    #[inline(always)]
    unsafe fn ratio<V: Arithmetic>(self, index: usize) -> (V, V) {
        // SAFETY: this method's contract.
        unsafe { (self.tangent(8 + index), self.tangent(8 + RATIOS + index)) }
    }
}

/// e^{iπ/4} x √2 if `DOWN`, else e^{−iπ/4} x √2.
#[inline(always)]
unsafe fn eighth_turn<V: Arithmetic, const DOWN: bool>(x: Complex<V>) -> Complex<V> {
    // SAFETY: the set is present.
    unsafe {
        if DOWN {
            Complex { re: x.re.sub(x.im), im: x.re.add(x.im) }
        } else {
            Complex { re: x.re.add(x.im), im: x.im.sub(x.re) }
        }
    }
}

/// `R` levels at once, of `2^R` elements, the first bit of their number first: forward in the order of the tree if `DOWN`; else inverse, with elements in
/// bit-reversed order. Element j times 1 + i t_j, then sums in which the cosines are applied as ratios: a twiddle for each element instead of one for each
/// butterfly. SAFETY: besides, the numbers are there.
#[inline(always)]
pub(super) unsafe fn levels<V: Arithmetic, const R: u32, const DOWN: bool>(x: &mut [Complex<V>; 8], w: impl Twiddles) {
    /// `$op` of two elements with ratio `$index`.
    macro_rules! joined {
        ($op:ident $(::<$($generic:tt),+>)?, $i:expr, $j:expr, $index:expr) => {
            let (c, twice) = w.ratio($index);
            pair!($op $(::<$($generic),+>)?, x, $i, $j, c, twice);
        };
    }
    // SAFETY: the set is present, and the numbers are there by this function's contract.
    unsafe {
        for (j, x) in x.iter_mut().enumerate() {
            if j > 0 && j < 1 << R {
                *x = slant(*x, w.tangent(j));
            }
        }
        if R == 3 {
            joined!(join, 0, 4, 0);
            joined!(join, 1, 5, 1);
            joined!(join, 2, 6, 2);
            joined!(join, 3, 7, 3);
        }
        if R >= 2 {
            joined!(join, 0, 2, 4);
            joined!(join, 1, 3, 5);
        }
        if R == 3 {
            joined!(join_turned::<V, DOWN>, 4, 6, 4);
            joined!(join_turned::<V, DOWN>, 5, 7, 5);
            x[5] = eighth_turn::<V, DOWN>(x[5]);
            x[7] = eighth_turn::<V, DOWN>(x[7]);
        }
        if R >= 1 {
            joined!(join, 0, 1, 6);
        }
        if R >= 2 {
            joined!(join_turned::<V, DOWN>, 2, 3, 6);
        }
        if R == 3 {
            joined!(join, 4, 5, 7);
            joined!(join_turned::<V, DOWN>, 6, 7, 7);
        }
    }
}

/// The inverse cyclic transform of eight elements: three inverse [`levels`] whose twiddle is 1.
#[inline(always)]
pub(super) unsafe fn cyclic_8<V: Arithmetic>(x: &mut [Complex<V>; 8]) {
    // SAFETY: the set is present.
    unsafe {
        let half_root = V::splat(std::f64::consts::FRAC_1_SQRT_2);
        let root = V::splat(std::f64::consts::SQRT_2);
        pair!(plain, x, 0, 4);
        pair!(plain, x, 1, 5);
        pair!(plain, x, 2, 6);
        pair!(plain, x, 3, 7);
        pair!(plain, x, 0, 2);
        pair!(plain, x, 1, 3);
        pair!(plain_turned, x, 4, 6);
        pair!(plain_turned, x, 5, 7);
        pair!(plain, x, 0, 1);
        pair!(plain_turned, x, 2, 3);
        x[5] = eighth_turn::<V, false>(x[5]);
        x[7] = eighth_turn::<V, false>(x[7]);
        pair!(join, x, 4, 5, half_root, root);
        pair!(join_turned::<V, false>, x, 6, 7, half_root, root);
    }
}

/// Elements in bit-reversed order of the last `R` bits of their number.
#[inline(always)]
pub(super) fn reversed<V: Copy, const R: u32>(x: [V; 8]) -> [V; 8] {
    match R {
        3 => [x[0], x[4], x[2], x[6], x[1], x[5], x[3], x[7]],
        2 => [x[0], x[2], x[1], x[3], x[4], x[5], x[6], x[7]],
        _ => x,
    }
}

/// Exchanges elements `$i` and `$j` by `$exchange`, parts alike, before a butterfly of them with the ratio and its double at `$at`: a shuffle has one
/// port, so it should have arithmetic beside it.
macro_rules! exchanged {
    ($exchange:ident, $op:ident $(::<$($generic:tt),+>)?, $x:ident, $i:literal, $j:literal, $at:expr) => {
        ($x[$i].re, $x[$j].re) = V::$exchange($x[$i].re, $x[$j].re);
        ($x[$i].im, $x[$j].im) = V::$exchange($x[$i].im, $x[$j].im);
        let (c, twice) = (V::load($at), V::load($at.add(8)));
        pair!($op $(::<$($generic),+>)?, $x, $i, $j, c, twice);
    };
}

/// [`exchanged`] with an eighth of a turn of the second element before the butterfly.
macro_rules! exchanged_turn {
    ($exchange:ident, $down:literal, $op:ident $(::<$($generic:tt),+>)?, $x:ident, $i:literal, $j:literal, $at:expr) => {
        ($x[$i].re, $x[$j].re) = V::$exchange($x[$i].re, $x[$j].re);
        ($x[$i].im, $x[$j].im) = V::$exchange($x[$i].im, $x[$j].im);
        $x[$j] = eighth_turn::<V, $down>($x[$j]);
        let (c, twice) = (V::load($at), V::load($at.add(8)));
        pair!($op $(::<$($generic),+>)?, $x, $i, $j, c, twice);
    };
}

/// Numbers that [`lanes_down`] and [`lanes_up`] take: eight vectors of tangents, then of the ratios four vectors for the first level, two for the second and two for
/// the third, each followed by its doubles.
pub(super) const LANES: usize = 8 * NUMBERS;

/// Where [`LANES`] numbers have those of one node: `down` of node `node` of the last three levels, else of coefficient `node` of the inverse ones.
#[derive(Clone, Copy)]
pub(super) struct OfLanes<const DOWN: bool> {
    pub numbers: *const f64,
    pub node: usize,
}

/// In which place of [`LANES`] numbers t_`j` of node `node` is.
pub(super) fn tangent_place(down: bool, node: usize, j: usize) -> usize {
    // Upwards, lanes are (b₄ b₅ b₃) and j is (b₃ b₄ b₅).
    8 * node + if down { j } else { (j >> 1 & 1) << 2 | (j & 1) << 1 | j >> 2 }
}

/// In which place of [`LANES`] numbers ratio `index` of node `node` is.
pub(super) fn ratio_place(down: bool, node: usize, index: usize) -> usize {
    let bit = |position: usize| node >> position & 1;
    let (vector, lane) = match (down, index) {
        // Registers (b₂ b₄ b₃) of pairs in b₂ and lanes (b₅ b₁ b₀); (b₂ b₁ b₃), pairs in b₁, and (b₄ b₅ b₀); (b₂ b₁ b₀) and (b₄ b₅ b₃).
        (true, 0..4) => (node & 3, bit(2) << 2 | index),
        (true, 4 | 5) => (4 + bit(0), bit(1) << 2 | bit(2) << 1 | index & 1),
        (true, _) => (index, bit(1) << 2 | bit(2) << 1 | bit(0)),
        // Registers (b₂ b₁ b₃) of pairs in b₃ and lanes (b₄ b₅ b₀); (b₂ b₄ b₃), pairs in b₄, and (b₁ b₅ b₀); (b₅ b₄ b₃) and (b₂ b₁ b₀).
        (false, 0..4) => (node >> 1, index << 1 | bit(0)),
        (false, 4 | 5) => (4 + bit(2), bit(1) << 2 | (index & 1) << 1 | bit(0)),
        (false, _) => (index, node),
    };
    64 + 16 * vector + lane
}

impl<const DOWN: bool> Twiddles for OfLanes<DOWN> {
    #[inline(always)]
    unsafe fn tangent<V: Arithmetic>(self, j: usize) -> V {
        // SAFETY: this method's contract.
        unsafe { V::splat(*self.numbers.add(tangent_place(DOWN, self.node, j))) }
    }
    #[inline(always)]
    unsafe fn ratio<V: Arithmetic>(self, index: usize) -> (V, V) {
        // SAFETY: this method's contract.
        unsafe {
            let at = self.numbers.add(ratio_place(DOWN, self.node, index));
            (V::splat(*at), V::splat(*at.add(8)))
        }
    }
}

/// The last three levels, which pair lanes: [`levels`] in the same operations, with two more for each register, whose first lanes are multiplied by 1.
/// Before each level, a bit of the lane changes places with a bit of the register number that is done with, so that the level pairs registers.
/// Registers are (b₅ b₄ b₃) and lanes (b₂ b₁ b₀) of the point's number at first, (b₂ b₁ b₀) and (b₄ b₅ b₃) at last. SAFETY: besides, [`LANES`] numbers
/// at `numbers`.
#[inline(always)]
pub(super) unsafe fn lanes_down<V: Eight>(x: &mut [Complex<V>; 8], numbers: *const f64) {
    // SAFETY: the set is present, and the numbers are there by this function's contract.
    unsafe {
        for (r, x) in x.iter_mut().enumerate() {
            *x = slant(*x, V::load(numbers.add(8 * r)));
        }
        let ratios = |vector: usize| numbers.add(64 + 16 * vector);
        exchanged!(exchange_halves, join, x, 0, 4, ratios(0));
        exchanged!(exchange_halves, join, x, 1, 5, ratios(1));
        exchanged!(exchange_halves, join, x, 2, 6, ratios(2));
        exchanged!(exchange_halves, join, x, 3, 7, ratios(3));
        exchanged!(exchange_quarters, join, x, 0, 2, ratios(4));
        exchanged!(exchange_quarters, join, x, 1, 3, ratios(5));
        exchanged!(exchange_quarters, join_turned::<V, true>, x, 4, 6, ratios(4));
        exchanged!(exchange_quarters, join_turned::<V, true>, x, 5, 7, ratios(5));
        exchanged!(exchange_lanes, join, x, 0, 1, ratios(6));
        exchanged!(exchange_lanes, join_turned::<V, true>, x, 2, 3, ratios(6));
        exchanged_turn!(exchange_lanes, true, join, x, 4, 5, ratios(7));
        exchanged_turn!(exchange_lanes, true, join_turned::<V, true>, x, 6, 7, ratios(7));
    }
}

/// Three inverse levels after [`cyclic_8`], likewise: registers (b₂ b₁ b₀) and lanes (b₄ b₅ b₃) at first; (b₂ b₁ b₃) and (b₄ b₅ b₀) in
/// the first level, (b₂ b₄ b₃) and (b₁ b₅ b₀) in the second, (b₅ b₄ b₃) and (b₂ b₁ b₀) in the third. SAFETY: as for [`lanes_down`].
#[inline(always)]
pub(super) unsafe fn lanes_up<V: Eight>(x: &mut [Complex<V>; 8], numbers: *const f64) {
    // SAFETY: the set is present, and the numbers are there by this function's contract.
    unsafe {
        for (r, x) in x.iter_mut().enumerate() {
            *x = slant(*x, V::load(numbers.add(8 * r)));
        }
        let ratios = |vector: usize| numbers.add(64 + 16 * vector);
        exchanged!(exchange_lanes, join, x, 0, 1, ratios(0));
        exchanged!(exchange_lanes, join, x, 2, 3, ratios(1));
        exchanged!(exchange_lanes, join, x, 4, 5, ratios(2));
        exchanged!(exchange_lanes, join, x, 6, 7, ratios(3));
        exchanged!(exchange_halves, join, x, 0, 2, ratios(4));
        exchanged!(exchange_halves, join_turned::<V, false>, x, 1, 3, ratios(4));
        exchanged!(exchange_halves, join, x, 4, 6, ratios(5));
        exchanged!(exchange_halves, join_turned::<V, false>, x, 5, 7, ratios(5));
        exchanged!(exchange_quarters, join, x, 0, 4, ratios(6));
        exchanged_turn!(exchange_quarters, false, join, x, 1, 5, ratios(7));
        exchanged!(exchange_quarters, join_turned::<V, false>, x, 2, 6, ratios(6));
        exchanged_turn!(exchange_quarters, false, join_turned::<V, false>, x, 3, 7, ratios(7));
    }
}
