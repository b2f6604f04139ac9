//! The blocked product in f64, in AVX2, in AVX-512 without IFMA and in NEON.

use crate::isa::Isa;
use crate::memory::{NextUse, finish, next_use_of};
use crate::modular::Modulus;
#[cfg(target_arch = "aarch64")]
use crate::modular::float::Neon;
#[cfg(target_arch = "x86_64")]
use crate::modular::float::{Avx2, Avx512};
use crate::modular::float::{Floats, Residues, Split, Sum, split_capacity};
use crate::modular::limb_float::write;

/// Words per load of the matrix.
const WIDTH: usize = 16;

/// target\[c\] = constant + Σ_i terms\[i\]\[c\]·row\[i\] mod q over whole groups of sixteen words; returns the number of words done. The
/// words of the terms are below 2^`bits`.
///
/// # Safety
/// The processor has `isa`, AVX2, AVX-512 or NEON.
#[allow(clippy::too_many_arguments)]
pub(super) unsafe fn combine(
    isa: Isa,
    modulus: Modulus,
    bits: u32,
    terms: &[&[u64]],
    row: &[u64],
    constant: u64,
    target: &mut [u64],
    next_use: NextUse,
) -> usize {
    // SAFETY: passed on.
    unsafe {
        match isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => in_avx512(modulus, bits, terms, row, constant, target, next_use),
            #[cfg(target_arch = "x86_64")]
            _ => in_avx2(modulus, bits, terms, row, constant, target, next_use),
            #[cfg(target_arch = "aarch64")]
            _ => in_neon(modulus, bits, terms, row, constant, target, next_use),
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn in_avx2(
    modulus: Modulus,
    bits: u32,
    terms: &[&[u64]],
    row: &[u64],
    constant: u64,
    target: &mut [u64],
    next_use: NextUse,
) -> usize {
    // SAFETY: the set is present. Two registers at a time: the sums of four would not fit.
    unsafe { columns::<Avx2, 2>(modulus, bits, terms, row, constant, target, next_use) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl")]
fn in_avx512(
    modulus: Modulus,
    bits: u32,
    terms: &[&[u64]],
    row: &[u64],
    constant: u64,
    target: &mut [u64],
    next_use: NextUse,
) -> usize {
    // SAFETY: the set is present.
    unsafe { columns::<Avx512, 2>(modulus, bits, terms, row, constant, target, next_use) }
}

#[cfg(target_arch = "aarch64")]
#[target_feature(enable = "neon")]
fn in_neon(
    modulus: Modulus,
    bits: u32,
    terms: &[&[u64]],
    row: &[u64],
    constant: u64,
    target: &mut [u64],
    next_use: NextUse,
) -> usize {
    // SAFETY: the set is present. Four registers at a time: their sums fit thirty-two.
    unsafe { columns::<Neon, 4>(modulus, bits, terms, row, constant, target, next_use) }
}

/// [`combine`], `R` registers at a time. SAFETY: the set is present.
#[inline(always)]
unsafe fn columns<V: Floats, const R: usize>(
    modulus: Modulus,
    bits: u32,
    terms: &[&[u64]],
    row: &[u64],
    constant: u64,
    target: &mut [u64],
    next_use: NextUse,
) -> usize {
    let next_use = next_use_of(target, next_use);
    let length = target.len() / WIDTH * WIDTH;
    assert!(terms.iter().all(|term| term.len() >= length), "a word of each term for each of the target");
    let bits = bits + modulus.bits();
    let capacity = split_capacity(bits);
    // SAFETY: the set is present; `at` and the words of the registers after it are below the lengths.
    unsafe {
        let (q, split) = (Residues::<V>::new(modulus.value()), Split::<V>::new(bits));
        let constant = q.enter(V::splat_word(constant));
        for at in (0..length).step_by(R * V::LANES) {
            let mut sums = [Sum::new(split, constant); R];
            for (index, (term, &factor)) in terms.iter().zip(row).enumerate() {
                if index > 0 && index % capacity == 0 {
                    for sum in &mut sums {
                        *sum = Sum::new(split, q.enter(sum.reduce(split, &q)));
                    }
                }
                let factor = V::splat(factor as f64);
                for (register, sum) in sums.iter_mut().enumerate() {
                    let words = V::load(term.as_ptr().add(at + register * V::LANES));
                    sum.add_product(q.enter(words), factor);
                }
            }
            for (register, sum) in sums.iter().enumerate() {
                write::<V>(target.as_mut_ptr().add(at + register * V::LANES), sum.reduce(split, &q), next_use);
            }
        }
    }
    finish(next_use);
    length
}
