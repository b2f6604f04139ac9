//! Is a schedule of rounds that of the program without loops, and is one refused that is not?

use super::{key_switch, random, ring, small};
use crate::audit::residue::rounds::{BodyMeaning, audit_whole};
use crate::audit::residue::{Meaning, Role, audit};
use crate::engine::checker::{check, check_every_round};
use crate::engine::schedule::{Event, Item, KindId, OpRef, Schedule, Shift, Value};
use crate::osiris::machine::Osiris;
use crate::osiris::meaning::Names;
use crate::osiris::replay::replay_rounds;
use crate::osiris::rounds::Body;
use crate::rns::function::Function;
use crate::rns::leaf::{Leaf, LeafSubpolynomial};
use crate::rns::rounds::{SharedKeys, schedule};
use crate::rns::step::Step;
use crate::rns::subpolynomials::Subpolynomials;
use polyfabric_kernels::automorphism::GaloisElement;
use polyfabric_program::rns::kernel::{
    KernelBuilder, KernelProgram, LimbSet, PublicPolynomial, Round, Rounds, ValueId, ValueType,
};
use polyfabric_runtime::NoProgress;
use polyfabric_runtime::rns::interpreter;
use polyfabric_schemes::rns::{Gadget, KeyId, KeyMaker, KeySet, NoiseDistribution, Ring, RnsPolynomial, SecretKey};
use std::collections::HashMap;
use std::sync::Arc;

fn polynomial(ring: &Ring, seed: i64) -> Arc<PublicPolynomial> {
    let coefficients = (0..ring.degree().get() as i64).map(|place| (place * 37 + seed * 11) % 2001 - 1000);
    Arc::new(PublicPolynomial::Narrow(coefficients.collect()))
}

/// A ciphertext rotated by `steps`, times a public polynomial, and the other times as many as `products` squares of one part.
fn body(ring: &Ring, gadget: &Gadget, steps: i64, products: usize) -> Arc<KernelProgram> {
    let mut builder = KernelBuilder::new(format!("rotate by {steps}"), ring.degree(), ring.moduli()).expect("moduli");
    let q = LimbSet::new(gadget.q().iter().copied());
    let special = LimbSet::new(gadget.special().iter().copied());
    let [x0, x1] = [0, 1].map(|part| builder.input("x", part, ValueType::evaluation(q.clone())).expect("an input"));
    let element = GaloisElement::rotation(ring.degree(), steps);
    let [b, a] = key_switch(&mut builder, gadget, x1, KeyId::Galois(element.value()), &special);
    let b = builder.add(x0, b).expect("a sum");
    let weights = builder.plaintext(&polynomial(ring, steps), ValueType::evaluation(q)).expect("a polynomial");
    let mut parts: [ValueId; 2] = [b, a].map(|part| {
        let turned = builder.automorphism(part, element).expect("an automorphism");
        builder.multiply(turned, weights).expect("a product")
    });
    for _ in 0..products {
        parts[1] = builder.multiply(parts[1], parts[0]).expect("a product");
    }
    parts.into_iter().enumerate().for_each(|(part, value)| builder.output("y", part as u16, value));
    Arc::new(builder.finish().expect("a program"))
}

/// A program that repeats on a machine, with keys and inputs and what the interpreter makes of them.
struct Case {
    machine: Osiris,
    rounds: Rounds,
    bodies: Vec<Body>,
    schedule: Schedule,
    keys: KeySet,
    inputs: Vec<RnsPolynomial>,
    expected: Vec<RnsPolynomial>,
}

