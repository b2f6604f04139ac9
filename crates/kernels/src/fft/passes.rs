//! The transform, written once over [`Lanes`].
//!
//! A spectrum keeps its M complex points in groups of eight: eight real parts, then eight imaginary
//! ones (two cache lines). Forward goes down the tree of [`super::plan`] (decimation in frequency),
//! inverse up (decimation in time), so no bit reversal is ever done; products are pointwise in the
//! order in which the points lie.
//!
//! Down to 64-point nodes a pass takes whole groups. The last six levels of a 64-point node are done in
//! registers: radix 8 across its eight groups, then three levels between whose butterflies lanes and registers exchange
//! a bit at a time. Every 64-point node thus stays transposed in the spectrum.

use super::lanes::{Lanes, Portable};
use super::plan::{BLOCK, BLOCK_TWIDDLES, Plan};

/// A signed number in a word: (word << `left`) & `mask`, as a signed integer of the word's width.
#[derive(Clone, Copy)]
pub(super) struct Field {
    pub left: u32,
    pub mask: u64,
}

impl Field {
    /// The whole word.
    pub const WORD: Self = Self { left: 0, mask: u64::MAX };
}

/// The coefficients that a forward transform reads.
pub(super) trait Source: Copy {
    /// Coefficients `at..at + 8`. SAFETY: `V`'s set is present and the range is within the source.
    unsafe fn load<V: Lanes>(self, at: usize) -> V;
}

/// Fields of 32-bit words; `SHIFT` unless the field's shift is 0.
#[derive(Clone, Copy)]
pub(super) struct Words32<const SHIFT: bool>(pub *const u32, pub Field);
/// Fields of 64-bit words.
#[derive(Clone, Copy)]
pub(super) struct Words64(pub *const u64, pub Field);

impl<const SHIFT: bool> Source for Words32<SHIFT> {
    #[inline(always)]
    unsafe fn load<V: Lanes>(self, at: usize) -> V {
        // SAFETY: this function's contract.
        unsafe { V::fields_32::<SHIFT>(self.0.add(at), self.1) }
    }
}
impl Source for Words64 {
    #[inline(always)]
    unsafe fn load<V: Lanes>(self, at: usize) -> V {
        // SAFETY: this function's contract.
        unsafe { V::fields_64(self.0.add(at), self.1) }
    }
}

/// Where an inverse transform adds its coefficients.
pub(super) trait Sink: Copy {
    /// Adds to coefficients `at..at + 8`. SAFETY: `V`'s set is present, the range within the sink.
    unsafe fn add<V: Lanes>(self, at: usize, value: V);
}

/// 32-bit torus: values times the scale, any size below 2^83.
#[derive(Clone, Copy)]
pub(super) struct Torus32(pub *mut u32, pub f64);
/// 32-bit torus: values as they are, below 2^62.
#[derive(Clone, Copy)]
pub(super) struct Bounded32(pub *mut u32);
/// 64-bit torus: values times the scale.
#[derive(Clone, Copy)]
pub(super) struct Torus64(pub *mut u64, pub f64);

impl Sink for Torus32 {
    #[inline(always)]
    unsafe fn add<V: Lanes>(self, at: usize, value: V) {
        // SAFETY: this function's contract.
        unsafe { value.mul(V::splat(self.1)).reduce_32().add_to_32(self.0.add(at)) }
    }
}
impl Sink for Bounded32 {
    #[inline(always)]
    unsafe fn add<V: Lanes>(self, at: usize, value: V) {
        // SAFETY: this function's contract.
        unsafe { value.add_to_32(self.0.add(at)) }
    }
}
impl Sink for Torus64 {
    #[inline(always)]
    unsafe fn add<V: Lanes>(self, at: usize, value: V) {
        // SAFETY: this function's contract.
        unsafe { value.mul(V::splat(self.1)).add_to_64(self.0.add(at)) }
    }
}

/// Memory to bring nearer while a transform computes: `lines` cache lines at each step of its loops.
#[derive(Clone, Copy)]
pub(crate) struct Ahead {
    next: *const u8,
    lines: usize,
}

impl Ahead {
    /// Nothing.
    pub const NONE: Self = Self { next: std::ptr::null(), lines: 0 };

