//! Does every method compute the key switch, for every block remainder and instruction set?
use crate::random::torus_vector;
use polyfabric_kernels::Gadget;
use polyfabric_kernels::Isa;
use polyfabric_kernels::Torus;
use polyfabric_kernels::key_switch::*;
use std::sync::Arc;

fn check<T: Torus>(input_dimension: usize, lwe_dimension: usize, gadget: Gadget, count: usize) {
    let levels = gadget.levels as usize;
    let inputs = torus_vector::<T>(count * (input_dimension + 1), 1);
    let key = torus_vector::<T>(input_dimension * levels * (lwe_dimension + 1), 2);
    for isa in Isa::ALL.into_iter().filter(|isa| isa.is_present()) {
        let mut outputs = vec![T::from_u64(9); count * (lwe_dimension + 1)];
        KeySwitch::new(&key, gadget, input_dimension, lwe_dimension, isa).switch(&inputs, &mut outputs);
        for c in 0..count {
            let input = &inputs[c * (input_dimension + 1)..][..input_dimension + 1];
            assert_eq!(
                outputs[c * (lwe_dimension + 1)..][..lwe_dimension + 1],
                key_switch_reference(input, &key, gadget, lwe_dimension),
                "ciphertext {c} of {count}, {gadget:?}, {isa:?}"
            );
        }
    }
}

#[test]
fn every_method_equals_the_reference() {
    for count in [1, 2, 3, 7, 8, 13] {
        check::<u32>(256, 61, Gadget { log2_base: 2, levels: 8 }, count);
        check::<u32>(101, 33, Gadget { log2_base: 8, levels: 2 }, count);
        check::<u64>(130, 47, Gadget { log2_base: 3, levels: 5 }, count);
        // Digits that do not fit a byte.
        check::<u64>(64, 16, Gadget { log2_base: 9, levels: 3 }, count);
    }
    check::<u32>(1024, 500, Gadget { log2_base: 2, levels: 8 }, 70);
    check::<u64>(2048, 742, Gadget { log2_base: 3, levels: 5 }, 2);
}

#[test]
fn a_key_is_copied_once_and_only_for_batches() {
    let (gadget, large, small) = (Gadget { log2_base: 3, levels: 5 }, 130, 47);
    let key = torus_vector::<u64>(large * 5 * (small + 1), 2);
    for isa in Isa::ALL.into_iter().filter(|isa| isa.is_present()) {
        let shared = Arc::<PackedKey>::default();
        let switch = |count: usize| {
            let mut outputs = vec![0; count * (small + 1)];
            let inputs = torus_vector::<u64>(count * (large + 1), 1);
            KeySwitch::new(&key, gadget, large, small, isa).sharing(&shared).switch(&inputs, &mut outputs);
            outputs
        };
        let one = switch(1);
        assert_eq!(shared.bytes(), 0, "{isa:?}");
        assert_eq!(switch(2)[..=small], one, "{isa:?}");
        let bytes = KeySwitch::<u64>::bytes_of(gadget, large, small, isa);
        assert_eq!(shared.bytes(), bytes, "{isa:?}");
        switch(3);
        assert_eq!(shared.bytes(), bytes, "{isa:?}");
    }
}
