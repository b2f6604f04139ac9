//! Is a user-defined set accepted, and is each error reported with the field, its values and a remedy?

use super::*;
use crate::rns::security::STANDARD_SECURITY_BITS;

const CKKS: &str = include_str!("../../../../examples/own-ckks.toml");
const BGV: &str = include_str!("../../../../examples/own-bgv.toml");

/// A small CKKS set for tests to vary.
const SMALL: &str = r#"
[ckks]
name = "mine"
ring_degree = 1024
q = [{ bits = 50 }, { bits = 40, count = 4 }]
p = [{ bits = 50, count = 2 }]
gadget = { hybrid = { digit_limbs = 2 } }
scale_log2 = 40
secret = "uniform-ternary"
noise_std = 3.2
"#;

fn ckks(text: &str) -> ckks::Parameters {
    match parse("mine.toml", text) {
        Ok(ParameterSet::Ckks(set)) => set,
        other => panic!("{other:?}"),
    }
}

fn bgv(text: &str) -> bgv::Parameters {
    match parse("mine.toml", text) {
        Ok(ParameterSet::Bgv(set)) => set,
        other => panic!("{other:?}"),
    }
}

/// The error for `text` with the line of `field` replaced by `line`.
fn error(text: &str, field: &str, line: &str) -> String {
    let changed: Vec<&str> =
        text.lines().map(|found| if found.starts_with(&format!("{field} =")) { line } else { found }).collect();
    assert!(changed.contains(&line), "there is no line of {field}");
    let message = parse("mine.toml", &changed.join("\n")).expect_err(line).to_string();
    assert!(message.starts_with("mine.toml: "), "{message}");
    message
}

/// Each of `cases`, a replacement line for a field of `text`, is rejected with part of a message.
fn reject(text: &str, cases: &[(&str, &str, &str)]) {
    let said: Vec<String> = cases.iter().map(|(field, line, _)| error(text, field, line)).collect();
    let other = said.iter().zip(cases).filter(|(message, (_, _, part))| !message.contains(part));
    let other: Vec<String> =
        other.map(|(message, (_, line, part))| format!("{line}: no {part:?} in {message}")).collect();
    assert!(other.is_empty(), "{}", other.join("\n"));
}

#[test]
fn the_examples_are_sound_and_secure() {
    let set = ckks(CKKS);
    assert_eq!((set.name(), set.max_level(), set.gadget().digits().len()), ("own-ckks", 5, 3));
    assert!((set.log2_q(5) - 262.0).abs() < 0.1 && (set.log2_p() - 104.0).abs() < 0.1);
    assert!(set.security().bits >= STANDARD_SECURITY_BITS && set.security_warning().is_none());
    let set = bgv(BGV);
    assert_eq!((set.name(), set.q_limbs(), set.gadget().digits().len()), ("own-bgv", 4, 4));
    assert_eq!(set.plaintext_modulus().value(), 786_433);
    assert!(set.security().bits >= STANDARD_SECURITY_BITS && set.security_warning().is_none());
}

/// An explicit prime gives the same modulus as its size.
#[test]
fn primes_may_be_given_themselves() {
    let by_bits = ckks(SMALL);
    let primes: Vec<String> =
        by_bits.moduli()[..5].iter().map(|modulus| format!("{{ prime = {} }}", modulus.value())).collect();
    let line = format!("q = [{}]", primes.join(", "));
    let by_primes = ckks(&SMALL.replace("q = [{ bits = 50 }, { bits = 40, count = 4 }]", &line));
    assert_eq!(by_bits.moduli()[..5], by_primes.moduli()[..5]);
    assert_eq!(by_bits.level_limbs(), by_primes.level_limbs());
}

/// Five limbs in digits of two: the last digit has one, which is valid.
#[test]
fn digits_need_not_divide_the_limbs() {
    let lengths: Vec<usize> = ckks(SMALL).gadget().digits().iter().map(Vec::len).collect();
    assert_eq!(lengths, [2, 2, 1]);
}

