//! The transform, written once over [`Lanes`].
//!
//! A spectrum stores its M complex points in groups of eight: eight real parts, then eight imaginary ones (two cache lines). The forward transform
//! goes down the tree of [`super::plan`] (decimation in frequency), the inverse up (decimation in time), so no bit reversal is needed; products are
//! pointwise in storage order.
//!
//! Down to 64-point nodes a pass works on whole groups. The last six levels of a 64-point node run in registers: radix 8 across its eight groups, a
//! transposition, radix 8 again. Every 64-point node therefore stays transposed in the spectrum.

use super::butterflies::{Complex, Each, NUMBERS, Same, cyclic_8, lanes_down, lanes_up, levels, reversed};
use super::lanes::{Arithmetic, Eight, Lanes, magic};
use super::plan::{BLOCK, BLOCK_TWIDDLES, Pass, Plan};

/// The coefficients read by a forward transform.
pub(super) trait Source: Copy {
    /// One vector of coefficients from `at`. SAFETY: `V`'s set is present and the range is within the source.
    unsafe fn load<V: Lanes>(self, at: usize) -> V;
}

impl Source for *const i32 {
    #[inline(always)]
    unsafe fn load<V: Lanes>(self, at: usize) -> V {
        // SAFETY: this function's contract.
        unsafe { V::from_i32(self.add(at)) }
    }
}
impl Source for *const i64 {
    #[inline(always)]
    unsafe fn load<V: Lanes>(self, at: usize) -> V {
        // SAFETY: this function's contract.
        unsafe { V::from_i64(self.add(at)) }
    }
}

/// The coefficients to which an inverse transform adds.
pub(super) trait Sink: Copy {
    /// Constant that must have been added to each value.
    fn bias(self) -> f64;
    /// Adds `a` to the coefficients from `at_a` and `b` to those from `at_b`. SAFETY: `V`'s set is present, the ranges are within the sink.
    unsafe fn add<V: Lanes>(self, at_a: usize, a: V, at_b: usize, b: V);
    /// The sink that starts at coefficient `at`.
    fn from(self, at: usize) -> Self;
}

/// 32-bit torus: values below 2^83.
#[derive(Clone, Copy)]
pub(super) struct Torus32(pub *mut u32);
/// 32-bit torus: values up to 2^(51 + shift), rounded to multiples of 2^shift: first when the bias is added to a part of them, and again when the
/// rest is.
#[derive(Clone, Copy)]
pub(super) struct Bounded32(pub *mut u32, pub u32);
/// 64-bit torus: values below 2^114.
#[derive(Clone, Copy)]
pub(super) struct Torus64(pub *mut u64);
/// Values times a factor.
#[derive(Clone, Copy)]
pub(super) struct Scaled<S>(pub S, pub f64);

impl Sink for Torus32 {
    #[inline(always)]
    fn bias(self) -> f64 {
        0.0
    }
    #[inline(always)]
    unsafe fn add<V: Lanes>(self, at_a: usize, a: V, at_b: usize, b: V) {
        // SAFETY: this function's contract.
        unsafe {
            let bias = V::splat(magic(0));
            V::accumulate_32(a.reduce_32().add(bias), b.reduce_32().add(bias), 0, self.0.add(at_a), self.0.add(at_b))
        }
    }
    #[inline(always)]
    fn from(self, at: usize) -> Self {
        Self(self.0.wrapping_add(at))
    }
}
impl Sink for Bounded32 {
    #[inline(always)]
    fn bias(self) -> f64 {
        magic(self.1)
    }
    #[inline(always)]
    unsafe fn add<V: Lanes>(self, at_a: usize, a: V, at_b: usize, b: V) {
        // SAFETY: this function's contract.
        unsafe { V::accumulate_32(a, b, self.1, self.0.add(at_a), self.0.add(at_b)) }
    }
    #[inline(always)]
    fn from(self, at: usize) -> Self {
        Self(self.0.wrapping_add(at), self.1)
    }
}
impl Sink for Torus64 {
    #[inline(always)]
    fn bias(self) -> f64 {
        0.0
    }
    #[inline(always)]
    unsafe fn add<V: Lanes>(self, at_a: usize, a: V, at_b: usize, b: V) {
        // SAFETY: this function's contract.
        unsafe {
            a.add_to_64(self.0.add(at_a));
            b.add_to_64(self.0.add(at_b));
        }
    }
    #[inline(always)]
    fn from(self, at: usize) -> Self {
        Self(self.0.wrapping_add(at))
    }
}
impl<S: Sink> Sink for Scaled<S> {
    #[inline(always)]
    fn bias(self) -> f64 {
        0.0
    }
    #[inline(always)]
    unsafe fn add<V: Lanes>(self, at_a: usize, a: V, at_b: usize, b: V) {
        // SAFETY: this function's contract.
        unsafe {
            let (factor, bias) = (V::splat(self.1), V::splat(self.0.bias()));
            self.0.add(at_a, a.mul_add(factor, bias), at_b, b.mul_add(factor, bias))
        }
    }
    #[inline(always)]
    fn from(self, at: usize) -> Self {
        Self(self.0.from(at), self.1)
    }
}

