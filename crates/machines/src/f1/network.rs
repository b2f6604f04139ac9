//! Alternatives to the paper's crossbars between clusters and scratchpad banks (section 6 names all three),
//! with their latency, area and power. Area and power are proportional to the crosspoints of all switches.

use super::machine::F1;
use super::machine::SPECS;
use crate::contract::MachineError;
use polyfabric_sim::description::{
    ComponentLiteral, Description, DescriptionLiteral, FigureLiteral, HeldLiteral, Written,
};
use std::fmt;

/// Network between clusters and banks. All are non-blocking (section 6): the compiler knows every cycle's
/// connections, and all paths through a network have the same length. So a stream may change its path between
/// cycles, and rearrangeable networks suffice. They connect an input to one output; only the crossbar can
/// multicast.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Network {
    /// One switch, the paper's choice.
    #[default]
    Crossbar,
    /// Three stages of smaller crossbars; the middle stage has as many as an edge switch has ports (Clos 1953).
    Clos,
    /// 2·log2(ports) − 1 stages of 2 × 2 switches (Beneš 1965).
    Benes,
}

impl Network {
    /// All networks with their names.
    pub const ALL: [(&'static str, Self); 3] =
        [("crossbar", Self::Crossbar), ("clos", Self::Clos), ("benes", Self::Benes)];

    pub const NAMES: [&'static str; 3] = [Self::ALL[0].0, Self::ALL[1].0, Self::ALL[2].0];

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|&(_, network)| network)
    }

    /// Switches between `inputs` and `outputs`, one cycle each.
    pub fn stages(self, inputs: usize, outputs: usize) -> u64 {
        match self {
            Self::Crossbar => 1,
            Self::Clos => 3,
            Self::Benes => 2 * u64::from(ports(inputs, outputs).ilog2()) - 1,
        }
    }

    /// Crosspoints of all switches; for Clos, of the smallest network.
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

/// Ports per side of a network with equal sides, a power of two.
fn ports(inputs: usize, outputs: usize) -> usize {
    inputs.max(outputs).max(2).next_power_of_two()
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::ALL.iter().find(|(_, network)| network == self);
        f.write_str(name.map_or("?", |(name, _)| name))
    }
}

/// Crosspoints of a machine's three networks: two between clusters and banks, one between clusters.
fn crosspoints(network: Network, machine: &F1) -> f64 {
    let (clusters, banks) = (machine.clusters, machine.banks);
    (2 * network.crosspoints(clusters, banks) + network.crosspoints(clusters, clusters)) as f64
}

/// `description`, whose file describes crossbars, with another network.
pub fn with_network(description: &Description, network: Network) -> Result<Description, MachineError> {
    let machine = F1::new(description)?;
    let mut literal = description.literal().clone();
    let stages = network.stages(machine.clusters, machine.banks);
    let depth = (network != Network::Crossbar).then(|| give_network(&mut literal, network, stages)).flatten();
    let factor = crosspoints(network, &machine) / crosspoints(Network::Crossbar, &machine);
    let networks = literal.components.values_mut().filter(|part| part.activity.iter().any(|name| name == "crossbars"));
    for ComponentLiteral { area, power, holds_for, .. } in networks {
        if let Some(depth) = &depth {
            // The factor follows from these figures.
            holds_for.insert("units.pipeline.network".to_owned(), HeldLiteral::One(depth.clone()));
            holds_for.insert("units.crossbar.multicast".to_owned(), HeldLiteral::One(Written::Flag(false)));
        }
        multiply(area, factor);
        multiply(power, factor);
    }
    let choices: Vec<(&str, &str)> = description.readings().iter().map(|(fact, option)| (&**fact, &**option)).collect();
    Ok(Description::check(description.file(), &literal, SPECS)?.choose(SPECS, &choices)?)
}

/// Replaces crossbars by a network with `stages` stages; returns the latency, if that of crossbars is known.
fn give_network(literal: &mut DescriptionLiteral, network: Network, stages: u64) -> Option<Written> {
    let mut depth = None;
    let source = |figure: &mut FigureLiteral| figure.source = format!("{network}; {}", figure.source);
    if let Some(figure) = literal.units.get_mut("pipeline").and_then(|figures| figures.get_mut("network"))
        && let Written::Integer(cycles) = figure.value
    {
        figure.value = Written::Integer(cycles + stages as i64 - 1);
        depth = Some(figure.value.clone());
        source(figure);
    }
    let fixed = literal.units.get_mut("crossbar").and_then(|figures| figures.get_mut("multicast"));
    let options = literal.readings.values_mut().flat_map(|reading| reading.options.values_mut());
    let read = options.filter_map(|option| option.figures.get_mut("units.crossbar.multicast"));
    for figure in fixed.into_iter().chain(read) {
        figure.value = Written::Flag(false);
        source(figure);
    }
    depth
}

/// Scales a known figure.
fn multiply(figure: &mut FigureLiteral, factor: f64) {
    figure.value = match figure.value {
        Written::Integer(value) => Written::Number(value as f64 * factor),
        Written::Number(value) => Written::Number(value * factor),
        Written::Flag(_) | Written::Text(_) => return,
    };
    figure.source = format!("scaled by {factor}; {}", figure.source);
}
