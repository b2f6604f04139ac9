//! Chooses which keys store their masks if memory does not suffice for all.

use polyfabric_program::rns::kernel::KeyUse;
use polyfabric_schemes::rns::{KeyId, KeyStorage};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Storage for each of `keys`, at most `limit` bytes in total: the most-read keys store both halves while they fit; the others store bodies only and expand masks from their
/// seed at each use.
///
/// `bytes` gives the size of a key in a storage. Bodies are stored even if they exceed `limit`.
pub fn key_storage(
    keys: &BTreeMap<KeyId, KeyUse>,
    limit: usize,
    bytes: impl Fn(KeyId, KeyStorage) -> usize,
) -> BTreeMap<KeyId, KeyStorage> {
    const DRAWN: KeyStorage = KeyStorage { seeded: true, ..KeyStorage::BYTES };
    let mut storage: BTreeMap<KeyId, KeyStorage> = keys.keys().map(|&id| (id, DRAWN)).collect();
    let mut total: usize = keys.keys().map(|&id| bytes(id, DRAWN)).sum();
    // Mask expansions, in 1/1024.
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
    //! Are masks stored within the limit, preferring the most-read keys?

    use super::*;
    use polyfabric_program::rns::kernel::LimbSet;
    use polyfabric_schemes::rns::LimbId;

    #[test]
    fn the_most_read_keys_store_their_masks() {
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
        // A thousand bytes per limb of a half.
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
        // The most-read key does not fit, a smaller one does.
        assert_eq!(kept(20_000), [KeyId::Galois(25), KeyId::Galois(125)]);
        assert_eq!(kept(0), []);
    }
}
