//! Is the smallest sufficient set chosen, are bootstraps placed, and are insufficient sets and key switches rejected?

use super::*;
use polyfabric_program::rns::homomorphic::{Builder, Table};
use polyfabric_program::rns::kernel::OpKind;
use polyfabric_runtime::rns::cpu::Effort;
use std::collections::BTreeMap;

const T: u64 = 65537;

fn request() -> Request<'static> {
    Request {
        asked: None,
        owners: Owners::ONE,
        encryption: Encryption::Secret,
        measured: false,
        machine: None,
        key_switch: KeySwitchRequest::Set,
        security: 128.0,
        max_failure: None,
        memory: None,
    }
}

/// x squared `count` times.
fn squarings(scheme: Scheme, slots: usize, count: usize) -> Arc<Program> {
    let mut builder = Builder::new("squarings", scheme, slots).unwrap();
    let mut x = builder.input("x").unwrap();
    for _ in 0..count {
        x = builder.square(x).unwrap();
    }
    builder.output("y", x).unwrap();
    Arc::new(builder.finish().unwrap())
}

/// A number modulo `modulus`, bootstrapped.
fn refreshed(modulus: u64) -> Arc<Program> {
    let mut builder = Builder::new("refreshed", Scheme::Bgv { plaintext_modulus: modulus }, 1).unwrap();
    let x = builder.input("x").unwrap();
    let fresh = builder.bootstrap(x).unwrap();
    builder.output("y", fresh).unwrap();
    Arc::new(builder.finish().unwrap())
}

fn degree(plan: &RnsPlan) -> usize {
    plan.kernel().degree.get()
}

/// Bits of security.
fn bits(plan: &RnsPlan) -> f64 {
    match &plan.lowering {
        Lowering::Ckks(plan) => plan.parameters.security().bits,
        Lowering::Bgv(plan) => plan.parameters.security().bits,
    }
}

#[test]
fn deeper_programs_get_larger_rings_and_fail_no_more_often() {
    let mut last = 0;
    for depth in [1, 2, 4, 8, 12] {
        let program = squarings(Scheme::Bgv { plaintext_modulus: T }, 8, depth);
        let plan = RnsPlan::new(&program, request()).unwrap();
        let failure = plan.failure_log2().unwrap();
        assert!(failure <= DEFAULT_FAILURE_LOG2, "depth {depth}: 2^{failure}");
        assert!(degree(&plan) >= last && bits(&plan) >= 128.0, "depth {depth}");
        last = degree(&plan);
    }
    assert!(last >= 1 << 15);
}

#[test]
fn bootstrapping_sets_meet_the_default_failure_probability() {
    for modulus in [2, 4, 16] {
        let plan = RnsPlan::new(&refreshed(modulus), request()).unwrap();
        assert!(plan.failure_log2().unwrap() <= DEFAULT_FAILURE_LOG2, "modulo {modulus}");
    }
}

#[test]
fn a_named_set_that_fails_too_often_is_refused_unless_that_is_accepted() {
    let program = refreshed(8);
    let asked = Some(ParameterRequest::Name("bgv-toy-256-bootstrap-t8"));
    let refusal = RnsPlan::new(&program, Request { asked, ..request() }).unwrap_err();
    assert!(refusal.fault == Fault::Noise && refusal.to_string().contains("--max-failure -"), "{refusal}");
    let accepted = RnsPlan::new(&program, Request { asked, max_failure: Some(-20.0), ..request() }).unwrap();
    assert!((-60.0..=-20.0).contains(&accepted.failure_log2().unwrap()));
}

