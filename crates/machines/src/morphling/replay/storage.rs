//! What lies where, during a replay.

use super::ReplayError;
use crate::engine::schedule::{MemoryId, Place};
use polyfabric_runtime::tfhe::interpreter::Spectrum;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Content of a place.
#[derive(Clone, Debug)]
pub enum Datum {
    /// Torus coefficients, or an LWE ciphertext.
    Torus(Arc<Vec<u32>>),
    /// Digits of a polynomial.
    Digits(Arc<Vec<i32>>),
    /// A polynomial in the transform domain.
    Spectrum(Arc<Spectrum<u32>>),
    /// Rotation amounts.
    Amounts(Arc<Vec<u32>>),
    /// A test polynomial, by its number.
    Table(u32),
    /// Polynomials of the bootstrapping key, each by its row and column, of an iteration.
    BootstrapKey(u32, Arc<[(u32, u32)]>),
    /// A tile of the key-switch key, by its number.
    Tile(u32),
    /// Instruction words.
    Words,
}

impl Datum {
    /// Whether both are stripes of one key or table.
    pub fn same_stripes(&self, other: &Self) -> bool {
        match (self, other) {
            (Datum::Table(one), Datum::Table(other)) | (Datum::Tile(one), Datum::Tile(other)) => one == other,
            (Datum::BootstrapKey(one, these), Datum::BootstrapKey(other, those)) => one == other && these == those,
            _ => false,
        }
    }

    /// What it is, for messages.
    pub fn name(&self) -> &'static str {
        match self {
            Datum::Torus(_) => "torus elements",
            Datum::Digits(_) => "digits",
            Datum::Spectrum(_) => "a spectrum",
            Datum::Amounts(_) => "rotation amounts",
            Datum::Table(_) => "a test polynomial",
            Datum::BootstrapKey(..) => "bootstrapping key",
            Datum::Tile(_) => "key-switch key",
            Datum::Words => "instruction words",
        }
    }
}

/// Addressed memories.
#[derive(Default)]
pub struct Storage {
    memories: HashMap<MemoryId, BTreeMap<u64, (u64, Datum)>>,
}

impl Storage {
    /// Puts `datum` at `place`, and drops whatever lay in any part of it.
    pub fn put(&mut self, place: Place, datum: Datum) {
        let memory = self.memories.entry(place.memory).or_default();
        let end = place.offset + place.bytes;
        if let Some((bytes, old)) = memory.get_mut(&place.offset)
            && *bytes == place.bytes
        {
            *old = datum;
            return;
        }
        let overlapping: Vec<u64> = memory
            .range(..end)
            .rev()
            .take_while(|(offset, (bytes, _))| *offset + bytes > place.offset)
            .map(|(&offset, _)| offset)
            .collect();
        for offset in overlapping {
            memory.remove(&offset);
        }
        memory.insert(place.offset, (place.bytes, datum));
    }

    fn holder(&self, place: Place) -> Option<(u64, &Datum)> {
        let (&offset, (bytes, datum)) = self.memories.get(&place.memory)?.range(..=place.offset).next_back()?;
        (place.offset + place.bytes <= offset + bytes).then_some((offset, datum))
    }

    /// What lies at `place`, in a larger place around it, or in several that cover it, if all hold parts of one thing that
    /// every channel brings a stripe of.
    ///
    /// # Errors
    /// [`ReplayError::Empty`] when nothing whole does.
    pub fn get(&self, place: Place, cycle: i64) -> Result<Datum, ReplayError> {
        let whole = self.holder(place).map(|(_, datum)| datum.clone()).or_else(|| self.striped(place));
        whole.ok_or(ReplayError::Empty { memory: place.memory, offset: place.offset, cycle })
    }

    fn striped(&self, place: Place) -> Option<Datum> {
        let memory = self.memories.get(&place.memory)?;
        let (&first, _) = memory.range(..=place.offset).next_back()?;
        let (mut covered, mut whole): (u64, Option<&Datum>) = (place.offset, None);
        for (&offset, (bytes, datum)) in memory.range(first..place.offset + place.bytes) {
            if offset > covered || whole.is_some_and(|whole| !whole.same_stripes(datum)) {
                return None;
            }
            (covered, whole) = (covered.max(offset + bytes), Some(datum));
        }
        whole.filter(|_| covered >= place.offset + place.bytes).cloned()
    }

    /// As [`Self::get`], and leaves nothing there: for a value that the same event replaces.
    ///
    /// # Errors
    /// [`ReplayError::Empty`] when nothing whole does.
    pub fn take(&mut self, place: Place, cycle: i64) -> Result<Datum, ReplayError> {
        let empty = ReplayError::Empty { memory: place.memory, offset: place.offset, cycle };
        let offset = self.holder(place).map(|(offset, _)| offset).ok_or_else(|| empty.clone())?;
        let removed = self.memories.get_mut(&place.memory).and_then(|memory| memory.remove(&offset));
        removed.map(|(_, datum)| datum).ok_or(empty)
    }
}
