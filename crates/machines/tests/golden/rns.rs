//! Results of the RNS machines.

use super::common::case::{Case, Mapped, single};
use super::common::{Rounds, SHAPE, all_machines, body, changes_of_modulus, keys_and_inputs, ring};
use super::{Record, Records, labels};
use polyfabric_kernels::automorphism::GaloisElement;
use polyfabric_machines::Machine;
use polyfabric_machines::contract::Family;
use polyfabric_machines::contract::options::Given;
use polyfabric_machines::contract::rns::{MappedRns, Simulated, map};
use polyfabric_machines::contract::rounds::SimulatedRounds;
use polyfabric_machines::rns::labels::Labels;
use polyfabric_machines::rns::leaf::{Leaf, LeafSubpolynomial};
use polyfabric_program::rns::builtin::microbenchmark::{Operation, Shape, build};
use polyfabric_program::rns::kernel::KernelProgram;
use polyfabric_schemes::rns::{Gadget, GadgetLiteral, Ring, RnsPolynomial};
use polyfabric_sim::checker::Hazard;
use polyfabric_sim::list::Source;
use polyfabric_sim::schedule::{Access, Event, Schedule, Value};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// A program, with the ring and the gadget of its keys.
pub struct Small {
    pub name: String,
    pub program: Arc<KernelProgram>,
    ring: Arc<Ring>,
    gadget: Arc<Gadget>,
    options: Given,
}

/// Every machine of the family with every program.
pub fn records() -> Records {
    let mut records = Records::new();
    for machine in machines() {
        for small in small(&machine) {
            // Some machines have no separate transforms, or do not support such a large ring.
            let Ok(simulated) = map(&machine, &small.program, "", &small.options) else { continue };
            let mut record = Record::of(simulated.report());
            record.schedule = Some(schedule(&small.program, simulated.mapped()));
            record.words = Some(words(&small, &simulated));
            record.compiled = simulated.instructed().ok().map(|instructed| {
                let mut hasher = DefaultHasher::new();
                instructed.save().hash(&mut hasher);
                format!("{:016x}", hasher.finish())
            });
            records.insert(format!("{}, {}", machine.name(), small.name), record);
        }
        for (name, rounds) in rounds() {
            let Ok(simulated) = rounds.map(&machine) else { continue };
            records.insert(format!("{}, {name}", machine.name()), of_rounds(&machine, &rounds, &simulated));
        }
    }
    records
}

pub fn machines() -> impl Iterator<Item = Machine> {
    all_machines().into_iter().filter(|machine| machine.family() == Family::Rns)
}

/// Small programs with options of the machine.
pub fn small(machine: &Machine) -> Vec<Small> {
    let benchmark = |name: &str, operation, shape: Shape, options| {
        let program = build(operation, shape).expect("a program");
        let ring = Ring::new(program.degree, &program.moduli).expect("a ring");
        let literal = GadgetLiteral::hybrid(shape.limbs, 1, shape.special);
        let gadget = Arc::new(Gadget::new(&ring, literal).expect("a gadget"));
        Small { name: name.to_owned(), program: Arc::new(program), ring, gadget, options }
    };
    let mut small: Vec<Small> =
        Operation::ALL.map(|(name, operation)| benchmark(name, operation, SHAPE, Given::new())).into();
    // Polynomials of several vectors.
    let large = Shape { log2_degree: 15, limbs: 1, special: 0, ciphertexts: 1, rounds: 2 };
    small.push(benchmark("ntt of a large ring", Operation::Ntt, large, Given::new()));
    // More values than the registers hold.
    let many = Shape { log2_degree: 11, limbs: 3, special: 1, ciphertexts: 4, rounds: 2 };
    small.push(benchmark("four multiplications", Operation::Multiply, many, Given::new()));
    for option in machine.mapped_by().options {
        let chosen = match option.name {
            "scheduler" => "csr",
            "low-throughput" => "ntt",
            _ => continue,
        };
        let options = Given::from([(option.name.to_owned(), chosen.to_owned())]);
        small.push(benchmark(&format!("permute, {chosen}"), Operation::Permute, SHAPE, options));
    }
    let (ring, gadget) = ring();
    let own = [("changes of modulus", changes_of_modulus()), ("rotate and multiply", body((&ring, &gadget), 2, 2))];
    small.extend(own.map(|(name, program)| Small {
        name: name.to_owned(),
        program,
        ring: Arc::clone(&ring),
        gadget: Arc::clone(&gadget),
        options: Given::new(),
    }));
    small
}

/// Maps every program on Osiris with sums in place, in two orders of products, and compares the replays' words with
/// those of sums apart, one baby step after the other.
pub fn compare_orders_of_osiris() {
    let default = machines().find(|machine| machine.name() == "osiris").expect("a machine");
    let ordered = |products: f64, in_place: f64| {
        let figures = [("machine.dataflow.products", products), ("machine.dataflow.sums_in_place", in_place)];
        default.changed(&figures.map(|(key, value)| (key.to_owned(), value))).expect("figures")
    };
    let apart = ordered(1.0, 0.0);
    let mut overwritten = 0;
    for products in [1.0, 2.0] {
        let changed = ordered(products, 1.0);
        for small in small(&apart) {
            let Ok(expected) = map(&apart, &small.program, "", &small.options) else { continue };
            let case = Case::rns(&changed, Arc::clone(&small.program));
            let Mapped::Rns(_, found) = &case.mapped else { continue };
            assert_eq!(words(&small, found), words(&small, &expected), "{}, order {products}", small.name);
            overwritten += reject_early_sums(&case);
        }
    }
    assert!(overwritten > 0);
}

