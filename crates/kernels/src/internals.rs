//! Functions that only the tests of this crate use outside their modules. The tests are one program in `tests/kernels`, so that the crate is compiled once.

pub use crate::fixed::arithmetic::{NARROW, Products, Round, SPLIT, WIDE, complex_product};
pub use crate::fixed::spec::{gaussian_quantile, limit};
pub use crate::fixed::twiddle_error::{Relative, relative_error};
pub use crate::negacyclic::piece_bits;
