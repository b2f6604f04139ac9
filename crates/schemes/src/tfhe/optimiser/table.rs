//! Writes `sets/defaults.toml` from the optimiser's output. A test compares the committed file with it.

use std::fmt::Write;

use polyfabric_kernels::RingDegree;

use super::wide::derive_wide;
use super::{DIRECT_INPUT_SQUARED_NORM, Derived, SQUARED_NORM, Target, derive, derive_direct};
use crate::tfhe::secret::Secret;

/// Message bits of the sets for programs on processors. For one and three bits, sets above are as cheap.
const PROCESSORS_BITS: [u32; 4] = [2, 4, 5, 6];

/// Message bits of the sets for integers.
const INTEGERS_BITS: [u32; 2] = [3, 4];

/// Message bits of the sets for programs on processors with block-binary keys. A bit is as cheap in the set for two.
const BLOCK_BITS: [u32; 5] = [2, 3, 4, 5, 6];

/// The block-binary keys of our sets.
const BLOCKS: Secret = Secret::Block(3);

const HEADER: &str = "\
# Our sets: 128 bits of security and a failure probability of 2^-64 to 2^-144 for one PBS, by the optimiser.
# Written by `cargo run --release -p polyfabric-schemes --example derive-sets`; a test compares them. Do not edit.
";

/// The text of `sets/defaults.toml`.
///
/// Sets are called `polyfabric-<message bits>-p<failure>-t<torus bits>`, with `-narrow` for a machine's transforms. Those of 2^-136 and
/// `polyfabric-integers-…` assume centred phases; `-block3` is for block-binary keys with blocks of three bits. `polyfabric-direct-…` is for one level of PBSs without a key switch. An infeasible target
/// becomes a comment with the reason.
pub fn defaults_toml() -> String {
    let mut text = HEADER.to_owned();
    for torus_bits in [32, 64] {
        for failure in [64, 128] {
            for message_bits in 1..=6 {
                let name = format!("polyfabric-{message_bits}-p{failure}-t{torus_bits}");
                let target = Target::plain(message_bits, -f64::from(failure), torus_bits);
                match derive(target) {
                    Ok(derived) => {
                        let note = format!(
                            "{message_bits} message bits and padding; one lookup after a key switch and a sum of squared norm {SQUARED_NORM} fails with 2^{:.1}; {:.0} million operations",
                            derived.failure_log2,
                            derived.operations / 1e6
                        );
                        let target = format!(
                            "optimiser: {message_bits} message bits, failure 2^-{failure}, {torus_bits}-bit torus"
                        );
                        write_set(&mut text, &name, &note, &target, &derived);
                    }
                    Err(reason) => text.push_str(&format!("\n# {name}: {reason}\n")),
                }
            }
        }
    }
    for message_bits in 1..=2 {
        let name = format!("polyfabric-{message_bits}-p128-t32-narrow");
        match derive(Target::narrow(message_bits, -128.0)) {
            Ok(derived) => {
                let note = format!(
                    "as polyfabric-{message_bits}-p128-t32 for a machine whose transforms work on 32-bit words: fails with 2^{:.1} with their noise; {:.0} million operations",
                    derived.failure_log2,
                    derived.operations / 1e6
                );
                let target =
                    format!("optimiser: {message_bits} message bits, failure 2^-128, 32-bit torus and transform");
                write_set(&mut text, &name, &note, &target, &derived);
            }
            Err(reason) => text.push_str(&format!("\n# {name}: {reason}\n")),
        }
    }
    for message_bits in PROCESSORS_BITS {
        let name = format!("polyfabric-{message_bits}-p136-t64");
        write_centred(&mut text, &name, "programs", Target::processors(message_bits), "256");
    }
    for message_bits in INTEGERS_BITS {
        let name = format!("polyfabric-integers-{message_bits}-t64");
        write_centred(&mut text, &name, "integers of any width", Target::integers(message_bits), "65,536");
    }
    for message_bits in BLOCK_BITS {
        let name = format!("polyfabric-{message_bits}-p136-t64-block3");
        write_centred(&mut text, &name, "programs", Target::processors(message_bits).of(BLOCKS), "256");
    }
    for message_bits in INTEGERS_BITS {
        let name = format!("polyfabric-integers-{message_bits}-t64-block3");
        write_centred(&mut text, &name, "integers of any width", Target::integers(message_bits).of(BLOCKS), "65,536");
    }
    for (name, what, target, integers) in [
        (
            "polyfabric-wide-t64",
            "wide tables alone",
            Target { squared_norm: SQUARED_NORM, ..Target::processors(2) },
            false,
        ),
        ("polyfabric-wide-integers-t64", "wide tables next to other operations on integers", Target::integers(4), true),
    ] {
        if let Some(derived) = derive_wide(target, integers) {
            let Target { failure_log2, squared_norm, .. } = target;
            let note = format!(
                "for {what} on a processor, by circuit bootstrapping: a bit of a digit, its phase centred, after a sum of squared norm {squared_norm} of results of tables of 8 bits fails with 2^{failure_log2} at most; {:.0} million operations",
                derived.operations / 1e6
            );
            let target = format!("optimiser: {what}, centred phase, failure 2^{failure_log2}, 64-bit torus");
            write_set(&mut text, name, &note, &target, &derived);
        }
    }
    for (name, degree) in [("polyfabric-direct-t32", 2048), ("polyfabric-direct-1024-t32", 1024)] {
        let direct = RingDegree::new(degree).ok().and_then(|degree| derive_direct(1, degree));
        if let Some(derived) = direct {
            let note = format!(
                "for one level of lookups without a key switch on a 32-bit machine: inputs under the small key, results at ±1/8 under the large one, read wrong with 2^{:.1} after transforms on 32-bit words; {:.0} million operations",
                derived.failure_log2,
                derived.operations / 1e6
            );
            let target = format!(
                "optimiser: N = {degree}, least input noise at squared norm {DIRECT_INPUT_SQUARED_NORM}, 32-bit transform"
            );
            write_set(&mut text, name, &note, &target, &derived);
        }
    }
    text
}

