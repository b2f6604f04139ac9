//! Is the noise that of the executed lowering? Is the cheapest set chosen, are excessive failures rejected, and are times plausible?

use super::cost::{LookupTimes, seconds_by, timed_dimension};
use super::*;
use polyfabric_program::tfhe::homomorphic::{Builder, ElementType, LookupResult, Range, Table};
use polyfabric_program::tfhe::kernel::OpKind;
use polyfabric_program::tfhe::noise::Rates;
use polyfabric_schemes::tfhe::noise::PhaseRounding;
use polyfabric_schemes::tfhe::sets;

/// y = x² mod `messages` of three inputs, and then of their sum.
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

/// The noise of a plan's kernel program, recomputed.
fn own_noise(program: &Program, plan: &TfhePlan) -> NoiseReport {
    let (parameters, choice) = (&plan.kernel.parameters, &plan.kernel.choice);
    let inputs = (Keys::Accepted, Encryption::Secret);
    report_encrypted(program, parameters, choice, choice.arithmetic.transform(parameters), inputs).unwrap()
}

/// The project's TFHE machines.
fn machines() -> impl Iterator<Item = Machine> {
    let all = polyfabric_machines::descriptions().unwrap().into_iter();
    all.filter(|machine| tfhe::torus_bits(machine, "any").is_ok())
}