impl Case {
    fn new(machine: Osiris, ring: &Arc<Ring>, gadget: &Arc<Gadget>, rounds: Vec<Round>) -> Self {
        let bodies = vec![body(ring, gadget, 1, 0), body(ring, gadget, 2, 2), body(ring, gadget, 3, 1)];
        let rounds = Rounds { name: "rounds".into(), bodies, rounds };
        rounds.check().expect("they fit");
        let unrolled = rounds.unrolled().expect("a program");
        let secret = SecretKey::from_coefficients(ring.degree(), vec![1; ring.degree().get()]).expect("a secret");
        let noise = NoiseDistribution::new(3.2, 1);
        let maker = KeyMaker { ring, secret: &secret, sparse: None, noise: &noise };
        let mut keys = KeySet::new(ring.clone());
        for &key in unrolled.keys().keys() {
            keys.insert(maker.for_tests(key, gadget, 5).expect("a key"));
        }
        let mut seed = 1u64;
        let inputs: Vec<RnsPolynomial> =
            unrolled.inputs().map(|(_, _, _, value)| random(ring, &value.limbs, &mut seed)).collect();
        let given: Vec<&RnsPolynomial> = inputs.iter().collect();
        let expected = interpreter::run(&unrolled, &keys, &given, &NoProgress).expect("it runs");
        let mut names = SharedKeys::default();
        let mapped = (0..).zip(&rounds.bodies).map(|(number, program)| {
            let own = |leaf: &Leaf| crate::audit::residue::rounds::changes(&rounds.rounds, number, leaf);
            Body::new(&machine, program, &own, &mut names).expect("it fits")
        });
        let bodies: Vec<Body> = mapped.collect();
        let (mut timed, mut sequence) = (Vec::new(), Vec::new());
        for body in &bodies {
            timed.push((body.items(false), body.cycles));
        }
        for (number, round) in rounds.rounds.iter().enumerate() {
            sequence.push(if number == 0 { timed.len() } else { round.body });
        }
        let first = &bodies[rounds.rounds[0].body];
        timed.push((first.items(true), first.cycles));
        let schedule = schedule(first.resources().clone(), &sequence, &timed);
        Self { machine, rounds, bodies, schedule, keys, inputs, expected }
    }

    fn audited(&self, schedule: &Schedule) -> Result<(), String> {
        let bodies: Vec<&dyn BodyMeaning> = self.bodies.iter().map(|body| body as &dyn BodyMeaning).collect();
        audit_whole(&self.rounds, schedule, &bodies).map_err(|error| error.to_string())
    }

    fn judged(&self, schedule: &Schedule) -> Result<(), String> {
        self.audited(schedule)?;
        check(schedule, &[]).map(|_| ()).map_err(|violation| violation.to_string())
    }

    /// The same of all events, and of the program without loops.
    fn judged_unrolled(&self, schedule: &Schedule) -> Result<(), String> {
        let unrolled = schedule.unrolled();
        let program = self.rounds.unrolled().expect("a program");
        let names = Unrolled::new(self, &unrolled).ok_or("names of no round")?;
        audit(&program, &unrolled, &names).map_err(|error| error.to_string())?;
        check(&unrolled, &[]).map(|_| ()).map_err(|violation| violation.to_string())
    }

    fn replayed(&self, schedule: &Schedule) -> Option<Vec<RnsPolynomial>> {
        let given: Vec<&RnsPolynomial> = self.inputs.iter().collect();
        replay_rounds(&self.machine, (&self.rounds, &self.bodies), schedule, &self.keys, &given).ok()
    }
}

/// What the names in all events of a schedule of rounds mean.
struct Unrolled<'a> {
    case: &'a Case,
    names: Vec<Names<'a>>,
    /// Of every name its number, its vectors, and what it is from the start.
    values: HashMap<Value, (usize, usize, Option<LeafSubpolynomial>)>,
    count: usize,
}

impl<'a> Unrolled<'a> {
    fn new(case: &'a Case, unrolled: &Schedule) -> Option<Self> {
        let height = case.machine.hadamard_height;
        let names = case.bodies.iter().map(|body| Names::new(&body.scheduled, &body.program, height)).collect();
        let mut made = Self { case, names, values: HashMap::new(), count: 0 };
        for item in &unrolled.items {
            let Item::Event(event) = item else { return None };
            for access in event.reads.iter().chain(&event.writes) {
                made.learn(event, access.value)?;
            }
        }
        Some(made)
    }

    fn learn(&mut self, event: &Event, name: Value) -> Option<()> {
        let number = event.op.ciphertext as usize;
        let round = self.case.rounds.rounds.get(number)?;
        let body = &self.case.bodies[round.body];
        let own = body.own(number == 0, name.shifted(Shift::ciphertexts(-(number as i64))))?;
        let leaf = self.names[round.body].leaf(own).map(|leaf| self.in_round(number, leaf));
        let leaf = leaf.filter(|leaf| number == 0 || !matches!(leaf.leaf, Leaf::Input { .. }));
        let vectors = self.names[round.body].vectors(own);
        let next = self.count;
        let entry = self.values.entry(name).or_insert((next, vectors, leaf));
        if entry.0 == next {
            self.count += vectors;
        }
        Some(())
    }

