//! File format of polynomials, ciphertexts and switching keys of CKKS and BGV.
//!
//! Residues are packed ([`PackedBits`]). Before allocating, a reader computes an object's size from its header and the checked parameters
//! and compares it with the rest of the file. It checks every residue against its prime.

use std::collections::BTreeMap;
use std::sync::Arc;

use polyfabric_kernels::RingDegree;
use polyfabric_kernels::modular::Modulus;
use zeroize::Zeroizing;

use super::ciphertext::Ciphertext;
use super::gadget::{Gadget, GadgetLiteral};
use super::key::{KeyId, KeySet, KeyStorage, Part, SwitchingKey};
use super::limb::{Domain, LimbId};
use super::packed::PackedBits;
use super::polynomial::RnsPolynomial;
use super::ring::{MAX_LIMBS, Ring};
use super::secret::{SecretDistribution, SecretKey};
use crate::random::MaskSeed;
use crate::serial::{FormatError, Reader, Sink};

/// Maximum number of parts of a ciphertext.
const MAX_PARTS: u32 = 16;
/// Maximum number of keys of a set.
const MAX_KEYS: u32 = 1 << 17;

/// Bytes of a polynomial over `limbs`.
pub(crate) fn polynomial_bytes(degree: usize, moduli: &[Modulus], limbs: &[LimbId]) -> u64 {
    limbs.iter().map(|limb| PackedBits::of(moduli[limb.index()]).bytes(degree) as u64).sum()
}

fn write_limb(modulus: Modulus, words: &[u64], sink: &mut Sink<'_>) -> std::io::Result<()> {
    let bits = PackedBits::of(modulus);
    let mut bytes = vec![0; bits.bytes(words.len())];
    bits.pack(words, &mut bytes);
    sink.bytes(&bytes)
}

/// Writes the limbs of a polynomial.
pub(crate) fn write_polynomial(ring: &Ring, polynomial: &RnsPolynomial, sink: &mut Sink<'_>) -> std::io::Result<()> {
    polynomial.iter().try_for_each(|(limb, words)| write_limb(ring.modulus(limb), words, sink))
}

/// Reads one packed limb and checks its residues; `scratch` has N words.
fn read_limb(
    what: &'static str,
    modulus: Modulus,
    bytes: &mut [u8],
    scratch: &mut [u64],
    reader: &mut Reader<'_>,
) -> Result<(), FormatError> {
    reader.bytes(what, bytes)?;
    PackedBits::of(modulus).unpack(bytes, scratch);
    if scratch.iter().all(|&word| modulus.holds(word)) {
        Ok(())
    } else {
        Err(FormatError::Content("a residue is not below its modulus"))
    }
}

/// Reads a polynomial over `limbs`, which the ring must have.
pub(crate) fn read_polynomial(
    what: &'static str,
    ring: &Ring,
    limbs: &[LimbId],
    domain: Domain,
    reader: &mut Reader<'_>,
) -> Result<RnsPolynomial, FormatError> {
    let count = ring.degree().get();
    reader.require(what, polynomial_bytes(count, ring.moduli(), limbs))?;
    let mut polynomial = RnsPolynomial::zero(ring.degree(), limbs, domain);
    let mut bytes = Vec::new();
    for (limb, words) in polynomial.iter_mut() {
        let modulus = ring.modulus(limb);
        bytes.resize(PackedBits::of(modulus).bytes(count), 0);
        read_limb(what, modulus, &mut bytes, words, reader)?;
    }
    polynomial.remember_canonical(ring);
    Ok(polynomial)
}

/// Bytes of a ciphertext: number of parts, domain, parts.
pub(crate) fn ciphertext_bytes(moduli: &[Modulus], ciphertext: &Ciphertext) -> u64 {
    let degree = ciphertext.parts[0].degree().get();
    8 + ciphertext.parts.len() as u64 * polynomial_bytes(degree, moduli, ciphertext.limbs())
}

/// Writes a ciphertext without the identifiers of its limbs.
pub(crate) fn write_ciphertext(ring: &Ring, ciphertext: &Ciphertext, sink: &mut Sink<'_>) -> std::io::Result<()> {
    let domain = match ciphertext.domain() {
        Domain::Coefficient => 0u32,
        Domain::Evaluation => 1,
    };
    sink.bytes(&(ciphertext.parts.len() as u32).to_le_bytes())?;
    sink.bytes(&domain.to_le_bytes())?;
    ciphertext.parts.iter().try_for_each(|part| write_polynomial(ring, part, sink))
}

/// Reads a ciphertext over `limbs`, which the ring must have.
pub(crate) fn read_ciphertext(
    ring: &Ring,
    limbs: &[LimbId],
    reader: &mut Reader<'_>,
) -> Result<Ciphertext, FormatError> {
    let parts = reader.u32("the number of parts")?;
    if parts == 0 || parts > MAX_PARTS {
        return Err(FormatError::Content("a ciphertext has no part, or more than 16"));
    }
    let domain = match reader.u32("the domain")? {
        0 => Domain::Coefficient,
        1 => Domain::Evaluation,
        _ => return Err(FormatError::Content("the domain is neither 0 nor 1")),
    };
    let part = |_| read_polynomial("a part of a ciphertext", ring, limbs, domain, reader);
    Ok(Ciphertext::new((0..parts).map(part).collect::<Result<_, _>>()?))
}