    /// `numbers`, spread over `steps` steps.
    pub fn new(numbers: &[f64], steps: usize) -> Self {
        Self { next: numbers.as_ptr().cast(), lines: (size_of_val(numbers) / 64).div_ceil(steps.max(1)) }
    }

    /// SAFETY: `V`'s set is present.
    #[inline(always)]
    unsafe fn step<V: Lanes>(&mut self) {
        for _ in 0..self.lines {
            // SAFETY: this function's contract.
            unsafe { V::prefetch(self.next) };
            self.next = self.next.wrapping_add(64);
        }
    }
}

/// Eight complex numbers.
#[derive(Clone, Copy)]
struct Complex<V> {
    re: V,
    im: V,
}

/// (a, b) → (a + w b, a − w b). SAFETY of this and all below: `V`'s instruction set is present.
#[inline(always)]
unsafe fn down<V: Lanes>(a: &mut Complex<V>, b: &mut Complex<V>, w: Complex<V>) {
    // SAFETY: this function's contract.
    unsafe {
        let re = w.im.neg_mul_add(b.im, w.re.mul(b.re));
        let im = w.im.mul_add(b.re, w.re.mul(b.im));
        *b = Complex { re: a.re.sub(re), im: a.im.sub(im) };
        *a = Complex { re: a.re.add(re), im: a.im.add(im) };
    }
}

/// (a, b) → (a + i w b, a − i w b).
#[inline(always)]
unsafe fn down_i<V: Lanes>(a: &mut Complex<V>, b: &mut Complex<V>, w: Complex<V>) {
    // SAFETY: this function's contract.
    unsafe {
        let re = w.im.neg_mul_add(b.im, w.re.mul(b.re));
        let im = w.im.mul_add(b.re, w.re.mul(b.im));
        *b = Complex { re: a.re.add(im), im: a.im.sub(re) };
        *a = Complex { re: a.re.sub(im), im: a.im.add(re) };
    }
}

/// (a, b) → (a + b, w̄ (a − b)).
#[inline(always)]
unsafe fn up<V: Lanes>(a: &mut Complex<V>, b: &mut Complex<V>, w: Complex<V>) {
    // SAFETY: this function's contract.
    unsafe {
        let (re, im) = (a.re.sub(b.re), a.im.sub(b.im));
        *a = Complex { re: a.re.add(b.re), im: a.im.add(b.im) };
        *b = Complex { re: w.im.mul_add(im, w.re.mul(re)), im: w.im.neg_mul_add(re, w.re.mul(im)) };
    }
}

/// (a, b) → (a + b, −i w̄ (a − b)).
#[inline(always)]
unsafe fn up_i<V: Lanes>(a: &mut Complex<V>, b: &mut Complex<V>, w: Complex<V>) {
    // SAFETY: this function's contract.
    unsafe {
        let (re, im) = (a.im.sub(b.im), b.re.sub(a.re));
        *a = Complex { re: a.re.add(b.re), im: a.im.add(b.im) };
        *b = Complex { re: w.im.mul_add(im, w.re.mul(re)), im: w.im.neg_mul_add(re, w.re.mul(im)) };
    }
}

/// Applies `$op` to elements `$i` and `$j`.
macro_rules! pair {
    ($op:ident, $x:ident, $i:expr, $j:expr, $w:expr) => {{
        let (head, tail) = $x.split_at_mut($j);
        $op(&mut head[$i], &mut tail[0], $w);
    }};
}

#[inline(always)]
unsafe fn down_8<V: Lanes>(x: &mut [Complex<V>; 8], w: [Complex<V>; 4]) {
    // SAFETY: this function's contract.
    unsafe {
        pair!(down, x, 0, 4, w[0]);
        pair!(down, x, 1, 5, w[0]);
        pair!(down, x, 2, 6, w[0]);
        pair!(down, x, 3, 7, w[0]);
        pair!(down, x, 0, 2, w[1]);
        pair!(down, x, 1, 3, w[1]);
        pair!(down_i, x, 4, 6, w[1]);
        pair!(down_i, x, 5, 7, w[1]);
        pair!(down, x, 0, 1, w[2]);
        pair!(down_i, x, 2, 3, w[2]);
        pair!(down, x, 4, 5, w[3]);
        pair!(down_i, x, 6, 7, w[3]);
    }
}

