//! Do the arithmetics differ only as documented: f64 within its proven bound of exact, fixed point deterministic with saturations reported?

use super::common::{Keys, clear, values};
use polyfabric_kernels::fft::error_bound;
use polyfabric_kernels::fixed::{FixedFftSpec, FixedWidths, RangeRule, Rounding};
use polyfabric_program::tfhe::homomorphic::{Builder, ElementType, Gate, Program};
use polyfabric_program::tfhe::lowering::{Arithmetic, KeySwitchOrder, TfheLowering};
use polyfabric_runtime::NoProgress;
use polyfabric_runtime::tfhe::RunError;
use polyfabric_runtime::tfhe::interpreter::{self, Primitives};

fn gates() -> Program {
    let mut builder = Builder::new("gates").unwrap();
    let a = builder.input("a", ElementType::Boolean, 4).unwrap();
    let b = builder.input("b", ElementType::Boolean, 4).unwrap();
    let both = builder.gate(Gate::And, a, b).unwrap();
    let one = builder.gate(Gate::Xor, both, a).unwrap();
    builder.output("y", one).unwrap();
    builder.finish().unwrap()
}

/// The external product of the key's first GGSW ciphertext with a fixed polynomial, column by column.
fn external_product(primitives: &Primitives<'_, u32>, degree: usize) -> Vec<Vec<u32>> {
    let parameters = primitives.parameters().clone();
    let (rows, levels) = (parameters.ggsw_rows() as u32, parameters.bootstrap_gadget().levels);
    let polynomial: Vec<u32> = (0..degree as u32).map(|index| index.wrapping_mul(0x9e37_79b9) ^ 0x55).collect();
    let spectra: Vec<_> = (0..rows)
        .map(|row| {
            let rotated = primitives.rotate(&polynomial, row * 37);
            primitives.forward(&primitives.digit(&rotated, row % levels))
        })
        .collect();
    let column = |column: u32| {
        let mut sum = primitives.multiply(&spectra[0], 0, 0, column);
        for (row, spectrum) in (0..rows).zip(&spectra).skip(1) {
            sum = primitives.multiply_accumulate(sum, spectrum, 0, row, column);
        }
        primitives.inverse(sum)
    };
    (0..parameters.glwe_dimension().ciphertext_polynomials() as u32).map(column).collect()
}

#[test]
fn f64_is_within_its_bound_of_exact() {
    let keys = Keys::<u32>::new("toy-512-k2");
    let degree = keys.server.parameters().ring_degree();
    let exact = Primitives::new(&keys.server, &Arithmetic::ExactInteger).unwrap();
    let float = Primitives::new(&keys.server, &Arithmetic::F64).unwrap();
    let gadget = keys.server.parameters().bootstrap_gadget();
    let digit = 2f64.powi(gadget.log2_base as i32 - 1);
    let bound = error_bound(degree, digit, keys.server.parameters().ggsw_rows(), u32::BITS);
    let exact = external_product(&exact, degree.get());
    let float = external_product(&float, degree.get());
    let differences = exact.iter().flatten().zip(float.iter().flatten());
    let worst = differences.map(|(a, b)| a.wrapping_sub(*b).cast_signed().unsigned_abs()).max().unwrap();
    assert!(f64::from(worst) <= bound + 0.5, "{worst} units of the torus, bound {bound}");
}

/// Widths of 36 bits, which overflow with probability 2^`log2`.
fn fixed(keys: &Keys<u32>, log2: f64) -> Arithmetic {
    let parameters = keys.server.parameters();
    Arithmetic::Fixed(Box::new(FixedFftSpec::for_external_product(
        parameters.ring_degree(),
        parameters.bootstrap_gadget(),
        parameters.glwe_dimension().get(),
        parameters.torus_bits(),
        FixedWidths::uniform(36),
        Rounding::HalfEven,
        RangeRule::OverflowProbability { log2, first_step: if log2 < -2.0 { 0.25 } else { 0.0 } },
    )))
}

#[test]
fn fixed_point_is_deterministic_and_decrypts() {
    let keys = Keys::<u32>::new("toy-256");
    let program = gates();
    let input = values(&[("a", &[0, 0, 1, 1]), ("b", &[0, 1, 0, 1])]);
    let choice = TfheLowering::new(KeySwitchOrder::After, fixed(&keys, -64.0));
    let lowered = keys.lower(&program, &choice);
    let encrypted = keys.encrypt(&program, &lowered, &input, 9);
    let run = || interpreter::run(&lowered, &keys.server, &encrypted, &NoProgress).unwrap();
    let first = run();
    assert_eq!(first, run());
    assert_eq!(keys.decrypt(&program, &first), clear(&program, &input));
}

#[test]
fn saturation_is_an_error() {
    let keys = Keys::<u32>::new("toy-256");
    let choice = TfheLowering::new(KeySwitchOrder::After, fixed(&keys, -1.0));
    let program = gates();
    let lowered = keys.lower(&program, &choice);
    let input = values(&[("a", &[0, 0, 1, 1]), ("b", &[0, 1, 0, 1])]);
    let encrypted = keys.encrypt(&program, &lowered, &input, 9);
    let refused = interpreter::run(&lowered, &keys.server, &encrypted, &NoProgress).unwrap_err();
    assert!(matches!(refused, RunError::Saturated { count } if count > 0), "{refused}");
}

#[test]
fn mismatches_are_rejected_before_anything_runs() {
    let keys = Keys::<u32>::new("toy-256");
    let program = gates();
    let lowered = keys.lower(&program, &TfheLowering::new(KeySwitchOrder::After, Arithmetic::F64));
    let input = values(&[("a", &[0; 4]), ("b", &[0; 4])]);
    let encrypted = keys.encrypt(&program, &lowered, &input, 9);
    let refused = |program: &_, encrypted: &_| {
        interpreter::run(program, &keys.server, encrypted, &NoProgress).unwrap_err().to_string()
    };
    let mut missing = encrypted.clone();
    missing.remove("b");
    assert_eq!(refused(&lowered, &missing), "input \"b\" is missing; give 4 ciphertexts under the small key");
    let mut unknown = encrypted.clone();
    unknown.insert("c".to_owned(), encrypted["a"].clone());
    assert_eq!(refused(&lowered, &unknown), "the program has no input \"c\"; its inputs are \"a\", \"b\"");
    let other = Keys::<u32>::new("toy-512-k2");
    let foreign = other.lower(&program, &TfheLowering::new(KeySwitchOrder::After, Arithmetic::F64));
    assert_eq!(
        refused(&foreign, &encrypted),
        "the program is lowered for parameter set toy-512-k2, but the server key is of toy-256 or differs in its figures; \
         lower the program for the key's set, or load the matching key"
    );
    let large = keys.lower(&program, &TfheLowering::new(KeySwitchOrder::Before, Arithmetic::F64));
    assert!(
        refused(&large, &encrypted).contains("but the program takes 4 of dimension 256 (large key); encrypt it so")
    );
    let mut spec = lowered.clone();
    spec.choice.arithmetic = fixed(&other, -64.0);
    assert!(
        refused(&spec, &encrypted).starts_with("the program's fixed-point arithmetic is specified for ring degree")
    );
}
