//! Checks that keys and inputs match a program.

use super::RunError;
use polyfabric_program::rns::kernel::{KernelProgram, LimbSet};
use polyfabric_schemes::rns::{KeySet, LimbId, Ring, RnsPolynomial};

/// Checks that the program has the keys' ring.
pub(crate) fn check_ring(program: &KernelProgram, ring: &Ring) -> Result<(), RunError> {
    let (ours, theirs) = (&program.moduli, ring.moduli());
    if program.degree != ring.degree() || ours.len() > theirs.len() {
        return Err(RunError::Ring {
            program: program.degree.get(),
            program_limbs: ours.len(),
            keys: ring.degree().get(),
            keys_limbs: theirs.len(),
        });
    }
    for (index, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
        if ours != theirs {
            let limb = LimbId(index as u16);
            return Err(RunError::Modulus { limb, program: ours.value(), keys: theirs.value() });
        }
    }
    Ok(())
}

/// Checks that every key of the program exists, with the rows and limbs that it reads.
pub(crate) fn check_keys(program: &KernelProgram, keys: &KeySet) -> Result<(), RunError> {
    for (id, needed) in program.keys() {
        let key = keys.get(id)?;
        let found = key.gadget().terms().len();
        if found < needed.rows {
            return Err(RunError::KeyRows { key: id, found, needed: needed.rows });
        }
        if let Some(limb) = needed.limbs.iter().find(|limb| !key.limbs().contains(limb)) {
            return Err(RunError::KeyLimb { key: id, limb });
        }
    }
    Ok(())
}

/// Checks that the inputs match the program's, in order.
pub(crate) fn check_inputs(program: &KernelProgram, ring: &Ring, inputs: &[&RnsPolynomial]) -> Result<(), RunError> {
    let needed = program.inputs().count();
    if inputs.len() != needed {
        return Err(RunError::InputCount { given: inputs.len(), needed });
    }
    for ((name, part, _, value), input) in program.inputs().zip(inputs) {
        let limbs = LimbSet::new(input.limbs().iter().copied());
        let fits = input.degree() == program.degree
            && input.domain() == value.domain
            && limbs == value.limbs
            && limbs.len() == input.limbs().len();
        if !fits {
            return Err(RunError::InputType {
                name: name.to_owned(),
                part,
                degree: input.degree().get(),
                limbs,
                domain: input.domain(),
                needed_degree: program.degree.get(),
                needed_limbs: value.limbs.clone(),
                needed_domain: value.domain,
            });
        }
        if input.is_canonical(ring) {
            continue;
        }
        if let Some((limb, _)) = input.iter().find(|&(limb, words)| !ring.limb(limb).holds(words)) {
            let modulus = ring.modulus(limb).value();
            return Err(RunError::NotCanonical { name: name.to_owned(), part, limb, modulus });
        }
    }
    Ok(())
}
