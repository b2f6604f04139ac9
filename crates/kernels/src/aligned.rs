//! Storage aligned to the cache line, so that no vector load crosses two lines, and on large pages where the system has them: a
//! transform of 2^16 words touches 128 small pages, more than the processor's first table of addresses holds.

use crate::torus::Torus;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

/// Numbers of a cache line.
const LINE: usize = 8;

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

/// Numbers that start at a multiple of 64 bytes; zero when made.
pub struct AlignedVector {
    /// With a part of a line before them, so that they start where one does.
    numbers: Vec<f64>,
    start: usize,
    length: usize,
}

/// Where the first line begins in `numbers`.
fn first_line(numbers: &[f64]) -> usize {
    let address = numbers.as_ptr().addr();
    (address.next_multiple_of(LINE * size_of::<f64>()) - address) / size_of::<f64>()
}

/// The numbers of whole lines that hold `length`, and of a part of one before them.
fn with_a_line_before(length: usize) -> usize {
    elements(&[length.div_ceil(LINE) + 1, LINE])
}

impl AlignedVector {
    /// `length` zeros. Memory that the system gives is zero, and not written again.
    pub fn zeros(length: usize) -> Self {
        let mut numbers = vec![0.0; with_a_line_before(length)];
        prefer_large_pages(&mut numbers);
        let start = first_line(&numbers);
        Self { numbers, start, length }
    }

    /// No number yet, with room for `length`.
    fn with_room(length: usize) -> Self {
        let mut numbers: Vec<f64> = Vec::with_capacity(with_a_line_before(length));
        prefer_large_pages(numbers.spare_capacity_mut());
        let start = first_line(&numbers);
        numbers.resize(start, 0.0);
        Self { numbers, start, length: 0 }
    }

    /// With `more` behind its numbers. There is room for them: else what is there would move away from its line.
    fn append(&mut self, more: impl ExactSizeIterator<Item = f64>) {
        assert!(more.len() <= self.numbers.capacity() - self.numbers.len(), "room for all numbers");
        self.length += more.len();
        self.numbers.extend(more);
    }
}

impl Clone for AlignedVector {
    fn clone(&self) -> Self {
        let mut clone = Self::with_room(self.length);
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

/// Words of a piece that is made in the first-level cache.
const PIECE: usize = 512;

impl AlignedTorus<u64> {
    /// `length` words that `make` writes, a piece at a time: it is given where the piece begins, and as many words to write over. They are
    /// written to memory once, where words made as zeros would be written twice.
    pub fn made(length: usize, mut make: impl FnMut(usize, &mut [u64])) -> Self {
        let mut lines = AlignedVector::with_room(length);
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

    #[test]
    fn clones_and_what_is_made_in_pieces_are_aligned_and_the_same() {
        for length in [0, 1, 8, PIECE - 1, PIECE, 3 * PIECE + 5] {
            let word = |index: usize| (index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let made = AlignedTorus::made(length, |start, piece| {
                piece.iter_mut().zip(start..).for_each(|(piece, index)| *piece = word(index));
            });
            let clone = made.clone();
            for words in [&made, &clone] {
                assert!(words.iter().copied().eq((0..length).map(word)), "{length}");
                assert!(words.as_ptr().addr().is_multiple_of(64));
            }
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
