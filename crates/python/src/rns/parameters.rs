//! Parameter sets of CKKS and BGV as data.

use polyfabric_schemes::{bgv, ckks};
use pyo3::prelude::*;
use serde_json::{Value, json};

/// What to know of a CKKS set.
pub fn of_ckks(set: &ckks::Parameters) -> Value {
    json!({
        "name": set.name(),
        "scheme": "ckks",
        "ring_degree": set.ring_degree().get(),
        "levels": set.max_level(),
        "limbs": set.q_limbs(),
        "special_limbs": set.moduli().len() - set.q_limbs(),
        "digits": set.gadget().digits().len(),
        "log2_q": set.log2_q(set.max_level()),
        "log2_p": set.log2_p(),
        "scale_log2": set.literal().scale_log2,
        "slots": set.max_slots(),
        "bootstraps": set.literal().bootstrap.is_some(),
        "security_bits": set.security().bits,
        "security_source": set.security().source,
        "estimated_bits": set.estimated_bits(),
        "warning": set.security_warning(),
        "sources": set.literal().sources,
    })
}

/// What to know of a BGV set.
pub fn of_bgv(set: &bgv::Parameters) -> Value {
    let (degree, security) = (set.ring().degree(), set.security());
    json!({
        "name": set.name(),
        "scheme": "bgv",
        "ring_degree": degree.get(),
        "levels": set.q_limbs() - 1,
        "limbs": set.q_limbs(),
        "special_limbs": set.ring().moduli().len() - set.q_limbs(),
        "digits": set.gadget().digits().len(),
        "log2_q": set.log2_q(),
        "log2_p": set.log2_qp() - set.log2_q(),
        "plaintext_modulus": set.plaintext_modulus().value(),
        "slots": if set.plaintext_modulus().is_packed() { degree.get() } else { 1 },
        "bootstraps": set.literal().bootstrap.is_some(),
        "security_bits": security.bits,
        "security_source": security.source,
        "estimated_bits": set.estimated_bits(),
        "warning": set.security_warning(),
        "sources": set.literal().sources,
    })
}

fn with_entry(mut facts: Value, family: impl serde::Serialize, note: &str) -> Value {
    facts["family"] = json!(family);
    facts["note"] = json!(note);
    facts
}

/// All named sets of CKKS and BGV, as JSON.
#[pyfunction]
pub fn slot_parameter_sets() -> String {
    let ckks = ckks::sets::all().map(|(entry, set)| with_entry(of_ckks(set), entry.family, &entry.note));
    let bgv = bgv::sets::all().iter().filter_map(|entry| {
        // A committed set passes the check; a test of its own table holds it.
        let set = bgv::Parameters::check(&entry.parameters).ok()?;
        Some(with_entry(of_bgv(&set), entry.family, &entry.note))
    });
    Value::Array(ckks.chain(bgv).collect()).to_string()
}
