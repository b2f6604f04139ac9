//! The compiler's choice of a key switch (F1, sections 2.4 and 4.2): which variant is right depends on L, on how often a hint is
//! used again, and on the load of the units. All three are known once phase 1 has ordered the operations.

use crate::contract::residue::{Estimate, estimate, word_bits};
use crate::contract::{Described, MachineError};
use polyfabric_program::rns::kernel::KernelProgram;
use thiserror::Error;

/// A variant that was weighed.
#[derive(Clone, Debug, PartialEq)]
pub struct Considered {
    /// Its name.
    pub name: String,
    /// What the program would take with it, or why it is refused.
    pub outcome: Result<Estimate, String>,
}

/// What was chosen.
#[derive(Clone, Debug)]
pub struct Chosen<P> {
    /// The program with the variant.
    pub program: P,
    /// The variant's place among those that were weighed.
    pub index: usize,
    /// All that were weighed, in order.
    pub considered: Vec<Considered>,
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

/// Of the `variants` the one with which `program` has the shortest estimate on `machine`: the first of equal ones. `lower` makes the
/// program with a variant, or says why it must not be taken: too little security, too much noise.
///
/// # Errors
/// [`MachineError::KeySwitch`] if none may be taken; another if the machine's parts do not fit together, which no other variant mends.
pub fn choose<V: ToString, P>(
    machine: &Described,
    program: &str,
    variants: &[V],
    lower: impl Fn(&V) -> Result<P, String>,
    kernel: impl Fn(&P) -> &KernelProgram,
) -> Result<Chosen<P>, MachineError> {
    word_bits(machine, program)?;
    let mut considered = Vec::new();
    let mut best: Option<(f64, usize, P)> = None;
    let mut unmapped: Option<(Vec<String>, String)> = None;
    for (index, variant) in variants.iter().enumerate() {
        let weighed = lower(variant).and_then(|made| match estimate(machine, kernel(&made)) {
            Ok(estimate) => Ok((made, estimate)),
            Err(error) => {
                let cause = error.to_string();
                unmapped.get_or_insert_with(|| (Vec::new(), cause.clone())).0.push(variant.to_string());
                Err(cause)
            }
        });
        let outcome = weighed.map(|(made, estimate)| {
            let cycles = estimate.cycles;
            if best.as_ref().is_none_or(|&(least, ..)| cycles < least) {
                best = Some((cycles, index, made));
            }
            estimate
        });
        considered.push(Considered { name: variant.to_string(), outcome });
    }
    match best {
        Some((_, index, program)) => Ok(Chosen { program, index, considered }),
        None => Err(MachineError::KeySwitch(Box::new(NoVariant { program: program.to_owned(), considered, unmapped }))),
    }
}
