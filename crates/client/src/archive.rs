//! Requests and answers as bytes: a zip archive with one stored file for each ciphertext, `NAME.in.ct` or `NAME.out.ct`.

use crate::failure::{Failure, Kind};
use polyfabric_schemes::port::Direction;
use std::collections::BTreeSet;

const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;

/// Bytes of a local header, of an entry of the directory, and of the end, without names.
const SIZES: (usize, usize, usize) = (30, 46, 22);

/// A date without meaning, 1980-01-01: a real one would show the client's clock.
const DATE: u16 = 1 << 5 | 1;

fn ending(direction: Direction) -> &'static str {
    match direction {
        Direction::Input => ".in.ct",
        Direction::Output => ".out.ct",
    }
}

/// The CRC-32 of zip archives.
fn checksum(data: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut index = 0;
        while index < 256 {
            let (mut value, mut bit) = (index as u32, 0);
            while bit < 8 {
                value = if value & 1 == 1 { 0xedb8_8320 ^ value >> 1 } else { value >> 1 };
                bit += 1;
            }
            table[index] = value;
            index += 1;
        }
        table
    };
    !data.iter().fold(!0, |sum: u32, byte| TABLE[usize::from(sum as u8 ^ byte)] ^ sum >> 8)
}

fn put(target: &mut Vec<u8>, words: &[u32], halves: &[u16]) {
    words.iter().for_each(|word| target.extend(word.to_le_bytes()));
    halves.iter().for_each(|half| target.extend(half.to_le_bytes()));
}

/// The archive of a program's inputs or outputs.
pub fn pack<D: AsRef<[u8]>>(parts: &[(String, D)], direction: Direction) -> Result<Vec<u8>, Failure> {
    let names: Vec<String> = parts.iter().map(|(name, _)| format!("{name}{}", ending(direction))).collect();
    let own = names.iter().zip(parts).map(|(name, (_, data))| SIZES.0 + SIZES.1 + 2 * name.len() + data.as_ref().len());
    let size = SIZES.2 + own.sum::<usize>();
    if let Some(name) = names.iter().find(|name| u16::try_from(name.len()).is_err()) {
        return Err(Failure::new(Kind::Run, format!("the name {name:.40?}.. of {} bytes is too long", name.len())));
    }
    if u32::try_from(size).is_err() || parts.len() >= usize::from(u16::MAX) {
        let message =
            format!("a message of {size} bytes and {} ciphertexts is too large; send fewer values", parts.len());
        return Err(Failure::new(Kind::Run, message));
    }
    let (mut archive, mut directory) = (Vec::with_capacity(size), Vec::new());
    for (name, (_, data)) in names.iter().zip(parts) {
        let data = data.as_ref();
        // All sizes were bounded above.
        let (at, length, sum) = (archive.len() as u32, data.len() as u32, checksum(data));
        let name_bytes = name.len() as u16;
        put(&mut archive, &[LOCAL], &[20, 0, 0, 0, DATE]);
        put(&mut archive, &[sum, length, length], &[name_bytes, 0]);
        archive.extend(name.as_bytes());
        archive.extend(data);
        put(&mut directory, &[CENTRAL], &[20, 20, 0, 0, 0, DATE]);
        put(&mut directory, &[sum, length, length], &[name_bytes, 0, 0, 0, 0]);
        put(&mut directory, &[0, at], &[]);
        directory.extend(name.as_bytes());
    }
    let (at, length, count) = (archive.len() as u32, directory.len() as u32, parts.len() as u16);
    archive.append(&mut directory);
    put(&mut archive, &[END], &[0, 0, count, count]);
    put(&mut archive, &[length, at], &[0]);
    Ok(archive)
}

/// Reads little-endian numbers and slices.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn half(&mut self) -> Option<usize> {
        Some(usize::from(u16::from_le_bytes(self.take(2)?.try_into().ok()?)))
    }

    fn word(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }
}

/// Whether an archive has a program's inputs or its outputs, and its ciphertexts by name, in their order.
pub type Unpacked<'a> = (Direction, Vec<(String, &'a [u8])>);

