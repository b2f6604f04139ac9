//! Is the first operation that exceeds its bound reported with its place, instead of a later one that inherits the error?

use super::common::{World, random_inputs, run_with_bad_key};
use polyfabric_kernels::automorphism::GaloisElement;
use polyfabric_program::Location;
use polyfabric_program::rns::homomorphic::{Builder, NodeId, Program, Scheme};
use polyfabric_schemes::rns::KeyId;

/// A square and three rotations, each on its own line, and the node that needs each key.
fn program(world: &World) -> (Program, Vec<(KeyId, &'static str, NodeId, u32)>) {
    let mut builder = Builder::new("lines", Scheme::Ckks, 512).expect("a program");
    let line = |builder: &mut Builder, line: u32| {
        builder.at(Some(Location { file: "model.py".into(), line }));
    };
    line(&mut builder, 10);
    let x = builder.input("x").expect("an input");
    line(&mut builder, 11);
    let square = builder.square(x).expect("a square");
    line(&mut builder, 12);
    let first = builder.rotate(square, 1).expect("a rotation");
    line(&mut builder, 13);
    let second = builder.rotate(square, 2).expect("a rotation");
    line(&mut builder, 14);
    let third = builder.rotate(second, 3).expect("a rotation");
    line(&mut builder, 15);
    let sum = builder.add(first, third).expect("a sum");
    builder.output("sum", sum).expect("an output");
    let key = |steps| KeyId::Galois(GaloisElement::rotation(world.chain.degree(), steps).value());
    // A product is measured with its three parts, so the relinearisation's error appears at the next operation that needs two.
    let needs = vec![
        (KeyId::Relinearisation, "rotate", first, 12),
        (key(1), "rotate", first, 12),
        (key(2), "rotate", second, 13),
        (key(3), "rotate", third, 14),
    ];
    (builder.finish().expect("a program"), needs)
}

#[test]
fn the_operation_with_a_bad_key_is_named() {
    let world = World::hybrid(2);
    let (program, needs) = program(&world);
    let inputs = random_inputs(&program, 5);
    let run = |bad| run_with_bad_key(&world, &program, &world.choice(), &inputs, 5, bad);
    assert_eq!(run(None).first_beyond(), None);
    for (bad, op, node, line) in needs {
        let outcome = run(Some(bad));
        let found = outcome.first_beyond().expect("an error far above its bound");
        let report = &outcome.report;
        assert_eq!(
            (&*found.place, found.op, found.node),
            (&*format!("model.py:{line}: "), op, node),
            "{bad}: {report}"
        );
        // Its error reaches the sum, which is not reported.
        let last = report.nodes.last().expect("a sum");
        assert!(outcome.measured[&last.node] > last.bound, "{bad}: {report}");
    }
}
