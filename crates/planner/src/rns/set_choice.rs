//! Chooses the parameter set of a CKKS or BGV program: a named set or the smallest sufficient one.

use super::owners::{literals, wide_ckks};
use super::{Owners, parameter, refused};
use crate::{DEFAULT_FAILURE_LOG2, Fault, PlanError};
use polyfabric_kernels::RingDegree;
use polyfabric_machines::Machine;
use polyfabric_machines::contract::rns;
use polyfabric_program::rns::homomorphic::{Op, Program, Scheme};
use polyfabric_program::rns::levels::{
    Chain, Placed, Plan as Levels, PlanRules, is_mended_by_bootstraps, place_bootstraps,
};
use polyfabric_program::rns::lowering::bgv::Held;
use polyfabric_program::rns::lowering::bootstrap::Bootstrapping;
use polyfabric_program::rns::lowering::{RnsLowering, Target, bgv};
use polyfabric_program::rns::noise::{Encryption, bgv_failure_log2};
use polyfabric_program::rns::parameters as ckks;
use polyfabric_schemes::rns::security::{STANDARD_SECURITY_BITS, largest_log2_modulus};
use polyfabric_schemes::rns::{SecretDistribution, parties_in};
use polyfabric_schemes::set_file::ParameterSet;
use polyfabric_schemes::{bgv as bgv_scheme, ckks as ckks_scheme};
use serde_json::{Value, json};
use std::collections::HashSet;

/// The set's bootstrapping, if the program bootstraps.
pub fn bootstrapping(
    program: &Program,
    parameters: &ckks_scheme::Parameters,
    chain: &Chain,
    choice: &RnsLowering,
) -> Result<Option<Bootstrapping>, PlanError> {
    if !bootstraps(program) {
        return Ok(None);
    }
    let sizes = program.nodes().iter().filter_map(|node| match node.op {
        Op::Bootstrap { slots } => Some(slots.unwrap_or_else(|| program.slots())),
        Op::Lookup { .. } => Some(parameters.max_slots()),
        _ => None,
    });
    // Create the largest; the lowering derives smaller ones.
    let slots = sizes.max().unwrap_or_else(|| program.slots());
    ckks::bootstrapping(parameters, chain, choice, slots).map_err(parameter)
}

/// Number of bootstraps in a program. Lookups of one operand share one; each step of a rounding is another.
pub fn bootstraps_of(program: &Program) -> usize {
    let bootstraps = program.nodes().iter().filter(|node| matches!(node.op, Op::Bootstrap { .. })).count();
    bootstraps + lookups_of(program).map(|stages| 1 + stages).sum::<usize>()
}

/// Steps of the rounding for each group of lookups that share a bootstrapping.
pub fn lookups_of(program: &Program) -> impl Iterator<Item = usize> {
    let mut looked_up = HashSet::new();
    program.nodes().iter().filter_map(move |node| match &node.op {
        Op::Lookup { table } if looked_up.insert((&node.operands, table.reading())) => Some(table.stages() as usize),
        _ => None,
    })
}

/// Whether the program needs a set with tables. Such sets serve no other programs.
pub fn has_lookups(program: &Program) -> bool {
    longest_table(program) > 0
}

/// Most entries of the program's lookup tables; 0 without lookups.
pub fn longest_table(program: &Program) -> usize {
    let tables = program.nodes().iter().filter_map(|node| match &node.op {
        Op::Lookup { table } => Some(table.len()),
        _ => None,
    });
    tables.max().unwrap_or(0)
}

/// Whether a set has tables that are long enough for `longest`, or none for 0.
fn has_tables_of(parameters: &ckks_scheme::Parameters, longest: usize) -> bool {
    match ckks::longest_table(parameters) {
        0 => longest == 0,
        most => longest > 0 && longest <= most,
    }
}

fn bootstraps(program: &Program) -> bool {
    bootstraps_of(program) > 0
}

