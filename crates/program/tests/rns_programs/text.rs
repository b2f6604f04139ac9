//! Do printed programs parse to themselves, and are wrong texts rejected with position and remedy?

use polyfabric_program::Location;
use polyfabric_program::rns::homomorphic::{
    Basis, Builder, Complex, Diagonals, NodeId, Polynomial, Program, Scheme, Table, Values,
};
use polyfabric_program::rns::text::parse_program;
use proptest::prelude::*;
use std::sync::Arc;

const T: u64 = 65537;

fn any_number() -> impl Strategy<Value = f64> {
    prop_oneof![any::<f64>().prop_filter("finite", |x| x.is_finite()), Just(-0.0), Just(1e-300), -10.0..10.0f64]
}

fn values(scheme: Scheme, length: usize) -> BoxedStrategy<Values> {
    let length = prop_oneof![Just(1), Just(length)];
    match scheme {
        Scheme::Ckks => length
            .prop_flat_map(|length| proptest::collection::vec((any_number(), any_number()), length))
            .prop_map(|pairs| Values::Complex(pairs.into_iter().map(|(re, im)| Complex::new(re, im)).collect()))
            .boxed(),
        Scheme::Bgv { .. } => length
            .prop_flat_map(|length| proptest::collection::vec(any::<i64>(), length))
            .prop_map(|values| Values::integer(&values))
            .boxed(),
    }
}

/// A step: an operation, its operands among the previous values, a number and values.
type Step = (u8, usize, usize, i64, Values, u32);

fn program(scheme: Scheme) -> impl Strategy<Value = Program> {
    let step = (any::<u8>(), any::<usize>(), any::<usize>(), any::<i64>(), values(scheme, 4), 0..9u32);
    proptest::collection::vec(step, 1..12).prop_map(move |steps| build(scheme, &steps))
}

