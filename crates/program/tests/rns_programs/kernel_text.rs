//! Do printed kernel programs parse to themselves, and are wrong or hostile texts rejected with position and remedy?

use super::{Zeros, chain};
use polyfabric_kernels::RingDegree;
use polyfabric_kernels::automorphism::GaloisElement;
use polyfabric_kernels::modular::Modulus;
use polyfabric_kernels::primes::PrimeClass;
use polyfabric_program::rns::homomorphic::{Builder, Scheme, Values};
use polyfabric_program::rns::kernel::{
    Conversion, DigitWindow, KernelBuilder, KernelProgram, LimbSet, PublicPolynomial, ValueType,
};
use polyfabric_program::rns::lowering::{Hoisting, RnsLowering, RotationOrder, Target, lower};
use polyfabric_program::rns::noise::NoiseModel;
use polyfabric_program::rns::text::parse_kernel;
use polyfabric_schemes::rns::{GadgetLiteral, KeyId, LimbId, Part};
use proptest::prelude::*;
use std::sync::{Arc, LazyLock};

/// Every kind of operation with every kind of attribute, N = 16.
fn every_operation() -> KernelProgram {
    let degree = RingDegree::new(16).unwrap();
    let primes = PrimeClass::of_degree(degree).of_bits(30, 5).unwrap();
    let moduli: Vec<Modulus> = primes.into_iter().map(|prime| Modulus::new(prime).unwrap()).collect();
    let mut b = KernelBuilder::new("every \"operation\"", degree, &moduli).unwrap();
    let (q, all) = (LimbSet::range(0..3), LimbSet::range(0..5));
    let x = b.input("x", 0, ValueType::evaluation(q.clone())).unwrap();
    let y = b.input("x", 1, ValueType::evaluation(q.clone())).unwrap();
    b.set_origin(Some(polyfabric_program::rns::homomorphic::NodeId(7)));
    let narrow: Vec<i64> = (0..16).map(|i| if i < 9 { 0 } else { 5 - i }).collect();
    let narrow = Arc::new(PublicPolynomial::Narrow(narrow.into()));
    let wide: Vec<i128> = (0..16).map(|i| (1 - 2 * (i % 2)) * (i128::MAX >> i)).collect();
    let wide = Arc::new(PublicPolynomial::Wide(wide.into()));
    let p = b.plaintext(&narrow, ValueType::evaluation(q.clone())).unwrap();
    let w = b.plaintext(&wide, ValueType::coefficient(LimbSet::one(LimbId(2)))).unwrap();
    b.next_step();
    let sum = b.add(x, p).unwrap();
    let difference = b.sub(sum, y).unwrap();
    let negated = b.negate(difference).unwrap();
    let product = b.multiply(negated, y).unwrap();
    let product = b.multiply_add(product, x, y).unwrap();
    let residues = b.residues(-12_345, &q);
    let scaled = b.scale(product, &residues).unwrap();
    let shifted = b.add_constant(scaled, &residues).unwrap();
    let coefficients = b.inverse_ntt(shifted).unwrap();
    let turned = b.automorphism(coefficients, GaloisElement::new(degree, 31).unwrap()).unwrap();
    let one = b.select_limbs(turned, LimbSet::one(LimbId(1))).unwrap();
    let both = b.concat(&[one, w]).unwrap();
    for conversion in [Conversion::Approximate, Conversion::Balanced, Conversion::Centred] {
        b.base_conversion(both, LimbSet::new([LimbId(0), LimbId(4)]), conversion).unwrap();
    }
    let window = DigitWindow { bits: 10, index: 1, count: 3 };
    b.sub_digit(one, window, q.clone()).unwrap();
    b.set_origin(None);
    let digits = [
        b.mod_up(shifted, LimbSet::range(0..2), all.clone(), Conversion::Balanced).unwrap(),
        b.mod_up_window(shifted, LimbId(2), window, all.clone()).unwrap(),
    ];
    let keys = [
        KeyId::Relinearisation,
        KeyId::Galois(5),
        KeyId::GaloisAfter(31),
        KeyId::Encapsulate,
        KeyId::Decapsulate,
        KeyId::Other(3),
    ];
    for (number, key) in keys.into_iter().enumerate() {
        let (body, mask) = b.inner_product_of_rows(key, &[number as u16, 0], &digits).unwrap();
        let t = [None, Some(65_537)][number % 2];
        let result = b.mod_down(body, LimbSet::range(3..5), Conversion::Balanced, t).unwrap();
        let row = b.key(key, 2, if number % 2 == 0 { Part::Body } else { Part::Mask }, all.clone()).unwrap();
        let sum = b.add(mask, row).unwrap();
        let transformed = b.forward_ntt(coefficients).unwrap();
        b.output("z", number as u16, result);
        b.output(format!("w{number}"), 0, if number == 0 { transformed } else { sum });
    }
    b.finish().unwrap()
}

