//! Every parameter set as a row of data: figures, security, capacity, failure probability, key sizes.

use polyfabric_kernels::Gadget;
use serde::Serialize;

use super::encoding::Boolean;
use super::lwe::LweKind;
use super::noise::{self, Noise, PhaseRounding, Transform};
use super::parameters::Parameters;
use super::sets::{self, Entry, Family};
use super::unrolling::KeyUnrolling;

/// A set carries a message if one PBS fails with at most this probability (log2): the default limit for programs.
pub const CARRIED_FAILURE_LOG2: f64 = -128.0;

/// Above this probability (log2) of failing, not even a bit is carried.
const LOST_FAILURE_LOG2: f64 = -40.0;

/// Maximum number of message bits tried.
const MOST_BITS: u32 = 10;

/// One parameter set. Probabilities are log2 for one PBS with the f64 transform of this processor, for every accepted key up to the energy of
/// its key switch's rows ([`noise::Keys`]). Bits are of padded messages, without the padding bit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SetRow {
    /// Name of the set.
    pub name: String,
    /// Where it comes from.
    pub family: Family,
    /// n.
    pub lwe_dimension: usize,
    /// k.
    pub glwe_dimension: usize,
    /// N.
    pub ring_degree: usize,
    /// Base and levels of the bootstrapping key.
    pub bootstrap_gadget: Gadget,
    /// Base and levels of the key-switching key.
    pub key_switch_gadget: Option<Gadget>,
    /// log2 q.
    pub torus_bits: u32,
    /// log2 of the standard deviation of LWE noise.
    pub lwe_noise_log2: f64,
    /// log2 of the standard deviation of GLWE noise.
    pub glwe_noise_log2: f64,
    /// Security claimed by its paper or library.
    pub claimed_security_bits: Option<u32>,
    /// Security by the committed curves.
    pub security_bits: f64,
    /// The warning that running it prints; `None` at 128 bits or more.
    pub security_warning: Option<String>,
    /// A PBS of a fresh ciphertext under the small key.
    pub without_key_switch: Capacity,
    /// A PBS of a key-switched PBS result; `None` for a set without a key switch.
    pub with_key_switch: Option<Capacity>,
    /// Bytes of the bootstrapping key.
    pub bootstrap_key_bytes: u64,
    /// Bytes of the key-switching key; 0 without one.
    pub key_switch_key_bytes: u64,
    /// Bytes of both in the transport form.
    pub compressed_key_bytes: u64,
    /// Bytes of one ciphertext under the small key.
    pub ciphertext_bytes: u64,
    /// Remarks for users.
    pub notes: Vec<String>,
    /// Source of each figure.
    pub sources: std::collections::BTreeMap<String, String>,
}

/// Capacity of a PBS input.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Capacity {
    /// log2 of the standard deviation of the phase that the PBS reads.
    pub noise_log2: f64,
    /// Maximum padded message bits with a failure of at most 2^[`CARRIED_FAILURE_LOG2`]; 0 if not even one.
    pub message_bits: u32,
    /// log2 of the failure probability at `message_bits`, or at one bit if it is 0.
    pub failure_log2: f64,
    /// log2 of the failure probability at one bit.
    pub failure_log2_1_bit: f64,
}

impl Capacity {
    fn of(noise: Noise) -> Self {
        let failure = |bits: u32| failure_log2(noise, bits);
        let carried = (1..=MOST_BITS).take_while(|&bits| failure(bits) <= CARRIED_FAILURE_LOG2);
        let message_bits = carried.last().unwrap_or(0);
        Self {
            noise_log2: noise.second_moment().log2() / 2.0,
            message_bits,
            failure_log2: failure(message_bits.max(1)),
            failure_log2_1_bit: failure(1),
        }
    }
}

/// log2 of the probability that a padded message of `bits` bits decodes wrongly.
fn failure_log2(noise: Noise, bits: u32) -> f64 {
    noise.failure_log2((-f64::from(bits) - 2.0).exp2())
}

/// Effect of a transform on the PBSs of one set: shows whether a machine's widths are too narrow for it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TransformRow {
    /// Name of the set.
    pub name: String,
    /// log2 of the standard deviation of the transform's error in one coefficient of one external product.
    pub transform_noise_log2: f64,
    /// log2 of the standard deviation of a PBS result in exact arithmetic.
    pub exact_noise_log2: f64,
    /// The same with the transform.
    pub noise_log2: f64,
    /// log2 of the probability that a result at ±1/8 decodes wrongly, in exact arithmetic.
    pub exact_failure_log2: f64,
    /// The same with the transform.
    pub failure_log2: f64,
}

