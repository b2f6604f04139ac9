//! The processor's peak rates, measured in the same run, and the least time of an operation.

use crate::protocol::Work;
use polyfabric_bench_common::{Floor, bandwidth, read};
use polyfabric_kernels::Isa;
use std::collections::BTreeMap;
use std::time::Instant;

/// Peak rates of one core.
pub struct Peak {
    /// Multiplications a second, counted per lane, and how many a butterfly and a product take; `None` if unknown for the kernels' instruction set.
    pub multiplies: Option<Multiplies>,
    /// Bytes a second, by the size of the data that is read again and again.
    bandwidths: BTreeMap<usize, f64>,
}

#[derive(Clone, Copy)]
pub struct Multiplies {
    pub per_second: f64,
    pub name: &'static str,
    /// A butterfly multiplies by a constant.
    butterfly: f64,
    /// A product of residues within a sum, without the reduction of the sum.
    product: f64,
}

impl Peak {
    pub fn measure(isa: Isa) -> Self {
        Self { multiplies: multiplies(isa), bandwidths: BTreeMap::new() }
    }

    /// The floor of an operation: its multiplications, or one pass over its data, at the rate measured for as much data.
    pub fn floor(&mut self, work: &Work) -> Option<Floor> {
        let peak = self.multiplies?;
        let products = peak.butterfly * work.butterflies as f64 + peak.product * work.products as f64;
        // Beyond this size no cache holds the data.
        let bytes = work.bytes.next_power_of_two().min(256 << 20);
        let clock = |work: &dyn Fn()| {
            let start = Instant::now();
            work();
            start.elapsed().as_secs_f64()
        };
        let rate = *self.bandwidths.entry(bytes).or_insert_with(|| bandwidth(clock, bytes, read));
        Some(Floor::of(products / peak.per_second, work.bytes as f64 / rate))
    }
}

/// The peak of the multiplications that the kernels of `isa` are made of.
fn multiplies(isa: Isa) -> Option<Multiplies> {
    #[cfg(target_arch = "x86_64")]
    {
        let best = |work: unsafe fn(), lanes: usize| {
            let once = |_| {
                let start = Instant::now();
                // SAFETY: only a set that the kernels use is measured, so the processor has it; IFMA is detected below.
                unsafe { work() };
                (x86::ROUNDS * x86::CHAINS * lanes) as f64 / start.elapsed().as_secs_f64()
            };
            // The peak is the maximum, not the mean.
            (0..7).map(once).fold(0.0, f64::max)
        };
        match isa {
            // By a constant: the quotient's high half, and the low halves of two products. In a sum: both halves.
            Isa::Avx512 if std::is_x86_feature_detected!("avx512ifma") => {
                let per_second = best(x86::multiply_adds_52, 8);
                let name = "52-bit multiply-accumulates";
                return Some(Multiplies { per_second, name, butterfly: 3.0, product: 2.0 });
            }
            // By a constant: quotient, product, its error, remainder. In a sum: product, its error, and two sums.
            Isa::Avx2 => {
                let per_second = best(x86::multiply_adds_f64, 4);
                let name = "multiply-adds of f64";
                return Some(Multiplies { per_second, name, butterfly: 4.0, product: 4.0 });
            }
            _ => {}
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = isa;
    None
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{_mm256_fmadd_pd, _mm256_set1_pd, _mm512_madd52lo_epu64, _mm512_set1_epi64};
    use std::hint::black_box;

    pub const CHAINS: usize = 12;
    pub const ROUNDS: usize = 2_000_000;

    /// [`ROUNDS`] rounds of [`CHAINS`] independent multiply-accumulates, all in registers.
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub fn multiply_adds_52() {
        let mut chains = [_mm512_set1_epi64(1); CHAINS];
        let (a, b) = (black_box(_mm512_set1_epi64(0x5_bd1e_9955)), black_box(_mm512_set1_epi64(3)));
        for _ in 0..ROUNDS {
            for chain in &mut chains {
                *chain = _mm512_madd52lo_epu64(*chain, a, b);
            }
        }
        black_box(chains);
    }

    /// The same of doubles.
    #[target_feature(enable = "avx2,fma")]
    pub fn multiply_adds_f64() {
        let mut chains = [_mm256_set1_pd(1.0); CHAINS];
        let (a, b) = (black_box(_mm256_set1_pd(0.999_999_9)), black_box(_mm256_set1_pd(1e-9)));
        for _ in 0..ROUNDS {
            for chain in &mut chains {
                *chain = _mm256_fmadd_pd(*chain, a, b);
            }
        }
        black_box(chains);
    }
}
