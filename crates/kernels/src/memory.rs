//! Telling the processor what will be read when. Nothing here changes a result.

/// When the words that an operation writes are read next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextUse {
    /// While they are in the cache.
    Soon,
    /// When the cache has long been filled with others: they are written past it where the processor can, which spares it from reading
    /// first what is written over.
    Late,
}

/// `next_use`, if words written past the cache may begin where `words` do.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(crate) fn next_use_of(words: &[u64], next_use: NextUse) -> NextUse {
    if words.as_ptr().addr().is_multiple_of(LINE) { next_use } else { NextUse::Soon }
}

/// Orders what was written past the cache before everything that follows.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[inline]
pub(crate) fn finish(next_use: NextUse) {
    #[cfg(target_arch = "x86_64")]
    if next_use == NextUse::Late {
        // SAFETY: SSE is part of x86-64.
        unsafe { std::arch::x86_64::_mm_sfence() }
    }
    // NEON kernels write nothing past it.
    #[cfg(target_arch = "aarch64")]
    let _ = next_use;
}

/// Begins to fetch the line at `address`, valid or not, into the second-level cache, where the processor has an instruction for it.
#[inline(always)]
pub(crate) fn fetch_line<T>(address: *const T) {
    fetch::<T, false>(address);
}

/// The same into the first-level cache, for vector kernels.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[inline(always)]
pub(crate) fn fetch_line_near<T>(address: *const T) {
    fetch::<T, true>(address);
}

#[inline(always)]
fn fetch<T, const NEAR: bool>(address: *const T) {
    // SAFETY: SSE is part of x86-64, and the instruction ignores an address that is not valid.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _MM_HINT_T1, _mm_prefetch};
        let address = address.cast();
        if NEAR { _mm_prefetch::<_MM_HINT_T0>(address) } else { _mm_prefetch::<_MM_HINT_T1>(address) }
    }
    // SAFETY: the instruction ignores an address that is not valid. (Miri knows no assembly.)
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    unsafe {
        use std::arch::asm;
        if NEAR {
            asm!("prfm pldl1keep, [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
        } else {
            asm!("prfm pldl2keep, [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
        }
    }
    #[cfg(not(any(target_arch = "x86_64", all(target_arch = "aarch64", not(miri)))))]
    let _ = address;
}

/// Bytes of a line.
const LINE: usize = 64;

/// Begins to fetch `words` into the second-level cache.
#[inline]
pub fn prefetch(words: &[u64]) {
    words.chunks(LINE / size_of::<u64>()).for_each(|line| fetch_line(line.as_ptr()));
}

/// Words to fetch a few lines at a time, beside work that does not wait for memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fetch<'a> {
    next: *const u8,
    end: *const u8,
    rest: &'a [&'a [u64]],
    lines: usize,
}

impl<'a> Fetch<'a> {
    /// All of `slices` in `steps` steps.
    pub(crate) fn new(slices: &'a [&'a [u64]], steps: usize) -> Self {
        let words: usize = slices.iter().map(|slice| slice.len()).sum();
        let lines = (words * size_of::<u64>()).div_ceil(LINE).div_ceil(steps.max(1));
        Self { next: std::ptr::null(), end: std::ptr::null(), rest: slices, lines }
    }

    /// One step.
    #[inline(always)]
    pub(crate) fn step(&mut self) {
        for _ in 0..self.lines {
            while self.next >= self.end {
                let Some((slice, rest)) = self.rest.split_first() else {
                    self.lines = 0;
                    return;
                };
                let range = slice.as_ptr_range();
                (self.next, self.end, self.rest) = (range.start.cast(), range.end.cast(), rest);
            }
            fetch_line(self.next);
            self.next = self.next.wrapping_add(LINE);
        }
    }
}
