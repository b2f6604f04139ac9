//! RNS machines: do schedules compute their programs, and is every schedule with one error rejected?

use crate::common::{Listed, SHAPE, all_machines, keys_and_inputs};
use polyfabric_kernels::RingDegree;
use polyfabric_kernels::modular::Modulus;
use polyfabric_machines::Machine;
use polyfabric_machines::audit::AuditError;
use polyfabric_machines::audit::rns::audit;
use polyfabric_machines::contract::Family;
use polyfabric_machines::contract::options::Given;
use polyfabric_machines::contract::rns::{Simulated, hold, map};
use polyfabric_machines::rns::leaf::{Leaf, LeafSubpolynomial};
use polyfabric_machines::rns::meaning::Meaning;
use polyfabric_machines::rns::step::Step;
use polyfabric_machines::rns::subpolynomials::Subpolynomials;
use polyfabric_program::rns::builtin::microbenchmark::{Operation, Shape, build};
use polyfabric_program::rns::kernel::KernelProgram;
use polyfabric_runtime::NoProgress;
use polyfabric_runtime::rns::interpreter;
use polyfabric_schemes::rns::{Gadget, GadgetLiteral, KeySet, Ring, RnsPolynomial};
use polyfabric_sim::checker::{Hazard, check};
use polyfabric_sim::list::Source;
use polyfabric_sim::schedule::{Access, Event, Lines, MemoryKind, OpRef, Place, Resources, Traffic, Value};
use std::collections::{BTreeSet, HashMap};
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

    /// The verdict of the audit, then of the checker.
    pub fn judged(&self, listed: &Listed) -> Result<(), String> {
        let meaning = self.simulated.mapped().meaning();
        hold(&self.machine, &self.program, &Given::new(), &*meaning, listed).map_err(|error| error.to_string())?;
        check(Source::List(listed), &[]).map(|_| ()).map_err(|violation| violation.to_string())
    }

    fn replayed(&self, listed: &Listed) -> Result<Vec<RnsPolynomial>, String> {
        let inputs: Vec<&RnsPolynomial> = self.inputs.iter().collect();
        let replayed = self.simulated.mapped().replay(listed, &self.program, &self.keys, &inputs);
        replayed.map_err(|error| error.to_string())
    }

    pub fn name(&self) -> String {
        format!("`{}` on {}", self.program.name, self.machine.name())
    }
}

#[test]
fn schedules_compute_their_programs_and_no_others() {
    for case in Case::all() {
        case.judged(&case.listed).unwrap_or_else(|error| panic!("{}: {error}", case.name()));
        assert_eq!(case.replayed(&case.listed).expect("a legal schedule"), case.expected, "{}", case.name());
        let other = build(Operation::Permute, Shape { rounds: 1, ..SHAPE }).expect("a program");
        let meaning = case.simulated.mapped().meaning();
        assert!(audit(&other, &case.listed, &*meaning).is_err());
    }
}

#[test]
fn missing_or_duplicate_events_of_any_kind_are_rejected() {
    for case in Case::all() {
        for index in case.listed.samples() {
            let kind = case.listed.kind(index);
            assert!(case.judged(&case.listed.without(index)).is_err(), "{} without one {kind}", case.name());
            let mut doubled = case.listed.clone();
            doubled.events.insert(index, case.listed.events[index].clone());
            assert!(case.judged(&doubled).is_err(), "{} with a second {kind}", case.name());
        }
    }
}

#[test]
fn events_with_half_the_work_are_rejected() {
    for case in Case::all() {
        for index in case.listed.samples() {
            let changed = case.listed.with(index, |event| event.work /= 2);
            assert!(case.judged(&changed).is_err(), "{}: half a {}", case.name(), case.listed.kind(index));
        }
    }
}