/// The failure probability includes the overflow of each bootstrap and the output's bound.
#[test]
fn overflow_of_ckks_bootstraps_counts_in_the_failure_probability() {
    let bootstrapped = |count| {
        let mut builder = Builder::new("bootstrapped", Scheme::Ckks, 1024).unwrap();
        let mut x = builder.input("x").unwrap();
        for _ in 0..count {
            x = builder.bootstrap(x).unwrap();
        }
        builder.output("y", x).unwrap();
        Arc::new(builder.finish().unwrap())
    };
    let asked = Some(ParameterRequest::Name("toy-11-boot-f1"));
    let request = Request { asked, security: 0.0, max_failure: Some(0.0), ..request() };
    let failure = |count| RnsPlan::new(&bootstrapped(count), request.clone()).unwrap().failure_log2().unwrap();
    let overflow = |count| (failure(count).exp2() - (-40f64).exp2()).log2();
    assert!(overflow(1) > -80.0, "{}", overflow(1));
    assert!((overflow(4) - overflow(1) - 2.0).abs() < 1e-3, "{} and {}", overflow(1), overflow(4));
    let accepted = (failure(1) + failure(4)) / 2.0;
    let strict = Request { max_failure: Some(accepted), ..request.clone() };
    assert!(RnsPlan::new(&bootstrapped(1), strict.clone()).is_ok());
    assert_eq!(RnsPlan::new(&bootstrapped(4), strict).unwrap_err().fault, Fault::Noise);
}

#[test]
fn programs_deeper_than_every_chain_are_bootstrapped() {
    let shallow = RnsPlan::new(&squarings(Scheme::Ckks, 4, 3), request()).unwrap();
    let deep = RnsPlan::new(&squarings(Scheme::Ckks, 4, 40), request()).unwrap();
    assert!(!shallow.is_changed() && deep.is_changed());
    let bootstraps = |plan: &RnsPlan| set_choice::bootstraps_of(plan.program());
    assert!(bootstraps(&shallow) == 0 && bootstraps(&deep) > 0);
    assert!(degree(&shallow) < degree(&deep));
}

/// The signature alone determines the bytes of the keys, as the plan states them; a signature that names a key twice is invalid.
#[test]
fn a_signature_determines_the_bytes_of_its_keys() {
    for program in [squarings(Scheme::Ckks, 8, 2), squarings(Scheme::Bgv { plaintext_modulus: T }, 8, 2)] {
        let plan = RnsPlan::new(&program, request()).unwrap();
        let signature = plan.signature().unwrap();
        assert_eq!(signature.key_bytes(), plan.bytes_of_keys(), "{}", program.name());
        let mut literal = signature.literal().clone();
        literal.keys.push(literal.keys[0].clone());
        let twice = Signature::check(literal).unwrap_err().to_string();
        assert!(twice.contains(" is there twice, and each is there once"), "{twice}");
        let mut literal = signature.literal().clone();
        literal.program = "\x1b[2J".to_owned();
        let named = Signature::check(literal).unwrap_err().to_string();
        assert!(named.starts_with(r"the signature of \u{1b}[2J: the program's name is "), "{named}");
        assert!(!named.contains('\x1b'), "{named}");
    }
}

#[test]
fn a_set_of_the_other_scheme_is_refused() {
    let program = squarings(Scheme::Ckks, 4, 1);
    let asked = Some(ParameterRequest::Name("bgv-2p12-109"));
    let refusal = RnsPlan::new(&program, Request { asked, ..request() }).unwrap_err();
    assert!(
        refusal.fault == Fault::Parameter
            && ["bgv-2p12-109", "BGV", "CKKS"].iter().all(|part| refusal.to_string().contains(part)),
        "{refusal}"
    );
}

