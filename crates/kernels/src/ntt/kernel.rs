//! Selects the butterflies for a word size, modulus and instruction set, and dispatches to them.

#[cfg(target_arch = "x86_64")]
use super::avx2::Avx2;
#[cfg(target_arch = "x86_64")]
use super::avx512::Avx512;
use super::butterfly::Butterfly;
#[cfg(target_arch = "aarch64")]
use super::neon::Neon;
use super::passes;
use super::tables::{LOG2_INNER_RADIX, Layout, Tables};
use super::words32::{LAZY_BITS, Lanes32, Lazy32, Strict32, lazy_32, strict_32};
use super::words64::{PORTABLE_64, Portable64};
#[cfg(target_arch = "x86_64")]
use super::words64_avx512::{IFMA, Ifma, PASS_BITS, ROOMY_BITS, WIDE, Wide};
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use super::words64_float::{self, Float};
use crate::isa::Isa;
use crate::modular::Modulus;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use crate::modular::float::{self, Floats};
#[cfg(target_arch = "x86_64")]
use crate::modular::ifma;
use crate::ring::RingDegree;
use std::ops::Range;

/// Butterflies and their instruction set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// `Portable64`.
    Portable64,
    /// `Ifma` for moduli of at most so many bits.
    Ifma(u32),
    /// `Float` in AVX2, AVX-512 or NEON, with `ROOMY` or without.
    Float(Isa, bool),
    /// `Wide`.
    Wide,
    /// `Lazy32`.
    Lazy32(Isa),
    /// `Strict32`.
    Strict32(Isa),
}

/// A word of the transform: `u32` or `u64`. Sealed.
pub trait NttWord: Dispatch {}

impl NttWord for u32 {}
impl NttWord for u64 {}

/// The kernels of a word.
pub trait Dispatch: Copy + Sized + std::fmt::Debug {
    /// Bits of the word.
    const BITS: u32;
    /// The kernel of a modulus that fits the word, if `isa` has one.
    fn kernel(isa: Isa, degree: RingDegree, modulus: Modulus) -> Option<Kernel>;
    /// The table layout of `kernel`.
    fn layout(kernel: Kernel) -> Layout<Self>;
    /// Runs one part of a transform: [`FORWARD_BEGIN`], [`FORWARD_END`] or [`INVERSE`]. `part` is not a const parameter, so that transforms are compiled
    /// only in this crate, not in every user of [`super::Ntt`].
    ///
    /// # Safety
    /// The processor has the kernel's set, `tables` has its layout, `data` is valid for N words. For [`FORWARD_END`], `data` points to the first of
    /// `more.words`, whose bounds are multiples of a region, and is valid for these. For [`INVERSE`], `more.source` is `data`, or valid for N other words.
    unsafe fn run(part: u8, kernel: Kernel, tables: &Tables<Self>, data: *mut Self, more: More<'_, Self>);
}

/// Further arguments of a part.
#[derive(Clone, Debug)]
pub struct More<'a, W> {
    /// For [`FORWARD_END`]: the range of the polynomial's words.
    pub words: Range<usize>,
    /// For [`INVERSE`]: the words to transform.
    pub source: *const W,
    /// For a forward transform: data to prefetch.
    pub next: &'a [&'a [u64]],
}

/// The forward transform's passes over the whole polynomial.
pub const FORWARD_BEGIN: u8 = 0;
/// Its other passes, on some regions.
pub const FORWARD_END: u8 = 1;
/// The whole inverse transform.
pub const INVERSE: u8 = 2;

/// Whether a degree is large enough for vectors of 2^`log2_lanes` words: an outer pass, then the innermost one.
fn suits(degree: RingDegree, log2_lanes: usize) -> bool {
    degree.log2() as usize > log2_lanes + LOG2_INNER_RADIX
}

impl Dispatch for u64 {
    const BITS: u32 = u64::BITS;

    fn kernel(isa: Isa, degree: RingDegree, modulus: Modulus) -> Option<Kernel> {
        match isa {
            Isa::Portable => Some(Kernel::Portable64),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => {
                let kernel = if crate::isa::multiplies_words() && ifma::serves(modulus) {
                    let fits = |bits: &u32| modulus.bits() <= *bits;
                    Kernel::Ifma([ROOMY_BITS, PASS_BITS].into_iter().find(fits).unwrap_or(ifma::MAX_BITS))
                } else if float::serves(modulus) {
                    Kernel::Float(isa, modulus.bits() <= words64_float::ROOMY_BITS)
                } else {
                    Kernel::Wide
                };
                (isa.is_present() && suits(degree, Wide::LOG2_LANES)).then_some(kernel)
            }
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => {
                let serves = isa.is_present() && float::serves(modulus) && suits(degree, float::Avx2::LOG2_LANES);
                serves.then_some(Kernel::Float(isa, modulus.bits() <= words64_float::ROOMY_BITS))
            }
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => {
                let serves = isa.is_present() && float::serves(modulus) && suits(degree, float::Neon::LOG2_LANES);
                serves.then_some(Kernel::Float(isa, modulus.bits() <= words64_float::ROOMY_BITS))
            }
            _ => None,
        }
    }

