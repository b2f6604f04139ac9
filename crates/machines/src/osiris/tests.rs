//! Do schedules of CKKS programs pass the checker, and do their replays match the interpreter?

mod ciphertexts;

use super::arithmetic::Units;
use super::chip::Chip;
use super::flow::Flow;
use super::labels::labelled;
use super::layout::{Cycle, Free, Layout, Planner, Port};
use super::machine::{Osiris, SPECS, Tiling};
use super::schedule::{Scheduled, schedule};
use super::tasks::Tasks;
use super::units::{BaseConversionArray, ModChangeUnits, NttUnit};
use crate::audit::rns::audit;
use crate::rns::arithmetic::ReplayError;
use crate::rns::test_support::Case;
use polyfabric_kernels::RingDegree;
use polyfabric_kernels::automorphism::GaloisElement;
use polyfabric_kernels::modular::Modulus;
use polyfabric_kernels::primes::PrimeClass;
use polyfabric_program::rns::kernel::{Conversion, KernelBuilder, KernelProgram, LimbSet, ValueId, ValueType};
use polyfabric_schemes::rns::{Gadget, GadgetLiteral, KeyId, Ring, RnsPolynomial};
use polyfabric_sim::checker::check;
use polyfabric_sim::description::{Component, Description, DescriptionLiteral};
use polyfabric_sim::schedule::{Item, Schedule, ScheduleBuilder};
use std::collections::BTreeSet;
use std::sync::Arc;

const TEXT: &str = include_str!("../../../../machines/osiris.toml");

fn described(text: &str) -> Description {
    let literal = DescriptionLiteral::from_toml("machines/osiris.toml", text).expect("a machine file");
    Description::check("machines/osiris.toml", &literal, SPECS).expect("its figures")
}

fn paper() -> Osiris {
    Osiris::new(&described(TEXT)).expect("a machine")
}

/// With fewer lanes, less bandwidth in proportion, and fewer rows, for small rings.
fn small() -> Osiris {
    Osiris { lanes: 32, height: 4, memory_bytes: paper().memory_bytes / 16.0, ..paper() }
}

/// `machine` without interleaving, with ports for the buffers between the units.
fn limb_by_limb(machine: Osiris) -> Osiris {
    let (reads, writes) = machine.port_tiles;
    Osiris { tiling: Tiling::LimbByLimb, limbs: 1, port_tiles: (reads + 3, writes + 3), ..machine }
}

impl Case {
    fn schedule(&self, machine: &Osiris) -> Scheduled {
        schedule(machine, &self.program).expect("it fits")
    }

    fn replayed(&self, scheduled: &Scheduled) -> Result<Vec<RnsPolynomial>, ReplayError> {
        let mut scheduled = scheduled.clone();
        let labels = labelled(&mut scheduled, &self.program);
        self.replay(&scheduled.schedule, &labels, &Units::new(&scheduled, &self.program)?)
    }

    /// Checks, audits and replays the program; returns its cycles.
    fn cycles(&self, machine: &Osiris) -> u64 {
        let mut scheduled = self.schedule(machine);
        let checked = check(&scheduled.schedule, &["ntt".to_owned()]).unwrap_or_else(|violation| panic!("{violation}"));
        let labels = labelled(&mut scheduled, &self.program);
        self.accepts(&scheduled.schedule, &labels, &Units::new(&scheduled, &self.program).expect("its moduli"));
        checked.cycles
    }
}

/// A ring with `limbs` limbs of Q and P of 40 bits, and digits of `digit` limbs.
fn ring(log2: u32, limbs: usize, digit: usize) -> (Arc<Ring>, Arc<Gadget>) {
    let degree = RingDegree::new(1 << log2).expect("a degree");
    let primes = PrimeClass::of_degree(degree).of_bits(40, limbs + digit).expect("primes");
    let moduli: Vec<Modulus> = primes.into_iter().map(|prime| Modulus::new(prime).expect("a modulus")).collect();
    let ring = Ring::new(degree, &moduli).expect("a ring");
    let gadget = Gadget::new(&ring, GadgetLiteral::hybrid(limbs, digit, digit)).expect("a gadget");
    (ring, Arc::new(gadget))
}