/// A homomorphic program, lowered in several ways.
fn lowered() -> Vec<KernelProgram> {
    let mut builder = Builder::new("lowered", Scheme::Ckks, 512).unwrap();
    let x = builder.input("x").unwrap();
    let square = builder.square(x).unwrap();
    let vector = builder.constant(Values::real(&vec![0.5; 512])).unwrap();
    let product = builder.mul(square, vector).unwrap();
    let mut sum = product;
    for steps in [1, -3, 100] {
        let rotated = builder.rotate(product, steps).unwrap();
        sum = builder.add(sum, rotated).unwrap();
    }
    builder.output("y", sum).unwrap();
    let program = builder.finish().unwrap();
    let chain = chain(3);
    let lower_with = |change: &dyn Fn(&mut RnsLowering)| {
        let mut choice = RnsLowering::new(GadgetLiteral::hybrid(4, 2, 2));
        change(&mut choice);
        let model = NoiseModel::ternary(chain.degree());
        let target =
            Target { chain: &chain, choice: &choice, model, encoder: &Zeros, bootstrapping: None, observed: true };
        lower(&program, &target).unwrap().kernel
    };
    vec![
        lower_with(&|_| ()),
        lower_with(&|choice| choice.hoisting = Hoisting::None),
        lower_with(&|choice| choice.rotation = RotationOrder::AutomorphismFirst),
        lower_with(&|choice| choice.gadget = GadgetLiteral::sub_limb(4, 14, 0)),
        lower_with(&|choice| choice.fused_rescale = true),
    ]
}

#[test]
fn printed_programs_parse_to_themselves() {
    for program in lowered().into_iter().chain([every_operation()]) {
        let text = program.to_string();
        let read = parse_kernel(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(read, program);
        assert_eq!(read.to_string(), text);
    }
}

static TEXT: LazyLock<String> = LazyLock::new(|| every_operation().to_string());

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]
    #[test]
    fn damaged_texts_never_panic(at in any::<usize>(), length in 0..8usize, with in "[-0-9a-z%{}\\[\\], x\"=]{0,6}") {
        let mut text: Vec<char> = TEXT.chars().collect();
        let at = at % text.len();
        text.splice(at..(at + length).min(text.len()), with.chars());
        // Rejected, or parsed as another consistent program.
        if let Ok(program) = parse_kernel(&text.into_iter().collect::<String>()) {
            program.check().unwrap();
        }
    }

    #[test]
    fn numbers_out_of_every_range_never_panic(which in any::<usize>(), number in prop_oneof![
        Just(u128::from(u64::MAX)), Just(1 << 31), Just(65_535), Just(65_536), Just(1 << 62), Just(u128::MAX), 0..70u128,
    ]) {
        let is_number = |word: &&str| word.chars().all(|c| c.is_ascii_digit()) && !word.is_empty();
        let all: Vec<&str> = TEXT.split_inclusive(|c: char| !c.is_ascii_digit()).collect();
        let numbers: Vec<usize> =
            (0..all.len()).filter(|&index| is_number(&all[index].trim_end_matches(|c: char| !c.is_ascii_digit()))).collect();
        let chosen = numbers[which % numbers.len()];
        let changed: String = all.iter().enumerate().map(|(index, word)| {
            let rest = word.trim_start_matches(|c: char| c.is_ascii_digit());
            if index == chosen { format!("{number}{rest}") } else { (*word).to_owned() }
        }).collect();
        if let Ok(program) = parse_kernel(&changed) {
            program.check().unwrap();
        }
    }
}

