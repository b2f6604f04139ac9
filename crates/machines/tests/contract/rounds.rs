//! Machines whose schedules keep a program's loops. Does a schedule of rounds match the program without
//! loops? Is every schedule with one error rejected, in one round or in all?

use super::loops;
use crate::common::{all_machines, body, keys_and_inputs, next, polynomial, ring};
use crate::one_error::{
    Altered, BETTER, early_reads_and_early_overwrites_are_rejected, missing_duplicate_or_halved_events_are_rejected,
    operands_of_other_rounds_are_rejected, shifts_by_a_cycle_are_rejected_or_compute_the_same,
    simultaneous_events_are_rejected, wrong_operands_are_rejected,
};
use polyfabric_kernels::automorphism::GaloisElement;
use polyfabric_machines::audit::rns::audit;
use polyfabric_machines::contract::Target;
use polyfabric_machines::contract::options::Given;
use polyfabric_machines::contract::rounds::{RoundsMapper, WholeRounds};
use polyfabric_machines::{Machine, MachineError};
use polyfabric_program::rns::kernel::{Round, Rounds};
use polyfabric_runtime::NoProgress;
use polyfabric_runtime::rns::interpreter;
use polyfabric_schemes::rns::{Gadget, KeySet, Ring, RnsPolynomial};
use polyfabric_sim::checker::{check, check_every_round};
use polyfabric_sim::description::{Dimension, Figure};
use polyfabric_sim::schedule::{Event, Item, Repeat, Resources, Schedule, Shift};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Rounds of three bodies.
fn program((ring, gadget): (&Ring, &Gadget), rounds: Vec<Round>) -> Rounds {
    let bodies = [(1, 0), (2, 2), (3, 1)].map(|(steps, products)| body((ring, gadget), steps, products));
    let rounds = Rounds { name: "rounds".into(), bodies: bodies.into(), rounds };
    rounds.check().expect("they fit");
    rounds
}

/// Every machine of the family, with whether its schedules keep loops.
fn family() -> Vec<(Machine, bool)> {
    let (ring, gadget) = ring();
    let rounds = program((&ring, &gadget), vec![Round::of(0); 2]);
    let repeats = |machine: Machine| match WholeRounds::map(&machine, rounds.clone(), &Given::new()) {
        Ok(_) => Some((machine, true)),
        Err(MachineError::NoRounds { .. }) => Some((machine, false)),
        Err(MachineError::Family { .. }) => None,
        Err(error) => panic!("{error}"),
    };
    all_machines().into_iter().filter_map(repeats).collect()
}

/// The machines whose schedules keep loops.
fn machines() -> Vec<Machine> {
    let machines: Vec<_> = family().into_iter().filter_map(|(machine, repeats)| repeats.then_some(machine)).collect();
    assert!(!machines.is_empty(), "no machine was tested");
    machines
}

/// The machine with memories that barely fit the program, so that places are reused.
fn crowded(machine: &Machine, rounds: &Rounds) -> Machine {
    let capacity = |(key, figure): (&String, &Figure)| {
        let (_, unit) = Dimension::of_unit(&figure.written.unit).expect("a unit");
        let own = figure.value.filter(|_| key.starts_with("memories.") && key.ends_with(".capacity"))?;
        Some((key.clone(), own, unit))
    };
    let capacities: Vec<(String, f64, f64)> = machine.figures().iter().filter_map(capacity).collect();
    let with = |share: f64| {
        let smaller = capacities.iter().map(|(key, own, unit)| (key.clone(), (share * own).floor() / unit));
        let figures: Vec<(String, f64)> = smaller.collect();
        let machine = machine.changed(&figures).ok()?;
        WholeRounds::map(&machine, rounds.clone(), &Given::new()).is_ok().then_some(machine)
    };
    let (mut fits, mut least) = (1.0, machine.clone());
    // Halve the memories, then reduce them in small steps.
    for step in [0.5, 0.9] {
        while let Some(smaller) = with(step * fits) {
            (fits, least) = (step * fits, smaller);
        }
    }
    assert!(fits < 1.0, "{} has no memory that could be smaller", machine.name());
    least
}

