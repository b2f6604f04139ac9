//! The readable text form of both graphs: printed by `Display`, read by [`parse_program`] and [`parse_kernel`].
//!
//! A parsed text went through the builder, so a text from anywhere is safe to read. `#` starts a comment.
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
//! | `input` | `magnitude` bound, and `level` level if it is given |
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
//! limbs  = "{" (first | first "-" last), .. "}"      places in the table of moduli
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

mod kernel;
mod parse_kernel;
mod parse_program;
mod program;

pub use parse_kernel::parse_kernel;
pub use parse_program::parse_program;

use crate::lexer::{SyntaxError, SyntaxErrorCause};
use crate::rns::homomorphic::ProgramError;
use crate::rns::kernel::KernelError;
use polyfabric_kernels::RingDegreeError;
use polyfabric_kernels::automorphism::GaloisElementError;
use polyfabric_kernels::modular::ModulusError;
use thiserror::Error;

/// A text that does not parse: where, and why.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("line {line}, column {column}: {cause}")]
pub struct TextError {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The cause.
    pub cause: TextErrorCause,
}

/// Why a text does not parse.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum TextErrorCause {
    /// Not written as it should be.
    #[error("{0}")]
    Syntax(#[from] SyntaxErrorCause),
    /// A refused node, or program.
    #[error("{0}")]
    Program(#[from] Box<ProgramError>),
    /// A refused operation of a kernel program, or program.
    #[error("{0}")]
    Kernel(#[from] Box<KernelError>),
    /// A refused ring degree.
    #[error("{0}")]
    Degree(#[from] RingDegreeError),
    /// A refused modulus.
    #[error("{0}")]
    Modulus(#[from] ModulusError),
    /// A refused automorphism.
    #[error("{0}")]
    Automorphism(#[from] GaloisElementError),
    /// An operation of a kernel program defines more or fewer values than are written before it.
    #[error("{written} values are defined here, but the operation gives {given}; number {given}")]
    Results {
        /// As written.
        written: usize,
        /// As the operation gives.
        given: usize,
    },
    /// More coefficients than runs of a program may repeat.
    #[error("runs repeat more than {most} coefficients of the program's plaintexts; write them out")]
    Repeated {
        /// The most.
        most: usize,
    },
    /// More limbs than a program may have.
    #[error("the program has more than {most} limbs in its sets and values; split it")]
    Limbs {
        /// The most.
        most: usize,
    },
}

impl From<SyntaxError> for TextError {
    fn from(error: SyntaxError) -> Self {
        Self { line: error.line, column: error.column, cause: error.cause.into() }
    }
}
