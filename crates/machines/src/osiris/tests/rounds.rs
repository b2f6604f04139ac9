//! Are bodies rejected that rounds cannot repeat? The contract tests check schedules of rounds on every
//! machine.

use super::{ring, small};
use crate::osiris::rounds::Body;
use crate::rns::rounds::SharedKeys;
use polyfabric_program::rns::kernel::{KernelBuilder, LimbSet, ValueType};
use std::sync::Arc;

#[test]
fn a_body_that_returns_its_input_is_rejected() {
    let (ring, gadget) = ring(6, 4, 2);
    let mut builder = KernelBuilder::new("the same", ring.degree(), ring.moduli()).expect("moduli");
    let q = LimbSet::new(gadget.q().iter().copied());
    let x = builder.input("x", 0, ValueType::evaluation(q)).expect("an input");
    builder.output("y", 0, x);
    let program = Arc::new(builder.finish().expect("a program"));
    let error = Body::new(&small(), &program, &|_| false, &mut SharedKeys::default()).expect_err("nothing is computed");
    let expected =
        "a limb of `y` is an unchanged input, or occurs twice: pass only computed limbs to the next round, each once";
    assert_eq!(error.to_string(), expected);
}
