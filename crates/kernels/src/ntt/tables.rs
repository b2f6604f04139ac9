//! Factors of one modulus and degree, laid out for the passes.
//!
//! Factor number m + i, for m = 1, 2, 4, …, N/2 and i < m, is ψ^rev(m+i), where rev reverses log2 N bits: the stage with m groups multiplies group i by
//! it. Since rev(m+i) + rev(2m−1−i) = N, it is also −1 times the inverse of factor m + (m−1−i), so the inverse transform reads the same tables from the
//! end of each stage.

use super::NttError;
use crate::modular::Modulus;
use crate::primes::primitive_root;
use crate::ring::RingDegree;

/// Table layout of a kernel.
pub struct Layout<W> {
    /// log2 of the vector's lanes.
    pub log2_lanes: usize,
    /// (factor, companion) from a canonical residue.
    pub prepare: fn(Modulus, u64) -> [W; 2],
    /// log2 of the largest radix of a pass, limited by registers.
    pub log2_radix: usize,
    /// Whether in-register stages read companions from memory.
    pub lane_companions: bool,
}

/// The factors of one modulus and degree.
#[derive(Debug)]
pub struct Tables<W> {
    pub modulus: Modulus,
    pub root: u64,
    /// log2 N.
    pub log2_degree: usize,
    /// Pairs of the factors below N/lanes, by number: those of whole-vector stages.
    pub pairs: Vec<[W; 2]>,
    /// Factors of the in-register stages. Each pair of vectors (2L words, L lanes) has a block of 2L; those from L >> s to 2L >> s belong to the stage whose
    /// butterflies are 2^s words apart.
    pub lanes: Vec<W>,
    /// Their companions, at the same places; empty if the kernel computes them.
    pub lane_companions: Vec<W>,
    /// 1/N and −ψ^(−N/2)/N: the factors of the inverse's last stage.
    pub last: [[W; 2]; 2],
    /// log2 of the radix of each pass before the innermost one, outermost first.
    pub radices: Vec<u32>,
}

/// log2 of the radix of the innermost pass, which includes the in-register stages.
pub(super) const LOG2_INNER_RADIX: usize = 3;

impl<W: Copy> Tables<W> {
    pub(super) fn new(degree: RingDegree, modulus: Modulus, layout: &Layout<W>) -> Result<Self, NttError> {
        super::check(degree, modulus)?;
        let error = NttError::NoRoot { modulus: modulus.value(), degree: degree.get() };
        let root = primitive_root(modulus, 2 * degree.get() as u64).ok_or(error)?;
        Ok(Self::with_root(degree, modulus, root, layout))
    }

    /// With `root`, a primitive 2N-th root of unity, for ψ.
    pub(super) fn with_root(degree: RingDegree, modulus: Modulus, root: u64, layout: &Layout<W>) -> Self {
        let (count, bits) = (degree.get(), degree.log2());
        let mut factors = vec![0; count];
        let mut power = 1;
        for exponent in 0..count {
            factors[exponent.reverse_bits() >> (usize::BITS - bits)] = power;
            power = modulus.multiply(power, root);
        }
        let lanes = 1usize << layout.log2_lanes;
        let prepare = |number: usize| (layout.prepare)(modulus, factors[number]);
        let pairs: Vec<[W; 2]> = (0..count / lanes).map(prepare).collect();
        let (mut lane_factors, mut lane_companions) = (Vec::new(), Vec::new());
        if lanes > 1 {
            let blocks = count / (2 * lanes);
            for block in 0..blocks {
                // Places 0 and 1 of a block are unused: a stage of one factor would be a whole-vector stage.
                for place in 0..2 * lanes {
                    let in_stage = 1 << place.max(1).ilog2();
                    let number = if place < 2 { 0 } else { (blocks + block) * in_stage + place - in_stage };
                    let [factor, companion] = prepare(number);
                    lane_factors.push(factor);
                    lane_companions.push(companion);
                }
            }
            if !layout.lane_companions {
                lane_companions = Vec::new();
            }
        }
        let inverse = modulus.power(count as u64, modulus.value() - 2);
        let last = [inverse, modulus.multiply(factors[1], inverse)].map(|w| (layout.prepare)(modulus, w));
        let mut stages = bits as usize - layout.log2_lanes - LOG2_INNER_RADIX;
        let mut radices = Vec::new();
        while stages > 0 {
            // No radix-2 pass if two of radix 4 suffice.
            let radix = if stages == 4 { 2 } else { stages.min(layout.log2_radix) };
            radices.push(radix as u32);
            stages -= radix;
        }
        Self { modulus, root, log2_degree: bits as usize, pairs, lanes: lane_factors, lane_companions, last, radices }
    }
}