/// The level rules of `program` with a set.
pub fn rules(parameters: &ckks_scheme::Parameters, chain: &Chain, bootstrapping: Option<&Bootstrapping>) -> PlanRules {
    let choice = ckks::choice(parameters);
    let encoder = ckks_scheme::Encoder::new(parameters.ring_degree());
    let encoder = ckks::SlotEncoder(&encoder);
    let model = ckks::model(parameters, Encryption::Secret);
    Target { chain, choice: &choice, model, encoder: &encoder, bootstrapping, observed: false }.rules()
}

/// Default CKKS sets with `security` bits, smallest first, followed by bootstrapping sets, which are the deepest. For a program that
/// bootstraps, only the latter.
fn candidates(program: &Program, security: f64) -> impl Iterator<Item = &'static ckks_scheme::Parameters> {
    use ckks_scheme::sets::{Family, all};
    let bootstraps = bootstraps(program);
    let longest = longest_table(program);
    let suits = move |family, parameters: &ckks_scheme::Parameters| match family {
        Family::Bootstrap if !has_tables_of(parameters, longest) => false,
        Family::Bootstrap => !bootstraps || parameters.literal().bootstrap.is_some(),
        Family::Default => !bootstraps,
        _ => false,
    };
    let all = all().filter(move |(entry, parameters)| suits(entry.family, parameters));
    all.map(|(_, parameters)| parameters).filter(move |parameters| parameters.security().bits >= security)
}

/// The smallest default set that has the program's tables and slots.
///
/// # Errors
/// [`Fault::Parameter`] if there is none.
pub fn smallest_with_tables(program: &Program) -> Result<&'static ckks_scheme::Parameters, PlanError> {
    let fits = |set: &&ckks_scheme::Parameters| set.max_slots() >= program.slots();
    candidates(program, STANDARD_SECURITY_BITS)
        .find(fits)
        .ok_or_else(|| parameter(no_set(program, STANDARD_SECURITY_BITS)))
}

fn no_set(program: &Program, security: f64) -> String {
    match longest_table(program) {
        0 => format!("no default parameter set of CKKS has {security} bits of security; ask for fewer"),
        longest => format!(
            "no default parameter set of CKKS has tables of {longest} integers and {security} bits of security; use shorter tables, or ask for \
             fewer bits"
        ),
    }
}

/// The first set with `security` bits, the program's slots and levels, and a modulus of at least `log2_modulus` bits. Otherwise the set that
/// needs the fewest bootstraps, if they can be placed, or the reason why there is none.
pub fn choose_ckks(program: &Program, security: f64, log2_modulus: f64) -> Result<ckks_scheme::Parameters, PlanError> {
    let mut reason = None;
    for parameters in candidates(program, security) {
        let chain = ckks::chain(parameters).map_err(parameter)?;
        let bootstrapping = bootstrapping(program, parameters, &chain, &ckks::choice(parameters))?;
        match Levels::new(program, &chain, &rules(parameters, &chain, bootstrapping.as_ref())) {
            Ok(_) if chain.log2_modulus(chain.top()) < log2_modulus => {}
            Ok(_) => return Ok(parameters.clone()),
            // Keep the reason of the last set with enough slots, usually the deepest.
            Err(error) => reason = Some(error),
        }
    }
    let mut fewest: Option<(usize, &ckks_scheme::Parameters)> = None;
    for parameters in candidates(program, security) {
        // The reason for failure concerns the set that the program is then planned with.
        if let Ok(Some(placed)) = with_bootstraps(program, parameters)
            && fewest.is_none_or(|(bootstraps, _)| placed.bootstraps < bootstraps)
        {
            fewest = Some((placed.bootstraps, parameters));
        }
    }
    if let Some((_, parameters)) = fewest {
        return Ok(parameters.clone());
    }
    Err(reason.map_or_else(|| parameter(no_set(program, security)), refused))
}