    fn layout(kernel: Kernel) -> Layout<Self> {
        match kernel {
            #[cfg(target_arch = "x86_64")]
            Kernel::Ifma(_) => IFMA,
            #[cfg(target_arch = "x86_64")]
            Kernel::Float(Isa::Avx512, _) => words64_float::float(float::Avx512::LOG2_LANES),
            #[cfg(target_arch = "x86_64")]
            Kernel::Float(..) => words64_float::float(float::Avx2::LOG2_LANES),
            #[cfg(target_arch = "aarch64")]
            Kernel::Float(..) => words64_float::float(float::Neon::LOG2_LANES),
            #[cfg(target_arch = "x86_64")]
            Kernel::Wide => WIDE,
            _ => PORTABLE_64,
        }
    }

    unsafe fn run(part: u8, kernel: Kernel, tables: &Tables<Self>, data: *mut Self, more: More<'_, Self>) {
        // SAFETY: by this function's contract.
        unsafe {
            match part {
                FORWARD_BEGIN => transform_64::<FORWARD_BEGIN>(kernel, tables, data, more),
                FORWARD_END => transform_64::<FORWARD_END>(kernel, tables, data, more),
                _ => transform_64::<INVERSE>(kernel, tables, data, more),
            }
        }
    }
}

/// # Safety
/// As for [`Dispatch::run`].
unsafe fn transform_64<const PART: u8>(kernel: Kernel, tables: &Tables<u64>, data: *mut u64, more: More<'_, u64>) {
    // SAFETY: by this function's contract.
    unsafe {
        match kernel {
            #[cfg(target_arch = "x86_64")]
            Kernel::Ifma(ROOMY_BITS) => in_avx512_ifma::<Ifma<ROOMY_BITS>, PART>(tables, data, more),
            #[cfg(target_arch = "x86_64")]
            Kernel::Ifma(PASS_BITS) => in_avx512_ifma::<Ifma<PASS_BITS>, PART>(tables, data, more),
            #[cfg(target_arch = "x86_64")]
            Kernel::Ifma(_) => in_avx512_ifma::<Ifma<{ ifma::MAX_BITS }>, PART>(tables, data, more),
            #[cfg(target_arch = "x86_64")]
            Kernel::Float(Isa::Avx512, true) => in_avx512::<Float<float::Avx512, true>, PART>(tables, data, more),
            #[cfg(target_arch = "x86_64")]
            Kernel::Float(Isa::Avx512, false) => in_avx512::<Float<float::Avx512, false>, PART>(tables, data, more),
            #[cfg(target_arch = "x86_64")]
            Kernel::Float(_, true) => in_avx2::<Float<float::Avx2, true>, PART>(tables, data, more),
            #[cfg(target_arch = "x86_64")]
            Kernel::Float(_, false) => in_avx2::<Float<float::Avx2, false>, PART>(tables, data, more),
            #[cfg(target_arch = "aarch64")]
            Kernel::Float(_, true) => in_neon::<Float<float::Neon, true>, PART>(tables, data, more),
            #[cfg(target_arch = "aarch64")]
            Kernel::Float(_, false) => in_neon::<Float<float::Neon, false>, PART>(tables, data, more),
            #[cfg(target_arch = "x86_64")]
            Kernel::Wide => in_avx512::<Wide, PART>(tables, data, more),
            _ => transform::<Portable64, PART>(tables, data, more),
        }
    }
}

/// log2 of the 32-bit lanes of a set.
fn log2_lanes_32(isa: Isa) -> usize {
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => Avx512::LOG2_LANES,
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => Avx2::LOG2_LANES,
        #[cfg(target_arch = "aarch64")]
        Isa::Neon => Neon::LOG2_LANES,
        _ => u32::LOG2_LANES,
    }
}

impl Dispatch for u32 {
    const BITS: u32 = u32::BITS;

    fn kernel(isa: Isa, degree: RingDegree, modulus: Modulus) -> Option<Kernel> {
        let odd = modulus.value() % 2 == 1;
        (isa.is_present() && odd && suits(degree, log2_lanes_32(isa)))
            .then(|| if modulus.bits() <= LAZY_BITS { Kernel::Lazy32(isa) } else { Kernel::Strict32(isa) })
    }