#[test]
fn the_noise_is_of_the_lowering_that_is_executed() {
    assert!(machines().count() > 2);
    for program in [chained(4), shared()] {
        for machine in std::iter::once(None).chain(machines().map(Some)) {
            let request = Request { machine: machine.as_ref(), max_failure: 0.0, ..Request::default() };
            let plan = TfhePlan::new(&program, &request).unwrap();
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
fn a_machine_that_may_fail_is_timed_with_a_set_that_would_carry_the_program() {
    for machine in machines() {
        for program in [chained(4), chained(8), shared()] {
            let request = Request { machine: Some(&machine), max_failure: 0.0, ..Request::default() };
            let plan = TfhePlan::new(&program, &request).unwrap();
            let sure = Request { max_failure: DEFAULT_FAILURE_LOG2, ..request };
            let (parameters, choice) = (&plan.kernel.parameters, &plan.kernel.choice);
            let exact = sure.noise(&program, parameters, choice, Transform::Exact);
            assert!(exact.is_ok(), "{} on {} with {}", program.name(), machine.name(), parameters.name());
        }
    }
}

#[test]
fn cpu_plans_center_phases_and_share_rotations() {
    let switches = |plan: &TfhePlan| -> Vec<(PhaseRounding, u32)> {
        let kinds = plan.kernel.ops.iter().map(|op| &op.kind);
        kinds
            .filter_map(|kind| match kind {
                OpKind::ModulusSwitch { rounding, log2_tables } => Some((*rounding, *log2_tables)),
                _ => None,
            })
            .collect()
    };
    let plan = |program: &Program| TfhePlan::new(program, &Request::default()).unwrap();
    assert_eq!(switches(&plan(&chained(4))), [(PhaseRounding::Centred, 0); 2]);
    assert_eq!(switches(&plan(&shared())), [(PhaseRounding::Centred, 1)]);
}

#[test]
fn the_fastest_acceptable_set_is_chosen() {
    let program = chained(8);
    let milliseconds = |plan: &TfhePlan| {
        let set = &plan.kernel.parameters;
        let products = set.large_lwe_dimension().get() as u64
            * set.key_switch_gadget().map_or(1, |gadget| u64::from(gadget.levels));
        let key_switches = count::program(&plan.kernel).key_switch_products / products;
        let rates = Rates::of(set).unwrap();
        rates.milliseconds(set.unrolling(None).unwrap(), plan.kernel.lookups(), key_switches as usize)
    };
    // Uniform keys, and block-binary ones.
    let fastest = [false, true].map(|blocks| {
        let of = |max_failure| Request { max_failure, blocks, ..Request::default() };
        let [sure, cheap] = [DEFAULT_FAILURE_LOG2, -20.0].map(|most| TfhePlan::new(&program, &of(most)).unwrap());
        assert!(sure.noise.log2_failure <= DEFAULT_FAILURE_LOG2 && cheap.noise.log2_failure <= -20.0);
        assert!(milliseconds(&cheap) <= milliseconds(&sure));
        let own =
            |parameters: &&Parameters| parameters.secret().is_binary() != blocks && parameters.circuit().is_none();
        let defaults = sets::all().filter(|(entry, _)| entry.family == sets::Family::Default);
        for parameters in defaults.map(|(_, parameters)| parameters).filter(own) {
            let named = Request { parameters: Some(parameters), ..Request::default() };
            match TfhePlan::new(&program, &named) {
                Ok(other) => assert!(milliseconds(&sure) <= milliseconds(&other), "{}", parameters.name()),
                Err(error) => assert!(matches!(error.fault, Fault::Noise | Fault::Program), "{error}"),
            }
        }
        milliseconds(&sure)
    });
    assert!(fastest[1] < fastest[0], "{fastest:?}");
}

#[test]
fn invalid_bits_of_circuit_privacy_are_an_input_error() {
    let (program, machine, set) = (chained(2), machines().next(), sets::parameters("toy-256").unwrap());
    for (parameters, machine) in [(None, None), (None, machine.as_ref()), (Some(&set), None)] {
        for bits in [-1.0, f64::NAN, 61.0] {
            let request = Request { parameters, machine, circuit_privacy: Some(bits), ..Request::default() };
            let error = TfhePlan::new(&program, &request).map(|plan| plan.noise).unwrap_err();
            assert_eq!(error.fault, Fault::Input, "{error}");
            assert!(error.to_string().ends_with("bits of circuit privacy; ask for 0 to 60"), "{error}");
        }
    }
}

#[test]
fn excessive_failures_are_rejected_with_a_remedy() {
    let program = chained(256);
    let error = TfhePlan::new(&program, &Request::default()).map(|plan| plan.noise).unwrap_err();
    assert_eq!(error.fault, Fault::Noise);
    for machine in machines() {
        let error = TfhePlan::new(&program, &Request { machine: Some(&machine), ..Request::default() }).unwrap_err();
        let text = error.to_string();
        assert!(
            error.fault == Fault::Noise && text.contains(machine.name()) && text.contains("max_failure="),
            "{text}"
        );
    }
}

/// x + y of two inputs, or of both results of one rotation, or of two rotations.
fn sums() -> Program {
    let range = Range::new(0, 3).unwrap();
    let mut builder = Builder::new("sums").unwrap();
    let x = builder.input("x", ElementType::Integer(range), 2).unwrap();
    let tables = [|x| x * x % 4, |x| 3 - x].map(|entry: fn(i64) -> i64| Table::tabulate(range, entry).unwrap());
    let both = builder.lookup_each(x, tables.to_vec(), LookupResult::Integer).unwrap();
    let mut sum = |name, of, indices: [u32; 2]| {
        let [a, b] = indices.map(|index| builder.select(of, &[index]).unwrap());
        let sum = builder.add(a, b).unwrap();
        builder.output(name, sum).unwrap();
    };
    sum("inputs", x, [0, 1]);
    // The first table's results come first.
    sum("rotation", both, [0, 2]);
    sum("rotations", both, [0, 1]);
    builder.finish().unwrap()
}

#[test]
fn correlated_errors_add_up() {
    let program = sums();
    let of = |encryption| {
        let request = Request { encryption, max_failure: 0.0, ..Request::default() };
        TfhePlan::new(&program, &request).unwrap().noise.outputs
    };
    let (secret, public) = (of(Encryption::Secret), of(Encryption::Public));
    // Rounding errors of two results of one rotation correlate by slightly more than a half; decomposition errors do not.
    let ratio = secret[1].variance / secret[2].variance;
    assert!(ratio > 1.0 && ratio < 1.7, "{ratio}");
    assert!(secret[0].squared_norm == 2.0 && public[0].squared_norm == 2.0);
    let one = {
        let mut builder = Builder::new("one").unwrap();
        let x = builder.input("x", ElementType::Integer(Range::new(0, 3).unwrap()), 1).unwrap();
        builder.output("x", x).unwrap();
        builder.finish().unwrap()
    };
    let same = |program: &Program, encryption| {
        let set = sets::all().find(|(_, set)| set.name() == public_set(&sums())).unwrap().1;
        let order = Some(KeySwitchOrder::Before);
        let request =
            Request { parameters: Some(set), key_switch: order, encryption, max_failure: 0.0, ..Request::default() };
        TfhePlan::new(program, &request).unwrap().noise.outputs[0].variance
    };
    let ratio = |encryption| same(&program, encryption) / same(&one, encryption);
    // Independent errors add two variances; a correlation of 1/2 makes it three.
    assert!((ratio(Encryption::Secret) - 2.0).abs() < 1e-9 && (ratio(Encryption::Public) - 3.0).abs() < 1e-9);
}

/// Name of the set chosen for public-key inputs.
fn public_set(program: &Program) -> String {
    let request = Request { encryption: Encryption::Public, max_failure: 0.0, ..Request::default() };
    TfhePlan::new(program, &request).unwrap().kernel.parameters.name().to_owned()
}

#[test]
fn unrolled_keys_take_more_memory() {
    let program = chained(4);
    let set = sets::parameters("polyfabric-2-p64-t64").unwrap();
    let of = |unrolling| {
        let request = Request { parameters: Some(&set), unrolling, max_failure: -40.0, ..Request::default() };
        let plan = TfhePlan::new(&program, &request).unwrap();
        let set = &plan.kernel.parameters;
        (Memory::of(&plan.kernel).unwrap(), set.bootstrap_key_len() as u64 * u64::from(set.torus_bits() / 8))
    };
    let ((one, key), (four, _)) = (of(None), of(Some(4)));
    // 15 ciphertexts instead of 4 for four bits.
    let grown = (four.server_key - one.server_key) as f64 / key as f64;
    assert!((2.70..2.76).contains(&grown), "{grown}");
    assert!(four.server_key_compressed > one.server_key_compressed && four.server > one.server + 2 * key);
}

#[test]
fn a_machine_gets_the_set_of_the_shortest_schedule() {
    let (program, mut compared) = (chained(2), 0);
    for machine in machines() {
        let request = Request { machine: Some(&machine), max_failure: -20.0, ..Request::default() };
        let Ok(chosen) = TfhePlan::new(&program, &request) else { continue };
        let cycles = |plan: &TfhePlan| tfhe::map(&machine, &plan.kernel).ok().map(|mapped| mapped.schedule.cycles());
        let shortest = cycles(&chosen).unwrap();
        for (_, parameters) in sets::all().filter(|(entry, _)| entry.family == sets::Family::Default) {
            let named = Request { parameters: Some(parameters), ..request };
            let Some(cycles) = TfhePlan::new(&program, &named).ok().and_then(|plan| cycles(&plan)) else { continue };
            compared += 1;
            let (chosen, other) = (chosen.kernel.parameters.name(), parameters.name());
            assert!(shortest <= cycles, "{}: {chosen} takes {shortest} cycles, {other} {cycles}", machine.name());
        }
    }
    assert!(compared > 6, "{compared}");
}

#[test]
fn a_machine_of_another_family_says_so() {
    let machine = polyfabric_machines::descriptions().unwrap().into_iter();
    let other = machine.filter(|machine| tfhe::torus_bits(machine, "any").is_err()).collect::<Vec<_>>();
    assert!(!other.is_empty());
    for machine in other {
        let request = Request { machine: Some(&machine), ..Request::default() };
        let error = TfhePlan::new(&chained(4), &request).unwrap_err();
        let text = error.to_string();
        assert!(
            error.fault == Fault::Machine && text.contains("`chained` is of TFHE: name a machine of that family"),
            "{text}"
        );
    }
}

#[test]
fn a_fault_of_the_program_is_reported_on_machines_too() {
    let mut builder = Builder::new("heavy").unwrap();
    let mut x = builder.input("x", ElementType::Torus { bits: 10 }, 2).unwrap();
    for _ in 0..2 {
        x = builder.mul_clear(x, &[100_000; 2]).unwrap();
    }
    builder.output("y", x).unwrap();
    let program = builder.finish().unwrap();
    for machine in machines() {
        let refusal = TfhePlan::new(&program, &Request { machine: Some(&machine), ..Request::default() }).unwrap_err();
        let text = refusal.to_string();
        assert!(refusal.fault == Fault::Program && text.contains("10000000000, beyond 32 bits"), "{text}");
    }
}

/// Lookups of `count` elements, followed by lookups of the results.
fn two_batches(count: usize) -> Program {
    let range = Range::new(0, 3).unwrap();
    let mut builder = Builder::new("two").unwrap();
    let x = builder.input("x", ElementType::Integer(range), count).unwrap();
    let table = || vec![Table::tabulate(range, |x| x * x % 4).unwrap()];
    let y = builder.lookup(x, table(), None, LookupResult::Integer).unwrap();
    let z = builder.lookup(y, table(), None, LookupResult::Integer).unwrap();
    builder.output("z", z).unwrap();
    builder.finish().unwrap()
}

/// Each figure has a different order of magnitude, so that a sum shows how often each counts.
const TIMES: LookupTimes = LookupTimes {
    keys: 1e9,
    keys_each: 1e9,
    alone: 100.0,
    together: 1000.0,
    cut: 1e4,
    single: 0.01,
    each: 1.0,
    switch: 0.001,
    step: 2.0,
};

#[test]
fn key_transforms_count_once_and_lookups_by_batch_size() {
    let processors = 2;
    // With fewer than eight per processor, lookups run one by one and key switches are not batched; with more, both are batched.
    for (count, once, each) in [(2, 100.0 + 2.0 * 2.0, 0.01), (16, 1000.0 + 1e4, 1.0)] {
        let kernel = TfhePlan::new(&two_batches(count), &Request::default()).unwrap().kernel;
        assert_eq!(rotation_batches(&kernel), [count, count]);
        let switches = key_switch_batches(&kernel);
        assert!(!switches.is_empty() && switches.iter().all(|&batch| batch == count), "{switches:?}");
        let memory = Memory::of(&kernel).unwrap();
        let fresh = 1e-6 * memory.server_key_transformed as f64;
        assert!(0.0 < fresh && memory.server_key_transformed < memory.server - memory.server_key);
        let all = once + each * (2 * count) as f64 + 0.001 * (switches.len() * count) as f64;
        let scale = kernel.parameters.lwe_dimension().get() as f64 / timed_dimension(&kernel.parameters) as f64;
        let found = seconds_by(&kernel, &TIMES, &memory, (1e-6, processors));
        assert!((found - (all * scale + fresh)).abs() < 1e-9 * found, "{found} of {}", all * scale + fresh);
    }
}

#[test]
fn linear_programs_take_no_time_and_a_client_takes_some() {
    let range = Range::new(0, 3).unwrap();
    let mut builder = Builder::new("sum").unwrap();
    let x = builder.input("x", ElementType::Integer(range), 4).unwrap();
    let y = builder.add(x, x).unwrap();
    builder.output("y", y).unwrap();
    let kernel = TfhePlan::new(&builder.finish().unwrap(), &Request::default()).unwrap().kernel;
    assert_eq!(execution_seconds(&kernel).unwrap(), 0.0);
    let few = client_seconds(&kernel).unwrap();
    let many = client_seconds(&TfhePlan::new(&two_batches(400), &Request::default()).unwrap().kernel).unwrap();
    assert!(few.keys > 0.0 && few.encrypt > 0.0 && few.decrypt > 0.0, "{few:?}");
    assert!(many.encrypt > few.encrypt && many.decrypt > few.decrypt, "{few:?}, {many:?}");
}

/// The digits of two bits of a number, by a table of four bits.
fn wide() -> Program {
    let mut builder = Builder::new("wide").unwrap();
    let x = builder.input("x", ElementType::Integer(Range::new(0, 3).unwrap()), 2).unwrap();
    let table = Table::new(0, (0..16).map(|x| x * x / 4 % 4).collect()).unwrap();
    let y = builder.lookup_wide(x, vec![2, 2], vec![table]).unwrap();
    builder.output("y", y).unwrap();
    builder.finish().unwrap()
}

#[test]
fn wide_tables_are_planned_with_a_set_for_them_alone_and_on_the_processor_alone() {
    let program = wide();
    let (own, other) =
        (sets::parameters("toy-256-circuit").unwrap(), sets::parameters("polyfabric-3-p128-t64").unwrap());
    fn request<'a>(parameters: Option<&'a Parameters>, machine: Option<&'a Machine>) -> Request<'a> {
        Request { parameters, machine, ..Request::default() }
    }
    let plan = TfhePlan::new(&program, &request(Some(&own), None)).unwrap();
    assert!(plan.noise.log2_failure <= DEFAULT_FAILURE_LOG2 && plan.kernel.lookups() == 4);
    let memory = Memory::of(&plan.kernel).unwrap();
    let unrolling = own.unrolling(None).unwrap();
    assert_eq!(memory.server_key, own.server_key_bytes(unrolling));
    assert!(memory.server > memory.server_key);
    let refused = |request: Request<'_>| TfhePlan::new(&program, &request).map(|plan| plan.noise).unwrap_err().fault;
    assert_eq!(refused(request(Some(&other), None)), Fault::Program);
    let chosen = TfhePlan::new(&program, &request(None, None)).unwrap();
    assert_eq!(chosen.kernel.parameters.name(), "polyfabric-wide-t64");
    assert_eq!(refused(Request { blocks: true, ..request(None, None) }), Fault::Noise);
    for machine in machines() {
        assert_eq!(refused(request(Some(&own), Some(&machine))), Fault::Machine);
        assert_eq!(refused(request(None, Some(&machine))), Fault::Machine);
        // A kernel program that was read from its text reaches the mapper itself.
        assert!(tfhe::map(&machine, &plan.kernel).is_err(), "{}", machine.name());
    }
}
