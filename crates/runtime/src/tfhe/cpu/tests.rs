//! Does the batched runtime give the interpreter's results for any batch, threads and instruction set?

use super::{Buffers, Executor, TransformedKey};
use crate::NoProgress;
use crate::tfhe::{RunError, interpreter};
use polyfabric_kernels::Torus;
use polyfabric_kernels::isa::Isa;
use polyfabric_program::tfhe::builtin;
use polyfabric_program::tfhe::kernel::KernelProgram;
use polyfabric_program::tfhe::lowering::{Arithmetic, KeySwitchOrder, TfheLowering};
use polyfabric_schemes::tfhe::noise::Transform;
use polyfabric_schemes::tfhe::{ClientKey, KeyUnrolling, LweBatch, LweKind, Parameters, Secret, ServerKey, sets};
use std::collections::BTreeMap;
use std::sync::Arc;

struct Case<T> {
    client: ClientKey<T>,
    server: ServerKey<T>,
    program: KernelProgram,
    inputs: BTreeMap<String, LweBatch<T>>,
}

fn build(parameters: &Parameters, name: &str, batch: usize, arithmetic: Arithmetic) -> KernelProgram {
    let choice = TfheLowering::new(KeySwitchOrder::None, arithmetic);
    builtin::build(name, parameters, batch, &choice, Transform::F64).unwrap().kernel
}

fn case<T: Torus>(set: &str, name: &str, batch: usize) -> Case<T> {
    let parameters = sets::parameters(set).unwrap();
    let client = ClientKey::<T>::for_tests(&parameters, 1).unwrap();
    let server = ServerKey::for_tests(&client, 2);
    let program = build(&parameters, name, batch, Arithmetic::F64);
    let (input, kind, count) = program
        .inputs()
        .map(|(name, _, value)| match value {
            polyfabric_program::tfhe::kernel::ValueType::Lwe { count, kind, .. } => (name.to_owned(), kind, count),
            _ => panic!("an input is a batch of LWE ciphertexts"),
        })
        .next()
        .unwrap();
    // Values of a padded 2-bit message.
    let messages: Vec<T> = (0..count).map(|c| T::from_u64((c as u64 % 4) << (T::BITS - 3))).collect();
    let encrypted = client.encrypt_for_tests(kind, &messages, 3);
    Case { inputs: BTreeMap::from([(input, encrypted)]), client, server, program }
}

/// Phases of every output.
fn phases<T: Torus>(case: &Case<T>, outputs: &BTreeMap<String, LweBatch<T>>) -> Vec<f64> {
    let large = case.client.parameters().large_lwe_dimension();
    outputs
        .values()
        .flat_map(|batch| {
            let kind = if batch.dimension() == large { LweKind::Large } else { LweKind::Small };
            case.client.decrypt_phase(kind, batch).unwrap()
        })
        .map(T::to_fraction)
        .collect()
}

fn agrees<T: Torus>(set: &str, name: &str, batch: usize, tolerance: f64) {
    let case = case::<T>(set, name, batch);
    let expected = interpreter::run(&case.program, &case.server, &case.inputs, &NoProgress).unwrap();
    let executor = Executor::new(&case.server, 2).unwrap();
    let outputs = executor.run(&case.program, &case.inputs, &NoProgress).unwrap();
    for (ours, theirs) in phases(&case, &outputs).iter().zip(phases(&case, &expected)) {
        let difference = (ours - theirs) - (ours - theirs).round();
        assert!(difference.abs() < tolerance, "{set} {name}: {ours} and {theirs}");
    }
}

#[test]
fn phases_equal_the_interpreters() {
    for name in builtin::NAMES {
        agrees::<u32>("toy-256", name, 5, 1e-3);
        agrees::<u32>("toy-512-k2", name, 3, 1e-3);
        agrees::<u64>("toy-256-t64", name, 3, 1e-3);
    }
}

#[test]
fn full_size_phases_equal_the_interpreters() {
    agrees::<u32>("strix-I", "pbs", 2, 1.0 / 64.0);
    agrees::<u64>("morphling-IV", "pbs", 1, 1.0 / 64.0);
}

#[test]
fn results_are_independent_of_threads_and_batch() {
    let case = case::<u32>("toy-512-k2", "pbs", 9);
    let one = Executor::new(&case.server, 1).unwrap();
    let expected = one.run(&case.program, &case.inputs, &NoProgress).unwrap();
    for threads in [2, 3] {
        let executor = Executor::new(&case.server, threads).unwrap();
        assert_eq!(executor.run(&case.program, &case.inputs, &NoProgress).unwrap(), expected);
    }
    let single = build(case.client.parameters(), "pbs", 1, Arithmetic::F64);
    let (name, batch) = case.inputs.iter().next().unwrap();
    let (_, together) = expected.iter().next().unwrap();
    for c in [0, 8] {
        let alone = LweBatch::from_data(batch.dimension(), batch.get(c).to_vec()).unwrap();
        let outputs = one.run(&single, &BTreeMap::from([(name.clone(), alone)]), &NoProgress).unwrap();
        assert_eq!(outputs.values().next().unwrap().get(0), together.get(c));
    }
}