/// A repeated program on a machine, with keys, inputs and the interpreter's outputs.
struct Case {
    machine: Machine,
    whole: WholeRounds,
    keys: KeySet,
    inputs: Vec<RnsPolynomial>,
    expected: Vec<RnsPolynomial>,
}

impl Case {
    fn new(machine: &Machine, (ring, gadget): (&Arc<Ring>, &Arc<Gadget>), rounds: Vec<Round>) -> Self {
        Self::of(machine, (ring, gadget), program((ring, gadget), rounds))
    }

    /// With barely enough memory.
    fn crowded(machine: &Machine, (ring, gadget): (&Arc<Ring>, &Arc<Gadget>), rounds: Vec<Round>) -> Self {
        let rounds = program((ring, gadget), rounds);
        Self::of(&crowded(machine, &rounds), (ring, gadget), rounds)
    }

    fn of(machine: &Machine, (ring, gadget): (&Arc<Ring>, &Arc<Gadget>), rounds: Rounds) -> Self {
        let unrolled = rounds.unrolled().expect("a program");
        let (keys, inputs) = keys_and_inputs(&unrolled, ring, gadget);
        let given: Vec<&RnsPolynomial> = inputs.iter().collect();
        let expected = interpreter::run(&unrolled, &keys, &given, &NoProgress).expect("it runs");
        let whole = WholeRounds::map(machine, rounds, &Given::new()).expect("it fits");
        Self { machine: machine.clone(), whole, keys, inputs, expected }
    }

    fn schedule(&self) -> &Schedule {
        self.whole.schedule()
    }

    fn name(&self) -> &str {
        self.machine.name()
    }

    /// The verdict of the audit, then of the checker.
    fn judged(&self, schedule: &Schedule) -> Result<(), String> {
        self.whole.hold(schedule).map_err(|error| error.to_string())?;
        check(schedule, &[]).map(|_| ()).map_err(|violation| violation.to_string())
    }

    /// The verdict on all events of the program without loops.
    fn judged_unrolled(&self, schedule: &Schedule) -> Result<(), String> {
        let unrolled = schedule.unrolled();
        let program = self.whole.rounds().unrolled().expect("a program");
        let meaning = self.whole.meaning(&unrolled).map_err(|error| error.to_string())?;
        audit(&program, &unrolled, &meaning).map_err(|error| error.to_string())?;
        check(&unrolled, &[]).map(|_| ()).map_err(|violation| violation.to_string())
    }

    fn replayed(&self, schedule: &Schedule) -> Option<Vec<RnsPolynomial>> {
        let given: Vec<&RnsPolynomial> = self.inputs.iter().collect();
        self.whole.replay(schedule, &self.keys, &given).ok()
    }

    /// Whether a replay matches the interpreter.
    fn is_right(&self, schedule: &Schedule) -> bool {
        self.replayed(schedule).is_some_and(|words| words == self.expected)
    }
}

/// Random rounds of up to three bodies, each with separate public polynomials, some with other rotations.
fn random_rounds(ring: &Ring, length: usize, state: &mut u64) -> Vec<Round> {
    let mut drawn = |below: usize| (next(state) >> 33) as usize % below;
    let different = 1 + drawn(3);
    let turn = |steps: i64| GaloisElement::rotation(ring.degree(), steps);
    let mut rounds = Vec::new();
    for number in 0..length {
        let body = if drawn(4) == 0 { drawn(different) } else { number % different };
        let elements = match drawn(3) {
            0 => vec![(turn(body as i64 + 1), turn(4 + drawn(3) as i64))],
            _ => Vec::new(),
        };
        rounds.push(Round { body, elements, plaintexts: Some(vec![polynomial(ring, 100 + number as i64)]) });
    }
    rounds
}

/// A change of a loop, with its description.
type Change<'a> = (&'a str, &'a dyn Fn(&mut Repeat));

/// Rounds of these bodies, each with a different public polynomial.
fn rounds_of(ring: &Ring, order: &[usize]) -> Vec<Round> {
    let own = |(number, &body)| Round { plaintexts: Some(vec![polynomial(ring, number)]), ..Round::of(body) };
    (0..).zip(order).map(own).collect()
}