/// CKKS sets for several owners with the program's levels and slots and `security` bits, smallest first.
///
/// # Errors
/// The reason why the largest has not, or that none has so many bits.
pub fn choose_ckks_for(
    program: &Program,
    owners: Owners,
    security: f64,
) -> Result<(ckks_scheme::Parameters, Vec<ckks_scheme::Parameters>), PlanError> {
    let (mut fitting, mut reason) = (Vec::new(), None);
    for literal in literals() {
        let set = ckks_scheme::Parameters::check(&literal).map_err(parameter)?;
        let set = owners.ckks(program, set)?;
        if set.security().bits < security {
            continue;
        }
        let chain = ckks::chain(&set).map_err(parameter)?;
        match Levels::new(program, &chain, &rules(&set, &chain, None)) {
            Ok(_) => fitting.push(set),
            Err(error) => reason = Some(error),
        }
    }
    let mut fitting = fitting.into_iter();
    match fitting.next() {
        Some(first) => Ok((first, fitting.collect())),
        None => Err(reason.map_or_else(
            || parameter(format!("no parameter set for several owners has {security} bits of security; ask for fewer")),
            refused,
        )),
    }
}

/// The larger sets with tables, in case the errors of lookups are too large with `chosen`; none for programs without lookups.
pub fn surer_tables(
    program: &Program,
    chosen: &ckks_scheme::Parameters,
    security: f64,
) -> Vec<ckks_scheme::Parameters> {
    if !has_lookups(program) {
        return Vec::new();
    }
    candidates(program, security).skip_while(|set| set.name() != chosen.name()).skip(1).cloned().collect()
}

/// Maximum number of sets that an error names.
const MOST_NAMED: usize = 4;

/// Maximum number of sets tried for a machine.
const MOST_TRIED: usize = 8;

/// Sets with primes of at most `word_bits` bits that have the program's levels and slots, smallest ring and modulus first.
fn sets_of_words(program: &Program, word_bits: u32) -> Result<Vec<&'static ckks_scheme::Parameters>, PlanError> {
    use ckks_scheme::sets::{Family, all};
    let mut fitting = Vec::new();
    for (entry, parameters) in all() {
        let largest = parameters.moduli().iter().map(|modulus| modulus.value()).max().unwrap_or(0);
        let tables = has_tables_of(parameters, longest_table(program));
        if matches!(entry.family, Family::Toy | Family::Benchmark) || largest >> word_bits != 0 || !tables {
            continue;
        }
        let chain = ckks::chain(parameters).map_err(parameter)?;
        let bootstrapping = bootstrapping(program, parameters, &chain, &ckks::choice(parameters));
        let Ok(bootstrapping) = bootstrapping else { continue };
        if Levels::new(program, &chain, &rules(parameters, &chain, bootstrapping.as_ref())).is_ok() {
            fitting.push(parameters);
        }
    }
    fitting.sort_by_key(|parameters| (parameters.ring_degree().get(), parameters.moduli().len()));
    Ok(fitting)
}

/// Sets for a CKKS program without a named set on `machine`: the smallest with `security` (at least 128) bits and primes of its words, then
/// larger ones in case the machine does not support it or its errors are too large. If there is none, the error names supported sets
/// (`takes`) with less security.
pub fn choose_ckks_on(
    program: &Program,
    machine: &Machine,
    security: f64,
    takes: impl Fn(&ckks_scheme::Parameters) -> bool,
) -> Result<(ckks_scheme::Parameters, Vec<ckks_scheme::Parameters>), PlanError> {
    let word_bits = rns::word_bits(machine, program.name()).map_err(PlanError::of(Fault::Machine))?;
    let fitting = sets_of_words(program, word_bits)?;
    let least = security.max(STANDARD_SECURITY_BITS);
    let mut secure = fitting.iter().filter(|parameters| parameters.security().bits >= least);
    if let Some(smallest) = secure.next() {
        let larger = secure.take(MOST_TRIED - 1).map(|parameters| (*parameters).clone());
        return Ok(((*smallest).clone(), larger.collect()));
    }
    let name = program.name();
    let own = "give one of your own, parameters=\"FILE.toml\" (--params)";
    let accepted = |set: &&&ckks_scheme::Parameters| set.security().bits >= security && takes(set);
    let named =
        |set: &&ckks_scheme::Parameters| format!("{} ({:.1} bits of security)", set.name(), set.security().bits);
    let named: Vec<String> = fitting.iter().filter(accepted).take(MOST_NAMED).map(named).collect();
    let remedy = if fitting.is_empty() {
        let tables = match longest_table(program) {
            0 => String::new(),
            longest => format!(", and tables of {longest} integers"),
        };
        format!("none of the built-in sets has the levels and slots of {name}{tables}; {own}")
    } else if named.is_empty() {
        format!(
            "sets with the levels and slots of {name} have less than {least} bits of security, and it supports none of them as requested; {own}"
        )
    } else {
        format!(
            "no set with the levels and slots of {name} has {least} bits of security; name a less secure one with parameters (--params): {}",
            named.join(", ")
        )
    };
    let message =
        format!("{} needs a set with primes of at most {word_bits} bits, its word size: {remedy}", machine.name());
    Err(PlanError::new(Fault::Parameter, message))
}

