//! Does every error name the operation, its source location, the values and the remedy?

use polyfabric_program::Location;
use polyfabric_program::tfhe::Matrix;
use polyfabric_program::tfhe::homomorphic::{
    Builder, ElementType, Gate, LookupResult, NodeId, Program, ProgramError, Range, Table, evaluate,
};
use polyfabric_program::tfhe::kernel::{BodyValue, KernelProgram, OpKind, TableChoice, ValueId, ValueType};
use polyfabric_program::tfhe::lowering::{Arithmetic, KeySwitchOrder, TfheLowering, lower};
use polyfabric_program::tfhe::noise::{self, NoiseError};
use polyfabric_schemes::tfhe::noise::{Formulas, Keys, Transform};
use polyfabric_schemes::tfhe::{Parameters, sets};
use std::collections::BTreeMap;
use std::sync::Arc;

fn integer(lo: i64, hi: i64) -> ElementType {
    ElementType::Integer(Range::new(lo, hi).unwrap())
}

/// A builder at digits.py:12 with a four-element integer `x` from 0 to 3 and a two-element Boolean `b`.
fn builder() -> (Builder, NodeId, NodeId) {
    let mut builder = Builder::new("p").unwrap();
    let x = builder.input("x", integer(0, 3), 4).unwrap();
    let b = builder.input("b", ElementType::Boolean, 2).unwrap();
    builder.at(Some(Location { file: "digits.py".into(), line: 12 }));
    (builder, x, b)
}

#[test]
fn building() {
    type Step = fn(&mut Builder, NodeId, NodeId) -> Result<NodeId, ProgramError>;
    let cases: [(Step, &str); 12] = [
        (
            |p, x, b| p.add(x, b),
            "add: the operand is boolean, but an integer or a torus value is needed; use a gate, as x & y, or make an integer of each by a lookup, as pf.lookup(x, [0, 1])",
        ),
        (|p, x, _| p.add_clear(x, &[1, 2]), "add_clear: the operands have 4 and 2 elements; make the lengths equal"),
        (
            |p, x, b| p.gate(Gate::And, b, x),
            "and: the operand is integer[0..3], but a Boolean is needed; compare the value first, or use a lookup with Boolean result",
        ),
        (
            |p, x, _| p.lookup(x, vec![Table::new(0, vec![0, 1, 4]).unwrap()], None, LookupResult::Integer),
            "lookup: the operand ranges from 0 to 3, but the table covers 0 to 2; extend the table or narrow the operand",
        ),
        (
            |p, x, _| p.lookup(x, vec![Table::new(0, vec![0, 1, 4, 9]).unwrap()], None, LookupResult::Boolean),
            "lookup: value 9 at index 1 is no boolean; correct the value or widen the type",
        ),
        (|p, x, _| p.select(x, &[0, 4]), "select: index 4 is beyond the operand's 4 elements; correct the index"),
        (
            |p, x, _| p.linear(x, Arc::new(Matrix::from_dense(&[vec![1, 1]]).unwrap()), &[0]),
            "linear: the operands have 4 and 2 elements; make the lengths equal",
        ),
        (
            |p, x, _| p.mul_clear(x, &[1 << 40, 0, 0, 0]),
            "linear: row 0: the weight 1099511627776 of column 0 does not fit in 32 bits; scale the weights down",
        ),
        (
            |p, _, _| p.constant(integer(0, 3), &[0, 4]),
            "constant: value 4 at index 1 is no integer[0..3]; correct the value or widen the type",
        ),
        (|p, _, _| p.input("x", ElementType::Boolean, 1), "the input name \"x\" is taken; choose another"),
        (
            |p, _, _| p.input("t", ElementType::Torus { bits: 31 }, 1),
            "a torus value has 1 to 30 fractional bits, not 31; choose a precision in that range",
        ),
        (
            |p, x, b| p.concat(&[x, b]),
            "concat: integer[0..3] and boolean do not combine; give both operands the same type",
        ),
    ];
    for (step, message) in cases {
        let (mut builder, x, b) = builder();
        let error = step(&mut builder, x, b).unwrap_err().to_string();
        assert_eq!(crate::facts(&error), crate::facts(&format!("digits.py:12: {message}")), "{error}");
    }
}

