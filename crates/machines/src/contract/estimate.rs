//! What a program will take with each way to switch keys, before any is scheduled.

use thiserror::Error;

/// Load of a program on a machine, by the order of its operations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Estimate {
    /// Cycles that each resource is at work, by its name.
    pub loads: Vec<(&'static str, f64)>,
    /// Cycles of the program.
    pub cycles: f64,
    /// Bytes of switching keys from memory.
    pub hint_bytes: u64,
    /// Bytes of switching keys if each came once.
    pub hint_bytes_once: u64,
    /// All other bytes to memory and from it.
    pub other_bytes: u64,
}

impl Estimate {
    /// The resource that is longest at work over the whole program.
    pub fn busiest(&self) -> &'static str {
        self.loads.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map_or("", |(name, _)| name)
    }
}

/// A variant that was weighed.
#[derive(Clone, Debug, PartialEq)]
pub struct Considered {
    /// Its name.
    pub name: String,
    /// What the program would take with it, or why it is refused.
    pub outcome: Result<Estimate, String>,
}

/// No variant can be taken.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("{}", told(.program, .considered, .unmapped))]
pub struct NoVariant {
    /// Program.
    pub program: String,
    /// Every variant, with its reason.
    pub considered: Vec<Considered>,
    /// Variants that the parameters carry and the machine does not take, and why not the first of them.
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