/// The program with bootstraps added if it needs more levels than the set has; `None` if it does not, or the set cannot bootstrap, as those with
/// tables.
///
/// # Errors
/// No placement of bootstraps suffices.
pub fn with_bootstraps(program: &Program, parameters: &ckks_scheme::Parameters) -> Result<Option<Placed>, PlanError> {
    let bootstraps = parameters.literal().bootstrap.is_some() && ckks::longest_table(parameters) == 0;
    if program.scheme() != Scheme::Ckks || !bootstraps {
        return Ok(None);
    }
    let chain = ckks::chain(parameters).map_err(parameter)?;
    let choice = ckks::choice(parameters);
    let own = bootstrapping(program, parameters, &chain, &choice)?;
    match Levels::new(program, &chain, &rules(parameters, &chain, own.as_ref())) {
        Err(error) if is_mended_by_bootstraps(&error) => {}
        _ => return Ok(None),
    }
    let bootstrapping = match own {
        Some(own) => Some(own),
        None => ckks::bootstrapping(parameters, &chain, &choice, program.slots()).map_err(parameter)?,
    };
    let rules = rules(parameters, &chain, bootstrapping.as_ref());
    match place_bootstraps(program, &rules).map_err(refused)? {
        Some(placed) => Ok(Some(placed)),
        None => Levels::new(program, &chain, &rules).map(|_| None).map_err(refused),
    }
}

pub fn bgv_choice(
    program: &Program,
    parameters: &bgv_scheme::Parameters,
    machine: Option<&Machine>,
    smudging_bits: f64,
) -> Result<RnsLowering, PlanError> {
    let gadget = parameters.gadget().literal().clone();
    let choice = match machine {
        Some(machine) => rns::bgv_lowering(machine, program.name(), gadget).map_err(PlanError::of(Fault::Machine))?,
        None => RnsLowering::new(gadget),
    };
    Ok(RnsLowering { smudging_bits, ..choice })
}

/// log2 of the ring degrees tried for a BGV program.
const BGV_RINGS: std::ops::RangeInclusive<u32> = 12..=16;

/// The largest degree with slots for suggested moduli; at the next one, no suitable modulus has slots.
const MOST_SLOTTED: u64 = 1 << 15;

/// Numbers of key-switch digits tried per ring. More digits leave more of the modulus to Q and cost more.
const BGV_DIGITS: [usize; 5] = [2, 3, 6, 12, 24];

/// Purpose of a derived set.
#[derive(Clone, Copy)]
struct Purpose {
    /// t.
    modulus: u64,
    /// Whether it bootstraps; t is then a power of two.
    bootstraps: bool,
}