/// Both parts of a key switch's result.
fn key_switch(builder: &mut KernelBuilder, gadget: &Gadget, a: ValueId, key: KeyId, drop: &LimbSet) -> [ValueId; 2] {
    switch_modulo(builder, gadget, (a, key), drop, None)
}

/// The same for a message modulo `t`, if there is one.
fn switch_modulo(
    builder: &mut KernelBuilder,
    gadget: &Gadget,
    (a, key): (ValueId, KeyId),
    drop: &LimbSet,
    t: Option<u64>,
) -> [ValueId; 2] {
    let limbs = |limbs: &[_]| LimbSet::new(limbs.iter().copied());
    let all = limbs(gadget.q()).union(&limbs(gadget.special()));
    let raise = |digit: &Vec<_>| builder.mod_up(a, limbs(digit), all.clone(), Conversion::Balanced);
    let digits: Vec<ValueId> = gadget.digits().iter().map(raise).collect::<Result<_, _>>().expect("digits");
    let (body, mask) = builder.inner_product(key, &digits).expect("a key");
    [body, mask].map(|sum| builder.mod_down(sum, drop.clone(), Conversion::Balanced, t).expect("a division"))
}

fn one_key_switch(ring: &Ring, gadget: &Gadget) -> KernelProgram {
    let mut builder = KernelBuilder::new("key switch", ring.degree(), ring.moduli()).expect("moduli");
    let q = LimbSet::new(gadget.q().iter().copied());
    let special = LimbSet::new(gadget.special().iter().copied());
    let a = builder.input("a", 0, ValueType::evaluation(q)).expect("an input");
    let switched = key_switch(&mut builder, gadget, a, KeyId::Relinearisation, &special);
    switched.into_iter().enumerate().for_each(|(part, value)| builder.output("switched", part as u16, value));
    builder.finish().expect("a program")
}

/// A product with its rescaling fused into the key switch, rotated by two amounts with shared digits, and
/// summed.
fn multiply_and_rotate(ring: &Ring, gadget: &Gadget) -> KernelProgram {
    let mut builder = KernelBuilder::new("multiply and rotate", ring.degree(), ring.moduli()).expect("moduli");
    let q = LimbSet::new(gadget.q().iter().copied());
    let special = LimbSet::new(gadget.special().iter().copied());
    let mut input =
        |name: &str| [0, 1].map(|part| builder.input(name, part, ValueType::evaluation(q.clone())).expect("an input"));
    let ([x0, x1], [y0, y1]) = (input("x"), input("y"));
    let rotated = [1, -2].map(|steps| {
        let element = GaloisElement::rotation(ring.degree(), steps);
        let key = KeyId::Galois(element.value());
        let [b, a] = key_switch(&mut builder, gadget, x1, key, &special);
        let b = builder.add(x0, b).expect("a sum");
        [b, a].map(|part| builder.automorphism(part, element).expect("an automorphism"))
    });
    let sums = [0, 1].map(|part| builder.sub(rotated[0][part], rotated[1][part]).expect("a difference"));
    let d2 = builder.multiply(x1, y1).expect("a product");
    let d1 = builder.multiply(sums[0], y1).expect("a product");
    let d1 = builder.multiply_add(sums[1], y0, d1).expect("a product");
    let d0 = builder.negate(d1).expect("a negation");
    let ones: Vec<u64> = (1..=q.len() as u64).collect();
    let d0 = builder.scale(d0, &ones).expect("a multiple");
    let d0 = builder.add_constant(d0, &ones).expect("a constant");
    let last = LimbSet::one(q.last().expect("a limb"));
    let [b, a] = key_switch(&mut builder, gadget, d2, KeyId::Relinearisation, &special.union(&last));
    let rescaled = builder.mod_down(d0, last, Conversion::Approximate, None).expect("a rescaling");
    let b = builder.add(b, rescaled).expect("a sum");
    builder.output("product", 0, b);
    builder.output("product", 1, a);
    builder.finish().expect("a program")
}