    /// The leaf that a round has in the place of its body's.
    fn in_round(&self, number: usize, own: LeafSubpolynomial) -> LeafSubpolynomial {
        let round = &self.case.rounds.rounds[number];
        let leaf = match own.leaf {
            Leaf::Hint { key, row, part, limb } => Leaf::Hint { key: round.key(key), row, part, limb },
            Leaf::Plaintext { plaintext, limb, values } => {
                Leaf::Plaintext { plaintext: self.plaintext(number, plaintext), limb, values }
            }
            input @ Leaf::Input { .. } => input,
        };
        LeafSubpolynomial { leaf, ..own }
    }

    /// Number of a round's public polynomial among those of all rounds.
    fn plaintext(&self, number: usize, own: u32) -> u32 {
        let before = &self.case.rounds.rounds[..number];
        before.iter().map(|round| self.case.bodies[round.body].program.plaintexts.len() as u32).sum::<u32>() + own
    }
}

impl Meaning for Unrolled<'_> {
    fn role(&self, kind: KindId) -> Role {
        self.names[0].role(kind)
    }
    fn step(&self, op: OpRef) -> Option<Step> {
        let number = op.ciphertext as usize;
        let round = self.case.rounds.rounds.get(number)?;
        Some(match self.names[round.body].step(OpRef { ciphertext: Value::NONE, ..op })? {
            Step::One(Function::Automorphism { limb, element, subpolynomial, values }) => {
                let own = GaloisElement::new(self.case.bodies[0].program.degree, element as usize).ok()?;
                let element = round.element(own).value() as u32;
                Step::One(Function::Automorphism { limb, element, subpolynomial, values })
            }
            Step::Generated(leaf) => Step::Generated(self.in_round(number, leaf)),
            Step::Extension { plaintext, from, to } => {
                Step::Extension { plaintext: self.plaintext(number, plaintext), from, to }
            }
            other => other,
        })
    }
    fn composites(&self) -> bool {
        true
    }
    fn values(&self) -> usize {
        self.count
    }
    fn number(&self, value: Value) -> Option<usize> {
        self.values.get(&value).map(|&(number, ..)| number)
    }
    fn vectors(&self, value: Value) -> usize {
        self.values.get(&value).map_or(1, |&(_, vectors, _)| vectors)
    }
    fn leaf(&self, value: Value) -> Option<LeafSubpolynomial> {
        self.values.get(&value).and_then(|&(.., leaf)| leaf)
    }
    fn output(&self, output: usize, position: usize, subpolynomial: usize) -> Option<Value> {
        let last = self.case.rounds.rounds.len() - 1;
        let number = self.case.rounds.rounds[last].body;
        let own = self.names[number].output(output, position, subpolynomial)?;
        let name = self.case.bodies[number].name(last == 0, own)?;
        Some(name.shifted(Shift::ciphertexts(last as i64)))
    }
    fn is_output(&self, value: Value) -> bool {
        (0..2).any(|output| (0..64).any(|position| self.output(output, position, 0) == Some(value)))
    }
    fn subpolynomials(&self) -> Subpolynomials {
        self.names[0].subpolynomials()
    }
}

fn drawn(state: &mut u64, below: usize) -> usize {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) as usize % below
}

/// So many rounds of three bodies, each with public polynomials of its own, some with other rotations.
fn random_rounds(ring: &Ring, length: usize, state: &mut u64) -> Vec<Round> {
    let different = 1 + drawn(state, 3);
    let turn = |steps: i64| GaloisElement::rotation(ring.degree(), steps);
    let mut rounds = Vec::new();
    for number in 0..length {
        let body = if drawn(state, 4) == 0 { drawn(state, different) } else { number % different };
        let elements = match drawn(state, 3) {
            0 => vec![(turn(body as i64 + 1), turn(4 + drawn(state, 3) as i64))],
            _ => Vec::new(),
        };
        rounds.push(Round { body, elements, plaintexts: Some(vec![polynomial(ring, 100 + number as i64)]) });
    }
    rounds
}

