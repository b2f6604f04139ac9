//! Replay in which elements move at the cycles that the schedule says.
//!
//! A write puts element after element at its place, from its first cycle to its last; a read takes each of them from what
//! lies there in the cycle before. A reader that follows its writer too closely, or a writer that overtakes a reader, gives a
//! mixture of two values, element by element; on a wire, what is not read in the very cycle is gone. Events are computed
//! when their last operand has been read.

use super::ReplayError;
use super::datum::Datum;
use crate::engine::schedule::{Access, MemoryKind, Order, Place, Placed, Schedule, Value};
use polyfabric_runtime::Progress;
use rayon::prelude::*;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, VecDeque};

/// What a machine's events mean.
pub trait Meaning: Sync {
    /// A value that lies off the chip from the beginning: a key, a table.
    fn source(&self, value: Value) -> Option<Datum>;

    /// The results of an event, one for each of its writes.
    ///
    /// # Errors
    /// [`ReplayError`] if the operands are not what the event computes with.
    fn compute(&self, placed: Placed<'_>, operands: &[Datum]) -> Result<Vec<Datum>, ReplayError>;
}

/// Values written to one place that may still be seen: the newest, what it replaces, and what is already known of later ones.
const HISTORY: usize = 8;

/// One write.
#[derive(Clone, Debug)]
struct Record {
    bytes: u64,
    first: i64,
    last: i64,
    order: Order,
    datum: Datum,
}

/// Cycle of element `index` of `count` that move evenly from cycle `first` to cycle `last`.
fn moves(first: i64, last: i64, index: usize, count: usize) -> i64 {
    if count <= 1 { first } else { first + (last - first) * index as i64 / (count as i64 - 1) }
}

impl Record {
    /// Cycle in which element `index` of `count` lands.
    fn lands(&self, index: usize, count: usize) -> i64 {
        match self.order {
            Order::Stream => moves(self.first, self.last, index, count),
            Order::Any => self.last,
        }
    }
}

/// A read, with absolute cycles.
#[derive(Clone, Copy)]
struct Read {
    place: Place,
    first: i64,
    last: i64,
    order: Order,
}

impl Read {
    /// Cycle in which element `index` of `count` is taken. In an unknown order, each may be the first.
    fn takes(&self, index: usize, count: usize) -> i64 {
        match self.order {
            Order::Stream => moves(self.first, self.last, index, count),
            Order::Any => self.first,
        }
    }

    fn empty(&self) -> ReplayError {
        ReplayError::Empty { memory: self.place.memory, offset: self.place.offset, cycle: self.first }
    }
}

/// A memory with addresses.
#[derive(Default)]
struct Addressed {
    /// By first byte: writes to the same bytes, in the order in which they begin to land.
    places: BTreeMap<u64, VecDeque<Record>>,
}

impl Addressed {
    fn write(&mut self, offset: u64, record: Record) {
        let end = offset + record.bytes;
        let overlapping: Vec<u64> = self
            .places
            .range(..end)
            .rev()
            .take_while(|(at, records)| *at + records.back().map_or(0, |record| record.bytes) > offset)
            .filter(|(at, records)| **at != offset || records.back().is_some_and(|old| old.bytes != record.bytes))
            .map(|(&at, _)| at)
            .collect();
        for at in overlapping {
            self.places.remove(&at);
        }
        let records = self.places.entry(offset).or_default();
        if records.len() == HISTORY {
            records.pop_front();
        }
        // An event whose last operand comes late is computed after events that write later.
        let at = records.iter().rposition(|other| other.first <= record.first).map_or(0, |before| before + 1);
        records.insert(at, record);
    }

    fn read(&self, read: Read) -> Result<Datum, ReplayError> {
        match self.places.get(&read.place.offset) {
            Some(records) if records.back().is_some_and(|record| record.bytes == read.place.bytes) => {
                visible(records, read)
            }
            _ => self.striped(read),
        }
    }

