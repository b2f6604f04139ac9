//! Storage aligned to the cache line, so that no vector load crosses two lines.

use crate::torus::Torus;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

/// One cache line of eight numbers.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([f64; 8]);

/// Numbers that start at a multiple of 64 bytes; zero when made.
#[derive(Clone)]
pub struct AlignedVector {
    lines: Vec<Line>,
    length: usize,
}

impl AlignedVector {
    /// `length` zeros.
    pub fn zeros(length: usize) -> Self {
        Self { lines: vec![Line([0.0; 8]); length.div_ceil(8)], length }
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
        let numbers = (length * size_of::<T>()).div_ceil(size_of::<f64>());
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