#[test]
fn steps() {
    let (mut program, x, _) = builder();
    let table = Table::tabulate(Range::new(0, 3).unwrap(), |value| value).unwrap();
    let y = program.lookup(x, vec![table], None, LookupResult::Integer).unwrap();
    program.output("y", y).unwrap();
    program.pin_step(x, 6).unwrap();
    assert_eq!(
        program.finish().unwrap_err().to_string(),
        "torus step 1/6 was demanded, but lookup %2 (digits.py:12) of integer[0..3] %0 needs an even denominator of at least 8; \
         raise the denominator or narrow the range"
    );
    let (mut program, x, _) = builder();
    let wide = program.mul_clear(x, &[i64::from(i32::MAX); 4]).unwrap();
    program.output("y", wide).unwrap();
    assert!(
        program.finish().unwrap_err().to_string().starts_with("digits.py:12: output %3 (digits.py:12) of integer[")
    );
}

#[test]
fn clear_inputs_and_promises() {
    let (mut program, x, _) = builder();
    let narrow = program.assume(x, Range::new(0, 1).unwrap()).unwrap();
    program.output("y", narrow).unwrap();
    let program = program.finish().unwrap();
    let refused = |inputs: &[(&str, Vec<i64>)]| {
        let inputs: BTreeMap<_, _> = inputs.iter().map(|(name, values)| ((*name).to_owned(), values.clone())).collect();
        evaluate(&program, &inputs).unwrap_err().to_string()
    };
    let b = ("b", vec![0, 1]);
    assert_eq!(refused(std::slice::from_ref(&b)), "input \"x\" is missing; give 4 values of type integer[0..3]");
    assert_eq!(
        refused(&[b.clone(), ("x", vec![0, 1, 4, 0])]),
        "input \"x\": value 4 at index 2 is no integer[0..3]; correct the value"
    );
    assert_eq!(
        refused(&[b, ("x", vec![0, 1, 3, 0])]),
        "digits.py:12: %2 is promised to be integer[0..1], but element 2 is 3 for these inputs; widen the promised range"
    );
}

/// The sum of `terms` inputs from 0 to 3, read by a table.
fn sum(terms: usize) -> Program {
    let mut builder = Builder::new("sum").unwrap();
    let x = builder.input("x", integer(0, 3), terms).unwrap();
    builder.at(Some(Location { file: "sum.py".into(), line: 7 }));
    let ones = Arc::new(Matrix::from_dense(&[vec![1; terms]]).unwrap());
    let total = builder.linear(x, ones, &[0]).unwrap();
    let table = Table::tabulate(Range::new(0, 3 * terms as i64).unwrap(), |value| value % 4).unwrap();
    let y = builder.lookup(total, vec![table], None, LookupResult::Integer).unwrap();
    builder.output("y", y).unwrap();
    builder.finish().unwrap()
}

fn set(name: &str) -> Parameters {
    sets::parameters(name).unwrap()
}

#[test]
fn noise_budgets() {
    let parameters = set("strix-I");
    let refused = |terms| {
        let choice = TfheLowering::new(KeySwitchOrder::None, Arithmetic::F64);
        let report = noise::report_lowered(&sum(terms), &parameters, &choice, Transform::F64).unwrap();
        report.check(&parameters, -40.0).unwrap_err()
    };
    let text = refused(20).to_string();
    assert!(
        text.starts_with("sum.py:7: lookup %2 leaves its noise budget with parameter set strix-I: reading integer[0..60] fails with probability 2^-")
            && text.contains(", more than 2^-40.0 (noise 2^-")
            && text.ends_with("sum of squared weights 20); use smaller weights or a narrower range, put a lookup before the sum, or accept this with max_failure (--max-failure)"),
        "{text}"
    );
    assert_eq!(
        refused(800).to_string(),
        "sum.py:7: lookup %2 reads integer[0..2400], whose values parameter set strix-I cannot tell apart: the ring degree 1024 gives 2048 phases; \
         narrow the range"
    );
}

