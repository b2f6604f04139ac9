//! Do operations on encrypted integers decrypt to the right ones, with the set that is chosen for a failure probability of 2^-128?

use super::common::{Keys, clear};
use polyfabric_program::tfhe::homomorphic::Builder;
use polyfabric_program::tfhe::integers::{Amount, Comparison, Direction, IntegerType, Integers};
use polyfabric_program::tfhe::lowering::TfheLowering;
use polyfabric_program::tfhe::noise::{Encryption, choose_parameters};
use polyfabric_runtime::NoProgress;
use polyfabric_runtime::tfhe::cpu::Executor;
use polyfabric_schemes::tfhe::KeyUnrolling;
use polyfabric_schemes::tfhe::noise::Transform;
use std::collections::BTreeMap;

/// Sum, product, square, order, choice and shift of two bytes, one carried by a prefix.
#[test]
fn bytes_decrypt_right() {
    let (kind, amount) = (IntegerType::unsigned(8), IntegerType::unsigned(3));
    let mut builder = Builder::new("bytes").unwrap();
    let mut integers = Integers::new(1);
    let x = integers.input(&mut builder, "x", kind, 1).unwrap();
    let y = integers.input(&mut builder, "y", kind, 1).unwrap();
    let by = integers.input(&mut builder, "by", amount, 1).unwrap();
    let product = integers.mul(&mut builder, x, y).unwrap();
    let square = integers.mul(&mut builder, x, x).unwrap();
    let less = integers.compare(&mut builder, Comparison::Less, x, y).unwrap();
    let chosen = integers.select(&mut builder, less, x, y).unwrap();
    let shifted = integers.shift(&mut builder, Direction::Left, chosen, Amount::Encrypted(by)).unwrap();
    integers.set_lanes(64);
    let sum = integers.add(&mut builder, x, y).unwrap();
    let results = [("sum", sum), ("product", product), ("square", square), ("less", less), ("shifted", shifted)];
    for (name, value) in results {
        integers.output(&mut builder, name, value).unwrap();
    }
    let program = builder.finish().unwrap();

    let chosen =
        choose_parameters(&program, -128.0, (false, None), Transform::F64, (Encryption::Secret, None)).unwrap();
    assert_eq!(chosen.parameters.name(), "polyfabric-4-p136-t64");
    let keys = Keys::<u64>::for_parameters(&chosen.parameters, KeyUnrolling::ONE);
    let lowered = keys.lower(&program, &TfheLowering::processor(chosen.key_switch));
    let executor = Executor::new(&keys.server, 0).unwrap();
    for (x, y, by) in [(200, 99, 5), (17, 255, 3), (0, 0, 7)] {
        let digits = |value: i64, count: usize| (0..count).map(|at| value >> (2 * at) & 3).collect::<Vec<_>>();
        let inputs: BTreeMap<String, Vec<i64>> =
            [("x", digits(x, 4)), ("y", digits(y, 4)), ("by", digits(by, 2))].map(|(n, v)| (n.to_owned(), v)).into();
        let expected: BTreeMap<String, Vec<i64>> = [
            ("sum", digits((x + y) % 256, 4)),
            ("product", digits(x * y % 256, 4)),
            ("square", digits(x * x % 256, 4)),
            ("less", vec![i64::from(x < y)]),
            ("shifted", digits((x.min(y) << by) % 256, 4)),
        ]
        .map(|(name, digits)| (name.to_owned(), digits))
        .into();
        assert_eq!(clear(&program, &inputs), expected);
        let encrypted = keys.encrypt(&program, &lowered, &inputs, 5);
        let outputs = executor.run(&lowered, &encrypted, &NoProgress).unwrap();
        assert_eq!(keys.decrypt(&program, &outputs), expected, "{x} {y} {by}");
    }
}