/// The ciphertexts in an archive. Accepts only what `pack` or Python's `zipfile` stores: entries one after the other, without compression.
pub fn unpack(archive: &[u8]) -> Result<Unpacked<'_>, Failure> {
    let refused = |what: &str| {
        let message = format!("the ciphertexts: {what}; send the bytes as the client or the server made them");
        Failure::new(Kind::File, message)
    };
    let damaged = || {
        refused(
            "they are not an archive of ciphertexts, or it is damaged, compressed, or has more bytes than its entries",
        )
    };
    let entries = entries(archive).ok_or_else(damaged)?;
    for direction in [Direction::Input, Direction::Output] {
        let own =
            entries.iter().filter_map(|&(name, data)| Some((name.strip_suffix(ending(direction))?.to_owned(), data)));
        let parts: Vec<(String, &[u8])> = own.collect();
        if parts.is_empty() || parts.len() < entries.len() {
            continue;
        }
        let names: BTreeSet<&str> = parts.iter().map(|(name, _)| &**name).collect();
        if names.len() < parts.len() {
            return Err(refused("two of them have one name"));
        }
        return Ok((direction, parts));
    }
    Err(refused("they are neither all inputs of a program nor all its outputs"))
}

fn entries(archive: &[u8]) -> Option<Vec<(&str, &[u8])>> {
    let (before, end) = archive.split_at_checked(archive.len().checked_sub(SIZES.2)?)?;
    let mut end = Bytes(end);
    let (magic, disk, first, here, count) = (end.word()?, end.half()?, end.half()?, end.half()?, end.half()?);
    let (length, at, comment) = (end.word()? as usize, end.word()? as usize, end.half()?);
    let (files, directory) = before.split_at_checked(at)?;
    if (magic, disk, first, comment) != (END, 0, 0, 0) || here != count || directory.len() != length {
        return None;
    }
    let (mut directory, mut local) = (Bytes(directory), Bytes(files));
    let mut found = Vec::new();
    for _ in 0..count {
        let at = (files.len() - local.0.len()) as u32;
        let magic = directory.word()?;
        let (_made_by, _needs, flags, method) =
            (directory.half()?, directory.half()?, directory.half()?, directory.half()?);
        directory.take(4)?;
        let (sum, packed, size, name) = (directory.word()?, directory.word()?, directory.word()?, directory.half()?);
        let (extra, comment, disk) = (directory.half()?, directory.half()?, directory.half()?);
        directory.take(6)?;
        let offset = directory.word()?;
        let name = directory.take(name)?;
        let plain = (flags, method, extra, comment, disk) == (0, 0, 0, 0, 0);
        if magic != CENTRAL || !plain || packed != size || offset != at {
            return None;
        }
        let magic = local.word()?;
        local.take(22)?;
        let (own_name, own_extra) = (local.half()?, local.half()?);
        if magic != LOCAL || local.take(own_name)? != name || own_extra != 0 {
            return None;
        }
        let data = local.take(size as usize)?;
        if checksum(data) != sum {
            return None;
        }
        found.push((std::str::from_utf8(name).ok()?, data));
    }
    (directory.0.is_empty() && local.0.is_empty()).then_some(found)
}

#[cfg(test)]
mod tests {
    //! Do archives round-trip, and are damaged ones rejected without a panic?

    use super::{checksum, pack, unpack};
    use polyfabric_schemes::port::Direction;
    use proptest::prelude::*;

    #[test]
    fn the_checksum_is_that_of_zip() {
        assert_eq!(checksum(b"123456789"), 0xcbf4_3926);
    }

    proptest! {
        #[test]
        fn archives_round_trip_and_damage_is_noticed(
            parts in proptest::collection::btree_map("[a-z]{1,8}", proptest::collection::vec(any::<u8>(), 0..40), 1..4),
            at: prop::sample::Index,
            bit in 0_u8..8,
            end: prop::sample::Index,
        ) {
            let given: Vec<_> = parts.clone().into_iter().collect();
            let archive = pack(&given, Direction::Input).expect("an archive");
            let (direction, found) = unpack(&archive).expect("the same");
            prop_assert_eq!(direction, Direction::Input);
            prop_assert_eq!(found.into_iter().map(|(name, data)| (name, data.to_vec())).collect::<Vec<_>>(), given);
            prop_assert!(unpack(&archive[..end.index(archive.len())]).is_err());
            let mut damaged = archive.clone();
            damaged[at.index(archive.len())] ^= 1 << bit;
            // Some fields of an archive have no meaning here; data and names have.
            if let Ok((_, found)) = unpack(&damaged) {
                prop_assert!(found.into_iter().map(|(_, data)| data.to_vec()).eq(parts.into_values()));
            }
        }
    }
}