/// Memory to prefetch during a transform, evenly over time and four cache lines at once: at a higher rate the processor drops some prefetches.
#[derive(Clone, Copy)]
pub(super) struct Ahead {
    next: *const u8,
    /// Lines per unit of work, and lines due, times 2^16.
    rate: usize,
    due: usize,
}

impl Ahead {
    /// Prefetches nothing.
    pub const NONE: Self = Self { next: std::ptr::null(), rate: 0, due: 0 };

    /// `numbers`, spread over `work` units of work.
    pub fn new(numbers: &[f64], work: usize) -> Self {
        let lines = size_of_val(numbers) / 64;
        Self { next: numbers.as_ptr().cast(), rate: (lines << 16).div_ceil(work.max(1)), due: 0 }
    }

    /// Prefetches the lines due after `work` units. SAFETY: `V`'s set is present.
    #[inline(always)]
    pub unsafe fn step<V: Lanes>(&mut self, work: usize) {
        self.due += work * self.rate;
        while self.due >= 4 << 16 {
            for line in 0..4 {
                // SAFETY: this function's contract.
                unsafe { V::prefetch(self.next.wrapping_add(64 * line)) };
            }
            self.next = self.next.wrapping_add(256);
            self.due -= 4 << 16;
        }
    }
}

/// Work of eight points in a first pass of `radix` levels including conversions, in units of one level.
pub(super) const fn first_work(radix: usize) -> usize {
    radix + 1
}

/// Work of eight points in a last pass of `radix` levels, including twist and rounding.
pub(super) const fn last_work(radix: usize) -> usize {
    radix + 2
}

/// Work of the six levels of a block.
pub(super) const BLOCK_WORK: usize = 48;

/// Memory to prefetch into the first-level cache, eight lines at a time; loops of other lengths cost more than they gain.
#[derive(Clone, Copy)]
pub(super) struct Near {
    pub next: *const u8,
    pub lines: usize,
}

impl Near {
    /// Prefetches nothing.
    pub const NONE: Self = Self { next: std::ptr::null(), lines: 0 };

    /// Eight lines. SAFETY: `V`'s set is present.
    #[inline(always)]
    pub unsafe fn step<V: Lanes>(&mut self) {
        if self.lines >= 8 {
            for line in 0..8 {
                // SAFETY: this function's contract.
                unsafe { V::prefetch_near(self.next.wrapping_add(64 * line)) };
            }
            self.next = self.next.wrapping_add(512);
            self.lines -= 8;
        }
    }
}

/// Index of point `at`, a multiple of `V`'s lanes: groups of eight real parts, then eight imaginary ones.
#[inline(always)]
fn place<V: Lanes>(at: usize) -> usize {
    // A vector that is a whole group needs no computation.
    if V::WIDTH == 8 { 2 * at } else { 2 * (at & !7) + (at & 7) }
}

/// Index of the table entries for coefficients from `at`; each eight have [`NUMBERS`] vectors.
#[inline(always)]
fn each_place<V: Lanes>(at: usize) -> usize {
    if V::WIDTH == 8 { NUMBERS * at } else { NUMBERS * (at & !7) + (at & 7) }
}

