//! Chooses the key switch: the parameter set's, a named one, or the cheapest for the machine or this computer.

use crate::memory::expect_memory;
use crate::{Fault, PlanError};
use polyfabric_machines::Machine;
use polyfabric_machines::MachineError;
use polyfabric_machines::contract::estimate::Considered;
use polyfabric_machines::contract::rns::mapping_bytes;
use polyfabric_machines::key_switch::choose;
use polyfabric_program::rns::kernel::KernelProgram;
use polyfabric_program::rns::lowering::{Weighed, fewest_products};
use polyfabric_schemes::level::shown;
use polyfabric_schemes::rns::KeySwitchVariant;
use polyfabric_schemes::rns::security::{Estimate as Security, STANDARD_SECURITY_BITS};
use polyfabric_schemes::{bgv, ckks};
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

/// How to choose the key switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySwitchRequest {
    /// Use the parameter set's.
    Set,
    /// Use the cheapest acceptable one.
    Compiler,
    /// Use the named one.
    Named(String),
}

impl From<&str> for KeySwitchRequest {
    fn from(text: &str) -> Self {
        match text {
            "set" => Self::Set,
            "auto" => Self::Compiler,
            name => Self::Named(name.to_owned()),
        }
    }
}

/// The chosen key switch.
#[derive(Debug)]
pub struct KeySwitch {
    wanted: KeySwitchRequest,
    /// Name of the variant; "set" for digits smaller than a limb.
    name: String,
    /// One row per variant considered.
    considered: Vec<Value>,
}

/// A parameter set of either scheme.
pub trait Set: Clone {
    fn name(&self) -> &str;
    fn limbs(&self) -> usize;
    fn key_switch(&self) -> Option<KeySwitchVariant>;
    fn with_key_switch(&self, variant: KeySwitchVariant) -> Result<Self, String>;
    fn security(&self) -> Security;
}

macro_rules! set {
    ($parameters:ty) => {
        impl Set for $parameters {
            fn name(&self) -> &str {
                self.name()
            }
            fn limbs(&self) -> usize {
                self.q_limbs()
            }
            fn key_switch(&self) -> Option<KeySwitchVariant> {
                self.key_switch()
            }
            fn with_key_switch(&self, variant: KeySwitchVariant) -> Result<Self, String> {
                self.with_key_switch(variant).map_err(|error| error.to_string())
            }
            fn security(&self) -> Security {
                self.security().clone()
            }
        }
    };
}
set!(ckks::Parameters);
set!(bgv::Parameters);

/// The set with the variant, unless that leaves fewer than `least` bits of security.
fn secured<S: Set>(set: &S, variant: KeySwitchVariant, least: f64) -> Result<S, String> {
    let derived = set.with_key_switch(variant)?;
    let after = derived.security();
    if after.bits < least {
        return Err(format!(
            "its special primes reduce the security to {} bits ({}), fewer than {}; the set itself has {}",
            shown(after.bits),
            after.source,
            shown(least),
            shown(set.security().bits)
        ));
    }
    Ok(derived)
}

/// Security that an automatic choice must keep: 128 bits, or the set's if lower.
fn kept<S: Set>(set: &S) -> f64 {
    set.security().bits.min(STANDARD_SECURITY_BITS)
}

/// Security that a variant named by the user must keep: 128 bits, or any if the set has less, which causes a warning.
fn asked<S: Set>(set: &S) -> f64 {
    if set.security().bits < STANDARD_SECURITY_BITS { 0.0 } else { STANDARD_SECURITY_BITS }
}

