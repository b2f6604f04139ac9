//! Files of a CKKS or BGV program's ciphertexts, one per input or output.

use super::{Ciphertexts, Encrypted, Origin};
use crate::failure::{Failure, Kind};
use crate::storage::{Source, Sources, written};
use polyfabric_program::rns::kernel::LimbSet;
use polyfabric_program::rns::levels::Scale;
use polyfabric_program::rns::signature::{Encoding, Signature, Terminal};
use polyfabric_schemes::ckks::CkksCiphertext;
use polyfabric_schemes::generation::KeyGeneration;
use polyfabric_schemes::gsw::GswCiphertext;
use polyfabric_schemes::port::{Direction, Port};
use polyfabric_schemes::rns::{Ciphertext, Domain, Ring, RnsPolynomial};
use polyfabric_schemes::set_file::ParameterSet;
use polyfabric_schemes::{bgv, ckks};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

fn is_output(direction: Direction) -> bool {
    direction == Direction::Output
}

fn refused(error: impl std::fmt::Display) -> Failure {
    Failure::new(Kind::File, error)
}

/// The scale of an input or output (CKKS), or its correction factor (BGV); `None` for a selector.
fn scale(terminal: &Terminal) -> Option<Scale> {
    match terminal.encoding {
        Encoding::Ckks { scale, .. } => Some(Scale::Real(scale)),
        Encoding::Bgv { factor, .. } => Some(Scale::Factor(factor)),
        Encoding::Selector {} => None,
    }
}

fn named<'a>(signature: &'a Signature, direction: Direction, name: &str) -> Result<&'a Terminal, Failure> {
    let unknown = || {
        let program = signature.name();
        Failure::new(Kind::Input, format!("{program} has no ciphertext {name:?}; name one of its inputs or outputs"))
    };
    signature.terminal(is_output(direction), name).ok_or_else(unknown)
}

impl Ciphertexts {
    /// Writes the ciphertext `name` atomically; returns its bytes if `path` is `None`.
    pub fn save(
        &self,
        signature: &Signature,
        direction: Direction,
        name: &str,
        path: Option<&Path>,
    ) -> Result<Option<Vec<u8>>, Failure> {
        self.origin.expect_set(signature.set())?;
        let terminal = named(signature, direction, name)?;
        let terminals = signature.terminals(is_output(direction)).iter();
        let before = terminals.take_while(|own| own.name != name).map(|own| own.parts);
        let parts: Vec<_> = self.polynomials.iter().skip(before.sum()).take(terminal.parts).cloned().collect();
        let encrypted = match (scale(terminal), signature.set()) {
            (Some(_), _) => Encrypted::Vector(Ciphertext::new(parts)),
            (None, set) => {
                let (ring, gadget) = (ring_of(set)?, set.selector_gadget(&terminal.limbs));
                let foreign = || refused(format!("{name:?} is no selector of this program; encrypt it anew"));
                Encrypted::Selector(GswCiphertext::of_polynomials(&ring, &gadget, &parts).ok_or_else(foreign)?)
            }
        };
        write(signature, self.origin.generation, direction, name, encrypted, path)
    }

    /// Reads all inputs or outputs, each from its file.
    pub fn load(signature: &Signature, direction: Direction, sources: &Sources<'_>) -> Result<Self, Failure> {
        let mut origin: Option<Origin> = None;
        let mut ciphertexts = BTreeMap::new();
        for (name, source) in sources {
            let selector = is_selector(signature, direction, name);
            let Read { set, generation, port, parts, form: found } = load_one(signature.set(), source, selector)?;
            let own = Origin { set, generation, name: source.name() };
            // Check the program first: a different set or level follows from it.
            signature.port(direction, name).expect(&port, &own.name).map_err(refused)?;
            own.expect_set(signature.set())?;
            if let Some(first) = &origin {
                first.expect(&own)?;
            }
            let terminal = named(signature, direction, name)?;
            let needed = Form {
                parts: terminal.parts,
                limbs: terminal.limb_set(),
                values: terminal.evaluated,
                scale: scale(terminal),
                slots: found.slots.map(|_| signature.slots()),
            };
            if found != needed {
                let (path, program) = (source.name(), signature.name());
                let kind = if is_output(direction) { "gives" } else { "takes" };
                return Err(refused(format!(
                    "{path}: {found}, but {program} {kind} {name:?} with {needed}; use the file that was written for this program"
                )));
            }
            origin.get_or_insert(own);
            ciphertexts.insert(name.as_str(), parts);
        }
        let mut polynomials = Vec::new();
        for terminal in signature.terminals(is_output(direction)) {
            let ciphertext = ciphertexts.remove(terminal.name.as_str());
            let lacking = || {
                let (name, program) = (&terminal.name, signature.name());
                Failure::new(Kind::Input, format!("the ciphertext {name:?} of {program} is missing; give all of them"))
            };
            polynomials.extend(ciphertext.ok_or_else(lacking)?);
        }
        let none = || Failure::new(Kind::Input, format!("{} has no such ciphertexts", signature.name()));
        Ok(Self { polynomials, origin: origin.ok_or_else(none)? })
    }
}

