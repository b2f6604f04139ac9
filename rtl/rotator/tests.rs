//! Does the unit match the kernel's rotation, for any amount, at the latency of FPT's model?

use crate::fixed_fft::{PAPERS_SET, fpt, shape};
use crate::rng;
use polyfabric_kernels::rotation::{rotate, rotate_subtract};
use polyfabric_machines::fpt::hardware::load_latency;
use polyfabric_rtl::{Bench, Bits, Reader};
use rand::Rng;

#[derive(Clone, Copy)]
struct Unit {
    degree: usize,
    width: u32,
    /// Coefficients per cycle of the decomposer.
    lanes: usize,
    levels: usize,
    subtracts: bool,
}

impl Unit {
    /// Cycles of a polynomial.
    fn group(self) -> usize {
        self.levels * self.degree / self.lanes
    }

    /// FPT's model of the cycles from reading a polynomial's first coefficient to its arrival at the decomposer, as in [`Shape::to_decompose`].
    ///
    /// [`Shape::to_decompose`]: polyfabric_machines::fpt::machine::Shape::to_decompose
    fn modelled(self) -> usize {
        let fpt = fpt();
        let shifter = (self.degree.ilog2() as usize + 1) * fpt.multiplexer as usize;
        let rotate = fpt.depth.memory as usize + self.group() + shifter + fpt.depth.adder as usize;
        rotate + self.group() - 1
    }

    fn rotations_are_the_kernels(self, amounts: impl IntoIterator<Item = usize>) {
        let (group, lanes_in) = (self.group(), self.lanes / self.levels);
        let unit = Bench::new("rotator")
            .parameter("LOG2_DEGREE", self.degree.ilog2())
            .parameter("WIDTH", self.width)
            .parameter("LANES", lanes_in as u64)
            .parameter("REPEATS", self.levels as u64)
            .parameter("SUBTRACTS", u64::from(self.subtracts))
            .parameter("MULTIPLEXER", fpt().multiplexer)
            .parameter("ADDER", fpt().depth.adder)
            .simulate()
            .expect("a unit");
        let (mut rng, mask) = (rng(5), u32::MAX >> (32 - self.width));
        let (mut cases, mut stream) = (Vec::new(), Vec::new());
        for (number, amount) in amounts.into_iter().enumerate() {
            let polynomial: Vec<u32> = match number {
                0 => vec![mask; self.degree],
                1 => vec![0; self.degree],
                _ => (0..self.degree).map(|_| rng.random::<u32>() & mask).collect(),
            };
            if number % 4 == 3 {
                stream.extend(std::iter::repeat_n(None, rng.random_range(1..3 * group)));
            }
            cases.push((stream.len(), amount, polynomial.clone()));
            let log2 = self.degree.ilog2() as usize;
            stream.extend((0..group).map(|cycle| {
                let coefficients = (0..lanes_in).map(|lane| polynomial[lane * group + cycle]);
                // Amounts count only at the start.
                let amount = if cycle == 0 { amount } else { 2 * self.degree - 1 - amount };
                Some(Bits::new().field(amount as u64, log2 + 1).fields(coefficients, self.width as usize))
            }));
        }
        let latency = self.modelled();
        let outputs = unit.run(stream, latency).expect("a run");
        assert_eq!(outputs.len(), cases.len() * group);
        for (outputs, (start, amount, polynomial)) in outputs.chunks(group).zip(cases) {
            let mut expected = vec![0; self.degree];
            let kernel: fn(&[u32], usize, &mut [u32]) = if self.subtracts { rotate_subtract } else { rotate };
            kernel(&polynomial, amount, &mut expected);
            let step = group / self.levels;
            for (number, output) in outputs.iter().enumerate() {
                assert_eq!(output.cycle as usize, start + latency + number);
                let mut reader = Reader::new(&output.bytes);
                for lane in 0..self.lanes {
                    let found = reader.unsigned(self.width as usize) as u32;
                    let index = lane * step + number % step;
                    assert_eq!(found, expected[index] & mask, "coefficient {index} of X^{amount}, in word {number}");
                }
            }
        }
    }
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn every_amount_of_a_small_ring() {
    let unit = Unit { degree: 16, width: 7, lanes: 8, levels: 2, subtracts: true };
    unit.rotations_are_the_kernels(0..32);
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn full_size_rotation_alone() {
    let unit = Unit { degree: 512, width: 16, lanes: 64, levels: 2, subtracts: false };
    unit.rotations_are_the_kernels([0, 1, 511, 512, 513, 1023, 77, 800]);
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn full_size_input_of_fpt() {
    // Test polynomials on their way to the accumulators, with as many output as input coefficients per cycle.
    let shape = shape(PAPERS_SET);
    let unit = Unit {
        degree: shape.ring_degree as usize,
        width: shape.bits.coefficient,
        lanes: (shape.ring_degree as i64 / shape.group) as usize,
        levels: 1,
        subtracts: false,
    };
    assert_eq!(unit.modelled() as i64, load_latency(&shape));
    unit.rotations_are_the_kernels([0, 1, 1023, 1024, 1025, 2047, 123, 1500]);
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn full_size_rotator_of_fpt() {
    let shape = shape(PAPERS_SET);
    let unit = Unit {
        degree: shape.ring_degree as usize,
        width: shape.bits.coefficient,
        lanes: 2 * shape.widths.0 as usize,
        levels: shape.levels as usize,
        subtracts: true,
    };
    // The tests of small rings use the same count.
    assert_eq!(unit.modelled() as i64, shape.to_decompose());
    unit.rotations_are_the_kernels([0, 1, 1023, 1024, 1025, 2047, 123, 1500, 333, 512]);
}
