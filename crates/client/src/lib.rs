//! A client of a program on encrypted data: keys, encryption of inputs, decryption of outputs. It needs no program.
//!
//! [`Client`] takes the specification that a server publishes, and values as JSON. [`tfhe`] and [`rns`] have the steps for a program's signature, which
//! the Python package takes too.

mod archive;
mod client;
mod failure;
pub mod rns;
mod specification;
mod storage;
pub mod tfhe;
mod values;

pub use archive::{Unpacked, pack, unpack};
pub use client::Client;
pub use failure::{Failure, Kind};
pub use specification::{LARGEST, Limits, Specification};
pub use storage::{Source, Sources, bytes, file_kind, written};
