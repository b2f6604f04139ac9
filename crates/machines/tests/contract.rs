//! Does every machine keep the contract? These tests also cover a new machine, without changes.

mod common;

#[path = "contract/changes.rs"]
mod changes;
#[path = "contract/machine_file.rs"]
mod machine_file;
#[path = "contract/modes.rs"]
mod modes;
#[path = "contract/moved.rs"]
mod moved;
#[path = "contract/one_error.rs"]
mod one_error;
#[path = "contract/one_too_many.rs"]
mod one_too_many;
#[path = "contract/operands.rs"]
mod operands;
#[path = "contract/rns_machines.rs"]
mod rns_machines;
#[path = "contract/rounds.rs"]
mod rounds;

use common::{all_machines, gates, tables_of_one};
use polyfabric_kernels::fixed::Stage;
use polyfabric_machines::audit::audit;
use polyfabric_machines::contract::options::{Given, OptionValues};
use polyfabric_machines::contract::tfhe::MappedTfhe;
use polyfabric_machines::contract::{Family, Target, rns, tfhe};
use polyfabric_machines::registry::{MACHINES, MAPPERS};
use polyfabric_machines::tfhe::labels::{Labels, Meaning};
use polyfabric_machines::tfhe::replay::replay;
use polyfabric_machines::tfhe::widths::{Judge, Setting, derive};
use polyfabric_machines::{Machine, MachineError, description, descriptions, names, parse};
use polyfabric_program::rns::builtin::microbenchmark::{Operation, Shape, build};
use polyfabric_program::tfhe::builtin;
use polyfabric_program::tfhe::kernel::KernelProgram;
use polyfabric_program::tfhe::lowering::{Arithmetic, KeySwitchOrder, TfheLowering, lower};
use polyfabric_runtime::NoProgress;
use polyfabric_runtime::tfhe::interpreter;
use polyfabric_schemes::tfhe::noise::Transform;
use polyfabric_schemes::tfhe::{ClientKey, LweBatch, LweKind, ServerKey, sets};
use polyfabric_sim::checker::{Hazard, check};
use polyfabric_sim::description::{ComponentLiteral, FigureLiteral, Written};
use polyfabric_sim::function::Function;
use polyfabric_sim::schedule::{Event, Item, MemoryKind, Schedule, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

fn residues() -> polyfabric_program::rns::kernel::KernelProgram {
    build(Operation::Ntt, Shape { log2_degree: 12, limbs: 3, special: 1, ciphertexts: 2, rounds: 1 })
        .expect("a program")
}

#[test]
fn every_machine_has_a_file_of_its_own_name_for_a_mapper_that_exists() {
    let machines = descriptions().expect("every file is right");
    assert_eq!(machines.iter().map(|machine| machine.name()).collect::<Vec<_>>(), names());
    for machine in &machines {
        assert_eq!(machine.mapped_by().name, machine.mapper());
    }
    let used = |mapper: &str| machines.iter().any(|machine| machine.mapper() == mapper);
    assert!(MAPPERS.iter().all(|mapper| used(mapper.name)), "a mapper without a machine is tested by nobody");
}

#[test]
fn a_file_that_names_no_mapper_or_an_unknown_machine_is_refused_with_those_that_exist() {
    for (name, text) in MACHINES {
        let own = description(name).expect("its file is right");
        let text = text.replace(&format!("mapper = \"{}\"", own.mapper()), "mapper = \"another\"");
        let message = parse("mine.toml", &text).expect_err("no such mapper").to_string();
        assert!(message.contains("mine.toml: there is no mapper \"another\""), "{message}");
        assert!(MAPPERS.iter().all(|mapper| message.contains(mapper.name)), "{message}");
    }
    let message = description("another").expect_err("no such machine").to_string();
    assert!(names().into_iter().all(|name| message.contains(name)), "{message}");
}

#[test]
fn a_program_of_the_other_family_is_refused() {
    let set = sets::all().next().expect("a set").1;
    let choice = TfheLowering::new(KeySwitchOrder::None, Arithmetic::ExactInteger);
    let look_up = builtin::build("pbs", set, 1, &choice, Transform::Exact).expect("a program").kernel;
    for machine in all_machines() {
        let refused = match machine.target() {
            Target::Tfhe(_) => rns::map(&machine, &residues(), "", &Given::new()).err(),
            Target::Rns(_) => tfhe::map(&machine, &look_up).err(),
        };
        let error = refused.expect("it is of the other family");
        assert!(matches!(error, MachineError::Family { .. }), "{error}");
        assert!(error.to_string().starts_with(&format!("`{}` executes programs of", machine.name())), "{error}");
    }
}

#[test]
fn an_option_that_a_machine_does_not_have_or_that_takes_something_else_is_refused() {
    for machine in all_machines() {
        let kind = machine.mapped_by();
        if machine.family() == Family::Tfhe {
            assert!(kind.options.is_empty(), "options of {} are read by nobody", kind.name);
            continue;
        }
        let refused = |name: &str, value: &str| {
            let given = Given::from([(name.to_owned(), value.to_owned())]);
            rns::map(&machine, &residues(), "", &given).err().expect("it is refused").to_string()
        };
        let unknown = refused("colour", "blue");
        assert!(unknown.contains("has no option \"colour\""), "{unknown}");
        for spec in kind.options {
            let takes = match spec.values {
                OptionValues::Words(words) => words[0],
                OptionValues::Seconds => "seconds",
            };
            let message = refused(spec.name, "-1");
            assert!(message.contains(spec.name) && message.contains(takes) && message.contains("-1"), "{message}");
        }
    }
}

/// Number of programs per machine in [`tfhe_machines`]; lookups come first.
const PROGRAMS: usize = 3;

/// The TFHE machines, with programs of lookups, of linear layers, and of several tables of one ciphertext, in the machine's own
/// arithmetic.
fn tfhe_machines() -> Vec<(Machine, KernelProgram)> {
    let set = sets::parameters("toy-256").expect("a set of the table");
    let of_the_torus = all_machines().into_iter().filter(|machine| machine.family() == Family::Tfhe);
    let with_programs = |machine: Machine| {
        let choice = tfhe::lowering(&machine, &set, KeySwitchOrder::After).expect("a set of 32 bits");
        let [gates, tables] = [gates(), tables_of_one()].map(|own| lower(&own, &set, &choice).expect("it is lowered"));
        [(machine.clone(), look_ups(&machine, 5)), (machine.clone(), gates), (machine, tables)]
    };
    of_the_torus.flat_map(with_programs).collect()
}

/// `count` lookups, lowered for a machine.
fn look_ups(machine: &Machine, count: usize) -> KernelProgram {
    let set = sets::parameters("toy-256").expect("a set of the table");
    let choice = tfhe::lowering(machine, &set, KeySwitchOrder::After).expect("a set of 32 bits");
    builtin::build("pbs+ks", &set, count, &choice, Transform::Exact).expect("a program").kernel
}

/// Applies `change` to the events of `items` in order, including those in loops, until it returns true.
fn first(items: &mut [Item], change: &mut impl FnMut(&mut Event) -> bool) -> bool {
    items.iter_mut().any(|item| match item {
        Item::Event(event) => change(event),
        Item::Repeat(repeat) => first(Arc::make_mut(&mut repeat.body).as_mut_slice(), change),
    })
}

fn each(items: &[Item], visit: &mut impl FnMut(&Event)) {
    for item in items {
        match item {
            Item::Event(event) => visit(event),
            Item::Repeat(repeat) => each(&repeat.body, visit),
        }
    }
}

/// Removes the first event for which `wanted` holds.
fn remove(items: &mut Vec<Item>, wanted: &dyn Fn(&Event) -> bool) -> bool {
    let here = |item: &Item| matches!(item, Item::Event(event) if wanted(event));
    if let Some(index) = items.iter().position(here) {
        items.remove(index);
        return true;
    }
    items.iter_mut().any(|item| match item {
        Item::Event(_) => false,
        Item::Repeat(repeat) => remove(Arc::make_mut(&mut repeat.body), wanted),
    })
}

fn kinds(schedule: &Schedule) -> BTreeSet<u16> {
    let mut kinds = BTreeSet::new();
    each(&schedule.items, &mut |event| _ = kinds.insert(event.op.kind.0));
    kinds
}

/// Whether a value is part of the program, and not a token.
fn stands_for_data(labels: &Labels, value: Value) -> bool {
    labels.meanings(value).any(|meaning| !matches!(meaning, Meaning::Token { .. }))
}

/// The verdict of the checker and the audit on a schedule.
fn judged(machine: &Machine, program: &KernelProgram, mapped: &MappedTfhe, schedule: &Schedule) -> Result<(), String> {
    check(schedule, &[]).map_err(|hazard| hazard.to_string())?;
    tfhe::hold(machine, program, &mapped.labels, schedule).map_err(|error| error.to_string())
}

#[test]
fn derived_widths_are_accepted_by_every_torus_machines_file() {
    let set = sets::parameters("toy-256").expect("a set of the table");
    for (machine, _) in tfhe_machines().into_iter().step_by(PROGRAMS) {
        let derived = tfhe::derive_widths(&machine, &set, Judge::Phase, &NoProgress).expect("the set has room");
        let text = tfhe::with_widths(&machine, &derived).expect("it is text");
        let changed = parse("derived.toml", &text).unwrap_or_else(|error| panic!("{}: {error}", machine.name()));
        let Arithmetic::Fixed(spec) = tfhe::arithmetic(&changed, &set).expect("a set of 32 bits") else {
            panic!("{} computes in fixed point", machine.name())
        };
        let widths = derived.widths();
        let found = (spec.digits.input_width, spec.key.output_width(), spec.inverse.output_width());
        assert_eq!(found, (widths.digits.input(), widths.key, widths.inverse.input()), "{}", machine.name());
        // The error that the derivation measures is that of the arithmetic.
        let Transform::Measured { coefficient_variance, .. } = Transform::fixed(&spec, &set) else {
            panic!("fixed point")
        };
        let off = coefficient_variance.log2() - derived.log2_coefficient;
        assert!(spec.result_bits.is_some() || off.abs() < 1.0, "{}: 2^{off} of what was measured", machine.name());
    }
}

#[test]
fn widths_for_a_set_of_another_torus_are_derived_for_the_machines_own_transforms() {
    let [own, other] =
        ["toy-256", "polyfabric-1-p64-t64"].map(|name| sets::parameters(name).expect("a set of the table"));
    let mut structures = Vec::new();
    for (machine, _) in tfhe_machines().into_iter().step_by(PROGRAMS) {
        let Arithmetic::Fixed(spec) = tfhe::arithmetic(&machine, &own).expect("a set of 32 bits") else {
            panic!("{} computes in fixed point", machine.name())
        };
        tfhe::arithmetic(&machine, &other).expect_err("its words have 32 bits");
        let overflow_log2 = machine.value("machine.arithmetic.overflow_log2").expect("a figure of its file");
        let setting = Setting { structure: spec.structure, overflow_log2 };
        let wanted = derive(&other, Judge::Phase, setting, &NoProgress).map(|derived| derived.log2_coefficient);
        let found = tfhe::derive_widths(&machine, &other, Judge::Phase, &NoProgress);
        let found = found.map(|derived| derived.log2_coefficient).map_err(|error| error.to_string());
        match (wanted, found) {
            (Ok(wanted), Ok(found)) => assert_eq!(wanted, found, "{}", machine.name()),
            (Err(wanted), Err(found)) => assert!(found.contains(&wanted.to_string()), "{found}"),
            (wanted, found) => panic!("{}: {wanted:?} and {found:?}", machine.name()),
        }
        structures.push(spec.structure);
    }
    assert!(structures.iter().any(|structure| *structure != structures[0]), "all machines have one structure");
}

/// A figure of `width` bits, as in a machine file.
fn bits(width: u32) -> FigureLiteral {
    FigureLiteral {
        value: Written::Integer(width.into()),
        unit: "bits".to_owned(),
        source: "test".to_owned(),
        input: false,
    }
}

#[test]
fn a_file_sets_the_width_of_each_stage() {
    let set = sets::parameters("toy-256").expect("a set of the table");
    for (machine, _) in tfhe_machines().into_iter().step_by(PROGRAMS) {
        let name = machine.name();
        let with = |figures: &[(&str, u32)]| {
            let mut literal = machine.literal().clone();
            let arithmetic = literal.machine.entry("arithmetic".to_owned()).or_default();
            arithmetic.extend(figures.iter().map(|&(key, width)| (key.to_owned(), bits(width))));
            parse("stages.toml", &toml::to_string(&literal).expect("it is text")).map_err(|error| error.to_string())
        };
        // Only larger rings have a stage 9.
        let changed = with(&[("forward_stage_2", 23), ("inverse_stage_7", 45), ("forward_stage_9", 21)]);
        let changed = changed.unwrap_or_else(|error| panic!("{name}: {error}"));
        let spec = |machine: &Machine| match tfhe::arithmetic(machine, &set).expect("a set of 32 bits") {
            Arithmetic::Fixed(spec) => spec,
            other => panic!("{name} computes in fixed point, not {other:?}"),
        };
        let (own, found) = (spec(&machine), spec(&changed));
        let widths = |stages: &[Stage]| stages.iter().map(|stage| stage.width).collect::<Vec<_>>();
        let (mut forward, mut inverse) = (widths(&own.digits.stages), widths(&own.inverse.stages));
        (forward[1], inverse[6]) = (23, 45);
        assert_eq!((widths(&found.digits.stages), widths(&found.inverse.stages)), (forward, inverse), "{name}");
        assert_eq!(found.key, own.key, "{name}");
        // If the file says for which widths area and power hold, they hold for its own widths.
        let holds_for = |part: &ComponentLiteral| !part.holds_for.is_empty();
        if machine.literal().components.values().any(holds_for) {
            assert!(changed.components().iter().all(|part| part.unknown.is_some()), "{name}");
        }
        let error = with(&[("forward_stage_17", 20)]).expect_err("no ring has so many stages");
        assert!(error.contains("machine.arithmetic.forward_stage_17"), "{error}");
        // Derived widths replace these too.
        let derived = tfhe::derive_widths(&changed, &set, Judge::Phase, &NoProgress).expect("the set has room");
        let text = tfhe::with_widths(&changed, &derived).expect("it is text");
        assert!(!text.contains("_stage_"), "{name}");
    }
}

#[test]
fn a_mappers_own_schedules_compute_the_program() {
    for (machine, program) in tfhe_machines() {
        let mapped = tfhe::map(&machine, &program).expect("it fits");
        assert_eq!(judged(&machine, &program, &mapped, &mapped.schedule), Ok(()), "{}", machine.name());
        let mut unrolled = mapped.schedule.unrolled();
        assert_eq!(audit(&program, &unrolled, &mapped.labels), Ok(()), "{}", machine.name());
        // Half of its events do not compute the program.
        unrolled.items.truncate(unrolled.items.len() / 2);
        assert!(audit(&program, &unrolled, &mapped.labels).is_err());
    }
}

#[test]
fn the_schedule_of_a_program_computes_no_larger_one() {
    for (machine, program) in tfhe_machines().into_iter().step_by(PROGRAMS) {
        let mapped = tfhe::map(&machine, &program).expect("it fits");
        let larger = look_ups(&machine, 6);
        for schedule in [&mapped.schedule, &mapped.schedule.unrolled()] {
            assert!(audit(&larger, schedule, &mapped.labels).is_err(), "{}", machine.name());
        }
    }
}

#[test]
fn an_event_that_is_missing_is_refused_whatever_its_kind() {
    for (machine, program) in tfhe_machines() {
        let mapped = tfhe::map(&machine, &program).expect("it fits");
        for kind in kinds(&mapped.schedule) {
            let mut schedule = mapped.schedule.clone();
            assert!(remove(&mut schedule.items, &|event| event.op.kind.0 == kind));
            let name = &schedule.resources.kinds[kind as usize].name;
            assert!(judged(&machine, &program, &mapped, &schedule).is_err(), "{} without one {name}", machine.name());
        }
    }
}

#[test]
fn a_result_that_is_made_twice_is_refused_whatever_its_kind() {
    for (machine, program) in tfhe_machines() {
        let mapped = tfhe::map(&machine, &program).expect("it fits");
        let unrolled = mapped.schedule.unrolled();
        let mut tried = 0;
        for kind in kinds(&unrolled) {
            let makes = |event: &&Event| {
                let function = unrolled.resources.kinds[usize::from(event.op.kind.0)].function;
                let moves = matches!(function, Function::Move { .. });
                let holds = event.writes.iter().any(|write| stands_for_data(&mapped.labels, write.value));
                event.op.kind.0 == kind && !moves && holds
            };
            let events = unrolled.items.iter().filter_map(|item| match item {
                Item::Event(event) => Some(event),
                Item::Repeat(_) => None,
            });
            let Some(event) = events.into_iter().find(makes) else { continue };
            let mut schedule = unrolled.clone();
            schedule.items.push(Item::Event(event.clone()));
            let name = &schedule.resources.kinds[kind as usize].name;
            assert!(audit(&program, &schedule, &mapped.labels).is_err(), "{}: {name} twice", machine.name());
            tried += 1;
        }
        assert!(tried > 2, "{}", machine.name());
    }
}

#[test]
fn an_event_of_half_the_work_is_refused_whatever_its_kind() {
    for (machine, program) in tfhe_machines() {
        let mapped = tfhe::map(&machine, &program).expect("it fits");
        let mut halved = 0;
        for kind in kinds(&mapped.schedule) {
            let mut schedule = mapped.schedule.clone();
            let halve = &mut |event: &mut Event| {
                let here = event.op.kind.0 == kind && event.work > 1 && !event.writes.is_empty();
                event.work /= if here { 2 } else { 1 };
                here
            };
            let name = schedule.resources.kinds[kind as usize].name.clone();
            if first(&mut schedule.items, halve) {
                assert!(judged(&machine, &program, &mapped, &schedule).is_err(), "{}: half a {name}", machine.name());
                halved += 1;
            }
        }
        assert!(halved > 0, "{}", machine.name());
    }
}

#[test]
fn an_operand_that_is_another_value_is_refused_whatever_its_class() {
    for (machine, program) in tfhe_machines() {
        let mapped = tfhe::map(&machine, &program).expect("it fits");
        let classes = mapped.schedule.resources.value_classes.len();
        for class in 0..classes {
            // All values of the class that are read, with one place of each.
            let mut lie: BTreeMap<Value, _> = BTreeMap::new();
            each(&mapped.schedule.items, &mut |event| {
                for read in event.reads.iter().filter(|read| usize::from(read.value.class.0) == class) {
                    lie.entry(read.value).or_insert(read.place);
                }
            });
            let holds = |value: &Value| stands_for_data(&mapped.labels, *value);
            let values: Vec<Value> = lie.keys().copied().filter(holds).collect();
            for pair in values.windows(2).take(8) {
                let mut schedule = mapped.schedule.clone();
                // All readers of the first value read the second one at its place, as if the mapper had intended it.
                let mut swapped = 0;
                let swap = &mut |event: &mut Event| {
                    for read in event.reads.iter_mut().filter(|read| read.value == pair[0]) {
                        (read.value, read.place) = (pair[1], lie[&pair[1]]);
                        swapped += 1;
                    }
                    false
                };
                first(&mut schedule.items, swap);
                let name = &schedule.resources.value_classes[class].name;
                assert!(swapped > 0);
                let judged = judged(&machine, &program, &mapped, &schedule);
                assert!(judged.is_err(), "{}: {name} {:?} for {:?}", machine.name(), pair[1], pair[0]);
            }
        }
    }
}

#[test]
fn a_memory_of_half_the_width_is_refused() {
    for (machine, program) in tfhe_machines() {
        let mapped = tfhe::map(&machine, &program).expect("it fits");
        let mut schedule = mapped.schedule.clone();
        for memory in &mut schedule.resources.memories {
            if let MemoryKind::OnChip { read_bytes_per_cycle, write_bytes_per_cycle, .. } = &mut memory.kind {
                *read_bytes_per_cycle /= 2.0;
                *write_bytes_per_cycle /= 2.0;
            }
        }
        let refused = check(&schedule, &[]).expect_err("its ports are half as wide");
        assert_eq!(refused.hazard, Hazard::Port, "{}: {refused}", machine.name());
    }
}

#[test]
fn a_constant_that_is_not_read_or_comes_late_is_refused() {
    let mut tried = 0;
    for (machine, program) in tfhe_machines() {
        let mapped = tfhe::map(&machine, &program).expect("it fits");
        for kind in kinds(&mapped.schedule) {
            let Function::Body(unit) = mapped.schedule.resources.kinds[usize::from(kind)].function else { continue };
            if !unit.twiddles {
                continue;
            }
            let constant =
                |value| mapped.labels.meanings(value).any(|meaning| matches!(meaning, Meaning::Twiddles { .. }));
            let name = &mapped.schedule.resources.kinds[kind as usize].name;
            let mut without = mapped.schedule.clone();
            let removed = first(&mut without.items, &mut |event| {
                let reads = event.reads.len();
                if event.op.kind.0 == kind {
                    event.reads.retain(|read| !constant(read.value));
                }
                event.reads.len() < reads
            });
            let refused = judged(&machine, &program, &mapped, &without);
            assert!(removed && refused.is_err(), "{}: {name} without its constant", machine.name());
            let mut late = mapped.schedule.clone();
            first(&mut late.items, &mut |event| {
                for write in event.writes.iter_mut().filter(|write| constant(write.value)) {
                    (write.first, write.last) = (write.first + 100_000, write.last + 100_000);
                }
                false
            });
            assert!(check(&late, &[]).is_err(), "{}: {name} before its constant", machine.name());
            tried += 1;
        }
    }
    assert!(tried > 0);
}

#[test]
fn a_wrong_schedule_gives_wrong_ciphertexts() {
    for (machine, program) in tfhe_machines() {
        let set = &program.parameters;
        let client = ClientKey::<u32>::for_tests(set, 7).expect("a checked set");
        let server = ServerKey::<u32>::for_tests(&client, 8);
        let plain: Vec<u32> = (0..5).map(|i| if i % 3 == 0 { 1 << 29 } else { 7 << 29 }).collect();
        let (name, _, value) = program.inputs().next().expect("an input");
        let kind = match value {
            polyfabric_program::tfhe::kernel::ValueType::Lwe { kind, .. } => kind,
            _ => LweKind::Small,
        };
        let inputs: BTreeMap<String, LweBatch<u32>> =
            [(name.to_owned(), client.encrypt_for_tests(kind, &plain, 3))].into();
        let expected = interpreter::run(&program, &server, &inputs, &NoProgress).expect("the interpreter runs it");
        let mapped = tfhe::map(&machine, &program).expect("it fits");
        let data = |outputs: &BTreeMap<String, LweBatch<u32>>| -> Vec<Vec<u32>> {
            outputs.values().map(|batch| batch.data().to_vec()).collect()
        };
        let replayed = |schedule: &Schedule| {
            let replayed = replay(schedule, &mapped.labels, &program, &server, &inputs, &NoProgress);
            replayed.map(|replayed| data(&replayed.outputs)).map_err(|error| error.to_string())
        };
        assert_eq!(replayed(&mapped.schedule).expect("a legal schedule"), data(&expected), "{}", machine.name());
        for kind in kinds(&mapped.schedule) {
            let mut schedule = mapped.schedule.clone();
            // Instruction words and marks only order events.
            let holds = |event: &Event| {
                let data = event.writes.iter().any(|write| stands_for_data(&mapped.labels, write.value));
                event.op.kind.0 == kind && data
            };
            if remove(&mut schedule.items, &holds) {
                let name = &schedule.resources.kinds[kind as usize].name;
                let wrong = replayed(&schedule).ok();
                assert_ne!(wrong, Some(data(&expected)), "{} without one {name}", machine.name());
            }
        }
    }
}

#[test]
fn a_machine_that_is_not_the_files_is_refused() {
    for (machine, program) in tfhe_machines() {
        let mapped = tfhe::map(&machine, &program).expect("it fits");
        let changes: [fn(&mut Schedule); 4] = [
            |schedule| schedule.resources.kinds[0].elements_per_cycle *= 2.0,
            |schedule| schedule.resources.kinds[0].latency -= 1,
            |schedule| schedule.resources.channels[0].bytes_per_cycle *= 2.0,
            |schedule| {
                let memory = schedule.resources.memories.iter_mut().find_map(|memory| match &mut memory.kind {
                    MemoryKind::OnChip { capacity, .. } => Some(capacity),
                    _ => None,
                });
                *memory.expect("a memory on the chip") += 1;
            },
        ];
        for change in changes {
            let mut schedule = mapped.schedule.clone();
            change(&mut schedule);
            let refused = tfhe::hold(&machine, &program, &mapped.labels, &schedule).expect_err("kinder");
            assert!(refused.to_string().contains("are not those that the machine file describes"), "{refused}");
        }
    }
}
