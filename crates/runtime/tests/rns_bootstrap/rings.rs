//! Whole bootstrapping on small rings.

use super::common::{ChainLiteral, Client, precision, random_slots};
use polyfabric_program::rns::approximation::modular_reduction::{Method, Nodes, ReductionLiteral};
use polyfabric_program::rns::lowering::Hoisting;
use polyfabric_program::rns::lowering::bootstrap::{
    BootstrapOrder, Bootstrapping, BootstrappingLiteral, BootstrappingSecret,
};
use polyfabric_schemes::rns::{KeyStorage, LimbId};

const EPHEMERAL: usize = 32;

fn reduction() -> ReductionLiteral {
    ReductionLiteral {
        method: Method::Cosine,
        range: 17,
        degree: 30,
        doublings: 3,
        nodes: Nodes::Integers { radius: 2f64.powi(-8), hamming_weight: EPHEMERAL, floor_log2: -24.0 },
        arcsine_degree: 0,
        largest_message: 2f64.powi(-8),
    }
}

/// The residual levels, then those of the phases. Levels of the modular reduction alternate between one prime of 49 bits and two of 38, which needs fewer primes than two at
/// every level. Those of coefficients to slots drop one prime, except the last.
fn chain(log_degree: u32, residual: usize, to_coefficients: usize, reduction: usize, to_slots: usize) -> ChainLiteral {
    let mut levels = vec![vec![48]];
    levels.extend(vec![vec![40]; residual]);
    levels.extend(vec![vec![41]; to_coefficients]);
    levels.extend((0..reduction).rev().map(|depth| if depth % 2 == 0 { vec![49] } else { vec![38, 38] }));
    levels.extend((0..to_slots).map(|level| if level == 0 { vec![35, 35] } else { vec![49] }));
    ChainLiteral { log_degree, levels, special: vec![49; 4], digit: 4, scale_log2: 40.0, hoisting: Hoisting::Double }
}

fn encapsulated(literal: &ChainLiteral) -> BootstrappingSecret {
    let special = vec![LimbId(literal.limbs() as u16)];
    BootstrappingSecret::Encapsulated { hamming_weight: EPHEMERAL, special }
}

fn check(name: &str, literal: &ChainLiteral, bootstrapping: BootstrappingLiteral, bits: f64) {
    let client = Client::new(literal, 192.min(1 << (literal.log_degree - 2)), EPHEMERAL);
    let slots = bootstrapping.slots;
    let plan = Bootstrapping::new(bootstrapping, &client.chain, &client.choice).unwrap();
    let mut lowering = client.lowering("bootstrap");
    let level = plan.input_level();
    let a = lowering.input("x", level, 1.0).unwrap();
    let fresh = lowering.bootstrap(&a, &plan).unwrap();
    assert_eq!(fresh.level, plan.output_level());
    assert_eq!(fresh.scale, client.chain.scale(fresh.level));
    lowering.output("y", &fresh);
    let program = lowering.finish().unwrap();
    let keys = client.keys(&program, Some(&plan), KeyStorage::BYTES);
    let input = random_slots(slots, 11);
    let start = std::time::Instant::now();
    let outputs = client.run(&program, &keys, &[&client.encrypt(&input, level, 12)]);
    let elapsed = start.elapsed();
    let found = client.decrypt(outputs, fresh.scale.real(), slots);
    let (worst, mean) = precision(&found, &input);
    let [bound, every] = client.bounds(&fresh);
    let (top, count, bytes) = (plan.top(), keys.ids().count(), keys.bytes() as f64 / 2f64.powi(20));
    println!(
        "{name}: to level {} of {top}, {worst:.1} bits at least, mean {mean:.1}, bound {bound:.1} ({every:.1} of every message), {count} keys of {bytes:.1} MiB, {} operations, {elapsed:.2?}",
        fresh.level,
        program.ops.len()
    );
    assert!(worst >= bits, "{name}: {worst} bits");
    assert!(worst >= bound, "{name}: {worst} bits, bound {bound}");
}

fn bootstrapping(
    literal: &ChainLiteral,
    order: BootstrapOrder,
    slots: usize,
    levels: [usize; 2],
) -> BootstrappingLiteral {
    BootstrappingLiteral {
        order,
        slots,
        secret: encapsulated(literal),
        coefficients_to_slots: levels[0],
        slots_to_coefficients: levels[1],
        reduction: reduction(),
    }
}

#[test]
fn full_packing() {
    let literal = chain(10, 2, 2, 8, 2);
    let bootstrapping = bootstrapping(&literal, BootstrapOrder::Full, 512, [2, 2]);
    check("full packing", &literal, bootstrapping, 21.0);
}

#[test]
fn larger_rings_are_limited_by_noise() {
    let literal = chain(12, 2, 3, 8, 4);
    let bootstrapping = bootstrapping(&literal, BootstrapOrder::Full, 2048, [4, 3]);
    check("full packing", &literal, bootstrapping, 22.5);
}

#[test]
fn sparse_packing() {
    let literal = chain(11, 2, 2, 8, 2);
    for slots in [2, 16, 512] {
        let levels = if slots == 2 { [1, 1] } else { [2, 2] };
        let literal = if slots == 2 { chain(11, 2, 1, 8, 1) } else { literal.clone() };
        let bootstrapping = bootstrapping(&literal, BootstrapOrder::Full, slots, levels);
        check(&format!("{slots} slots"), &literal, bootstrapping, 12.0);
    }
}

