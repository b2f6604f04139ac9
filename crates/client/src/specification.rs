//! The public interface of a program, as its server publishes it.

use crate::failure::{Failure, Kind};
use crate::values::{ElementShapes, LaneShapes, Named, SlotShapes};
use polyfabric_program::rns::homomorphic::Values;
use polyfabric_program::rns::signature::{Signature as SlotSignature, SignatureLiteral};
use polyfabric_program::tfhe::homomorphic::{Signature, Terminal as ElementTerminal};
use polyfabric_schemes::set_file::ParameterSet;
use polyfabric_schemes::tfhe::{KeyUnrolling, Parameters, ParametersLiteral};
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};

const FORMAT: &str = "polyfabric-specification";
const VERSION: u64 = 2;

/// Most bytes of a specification.
pub const LARGEST: usize = 1 << 24;

/// Limits on a specification, because a client need not trust its author.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Least security of the parameter set, in bits.
    pub security: f64,
    /// Most bytes of an evaluation key.
    pub key_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { security: 128.0, key_bytes: 4 << 30 }
    }
}

/// A program's interface: types, encodings, parameter set and hash, but no operations.
pub struct Specification {
    program: String,
    pub(crate) interface: Interface,
}

pub(crate) enum Interface {
    Elements { signature: Signature, parameters: Parameters, shapes: ElementShapes },
    Slots { signature: Box<SlotSignature>, shapes: SlotForm },
}

/// How slots hold a program's values.
pub(crate) enum SlotForm {
    Numbers(SlotShapes),
    /// Integers of a batch.
    Lanes(LaneShapes),
}

impl SlotForm {
    pub fn flatten(&self, given: &Named) -> Result<HashMap<String, Values>, Failure> {
        match self {
            Self::Numbers(shapes) => shapes.flatten(given),
            Self::Lanes(shapes) => shapes.flatten(given),
        }
    }

    /// Outputs whose slots are real numbers.
    pub fn real(&self) -> &[String] {
        match self {
            Self::Numbers(shapes) => shapes.real(),
            Self::Lanes(_) => &[],
        }
    }

    pub fn shaped(&self, vectors: &BTreeMap<String, Values>) -> Result<Named, Failure> {
        match self {
            Self::Numbers(shapes) => Ok(shapes.shaped(vectors)),
            Self::Lanes(shapes) => shapes.shaped(vectors),
        }
    }
}

/// The fields that specifications of all schemes have. Others are for servers, or follow from these.
#[derive(Deserialize)]
struct Literal {
    format: String,
    version: u64,
    program: String,
    scheme: String,
    signature: Value,
    #[serde(default)]
    parameters: Option<ParametersLiteral>,
    shapes: Value,
    /// CKKS, BGV: the size of the evaluation key.
    #[serde(default)]
    key_bytes: Option<u64>,
}

fn unreadable(error: impl std::fmt::Display) -> Failure {
    Failure::new(Kind::File, format!("the specification cannot be read: {error}; get it from the program's server"))
}

impl Specification {
    /// Parses and checks a specification, which may come from a stranger.
    pub fn read(text: &[u8]) -> Result<Self, Failure> {
        if text.len() > LARGEST {
            return Err(unreadable(format!("it has {} bytes, more than {LARGEST}", text.len())));
        }
        let literal: Literal = serde_json::from_slice(text).map_err(unreadable)?;
        if literal.format != FORMAT {
            return Err(unreadable("it is a file of another kind"));
        }
        if literal.version != VERSION {
            let (found, read) = (literal.version, VERSION);
            return Err(unreadable(format!(
                "it has version {found}, but this client reads {read}: update the older side"
            )));
        }
        let interface = match (&*literal.scheme, literal.parameters) {
            ("tfhe", Some(parameters)) => {
                let signature = Signature::from_json(&literal.signature.to_string()).map_err(unreadable)?;
                let parameters =
                    Parameters::check(&parameters).map_err(|error| Failure::new(Kind::Parameter, error))?;
                let ends =
                    |own: &[ElementTerminal]| own.iter().map(|own| (own.name.clone(), own.length)).collect::<Vec<_>>();
                let (inputs, outputs) = (ends(&signature.inputs), ends(&signature.outputs));
                let shapes = ElementShapes::check(&literal.shapes, &inputs, &outputs)?;
                Interface::Elements { signature, parameters, shapes }
            }
            ("ckks" | "bgv", _) => {
                let own = SignatureLiteral::deserialize(&literal.signature).map_err(unreadable)?;
                let signature = SlotSignature::check(own).map_err(unreadable)?;
                if !signature.set().scheme().eq_ignore_ascii_case(&literal.scheme) {
                    return Err(unreadable("its scheme is not that of its parameters"));
                }
                let bytes = signature.key_bytes() as u64;
                if literal.key_bytes != Some(bytes) {
                    return Err(unreadable(format!(
                        "its evaluation key has {bytes} bytes, and it does not state that"
                    )));
                }
                let shapes = if literal.shapes.get("batch").is_some() {
                    let vectors = (signature.names(false), signature.names(true));
                    SlotForm::Lanes(LaneShapes::check(&literal.shapes, signature.slots(), vectors)?)
                } else {
                    SlotForm::Numbers(SlotShapes::check(&literal.shapes, &signature)?)
                };
                Interface::Slots { signature: Box::new(signature), shapes }
            }
            _ => return Err(unreadable(format!("there is no scheme {:.80?}", literal.scheme))),
        };
        Ok(Self { program: literal.program, interface })
    }

    /// The program's name.
    pub fn program(&self) -> &str {
        &self.program
    }

    /// The parameter set's name.
    pub fn set(&self) -> &str {
        match &self.interface {
            Interface::Elements { parameters, .. } => parameters.name(),
            Interface::Slots { signature, .. } => signature.set().name(),
        }
    }

    /// Bits of security of the parameter set; 0 if unknown.
    pub fn security_bits(&self) -> f64 {
        match &self.interface {
            Interface::Elements { parameters, .. } => parameters.security_bits(),
            Interface::Slots { signature, .. } => match signature.set() {
                ParameterSet::Ckks(set) => set.security().bits,
                ParameterSet::Bgv(set) => set.security().bits,
            },
        }
    }

    /// Bytes of the evaluation key.
    pub fn key_bytes(&self) -> u64 {
        match &self.interface {
            Interface::Elements { parameters, .. } => {
                parameters.compressed_key_bytes(KeyUnrolling::of(parameters.secret()))
            }
            Interface::Slots { signature, .. } => signature.key_bytes() as u64,
        }
    }

    /// Fails if the parameter set is weaker, or the evaluation key larger, than accepted.
    pub fn expect(&self, limits: &Limits) -> Result<(), Failure> {
        let (program, set) = (&self.program, self.set());
        let (security, bytes) = (self.security_bits(), self.key_bytes());
        let wanted = limits.security;
        if security < wanted || wanted.is_nan() {
            let message = format!(
                "the specification of {program} needs parameter set {set}, which has {:.1} bits of security, not {wanted}: what is encrypted with it may be read; ask for a specification with more, or accept fewer",
                (security * 10.0).floor() / 10.0
            );
            return Err(Failure::new(Kind::Parameter, message));
        }
        if bytes > limits.key_bytes {
            let most = limits.key_bytes;
            let message = format!(
                "the specification of {program} needs an evaluation key of {bytes} bytes, more than the accepted {most}; ask for a specification with a smaller key, or accept it"
            );
            return Err(Failure::new(Kind::Parameter, message));
        }
        Ok(())
    }
}
