//! Joins the parties' shares of a decryption.

use super::keys::{one_of_each, sum};
use super::message::{Message, Round};
use super::session::{JointError, Session, digest, hash};
use crate::generation::KeyGeneration;
use crate::rns::{Ciphertext, Domain, LimbId, Ring, RnsPolynomial};

/// The hash of the ciphertexts that a share is for, and of the parties that decrypt them unless all do.
pub(super) fn subject<'c>(
    session: &Session,
    generation: KeyGeneration,
    outputs: impl IntoIterator<Item = &'c Ciphertext>,
    among: Option<&[usize]>,
) -> [u8; 32] {
    let digests: Vec<[u8; 32]> = outputs.into_iter().map(|ciphertext| digest(&ciphertext.parts)).collect();
    let (id, generation) = (session.id(), generation.bytes());
    let parties: Vec<u8> = among.unwrap_or(&[]).iter().flat_map(|&party| (party as u64).to_le_bytes()).collect();
    let all: [&[u8]; 3] = [&id, &generation, digests.as_flattened()];
    let some: [&[u8]; 4] = [all[0], all[1], all[2], &parties];
    hash("polyfabric 2026 joint share", if among.is_some() { &some } else { &all })
}

/// polynomial ← polynomial + factor·noise, in coefficients.
pub(super) fn add_noise(ring: &Ring, polynomial: &mut RnsPolynomial, noise: &[i128], factor: u64) {
    polynomial.for_each_limb(|limb, _, words| {
        let modulus = ring.modulus(limb);
        let factor = modulus.reduce(factor);
        for (word, &noise) in words.iter_mut().zip(noise) {
            let size = modulus.reduce_wide(noise.unsigned_abs());
            // Both are computed, so that time does not depend on the sign.
            let (plus, minus) = (size, modulus.neg(size));
            let mask = (noise >> 127) as u64;
            *word = modulus.add(*word, modulus.multiply((minus & mask) | (plus & !mask), factor));
        }
    });
}

/// The phases of `outputs` from the shares of all parties, or of those that the shares are made for, in coefficients: the results with their
/// errors and smudging noise.
///
/// # Errors
/// [`JointError`] unless there is one share of each of these parties for exactly these ciphertexts.
pub fn phases(
    session: &Session,
    generation: KeyGeneration,
    outputs: &[Ciphertext],
    shares: &[Message],
) -> Result<Vec<RnsPolynomial>, JointError> {
    if let Some(other) = outputs.iter().find(|ciphertext| ciphertext.parts.len() != 2) {
        return Err(JointError::Parts(other.parts.len()));
    }
    let limbs: Vec<Vec<LimbId>> = outputs.iter().map(|ciphertext| ciphertext.limbs().to_vec()).collect();
    let of_all = subject(session, generation, outputs, None);
    let mut parties: Vec<usize> = shares.iter().map(|share| share.party as usize).collect();
    parties.sort_unstable();
    parties.dedup();
    // Shares for fewer parties say so.
    let fewer = (1..session.parties()).contains(&parties.len()) && shares.iter().all(|share| share.subject != of_all);
    let among = fewer.then_some(&parties[..]);
    let subject = (subject(session, generation, outputs, among), "other ciphertexts, keys or parties");
    let shares = one_of_each(session, (shares, among), Round::Decryption, subject, (&limbs, Domain::Coefficient))?;
    let ring = session.ring();
    let phase = |(place, ciphertext): (usize, &Ciphertext)| {
        let mut phase = ciphertext.parts[0].clone();
        phase.inverse(ring);
        phase.add_assign(ring, &sum(ring, &shares, place));
        phase
    };
    Ok(outputs.iter().enumerate().map(phase).collect())
}