fn build(scheme: Scheme, steps: &[Step]) -> Program {
    let mut builder = Builder::new("a-program", scheme, 4).expect("a program");
    let x = builder.input("x").expect("an input");
    let bit = builder.selector_input("bit").expect("a selector");
    let mut nodes = vec![x, builder.input_with("y", Some(3), 2.5).expect("an input")];
    for (op, a, b, number, values, line) in steps {
        let (a, b) = (nodes[a % nodes.len()], nodes[b % nodes.len()]);
        let file: Arc<str> = "dir/a \"file\".py".into();
        builder.at((*line > 0).then_some(Location { file, line: *line }));
        let made: Result<NodeId, _> = match op % 15 {
            0 => builder.add(a, b),
            1 => builder.sub(a, b),
            2 => builder.mul(a, b),
            3 => builder.neg(a),
            4 => builder.rotate(a, *number),
            5 => builder.conjugate(a),
            6 => builder.rescale(a),
            7 => builder.mod_switch(a, usize::from(*op)),
            8 => builder.relinearise(a),
            9 if *number % 2 == 0 && scheme == Scheme::Ckks => builder.bootstrap_slots(a, 2),
            9 => builder.bootstrap(a),
            10 => {
                let by_offset = [(*number, values.clone()), (0, values.clone())].into();
                builder.linear_transform(a, Arc::new(Diagonals { by_offset }))
            }
            11 if values.len() > 1 => {
                let basis = match scheme {
                    Scheme::Ckks if op % 2 == 0 => Basis::Chebyshev { lo: -1.5, hi: 1e3 },
                    _ => Basis::Monomial,
                };
                builder.polynomial(a, Arc::new(Polynomial { basis, coefficients: values.clone() }))
            }
            12 if scheme == Scheme::Ckks => {
                let modulus = 2 + u32::from(*op);
                let entries: Vec<u32> =
                    (0..2 + line).map(|entry| number.unsigned_abs() as u32 % modulus * entry % modulus).collect();
                builder.lookup(a, Arc::new(Table::new(&entries, modulus).expect("a table")))
            }
            13 => builder.select(bit, a, b),
            _ => {
                let constant = builder.constant(values.clone()).expect("a constant");
                if number % 2 == 0 { builder.mul(a, constant) } else { builder.sub(constant, a) }
            }
        };
        nodes.push(made.expect("a node"));
    }
    builder.output("result", nodes[nodes.len() - 1]).expect("an output");
    builder.finish().expect("a program")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn ckks_programs_parse_to_themselves(program in program(Scheme::Ckks)) {
        let text = program.to_string();
        let read = parse_program(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        prop_assert_eq!(read.to_string(), text);
        prop_assert_eq!(read, program);
    }

    #[test]
    fn bgv_programs_parse_to_themselves(program in program(Scheme::Bgv { plaintext_modulus: T })) {
        prop_assert_eq!(parse_program(&program.to_string()).expect("a program"), program);
    }

    #[test]
    fn no_text_panics(program in program(Scheme::Ckks), at in any::<prop::sample::Index>(), with in "[ -~]{0,4}") {
        let mut text: Vec<char> = program.to_string().chars().collect();
        let at = at.index(text.len());
        text.splice(at..(at + 1).min(text.len()), with.chars());
        // Rejected, or parsed as another program.
        let _ = parse_program(&text.into_iter().collect::<String>());
    }
}

#[test]
fn wrong_texts_are_rejected_with_their_position() {
    let cases = [
        (
            "program \"p\" ckks slots 3",
            "line 1, column 1: 3 slots: a program has a power of two of slots, 1 to the 65536 of the largest ring; pad the vectors to the next power, or split them",
        ),
        ("program \"p\" rsa slots 4", "line 1, column 13: expected ckks or bgv(t), found `rsa`"),
        (
            "program \"p\" bgv(6) slots 4",
            "line 1, column 1: plaintext modulus 6: one is a power of two, for one number a ciphertext, or a prime t ≡ 1 mod 2N, whose slots hold a vector, and below 2^60; near it are the powers of two 4 or 8, for one number a ciphertext, and for vectors the prime 65537: it has slots up to degree 32768",
        ),
        (
            "program \"p\" bgv(4) slots 4",
            "line 1, column 1: a vector: modulo a power of two a ciphertext holds one number, in its constant coefficient, and has no slots; write one value for each number, or take a prime t ≡ 1 mod 2N",
        ),
        (
            "program \"p\" bgv(4) slots 1\n%0 = input \"x\" magnitude 1\n%1 = rotate %0 by 1",
            "line 3, column 1: rotate: modulo a power of two a ciphertext holds one number, in its constant coefficient, and has no slots; write one value for each number, or take a prime t ≡ 1 mod 2N",
        ),
        (
            "program \"p\" ckks slots 2\n%0 = input \"x\" magnitude 1\n%1 = linear_transform %0 {0: [1, 2], 0: [3, 4]}",
            "line 3, column 38: expected an offset that has no diagonal yet, found 0",
        ),
        (
            "program \"p\" ckks slots 4\n%1 = input \"x\" magnitude 1",
            "line 2, column 1: %1 is defined here, but the next is %0; number definitions from 0 in order",
        ),
        (
            "program \"p\" ckks slots 4\n%0 = input \"x\" magnitude 0",
            "line 2, column 1: input: slots up to 0 in absolute value; give a positive, finite bound",
        ),
        (
            "program \"p\" ckks slots 4\n%0 = input \"x\" magnitude 1e999",
            "line 2, column 26: 1e999 is out of range: a finite number",
        ),
        (
            "program \"p\" ckks slots 4\n%0 = constant [1, 2]",
            "line 2, column 1: constant: 2 public values, but a vector has 4 slots; give 4 values, or one for all slots",
        ),
        (
            "program \"p\" ckks slots 4\n%0 = constant [1]\n%1 = neg %0",
            "line 3, column 1: neg: operand %0 is public, but an encrypted vector is needed; combine public values before the program, or use the operation on a public operand",
        ),
        (
            "program \"p\" ckks slots 4\n%0 = input \"x\" magnitude 1\n%1 = mul %0",
            "line 3, column 1: mul: 1 operands, but 2 are needed; correct the operand list",
        ),
        (
            "program \"p\" ckks slots 4\n%0 = input \"x\" magnitude 1\n%1 = frob %0",
            "line 3, column 6: expected an operation of homomorphic programs, found `frob`",
        ),
        (
            "program \"p\" ckks slots 4\n%0 = input \"x\" magnitude 1 at \"f.py\":3\n%1 = mul %0, %7 at \"f.py\":4",
            "line 3, column 1: f.py:4: mul: operand %7 is not defined before this operation; use a node of this program",
        ),
        (
            "program \"p\" ckks slots 4\n%0 = input \"x\" magnitude 1",
            "line 1, column 1: the program \"p\" has no output; return at least one value",
        ),
    ];
    for (text, expected) in cases {
        let error = parse_program(text).expect_err(text);
        assert_eq!(crate::facts(&error.to_string()), crate::facts(expected), "{text}: {error}");
    }
}

#[test]
fn the_documented_program_parses() {
    let page = include_str!("../../../../docs/rns-program.md");
    let lines =
        page.lines().skip_while(|line| !line.starts_with("    program")).take_while(|line| line.starts_with("    "));
    let text: String = lines.map(|line| format!("{}\n", line.trim())).collect();
    let program = parse_program(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(program.to_string(), text);
}
