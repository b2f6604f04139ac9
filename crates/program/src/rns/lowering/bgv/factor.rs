//! Correction factors: finds small integers that make two of them equal.

use polyfabric_kernels::modular::Modulus;

/// Small r and s with r·a ≡ s·b modulo t and r coprime to t, for a and b coprime to t. Euclid's algorithm on t and b·a^-1, stopped half
/// way, gives |r|·|s| ≤ t, and usually both are close to √t.
///
/// Ciphertexts with factors a and b can be added after multiplying them by r and s.
pub fn common_multiples(a: u64, b: u64, t: Modulus) -> Option<(i64, i64)> {
    let ratio = t.multiply(b % t.value(), t.inverse(a)?);
    // Invariant: r ≡ s·ratio modulo t. So r·a ≡ s·b.
    let (mut r0, mut s0) = (i128::from(t.value()), 0i128);
    let (mut r1, mut s1) = (i128::from(ratio), 1i128);
    let mut best: Option<(i128, i128)> = None;
    while r1 != 0 {
        let size = |(r, s): (i128, i128)| r.abs().max(s.abs());
        let prime = |x: i128| t.inverse(x.rem_euclid(i128::from(t.value())) as u64).is_some();
        if best.is_none_or(|known| size((r1, s1)) < size(known)) && prime(r1) && prime(s1) {
            best = Some((r1, s1));
        }
        let quotient = r0 / r1;
        (r0, r1) = (r1, r0 - quotient * r1);
        (s0, s1) = (s1, s0 - quotient * s1);
    }
    let (r, s) = best?;
    Some((r as i64, s as i64))
}

/// log2 |x|; 0 for 0.
pub fn log2(x: i64) -> f64 {
    (x.unsigned_abs().max(1) as f64).log2()
}

#[cfg(test)]
mod tests {
    //! Do the multiples make factors equal, and are they small?

    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn multiples_agree_and_are_small(a in 1u64..65537, b in 1u64..65537, wide in any::<u64>(), bits in 1u32..40) {
            let check = |a: u64, b: u64, t: u64, slack: f64| {
                let modulus = Modulus::new(t).unwrap();
                let (r, s) = common_multiples(a, b, modulus).unwrap();
                let times = |x: i64, y: u64| modulus.multiply(modulus.reduce_signed(x), y);
                assert_eq!(times(r, a), times(s, b));
                assert!(modulus.inverse(modulus.reduce_signed(r)).is_some());
                assert!(log2(r).max(log2(s)) <= slack * (t as f64).log2() / 2.0 + 8.0, "{r} and {s} for {t}");
            };
            check(a, b, 65537, 1.0);
            let t = (1u64 << 59) - 55;
            check(1 + wide % (t - 1), 1 + (wide >> 3) % (t - 1), t, 1.0);
            // Modulo 2^e only odd multiples preserve the message, so they may be larger.
            let t = 1u64 << bits;
            check((wide % t) | 1, ((wide >> 7) % t) | 1, t, 2.0);
        }
    }

    #[test]
    fn equal_factors_need_nothing() {
        assert_eq!(common_multiples(77, 77, Modulus::new(65537).unwrap()), Some((1, 1)));
        assert_eq!(common_multiples(1, 1, Modulus::new(2).unwrap()), Some((1, 1)));
    }
}