/// Number of events with a result that overwrites an operand. The checker rejects each of the first three if the
/// result is written in the cycle in which the operand is read, or if it overwrites another event's operand.
fn reject_early_sums(case: &Case) -> usize {
    let overwriting = |event: &Event| {
        let over = |read: &Access, write: &Access| read.place == write.place && read.value != write.value;
        let read = |write: &Access| event.reads.iter().position(|read| over(read, write));
        event.writes.iter().enumerate().find_map(|(index, write)| Some((read(write)?, index)))
    };
    let events = case.schedule.items.iter().map(single);
    let found: Vec<(usize, usize, usize)> = (0..)
        .zip(events)
        .filter_map(|(index, event)| overwriting(event).map(|(read, write)| (index, read, write)))
        .collect();
    let rejected = |changed: &Schedule| case.checked(changed).expect_err("it overwrites a live value").hazard;
    for &(index, read, write) in found.iter().take(3) {
        let early = case.with(&[index], |event| {
            let latency = event.writes[write].first - event.reads[read].first;
            event.writes[write].first -= latency;
            event.writes[write].last -= latency;
        });
        assert_eq!(rejected(&early), Hazard::Latency);
        if let Some(&(other, read, _)) = found.iter().find(|&&(other, ..)| other > index) {
            let place = case.event(&[other]).reads[read].place;
            rejected(&case.with(&[index], |event| event.writes[write].place = place));
        }
    }
    found.len()
}

/// Repeated programs: with other rotations in some rounds, and with many equal rounds.
pub fn rounds() -> Vec<(&'static str, Rounds)> {
    let (ring, gadget) = ring();
    let turn = |steps: usize| GaloisElement::rotation(ring.degree(), steps as i64);
    let mut mixed = Rounds::new((&ring, &gadget), [0, 1, 1, 1, 2, 0, 1]);
    for (number, round) in mixed.rounds.iter_mut().enumerate().filter(|(number, _)| number % 3 == 1) {
        round.elements = vec![(turn(round.body + 1), turn(4 + number))];
    }
    let equal = Rounds::new((&ring, &gadget), [0, 0, 0, 1].into_iter().cycle().take(80));
    vec![("mixed rounds", mixed), ("eighty rounds", equal)]
}

fn of_rounds(machine: &Machine, of: &Rounds, simulated: &SimulatedRounds) -> Record {
    let mut record = Record::of(&simulated.report);
    let bodies: Vec<Simulated> =
        of.bodies.iter().map(|body| map(machine, body, "", &Given::new()).expect("it fits")).collect();
    let events = simulated.schedule().events().map(|placed| placed.to_event());
    record.schedule = Some(labels::hash(&simulated.schedule().resources, events, |event, value| {
        let number = event.op.ciphertext as usize;
        let alone = Value { ciphertext: Value::NONE, ..value };
        let LeafSubpolynomial { leaf, subpolynomial } = bodies[of.rounds[number].body].mapped().labels().leaf(alone)?;
        match leaf {
            Leaf::Hint { key, row, part, limb } => {
                let key = of.rounds[number].key(key);
                Some(leaf_text(Leaf::Hint { key, row, part, limb }, subpolynomial))
            }
            Leaf::Input { .. } => Some(leaf_text(leaf, subpolynomial)),
            Leaf::Plaintext { .. } => Some(format!("round {number} {}", leaf_text(leaf, subpolynomial))),
        }
    }));
    if of.rounds.len() <= 10 {
        // The words of more rounds take too long.
        let (ring, gadget) = ring();
        record.words = Some(of_words(&of.replayed(machine, &ring, &gadget)));
    }
    record
}

fn leaf_text(leaf: Leaf, subpolynomial: u16) -> String {
    match leaf {
        Leaf::Input { index, limb } => format!("input {index} {} {subpolynomial}", limb.0),
        Leaf::Plaintext { plaintext, limb, values } => {
            format!("plaintext {plaintext} {} {values} {subpolynomial}", limb.0)
        }
        Leaf::Hint { key, row, part, limb } => format!("hint {key} {row} {part:?} {} {subpolynomial}", limb.0),
    }
}

/// Hash of all events.
fn schedule(program: &KernelProgram, mapped: &dyn MappedRns) -> String {
    let (events, labels) = (mapped.events(), mapped.labels());
    let outputs = outputs(program, labels);
    let mut listed = Vec::new();
    Source::List(&*events).each(&mut |event, _| listed.push(event.clone()));
    labels::hash(events.resources(), listed, |_, value| {
        let given = labels.leaf(value).map(|leaf| leaf_text(leaf.leaf, leaf.subpolynomial));
        given.or_else(|| outputs.get(&value).cloned())
    })
}

/// The vectors of all outputs.
fn outputs(program: &KernelProgram, labels: &Labels) -> HashMap<Value, String> {
    let mut outputs = HashMap::new();
    for (output, of) in program.outputs.iter().enumerate() {
        for position in 0..program.value(of.value).limbs.len() {
            for subpolynomial in 0..labels.subpolynomials.count() {
                if let Some(value) = labels.output(output, position, subpolynomial) {
                    outputs.entry(value).or_insert(format!("output {output} {position} {subpolynomial}"));
                }
            }
        }
    }
    outputs
}

/// Hash of the output words for fixed keys and inputs.
fn words(small: &Small, simulated: &Simulated) -> String {
    let (keys, inputs) = keys_and_inputs(&small.program, &small.ring, &small.gadget);
    let inputs: Vec<&RnsPolynomial> = inputs.iter().collect();
    of_words(&simulated.replay(&small.program, &keys, &inputs).expect("a legal schedule"))
}

fn of_words(outputs: &[RnsPolynomial]) -> String {
    let limbs = outputs.iter().flat_map(|output| output.iter());
    super::hash(limbs.flat_map(|(_, words)| words).flat_map(|word| word.to_le_bytes()))
}
