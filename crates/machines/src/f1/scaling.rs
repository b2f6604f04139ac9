//! Other sizes of a machine, for the sweep of figure 11: its description with other numbers of clusters, scratchpad banks
//! and memory stacks, and with the area and power that go with them.
//!
//! A component grows with what its activity is measured on: units and register files with the clusters, the scratchpad with its
//! banks, the memory interface with the stacks. The crossbars grow with their crosspoints, an assumption for bit-sliced
//! ones, whose wires dominate: two of clusters by banks and one of clusters by clusters. What is measured on nothing
//! of these keeps its size. The bandwidth of the memory grows with the stacks.

use super::graph::UnitKind;
use super::machine::F1;
use super::specs::SPECS;
use crate::engine::description::{ComponentLiteral, Description, FigureLiteral, Written};
use crate::machine::MachineError;

/// How many of each a machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Compute clusters, and so ports of a crossbar on that side.
    pub clusters: usize,
    /// Scratchpad banks, and so ports of a crossbar on the other.
    pub banks: usize,
    /// Memory stacks, each with its controller.
    pub stacks: usize,
}

impl Size {
    /// Of a machine.
    pub fn of(machine: &F1) -> Self {
        Self { clusters: machine.clusters, banks: machine.banks, stacks: machine.stacks }
    }

    fn crosspoints(self) -> f64 {
        (2 * self.clusters * self.banks + self.clusters * self.clusters) as f64
    }
}

/// `description` in another size.
///
/// # Errors
/// [`MachineError`] if the description is none of this mapper's, or a figure leaves its range.
pub fn scaled(description: &Description, size: Size) -> Result<Description, MachineError> {
    let base = Size::of(&F1::new(description)?);
    let mut literal = description.literal().clone();
    let stacks = size.stacks as f64 / base.stacks as f64;
    for (section, group, name, count) in [
        (&mut literal.units, "cluster", "count", size.clusters),
        (&mut literal.memories, "scratchpad", "banks", size.banks),
        (&mut literal.channels, "hbm", "count", size.stacks),
    ] {
        if let Some(figure) = section.get_mut(group).and_then(|figures| figures.get_mut(name)) {
            figure.value = Written::Integer(count as i64);
            figure.source = format!("swept; {}", figure.source);
        }
    }
    if let Some(figure) = literal.channels.get_mut("hbm").and_then(|figures| figures.get_mut("bandwidth")) {
        multiply(figure, stacks);
    }
    for component in literal.components.values_mut() {
        let factor = match component.activity.first().map(String::as_str) {
            Some("memory:scratchpad") => size.banks as f64 / base.banks as f64,
            Some("crossbars") => size.crosspoints() / base.crosspoints(),
            Some("hbm") => stacks,
            Some(name) if name == "memory:register_file" || UnitKind::ALL.iter().any(|kind| kind.name() == name) => {
                size.clusters as f64 / base.clusters as f64
            }
            _ => continue,
        };
        let ComponentLiteral { area, power, .. } = component;
        multiply(area, factor);
        multiply(power, factor);
    }
    let choices: Vec<(&str, &str)> = description.readings().iter().map(|(fact, option)| (&**fact, &**option)).collect();
    Ok(Description::check(description.file(), &literal, SPECS)?.choose(SPECS, &choices)?)
}

/// Multiplies a figure that is known.
fn multiply(figure: &mut FigureLiteral, factor: f64) {
    figure.value = match figure.value {
        Written::Integer(value) => Written::Number(value as f64 * factor),
        Written::Number(value) => Written::Number(value * factor),
        Written::Flag(_) | Written::Text(_) => return,
    };
    figure.source = format!("scaled by {factor}; {}", figure.source);
}