#[inline(always)]
unsafe fn up_8<V: Lanes>(x: &mut [Complex<V>; 8], w: [Complex<V>; 4]) {
    // SAFETY: this function's contract.
    unsafe {
        pair!(up, x, 0, 1, w[2]);
        pair!(up_i, x, 2, 3, w[2]);
        pair!(up, x, 4, 5, w[3]);
        pair!(up_i, x, 6, 7, w[3]);
        pair!(up, x, 0, 2, w[1]);
        pair!(up, x, 1, 3, w[1]);
        pair!(up_i, x, 4, 6, w[1]);
        pair!(up_i, x, 5, 7, w[1]);
        pair!(up, x, 0, 4, w[0]);
        pair!(up, x, 1, 5, w[0]);
        pair!(up, x, 2, 6, w[0]);
        pair!(up, x, 3, 7, w[0]);
    }
}

/// `2^R` elements by the first `R` twiddles, downwards.
#[inline(always)]
unsafe fn down_any<V: Lanes, const R: u32>(x: &mut [Complex<V>; 8], w: [Complex<V>; 4]) {
    // SAFETY: this function's contract.
    unsafe {
        match R {
            1 => pair!(down, x, 0, 1, w[0]),
            2 => {
                pair!(down, x, 0, 2, w[0]);
                pair!(down, x, 1, 3, w[0]);
                pair!(down, x, 0, 1, w[1]);
                pair!(down_i, x, 2, 3, w[1]);
            }
            3 => down_8(x, w),
            _ => {}
        }
    }
}

/// `2^R` elements by the first `R` twiddles, upwards.
#[inline(always)]
unsafe fn up_any<V: Lanes, const R: u32>(x: &mut [Complex<V>; 8], w: [Complex<V>; 4]) {
    // SAFETY: this function's contract.
    unsafe {
        match R {
            1 => pair!(up, x, 0, 1, w[0]),
            2 => {
                pair!(up, x, 0, 1, w[1]);
                pair!(up_i, x, 2, 3, w[1]);
                pair!(up, x, 0, 2, w[0]);
                pair!(up, x, 1, 3, w[0]);
            }
            3 => up_8(x, w),
            _ => {}
        }
    }
}

/// The group of eight points that starts at point `at`. SAFETY: it lies within the spectrum.
#[inline(always)]
unsafe fn read<V: Lanes>(spectrum: *const f64, at: usize) -> Complex<V> {
    // SAFETY: this function's contract.
    unsafe { Complex { re: V::load(spectrum.add(2 * at)), im: V::load(spectrum.add(2 * at + 8)) } }
}

#[inline(always)]
unsafe fn write<V: Lanes>(value: Complex<V>, spectrum: *mut f64, at: usize) {
    // SAFETY: the contract of `read`.
    unsafe {
        value.re.store(spectrum.add(2 * at));
        value.im.store(spectrum.add(2 * at + 8));
    }
}

/// The `2R` numbers of one node (8 for radix 8), each in every lane.
#[inline(always)]
unsafe fn broadcast<V: Lanes, const R: u32>(node: *const f64) -> [Complex<V>; 4] {
    // SAFETY: this function's contract, and the node's twiddles are at `node`.
    unsafe {
        let zero = Complex { re: V::splat(0.0), im: V::splat(0.0) };
        let mut w = [zero; 4];
        for (j, w) in w.iter_mut().enumerate().take(entries(R)) {
            *w = Complex { re: V::splat(*node.add(2 * j)), im: V::splat(*node.add(2 * j + 1)) };
        }
        w
    }
}

/// Distinct twiddles of a node in a pass of `radix` levels.
const fn entries(radix: u32) -> usize {
    if radix == 3 { 4 } else { radix as usize }
}