#[test]
fn programs_of_small_rings_match_the_interpreter() {
    for (log2, limbs, digit) in [(6, 4, 2), (8, 5, 2), (10, 3, 3)] {
        let (ring, gadget) = ring(log2, limbs, digit);
        for program in [one_key_switch(&ring, &gadget), multiply_and_rotate(&ring, &gadget)] {
            let case = Case::new(program, &ring, &gadget, 5);
            let roomy = case.cycles(&small());
            // With few places, keys are reloaded, and later results wait for a place.
            let tight = Osiris { scratchpad: 40 * small().limb_bytes(ring.degree()), ..small() };
            assert!(case.cycles(&tight) >= roomy);
        }
    }
}

/// A key switch of BGV with two special primes, and a switch to one limb less.
fn switched_modulo_257(ring: &Ring, gadget: &Gadget) -> KernelProgram {
    let mut builder = KernelBuilder::new("BGV", ring.degree(), ring.moduli()).expect("moduli");
    let q = LimbSet::new(gadget.q().iter().copied());
    let special = LimbSet::new(gadget.special().iter().copied());
    let a = builder.input("a", 0, ValueType::evaluation(q.clone())).expect("an input");
    let switched = switch_modulo(&mut builder, gadget, (a, KeyId::Relinearisation), &special, Some(257));
    let last = LimbSet::one(q.last().expect("a limb"));
    for (part, value) in (0..).zip(switched) {
        let lower = builder.mod_down(value, last.clone(), Conversion::Centred, Some(257)).expect("a switch");
        builder.output("lower", part, lower);
    }
    builder.finish().expect("a program")
}

#[test]
fn divisions_of_bgv_and_many_digits_match_the_interpreter() {
    let (ring, gadget) = ring(8, 10, 2);
    let case = Case::new(switched_modulo_257(&ring, &gadget), &ring, &gadget, 5);
    // Five digits in columns of two, three and five cells.
    for machine in [small(), limb_by_limb(small())] {
        for hadamard_height in [2, 3, 5] {
            case.cycles(&Osiris { hadamard_height, ..machine.clone() });
        }
    }
    let tight = Osiris { scratchpad: 40 * small().limb_bytes(ring.degree()), ..small() };
    case.cycles(&tight);
}

#[test]
fn two_groups_give_the_same_words_sooner() {
    let (ring, gadget) = ring(8, 5, 2);
    let case = Case::new(multiply_and_rotate(&ring, &gadget), &ring, &gadget, 5);
    for hadamard_units in [1, 2] {
        let (reads, writes) = small().port_tiles;
        let machine = |groups: usize| Osiris {
            groups,
            hadamard_units,
            port_tiles: (groups as u64 * reads, groups as u64 * writes),
            memory_bytes: 16.0 * small().memory_bytes,
            ..small()
        };
        assert!(case.cycles(&machine(2)) < case.cycles(&machine(1)));
        let used: BTreeSet<u32> = events(&mut case.schedule(&machine(2))).map(|event| event.resource.0).collect();
        assert!(case.schedule(&machine(2)).chip.array.iter().all(|array| used.contains(&array.0)));
    }
}

#[test]
fn sequential_limbs_give_the_same_words() {
    for (log2, limbs, digit) in [(6, 4, 2), (8, 5, 2), (10, 3, 3)] {
        let (ring, gadget) = ring(log2, limbs, digit);
        for program in [one_key_switch(&ring, &gadget), multiply_and_rotate(&ring, &gadget)] {
            let case = Case::new(program, &ring, &gadget, 5);
            let machine = limb_by_limb(small());
            let roomy = case.cycles(&machine);
            let tight = Osiris { scratchpad: 40 * machine.limb_bytes(ring.degree()), ..machine };
            assert!(case.cycles(&tight) >= roomy);
        }
    }
}

