//! The mappers, and the machines that come with the project. A further one is a folder, its files, and a line here, or one in each list where its mapper serves machines of other files too.

use crate::contract::{Machine, MachineError, Mapper};
use crate::engine::description::{Description, DescriptionLiteral, FigureSpec};
use crate::{activities, f1, fpt, morphling, osiris, torus_pipeline};

/// Every mapper, by name.
pub static MAPPERS: &[&dyn Mapper] = &[
    &fpt::contract::MAPPER,
    &morphling::contract::MAPPER,
    &osiris::contract::MAPPER,
    &f1::contract::MAPPER,
    &torus_pipeline::contract::MAPPER,
];

/// The machines that come with the project: name, and text of the file.
pub static MACHINES: &[(&str, &str)] = &[
    ("f1", include_str!("../../../machines/f1.toml")),
    ("fpt", include_str!("../../../machines/fpt.toml")),
    ("morphling", include_str!("../../../machines/morphling.toml")),
    ("osiris", include_str!("../../../machines/osiris.toml")),
    ("strix", include_str!("../../../machines/strix.toml")),
];

fn known() -> String {
    names().join(", ")
}

fn mapper(file: &str, name: &str) -> Result<&'static dyn Mapper, MachineError> {
    let found = MAPPERS.iter().find(|mapper| mapper.name() == name).copied();
    found.ok_or_else(|| {
        let known = MAPPERS.iter().map(|mapper| mapper.name()).collect::<Vec<_>>().join(", ");
        MachineError::Mapper { file: file.to_owned(), mapper: name.to_owned(), known }
    })
}

/// Names of the machines.
pub fn names() -> Vec<&'static str> {
    MACHINES.iter().map(|&(name, _)| name).collect()
}

/// Every machine with its readings at their defaults.
///
/// # Errors
/// [`MachineError`] of the first file that is wrong.
pub fn descriptions() -> Result<Vec<Machine>, MachineError> {
    names().into_iter().map(description).collect()
}

/// The machine called `name`, with its readings at their defaults.
///
/// # Errors
/// [`MachineError::Name`] with the names that exist.
pub fn description(name: &str) -> Result<Machine, MachineError> {
    match MACHINES.iter().find(|(known, _)| *known == name) {
        Some((_, text)) => parse(&format!("machines/{name}.toml"), text),
        None => Err(MachineError::Name { name: name.to_owned(), known: known() }),
    }
}

/// The machine that `text`, from file `file`, describes.
///
/// # Errors
/// [`MachineError`] with the place and the remedy.
pub fn parse(file: &str, text: &str) -> Result<Machine, MachineError> {
    let literal = DescriptionLiteral::from_toml(file, text)?;
    let mapper = mapper(file, &literal.mapper)?;
    let machine = Machine::new(Description::check(file, &literal, mapper.specs())?, mapper)?;
    activities::expect(&machine)?;
    Ok(machine)
}

/// The figures that a mapper reads.
///
/// # Errors
/// [`MachineError::Mapper`] if there is no such mapper.
pub fn specs(file: &str, mapper: &str) -> Result<&'static [FigureSpec], MachineError> {
    Ok(self::mapper(file, mapper)?.specs())
}
