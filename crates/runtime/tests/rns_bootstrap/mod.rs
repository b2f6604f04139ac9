//! Does bootstrapping return the message with the stated levels and precision, and do its transforms and polynomials match the clear ones?

mod circuits;
mod common;
mod lookups;
mod rings;
