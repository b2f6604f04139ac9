//! Latencies of Morphling's XPUs and VPU, in addition to those of [`crate::tfhe::pipeline`].

use crate::tfhe::pipeline::{PipelineDepth, polynomial_cycles};

/// Additional latency of merge-split in a forward transform of `size` points (section V-A.3). Merging two polynomials
/// doubles the points and needs one more stage; its factors are quarter turns, so it is an addition. Then the Coef
/// buffer stores half of a result until the mirrored half arrives, and an addition splits them. The shift is wiring.
pub fn split(size: u64, points: u64, depth: PipelineDepth) -> u64 {
    depth.adder + coef_buffer(size, points) + depth.adder
}

/// Cycles from a point to its mirror image in the Coef buffer.
pub fn coef_buffer(size: u64, points: u64) -> u64 {
    polynomial_cycles(size, points).div_ceil(2)
}

/// From a spectrum point at a VPE to its sum in the POLY-ACC register (section V-A.2); `columns` − 1 hops reach the
/// last column of the row.
pub fn multiply_accumulate(columns: u64, depth: PipelineDepth) -> u64 {
    depth.complex_multiplier() + depth.adder + columns - 1
}

/// From a bank of Private-B or of the Shared buffer to a vector register, through the crossbar (section V-D).
pub fn register_load(depth: PipelineDepth) -> u64 {
    depth.memory
}

/// From the first operand to the first result of a VPU lane: register file, multiplier, adder, shifter (section V-B).
pub fn vector_lane(depth: PipelineDepth) -> u64 {
    depth.memory - 1 + depth.multiplier + 2 * depth.adder
}

/// From the read of a key switch's first mask elements to the first product: their digits pass the lanes. Later digits
/// are computed while earlier ones are in use, in a register of their own.
pub fn first_digits(depth: PipelineDepth) -> u64 {
    vector_lane(depth)
}

/// From a lane to a bank of Private-B or of the Shared buffer: a register of the crossbar (section V-D), which
/// [`PipelineDepth::memory`] includes.
pub const RESULT_RETURN: u64 = 1;

#[cfg(test)]
mod tests {
    //! Do the latency functions give the values that the structure implies?

    use super::*;

    #[test]
    fn half_a_polynomial_and_two_adders() {
        let depth = PipelineDepth { adder: 1, multiplier: 3, memory: 2 };
        // N = 1024: 512 points at 8 per cycle pass in 64 cycles.
        assert_eq!(split(512, 8, depth), 34);
    }
}