#[test]
fn wrong_operands_are_rejected() {
    for case in Case::all() {
        let mut refused = 0;
        for index in case.listed.samples() {
            for place in 0..case.listed.events[index].reads.len() {
                // Another value of its class, at any place.
                let own = case.listed.events[index].reads[place];
                let other = |read: &&Access| {
                    read.value.class == own.value.class
                        && read.value != own.value
                        && read.place.memory == own.place.memory
                };
                let reads = case.listed.events.iter().flat_map(|event| &event.reads);
                let Some(&Access { value, place: lies, .. }) = reads.clone().find(other) else { continue };
                let changed = case.listed.with(index, |event| {
                    (event.reads[place].value, event.reads[place].place) = (value, lies);
                });
                assert!(case.judged(&changed).is_err(), "{}: {}", case.name(), case.listed.kind(index));
                refused += 1;
            }
        }
        assert!(refused > 10);
    }
}

/// A mapper that confuses two leaves.
struct Exchanged<'a> {
    own: &'a dyn Meaning,
    leaves: [LeafSubpolynomial; 2],
}

impl Meaning for Exchanged<'_> {
    fn step(&self, op: OpRef) -> Option<Step> {
        self.own.step(op)
    }
    fn composites(&self) -> bool {
        self.own.composites()
    }
    fn vectors(&self, value: Value) -> usize {
        self.own.vectors(value)
    }
    fn values(&self) -> usize {
        self.own.values()
    }
    fn number(&self, value: Value) -> Option<usize> {
        self.own.number(value)
    }
    fn leaf(&self, value: Value) -> Option<LeafSubpolynomial> {
        let [a, b] = self.leaves;
        self.own.leaf(value).map(|leaf| {
            if leaf == a {
                b
            } else if leaf == b {
                a
            } else {
                leaf
            }
        })
    }
    fn output(&self, output: usize, position: usize, subpolynomial: usize) -> Option<Value> {
        self.own.output(output, position, subpolynomial)
    }
    fn is_output(&self, value: Value) -> bool {
        self.own.is_output(value)
    }
    fn subpolynomials(&self) -> Subpolynomials {
        self.own.subpolynomials()
    }
}

#[test]
fn wrong_key_rows_halves_or_inputs_are_rejected() {
    for case in Case::all() {
        let meaning = case.simulated.mapped().meaning();
        let mut loaded: Vec<LeafSubpolynomial> = Vec::new();
        for event in &case.listed.events {
            loaded.extend(event.reads.iter().filter_map(|read| meaning.leaf(read.value)));
        }
        let mut exchanged = 0;
        for &a in &loaded {
            for &b in &loaded {
                let differs = match (a.leaf, b.leaf) {
                    (Leaf::Hint { row, part, limb, .. }, Leaf::Hint { row: r, part: p, limb: l, .. }) => {
                        limb == l && (row < r && part == p || row == r && part != p)
                    }
                    (Leaf::Input { index, limb }, Leaf::Input { index: i, limb: l }) => limb == l && index < i,
                    _ => false,
                };
                if differs && exchanged < 24 {
                    exchanged += 1;
                    let wrong = Exchanged { own: &*meaning, leaves: [a, b] };
                    let refused = audit(&case.program, &case.listed, &wrong);
                    assert!(refused.is_err(), "{}: {a} for {b}", case.name());
                }
            }
        }
        assert!(exchanged > 4);
    }
}

#[test]
fn shifts_by_a_cycle_are_rejected_or_compute_the_same() {
    for case in Case::all() {
        let mut refused = [0; 2];
        for index in case.listed.samples() {
            for (side, by) in [-1, 1].into_iter().enumerate() {
                let changed = case.listed.with(index, |event| event.start += by);
                match case.judged(&changed) {
                    Err(_) => refused[side] += 1,
                    Ok(()) => assert_eq!(case.replayed(&changed).expect("it is legal"), case.expected),
                }
            }
        }
        // Chains of events are tight: most cannot move.
        assert!(refused.iter().all(|&refused| refused > 8), "{}: {refused:?}", case.name());
    }
}