/// One vector of points from `at`. SAFETY: `V`'s set is present; the points lie within the spectrum, and `at` is a multiple of the lanes.
#[inline(always)]
pub(super) unsafe fn read<V: Lanes>(spectrum: *const f64, at: usize) -> Complex<V> {
    // SAFETY: this function's contract.
    unsafe { Complex { re: V::load(spectrum.add(place::<V>(at))), im: V::load(spectrum.add(place::<V>(at) + 8)) } }
}

#[inline(always)]
pub(super) unsafe fn write<V: Lanes>(value: Complex<V>, spectrum: *mut f64, at: usize) {
    // SAFETY: the contract of `read`.
    unsafe {
        value.re.store(spectrum.add(place::<V>(at)));
        value.im.store(spectrum.add(place::<V>(at) + 8));
    }
}

/// [`read`] of eight points. SAFETY: as there.
#[inline(always)]
unsafe fn read_eight<E: Eight>(spectrum: *const f64, at: usize) -> Complex<E> {
    // SAFETY: this function's contract.
    unsafe { Complex { re: E::load(spectrum.add(2 * at)), im: E::load(spectrum.add(2 * at + 8)) } }
}

/// [`write`] of eight points. SAFETY: as there.
#[inline(always)]
unsafe fn write_eight<E: Eight>(value: Complex<E>, spectrum: *mut f64, at: usize) {
    // SAFETY: this function's contract.
    unsafe {
        value.re.store(spectrum.add(2 * at));
        value.im.store(spectrum.add(2 * at + 8));
    }
}

/// Forward levels of `2^R` elements at the node whose [`NUMBERS`] are at `numbers`. SAFETY: `V`'s set is present, and the entries are valid.
#[inline(always)]
pub(super) unsafe fn node_down<V: Arithmetic, const R: u32>(x: &mut [Complex<V>; 8], numbers: *const f64) {
    // SAFETY: this function's contract.
    unsafe { levels::<V, R, true>(x, Same { numbers, apart: 1 }) }
}

#[inline(always)]
pub(super) unsafe fn zero<V: Arithmetic>() -> Complex<V> {
    // SAFETY: the set is present.
    unsafe { Complex { re: V::splat(0.0), im: V::splat(0.0) } }
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
        for i in (0..stride).step_by(V::WIDTH) {
            ahead.step::<V>((first_work(R as usize) << R) * V::WIDTH / 8);
            let mut x = [zero::<V>(); 8];
            for (r, x) in x.iter_mut().enumerate().take(1 << R) {
                let at = r * stride + i;
                *x = Complex { re: source.load(at), im: source.load(points + at) };
            }
            node_down::<V, R>(&mut x, twiddles);
            for (r, x) in x.iter().enumerate().take(1 << R) {
                write(*x, spectrum, r * stride + i);
            }
        }
    }
}

/// The last pass of an inverse: removes the twist and adds to the sink. SAFETY: as for [`first`].
#[inline(always)]
unsafe fn last<V: Lanes, S: Sink, const R: u32>(
    plan: &Plan,
    twiddles: *const f64,
    spectrum: *const f64,
    sink: S,
    ahead: &mut Ahead,
    near: &mut Near,
) {
    // SAFETY: this function's contract; points r·stride + i with i < stride are below M.
    unsafe {
        let stride = plan.points >> R;
        let untwist = plan.untwist.as_ptr();
        let bias = V::splat(sink.bias());
        for i in (0..stride).step_by(V::WIDTH) {
            ahead.step::<V>((last_work(R as usize) << R) * V::WIDTH / 8);
            if V::WIDTH == 8 || i % 8 == 0 {
                near.step::<V>();
            }
            let mut x = [zero::<V>(); 8];
            for (r, x) in x.iter_mut().enumerate().take(1 << R) {
                *x = read(spectrum, r * stride + i);
            }
            x = reversed::<_, R>(x);
            levels::<V, R, false>(&mut x, Each(twiddles.wrapping_add(each_place::<V>(i))));
            x = reversed::<_, R>(x);
            for (r, x) in x.iter().enumerate().take(1 << R) {
                let at = r * stride + i;
                let z: Complex<V> = read(untwist, at);
                let re = x.im.neg_mul_add(z.im, x.re.mul_add(z.re, bias));
                let im = x.re.mul_add(z.im, x.im.mul_add(z.re, bias));
                sink.add(at, re, plan.points + at, im);
            }
        }
    }
}

