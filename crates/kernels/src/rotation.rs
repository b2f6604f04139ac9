//! Negacyclic rotation: multiplication by a power of X in `T[X]/(X^N + 1)`.
//!
//! X^N = −1, so coefficient c of X^e · p is p[c − e], negated for every wrap past N. The exponent is modulo 2N.

use crate::torus::Torus;

/// X^`exponent` · `polynomial`, one coefficient at a time.
pub fn rotate_reference<T: Torus>(polynomial: &[T], exponent: usize) -> Vec<T> {
    let degree = polynomial.len();
    let mut rotated = vec![T::default(); degree];
    for (c, &value) in polynomial.iter().enumerate() {
        let position = (c + exponent) % (2 * degree);
        if position < degree {
            rotated[position] = value;
        } else {
            rotated[position - degree] = value.wrapping_neg();
        }
    }
    rotated
}

/// Writes X^`exponent` · `polynomial` to `rotated`; both have N coefficients, N a power of two.
pub fn rotate<T: Torus>(polynomial: &[T], exponent: usize, rotated: &mut [T]) {
    combine(polynomial, exponent, rotated, |value, _| value, |value, _| value.wrapping_neg());
}

/// Writes (X^`exponent` − 1) · `polynomial`, the operand Λ of one blind-rotation step.
pub fn rotate_subtract<T: Torus>(polynomial: &[T], exponent: usize, difference: &mut [T]) {
    combine(
        polynomial,
        exponent,
        difference,
        |value, own| value.wrapping_sub(own),
        |value, own| value.wrapping_add(own).wrapping_neg(),
    );
}

/// Calls `kept` or `negated` with (arriving coefficient, previous coefficient).
#[inline(always)]
fn combine<T: Torus>(
    polynomial: &[T],
    exponent: usize,
    out: &mut [T],
    kept: impl Fn(T, T) -> T,
    negated: impl Fn(T, T) -> T,
) {
    let degree = polynomial.len();
    assert_eq!(out.len(), degree, "a rotation keeps the number of coefficients");
    let shift = exponent & (2 * degree - 1);
    let (flip, shift) = (shift >= degree, shift & (degree - 1));
    let (wrapped_out, plain_out) = out.split_at_mut(shift);
    let (wrapped_own, plain_own) = polynomial.split_at(shift);
    let (plain, wrapped) = polynomial.split_at(degree - shift);
    if flip {
        each(plain_out, plain, plain_own, &negated);
        each(wrapped_out, wrapped, wrapped_own, &kept);
    } else {
        each(plain_out, plain, plain_own, &kept);
        each(wrapped_out, wrapped, wrapped_own, &negated);
    }
}

#[inline(always)]
fn each<T: Torus>(out: &mut [T], from: &[T], own: &[T], f: &impl Fn(T, T) -> T) {
    for ((out, &from), &own) in out.iter_mut().zip(from).zip(own) {
        *out = f(from, own);
    }
}

#[cfg(test)]
mod tests {
    //! Does a rotation by blocks move and negate as defined?
    use super::*;
    use crate::random::{LARGEST_LOG2, torus_vector};

    #[test]
    fn blocks_equal_the_definition() {
        for log2_degree in 4..=LARGEST_LOG2 {
            let degree = 1usize << log2_degree;
            let polynomial = torus_vector::<u32>(degree, 7 + log2_degree);
            for exponent in [0, 1, 7, degree / 2, degree - 1, degree, degree + 3, 2 * degree - 1] {
                let expected = rotate_reference(&polynomial, exponent);
                let mut rotated = vec![0; degree];
                rotate(&polynomial, exponent, &mut rotated);
                assert_eq!(rotated, expected, "N {degree}, exponent {exponent}");
                rotate_subtract(&polynomial, exponent, &mut rotated);
                for c in 0..degree {
                    assert_eq!(rotated[c], expected[c].wrapping_sub(polynomial[c]));
                }
            }
        }
    }

    #[test]
    fn a_full_turn_is_the_identity_and_half_a_turn_negates() {
        let polynomial = torus_vector::<u64>(256, 3);
        let mut rotated = vec![0; 256];
        rotate(&polynomial, 512, &mut rotated);
        assert_eq!(rotated, polynomial);
        rotate(&polynomial, 256, &mut rotated);
        assert!(rotated.iter().zip(&polynomial).all(|(r, p)| *r == p.wrapping_neg()));
    }
}