#[test]
fn fewer_slots_than_the_transforms_have_levels() {
    let literal = chain(11, 2, 3, 8, 4);
    for (slots, left) in [(1, 4), (2, 4), (4, 3), (8, 2)] {
        let bootstrapping = bootstrapping(&literal, BootstrapOrder::Full, slots, [4, 3]);
        let client = Client::new(&literal, 192, EPHEMERAL);
        let plan = Bootstrapping::new(bootstrapping.clone(), &client.chain, &client.choice).unwrap();
        // The transforms skip levels: the modulus is not raised to the highest ones, and the result keeps the lowest ones.
        let butterflies = slots.ilog2().max(1) as usize;
        assert_eq!((plan.top(), plan.output_level()), (13 + butterflies.min(4), left));
        check(&format!("{slots} slots of a chain for more"), &literal, bootstrapping, 12.0);
    }
    let literal = chain(10, 5, 3, 11, 4);
    for slots in [1, 4] {
        let mut slim = bootstrapping(&literal, BootstrapOrder::Slim, slots, [4, 3]);
        slim.reduction.arcsine_degree = 5;
        check(&format!("slim, {slots} slots of a chain for more"), &literal, slim, 16.0);
    }
}

#[test]
fn one_slot_is_not_packed() {
    let literal = chain(11, 2, 1, 8, 1);
    let bootstrapping = bootstrapping(&literal, BootstrapOrder::Full, 1, [1, 1]);
    check("one slot", &literal, bootstrapping, 12.0);
}

#[test]
fn slim() {
    // Slots are raised as coefficients of any size, so precision requires the arcsine.
    for (slots, residual) in [(512, 4), (16, 5)] {
        let literal = chain(10, residual, 0, 11, 2);
        let mut slim = bootstrapping(&literal, BootstrapOrder::Slim, slots, [2, 2]);
        slim.reduction.arcsine_degree = 5;
        check(&format!("slim, {slots} slots"), &literal, slim, 18.0);
    }
}

#[test]
fn a_dense_secret_needs_a_wider_range() {
    // |I| up to eight deviations of √(193/12) = 4.
    let literal = chain(10, 2, 2, 9, 2);
    let mut dense = bootstrapping(&literal, BootstrapOrder::Full, 512, [2, 2]);
    dense.secret = BootstrappingSecret::Dense { hamming_weight: 192 };
    dense.reduction = ReductionLiteral { range: 33, degree: 62, doublings: 3, nodes: Nodes::Interval, ..reduction() };
    check("dense secret", &literal, dense, 20.0);
}

#[test]
fn the_arcsine_supports_large_messages() {
    // One slot: its two coefficients are as large as the slot, and the sine alone errs by 2^-13.
    let literal = chain(11, 2, 1, 11, 1);
    let mut with = bootstrapping(&literal, BootstrapOrder::Full, 1, [1, 1]);
    with.reduction.arcsine_degree = 5;
    check("one slot, arcsine", &literal, with, 22.0);
}

#[test]
fn the_exponential_reduces_too() {
    // HEAAN's series of degree 7 and eight squarings; one slot, several, and all.
    for (slots, bits) in [(1, 12.0), (16, 12.0), (512, 16.0)] {
        let literal = chain(10, 1, 1, 11, 1);
        let mut made = bootstrapping(&literal, BootstrapOrder::Full, slots, [1, 1]);
        made.reduction = ReductionLiteral { method: Method::Exponential, degree: 7, doublings: 8, ..reduction() };
        check(&format!("exponential, {slots} slots"), &literal, made, bits);
    }
    // The arcsine follows it as it follows the cosine.
    let literal = chain(10, 1, 1, 14, 1);
    let mut made = bootstrapping(&literal, BootstrapOrder::Full, 1, [1, 1]);
    made.reduction =
        ReductionLiteral { method: Method::Exponential, degree: 7, doublings: 8, arcsine_degree: 5, ..reduction() };
    check("exponential, one slot, arcsine", &literal, made, 16.0);
}

#[test]
fn impossible_bootstrappings_are_rejected() {
    let literal = chain(10, 0, 1, 8, 2);
    let client = Client::new(&literal, 64, EPHEMERAL);
    let made = |change: &dyn Fn(&mut BootstrappingLiteral)| {
        let mut wanted = bootstrapping(&literal, BootstrapOrder::Full, 512, [2, 1]);
        change(&mut wanted);
        Bootstrapping::new(wanted, &client.chain, &client.choice).map(|plan| plan.output_level())
    };
    assert_eq!(made(&|_| ()), Ok(0));
    let error = |change: &dyn Fn(&mut BootstrappingLiteral)| made(change).unwrap_err().to_string();
    let names = |text: String, parts: &[&str]| assert!(parts.iter().all(|part| text.contains(part)), "{text}");
    names(error(&|literal| literal.slots = 1024), &["1024", "512"]);
    names(error(&|literal| literal.slots_to_coefficients = 0), &["0 levels"]);
    names(error(&|literal| literal.slots_to_coefficients = 3), &["13", "11"]);
    names(
        error(&|literal| literal.reduction.largest_message = 2f64.powi(-9)),
        &["2^40.0", "2^48.0", "2^-8.0", "2^-9.0"],
    );
    let secret = BootstrappingSecret::Encapsulated { hamming_weight: EPHEMERAL, special: vec![LimbId(1)] };
    names(error(&|literal| literal.secret = secret.clone()), &["41.0", "48.0"]);
}