/// One of the sets with 14 levels in F1's words decomposes limbs into bits, which F1 does not support.
#[test]
fn the_error_without_a_set_names_supported_sets() {
    let program = squarings(Scheme::Ckks, 4, 14);
    let machine = machine("f1");
    let on = |asked, security| {
        let request = Request { asked, machine: Some(&machine), security, ..request() };
        RnsPlan::new(&program, request)
    };
    let refusal = on(None, 0.0).unwrap_err().to_string();
    let named: Vec<&str> = refusal.split([' ', ';']).filter(|word| word.starts_with("f1-14-")).collect();
    assert!(named.len() > 1, "{refusal}");
    for name in named {
        let plan = on(Some(ParameterRequest::Name(name)), 0.0).unwrap();
        rns::estimate(&machine, plan.kernel()).unwrap();
    }
    // A request for 128 bits excludes weaker sets.
    let strict = on(None, 128.0).unwrap_err().to_string();
    assert!(!strict.contains("f1-14-") && strict.contains("FILE.toml"), "{strict}");
}

#[test]
fn a_modulus_without_slots_is_rejected_with_alternatives() {
    let planned = |modulus| RnsPlan::new(&squarings(Scheme::Bgv { plaintext_modulus: modulus }, 2, 1), request());
    for (modulus, fault) in [(3, Fault::Parameter), (97, Fault::Parameter), (40_961, Fault::Noise)] {
        let refusal = planned(modulus).unwrap_err();
        let (text, bits) = (refusal.to_string(), 2 * (u64::ilog2(modulus) + 1));
        assert_eq!(refusal.fault, fault, "{text}");
        for part in ["have no slots in rings of degree", "the prime 65537", &format!("pf.UInt({bits})")] {
            assert!(text.contains(part), "{text}");
        }
        assert!(!text.contains("another set"), "{text}");
    }
    // The suggested alternatives work.
    planned(65_537).unwrap();
    for modulus in [2, 4, 64, 128] {
        let program = squarings(Scheme::Bgv { plaintext_modulus: modulus }, 1, 1);
        RnsPlan::new(&program, request()).unwrap();
    }
    // All tried rings have slots, so the error is about noise.
    let deep = RnsPlan::new(&squarings(Scheme::Bgv { plaintext_modulus: T }, 8, 60), request()).unwrap_err();
    assert!(!deep.to_string().contains("no slots"), "{deep}");
}

fn machine(name: &str) -> Machine {
    polyfabric_machines::description(name).unwrap()
}

/// `table` of x, of the result, and so on, `rounds` times in all; and of x once more, with another table.
fn looked_up(table: &Table, slots: usize, rounds: usize) -> Arc<Program> {
    let mut builder = Builder::new("looked-up", Scheme::Ckks, slots).unwrap();
    let x = builder.input("x").unwrap();
    let other = Table::new(&vec![0; table.len()], 2).unwrap();
    let other = builder.lookup(x, Arc::new(other)).unwrap();
    let y = (0..rounds).fold(x, |y, _| builder.lookup(y, Arc::new(table.clone())).unwrap());
    builder.output("other", other).unwrap();
    builder.output("y", y).unwrap();
    Arc::new(builder.finish().unwrap())
}

#[test]
fn lookups_of_one_operand_are_one_bootstrap() {
    let table = Table::new(&[1, 0, 3, 2], 4).unwrap();
    let asked = Some(ParameterRequest::Name("toy-10-lookup"));
    let plan = RnsPlan::new(&looked_up(&table, 8, 3), Request { asked, security: 0.0, ..request() }).unwrap();
    // A bootstrap switches to the ephemeral secret once.
    let switches = plan.kernel().ops.iter();
    let switches =
        switches.filter(|op| matches!(op.kind, OpKind::InnerProduct { key: KeyId::Encapsulate, .. })).count();
    assert_eq!(switches, 3);
    assert_eq!(plan.facts().unwrap()["bootstraps"]["in_all"], switches);
}