/// The first pass: coefficients c and c + M are the real and imaginary part of point c.
/// SAFETY: the set is present; `source` holds 2M coefficients, `spectrum` 2M numbers.
#[inline(always)]
unsafe fn first<V: Lanes, S: Source, const R: u32>(
    points: usize,
    twiddles: *const f64,
    source: S,
    spectrum: *mut f64,
    ahead: &mut Ahead,
) {
    // SAFETY: this function's contract; points r·stride + i with i < stride are below M.
    unsafe {
        let stride = points >> R;
        let w = broadcast::<V, R>(twiddles);
        for i in (0..stride).step_by(8) {
            ahead.step::<V>();
            let mut x = [Complex { re: V::splat(0.0), im: V::splat(0.0) }; 8];
            for (r, x) in x.iter_mut().enumerate().take(1 << R) {
                let at = r * stride + i;
                *x = Complex { re: source.load(at), im: source.load(points + at) };
            }
            down_any::<V, R>(&mut x, w);
            for (r, x) in x.iter().enumerate().take(1 << R) {
                write(*x, spectrum, r * stride + i);
            }
        }
    }
}

/// The last pass of an inverse: adds to the sink. SAFETY: as for [`first`].
#[inline(always)]
unsafe fn last<V: Lanes, S: Sink, const R: u32>(
    points: usize,
    twiddles: *const f64,
    spectrum: *const f64,
    sink: S,
    ahead: &mut Ahead,
) {
    // SAFETY: this function's contract; points r·stride + i with i < stride are below M.
    unsafe {
        let stride = points >> R;
        let w = broadcast::<V, R>(twiddles);
        for i in (0..stride).step_by(8) {
            ahead.step::<V>();
            let mut x = [Complex { re: V::splat(0.0), im: V::splat(0.0) }; 8];
            for (r, x) in x.iter_mut().enumerate().take(1 << R) {
                *x = read(spectrum, r * stride + i);
            }
            up_any::<V, R>(&mut x, w);
            for (r, x) in x.iter().enumerate().take(1 << R) {
                let at = r * stride + i;
                sink.add(at, x.re);
                sink.add(points + at, x.im);
            }
        }
    }
}

/// A pass in place over all nodes of one depth. SAFETY: the set is present; `spectrum` has 2M numbers.
#[inline(always)]
unsafe fn middle<V: Lanes, const R: u32, const DOWN: bool>(
    points: usize,
    depth: u32,
    twiddles: *const f64,
    spectrum: *mut f64,
) {
    // SAFETY: this function's contract; node · size + r·stride + i is below M.
    unsafe {
        let size = points >> depth;
        let stride = size >> R;
        for node in 0..1usize << depth {
            let w = broadcast::<V, R>(twiddles.add(node * 2 * entries(R)));
            for i in (0..stride).step_by(8) {
                let base = node * size + i;
                let mut x = [Complex { re: V::splat(0.0), im: V::splat(0.0) }; 8];
                for (r, x) in x.iter_mut().enumerate().take(1 << R) {
                    *x = read(spectrum, base + r * stride);
                }
                if DOWN {
                    down_any::<V, R>(&mut x, w)
                } else {
                    up_any::<V, R>(&mut x, w)
                }
                for (r, x) in x.iter().enumerate().take(1 << R) {
                    write(*x, spectrum, base + r * stride);
                }
            }
        }
    }
}

/// Vector `index` of a block's lane-wise twiddles.
#[inline(always)]
unsafe fn lanewise<V: Lanes>(below: *const f64, index: usize) -> Complex<V> {
    // SAFETY: this function's contract, and `below` has 16 (index + 1) numbers.
    unsafe { read(below, 8 * index) }
}

/// Exchanges two groups by `exchange`, parts alike.
macro_rules! exchange {
    ($exchange:ident, $x:ident, $i:expr, $j:expr) => {
        ($x[$i].re, $x[$j].re) = V::$exchange($x[$i].re, $x[$j].re);
        ($x[$i].im, $x[$j].im) = V::$exchange($x[$i].im, $x[$j].im);
    };
}

