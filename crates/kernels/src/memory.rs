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

/// Begins to fetch `words` into the second-level cache, where the processor has an instruction for it.
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