#[test]
fn machines_without_loops_report_it() {
    let (ring, gadget) = ring();
    let rounds = program((&ring, &gadget), vec![Round::of(0); 2]);
    let mut without = 0;
    for (machine, repeats) in family() {
        let mapped = WholeRounds::map(&machine, rounds.clone(), &Given::new());
        assert_eq!(mapped.is_ok(), repeats);
        if let Err(refused) = mapped {
            assert!(matches!(refused, MachineError::NoRounds { .. }), "{refused}");
            assert!(refused.to_string().contains(machine.name()), "{refused}");
            without += 1;
        }
    }
    assert!(without > 0);
}

#[test]
fn rounds_are_accepted_folded_and_unrolled_and_match_the_interpreter() {
    let (ring, gadget) = ring();
    for machine in machines() {
        let mut state = 7;
        let Target::Rns(mapper) = machine.target() else { panic!("of the family") };
        let classes: Vec<String> = mapper.primary().iter().map(|&class| class.to_owned()).collect();
        for length in [1, 2, 3, 5, 8, 13] {
            let case = Case::crowded(&machine, (&ring, &gadget), random_rounds(&ring, length, &mut state));
            case.judged(case.schedule()).unwrap_or_else(|error| panic!("{length} rounds: {error}"));
            case.judged_unrolled(case.schedule()).unwrap_or_else(|error| panic!("{length} rounds, unrolled: {error}"));
            let folded = check(case.schedule(), &classes).expect("it is legal");
            let every = check_every_round(case.schedule(), &classes).expect("it is legal");
            let rounds = &case.whole.rounds().rounds;
            let alone: u64 = rounds.iter().map(|round| case.whole.bodies()[round.body].cycles()).sum();
            assert_eq!((folded.cycles, &folded.stalls), (every.cycles, &every.stalls));
            assert_eq!((folded.cycles, folded.critical_path), (alone, every.critical_path));
            assert!(case.is_right(case.schedule()), "{}: {length} rounds", case.name());
        }
    }
}

#[test]
fn equal_rounds_are_not_simulated_one_by_one() {
    let (ring, gadget) = ring();
    // A repeated sequence of two bodies: loops in a loop.
    let order = [0, 0, 0, 1].into_iter().cycle().take(4000);
    let rounds = program((&ring, &gadget), order.map(Round::of).collect());
    for machine in machines() {
        let whole = WholeRounds::map(&machine, rounds.clone(), &Given::new()).expect("it fits");
        let checked = check(whole.schedule(), &[]).expect("it is legal");
        assert!(20 * checked.replayed_events < whole.schedule().event_count(), "{}: {checked:?}", machine.name());
        whole.hold(whole.schedule()).expect("it is the program");
    }
}

#[test]
fn incremental_mapping_gives_the_same_schedule_and_traffic() {
    let (ring, gadget) = ring();
    for machine in machines() {
        let case = Case::new(&machine, (&ring, &gadget), rounds_of(&ring, &[0, 1, 1, 2, 1, 1, 2]));
        let Rounds { name, bodies, rounds } = case.whole.rounds();
        let mut mapper = RoundsMapper::new(&machine, name, "", &Given::new(), rounds.clone()).expect("rounds");
        bodies.iter().for_each(|body| mapper.body(body).expect("it fits"));
        let found = mapper.finish().expect("it is legal");
        assert_eq!(found.report.cycles, check(case.schedule(), &[]).expect("it is legal").cycles);
        let mut moved = 0;
        for placed in case.schedule().events() {
            let event = placed.to_event();
            let channel = case.schedule().resources.as_channel(event.resource).is_some();
            moved += if channel { event.work } else { 0 };
        }
        assert_eq!(found.report.traffic_bytes["total"], moved, "{}", case.name());
        let of_body = |body: usize| rounds.iter().filter(|round| round.body == body).count() as u64;
        let own: Vec<u64> = found.parts.iter().map(|part| part.rounds).collect();
        assert_eq!(own, [of_body(0), of_body(1), of_body(2)]);
        assert_eq!(found.parts.iter().map(|part| part.rounds * part.cycles).sum::<u64>(), found.report.cycles);
    }
}