fn id_codes(id: KeyId) -> [u32; 2] {
    match id {
        KeyId::Relinearisation => [0, 0],
        // Below 2^18.
        KeyId::Galois(element) => [1, element as u32],
        KeyId::GaloisAfter(element) => [2, element as u32],
        KeyId::Encapsulate => [3, 0],
        KeyId::Decapsulate => [4, 0],
        KeyId::Other(number) => [5, number],
    }
}

fn id_of(codes: [u32; 2], degree: usize) -> Result<KeyId, FormatError> {
    let element = codes[1] as usize;
    match codes {
        [0, 0] => Ok(KeyId::Relinearisation),
        [3, 0] => Ok(KeyId::Encapsulate),
        [4, 0] => Ok(KeyId::Decapsulate),
        [5, number] => Ok(KeyId::Other(number)),
        [kind @ (1 | 2), _] if element % 2 == 1 && element < 2 * degree => {
            Ok(if kind == 1 { KeyId::Galois(element) } else { KeyId::GaloisAfter(element) })
        }
        _ => Err(FormatError::Content("a key has an unknown purpose")),
    }
}

/// The 32-bit words of a gadget: sub-digit bits (0 for none), digits, special limbs, limbs of each digit, then all limbs.
fn gadget_words(gadget: &Gadget) -> Vec<u32> {
    let mut words =
        vec![gadget.sub_digit_bits().unwrap_or(0), gadget.digits().len() as u32, gadget.special().len() as u32];
    words.extend(gadget.digits().iter().map(|digit| digit.len() as u32));
    words.extend(gadget.qp().iter().map(|limb| u32::from(limb.0)));
    words
}

fn read_gadget(ring: &Ring, reader: &mut Reader<'_>) -> Result<Gadget, FormatError> {
    let mut word = |limit: u32| {
        let word = reader.u32("a gadget")?;
        if word > limit { Err(FormatError::Content("a gadget has more limbs than any ring")) } else { Ok(word) }
    };
    let limit = MAX_LIMBS as u32;
    let (bits, digits, special) = (word(limit)?, word(limit)?, word(limit)?);
    let lengths = (0..digits).map(|_| word(limit)).collect::<Result<Vec<u32>, _>>()?;
    if lengths.iter().sum::<u32>() > limit {
        return Err(FormatError::Content("a gadget has more limbs than any ring"));
    }
    let mut limbs =
        |count| (0..count).map(|_| Ok(LimbId(word(limit)? as u16))).collect::<Result<Vec<_>, FormatError>>();
    let digits = lengths.into_iter().map(&mut limbs).collect::<Result<_, _>>()?;
    let literal = GadgetLiteral { digits, sub_digit_bits: (bits > 0).then_some(bits), special: limbs(special)? };
    Gadget::new(ring, literal).map_err(|error| FormatError::Parameters(Box::new(error)))
}

fn key_bytes(key: &SwitchingKey) -> u64 {
    let storage = KeyStorage { packed: true, seeded: key.seed().is_some() };
    let seed = if key.seed().is_some() { 32 } else { 0 };
    let head = 4 * (2 + gadget_words(key.gadget()).len() as u64 + 1);
    head + seed + storage.key_bytes(key.ring(), key.gadget()) as u64
}

pub(crate) fn key_set_bytes(keys: &KeySet) -> u64 {
    4 + keys.iter().map(|key| key_bytes(key)).sum::<u64>()
}

/// Writes a set of keys: for each its purpose, gadget, seed flag, seed, bodies, and masks if it has no seed.
pub(crate) fn write_key_set(keys: &KeySet, sink: &mut Sink<'_>) -> std::io::Result<()> {
    sink.bytes(&(keys.iter().count() as u32).to_le_bytes())?;
    let ring = keys.ring();
    let mut scratch = vec![0; ring.degree().get()];
    for key in keys.iter() {
        let words = id_codes(key.id()).into_iter().chain(gadget_words(key.gadget()));
        for word in words.chain([u32::from(key.seed().is_some())]) {
            sink.bytes(&word.to_le_bytes())?;
        }
        if let Some(seed) = key.seed() {
            sink.bytes(&seed.0)?;
        }
        let parts: &[Part] = if key.seed().is_some() { &[Part::Body] } else { &[Part::Body, Part::Mask] };
        for &part in parts {
            for term in 0..key.gadget().terms().len() {
                for (position, &limb) in key.limbs().iter().enumerate() {
                    write_limb(ring.modulus(limb), key.limb(part, term, position, &mut scratch), sink)?;
                }
            }
        }
    }
    Ok(())
}

/// The keys that a program reads, with the limbs that each must have.
pub type WantedKeys<'a> = BTreeMap<KeyId, &'a [LimbId]>;

