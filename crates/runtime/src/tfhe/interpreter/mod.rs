//! The interpreter: executes a kernel program operation by operation and primitive by primitive.
//!
//! It is slow and simple: bodies of composite operations are executed literally by [`Primitives`]. It is the reference for all other implementations. The ciphertexts of a batch
//! run in parallel; results do not depend on it.
//!
//! ```
//! use polyfabric_program::tfhe::builtin;
//! use polyfabric_program::tfhe::homomorphic::{decode_output, encode_input, evaluate};
//! use polyfabric_program::tfhe::lowering::{Arithmetic, KeySwitchOrder, TfheLowering};
//! use polyfabric_runtime::NoProgress;
//! use polyfabric_runtime::tfhe::interpreter;
//! use polyfabric_schemes::tfhe::{ClientKey, LweKind, ServerKey, no_progress, noise::Transform, sets};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let parameters = sets::parameters("toy-256")?;
//! let choice = TfheLowering::new(KeySwitchOrder::After, Arithmetic::ExactInteger);
//! let pbs = builtin::build("pbs+ks", &parameters, 2, &choice, Transform::Exact)?;
//!
//! let client = ClientKey::<u32>::generate(&parameters)?;
//! let server = ServerKey::generate(&client, &no_progress)?;
//! let plaintexts = encode_input(&pbs.program, "x", &[0, 1])?;
//! let encrypted = [("x".to_owned(), client.encrypt(LweKind::Small, &plaintexts)?)].into();
//!
//! let outputs = interpreter::run(&pbs.kernel, &server, &encrypted, &NoProgress)?;
//! let phases = client.decrypt_phase(LweKind::Small, &outputs["y"])?;
//! let inputs = [("x".to_owned(), vec![0, 1])].into();
//! let expected = evaluate(&pbs.program, &inputs)?.outputs(&pbs.program);
//! assert_eq!(decode_output(&pbs.program, "y", &phases, None)?, expected["y"]);
//! # Ok(())
//! # }
//! ```

mod compute;
mod primitives;
mod run;

pub use compute::{BodyDatum, Mismatch, Operand, Scalars};
pub use primitives::{Primitives, Spectrum};
pub use run::{BodyPoint, Observer, Value, check_inputs, run, run_observed};