/// A set for `what` on a processor, of which `lookups` together fail with 2^-128.
fn write_centred(text: &mut String, name: &str, what: &str, target: Target, lookups: &str) {
    let Target { message_bits, failure_log2, squared_norm, secret, .. } = target;
    let keys = if secret.is_binary() { "" } else { ", with a block-binary key (docs/threat-model.md)" };
    match derive(target) {
        Ok(derived) => {
            let note = format!(
                "for {what} on a processor{keys}: {message_bits} message bits and padding; one lookup, its phase centred, after a key switch and a sum of squared norm {squared_norm} fails with 2^{:.1}, so that {lookups} of them together fail with 2^-128; {:.0} million operations",
                derived.failure_log2,
                derived.operations / 1e6
            );
            let target = format!(
                "optimiser: {message_bits} message bits, centred phase, failure 2^{failure_log2}, 64-bit torus"
            );
            write_set(text, name, &note, &target, &derived);
        }
        Err(reason) => text.push_str(&format!("\n# {name}: {reason}\n")),
    }
}

fn write_set(text: &mut String, name: &str, note: &str, target: &str, derived: &Derived) {
    let literal = &derived.literal;
    let gadget = |gadget: polyfabric_kernels::Gadget| {
        format!("{{ log2_base = {}, levels = {} }}", gadget.log2_base, gadget.levels)
    };
    let mut lines = vec![
        String::new(),
        "[[set]]".to_owned(),
        "family = \"default\"".to_owned(),
        format!("note = \"{note}\""),
        "[set.parameters]".to_owned(),
        format!("name = \"{name}\""),
        format!("torus_bits = {}", literal.torus_bits),
        format!("lwe_dimension = {}", literal.lwe_dimension),
    ];
    if let Secret::Block(block) = literal.secret {
        lines.push(format!("secret = {{ block = {block} }}"));
    }
    lines.extend([
        format!("glwe_dimension = {}", literal.glwe_dimension),
        format!("ring_degree = {}", literal.ring_degree),
        format!("bootstrap_gadget = {}", gadget(literal.bootstrap_gadget)),
    ]);
    lines.extend(literal.key_switch_gadget.map(|key_switch| format!("key_switch_gadget = {}", gadget(key_switch))));
    lines.extend(literal.circuit.map(|circuit| {
        let [ggsw, trace, square] = [circuit.ggsw, circuit.trace, circuit.square].map(gadget);
        format!("circuit = {{ ggsw = {ggsw}, trace = {trace}, square = {square} }}")
    }));
    lines.extend([
        format!("lwe_noise_log2 = {:?}", literal.lwe_noise_log2),
        format!("glwe_noise_log2 = {:?}", literal.glwe_noise_log2),
        "[set.parameters.sources]".to_owned(),
    ]);
    let mut source = |field: &str, value: &str| lines.push(format!("{field} = \"{value}\""));
    source("torus_bits", "choice");
    for field in ["lwe_dimension", "glwe_dimension", "ring_degree", "bootstrap_gadget"] {
        source(field, target);
    }
    if literal.key_switch_gadget.is_some() {
        source("key_switch_gadget", target);
    }
    if literal.circuit.is_some() {
        source("circuit", target);
    }
    if literal.secret.is_binary() {
        source("lwe_noise_log2", "derived: the least for 128 bits at n, security.toml");
    } else {
        source(
            "secret",
            "choice: block-binary keys of Lee, Min, Seo, Song, AsiaCCS 2023; fewer people have studied their security, which has a smaller \
             combinatorial margin and a doubt (security.rs, docs/threat-model.md)",
        );
        source(
            "lwe_noise_log2",
            "derived: the least for 128 bits at n/1.035, security.toml; the factor is derived in security.rs",
        );
    }
    source(
        "glwe_noise_log2",
        "derived: the least for 128 bits at kN, security.toml, and at least 4 units of the torus",
    );
    for line in lines {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{line}");
    }
}
