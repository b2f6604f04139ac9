//! Measured CPU times of lookups and key switches with the default sets (`rates.toml`).

use polyfabric_schemes::tfhe::{KeyUnrolling, Parameters};
use serde::Deserialize;
use std::collections::HashMap;
use std::sync::LazyLock;

/// Milliseconds per ciphertext of a batch, on one core.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rate {
    /// With 1, 2 and 4 secret bits per iteration; of a set with block-binary keys, with a block.
    lookup: Vec<f64>,
    /// 0 if the set has no key switch.
    key_switch: f64,
}

/// Rates of one set, by vector instruction set.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rates {
    name: String,
    avx2: Rate,
    avx512: Rate,
}

static TABLE: LazyLock<HashMap<String, Rates>> = LazyLock::new(|| {
    #[derive(Deserialize)]
    struct Table {
        set: Vec<Rates>,
    }
    let table: Table =
        toml::from_str(include_str!("rates.toml")).expect("the committed table parses, as a test checks");
    table.set.into_iter().map(|rates| (rates.name.clone(), rates)).collect()
});

impl Rates {
    /// The rates of a default set.
    pub fn of(parameters: &Parameters) -> Option<&'static Self> {
        TABLE.get(parameters.name())
    }

    /// Milliseconds of `lookups` and `key_switches`, as the geometric mean over instruction sets. Client and server may have
    /// different CPUs but must choose the same set.
    pub fn milliseconds(&self, unrolling: KeyUnrolling, lookups: usize, key_switches: usize) -> f64 {
        let of = |rate: &Rate| {
            // One bit of a block at a time is not measured: its set has another purpose.
            let column = if unrolling.is_block() { 0 } else { unrolling.bits().ilog2() as usize };
            lookups as f64 * rate.lookup[column] + key_switches as f64 * rate.key_switch
        };
        (of(&self.avx2) * of(&self.avx512)).sqrt()
    }
}

#[cfg(test)]
mod tests {
    //! Has every default set rates, and how do they combine?
    use super::*;
    use polyfabric_schemes::tfhe::sets::{self, Family};

    fn defaults() -> impl Iterator<Item = &'static Parameters> {
        sets::all().filter(|(entry, _)| entry.family == Family::Default).map(|(_, parameters)| parameters)
    }

    #[test]
    fn every_default_set_has_rates_and_nothing_else_has() {
        for parameters in defaults() {
            let rates = Rates::of(parameters).unwrap_or_else(|| panic!("{} has no rates", parameters.name()));
            for rate in [&rates.avx2, &rates.avx512] {
                assert!(rate.lookup.iter().all(|each| *each > 0.0), "{}", parameters.name());
                assert_eq!(
                    rate.lookup.len(),
                    if parameters.secret().is_binary() { 3 } else { 1 },
                    "{}",
                    parameters.name()
                );
                assert_eq!(rate.key_switch > 0.0, parameters.key_switch_gadget().is_some(), "{}", parameters.name());
            }
        }
        assert_eq!(TABLE.len(), defaults().count());
    }

    #[test]
    fn times_add_up_by_instruction_set_before_their_mean_is_taken() {
        let rate = |lookup, key_switch| Rate { lookup: vec![lookup, lookup / 2.0, lookup * 2.0], key_switch };
        let rates = Rates { name: String::new(), avx2: rate(8.0, 1.0), avx512: rate(2.0, 0.0) };
        assert_eq!(rates.milliseconds(KeyUnrolling::ONE, 1, 10), 6.0);
        assert_eq!(rates.milliseconds(KeyUnrolling::TWO, 2, 0), 4.0);
        assert_eq!(rates.milliseconds(KeyUnrolling::FOUR, 1, 0), 8.0);
    }
}
