//! Does the interpreter, on random programs, decrypt to the evaluation in the clear: with every lowering choice and in
//! every arithmetic, and as the batched runtime executes it? Are the choices that only reorder exact arithmetic equal
//! bit for bit?

use super::common::{Keys, clear};
use super::random_program::{Limits, Stream, inputs, program};
use polyfabric_kernels::Torus;
use polyfabric_program::tfhe::homomorphic::Program;
use polyfabric_program::tfhe::lowering::{Accumulation, Arithmetic, InputTransform, KeySwitchOrder, TfheLowering};
use polyfabric_program::tfhe::noise;
use polyfabric_runtime::NoProgress;
use polyfabric_runtime::tfhe::cpu::Executor;
use polyfabric_runtime::tfhe::interpreter;
use polyfabric_schemes::tfhe::noise::Transform;
use polyfabric_schemes::tfhe::{LweBatch, Parameters};
use proptest::prelude::*;
use std::collections::BTreeMap;

const LIMITS: Limits = Limits { operations: 10, width: 6, length: 4, everything: false };

/// The first program of `stream` that `parameters` carry with failure probability 2^-30 in both orders.
fn carried_program(stream: &mut Stream, parameters: &Parameters) -> Program {
    loop {
        let candidate = program(stream, LIMITS);
        let carries = |order| {
            let plain = TfheLowering::new(order, Arithmetic::F64);
            [plain, TfheLowering::processor(order)].iter().all(|choice| {
                let report = noise::report_lowered(&candidate, parameters, choice, Transform::F64).unwrap();
                report.check(parameters, -30.0).is_ok()
            })
        };
        if carries(KeySwitchOrder::Before) && carries(KeySwitchOrder::After) {
            return candidate;
        }
    }
}

fn cases() -> ProptestConfig {
    ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() }
}

fn check<T: Torus>(keys: &Keys<T>, seed: u64) {
    let mut stream = Stream::new(seed);
    let program = carried_program(&mut stream, keys.server.parameters());
    let values = inputs(&mut stream, &program);
    let expected = clear(&program, &values);
    for order in [KeySwitchOrder::Before, KeySwitchOrder::After] {
        for arithmetic in [Arithmetic::ExactInteger, Arithmetic::F64] {
            let choice = TfheLowering::new(order, arithmetic);
            let decrypted = keys.interpret(&program, &choice, &values);
            assert_eq!(decrypted, expected, "seed {seed}, {choice:?}\n{program}");
        }
        let shared = TfheLowering::processor(order);
        assert_eq!(keys.interpret(&program, &shared, &values), expected, "seed {seed}, {shared:?}\n{program}");
        for choice in [TfheLowering::new(order, Arithmetic::F64), shared] {
            let lowered = keys.lower(&program, &choice);
            let encrypted = keys.encrypt(&program, &lowered, &values, 101);
            let executor = Executor::new(&keys.server, 0).unwrap();
            let outputs = executor.run(&lowered, &encrypted, &NoProgress).unwrap();
            assert_eq!(keys.decrypt(&program, &outputs), expected, "seed {seed}, batched, {choice:?}\n{program}");
        }
    }
}

#[test]
fn random_programs_on_32_bits() {
    let keys = Keys::<u32>::new("toy-256");
    proptest!(cases(), |(seed: u64)| check(&keys, seed));
}

#[test]
fn random_programs_on_64_bits() {
    let keys = Keys::<u64>::new("toy-256-t64");
    proptest!(cases(), |(seed: u64)| check(&keys, seed));
}

#[test]
fn reuse_of_transforms_changes_no_bit_of_exact_arithmetic() {
    let keys = Keys::<u32>::new("toy-512-k2");
    let mut stream = Stream::new(3);
    let program = carried_program(&mut stream, keys.server.parameters());
    let values = inputs(&mut stream, &program);
    let mut results = Vec::new();
    for input_transform in [InputTransform::Shared, InputTransform::PerProduct] {
        let split = Accumulation::Split { polynomials: 2, levels: 1 };
        for accumulation in [Accumulation::TransformDomain, Accumulation::CoefficientDomain, split] {
            let choice = TfheLowering {
                accumulation,
                input_transform,
                ..TfheLowering::new(KeySwitchOrder::After, Arithmetic::ExactInteger)
            };
            let lowered = keys.lower(&program, &choice);
            let encrypted = keys.encrypt(&program, &lowered, &values, 5);
            results.push(interpreter::run(&lowered, &keys.server, &encrypted, &NoProgress).unwrap());
        }
    }
    assert!(results.iter().all(|result| *result == results[0]));
    assert_eq!(keys.decrypt(&program, &results[0]), clear(&program, &values));
}

/// Three executions as one give bit for bit what each gives alone: the interpreter in exact arithmetic, and the batched runtime.
#[test]
fn executions_together_equal_single_ones() {
    let keys = Keys::<u32>::new("toy-256");
    for seed in 0..12 {
        let mut stream = Stream::new(seed);
        let program = carried_program(&mut stream, keys.server.parameters());
        let exact = seed % 4 == 0;
        let arithmetic = if exact { Arithmetic::ExactInteger } else { Arithmetic::F64 };
        let choice = TfheLowering { arithmetic, ..TfheLowering::processor(KeySwitchOrder::Before) };
        let lowered = keys.lower(&program, &choice);
        let requests = [1, 2, 3].map(|seed| {
            let values = inputs(&mut stream, &program);
            keys.encrypt(&program, &lowered, &values, 100 * seed)
        });
        let repeated = lowered.repeated(3).unwrap();
        assert_eq!(repeated.check(), Ok(()));
        assert_eq!(repeated.lookups(), 3 * lowered.lookups());
        if exact {
            let alone =
                requests.each_ref().map(|own| interpreter::run(&lowered, &keys.server, own, &NoProgress).unwrap());
            let joined = requests[0].iter().map(|(name, first)| {
                let data: Vec<u32> = requests.iter().flat_map(|own| own[name].data().to_vec()).collect();
                (name.clone(), LweBatch::from_data(first.dimension(), data).unwrap())
            });
            let found = interpreter::run(&repeated, &keys.server, &joined.collect(), &NoProgress).unwrap();
            for (name, all) in &found {
                let expected: Vec<u32> = alone.iter().flat_map(|own| own[name].data().to_vec()).collect();
                assert_eq!(all.data(), expected, "seed {seed}, {name}\n{program}");
            }
            continue;
        }
        for threads in [1, 2] {
            let executor = Executor::new(&keys.server, threads).unwrap();
            let alone = requests.each_ref().map(|own| executor.run(&lowered, own, &NoProgress).unwrap());
            // Wrong inputs fail their own request.
            let wrong = BTreeMap::from([("none".to_owned(), requests[0].values().next().unwrap().clone())]);
            let together = [&requests[0], &wrong, &requests[1], &requests[2]];
            let found = executor.run_together(&lowered, &together, &NoProgress).unwrap();
            assert_eq!(found[1], interpreter::check_inputs(&lowered, &keys.server, &wrong).map(|()| BTreeMap::new()));
            for (found, alone) in [0, 2, 3].iter().map(|&place| &found[place]).zip(&alone) {
                assert_eq!(found.as_ref(), Ok(alone), "seed {seed}, {threads} threads\n{program}");
            }
        }
    }
}
