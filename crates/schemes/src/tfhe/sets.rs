//! The named parameter sets: those of the papers, our own defaults, and insecure toys for tests (`sets/*.toml`).

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::parameters::{ParameterError, Parameters, ParametersLiteral};
use crate::names::nearest_names;

/// Origin of a set, hence its permitted use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// Ours, from the optimiser: at least 128 bits.
    Default,
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
    /// Security in bits claimed by its paper or library.
    #[serde(default)]
    pub claimed_security_bits: Option<u32>,
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

static ENTRIES: LazyLock<Vec<(Entry, Parameters)>> = LazyLock::new(|| {
    [include_str!("sets/defaults.toml"), include_str!("sets/papers.toml"), include_str!("sets/toys.toml")]
        .into_iter()
        .flat_map(|text| toml::from_str::<Table>(text).expect("the committed tables parse; a test checks this").set)
        .map(|entry| {
            let checked =
                Parameters::check(&entry.parameters).expect("every committed set passes the check; a test checks this");
            (entry, checked)
        })
        .collect()
});

/// All sets, in the order of the table.
pub fn all() -> impl Iterator<Item = (&'static Entry, &'static Parameters)> {
    ENTRIES.iter().map(|(entry, parameters)| (entry, parameters))
}

/// All names, in the order of the table.
pub fn names() -> Vec<&'static str> {
    all().map(|(entry, _)| entry.parameters.name.as_str()).collect()
}

/// The entry called `name`.
///
/// # Errors
/// [`ParameterError::UnknownSet`], with the nearest names.
pub fn entry(name: &str) -> Result<(&'static Entry, &'static Parameters), ParameterError> {
    all().find(|(entry, _)| entry.parameters.name == name).ok_or_else(|| ParameterError::UnknownSet {
        given: name.to_owned(),
        // circle: the hint says that a name is one of CKKS's, which is built on this module.
        hint: nearest_names(name, &names(), ("CKKS", &crate::ckks::sets::names())),
    })
}

/// The set called `name`, as written.
///
/// # Errors
/// [`ParameterError::UnknownSet`].
pub fn literal(name: &str) -> Result<&'static ParametersLiteral, ParameterError> {
    entry(name).map(|(entry, _)| &entry.parameters)
}

/// The set called `name`, checked.
///
/// # Errors
/// [`ParameterError::UnknownSet`].
pub fn parameters(name: &str) -> Result<Parameters, ParameterError> {
    entry(name).map(|(_, parameters)| parameters.clone())
}

/// The sets that may be chosen automatically: at least 128 bits.
pub fn secure() -> impl Iterator<Item = (&'static Entry, &'static Parameters)> {
    all().filter(|(_, parameters)| parameters.security_warning().is_none())
}

#[cfg(test)]
mod tests {
    //! Is every figure of every set sourced, and do the sets match the papers?
    use super::*;

    #[test]
    fn every_figure_has_a_source() {
        for (entry, parameters) in all() {
            let literal = &entry.parameters;
            let mut fields = vec![
                "torus_bits",
                "lwe_dimension",
                "glwe_dimension",
                "ring_degree",
                "bootstrap_gadget",
                "lwe_noise_log2",
                "glwe_noise_log2",
            ];
            fields.extend(literal.key_switch_gadget.map(|_| "key_switch_gadget"));
            fields.extend(literal.circuit.map(|_| "circuit"));
            fields.extend((!literal.secret.is_binary()).then_some("secret"));
            fields.sort();
            let sourced: Vec<_> = literal.sources.keys().map(String::as_str).collect();
            assert_eq!(sourced, fields, "{}", parameters.name());
            assert!(literal.sources.values().all(|source| !source.is_empty()), "{}", parameters.name());
        }
    }

    #[test]
    fn names_are_unique_and_toys_are_called_so() {
        let mut sorted = names();
        sorted.sort();
        sorted.dedup();
        assert_eq!(sorted.len(), names().len());
        for (entry, parameters) in all() {
            assert_eq!(entry.family == Family::Toy, parameters.name().starts_with("toy-"), "{}", parameters.name());
            assert_eq!(entry.family == Family::Default, parameters.name().starts_with("polyfabric-"));
        }
    }

    /// FPT Table 1, Strix Table IV, Morphling Table III: n, k, N, l.
    #[test]
    fn papers_figures() {
        for (names, figures) in [
            (&["fpt-I"][..], (586, 2, 512, 2)),
            (&["fpt-II", "strix-I", "morphling-I"], (500, 1, 1024, 2)),
            (&["strix-II", "morphling-II"], (630, 1, 1024, 3)),
            (&["strix-III", "morphling-III"], (592, 1, 2048, 3)),
            (&["strix-IV", "strix-IV-t64"], (991, 1, 16384, 2)),
            (&["morphling-IV", "morphling-IV-t32"], (742, 1, 2048, 1)),
            (&["morphling-A", "morphling-A-t32"], (769, 1, 4096, 1)),
            (&["morphling-B"], (497, 2, 1024, 2)),
            (&["morphling-C"], (487, 3, 512, 3)),
        ] {
            for name in names {
                let set = literal(name).expect("a known set");
                let written = (set.lwe_dimension, set.glwe_dimension, set.ring_degree, set.bootstrap_gadget.levels);
                assert_eq!(written, figures, "{name}");
            }
        }
    }

    #[test]
    fn only_sets_of_128_bits_are_chosen_unnamed() {
        let secure: Vec<_> = secure().map(|(_, parameters)| parameters.name()).collect();
        assert!(secure.contains(&"polyfabric-4-p128-t64"));
        assert!(!secure.iter().any(|name| name.ends_with("-I") || name.starts_with("toy-")), "{secure:?}");
    }
}
