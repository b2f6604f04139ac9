//! The GPU runtime: kernel programs on a card of NVIDIA's, those of TFHE ([`Executor`]) and those on residue polynomials ([`rns`]).
//!
//! Kernels are CUDA in `kernels/`, compiled for the card at hand and the parameter set when an executor starts (NVRTC, about a
//! second), with the driver's and the compiler's libraries found at run time: without them there is no card, and that is an error
//! that says so. A batch stays on the card from the first operation of a program to the last. [`Device`] is what they need of a
//! card; tests compile the same kernels for the processor and run them thread by thread.
//!
//! Exponents, digits and key switches are those of the CPU, bit for bit. Blind rotations are in f64 as the CPU's, with roundings of their own: both are within the
//! proven bound of the exact ones (`polyfabric_kernels::external_product`).

#[cfg(feature = "gpu")]
mod cache;
#[cfg(feature = "gpu")]
mod cuda;
mod device;
#[cfg(all(test, unix))]
mod emulator;
mod error;
mod estimate;
pub mod rns;
mod shape;
mod source;
mod tfhe;
mod twiddles;

#[cfg(feature = "gpu")]
pub use cuda::Cuda;
pub use device::{Call, Device, Launch};
pub use error::GpuError;
pub use estimate::{Card, multiply_adds};
pub use shape::Shape;
pub use source::Source;
pub use tfhe::{Executor, Ran};

/// The bytes of numbers.
fn bytes_of<E: Copy>(numbers: &[E]) -> &[u8] {
    // SAFETY: the callers' elements are integers, addresses and f64, which have no padding.
    unsafe { std::slice::from_raw_parts(numbers.as_ptr().cast(), size_of_val(numbers)) }
}

#[cfg(all(test, unix))]
mod tests;