/// The row of `parameters` computed with `transform`.
pub fn transform_row(parameters: &Parameters, transform: Transform) -> TransformRow {
    let exact = noise::blind_rotation_with(parameters, Transform::Exact);
    let with = noise::blind_rotation_with(parameters, transform);
    TransformRow {
        name: parameters.name().to_owned(),
        transform_noise_log2: noise::transform_error(parameters, transform).log2() / 2.0,
        exact_noise_log2: exact.second_moment().log2() / 2.0,
        noise_log2: with.second_moment().log2() / 2.0,
        exact_failure_log2: exact.failure_log2(Boolean::MARGIN),
        failure_log2: with.failure_log2(Boolean::MARGIN),
    }
}

/// Rows of all named sets.
pub fn table() -> Vec<SetRow> {
    sets::all().map(|(entry, parameters)| row(entry, parameters)).collect()
}

pub fn row(entry: &Entry, parameters: &Parameters) -> SetRow {
    let literal = parameters.literal();
    let word = u64::from(parameters.torus_bits() / 8);
    let bootstrap = parameters.bootstrap_key_len() as u64;
    let key_switch = parameters.key_switch_key_len().unwrap_or(0) as u64;
    let (without_key_switch, with_key_switch) = capacities(parameters);
    SetRow {
        name: parameters.name().to_owned(),
        family: entry.family,
        lwe_dimension: literal.lwe_dimension,
        glwe_dimension: literal.glwe_dimension,
        ring_degree: literal.ring_degree,
        bootstrap_gadget: literal.bootstrap_gadget,
        key_switch_gadget: literal.key_switch_gadget,
        torus_bits: literal.torus_bits,
        lwe_noise_log2: literal.lwe_noise_log2,
        glwe_noise_log2: literal.glwe_noise_log2,
        claimed_security_bits: entry.claimed_security_bits,
        security_bits: parameters.security_bits(),
        security_warning: parameters.security_warning(),
        without_key_switch,
        with_key_switch,
        bootstrap_key_bytes: bootstrap * word,
        key_switch_key_bytes: key_switch * word,
        compressed_key_bytes: parameters.compressed_key_bytes(KeyUnrolling::of(parameters.secret())),
        ciphertext_bytes: parameters.lwe_dimension().ciphertext_len() as u64 * word,
        notes: notes(entry, parameters, without_key_switch, with_key_switch),
        sources: literal.sources.clone(),
    }
}

/// Capacities of a PBS of a fresh ciphertext, and of a key-switched PBS result; `None` for a set without a key switch.
pub fn capacities(parameters: &Parameters) -> (Capacity, Option<Capacity>) {
    let with_key_switch = with_key_switch(parameters, PhaseRounding::Nearest);
    (Capacity::of(without_key_switch(parameters)), with_key_switch.map(Capacity::of))
}

/// V_fresh + V_ms.
fn without_key_switch(parameters: &Parameters) -> Noise {
    noise::fresh(parameters, LweKind::Small).plus(noise::modulus_switch(parameters))
}

/// V_br + V_ks + V_ms.
fn with_key_switch(parameters: &Parameters, rounding: PhaseRounding) -> Option<Noise> {
    let key_switch = noise::key_switch(parameters)?;
    let rotation = noise::blind_rotation_with(parameters, Transform::f64_here());
    Some(rotation.plus(key_switch).plus(noise::modulus_switch_with(parameters, rounding, 0)))
}

