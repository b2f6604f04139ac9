//! Do wide tables, read by circuit bootstrapping, give the entries of plain integers, with the noise that the report states? Is everything without
//! circuit bootstrapping refused?

use super::common::{Keys, values};
use polyfabric_kernels::Gadget;
use polyfabric_program::tfhe::homomorphic::{
    Builder, ElementType, Program, ProgramErrorCause, Range, Table, encode_input, evaluate,
};
use polyfabric_program::tfhe::kernel::OpKind;
use polyfabric_program::tfhe::lowering::{Arithmetic, KeySwitchOrder, LoweringError, TfheLowering, lower};
use polyfabric_program::tfhe::noise;
use polyfabric_program::tfhe::text::{parse_kernel, parse_program};
use polyfabric_runtime::NoProgress;
use polyfabric_runtime::tfhe::RunError;
use polyfabric_runtime::tfhe::cpu::Executor;
use polyfabric_runtime::tfhe::interpreter;
use polyfabric_schemes::tfhe::noise::{Keys as KeysOf, Transform};
use polyfabric_schemes::tfhe::{CircuitGadgets, KeyUnrolling, LweKind, Parameters, ServerKey, sets};

const SET: &str = "toy-256-circuit";
const COUNT: usize = 3;

fn integers(lo: i64, hi: i64) -> ElementType {
    ElementType::Integer(Range::new(lo, hi).unwrap())
}

/// Entry `at` of table `seed`, of `bits` bits.
fn entry(at: i64, seed: i64, bits: u32) -> i64 {
    (at * at * 7 + at * (seed + 3) + (at >> 2) * 5 + seed) & ((1 << bits) - 1)
}

fn table(width: u32, seed: i64, bits: u32) -> Table {
    Table::new(0, (0..1 << width).map(|at| entry(at, seed, bits)).collect()).unwrap()
}

/// Digits x of 2 bits with carries, of numbers of 2·`digits` bits: one table with two results, and a table of the single bits of its first
/// result's parity with another table's.
fn program(digits: usize) -> Program {
    let mut builder = Builder::new("wide").unwrap();
    let x = builder.input("x", integers(-1, 6), digits * COUNT).unwrap();
    let width = 2 * digits as u32;
    let tables = vec![table(width, 1, 2), table(width, 2, 2), table(width, 3, 1)];
    let y = builder.lookup_wide(x, vec![2; digits], tables).unwrap();
    builder.output("y", y).unwrap();
    // Bits add up without carries.
    let bits = builder.lookup_wide(x, vec![2; digits], vec![table(width, 4, 1), table(width, 5, 1)]).unwrap();
    let [a, b] = [0, COUNT].map(|first| (first..first + COUNT).map(|at| at as u32).collect::<Vec<u32>>());
    let (a, b) = (builder.select(bits, &a).unwrap(), builder.select(bits, &b).unwrap());
    let parity = builder.add(a, b).unwrap();
    let both = builder.concat(&[parity, a]).unwrap();
    let z = builder.lookup_wide(both, vec![1, 1], vec![table(2, 6, 3)]).unwrap();
    builder.output("z", z).unwrap();
    builder.finish().unwrap()
}

/// The outputs, computed with plain integers.
fn expected(digits: usize, x: &[i64]) -> (Vec<i64>, Vec<i64>) {
    let index = |element: usize| (0..digits).map(|d| (x[d * COUNT + element] & 3) << (2 * d)).sum::<i64>();
    let all = |f: &dyn Fn(i64) -> i64| (0..COUNT).map(|element| f(index(element))).collect::<Vec<i64>>();
    let y = [(1, 2), (2, 2), (3, 1)].map(|(seed, bits)| all(&|at| entry(at, seed, bits)));
    let z = all(&|at| {
        let (a, b) = (entry(at, 4, 1), entry(at, 5, 1));
        entry((a ^ b) | a << 1, 6, 3)
    });
    (y.concat(), z)
}

fn x(digits: usize, seed: i64) -> Vec<i64> {
    (0..(digits * COUNT) as i64).map(|at| (at * at * 5 + at * seed + seed) % 8 - 1).collect()
}

#[test]
fn wide_tables_give_the_entries_of_plain_integers() {
    let keys = Keys::<u64>::new(SET);
    for order in [KeySwitchOrder::Before, KeySwitchOrder::After] {
        // Ten bits with four results each take sixteen polynomials.
        for digits in [1, 3, 5] {
            let program = program(digits);
            let x = x(digits, 3 + digits as i64);
            let inputs = values(&[("x", &x)]);
            let (y, z) = expected(digits, &x);
            let expected = values(&[("y", &y), ("z", &z)]);
            assert_eq!(evaluate(&program, &inputs).unwrap().outputs(&program), expected);
            for arithmetic in [Arithmetic::ExactInteger, Arithmetic::F64] {
                if digits == 5 && arithmetic == Arithmetic::ExactInteger {
                    continue;
                }
                assert_eq!(keys.interpret(&program, &TfheLowering::new(order, arithmetic), &inputs), expected);
            }
            let lowered = keys.lower(&program, &TfheLowering::processor(order));
            let encrypted = keys.encrypt(&program, &lowered, &inputs, 200);
            for threads in [1, 2] {
                let executor = Executor::new(&keys.server, threads).unwrap();
                let outputs = executor.run(&lowered, &encrypted, &NoProgress).unwrap();
                assert_eq!(keys.decrypt(&program, &outputs), expected, "{order:?}, {digits} digits");
            }
        }
    }
}

