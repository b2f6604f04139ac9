//! Memory that JavaScript writes to, and randomness, for browsers.

use std::alloc::{Layout, alloc_zeroed};

#[link(wasm_import_module = "polyfabric")]
unsafe extern "C" {
    /// Fills memory with `crypto.getRandomValues`; returns whether it could.
    fn random(target: *mut u8, size: usize) -> bool;
}

/// The source of all randomness of this library. Without the import a module is not instantiated, so there is none that is weaker.
#[unsafe(no_mangle)]
unsafe extern "Rust" fn __getrandom_v03_custom(target: *mut u8, size: usize) -> Result<(), getrandom::Error> {
    // SAFETY: the caller vouches for `size` bytes.
    if unsafe { random(target, size) } { Ok(()) } else { Err(getrandom::Error::UNEXPECTED) }
}

fn layout(size: usize) -> Option<Layout> {
    // As structures of the interface need it.
    Layout::from_size_align(size, 8).ok().filter(|own| own.size() > 0)
}

/// Memory of `size` bytes, or null.
#[unsafe(no_mangle)]
pub extern "C" fn pf_allocate(size: usize) -> *mut u8 {
    // SAFETY: the size is not 0.
    layout(size).map_or(std::ptr::null_mut(), |layout| unsafe { alloc_zeroed(layout) })
}

/// Wipes and frees memory from [`pf_allocate`].
///
/// # Safety
/// `memory` is from there, for this size.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pf_release(memory: *mut u8, size: usize) {
    let Some(layout) = layout(size).filter(|_| !memory.is_null()) else { return };
    // SAFETY: the caller vouches for it. The writes are not optimised away.
    unsafe {
        (0..size).for_each(|at| memory.add(at).write_volatile(0));
        std::alloc::dealloc(memory, layout);
    }
}
