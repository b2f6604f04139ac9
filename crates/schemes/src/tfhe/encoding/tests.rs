//! Does every message decode under any noise below the margin, on both tori?

use polyfabric_kernels::Torus;
use proptest::prelude::*;

use super::*;

/// Errors inside ±margin, less the 1 % for rounding a step to the torus.
fn errors<T: Torus>(margin: f64) -> [T; 3] {
    [T::from_fraction(-margin * 0.99), T::default(), T::from_fraction(margin * 0.99)]
}

fn boolean<T: Torus>() {
    for message in [false, true] {
        for error in errors::<T>(Boolean::MARGIN) {
            assert_eq!(Boolean.decode(Boolean.encode::<T>(message).wrapping_add(error)), message);
        }
    }
}

#[test]
fn booleans() {
    boolean::<u32>();
    boolean::<u64>();
}

fn stepped<T: Torus>(step: TorusStep, value: i64, (least, greatest): (i64, i64)) {
    for error in errors::<T>(0.5 / f64::from(step.denominator)) {
        let phase = step.encode::<T>(value).wrapping_add(error);
        assert_eq!(step.nearest(phase, least, greatest, 1), value, "{step:?}");
    }
}

proptest! {
    #[test]
    fn steps(bound in 1u32..2048, seed: u64) {
        let (most, step) = (i64::from(bound), TorusStep { denominator: 2 * (bound + 1) });
        let value = (seed % (2 * u64::from(bound) + 1)) as i64 - most;
        stepped::<u32>(step, value, (-most, most));
        stepped::<u64>(step, value, (-most, most));
        stepped::<u32>(step, value + most, (0, 2 * most));
        stepped::<u64>(step, value + most, (0, 2 * most));
    }

    #[test]
    fn dot_products_of_encodings_encode_dot_products(weights in prop::collection::vec(-3i64..=3, 1..20)) {
        let bound: i64 = weights.iter().map(|weight| weight.abs()).sum();
        let step = TorusStep { denominator: 2 * (bound as u32 + 1) };
        let one = step.unit::<u32>();
        let sum = weights.iter().fold(0u32, |sum, &weight| Torus::wrapping_add(sum, one.wrapping_mul_signed(weight)));
        prop_assert_eq!(step.nearest(sum, -bound, bound, 1), weights.iter().sum::<i64>());
    }
}