/// An unrolled key: phases match the interpreter's on the same key, for batches and for n not divisible by the group.
fn agrees_unrolled<T: Torus>(set: &str, unrolling: KeyUnrolling, batch: usize) {
    let plain = case::<T>(set, "pbs", batch);
    let server = ServerKey::for_tests_unrolled(&plain.client, unrolling, 2);
    let parameters = plain.client.parameters();
    let choice =
        TfheLowering { key_unrolling: unrolling.bits(), ..TfheLowering::new(KeySwitchOrder::None, Arithmetic::F64) };
    let program = builtin::build("pbs", parameters, batch, &choice, Transform::F64).unwrap().kernel;
    let expected = interpreter::run(&program, &server, &plain.inputs, &NoProgress).unwrap();
    for isa in Isa::ALL.into_iter().filter(|isa| isa.is_present()) {
        let executor = Executor::with_isa(&server, 2, isa).unwrap();
        let outputs = executor.run(&program, &plain.inputs, &NoProgress).unwrap();
        for (ours, theirs) in phases(&plain, &outputs).iter().zip(phases(&plain, &expected)) {
            let difference = (ours - theirs) - (ours - theirs).round();
            assert!(difference.abs() < 1e-3, "{set} {unrolling} {isa:?}: {ours} and {theirs}");
        }
    }
}

#[test]
fn unrolled_keys_give_the_interpreters_phases() {
    let block = KeyUnrolling::of(Secret::Block(3));
    agrees_unrolled::<u32>("toy-256-block3", block, 17);
    agrees_unrolled::<u32>("toy-256-block3", KeyUnrolling::ONE, 2);
    for unrolling in [KeyUnrolling::TWO, KeyUnrolling::FOUR] {
        // A batch across lanes on each of two threads, and the remainder on one.
        agrees_unrolled::<u32>("toy-256", unrolling, 17);
        agrees_unrolled::<u32>("toy-512-k2", unrolling, 2);
        agrees_unrolled::<u64>("toy-256-t64", unrolling, 2);
    }
}

/// The predicted memory of the keys is what the executor allocates.
fn check_memory<T: Torus>(set: &str, unrolling: KeyUnrolling, batch: usize) {
    let plain = case::<T>(set, "pbs", batch);
    let parameters = plain.client.parameters();
    let server = ServerKey::for_tests_unrolled(&plain.client, unrolling, 2);
    let order = if parameters.key_switch_gadget().is_some() { KeySwitchOrder::After } else { KeySwitchOrder::None };
    let choice = TfheLowering { key_unrolling: unrolling.bits(), ..TfheLowering::new(order, Arithmetic::F64) };
    let name = if order == KeySwitchOrder::After { "pbs+ks" } else { "pbs" };
    let program = builtin::build(name, parameters, batch, &choice, Transform::F64).unwrap().kernel;
    let predicted = Buffers::of(&program, unrolling, 2).unwrap();
    let transformed = Arc::<TransformedKey>::default();
    let executor = Executor::sharing(&server, &transformed, 2).unwrap();
    executor.run(&program, &plain.inputs, &NoProgress).unwrap();
    assert_eq!(predicted.keys, transformed.bytes(), "{set} {unrolling} {batch}");
    // The peak is while results are extracted from the accumulators.
    let large = parameters.large_lwe_dimension().ciphertext_len();
    let glwe = parameters.glwe_dimension().ciphertext_polynomials() * parameters.ring_degree().get();
    assert_eq!(predicted.values, (batch * (glwe + large) * size_of::<T>()) as u64);
}

#[test]
fn memory_is_predicted() {
    for batch in [1, 2, 16, 17] {
        check_memory::<u32>("toy-256-block3", KeyUnrolling::of(Secret::Block(3)), batch);
        for unrolling in [KeyUnrolling::ONE, KeyUnrolling::FOUR] {
            check_memory::<u32>("toy-256", unrolling, batch);
            check_memory::<u32>("toy-512-k2", unrolling, batch);
            check_memory::<u64>("toy-256-t64", unrolling, batch);
        }
    }
}

#[test]
fn default_threads_take_the_memory_of_that_number() {
    let case = case::<u32>("toy-256", "pbs", 40);
    let threads = Executor::new(&case.server, 0).unwrap().threads();
    let [predicted, expected] =
        [0, threads].map(|threads| Buffers::of(&case.program, KeyUnrolling::ONE, threads).unwrap());
    assert_eq!(predicted, expected);
}

#[test]
fn every_instruction_set_decrypts_equal() {
    let case = case::<u32>("toy-256", "pbs+ks", 4);
    let expected = interpreter::run(&case.program, &case.server, &case.inputs, &NoProgress).unwrap();
    for isa in Isa::ALL.into_iter().filter(|isa| isa.is_present()) {
        let executor = Executor::with_isa(&case.server, 1, isa).unwrap();
        let outputs = executor.run(&case.program, &case.inputs, &NoProgress).unwrap();
        for (ours, theirs) in phases(&case, &outputs).iter().zip(phases(&case, &expected)) {
            assert!((ours - theirs).abs() < 1e-3, "{isa:?}: {ours} and {theirs}");
        }
    }
}

#[test]
fn other_arithmetic_is_refused() {
    let case = case::<u32>("toy-256", "pbs", 1);
    let exact = build(case.client.parameters(), "pbs", 1, Arithmetic::ExactInteger);
    let executor = Executor::new(&case.server, 1).unwrap();
    let error = executor.run(&exact, &case.inputs, &NoProgress).unwrap_err();
    assert!(matches!(&error, RunError::Arithmetic { .. }), "{error}");
}

#[test]
fn ciphertexts_of_the_wrong_key_are_rejected() {
    let case = case::<u32>("toy-256", "pbs", 1);
    let executor = Executor::new(&case.server, 1).unwrap();
    let large = LweBatch::zeros(case.client.parameters().large_lwe_dimension(), 1);
    let error = executor.bootstrap(&large, &[0; 256], &NoProgress).unwrap_err();
    assert!(["bootstrapping", "256", "16"].iter().all(|part| error.to_string().contains(part)), "{error}");
}
