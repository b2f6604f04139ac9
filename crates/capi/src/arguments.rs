//! The arguments and results that callers pass by address.

use crate::fault::{Fault, Status, null};
use std::ptr::{null_mut, slice_from_raw_parts_mut};
use zeroize::Zeroize;

/// `pf_bytes`: `size` bytes and a zero.
#[repr(C)]
pub struct Bytes {
    data: *mut u8,
    size: usize,
}

/// The bytes at an address.
///
/// # Safety
/// `data` is null or has `size` bytes, which live and do not change as long as the result.
pub unsafe fn given<'a>(what: &str, data: *const u8, size: usize) -> Result<&'a [u8], Fault> {
    if data.is_null() {
        return Err(null(what));
    }
    if isize::try_from(size).is_err() {
        return Err(Fault(Status::Call, format!("{what} has {size} bytes, more than memory; give its size")));
    }
    // SAFETY: the caller vouches for `size` bytes.
    Ok(unsafe { std::slice::from_raw_parts(data, size) })
}

/// The object at an address.
///
/// # Safety
/// `pointer` is null or valid as long as the result.
pub unsafe fn pointed<'a, T>(what: &str, pointer: *const T) -> Result<&'a T, Fault> {
    // SAFETY: the caller vouches for it.
    unsafe { pointer.as_ref() }.ok_or_else(|| null(what))
}

/// Gives `content` to the caller, and wipes it here.
///
/// # Safety
/// `target` is null or may be written.
pub unsafe fn give(what: &str, mut content: Vec<u8>, target: *mut Bytes) -> Result<(), Fault> {
    let size = content.len();
    let mut copy = vec![0; size + 1];
    copy[..size].copy_from_slice(&content);
    content.zeroize();
    if target.is_null() {
        copy.zeroize();
        return Err(null(what));
    }
    let data = Box::into_raw(copy.into_boxed_slice()).cast();
    // SAFETY: the caller vouches for it.
    unsafe { target.write(Bytes { data, size }) };
    Ok(())
}

impl Bytes {
    /// Wipes and frees them.
    ///
    /// # Safety
    /// They are from [`give`], or have no data.
    pub unsafe fn free(&mut self) {
        if self.data.is_null() {
            return;
        }
        // SAFETY: they are the box that `give` made.
        let mut content = unsafe { Box::from_raw(slice_from_raw_parts_mut(self.data, self.size + 1)) };
        content.zeroize();
        *self = Self { data: null_mut(), size: 0 };
    }
}