#[test]
fn choosing_a_set() {
    let chosen = |terms| {
        noise::choose_parameters(&sum(terms), -64.0, (false, None), Transform::F64, (noise::Encryption::Secret, None))
    };
    let small = chosen(1).unwrap();
    let large = chosen(4).unwrap();
    assert!(small.report.log2_failure <= -64.0 && large.report.log2_failure <= -64.0);
    let degree = |chosen: &noise::Chosen| chosen.parameters.ring_degree().get();
    // An iteration of two bits adds more noise than two iterations of one bit, so another set may be needed.
    let two =
        noise::choose_parameters(&sum(1), -128.0, (false, Some(2)), Transform::F64, (noise::Encryption::Secret, None))
            .unwrap();
    let choice = TfheLowering { key_unrolling: 2, ..TfheLowering::processor(two.key_switch) };
    let inputs = (Keys::Accepted, noise::Encryption::Secret);
    let own = noise::report_encrypted(&sum(1), &two.parameters, &choice, Transform::F64, inputs).unwrap();
    assert!(own.log2_failure <= -128.0 && own == two.report, "{}", own.log2_failure);
    assert!(degree(&small) <= degree(&large), "{} {}", small.parameters.name(), large.parameters.name());
    let refused = chosen(1000).unwrap_err();
    assert!(matches!(&refused, NoiseError::NoSet { target, .. } if *target == -64.0), "{refused}");
    let text = refused.to_string();
    assert!(text.contains("failure probability 2^-64.0, the nearest is polyfabric-"), "{text}");
}

/// Flooding noise counts in the failure of the output and the program; an error states the bits that would fit.
#[test]
fn circuit_privacy() {
    let chosen = |bits| {
        noise::choose_parameters(
            &sum(1),
            -128.0,
            (false, None),
            Transform::F64,
            (noise::Encryption::Secret, Some(bits)),
        )
    };
    let plain =
        noise::choose_parameters(&sum(1), -128.0, (false, None), Transform::F64, (noise::Encryption::Secret, None))
            .unwrap();
    let hidden = chosen(6.0).unwrap();
    let (report, output) = (&hidden.report, &hidden.report.outputs[0]);
    assert!(report.log2_failure <= -128.0 && report.log2_failure >= output.log2_failure);
    let flood = output.flood_deviation.expect("a flood");
    let before =
        noise::report_lowered(&sum(1), &hidden.parameters, &TfheLowering::processor(hidden.key_switch), Transform::F64);
    let before = &before.unwrap().outputs[0];
    // 2^6 times twice the bound of 13.2 deviations, over √(2π).
    let bound = 13.2 * before.variance.sqrt() + before.mean_bound;
    assert!((flood / (2f64.powi(7) * bound / (2.0 * std::f64::consts::PI).sqrt()) - 1.0).abs() < 1e-9);
    let zero = Formulas::of(&hidden.parameters, Keys::Accepted).public_zero(output.key, &hidden.parameters);
    let parts = before.variance + zero.expect("a key switch").variance + flood * flood;
    assert!((output.variance / parts - 1.0).abs() < 1e-9, "{} {parts}", output.variance);
    assert!(output.error_bound > before.error_bound && plain.report.outputs[0].flood_deviation.is_none());
    let refused = |bits| {
        let choice = TfheLowering::new(KeySwitchOrder::After, Arithmetic::F64);
        let report = noise::report_lowered(&sum(1), &set("polyfabric-4-p128-t64"), &choice, Transform::F64).unwrap();
        report.with_circuit_privacy(&set("polyfabric-4-p128-t64"), bits, -128.0).unwrap_err().to_string()
    };
    let text = refused(30.0);
    assert!(
        ["output \"y\" (%3)", "30 bits", "integer[0..3]", "2^-128.0", "polyfabric-4-p128-t64"]
            .iter()
            .all(|part| text.contains(part))
            && text.ends_with(
                "(not even 0 bits fit); name a set with less noise, or accept this with max_failure (--max-failure)"
            ),
        "{text}"
    );
    // The error advises fewer bits if some fit.
    let most = hidden.report.with_circuit_privacy(&hidden.parameters, 60.0, -128.0).unwrap_err().to_string();
    assert!(
        most.contains(" bits fit); ask for fewer bits of circuit privacy (--circuit-privacy), name a set")
            && !most.contains("not even"),
        "{most}"
    );
    for (text, bits) in [(refused(-1.0), "-1 bits"), (chosen(f64::NAN).unwrap_err().to_string(), "NaN bits")] {
        assert!(text.contains(bits) && text.contains("0 to 60"), "{text}");
    }
}

