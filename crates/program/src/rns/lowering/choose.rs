//! Chooses the cheapest acceptable key switch for a CPU.

use crate::rns::kernel::{KernelError, KernelProgram};
use thiserror::Error;

/// Bits of precision that a key switch may lose in any operation, compared with the parameter set's own
/// ([`NoiseReport::require_like`](crate::rns::noise::NoiseReport::require_like)).
pub const SPARE_BITS: f64 = 1.0;

/// Work of a program with one key switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeySwitchCost {
    /// Word products, counted by limbs: log2(N)/2 for a transform, one for everything else that multiplies.
    pub word_products: u64,
    /// Bytes of keys read, with repetitions.
    pub hint_bytes: u64,
}

impl KeySwitchCost {
    /// # Errors
    /// [`KernelError`] if the program is inconsistent.
    pub fn of(kernel: &KernelProgram) -> Result<Self, KernelError> {
        let (ops, degree) = (kernel.counts()?.limb_ops, kernel.degree.get());
        Ok(Self {
            word_products: ops.ntts() * u64::from(degree.ilog2()) / 2 + ops.multiplies + ops.multiply_adds,
            hint_bytes: ops.key_limbs * (degree * size_of::<u64>()) as u64,
        })
    }
}

/// A key switch that was considered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weighed {
    pub name: String,
    /// The program's cost, or why the key switch is rejected.
    pub outcome: Result<KeySwitchCost, String>,
}

/// The chosen key switch.
#[derive(Clone, Debug)]
pub struct Cheapest<P> {
    /// The program lowered with it.
    pub program: P,
    /// Its index among the variants.
    pub index: usize,
    /// All variants, in order.
    pub considered: Vec<Weighed>,
}

/// No key switch is acceptable.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{program} runs with no key switch: {}; take another parameter set", reasons(.considered))]
pub struct NoKeySwitch {
    pub program: String,
    pub considered: Vec<Weighed>,
}

fn reasons(considered: &[Weighed]) -> String {
    let reason = |of: &Weighed| Some(format!("{}: {}", of.name, of.outcome.as_ref().err()?));
    considered.iter().filter_map(reason).collect::<Vec<_>>().join("; ")
}

/// The variant with which `program` takes the fewest word products; the first of equals. `lower` lowers the program with a variant, or
/// says why the variant is unacceptable however cheap: too little security, or too much noise (whole-limb digits without special
/// primes at a one-limb scale).
///
/// # Errors
/// [`NoKeySwitch`] if no variant is acceptable.
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
            let work = KeySwitchCost::of(kernel).map_err(|error| error.to_string())?;
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