/// Alternatives to a modulus without slots in some rings, from the first such degree; `None` if all tried rings have slots.
pub fn other_modulus(modulus: u64) -> Option<String> {
    let has_slots = |log2_degree: u32| {
        let degree = RingDegree::new(1 << log2_degree).ok()?;
        bgv_scheme::PlaintextModulus::new(degree, bgv_scheme::PlaintextModulusLiteral::Packed(modulus)).ok()
    };
    let lacks =
        BGV_RINGS.take_while(|log2_degree| 1u64 << log2_degree <= MOST_SLOTTED).find(|&ring| has_slots(ring).is_none());
    let least = lacks.filter(|_| !modulus.is_power_of_two())?;
    let near = bgv_scheme::moduli_near(modulus);
    // Wide enough for products of two residues.
    let bits = 2 * (64 - modulus.leading_zeros());
    Some(format!(
        "integers modulo {modulus} have no slots in rings of degree {} and more; {near}. Or take integers of TFHE, as pf.UInt({bits}), whose % {modulus} is \
         encrypted too",
        1u64 << least
    ))
}

/// Upper bound of the random polynomials that any program's execution meets.
const MOST_POLYNOMIALS: u64 = 1 << 28;

/// Margin of a derived set for bootstrapping's rounding error, in deviations. It is exceeded with probability about 2^-166; the rest is for
/// the operand's noise.
const SURE_MARGIN: f64 = 15.0;

/// Whether a program exceeds its bounds with probability at most 2^-128.
fn is_sure(held: Held, degree: RingDegree) -> bool {
    bgv_failure_log2(&held, MOST_POLYNOMIALS, degree.get()) <= DEFAULT_FAILURE_LOG2
}

/// The smallest ring with 128 bits of security with which the program fails with probability at most 2^-128, with the fewest digits.
/// Otherwise the smallest with which it decrypts at all, or the reason why the largest fails.
pub fn choose_bgv(
    program: &Program,
    modulus: u64,
    machine: Option<&Machine>,
    owners: Owners,
) -> Result<bgv_scheme::Parameters, PlanError> {
    let (mut reason, mut carries, mut has_slots) = (None, None, false);
    let rings = BGV_RINGS.filter(|&log2_degree| 1 << log2_degree >= program.slots());
    let purpose = Purpose { modulus, bootstraps: bootstraps(program) && modulus.is_power_of_two() };
    if purpose.bootstraps {
        expect_bootstrap(program, modulus.trailing_zeros())?;
    }
    let candidates: Vec<_> = match machine {
        None => rings
            .flat_map(|log2_degree| BGV_DIGITS.map(|digits| bgv_literal(log2_degree, digits, purpose)))
            .flatten()
            .collect(),
        Some(machine) => {
            let bits = limb_bits(machine, program)?;
            rings.filter_map(|log2_degree| bgv_machine_literal(log2_degree, bits, purpose)).collect()
        }
    };
    for literal in candidates {
        let parameters = match bgv_scheme::Parameters::check(&literal) {
            Ok(parameters) => parameters,
            // The failure of a smaller ring is more informative than missing slots in a larger one.
            Err(error) => {
                reason = reason.or_else(|| Some(parameter(error)));
                continue;
            }
        };
        has_slots = true;
        let parameters = owners.bgv(program, parameters)?;
        let choice = bgv_choice(program, &parameters, machine, owners.smudging_bits)?;
        match bgv::plan(program, &parameters, &choice) {
            Ok(plan) if is_sure(plan.held, parameters.ring().degree()) => return Ok(parameters),
            Ok(_) => carries = carries.or(Some(parameters)),
            Err(error) => reason = Some(refused(error)),
        }
    }
    if let Some(parameters) = carries {
        return Ok(parameters);
    }
    let (name, other) = (program.name(), other_modulus(modulus));
    Err(match (reason, other) {
        (Some(reason), None) => reason,
        (Some(reason), Some(other)) if has_slots => PlanError::new(reason.fault, format!("{reason}; {other}")),
        (_, Some(other)) => PlanError::new(Fault::Parameter, format!("{name}: {other}")),
        (None, None) => parameter(format!("no ring of 128 bits of security has slots for integers modulo {modulus}")),
    })
}