#[test]
fn missing_duplicate_swapped_or_early_rounds_are_rejected_and_give_wrong_words() {
    let (ring, gadget) = ring();
    let of_three = |repeat: &Repeat| repeat.count == 3;
    let in_loop = |items: &mut Vec<Item>, change: &dyn Fn(&mut Repeat)| {
        let here = &mut |repeat: &mut Repeat| {
            let here = of_three(repeat);
            if here {
                change(repeat);
            }
            here
        };
        assert!(loops(items, here), "the loop of three rounds");
    };
    let changes: [Change<'_>; 5] = [
        ("one round fewer", &|repeat| repeat.count = 2),
        ("one round more", &|repeat| repeat.count = 4),
        ("rounds that overlap by half", &|repeat| repeat.period /= 2),
        ("values of the previous round", &|repeat| repeat.origin = Shift::ciphertexts(0)),
        ("values that do not change", &|repeat| repeat.shift = Shift::default()),
    ];
    for machine in machines() {
        let case = Case::new(&machine, (&ring, &gadget), rounds_of(&ring, &[0, 1, 1, 1, 2]));
        assert!(case.is_right(case.schedule()));
        let mut wrongs: Vec<(&str, Schedule)> = Vec::new();
        for (what, change) in changes {
            let mut wrong = case.schedule().clone();
            in_loop(&mut wrong.items, change);
            wrongs.push((what, wrong));
        }
        let mut another = case.schedule().clone();
        let Some(Item::Repeat(last)) = another.items.last().cloned() else { panic!("a round") };
        in_loop(&mut another.items, &|repeat| repeat.body = Arc::clone(&last.body));
        wrongs.push(("another body", another));
        let mut shorter = case.schedule().clone();
        shorter.items.pop();
        wrongs.push(("no last round", shorter));
        for (what, wrong) in wrongs {
            assert!(case.judged(&wrong).is_err(), "{}: {what}", case.name());
            assert!(case.judged_unrolled(&wrong).is_err(), "{}: {what}, unrolled", case.name());
            assert!(!case.is_right(&wrong), "{}: {what}, words", case.name());
        }
    }
}

#[test]
fn loops_with_a_shorter_period_are_rejected_or_compute_the_same() {
    let (ring, gadget) = ring();
    for machine in machines() {
        let case = Case::new(&machine, (&ring, &gadget), rounds_of(&ring, &[0, 1, 1, 1]));
        let mut earlier = case.schedule().clone();
        assert!(loops(&mut earlier.items, &mut |repeat| {
            repeat.period -= u64::from(repeat.count == 3);
            repeat.count == 3
        }));
        let judged = case.judged(&earlier);
        assert_eq!(judged.is_ok(), case.judged_unrolled(&earlier).is_ok(), "{judged:?}");
        assert!(judged.is_err() || case.is_right(&earlier), "{}", case.name());
    }
}

#[test]
fn keys_that_differ_between_rounds_are_not_shared() {
    let (ring, gadget) = ring();
    let turn = |steps: i64| GaloisElement::rotation(ring.degree(), steps);
    let other = Round { elements: vec![(turn(1), turn(5))], ..Round::of(0) };
    for machine in machines() {
        let mixed = vec![Round::of(0), other.clone(), Round::of(0)];
        let right = Case::new(&machine, (&ring, &gadget), mixed);
        assert_eq!(right.judged(right.schedule()), Ok(()));
        // With one key for all rounds, the schedule is for another program.
        let same = Case::new(&machine, (&ring, &gadget), vec![Round::of(0); 3]);
        assert!(right.judged(same.schedule()).is_err(), "{}: its key is shared", machine.name());
        assert!(!right.is_right(same.schedule()));
    }
}

