//! Telling the processor what will be read soon.

/// Begins to fetch `words` into the second-level cache, where the processor has an instruction for it. Changes nothing else.
#[inline]
pub fn prefetch(words: &[u64]) {
    #[cfg(target_arch = "x86_64")]
    for line in words.chunks(8) {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: SSE is part of x86-64, and the address is valid.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(line.as_ptr().cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = words;
}
