//! The text form of homomorphic and kernel programs: printed by `Display`, parsed by [`parse_program`] and [`parse_kernel`].
//!
//! The parser uses the checking builders, so text from an untrusted source is safe to parse. `#` starts a comment.
//!
//! The homomorphic program:
//!
//! ```text
//! text   = "program" name ("ckks" | "bgv" "(" t ")") "slots" slots node*
//! node   = "%"n "=" op [name] ["%"a ["," "%"b]] attributes ["at" file ":" line]
//! values = "[" (real | "(" real "," imaginary ")" | integer), .. "]"
//! ```
//!
//! | operation | attributes |
//! |---|---|
//! | `input` | `magnitude` bound, and optionally `level` level |
//! | `constant` | values |
//! | `rotate` | `by` steps |
//! | `mod_switch` | `to` level |
//! | `linear_transform` | `{` offset `:` values `,` .. `}` |
//! | `polynomial` | `monomial` values, or `chebyshev from` lo `to` hi values |
//!
//! The kernel program:
//!
//! ```text
//! text   = "kernel" name "degree" N "moduli" "[" q, .. "]" plaintext* (["step" s ["from" "%"node]] op)* output*
//! plaintext = "plaintext" n "=" ("narrow" | "wide") "[" (coefficient | count "x" coefficient), .. "]"
//! op     = "%"n ["," "%"n] "=" op ["%"a ["," "%"b].. ] attributes
//! output = "output" name "part" part "=" "%"a
//! limbs  = "{" (first | first "-" last), .. "}"      indices into the table of moduli
//! ```
//!
//! | operation | attributes |
//! |---|---|
//! | `input` | name `part` part, type |
//! | `plaintext` | number, type: `coefficient` or `evaluation`, limbs |
//! | `key` | key `row` row, `body` or `mask`, limbs |
//! | `scale`, `add_constant` | `[` residue of each limb `,` .. `]` |
//! | `automorphism` | `by` g |
//! | `select_limbs` | limbs |
//! | `base_conversion` | `to` limbs, `approximate`, `balanced` or `centred` |
//! | `sub_digit` | `bits` bits `index` k `of` count `to` limbs |
//! | `mod_up` | `digit` limbs, `bits` .. if the digit is smaller than a limb, `to` limbs, conversion |
//! | `inner_product` | key `rows` `[` row `,` .. `]` |
//! | `mod_down` | `drop` limbs, conversion, `modulo` t for BGV |

mod fhetch;
mod kernel;
mod parse_kernel;
mod parse_program;
mod program;

pub use fhetch::{Fhetch, FhetchError, Given};
pub use parse_kernel::parse_kernel;
pub use parse_program::parse_program;

use crate::lexer::{SyntaxError, SyntaxErrorCause};
use crate::rns::homomorphic::ProgramError;
use crate::rns::kernel::KernelError;
use polyfabric_kernels::RingDegreeError;
use polyfabric_kernels::automorphism::GaloisElementError;
use polyfabric_kernels::modular::ModulusError;
use thiserror::Error;

/// A parse error: position and cause.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("line {line}, column {column}: {cause}")]
pub struct TextError {
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    pub cause: TextErrorCause,
}

/// The cause of a [`TextError`].
#[derive(Clone, Debug, Error, PartialEq)]
pub enum TextErrorCause {
    #[error("{0}")]
    Syntax(#[from] SyntaxErrorCause),
    #[error("{0}")]
    Program(#[from] Box<ProgramError>),
    #[error("{0}")]
    Kernel(#[from] Box<KernelError>),
    #[error("{0}")]
    Degree(#[from] RingDegreeError),
    #[error("{0}")]
    Modulus(#[from] ModulusError),
    #[error("{0}")]
    Automorphism(#[from] GaloisElementError),
    #[error("{written} values are defined here, but the operation gives {given}; number {given}")]
    Results { written: usize, given: usize },
    #[error("runs repeat more than {most} coefficients of the program's plaintexts; write them out")]
    Repeated { most: usize },
    #[error("the program has more than {most} limbs in its sets and values; split it")]
    Limbs { most: usize },
}

impl From<SyntaxError> for TextError {
    fn from(error: SyntaxError) -> Self {
        Self { line: error.line, column: error.column, cause: error.cause.into() }
    }
}
