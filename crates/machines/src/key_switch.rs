//! The compiler's choice of a key switch (F1, sections 2.4 and 4.2): which variant is right depends on L, on how often a hint is
//! used again, and on the load of the units. All three are known once phase 1 has ordered the operations.

use crate::contract::estimate::{Considered, NoVariant};
use crate::contract::rns::{estimate, word_bits};
use crate::contract::{Machine, MachineError};
use polyfabric_program::rns::kernel::KernelProgram;

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

/// Of the `variants` the one with which `program` has the shortest estimate on `machine`: the first of equal ones. `lower` makes the
/// program with a variant, or says why it must not be taken: too little security, too much noise.
///
/// # Errors
/// [`MachineError::KeySwitch`] if none may be taken; another if the machine's parts do not fit together, which no other variant mends.
pub fn choose<V: ToString, P>(
    machine: &Machine,
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
