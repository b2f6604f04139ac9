//! RNS machines: do schedules compute their programs, and is every schedule with one error rejected?

use crate::common::{Listed, SHAPE, all_machines, keys_and_inputs};
use crate::one_error::{
    self, BETTER, missing_duplicate_or_halved_events_are_rejected, shifts_by_a_cycle_are_rejected_or_compute_the_same,
    simultaneous_events_are_rejected, wrong_operands_are_rejected,
};
use polyfabric_kernels::RingDegree;
use polyfabric_kernels::modular::Modulus;
use polyfabric_machines::Machine;
use polyfabric_machines::audit::AuditError;
use polyfabric_machines::audit::rns::audit;
use polyfabric_machines::contract::Family;
use polyfabric_machines::contract::options::Given;
use polyfabric_machines::contract::rns::{Simulated, hold, map};
use polyfabric_machines::rns::leaf::Leaf;
use polyfabric_program::rns::builtin::microbenchmark::{Operation, Shape, build};
use polyfabric_program::rns::kernel::KernelProgram;
use polyfabric_runtime::NoProgress;
use polyfabric_runtime::rns::interpreter;
use polyfabric_schemes::rns::{Gadget, GadgetLiteral, KeySet, Ring, RnsPolynomial};
use polyfabric_sim::checker::{Hazard, check};
use polyfabric_sim::list::Source;
use polyfabric_sim::schedule::{Access, Event, Traffic, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// A program on a machine, with keys and inputs, and the interpreter's outputs.
pub struct Case {
    machine: Machine,
    program: KernelProgram,
    simulated: Simulated,
    pub listed: Listed,
    keys: KeySet,
    inputs: Vec<RnsPolynomial>,
    expected: Vec<RnsPolynomial>,
}

impl Case {
    fn new(machine: &Machine, operation: Operation) -> Self {
        let program = build(operation, SHAPE).expect("a program");
        let moduli: Vec<Modulus> = program.moduli.to_vec();
        let ring = Ring::new(RingDegree::new(1 << SHAPE.log2_degree).expect("a degree"), &moduli).expect("a ring");
        let gadget = GadgetLiteral::hybrid(SHAPE.limbs, 1, SHAPE.special);
        let gadget = Arc::new(Gadget::new(&ring, gadget).expect("a gadget"));
        let (keys, inputs) = keys_and_inputs(&program, &ring, &gadget);
        let given: Vec<&RnsPolynomial> = inputs.iter().collect();
        let expected = interpreter::run(&program, &keys, &given, &NoProgress).expect("the interpreter runs it");
        let simulated = map(machine, &program, "", &Given::new()).expect("it fits");
        let listed = Listed::of(simulated.mapped());
        Self { machine: machine.clone(), program, simulated, listed, keys, inputs, expected }
    }

    /// Every machine of the family, with key switches and products.
    pub fn all() -> Vec<Self> {
        let machines = all_machines();
        let own = machines.iter().filter(|machine| machine.family() == Family::Rns);
        own.flat_map(|machine| [Operation::Permute, Operation::Multiply].map(|of| Self::new(machine, of))).collect()
    }

    pub fn machine_name(&self) -> &str {
        self.machine.name()
    }

    pub fn name(&self) -> String {
        format!("`{}` on {}", self.program.name, self.machine.name())
    }

    fn replayed(&self, listed: &Listed) -> Result<Vec<RnsPolynomial>, String> {
        let inputs: Vec<&RnsPolynomial> = self.inputs.iter().collect();
        let replayed = self.simulated.mapped().replay(listed, &self.program, &self.keys, &inputs);
        replayed.map_err(|error| error.to_string())
    }

    /// The verdict of the audit, then of the checker.
    pub fn judged(&self, listed: &Listed) -> Result<(), String> {
        let labels = self.simulated.mapped().labels();
        hold(&self.machine, &self.program, &Given::new(), labels, listed).map_err(|error| error.to_string())?;
        check(Source::List(listed), &[]).map(|_| ()).map_err(|violation| violation.to_string())
    }

    pub fn is_legal(listed: &Listed) -> bool {
        check(Source::List(listed), &[]).is_ok()
    }

    /// Whether a replay matches the interpreter.
    pub fn is_right(&self, listed: &Listed) -> bool {
        self.replayed(listed).expect("it is legal") == self.expected
    }
}

#[test]
fn schedules_compute_their_programs_and_no_others() {
    for case in Case::all() {
        case.judged(&case.listed).unwrap_or_else(|error| panic!("{}: {error}", case.name()));
        assert_eq!(case.replayed(&case.listed).expect("a legal schedule"), case.expected, "{}", case.name());
        let other = build(Operation::Permute, Shape { rounds: 1, ..SHAPE }).expect("a program");
        let labels = case.simulated.mapped().labels();
        assert!(audit(&other, &case.listed, labels).is_err());
    }
}

#[test]
fn events_with_an_error_are_rejected() {
    for case in Case::all() {
        missing_duplicate_or_halved_events_are_rejected(&case);
        wrong_operands_are_rejected(&case);
        shifts_by_a_cycle_are_rejected_or_compute_the_same(&case);
        simultaneous_events_are_rejected(&case, |event| case.listed.resources.class(event.resource).to_owned());
    }
}

#[test]
fn early_reads_and_early_overwrites_are_rejected() {
    let early = |case: Case| one_error::early_reads_and_early_overwrites_are_rejected(&case, 20);
    assert!(Case::all().into_iter().map(early).sum::<usize>() > 0);
}

#[test]
fn wrong_key_rows_halves_or_inputs_are_rejected() {
    for case in Case::all() {
        let labels = case.simulated.mapped().labels();
        let reads = case.listed.events.iter().flat_map(|event| &event.reads);
        let leaf = |read: &Access| Some((read.value, labels.leaf(read.value)?.leaf));
        let loaded: Vec<(Value, Leaf)> = reads.filter_map(leaf).collect();
        let mut exchanged = 0;
        for &(a, of_a) in &loaded {
            for &(b, of_b) in &loaded {
                let differs = match (of_a, of_b) {
                    (Leaf::Hint { row, part, limb, .. }, Leaf::Hint { row: r, part: p, limb: l, .. }) => {
                        limb == l && (row < r && part == p || row == r && part != p)
                    }
                    (Leaf::Input { index, limb }, Leaf::Input { index: i, limb: l }) => limb == l && index < i,
                    _ => false,
                };
                if differs && exchanged < 24 {
                    exchanged += 1;
                    // Both values, wherever they are read or written.
                    let mut wrong = case.listed.clone();
                    for event in &mut wrong.events {
                        for Access { value, .. } in event.reads.iter_mut().chain(&mut event.writes) {
                            *value = if *value == a {
                                b
                            } else if *value == b {
                                a
                            } else {
                                *value
                            };
                        }
                    }
                    let refused = audit(&case.program, &wrong, labels);
                    assert!(refused.is_err(), "{}: {of_a:?} for {of_b:?}", case.name());
                }
            }
        }
        assert!(exchanged > 4);
    }
}

/// Generated values, such as a key generator's masks: a limb starts only after the previous one, and is
/// available only after the latency.
#[test]
fn generated_values_are_never_early() {
    let (mut begun, mut given) = (0, 0);
    for case in Case::all() {
        let mut free: HashMap<u32, i64> = HashMap::new();
        for (index, event) in case.listed.events.iter().enumerate() {
            if !event.reads.is_empty() || case.listed.resources.as_channel(event.resource).is_some() {
                continue;
            }
            let name = case.listed.resources.name(event.resource).to_owned();
            if let Some(free) = free.insert(event.resource.0, event.start + i64::from(event.occupancy)) {
                let early = case.listed.with(index, |event| event.start = free - 1);
                let refused = check(Source::List(&early), &[]).expect_err("the last limb is still drawn");
                assert_eq!((refused.hazard, refused.legal_start), (Hazard::UnitBusy, Some(free)), "{name}: {refused}");
                begun += 1;
            }
            // Started one cycle later, but with results in the original cycle.
            let late = case.listed.with(index, |event| {
                event.start += 1;
                event.writes.iter_mut().for_each(|write| (write.first, write.last) = (write.first - 1, write.last - 1));
            });
            let refused = check(Source::List(&late), &[]).expect_err("less than the latency");
            assert_eq!(refused.hazard, Hazard::Latency, "{name}: {refused}");
            given += 1;
        }
    }
    assert!(begun > 0 && given > begun, "no machine was tested");
}

#[test]
fn events_wait_for_their_instructions() {
    for case in Case::all() {
        let mut sooner = case.listed.clone();
        let Some(instructions) = &mut sooner.instructions else { continue };
        let lead = instructions.starts[0].0.min(sooner.events[0].start as u64);
        instructions.starts.iter_mut().for_each(|(cycle, _)| *cycle -= lead);
        sooner.events.iter_mut().for_each(|event| event.start -= lead as i64);
        let refused = check(Source::List(&sooner), &[]).expect_err("at the beginning there is no instruction");
        assert_eq!(refused.hazard, Hazard::NotFetched, "{refused}");
    }
}

#[test]
fn machines_that_differ_from_the_file_are_rejected() {
    for case in Case::all() {
        let labels = case.simulated.mapped().labels();
        for change in BETTER {
            let mut kinder = case.listed.clone();
            change(&mut kinder.resources);
            let refused = hold(&case.machine, &case.program, &Given::new(), labels, &kinder).expect_err("kinder");
            assert!(refused.to_string().contains("are not those that the machine file describes"), "{refused}");
        }
    }
}

#[test]
fn results_that_are_wrong_or_not_stored_are_rejected() {
    for case in Case::all() {
        let labels = case.simulated.mapped().labels();
        let results = labels.results();
        let store = |event: &Event| {
            event.writes.iter().any(|write| results.contains(&write.value))
                && case.listed.resources.as_channel(event.resource).is_some()
        };
        let index = case.listed.events.iter().position(store).expect("a result is stored");
        let refused = audit(&case.program, &case.listed.without(index), labels).expect_err("it is lost");
        assert!(matches!(refused, AuditError::Lost { .. }), "{refused}");
    }
}

/// One event of each kind; with `POLYFABRIC_FULL` in the environment three.
#[test]
fn a_wrong_schedule_gives_wrong_ciphertexts() {
    for case in Case::all() {
        let mut samples = case.listed.samples();
        if std::env::var_os("POLYFABRIC_FULL").is_none() {
            samples.dedup_by_key(|index| case.listed.events[*index].op.kind);
        }
        for index in samples {
            // The first event of a kind may contribute only to the program's results.
            let wrong = case.replayed(&case.listed.without(index)).ok();
            let kind = case.listed.kind(index);
            assert_ne!(wrong.as_ref(), Some(&case.expected), "{} without one {kind}", case.name());
        }
    }
}

#[test]
fn traffic_by_class_is_that_of_the_channels() {
    for case in Case::all() {
        let report = case.simulated.report();
        let moved: u64 = case
            .listed
            .events
            .iter()
            .filter(|event| case.listed.resources.as_channel(event.resource).is_some())
            .map(|event| event.work)
            .sum();
        let instructions = report.traffic_bytes.get(Traffic::Instructions.name()).unwrap_or(&0);
        assert_eq!(report.traffic_bytes["total"], moved + instructions, "{}", case.name());
    }
}
