//! Keys of several owners: parameter sets with the precision that smudging takes, and what such plans refuse.
//!
//! Each owner hides the error of a result with noise 2^κ times as large ([`polyfabric_schemes::joint::Smudging`]). A CKKS result keeps the bits
//! of its scale above that noise: with κ = 40 and errors up to 2^22, a scale of 2^90 keeps some 17 bits. So scales take two primes a level.

use super::{ParameterRequest, parameter, refused};
use crate::PlanError;
use polyfabric_kernels::RingDegree;
use polyfabric_program::rns::homomorphic::Program;
use polyfabric_schemes::joint::Smudging;
use polyfabric_schemes::rns::security::largest_log2_modulus;
use polyfabric_schemes::rns::{ChainLink, SecretDistribution, parties_in};
use polyfabric_schemes::set_file::ParameterSet;
use polyfabric_schemes::{bgv as bgv_scheme, ckks as ckks_scheme};
use std::collections::BTreeMap;

/// The owners of the keys, who decrypt together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Owners {
    /// Their number.
    pub parties: usize,
    /// κ of their smudging noise.
    pub smudging_bits: f64,
}

impl Owners {
    /// One owner, who needs no smudging.
    pub const ONE: Self = Self { parties: 1, smudging_bits: Smudging::LEAST_BITS };

    pub fn several(&self) -> bool {
        self.parties > 1
    }

    /// Fails for owners that there cannot be, and for programs that several cannot execute or measure.
    pub fn expect(&self, program: &Program, bootstraps: bool, measured: bool) -> Result<(), PlanError> {
        if !self.several() {
            return Ok(());
        }
        let name = program.name();
        if !Smudging::allows(self.smudging_bits) {
            let (bits, least, most) = (self.smudging_bits, Smudging::LEAST_BITS, Smudging::MOST_BITS);
            return Err(parameter(format!(
                "{name}: smudging noise of {bits} bits: less than {least} lets decryption shares reveal the secrets; give {least} to {most}"
            )));
        }
        if bootstraps {
            return Err(refused(format!(
                "{name}: bootstrapping needs a secret of one owner, and this one has {}; remove it, or use keys of one owner",
                self.parties
            )));
        }
        if measured {
            return Err(refused(format!(
                "{name}: errors of all operations are measured with the secret, which none of {} owners has; measure with one owner",
                self.parties
            )));
        }
        Ok(())
    }

    /// `set` for these owners.
    ///
    /// # Errors
    /// It is for another number of several owners, or cannot have several.
    pub fn ckks(&self, program: &Program, set: ckks_scheme::Parameters) -> Result<ckks_scheme::Parameters, PlanError> {
        match (set.secret().parties(), self.parties) {
            (own, parties) if own == parties => Ok(set),
            (1, parties) => set.with_parties(parties).map_err(parameter),
            (own, parties) => Err(other_owners(program, set.name(), own, parties)),
        }
    }

    /// As [`Self::ckks`].
    pub fn bgv(&self, program: &Program, set: bgv_scheme::Parameters) -> Result<bgv_scheme::Parameters, PlanError> {
        match (set.literal().secret.parties(), self.parties) {
            (own, parties) if own == parties => Ok(set),
            (1, parties) => set.with_parties(parties).map_err(parameter),
            (own, parties) => Err(other_owners(program, set.name(), own, parties)),
        }
    }
}

fn other_owners(program: &Program, set: &str, own: usize, parties: usize) -> PlanError {
    let name = program.name();
    parameter(format!("{name}: parameter set {set} is for {own} owners of the keys, not {parties}; give parties={own}"))
}

/// log2 of the ring degrees, and bits of a level, that are tried for CKKS with several owners.
const RINGS: std::ops::RangeInclusive<u32> = 14..=16;
const SCALES: [u32; 2] = [90, 100];

/// Bits of level 0 above the scale, for values beyond 1.
const HEAD_ROOM: u32 = 10;

/// As many levels of `scale` bits as 128-bit security permits, with two primes a level and a digit a level.
fn literal(log2_degree: u32, scale: u32) -> Option<ckks_scheme::ParametersLiteral> {
    let degree = RingDegree::new(1 << log2_degree).ok()?;
    let room = largest_log2_modulus(degree, SecretDistribution::UniformTernary)?.floor() as u32;
    let first = scale + HEAD_ROOM;
    // As large as the digit of level 0.
    let special = first / 2 + 1;
    let levels = room.checked_sub(first + 2 * special)? / scale;
    if levels == 0 {
        return None;
    }
    let sources = [
        ("ring_degree", "derived: the least that has the program's levels"),
        ("q", "derived: what 128 bits of security leave room for, at a scale that smudging leaves bits of"),
        ("p", "derived: as large as a digit"),
        ("gadget", "choice: a digit a level"),
        ("scale_log2", "choice"),
        ("secret", "the homomorphic-encryption standard (2018): uniform ternary"),
        ("noise_std", "the homomorphic-encryption standard (2018): 8/sqrt(2 pi)"),
    ];
    let sources: BTreeMap<_, _> = sources.into_iter().map(|(field, source)| (field.into(), source.into())).collect();
    let pairs = |pair_bits, count| ChainLink::Pairs { pair_bits, count };
    Some(ckks_scheme::ParametersLiteral {
        name: format!("ckks-2p{log2_degree}-{scale}"),
        ring_degree: degree.get(),
        q: vec![pairs(first, 1), pairs(scale, levels as usize)],
        p: vec![ChainLink::Bits { bits: special, count: 2 }],
        primes: ckks_scheme::PrimeKind::OfDegree,
        gadget: ckks_scheme::GadgetChoice::Hybrid { digit_limbs: 2 },
        scale_log2: f64::from(scale),
        secret: SecretDistribution::UniformTernary,
        ephemeral_weight: None,
        bootstrap: None,
        noise_std: 3.2,
        sources,
    })
}

/// Their sets, smallest first.
pub fn literals() -> impl Iterator<Item = ckks_scheme::ParametersLiteral> {
    RINGS.flat_map(|log2_degree| SCALES.into_iter().filter_map(move |scale| literal(log2_degree, scale)))
}

/// The set that [`literals`] calls `name`.
pub fn wide_ckks(name: &str) -> Option<ckks_scheme::Parameters> {
    let literal = literals().find(|literal| literal.name == name)?;
    ckks_scheme::Parameters::check(&literal).ok()
}

/// The number of owners of a requested set; 1 for a name that is unknown, which planning reports.
pub fn owners_in(asked: Option<ParameterRequest<'_>>) -> usize {
    match asked {
        Some(ParameterRequest::Name(name)) => parties_in(name).map_or(1, |(_, parties)| parties),
        Some(ParameterRequest::Set(ParameterSet::Ckks(set))) => set.secret().parties(),
        Some(ParameterRequest::Set(ParameterSet::Bgv(set))) => set.literal().secret.parties(),
        None => 1,
    }
}