/// The last three levels, which pair lanes. Before each, a bit of the lane changes places with a bit of the register
/// number that is done with, so that the level pairs registers: two shuffles and a butterfly for each pair.
/// Registers are (b₅ b₄ b₃) and lanes (b₂ b₁ b₀) of the point's number at first, (b₂ b₁ b₀) and (b₄ b₅ b₃) at last.
#[inline(always)]
unsafe fn down_lanes<V: Lanes>(x: &mut [Complex<V>; 8], below: *const f64) {
    // SAFETY: this function's contract, and `below` has a block's lane-wise twiddles.
    unsafe {
        let (w, v) = (lanewise(below, 0), lanewise(below, 1));
        exchange!(exchange_halves, x, 0, 4);
        pair!(down, x, 0, 4, w);
        exchange!(exchange_halves, x, 1, 5);
        pair!(down_i, x, 1, 5, w);
        exchange!(exchange_halves, x, 2, 6);
        pair!(down, x, 2, 6, v);
        exchange!(exchange_halves, x, 3, 7);
        pair!(down_i, x, 3, 7, v);
        let (w, v) = (lanewise(below, 2), lanewise(below, 3));
        exchange!(exchange_quarters, x, 0, 2);
        pair!(down, x, 0, 2, w);
        exchange!(exchange_quarters, x, 1, 3);
        pair!(down, x, 1, 3, v);
        exchange!(exchange_quarters, x, 4, 6);
        pair!(down_i, x, 4, 6, w);
        exchange!(exchange_quarters, x, 5, 7);
        pair!(down_i, x, 5, 7, v);
        let (w, v) = (lanewise(below, 4), lanewise(below, 5));
        exchange!(exchange_lanes, x, 0, 1);
        pair!(down, x, 0, 1, w);
        exchange!(exchange_lanes, x, 2, 3);
        pair!(down_i, x, 2, 3, w);
        exchange!(exchange_lanes, x, 4, 5);
        pair!(down, x, 4, 5, v);
        exchange!(exchange_lanes, x, 6, 7);
        pair!(down_i, x, 6, 7, v);
    }
}

/// The inverse of [`down_lanes`]. On the way the lanes are (b₁ b₅ b₀), where downwards they were (b₅ b₁ b₀).
#[inline(always)]
unsafe fn up_lanes<V: Lanes>(x: &mut [Complex<V>; 8], below: *const f64) {
    // SAFETY: this function's contract, and `below` has a block's lane-wise twiddles.
    unsafe {
        let (w, v) = (lanewise(below, 4), lanewise(below, 5));
        pair!(up, x, 0, 1, w);
        exchange!(exchange_lanes, x, 0, 1);
        pair!(up_i, x, 2, 3, w);
        exchange!(exchange_lanes, x, 2, 3);
        pair!(up, x, 4, 5, v);
        exchange!(exchange_lanes, x, 4, 5);
        pair!(up_i, x, 6, 7, v);
        exchange!(exchange_lanes, x, 6, 7);
        let (w, v) = (lanewise(below, 2), lanewise(below, 3));
        pair!(up, x, 0, 2, w);
        exchange!(exchange_halves, x, 0, 2);
        pair!(up, x, 1, 3, v);
        exchange!(exchange_halves, x, 1, 3);
        pair!(up_i, x, 4, 6, w);
        exchange!(exchange_halves, x, 4, 6);
        pair!(up_i, x, 5, 7, v);
        exchange!(exchange_halves, x, 5, 7);
        let (w, v) = (lanewise(below, 6), lanewise(below, 7));
        pair!(up, x, 0, 4, w);
        exchange!(exchange_quarters, x, 0, 4);
        pair!(up_i, x, 1, 5, w);
        exchange!(exchange_quarters, x, 1, 5);
        pair!(up, x, 2, 6, v);
        exchange!(exchange_quarters, x, 2, 6);
        pair!(up_i, x, 3, 7, v);
        exchange!(exchange_quarters, x, 3, 7);
    }
}