/// The set `name`: from the table, or one that [`choose_bgv`] derives, so that saved keys keep their set.
pub fn named_bgv(name: &str, modulus: u64) -> Result<bgv_scheme::Parameters, PlanError> {
    if let Some((base, parties)) = parties_in(name) {
        return named_bgv(base, modulus)?.with_parties(parties).map_err(parameter);
    }
    let purposes = [false, true].map(|bootstraps| Purpose { modulus, bootstraps });
    let limb_bits = named_limb_bits(name);
    let derived = purposes.into_iter().filter(|of| !of.bootstraps || modulus.is_power_of_two()).flat_map(|purpose| {
        BGV_RINGS.flat_map(move |log2_degree| {
            let literals = BGV_DIGITS.map(|digits| bgv_literal(log2_degree, digits, purpose));
            let for_machines = limb_bits.and_then(|bits| bgv_machine_literal(log2_degree, bits, purpose));
            literals.into_iter().flatten().chain(for_machines)
        })
    });
    match derived.into_iter().find(|literal| literal.name == name) {
        Some(literal) => bgv_scheme::Parameters::check(&literal).map_err(parameter),
        None => bgv_scheme::sets::named(name).map_err(parameter),
    }
}

/// Approximate bits of a prime, about what one product of a deep program consumes.
const BGV_PRIME_BITS: u32 = 44;

/// Q and P with as many bits as 128-bit security permits, in equal primes; a digit has as many primes as P.
fn bgv_literal(log2_degree: u32, digits: usize, purpose: Purpose) -> Option<bgv_scheme::ParametersLiteral> {
    let degree = RingDegree::new(1 << log2_degree).ok()?;
    let room = largest_log2_modulus(degree, SecretDistribution::UniformTernary)?.floor() as u32;
    let all = (room / BGV_PRIME_BITS).max(3) as usize;
    let special = all.div_ceil(digits + 1);
    let share = |index: usize| room / all as u32 + u32::from(index < room as usize % all);
    // The special primes are the larger ones.
    let bits: Vec<u32> = (0..all).rev().map(share).collect();
    let (q, p) = bits.split_at(all - special);
    let text = json!({
        "q_bits": q,
        "special_bits": p,
        "digit_limbs": special,
        "sources": { "q_bits": "derived: what 128 bits of security leave room for" },
    });
    derived(text, &format!("bgv-2p{log2_degree}-{room}-{digits}"), log2_degree, purpose)
}

/// Maximum limb width of a machine set, which is F1's. With Osiris' 40 bits, a square modulo 65537 fails with probability 2^-28 under
/// listing 1, its only BGV key switch; with 32 bits, with less than 2^-128.
const MOST_LIMB_BITS: u32 = 32;

/// Limb width of sets for `machine`.
fn limb_bits(machine: &Machine, program: &Program) -> Result<u32, PlanError> {
    let word_bits = rns::word_bits(machine, program.name()).map_err(PlanError::of(Fault::Machine))?;
    Ok(word_bits.min(MOST_LIMB_BITS))
}

/// Limb width in the name of a set derived for a machine.
fn named_limb_bits(name: &str) -> Option<u32> {
    let bits = name.strip_suffix(BOOTSTRAPS).unwrap_or(name).rsplit_once('x')?.1.parse().ok()?;
    (1..=MOST_LIMB_BITS).contains(&bits).then_some(bits)
}

/// The same in limbs that fit the machine's words, with primes that every machine supports: one limb per digit and one special prime.
fn bgv_machine_literal(log2_degree: u32, bits: u32, purpose: Purpose) -> Option<bgv_scheme::ParametersLiteral> {
    let degree = RingDegree::new(1 << log2_degree).ok()?;
    let room = largest_log2_modulus(degree, SecretDistribution::UniformTernary)?.floor() as u32;
    let all = room / bits;
    if all < 2 {
        return None;
    }
    let text = json!({
        "q_bits": vec![bits; all as usize - 1],
        "special_bits": [bits],
        "primes": "1-mod-2^16",
        "digit_limbs": 1,
        "sources": { "q_bits": "derived: what 128 bits of security leave room for, in words of the machine" },
    });
    derived(text, &format!("bgv-2p{log2_degree}-{all}x{bits}"), log2_degree, purpose)
}

