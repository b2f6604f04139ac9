//! The named parameter sets (`sets.toml`).

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::parameters::{ParameterError, Parameters, ParametersLiteral};
use crate::rns::{KeySwitchVariant, parties_in};

/// Origin of a set, hence its permitted use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// At least 128 bits.
    Default,
    /// For benchmarks, in the sizes that other libraries use: 125 bits by the lattice estimator.
    Benchmark,
    /// Named by a paper.
    Paper,
    /// Small and insecure, for tests.
    Toy,
}

/// One entry of the table of sets.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Where it comes from.
    pub family: Family,
    /// A remark for users.
    #[serde(default)]
    pub note: String,
    /// The figures.
    pub parameters: ParametersLiteral,
}

#[derive(Deserialize)]
struct Table {
    set: Vec<Entry>,
}

static ENTRIES: LazyLock<Vec<Entry>> = LazyLock::new(|| {
    toml::from_str::<Table>(include_str!("sets.toml")).expect("the committed table parses; a test checks this").set
});

/// All sets, in the order of the table.
pub fn all() -> &'static [Entry] {
    &ENTRIES
}

/// All names, in the order of the table.
pub fn names() -> Vec<&'static str> {
    all().iter().map(|entry| entry.parameters.name.as_str()).collect()
}

/// The entry called `name`.
///
/// # Errors
/// [`ParameterError::UnknownSet`].
pub fn entry(name: &str) -> Result<&'static Entry, ParameterError> {
    all()
        .iter()
        .find(|entry| entry.parameters.name == name)
        .ok_or_else(|| ParameterError::UnknownSet { given: name.to_owned(), known: names().join(", ") })
}

/// The checked set called `name`: a set of the table, possibly with another key switch ([`Parameters::with_key_switch`]).
///
/// # Errors
/// [`ParameterError::UnknownSet`].
pub fn named(name: &str) -> Result<Parameters, ParameterError> {
    let unknown = match entry(name) {
        Ok(entry) => return Parameters::check(&entry.parameters),
        Err(unknown) => unknown,
    };
    if let Some((base, parties)) = parties_in(name) {
        return named(base).map_err(|_| unknown)?.with_parties(parties);
    }
    let Some((base, Ok(entry))) = name.rsplit_once('-').map(|(base, _)| (base, entry(base))) else {
        return Err(unknown);
    };
    match KeySwitchVariant::named(&name[base.len() + 1..], entry.parameters.q_bits.len()) {
        Ok(variant) => Parameters::check(&entry.parameters)?.with_key_switch(variant),
        Err(_) => Err(unknown),
    }
}

#[cfg(test)]
mod tests {
    //! Does every committed set pass the check with the moduli it states?

    use super::*;

    #[test]
    fn every_set_is_usable() {
        for entry in all() {
            let parameters = Parameters::check(&entry.parameters).unwrap();
            for field in ["ring_degree", "plaintext_modulus", "q_bits", "secret", "noise_std"] {
                assert!(entry.parameters.sources.contains_key(field), "{}: no source for {field}", parameters.name());
            }
        }
        let unknown = named("f1-db").unwrap_err().to_string();
        assert!(unknown.contains("f1-db-lookup"), "{unknown}");
    }

    #[test]
    fn sets_with_another_key_switch_go_by_their_names() {
        let base = named("f1-bootstrap").unwrap();
        for (name, digits, special) in [("f1-bootstrap-d8", 8, 3), ("f1-bootstrap-d1", 1, 24)] {
            let derived = named(name).unwrap();
            assert_eq!(derived, base.with_key_switch(KeySwitchVariant::Digits(digits)).unwrap(), "{name}");
            assert_eq!((derived.gadget().digits().len(), derived.gadget().special().len()), (digits, special));
        }
        let derived = named("f1-listing2-d4").unwrap();
        assert_eq!((derived.name(), derived.q_limbs()), ("f1-listing2-d4", 16));
        assert_eq!((derived.gadget().digits().len(), derived.gadget().special().len()), (4, 4));
        assert!(derived.security().bits < named("f1-listing2").unwrap().security().bits);
        assert!(named("f1-listing2-d7").is_err() && named("d4").is_err());
    }

    #[test]
    fn benchmarked_sets_have_their_size() {
        let sets = [
            ("bgv-2p12-109", 109.0, 2),
            ("bgv-2p13-218", 218.0, 4),
            ("bgv-2p14-438", 438.0, 3),
            ("bgv-2p14-423", 423.0, 4),
        ];
        for (name, bits, digits) in sets {
            let parameters = named(name).unwrap();
            assert!((parameters.log2_qp() - bits).abs() < 0.1, "{name}: {}", parameters.log2_qp());
            assert_eq!(parameters.gadget().digits().len(), digits, "{name}");
        }
        let [wide, narrow] = ["bgv-2p14-423", "bgv-2p14-438"].map(|name| named(name).unwrap());
        assert!((wide.log2_q() - narrow.log2_q()).abs() < 0.1 && wide.security().bits >= 128.0);
        assert!(wide.estimated_bits().unwrap() >= 128.0);
    }
}
