//! Units of figures. A figure is converted once, when it is checked. A machine asks for a dimension and gets its base
//! unit.

use serde::{Deserialize, Serialize};

/// The dimension of a figure. Each variant states its base unit, which checked figures are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dimension {
    /// Hz.
    Frequency,
    Cycles,
    /// A plain number: of units, lanes, banks or ciphertexts.
    Count,
    /// Elements, points or coefficients a cycle.
    Rate,
    Bytes,
    Bits,
    /// Bytes a cycle of the machine's clock.
    PortRate,
    /// Bytes a second.
    Bandwidth,
    /// mm².
    Area,
    /// W.
    Power,
    /// J a bit.
    EnergyPerBit,
    /// s.
    Time,
    Ratio,
    /// 0 or 1.
    Flag,
}

const UNITS: &[(&str, Dimension, f64)] = &[
    ("Hz", Dimension::Frequency, 1.0),
    ("MHz", Dimension::Frequency, 1e6),
    ("GHz", Dimension::Frequency, 1e9),
    ("cycles", Dimension::Cycles, 1.0),
    ("units", Dimension::Count, 1.0),
    ("lanes", Dimension::Count, 1.0),
    ("banks", Dimension::Count, 1.0),
    ("buffers", Dimension::Count, 1.0),
    ("channels", Dimension::Count, 1.0),
    ("ciphertexts", Dimension::Count, 1.0),
    ("stages", Dimension::Count, 1.0),
    ("elements/cycle", Dimension::Rate, 1.0),
    ("points/cycle", Dimension::Rate, 1.0),
    ("coefficients/cycle", Dimension::Rate, 1.0),
    ("operations/cycle", Dimension::Rate, 1.0),
    ("bytes", Dimension::Bytes, 1.0),
    ("KiB", Dimension::Bytes, 1024.0),
    ("MiB", Dimension::Bytes, 1048576.0),
    ("GiB", Dimension::Bytes, 1073741824.0),
    ("bits", Dimension::Bits, 1.0),
    ("bytes/cycle", Dimension::PortRate, 1.0),
    ("bits/cycle", Dimension::PortRate, 0.125),
    ("GB/s", Dimension::Bandwidth, 1e9),
    ("TB/s", Dimension::Bandwidth, 1e12),
    ("mm2", Dimension::Area, 1.0),
    ("W", Dimension::Power, 1.0),
    ("mW", Dimension::Power, 1e-3),
    ("pJ/bit", Dimension::EnergyPerBit, 1e-12),
    ("ns", Dimension::Time, 1e-9),
    ("1", Dimension::Ratio, 1.0),
    ("flag", Dimension::Flag, 1.0),
];

impl Dimension {
    /// Dimension of a unit's name and its size in the base unit.
    pub fn of_unit(unit: &str) -> Option<(Dimension, f64)> {
        UNITS.iter().find(|(name, ..)| *name == unit).map(|&(_, dimension, scale)| (dimension, scale))
    }

    /// Names of this dimension's units.
    pub fn units(self) -> Vec<&'static str> {
        UNITS.iter().filter(|(_, dimension, _)| *dimension == self).map(|&(name, ..)| name).collect()
    }

    /// Every unit's name.
    pub fn all_units() -> Vec<&'static str> {
        UNITS.iter().map(|&(name, ..)| name).collect()
    }

    /// Dimensions in which such a figure may be given: its own, and one that the machine's clock converts to it.
    pub fn given_as(self) -> Vec<Dimension> {
        let converted = match self {
            Dimension::Cycles => Some(Dimension::Time),
            Dimension::PortRate => Some(Dimension::Bandwidth),
            Dimension::Bandwidth => Some(Dimension::PortRate),
            _ => None,
        };
        [self].into_iter().chain(converted).collect()
    }

    /// Whether it is a plain number, by which a law may multiply any figure.
    pub fn is_number(self) -> bool {
        matches!(self, Dimension::Count | Dimension::Rate | Dimension::Ratio | Dimension::Flag)
    }

    /// Whether values are whole numbers.
    pub fn whole(self) -> bool {
        matches!(self, Dimension::Cycles | Dimension::Count | Dimension::Bytes | Dimension::Bits | Dimension::Flag)
    }
}

/// A number with all of its digits, or in scientific notation if it would have many zeros.
pub(super) fn decimal(value: f64) -> String {
    let plain = value == 0.0 || !value.is_finite() || (1e-6..1e15).contains(&value.abs());
    if plain { value.to_string() } else { format!("{value:e}") }
}
