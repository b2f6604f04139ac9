//! Do the built-in programs compute what they say, at full size, in exact arithmetic and in f64?

use crate::common::{Keys, clear, values};
use polyfabric_program::tfhe::builtin;
use polyfabric_program::tfhe::lowering::{Arithmetic, KeySwitchOrder, TfheLowering};
use polyfabric_runtime::NoProgress;
use polyfabric_runtime::tfhe::interpreter;
use polyfabric_schemes::tfhe::noise::Transform;

fn run(set: &str, name: &str, batch: usize, arithmetic: Arithmetic) {
    let keys = Keys::<u32>::new(set);
    let choice = TfheLowering::new(KeySwitchOrder::None, arithmetic);
    let built = builtin::build(name, keys.server.parameters(), batch, &choice, Transform::F64).unwrap();
    let messages: Vec<i64> = (0..batch as i64).map(|index| index % (1 << built.message_bits)).collect();
    let input = values(&[("x", &messages)]);
    let encrypted = keys.encrypt(&built.program, &built.kernel, &input, 40);
    let outputs = interpreter::run(&built.kernel, &keys.server, &encrypted, &NoProgress).unwrap();
    assert_eq!(keys.decrypt(&built.program, &outputs), clear(&built.program, &input), "{set} {name}");
}

#[test]
fn full_size_lookup_of_strix_i_in_exact_arithmetic() {
    run("strix-I", "pbs", 2, Arithmetic::ExactInteger);
}

#[test]
fn full_size_default_sets_in_f64() {
    run("polyfabric-direct-t32", "pbs", 2, Arithmetic::F64);
    run("polyfabric-2-p64-t32", "pbs+ks", 2, Arithmetic::F64);
}

#[test]
fn every_program_in_f64() {
    for name in builtin::NAMES {
        run("toy-512-k2", name, 5, Arithmetic::F64);
        run("toy-256", name, 5, Arithmetic::ExactInteger);
    }
}

#[test]
fn unknown_names_and_empty_batches_are_refused() {
    let parameters = polyfabric_schemes::tfhe::sets::parameters("toy-256").unwrap();
    let choice = TfheLowering::new(KeySwitchOrder::None, Arithmetic::F64);
    let refused =
        |name, batch| builtin::build(name, &parameters, batch, &choice, Transform::F64).unwrap_err().to_string();
    assert_eq!(refused("pbs-ks", 1), "there is no built-in program \"pbs-ks\"; there are pbs, pbs+ks, keyswitch");
    assert_eq!(
        refused("pbs", 0),
        "a batch of 0 ciphertexts: input: a vector of 0 elements; a vector has 1 to 67108864"
    );
}
