//! Butterflies in registers, written once over [`Lanes`].
//!
//! Every function here is unsafe for one reason: `V`'s instruction set must be present.

use super::lanes::Lanes;

/// Eight complex numbers.
#[derive(Clone, Copy)]
pub(super) struct Complex<V> {
    pub re: V,
    pub im: V,
}

/// Eight twiddles c (1 + i t): c, 2c and t.
#[derive(Clone, Copy)]
pub(super) struct Twiddle<V> {
    pub cos: V,
    pub twice: V,
    pub tan: V,
}

/// Eight twiddles. SAFETY: `V`'s set is present, and eight cosines, their doubles and eight tangents are at `vectors`.
#[inline(always)]
pub(super) unsafe fn twiddle<V: Lanes>(vectors: *const f64) -> Twiddle<V> {
    // SAFETY: this function's contract.
    unsafe { Twiddle { cos: V::load(vectors), twice: V::load(vectors.add(8)), tan: V::load(vectors.add(16)) } }
}

/// b (1 + i t).
#[inline(always)]
unsafe fn slant<V: Lanes>(b: Complex<V>, tan: V) -> Complex<V> {
    // SAFETY: the set is present.
    unsafe { Complex { re: b.im.neg_mul_add(tan, b.re), im: b.re.mul_add(tan, b.im) } }
}

/// (a, z) → (a + c z, a − c z), the sum as the difference plus 2c z: a fused multiply-add overwrites one of its operands, so that the two
/// results of the same operands would need a copy, which takes a place of the arithmetic.
#[inline(always)]
unsafe fn join<V: Lanes>(a: &mut Complex<V>, z: &mut Complex<V>, c: V, twice: V) {
    // SAFETY: the set is present.
    unsafe {
        let difference = Complex { re: z.re.neg_mul_add(c, a.re), im: z.im.neg_mul_add(c, a.im) };
        *a = Complex { re: z.re.mul_add(twice, difference.re), im: z.im.mul_add(twice, difference.im) };
        *z = difference;
    }
}

/// (a, z) → (a ± i c z, a ∓ i c z): the upper sign if `DOWN`.
#[inline(always)]
unsafe fn join_turned<V: Lanes, const DOWN: bool>(a: &mut Complex<V>, z: &mut Complex<V>, c: V, twice: V) {
    // SAFETY: the set is present.
    unsafe {
        // a − i c z, and that plus 2 i c z.
        let right = Complex { re: z.im.mul_add(c, a.re), im: z.re.neg_mul_add(c, a.im) };
        let left = Complex { re: z.im.neg_mul_add(twice, right.re), im: z.re.mul_add(twice, right.im) };
        (*a, *z) = if DOWN { (left, right) } else { (right, left) };
    }
}

/// (a, b) → (a + w b, a − w b).
#[inline(always)]
unsafe fn straight<V: Lanes>(a: &mut Complex<V>, b: &mut Complex<V>, w: Twiddle<V>) {
    // SAFETY: the set is present.
    unsafe {
        *b = slant(*b, w.tan);
        join(a, b, w.cos, w.twice);
    }
}

/// (a, b) → (a ± i w b, a ∓ i w b): the upper sign if `DOWN`.
#[inline(always)]
unsafe fn turned<V: Lanes, const DOWN: bool>(a: &mut Complex<V>, b: &mut Complex<V>, w: Twiddle<V>) {
    // SAFETY: the set is present.
    unsafe {
        *b = slant(*b, w.tan);
        join_turned::<V, DOWN>(a, b, w.cos, w.twice);
    }
}

/// (a, b) → (a + b, a − b).
#[inline(always)]
unsafe fn plain<V: Lanes>(a: &mut Complex<V>, b: &mut Complex<V>) {
    // SAFETY: the set is present.
    unsafe {
        let sum = Complex { re: a.re.add(b.re), im: a.im.add(b.im) };
        *b = Complex { re: a.re.sub(b.re), im: a.im.sub(b.im) };
        *a = sum;
    }
}