/// The set with long tables has them alone, and a bootstrap with it is more work than one with short tables.
#[test]
fn the_smallest_set_with_the_programs_tables_is_taken() {
    let identity = |p: u32| Table::new(&(0..p).collect::<Vec<u32>>(), p).unwrap();
    let mut works = Vec::new();
    for (entries, rounds, name) in [
        (2, 1, "ckks-lookup-735"),
        (3, 1, "ckks-lookup-750"),
        (4, 1, "ckks-lookup-750"),
        (5, 1, "ckks-lookup-762"),
        (16, 1, "ckks-lookup-762"),
        (17, 1, "ckks-lookup-1522"),
        (256, 2, "ckks-lookup-1522"),
    ] {
        let program = looked_up(&identity(entries), 8, rounds);
        assert_eq!(choose_ckks(&program, 128.0, 0.0).unwrap().name(), name);
        works.push(lookup_work(&program).unwrap());
    }
    let [two, _, four, _, short, long, both] = works[..] else { panic!("seven programs") };
    assert!(two < four && four < short && long > 3.0 * short && both > 1.5 * long && both < 2.0 * long, "{works:?}");
    let longest = looked_up(&identity(257), 8, 1);
    assert!(lookup_work(&longest).is_err());
    assert!(RnsPlan::new(&longest, request()).is_err());
}

/// The bounds, as log2 of a step, of `rounds` lookups after each other of the most sensitive table of p entries, on a machine with `set`.
fn bounds_on(name: &str, p: u32, rounds: usize, set: &str) -> Vec<f64> {
    let mut entries = vec![p / 2 + 1; p as usize];
    entries[0] = p / 2;
    let program = looked_up(&Table::new(&entries, p).unwrap(), 1 << 15, rounds);
    let machine = machine(name);
    let plan = RnsPlan::new(&program, Request { machine: Some(&machine), ..request() }).unwrap();
    assert!(plan.set().name().starts_with(set) && bits(&plan) >= 128.0, "{}", plan.set().name());
    assert!(plan.failure_log2().unwrap() <= DEFAULT_FAILURE_LOG2);
    let Lowering::Ckks(plan) = plan.lowering else { panic!("a program of CKKS") };
    let lookups = program.iter().filter(|(_, node)| matches!(node.op, Op::Lookup { .. }));
    lookups.map(|(id, _)| (f64::from(p) * plan.noise.node(id).unwrap().bound).log2()).collect()
}

/// With the lowering of F1, whose words have 32 bits, errors stay bounded over many lookups of the most sensitive table.
#[test]
fn lookups_of_f1s_set_keep_their_bound() {
    let bounds = bounds_on("f1", 16, 14, "ckks-lookup-820");
    assert!(bounds.iter().all(|&bound| bound < -7.0), "{bounds:?}");
}

/// Tables of 256 entries in words of 32 and of 40 bits.
#[test]
fn long_tables_of_machines_keep_their_bound() {
    for (name, set) in [("f1", "ckks-lookup-1292"), ("osiris", "ckks-lookup-1508")] {
        let bounds = bounds_on(name, 256, 3, set);
        println!("{name}: {bounds:.2?}");
        assert!(bounds.iter().all(|&bound| bound < -10.0), "{name}: {bounds:?}");
    }
}

/// z = x + rotate(x, 1); with `products`, z·y three times, squared, and z·y once more.
fn turned(products: bool) -> Arc<Program> {
    let mut builder = Builder::new("turned", Scheme::Bgv { plaintext_modulus: T }, 4096).unwrap();
    let x = builder.input("x").unwrap();
    let one = builder.rotate(x, 1).unwrap();
    let mut z = builder.add(x, one).unwrap();
    if products {
        let y = builder.input("y").unwrap();
        for _ in 0..3 {
            z = builder.mul(z, y).unwrap();
        }
        z = builder.square(z).unwrap();
        z = builder.mul(z, y).unwrap();
    }
    builder.output("z", z).unwrap();
    Arc::new(builder.finish().unwrap())
}

