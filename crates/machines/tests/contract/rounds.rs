//! Programs of rounds. Does the schedule of all rounds compute the program, and are equal rounds checked once?

use crate::common::{Rounds, all_machines, keys_and_inputs, next, ring};
use polyfabric_kernels::automorphism::GaloisElement;
use polyfabric_machines::contract::Family;
use polyfabric_machines::{Machine, MachineError};
use polyfabric_program::rns::kernel::RoundsError;
use polyfabric_runtime::NoProgress;
use polyfabric_runtime::rns::interpreter;
use polyfabric_schemes::rns::{Gadget, Ring, RnsPolynomial};
use polyfabric_sim::checker::{check, check_every_round};

/// The RNS machines that take rounds; all others say that they do not.
fn machines() -> Vec<Machine> {
    let (ring, gadget) = ring();
    let rounds = Rounds::new((&ring, &gadget), [0, 0]);
    let takes = |machine: &Machine| match rounds.map(machine).map_err(|error| *error) {
        Ok(_) => true,
        Err(MachineError::NoRounds { machine: named, .. }) => {
            assert_eq!(named, machine.name());
            false
        }
        Err(error) => panic!("{error}"),
    };
    let family = all_machines().into_iter().filter(|machine| machine.family() == Family::Rns);
    let (with, without): (Vec<_>, Vec<_>) = family.partition(takes);
    assert!(!with.is_empty() && !without.is_empty());
    with
}

/// Random rounds of up to three bodies, some with other rotations.
fn random((ring, gadget): (&Ring, &Gadget), length: usize, state: &mut u64) -> Rounds {
    let mut drawn = |below: usize| (next(state) >> 33) as usize % below;
    let different = 1 + drawn(3);
    let order: Vec<usize> =
        (0..length).map(|number| if drawn(4) == 0 { drawn(different) } else { number % different }).collect();
    let mut rounds = Rounds::new((ring, gadget), order);
    let turn = |steps: usize| GaloisElement::rotation(ring.degree(), steps as i64);
    for round in &mut rounds.rounds {
        if drawn(3) == 0 {
            round.elements = vec![(turn(round.body + 1), turn(4 + drawn(3)))];
        }
    }
    rounds
}

#[test]
fn schedules_of_rounds_are_legal_and_their_replays_match_the_interpreter() {
    let (ring, gadget) = ring();
    for machine in machines() {
        let mut state = 7;
        for length in [1, 2, 3, 5, 8] {
            let rounds = random((&ring, &gadget), length, &mut state);
            let simulated = rounds.map(&machine).unwrap_or_else(|error| panic!("{length} rounds: {error}"));
            let classes: Vec<String> =
                simulated.report.stalls_by_class.iter().map(|stalls| stalls.class.clone()).collect();
            let folded = check(simulated.schedule(), &classes).expect("it is legal");
            let every = check_every_round(simulated.schedule(), &classes).expect("it is legal");
            assert_eq!((folded.cycles, &folded.stalls), (every.cycles, &every.stalls));
            assert_eq!(folded.critical_path, every.critical_path);
            let (_, mut expected) = keys_and_inputs(&rounds.alone(&ring, 0), &ring, &gadget);
            for number in 0..length {
                let program = rounds.alone(&ring, number);
                let (keys, _) = keys_and_inputs(&program, &ring, &gadget);
                let given: Vec<&RnsPolynomial> = expected.iter().collect();
                expected = interpreter::run(&program, &keys, &given, &NoProgress).expect("it runs");
            }
            assert!(rounds.replayed(&machine, &ring, &gadget) == expected, "{}: {length} rounds", machine.name());
        }
    }
}

#[test]
fn cycles_and_traffic_are_those_of_all_rounds_and_equal_rounds_are_checked_once() {
    let (ring, gadget) = ring();
    // A repeated sequence of two bodies: loops in a loop.
    let order: Vec<usize> = [0, 0, 0, 1].into_iter().cycle().take(4000).collect();
    for machine in machines() {
        let found = Rounds::new((&ring, &gadget), order.clone()).map(&machine).expect("it fits");
        assert_eq!(found.parts.iter().map(|part| part.rounds).collect::<Vec<_>>(), [3000, 1000, 0]);
        assert_eq!(found.parts.iter().map(|part| part.rounds * part.cycles).sum::<u64>(), found.report.cycles);
        let moved: u64 = found.parts.iter().map(|part| part.rounds * part.traffic_bytes).sum();
        assert_eq!(found.report.traffic_bytes["total"], moved, "{}", machine.name());
        let checked = check(found.schedule(), &[]).expect("it is legal");
        assert!(20 * checked.replayed_events < found.schedule().event_count(), "{}: {checked:?}", machine.name());
    }
}

#[test]
fn rounds_that_do_not_fit_are_refused() {
    let (ring, gadget) = ring();
    for machine in machines() {
        let refused = |rounds: &Rounds| rounds.map(&machine).err().expect("it is refused");
        let another_body = Rounds::new((&ring, &gadget), [0, 3]);
        assert!(refused(&another_body).to_string().contains("round 1 uses body 3"));
        let turn = |steps| GaloisElement::rotation(ring.degree(), steps);
        let mut no_such_rotation = Rounds::new((&ring, &gadget), [0]);
        no_such_rotation.rounds[0].elements = vec![(turn(9), turn(1))];
        let error = refused(&no_such_rotation);
        let MachineError::Mapping { cause, .. } = &*error else { panic!("{error}") };
        assert!(matches!(cause.downcast_ref(), Some(RoundsError::Shared { operations: 0, .. })), "{error}");
    }
}
