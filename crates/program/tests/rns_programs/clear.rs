//! Does evaluation in the clear follow the definitions of the operations?

use polyfabric_program::rns::homomorphic::{
    Basis, Builder, ClearError, Complex, Diagonals, Polynomial, ProgramErrorCause, Scheme, Table, Values, evaluate,
};
use std::collections::HashMap;
use std::sync::Arc;

fn inputs(values: Values) -> HashMap<String, Values> {
    [("x".to_owned(), values)].into()
}

#[test]
fn bgv_has_two_rows_modulo_t() {
    let mut b = Builder::new("rows", Scheme::Bgv { plaintext_modulus: 17 }, 8).expect("a program");
    let x = b.input("x").expect("an input");
    let rotated = b.rotate(x, 1).expect("a rotation");
    let swapped = b.conjugate(x).expect("a swap");
    let square = b.square(x).expect("a square");
    let coefficients = Values::integer(&[1, 0, 2]);
    let polynomial =
        b.polynomial(x, Arc::new(Polynomial { basis: Basis::Monomial, coefficients })).expect("a polynomial");
    for (name, node) in [("rotated", rotated), ("swapped", swapped), ("square", square), ("polynomial", polynomial)] {
        b.output(name, node).expect("an output");
    }
    let program = b.finish().expect("a program");
    let evaluation = evaluate(&program, &inputs(Values::integer(&[1, 2, 3, 4, 5, 6, 7, -1]))).expect("values");
    let outputs = evaluation.outputs(&program);
    assert_eq!(outputs["rotated"], &Values::integer(&[2, 3, 4, 1, 6, 7, -1, 5]));
    assert_eq!(outputs["swapped"], &Values::integer(&[5, 6, 7, -1, 1, 2, 3, 4]));
    assert_eq!(outputs["square"], &Values::integer(&[1, 4, -8, -1, 8, 2, -2, 1]));
    assert_eq!(outputs["polynomial"], &Values::integer(&[3, -8, 2, -1, 0, 5, -3, 3]));
}

#[test]
fn a_matrix_by_its_diagonals_is_the_matrix() {
    // M[i][i + d] = diagonal_d[i]: rows (1 2 0 0), (0 3 4 0), (0 0 5 6), (8 0 0 7).
    let by_offset = [(0, Values::real(&[1.0, 3.0, 5.0, 7.0])), (1, Values::real(&[2.0, 4.0, 6.0, 8.0]))].into();
    let mut b = Builder::new("matrix", Scheme::Ckks, 4).expect("a program");
    let x = b.input("x").expect("an input");
    let y = b.linear_transform(x, Arc::new(Diagonals { by_offset })).expect("a matrix");
    b.output("y", y).expect("an output");
    let program = b.finish().expect("a program");
    let evaluation = evaluate(&program, &inputs(Values::real(&[1.0, 10.0, 100.0, 1000.0]))).expect("values");
    assert_eq!(evaluation.outputs(&program)["y"], &Values::real(&[21.0, 430.0, 6500.0, 7008.0]));
}

#[test]
fn lookups_apply_a_table_to_both_parts() {
    let mut b = Builder::new("squares", Scheme::Ckks, 2).expect("a program");
    let x = b.input("x").expect("an input");
    let squares = Arc::new(Table::new(&[0, 1, 0, 1], 4).expect("a table"));
    let y = b.lookup(x, squares.clone()).expect("a lookup");
    b.output("y", y).expect("an output");
    let program = b.finish().expect("a program");
    // 3 and 2; −3 and 5, which are 1 modulo 4, with errors below half a step.
    let input = Values::Complex([Complex::new(0.75, 0.5), Complex::new(-0.7, 1.3)].into());
    let evaluation = evaluate(&program, &inputs(input)).expect("values");
    let wanted = Values::Complex([Complex::new(0.25, 0.0), Complex::new(0.25, 0.25)].into());
    assert_eq!(evaluation.outputs(&program)["y"], &wanted);

    let mut bgv = Builder::new("squares", Scheme::Bgv { plaintext_modulus: 17 }, 2).expect("a program");
    let x = bgv.input("x").expect("an input");
    let error = bgv.lookup(x, squares).expect_err("a lookup of BGV");
    assert!(matches!(error.cause, ProgramErrorCause::NotInScheme { .. }), "{error}");
    for (entries, modulus) in [(&[0u32][..], 2), (&[0, 2], 2), (&[0, 0], 1)] {
        assert_eq!(Table::new(entries, modulus), None);
    }
}

