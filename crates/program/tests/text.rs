//! Does the text form of both graphs read back to the same program, and does it refuse everything else in words?

#[path = "support/random_program.rs"]
mod random_program;

use polyfabric_kernels::fixed::{FixedFftSpec, FixedWidths, RangeRule, Rounding};
use polyfabric_program::homomorphic::{Program, evaluate};
use polyfabric_program::kernel::KernelProgram;
use polyfabric_program::lowering::{Accumulation, Arithmetic, InputTransform, KeySwitchOrder, TfheLowering, lower};
use polyfabric_program::text::{parse_kernel, parse_program};
use polyfabric_schemes::tfhe::sets;
use proptest::prelude::*;
use random_program::{Limits, Stream, inputs, program};

const LIMITS: Limits = Limits { operations: 12, width: 40, length: 5, everything: true };

fn lowered(program: &Program, seed: u64) -> KernelProgram {
    let order = if seed & 1 == 0 { KeySwitchOrder::Before } else { KeySwitchOrder::After };
    let mut choice = TfheLowering::new(order, Arithmetic::F64);
    if seed & 2 == 0 {
        choice.input_transform = InputTransform::PerProduct;
        choice.accumulation = Accumulation::CoefficientDomain;
    }
    let parameters = sets::parameters(if seed & 4 == 0 { "toy-512-k2" } else { "toy-256-t64" }).unwrap();
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
    fn both_graphs_read_back(seed: u64) {
        let mut stream = Stream::new(seed);
        let program = program(&mut stream, LIMITS);
        let text = program.to_string();
        prop_assert_eq!(&parse_program(&text).unwrap(), &program, "{}", text);
        let kernel = lowered(&program, seed);
        let text = kernel.to_string();
        prop_assert_eq!(&parse_kernel(&text).unwrap(), &kernel, "{}", text);
    }

    #[test]
    fn a_program_read_back_computes_the_same(seed: u64) {
        let mut stream = Stream::new(seed);
        let program = program(&mut stream, LIMITS);
        let inputs = inputs(&mut stream, &program);
        let read = parse_program(&program.to_string()).unwrap();
        prop_assert_eq!(evaluate(&read, &inputs).unwrap(), evaluate(&program, &inputs).unwrap());
    }

    #[test]
    fn damaged_texts_are_refused_or_read_but_never_panic(seed: u64) {
        let mut stream = Stream::new(seed);
        let program = program(&mut stream, LIMITS);
        let text = program.to_string();
        let damaged_text = damaged(&mut stream, &text);
        if let Ok(read) = parse_program(&damaged_text) {
            // What is read is a program, and prints as one.
            prop_assert_eq!(parse_program(&read.to_string()).unwrap(), read);
        }
        let kernel = lowered(&program, seed).to_string();
        if let Ok(read) = parse_kernel(&damaged(&mut stream, &kernel)) {
            prop_assert_eq!(parse_kernel(&read.to_string()).unwrap(), read);
        }
    }
}

#[test]
fn errors_name_the_place_the_values_and_the_remedy() {
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
            "line 3, column 1: look-up: the operand ranges from 0 to 3, but the table covers 0 to 2; extend the table or narrow the operand",
        ),
        ("program \"p\"", "line 1, column 1: the program \"p\" has no output; return at least one value"),
    ];
    for (text, message) in cases {
        assert_eq!(refused(text), message, "{text}");
    }
}
