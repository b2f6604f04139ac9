//! Does the lowering share work, and does it request exactly the needed keys?

use super::{Zeros, chain};
use polyfabric_kernels::RingDegree;
use polyfabric_kernels::automorphism::GaloisElement;
use polyfabric_program::Location;
use polyfabric_program::rns::homomorphic::{Builder, NodeId, Program, ProgramError, Scheme, Values};
use polyfabric_program::rns::kernel::{Op, OpKind};
use polyfabric_program::rns::lowering::{
    Hoisting, Lowered, Lowering, Relinearisation, Rescaling, RnsLowering, Target, check_keys, lower,
};
use polyfabric_program::rns::noise::NoiseModel;
use polyfabric_schemes::rns::{GadgetLiteral, KeyId, KeySet, Ring};

fn program(build: impl FnOnce(&mut Builder) -> Result<NodeId, ProgramError>) -> Program {
    let mut builder = Builder::new("test", Scheme::Ckks, 512).expect("a program");
    let result = build(&mut builder).expect("a node");
    builder.output("result", result).expect("an output");
    builder.finish().expect("a program")
}

fn lowered(program: &Program, change: impl FnOnce(&mut RnsLowering)) -> Lowered {
    let chain = chain(3);
    let mut choice = RnsLowering::new(GadgetLiteral::hybrid(4, 2, 2));
    change(&mut choice);
    let model = NoiseModel::ternary(chain.degree());
    let target =
        Target { chain: &chain, choice: &choice, model, encoder: &Zeros, bootstrapping: None, observed: false };
    lower(program, &target).expect("a kernel program")
}

fn count(lowered: &Lowered, op: &str) -> usize {
    lowered.kernel.ops.iter().filter(|found| found.kind.name() == op).count()
}

fn rotation(steps: i64) -> KeyId {
    KeyId::Galois(GaloisElement::rotation(RingDegree::new(1 << 10).expect("a degree"), steps).value())
}

/// Σ x_i·y_i, and rotations of the sum.
fn dot() -> Program {
    program(|b| {
        let mut sum = None;
        for index in 0..4 {
            let (x, y) = (b.input(&format!("x{index}"))?, b.input(&format!("y{index}"))?);
            let product = b.mul(x, y)?;
            sum = Some(match sum {
                None => product,
                Some(sum) => b.add(sum, product)?,
            });
        }
        let sum = sum.unwrap_or(NodeId(0));
        let mut total = sum;
        for steps in [1, 2, 3, 1] {
            let rotated = b.rotate(sum, steps)?;
            total = b.add(total, rotated)?;
        }
        Ok(total)
    })
}

#[test]
fn a_sum_of_products_is_relinearised_and_rescaled_once() {
    let lazy = lowered(&dot(), |_| {});
    // One relinearization and three different rotations.
    assert_eq!(count(&lazy, "inner_product"), 1 + 3);
    // Two parts each; the relinearization's ModDown includes the rescaling.
    assert_eq!(count(&lazy, "mod_down"), 2 + 3 * 2);
    let eager = lowered(&dot(), |choice| {
        choice.relinearisation = Relinearisation::Eager;
        choice.rescaling = Rescaling::Eager;
    });
    assert_eq!(count(&eager, "inner_product"), 4 + 3);
}

#[test]
fn rotations_share_digits_if_the_choice_hoists() {
    let shared = lowered(&dot(), |_| {});
    // Two digits of the product at level 1, one of the sum at level 0.
    assert_eq!(count(&shared, "mod_up"), 1 + 1);
    let alone = lowered(&dot(), |choice| choice.hoisting = Hoisting::None);
    assert_eq!(count(&alone, "mod_up"), 1 + 3);
}

#[test]
fn keys_are_inferred_with_their_uses() {
    let lowered = lowered(&dot(), |_| {});
    let expected = [KeyId::Relinearisation, rotation(1), rotation(2), rotation(3)];
    let mut found: Vec<KeyId> = lowered.keys.keys().copied().collect();
    found.sort();
    let mut expected = expected.to_vec();
    expected.sort();
    assert_eq!(found, expected);
    // Each once: the product's over both limbs of Q and a special one, the rotations' one level lower.
    let special = lowered.choice.gadget.special.len();
    let limbs = |op: &Op| lowered.kernel.value(op.results[0]).limbs.len() - special;
    let uses = lowered.kernel.ops.iter().filter_map(|op| match op.kind {
        OpKind::InnerProduct { key, .. } => Some((key, limbs(op))),
        _ => None,
    });
    let uses: Vec<_> = uses.collect();
    assert_eq!(uses.len(), 4);
    assert!(uses.contains(&(KeyId::Relinearisation, 2)) && uses.contains(&(rotation(2), 1)), "{uses:?}");
}

