//! Does a cancelled replay stop within its threads' computation, and not only before the next event?
//!
//! This test is a separate binary, because it creates the threads that all tests of a binary share.

use polyfabric_kernels::cancel::{Cancelled, Token};
use polyfabric_machines::contract::{Family, tfhe};
use polyfabric_machines::descriptions;
use polyfabric_machines::tfhe::replay;
use polyfabric_program::tfhe::builtin;
use polyfabric_program::tfhe::kernel::ValueType;
use polyfabric_program::tfhe::lowering::KeySwitchOrder;
use polyfabric_runtime::NoProgress;
use polyfabric_schemes::tfhe::noise::Transform;
use polyfabric_schemes::tfhe::{ClientKey, LweBatch, LweKind, ServerKey, sets};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

#[test]
fn a_cancelled_replay_ends_in_the_threads_that_compute() {
    let token = Token::new();
    let own = token.clone();
    let made = rayon::ThreadPoolBuilder::new().num_threads(2).start_handler(move |_| own.attach()).build_global();
    made.expect("no other test has made them");
    let set = sets::parameters("toy-256").expect("a set of the table");
    let client = ClientKey::<u32>::for_tests(&set, 7).expect("a checked set");
    let server = ServerKey::<u32>::for_tests(&client, 8);
    let (mut tried, mut went_on) = (0, Vec::new());
    for machine in descriptions().expect("every file is right") {
        if machine.family() != Family::Tfhe {
            continue;
        }
        let choice = tfhe::lowering(&machine, &set, KeySwitchOrder::None).expect("a set of 32 bits");
        let program = builtin::build("pbs", &set, 5, &choice, Transform::Exact).expect("a program").kernel;
        let (name, _, value) = program.inputs().next().expect("an input");
        let kind = match value {
            ValueType::Lwe { kind, .. } => kind,
            _ => LweKind::Small,
        };
        let inputs: BTreeMap<String, LweBatch<u32>> =
            [(name.to_owned(), client.encrypt_for_tests(kind, &[1 << 29; 5], 3))].into();
        let mapped = tfhe::map(&machine, &program).expect("it fits");
        let replay = || replay::replay(&mapped.schedule, &mapped.labels, &program, &server, &inputs, &NoProgress);
        token.reset();
        assert!(replay().is_ok(), "{}", machine.name());
        token.cancel();
        // This thread has no token, so only the work of the other threads can stop the replay.
        let ended = catch_unwind(AssertUnwindSafe(replay));
        if !ended.is_err_and(|payload| payload.is::<Cancelled>()) {
            went_on.push(machine.name().to_owned());
        }
        tried += 1;
    }
    assert_eq!(went_on, [""; 0]);
    assert!(tried > 2);
}
