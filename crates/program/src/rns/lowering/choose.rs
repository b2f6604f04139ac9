//! The key switch that is cheapest on this computer, of those that a program may have.

use crate::rns::kernel::{Counts, KernelProgram};
use thiserror::Error;

/// How many bits a key switch may cost any operation of the precision that it has with the parameter set's own
/// ([`NoiseReport::require_like`](crate::rns::noise::NoiseReport::require_like)).
pub const SPARE_BITS: f64 = 1.0;

/// What a program takes with a key switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeySwitchCost {
    /// Products of words, by limbs: log2(N)/2 of a transform, one of everything else that multiplies.
    pub word_products: u64,
    /// Bytes of keys that are read, a key as often as it is.
    pub hint_bytes: u64,
}

/// A key switch that was weighed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weighed {
    /// Its name.
    pub name: String,
    /// What the program takes with it, or why it is refused.
    pub outcome: Result<KeySwitchCost, String>,
}

/// What was chosen.
#[derive(Clone, Debug)]
pub struct Cheapest<P> {
    /// The program with the key switch.
    pub program: P,
    /// Its place among those that were weighed.
    pub index: usize,
    /// All that were weighed, in order.
    pub considered: Vec<Weighed>,
}

/// No key switch can be taken.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{program} runs with no key switch: {}; take another parameter set", reasons(.considered))]
pub struct NoKeySwitch {
    /// Program.
    pub program: String,
    /// Every key switch, with its reason.
    pub considered: Vec<Weighed>,
}

fn reasons(considered: &[Weighed]) -> String {
    let reason = |of: &Weighed| Some(format!("{}: {}", of.name, of.outcome.as_ref().err()?));
    considered.iter().filter_map(reason).collect::<Vec<_>>().join("; ")
}

/// Of the `variants` the one with which `program` takes the fewest products of words: the first of equal ones. `lower` makes the program with
/// a variant, or says why it must not be taken: too little security, or noise that swamps the scale (whole-limb digits without special
/// primes against a one-limb scale), however cheap it is.
///
/// # Errors
/// [`NoKeySwitch`] if none may be taken.
pub fn fewest_products<V: ToString, P>(
    program: &str,
    variants: &[V],
    lower: impl Fn(&V) -> Result<P, String>,
    kernel: impl Fn(&P) -> &KernelProgram,
) -> Result<Cheapest<P>, NoKeySwitch> {
    let mut considered = Vec::new();
    let mut best: Option<(u64, usize, P)> = None;
    for (index, variant) in variants.iter().enumerate() {
        let weighed = lower(variant).and_then(|made| {
            let kernel = kernel(&made);
            let counts = kernel.counts().map_err(|error| error.to_string())?;
            let work = work(&counts, kernel.degree.get());
            Ok((made, work))
        });
        let outcome = weighed.map(|(made, work)| {
            if best.as_ref().is_none_or(|&(least, ..)| work.word_products < least) {
                best = Some((work.word_products, index, made));
            }
            work
        });
        considered.push(Weighed { name: variant.to_string(), outcome });
    }
    match best {
        Some((_, index, program)) => Ok(Cheapest { program, index, considered }),
        None => Err(NoKeySwitch { program: program.to_owned(), considered }),
    }
}

/// Of a kernel program in a ring of `degree`.
fn work(counts: &Counts, degree: usize) -> KeySwitchCost {
    let ops = &counts.limb_ops;
    KeySwitchCost {
        word_products: ops.ntts() * u64::from(degree.ilog2()) / 2 + ops.multiplies + ops.multiply_adds,
        hint_bytes: ops.key_limbs * (degree * size_of::<u64>()) as u64,
    }
}