    /// A part of a place, or several that cover it, if all hold parts of one key or table.
    fn striped(&self, read: Read) -> Result<Datum, ReplayError> {
        let end = read.place.offset + read.place.bytes;
        let first = self.places.range(..=read.place.offset).next_back().map_or(read.place.offset, |(&at, _)| at);
        let (mut covered, mut whole) = (read.place.offset, None::<Datum>);
        for (&at, records) in self.places.range(first..end) {
            let past = at + records.back().map_or(0, |record| record.bytes);
            if past <= covered {
                continue;
            }
            let datum = visible(records, read)?;
            if at > covered
                || whole.as_ref().is_some_and(|whole| !whole.same_stripes(&datum))
                || !datum.same_stripes(&datum)
            {
                return Err(read.empty());
            }
            (covered, whole) = (past, Some(datum));
        }
        whole.filter(|_| covered >= end).ok_or_else(|| read.empty())
    }
}

/// What `read` finds of `records`, which were all written to its place.
fn visible(records: &VecDeque<Record>, read: Read) -> Result<Datum, ReplayError> {
    let mut mixed: Option<(Vec<u32>, Vec<bool>)> = None;
    for record in records.iter().rev() {
        let begins = record.lands(0, 2) < read.takes(0, 2);
        let ends = record.lands(1, 2) < read.takes(1, 2);
        match (&mut mixed, begins, ends) {
            (None, true, true) => return Ok(record.datum.clone()),
            (_, false, false) => {}
            (mixed, ..) => {
                let Datum::Torus(values) = &record.datum else {
                    let (expected, found) = ("one whole value", "parts of two");
                    return Err(ReplayError::Kind { cycle: read.first, expected, found });
                };
                let count = values.len();
                let (elements, taken) = mixed.get_or_insert_with(|| (vec![0; count], vec![false; count]));
                for (index, &value) in values.iter().enumerate().take(elements.len()) {
                    if !taken[index] && record.lands(index, count) < read.takes(index, count) {
                        (elements[index], taken[index]) = (value, true);
                    }
                }
                if taken.iter().all(|&taken| taken) {
                    return Ok(Datum::torus(std::mem::take(elements)));
                }
            }
        }
    }
    Err(read.empty())
}

enum Store {
    Addressed(Addressed),
    /// What is on its way, with the cycles to the reader.
    Wire(VecDeque<Record>, i64),
    ByValue,
}

struct Memories {
    stores: Vec<Store>,
    by_value: HashMap<Value, Datum>,
}

impl Memories {
    fn read(&mut self, meaning: &impl Meaning, placed: Placed<'_>, access: &Access) -> Result<Datum, ReplayError> {
        let first = placed.start + i64::from(access.first);
        let last = placed.start + i64::from(access.last);
        let read = Read { place: access.place, first, last, order: access.order };
        match &mut self.stores[access.place.memory.0 as usize] {
            Store::Addressed(memory) => memory.read(read),
            Store::Wire(records, delay) => {
                let passes = |record: &Record| record.first + *delay == first && record.last + *delay == last;
                let at = records.iter().position(passes).ok_or_else(|| read.empty())?;
                // Readers that take another operand later are computed later: what came before it may still be theirs.
                records.remove(at).map(|record| record.datum).ok_or_else(|| read.empty())
            }
            Store::ByValue => {
                let value = access.value.shifted(placed.shift);
                let found = self.by_value.get(&value).cloned().or_else(|| meaning.source(value));
                found.ok_or(ReplayError::Missing { value, cycle: first })
            }
        }
    }

    fn write(&mut self, placed: Placed<'_>, access: &Access, datum: Datum) {
        let first = placed.start + i64::from(access.first);
        let last = placed.start + i64::from(access.last);
        let record = Record { bytes: access.place.bytes, first, last, order: access.order, datum };
        match &mut self.stores[access.place.memory.0 as usize] {
            Store::Addressed(memory) => memory.write(access.place.offset, record),
            Store::Wire(records, _) => records.push_back(record),
            Store::ByValue => {
                self.by_value.insert(access.value.shifted(placed.shift), record.datum);
            }
        }
    }
}

/// Carries out `schedule`, with `inputs` off the chip. What lies there at the end.
///
/// # Errors
/// [`ReplayError`] of the first event that does not find its operands.
pub fn replay(
    schedule: &Schedule,
    meaning: &impl Meaning,
    inputs: HashMap<Value, Datum>,
    progress: &dyn Progress,
) -> Result<HashMap<Value, Datum>, ReplayError> {
    let stores = schedule.resources.memories.iter().map(|memory| match memory.kind {
        MemoryKind::OnChip { .. } | MemoryKind::Lines(_) => Store::Addressed(Addressed::default()),
        MemoryKind::Wire { delay, .. } => Store::Wire(VecDeque::new(), i64::from(delay)),
        MemoryKind::OffChip | MemoryKind::Scoreboard => Store::ByValue,
    });
    let mut memories = Memories { stores: stores.collect(), by_value: inputs };
    let total = schedule.event_count();
    // Events that have begun, by the cycle of their last read.
    let mut reading: BinaryHeap<Reverse<(i64, u64)>> = BinaryHeap::new();
    let mut begun: HashMap<u64, Placed<'_>> = HashMap::new();
    let finish = |until: i64,
                  reading: &mut BinaryHeap<Reverse<(i64, u64)>>,
                  begun: &mut HashMap<u64, Placed<'_>>,
                  memories: &mut Memories| {
        while let Some(&Reverse((cycle, _))) = reading.peek()
            && cycle < until
        {
            // Cores in lockstep finish in the same cycle: they compute side by side.
            let mut together = Vec::new();
            while let Some(&Reverse((same, number))) = reading.peek()
                && same == cycle
            {
                reading.pop();
                together.extend(begun.remove(&number));
            }
            let mut operands = Vec::with_capacity(together.len());
            for placed in &together {
                let read = |access| memories.read(meaning, *placed, access);
                operands.push(placed.event.reads.iter().map(read).collect::<Result<Vec<Datum>, _>>()?);
            }
            let results: Result<Vec<Vec<Datum>>, ReplayError> = together
                .par_iter()
                .zip(&operands)
                .map(|(placed, operands)| meaning.compute(*placed, operands))
                .collect();
            for (placed, results) in together.iter().zip(results?) {
                for (access, datum) in placed.event.writes.iter().zip(results) {
                    memories.write(*placed, access, datum);
                }
            }
        }
        Ok::<(), ReplayError>(())
    };
    for (number, placed) in (0u64..).zip(schedule.events()) {
        finish(placed.start, &mut reading, &mut begun, &mut memories)?;
        let read = placed.event.reads.iter().map(|access| i64::from(access.last)).max().unwrap_or(0);
        reading.push(Reverse((placed.start + read, number)));
        begun.insert(number, placed);
        if number % 4096 == 0 {
            progress.update("replay", number, total);
        }
    }
    finish(i64::MAX, &mut reading, &mut begun, &mut memories)?;
    progress.update("replay", total, total);
    Ok(memories.by_value)
}

#[cfg(test)]
mod tests {
    //! Is an element what its place holds in its cycle, and on a wire only in the very one?

