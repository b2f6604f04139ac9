//! Energy and area by component.
//!
//! A component draws its stated power P when it works in every cycle. A share s of P is always drawn (leakage, clock
//! tree). The rest is proportional to the activity a: the mean utilisation of the classes and memories that the machine
//! file names. Over a time t the energy is P · t · (s + (1 - s) · a). P and the area are taken from the file; published
//! results among them are marked as input. s is an assumption, and its source says so. a comes from the schedule, so
//! the energy is a prediction.
//!
//! Off-chip memory takes its energy a bit for every bit on its channels. For channels of class `hbm` or `hbm.…` this is
//! `channels.hbm.energy`. Nothing is added if a component's power includes the memory, or if the file gives neither, as
//! for the channel to a host.

use super::description::{Component, Description, DescriptionError, Figure, sum_of_parts};
use super::schedule::{Lines, MemoryKind, Resources};
use super::totals::{Totals, classes};
use serde::Serialize;
use std::collections::BTreeMap;

/// Area, power and energy of one component.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComponentEnergy {
    /// Name in the machine file.
    pub name: String,
    /// Area in mm²; absent if unknown.
    pub area_mm2: Option<f64>,
    /// Power at full activity in W; absent if unknown.
    pub full_power_w: Option<f64>,
    /// `input` if area or power is a published result that the model takes in. `scaled` if it follows from one by a law
    /// of the machine file. Otherwise `figure`.
    pub kind: &'static str,
    /// Share of the time at work.
    pub activity: f64,
    /// Share of the power that is drawn without activity.
    pub idle_share: f64,
    /// Source of that share.
    pub idle_source: String,
    /// Energy in J over the whole schedule; absent if the power is unknown.
    pub energy_j: Option<f64>,
}

/// Energy of a schedule.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Energy {
    pub components: Vec<ComponentEnergy>,
    /// Off-chip memory, in J. Absent if its energy a bit is unknown or not in the file, for example because a component
    /// includes it.
    pub off_chip_j: Option<f64>,
    /// Everything, in J; absent if a part is unknown.
    pub total_j: Option<f64>,
    /// Area of all components in mm²; absent if a part is unknown.
    pub area_mm2: Option<f64>,
}

/// Why the energy cannot be computed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum EnergyError {
    #[error(
        "{file}, `components.{component}.activity`: the schedule has no unit class, channel class or memory {name:?}. \
         Choose from: {known}"
    )]
    Activity { file: String, component: String, name: String, known: String },
    #[error(transparent)]
    Description(#[from] DescriptionError),
}

/// For each class of units and channels, the share of time at work at its own rate. For each memory (`memory:NAME`),
/// the used share of its ports' bandwidth. Classes `A.x`, `A.y`, .. are a family: `A` is all of their units together.
pub fn utilisation(resources: &Resources, totals: &Totals, cycles: u64) -> BTreeMap<String, f64> {
    let share = |work: f64, capacity: f64| if capacity > 0.0 { work / capacity } else { 0.0 };
    let mut shares = BTreeMap::new();
    let mut families: BTreeMap<String, (f64, f64)> = BTreeMap::new();
    for (class, members) in classes(resources) {
        let needed: f64 = members.iter().map(|&unit| totals.needed[unit] as f64).sum();
        let capacity = members.len() as f64 * cycles as f64;
        if let Some((family, _)) = class.split_once('.') {
            let sums = families.entry(family.to_owned()).or_default();
            *sums = (sums.0 + needed, sums.1 + capacity);
        }
        shares.insert(class, share(needed, capacity));
    }
    for (family, (needed, capacity)) in families {
        shares.entry(family).or_insert(share(needed, capacity));
    }
    for (index, memory) in resources.memories.iter().enumerate() {
        let bytes_per_cycle = match &memory.kind {
            MemoryKind::OnChip { banks, read_bytes_per_cycle, write_bytes_per_cycle, .. } => {
                (read_bytes_per_cycle + write_bytes_per_cycle) * f64::from(*banks)
            }
            MemoryKind::Lines(Lines { banks, stripes, accesses, bytes_per_cycle, .. }) => {
                f64::from(banks * stripes * accesses) * bytes_per_cycle
            }
            _ => continue,
        };
        let moved = totals.read[index] as f64 + totals.written[index] as f64;
        shares.insert(format!("memory:{}", memory.name), share(moved, bytes_per_cycle * cycles as f64));
    }
    shares
}

