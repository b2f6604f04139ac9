//! Does every machine keep the contract, whichever it is? A new one is tested here without a line.

use polyfabric_machines::contract::options::{Given, OptionValues};
use polyfabric_machines::contract::{Mapper, residue, torus};
use polyfabric_machines::registry::{MACHINES, of};
use polyfabric_machines::{MachineError, description, descriptions, names, parse};
use polyfabric_program::rns::builtin::microbenchmark::{Operation, Shape, build};
use polyfabric_program::tfhe::builtin;
use polyfabric_program::tfhe::lowering::{Arithmetic, KeySwitchOrder, TfheLowering};
use polyfabric_schemes::tfhe::noise::Transform;
use polyfabric_schemes::tfhe::sets;

fn residues() -> polyfabric_program::rns::kernel::KernelProgram {
    build(Operation::Ntt, Shape { log2_degree: 12, limbs: 3, special: 1, ciphertexts: 2, rounds: 1 })
        .expect("a program")
}

#[test]
fn every_machine_has_a_file_of_its_own_name_that_names_it_as_its_mapper() {
    let machines = descriptions().expect("every file is right");
    assert_eq!(machines.iter().map(|machine| machine.name()).collect::<Vec<_>>(), names());
    for machine in &machines {
        assert_eq!(of(machine).expect("a kind").name(), machine.name());
    }
}

#[test]
fn a_file_that_names_no_mapper_or_an_unknown_machine_is_refused_with_those_that_exist() {
    for machine in MACHINES {
        let name = machine.name();
        let text = machine.file().replace(&format!("mapper = \"{name}\""), "mapper = \"another\"");
        let message = parse("mine.toml", &text).expect_err("no such mapper").to_string();
        assert!(message.contains("mine.toml: there is no mapper \"another\"") && message.contains(name), "{message}");
    }
    let message = description("another").expect_err("no such machine").to_string();
    assert!(names().into_iter().all(|name| message.contains(name)), "{message}");
}

#[test]
fn a_program_of_the_other_family_is_refused() {
    let set = sets::all().next().expect("a set").1;
    let choice = TfheLowering::new(KeySwitchOrder::None, Arithmetic::ExactInteger);
    let look_up = builtin::build("pbs", set, 1, &choice, Transform::Exact).expect("a program").kernel;
    for machine in descriptions().expect("every file is right") {
        let refused = match of(&machine).expect("a kind").family() {
            Mapper::Torus(_) => residue::map(&machine, &residues(), "", &Given::new()).err(),
            Mapper::Residue(_) => torus::map(&machine, &look_up).err(),
        };
        let error = refused.expect("it is of the other family");
        assert!(matches!(error, MachineError::Family { .. }), "{error}");
        assert!(error.to_string().starts_with(&format!("`{}` executes programs of", machine.name())), "{error}");
    }
}

#[test]
fn an_option_that_a_machine_does_not_have_or_that_takes_something_else_is_refused() {
    for machine in descriptions().expect("every file is right") {
        let kind = of(&machine).expect("a kind");
        if matches!(kind.family(), Mapper::Torus(_)) {
            assert!(kind.options().is_empty(), "options of {} are read by nobody", kind.name());
            continue;
        }
        let refused = |name: &str, value: &str| {
            let given = Given::from([(name.to_owned(), value.to_owned())]);
            residue::map(&machine, &residues(), "", &given).err().expect("it is refused").to_string()
        };
        let unknown = refused("colour", "blue");
        assert!(unknown.contains("has no option \"colour\""), "{unknown}");
        for spec in kind.options() {
            let takes = match spec.values {
                OptionValues::Words(words) => words[0],
                OptionValues::Seconds => "seconds",
            };
            let message = refused(spec.name, "-1");
            assert!(message.contains(spec.name) && message.contains(takes) && message.contains("-1"), "{message}");
        }
    }
}
