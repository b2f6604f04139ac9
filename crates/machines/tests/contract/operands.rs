//! Does each of several results from one ciphertext have its own operand?

use crate::{first, judged, tfhe_machines};
use polyfabric_machines::audit::{AuditError, audit};
use polyfabric_machines::contract::tfhe;
use polyfabric_machines::tfhe::labels::{Labeler, Meaning};
use polyfabric_sim::schedule::Event;

#[test]
fn registers_that_list_a_shared_operand_once_are_rejected() {
    let mut refused = 0;
    for (machine, program) in tfhe_machines() {
        let mapped = tfhe::map(&machine, &program).expect("it fits");
        // Values with their content but without its multiplicity.
        let (mut schedule, labeler) = (mapped.schedule.clone(), Labeler::default());
        first(&mut schedule.items, &mut |event| {
            for access in event.reads.iter_mut().chain(&mut event.writes) {
                let mut meanings: Vec<Meaning> = mapped.labels.meanings(access.value).collect();
                meanings.sort_unstable();
                meanings.dedup();
                access.value = labeler.value(access.value.class, meanings);
            }
            false
        });
        match audit(&program, &schedule, &labeler.finish()) {
            Err(AuditError::Operand { .. }) => refused += 1,
            found => assert_eq!(found, Ok(()), "{}, {}", machine.name(), program.name),
        }
    }
    assert!(refused > 0, "no machine passes several operands through a register");
}

#[test]
fn shared_operands_that_are_read_once_too_few_are_rejected() {
    let mut changed = 0;
    for (machine, program) in tfhe_machines() {
        let mapped = tfhe::map(&machine, &program).expect("it fits");
        let mut schedule = mapped.schedule.clone();
        let removed = first(&mut schedule.items, &mut |event| {
            let ciphertext = |value| {
                let mut meanings = mapped.labels.meanings(value);
                matches!((meanings.next(), meanings.next()), (Some(Meaning::Lwe { .. }), None))
            };
            let again = (1..event.reads.len()).find(|&index| {
                let value = event.reads[index].value;
                ciphertext(value) && event.reads[..index].iter().any(|before| before.value == value)
            });
            let Some(index) = again else { return false };
            let bytes = |event: &Event| event.reads.iter().map(|read| read.bytes).sum::<u64>();
            let before = bytes(event);
            event.reads.remove(index);
            event.work = event.work * bytes(event) / before;
            true
        });
        if removed {
            assert!(judged(&machine, &program, &mapped, &schedule).is_err(), "{}", machine.name());
            changed += 1;
        }
    }
    assert!(changed > 0, "no machine reads a ciphertext twice at once");
}
