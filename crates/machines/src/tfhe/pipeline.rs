//! Rate and latency of the units of a blind rotation's pipeline, as functions of the parameters, defined once: the
//! schedulers, the tests and the documentation all read them here.
//!
//! Latencies are counted from the structure that the papers name. A pipelined multi-delay commutator transform has log2(M) butterfly stages
//! for M points. With P points per cycle, it also has shuffling buffers of M/2, M/4, .., P points. Together they hold M - P points and
//! delay the stream by M/P - 1 cycles. The papers do not give the number of registers in an adder or a multiplier; these two are
//! assumptions of the machine files.

/// Registers in the arithmetic units, from the machine file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PipelineDepth {
    /// Cycles of an adder.
    pub adder: u64,
    /// Cycles of a real multiplier.
    pub multiplier: u64,
    /// Cycles of a bank read or write with its reorder unit.
    pub memory: u64,
}

impl PipelineDepth {
    /// Cycles of a complex multiplication: four real products, then a sum.
    pub fn complex_multiplier(self) -> u64 {
        self.multiplier + self.adder
    }

    /// Cycles of a butterfly: a complex sum or difference, then the twiddle factor.
    pub fn butterfly(self) -> u64 {
        self.adder + self.complex_multiplier()
    }
}

/// Cycles that a polynomial of `size` complex points (N/2 when folded) takes on a path of `points` complex points a cycle.
pub fn polynomial_cycles(size: u64, points: u64) -> u64 {
    size.div_ceil(points)
}

/// From the first coefficient read to the first digit: the two pointers' banks and the reorder unit, the subtraction,
/// the rounding addition; bit slicing is wiring.
pub fn decomposition(depth: PipelineDepth) -> u64 {
    depth.memory + 2 * depth.adder
}

/// From the first input point to the first output point of a transform of `size` points at `points` a cycle: the butterflies and the
/// shuffling buffers. As in the papers, stages consist only of butterflies (Strix, section V-A; Morphling, section V-A.3). A twist is part
/// of their factors, as in `kernels::fixed::Structure::Merged`, which the replay computes.
pub fn transform(size: u64, points: u64, depth: PipelineDepth) -> u64 {
    let stages = u64::from(size.trailing_zeros());
    let shuffling = polynomial_cycles(size, points) - 1;
    stages * depth.butterfly() + shuffling
}

/// From a coefficient of the product to the sum with the old accumulator, back in its bank.
pub fn accumulate(depth: PipelineDepth) -> u64 {
    depth.memory + depth.adder
}

#[cfg(test)]
mod tests {
    //! Do the latency functions give the values that the structure implies?

    use super::*;

    const DEPTH: PipelineDepth = PipelineDepth { adder: 1, multiplier: 3, memory: 2 };

    #[test]
    fn transform_of_set_one() {
        // N = 1024: 512 points at 8 a cycle pass in 64 cycles. Nine butterflies of 5, shuffling 63: 108.
        assert_eq!(polynomial_cycles(512, 8), 64);
        assert_eq!(transform(512, 8, DEPTH), 9 * 5 + 63);
    }

    #[test]
    fn half_the_path_doubles_the_buffers_alone() {
        for log2 in 8..=13 {
            let size = 1 << log2;
            let extra = transform(size, 4, DEPTH) - transform(size, 8, DEPTH);
            assert_eq!(extra, polynomial_cycles(size, 8));
        }
    }
}
