//! Does every machine keep the contract? These tests also cover a new machine, without changes.

mod common;

#[path = "contract/cases.rs"]
mod cases;
#[path = "contract/changes.rs"]
mod changes;
#[path = "contract/cheats.rs"]
mod cheats;
#[path = "contract/machine_file.rs"]
mod machine_file;
#[path = "contract/modes.rs"]
mod modes;
#[path = "contract/moved.rs"]
mod moved;
#[path = "contract/one_too_many.rs"]
mod one_too_many;
#[path = "contract/operands.rs"]
mod operands;
#[path = "contract/rns_machines.rs"]
mod rns_machines;
#[path = "contract/rounds.rs"]
mod rounds;

use cases::{PROGRAMS, look_ups};
use common::case::{Case, List, Mapped, Path};
use common::{SHAPE, all_machines};
use polyfabric_kernels::fixed::Stage;
use polyfabric_machines::audit;
use polyfabric_machines::contract::options::{Given, OptionValues};
use polyfabric_machines::contract::{Family, Target, rns, tfhe};
use polyfabric_machines::registry::{MACHINES, MAPPERS};
use polyfabric_machines::tfhe::labels::Meaning;
use polyfabric_machines::tfhe::widths::{Judge, Setting, derive};
use polyfabric_machines::{Machine, MachineError, description, descriptions, names, parse};
use polyfabric_program::rns::builtin::microbenchmark::{Operation, Shape, build};
use polyfabric_program::tfhe::builtin;
use polyfabric_program::tfhe::lowering::{Arithmetic, KeySwitchOrder, TfheLowering};
use polyfabric_runtime::NoProgress;
use polyfabric_schemes::tfhe::noise::Transform;
use polyfabric_schemes::tfhe::sets;
use polyfabric_sim::checker::Hazard;
use polyfabric_sim::description::{ComponentLiteral, FigureLiteral, Written};
use polyfabric_sim::function::Function;
use polyfabric_sim::list::each;
use polyfabric_sim::schedule::{Lines, MemoryKind, Resources, Value};
use std::collections::BTreeMap;

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

/// The TFHE machines.
fn tfhe_machines() -> impl Iterator<Item = Machine> {
    all_machines().into_iter().filter(|machine| machine.family() == Family::Tfhe)
}

