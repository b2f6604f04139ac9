//! Does bootstrapping give the message back, with levels, to the precision that is stated? And the transforms and polynomials that
//! it is made of: do they compute what their clear twins do?

mod circuits;
mod common;
mod rings;