/// The last six levels, 64 points at a time. SAFETY: the set is present; `spectrum` has 2M numbers.
#[inline(always)]
unsafe fn blocks<V: Lanes, const DOWN: bool>(plan: &Plan, spectrum: *mut f64, ahead: &mut Ahead) {
    // SAFETY: this function's contract; the plan has `BLOCK_TWIDDLES` numbers for each block.
    unsafe {
        for (index, twiddles) in plan.blocks.chunks_exact(BLOCK_TWIDDLES).enumerate() {
            ahead.step::<V>();
            let (own, below) = (twiddles.as_ptr(), twiddles[8..].as_ptr());
            let base = index * BLOCK;
            let mut x: [Complex<V>; 8] = std::array::from_fn(|r| read(spectrum, base + 8 * r));
            if DOWN {
                down_8(&mut x, broadcast::<V, 3>(own));
                down_lanes(&mut x, below);
            } else {
                up_lanes(&mut x, below);
                up_8(&mut x, broadcast::<V, 3>(own));
            }
            for (r, x) in x.iter().enumerate() {
                write(*x, spectrum, base + 8 * r);
            }
        }
    }
}

/// All levels of a transform under 64 points, one point at a time.
fn small<const DOWN: bool>(plan: &Plan, spectrum: &mut [f64]) {
    let index = |point: usize| 2 * (point & !7) + (point & 7);
    let depths = plan.points.trailing_zeros();
    for step in 0..depths {
        let depth = if DOWN { step } else { depths - 1 - step };
        let half = plan.points >> (depth + 1);
        for node in 0..1usize << depth {
            let at = 2 * ((1 << depth) - 1 + node);
            let (wr, wi) = (plan.small[at], plan.small[at + 1]);
            for point in node * 2 * half..node * 2 * half + half {
                let (a, b) = (index(point), index(point + half));
                let (ar, ai) = (spectrum[a], spectrum[a + 8]);
                let (br, bi) = (spectrum[b], spectrum[b + 8]);
                if DOWN {
                    let (tr, ti) = (wr * br - wi * bi, wr * bi + wi * br);
                    (spectrum[a], spectrum[a + 8]) = (ar + tr, ai + ti);
                    (spectrum[b], spectrum[b + 8]) = (ar - tr, ai - ti);
                } else {
                    let (dr, di) = (ar - br, ai - bi);
                    (spectrum[a], spectrum[a + 8]) = (ar + br, ai + bi);
                    (spectrum[b], spectrum[b + 8]) = (wr * dr + wi * di, wr * di - wi * dr);
                }
            }
        }
    }
}

/// Forward: 2M coefficients of `source` to `spectrum`. SAFETY: `V`'s set is present; the source holds
/// 2M coefficients.
#[inline(always)]
pub(super) unsafe fn forward<V: Lanes, S: Source>(plan: &Plan, source: S, spectrum: &mut [f64], mut ahead: Ahead) {
    assert_eq!(spectrum.len(), 2 * plan.points);
    // SAFETY: this function's contract; the length was just checked.
    unsafe {
        let to = spectrum.as_mut_ptr();
        let Some((head, rest)) = plan.passes.split_first() else {
            first::<V, S, 0>(plan.points, std::ptr::null(), source, to, &mut ahead);
            if plan.points < BLOCK {
                small::<true>(plan, spectrum);
            } else {
                blocks::<V, true>(plan, to, &mut ahead);
            }
            return;
        };
        let twiddles = head.twiddles.as_ptr();
        match head.radix {
            1 => first::<V, S, 1>(plan.points, twiddles, source, to, &mut ahead),
            2 => first::<V, S, 2>(plan.points, twiddles, source, to, &mut ahead),
            _ => first::<V, S, 3>(plan.points, twiddles, source, to, &mut ahead),
        }
        for pass in rest {
            let twiddles = pass.twiddles.as_ptr();
            match pass.radix {
                1 => middle::<V, 1, true>(plan.points, pass.depth, twiddles, to),
                2 => middle::<V, 2, true>(plan.points, pass.depth, twiddles, to),
                _ => middle::<V, 3, true>(plan.points, pass.depth, twiddles, to),
            }
        }
        blocks::<V, true>(plan, to, &mut ahead);
    }
}