#[test]
fn random_rounds_are_judged_alike_folded_and_unrolled_and_give_the_interpreters_words() {
    let (ring, gadget) = ring(6, 4, 2);
    let mut state = 7;
    let classes = ["ntt".to_owned(), "automorphism".to_owned()];
    for length in [1, 2, 3, 5, 8, 13, 21] {
        let tight = Osiris { scratchpad: 40 * small().limb_bytes(ring.degree()), ..small() };
        let case = Case::new(tight, &ring, &gadget, random_rounds(&ring, length, &mut state));
        case.judged(&case.schedule).unwrap_or_else(|error| panic!("{length} rounds: {error}"));
        case.judged_unrolled(&case.schedule).unwrap_or_else(|error| panic!("{length} rounds, unrolled: {error}"));
        let folded = check(&case.schedule, &classes).expect("it is legal");
        let every = check_every_round(&case.schedule, &classes).expect("it is legal");
        let alone: u64 = case.rounds.rounds.iter().map(|round| case.bodies[round.body].cycles).sum();
        assert_eq!((folded.cycles, &folded.stalls), (every.cycles, &every.stalls));
        assert_eq!((folded.cycles, folded.critical_path), (alone, every.critical_path));
        assert!(case.replayed(&case.schedule).expect("it is carried out") == case.expected, "{length} rounds");
    }
}

#[test]
fn rounds_that_are_alike_are_not_gone_through_one_by_one() {
    let (ring, gadget) = ring(6, 4, 2);
    // A row of two bodies and a third: loops in a loop.
    let order = [0, 0, 0, 1].into_iter().cycle().take(4000);
    let case = Case::new(small(), &ring, &gadget, order.map(Round::of).collect());
    let checked = check(&case.schedule, &[]).expect("it is legal");
    assert!(20 * checked.replayed_events < case.schedule.event_count(), "{checked:?}");
    case.audited(&case.schedule).expect("it is the program");
}

/// A change of a schedule, if it has what is to be changed.
type Change<'a> = &'a dyn Fn(&mut Vec<Item>) -> bool;

fn loops(items: &mut [Item], change: &mut dyn FnMut(&mut crate::engine::schedule::Repeat) -> bool) -> bool {
    items.iter_mut().any(|item| match item {
        Item::Event(_) => false,
        Item::Repeat(repeat) => change(repeat) || loops(Arc::make_mut(&mut repeat.body).as_mut_slice(), change),
    })
}