#[test]
fn a_missing_key_is_reported_with_the_operation_that_needs_it() {
    let program = program(|b| {
        let x = b.input("x")?;
        b.at(Some(Location { file: "model.py".into(), line: 9 })).rotate(x, 4)
    });
    let lowered = lowered(&program, |_| {});
    let ring = Ring::new(lowered.kernel.degree, &lowered.kernel.moduli).expect("a ring");
    let error = check_keys(&program, &lowered.kernel, &KeySet::new(ring)).expect_err("no keys");
    let KeyId::Galois(element) = rotation(4) else { panic!("a rotation") };
    assert!(
        error
            .to_string()
            .starts_with(&format!("model.py:9: rotate %1: the key of the automorphism {element} is missing")),
        "{error}"
    );
}

#[test]
fn dead_code_and_trivial_operations_cost_nothing() {
    let program = program(|b| {
        let x = b.input("x")?;
        let unused = b.input("unused")?;
        b.mul(x, unused)?;
        let one = b.constant(Values::real(&[1.0]))?;
        let same = b.mul(x, one)?;
        // A rotation by the vector's length.
        b.rotate(same, 512)
    });
    let lowered = lowered(&program, |_| {});
    assert_eq!(lowered.kernel.ops.len(), 2, "{:?}", lowered.kernel.ops);
    assert_eq!(lowered.inputs.len(), 1);
    assert!(lowered.keys.is_empty());
}

#[test]
fn the_same_public_vector_is_encoded_once() {
    let program = program(|b| {
        let (x, y) = (b.input("x")?, b.input("y")?);
        let c = b.constant(Values::real(&vec![0.5; 512]))?;
        let (p, q) = (b.mul(x, c)?, b.mul(y, c)?);
        b.add(p, q)
    });
    assert_eq!(count(&lowered(&program, |_| {}), "plaintext"), 1);
}

#[test]
fn a_gadget_without_a_limb_of_the_chain_is_refused() {
    let program = program(|b| b.input("x"));
    let chain = chain(3);
    let choice = RnsLowering::new(GadgetLiteral::hybrid(3, 1, 1));
    let model = NoiseModel::ternary(chain.degree());
    let target =
        Target { chain: &chain, choice: &choice, model, encoder: &Zeros, bootstrapping: None, observed: false };
    let error = lower(&program, &target).expect_err("a limb without digit");
    assert_eq!(
        error.to_string(),
        "the key-switch gadget has no digit with limb 3 of the chain; give every limb of Q a digit"
    );
}

#[test]
fn operands_that_do_not_match_are_refused_with_both_levels_and_scales() {
    let chain = chain(3);
    let choice = RnsLowering::new(GadgetLiteral::hybrid(4, 2, 2));
    let model = NoiseModel::ternary(chain.degree());
    let mut lowering = Lowering::new("test", &chain, choice, model, &Zeros).expect("a lowering");
    let (low, high) = (lowering.input("x", 0, 1.0).expect("x"), lowering.input("y", 2, 1.0).expect("y"));
    let error = lowering.add(&low, &high).expect_err("two levels");
    assert_eq!(
        error.to_string(),
        "add: operands at level 0 with scale 2^40.0000 and level 2 with scale 2^40.0000; bring both to one level and one scale first, by rescaling or a product"
    );
    let product = lowering.multiply(&high, &high).expect("a product");
    let error = lowering.add(&product, &high).expect_err("two scales");
    assert_eq!(
        error.to_string(),
        "add: operands at level 2 with scale 2^80.0000 and level 2 with scale 2^40.0000; bring both to one level and one scale first, by rescaling or a product"
    );
    let error = lowering.rotate(&product, 1).expect_err("three parts");
    assert_eq!(error.to_string(), "rotate: an operand of 3 parts; relinearise it first");
    let error = lowering.rescale(&low).expect_err("no level");
    assert_eq!(
        error.to_string(),
        "rescale: a rescaling from level 0; bootstrap the operand, or take parameters with more levels than 3"
    );
    let error = lowering.drop_to(&low, 1).expect_err("upwards");
    assert_eq!(error.to_string(), "mod_switch: level 1 from level 0; levels only fall without bootstrapping");
}