/// Inverse: gives the unscaled inverse of `spectrum` to `sink`; `spectrum` is spent. SAFETY: `V`'s set is present; the sink holds 2M coefficients.
#[inline(always)]
pub(super) unsafe fn inverse<V: Lanes, S: Sink>(plan: &Plan, spectrum: &mut [f64], sink: S, mut ahead: Ahead) {
    assert_eq!(spectrum.len(), 2 * plan.points);
    // SAFETY: this function's contract; the length was just checked.
    unsafe {
        let from = spectrum.as_mut_ptr();
        let Some((head, rest)) = plan.passes.split_first() else {
            if plan.points < BLOCK {
                small::<false>(plan, spectrum);
            } else {
                blocks::<V, false>(plan, from, &mut ahead);
            }
            last::<V, S, 0>(plan.points, std::ptr::null(), spectrum.as_ptr(), sink, &mut ahead);
            return;
        };
        blocks::<V, false>(plan, from, &mut ahead);
        for pass in rest.iter().rev() {
            let twiddles = pass.twiddles.as_ptr();
            match pass.radix {
                1 => middle::<V, 1, false>(plan.points, pass.depth, twiddles, from),
                2 => middle::<V, 2, false>(plan.points, pass.depth, twiddles, from),
                _ => middle::<V, 3, false>(plan.points, pass.depth, twiddles, from),
            }
        }
        let twiddles = head.twiddles.as_ptr();
        match head.radix {
            1 => last::<V, S, 1>(plan.points, twiddles, from, sink, &mut ahead),
            2 => last::<V, S, 2>(plan.points, twiddles, from, sink, &mut ahead),
            _ => last::<V, S, 3>(plan.points, twiddles, from, sink, &mut ahead),
        }
    }
}

/// `accumulator` += a · b (`ADD`) or = a · b, pointwise. SAFETY: `V`'s set is present.
#[inline(always)]
pub(super) unsafe fn multiply<V: Lanes, const ADD: bool>(accumulator: &mut [f64], a: &[f64], b: &[f64]) {
    assert!(accumulator.len() == a.len() && a.len() == b.len() && a.len().is_multiple_of(16));
    // SAFETY: this function's contract; all three have the same number of whole groups.
    unsafe {
        for at in (0..a.len() / 2).step_by(8) {
            let x: Complex<V> = read(a.as_ptr(), at);
            let y: Complex<V> = read(b.as_ptr(), at);
            let sum = if ADD {
                let s: Complex<V> = read(accumulator.as_ptr(), at);
                Complex { re: x.re.mul_add(y.re, s.re), im: x.re.mul_add(y.im, s.im) }
            } else {
                Complex { re: x.re.mul(y.re), im: x.re.mul(y.im) }
            };
            let product = Complex { re: x.im.neg_mul_add(y.im, sum.re), im: x.im.mul_add(y.re, sum.im) };
            write(product, accumulator.as_mut_ptr(), at);
        }
    }
}

/// The counts of an external product in the transform domain.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    /// N, the numbers of a spectrum.
    pub numbers: usize,
    /// Rows of the key.
    pub rows: usize,
    /// Columns of the key.
    pub columns: usize,
}

/// For each of `B` ciphertexts and `C` columns c: sums[c] = Σ_r digits[r] · key[r][c], pointwise. A ciphertext's digits are
/// `rows` whole spectra, its sums `columns`; the key has for each group of eight points [row][column][16].
/// Each key number is loaded once for all ciphertexts. SAFETY: `V`'s set is present, and the pointers stand for so many numbers.
#[inline(always)]
pub(super) unsafe fn row_products<V: Lanes, const B: usize, const C: usize>(
    shape: Shape,
    digits: *const f64,
    key: *const f64,
    sums: *mut f64,
) {
    // SAFETY: this function's contract.
    unsafe {
        let Shape { numbers, rows, columns } = shape;
        let mut key = key;
        for at in (0..numbers / 2).step_by(8) {
            let zero = Complex { re: V::splat(0.0), im: V::splat(0.0) };
            let mut sum = [[zero; C]; B];
            for row in 0..rows {
                let factors: [Complex<V>; C] = std::array::from_fn(|column| read(key.add(16 * column), 0));
                for (b, sum) in sum.iter_mut().enumerate() {
                    let x: Complex<V> = read(digits.add((b * rows + row) * numbers), at);
                    for (sum, y) in sum.iter_mut().zip(factors) {
                        sum.re = x.im.neg_mul_add(y.im, x.re.mul_add(y.re, sum.re));
                        sum.im = x.im.mul_add(y.re, x.re.mul_add(y.im, sum.im));
                    }
                }
                key = key.wrapping_add(16 * columns);
            }
            for (b, sum) in sum.iter().enumerate() {
                for (column, sum) in sum.iter().enumerate() {
                    write(*sum, sums.add((b * columns + column) * numbers), at);
                }
            }
        }
    }
}

