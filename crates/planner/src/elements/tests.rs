//! Is the noise that of what is executed, does the cheapest set get chosen, and is what fails too often refused?

use super::*;
use polyfabric_program::tfhe::homomorphic::{Builder, ElementType, LookupResult, Range, Table};
use polyfabric_program::tfhe::kernel::OpKind;
use polyfabric_schemes::tfhe::noise::PhaseRounding;
use polyfabric_schemes::tfhe::sets;

/// y = x² mod `messages` of each of three inputs, and the next look-up's of their sum.
fn chained(messages: i64) -> Program {
    let range = Range::new(0, messages - 1).unwrap();
    let mut builder = Builder::new("chained").unwrap();
    let x = builder.input("x", ElementType::Integer(range), 3).unwrap();
    let square = Table::tabulate(range, |x| x * x % messages).unwrap();
    let y = builder.lookup(x, vec![square.clone()], None, LookupResult::Integer).unwrap();
    let z = builder.lookup(y, vec![square], None, LookupResult::Integer).unwrap();
    builder.output("z", z).unwrap();
    builder.finish().unwrap()
}

/// Two tables of the same operand.
fn shared() -> Program {
    let range = Range::new(0, 3).unwrap();
    let mut builder = Builder::new("shared").unwrap();
    let x = builder.input("x", ElementType::Integer(range), 2).unwrap();
    let tables = [|x| x * x % 4, |x| 3 - x].map(|entry: fn(i64) -> i64| Table::tabulate(range, entry).unwrap());
    let both = builder.lookup_each(x, tables.to_vec(), LookupResult::Integer).unwrap();
    builder.output("both", both).unwrap();
    builder.finish().unwrap()
}

/// The noise of a plan's own kernel program, computed anew.
fn own_noise(program: &Program, plan: &ElementPlan) -> NoiseReport {
    let (parameters, choice) = (&plan.kernel.parameters, &plan.kernel.choice);
    let inputs = (Keys::Accepted, Encryption::Secret);
    report_encrypted(program, parameters, choice, choice.arithmetic.transform(parameters), inputs).unwrap()
}

/// The machines of the project that execute TFHE.
fn machines() -> impl Iterator<Item = Description> {
    let all = polyfabric_machines::descriptions().unwrap().into_iter();
    all.filter(|machine| torus::torus_bits(machine, "any").is_ok())
}

#[test]
fn the_noise_is_of_the_lowering_that_is_executed() {
    assert!(machines().count() > 2);
    for program in [chained(4), shared()] {
        for machine in std::iter::once(None).chain(machines().map(Some)) {
            let request = Request { machine: machine.as_ref(), max_failure: 0.0, ..Request::default() };
            let plan = ElementPlan::new(&program, &request).unwrap();
            assert_eq!(
                plan.noise,
                own_noise(&program, &plan),
                "{} on {:?}",
                program.name(),
                machine.map(|m| m.name().to_owned())
            );
        }
    }
}

#[test]
fn a_processor_centres_phases_and_shares_rotations() {
    let switches = |plan: &ElementPlan| -> Vec<(PhaseRounding, u32)> {
        let kinds = plan.kernel.ops.iter().map(|op| &op.kind);
        kinds
            .filter_map(|kind| match kind {
                OpKind::ModulusSwitch { rounding, log2_tables } => Some((*rounding, *log2_tables)),
                _ => None,
            })
            .collect()
    };
    let plan = |program: &Program| ElementPlan::new(program, &Request::default()).unwrap();
    assert_eq!(switches(&plan(&chained(4))), [(PhaseRounding::Centred, 0); 2]);
    assert_eq!(switches(&plan(&shared())), [(PhaseRounding::Centred, 1)]);
}

#[test]
fn a_set_is_the_cheapest_that_fails_no_more_often_than_is_accepted() {
    let program = chained(8);
    let of = |max_failure| ElementPlan::new(&program, &Request { max_failure, ..Request::default() }).unwrap();
    let (sure, cheap) = (of(DEFAULT_FAILURE_LOG2), of(-20.0));
    assert!(sure.noise.log2_failure <= DEFAULT_FAILURE_LOG2 && cheap.noise.log2_failure <= -20.0);
    assert!(multiplications(&cheap.kernel) <= multiplications(&sure.kernel));
    for (_, parameters) in sets::all().filter(|(entry, _)| entry.family == sets::Family::Default) {
        let named = Request { parameters: Some(parameters), ..Request::default() };
        match ElementPlan::new(&program, &named) {
            // The choice counts a key switch by its multiplications, this by those of its transforms alone.
            Ok(other) => {
                assert!(multiplications(&sure.kernel) <= 1.1 * multiplications(&other.kernel), "{}", parameters.name())
            }
            Err(error) => assert!(matches!(error.fault, Fault::Noise | Fault::Program), "{error}"),
        }
    }
}

#[test]
fn what_fails_too_often_is_refused_with_the_remedy() {
    let program = chained(256);
    let error = ElementPlan::new(&program, &Request::default()).map(|plan| plan.noise).unwrap_err();
    assert_eq!(error.fault, Fault::Noise);
    for machine in machines() {
        let error = ElementPlan::new(&program, &Request { machine: Some(&machine), ..Request::default() }).unwrap_err();
        let text = error.to_string();
        assert!(
            error.fault == Fault::Noise && text.contains(machine.name()) && text.contains("the first reason"),
            "{text}"
        );
    }
}

#[test]
fn unrolled_keys_take_more_memory() {
    let program = chained(4);
    let of = |unrolling| {
        let plan =
            ElementPlan::new(&program, &Request { unrolling, max_failure: -40.0, ..Request::default() }).unwrap();
        let set = &plan.kernel.parameters;
        (Memory::of(&plan.kernel).unwrap(), set.bootstrap_key_len() as u64 * u64::from(set.torus_bits() / 8))
    };
    let ((one, key), (four, _)) = (of(KeyUnrolling::ONE), of(KeyUnrolling::FOUR));
    // 15 ciphertexts for four bits in place of 4.
    let grown = (four.server_key - one.server_key) as f64 / key as f64;
    assert!((2.70..2.76).contains(&grown), "{grown}");
    assert!(four.server_key_compressed > one.server_key_compressed && four.server > one.server + 2 * key);
}
