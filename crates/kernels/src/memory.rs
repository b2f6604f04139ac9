//! Prefetches and streaming stores. Nothing here changes a result.

/// When an operation's results are read next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextUse {
    /// While they are still cached.
    Soon,
    /// After they have been evicted: they are written with streaming stores where possible, which avoids reading the overwritten lines.
    Late,
}

/// `next_use` if `words` is aligned for streaming stores, otherwise [`NextUse::Soon`].
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(crate) fn next_use_of(words: &[u64], next_use: NextUse) -> NextUse {
    if words.as_ptr().addr().is_multiple_of(LINE) { next_use } else { NextUse::Soon }
}

/// Orders streaming stores before all later accesses.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[inline]
pub(crate) fn finish(next_use: NextUse) {
    #[cfg(target_arch = "x86_64")]
    if next_use == NextUse::Late {
        // SAFETY: SSE is part of x86-64.
        unsafe { std::arch::x86_64::_mm_sfence() }
    }
    // NEON kernels have no streaming stores.
    #[cfg(target_arch = "aarch64")]
    let _ = next_use;
}

/// Prefetches the line at `address`, valid or not, into the second-level cache, where supported.
#[inline(always)]
pub(crate) fn fetch_line<T>(address: *const T) {
    fetch::<T, false>(address);
}

/// Prefetches into the first-level cache, for vector kernels.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[inline(always)]
pub(crate) fn fetch_line_near<T>(address: *const T) {
    fetch::<T, true>(address);
}

#[inline(always)]
fn fetch<T, const NEAR: bool>(address: *const T) {
    // SAFETY: SSE is part of x86-64, and the instruction ignores an invalid address.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _MM_HINT_T1, _mm_prefetch};
        let address = address.cast();
        if NEAR { _mm_prefetch::<_MM_HINT_T0>(address) } else { _mm_prefetch::<_MM_HINT_T1>(address) }
    }
    // SAFETY: the instruction ignores an invalid address. (Miri does not support assembly.)
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

/// Bytes of a cache line.
const LINE: usize = 64;

/// Prefetches `words` into the second-level cache.
#[inline]
pub fn prefetch(words: &[u64]) {
    words.chunks(LINE / size_of::<u64>()).for_each(|line| fetch_line(line.as_ptr()));
}

/// Prefetches words a few lines at a time during work that is not memory-bound.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fetch<'a> {
    next: *const u8,
    end: *const u8,
    rest: &'a [&'a [u64]],
    lines: usize,
}

impl<'a> Fetch<'a> {
    /// Prefetches `slices` over `steps` steps.
    pub(crate) fn new(slices: &'a [&'a [u64]], steps: usize) -> Self {
        let words: usize = slices.iter().map(|slice| slice.len()).sum();
        let lines = (words * size_of::<u64>()).div_ceil(LINE).div_ceil(steps.max(1));
        Self { next: std::ptr::null(), end: std::ptr::null(), rest: slices, lines }
    }

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
