//! User-defined parameter sets in TOML: the fields of a CKKS or BGV literal in a table named after the scheme.
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
use std::sync::Arc;

use serde::Deserialize;
use thiserror::Error;

use crate::rns::{Gadget, LimbId};
use crate::toml_text::fault;
use crate::{bgv, ckks, gsw};

/// Maximum size of a file: twice every field of the longest chain.
pub const LARGEST_FILE: usize = 1 << 16;

/// A checked set of either scheme.
#[derive(Clone, Debug, PartialEq)]
pub enum ParameterSet {
    Ckks(ckks::Parameters),
    Bgv(bgv::Parameters),
}

impl ParameterSet {
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

    /// The gadget of a selector for products with ciphertexts over the limbs of Q among `limbs`.
    pub fn selector_gadget(&self, limbs: &[LimbId]) -> Arc<Gadget> {
        match self {
            Self::Ckks(set) => set.gadget_over(gsw::ID, limbs),
            Self::Bgv(set) => set.gadget_over(limbs),
        }
    }
}

/// Why a file is not a parameter set.
#[derive(Debug, Error)]
pub enum SetFileError {
    #[error("{file}: cannot read the parameter set ({source}); check the path")]
    Unreadable { file: String, source: std::io::Error },
    #[error(
        "{file}: more than {LARGEST_FILE} bytes, more than any parameter set has; check that this is the right file"
    )]
    Size { file: String },
    #[error("{file}: {cause}\ncorrect it; docs/slots.md lists the fields of a parameter set")]
    Form { file: String, cause: String },
    #[error("{file}: a file has one set, in a table [ckks] or [bgv], and this one has {found}")]
    Scheme { file: String, found: &'static str },
    #[error(
        "{file}: parameter set {name} comes with the project, with other figures; give your set another name, such as own-{name}"
    )]
    Name { file: String, name: String },
    #[error(
        "{file}: scale_log2 is {scale}, but level 0, the first of q, has {modulus:.1} bits: a value there would exceed its modulus; lower the scale, or enlarge the first of q to {least} bits and more"
    )]
    Scale { file: String, scale: f64, modulus: f64, least: u32 },
    #[error("{file}: {cause}")]
    Ckks { file: String, cause: ckks::ParameterError },
    #[error("{file}: {cause}")]
    Bgv { file: String, cause: bgv::ParameterError },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    ckks: Option<ckks::ParametersLiteral>,
    bgv: Option<bgv::ParametersLiteral>,
}

/// Reads and checks the set of the file at `path`.
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

/// Checks the set in `text`; messages name its source `file`.
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
