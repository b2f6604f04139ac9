//! The mappers and the built-in machines.
//!
//! A new machine is a folder with its files, and one line here. If its mapper also serves other machine files, it is one line in each of
//! the two lists.

use crate::contract::{Machine, MachineError, Mapper};
use crate::{activities, f1, fpt, morphling, osiris, torus_pipeline};
use polyfabric_sim::description::{Description, DescriptionLiteral, FigureSpec};

/// Every mapper, by name.
pub static MAPPERS: &[&Mapper] = &[
    &fpt::contract::MAPPER,
    &morphling::contract::MAPPER,
    &osiris::contract::MAPPER,
    &f1::contract::MAPPER,
    &torus_pipeline::contract::MAPPER,
];

/// The built-in machines: name and text of the file.
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

fn mapper(file: &str, name: &str) -> Result<&'static Mapper, MachineError> {
    let found = MAPPERS.iter().find(|mapper| mapper.name == name).copied();
    found.ok_or_else(|| {
        let known = MAPPERS.iter().map(|mapper| mapper.name).collect::<Vec<_>>().join(", ");
        MachineError::Mapper { file: file.to_owned(), mapper: name.to_owned(), known }
    })
}

/// Names of the built-in machines.
pub fn names() -> Vec<&'static str> {
    MACHINES.iter().map(|&(name, _)| name).collect()
}

/// Every built-in machine, with default readings.
pub fn descriptions() -> Result<Vec<Machine>, MachineError> {
    names().into_iter().map(description).collect()
}

/// The built-in machine `name`, with default readings.
pub fn description(name: &str) -> Result<Machine, MachineError> {
    match MACHINES.iter().find(|(known, _)| *known == name) {
        Some((_, text)) => parse(&format!("machines/{name}.toml"), text),
        None => Err(MachineError::Name { name: name.to_owned(), known: known() }),
    }
}

/// Reads the machine file `text`; errors name it `file`.
pub fn parse(file: &str, text: &str) -> Result<Machine, MachineError> {
    let literal = DescriptionLiteral::from_toml(file, text)?;
    let mapper = mapper(file, &literal.mapper)?;
    let machine = Machine::new(Description::check(file, &literal, mapper.specs)?, mapper)?;
    activities::expect(&machine)?;
    Ok(machine)
}

/// The figures that a mapper reads.
pub fn specs(file: &str, mapper: &str) -> Result<&'static [FigureSpec], MachineError> {
    Ok(self::mapper(file, mapper)?.specs)
}