/// Fails unless the program reads the key `id` and `found` has all its limbs.
fn expect_wanted(id: KeyId, found: &[LimbId], wanted: &WantedKeys<'_>) -> Result<(), FormatError> {
    let Some(needed) = wanted.get(&id) else {
        return Err(FormatError::Keys(format!("{id} is there, which the program does not read")));
    };
    match needed.iter().find(|limb| !found.contains(limb)) {
        Some(limb) => Err(FormatError::Keys(format!("{id} lacks limb {limb}, which the program reads"))),
        None => Ok(()),
    }
}

/// Reads a set of keys over `ring`: packed, with masks as seeds. A key must have the gadget `gadget_of`, possibly with fewer limbs of Q:
/// programs are lowered for that gadget and rely only on a key's rows and limbs. With `wanted`, the set must have exactly these keys; an
/// unwanted key is rejected before it is read.
pub(crate) fn read_key_set(
    ring: &Arc<Ring>,
    gadget_of: impl Fn(KeyId) -> Arc<Gadget>,
    wanted: Option<&WantedKeys<'_>>,
    reader: &mut Reader<'_>,
) -> Result<KeySet, FormatError> {
    let count = reader.u32("the number of keys")?;
    if count > MAX_KEYS {
        return Err(FormatError::Content("there are more keys than automorphisms"));
    }
    if let Some(needed) = wanted.map(BTreeMap::len).filter(|&needed| needed != count as usize) {
        return Err(FormatError::Keys(format!("there are {count} switching keys, and the program reads {needed}")));
    }
    let mut keys = KeySet::new(Arc::clone(ring));
    for _ in 0..count {
        let codes = [reader.u32("a key's purpose")?, reader.u32("a key's purpose")?];
        let id = id_of(codes, ring.degree().get())?;
        if keys.get(id).is_ok() {
            return Err(FormatError::Content("a key occurs twice"));
        }
        let gadget = Arc::new(read_gadget(ring, reader)?);
        if *gadget.literal() != gadget_of(id).over(gadget.qp()) {
            return Err(FormatError::Content("a key has other digits than its parameter set"));
        }
        if let Some(wanted) = wanted {
            expect_wanted(id, gadget.qp(), wanted)?;
        }
        let seed = match reader.u32("whether a key has a seed")? {
            0 => None,
            1 => {
                let mut seed = [0; 32];
                reader.bytes("a key's seed", &mut seed)?;
                Some(MaskSeed(seed))
            }
            _ => return Err(FormatError::Content("whether a key has a seed is neither 0 nor 1")),
        };
        let bodies = read_terms("a key's bodies", ring, &gadget, reader)?;
        let masks = if seed.is_none() { Some(read_terms("a key's masks", ring, &gadget, reader)?) } else { None };
        let key = SwitchingKey::from_packed(Arc::clone(ring), id, gadget, bodies, masks, seed);
        keys.insert(key.ok_or(FormatError::Content("a key has neither masks nor a seed"))?);
    }
    Ok(keys)
}

fn read_terms(
    what: &'static str,
    ring: &Ring,
    gadget: &Gadget,
    reader: &mut Reader<'_>,
) -> Result<Vec<Vec<u8>>, FormatError> {
    let count = ring.degree().get();
    let each = polynomial_bytes(count, ring.moduli(), gadget.qp());
    reader.require(what, each.saturating_mul(gadget.terms().len() as u64))?;
    let mut scratch = vec![0; count];
    let mut term = |_| {
        let mut bytes = vec![0; each as usize];
        let mut rest = &mut bytes[..];
        for &limb in gadget.qp() {
            let modulus = ring.modulus(limb);
            let (limb, after) = rest.split_at_mut(PackedBits::of(modulus).bytes(count));
            read_limb(what, modulus, limb, &mut scratch, reader)?;
            rest = after;
        }
        Ok(bytes)
    };
    (0..gadget.terms().len()).map(&mut term).collect()
}

/// Writes a secret's coefficients, one byte each.
pub(crate) fn write_secret(secret: &SecretKey, sink: &mut Sink<'_>) -> std::io::Result<()> {
    let coefficients = secret.coefficients().iter().map(|&coefficient| coefficient as u8);
    let bytes: Zeroizing<Vec<u8>> = Zeroizing::new(coefficients.collect());
    sink.bytes(&bytes)
}

/// Reads a secret and checks its `distribution`.
pub(crate) fn read_secret(
    degree: RingDegree,
    distribution: SecretDistribution,
    reader: &mut Reader<'_>,
) -> Result<SecretKey, FormatError> {
    let mut bytes = Zeroizing::new(vec![0; degree.get()]);
    reader.bytes("a secret", &mut bytes)?;
    let coefficients = bytes.iter().map(|&byte| byte as i8).collect();
    let secret = SecretKey::from_coefficients(degree, coefficients)
        .ok_or(FormatError::Content("a secret's coefficient is not -1, 0 or 1"))?;
    match distribution {
        SecretDistribution::JointTernary(_) => {
            Err(FormatError::Content("no single client has the secret of a set for several parties"))
        }
        SecretDistribution::SparseTernary(weight) if secret.hamming_weight() != weight => {
            Err(FormatError::Content("a secret's weight differs from the parameters'"))
        }
        _ => Ok(secret),
    }
}
