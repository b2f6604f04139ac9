//! Storage aligned to cache lines, so that no vector load crosses two lines, and on large pages where available: a transform of 2^16 words
//! touches 128 small pages, more than the first-level TLB holds.

use crate::torus::Torus;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

/// Numbers in a cache line.
const LINE: usize = 8;

/// Bytes of a large page; smaller storage is not put on large pages.
#[cfg(target_os = "linux")]
const LARGE_PAGE: usize = 2 << 20;

/// Requests large pages for `storage`. It must be unwritten, such as a new large vector of zeros. If the request fails, only time is lost.
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

/// The number of elements of storage with these axes. All lengths that unsafe code relies on come from here: a product that wrapped around
/// would make short memory appear long.
///
/// # Panics
/// If the product exceeds the address space.
pub(crate) fn elements(factors: &[usize]) -> usize {
    let product = factors.iter().try_fold(1usize, |product, &factor| product.checked_mul(factor));
    product.unwrap_or_else(|| panic!("storage of {factors:?} elements is larger than any address space"))
}

/// Numbers aligned to 64 bytes; initially zero.
pub struct AlignedVector {
    /// Includes padding in front, so that the first number starts a line.
    numbers: Vec<f64>,
    start: usize,
    length: usize,
}

/// Where the first line begins in `numbers`.
fn first_line(numbers: &[f64]) -> usize {
    let address = numbers.as_ptr().addr();
    (address.next_multiple_of(LINE * size_of::<f64>()) - address) / size_of::<f64>()
}

/// Length of whole lines for `length` numbers plus padding for alignment.
fn with_a_line_before(length: usize) -> usize {
    elements(&[length.div_ceil(LINE) + 1, LINE])
}

impl AlignedVector {
    /// `length` zeros. The system's memory is already zero and is not written again.
    pub fn zeros(length: usize) -> Self {
        let mut numbers = vec![0.0; with_a_line_before(length)];
        prefer_large_pages(&mut numbers);
        let start = first_line(&numbers);
        Self { numbers, start, length }
    }

    /// An empty vector with capacity for `length`.
    fn with_capacity(length: usize) -> Self {
        let mut numbers: Vec<f64> = Vec::with_capacity(with_a_line_before(length));
        prefer_large_pages(numbers.spare_capacity_mut());
        let start = first_line(&numbers);
        numbers.resize(start, 0.0);
        Self { numbers, start, length: 0 }
    }

    /// Appends `more`. The capacity must suffice: a reallocation would lose the alignment.
    fn append(&mut self, more: impl ExactSizeIterator<Item = f64>) {
        assert!(more.len() <= self.numbers.capacity() - self.numbers.len(), "capacity for all numbers");
        self.length += more.len();
        self.numbers.extend(more);
    }
}

impl Clone for AlignedVector {
    fn clone(&self) -> Self {
        let mut clone = Self::with_capacity(self.length);
        clone.append(self.iter().copied());
        clone
    }
}

impl Deref for AlignedVector {
    type Target = [f64];
    fn deref(&self) -> &[f64] {
        &self.numbers[self.start..self.start + self.length]
    }
}

impl DerefMut for AlignedVector {
    fn deref_mut(&mut self) -> &mut [f64] {
        &mut self.numbers[self.start..self.start + self.length]
    }
}

impl fmt::Debug for AlignedVector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// Torus elements aligned to 64 bytes; initially zero.
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

/// Words of a chunk that fits the first-level cache.
pub const PIECE: usize = 512;

impl AlignedTorus<u64> {
    /// `length` words written by `make` in chunks: it gets the start of a chunk and the words to overwrite. Memory is written only once,
    /// unlike words that are zeroed first.
    pub fn made(length: usize, mut make: impl FnMut(usize, &mut [u64])) -> Self {
        let mut lines = AlignedVector::with_capacity(length);
        let mut piece = [0; PIECE];
        for start in (0..length).step_by(PIECE) {
            let piece = &mut piece[..PIECE.min(length - start)];
            make(start, piece);
            lines.append(piece.iter().map(|&word| f64::from_bits(word)));
        }
        Self { lines, length, element: PhantomData }
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