/// What one instruction set runs: the generic functions, compiled for it.
pub(super) trait Kernels {
    /// [`forward`].
    unsafe fn forward<S: Source>(plan: &Plan, source: S, spectrum: &mut [f64], ahead: Ahead);
    /// [`inverse`].
    unsafe fn inverse<S: Sink>(plan: &Plan, spectrum: &mut [f64], sink: S, ahead: Ahead);
    /// [`multiply`].
    unsafe fn multiply<const ADD: bool>(accumulator: &mut [f64], a: &[f64], b: &[f64]);
    /// [`row_products`].
    unsafe fn row_products<const B: usize, const C: usize>(
        shape: Shape,
        digits: *const f64,
        key: *const f64,
        sums: *mut f64,
    );
}

/// One type for each instruction set, its functions compiled with `$feature`.
macro_rules! kernels {
    ($name:ident, $lanes:ty $(, $feature:literal)?) => {
        /// Compiled for one instruction set.
        pub(super) struct $name;
        impl $name {
            $(#[target_feature(enable = $feature)])?
            unsafe fn forward_with<S: Source>(plan: &Plan, source: S, spectrum: &mut [f64], ahead: Ahead) {
                // SAFETY: the caller has the instruction set and a source of 2M coefficients.
                unsafe { forward::<$lanes, S>(plan, source, spectrum, ahead) }
            }
            $(#[target_feature(enable = $feature)])?
            unsafe fn inverse_with<S: Sink>(plan: &Plan, spectrum: &mut [f64], sink: S, ahead: Ahead) {
                // SAFETY: the caller has the instruction set and a sink of 2M coefficients.
                unsafe { inverse::<$lanes, S>(plan, spectrum, sink, ahead) }
            }
            $(#[target_feature(enable = $feature)])?
            unsafe fn multiply_with<const ADD: bool>(sum: &mut [f64], a: &[f64], b: &[f64]) {
                // SAFETY: the caller has the instruction set.
                unsafe { multiply::<$lanes, ADD>(sum, a, b) }
            }
            $(#[target_feature(enable = $feature)])?
            unsafe fn row_products_with<const B: usize, const C: usize>(
        shape: Shape,
                digits: *const f64,
                key: *const f64,
                sums: *mut f64,
            ) {
                // SAFETY: the caller has the instruction set and spectra of these counts.
                unsafe { row_products::<$lanes, B, C>(shape, digits, key, sums) }
            }
        }
        impl Kernels for $name {
            unsafe fn forward<S: Source>(plan: &Plan, source: S, spectrum: &mut [f64], ahead: Ahead) {
                // SAFETY: passed on from this function's contract.
                unsafe { Self::forward_with(plan, source, spectrum, ahead) }
            }
            unsafe fn inverse<S: Sink>(plan: &Plan, spectrum: &mut [f64], sink: S, ahead: Ahead) {
                // SAFETY: passed on from this function's contract.
                unsafe { Self::inverse_with(plan, spectrum, sink, ahead) }
            }
            unsafe fn multiply<const ADD: bool>(sum: &mut [f64], a: &[f64], b: &[f64]) {
                // SAFETY: passed on from this function's contract.
                unsafe { Self::multiply_with::<ADD>(sum, a, b) }
            }
            unsafe fn row_products<const B: usize, const C: usize>(
        shape: Shape,
                digits: *const f64,
                key: *const f64,
                sums: *mut f64,
            ) {
                // SAFETY: passed on from this function's contract.
                unsafe { Self::row_products_with::<B, C>(shape, digits, key, sums) }
            }
        }
    };
}

kernels!(PortableKernels, Portable);
#[cfg(target_arch = "x86_64")]
kernels!(Avx2Kernels, super::avx2::Avx2, "avx2,fma");
#[cfg(target_arch = "x86_64")]
kernels!(Avx512Kernels, super::avx512::Avx512, "avx512f,avx512dq,avx512bw,avx512vl");