#[test]
fn a_modulus_beyond_the_tables_has_few_bits_and_a_weight_without_a_row_none() {
    let weak = ckks(SMALL);
    assert!(weak.security().bits < 20.0 && weak.security_warning().is_some());
    let unknown = ckks(&SMALL.replace("\"uniform-ternary\"", "{ sparse-ternary = 100 }"));
    assert_eq!(unknown.security().bits, 0.0);
    assert!(unknown.security().source.starts_with("unknown"), "{}", unknown.security().source);
    let quiet = ckks(&SMALL.replace("noise_std = 3.2", "noise_std = 1"));
    assert!(quiet.security().source.starts_with("unknown"), "{}", quiet.security().source);
}

#[test]
fn texts_that_are_no_set_are_rejected() {
    let cases = [
        ("", "has neither"),
        ("ckks = 5", "expected struct ParametersLiteral"),
        ("[tfhe]\nname = \"mine\"", "unknown field `tfhe`, expected `ckks` or `bgv`"),
        ("[ckks]\nname = \"mine\"", "missing field `ring_degree`"),
        ("[ckks\n", "TOML parse error at line 1"),
        ("\u{0}", "TOML parse error at line 1"),
    ];
    for (text, part) in cases {
        let message = parse("mine.toml", text).expect_err(text).to_string();
        assert!(message.contains(part), "{message}");
    }
    let both = format!("{CKKS}\n{BGV}");
    assert!(parse("mine.toml", &both).expect_err("two sets").to_string().contains("has both"));
    let long = "#".repeat(LARGEST_FILE + 1);
    assert!(parse("mine.toml", &long).expect_err("a long file").to_string().contains("more than 65536 bytes"));
    let nowhere = load(Path::new("nowhere.toml")).expect_err("no file").to_string();
    assert!(nowhere.starts_with("nowhere.toml: cannot read") && nowhere.ends_with("check the path"), "{nowhere}");
}

#[test]
fn wrong_ckks_sets_are_rejected() {
    let cases = [
        ("name", "name = \"a b\"", "\"a b\" is not 1 to 64 characters"),
        ("name", "name = \"ckks-depth-3\"", "give your set another name, such as own-ckks-depth-3"),
        ("name", "names = \"mine\"", "unknown field `names`, expected one of `name`, `ring_degree`"),
        ("ring_degree", "ring_degree = 1000", "ring degree 1000 is not a power of two from 16 to 131072"),
        ("ring_degree", "ring_degree = 262144", "ring degree 262144 is not a power of two from 16 to 131072"),
        ("ring_degree", "ring_degree = -1024", "invalid value: integer `-1024`"),
        ("ring_degree", "ring_degree = \"1024\"", "4 | ring_degree = \"1024\""),
        ("q", "q = []", "q is empty; give level 0 at least one modulus"),
        ("q", "q = [{ bits = 40, count = 300 }]", "the chain has 302 moduli, more than 256; give fewer"),
        ("q", "q = [{ bits = 40, count = 18446744073709551615 }]", "moduli, more than 256; give fewer"),
        ("q", "q = [{ bits = 4000000000 }]", "use another bit size"),
        ("q", "q = [{ bits = 20, count = 200 }]", "primes = 1 mod 2048 exist from"),
        ("q", "q = [{ bits = 15 }]", "below 2^15; use primes of 28 bits or more"),
        ("q", "q = [{ pair_bits = 4000000000 }]", "pairs of primes of 4000000000 bits together; use 32 to 120"),
        ("q", "q = [{ prime = 1099511627775 }]", "1099511627775 is not prime; give primes, or bits"),
        ("q", "q = [{ prime = 1099511627689 }]", "the prime 1099511627689 is not 1 modulo 2048"),
        ("q", "q = [{ prime = 1099511590913 }, { prime = 1099511590913 }]", "the prime 1099511590913 is given twice"),
        ("q", "q = [{ prime = 9223372036854775807 }]", "is not between 2 and 2^61 - 1"),
        ("q", "q = [{ prime = 1099511590913, count = 2 }]", "give one of the three"),
        ("q", "q = [{ bits = 40, pair_bits = 60 }]", "give one of the three"),
        ("q", "q = [40, 40]", "invalid type"),
        ("p", "p = [{ bits = 30, count = 2 }]", "the special primes have 59 bits in all, digit 0 has 90"),
        ("gadget", "gadget = { hybrid = { digit_limbs = 0 } }", "digits of 0 limbs; give digit_limbs of at least 1"),
        ("gadget", "gadget = \"per-limb\"", "a digit a limb (listing 1) uses no special primes, but p gives 2"),
        ("gadget", "gadget = \"one-digit\"", "digit 0 has 210"),
        ("gadget", "gadget = { sub-limb = { bits = 0 } }", "digits of 0 bits; use 1 to 60"),
        ("gadget", "gadget = \"fast\"", "unknown variant `fast`, expected one of `hybrid`, `per-limb`"),
        ("scale_log2", "scale_log2 = 51", "scale_log2 is 51, but level 0, the first of q, has 50.0 bits"),
        ("scale_log2", "scale_log2 = 200", "scale_log2 is 200; it must be from 1 to 100.0"),
        ("scale_log2", "scale_log2 = nan", "scale_log2 is NaN"),
        ("scale_log2", "scale_log2 = -1", "scale_log2 is -1"),
        ("secret", "secret = { sparse-ternary = 0 }", "a secret of weight 0 in a ring of degree 1024"),
        ("secret", "secret = { sparse-ternary = 2000 }", "a secret of weight 2000 in a ring of degree 1024"),
        ("secret", "secret = \"binary\"", "unknown variant `binary`"),
        ("noise_std", "noise_std = 0", "noise_std is 0; it must be from 0.5 to 64"),
        ("noise_std", "noise_std = inf", "noise_std is inf"),
    ];
    reject(SMALL, &cases);
}