#[test]
fn excessive_degrees_are_rejected() {
    for (scheme, values, degree, most) in [
        (Scheme::Ckks, Values::real(&[1.0; 4097]), 4096, 4095),
        (Scheme::Bgv { plaintext_modulus: 65537 }, Values::integer(&[1; 65538]), 65537, 65536),
    ] {
        let mut b = Builder::new("high", scheme, 8).expect("a program");
        let x = b.input("x").expect("an input");
        let high = Polynomial { basis: Basis::Monomial, coefficients: values };
        let error = b.polynomial(x, Arc::new(high)).expect_err("a degree too high");
        let message =
            format!("polynomial: degree {degree}; it is at most {most}, so compose polynomials of lower degrees");
        assert!(error.to_string().ends_with(&message), "{error}");
    }
}

#[test]
fn both_bases_of_polynomials_agree() {
    // T_0 + 2·T_2 on [0, 4], as a polynomial in x: u = (x − 2)/2, 1 + 2·(2u² − 1) = x² − 4x + 3.
    let mut b = Builder::new("bases", Scheme::Ckks, 2).expect("a program");
    let x = b.input("x").expect("an input");
    let basis = Basis::Chebyshev { lo: 0.0, hi: 4.0 };
    let chebyshev = Polynomial { basis, coefficients: Values::real(&[1.0, 0.0, 2.0]) };
    let monomial = Polynomial { basis: Basis::Monomial, coefficients: Values::real(&[3.0, -4.0, 1.0]) };
    let (p, q) = (b.polynomial(x, Arc::new(chebyshev)).expect("p"), b.polynomial(x, Arc::new(monomial)).expect("q"));
    b.output("p", p).expect("an output");
    b.output("q", q).expect("an output");
    let program = b.finish().expect("a program");
    let evaluation =
        evaluate(&program, &inputs(Values::Complex([Complex::new(0.5, 1.0), Complex::new(3.0, 0.0)].into())))
            .expect("values");
    let outputs = evaluation.outputs(&program);
    let (Values::Complex(p), Values::Complex(q)) = (outputs["p"], outputs["q"]) else { panic!("complex values") };
    assert!(p.iter().zip(q.iter()).all(|(&p, &q)| (p - q).abs() < 1e-12), "{p:?} {q:?}");
}

#[test]
fn a_result_beyond_all_numbers_is_an_error() {
    let mut b = Builder::new("large", Scheme::Ckks, 4).expect("a program");
    let x = b.input_with("x", None, 1e308).expect("an input");
    let sum = b.add(x, x).expect("a sum");
    b.output("y", sum).expect("an output");
    let program = b.finish().expect("a program");
    let found = |x: f64| evaluate(&program, &[("x".to_owned(), Values::real(&[x]))].into()).map(|_| ());
    assert_eq!(found(8e307), Ok(()));
    assert!(matches!(found(1e308), Err(ClearError::NotFinite { op: "add", node, .. }) if node == sum));
}

#[test]
fn wrong_inputs_are_named() {
    let mut b = Builder::new("inputs", Scheme::Ckks, 4).expect("a program");
    let x = b.input("x").expect("an input");
    b.output("y", x).expect("an output");
    let program = b.finish().expect("a program");
    let given = |name: &str, values: Values| evaluate(&program, &[(name.to_owned(), values)].into()).map(|_| ());
    assert_eq!(
        evaluate(&program, &HashMap::new()).map(|_| ()),
        Err(ClearError::Missing { name: "x".to_owned(), slots: 4 })
    );
    let error = given("z", Values::real(&[1.0])).expect_err("an unknown name");
    assert_eq!(error.to_string(), "values for \"z\", which is no input of the program; its inputs are \"x\"");
    let error = given("x", Values::real(&[1.0; 3])).expect_err("a wrong length");
    assert_eq!(error.to_string(), "input \"x\": 3 values, but the program has 4 slots; give 4 values, or one for all");
    let error = given("x", Values::real(&[f64::NAN])).expect_err("no number");
    assert_eq!(error.to_string(), "input \"x\": a value is not finite; correct the data");
    let error = given("x", Values::integer(&[1])).expect_err("integers");
    assert_eq!(error.to_string(), "input \"x\": integers modulo t, but CKKS takes real or complex values");
}