#[test]
fn delays_that_change_behind_a_stream_give_the_same_words_sooner() {
    let (ring, gadget) = ring(8, 5, 2);
    let case = Case::new(multiply_and_rotate(&ring, &gadget), &ring, &gadget, 5);
    let [empty, in_turn] = [false, true].map(|delays_in_turn| Osiris { delays_in_turn, ..small() });
    assert!(case.cycles(&in_turn) < case.cycles(&empty));
    let scheduled = case.schedule(&in_turn);
    let delays = case.schedule(&empty).schedule.resources;
    assert!(check(&scheduled.schedule, &[]).is_ok());
    let wrong = Schedule { resources: delays, ..scheduled.schedule };
    assert!(check(&wrong, &[]).is_err(), "units that must be empty reject the closer streams");
}

/// The scheduler evaluates a task by its form and its first layout.
#[test]
fn layouts_of_a_task_differ_only_in_units_and_its_form_has_them_all() {
    let (ring, gadget) = ring(8, 5, 2);
    let program = multiply_and_rotate(&ring, &gadget);
    for machine in [small(), limb_by_limb(small())] {
        let units = machine.units(ring.degree()).expect("units");
        let chip = Chip::declare(&mut ScheduleBuilder::new(), &machine, &units);
        let tasks = Tasks::of(&program, &machine).expect("tasks");
        let planner = Planner { machine: &machine, units, chip: &chip };
        let flow = Flow::of(&tasks, &planner).expect("layouts");
        let modes = [None, chip.kinds.mode(chip.kinds.inverse(1)), chip.kinds.mode(chip.kinds.transform(1))];
        let free =
            |unit: i64| Free { input: unit * 37 % 1000, output: unit * 53 % 1500, mode: modes[unit as usize % 3] };
        let free: Vec<Free> = (0..200).map(free).collect();
        let mut ways = BTreeSet::new();
        for (number, task) in tasks.tasks.iter().enumerate() {
            let layouts = planner.layouts(task).expect("a way");
            let reads = |layout: &Layout| -> Vec<(Cycle, Vec<Port>)> {
                layout.segments.iter().map(|segment| (segment.offset, segment.reads.clone())).collect()
            };
            assert!(layouts.iter().all(|way| (reads(way), way.span()) == (reads(&layouts[0]), layouts[0].span())));
            let first = layouts.iter().map(|way| way.units(&free)).min().expect("a way");
            assert_eq!(flow.by_form[flow.forms[number]].units(&free), (first, layouts[0].span().1));
            assert_eq!(
                (flow.operands(number), flow.results(number)),
                (&*task.kernel.operands(), &*task.kernel.results())
            );
            ways.insert(layouts.len());
        }
        assert_eq!(ways, BTreeSet::from([1, machine.hadamard_units]));
        assert!(flow.by_form.len() < tasks.tasks.len());
    }
}

/// Cycles from the first tile of a change of modulus to its last one, without registers between the units.
fn mod_change_cycles(units: ModChangeUnits, tiling: Tiling, (alpha, beta): (usize, usize)) -> u64 {
    let ModChangeUnits { shape, height, depth } = units;
    let array = BaseConversionArray::latency(height, shape.lanes(), alpha, depth);
    let [tiles, alpha, beta] = [shape.tiles(), alpha, beta].map(|count| count as u64);
    let (block, transform) = (alpha.max(beta), |spacing: u64| NttUnit::latency(shape, spacing as usize, depth));
    match tiling {
        Tiling::Interleaved => 2 * transform(block) + array + (tiles - 1) * block + beta,
        Tiling::LimbByLimb => {
            // The array starts when a tile of the last source limb is there, and takes a block of all limbs at a time.
            let first = transform(1) + (alpha - 1) * (tiles - 1) + 1;
            let last = first + (tiles - 1) * block;
            // A target limb passes the second unit without a gap, after the one before and behind its last tile.
            let next = |free: u64, target: u64| {
                free.max(first + array + target + 1).max((last + array + target + 2).saturating_sub(tiles)) + tiles
            };
            (0..beta).fold(0, next) + transform(1)
        }
    }
}