/// A pass in place over all nodes of one depth. SAFETY: the set is present; `spectrum` has 2M numbers.
#[inline(always)]
unsafe fn middle<V: Lanes, const R: u32, const DOWN: bool>(points: usize, pass: &Pass, spectrum: *mut f64) {
    // SAFETY: this function's contract; node · size + r·stride + i is below M.
    unsafe {
        let size = points >> pass.depth;
        let stride = size >> R;
        for node in 0..1usize << pass.depth {
            let numbers = pass.down.as_ptr().wrapping_add(node * NUMBERS);
            for i in (0..stride).step_by(V::WIDTH) {
                let base = node * size + i;
                let mut x = [zero::<V>(); 8];
                for (r, x) in x.iter_mut().enumerate().take(1 << R) {
                    *x = read(spectrum, base + r * stride);
                }
                if DOWN {
                    node_down::<V, R>(&mut x, numbers);
                } else {
                    x = reversed::<_, R>(x);
                    levels::<V, R, false>(&mut x, Each(pass.up.as_ptr().add(each_place::<V>(i))));
                    x = reversed::<_, R>(x);
                }
                for (r, x) in x.iter().enumerate().take(1 << R) {
                    write(*x, spectrum, base + r * stride);
                }
            }
        }
    }
}

/// The last six levels of block `index`, in place; all levels of a smaller transform. SAFETY: the set is present; `spectrum` has
/// 2M numbers, and the block exists.
#[inline(always)]
pub(super) unsafe fn block_down<V: Lanes>(plan: &Plan, index: usize, spectrum: *mut f64, near: Near) {
    // SAFETY: this function's contract.
    unsafe {
        if plan.points < BLOCK {
            return small::<true>(plan, std::slice::from_raw_parts_mut(spectrum, 2 * plan.points));
        }
        V::block_down(plan, index, spectrum, near);
    }
}

/// [`block_down`] in vectors of eight. SAFETY: as there, and there are blocks.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) unsafe fn block_down_whole<V: Lanes + Eight>(plan: &Plan, index: usize, spectrum: *mut f64, mut near: Near) {
    // SAFETY: this function's contract; the plan has `BLOCK_TWIDDLES` numbers for each block.
    unsafe {
        let own = plan.blocks.as_ptr().add(index * BLOCK_TWIDDLES);
        let base = index * BLOCK;
        let mut x = [zero::<V>(); 8];
        for (r, x) in x.iter_mut().enumerate() {
            *x = read(spectrum, base + 8 * r);
        }
        near.step::<V>();
        node_down::<V, 3>(&mut x, own);
        near.step::<V>();
        lanes_down(&mut x, own.add(NUMBERS));
        near.step::<V>();
        for (r, x) in x.iter().enumerate() {
            write(*x, spectrum, base + 8 * r);
        }
    }
}

/// [`block_down`] in vectors of less than eight; only lane exchanges use eight. SAFETY: as there, and there are blocks.
#[inline(always)]
pub(super) unsafe fn block_down_parts<V: Lanes, E: Eight>(
    plan: &Plan,
    index: usize,
    spectrum: *mut f64,
    mut near: Near,
) {
    // SAFETY: this function's contract; the plan has `BLOCK_TWIDDLES` numbers for each block.
    unsafe {
        let own = plan.blocks.as_ptr().add(index * BLOCK_TWIDDLES);
        let block = spectrum.add(2 * index * BLOCK);
        for lane in (0..8).step_by(V::WIDTH) {
            let mut x = [zero::<V>(); 8];
            for (r, x) in x.iter_mut().enumerate() {
                *x = read(block, 8 * r + lane);
            }
            node_down::<V, 3>(&mut x, own);
            for (r, x) in x.iter().enumerate() {
                write(*x, block, 8 * r + lane);
            }
            near.step::<V>();
        }
        let mut x = [zero::<E>(); 8];
        for (r, x) in x.iter_mut().enumerate() {
            *x = read_eight(block, 8 * r);
        }
        lanes_down(&mut x, own.add(NUMBERS));
        near.step::<V>();
        for (r, x) in x.iter().enumerate() {
            write_eight(*x, block, 8 * r);
        }
    }
}