    use super::*;
    use crate::engine::schedule::MemoryId;

    fn record(first: i64, order: Order, value: u32) -> Record {
        Record { bytes: 16, first, last: first + 3, order, datum: Datum::torus(vec![value; 4]) }
    }

    fn read(first: i64, order: Order) -> Read {
        Read { place: Place { memory: MemoryId(0), offset: 0, bytes: 16 }, first, last: first + 3, order }
    }

    fn found(memory: &Addressed, read: Read) -> Option<Vec<u32>> {
        match memory.read(read) {
            Ok(Datum::Torus(values)) => Some(values.to_vec()),
            _ => None,
        }
    }

    #[test]
    fn a_reader_follows_its_writer() {
        let mut memory = Addressed::default();
        memory.write(0, record(10, Order::Stream, 7));
        // A cycle behind is right; together with it, nothing is there yet.
        assert_eq!(found(&memory, read(11, Order::Stream)), Some(vec![7; 4]));
        assert_eq!(found(&memory, read(10, Order::Stream)), None);
        // In an unknown order, everything must be there.
        assert_eq!(found(&memory, read(13, Order::Any)), None);
        assert_eq!(found(&memory, read(14, Order::Any)), Some(vec![7; 4]));
    }

    #[test]
    fn values_lie_in_the_order_of_their_cycles_whenever_they_are_computed() {
        let mut memory = Addressed::default();
        memory.write(0, record(20, Order::Stream, 8));
        memory.write(0, record(10, Order::Stream, 7));
        assert_eq!(found(&memory, read(15, Order::Stream)), Some(vec![7; 4]));
        assert_eq!(found(&memory, read(30, Order::Stream)), Some(vec![8; 4]));
    }

    #[test]
    fn an_overtaken_reader_gets_a_mixture() {
        let mut memory = Addressed::default();
        memory.write(0, record(10, Order::Stream, 7));
        memory.write(0, record(20, Order::Stream, 8));
        assert_eq!(found(&memory, read(20, Order::Stream)), Some(vec![7; 4]));
        assert_eq!(found(&memory, read(21, Order::Stream)), Some(vec![8; 4]));
        // A slow reader starts before the writer and ends behind it.
        let slow = Read { first: 19, last: 31, ..read(19, Order::Stream) };
        assert_eq!(found(&memory, slow), Some(vec![7, 8, 8, 8]));
        // Half of the new value is there when a reader of unknown order begins.
        assert_eq!(found(&memory, read(22, Order::Any)), Some(vec![8, 8, 7, 7]));
    }

    #[test]
    fn stripes_of_one_key() {
        let mut memory = Addressed::default();
        let stripe = |number| Record {
            bytes: 8,
            datum: Datum::BootstrapKey(number, [(0, 0)].into()),
            ..record(0, Order::Any, 0)
        };
        memory.write(0, stripe(3));
        memory.write(8, stripe(3));
        assert!(matches!(memory.read(read(9, Order::Any)), Ok(Datum::BootstrapKey(3, _))));
        memory.write(8, stripe(4));
        assert!(memory.read(read(9, Order::Any)).is_err());
    }
}