#[test]
fn wrong_bgv_sets_are_rejected() {
    let cases = [
        ("name", "name = \"bgv-2p13-218\"", "give your set another name"),
        ("ring_degree", "ring_degree = 8191", "ring degree 8191 is not a power of two"),
        ("plaintext_modulus", "plaintext_modulus = { packed = 65539 }", "plaintext modulus 65539 has no slots"),
        ("plaintext_modulus", "plaintext_modulus = { packed = 40961 }", "plaintext modulus 40961 has no slots"),
        ("plaintext_modulus", "plaintext_modulus = { packed = 65536 }", "plaintext modulus 65536 has no slots"),
        ("plaintext_modulus", "plaintext_modulus = { packed = 0 }", "plaintext modulus"),
        ("plaintext_modulus", "plaintext_modulus = { packed = 2305843009213693951 }", "use t below 2^60"),
        ("plaintext_modulus", "plaintext_modulus = { power-of-two = 61 }", "use 2^1 to 2^60"),
        ("plaintext_modulus", "plaintext_modulus = 65537", "wanted string or table"),
        ("q_bits", "q_bits = []", "at least one in q_bits"),
        ("q_bits", "q_bits = [10]", "use another bit size"),
        ("q_bits", "q_bits = [4000000000]", "use another bit size"),
        ("special_bits", "special_bits = [30]", "use more or larger special primes"),
        ("digit_limbs", "digit_limbs = 0", "digits of 0 limbs; give digit_limbs of at least 1"),
        ("digit_limbs", "digit_limbs = 3", "digit 0 has 16"),
        ("secret", "secret = { sparse-ternary = 17000 }", "a secret of weight 17000 in a ring of degree 16384"),
        ("noise_std", "noise_std = -1", "noise_std is -1; it must be from 0.5 to"),
    ];
    reject(BGV, &cases);
    let many = format!("q_bits = [{}]", vec!["40"; 300].join(", "));
    assert!(error(BGV, "q_bits", &many).contains("301 moduli; give 1 to 256"));
}

/// The plaintext modulus may be a prime of the ring's class: choosing primes by bits skips it.
#[test]
fn the_plaintext_modulus_is_not_in_the_chain() {
    let set = bgv(BGV);
    let first = set.ring().moduli()[0].value();
    let clashing = BGV.replace("packed = 786433", &format!("packed = {first}"));
    assert!(bgv(&clashing).ring().moduli().iter().all(|modulus| modulus.value() != first));
}