#[test]
fn lowering() {
    let mut builder = Builder::new("chain").unwrap();
    let x = builder.input("x", ElementType::Boolean, 1).unwrap();
    builder.at(Some(Location { file: "chain.py".into(), line: 3 }));
    let once = builder.gate(Gate::And, x, x).unwrap();
    let twice = builder.gate(Gate::Or, once, x).unwrap();
    builder.output("y", twice).unwrap();
    let program = builder.finish().unwrap();
    let refused = |set: &str, choice: &TfheLowering| {
        lower(&program, &sets::parameters(set).unwrap(), choice).unwrap_err().to_string()
    };
    let mut choice = TfheLowering::new(KeySwitchOrder::None, Arithmetic::F64);
    assert_eq!(
        refused("toy-256", &choice),
        "chain.py:3: or %2 reads the result of another lookup, which needs a key switch between them; \
         choose a parameter set with a key-switching key, and with it a key switch before or after the blind rotation"
    );
    choice.key_switch = KeySwitchOrder::After;
    let unswitched = refused("polyfabric-direct-t32", &choice);
    assert!(unswitched.contains("polyfabric-direct-t32") && unswitched.contains("key switch after it"), "{unswitched}");
    choice.key_unrolling = 3;
    assert_eq!(
        refused("toy-256", &choice),
        "key unrolling 3 is not available; keys are made for 1, 2 or 4 secret bits per iteration, so choose one of these"
    );
}

#[test]
fn inconsistent_kernel_programs() {
    type Damage = fn(&mut KernelProgram);
    let damages: [(Damage, &str); 8] = [
        (|p| p.ops.swap(1, 2), "operation %1: operand %1 is not defined before it; order the operations"),
        (
            |p| p.ops[2].operands.push(ValueId(0)),
            "operation %2 (modulus_switch): 2 operands, but one is needed; correct its operands",
        ),
        (
            |p| p.ops[2].operands[0] = ValueId(0),
            "operation %2 (modulus_switch): its result is Indices { count: 1, dimension: 16, log2_modulus: 9 }, \
             but the operation gives Indices { count: 4, dimension: 16, log2_modulus: 9 }; correct the type",
        ),
        (
            |p| p.ops[0].result = ValueType::Glwe { count: 4 },
            "operation %0 (input): an input is an LWE batch, not Glwe { count: 4 }; correct its operands",
        ),
        (
            |p| {
                if let OpKind::BlindRotation { tables, .. } = &mut p.ops[3].kind {
                    *tables = TableChoice::Shared(3);
                }
            },
            "operation %3 (blind_rotation): there is no table 3; correct its operands",
        ),
        (
            |p| {
                if let OpKind::BlindRotation { body, .. } = &mut p.ops[3].kind {
                    Arc::make_mut(body).ops[0].operands[0] = BodyValue(40);
                }
            },
            "operation %3: in its body, operation 0 uses value 40 before it is defined; correct the body",
        ),
        (|p| p.outputs[0].value = ValueId(9), "output \"y\" is %9, which is no LWE value of the program; name one"),
        (
            |p| p.tables.push(polyfabric_program::tfhe::kernel::TestPolynomial::from_coefficients([1, 2, 3])),
            "table 1: it has 3 coefficients, the ring degree is 256; correct the table",
        ),
    ];
    let choice = TfheLowering::new(KeySwitchOrder::None, Arithmetic::F64);
    let sound = lower(&sum(4), &set("toy-256"), &choice).unwrap();
    for (damage, message) in damages {
        let mut program = sound.clone();
        damage(&mut program);
        assert_eq!(program.check().unwrap_err().to_string(), message);
    }
}