/// The inverse of the last six levels, from the 64 points at `from` to the 64 at `to`; all levels of a smaller transform. SAFETY: the set is
/// present, the points are valid.
#[inline(always)]
pub(super) unsafe fn block_up<V: Lanes>(plan: &Plan, from: *const f64, to: *mut f64) {
    // SAFETY: this function's contract.
    unsafe {
        if plan.points < BLOCK {
            std::ptr::copy(from, to, 2 * plan.points);
            return small::<false>(plan, std::slice::from_raw_parts_mut(to, 2 * plan.points));
        }
        V::block_up(plan, from, to);
    }
}

/// [`block_up`] in vectors of eight. SAFETY: as there, and there are blocks.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) unsafe fn block_up_whole<V: Lanes + Eight>(plan: &Plan, from: *const f64, to: *mut f64) {
    // SAFETY: this function's contract.
    unsafe {
        let mut x = [zero::<V>(); 8];
        for (r, x) in x.iter_mut().enumerate() {
            *x = read(from, 8 * r);
        }
        let mut x = reversed::<_, 3>(x);
        cyclic_8(&mut x);
        let mut x = reversed::<_, 3>(x);
        lanes_up(&mut x, plan.block_up.as_ptr());
        for (r, x) in x.iter().enumerate() {
            write(*x, to, 8 * r);
        }
    }
}

