//! Butterflies in registers, written once over [`Arithmetic`].
//!
//! There are two forms. If additions share units with multiplications, butterflies use fused multiply-adds only: a twiddle is 1 + i tan, with
//! its cosine applied in the sums, 66 operations for three levels of eight elements. If additions have their own units
//! ([`Arithmetic::ADDERS`]), a twiddle is a full complex product and sums are plain: 78 operations, but only 36 of them use a multiplier.
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

/// (a, z) → (a + c z, a − c z), where the sum is computed as the difference plus 2c z: a fused multiply-add overwrites an operand, so two results
/// from the same operands would need a copy, which costs an arithmetic slot.
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

/// (a, b) → (a ± i b, a ∓ i b): the upper sign if `DOWN`.
#[inline(always)]
unsafe fn plain_turned<V: Arithmetic, const DOWN: bool>(a: &mut Complex<V>, b: &mut Complex<V>) {
    // SAFETY: the set is present.
    unsafe {
        let right = Complex { re: a.re.add(b.im), im: a.im.sub(b.re) };
        let left = Complex { re: a.re.sub(b.im), im: a.im.add(b.re) };
        (*a, *b) = if DOWN { (left, right) } else { (right, left) };
    }
}

/// b (c + i s).
#[inline(always)]
unsafe fn whole<V: Arithmetic>(b: Complex<V>, cos: V, sin: V) -> Complex<V> {
    // SAFETY: the set is present.
    unsafe { Complex { re: b.im.neg_mul_add(sin, b.re.mul(cos)), im: b.re.mul_add(sin, b.im.mul(cos)) } }
}

/// b times the twiddle of cosine `cos` and sine `turn` if `V` has [`Arithmetic::ADDERS`]; otherwise b (1 + i `turn`), whose cosine the sums apply.
#[inline(always)]
unsafe fn twisted<V: Arithmetic>(b: Complex<V>, turn: V, cos: V) -> Complex<V> {
    // SAFETY: the set is present.
    unsafe { if V::ADDERS { whole(b, cos, turn) } else { slant(b, turn) } }
}

/// (a, z) → (a + z, a − z) if `V` has [`Arithmetic::ADDERS`], otherwise with c z instead of z.
#[inline(always)]
unsafe fn meet<V: Arithmetic>(a: &mut Complex<V>, z: &mut Complex<V>, (c, twice): (V, V)) {
    // SAFETY: the set is present.
    unsafe { if V::ADDERS { plain(a, z) } else { join(a, z, c, twice) } }
}

/// (a, z) → (a ± i z, a ∓ i z), the upper sign if `DOWN`, with z as in [`meet`].
#[inline(always)]
unsafe fn meet_turned<V: Arithmetic, const DOWN: bool>(a: &mut Complex<V>, z: &mut Complex<V>, (c, twice): (V, V)) {
    // SAFETY: the set is present.
    unsafe { if V::ADDERS { plain_turned::<V, DOWN>(a, z) } else { join_turned::<V, DOWN>(a, z, c, twice) } }
}

/// [`meet`] after rotating z by an eighth of a turn, which makes it √2 times too large.
#[inline(always)]
unsafe fn meet_eighth<V: Arithmetic>(a: &mut Complex<V>, z: &mut Complex<V>, ratio: (V, V)) {
    // SAFETY: the set is present.
    unsafe {
        let (c, twice) = eighth_ratio(ratio);
        join(a, z, c, twice)
    }
}

/// [`meet_turned`] after the same rotation.
#[inline(always)]
unsafe fn meet_eighth_turned<V: Arithmetic, const DOWN: bool>(a: &mut Complex<V>, z: &mut Complex<V>, ratio: (V, V)) {
    // SAFETY: the set is present.
    unsafe {
        let (c, twice) = eighth_ratio(ratio);
        join_turned::<V, DOWN>(a, z, c, twice)
    }
}

