//! Does every result have its own operand, if several are made of one ciphertext?

use crate::{first, judged, torus_machines};
use polyfabric_machines::audit::{AuditError, Datum, Function, Meaning, audit};
use polyfabric_machines::contract::torus;
use polyfabric_machines::engine::schedule::{Event, KindId, Value};

/// Names that say of each value what is in it, and not how often.
struct Once<'a>(&'a dyn Meaning);

impl Meaning for Once<'_> {
    fn function(&self, kind: KindId) -> Function {
        self.0.function(kind)
    }

    fn constant(&self, kind: KindId) -> Option<Datum> {
        self.0.constant(kind)
    }

    fn data(&self, value: Value) -> Vec<Datum> {
        let mut data = self.0.data(value);
        data.sort_unstable();
        data.dedup();
        data
    }
}

#[test]
fn a_register_that_names_an_operand_once_for_several_results_is_refused() {
    let mut refused = 0;
    for (machine, program) in torus_machines() {
        let mapped = torus::map(&machine, &program).expect("it fits");
        let meaning = mapped.meaning(&program);
        match audit(&program, mapped.schedule(), &Once(&*meaning)) {
            Err(AuditError::Operand { .. }) => refused += 1,
            found => assert_eq!(found, Ok(()), "{}, {}", machine.name(), program.name),
        }
    }
    assert!(refused > 0, "no machine passes several operands through a register");
}

#[test]
fn an_operand_of_several_results_that_comes_once_less_is_refused() {
    let mut changed = 0;
    for (machine, program) in torus_machines() {
        let mapped = torus::map(&machine, &program).expect("it fits");
        let meaning = mapped.meaning(&program);
        let mut schedule = mapped.schedule().clone();
        let removed = first(&mut schedule.items, &mut |event| {
            let ciphertext = |value| matches!(meaning.data(value)[..], [Datum::Lwe { .. }]);
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
            assert!(judged(&machine, &program, &*mapped, &schedule).is_err(), "{}", machine.name());
            changed += 1;
        }
    }
    assert!(changed > 0, "no machine reads a ciphertext twice at once");
}