#[test]
fn executions_together_give_the_results_of_each() {
    let keys = Keys::<u64>::new(SET);
    let program = program(3);
    let lowered = keys.lower(&program, &TfheLowering::processor(KeySwitchOrder::Before));
    let numbers: Vec<Vec<i64>> = (1..4).map(|seed| x(3, seed)).collect();
    let encrypted: Vec<_> =
        numbers.iter().map(|x| keys.encrypt(&program, &lowered, &values(&[("x", x)]), 300 + x[0] as u64 + 1)).collect();
    let requests: Vec<_> = encrypted.iter().collect();
    let together = Executor::new(&keys.server, 1).unwrap().run_together(&lowered, &requests, &NoProgress).unwrap();
    assert_eq!(together.len(), 3);
    for (outputs, x) in together.into_iter().zip(&numbers) {
        let (y, z) = expected(3, x);
        assert_eq!(keys.decrypt(&program, &outputs.unwrap()), values(&[("y", &y), ("z", &z)]));
    }
}

#[test]
fn equal_bits_and_tables_are_made_once_and_unread_ones_never() {
    let program = program(3);
    let lowered = lower(&program, &sets::parameters(SET).unwrap(), &TfheLowering::processor(KeySwitchOrder::Before));
    let lowered = lowered.unwrap();
    // Six bits of each number for both tables, then two; the parity is a sum.
    assert_eq!(lowered.lookups(), COUNT * (6 + 2));
    let packed = |op: &&polyfabric_program::tfhe::kernel::Op| matches!(op.kind, OpKind::PackedLookup { .. });
    assert_eq!(lowered.ops.iter().filter(packed).count(), 3);
    let mut builder = Builder::new("unread").unwrap();
    let x = builder.input("x", integers(0, 3), 2).unwrap();
    let unread = builder.lookup_wide(x, vec![2, 2], vec![table(4, 1, 2)]).unwrap();
    builder.lookup_wide(unread, vec![2], vec![table(2, 1, 2)]).unwrap();
    let y = builder.lookup_wide(x, vec![1, 2], vec![table(3, 2, 2)]).unwrap();
    builder.output("y", y).unwrap();
    let lowered = lower(
        &builder.finish().unwrap(),
        &sets::parameters(SET).unwrap(),
        &TfheLowering::processor(KeySwitchOrder::After),
    );
    assert_eq!(lowered.unwrap().lookups(), 3);
}

#[test]
fn both_text_forms_come_back() {
    let program = program(3);
    assert_eq!(parse_program(&program.to_string()).unwrap(), program);
    for order in [KeySwitchOrder::Before, KeySwitchOrder::After] {
        let lowered = lower(&program, &sets::parameters(SET).unwrap(), &TfheLowering::processor(order)).unwrap();
        let text = lowered.to_string();
        assert_eq!(parse_kernel(&text).unwrap(), lowered);
        // Bits, tables and widths beyond what there is.
        for (right, wrong) in
            [("width 6", "width 17"), ("width 6", "width 0"), ("width 6", "width 5"), ("bits [0", "bits [99")]
        {
            let damaged = text.replacen(right, wrong, 1);
            assert!(damaged != text && parse_kernel(&damaged).is_err(), "{wrong}");
        }
    }
}

/// A table of `width` bits read by one, with all bits set.
fn ones(width: u32, count: usize) -> Program {
    let mut builder = Builder::new("ones").unwrap();
    let x = builder.input("x", integers(0, 1), width as usize * count).unwrap();
    let y = builder.lookup_wide(x, vec![1; width as usize], vec![table(width, 1, 4), table(width, 2, 4)]).unwrap();
    builder.output("y", y).unwrap();
    builder.finish().unwrap()
}