/// Lowers `program` by `lower` with the requested key switch. `noise` extracts a plan's noise, and `accepts` decides whether a plan is
/// precise enough compared with the set's own key switch (`None` for that one itself). On a machine, variants are refused whose mapping
/// needs more than `memory` bytes.
pub fn planned<S: Set, P, N>(
    set: S,
    (program, machine, memory): (&str, Option<&Machine>, Option<u64>),
    wanted: KeySwitchRequest,
    lower: impl Fn(S) -> Result<P, PlanError>,
    noise: impl Fn(&P) -> N,
    accepts: impl Fn(&P, Option<&N>) -> Result<(), String>,
    kernel: impl Fn(&P) -> &KernelProgram,
) -> Result<(P, Option<KeySwitch>), PlanError> {
    let own = set.key_switch();
    let name_of = |variant: Option<KeySwitchVariant>| variant.map_or_else(|| "set".to_owned(), |v| v.to_string());
    let switch = |name: String, considered| Some(KeySwitch { wanted: wanted.clone(), name, considered });
    match &wanted {
        KeySwitchRequest::Set => Ok((lower(set)?, machine.and_then(|_| switch(name_of(own), Vec::new())))),
        KeySwitchRequest::Named(name) => {
            let variant = KeySwitchVariant::named(name, set.limbs());
            let message = |error| format!("{program} with parameter set {}: {error}, auto, set", set.name());
            let variant = variant.map_err(|error| PlanError::new(Fault::Input, message(error)))?;
            let derived = secured(&set, variant, asked(&set)).map_err(|reason| {
                let message = format!("{program} with the key switch {variant} of {}: {reason}", set.name());
                PlanError::new(Fault::Parameter, message)
            })?;
            Ok((lower(derived)?, switch(variant.to_string(), Vec::new())))
        }
        KeySwitchRequest::Compiler => {
            let made = lower(set.clone())?;
            let own_refused = accepts(&made, None).err();
            let (noise, made) = (noise(&made), RefCell::new(Some(made)));
            let mut variants: Vec<String> =
                KeySwitchVariant::all(set.limbs()).iter().map(ToString::to_string).collect();
            if own.is_none() {
                variants.insert(0, "set".to_owned());
            }
            let weighed = |name: &String| {
                if *name == name_of(own) {
                    return match &own_refused {
                        Some(reason) => Err(reason.clone()),
                        None => made.take().ok_or_else(|| "it has been weighed".to_owned()),
                    };
                }
                let variant = KeySwitchVariant::named(name, set.limbs()).map_err(|error| error.to_string())?;
                let made = lower(secured(&set, variant, kept(&set))?).map_err(|error| error.to_string())?;
                accepts(&made, Some(&noise)).map(|()| made)
            };
            let Some(machine) = machine else {
                let chosen = fewest_products(program, &variants, weighed, kernel);
                let fault = if own_refused.is_some() { Fault::Noise } else { Fault::Program };
                let chosen = chosen.map_err(PlanError::of(fault))?;
                let rows = chosen.considered.iter().map(work).collect();
                return Ok((chosen.program, switch(variants[chosen.index].clone(), rows)));
            };
            let clock_hz = machine.clock_hz().map_err(PlanError::of(Fault::Machine))?;
            // The fewest bytes that mapping any variant takes.
            let least: Cell<Option<u64>> = Cell::new(None);
            let fitting = |name: &String| {
                let made = weighed(name)?;
                let bytes = mapping_bytes(machine, kernel(&made)).map_err(|error| error.to_string())?;
                least.set(Some(least.get().map_or(bytes, |least| least.min(bytes))));
                expect_memory(program, bytes, memory).map_err(|error| error.to_string())?;
                Ok(made)
            };
            let chosen = choose(machine, program, &variants, fitting, &kernel).map_err(|error| {
                if let Some(Err(exceeded)) = least.get().map(|bytes| expect_memory(program, bytes, memory)) {
                    return exceeded;
                }
                let unmapped = !matches!(&error, MachineError::KeySwitch(none) if none.unmapped.is_none());
                let fault = if unmapped || own_refused.is_none() { Fault::Machine } else { Fault::Noise };
                PlanError::new(fault, error)
            })?;
            let rows = chosen.considered.iter().map(|considered| row(considered, clock_hz)).collect();
            Ok((chosen.program, switch(variants[chosen.index].clone(), rows)))
        }
    }
}

/// JSON of a variant's work on this computer.
fn work(weighed: &Weighed) -> Value {
    match &weighed.outcome {
        Err(reason) => json!({ "name": weighed.name, "refused": reason }),
        Ok(work) => {
            json!({ "name": weighed.name, "word_products": work.word_products, "hint_bytes": work.hint_bytes })
        }
    }
}

/// JSON of a variant's work on a machine.
fn row(considered: &Considered, clock_hz: f64) -> Value {
    match &considered.outcome {
        Err(reason) => json!({ "name": considered.name, "refused": reason }),
        Ok(estimate) => {
            let loads = estimate.loads.iter().map(|&(name, cycles)| (name, cycles / clock_hz));
            json!({
                "name": considered.name,
                "seconds": estimate.cycles / clock_hz,
                "busiest": estimate.busiest(),
                "load_seconds": loads.collect::<BTreeMap<_, _>>(),
                "hint_bytes": estimate.hint_bytes,
                "hint_bytes_once": estimate.hint_bytes_once,
                "other_bytes": estimate.other_bytes,
            })
        }
    }
}

impl KeySwitch {
    /// JSON of its name, who chose it, and the variants considered.
    pub fn to_json(&self) -> Value {
        let by = match self.wanted {
            KeySwitchRequest::Set => "set",
            KeySwitchRequest::Compiler => "compiler",
            KeySwitchRequest::Named(_) => "user",
        };
        json!({ "name": self.name, "by": by, "considered": self.considered })
    }
}