/// √½ and its double if cosines are not applied in sums, otherwise the ratio, which includes it.
#[inline(always)]
unsafe fn eighth_ratio<V: Arithmetic>(ratio: (V, V)) -> (V, V) {
    // SAFETY: the set is present.
    unsafe {
        if V::ADDERS { (V::splat(std::f64::consts::FRAC_1_SQRT_2), V::splat(std::f64::consts::SQRT_2)) } else { ratio }
    }
}

/// Applies an operation to elements `$i` and `$j`.
macro_rules! pair {
    ($op:ident $(::<$($generic:tt),+>)?, $x:ident, $i:expr, $j:expr $(, $w:expr)*) => {{
        let (head, tail) = $x.split_at_mut($j);
        $op $(::<$($generic),+>)? (&mut head[$i], &mut tail[0] $(, $w)*);
    }};
}

/// Number of cosine ratios for up to three levels. With c_j (1 + i t_j) = w^j for the last level's twiddle w, these are c₄, c₅/c₁, c₆/c₂, c₇/c₃
/// for the first of three levels, c₂, c₃/c₁ for the second, c₁ for the last, and c₁/√2.
pub(super) const RATIOS: usize = 8;

/// Table entries for up to three levels per twiddle w: t_j for each j below 8, then the [`RATIOS`], then their doubles, because a + c z is
/// computed from a − c z. For sets with [`Arithmetic::ADDERS`]: the sines of w^j, then their cosines; the rest is unused.
pub(super) const NUMBERS: usize = 8 + 2 * RATIOS;

/// Table entries shared by all lanes: t_j is `apart` numbers after t₀, and likewise for the others.
#[derive(Clone, Copy)]
pub(super) struct Same {
    pub numbers: *const f64,
    pub apart: usize,
}

/// Table entries for each lane: [`NUMBERS`] vectors.
#[derive(Clone, Copy)]
pub(super) struct Each(pub *const f64);

/// Source of the table entries of levels. SAFETY of its methods: `V`'s set is present, and the entries are valid.
pub(super) trait Twiddles: Copy {
    /// t_`j`, or the sine of w^`j`.
    unsafe fn turn<V: Arithmetic>(self, j: usize) -> V;
    /// The cosine of w^`j`, stored at ratio `j`.
    unsafe fn cosine<V: Arithmetic>(self, j: usize) -> V;
    /// Ratio `index` and its double.
    unsafe fn ratio<V: Arithmetic>(self, index: usize) -> (V, V);
}

impl Twiddles for Same {
    #[inline(always)]
    unsafe fn turn<V: Arithmetic>(self, j: usize) -> V {
        // SAFETY: this method's contract.
        unsafe { V::splat(*self.numbers.add(j * self.apart)) }
    }
    #[inline(always)]
    unsafe fn cosine<V: Arithmetic>(self, j: usize) -> V {
        // SAFETY: this method's contract.
        unsafe { self.turn(8 + j) }
    }
    #[inline(always)]
    unsafe fn ratio<V: Arithmetic>(self, index: usize) -> (V, V) {
        // SAFETY: this method's contract.
        unsafe { (self.turn(8 + index), self.turn(8 + RATIOS + index)) }
    }
}

