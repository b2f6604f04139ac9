//! The generic functions, compiled for each instruction set.

use super::lane_batch;
use super::lanes::{Lanes, Portable};
use super::passes::{Ahead, Sink, Source, forward, inverse, multiply};
use super::plan::Plan;
use super::product::{Iteration, Scratch, Shape, product};
use super::words::Digits;

/// The functions of one instruction set. Each is unsafe because the set must be present, and for the reasons of the generic function.
pub(super) trait Kernels {
    /// [`forward`].
    unsafe fn forward<S: Source>(plan: &Plan, source: S, spectrum: &mut [f64]);
    /// [`inverse`].
    unsafe fn inverse<S: Sink>(plan: &Plan, spectrum: &mut [f64], sink: S);
    /// [`multiply`].
    unsafe fn multiply<const ADD: bool>(accumulator: &mut [f64], a: &[f64], b: &[f64]);
    /// [`product`].
    #[allow(clippy::too_many_arguments)]
    unsafe fn product<T: Digits, S: Sink>(
        plan: &Plan,
        shape: Shape,
        accumulator: *const T,
        iteration: Iteration<'_>,
        key: *const f64,
        scratch: Scratch<T>,
        sink: S,
        ahead: Ahead,
        near: *const T,
    );
    /// [`lane_batch::product`].
    #[allow(clippy::too_many_arguments)]
    unsafe fn lane_batch_product(
        plan: &Plan,
        shape: Shape,
        accumulators: *mut u32,
        iteration: lane_batch::Iteration<'_>,
        key: *const f64,
        scratch: lane_batch::Scratch,
        rounding: Option<u32>,
        ahead: Ahead,
    );
}

/// Declares one type per instruction set, with functions compiled with `$feature`.
macro_rules! kernels {
    ($name:ident, $lanes:ty $(, $feature:literal)?) => {
        /// Compiled for one instruction set.
        pub(in crate::fft) struct $name;
        impl Kernels for $name {
            unsafe fn forward<S: Source>(plan: &Plan, source: S, spectrum: &mut [f64]) {
                $(#[target_feature(enable = $feature)])?
                unsafe fn compiled<V: Lanes, S: Source>(plan: &Plan, source: S, spectrum: &mut [f64]) {
                    // SAFETY: passed on.
                    unsafe { forward::<V, S>(plan, source, spectrum) }
                }
                // SAFETY: passed on.
                unsafe { compiled::<$lanes, S>(plan, source, spectrum) }
            }
            unsafe fn inverse<S: Sink>(plan: &Plan, spectrum: &mut [f64], sink: S) {
                $(#[target_feature(enable = $feature)])?
                unsafe fn compiled<V: Lanes, S: Sink>(plan: &Plan, spectrum: &mut [f64], sink: S) {
                    // SAFETY: passed on.
                    unsafe { inverse::<V, S>(plan, spectrum, sink) }
                }
                // SAFETY: passed on.
                unsafe { compiled::<$lanes, S>(plan, spectrum, sink) }
            }
            unsafe fn multiply<const ADD: bool>(sum: &mut [f64], a: &[f64], b: &[f64]) {
                $(#[target_feature(enable = $feature)])?
                unsafe fn compiled<V: Lanes, const ADD: bool>(sum: &mut [f64], a: &[f64], b: &[f64]) {
                    // SAFETY: passed on.
                    unsafe { multiply::<V, ADD>(sum, a, b) }
                }
                // SAFETY: passed on.
                unsafe { compiled::<$lanes, ADD>(sum, a, b) }
            }
            unsafe fn product<T: Digits, S: Sink>(
                plan: &Plan,
                shape: Shape,
                accumulator: *const T,
                iteration: Iteration<'_>,
                key: *const f64,
                scratch: Scratch<T>,
                sink: S,
                ahead: Ahead,
                near: *const T,
            ) {
                $(#[target_feature(enable = $feature)])?
                #[allow(clippy::too_many_arguments)]
                unsafe fn compiled<V: Lanes, T: Digits, S: Sink>(
                    plan: &Plan,
                    shape: Shape,
                    accumulator: *const T,
                    iteration: Iteration<'_>,
                    key: *const f64,
                    scratch: Scratch<T>,
                    sink: S,
                    ahead: Ahead,
                    near: *const T,
                ) {
                    // SAFETY: passed on.
                    unsafe { product::<V, T, S>(plan, shape, accumulator, iteration, key, scratch, sink, ahead, near) }
                }
                // SAFETY: passed on.
                unsafe { compiled::<$lanes, T, S>(plan, shape, accumulator, iteration, key, scratch, sink, ahead, near) }
            }
            unsafe fn lane_batch_product(
                plan: &Plan,
                shape: Shape,
                accumulators: *mut u32,
                iteration: lane_batch::Iteration<'_>,
                key: *const f64,
                scratch: lane_batch::Scratch,
                rounding: Option<u32>,
                ahead: Ahead,
            ) {
                $(#[target_feature(enable = $feature)])?
                #[allow(clippy::too_many_arguments)]
                unsafe fn compiled<V: Lanes>(
                    plan: &Plan,
                    shape: Shape,
                    accumulators: *mut u32,
                    iteration: lane_batch::Iteration<'_>,
                    key: *const f64,
                    scratch: lane_batch::Scratch,
                    rounding: Option<u32>,
                    ahead: Ahead,
                ) {
                    // SAFETY: passed on.
                    unsafe { lane_batch::product::<V>(plan, shape, accumulators, iteration, key, scratch, rounding, ahead) }
                }
                // SAFETY: passed on.
                unsafe { compiled::<$lanes>(plan, shape, accumulators, iteration, key, scratch, rounding, ahead) }
            }
        }
    };
}

// Separate modules, because the compiler processes several at a time.
mod portable {
    use super::*;
    kernels!(PortableKernels, Portable<2>);
}
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::*;
    kernels!(Avx2Kernels, crate::fft::avx2::Avx2, "avx2,fma");
}
#[cfg(target_arch = "x86_64")]
mod avx512 {
    use super::*;
    kernels!(Avx512Kernels, crate::fft::avx512::Avx512<false>, "avx512f,avx512dq,avx512bw,avx512vl");
}
#[cfg(target_arch = "x86_64")]
mod avx512_adder {
    use super::*;
    kernels!(Avx512AdderKernels, crate::fft::avx512::Avx512<true>, "avx512f,avx512dq,avx512bw,avx512vl");
}
#[cfg(target_arch = "aarch64")]
mod neon {
    use super::*;
    kernels!(NeonKernels, crate::fft::neon::Neon, "neon");
}
#[cfg(target_arch = "aarch64")]
pub(super) use neon::NeonKernels;
pub(super) use portable::PortableKernels;
#[cfg(target_arch = "x86_64")]
pub(super) use {avx2::Avx2Kernels, avx512::Avx512Kernels, avx512_adder::Avx512AdderKernels};
