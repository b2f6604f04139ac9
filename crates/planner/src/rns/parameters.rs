//! Facts about parameter sets as JSON.

use polyfabric_schemes::rns::{KeyId, KeyStorage};
use polyfabric_schemes::{bgv, ckks};
use serde_json::{Value, json};

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
        "parties": set.secret().parties(),
        "bootstraps": set.literal().bootstrap.is_some(),
        "levels_left": set.levels_left(),
        "ciphertext_bytes": set.ciphertext_bytes(set.max_level()),
        "key_bytes": set.key_bytes(KeyId::Relinearisation, KeyStorage::BYTES),
        "transport_key_bytes": set.key_bytes(KeyId::Relinearisation, KeyStorage::TRANSPORT),
        "security_bits": set.security().bits,
        "security_source": set.security().source,
        "estimated_bits": set.estimated_bits(),
        "warning": set.security_warning(),
        "sources": set.literal().sources,
    })
}

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
        "parties": set.literal().secret.parties(),
        "slots": if set.plaintext_modulus().is_packed() { degree.get() } else { 1 },
        "bootstraps": set.literal().bootstrap.is_some(),
        "ciphertext_bytes": 2 * set.q_limbs() * degree.get() * size_of::<u64>(),
        "key_bytes": set.key_bytes(KeyStorage::BYTES),
        "transport_key_bytes": set.key_bytes(KeyStorage::TRANSPORT),
        "security_bits": security.bits,
        "security_source": security.source,
        "estimated_bits": set.estimated_bits(),
        "warning": set.security_warning(),
        "sources": set.literal().sources,
    })
}