#[test]
fn a_key_switch_that_fails_too_often_is_refused_and_never_chosen() {
    let f1 = machine("f1");
    for (program, machine) in [(turned(false), None), (turned(true), Some(&f1))] {
        let request = Request { machine, key_switch: KeySwitchRequest::Compiler, ..request() };
        let chosen = |plan: &RnsPlan| plan.facts().unwrap()["key_switch"].clone();
        let plan = RnsPlan::new(&program, request.clone()).unwrap();
        assert!(plan.failure_log2().unwrap() <= DEFAULT_FAILURE_LOG2);
        let best = chosen(&plan);
        let considered = best["considered"].as_array().unwrap();
        let listing1 = considered.iter().find(|row| row["name"] == "listing1").unwrap();
        assert!(listing1["refused"].as_str().unwrap().contains("it may fail with probability 2^-3"), "{listing1}");
        assert_ne!(best["name"], "listing1");
        // Accepting its failure probability selects the cheapest.
        let any = RnsPlan::new(&program, Request { max_failure: Some(0.0), ..request.clone() }).unwrap();
        assert_eq!(chosen(&any)["name"], "listing1");
        // If no variant fails rarely enough, the error names each.
        let refusal = RnsPlan::new(&program, Request { max_failure: Some(-1e4), ..request }).unwrap_err();
        let text = refusal.to_string();
        assert!(refusal.fault == Fault::Noise && text.contains("listing1: it may fail"), "{text}");
        assert!(text.contains(&format!("{}: it may fail", best["name"].as_str().unwrap())), "{text}");
    }
}

/// The square of an input over `limbs` limbs.
fn squared_over(limbs: usize) -> Arc<Program> {
    let mut builder = Builder::new("over", Scheme::Bgv { plaintext_modulus: T }, 4096).unwrap();
    let x = builder.input_with("x", Some(limbs - 1), 1.0).unwrap();
    let square = builder.square(x).unwrap();
    builder.output("y", square).unwrap();
    Arc::new(builder.finish().unwrap())
}

#[test]
fn inputs_have_the_limbs_that_are_asked_for() {
    let f1 = machine("f1");
    for machine in [None, Some(&f1)] {
        let request = Request { machine, ..request() };
        for limbs in [4, 16] {
            let plan = RnsPlan::new(&squared_over(limbs), request.clone()).unwrap();
            let nodes = plan.facts().unwrap()["nodes"].clone();
            assert_eq!(nodes[0]["limbs"], limbs);
        }
        // Also for the largest ring, which has no slots, and for a named one.
        let refusal = RnsPlan::new(&squared_over(99), request.clone()).unwrap_err().to_string();
        assert!(refusal.contains("L=99") && refusal.contains("98"), "{refusal}");
        let asked = Some(ParameterRequest::Name("f1-listing2"));
        let refusal = RnsPlan::new(&squared_over(40), Request { asked, ..request.clone() }).unwrap_err().to_string();
        assert!(refusal.contains("the parameters have 16; lower L"), "{refusal}");
        let refusal = RnsPlan::new(&squared_over(1), request).unwrap_err().to_string();
        assert!(refusal.contains("raise L"), "{refusal}");
    }
}

#[test]
fn sets_for_a_machine_fit_its_words() {
    for name in ["f1", "osiris"] {
        let machine = machine(name);
        let words = rns::word_bits(&machine, "any").unwrap();
        let program = squarings(Scheme::Bgv { plaintext_modulus: T }, 8, 1);
        let plan = RnsPlan::new(&program, Request { machine: Some(&machine), ..request() }).unwrap();
        let Lowering::Bgv(plan) = plan.lowering else { panic!("a program of BGV") };
        let literal = plan.parameters.literal();
        assert!(literal.q_bits.iter().chain(&literal.special_bits).all(|&bits| bits <= words), "{literal:?}");
        // The name alone determines the set of saved keys.
        assert!(literal.name.ends_with("x32"), "{literal:?}");
        assert_eq!(named_bgv(&literal.name, T).unwrap(), plan.parameters);
    }
    let narrow = named_bgv("bgv-2p13-7x28", T).unwrap();
    assert!(narrow.ring().moduli().iter().all(|modulus| modulus.bits() == 28));
}

