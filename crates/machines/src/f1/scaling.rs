//! Other sizes of a machine, for the sweep of figure 11: its description with other numbers of clusters, scratchpad banks
//! and memory stacks or another network, and with the area and power that go with them.
//!
//! A component grows with what its activity is measured on: units and register files with the clusters, the scratchpad with its
//! banks, the memory interface with the stacks. The networks grow with their crosspoints, an assumption for bit-sliced
//! crossbars, whose wires dominate: two of clusters by banks and one of clusters by clusters. What is measured on nothing
//! of these keeps its size. The bandwidth of the memory grows with the stacks.

use super::graph::UnitKind;
use super::machine::F1;
use super::specs::SPECS;
use crate::contract::MachineError;
use crate::engine::description::{ComponentLiteral, Description, DescriptionLiteral, FigureLiteral, Written};
use std::fmt;
use std::str::FromStr;

/// What connects clusters and banks. All are non-blocking (section 6 names these three): every cycle's connections are known in advance, and
/// all ways through a network are as long, so a stream may change its way between cycles and rearrangeable networks suffice. They connect
/// an input to one output; one read for several clusters is the crossbar's alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Network {
    /// One switch: the paper's choice.
    #[default]
    Crossbar,
    /// Three stages of smaller crossbars, as many in the middle as a switch at the edge has ports (Clos 1953).
    Clos,
    /// Stages of 2 × 2 switches, 2·log2 of the ports − 1 (Beneš 1965).
    Benes,
}

impl Network {
    /// All, with their names.
    pub const ALL: [(&'static str, Self); 3] =
        [("crossbar", Self::Crossbar), ("clos", Self::Clos), ("benes", Self::Benes)];

    /// Switches that a vector passes from `inputs` to `outputs`, a cycle each.
    pub fn stages(self, inputs: usize, outputs: usize) -> u64 {
        match self {
            Self::Crossbar => 1,
            Self::Clos => 3,
            Self::Benes => 2 * u64::from(ports(inputs, outputs).ilog2()) - 1,
        }
    }

    /// Crosspoints of all switches; of Clos' networks the one with the fewest.
    pub fn crosspoints(self, inputs: usize, outputs: usize) -> usize {
        let ports = ports(inputs, outputs);
        let clos = |edge: usize| {
            let (first, last) = (inputs.div_ceil(edge), outputs.div_ceil(edge));
            edge * edge * (first + last) + edge * first * last
        };
        match self {
            Self::Crossbar => inputs * outputs,
            Self::Clos => (1..=ports.ilog2()).map(|log| clos(1 << log)).min().unwrap_or(inputs * outputs),
            Self::Benes => 4 * (ports / 2) * self.stages(inputs, outputs) as usize,
        }
    }
}

/// Ports on a side of a network that has as many on both, a power of two.
fn ports(inputs: usize, outputs: usize) -> usize {
    inputs.max(outputs).max(2).next_power_of_two()
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::ALL.iter().find(|(_, network)| network == self);
        f.write_str(name.map_or("?", |(name, _)| name))
    }
}

/// No network has the name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no network {0:?}; take crossbar, clos or benes")]
pub struct NetworkError(pub String);

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.iter().find(|(known, _)| *known == name);
        found.map(|&(_, network)| network).ok_or_else(|| NetworkError(name.to_owned()))
    }
}

/// How many of each a machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Compute clusters, and so ports of a crossbar on that side.
    pub clusters: usize,
    /// Scratchpad banks, and so ports of a crossbar on the other.
    pub banks: usize,
    /// Memory stacks, each with its controller.
    pub stacks: usize,
    /// What connects clusters and banks.
    pub network: Network,
}

impl Size {
    /// Of a machine, whose file describes crossbars.
    pub fn of(machine: &F1) -> Self {
        let network = Network::Crossbar;
        Self { clusters: machine.clusters, banks: machine.banks, stacks: machine.stacks, network }
    }

    fn crosspoints(self) -> f64 {
        let Self { clusters, banks, network, .. } = self;
        (2 * network.crosspoints(clusters, banks) + network.crosspoints(clusters, clusters)) as f64
    }

    /// Stages of the longest of the three networks.
    fn stages(self) -> u64 {
        self.network.stages(self.clusters, self.banks)
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
    if size.network != base.network {
        give_network(&mut literal, size);
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

/// Puts the network of `size` in the place of crossbars.
fn give_network(literal: &mut DescriptionLiteral, size: Size) {
    let source = |figure: &mut FigureLiteral| figure.source = format!("{}; {}", size.network, figure.source);
    if let Some(figure) = literal.units.get_mut("pipeline").and_then(|figures| figures.get_mut("network"))
        && let Written::Integer(cycles) = figure.value
    {
        figure.value = Written::Integer(cycles + size.stages() as i64 - 1);
        source(figure);
    }
    let fixed = literal.units.get_mut("crossbar").and_then(|figures| figures.get_mut("multicast"));
    let options = literal.readings.values_mut().flat_map(|reading| reading.options.values_mut());
    let read = options.filter_map(|option| option.figures.get_mut("units.crossbar.multicast"));
    for figure in fixed.into_iter().chain(read) {
        figure.value = Written::Flag(false);
        source(figure);
    }
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