impl Twiddles for Each {
    #[inline(always)]
    unsafe fn turn<V: Arithmetic>(self, j: usize) -> V {
        // SAFETY: this method's contract.
        unsafe { V::load(self.0.add(8 * j)) }
    }
    #[inline(always)]
    unsafe fn cosine<V: Arithmetic>(self, j: usize) -> V {
        // SAFETY: this method's contract.
        unsafe { self.turn(8 + j) }
    }
    #[inline(always)]
    unsafe fn ratio<V: Arithmetic>(self, index: usize) -> (V, V) {
        // SAFETY: this method's contract.
        unsafe { (self.turn(8 + index), self.turn(8 + RATIOS + index)) }
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

/// `R` fused levels of `2^R` elements, starting with the first bit of their index: forward in tree order if `DOWN`, otherwise inverse with elements
/// in bit-reversed order. Element j is multiplied by w^j, or by 1 + i t_j with its cosine applied as a ratio in the sums: one twiddle per element
/// instead of one per butterfly. Even elements are processed before odd ones, so that only half of them occupy registers. SAFETY: the table
/// entries are valid.
#[inline(always)]
pub(super) unsafe fn levels<V: Arithmetic, const R: u32, const DOWN: bool>(x: &mut [Complex<V>; 8], w: impl Twiddles) {
    /// Multiplies each element by its twiddle.
    macro_rules! twist {
        ($($j:literal)*) => {
            $(if $j < 1 << R {
                x[$j] = twisted(x[$j], w.turn($j), w.cosine($j));
            })*
        };
    }
    /// Applies `$op` to two elements with ratio `$index`.
    macro_rules! met {
        ($op:ident $(::<$($generic:tt),+>)?, $i:expr, $j:expr, $index:expr) => {
            pair!($op $(::<$($generic),+>)?, x, $i, $j, w.ratio($index));
        };
    }
    // SAFETY: the set is present, and the numbers are there by this function's contract.
    unsafe {
        twist!(4 2 6);
        if R == 3 {
            met!(meet, 0, 4, 0);
            met!(meet, 2, 6, 2);
        }
        if R >= 2 {
            met!(meet, 0, 2, 4);
        }
        if R == 3 {
            met!(meet_turned::<V, DOWN>, 4, 6, 4);
        }
        twist!(1 5 3 7);
        if R == 3 {
            met!(meet, 1, 5, 1);
            met!(meet, 3, 7, 3);
        }
        if R >= 2 {
            met!(meet, 1, 3, 5);
        }
        if R == 3 {
            met!(meet_turned::<V, DOWN>, 5, 7, 5);
            x[5] = eighth_turn::<V, DOWN>(x[5]);
            x[7] = eighth_turn::<V, DOWN>(x[7]);
        }
        if R >= 1 {
            met!(meet, 0, 1, 6);
        }
        if R >= 2 {
            met!(meet_turned::<V, DOWN>, 2, 3, 6);
        }
        if R == 3 {
            met!(meet_eighth, 4, 5, 7);
            met!(meet_eighth_turned::<V, DOWN>, 6, 7, 7);
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
        pair!(plain_turned::<V, false>, x, 4, 6);
        pair!(plain_turned::<V, false>, x, 5, 7);
        pair!(plain, x, 0, 1);
        pair!(plain_turned::<V, false>, x, 2, 3);
        x[5] = eighth_turn::<V, false>(x[5]);
        x[7] = eighth_turn::<V, false>(x[7]);
        pair!(join, x, 4, 5, half_root, root);
        pair!(join_turned::<V, false>, x, 6, 7, half_root, root);
    }
}

/// Reorders elements by reversing the last `R` bits of their index.
#[inline(always)]
pub(super) fn reversed<V: Copy, const R: u32>(x: [V; 8]) -> [V; 8] {
    match R {
        3 => [x[0], x[4], x[2], x[6], x[1], x[5], x[3], x[7]],
        2 => [x[0], x[2], x[1], x[3], x[4], x[5], x[6], x[7]],
        _ => x,
    }
}

/// Exchanges elements `$i` and `$j` by `$exchange`, for both parts, before their butterfly with the ratio and its double at `$at`. Interleaves
/// shuffles, which have one port, with arithmetic.
macro_rules! exchanged {
    ($exchange:ident, $op:ident $(::<$($generic:tt),+>)?, $x:ident, $i:literal, $j:literal, $at:expr) => {
        ($x[$i].re, $x[$j].re) = V::$exchange($x[$i].re, $x[$j].re);
        ($x[$i].im, $x[$j].im) = V::$exchange($x[$i].im, $x[$j].im);
        pair!($op $(::<$($generic),+>)?, $x, $i, $j, (V::load($at), V::load($at.add(8))));
    };
}

/// [`exchanged`], with the second element rotated by an eighth of a turn before the butterfly.
macro_rules! exchanged_turn {
    ($exchange:ident, $down:literal, $op:ident $(::<$($generic:tt),+>)?, $x:ident, $i:literal, $j:literal, $at:expr) => {
        ($x[$i].re, $x[$j].re) = V::$exchange($x[$i].re, $x[$j].re);
        ($x[$i].im, $x[$j].im) = V::$exchange($x[$i].im, $x[$j].im);
        $x[$j] = eighth_turn::<V, $down>($x[$j]);
        pair!($op $(::<$($generic),+>)?, $x, $i, $j, (V::load($at), V::load($at.add(8))));
    };
}

/// Table entries for [`lanes_down`] and [`lanes_up`]: eight vectors of tangents, then the ratios, four vectors for the first level, two for the
/// second and two for the third, each followed by its double. For sets with [`Arithmetic::ADDERS`]: eight vectors of sines, then eight of
/// cosines; the rest is unused.
pub(super) const LANES: usize = 8 * NUMBERS;

/// The entries of one node in [`LANES`]: node `node` of the last three levels if `DOWN`, otherwise coefficient `node` of the inverse ones.
#[derive(Clone, Copy)]
pub(super) struct OfLanes<const DOWN: bool> {
    pub numbers: *const f64,
    pub node: usize,
}

/// Index in [`LANES`] of t_`j` of node `node`, or of the sine of its w^`j`; the cosine is 64 places further.
pub(super) fn turn_place(down: bool, node: usize, j: usize) -> usize {
    // Upwards, lanes are (b₄ b₅ b₃) and j is (b₃ b₄ b₅).
    8 * node + if down { j } else { (j >> 1 & 1) << 2 | (j & 1) << 1 | j >> 2 }
}

/// Index in [`LANES`] of ratio `index` of node `node`.
pub(super) fn ratio_place(down: bool, node: usize, index: usize) -> usize {
    let bit = |position: usize| node >> position & 1;
    let (vector, lane) = match (down, index) {
        // Registers (b₂ b₄ b₃) with pairs in b₂ and lanes (b₅ b₁ b₀); (b₂ b₁ b₃), pairs in b₁, and (b₄ b₅ b₀); (b₂ b₁ b₀) and (b₄ b₅ b₃).
        (true, 0..4) => (node & 3, bit(2) << 2 | index),
        (true, 4 | 5) => (4 + bit(0), bit(1) << 2 | bit(2) << 1 | index & 1),
        (true, _) => (index, bit(1) << 2 | bit(2) << 1 | bit(0)),
        // Registers (b₂ b₁ b₃) with pairs in b₃ and lanes (b₄ b₅ b₀); (b₂ b₄ b₃), pairs in b₄, and (b₁ b₅ b₀); (b₅ b₄ b₃) and (b₂ b₁ b₀).
        (false, 0..4) => (node >> 1, index << 1 | bit(0)),
        (false, 4 | 5) => (4 + bit(2), bit(1) << 2 | (index & 1) << 1 | bit(0)),
        (false, _) => (index, node),
    };
    64 + 16 * vector + lane
}

impl<const DOWN: bool> Twiddles for OfLanes<DOWN> {
    #[inline(always)]
    unsafe fn turn<V: Arithmetic>(self, j: usize) -> V {
        // SAFETY: this method's contract.
        unsafe { V::splat(*self.numbers.add(turn_place(DOWN, self.node, j))) }
    }
    #[inline(always)]
    unsafe fn cosine<V: Arithmetic>(self, j: usize) -> V {
        // SAFETY: this method's contract.
        unsafe { V::splat(*self.numbers.add(64 + turn_place(DOWN, self.node, j))) }
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

/// The last three levels, which pair lanes: the same operations as [`levels`] plus two per register, whose first lanes are multiplied by 1. Before
/// each level, a lane bit is exchanged with a finished register bit, so that the level pairs registers. Registers are (b₅ b₄ b₃) and lanes
/// (b₂ b₁ b₀) of the point's index at first, (b₂ b₁ b₀) and (b₄ b₅ b₃) at the end. SAFETY: `numbers` points to [`LANES`] entries.
#[inline(always)]
pub(super) unsafe fn lanes_down<V: Eight>(x: &mut [Complex<V>; 8], numbers: *const f64) {
    // SAFETY: the set is present, and the numbers are there by this function's contract.
    unsafe {
        for (r, x) in x.iter_mut().enumerate() {
            *x = twisted(*x, V::load(numbers.add(8 * r)), V::load(numbers.add(64 + 8 * r)));
        }
        let ratios = |vector: usize| numbers.add(64 + 16 * vector);
        exchanged!(exchange_halves, meet, x, 0, 4, ratios(0));
        exchanged!(exchange_halves, meet, x, 1, 5, ratios(1));
        exchanged!(exchange_halves, meet, x, 2, 6, ratios(2));
        exchanged!(exchange_halves, meet, x, 3, 7, ratios(3));
        exchanged!(exchange_quarters, meet, x, 0, 2, ratios(4));
        exchanged!(exchange_quarters, meet, x, 1, 3, ratios(5));
        exchanged!(exchange_quarters, meet_turned::<V, true>, x, 4, 6, ratios(4));
        exchanged!(exchange_quarters, meet_turned::<V, true>, x, 5, 7, ratios(5));
        exchanged!(exchange_lanes, meet, x, 0, 1, ratios(6));
        exchanged!(exchange_lanes, meet_turned::<V, true>, x, 2, 3, ratios(6));
        exchanged_turn!(exchange_lanes, true, meet_eighth, x, 4, 5, ratios(7));
        exchanged_turn!(exchange_lanes, true, meet_eighth_turned::<V, true>, x, 6, 7, ratios(7));
    }
}

/// Three inverse levels after [`cyclic_8`], with the same exchanges: registers (b₂ b₁ b₀) and lanes (b₄ b₅ b₃) at first; (b₂ b₁ b₃) and (b₄ b₅ b₀)
/// in the first level, (b₂ b₄ b₃) and (b₁ b₅ b₀) in the second, (b₅ b₄ b₃) and (b₂ b₁ b₀) in the third. SAFETY: as for [`lanes_down`].
#[inline(always)]
pub(super) unsafe fn lanes_up<V: Eight>(x: &mut [Complex<V>; 8], numbers: *const f64) {
    // SAFETY: the set is present, and the numbers are there by this function's contract.
    unsafe {
        for (r, x) in x.iter_mut().enumerate() {
            *x = twisted(*x, V::load(numbers.add(8 * r)), V::load(numbers.add(64 + 8 * r)));
        }
        let ratios = |vector: usize| numbers.add(64 + 16 * vector);
        exchanged!(exchange_lanes, meet, x, 0, 1, ratios(0));
        exchanged!(exchange_lanes, meet, x, 2, 3, ratios(1));
        exchanged!(exchange_lanes, meet, x, 4, 5, ratios(2));
        exchanged!(exchange_lanes, meet, x, 6, 7, ratios(3));
        exchanged!(exchange_halves, meet, x, 0, 2, ratios(4));
        exchanged!(exchange_halves, meet_turned::<V, false>, x, 1, 3, ratios(4));
        exchanged!(exchange_halves, meet, x, 4, 6, ratios(5));
        exchanged!(exchange_halves, meet_turned::<V, false>, x, 5, 7, ratios(5));
        exchanged!(exchange_quarters, meet, x, 0, 4, ratios(6));
        exchanged_turn!(exchange_quarters, false, meet_eighth, x, 1, 5, ratios(7));
        exchanged!(exchange_quarters, meet_turned::<V, false>, x, 2, 6, ratios(6));
        exchanged_turn!(exchange_quarters, false, meet_eighth_turned::<V, false>, x, 3, 7, ratios(7));
    }
}