#[test]
fn rounds_that_are_missing_doubled_exchanged_or_too_early_are_refused_either_way_and_give_other_words() {
    let (ring, gadget) = ring(6, 4, 2);
    let plain =
        |body: usize, number: i64| Round { plaintexts: Some(vec![polynomial(&ring, number)]), ..Round::of(body) };
    let order = [0, 1, 1, 1, 2];
    let case = Case::new(small(), &ring, &gadget, (0..).zip(order).map(|(n, body)| plain(body, n)).collect());
    assert!(case.replayed(&case.schedule).expect("it is carried out") == case.expected);
    let longer = |repeat: &mut crate::engine::schedule::Repeat| repeat.count == 3;
    let changes: [(&str, Change<'_>); 7] = [
        ("a round less", &|items| {
            loops(items, &mut |repeat| {
                longer(repeat) && {
                    repeat.count = 2;
                    true
                }
            })
        }),
        ("a round more", &|items| {
            loops(items, &mut |repeat| {
                longer(repeat) && {
                    repeat.count = 4;
                    true
                }
            })
        }),
        ("a round before the end of the last", &|items| {
            loops(items, &mut |repeat| {
                longer(repeat) && {
                    repeat.period -= 40;
                    true
                }
            })
        }),
        ("names of the round before", &|items| {
            loops(items, &mut |repeat| {
                longer(repeat) && {
                    repeat.origin = Shift::ciphertexts(0);
                    true
                }
            })
        }),
        ("names that stay", &|items| {
            loops(items, &mut |repeat| {
                longer(repeat) && {
                    repeat.shift = Shift::default();
                    true
                }
            })
        }),
        ("another body", &|items| {
            let Some(Item::Repeat(last)) = items.last().cloned() else { return false };
            loops(items, &mut |repeat| {
                longer(repeat) && {
                    repeat.body = Arc::clone(&last.body);
                    true
                }
            })
        }),
        ("no last round", &|items| items.pop().is_some()),
    ];
    for (what, change) in changes {
        let mut wrong = case.schedule.clone();
        assert!(change(&mut wrong.items), "{what}");
        assert!(case.judged(&wrong).is_err(), "{what}");
        assert!(case.judged_unrolled(&wrong).is_err(), "{what}, unrolled");
        assert!(case.replayed(&wrong).is_none_or(|words| words != case.expected), "{what}");
    }
}

#[test]
fn a_key_that_rounds_have_others_in_the_place_of_is_not_shared() {
    let (ring, gadget) = ring(6, 4, 2);
    let turn = |steps: i64| GaloisElement::rotation(ring.degree(), steps);
    let other = Round { elements: vec![(turn(1), turn(5))], ..Round::of(0) };
    let right = Case::new(small(), &ring, &gadget, vec![Round::of(0), other.clone(), Round::of(0)]);
    assert_eq!(right.judged(&right.schedule), Ok(()));
    // The same schedule with one key for all rounds is of another program.
    let same = Case::new(small(), &ring, &gadget, vec![Round::of(0); 3]);
    let wrong =
        Case { rounds: Rounds { rounds: vec![Round::of(0), other, Round::of(0)], ..same.rounds.clone() }, ..same };
    let refused = wrong.judged(&wrong.schedule).expect_err("its key is shared");
    assert!(refused.contains("has one name in all rounds"), "{refused}");
}

#[test]
fn a_body_that_hands_on_what_it_was_given_is_told() {
    let (ring, gadget) = ring(6, 4, 2);
    let mut builder = KernelBuilder::new("the same", ring.degree(), ring.moduli()).expect("moduli");
    let q = LimbSet::new(gadget.q().iter().copied());
    let x = builder.input("x", 0, ValueType::evaluation(q)).expect("an input");
    builder.output("y", 0, x);
    let program = Arc::new(builder.finish().expect("a program"));
    let told = Body::new(&small(), &program, &|_| false, &mut SharedKeys::default()).expect_err("nothing is computed");
    let says =
        "of `y` a limb is one that it was given, or there twice: give the next round what is computed, each limb once";
    assert_eq!(told.to_string(), says);
}

/// Three rounds of a body, and one of another, with little room, so that places are written over.
fn looped() -> Case {
    let (ring, gadget) = ring(6, 4, 2);
    let tight = Osiris { scratchpad: 40 * small().limb_bytes(ring.degree()), ..small() };
    let order = [0, 1, 1, 1];
    let plain =
        |(number, body): (i64, usize)| Round { plaintexts: Some(vec![polynomial(&ring, number)]), ..Round::of(body) };
    Case::new(tight, &ring, &gadget, (0..).zip(order).map(plain).collect())
}

impl Case {
    /// With the body of the loop changed: in all its rounds.
    fn with(&self, change: impl FnOnce(&mut Vec<Item>)) -> Schedule {
        let mut changed = self.schedule.clone();
        let Some(Item::Repeat(repeat)) = changed.items.last_mut() else { panic!("a loop") };
        assert_eq!(repeat.count, 3);
        change(Arc::make_mut(&mut repeat.body));
        changed
    }

    fn with_event(&self, index: usize, change: impl FnOnce(&mut Event)) -> Schedule {
        self.with(|items| {
            let Item::Event(event) = &mut items[index] else { panic!("an event") };
            change(event);
        })
    }

    /// The events of the loop's body.
    fn looped(&self) -> Vec<Event> {
        let Some(Item::Repeat(repeat)) = self.schedule.items.last() else { panic!("a loop") };
        repeat
            .body
            .iter()
            .filter_map(|item| if let Item::Event(event) = item { Some(event.clone()) } else { None })
            .collect()
    }

    /// The first, the middle and the last event of every kind.
    fn samples(&self) -> Vec<usize> {
        let mut kinds: std::collections::BTreeMap<u16, Vec<usize>> = Default::default();
        for (index, event) in self.looped().iter().enumerate() {
            kinds.entry(event.op.kind.0).or_default().push(index);
        }
        kinds.into_values().flat_map(|own| [own[0], own[own.len() / 2], own[own.len() - 1]]).collect()
    }
}

#[test]
fn an_event_of_a_loop_that_is_missing_doubled_halved_or_of_another_operand_is_refused() {
    let case = looped();
    let events = case.looped();
    let mut others = 0;
    for index in case.samples() {
        let kind = &case.schedule.resources.kinds[usize::from(events[index].op.kind.0)].name;
        let without = case.with(|items| _ = items.remove(index));
        assert!(case.judged(&without).is_err(), "without one {kind}");
        assert!(case.replayed(&without).is_none_or(|words| words != case.expected), "words without one {kind}");
        let doubled = case.with(|items| items.push(items[index].clone()));
        assert!(case.judged(&doubled).is_err(), "a second {kind}");
        let half = case.with_event(index, |event| event.work /= 2);
        assert!(case.judged(&half).is_err(), "half a {kind}");
        for (place, own) in events[index].reads.iter().enumerate() {
            // Another value of its class, wherever that lies.
            let other = events.iter().flat_map(|event| &event.reads).find(|read| {
                read.value.class == own.value.class && read.value != own.value && read.place.memory == own.place.memory
            });
            let Some(other) = other else { continue };
            let (value, lies) = (other.value, other.place);
            let wrong =
                case.with_event(index, |event| (event.reads[place].value, event.reads[place].place) = (value, lies));
            assert!(case.judged(&wrong).is_err(), "another operand of {kind}");
            if own.value.ciphertext == 1 {
                let before = Value { ciphertext: 0, ..own.value };
                let wrong = case.with_event(index, |event| event.reads[place].value = before);
                assert!(case.judged(&wrong).is_err(), "what the round before gave, for {kind}");
            }
            others += 1;
        }
    }
    assert!(others > 10);
}

#[test]
fn an_event_of_a_loop_that_comes_earlier_or_later_is_refused_or_computes_the_same() {
    let case = looped();
    let mut refused = [0; 2];
    for index in case.samples() {
        for (side, by) in [-1, 1].into_iter().enumerate() {
            let changed = case.with_event(index, |event| event.start += by);
            match case.judged(&changed) {
                Err(_) => refused[side] += 1,
                Ok(()) => assert!(case.replayed(&changed).expect("it is legal") == case.expected),
            }
        }
    }
    assert!(refused.iter().all(|&refused| refused > 8), "{refused:?}");
}

#[test]
fn two_events_of_a_loop_at_once_and_a_read_too_early_are_refused() {
    let case = looped();
    let events = case.looped();
    let mut last: HashMap<u32, usize> = HashMap::new();
    let mut at_once = 0;
    for (index, event) in events.iter().enumerate() {
        if let Some(before) = last.insert(event.resource.0, index) {
            let start = events[before].start;
            let changed = case.with_event(index, |event| event.start = start);
            assert!(check(&changed, &[]).is_err(), "two at once on {}", case.schedule.resources.name(event.resource));
            at_once += 1;
        }
        // In the cycle in which the last of its operands' first tiles is written.
        let on_chip = |place: &crate::engine::schedule::Place| place.memory == case.bodies[0].scheduled.chip.scratchpad;
        let written = |value: Value| {
            let writes = events.iter().flat_map(|event| event.writes.iter().map(move |write| (event.start, write)));
            writes
                .filter(|(_, write)| write.value == value && on_chip(&write.place))
                .map(|(start, write)| start + i64::from(write.first))
                .max()
        };
        let reads = event.reads.iter().filter(|read| on_chip(&read.place));
        let earliest = reads.filter_map(|read| Some(written(read.value)? - i64::from(read.first))).max();
        if let Some(start) = earliest.filter(|&start| start < event.start) {
            let changed = case.with_event(index, |event| event.start = start);
            assert!(case.judged(&changed).is_err(), "{event:?} in cycle {start}");
        }
    }
    assert!(at_once > 20);
}
