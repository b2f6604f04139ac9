//! The processor's peak rate for transforms, measured in the same run.

use polyfabric_kernels::Isa;

/// 52-bit multiply-accumulates per second of one core, counted per lane; `None` if kernels in `isa` do not use them.
pub fn integer_multiplies(isa: Isa) -> Option<f64> {
    #[cfg(target_arch = "x86_64")]
    if isa == Isa::Avx512 && std::is_x86_feature_detected!("avx512f") && std::is_x86_feature_detected!("avx512ifma") {
        let once = |_| {
            let start = std::time::Instant::now();
            // SAFETY: the processor has both features, which were just detected.
            unsafe { x86::multiply_adds() };
            x86::MULTIPLY_ADDS as f64 / start.elapsed().as_secs_f64()
        };
        // The peak is the maximum, not the mean.
        return Some((0..7).map(once).fold(0.0, f64::max));
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = isa;
    None
}

/// Least milliseconds of a transform of degree 2^`log_n`. Each of its N/2·log N butterflies multiplies by a constant,
/// with three multiplies: the quotient's high half, and the low halves of two products.
pub fn transform_floor_ms(log_n: u32, multiplies: f64) -> f64 {
    let butterflies = f64::from(log_n) * f64::from(1u32 << (log_n - 1));
    3.0 * butterflies / multiplies * 1e3
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{_mm512_madd52lo_epu64, _mm512_set1_epi64};
    use std::hint::black_box;

    const CHAINS: usize = 12;
    const LANES: usize = 8;
    const ROUNDS: usize = 2_000_000;

    /// Multiply-accumulates of one call of [`multiply_adds`], counted per lane.
    pub const MULTIPLY_ADDS: usize = ROUNDS * CHAINS * LANES;

    /// [`ROUNDS`] rounds of [`CHAINS`] independent multiply-accumulates, all in registers.
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub fn multiply_adds() {
        let mut chains = [_mm512_set1_epi64(1); CHAINS];
        let (a, b) = (black_box(_mm512_set1_epi64(0x5_bd1e_9955)), black_box(_mm512_set1_epi64(3)));
        for _ in 0..ROUNDS {
            for chain in &mut chains {
                *chain = _mm512_madd52lo_epu64(*chain, a, b);
            }
        }
        black_box(chains);
    }
}
