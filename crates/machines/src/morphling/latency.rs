//! Rate and latency of every unit, as functions of the parameters, defined once: the hardware scheduler, the tests and
//! the documentation all read them here.
//!
//! Latencies are counted from the structure that the paper names (section V-A): a pipelined multi-delay commutator
//! transform has log2(M) butterfly stages for M points and, with P points a cycle, shuffling buffers of M/2, M/4, .., P
//! points, which together hold M - P points and delay the stream by M/P - 1 cycles. What the paper does not give is how
//! many registers an adder or a multiplier holds; these two are assumptions of the machine file.

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

/// Cycles that a polynomial of N = `ring_degree` coefficients, folded to N/2 complex points, takes on a path of
/// `points` complex points a cycle.
pub fn polynomial_cycles(ring_degree: u64, points: u64) -> u64 {
    (ring_degree / 2).div_ceil(points)
}

/// From the first coefficient read to the first digit: the two pointers' banks and the reorder unit, the subtraction,
/// the rounding addition; bit slicing is wiring (section V-A.1).
pub fn decomposition(depth: PipelineDepth) -> u64 {
    depth.memory + 2 * depth.adder
}

/// From the first input point to the first output point of a folded transform of N/2 points at `points` a cycle: the
/// twist (or untwist) multiplication, the butterflies, the shuffling buffers (section V-A.3).
pub fn transform(ring_degree: u64, points: u64, depth: PipelineDepth) -> u64 {
    let size = ring_degree / 2;
    let stages = u64::from(size.trailing_zeros());
    let shuffling = polynomial_cycles(ring_degree, points) - 1;
    depth.complex_multiplier() + stages * depth.butterfly() + shuffling
}

/// What merge-split adds to a forward transform: the Coef buffer holds half of a result before its mirror half arrives,
/// then an addition; the shift is wiring (section V-A.3).
pub fn split(ring_degree: u64, points: u64, depth: PipelineDepth) -> u64 {
    polynomial_cycles(ring_degree, points).div_ceil(2) + depth.adder
}

/// From a spectrum point at a VPE to its sum in the POLY-ACC register (section V-A.2); `columns` - 1 hops bring the input
/// to the last column of the row.
pub fn multiply_accumulate(columns: u64, depth: PipelineDepth) -> u64 {
    depth.complex_multiplier() + depth.adder + columns - 1
}

/// From a coefficient of the product to the sum with the old accumulator, back in its bank.
pub fn accumulate(depth: PipelineDepth) -> u64 {
    depth.memory + depth.adder
}

/// From the first operand to the first result of a VPU lane: register file, multiplier, adder, shifter (section V-B).
pub fn vector_lane(depth: PipelineDepth) -> u64 {
    depth.memory + depth.multiplier + 2 * depth.adder
}

#[cfg(test)]
mod tests {
    //! Do the latency functions give the values that the structure implies?

    use super::*;

    const DEPTH: PipelineDepth = PipelineDepth { adder: 1, multiplier: 3, memory: 2 };

    #[test]
    fn transform_of_set_one() {
        // N = 1024: 512 points at 8 a cycle pass in 64 cycles. Twist 4, nine butterflies of 5, shuffling 63: 112.
        assert_eq!(polynomial_cycles(1024, 8), 64);
        assert_eq!(transform(1024, 8, DEPTH), 4 + 9 * 5 + 63);
        assert_eq!(split(1024, 8, DEPTH), 33);
    }

    #[test]
    fn half_the_path_doubles_the_buffers_alone() {
        for log2 in 9..=14 {
            let degree = 1 << log2;
            let extra = transform(degree, 4, DEPTH) - transform(degree, 8, DEPTH);
            assert_eq!(extra, polynomial_cycles(degree, 8));
        }
    }
}