    fn layout(kernel: Kernel) -> Layout<Self> {
        match kernel {
            Kernel::Lazy32(isa) => lazy_32(log2_lanes_32(isa)),
            Kernel::Strict32(isa) => strict_32(log2_lanes_32(isa)),
            _ => strict_32(0),
        }
    }

    // Compiled in its users, because few need it.
    #[inline]
    unsafe fn run(part: u8, kernel: Kernel, tables: &Tables<Self>, data: *mut Self, more: More<'_, Self>) {
        // SAFETY: by this function's contract.
        unsafe {
            match part {
                FORWARD_BEGIN => transform_32::<FORWARD_BEGIN>(kernel, tables, data, more),
                FORWARD_END => transform_32::<FORWARD_END>(kernel, tables, data, more),
                _ => transform_32::<INVERSE>(kernel, tables, data, more),
            }
        }
    }
}

/// # Safety
/// As for [`Dispatch::run`].
unsafe fn transform_32<const PART: u8>(kernel: Kernel, tables: &Tables<u32>, data: *mut u32, more: More<'_, u32>) {
    // SAFETY: by this function's contract.
    unsafe {
        match kernel {
            #[cfg(target_arch = "x86_64")]
            Kernel::Lazy32(Isa::Avx512) => in_avx512::<Lazy32<Avx512>, PART>(tables, data, more),
            #[cfg(target_arch = "x86_64")]
            Kernel::Strict32(Isa::Avx512) => in_avx512::<Strict32<Avx512>, PART>(tables, data, more),
            #[cfg(target_arch = "x86_64")]
            Kernel::Lazy32(Isa::Avx2) => in_avx2::<Lazy32<Avx2>, PART>(tables, data, more),
            #[cfg(target_arch = "x86_64")]
            Kernel::Strict32(Isa::Avx2) => in_avx2::<Strict32<Avx2>, PART>(tables, data, more),
            #[cfg(target_arch = "aarch64")]
            Kernel::Lazy32(Isa::Neon) => in_neon::<Lazy32<Neon>, PART>(tables, data, more),
            #[cfg(target_arch = "aarch64")]
            Kernel::Strict32(Isa::Neon) => in_neon::<Strict32<Neon>, PART>(tables, data, more),
            Kernel::Lazy32(_) => transform::<Lazy32<u32>, PART>(tables, data, more),
            _ => transform::<Strict32<u32>, PART>(tables, data, more),
        }
    }
}

/// # Safety
/// As for [`Dispatch::run`].
#[inline(always)]
unsafe fn transform<B: Butterfly, const PART: u8>(
    tables: &Tables<B::Word>,
    data: *mut B::Word,
    more: More<'_, B::Word>,
) {
    // SAFETY: by this function's contract.
    unsafe {
        match PART {
            FORWARD_BEGIN => passes::forward_begin::<B>(tables, data, more.next),
            FORWARD_END => passes::forward_end::<B>(tables, data, more.words.start, more.words.end, more.next),
            _ => passes::inverse::<B>(tables, data, more.source),
        }
    }
}

/// # Safety
/// As for [`Dispatch::run`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512ifma")]
unsafe fn in_avx512_ifma<B: Butterfly, const PART: u8>(
    tables: &Tables<B::Word>,
    data: *mut B::Word,
    more: More<'_, B::Word>,
) {
    // SAFETY: by this function's contract.
    unsafe { transform::<B, PART>(tables, data, more) }
}

/// # Safety
/// As for [`Dispatch::run`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl")]
unsafe fn in_avx512<B: Butterfly, const PART: u8>(
    tables: &Tables<B::Word>,
    data: *mut B::Word,
    more: More<'_, B::Word>,
) {
    // SAFETY: by this function's contract.
    unsafe { transform::<B, PART>(tables, data, more) }
}

/// # Safety
/// As for [`Dispatch::run`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn in_avx2<B: Butterfly, const PART: u8>(tables: &Tables<B::Word>, data: *mut B::Word, more: More<'_, B::Word>) {
    // SAFETY: by this function's contract.
    unsafe { transform::<B, PART>(tables, data, more) }
}

/// # Safety
/// As for [`Dispatch::run`].
#[cfg(target_arch = "aarch64")]
#[target_feature(enable = "neon")]
unsafe fn in_neon<B: Butterfly, const PART: u8>(tables: &Tables<B::Word>, data: *mut B::Word, more: More<'_, B::Word>) {
    // SAFETY: by this function's contract.
    unsafe { transform::<B, PART>(tables, data, more) }
}
