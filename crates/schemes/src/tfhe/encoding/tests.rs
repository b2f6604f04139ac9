//! Does every message decode under any noise below the margin on both tori, and is everything else rejected with a reason?

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

fn padded<T: Torus>(encoding: PaddedInteger, value: u64) {
    for error in errors::<T>(encoding.margin()) {
        let phase = encoding.encode::<T>(value).expect("fits").wrapping_add(error);
        // Below zero the phase of 0 wraps around; rounding still decodes it.
        assert_eq!(encoding.decode(phase), Ok(value), "{encoding:?}");
    }
}

fn signed<T: Torus>(encoding: SignedSum, value: i64) {
    for error in errors::<T>(encoding.margin()) {
        let phase = encoding.encode::<T>(value).expect("fits").wrapping_add(error);
        assert_eq!(encoding.decode(phase), Ok(value), "{encoding:?}");
    }
}

proptest! {
    #[test]
    fn padded_integers(message_bits in 1u32..8, carry_bits in 0u32..8, seed: u64) {
        let encoding = PaddedInteger::new(message_bits, carry_bits).expect("few bits");
        let value = seed % (encoding.max() + 1);
        padded::<u32>(encoding, value);
        padded::<u64>(encoding, value);
        prop_assert_eq!(encoding.carry(value) << message_bits | encoding.message(value), value);
    }

    #[test]
    fn sums_of_encodings_encode_sums(a in 0u64..128, b in 0u64..128) {
        let encoding = PaddedInteger::new(4, 4).expect("few bits");
        let sum = encoding.encode::<u32>(a).expect("fits").wrapping_add(encoding.encode(b).expect("fits"));
        prop_assert_eq!(encoding.decode(sum), Ok(a + b));
    }

    #[test]
    fn signed_sums(bound in 1u32..4096, seed: u64) {
        let value = (seed % (2 * u64::from(bound) + 1)) as i64 - i64::from(bound);
        signed::<u32>(SignedSum::any(bound).expect("small"), value);
        signed::<u64>(SignedSum::any(bound).expect("small"), value);
        if value % 2 != 0 {
            let encoding = SignedSum::odd(bound).expect("small");
            signed::<u32>(encoding, value);
            signed::<u64>(encoding, value);
            // The sign is correct over the whole margin, at both ends of the torus.
            for error in errors::<u32>(encoding.margin()) {
                let phase = encoding.encode::<u32>(value).expect("fits").wrapping_add(error);
                prop_assert_eq!(encoding.sign(phase), value.signum());
            }
        }
    }

    #[test]
    fn dot_products_of_encodings_encode_dot_products(weights in prop::collection::vec(-3i64..=3, 1..20)) {
        let bound: i64 = weights.iter().map(|weight| weight.abs()).sum();
        prop_assume!(bound > 0);
        let encoding = SignedSum::any(bound as u32).expect("small");
        let one = encoding.torus_step().unit::<u32>();
        let sum = weights.iter().fold(0u32, |sum, &weight| Torus::wrapping_add(sum, one.wrapping_mul_signed(weight)));
        prop_assert_eq!(encoding.decode(sum), Ok(weights.iter().sum::<i64>()));
    }

    #[test]
    fn fixed_point(magnitude in 1e-3f64..1e6, position in -1.0f64..0.999_999) {
        let encoding = FixedPoint::new(magnitude).expect("positive");
        let value = magnitude * position;
        let error = (encoding.decode(encoding.encode::<u32>(value).expect("fits")) - value).abs();
        prop_assert!(error <= magnitude * 2f64.powi(-31), "{}", error);
        let error = (encoding.decode(encoding.encode::<u64>(value).expect("fits")) - value).abs();
        prop_assert!(error <= magnitude * 2f64.powi(-51), "{}", error);
    }
}

#[test]
fn messages() {
    let text = |error: EncodingError| error.to_string();
    let padded = PaddedInteger::new(2, 1).expect("few bits");
    assert_eq!(
        text(padded.encode::<u32>(8).expect_err("too large")),
        "8 does not fit the encoding, which takes 0 to 7; use more bits or a larger bound"
    );
    assert_eq!(
        text(padded.decode(0xa000_0000u32).expect_err("padding")),
        "the decrypted phase -0.375 of the torus lies in the padding half: a sum exceeded 7, or noise exceeded half a step; use more carry bits, or a parameter set with less noise"
    );
    assert_eq!(
        text(PaddedInteger::new(20, 4).expect_err("too many")),
        "20 message bits, 4 carry bits and one padding bit need at least 1 message bit and at most 24 bits in all; lower one of them"
    );
    let sum = SignedSum::odd(9).expect("small");
    assert_eq!(
        text(sum.encode::<u32>(4).expect_err("even")),
        "4 is even, but the sign lookup reads odd sums only (an even one could be zero, which has no sign); add one odd constant, or encode without the odd promise"
    );
    assert_eq!(
        text(sum.encode::<u32>(-11).expect_err("too large")),
        "-11 does not fit the encoding, which takes -9 to 9; use more bits or a larger bound"
    );
    assert_eq!(
        text(SignedSum::any(0).expect_err("none")),
        "a signed sum's bound is 1 to 4095, not 0; give the greatest absolute value that the sum can reach"
    );
    let real = FixedPoint::new(2.0).expect("positive");
    assert_eq!(
        text(real.encode::<u32>(2.0).expect_err("the end is open")),
        "2 does not fit the fixed-point encoding of magnitude 2, which takes -2 up to, but not including, 2; use a larger magnitude"
    );
    assert!(real.encode::<u64>(f64::NAN).is_err());
    assert_eq!(
        text(FixedPoint::new(f64::INFINITY).expect_err("infinite")),
        "a fixed-point magnitude must be positive and finite, not inf; give the largest absolute value that can occur"
    );
    // A phase beyond the bound is an error, never a wrong value.
    assert!(sum.decode::<u32>(1 << 31).is_err());
}
