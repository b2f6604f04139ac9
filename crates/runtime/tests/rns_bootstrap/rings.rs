//! Whole bootstrapping on small rings.

use crate::common::{ChainLiteral, Client, precision, random_slots};
use polyfabric_program::rns::approximation::modular_reduction::{Nodes, ReductionLiteral};
use polyfabric_program::rns::lowering::Hoisting;
use polyfabric_program::rns::lowering::bootstrap::{
    Bootstrapping, BootstrappingLiteral, BootstrappingOrder, BootstrappingSecret,
};
use polyfabric_schemes::rns::{KeyStorage, LimbId};

const EPHEMERAL: usize = 32;

fn reduction(degree: usize, doublings: usize) -> ReductionLiteral {
    ReductionLiteral {
        range: 17,
        degree,
        doublings,
        nodes: Nodes::Integers { radius: 2f64.powi(-8), hamming_weight: EPHEMERAL, floor_log2: -24.0 },
        arcsine_degree: 0,
        largest_message: 2f64.powi(-8),
    }
}

/// The residual levels, then those of the phases; the modular reduction and coefficients to slots in two primes each.
fn chain(log_degree: u32, residual: usize, to_coefficients: usize, reduction: usize, to_slots: usize) -> ChainLiteral {
    let mut levels = vec![vec![48]];
    levels.extend(vec![vec![40]; residual]);
    levels.extend(vec![vec![42]; to_coefficients]);
    levels.extend(vec![vec![29, 29]; reduction]);
    levels.extend(vec![vec![28, 28]; to_slots]);
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
    let keys = client.keys(&program, Some(&plan), KeyStorage::WORDS);
    let input = random_slots(slots, 11);
    let start = std::time::Instant::now();
    let outputs = client.run(&program, &keys, &[&client.encrypt(&input, level, 12)]);
    let elapsed = start.elapsed();
    let found = client.decrypt(outputs, fresh.scale.real(), slots);
    let (worst, mean) = precision(&found, &input);
    let bound = -(fresh.noise.deviation / fresh.scale.real() * client.model.tail()).log2();
    let (top, count, bytes) = (plan.top(), keys.ids().count(), keys.bytes() as f64 / 2f64.powi(20));
    println!(
        "{name}: to level {} of {top}, {worst:.1} bits at least, mean {mean:.1}, bound {bound:.1}, {count} keys of {bytes:.1} MiB, {} operations, {elapsed:.2?}",
        fresh.level,
        program.ops.len()
    );
    assert!(worst >= bits, "{name}: {worst} bits");
}

#[test]
fn full_packing() {
    let literal = chain(10, 2, 2, 8, 2);
    let bootstrapping = BootstrappingLiteral {
        order: BootstrappingOrder::Full,
        slots: 512,
        secret: encapsulated(&literal),
        coefficients_to_slots: 2,
        slots_to_coefficients: 2,
        reduction: reduction(30, 3),
    };
    check("full packing", &literal, bootstrapping, 20.0);
}