/// [`block_up`] in vectors of less than eight; only lane exchanges use eight. SAFETY: as there, and there are blocks.
#[inline(always)]
pub(super) unsafe fn block_up_parts<V: Lanes, E: Eight>(plan: &Plan, from: *const f64, to: *mut f64) {
    // SAFETY: this function's contract.
    unsafe {
        for lane in (0..8).step_by(V::WIDTH) {
            let mut x = [zero::<V>(); 8];
            for (r, x) in x.iter_mut().enumerate() {
                *x = read(from, 8 * r + lane);
            }
            let mut x = reversed::<_, 3>(x);
            cyclic_8(&mut x);
            let x = reversed::<_, 3>(x);
            for (r, x) in x.iter().enumerate() {
                write(*x, to, 8 * r + lane);
            }
        }
        let mut x = [zero::<E>(); 8];
        for (r, x) in x.iter_mut().enumerate() {
            *x = read_eight(to, 8 * r);
        }
        lanes_up(&mut x, plan.block_up.as_ptr());
        for (r, x) in x.iter().enumerate() {
            write_eight(*x, to, 8 * r);
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

/// All levels above the blocks; none for a transform below 64 points. SAFETY: `V`'s set is present; the source has 2M coefficients, the spectrum
/// 2M numbers.
#[inline(always)]
pub(super) unsafe fn head_down<V: Lanes, S: Source>(plan: &Plan, source: S, to: *mut f64, ahead: &mut Ahead) {
    // SAFETY: this function's contract.
    unsafe {
        let Some((head, rest)) = plan.passes.split_first() else {
            return first::<V, S, 0>(plan.points, std::ptr::null(), source, to, ahead);
        };
        let twiddles = head.down.as_ptr();
        match head.radix {
            1 => first::<V, S, 1>(plan.points, twiddles, source, to, ahead),
            2 => first::<V, S, 2>(plan.points, twiddles, source, to, ahead),
            _ => first::<V, S, 3>(plan.points, twiddles, source, to, ahead),
        }
        for pass in rest {
            match pass.radix {
                1 => middle::<V, 1, true>(plan.points, pass, to),
                2 => middle::<V, 2, true>(plan.points, pass, to),
                _ => middle::<V, 3, true>(plan.points, pass, to),
            }
        }
    }
}

/// The inverse of [`head_down`], to `sink`; overwrites the spectrum. SAFETY: as there.
#[inline(always)]
pub(super) unsafe fn head_up<V: Lanes, S: Sink>(
    plan: &Plan,
    from: *mut f64,
    sink: S,
    ahead: &mut Ahead,
    near: &mut Near,
) {
    // SAFETY: this function's contract.
    unsafe {
        let Some((head, rest)) = plan.passes.split_first() else {
            return last::<V, S, 0>(plan, std::ptr::null(), from, sink, ahead, near);
        };
        for pass in rest.iter().rev() {
            match pass.radix {
                1 => middle::<V, 1, false>(plan.points, pass, from),
                2 => middle::<V, 2, false>(plan.points, pass, from),
                _ => middle::<V, 3, false>(plan.points, pass, from),
            }
        }
        let twiddles = head.up.as_ptr();
        match head.radix {
            1 => last::<V, S, 1>(plan, twiddles, from, sink, ahead, near),
            2 => last::<V, S, 2>(plan, twiddles, from, sink, ahead, near),
            _ => last::<V, S, 3>(plan, twiddles, from, sink, ahead, near),
        }
    }
}

/// Forward: 2M coefficients of `source` to `spectrum`. SAFETY: `V`'s set is present; the source holds
/// 2M coefficients.
#[inline(always)]
pub(super) unsafe fn forward<V: Lanes, S: Source>(plan: &Plan, source: S, spectrum: &mut [f64]) {
    assert_eq!(spectrum.len(), 2 * plan.points);
    // SAFETY: this function's contract; the length was just checked.
    unsafe {
        head_down::<V, S>(plan, source, spectrum.as_mut_ptr(), &mut { Ahead::NONE });
        for index in 0..plan.points.div_ceil(BLOCK) {
            block_down::<V>(plan, index, spectrum.as_mut_ptr(), Near::NONE);
        }
    }
}

/// Adds the unscaled inverse of `spectrum` to `sink`; overwrites `spectrum`. SAFETY: `V`'s set is present; the sink has 2M coefficients.
#[inline(always)]
pub(super) unsafe fn inverse<V: Lanes, S: Sink>(plan: &Plan, spectrum: &mut [f64], sink: S) {
    assert_eq!(spectrum.len(), 2 * plan.points);
    // SAFETY: this function's contract; the length was just checked.
    unsafe {
        for block in spectrum.chunks_mut(2 * BLOCK) {
            let block = block.as_mut_ptr();
            block_up::<V>(plan, block, block);
        }
        head_up::<V, S>(plan, spectrum.as_mut_ptr(), sink, &mut { Ahead::NONE }, &mut { Near::NONE });
    }
}

/// `accumulator` += a · b (`ADD`) or = a · b, pointwise. SAFETY: `V`'s set is present.
#[inline(always)]
pub(super) unsafe fn multiply<V: Lanes, const ADD: bool>(accumulator: &mut [f64], a: &[f64], b: &[f64]) {
    assert!(accumulator.len() == a.len() && a.len() == b.len() && a.len().is_multiple_of(16));
    // SAFETY: this function's contract; all three have the same number of whole groups.
    unsafe {
        for at in (0..a.len() / 2).step_by(V::WIDTH) {
            let x: Complex<V> = read(a.as_ptr(), at);
            let y: Complex<V> = read(b.as_ptr(), at);
            let sum = if ADD { read(accumulator.as_ptr(), at) } else { zero::<V>() };
            write(multiply_add(x, y, sum), accumulator.as_mut_ptr(), at);
        }
    }
}

/// sum + x y. SAFETY: `V`'s set is present.
#[inline(always)]
pub(super) unsafe fn multiply_add<V: Arithmetic>(x: Complex<V>, y: Complex<V>, sum: Complex<V>) -> Complex<V> {
    // SAFETY: this function's contract.
    unsafe {
        Complex {
            re: x.im.neg_mul_add(y.im, x.re.mul_add(y.re, sum.re)),
            im: x.im.mul_add(y.re, x.re.mul_add(y.im, sum.im)),
        }
    }
}