#[test]
fn cycles_of_a_change_of_modulus_follow_from_the_units_in_both_orders() {
    // Memory loads limbs faster than the units process them.
    let interleaved = Osiris { memory_bytes: 5120.0, memory_latency: 1, ..paper() };
    let (ring, gadget) = ring(14, 12, 5);
    let mut builder = KernelBuilder::new("raise", ring.degree(), ring.moduli()).expect("moduli");
    let q = LimbSet::new(gadget.q().iter().copied());
    let all = q.union(&LimbSet::new(gadget.special().iter().copied()));
    let digit = LimbSet::new(gadget.digits()[0].iter().copied());
    let (alpha, beta) = (digit.len(), all.len() - digit.len());
    let a = builder.input("a", 0, ValueType::evaluation(q)).expect("an input");
    let raised = builder.mod_up(a, digit, all, Conversion::Balanced).expect("a digit");
    builder.output("raised", 0, raised);
    let case = Case::new(builder.finish().expect("a program"), &ring, &gadget, 5);
    for machine in [interleaved.clone(), limb_by_limb(interleaved)] {
        case.cycles(&machine);
        let mut scheduled = case.schedule(&machine);
        let [first, last] = scheduled.chip.ntt[0];
        let begin = events(&mut scheduled).find(|event| event.resource == first).expect("it begins").start;
        // With limbs in sequence, each limb is one event.
        let ends = events(&mut scheduled).filter(|event| event.resource == last).flat_map(|event| {
            let start = event.start;
            event.writes.iter().map(move |write| start + i64::from(write.last) + 1)
        });
        let end = ends.max().expect("results");
        // There is a register between units, a place is read one cycle after its write, and all interleaved
        // limbs are complete with the last one.
        let cycles = mod_change_cycles(scheduled.units, machine.tiling, (alpha, beta)) as i64;
        assert!(
            (cycles..=cycles + 4 + beta as i64).contains(&(end - begin)),
            "{:?}: {} and {cycles}",
            machine.tiling,
            end - begin
        );
    }
}

#[test]
fn the_array_waits_for_the_last_sequential_limb() {
    let (ring, gadget) = ring(8, 4, 2);
    let case = Case::new(one_key_switch(&ring, &gadget), &ring, &gadget, 5);
    let machine = limb_by_limb(small());
    let right = case.schedule(&machine);
    let mut wrong = right.clone();
    let array = right.chip.array[0];
    events(&mut wrong).find(|event| event.resource == array).expect("a conversion").start -= 2;
    assert!(check(&wrong.schedule, &[]).is_err(), "the checker rejects it");
    let outcome = case.replayed(&wrong);
    assert!(outcome.is_err() || outcome.is_ok_and(|words| words != case.expected), "the words show it");
}

#[test]
fn more_limbs_than_the_delays_support_pass_in_several_streams() {
    let (ring, gadget) = ring(8, 5, 2);
    for program in [one_key_switch(&ring, &gadget), multiply_and_rotate(&ring, &gadget)] {
        let case = Case::new(program, &ring, &gadget, 5);
        let several = Osiris { limbs: 3, ..small() };
        let longest = case.schedule(&several).streams.into_iter().max();
        assert!(longest <= Some(3) && case.schedule(&small()).streams.into_iter().max() > Some(3), "{longest:?}");
        case.cycles(&several);
    }
}

/// A product reduced to fewer limbs, and `in_vain` more of the same that nothing reads.
fn dropped_product(ring: &Ring, gadget: &Gadget, in_vain: usize) -> KernelProgram {
    let mut builder = KernelBuilder::new("dropped", ring.degree(), ring.moduli()).expect("moduli");
    let q = LimbSet::new(gadget.q().iter().copied());
    let a = builder.input("a", 0, ValueType::evaluation(q)).expect("an input");
    let product = builder.multiply(a, a).expect("a product");
    for _ in 0..in_vain {
        builder.multiply(a, a).expect("a product");
    }
    let low = builder.select_limbs(product, LimbSet::range(0..2)).expect("limbs");
    builder.output("low", 0, low);
    builder.finish().expect("a program")
}