/// Checks that the classes and memories in the components' `activity` exist in a machine of these resources.
pub fn expect_activities(machine: &Description, resources: &Resources) -> Result<(), EnergyError> {
    let idle = utilisation(resources, &Totals::none(resources), 1);
    machine.components().iter().try_for_each(|part| activity(machine, part, &idle).map(|_| ()))
}

impl Energy {
    /// Energy of a checked schedule of `cycles` cycles on a machine of these resources.
    pub fn of(
        machine: &Description,
        (resources, totals): (&Resources, &Totals),
        utilisation: &BTreeMap<String, f64>,
        cycles: u64,
    ) -> Result<Self, EnergyError> {
        let seconds = cycles as f64 / machine.clock_hz()?;
        let components = machine.components().iter().map(|part| component(machine, part, utilisation, seconds));
        let components = components.collect::<Result<Vec<_>, _>>()?;
        let off_chip_j = off_chip(machine, resources, totals);
        let on_chip = sum_of_parts(components.iter().map(|part| part.energy_j));
        let included = machine.components().iter().any(|part| !part.includes.is_empty());
        let total_j = match off_chip_j {
            // Components include all off-chip memory.
            None if included && energies(machine).next().is_none() => on_chip,
            _ => on_chip.zip(off_chip_j).map(|(on_chip, off_chip)| on_chip + off_chip),
        };
        let area_mm2 = sum_of_parts(components.iter().map(|part| part.area_mm2));
        Ok(Self { components, off_chip_j, total_j, area_mm2 })
    }
}

/// The energies a bit in a file: names of channels and the figures.
fn energies(machine: &Description) -> impl Iterator<Item = (&str, &Figure)> {
    let figures = machine.figures().iter();
    figures.filter_map(|(key, figure)| Some((key.strip_prefix("channels.")?.strip_suffix(".energy")?, figure)))
}

/// Energy in J of the memory behind the channels that have an energy a bit.
fn off_chip(machine: &Description, resources: &Resources, totals: &Totals) -> Option<f64> {
    let classes = classes(resources);
    let joule = |(name, figure): (&str, &Figure)| {
        let own = classes.iter().filter(|(class, _)| class.split('.').next() == Some(name));
        let bytes: u64 = own.flat_map(|(_, members)| members).map(|&member| totals.off_chip[member]).sum();
        Some(figure.value? * 8.0 * bytes as f64)
    };
    sum_of_parts(energies(machine).map(joule))
}

/// The utilisation of a class or a memory. If each of several units has a memory of this name, their mean.
fn share(utilisation: &BTreeMap<String, f64>, name: &str) -> Option<f64> {
    if let Some(&share) = utilisation.get(name) {
        return Some(share);
    }
    let own = format!(".{}", name.strip_prefix("memory:")?);
    let equal = utilisation.iter().filter(|(other, _)| other.starts_with("memory:") && other.ends_with(&own));
    let shares: Vec<f64> = equal.map(|(_, &share)| share).collect();
    (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
}

/// Mean utilisation of the classes and memories in a component's `activity`.
fn activity(machine: &Description, part: &Component, utilisation: &BTreeMap<String, f64>) -> Result<f64, EnergyError> {
    if part.activity.is_empty() {
        // No activity is named: the part is always on.
        return Ok(1.0);
    }
    let mut activity = 0.0;
    for name in &part.activity {
        let Some(share) = share(utilisation, name) else {
            let known = utilisation.keys().cloned().collect::<Vec<_>>().join(", ");
            let (file, component) = (machine.file().to_owned(), part.name.clone());
            return Err(EnergyError::Activity { file, component, name: name.clone(), known });
        };
        activity += share / part.activity.len() as f64;
    }
    Ok(activity)
}

fn component(
    machine: &Description,
    part: &Component,
    utilisation: &BTreeMap<String, f64>,
    seconds: f64,
) -> Result<ComponentEnergy, EnergyError> {
    let activity = activity(machine, part, utilisation)?;
    let scale = part.idle_share + (1.0 - part.idle_share) * activity;
    Ok(ComponentEnergy {
        name: part.name.clone(),
        area_mm2: part.area_mm2,
        full_power_w: part.power_w,
        kind: match part.input {
            true if part.size == 1.0 && part.clock == 1.0 => "input",
            true => "scaled",
            false => "figure",
        },
        activity,
        idle_share: part.idle_share,
        idle_source: part.idle_source.clone(),
        energy_j: part.power_w.map(|power| power * seconds * scale),
    })
}