/// Second moment of the results' errors over some keys, by the report's.
fn measured_by_predicted(parameters: &Parameters, width: u32, count: usize) -> f64 {
    let program = ones(width, count);
    let choice = TfheLowering::processor(KeySwitchOrder::Before);
    let report = noise::report_for(&program, parameters, &choice, Transform::f64_here(), KeysOf::Average).unwrap();
    let lowered = lower(&program, parameters, &choice).unwrap();
    let bits = vec![1; width as usize * count];
    let expected: Vec<u64> = {
        let entries = [1, 2].map(|seed| entry((1 << width) - 1, seed, 4));
        entries.into_iter().flat_map(|entry| vec![(entry as u64) << 60; count]).collect()
    };
    let (mut sum, mut errors) = (0.0, 0.0);
    for seed in 0..6 {
        let client = polyfabric_schemes::tfhe::ClientKey::<u64>::for_tests(parameters, 20 + seed).unwrap();
        let server = ServerKey::for_tests_unrolled(&client, KeyUnrolling::of(parameters.secret()), 40 + seed);
        let plaintexts = encode_input::<u64>(&program, "x", &bits).unwrap();
        let batch = client.encrypt_for_tests(LweKind::Large, &plaintexts, 60 + seed);
        let inputs = std::iter::once(("x".to_owned(), batch)).collect();
        let outputs = Executor::new(&server, 1).unwrap().run(&lowered, &inputs, &NoProgress).unwrap();
        let phases = client.decrypt_phase(LweKind::Large, &outputs["y"]).unwrap();
        for (phase, expected) in phases.into_iter().zip(&expected) {
            let error = phase.wrapping_sub(*expected) as i64 as f64 / 2f64.powi(64);
            sum += error * error;
            errors += 1.0;
        }
    }
    sum / errors / report.outputs[0].variance
}

#[test]
fn noise_is_as_predicted() {
    let gadget = |log2_base, levels| Gadget { log2_base, levels };
    let circuit = |ggsw, trace, square| CircuitGadgets { ggsw, trace, square };
    // The rotation's error, rounding by the GGSW ciphertexts, the trace's, and the square's as the largest.
    for (bootstrap, gadgets) in [
        (gadget(12, 2), circuit(gadget(8, 3), gadget(8, 5), gadget(12, 4))),
        (gadget(12, 3), circuit(gadget(4, 3), gadget(8, 5), gadget(12, 4))),
        (gadget(12, 3), circuit(gadget(8, 3), gadget(8, 3), gadget(12, 4))),
        (gadget(12, 3), circuit(gadget(8, 3), gadget(8, 5), gadget(9, 3))),
    ] {
        let mut literal = sets::literal(SET).unwrap().clone();
        (literal.bootstrap_gadget, literal.circuit, literal.lwe_dimension) = (bootstrap, Some(gadgets), 64);
        let parameters = Parameters::check(&literal).unwrap();
        let ratio = measured_by_predicted(&parameters, 6, 60);
        println!("{gadgets:?}: {ratio:.3}");
        // The first CMUX reads a ciphertext without noise or mask: a sixth.
        assert!((0.75..1.25).contains(&ratio), "{gadgets:?}: {ratio}");
    }
}

#[test]
fn what_has_no_circuit_bootstrapping_refuses_it() {
    let program = program(1);
    let choice = TfheLowering::processor(KeySwitchOrder::Before);
    let error = lower(&program, &sets::parameters("toy-256-t64").unwrap(), &choice).unwrap_err();
    assert!(matches!(error, LoweringError::NoCircuit { .. }), "{error}");
    let keys = Keys::<u64>::new(SET);
    let lowered = keys.lower(&program, &choice);
    let inputs = keys.encrypt(&program, &lowered, &values(&[("x", &x(1, 4))]), 5);
    let (bootstrap, switch) = (keys.server.bootstrap_key().to_vec(), keys.server.key_switch_key().map(<[u64]>::to_vec));
    let other = ServerKey::from_material(keys.server.parameters(), bootstrap, switch).unwrap();
    let missing = RunError::NoCircuitKey { set: SET.to_owned() };
    assert_eq!(interpreter::run(&lowered, &other, &inputs, &NoProgress).unwrap_err(), missing);
    assert_eq!(Executor::new(&other, 1).unwrap().run(&lowered, &inputs, &NoProgress).unwrap_err(), missing);
}

#[test]
fn wrong_digits_and_tables_are_refused() {
    let refused = |length: usize, widths: Vec<u32>, tables: Vec<Table>| {
        let mut builder = Builder::new("wrong").unwrap();
        let x = builder.input("x", integers(0, 3), length).unwrap();
        let error = builder.lookup_wide(x, widths, tables).unwrap_err();
        assert!(matches!(error.cause, ProgramErrorCause::Wide { .. }), "{error}");
    };
    refused(2, vec![], vec![table(2, 1, 1)]);
    refused(2, vec![0, 2], vec![table(2, 1, 1)]);
    refused(2, vec![16, 1], vec![table(4, 1, 1)]);
    refused(2, vec![u32::MAX, u32::MAX], vec![table(4, 1, 1)]);
    refused(3, vec![2, 2], vec![table(4, 1, 1)]);
    refused(2, vec![2, 2], vec![table(3, 1, 1)]);
    refused(2, vec![2, 2], vec![]);
    refused(2, vec![2, 2], vec![table(4, 1, 1); 17]);
    refused(2, vec![1, 1], vec![Table::new(1, vec![0; 4]).unwrap()]);
}
