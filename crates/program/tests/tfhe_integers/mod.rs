//! Do operations on integers of every width give what wide integers give, on random operands, with either way of carrying? And
//! do they take the look-ups and levels that are told?

mod arithmetic;
mod common;
mod cost;
mod others;
