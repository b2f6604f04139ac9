//! Do both text forms parse to the same program, and is everything else rejected with an explanation?

use super::random_program::{Limits, Stream, inputs, program};
use polyfabric_kernels::fixed::{FixedFftSpec, FixedWidths, RangeRule, Rounding};
use polyfabric_program::Location;
use polyfabric_program::tfhe::Matrix;
use polyfabric_program::tfhe::homomorphic::{Builder, ElementType, Program, Range, evaluate};
use polyfabric_program::tfhe::kernel::KernelProgram;
use polyfabric_program::tfhe::lowering::{
    Accumulation, Arithmetic, InputTransform, KeySwitchOrder, TfheLowering, lower,
};
use polyfabric_program::tfhe::text::{parse_kernel, parse_program};
use polyfabric_schemes::tfhe::sets;
use proptest::prelude::*;
use std::sync::Arc;

const LIMITS: Limits = Limits { operations: 12, width: 40, length: 5, everything: true };

fn lowered(program: &Program, seed: u64) -> KernelProgram {
    let order = if seed & 1 == 0 { KeySwitchOrder::Before } else { KeySwitchOrder::After };
    let mut choice = TfheLowering::new(order, Arithmetic::F64);
    if seed & 2 == 0 {
        choice.input_transform = InputTransform::PerProduct;
        choice.accumulation = match seed & 64 {
            0 => Accumulation::CoefficientDomain,
            _ => Accumulation::Split { polynomials: 2, levels: 1 },
        };
    }
    let parameters = sets::parameters(if seed & 4 == 0 { "toy-512-k2" } else { "toy-256-t64" }).unwrap();
    choice.key_unrolling = [1, 2, 4, 1][(seed >> 4 & 3) as usize];
    if seed & 8 == 0 {
        choice.arithmetic = Arithmetic::Fixed(Box::new(FixedFftSpec::for_external_product(
            parameters.ring_degree(),
            parameters.bootstrap_gadget(),
            parameters.glwe_dimension().get(),
            parameters.torus_bits(),
            FixedWidths::uniform(32),
            Rounding::HalfEven,
            RangeRule::WorstCase,
        )));
    }
    lower(program, &parameters, &choice).unwrap()
}

/// `text` with a few characters changed, dropped or repeated.
fn damaged(stream: &mut Stream, text: &str) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    for _ in 0..stream.between(1, 4) {
        let at = stream.between(0, characters.len() as i64 - 1) as usize;
        match stream.between(0, 3) {
            0 => {
                characters.remove(at);
            }
            1 => characters.insert(at, characters[at]),
            2 => characters.truncate(at + 1),
            _ => {
                let random = b"09-%[]{}:,x@/. \"\n"[stream.between(0, 16) as usize];
                characters[at] = char::from(random);
            }
        }
        if characters.is_empty() {
            break;
        }
    }
    characters.into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn both_forms_parse_to_themselves(seed: u64) {
        let mut stream = Stream::new(seed);
        let program = program(&mut stream, LIMITS);
        let text = program.to_string();
        prop_assert_eq!(&parse_program(&text).unwrap(), &program, "{}", text);
        let kernel = lowered(&program, seed);
        let text = kernel.to_string();
        prop_assert_eq!(&parse_kernel(&text).unwrap(), &kernel, "{}", text);
    }

    #[test]
    fn a_parsed_program_computes_the_same(seed: u64) {
        let mut stream = Stream::new(seed);
        let program = program(&mut stream, LIMITS);
        let inputs = inputs(&mut stream, &program);
        let read = parse_program(&program.to_string()).unwrap();
        prop_assert_eq!(evaluate(&read, &inputs).unwrap(), evaluate(&program, &inputs).unwrap());
    }

    #[test]
    fn damaged_texts_never_panic(seed: u64) {
        let mut stream = Stream::new(seed);
        let program = program(&mut stream, LIMITS);
        let text = program.to_string();
        let damaged_text = damaged(&mut stream, &text);
        if let Ok(read) = parse_program(&damaged_text) {
            // A text that parses is a program that prints.
            prop_assert_eq!(parse_program(&read.to_string()).unwrap(), read);
        }
        let kernel = lowered(&program, seed).to_string();
        if let Ok(read) = parse_kernel(&damaged(&mut stream, &kernel)) {
            prop_assert_eq!(parse_kernel(&read.to_string()).unwrap(), read);
        }
    }
}

