//! Do operations on integers of every width agree with wide integers on random operands, with both ways of carrying? Do they take the
//! documented lookups and levels?

mod arithmetic;
mod bit_sums;
mod common;
mod cost;
mod others;
mod wide;