/// (a, b) → (a − i b, a + i b).
#[inline(always)]
unsafe fn plain_turned<V: Lanes>(a: &mut Complex<V>, b: &mut Complex<V>) {
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

/// Numbers of a node that [`tree_8`] takes.
pub(super) const TREE_8: usize = 23;

/// Three levels of the tree at once. With the node's last twiddle w, c_j (1 + i t_j) = w^j: element j times 1 + i t_j, then
/// sums of eight in which the cosines are applied as ratios. `numbers` are t₁ … t₇, then each of c₄, c₅/c₁, c₆/c₂, c₇/c₃, c₂, c₃/c₁, c₁,
/// c₁/√2 followed by its double. SAFETY: besides, these [`TREE_8`] numbers.
#[inline(always)]
pub(super) unsafe fn tree_8<V: Lanes>(x: &mut [Complex<V>; 8], numbers: *const f64) {
    /// Number `$index` in every lane.
    macro_rules! k {
        ($index:expr) => {
            V::splat(*numbers.add($index))
        };
    }
    // SAFETY: the set is present, and the numbers are there by this function's contract.
    unsafe {
        for (j, x) in x.iter_mut().enumerate().skip(1) {
            *x = slant(*x, k!(j - 1));
        }
        pair!(join, x, 0, 4, k!(7), k!(8));
        pair!(join, x, 1, 5, k!(9), k!(10));
        pair!(join, x, 2, 6, k!(11), k!(12));
        pair!(join, x, 3, 7, k!(13), k!(14));
        pair!(join, x, 0, 2, k!(15), k!(16));
        pair!(join, x, 1, 3, k!(17), k!(18));
        pair!(join_turned::<V, true>, x, 4, 6, k!(15), k!(16));
        pair!(join_turned::<V, true>, x, 5, 7, k!(17), k!(18));
        // e^{iπ/4} = (1 + i)/√2.
        for j in [5, 7] {
            x[j] = Complex { re: x[j].re.sub(x[j].im), im: x[j].re.add(x[j].im) };
        }
        pair!(join, x, 0, 1, k!(19), k!(20));
        pair!(join_turned::<V, true>, x, 2, 3, k!(19), k!(20));
        pair!(join, x, 4, 5, k!(21), k!(22));
        pair!(join_turned::<V, true>, x, 6, 7, k!(21), k!(22));
    }
}

/// `2^R` elements, the first bit of their number first, by twiddles w₀, w₁, w₂, w₃ of which a second sibling's is ±i times the
/// first's: forward in the order of the tree; inverse with elements in bit-reversed order. If `TURNED` the node is itself a second sibling,
/// and w₀ is the first's (three levels).
#[inline(always)]
pub(super) unsafe fn radix<V: Lanes, const R: u32, const DOWN: bool, const TURNED: bool>(
    x: &mut [Complex<V>; 8],
    w: [Twiddle<V>; 4],
) {
    // SAFETY: the set is present.
    unsafe {
        match R {
            1 => pair!(straight, x, 0, 1, w[0]),
            2 => {
                pair!(straight, x, 0, 2, w[0]);
                pair!(straight, x, 1, 3, w[0]);
                pair!(straight, x, 0, 1, w[1]);
                pair!(turned::<V, DOWN>, x, 2, 3, w[1]);
            }
            3 => {
                if TURNED {
                    pair!(turned::<V, DOWN>, x, 0, 4, w[0]);
                    pair!(turned::<V, DOWN>, x, 1, 5, w[0]);
                    pair!(turned::<V, DOWN>, x, 2, 6, w[0]);
                    pair!(turned::<V, DOWN>, x, 3, 7, w[0]);
                } else {
                    pair!(straight, x, 0, 4, w[0]);
                    pair!(straight, x, 1, 5, w[0]);
                    pair!(straight, x, 2, 6, w[0]);
                    pair!(straight, x, 3, 7, w[0]);
                }
                pair!(straight, x, 0, 2, w[1]);
                pair!(straight, x, 1, 3, w[1]);
                pair!(turned::<V, DOWN>, x, 4, 6, w[1]);
                pair!(turned::<V, DOWN>, x, 5, 7, w[1]);
                pair!(straight, x, 0, 1, w[2]);
                pair!(turned::<V, DOWN>, x, 2, 3, w[2]);
                pair!(straight, x, 4, 5, w[3]);
                pair!(turned::<V, DOWN>, x, 6, 7, w[3]);
            }
            _ => {}
        }
    }
}

/// The inverse cyclic transform of eight elements: [`radix`] upwards with w₀ = w₁ = w₂ = 1 and w₃ = e^{−iπ/4}.
#[inline(always)]
pub(super) unsafe fn cyclic_8<V: Lanes>(x: &mut [Complex<V>; 8]) {
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
        // e^{−iπ/4} = (1 − i)/√2.
        for j in [5, 7] {
            x[j] = Complex { re: x[j].re.add(x[j].im), im: x[j].im.sub(x[j].re) };
        }
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

/// Exchanges elements `$i` and `$j` by `$exchange`, parts alike, before a butterfly of them: a shuffle has one port, so it should
/// have arithmetic beside it.
macro_rules! exchanged {
    ($exchange:ident, $op:ident $(::<$($generic:tt),+>)?, $x:ident, $i:literal, $j:literal, $w:expr) => {
        ($x[$i].re, $x[$j].re) = V::$exchange($x[$i].re, $x[$j].re);
        ($x[$i].im, $x[$j].im) = V::$exchange($x[$i].im, $x[$j].im);
        pair!($op $(::<$($generic),+>)?, $x, $i, $j, $w);
    };
}

/// The last three levels, which pair lanes. Before each, a bit of the lane changes places with a bit of the register
/// number that is done with, so that the level pairs registers. Registers are (b₅ b₄ b₃) and lanes (b₂ b₁ b₀) of the point's number
/// at first, (b₂ b₁ b₀) and (b₄ b₅ b₃) at last. There are two twiddles for each level, the second for the later bit of
/// the two that registers differ in besides. SAFETY: besides, six [`twiddle`]s at `twiddles`.
#[inline(always)]
pub(super) unsafe fn lanes_down<V: Lanes>(x: &mut [Complex<V>; 8], twiddles: *const f64) {
    // SAFETY: the set is present, and the twiddles are there by this function's contract.
    unsafe {
        let (a, b) = (twiddle(twiddles), twiddle(twiddles.add(24)));
        exchanged!(exchange_halves, straight, x, 0, 4, a);
        exchanged!(exchange_halves, turned::<V, true>, x, 1, 5, a);
        exchanged!(exchange_halves, straight, x, 2, 6, b);
        exchanged!(exchange_halves, turned::<V, true>, x, 3, 7, b);
        let (a, b) = (twiddle(twiddles.add(48)), twiddle(twiddles.add(72)));
        exchanged!(exchange_quarters, straight, x, 0, 2, a);
        exchanged!(exchange_quarters, straight, x, 1, 3, b);
        exchanged!(exchange_quarters, turned::<V, true>, x, 4, 6, a);
        exchanged!(exchange_quarters, turned::<V, true>, x, 5, 7, b);
        let (a, b) = (twiddle(twiddles.add(96)), twiddle(twiddles.add(120)));
        exchanged!(exchange_lanes, straight, x, 0, 1, a);
        exchanged!(exchange_lanes, turned::<V, true>, x, 2, 3, a);
        exchanged!(exchange_lanes, straight, x, 4, 5, b);
        exchanged!(exchange_lanes, turned::<V, true>, x, 6, 7, b);
    }
}

/// Three inverse levels after [`cyclic_8`], likewise: registers (b₂ b₁ b₀) and lanes (b₄ b₅ b₃) at first; (b₂ b₁ b₃) and (b₄ b₅ b₀) in
/// the first level, (b₂ b₄ b₃) and (b₁ b₅ b₀) in the second, (b₅ b₄ b₃) and (b₂ b₁ b₀) in the third. SAFETY: as for [`lanes_down`].
#[inline(always)]
pub(super) unsafe fn lanes_up<V: Lanes>(x: &mut [Complex<V>; 8], twiddles: *const f64) {
    // SAFETY: the set is present, and the twiddles are there by this function's contract.
    unsafe {
        let (a, b) = (twiddle(twiddles), twiddle(twiddles.add(24)));
        exchanged!(exchange_lanes, straight, x, 0, 1, a);
        exchanged!(exchange_lanes, straight, x, 2, 3, b);
        exchanged!(exchange_lanes, turned::<V, false>, x, 4, 5, a);
        exchanged!(exchange_lanes, turned::<V, false>, x, 6, 7, b);
        let (a, b) = (twiddle(twiddles.add(48)), twiddle(twiddles.add(72)));
        exchanged!(exchange_halves, straight, x, 0, 2, a);
        exchanged!(exchange_halves, turned::<V, false>, x, 1, 3, a);
        exchanged!(exchange_halves, straight, x, 4, 6, b);
        exchanged!(exchange_halves, turned::<V, false>, x, 5, 7, b);
        let (a, b) = (twiddle(twiddles.add(96)), twiddle(twiddles.add(120)));
        exchanged!(exchange_quarters, straight, x, 0, 4, a);
        exchanged!(exchange_quarters, straight, x, 1, 5, b);
        exchanged!(exchange_quarters, turned::<V, false>, x, 2, 6, a);
        exchanged!(exchange_quarters, turned::<V, false>, x, 3, 7, b);
    }
}
