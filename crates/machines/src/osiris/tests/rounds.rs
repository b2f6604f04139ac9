//! Is a body told that rounds cannot repeat? What schedules of rounds are held to, the tests of the contract hold of every machine that has them.

use super::{ring, small};
use crate::osiris::rounds::Body;
use crate::rns::rounds::SharedKeys;
use polyfabric_program::rns::kernel::{KernelBuilder, LimbSet, ValueType};
use std::sync::Arc;

#[test]
fn a_body_that_hands_on_what_it_was_given_is_told() {
    let (ring, gadget) = ring(6, 4, 2);
    let mut builder = KernelBuilder::new("the same", ring.degree(), ring.moduli()).expect("moduli");
    let q = LimbSet::new(gadget.q().iter().copied());
    let x = builder.input("x", 0, ValueType::evaluation(q)).expect("an input");
    builder.output("y", 0, x);
    let program = Arc::new(builder.finish().expect("a program"));
    let told = Body::new(&small(), &program, &|_| false, &mut SharedKeys::default()).expect_err("nothing is computed");
    let says =
        "of `y` a limb is one that it was given, or there twice: give the next round what is computed, each limb once";
    assert_eq!(told.to_string(), says);
}
