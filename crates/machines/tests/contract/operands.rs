//! Does each of several results from one ciphertext have its own operand?

use crate::common::case::{Case, Mapped};
use polyfabric_machines::audit::{AuditError, audit};
use polyfabric_machines::contract::Family;
use polyfabric_machines::tfhe::labels::{Labeler, Meaning};
use polyfabric_sim::schedule::Event;

#[test]
fn registers_that_list_a_shared_operand_once_are_rejected() {
    let mut refused = 0;
    for case in Case::of(Family::Tfhe) {
        let Mapped::Tfhe(program, mapped) = &case.mapped else { continue };
        // Values with their content but without its multiplicity.
        let labeler = Labeler::default();
        let (schedule, _) = case.every(|_, event| {
            for access in event.reads.iter_mut().chain(&mut event.writes) {
                let mut meanings: Vec<Meaning> = mapped.labels.meanings(access.value).collect();
                meanings.sort_unstable();
                meanings.dedup();
                access.value = labeler.value(access.value.class, meanings);
            }
            1
        });
        match audit(program, &schedule, &labeler.finish()) {
            Err(AuditError::Operand { .. }) => refused += 1,
            found => assert_eq!(found, Ok(()), "{}", case.name()),
        }
    }
    assert!(refused > 0, "no machine passes several operands through a register");
}

#[test]
fn shared_operands_that_are_read_once_too_few_are_rejected() {
    let mut changed = 0;
    for case in Case::of(Family::Tfhe) {
        let Mapped::Tfhe(_, mapped) = &case.mapped else { continue };
        let fewer = case.variants(|_, event| {
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
        changed += fewer.len();
        assert!(fewer.iter().all(|(_, schedule)| case.is_refused(schedule)), "{}", case.name());
    }
    assert!(changed > 0, "no machine reads a ciphertext twice at once");
}