#[test]
fn wrong_texts_are_rejected_with_their_position() {
    // 97 and 193 are 1 modulo 32.
    let head = "kernel \"k\" degree 16\nmoduli [97, 193]\n";
    let cases = [
        (
            "kernel \"k\" degree 24",
            "line 1, column 19: ring degree 24 is not a power of two from 16 to 131072; choose one, such as 1024 or 2048",
        ),
        (
            "kernel \"k\" degree 16\nmoduli [1]",
            "line 2, column 9: modulus 1 is not between 2 and 2^61 - 1; choose a prime of 28 to 60 bits",
        ),
        (
            "kernel \"k\" degree 16\nmoduli [97, 98]",
            "line 2, column 1: modulus 1 of the table: 98 is not 1 modulo 2N = 32, so it has no transform; correct the moduli",
        ),
        (
            &format!("{head}plaintext 1 = narrow [16 x 0]"),
            "line 3, column 11: 1 is out of range: 0, the next plaintext",
        ),
        (
            &format!("{head}plaintext 0 = narrow [3 x 0, 14 x 1]"),
            "line 3, column 30: 14 is out of range: at most 13 more coefficients of the 16, at least 1 a run",
        ),
        (
            &format!("{head}plaintext 0 = narrow [3 x 0]"),
            "line 3, column 1: plaintext 0 has 3 coefficients, the ring degree is 16; give 16",
        ),
        (&format!("{head}%0 = input \"x\" part 0 evaluation {{0-2}}"), "line 3, column 37: 2 is out of range: 0 to 1"),
        (
            &format!("{head}%0 = input \"x\" part 0 evaluation {{}}"),
            "line 3, column 1: operation #0 (input): a value without limbs; correct its limbs",
        ),
        (
            &format!("{head}%0 = input \"x\" part 0 natural {{0}}"),
            "line 3, column 23: expected coefficient or evaluation, found `natural`",
        ),
        (&format!("{head}%0 = frob"), "line 3, column 6: expected an operation of kernel programs, found `frob`"),
        (
            &format!("{head}%0 = input \"x\" part 0 evaluation {{0-1}}\n%1 = add %0, %4"),
            "line 4, column 1: operation #1 (add): operand %4 is not defined before it; order the operations",
        ),
        (
            &format!("{head}%0 = input \"x\" part 0 evaluation {{0-1}}\n%1, %2 = add %0, %0"),
            "line 4, column 1: 2 values are defined here, but the operation gives 1; number 1",
        ),
        (
            &format!("{head}%0 = input \"x\" part 0 coefficient {{0-1}}\n%1 = automorphism %0 by 2"),
            "line 4, column 25: 2 is no automorphism of degree 16; use an odd number below 32",
        ),
        (
            &format!("{head}%0 = input \"x\" part 0 evaluation {{0}}\n%1 = scale %0 [97]"),
            "line 4, column 1: operation #1 (scale): residue 97 of limb 0 is not below its modulus 97; correct the parameter",
        ),
        (
            &format!("{head}output \"y\" part 0 = %0"),
            "line 1, column 1: output \"y\" is %0, which is no value of the program; name one",
        ),
    ];
    for (text, expected) in cases {
        let error = parse_kernel(text).expect_err(text);
        assert_eq!(error.to_string(), expected, "{text}");
    }
}

/// Short texts that would expand to gigabytes.
#[test]
fn short_texts_of_large_programs_are_refused() {
    let mut zeros = "kernel \"k\" degree 131072\nmoduli []\n".to_owned();
    (0..600).for_each(|index| zeros.push_str(&format!("plaintext {index} = wide [131072 x 0]\n")));
    let error = parse_kernel(&zeros).unwrap_err().to_string();
    assert!(
        error.ends_with("runs repeat more than 67108864 coefficients of the program's plaintexts; write them out"),
        "{error}"
    );

    let moduli: Vec<String> = (1..20_000).map(|k| (32 * k + 1).to_string()).collect();
    let mut limbs = format!("kernel \"k\" degree 16\nmoduli [{}]\n", moduli.join(", "));
    (0..4000)
        .for_each(|index| limbs.push_str(&format!("%{index} = input \"x\" part {index} evaluation {{0-19998}}\n")));
    let error = parse_kernel(&limbs).unwrap_err().to_string();
    assert!(error.ends_with("the program has more than 67108864 limbs in its sets and values; split it"), "{error}");
}

#[test]
fn the_documented_program_parses() {
    let page = include_str!("../../../../docs/rns-program.md");
    let lines =
        page.lines().skip_while(|line| !line.starts_with("    kernel")).take_while(|line| line.starts_with("    "));
    let text: String = lines.map(|line| format!("{}\n", line.trim())).collect();
    let program = parse_kernel(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(program.to_string(), text);
}