#[test]
fn only_dropped_limbs_are_computed_without_a_reader() {
    let (ring, gadget) = ring(6, 4, 2);
    let case = Case::new(dropped_product(&ring, &gadget, 0), &ring, &gadget, 5);
    case.cycles(&small());
    let doubled = Case::new(dropped_product(&ring, &gadget, 1), &ring, &gadget, 5);
    let mut twice = doubled.schedule(&small());
    let labels = labelled(&mut twice, &doubled.program);
    let refused = audit(&case.program, &twice.schedule, &labels).expect_err("the product is computed twice");
    assert!(refused.to_string().contains("is computed, and nothing reads it"), "{refused}");
}

#[test]
fn an_exact_raise_from_one_limb_is_the_balanced_one() {
    let (ring, gadget) = ring(8, 3, 1);
    let (one, all) = (LimbSet::range(0..1), LimbSet::range(0..3));
    let program = |from: &LimbSet| {
        let mut builder = KernelBuilder::new("raise", ring.degree(), ring.moduli()).expect("moduli");
        let a = builder.input("a", 0, ValueType::evaluation(from.clone())).expect("an input");
        let raised = builder.mod_up(a, from.clone(), all.clone(), Conversion::Centred).expect("a raise");
        builder.output("raised", 0, raised);
        builder.finish().expect("a program")
    };
    Case::new(program(&one), &ring, &gadget, 5).cycles(&small());
    let refused = schedule(&small(), &program(&LimbSet::range(0..2))).expect_err("the array has no exact one");
    assert!(refused.to_string().contains("the exact representative"), "{refused}");
}

#[test]
fn a_key_switch_at_the_largest_ring_matches_the_interpreter() {
    let (ring, gadget) = ring(16, 6, 3);
    let case = Case::new(one_key_switch(&ring, &gadget), &ring, &gadget, 5);
    let cycles = case.cycles(&paper());
    // Every limb of input, key and output takes 328 cycles at 1 TB/s: no schedule is faster.
    assert!(cycles >= (6 + 2 * 9 + 12) * 328, "{cycles} cycles");
    let fast = Osiris { memory_bytes: 4000.0, ..paper() };
    assert!(case.cycles(&fast) < cycles);
}

/// `parts` equal parts in sequence: the digits of a polynomial times the keys of `rotations` rotations, summed
/// and divided.
fn repeated(ring: &Ring, gadget: &Gadget, parts: usize, rotations: i64) -> KernelProgram {
    let mut builder = KernelBuilder::new("parts", ring.degree(), ring.moduli()).expect("moduli");
    let q = LimbSet::new(gadget.q().iter().copied());
    let special = LimbSet::new(gadget.special().iter().copied());
    let mut a = builder.input("a", 0, ValueType::evaluation(q.clone())).expect("an input");
    for _ in 0..parts {
        let raise = |digit: &Vec<_>| {
            let digit = LimbSet::new(digit.iter().copied());
            builder.mod_up(a, digit, q.union(&special), Conversion::Balanced).expect("a digit")
        };
        let digits: Vec<ValueId> = gadget.digits().iter().map(raise).collect();
        let mut sum = None;
        for steps in 1..=rotations {
            let element = GaloisElement::rotation(ring.degree(), steps);
            let (body, mask) = builder.inner_product(KeyId::Galois(element.value()), &digits).expect("a key");
            let both = builder.add(body, mask).expect("a sum");
            let rotated = builder.automorphism(both, element).expect("an automorphism");
            sum = Some(sum.map_or(rotated, |sum| builder.add(sum, rotated).expect("a sum")));
        }
        let sum = sum.expect("rotations");
        a = builder.mod_down(sum, special.clone(), Conversion::Balanced, None).expect("a division");
    }
    builder.output("a", 0, a);
    builder.finish().expect("a program")
}

