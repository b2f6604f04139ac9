//! Does every lowered operation equal its definition in big integers, coefficient by coefficient?
//!
//! Operands are uniform modulo Q; keys are real ones. The interpreter, which the CPU equals word for word, executes the lowered program. Its results are reconstructed to
//! integers modulo Q and compared with [`definition`], which uses no residues: sums, products modulo X^N + 1 and Q, automorphisms as signed permutations, digits and
//! divisions as integers. Every rounding is determined, so equality is exact. For conversions without overflow correction, the tests also check the documented multiples of
//! B for every coefficient.

mod bgv;
mod ckks;
mod definition;