/// Writes `ciphertext`, the input or output `name`; returns its bytes if `path` is `None`.
pub fn write(
    signature: &Signature,
    generation: KeyGeneration,
    direction: Direction,
    name: &str,
    encrypted: Encrypted,
    path: Option<&Path>,
) -> Result<Option<Vec<u8>>, Failure> {
    let port = signature.port(direction, name);
    let scale = scale(named(signature, direction, name)?);
    let ciphertext = match (encrypted, signature.set().clone()) {
        (Encrypted::Vector(ciphertext), _) => ciphertext,
        (Encrypted::Selector(ciphertext), ParameterSet::Bgv(parameters)) => {
            return written(&bgv::serial::Selector { parameters, generation, port, ciphertext }, path);
        }
        (Encrypted::Selector(ciphertext), ParameterSet::Ckks(parameters)) => {
            return written(&ckks::serial::Selector { parameters, generation, port, ciphertext }, path);
        }
    };
    match signature.set().clone() {
        ParameterSet::Bgv(parameters) => {
            let Some(Scale::Factor(factor)) = scale else { return Err(refused("a factor of BGV is needed")) };
            let ciphertexts = vec![(ciphertext, factor)];
            written(&bgv::serial::Ciphertexts { parameters, generation, port, ciphertexts }, path)
        }
        ParameterSet::Ckks(parameters) => {
            let Some(Scale::Real(scale)) = scale else { return Err(refused("a scale of CKKS is needed")) };
            let one = CkksCiphertext::new(&parameters, ciphertext, scale, signature.slots()).map_err(refused)?;
            let ciphertexts = vec![one];
            written(&ckks::serial::Ciphertexts { parameters, generation, port, ciphertexts }, path)
        }
    }
}

/// The format of a ciphertext, as found in a file or as expected by the program.
#[derive(PartialEq)]
struct Form {
    parts: usize,
    limbs: LimbSet,
    values: bool,
    /// `None` for a selector.
    scale: Option<Scale>,
    /// `None` for BGV, which uses all slots of the ring, and for a selector.
    slots: Option<usize>,
}

impl std::fmt::Display for Form {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { parts, limbs, values, scale, slots } = self;
        let (domain, kind) =
            (if *values { "values" } else { "coefficients" }, if slots.is_some() { "scale " } else { "" });
        write!(f, "{parts} parts of {domain} over limbs {limbs}, ")?;
        match scale {
            Some(scale) => write!(f, "{kind}{scale}")?,
            None => f.write_str("a selector")?,
        }
        slots.map_or(Ok(()), |slots| write!(f, ", {slots} slots"))
    }
}

fn form_of(parts: &[RnsPolynomial], scale: Option<Scale>, slots: Option<usize>) -> Form {
    let first = &parts[0];
    Form {
        parts: parts.len(),
        limbs: LimbSet::new(first.limbs().iter().copied()),
        values: first.domain() == Domain::Evaluation,
        scale,
        slots,
    }
}

/// The content of a file with one ciphertext.
struct Read {
    set: ParameterSet,
    generation: KeyGeneration,
    port: Port,
    parts: Vec<RnsPolynomial>,
    form: Form,
}

/// Reads a file with one ciphertext, or with a selector.
fn load_one(set: &ParameterSet, source: &Source<'_>, selector: bool) -> Result<Read, Failure> {
    let several = |count: usize| {
        refused(format!(
            "{}: {count} ciphertexts, but one is expected; use the file that was written for this program",
            source.name()
        ))
    };
    match set {
        ParameterSet::Ckks(_) if selector => {
            let read: ckks::serial::Selector = source.read().map_err(refused)?;
            let parts = read.ciphertext.polynomials();
            let (set, form) = (ParameterSet::Ckks(read.parameters), form_of(&parts, None, None));
            Ok(Read { set, generation: read.generation, port: read.port, parts, form })
        }
        ParameterSet::Bgv(_) if selector => {
            let read: bgv::serial::Selector = source.read().map_err(refused)?;
            let parts = read.ciphertext.polynomials();
            let (set, form) = (ParameterSet::Bgv(read.parameters), form_of(&parts, None, None));
            Ok(Read { set, generation: read.generation, port: read.port, parts, form })
        }
        ParameterSet::Ckks(_) => {
            let mut read: ckks::serial::Ciphertexts = source.read().map_err(refused)?;
            let one = read.ciphertexts.pop().filter(|_| read.ciphertexts.is_empty());
            let one = one.ok_or_else(|| several(read.ciphertexts.len() + 1))?;
            let form = form_of(&one.ciphertext().parts, Some(Scale::Real(one.scale())), Some(one.slots()));
            let (set, parts) = (ParameterSet::Ckks(read.parameters), one.into_ciphertext().parts);
            Ok(Read { set, generation: read.generation, port: read.port, parts, form })
        }
        ParameterSet::Bgv(_) => {
            let mut read: bgv::serial::Ciphertexts = source.read().map_err(refused)?;
            let one = read.ciphertexts.pop().filter(|_| read.ciphertexts.is_empty());
            let (ciphertext, factor) = one.ok_or_else(|| several(read.ciphertexts.len() + 1))?;
            let form = form_of(&ciphertext.parts, Some(Scale::Factor(factor)), None);
            let (set, parts) = (ParameterSet::Bgv(read.parameters), ciphertext.parts);
            Ok(Read { set, generation: read.generation, port: read.port, parts, form })
        }
    }
}

fn is_selector(signature: &Signature, direction: Direction, name: &str) -> bool {
    signature.terminal(is_output(direction), name).is_some_and(|own| scale(own).is_none())
}

fn ring_of(set: &ParameterSet) -> Result<Arc<Ring>, Failure> {
    match set {
        ParameterSet::Ckks(set) => set.ring().map_err(refused),
        ParameterSet::Bgv(set) => Ok(Arc::clone(set.ring())),
    }
}

/// Fails if a file belongs to another program, whatever its set.
pub fn expect_own(signature: &Signature, direction: Direction, sources: &Sources<'_>) -> Result<(), Failure> {
    sources.iter().try_for_each(|(name, source)| {
        let port = load_one(signature.set(), source, is_selector(signature, direction, name))?.port;
        signature.port(direction, name).expect(&port, &source.name()).map_err(refused)
    })
}
