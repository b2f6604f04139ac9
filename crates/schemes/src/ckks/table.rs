//! Every parameter set as a row of data: figures, security, key sizes.

use serde::Serialize;

use super::parameters::Parameters;
use super::sets::{self, Entry, Family};
use crate::rns::{KeyId, KeyStorage};

/// One parameter set.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SetRow {
    /// Name of the set.
    pub name: String,
    /// Where it comes from.
    pub family: Family,
    /// N.
    pub ring_degree: usize,
    /// L.
    pub levels: usize,
    pub q_limbs: usize,
    pub p_limbs: usize,
    /// log2 of Q.
    pub log2_q: f64,
    /// log2 of P, 0 without special primes.
    pub log2_p: f64,
    /// Terms of a switching key at the top level: dnum, or the sub-digits of all limbs.
    pub key_terms: usize,
    /// log2 of the scale.
    pub scale_log2: f64,
    /// Distribution of the secret.
    pub secret: String,
    /// Weight of the ephemeral secret.
    pub ephemeral_weight: Option<usize>,
    pub security_bits: f64,
    /// Security by the lattice estimator; `None` where it was not run.
    pub estimated_bits: Option<f64>,
    /// Where the security comes from.
    pub security_source: String,
    /// The warning that running it prints; `None` at 128 bits or more.
    pub security_warning: Option<String>,
    /// Bytes of a fresh ciphertext.
    pub ciphertext_bytes: usize,
    /// Bytes of a switching key stored in whole bytes per residue.
    pub key_bytes: usize,
    /// Bytes of a switching key in the transport form.
    pub transport_key_bytes: usize,
    /// A remark for users.
    pub note: String,
}

impl SetRow {
    /// Of one set.
    pub fn of(entry: &Entry, parameters: &Parameters) -> Self {
        let top = parameters.max_level();
        let key = |storage| parameters.key_bytes(KeyId::Relinearisation, storage);
        Self {
            name: parameters.name().to_owned(),
            family: entry.family,
            ring_degree: parameters.ring_degree().get(),
            levels: top,
            q_limbs: parameters.q_limbs(),
            p_limbs: parameters.gadget().special().len(),
            log2_q: parameters.log2_q(top),
            log2_p: parameters.log2_p(),
            key_terms: parameters.gadget().terms().len(),
            scale_log2: entry.parameters.scale_log2,
            secret: parameters.secret().to_string(),
            ephemeral_weight: entry.parameters.ephemeral_weight,
            security_bits: parameters.security().bits,
            estimated_bits: parameters.estimated_bits(),
            security_source: parameters.security().source.clone(),
            security_warning: parameters.security_warning(),
            ciphertext_bytes: parameters.ciphertext_bytes(top),
            key_bytes: key(KeyStorage::BYTES),
            transport_key_bytes: key(KeyStorage::TRANSPORT),
            note: entry.note.clone(),
        }
    }
}

/// All sets, in the order of the table.
pub fn table() -> Vec<SetRow> {
    sets::all().map(|(entry, parameters)| SetRow::of(entry, parameters)).collect()
}

/// The table in Markdown, for the documentation.
pub fn markdown() -> String {
    let mebibytes = |bytes: usize| format!("{:.1}", bytes as f64 / f64::from(1 << 20));
    let mut text = String::from(
        "| set | log2 N | L | limbs of Q + P | logQ + logP | key terms | log2 Δ | secret weight | security | estimator | ciphertext | key | transport |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for row in table() {
        let weight = row.secret.strip_prefix("ternary of weight ").unwrap_or("2N/3").to_owned();
        let weight = row.ephemeral_weight.map_or(weight.clone(), |ephemeral| format!("{weight}, {ephemeral}"));
        text.push_str(&format!(
            "| `{}` | {} | {} | {} + {} | {:.0} + {:.0} | {} | {} | {weight} | {} | {} | {} | {} | {} |\n",
            row.name,
            row.ring_degree.ilog2(),
            row.levels,
            row.q_limbs,
            row.p_limbs,
            row.log2_q,
            row.log2_p,
            row.key_terms,
            row.scale_log2,
            if row.security_bits == 0.0 { "unknown".to_owned() } else { format!("{:.0}", row.security_bits.floor()) },
            row.estimated_bits.map_or("–".to_owned(), |bits| format!("{bits:.0}", bits = bits.floor())),
            mebibytes(row.ciphertext_bytes),
            mebibytes(row.key_bytes),
            mebibytes(row.transport_key_bytes),
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    //! Is the documentation's table up to date?

    use super::*;

    /// `POLYFABRIC_UPDATE_DOCS=1 cargo test -p polyfabric-schemes ckks::table` rewrites it.
    #[test]
    fn the_documentation_has_it() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/ckks-sets.md");
        let page = std::fs::read_to_string(&path).expect("docs/ckks-sets.md");
        let (begin, end) = ("<!-- sets: begin -->\n", "<!-- sets: end -->");
        let start = page.find(begin).expect("the table's first mark") + begin.len();
        let stop = page.find(end).expect("the table's last mark");
        if std::env::var_os("POLYFABRIC_UPDATE_DOCS").is_some() {
            let updated = format!("{}{}{}", &page[..start], markdown(), &page[stop..]);
            std::fs::write(&path, updated).expect("docs/ckks-sets.md can be written");
        } else {
            assert_eq!(&page[start..stop], markdown(), "the sets changed: run this test with POLYFABRIC_UPDATE_DOCS=1");
        }
    }

    #[test]
    fn sizes_are_those_of_the_papers() {
        // F1, section 2.4: at N = 16384 and L = 16 a ciphertext of 32-bit words is 2 MB, hints 32 MB; our ciphertexts have 64-bit words.
        let row = table().into_iter().find(|row| row.name == "f1-14-L16").expect("a set");
        assert_eq!((row.ciphertext_bytes, row.key_bytes, row.transport_key_bytes), (4 << 20, 32 << 20, 16 << 20));
    }
}
