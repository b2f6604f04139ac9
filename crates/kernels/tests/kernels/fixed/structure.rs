//! Are the factors those of the structure's radix?

use polyfabric_kernels::Gadget;
use polyfabric_kernels::fixed::{FixedWidths, Structure};
#[test]
fn radix_sixteen_has_quarter_turns_sixteenths_and_one_general_factor() {
    let structure = Structure::Twisted { log2_radix: 4 };
    let orders: Vec<u32> = (0..7).map(|stage| structure.rotation(8, stage).unwrap().order_log2()).collect();
    assert_eq!(orders, [2, 4, 2, 8, 2, 4, 2]);
    assert_eq!(structure.rotation(8, 7), None);
    let turned: Vec<f64> = (0..7).map(|stage| structure.turned(8, stage)).collect();
    // Of sixteen products K R mod 16, eight are a multiple of four.
    assert_eq!((turned[0], turned[1], turned[2]), (0.0, 0.5, 0.0));
    assert!(turned[3] > 0.85);
}

#[test]
fn radix_two_has_factors_between_all_stages() {
    let structure = Structure::Twisted { log2_radix: 1 };
    for stage in 0..4 {
        let rotation = structure.rotation(5, stage).unwrap();
        assert_eq!((rotation.order_log2(), rotation.bits()), (5 - stage, (1, 4 - stage)));
    }
}

#[test]
fn impossible_radices_are_named() {
    let spec = super::spec::<u32>(8, Gadget { log2_base: 8, levels: 2 }, 1, FixedWidths::uniform(32), super::FPT_RULE);
    let error = spec.with_structure(Structure::Twisted { log2_radix: 0 }).check().unwrap_err();
    assert_eq!(error.to_string(), "a radix of 2^0: groups have 1 to 8 stages");
}
