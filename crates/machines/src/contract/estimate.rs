//! Estimates the cost of a program with each variant of the key switch, before scheduling.

use thiserror::Error;

/// Estimated load of a program on a machine, from the order of its operations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Estimate {
    /// Busy cycles of each resource, with its name.
    pub loads: Vec<(&'static str, f64)>,
    /// Cycles of the program.
    pub cycles: f64,
    /// Bytes of switching keys from memory.
    pub hint_bytes: u64,
    /// Bytes of switching keys if each is loaded once.
    pub hint_bytes_once: u64,
    /// All other bytes to and from memory.
    pub other_bytes: u64,
}

impl Estimate {
    /// The busiest resource of the whole program.
    pub fn busiest(&self) -> &'static str {
        self.loads.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map_or("", |(name, _)| name)
    }
}

/// A variant that was considered.
#[derive(Clone, Debug, PartialEq)]
pub struct Considered {
    pub name: String,
    /// The estimate, or why the variant is rejected.
    pub outcome: Result<Estimate, String>,
}

/// No variant can be used.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("{}", told(.program, .considered, .unmapped))]
pub struct NoVariant {
    pub program: String,
    /// Every variant with its result.
    pub considered: Vec<Considered>,
    /// Variants that the parameters support and the machine does not, with the reason for the first of them.
    pub unmapped: Option<(Vec<String>, String)>,
}

fn told(program: &str, considered: &[Considered], unmapped: &Option<(Vec<String>, String)>) -> String {
    let Some((taken, cause)) = unmapped else {
        let reason = |of: &Considered| Some(format!("{}: {}", of.name, of.outcome.as_ref().err()?));
        let reasons: Vec<_> = considered.iter().filter_map(reason).collect();
        return format!("`{program}` runs with no key switch: {}; take another parameter set", reasons.join("; "));
    };
    let others = considered.iter().filter(|of| !taken.contains(&of.name));
    let others: String =
        others.filter_map(|of| Some(format!("; {}: {}", of.name, of.outcome.as_ref().err()?))).collect();
    format!("{cause}. So it is with the key switches {}{others}", taken.join(", "))
}