#[test]
fn equal_parts_take_equally_long() {
    let (ring, gadget) = ring(8, 4, 2);
    // Keys are evicted before the next part, whose tasks enter the window early or not at all. With 60 places
    // and fast memory, rotations start every 72 cycles, the time to load the twelve limbs of a key, or every
    // 131 cycles. The latter happens if all places are occupied when the next load could start: twelve limbs of
    // digits, twelve of sums, six being rotated, eighteen of the next rotation, and a key for the third. The
    // load then waits for the sum to release places, and so does every later load. This happens in the second
    // of four parts; with ten more places in none, with ten fewer also in the first.
    for (rotations, frames, memory, most) in
        [(40, 60, 1.0, 1.0), (40, 60, 4.0, 1.1), (40, 200, 4.0, 1.0), (120, 60, 4.0, 1.0), (120, 200, 1.0, 1.0)]
    {
        let scratchpad = frames * small().limb_bytes(ring.degree());
        let machine = Osiris { scratchpad, memory_bytes: memory * small().memory_bytes, ..small() };
        let cycles = |parts: usize| {
            let scheduled = schedule(&machine, &repeated(&ring, &gadget, parts, rotations)).expect("it fits");
            check(&scheduled.schedule, &[]).unwrap_or_else(|violation| panic!("{violation}")).cycles
        };
        let (one, four) = (cycles(1), cycles(4));
        let (one, four) = (one as f64, four as f64);
        assert!(four <= most * 4.0 * one, "{rotations} keys, {frames} limbs: {one} cycles, and {four} of four parts");
    }
}

/// The events of a schedule without loops.
fn events(scheduled: &mut Scheduled) -> impl Iterator<Item = &mut polyfabric_sim::schedule::Event> {
    scheduled.schedule.items.iter_mut().filter_map(|item| match item {
        Item::Event(event) => Some(event),
        Item::Repeat(_) => None,
    })
}

#[test]
fn programs_that_do_not_fit_are_rejected() {
    let (ring, gadget) = ring(8, 6, 2);
    let program = one_key_switch(&ring, &gadget);
    let message = |machine: Osiris| schedule(&machine, &program).expect_err("it does not fit").to_string();
    let machine = small();
    let frame = machine.limb_bytes(ring.degree());
    let cases: [(Osiris, &[&str]); 5] = [
        (Osiris { stages: 7, ..machine.clone() }, &["7 stages", "2^7", "256"]),
        (Osiris { height: 1, ..machine.clone() }, &["operation 1", "2 limbs", "1 rows"]),
        (Osiris { limbs: 1, ..machine.clone() }, &["operation 1", "2 limbs", "units.ntt.limbs"]),
        (Osiris { word_bits: 36, ..machine.clone() }, &["limb 0", "1099511603713", "36"]),
        (Osiris { scratchpad: 6 * frame, ..machine }, &["operation 1", "6 limbs", "memories.scratchpad.capacity"]),
    ];
    for (machine, values) in cases {
        let message = message(machine);
        assert!(values.iter().all(|value| message.contains(value)), "{message}");
    }
}

#[test]
fn contradicting_figures_are_rejected() {
    for (key, written, value, said) in [
        ("units.ntt.lanes", "lanes = { value = 512", 500, "lanes must be a power of two"),
        ("memories.scratchpad.reads", "reads = { value = 37", 34, "all units may read at once"),
        ("memories.scratchpad.writes", "writes = { value = 21", 18, "all units may write at once"),
        // The units' tiles alone would fit.
        ("memories.scratchpad.reads", "reads = { value = 37", 35, "raise the tiles read per cycle with the bandwidth"),
        (
            "memories.scratchpad.writes",
            "writes = { value = 21",
            19,
            "raise the tiles written per cycle with the bandwidth",
        ),
    ] {
        assert!(TEXT.contains(written), "{written}");
        let (name, _) = written.split_once(' ').expect("a figure");
        let machine = described(&TEXT.replacen(written, &format!("{name} = {{ value = {value}"), 1));
        let text = Osiris::new(&machine).expect_err("a contradiction").to_string();
        assert!(text.contains(said) && text.contains(&format!("`{key}` is {value}")), "{text}");
    }
}

