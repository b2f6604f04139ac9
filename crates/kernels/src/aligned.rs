//! Storage aligned to the cache line, so that no vector load crosses two lines, and on large pages where the system has them: a
//! transform of 2^16 words touches 128 small pages, more than the processor's first table of addresses holds.

use crate::cancel;
use crate::torus::Torus;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

/// One cache line of eight numbers.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([f64; 8]);

/// Lines that are zeroed between two looks at whether the work is still wanted: 16 MiB.
const ZEROED_LINES: usize = 16 << 20 >> 6;

/// Bytes of a large page, and of the least storage that is put on some.
#[cfg(target_os = "linux")]
const LARGE_PAGE: usize = 2 << 20;

/// Asks for large pages under `storage`, which nothing has been written to yet (as a new vector of zeros has not, where it is large). A refusal costs
/// time alone.
pub fn prefer_large_pages<T>(storage: &mut [T]) {
    #[cfg(target_os = "linux")]
    {
        let range = storage.as_mut_ptr_range();
        let start = range.start.addr().next_multiple_of(LARGE_PAGE);
        let end = range.end.addr() / LARGE_PAGE * LARGE_PAGE;
        if start < end {
            // SAFETY: the pages lie within the storage, and the advice changes no byte of them.
            unsafe { libc::madvise(range.start.with_addr(start).cast(), end - start, libc::MADV_HUGEPAGE) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = storage;
}

/// The elements of storage that has `factors` along its axes. Every length that unsafe code relies on is computed so: a product that wraps
/// would make a short piece of memory pass for a long one.
///
/// # Panics
/// If their product is above what an address has bits for.
pub(crate) fn elements(factors: &[usize]) -> usize {
    let product = factors.iter().try_fold(1usize, |product, &factor| product.checked_mul(factor));
    product.unwrap_or_else(|| panic!("storage of {factors:?} elements is larger than any address space"))
}

/// Room for `count` lines.
fn room(count: usize) -> Vec<Line> {
    let mut lines = Vec::with_capacity(count);
    prefer_large_pages(lines.spare_capacity_mut());
    lines
}

/// Numbers that start at a multiple of 64 bytes; zero when made.
pub struct AlignedVector {
    lines: Vec<Line>,
    length: usize,
}

impl AlignedVector {
    /// `length` zeros.
    pub fn zeros(length: usize) -> Self {
        let count = length.div_ceil(8);
        let mut lines = room(count);
        // The system gives memory when it is first written: a gigabyte in a second.
        while lines.len() < count {
            cancel::check();
            lines.resize(count.min(lines.len() + ZEROED_LINES), Line([0.0; 8]));
        }
        Self { lines, length }
    }
}

impl Clone for AlignedVector {
    fn clone(&self) -> Self {
        let mut lines = room(self.lines.len());
        lines.extend_from_slice(&self.lines);
        Self { lines, length: self.length }
    }
}

impl Deref for AlignedVector {
    type Target = [f64];
    fn deref(&self) -> &[f64] {
        // SAFETY: the lines are contiguous, initialised, and hold at least `length` numbers.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.length) }
    }
}

impl DerefMut for AlignedVector {
    fn deref_mut(&mut self) -> &mut [f64] {
        // SAFETY: as in `deref`; the borrow of `self` is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.length) }
    }
}

impl fmt::Debug for AlignedVector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// Torus elements that start at a multiple of 64 bytes; zero when made.
#[derive(Clone, Debug)]
pub struct AlignedTorus<T> {
    lines: AlignedVector,
    length: usize,
    element: PhantomData<T>,
}

impl<T: Torus> AlignedTorus<T> {
    /// `length` zeros.
    pub fn zeros(length: usize) -> Self {
        let numbers = elements(&[length, size_of::<T>()]).div_ceil(size_of::<f64>());
        Self { lines: AlignedVector::zeros(numbers), length, element: PhantomData }
    }
}

impl<T: Torus> Deref for AlignedTorus<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        // SAFETY: `Torus` is sealed to u32 and u64, for which every bit pattern is a value; the lines hold at
        // least `length` of them, aligned.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.length) }
    }
}

impl<T: Torus> DerefMut for AlignedTorus<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`; the borrow of `self` is exclusive, and every u32 or u64 pattern is an f64.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.length) }
    }
}

#[cfg(test)]
mod tests {
    //! Is storage as long as it says, and refused where no memory could be?
    use super::*;

    #[test]
    fn storage_has_its_length_and_is_aligned() {
        for length in [0, 1, 7, 8, 9, 1000] {
            let (mut words, mut halves) = (AlignedTorus::<u64>::zeros(length), AlignedTorus::<u32>::zeros(length));
            assert_eq!((words.len(), halves.len(), AlignedVector::zeros(length).len()), (length, length, length));
            words.fill(u64::MAX);
            halves.fill(u32::MAX);
            assert!(words.as_ptr().addr().is_multiple_of(64) && halves.as_ptr().addr().is_multiple_of(64));
        }
    }

    /// 2^61 elements of eight bytes are 2^64 bytes: a product that wraps says 0.
    #[test]
    #[should_panic(expected = "larger than any address space")]
    fn a_length_whose_bytes_wrap_is_refused() {
        let storage = AlignedTorus::<u64>::zeros(1 << 61);
        assert_eq!(storage.len(), 0, "storage that is not there");
    }
}
