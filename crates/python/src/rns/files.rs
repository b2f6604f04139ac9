//! Ciphertexts of a program in files, one an input or an output.

use super::plan::{Lowering, SlotPlan};
use super::run::{Origin, PySlotCiphertexts};
use crate::failure::{Failure, Kind};
use crate::keys::direction;
use crate::storage::{Source, written};
use polyfabric_program::rns::kernel::{LimbSet, ValueType};
use polyfabric_program::rns::levels::Scale;
use polyfabric_schemes::ckks::CkksCiphertext;
use polyfabric_schemes::generation::KeyGeneration;
use polyfabric_schemes::port::Port;
use polyfabric_schemes::rns::{Ciphertext, Domain};
use polyfabric_schemes::set_file::ParameterSet;
use polyfabric_schemes::{bgv, ckks};
use std::collections::BTreeMap;
use std::path::Path;

fn file(error: impl std::fmt::Display) -> Failure {
    Failure::new(Kind::File, error)
}

/// The program's polynomials, in order: whose, which power of the secret, what they are.
fn polynomials(plan: &SlotPlan, outputs: bool) -> Vec<(&str, u16, &ValueType)> {
    let kernel = plan.kernel();
    if outputs {
        kernel.outputs.iter().map(|output| (&*output.name, output.part, kernel.value(output.value))).collect()
    } else {
        kernel.inputs().map(|(name, part, _, value)| (name, part, value)).collect()
    }
}

/// The scale of the input or output `name`, or its correction factor.
fn scale(plan: &SlotPlan, outputs: bool, name: &str) -> Option<Scale> {
    match &plan.lowering {
        Lowering::Ckks(ckks) => {
            let ports = if outputs { &ckks.lowered.outputs } else { &ckks.lowered.inputs };
            ports.iter().find(|port| port.name == name).map(|port| port.scale)
        }
        Lowering::Bgv(bgv) => {
            let ports = if outputs { &bgv.lowered.plan.outputs } else { &bgv.lowered.plan.inputs };
            ports.iter().find(|port| port.name == name).map(|port| Scale::Factor(port.state.factor))
        }
    }
}

fn unknown(plan: &SlotPlan, name: &str) -> Failure {
    Failure::new(
        Kind::Input,
        format!("{} has no ciphertext {name:?}; name one of its inputs or outputs", plan.program().name()),
    )
}

/// Writes the ciphertext `name`; without a path, gives its bytes.
pub fn save_one(
    ciphertexts: &PySlotCiphertexts,
    plan: &SlotPlan,
    outputs: bool,
    name: &str,
    path: Option<&Path>,
) -> Result<Option<Vec<u8>>, Failure> {
    ciphertexts.origin.expect_plan(plan)?;
    let own = polynomials(plan, outputs).into_iter().zip(&ciphertexts.polynomials);
    let mut parts: Vec<_> =
        own.filter(|((of, ..), _)| *of == name).map(|((_, part, _), own)| (part, own.clone())).collect();
    parts.sort_by_key(|(part, _)| *part);
    if parts.is_empty() {
        return Err(unknown(plan, name));
    }
    let ciphertext = Ciphertext::new(parts.into_iter().map(|(_, part)| part).collect());
    write(plan, ciphertexts.origin.generation, outputs, name, ciphertext, path)
}

/// Writes `ciphertext`, which is the input or the output `name`; without a path, gives its bytes.
pub fn write(
    plan: &SlotPlan,
    generation: KeyGeneration,
    outputs: bool,
    name: &str,
    ciphertext: Ciphertext,
    path: Option<&Path>,
) -> Result<Option<Vec<u8>>, Failure> {
    let port = plan.program().port(direction(outputs), name);
    match (&plan.lowering, scale(plan, outputs, name).ok_or_else(|| unknown(plan, name))?) {
        (Lowering::Bgv(bgv), Scale::Factor(factor)) => {
            let (parameters, ciphertexts) = (bgv.parameters.clone(), vec![(ciphertext, factor)]);
            written(&bgv::serial::Ciphertexts { parameters, generation, port, ciphertexts }, path)
        }
        (Lowering::Ckks(ckks), scale) => {
            let parameters = ckks.parameters.clone();
            let one =
                CkksCiphertext::new(&parameters, ciphertext, scale.real(), plan.program().slots()).map_err(file)?;
            let ciphertexts = vec![one];
            written(&ckks::serial::Ciphertexts { parameters, generation, port, ciphertexts }, path)
        }
        _ => Err(unknown(plan, name)),
    }
}

/// A ciphertext as its file says, or as the program takes it.
#[derive(PartialEq)]
struct Form {
    parts: usize,
    limbs: LimbSet,
    values: bool,
    scale: Scale,
    /// None for BGV, whose slots are the ring's.
    slots: Option<usize>,
}

