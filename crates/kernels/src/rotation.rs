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
