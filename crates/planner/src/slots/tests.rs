//! Do programs get the smallest set that carries them and fails rarely enough, are bootstraps placed, and is what no set or key switch does refused?

use super::*;
use polyfabric_program::rns::homomorphic::Builder;

const T: u64 = 65537;

fn request() -> Request<'static> {
    Request {
        asked: None,
        encryption: Encryption::Secret,
        measured: false,
        machine: None,
        key_switch: KeySwitchRequest::Set,
        security: 128.0,
        max_failure: None,
    }
}

/// x squared so many times.
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

fn degree(plan: &SlotPlan) -> usize {
    plan.kernel().degree.get()
}

/// Of security.
fn bits(plan: &SlotPlan) -> f64 {
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
        let plan = SlotPlan::new(&program, request()).unwrap();
        let failure = plan.failure_log2().unwrap();
        assert!(failure <= DEFAULT_FAILURE_LOG2, "depth {depth}: 2^{failure}");
        assert!(degree(&plan) >= last && bits(&plan) >= 128.0, "depth {depth}");
        last = degree(&plan);
    }
    assert!(last >= 1 << 15);
}

#[test]
fn bootstraps_keep_to_the_default_in_sets_of_their_own() {
    for modulus in [2, 4, 16] {
        let plan = SlotPlan::new(&refreshed(modulus), request()).unwrap();
        assert!(plan.failure_log2().unwrap() <= DEFAULT_FAILURE_LOG2, "modulo {modulus}");
    }
}

#[test]
fn a_named_set_that_fails_too_often_is_refused_unless_that_is_accepted() {
    let program = refreshed(8);
    let asked = Some(ParameterRequest::Name("bgv-toy-256-bootstrap-t8"));
    let refusal = SlotPlan::new(&program, Request { asked, ..request() }).unwrap_err();
    assert!(refusal.fault == Fault::Noise && refusal.to_string().contains("--max-failure -"), "{refusal}");
    let accepted = SlotPlan::new(&program, Request { asked, max_failure: Some(-20.0), ..request() }).unwrap();
    assert!((-60.0..=-20.0).contains(&accepted.failure_log2().unwrap()));
}

#[test]
fn programs_deeper_than_every_chain_are_bootstrapped() {
    let shallow = SlotPlan::new(&squarings(Scheme::Ckks, 4, 3), request()).unwrap();
    let deep = SlotPlan::new(&squarings(Scheme::Ckks, 4, 40), request()).unwrap();
    assert!(!shallow.is_changed() && deep.is_changed());
    let bootstraps = |plan: &SlotPlan| set_choice::bootstraps_of(plan.program());
    assert!(bootstraps(&shallow) == 0 && bootstraps(&deep) > 0);
    assert!(degree(&shallow) < degree(&deep));
}

/// What a client makes is what the plan says that its server takes, from the signature alone; one that names a key twice is none.
#[test]
fn a_signature_tells_the_bytes_of_its_keys() {
    for program in [squarings(Scheme::Ckks, 8, 2), squarings(Scheme::Bgv { plaintext_modulus: T }, 8, 2)] {
        let plan = SlotPlan::new(&program, request()).unwrap();
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
    let refusal = SlotPlan::new(&program, Request { asked, ..request() }).unwrap_err();
    assert!(refusal.fault == Fault::Parameter && refusal.to_string().contains("is of BGV"), "{refusal}");
}

#[test]
fn a_modulus_that_rings_have_no_slots_for_is_told_with_others_near() {
    let planned = |modulus| SlotPlan::new(&squarings(Scheme::Bgv { plaintext_modulus: modulus }, 2, 1), request());
    for (modulus, fault) in [(3, Fault::Parameter), (97, Fault::Parameter), (40_961, Fault::Noise)] {
        let refusal = planned(modulus).unwrap_err();
        let (text, bits) = (refusal.to_string(), 2 * (u64::ilog2(modulus) + 1));
        assert_eq!(refusal.fault, fault, "{text}");
        for told in ["have no slots in rings of degree", "the prime 65537", &format!("pf.UInt({bits})")] {
            assert!(text.contains(told), "{text}");
        }
        assert!(!text.contains("another set"), "{text}");
    }
    // What is told is taken.
    planned(65_537).unwrap();
    for modulus in [2, 4, 64, 128] {
        let program = squarings(Scheme::Bgv { plaintext_modulus: modulus }, 1, 1);
        SlotPlan::new(&program, request()).unwrap();
    }
    // All rings that are tried have slots: it is the noise.
    let deep = SlotPlan::new(&squarings(Scheme::Bgv { plaintext_modulus: T }, 8, 60), request()).unwrap_err();
    assert!(!deep.to_string().contains("no slots"), "{deep}");
}

#[test]
fn more_operations_take_more_of_processors_and_every_client_takes_some() {
    for scheme in [Scheme::Ckks, Scheme::Bgv { plaintext_modulus: T }] {
        let [few, many] = [1, 4].map(|count| SlotPlan::new(&squarings(scheme, 1024, count), request()).unwrap());
        let [one, four] = [&few, &many].map(|plan| plan.execution_seconds().unwrap());
        assert!(0.0 < one && one < four, "{scheme:?}: {one} s, {four} s");
        let client = many.client_seconds().unwrap();
        assert!(client.keys > 0.0 && client.encrypt > 0.0 && client.decrypt > 0.0, "{client:?}");
        // The key of a product is among them.
        assert!(client.keys > client.encrypt, "{client:?}");
    }
}
