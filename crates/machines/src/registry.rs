//! The mappers, and the machines that come with the project. A further one is a folder, its files, and a line here.

use crate::contract::options::{Given, check_against};
use crate::contract::{Family, Machine, MachineError, Mapper};
use crate::engine::description::{Description, DescriptionError, DescriptionLiteral, FigureError, FigureSpec};
use crate::{activities, f1, fpt, morphling, osiris, strix, torus_pipeline};

/// Every mapper, by name.
pub static MAPPERS: &[&dyn Mapper] = &[
    &fpt::contract::KIND,
    &morphling::contract::KIND,
    &osiris::contract::KIND,
    &f1::contract::MAPPER,
    &torus_pipeline::contract::MAPPER,
];

/// Every machine, by name.
pub static MACHINES: &[&dyn Machine] = &[
    &f1::contract::MACHINE,
    &fpt::contract::KIND,
    &morphling::contract::KIND,
    &osiris::contract::KIND,
    &strix::contract::MACHINE,
];

fn known() -> String {
    names().join(", ")
}

/// The mapper that `machine`'s file names.
///
/// # Errors
/// [`MachineError::Mapper`] if there is no such mapper.
pub fn of(machine: &Description) -> Result<&'static dyn Mapper, MachineError> {
    mapper(machine.file(), machine.mapper())
}

fn mapper(file: &str, name: &str) -> Result<&'static dyn Mapper, MachineError> {
    let found = MAPPERS.iter().find(|mapper| mapper.name() == name).copied();
    found.ok_or_else(|| {
        let known = MAPPERS.iter().map(|mapper| mapper.name()).collect::<Vec<_>>().join(", ");
        MachineError::Mapper { file: file.to_owned(), mapper: name.to_owned(), known }
    })
}

/// The family of `machine`.
///
/// # Errors
/// [`MachineError::Mapper`] if its file names no mapper.
pub fn family(machine: &Description) -> Result<Family, MachineError> {
    Ok(of(machine)?.programs().family())
}

/// Names of the machines.
pub fn names() -> Vec<&'static str> {
    MACHINES.iter().map(|machine| machine.name()).collect()
}

/// Every machine with its readings at their defaults.
///
/// # Errors
/// [`MachineError`] of the first file that is wrong.
pub fn descriptions() -> Result<Vec<Description>, MachineError> {
    names().into_iter().map(description).collect()
}

/// The machine called `name`, with its readings at their defaults.
///
/// # Errors
/// [`MachineError::Name`] with the names that exist.
pub fn description(name: &str) -> Result<Description, MachineError> {
    match MACHINES.iter().find(|machine| machine.name() == name) {
        Some(machine) => parse(&format!("machines/{name}.toml"), machine.file()),
        None => Err(MachineError::Name { name: name.to_owned(), known: known() }),
    }
}

/// The machine that `text`, from file `file`, describes.
///
/// # Errors
/// [`MachineError`] with the place and the remedy.
pub fn parse(file: &str, text: &str) -> Result<Description, MachineError> {
    let literal = DescriptionLiteral::from_toml(file, text)?;
    let specs = specs(file, &literal.mapper)?;
    let machine = together(Description::check(file, &literal, specs)?)?;
    activities::expect(&machine)?;
    Ok(machine)
}

/// `machine`, if its figures go together. What is unknown is an error for whoever asks for it.
fn together(machine: Description) -> Result<Description, MachineError> {
    match of(&machine)?.check(&machine) {
        Ok(()) | Err(FigureError::Description(DescriptionError::Unknown { .. } | DescriptionError::Missing { .. })) => {
            Ok(machine)
        }
        Err(error) => Err(error.into()),
    }
}

/// The figures that a mapper reads.
///
/// # Errors
/// [`MachineError::Mapper`] if there is no such mapper.
pub fn specs(file: &str, mapper: &str) -> Result<&'static [FigureSpec], MachineError> {
    Ok(self::mapper(file, mapper)?.specs())
}

/// The same machine with some readings chosen: pairs of reading and option.
///
/// # Errors
/// [`MachineError`] with the readings that exist.
pub fn choose(machine: &Description, choices: &[(&str, &str)]) -> Result<Description, MachineError> {
    together(machine.choose(of(machine)?.specs(), choices)?)
}

/// The same machine with other values of some figures, in the units of its file, and with the area and power of that.
///
/// # Errors
/// [`MachineError`] for a key that the file has not, a value out of range, or a figure that no component's area follows.
pub fn changed(machine: &Description, changes: &[(String, f64)]) -> Result<Description, MachineError> {
    together(machine.changed(of(machine)?.specs(), changes)?)
}

/// The same machine with something exchanged that is no figure: what its mapper lists under `name`, for `value`.
///
/// # Errors
/// [`MachineError::Option`] for what its mapper does not list, and as the mapper has it.
pub fn exchanged(machine: &Description, name: &str, value: &str) -> Result<Description, MachineError> {
    let mapper = of(machine)?;
    check_against(mapper.exchanges(), machine, &Given::from([(name.to_owned(), value.to_owned())]))?;
    mapper.exchanged(machine, name, value)
}