#[test]
fn errors_name_the_position_the_values_and_the_remedy() {
    let refused = |text: &str| parse_program(text).unwrap_err().to_string();
    let input = "program \"p\"\n%0 = input \"x\" : integer[0..3] x 2 @ 1/8\n";
    let cases = [
        ("", "line 1, column 1: expected `program`, found the end of the text"),
        (
            "program \"p\"\n%0 = input \"x\" : integer[3..0] x 2 @ 1/8",
            "line 2, column 18: integer: 3 to 0 is no range of integers within ±2^40; correct the bounds",
        ),
        (
            &format!("{input}%2 = neg %0 : integer[-3..0] x 2 @ 1/8"),
            "line 3, column 1: %2 is defined here, but the next is %1; number definitions from 0 in order",
        ),
        (
            &format!("{input}%1 = neg %0 : integer[-3..1] x 2 @ 1/8"),
            "line 3, column 15: written as integer[-3..1] x 2, but the operation gives integer[-3..0] x 2; correct the type, or what it follows from",
        ),
        (
            &format!("{input}%1 = output \"y\" %0 : integer[0..3] x 2 @ 1/8"),
            "line 2, column 1: written as step 1/8, but the operation gives step 1/4; correct the type, or what it follows from",
        ),
        (
            &format!("{input}%1 = add %0 : integer[0..6] x 2 @ 1/8"),
            "line 3, column 1: expected 2 operands of add, found 1",
        ),
        (
            &format!("{input}%1 = twirl %0 : integer[0..6] x 2 @ 1/8"),
            "line 3, column 1: expected an operation of homomorphic programs with its attributes, found `twirl`",
        ),
        (
            &format!("{input}%1 = select %0 [99999999999] : integer[0..3] x 1 @ 1/8"),
            "line 3, column 17: 99999999999 is out of range: 0 to 4294967295",
        ),
        (
            &format!("{input}%1 = lookup %0 {{0: [0, 1, 2]}} : integer[0..2] x 2 @ 1/4"),
            "line 3, column 1: lookup: the operand ranges from 0 to 3, but the table covers 0 to 2; extend the table or narrow the operand",
        ),
        ("program \"p\"", "line 1, column 1: the program \"p\" has no output; return at least one value"),
    ];
    for (text, message) in cases {
        let error = refused(text);
        assert_eq!(crate::facts(&error), crate::facts(message), "{text}: {error}");
    }
}

#[test]
fn both_forms_read_well() {
    let mut builder = Builder::new("threshold").unwrap();
    builder.at(Some(Location { file: "threshold.py".into(), line: 5 }));
    let x = builder.input("x", ElementType::Integer(Range::new(0, 3).unwrap()), 2).unwrap();
    let weights = Arc::new(Matrix::from_dense(&[vec![1, -1]]).unwrap());
    let difference = builder.linear(x, weights, &[1]).unwrap();
    let sign = builder.sign(difference, true).unwrap();
    builder.at(None);
    builder.output("not-less", sign).unwrap();
    let program = builder.finish().unwrap();
    assert_eq!(
        program.to_string(),
        r#"program "threshold"
%0 = input "x" : integer[0..3] x 2 @ 1/10 at "threshold.py":5
%1 = linear %0 {[0: 1, 1: -1]} + [1] : integer[-2..4] x 1 @ 1/10 at "threshold.py":5
%2 = sign %1 : boolean x 1 @ 1/8 at "threshold.py":5
%3 = output "not-less" %2 : boolean x 1 @ 1/8
"#
    );
    let choice = TfheLowering::new(KeySwitchOrder::After, Arithmetic::F64);
    let kernel = lower(&program, &sets::parameters("toy-256").unwrap(), &choice).unwrap().to_string();
    let (head, rest) = kernel.split_once("body 0").unwrap();
    let (_, operations) = rest.rsplit_once("}\n").unwrap();
    assert_eq!(
        head,
        r#"kernel "threshold"
parameters {"name":"toy-256","torus_bits":32,"lwe_dimension":16,"glwe_dimension":1,"ring_degree":256,"bootstrap_gadget":{"log2_base":8,"levels":2},"key_switch_gadget":{"log2_base":3,"levels":5},"lwe_noise_log2":-20.0,"glwe_noise_log2":-28.0,"sources":{}}
lowering {"accumulation":"transform-domain","input_transform":"shared","key_switch":"after","key_unrolling":1,"rounding":"nearest","shared_rotations":false,"arithmetic":"f64"}
table 0 = [231 x 0x20000000, 25 x 0xe0000000]
"#
    );
    assert!(rest.contains("  %15 = multiply_accumulate 1 0 %14, %11\n"), "{rest}");
    assert!(rest.contains("  %2 = subtract_key_product 0 %0, %1\n"), "{rest}");
    assert_eq!(
        operations,
        r#"%0 = input "x" : lwe small x 2 from %0
%1 = linear %0 {[0: 1, 1: -1]} + [0x1999999a] : lwe small x 1 from %2
%2 = modulus_switch %1 : indices x 1 from %2
%3 = blind_rotation %2 table 0 body 0 : glwe x 1 from %2
%4 = sample_extract %3 : lwe large x 1 from %2
%5 = key_switch %4 body 1 : lwe small x 1 from %2
output "not-less" = %5
"#
    );
}
