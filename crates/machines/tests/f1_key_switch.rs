//! Does the compiler's choice of key switch depend on L and on the reuse of hints, and does the program always tolerate its noise?

use polyfabric_machines::contract::options::Given;
use polyfabric_machines::contract::rns::{ckks_lowering, estimate, map};
use polyfabric_machines::description;
use polyfabric_machines::key_switch::{Chosen, choose};
use polyfabric_program::rns::builtin::matrix_vector::inner_sum;
use polyfabric_program::rns::homomorphic::{Builder, Program, Scheme};
use polyfabric_program::rns::lowering::{LevelPolicy, Lowered, RnsLowering, SPARE_BITS, Target, lower};
use polyfabric_program::rns::noise::{Encryption, NoiseReport};
use polyfabric_program::rns::parameters;
use polyfabric_schemes::ckks::{Encoder, sets};
use polyfabric_schemes::rns::KeySwitchVariant;

/// The sums of the slots of `vectors` vectors with `limbs` limbs. Every hint is used once per vector.
fn sums(vectors: usize, limbs: usize) -> Program {
    let mut builder = Builder::new("sums", Scheme::Ckks, 8192).expect("a program");
    for vector in 0..vectors {
        let input = builder.input_with(&format!("x{vector}"), Some(limbs - 1), 1.0).expect("an input");
        let sum = inner_sum(&mut builder, input).expect("a sum");
        builder.output(&format!("sum{vector}"), sum).expect("an output");
    }
    builder.finish().expect("a program")
}

/// `program` with a variant of a set with F1's primes, and its noise.
fn lowered(program: &Program, set: &str, variant: KeySwitchVariant) -> (Lowered, NoiseReport) {
    let machine = description("f1").expect("a machine");
    let set = sets::parameters(set).expect("a set").with_key_switch(variant).expect("primes");
    let chain = parameters::chain(&set).expect("a chain");
    let choice = ckks_lowering(&machine, "sums", set.gadget().literal().clone()).expect("a choice");
    let choice = RnsLowering { levels: LevelPolicy::Highest, ..choice };
    let (encoder, model) = (Encoder::new(set.ring_degree()), parameters::model(&set, Encryption::Public));
    let encoder = parameters::SlotEncoder(&encoder);
    let target =
        Target { chain: &chain, choice: &choice, model, encoder: &encoder, bootstrapping: None, observed: false };
    let lowered = lower(program, &target).expect("it is lowered");
    let noise = NoiseReport::new(program, &lowered, &chain, &model);
    (lowered, noise)
}

/// The compiler's choice among all variants of `set`. If `own` is given, only variants that are as precise are considered.
fn chosen(program: &Program, set: &str, own: Option<KeySwitchVariant>) -> String {
    let machine = description("f1").expect("a machine");
    let limbs = sets::parameters(set).expect("a set").q_limbs();
    let own = own.map(|variant| lowered(program, set, variant).1);
    let lower = |variant: &KeySwitchVariant| {
        let (lowered, noise) = lowered(program, set, *variant);
        if let Some(own) = &own {
            noise.require_like(own, SPARE_BITS).map_err(|failure| failure.to_string())?;
        }
        Ok(lowered)
    };
    let variants = KeySwitchVariant::all(limbs);
    let chosen: Chosen<Lowered> = choose(&machine, "sums", &variants, lower, |made| &made.kernel).expect("a choice");
    let estimates = chosen.considered.iter().filter_map(|weighed| Some(weighed.outcome.as_ref().ok()?.cycles));
    let best = chosen.considered[chosen.index].outcome.as_ref().expect("not refused").cycles;
    assert!(estimates.into_iter().all(|other| best <= other));
    chosen.considered[chosen.index].name.clone()
}

#[test]
fn the_choice_follows_l_and_reuse() {
    let choice = |vectors, limbs| chosen(&sums(vectors, limbs), "f1-14-L16", None);
    // Each hint is used once: memory is the bottleneck. More limbs lead to fewer digits, down to hints that grow with L.
    assert_eq!([2, 8, 16].map(|limbs| choice(1, limbs)), ["listing1", "d2", "d1"]);
    // Each hint is used 32 times: the units are the bottleneck.
    assert_eq!(choice(32, 8), "listing1");
}

#[test]
fn a_variant_whose_noise_swamps_the_scale_is_not_chosen() {
    // Without regard to noise, Listing 1 is chosen.
    let program = sums(32, 2);
    assert_eq!(chosen(&program, "f1-14-L16", None), "listing1");
    let careful = chosen(&program, "f1-14-L16", Some(KeySwitchVariant::Digits(16)));
    assert_ne!(careful, "listing1");
}

#[test]
fn the_estimated_traffic_is_about_the_schedules() {
    let machine = description("f1").expect("a machine");
    for variant in [KeySwitchVariant::PerLimb, KeySwitchVariant::Digits(4)] {
        let (lowered, _) = lowered(&sums(4, 16), "f1-14-L16", variant);
        let estimate = estimate(&machine, &lowered.kernel).expect("an estimate");
        let mapped = map(&machine, &lowered.kernel, "", &Given::new()).expect("it compiles");
        let report = mapped.report();
        let traffic = &report.traffic_bytes;
        assert_eq!(estimate.hint_bytes_once, traffic["hints"], "{variant}");
        let moved = (traffic["total"] - traffic["instructions"]) as f64;
        let estimated = (estimate.hint_bytes + estimate.other_bytes) as f64;
        assert!((estimated / moved - 1.0).abs() < 0.15, "{variant}: {estimated} bytes estimated, {moved} moved");
        // Units do the estimated work, and no schedule is faster than they are.
        let multiply = estimate.loads.iter().find(|(name, _)| *name == "multiply").expect("a resource").1;
        assert!((multiply - report.limits["multiply"] as f64).abs() <= 128.0);
        assert!(estimate.loads.iter().take(4).all(|&(_, load)| load <= report.cycles as f64));
    }
}