#[test]
fn moduli_that_no_ring_bootstraps_are_rejected_with_the_largest() {
    let refusal = RnsPlan::new(&refreshed(1 << 59), request()).unwrap_err().to_string();
    assert!(refusal.contains("2^39") && refusal.contains("2^59"), "{refusal}");
    RnsPlan::new(&refreshed(256), request()).unwrap();
}

#[test]
fn more_operations_take_more_of_processors_and_every_client_takes_some() {
    for scheme in [Scheme::Ckks, Scheme::Bgv { plaintext_modulus: T }] {
        let [few, many] = [1, 4].map(|count| RnsPlan::new(&squarings(scheme, 1024, count), request()).unwrap());
        // Compare counts, because times of so little work vary more than the programs do.
        let [one, four] = [&few, &many].map(|plan| plan.efforts().unwrap());
        for (effort, &count) in &one {
            assert!(0 < count && count <= four[effort], "{scheme:?}: {effort:?} {count} and {}", four[effort]);
        }
        assert!(four[&Effort::KeyProduct] > one[&Effort::KeyProduct], "{scheme:?}: {one:?}, {four:?}");
        assert!(few.execution_seconds().unwrap() > 0.0);
        let client = many.client_seconds().unwrap();
        assert!(client.keys > 0.0 && client.encrypt > 0.0 && client.decrypt > 0.0, "{client:?}");
    }
}

#[test]
fn times_are_counts_times_unit_times() {
    let efforts = BTreeMap::from([(Effort::Forward, 5), (Effort::Add, 100), (Effort::Wide, 0)]);
    let once = |effort| match effort {
        Effort::Forward => Ok(2.0),
        Effort::Add => Ok(0.25),
        other => panic!("{other:?} does not occur"),
    };
    assert_eq!(cost::seconds_by(&efforts, once).unwrap(), 35.0);
}

/// Several owners: secrets and keys with more noise, and outputs with that of smudging, all of which the bounds contain.
#[test]
fn several_owners_have_sets_and_bounds_of_their_own() {
    let several = |parties, smudging_bits| Request { owners: Owners { parties, smudging_bits }, ..request() };
    for scheme in [Scheme::Ckks, Scheme::Bgv { plaintext_modulus: T }] {
        let program = squarings(scheme, 8, 1);
        let plan = RnsPlan::new(&program, several(3, 40.0)).unwrap();
        let name = plan.set().name().to_owned();
        assert!(name.ends_with("-parties-3"), "{name}");
        let signature = plan.signature().unwrap();
        let smudging = signature.terminals(true)[0].smudging.unwrap();
        assert_eq!((smudging.bits, signature.terminals(false)[0].smudging), (40.0, None));
        // The set's name is enough, and has no other number of owners.
        let asked = Some(ParameterRequest::Name(&name));
        let named = RnsPlan::new(&program, Request { asked, ..request() }).unwrap();
        assert_eq!(named.signature().unwrap(), signature);
        assert!(RnsPlan::new(&program, Request { asked, ..several(4, 40.0) }).is_err());
        let more = RnsPlan::new(&program, several(3, 48.0)).unwrap().signature().unwrap();
        assert!(more.terminals(true)[0].smudging.unwrap().log2_deviation > smudging.log2_deviation + 6.0);
        for (parties, bits) in [(3, 39.9), (3, f64::NAN), (65, 40.0)] {
            assert!(RnsPlan::new(&program, several(parties, bits)).is_err(), "{parties}, {bits}");
        }
        assert!(RnsPlan::new(&program, Request { measured: true, ..several(3, 40.0) }).is_err());
    }
    assert!(RnsPlan::new(&refreshed(2), several(3, 40.0)).is_err(), "bootstrapping has one owner");
}
