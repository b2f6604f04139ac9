//! Are inputs rejected that leave an approximation's interval or the modulus, and programs whose results are only noise?

use super::{Zeros, chain};
use polyfabric_program::Location;
use polyfabric_program::rns::homomorphic::{
    Basis, Builder, Complex, NodeId, Polynomial, Program, ProgramError, Scheme, Values,
};
use polyfabric_program::rns::lowering::{RnsLowering, Target, lower};
use polyfabric_program::rns::noise::{FitFailure, Interval, NoiseFailure, NoiseModel, NoiseReport, expect_inputs};
use polyfabric_schemes::rns::GadgetLiteral;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

fn program(magnitude: f64, build: impl FnOnce(&mut Builder, NodeId) -> Result<NodeId, ProgramError>) -> Program {
    let mut builder = Builder::new("test", Scheme::Ckks, 512).expect("a program");
    let x = builder.input_with("x", None, magnitude).expect("an input");
    builder.at(Some(Location { file: "mine.py".into(), line: 7 }));
    let result = build(&mut builder, x).expect("a node");
    builder.output("result", result).expect("an output");
    builder.finish().expect("a program")
}

fn report(program: &Program, gadget: GadgetLiteral) -> NoiseReport {
    let (chain, choice) = (chain(3), RnsLowering::new(gadget));
    let model = NoiseModel::ternary(chain.degree());
    let target =
        Target { chain: &chain, choice: &choice, model, encoder: &Zeros, bootstrapping: None, observed: false };
    NoiseReport::new(program, &lower(program, &target).expect("a kernel program"), &chain, &model)
}

fn check(program: &Program, x: &[Complex], mapped: &[(u32, Interval)]) -> Result<(), FitFailure> {
    let mapped: BTreeMap<NodeId, Interval> = mapped.iter().map(|&(node, interval)| (NodeId(node), interval)).collect();
    let inputs = HashMap::from([("x".to_owned(), Values::Complex(x.into()))]);
    expect_inputs(program, &chain(3), &report(program, GadgetLiteral::hybrid(4, 2, 2)), &inputs, &mapped, |_, _| {})
}

fn vector(at: usize, value: Complex) -> Vec<Complex> {
    let mut slots = vec![Complex::from(0.5); 512];
    slots[at] = value;
    slots
}

#[test]
fn an_approximations_interval_is_kept() {
    let basis = Basis::Chebyshev { lo: -1.0, hi: 2.0 };
    let polynomial = Arc::new(Polynomial { basis, coefficients: Values::real(&[0.5, 0.25, 0.125]) });
    let program = program(8.0, |b, x| b.polynomial(x, polynomial));
    for end in [-1.0, 2.0, 2.0 + 1e-9] {
        assert_eq!(check(&program, &vector(300, end.into()), &[]), Ok(()));
    }
    let error = |at, value| check(&program, &vector(at, value), &[]).unwrap_err().to_string();
    assert_eq!(
        error(300, Complex::from(2.5)),
        "mine.py:7: polynomial %1: it approximates its function from -1 to 2, but with these inputs slot 300 of its operand is 2.5; widen the interval, or scale the inputs"
    );
    assert!(error(3, Complex::from(-1.001)).contains("slot 3 of its operand is -1.001"));
    assert!(error(3, Complex::new(0.5, 0.25)).contains("is 0.5 +0.25i"));
    // For an operand mapped before, its own slots and interval count.
    let of = |slots| [(1, Interval { operand: NodeId(0), lo: -2.0, hi: 2.25, slots })];
    assert_eq!(check(&program, &vector(300, Complex::from(2.5)), &of(300)), Ok(()));
    let error = check(&program, &vector(300, Complex::from(2.5)), &of(301)).unwrap_err().to_string();
    assert!(error.contains("from -2 to 2.25, but with these inputs slot 300 of its operand is 2.5"), "{error}");
}

#[test]
fn coefficients_stay_within_the_modulus() {
    // At level 0 the modulus has 50 bits and the scale 40, so a coefficient may be up to 2^9.
    let program = program(4096.0, |b, x| b.mul(x, x));
    let checked = |x: &[Complex]| check(&program, x, &[]);
    assert_eq!(checked(&vec![Complex::from(22.0); 512]), Ok(()));
    let error = checked(&vec![Complex::from(24.0); 512]).unwrap_err();
    assert!(
        matches!(error, FitFailure::Wraps { coefficient, level: 1, .. } if (coefficient - 89.17).abs() < 0.01),
        "{error}"
    );
    assert!(error.to_string().starts_with(
        "mine.py:7: mul %1: with these inputs values up to 5.760e2 have coefficients up to 2^89.2 at scale 2^80.0, but half of the modulus at level 1 is 2^89.0: they would wrap around;"
    ), "{error}");
    // A single large slot has small coefficients: 4096² / 512.
    assert!(checked(&vector(5, Complex::from(4096.0))).is_err());
    assert_eq!(checked(&vector(5, Complex::from(500.0))), Ok(()));
    let nan = checked(&vec![Complex::from(1e200); 512]).unwrap_err();
    assert!(matches!(nan, FitFailure::Wraps { .. }), "{nan}");
}

#[test]
fn inputs_too_large_to_encode_are_refused() {
    // Coefficients reach 2^126, and the scale is 2^40.
    let found = |magnitude| {
        let program = program(magnitude, |b, x| b.rotate(x, 1));
        report(&program, GadgetLiteral::hybrid(4, 2, 2)).require_encodable(&program)
    };
    assert_eq!(found(2f64.powi(86)), Ok(()));
    let error = found(2f64.powi(86) * 1.01).expect_err("2^126");
    assert!(
        matches!(error, NoiseFailure::TooLarge { node: NodeId(0), limit, .. } if (limit - 86.0).abs() < 1e-9),
        "{error}"
    );
}

#[test]
fn a_result_that_is_only_noise_is_reported() {
    let rotated = program(1.0, |b, x| b.rotate(x, 1));
    let left = |program: &Program, gadget| report(program, gadget).require_something_left(program);
    assert_eq!(left(&rotated, GadgetLiteral::hybrid(4, 2, 2)), Ok(()));
    let error = left(&rotated, GadgetLiteral::per_limb(4)).expect_err("whole limbs swamp a scale of one limb");
    assert!(matches!(error, NoiseFailure::NothingLeft { op: "rotate", node: NodeId(1), .. }), "{error}");
    let text = error.to_string();
    assert!(
        text.starts_with("mine.py:7: rotate %1: errors up to 2^")
            && text.contains("output \"result\" would be only noise"),
        "{text}"
    );
    // Precision lost before an output that keeps some is accepted.
    let added = program(1.0, |b, x| {
        let tiny = b.constant(Values::real(&[1e-30]))?;
        let lost = b.mul(x, tiny)?;
        b.add(x, lost)
    });
    assert_eq!(left(&added, GadgetLiteral::hybrid(4, 2, 2)), Ok(()));
    // An output that is 0 has no precision to lose.
    let nothing = program(1.0, |b, x| {
        let zero = b.constant(Values::real(&[0.0]))?;
        b.mul(x, zero)
    });
    assert_eq!(left(&nothing, GadgetLiteral::hybrid(4, 2, 2)), Ok(()));
}