#[test]
fn derived_widths_are_accepted_by_every_torus_machines_file() {
    let set = sets::parameters("toy-256").expect("a set of the table");
    for machine in tfhe_machines() {
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
    for machine in tfhe_machines() {
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
    for machine in tfhe_machines() {
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
fn schedules_compute_their_programs_and_no_others() {
    for case in Case::all() {
        let (own, outputs) = (&case.schedule, case.outputs());
        assert_eq!(case.judged(own), Ok(()), "{}", case.name());
        assert!(outputs(Some(own)) == outputs(None), "{}", case.name());
        let mut unrolled = own.unrolled();
        assert_eq!(case.audited(&unrolled), Ok(()), "{}", case.name());
        // Half of its events do not compute the program.
        unrolled.items.truncate(unrolled.items.len() / 2);
        assert!(case.audited(&unrolled).is_err(), "{}", case.name());
    }
    for case in Case::of(Family::Tfhe).iter().step_by(PROGRAMS) {
        let Mapped::Tfhe(_, mapped) = &case.mapped else { continue };
        let larger = look_ups(&case.machine, 6);
        for schedule in [&case.schedule, &case.schedule.unrolled()] {
            assert!(audit::audit(&larger, schedule, &mapped.labels).is_err(), "{}", case.name());
        }
    }
    for case in Case::of(Family::Rns) {
        let Mapped::Rns(_, simulated) = &case.mapped else { continue };
        let other = build(Operation::Permute, Shape { rounds: 1, ..SHAPE }).expect("a program");
        let labels = simulated.mapped().labels();
        assert!(audit::rns::audit(&other, &List(&case.schedule, None), labels).is_err(), "{}", case.name());
    }
}

#[test]
fn an_event_that_is_missing_or_of_half_the_work_is_refused_whatever_its_kind() {
    for case in Case::all() {
        for path in case.samples() {
            assert!(case.is_refused(&case.without(&path)), "{} without one {}", case.name(), case.kind(&path));
        }
        let halved = case.variants(|_, event| {
            let some = event.work > 1 && !event.writes.is_empty();
            event.work /= 2;
            some
        });
        assert!(!halved.is_empty(), "{}", case.name());
        for (kind, schedule) in halved {
            assert!(case.is_refused(&schedule), "{}: half a {kind}", case.name());
        }
    }
}

#[test]
fn a_result_that_is_made_twice_is_refused_whatever_its_kind() {
    for mut case in Case::all() {
        case.schedule = case.schedule.unrolled();
        let kinds = case.kinds();
        let makes = |path: &&Path| {
            let event = case.event(path);
            let function = case.schedule.resources.kinds[usize::from(event.op.kind.0)].function;
            let holds = event.writes.iter().any(|write| case.stands_for_data(write.value));
            !matches!(function, Function::Move { .. }) && holds
        };
        let made: Vec<&Path> = kinds.values().filter_map(|own| own.iter().find(makes)).collect();
        for path in &made {
            assert!(case.audited(&case.doubled(path)).is_err(), "{}: {} twice", case.name(), case.kind(path));
        }
        assert!(made.len() > 2, "{}", case.name());
    }
}

#[test]
fn an_operand_that_is_another_value_is_refused_whatever_its_class() {
    for case in Case::of(Family::Tfhe) {
        for class in 0..case.schedule.resources.value_classes.len() {
            // All values of the class that are read, with one place of each.
            let mut lie: BTreeMap<Value, _> = BTreeMap::new();
            each(&case.schedule.items, 1, &mut |event, _| {
                for read in event.reads.iter().filter(|read| usize::from(read.value.class.0) == class) {
                    lie.entry(read.value).or_insert(read.place);
                }
            });
            let values: Vec<Value> = lie.keys().copied().filter(|&value| case.stands_for_data(value)).collect();
            for pair in values.windows(2).take(8) {
                // All readers of the first value read the second one at its place, as if the mapper had intended it.
                let (schedule, swapped) = case.every(|_, event| {
                    let own = event.reads.iter_mut().filter(|read| read.value == pair[0]);
                    own.map(|read| (read.value, read.place) = (pair[1], lie[&pair[1]])).count()
                });
                let name = &schedule.resources.value_classes[class].name;
                assert!(swapped > 0 && case.is_refused(&schedule), "{}: {name} {pair:?}", case.name());
            }
        }
    }
}

#[test]
fn a_memory_of_half_the_width_is_refused() {
    for case in Case::of(Family::Tfhe) {
        let mut schedule = case.schedule.clone();
        for memory in &mut schedule.resources.memories {
            if let MemoryKind::OnChip { read_bytes_per_cycle, write_bytes_per_cycle, .. } = &mut memory.kind {
                *read_bytes_per_cycle /= 2.0;
                *write_bytes_per_cycle /= 2.0;
            }
        }
        let refused = case.checked(&schedule).expect_err("its ports are half as wide");
        assert_eq!(refused.hazard, Hazard::Port, "{}: {refused}", case.name());
    }
}

#[test]
fn a_constant_that_is_not_read_or_comes_late_is_refused() {
    let mut tried = 0;
    for case in Case::of(Family::Tfhe) {
        let Mapped::Tfhe(_, mapped) = &case.mapped else { continue };
        let constant = |value| mapped.labels.meanings(value).any(|meaning| matches!(meaning, Meaning::Twiddles { .. }));
        let without = case.variants(|resources, event| {
            let unit = resources.kinds[usize::from(event.op.kind.0)].function;
            let reads = event.reads.len();
            event.reads.retain(|read| !constant(read.value));
            matches!(unit, Function::Body(unit) if unit.twiddles) && event.reads.len() < reads
        });
        let (late, moved) = case.every(|_, event| {
            let late = event.writes.iter_mut().filter(|write| constant(write.value));
            late.map(|write| (write.first, write.last) = (write.first + 100_000, write.last + 100_000)).count()
        });
        assert!(moved == 0 || case.checked(&late).is_err(), "{}: before its constant", case.name());
        for (kind, schedule) in &without {
            assert!(moved > 0 && case.is_refused(schedule), "{}: {kind} without its constant", case.name());
        }
        tried += without.len();
    }
    assert!(tried > 0);
}

/// The last event of each kind, since masks of accumulators are 0 at first; with `POLYFABRIC_FULL` in the environment the last three.
#[test]
fn a_wrong_schedule_gives_wrong_ciphertexts() {
    let most = if std::env::var_os("POLYFABRIC_FULL").is_some() { 3 } else { 1 };
    for case in Case::all() {
        let (outputs, kinds) = (case.outputs(), case.kinds());
        let expected = outputs(None);
        // Instruction words and marks only order events.
        let holds = |path: &&Path| case.event(path).writes.iter().any(|write| case.stands_for_data(write.value));
        for path in kinds.values().flat_map(|own| own.iter().rev().filter(holds).take(most)) {
            let wrong = outputs(Some(&case.without(path)));
            assert!(wrong.is_err() || wrong != expected, "{} without one {}", case.name(), case.kind(path));
        }
    }
}

#[test]
fn a_machine_that_is_not_the_files_is_refused() {
    let changes: [fn(&mut Resources); 4] = [
        |resources| resources.kinds[0].elements_per_cycle *= 2.0,
        |resources| resources.kinds[0].latency -= 1,
        |resources| resources.channels[0].bytes_per_cycle *= 2.0,
        |resources| {
            let memory = resources.memories.iter_mut().find_map(|memory| match &mut memory.kind {
                MemoryKind::Lines(Lines { capacity, .. }) | MemoryKind::OnChip { capacity, .. } => Some(capacity),
                _ => None,
            });
            *memory.expect("a memory on the chip") += 1;
        },
    ];
    for case in Case::all() {
        for change in changes {
            let mut schedule = case.schedule.clone();
            change(&mut schedule.resources);
            let refused = case.held(&schedule).expect_err("kinder");
            assert!(refused.contains("are not those that the machine file describes"), "{refused}");
        }
    }
}
