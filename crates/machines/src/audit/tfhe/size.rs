//! Checks that places are large enough for their values, and that accesses move whole values. The program defines the number of elements of
//! a value. The machine defines the number of bits of an element ([`polyfabric_sim::schedule::ValueClass::bits`]).

use super::super::AuditError;
use super::work::levels;
use super::{Audit, Read};
use crate::tfhe::labels::Meaning;
use polyfabric_program::tfhe::kernel::OpKind;
use polyfabric_sim::function::Function;
use polyfabric_sim::schedule::{Access, MemoryKind, Place};

impl Audit<'_> {
    /// Checks that operands and results are moved whole, and that their places are large enough.
    pub(super) fn sized(&self, read: &Read<'_>, function: Function) -> Result<(), AuditError> {
        let event = read.event;
        if let Function::Move { .. } = function {
            // A register receives only the part of a value that its reader needs. A token next to another result is none.
            if event.writes.iter().all(|access| self.bits(access) == 0) {
                return Ok(());
            }
            // A value may be moved in several parts. The reader of the whole value detects a missing part.
            let whole = |access: &Access| self.bits(access) == 0 || access.bytes >= access.place.bytes;
            if let Some(access) = event.reads.iter().find(|access| self.has_places(access) && !whole(access)) {
                return Err(self.too_small(read, access, access.bytes, access.place.bytes));
            }
            for access in event.writes.iter().filter(|access| self.bits(access) > 0) {
                // Nothing detects an incomplete value off the chip. On the chip, no event writes more than it reads, for any number of
                // receivers.
                let (_, size) = self.wanted(read, function, access, true);
                if self.is_off_chip(access) && access.bytes < size {
                    return Err(self.too_small(read, access, access.bytes, size));
                }
                // Values have no size in a unit's registers.
                let same = |of: &&Access| of.value == access.value && self.bits(of) > 0;
                let come: u64 = event.reads.iter().filter(same).map(|of| of.bytes).sum();
                if come < access.bytes && event.reads.iter().any(|of| same(&of)) {
                    return Err(self.too_small(read, access, come, access.bytes));
                }
            }
            return Ok(());
        }
        for (accesses, write) in [(&event.reads, false), (&event.writes, true)] {
            for (index, access) in accesses.iter().enumerate() {
                let same = |other: &&Access| other.value == access.value;
                if self.bits(access) > 0 && !accesses[..index].iter().any(|other| same(&other)) {
                    let all = || accesses.iter().filter(same);
                    let (wanted, room) = self.wanted(read, function, access, write);
                    let bytes = all().map(|access| access.bytes).sum();
                    let places = room_of(all().filter(|access| self.has_places(access)).map(|access| access.place));
                    if bytes < wanted {
                        return Err(self.too_small(read, access, bytes, wanted));
                    }
                    if places < room && self.has_places(access) {
                        return Err(self.too_small(read, access, places, room));
                    }
                }
            }
        }
        Ok(())
    }

    /// Bytes of a value that an event must move, and bytes of the whole value.
    fn wanted(&self, read: &Read<'_>, function: Function, access: &Access, write: bool) -> (u64, u64) {
        let meanings = || self.meanings(access.value.shifted(read.shift));
        let bits = u64::from(self.bits(access));
        let size = (meanings().map(|meaning| self.elements(meaning)).sum::<u64>() * bits).div_ceil(8);
        let element = bits.div_ceil(8);
        let wanted = match (function, meanings().next()) {
            _ if write => size,
            // A rotation of a polynomial needs one amount, but a move of the amounts reads all of them.
            (_, Some(Meaning::Amounts { .. }))
                if !read.event.writes.iter().any(|write| write.value == access.value) =>
            {
                size.min(element)
            }
            // The body of a ciphertext is one coefficient of the last polynomial.
            (Function::SampleExtract, Some(Meaning::Body { value, lookup, .. }))
                if self
                    .definitions
                    .body(self.definitions.lookups.of(lookup).0)
                    .is_some_and(|body| value.0 + 1 == body.carried) =>
            {
                size.min(element)
            }
            // A key switch reads as many mask elements as its key covers. The products are added to the body.
            (Function::KeySwitch, Some(Meaning::Lwe { .. })) => {
                let mask = (read.values.key_elements() * bits).div_ceil(8);
                return (mask, mask);
            }
            _ => size,
        };
        (wanted, size)
    }

    fn too_small(&self, read: &Read<'_>, access: &Access, given: u64, needed: u64) -> AuditError {
        let first = self.meanings(access.value.shifted(read.shift)).next();
        let value = first.map_or_else(|| "a value".to_owned(), |meaning| self.in_words(meaning));
        AuditError::Size { event: self.name(read), value, given, needed }
    }

    /// Bits of an element of the accessed value; 0 for tokens.
    fn bits(&self, access: &Access) -> u32 {
        match self.resources.memories[usize::from(access.place.memory.0)].kind {
            MemoryKind::Scoreboard => 0,
            _ => self.resources.value_classes[usize::from(access.value.class.0)].bits,
        }
    }

    fn has_places(&self, access: &Access) -> bool {
        matches!(self.resources.memories[usize::from(access.place.memory.0)].kind, MemoryKind::OnChip { .. })
    }

    /// Number of elements of a value: coefficients, or elements of a ciphertext.
    fn elements(&self, meaning: Meaning) -> u64 {
        match meaning {
            Meaning::Lwe { .. } | Meaning::LinearSum { .. } => self.row_elements(meaning),
            Meaning::Amounts { .. } | Meaning::SwitchSum { .. } => self.work().small(),
            Meaning::Body { .. } | Meaning::Key { .. } | Meaning::Table { .. } => {
                self.program.parameters.ring_degree().get() as u64
            }
            Meaning::SwitchKey { length, .. } => u64::from(length) * self.switch_levels() * self.work().small(),
            Meaning::Twiddles { .. } | Meaning::Token { .. } => 0,
        }
    }

    /// Levels of the key-switching key; 0 without a key switch.
    fn switch_levels(&self) -> u64 {
        let of = |kind: &OpKind| match kind {
            OpKind::KeySwitch { body } => Some(levels(body)),
            _ => None,
        };
        self.program.ops.iter().find_map(|op| of(&op.kind)).unwrap_or(0)
    }
}

/// Bytes covered by `places`; bytes that several places share count once.
fn room_of(places: impl Iterator<Item = Place>) -> u64 {
    let mut places: Vec<Place> = places.collect();
    places.sort_unstable_by_key(|place| (place.memory.0, place.offset));
    let (mut room, mut memory, mut end) = (0, None, 0);
    for place in places {
        let begin = if memory == Some(place.memory) { place.offset.max(end) } else { place.offset };
        let own_end = place.offset.saturating_add(place.bytes);
        room += own_end.saturating_sub(begin);
        (memory, end) = (Some(place.memory), if memory == Some(place.memory) { end.max(own_end) } else { own_end });
    }
    room
}
