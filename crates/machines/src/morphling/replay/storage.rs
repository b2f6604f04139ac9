//! What lies where, during a replay.

use crate::engine::schedule::{MemoryId, Place};
use crate::torus::replay::ReplayError;
use crate::torus::replay::datum::Datum;
use std::collections::{BTreeMap, HashMap};

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
