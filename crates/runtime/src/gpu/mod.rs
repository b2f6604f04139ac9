//! The GPU runtime: kernel programs of TFHE ([`Executor`]) and of CKKS and BGV ([`rns`]) on an NVIDIA card.
//!
//! Kernels are CUDA in `kernels/`. When an executor starts, NVRTC compiles them for the card and the parameter set in about a second. The libraries of driver and compiler
//! are loaded at run time; an error reports if they are missing. A batch stays on the card from a program's first operation to its last. [`Device`] is the interface to a
//! card; tests compile the same kernels for the processor and run them thread by thread.
//!
//! Exponents, digits and key switches are bit-identical to the CPU's. Blind rotations use f64 with different roundings; both are within the proven bound of the exact
//! result (`polyfabric_kernels::external_product`).

#[cfg(feature = "gpu")]
mod cache;
#[cfg(feature = "gpu")]
mod cuda;
mod device;
#[cfg(all(test, unix))]
mod emulator;
mod estimate;
pub mod rns;
mod shape;
mod source;
mod tfhe;
mod twiddles;

pub use crate::gpu_error::GpuError;
#[cfg(feature = "gpu")]
pub use cuda::Cuda;
pub use device::{Call, Device, Launch};
pub use estimate::{Card, multiply_adds};
pub use shape::Shape;
pub use source::Source;
pub use tfhe::{Executor, Ran};

fn bytes_of<E: Copy>(numbers: &[E]) -> &[u8] {
    // SAFETY: the callers' elements are integers, addresses and f64, which have no padding.
    unsafe { std::slice::from_raw_parts(numbers.as_ptr().cast(), size_of_val(numbers)) }
}

#[cfg(all(test, unix))]
mod tests;
