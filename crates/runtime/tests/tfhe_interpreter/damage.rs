//! Is the decryption of a damaged ciphertext rejected where the damage is detectable?
//!
//! A bit of the body shifts the phase by a power of two, and so does one of the mask where the key's bit is set. A shift below the noise has no effect. Whole steps within the
//! range give another value: anyone who can write ciphertexts can do that, because encryption hides but does not sign. All other shifts are rejected.

use super::common::{Keys, clear, values};
use polyfabric_kernels::Torus;
use polyfabric_program::tfhe::homomorphic::{
    Builder, CodecError, ElementType, LookupResult, Program, Range, Table, decode_output,
};
use polyfabric_program::tfhe::lowering::{Arithmetic, KeySwitchOrder, TfheLowering};
use polyfabric_program::tfhe::noise;
use polyfabric_runtime::NoProgress;
use polyfabric_runtime::tfhe::interpreter;
use polyfabric_schemes::tfhe::noise::Transform;
use std::collections::BTreeSet;

/// An integer of six values, which leaves two of its eight steps unused, a sign, and sixteenths of the torus.
fn program() -> Program {
    let mut builder = Builder::new("damage").expect("a name");
    let range = Range::new(0, 5).expect("a range");
    let x = builder.input("x", ElementType::Integer(range), 3).expect("an input");
    let table = Table::tabulate(range, |value| (value + 2) % 6).expect("a table");
    let y = builder.lookup(x, vec![table], None, LookupResult::Integer).expect("a lookup");
    builder.pin_step(y, 8).expect("a step");
    builder.output("y", y).expect("an output");
    let sign = builder.sign(x, true).expect("a sign");
    builder.output("sign", sign).expect("an output");
    let table = Table::tabulate(range, |value| value - 3).expect("a table");
    let t = builder.lookup(x, vec![table], None, LookupResult::Torus { bits: 4 }).expect("a lookup");
    builder.output("t", t).expect("an output");
    builder.finish().expect("a program")
}

#[test]
fn damage_is_refused_or_changes_nothing() {
    flip_every_bit::<u32>("toy-256");
    flip_every_bit::<u64>("toy-256-t64");
}

/// Every bit of bodies and of mask elements: rejected, without effect, or, according to the noise report, possibly another value.
fn flip_every_bit<T: Torus>(set: &str) {
    let program = program();
    let keys = Keys::<T>::new(set);
    for order in [KeySwitchOrder::None, KeySwitchOrder::After, KeySwitchOrder::Before] {
        let choice = TfheLowering::new(order, Arithmetic::F64);
        let lowered = keys.lower(&program, &choice);
        let report = noise::report_lowered(&program, keys.server.parameters(), &choice, Transform::F64);
        let report = report.expect("a report");
        let inputs = values(&[("x", &[0, 2, 5])]);
        let encrypted = keys.encrypt(&program, &lowered, &inputs, 5);
        let outputs = interpreter::run(&lowered, &keys.server, &encrypted, &NoProgress).expect("a run");
        let expected = clear(&program, &inputs);
        for output in &report.outputs {
            let (name, bound) = (output.name.as_str(), Some(output.error_bound));
            let (batch, right) = (&outputs[name], &expected[name]);
            let kind = keys.client.kind_of(batch.dimension()).expect("one of the keys");
            let decode = |damage: Option<(usize, u32)>| {
                let mut batch = batch.clone();
                if let Some((place, bit)) = damage {
                    let word = &mut batch.data_mut()[place];
                    *word = T::from_u64(word.to_u64() ^ 1 << bit);
                }
                decode_output(&program, name, &keys.client.decrypt_phase(kind, &batch).expect("its key"), bound)
            };
            assert_eq!(&decode(None).expect("what was computed"), right);
            let length = batch.dimension().ciphertext_len();
            let secret = keys.client.lwe(kind).bits();
            let set = secret.iter().position(|&bit| bit == 1).expect("a set bit");
            let clear_bit = secret.iter().position(|&bit| bit == 0).expect("a clear bit");
            // The first and the last ciphertext: its body, and mask elements with either key bit.
            let (mut refused, mut passed) = ([0, 0], BTreeSet::new());
            for place in [length - 1, set, 2 * length + set, 3 * length - 1] {
                for bit in 0..T::BITS {
                    match decode(Some((place, bit))) {
                        Ok(found) if &found == right => {}
                        Ok(found) => {
                            let change = (f64::from(bit) - f64::from(T::BITS)).exp2();
                            let may = output.spacing.may_pass(change, output.error_bound);
                            assert!(may, "{name}, bit {bit} of {place}: {found:?} for {right:?}");
                            passed.insert(bit);
                        }
                        Err(CodecError::Noise { distance, bound, .. }) => {
                            assert!(distance > bound);
                            refused[0] += 1;
                        }
                        Err(CodecError::Range { .. }) => refused[1] += 1,
                        Err(error) => panic!("{error}"),
                    }
                }
            }
            // Whole steps: 1/16, 1/8, 1/4 or 1/2 of the torus. Errors of these sets are far smaller.
            let steps = if name == "t" {
                4
            } else if name == "y" {
                3
            } else {
                1
            };
            assert_eq!(output.undetected.bits, steps, "{name}");
            assert!((1..=steps as usize).contains(&passed.len()), "{name}: {passed:?}");
            assert!(refused[0] > 0, "{name}: nothing was rejected for its noise");
            assert!(name != "y" || refused[1] > 0, "nothing was rejected for its range");
            (0..T::BITS).for_each(|bit| assert_eq!(&decode(Some((clear_bit, bit))).expect("the same phase"), right));
        }
    }
}

/// Outputs under another client's keys, and random ones, are rejected: all three values within their bounds would be a coincidence.
#[test]
fn phases_of_other_keys_are_rejected() {
    let program = program();
    let keys = Keys::<u32>::new("toy-256");
    let choice = TfheLowering::new(KeySwitchOrder::None, Arithmetic::F64);
    let report = noise::report_lowered(&program, keys.server.parameters(), &choice, Transform::F64);
    let bound = Some(report.expect("a report").outputs[0].error_bound);
    let phases: Vec<u32> = (1..=3u32).map(|index| index.wrapping_mul(0x9e37_79b9)).collect();
    let error = decode_output(&program, "y", &phases, bound).expect_err("no values");
    assert!(error.to_string().contains("damaged"), "{error}");
}