fn notes(entry: &Entry, parameters: &Parameters, without: Capacity, with: Option<Capacity>) -> Vec<String> {
    let mut notes = Vec::new();
    if !entry.note.is_empty() {
        notes.push(entry.note.clone());
    }
    if let Some(claimed) = entry.claimed_security_bits {
        let computed = parameters.security_bits();
        if f64::from(claimed) > computed + 0.5 {
            notes.push(format!(
                "{claimed} bits are claimed; the committed security curves give {:.0}",
                computed.floor()
            ));
        } else if f64::from(claimed) < computed - 0.5 {
            notes.push(format!(
                "{claimed} bits are claimed, which is less than the {:.0} of the committed security curves: believe the lower",
                computed.floor()
            ));
        }
    }
    let output = noise::blind_rotation_with(parameters, Transform::Exact);
    let lost = output.failure_log2(Boolean::MARGIN) > LOST_FAILURE_LOG2;
    if lost {
        notes.push(format!(
            "a lookup's result has noise of 2^{:.1} of the torus: it does not carry even a Boolean at ±1/8 within 2^{LOST_FAILURE_LOG2}",
            output.second_moment().log2() / 2.0
        ));
    }
    if let Some(with) = with
        && with.failure_log2_1_bit > LOST_FAILURE_LOG2
        && !lost
    {
        notes.push(format!(
            "it cannot survive a key switch: one padded bit fails with 2^{:.1} after it (without one it carries {} bits)",
            with.failure_log2_1_bit, without.message_bits
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    //! Does the table report the known properties of the sets?
    use super::*;

    fn named(name: &str) -> SetRow {
        let (entry, parameters) = sets::entry(name).expect("a known set");
        row(entry, parameters)
    }

    #[test]
    fn every_set_has_a_row() {
        let rows = table();
        assert_eq!(rows.iter().map(|row| row.name.as_str()).collect::<Vec<_>>(), sets::names());
    }

    #[test]
    fn default_sets_carry_what_their_names_say() {
        for row in table().into_iter().filter(|row| row.family == Family::Default) {
            let for_integers = row.name.starts_with("polyfabric-integers-");
            let mut parts = row.name.split('-').skip(if for_integers { 2 } else { 1 });
            let Some(bits) = parts.next().and_then(|bits| bits.parse::<u32>().ok()) else {
                // Direct sets have no key switch; those for wide tables read two bits at a time.
                assert_eq!(row.with_key_switch.is_some(), row.name.contains("-wide-"), "{}", row.name);
                continue;
            };
            let (rounding, failure) = match parts.next() {
                Some("p64") => (PhaseRounding::Nearest, -64.0),
                Some("p128") => (PhaseRounding::Nearest, -128.0),
                Some("p136") => (PhaseRounding::Centred, -136.0),
                _ => (PhaseRounding::Centred, -144.0),
            };
            let parameters = sets::entry(&row.name).expect("a set").1;
            let noise = with_key_switch(parameters, rounding).expect("a key switch");
            assert!(failure_log2(noise, bits) <= failure, "{row:?}");
            assert!(row.security_bits >= 128.0 && row.security_warning.is_none(), "{row:?}");
        }
    }

    #[test]
    fn sets_that_cannot_survive_a_key_switch_say_so() {
        for name in ["strix-III", "morphling-III", "morphling-B", "morphling-C"] {
            let row = named(name);
            assert_eq!(row.with_key_switch.map(|with| with.message_bits), Some(0), "{name}");
            assert!(row.notes.iter().any(|note| note.contains("cannot survive a key switch")), "{row:?}");
        }
        for name in ["strix-I", "strix-II", "morphling-IV", "morphling-A"] {
            let row = named(name);
            assert!(row.with_key_switch.is_some_and(|with| with.message_bits > 0), "{row:?}");
        }
    }

    #[test]
    fn one_digit_of_23_bits_is_too_much_for_32() {
        for name in ["morphling-IV-t32", "morphling-A-t32"] {
            let row = named(name);
            assert!(row.notes.iter().any(|note| note.contains("does not carry even a Boolean")), "{row:?}");
        }
    }

    #[test]
    fn transforms_on_32_bit_words_are_too_coarse_for_set_i_and_fine_enough_for_the_direct_sets() {
        use polyfabric_kernels::fixed::{FixedFftSpec, FixedWidths, RangeRule, Rounding};
        let failure = |name: &str| {
            let parameters = sets::parameters(name).expect("a known set");
            let spec = FixedFftSpec::for_external_product(
                parameters.ring_degree(),
                parameters.bootstrap_gadget(),
                parameters.glwe_dimension().get(),
                parameters.torus_bits(),
                FixedWidths::uniform(32),
                Rounding::HalfEven,
                RangeRule::OverflowProbability { log2: -64.0, first_step: 0.25 },
            );
            let row = transform_row(&parameters, Transform::fixed(&spec, &parameters));
            assert!(row.noise_log2 >= row.exact_noise_log2 && row.failure_log2 >= row.exact_failure_log2, "{row:?}");
            row.failure_log2
        };
        assert!(failure("strix-I") > -10.0);
        assert!(failure("polyfabric-direct-t32") <= -64.0);
        assert!(failure("polyfabric-direct-1024-t32") <= -64.0);
    }

    #[test]
    fn sizes_of_set_i() {
        let row = named("strix-I");
        // 500 GGSW of 4 rows of 2 polynomials of 1024 words; 8192 rows of 501 words; an encryption of zero.
        assert_eq!(row.bootstrap_key_bytes, 500 * 4 * 2 * 1024 * 4);
        assert_eq!(row.key_switch_key_bytes, 8192 * 501 * 4);
        assert_eq!(row.compressed_key_bytes, 500 * 4 * 1024 * 4 + 8192 * 4 + 1024 * 4 + 32);
        assert_eq!(row.ciphertext_bytes, 501 * 4);
    }
}