#[test]
fn parts_follow_from_the_units() {
    let of = paper().quantities();
    // 16 stages of 256 butterflies with two multipliers, twice; 17 rows of 512; four in each of 2·512·3 cells.
    assert_eq!(of["ntt_multipliers"], f64::from(2 * 16 * 256 * 2));
    assert_eq!(of["base_conversion_multipliers"], f64::from(17 * 512));
    assert_eq!(of["hadamard_multipliers"], f64::from(2 * 512 * 3 * 4));
    // 40 limbs of N − p words of five bytes, twice; √N + √N factors per limb, in both directions.
    assert_eq!(of["delay_bytes"], 2.0 * 40.0 * (65536.0 - 512.0) * 5.0);
    assert_eq!(of["twiddle_bytes"], 2.0 * 40.0 * 512.0 * 5.0);
    // Stage s has the 2^(16 − s) powers that it multiplies by, as products of two entries: 256 + 256, 256 +
    // 128, 128 + 128, .., 2 + 1.
    let by_stage: u32 = (1..=16).map(|bits: u32| (1 << bits.div_ceil(2)) + (1 << (bits / 2))).sum();
    assert_eq!((by_stage, of["stage_twiddle_bytes"]), (1785, 2.0 * 2.0 * 40.0 * 1785.0 * 5.0));
    // Two per cell for keys in three cells, and those of one cell for diagonals; one before each NTT unit.
    assert_eq!(of["hadamard_multipliers_at_work"], f64::from(2 * 512 * 8));
    assert_eq!(of["limb_extension_multipliers"], f64::from(2 * 512));
    // 128 tiles, 17 columns of 256 switches.
    assert_eq!(of["setting_bytes"], 128.0 * 17.0 * 256.0 / 8.0);
    // Ten groups of sixteen in each of six generators.
    assert_eq!(of["mask_blocks"], f64::from(6 * 160));
    // 4,096 words in each of six generators: two cycles of 1,280 numbers and a tile of 512.
    assert_eq!(of["mask_ring_bytes"], 6.0 * 4096.0 * 5.0);
    // N factors of one direction.
    assert_eq!(of["whole_twiddle_bytes"], 40.0 * 65536.0 * 5.0);
}

#[test]
fn file_parts_outside_the_papers_count_match_the_units() {
    let (machine, of) = (described(TEXT), paper().quantities());
    let part = |name: &str| machine.components().iter().find(|part| part.name == name).expect("a part").clone();
    let (multiplier, extension) = (part("ntt_multipliers"), part("limb_extension"));
    assert_eq!(extension.count, of["limb_extension_multipliers"]);
    let each = |part: &Component| (part.area_mm2.unwrap() / part.count, part.power_w.unwrap() / part.count);
    assert_eq!(each(&extension), each(&multiplier));
    // A ChaCha block has the area of a multiplier times the ratio of their transistors after synthesis
    // (docs/rtl.md).
    let (blocks, ratio) = (part("mask_blocks"), 485_976.0 / 179_936.0);
    let times = of["mask_blocks"] * ratio;
    assert!((blocks.area_mm2.unwrap() / (times * each(&multiplier).0) - 1.0).abs() < 0.01, "{blocks:?}");
    assert!((blocks.power_w.unwrap() / (times * each(&multiplier).1) - 1.0).abs() < 0.01, "{blocks:?}");
    // Settings of two rotations and rings of masks, with the density of the scratchpads.
    let scratchpad = part("scratchpad");
    for (name, bytes) in [("automorphism_settings", 2.0 * of["setting_bytes"]), ("mask_rings", of["mask_ring_bytes"])] {
        let memory = part(name);
        assert!((memory.area_mm2.unwrap() / (0.45e-6 * bytes) - 1.0).abs() < 0.01, "{memory:?}");
        let power = scratchpad.power_w.unwrap() * bytes / of["scratchpad_bytes"];
        assert!((memory.power_w.unwrap() / power - 1.0).abs() < 0.01, "{memory:?}");
    }
}
