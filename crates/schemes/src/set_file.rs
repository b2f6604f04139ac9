//! A parameter set of one's own in a TOML file: the literal of CKKS or of BGV under the scheme's name, with whatever fields the literal has.
//!
//! ```
//! use polyfabric_schemes::set_file::{ParameterSet, parse};
//!
//! let set = parse(
//!     "mine.toml",
//!     r#"
//!     [ckks]
//!     name = "mine"
//!     ring_degree = 8192
//!     q = [{ bits = 50 }, { bits = 40, count = 2 }]
//!     p = [{ bits = 50 }]
//!     gadget = { hybrid = { digit_limbs = 1 } }
//!     scale_log2 = 40
//!     secret = "uniform-ternary"
//!     noise_std = 3.2
//!     "#,
//! )?;
//! let ParameterSet::Ckks(parameters) = set else { panic!("a set of CKKS") };
//! assert_eq!(parameters.max_level(), 2);
//! assert!(parameters.security().bits > 128.0);
//! # Ok::<(), polyfabric_schemes::set_file::SetFileError>(())
//! ```

use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::Deserialize;
use thiserror::Error;

use crate::toml_text::fault;
use crate::{bgv, ckks};

/// Most bytes of a file: every field of the longest chain, twice over.
pub const LARGEST_FILE: usize = 1 << 16;

/// A checked set of either scheme.
#[derive(Clone, Debug, PartialEq)]
pub enum ParameterSet {
    /// Of CKKS.
    Ckks(ckks::Parameters),
    /// Of BGV.
    Bgv(bgv::Parameters),
}

impl ParameterSet {
    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Self::Ckks(set) => set.name(),
            Self::Bgv(set) => set.name(),
        }
    }

    /// Its scheme's name.
    pub fn scheme(&self) -> &'static str {
        match self {
            Self::Ckks(_) => "CKKS",
            Self::Bgv(_) => "BGV",
        }
    }
}

/// Why a file is no parameter set.
#[derive(Debug, Error)]
pub enum SetFileError {
    /// It cannot be read.
    #[error("{file}: cannot read the parameter set ({source}); check the path")]
    Unreadable {
        /// The file.
        file: String,
        /// Why.
        source: std::io::Error,
    },
    /// It is too large.
    #[error("{file}: more than {LARGEST_FILE} bytes, and a parameter set has fewer; is this the file?")]
    Size {
        /// The file.
        file: String,
    },
    /// It is not of the form of a set: no TOML, an unknown or a missing field, a value of another type.
    #[error("{file}: {cause}\ncorrect it; docs/slots.md lists the fields of a parameter set")]
    Form {
        /// The file.
        file: String,
        /// Line, column, what is wrong.
        cause: String,
    },
    /// None of the schemes, or both.
    #[error("{file}: a file has one set, in a table [ckks] or [bgv], and this one has {found}")]
    Scheme {
        /// The file.
        file: String,
        /// What it has.
        found: &'static str,
    },
    /// The name is that of a set that comes with the project.
    #[error(
        "{file}: parameter set {name} comes with the project, with other figures; give your set another name, such as own-{name}"
    )]
    Name {
        /// The file.
        file: String,
        /// The name.
        name: String,
    },
    /// The scale of CKKS leaves no room at level 0.
    #[error(
        "{file}: scale_log2 is {scale}, and level 0, the first of q, has {modulus:.1} bits: a value there would exceed its modulus; lower the scale, or enlarge the first of q to {least} bits and more"
    )]
    Scale {
        /// The file.
        file: String,
        /// log2 of the scale.
        scale: f64,
        /// log2 of level 0's modulus.
        modulus: f64,
        /// Bits that would hold the scale.
        least: u32,
    },
    /// The set of CKKS does not hold together.
    #[error("{file}: {cause}")]
    Ckks {
        /// The file.
        file: String,
        /// Why.
        cause: ckks::ParameterError,
    },
    /// The set of BGV does not hold together.
    #[error("{file}: {cause}")]
    Bgv {
        /// The file.
        file: String,
        /// Why.
        cause: bgv::ParameterError,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    ckks: Option<ckks::ParametersLiteral>,
    bgv: Option<bgv::ParametersLiteral>,
}

/// Reads and checks the set of the file at `path`.
///
/// # Errors
/// [`SetFileError`].
pub fn load(path: &Path) -> Result<ParameterSet, SetFileError> {
    let file = path.display().to_string();
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|open| open.take(LARGEST_FILE as u64 + 1).read_to_end(&mut bytes));
    if let Err(source) = read {
        return Err(SetFileError::Unreadable { file, source });
    }
    let text = String::from_utf8(bytes);
    let text = text.map_err(|error| SetFileError::Form { file: file.clone(), cause: format!("no text ({error})") })?;
    parse(&file, &text)
}

/// Checks the set that `text` describes, from what is called `file` in messages.
///
/// # Errors
/// [`SetFileError`].
pub fn parse(file: &str, text: &str) -> Result<ParameterSet, SetFileError> {
    let file = || file.to_owned();
    if text.len() > LARGEST_FILE {
        return Err(SetFileError::Size { file: file() });
    }
    let form = |error| SetFileError::Form { file: file(), cause: fault(&error, text) };
    match toml::from_str(text).map_err(form)? {
        Written { ckks: Some(literal), bgv: None } => {
            let set = ckks::Parameters::check(&literal).map_err(|cause| SetFileError::Ckks { file: file(), cause })?;
            let (scale, modulus) = (literal.scale_log2, set.log2_q(0));
            if scale >= modulus {
                return Err(SetFileError::Scale { file: file(), scale, modulus, least: scale as u32 + 1 });
            }
            match ckks::sets::parameters(set.name()) {
                Ok(known) if known != set => Err(SetFileError::Name { file: file(), name: literal.name }),
                _ => Ok(ParameterSet::Ckks(set)),
            }
        }
        Written { ckks: None, bgv: Some(literal) } => {
            let set = bgv::Parameters::check(&literal).map_err(|cause| SetFileError::Bgv { file: file(), cause })?;
            match bgv::sets::named(set.name()) {
                Ok(known) if known != set => Err(SetFileError::Name { file: file(), name: literal.name }),
                _ => Ok(ParameterSet::Bgv(set)),
            }
        }
        Written { ckks, .. } => {
            let found = if ckks.is_some() { "both" } else { "neither" };
            Err(SetFileError::Scheme { file: file(), found })
        }
    }
}

#[cfg(test)]
mod tests;