/// Suffix of the names of sets that bootstrap.
const BOOTSTRAPS: &str = "-bootstrap";

/// Exponent e of bootstrapping modulo 2^`bits`: 2^(e−k−1) must be at least [`SURE_MARGIN`] deviations of the rounding error. `None` if sums
/// during bootstrapping would exceed a word.
fn bootstrap_exponent(bits: u32, degree: RingDegree) -> Option<u32> {
    let weight = SecretDistribution::UniformTernary.expected_weight(degree);
    let exponent = bits + 1 + (SURE_MARGIN * ((1.0 + weight) / 12.0).sqrt()).log2().ceil() as u32;
    (exponent + degree.log2() <= bgv_scheme::PlaintextModulus::MAX_BITS).then_some(exponent)
}

/// Fails for integers modulo 2^`bits` that no ring can bootstrap.
fn expect_bootstrap(program: &Program, bits: u32) -> Result<(), PlanError> {
    let serves = |bits: u32| {
        let degrees = BGV_RINGS.filter_map(|log2_degree| RingDegree::new(1 << log2_degree).ok());
        degrees.filter_map(|degree| bootstrap_exponent(bits, degree)).next().is_some()
    };
    if serves(bits) {
        return Ok(());
    }
    let most = (1..bits).rev().find(|&bits| serves(bits)).unwrap_or(0);
    let name = program.name();
    Err(refused(format!(
        "{name}: bootstrapping supports integers modulo at most 2^{most}, not 2^{bits}; declare them with fewer bits, such as \
         pf.Mod(256)"
    )))
}

/// A set with the moduli of `literal`.
fn derived(
    mut literal: Value,
    name: &str,
    log2_degree: u32,
    purpose: Purpose,
) -> Option<bgv_scheme::ParametersLiteral> {
    let Purpose { modulus, bootstraps } = purpose;
    let bits = modulus.trailing_zeros();
    literal["name"] = json!(if bootstraps { format!("{name}{BOOTSTRAPS}") } else { name.to_owned() });
    literal["ring_degree"] = json!(1 << log2_degree);
    literal["plaintext_modulus"] =
        if modulus.is_power_of_two() { json!({ "power-of-two": bits }) } else { json!({ "packed": modulus }) };
    literal["secret"] = json!("uniform-ternary");
    literal["noise_std"] = json!(3.2);
    literal["sources"]["ring_degree"] = json!("derived: the least that carries the program");
    literal["sources"]["secret"] = json!("the homomorphic-encryption standard (2018): uniform ternary");
    literal["sources"]["noise_std"] = json!("the homomorphic-encryption standard (2018): 8/sqrt(2 pi)");
    if bootstraps {
        let exponent = bootstrap_exponent(bits, RingDegree::new(1 << log2_degree).ok()?)?;
        literal["bootstrap"] = json!({ "exponent": exponent });
        literal["sources"]["bootstrap"] = json!(format!("derived: {SURE_MARGIN} deviations of the rounding error"));
    }
    serde_json::from_value(literal).ok()
}

pub fn named_ckks(program: &Program, name: &str) -> Result<ckks_scheme::Parameters, PlanError> {
    if let Some((base, parties)) = parties_in(name) {
        return named_ckks(program, base)?.with_parties(parties).map_err(parameter);
    }
    if let Some(wide) = wide_ckks(name) {
        return Ok(wide);
    }
    ckks_scheme::sets::parameters(name).map_err(|unknown| match bgv_scheme::sets::named(name) {
        Ok(set) => other_scheme(program, &ParameterSet::Bgv(set)),
        Err(_) => parameter(unknown),
    })
}

pub fn other_scheme(program: &Program, set: &ParameterSet) -> PlanError {
    let (name, own) = (program.name(), if set.scheme() == "BGV" { "CKKS" } else { "BGV" });
    let message = format!(
        "{name}: parameter set {} is for {}, but the program is for {own}; give a set for {own}",
        set.name(),
        set.scheme()
    );
    PlanError::new(Fault::Parameter, message)
}
