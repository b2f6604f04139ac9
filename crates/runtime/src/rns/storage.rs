//! Which keys keep their masks in memory, where not all can.

use polyfabric_program::rns::kernel::KeyUse;
use polyfabric_schemes::rns::{KeyId, KeyStorage};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// How to store each of `keys`, which are to take no more than `limit` bytes: with both halves, as long as they fit, those first
/// that a program reads most often; the others with their bodies alone, and masks drawn from the seed at each use.
///
/// `bytes` gives the size of a key as it is stored. Bodies are kept even if they take more than `limit`.
pub fn key_storage(
    keys: &BTreeMap<KeyId, KeyUse>,
    limit: usize,
    bytes: impl Fn(KeyId, KeyStorage) -> usize,
) -> BTreeMap<KeyId, KeyStorage> {
    const DRAWN: KeyStorage = KeyStorage { seeded: true, ..KeyStorage::BYTES };
    let mut storage: BTreeMap<KeyId, KeyStorage> = keys.keys().map(|&id| (id, DRAWN)).collect();
    let mut total: usize = keys.keys().map(|&id| bytes(id, DRAWN)).sum();
    // How often a mask is drawn, in 1/1024.
    let reads = |used: &KeyUse| used.reads * 1024 / (used.rows * used.limbs.len()).max(1);
    let mut order: Vec<(&KeyId, &KeyUse)> = keys.iter().collect();
    order.sort_by_key(|(_, used)| Reverse(reads(used)));
    for (&id, _) in order {
        let mask = bytes(id, KeyStorage::BYTES) - bytes(id, DRAWN);
        if total + mask <= limit {
            total += mask;
            storage.insert(id, KeyStorage::BYTES);
        }
    }
    storage
}

#[cfg(test)]
mod tests {
    //! Are masks kept within the limit, and those that are read most?

    use super::*;
    use polyfabric_program::rns::kernel::LimbSet;
    use polyfabric_schemes::rns::LimbId;

    #[test]
    fn what_is_read_most_keeps_its_masks() {
        let used = |limbs: u16, times: usize| {
            let limbs = LimbSet::new((0..limbs).map(LimbId));
            KeyUse { rows: 2, reads: 2 * limbs.len() * times, limbs }
        };
        let keys = BTreeMap::from([
            (KeyId::Galois(5), used(4, 1)),
            (KeyId::Galois(25), used(4, 3)),
            (KeyId::Relinearisation, used(6, 9)),
            (KeyId::Galois(125), used(1, 2)),
        ]);
        // A thousand bytes for a limb of a half.
        let bytes = |id: KeyId, storage: KeyStorage| {
            let halves = if storage.seeded { 1 } else { 2 };
            halves * 1000 * keys[&id].limbs.len()
        };
        let kept = |limit: usize| -> Vec<KeyId> {
            let storage = key_storage(&keys, limit, bytes);
            let total: usize = storage.iter().map(|(&id, &storage)| bytes(id, storage)).sum();
            assert!(total <= limit.max(15_000), "{total} bytes");
            storage.into_iter().filter(|(_, storage)| !storage.seeded).map(|(id, _)| id).collect()
        };
        assert_eq!(kept(30_000), [KeyId::Relinearisation, KeyId::Galois(5), KeyId::Galois(25), KeyId::Galois(125)]);
        assert_eq!(kept(29_999), [KeyId::Relinearisation, KeyId::Galois(25), KeyId::Galois(125)]);
        assert_eq!(kept(21_000), [KeyId::Relinearisation]);
        // The most wanted has no room, a smaller one has.
        assert_eq!(kept(20_000), [KeyId::Galois(25), KeyId::Galois(125)]);
        assert_eq!(kept(0), []);
    }
}
