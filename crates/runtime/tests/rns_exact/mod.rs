//! Does every lowered operation give, coefficient by coefficient, what its definition gives in big integers?
//!
//! Operands are uniform modulo Q, keys are real ones. The lowered program is executed by the interpreter, which the CPU equals word for word; its
//! results are put together to integers modulo Q, and held equal to [`definition`]'s, which knows no residues: sums, products modulo X^N + 1
//! and Q, automorphisms as permutations with signs, digits and divisions as integers. Every rounding is determined, so equality is exact;
//! that a conversion without overflow correction stays within its stated multiples of B is checked beside it, for every coefficient.

mod bgv;
mod ckks;
mod definition;