impl std::fmt::Display for Form {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { parts, limbs, values, scale, slots } = self;
        let (domain, kind) =
            (if *values { "values" } else { "coefficients" }, if slots.is_some() { "scale " } else { "" });
        write!(f, "{parts} parts of {domain} over limbs {limbs}, {kind}{scale}")?;
        slots.map_or(Ok(()), |slots| write!(f, ", {slots} slots"))
    }
}

fn form_of(ciphertext: &Ciphertext, scale: Scale, slots: Option<usize>) -> Form {
    Form {
        parts: ciphertext.parts.len(),
        limbs: LimbSet::new(ciphertext.limbs().iter().copied()),
        values: ciphertext.domain() == Domain::Evaluation,
        scale,
        slots,
    }
}

/// What a file of one ciphertext holds.
struct Read {
    set: ParameterSet,
    generation: KeyGeneration,
    port: Port,
    ciphertext: Ciphertext,
    form: Form,
}

/// Reads the file of one ciphertext.
fn load_one(scheme_of: &Lowering, source: &Source) -> Result<Read, Failure> {
    let several = |count: usize| {
        file(format!(
            "{}: {count} ciphertexts, where one is needed; bring the file that was written for this program",
            source.name()
        ))
    };
    match scheme_of {
        Lowering::Ckks(_) => {
            let mut read: ckks::serial::Ciphertexts = source.read().map_err(file)?;
            let one = read.ciphertexts.pop().filter(|_| read.ciphertexts.is_empty());
            let one = one.ok_or_else(|| several(read.ciphertexts.len() + 1))?;
            let form = form_of(one.ciphertext(), Scale::Real(one.scale()), Some(one.slots()));
            let (set, ciphertext) = (ParameterSet::Ckks(read.parameters), one.into_ciphertext());
            Ok(Read { set, generation: read.generation, port: read.port, ciphertext, form })
        }
        Lowering::Bgv(_) => {
            let mut read: bgv::serial::Ciphertexts = source.read().map_err(file)?;
            let one = read.ciphertexts.pop().filter(|_| read.ciphertexts.is_empty());
            let (ciphertext, factor) = one.ok_or_else(|| several(read.ciphertexts.len() + 1))?;
            let form = form_of(&ciphertext, Scale::Factor(factor), None);
            let set = ParameterSet::Bgv(read.parameters);
            Ok(Read { set, generation: read.generation, port: read.port, ciphertext, form })
        }
    }
}

/// Reads all inputs, or outputs, each from its file.
pub fn load_all(
    plan: &SlotPlan,
    outputs: bool,
    files: &BTreeMap<String, Source>,
) -> Result<PySlotCiphertexts, Failure> {
    let wanted = polynomials(plan, outputs);
    let mut origin: Option<Origin> = None;
    let mut ciphertexts = BTreeMap::new();
    for (name, source) in files {
        let Read { set, generation, port, ciphertext, form: found } = load_one(&plan.lowering, source)?;
        let own = Origin { set, generation, name: source.name() };
        own.expect_plan(plan)?;
        let needed = plan.program().port(direction(outputs), name);
        needed.expect(&port, &own.name).map_err(file)?;
        if let Some(first) = &origin {
            first.expect(&own)?;
        }
        let scale = scale(plan, outputs, name).ok_or_else(|| unknown(plan, name))?;
        let mut parts = wanted.iter().filter(|(of, ..)| of == name).map(|(.., value)| *value).peekable();
        let value = *parts.peek().ok_or_else(|| unknown(plan, name))?;
        let needed = Form {
            parts: parts.count(),
            limbs: value.limbs.clone(),
            values: value.domain == Domain::Evaluation,
            scale,
            slots: found.slots.map(|_| plan.program().slots()),
        };
        if found != needed {
            let (path, program) = (source.name(), plan.program().name());
            let kind = if outputs { "gives" } else { "takes" };
            return Err(file(format!(
                "{path}: {found}, but {program} {kind} {name:?} with {needed}; bring the file that was written for this program"
            )));
        }
        origin.get_or_insert(own);
        ciphertexts.insert(name.as_str(), ciphertext);
    }
    let polynomials = wanted.iter().map(|(name, part, _)| {
        let ciphertext = ciphertexts.get(name).ok_or_else(|| unknown(plan, name))?;
        Ok(ciphertext.parts[usize::from(*part)].clone())
    });
    let polynomials = polynomials.collect::<Result<_, Failure>>()?;
    let origin = origin.ok_or_else(|| unknown(plan, ""))?;
    Ok(PySlotCiphertexts { polynomials, origin })
}
