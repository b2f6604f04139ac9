//! Do the built-in programs compute the documented results, at full size, in exact arithmetic and in f64?

use super::common::{Keys, clear, values};
use polyfabric_program::tfhe::builtin;
use polyfabric_program::tfhe::homomorphic::{Builder, ElementType, LookupResult, Range, Table};
use polyfabric_program::tfhe::kernel::{ConstantRun, KernelProgram, TableChoice, TestPolynomial};
use polyfabric_program::tfhe::lowering::{Arithmetic, KeySwitchOrder, TfheLowering};
use polyfabric_runtime::NoProgress;
use polyfabric_runtime::tfhe::cpu::Executor;
use polyfabric_runtime::tfhe::interpreter;
use polyfabric_schemes::tfhe::LweKind;
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

/// As processors run them: sums of earlier results, and random messages.
#[test]
fn full_size_sets_for_processors() {
    let mut sets: Vec<u32> = vec![2, 4, 5];
    // Its keys take 1 GiB.
    sets.extend(std::env::var_os("POLYFABRIC_FULL").map(|_| 6));
    for bits in sets {
        let name = format!("polyfabric-{bits}-p136-t64");
        let keys = Keys::<u64>::new(&name);
        let range = |values: i64| Range::new(0, values - 1).unwrap();
        let (count, values_of_a_part) = (8, 1 << (bits - 1));
        let mut builder = Builder::new("sums").unwrap();
        let x = builder.input("x", ElementType::Integer(range(1 << bits)), 2 * count).unwrap();
        let half = Table::tabulate(range(1 << bits), |value| (value * value + 1) % values_of_a_part).unwrap();
        let parts = builder.lookup(x, vec![half], None, LookupResult::Integer).unwrap();
        let [first, second] = [0, count as u32]
            .map(|from| builder.select(parts, &(from..from + count as u32).collect::<Vec<_>>()).unwrap());
        let sum = builder.add(first, second).unwrap();
        let table = Table::tabulate(range(2 * values_of_a_part - 1), |value| (5 * value + 3) % (1 << bits)).unwrap();
        let y = builder.lookup(sum, vec![table], None, LookupResult::Integer).unwrap();
        builder.output("y", y).unwrap();
        let program = builder.finish().unwrap();
        let lowered = keys.lower(&program, &TfheLowering::processor(KeySwitchOrder::Before));
        let executor = Executor::new(&keys.server, 2).unwrap();
        let mut random = 1u64;
        let messages: Vec<i64> = (0..2 * count)
            .map(|_| {
                random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                (random >> (64 - bits)) as i64
            })
            .collect();
        let input = values(&[("x", &messages)]);
        let outputs = executor.run(&lowered, &keys.encrypt(&program, &lowered, &input, 7), &NoProgress).unwrap();
        assert_eq!(keys.decrypt(&program, &outputs), clear(&program, &input), "{name}");
    }
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

#[test]
fn lookups_of_given_tables_match_the_lowering() {
    let parameters = polyfabric_schemes::tfhe::sets::parameters("toy-256").unwrap();
    for (name, key_switch) in [("pbs", KeySwitchOrder::None), ("pbs+ks", KeySwitchOrder::After)] {
        let choice = TfheLowering::new(key_switch, Arithmetic::F64);
        let built = builtin::build(name, &parameters, 3, &choice, Transform::F64).unwrap().kernel;
        let tables = built.tables.clone();
        let given = builtin::look_ups(&parameters, tables, TableChoice::Shared(0), 3, &choice).unwrap();
        let meant = |program: &KernelProgram| {
            let ops = program.ops.iter().map(|op| (op.kind.clone(), op.operands.clone(), op.result));
            (ops.collect::<Vec<_>>(), program.outputs.clone(), program.choice.clone())
        };
        assert_eq!(meant(&given), meant(&built));
    }
}

#[test]
fn look_ups_after_a_key_switch_compute_their_tables() {
    let keys = Keys::<u32>::new("toy-256");
    let parameters = keys.server.parameters();
    let choice = TfheLowering::new(KeySwitchOrder::Before, Arithmetic::F64);
    // Signs and their opposites: a quarter of the torus to plus and minus an eighth.
    let tables = [1u64 << 29, 7 << 29].map(|value| TestPolynomial::from_runs([ConstantRun { length: 256, value }]));
    let picked = TableChoice::PerCiphertext([0, 1, 0].into());
    let program = builtin::look_ups(parameters, tables.into(), picked, 3, &choice).unwrap();
    let given = keys.client.encrypt_for_tests(LweKind::Large, &[1 << 30, 1 << 30, 3 << 30], 5);
    let inputs = std::collections::BTreeMap::from([("x".to_owned(), given)]);
    let found = interpreter::run(&program, &keys.server, &inputs, &NoProgress).unwrap();
    let phases = keys.client.decrypt_phase(LweKind::Large, &found["y"]).unwrap();
    let rounded: Vec<u32> = phases.iter().map(|phase| phase.wrapping_add(1 << 28) >> 29).collect();
    assert_eq!(rounded, [1, 7, 7]);
}

#[test]
fn impossible_lookups_are_rejected() {
    let parameters = polyfabric_schemes::tfhe::sets::parameters("fpt-I-one-key").unwrap();
    let refused = |key_switch, degree: u32, table| {
        let choice = TfheLowering::new(key_switch, Arithmetic::F64);
        let tables = vec![TestPolynomial::from_runs([ConstantRun { length: degree, value: 1 }])];
        builtin::look_ups(&parameters, tables, TableChoice::Shared(table), 1, &choice).unwrap_err().to_string()
    };
    let unswitched = refused(KeySwitchOrder::After, 512, 0);
    assert!(unswitched.contains("fpt-I-one-key") && unswitched.contains("key switch after"), "{unswitched}");
    assert!(refused(KeySwitchOrder::None, 256, 0).contains("table 0"), "{}", refused(KeySwitchOrder::None, 256, 0));
    assert!(refused(KeySwitchOrder::None, 512, 1).contains("table"), "{}", refused(KeySwitchOrder::None, 512, 1));
}