#[test]
fn machines_that_differ_from_the_file_are_rejected() {
    let (ring, gadget) = ring();
    for machine in machines() {
        let case = Case::new(&machine, (&ring, &gadget), rounds_of(&ring, &[0, 1, 1, 1]));
        for change in BETTER {
            let mut kinder = case.schedule().clone();
            change(&mut kinder.resources);
            let refused = case.whole.hold(&kinder).expect_err("kinder");
            assert!(refused.to_string().contains("are not those that the machine file describes"), "{refused}");
        }
    }
}

/// One round of a body and a loop of three of another, with barely enough memory; changes affect the loop's
/// body, so all its rounds.
struct Looped(Case);

impl Looped {
    fn all() -> impl Iterator<Item = Self> {
        let (ring, gadget) = ring();
        let of = move |machine| Case::crowded(&machine, (&ring, &gadget), rounds_of(&ring, &[0, 1, 1, 1]));
        machines().into_iter().map(move |machine| Self(of(machine)))
    }
}

impl Altered for Looped {
    type Schedule = Schedule;

    fn name(&self) -> String {
        self.0.name().to_owned()
    }
    fn resources(&self) -> &Resources {
        &self.0.schedule().resources
    }
    /// The events of the loop's body.
    fn events(&self) -> Vec<Event> {
        let Some(Item::Repeat(repeat)) = self.0.schedule().items.last() else { panic!("a loop") };
        let event = |item: &Item| match item {
            Item::Event(event) => event.clone(),
            Item::Repeat(_) => panic!("a loop in a body"),
        };
        repeat.body.iter().map(event).collect()
    }
    /// One event of each kind; with `POLYFABRIC_FULL` in the environment three.
    fn samples(&self) -> Vec<usize> {
        let full = std::env::var_os("POLYFABRIC_FULL").is_some();
        let mut kinds: BTreeMap<u16, Vec<usize>> = BTreeMap::new();
        for (index, event) in self.events().iter().enumerate() {
            kinds.entry(event.op.kind.0).or_default().push(index);
        }
        let chosen = |own: Vec<usize>| {
            let (middle, last) = (own[own.len() / 2], own[own.len() - 1]);
            if full { BTreeSet::from([own[0], middle, last]) } else { BTreeSet::from([middle]) }
        };
        kinds.into_values().flat_map(chosen).collect()
    }
    fn with(&self, change: impl FnOnce(&mut Vec<Event>)) -> Schedule {
        let mut changed = self.0.schedule().clone();
        let Some(Item::Repeat(repeat)) = changed.items.last_mut() else { panic!("a loop") };
        assert_eq!(repeat.count, 3);
        let mut events = self.events();
        change(&mut events);
        repeat.body = Arc::new(events.into_iter().map(Item::Event).collect());
        changed
    }
    fn judged(&self, schedule: &Schedule) -> Result<(), String> {
        self.0.judged(schedule)
    }
    fn is_legal(&self, schedule: &Schedule) -> bool {
        check(schedule, &[]).is_ok()
    }
    fn is_right(&self, schedule: &Schedule) -> bool {
        self.0.is_right(schedule)
    }
}

#[test]
fn loop_events_with_an_error_are_rejected() {
    for looped in Looped::all() {
        missing_duplicate_or_halved_events_are_rejected(&looped);
        for index in looped.samples() {
            let without = looped.with(|events| _ = events.remove(index));
            assert!(!looped.is_right(&without), "{}: words without event {index}", looped.name());
        }
        wrong_operands_are_rejected(&looped);
        operands_of_other_rounds_are_rejected(&looped);
        shifts_by_a_cycle_are_rejected_or_compute_the_same(&looped);
        // Every pair of successive events.
        let mut pairs = 0..;
        simultaneous_events_are_rejected(&looped, |_| pairs.next());
    }
}

#[test]
fn early_reads_and_early_overwrites_in_a_loop_are_rejected() {
    for looped in Looped::all() {
        let rejected = |of: &Looped, changed: &Schedule| of.judged(changed).is_err();
        let overwrites = early_reads_and_early_overwrites_are_rejected(&looped, usize::MAX, rejected);
        assert!(overwrites > 0, "{}", looped.name());
    }
}
