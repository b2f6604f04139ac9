//! TFHE programs: lookup tables, gates and dot products on LWE ciphertexts.
//!
//! A user writes a [`homomorphic::Program`]: vectors of encrypted Booleans, integers or torus values, linear layers, lookup tables
//! and gates. [`lowering`] turns it into a [`kernel::KernelProgram`]: operations on ciphertexts and single polynomials, which
//! every runtime and every machine executes.
//!
//! ```
//! use polyfabric_program::tfhe::homomorphic::{Builder, ElementType, LookupResult, Range, Table, evaluate};
//! use polyfabric_program::tfhe::lowering::{Arithmetic, TfheLowering, lower};
//! use polyfabric_program::tfhe::{noise, text};
//! use polyfabric_schemes::tfhe::noise::Transform;
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // (x + y)² mod 4 of two vectors of numbers from 0 to 1.
//! let bit = ElementType::Integer(Range::new(0, 1).ok_or("empty")?);
//! let mut builder = Builder::new("square")?;
//! let x = builder.input("x", bit, 3)?;
//! let y = builder.input("y", bit, 3)?;
//! let sum = builder.add(x, y)?;
//! let square = Table::tabulate(Range::new(0, 2).ok_or("empty")?, |sum| sum * sum % 4)?;
//! let result = builder.lookup(sum, vec![square], None, LookupResult::Integer)?;
//! builder.output("result", result)?;
//! let program = builder.finish()?;
//!
//! let inputs = [("x".to_owned(), vec![0, 1, 1]), ("y".to_owned(), vec![0, 0, 1])].into();
//! assert_eq!(evaluate(&program, &inputs)?.outputs(&program)["result"], [0, 1, 0]);
//!
//! // The fastest default set with which it fails with probability at most 2^-64, and the kernel program for it.
//! let inputs = (noise::Encryption::Secret, None);
//! let chosen = noise::choose_parameters(&program, -64.0, (false, None), Transform::F64, inputs)?;
//! let choice = TfheLowering::new(chosen.key_switch, Arithmetic::F64);
//! let kernel = lower(&program, &chosen.parameters, &choice)?;
//! assert_eq!(kernel.lookups(), 3);
//! assert_eq!(text::parse_kernel(&kernel.to_string())?, kernel);
//! # Ok(())
//! # }
//! ```

pub mod builtin;
mod convolution;
mod dataflow;
pub mod homomorphic;
pub mod integers;
pub mod kernel;
pub mod lowering;
pub mod matrix;
pub mod noise;
pub mod text;

pub use convolution::{Convolution, ConvolutionError, Extent};
pub use dataflow::{DataflowError, planning_bytes};
pub use matrix::{Matrix, MatrixBuilder, MatrixError};