#[test]
fn conflicts_on_a_unit_port_or_channel_are_rejected() {
    for case in Case::all() {
        let mut last: HashMap<u32, usize> = HashMap::new();
        let mut moved = BTreeSet::new();
        for index in 0..case.listed.events.len() {
            let resource = case.listed.events[index].resource.0;
            let Some(before) = last.insert(resource, index) else { continue };
            let class = case.listed.resources.class(case.listed.events[index].resource).to_owned();
            if moved.insert(class) {
                let start = case.listed.events[before].start;
                let changed = case.listed.with(index, |event| event.start = start);
                let name = case.listed.resources.name(case.listed.events[index].resource);
                assert!(check(Source::List(&changed), &[]).is_err(), "{}: two at once on {name}", case.name());
            }
        }
        assert!(moved.len() > 4);
    }
}

/// For every place, the cycles of its reads and writes, whether it is written, and the event.
type Uses = HashMap<(u16, u64), Vec<(i64, bool, usize)>>;

/// The uses of every place on the chip.
fn by_place(listed: &Listed) -> Uses {
    let mut uses = Uses::new();
    for (index, event) in listed.events.iter().enumerate() {
        let mut note = |access: &Access, write: bool| {
            let Place { memory, offset, .. } = access.place;
            if matches!(
                listed.resources.memories[usize::from(memory.0)].kind,
                MemoryKind::Lines(_) | MemoryKind::OnChip { .. }
            ) {
                uses.entry((memory.0, offset)).or_default().push((event.start + i64::from(access.first), write, index));
            }
        };
        event.reads.iter().for_each(|read| note(read, false));
        event.writes.iter().for_each(|write| note(write, true));
    }
    uses.values_mut().for_each(|uses| uses.sort_unstable());
    uses
}

#[test]
fn early_reads_and_early_overwrites_are_rejected() {
    let mut overwrites = 0;
    for case in Case::all() {
        let (mut early, mut over) = (0, 0);
        for uses in by_place(&case.listed).into_values() {
            for pair in uses.windows(2) {
                let [(first, write, before), (second, again, index)] = [pair[0], pair[1]];
                if before == index {
                    continue;
                }
                let to = match (write, again) {
                    // The reader starts in the cycle of the write, so its operand arrives too late.
                    (true, false) if early < 20 => first,
                    // The next value is written one cycle before the last read.
                    (false, true) if over < 20 => first - 1,
                    _ => continue,
                };
                let changed = case.listed.with(index, |event| event.start += to - second);
                if changed.events[0].start < 0 {
                    continue;
                }
                *(if again { &mut over } else { &mut early }) += 1;
                assert!(check(Source::List(&changed), &[]).is_err(), "{}", case.name());
            }
        }
        assert!(early > 5, "{}: {early} reads", case.name());
        overwrites += over;
    }
    // A machine whose memories fit a small program completely overwrites nothing.
    assert!(overwrites > 0);
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
        let changes: [fn(&mut Resources); 4] = [
            |resources| resources.kinds[0].elements_per_cycle *= 2.0,
            |resources| resources.kinds[0].latency -= 1,
            |resources| resources.channels[0].bytes_per_cycle *= 2.0,
            |resources| {
                let memory = resources.memories.iter_mut().find_map(|memory| match &mut memory.kind {
                    MemoryKind::Lines(Lines { capacity, .. }) | MemoryKind::OnChip { capacity, .. } => Some(capacity),
                    _ => None,
                });
                *memory.expect("a memory on the chip") *= 2;
            },
        ];
        let meaning = case.simulated.mapped().meaning();
        for change in changes {
            let mut kinder = case.listed.clone();
            change(&mut kinder.resources);
            let refused = hold(&case.machine, &case.program, &Given::new(), &*meaning, &kinder).expect_err("kinder");
            assert!(refused.to_string().contains("are not those that the machine file describes"), "{refused}");
        }
    }
}

#[test]
fn results_that_are_wrong_or_not_stored_are_rejected() {
    for case in Case::all() {
        let meaning = case.simulated.mapped().meaning();
        let store = |event: &Event| {
            event.writes.iter().any(|write| meaning.is_output(write.value))
                && case.listed.resources.as_channel(event.resource).is_some()
        };
        let index = case.listed.events.iter().position(store).expect("a result is stored");
        let refused = audit(&case.program, &case.listed.without(index), &*meaning).expect_err("it is lost");
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
