//! Do both pointers match Morphling's model, for any amount, in its cycles and in those of Strix?

use crate::{described, rng};
use polyfabric_kernels::rotation::rotate_subtract;
use polyfabric_machines::morphling::machine::Morphling;
use polyfabric_machines::morphling::rotator;
use polyfabric_machines::registry;
use polyfabric_machines::tfhe::pipeline;
use polyfabric_machines::torus_pipeline::machine::Pipeline;
use polyfabric_rtl::{Bench, Bits, Reader};
use polyfabric_schemes::tfhe::sets;
use rand::Rng;

/// Returns the latency.
fn rotations_are_the_models(machine: &str, degree: usize, columns: usize, amounts: &[usize]) -> u64 {
    let [adder, memory] = ["adder", "memory"].map(|unit| described(machine, &format!("units.pipeline.{unit}")));
    let unit = Bench::new("double_pointer_rotator")
        .parameter("LOG2_DEGREE", degree.ilog2())
        .parameter("LOG2_COLUMNS", columns.ilog2())
        .parameter("POLYNOMIALS", 2u64)
        .parameter("ADDER", adder)
        .simulate()
        .expect("a unit");
    let (log2_degree, lines) = (degree.ilog2() as usize, degree / columns);
    let mut rng = rng(12);
    let operands = |starts: bool, polynomial: usize, line: usize, amount: usize| {
        Bits::new()
            .field(u8::from(starts), 1)
            .field(polynomial as u64, 1)
            .field(line as u64, lines.ilog2() as usize)
            .field(amount as u64, log2_degree + 1)
    };
    let held: Vec<Vec<u32>> = (0..2).map(|_| (0..degree).map(|_| rng.random()).collect()).collect();
    let mut stream = Vec::new();
    for (number, polynomial) in held.iter().enumerate() {
        for (line, coefficients) in polynomial.chunks(columns).enumerate() {
            stream.push(Some(operands(false, number, line, 0).fields(coefficients.iter().copied(), 32)));
        }
    }
    let mut expected = Vec::new();
    for (number, &amount) in amounts.iter().enumerate() {
        expected.push((stream.len(), number % 2, amount));
        stream.push(Some(operands(true, number % 2, 0, amount).fields(vec![0u32; columns], 32)));
        // The next one immediately, or after a pause.
        let pause = if number % 3 == 2 { rng.random_range(1..2 * lines) } else { 0 };
        stream.extend(std::iter::repeat_n(None, lines - 1 + pause));
    }
    // Banks and the reorder unit, the subtraction.
    let latency = (memory + adder) as usize;
    let outputs = unit.run(stream, latency + 1).expect("a run");
    assert_eq!(outputs.len(), amounts.len() * lines);
    for (outputs, (start, polynomial, amount)) in outputs.chunks(lines).zip(expected) {
        let polynomial = &held[polynomial];
        let mut difference = vec![0; degree];
        rotate_subtract(polynomial, amount, &mut difference);
        let model = rotator::rotate(polynomial, amount as u32, columns);
        for (number, output) in outputs.iter().enumerate() {
            assert_eq!(output.cycle as usize, start + latency + number);
            let mut reader = Reader::new(&output.bytes);
            for index in number * columns..(number + 1) * columns {
                let found = reader.unsigned(32) as u32;
                assert_eq!(found, difference[index], "coefficient {index} of X^{amount}");
                assert_eq!(found, model[index].wrapping_sub(polynomial[index]));
            }
        }
    }
    latency as u64
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn every_amount_of_a_small_ring_on_strix_lanes() {
    let strix = Pipeline::new(&registry::description("strix").expect("a machine")).expect("its figures");
    let amounts: Vec<usize> = (0..128).collect();
    let lanes = strix.coefficients_of(strix.stages.rotator) as usize;
    let latency = rotations_are_the_models("strix", 64, lanes, &amounts);
    let steps = strix.steps(&sets::parameters("strix-I").expect("a set"));
    assert_eq!(latency as i64, steps.rotate);
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn full_size_path_of_morphling() {
    let columns = 2 * described("morphling", "units.path.points") as usize;
    let amounts = [0, 1, 15, 16, 17, 1023, 1024, 1025, 2047, 700, 1333];
    let latency = rotations_are_the_models("morphling", 1024, columns, &amounts);
    let machine = Morphling::new(&registry::description("morphling").expect("a machine")).expect("its figures");
    // The decomposer's addition follows.
    assert_eq!(latency + machine.depth.adder, pipeline::decomposition(machine.depth));
}
