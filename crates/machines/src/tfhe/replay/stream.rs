//! Replay in which elements move in the cycles that the schedule states.
//!
//! A write puts one element after another at its place, from its first cycle to its last. A read takes each element as it was in the cycle
//! before. A reader that follows its writer too closely, or a writer that overtakes a reader, gets a mixture of two values. On a wire, an
//! element that is not read in its cycle is lost.
//!
//! Reads are resolved event by event, in the order of their last reads. Computation follows for up to 96 events at a time, in parallel
//! chains: one ciphertext's events depend on each other, but not on those of other ciphertexts.

use super::words::{Datum, Wrong};
use super::{Context, ReplayError};
use crate::tfhe::definition::Reads;
use crate::tfhe::labels::{Labels, Meaning};
use polyfabric_kernels::cancel;
use polyfabric_program::tfhe::kernel::Primitive;
use polyfabric_runtime::Progress;
use polyfabric_sim::function::{BodyUnit, Function};
use polyfabric_sim::schedule::{Access, MemoryKind, Order, Place, Placed, Schedule, Value};
use rayon::prelude::*;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, VecDeque};
use std::sync::{Arc, OnceLock};

/// The content of a place: usually one datum, or several side by side.
type Content = Vec<Datum>;

/// Number of values written to one place that may still be read: the newest, the one that it replaces, and later ones that are already
/// known.
const HISTORY: usize = 8;

/// The result of a write. Its content is set when it is computed.
#[derive(Debug)]
struct Written {
    /// Number of the event that writes it, among all that have read their operands.
    event: usize,
    content: OnceLock<Content>,
}

impl Written {
    fn by(event: usize) -> Arc<Self> {
        Arc::new(Self { event, content: OnceLock::new() })
    }

    /// A content that is known without computation.
    fn known(content: Content) -> Arc<Self> {
        Arc::new(Self { event: 0, content: OnceLock::from(content) })
    }
}

/// Why a read fails.
#[derive(Debug)]
enum Unread {
    /// It needs part of a content that is not computed yet.
    NotComputed,
    Wrong(ReplayError),
}

impl From<ReplayError> for Unread {
    fn from(error: ReplayError) -> Self {
        Self::Wrong(error)
    }
}

/// One write.
#[derive(Clone, Debug)]
struct Record {
    bytes: u64,
    first: i64,
    last: i64,
    order: Order,
    written: Arc<Written>,
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

    fn content(&self) -> Result<&Content, Unread> {
        self.written.content.get().ok_or(Unread::NotComputed)
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
    /// Cycle in which element `index` of `count` is read. In an unknown order, each may be the first.
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
    /// By first byte: writes to the same bytes, in the order in which their first elements land.
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
        // An event with a late operand is computed after events that write later.
        let at = records.iter().rposition(|other| other.first <= record.first).map_or(0, |before| before + 1);
        records.insert(at, record);
    }

    fn read(&self, read: Read) -> Result<Arc<Written>, Unread> {
        match self.places.get(&read.place.offset) {
            Some(records) if records.back().is_some_and(|record| record.bytes == read.place.bytes) => {
                visible(records, read)
            }
            _ => self.striped(read),
        }
    }

    /// A part of a place, or several that cover it, if all hold parts of one key or table.
    fn striped(&self, read: Read) -> Result<Arc<Written>, Unread> {
        let end = read.place.offset + read.place.bytes;
        let first = self.places.range(..=read.place.offset).next_back().map_or(read.place.offset, |(&at, _)| at);
        let (mut covered, mut whole) = (read.place.offset, None::<Arc<Written>>);
        for (&at, records) in self.places.range(first..end) {
            let past = at + records.back().map_or(0, |record| record.bytes);
            if past <= covered {
                continue;
            }
            let written = visible(records, read)?;
            let stripe = written.content.get().ok_or(Unread::NotComputed)?;
            let same = |whole: &Arc<Written>| whole.content.get().is_some_and(|whole| same_stripes(whole, stripe));
            if at > covered || !whole.as_ref().is_none_or(same) || !same_stripes(stripe, stripe) {
                return Err(read.empty().into());
            }
            (covered, whole) = (past, Some(written));
        }
        whole.filter(|_| covered >= end).ok_or_else(|| read.empty().into())
    }
}

/// Whether both are stripes of the same keys or constants.
fn same_stripes(one: &[Datum], other: &[Datum]) -> bool {
    let same = |pair: (&Datum, &Datum)| matches!(pair, (Datum::Given(one), Datum::Given(other)) if one == other);
    one.len() == other.len() && one.iter().zip(other).all(same)
}

/// The content that `read` finds among `records`, all written to its place.
fn visible(records: &VecDeque<Record>, read: Read) -> Result<Arc<Written>, Unread> {
    let mut mixed: Option<(Vec<u32>, Vec<bool>)> = None;
    for record in records.iter().rev() {
        let begins = record.lands(0, 2) < read.takes(0, 2);
        let ends = record.lands(1, 2) < read.takes(1, 2);
        match (&mut mixed, begins, ends) {
            (None, true, true) => return Ok(Arc::clone(&record.written)),
            (_, false, false) => {}
            (mixed, ..) => {
                let [Datum::Torus(values)] = record.content()?.as_slice() else {
                    let (expected, found) = ("one whole value", "parts of two");
                    return Err(ReplayError::Kind { cycle: read.first, expected, found }.into());
                };
                let count = values.len();
                let (elements, taken) = mixed.get_or_insert_with(|| (vec![0; count], vec![false; count]));
                for (index, &value) in values.iter().enumerate().take(elements.len()) {
                    if !taken[index] && record.lands(index, count) < read.takes(index, count) {
                        (elements[index], taken[index]) = (value, true);
                    }
                }
                if taken.iter().all(|&taken| taken) {
                    return Ok(Written::known(vec![Datum::torus(std::mem::take(elements))]));
                }
            }
        }
    }
    Err(read.empty().into())
}

enum Store {
    Addressed(Addressed),
    /// Records in flight, and the wire's delay in cycles.
    Wire(VecDeque<Record>, i64),
    ByValue,
}

struct Memories<'a> {
    labels: &'a Labels,
    stores: Vec<Store>,
    /// Values written to off-chip memory.
    by_value: HashMap<Value, Arc<Written>>,
    inputs: HashMap<Meaning, Datum>,
}

/// First and last cycle of an event's access.
fn cycles(placed: Placed<'_>, access: &Access) -> (i64, i64) {
    (placed.start + i64::from(access.first), placed.start + i64::from(access.last))
}

impl Memories<'_> {
    fn read(&mut self, context: &Context<'_>, placed: Placed<'_>, access: &Access) -> Result<Arc<Written>, Unread> {
        let (first, last) = cycles(placed, access);
        let read = Read { place: access.place, first, last, order: access.order };
        match &mut self.stores[access.place.memory.0 as usize] {
            Store::Addressed(memory) => memory.read(read),
            Store::Wire(records, delay) => {
                let passes = |record: &Record| record.first + *delay == first && record.last + *delay == last;
                let at = records.iter().position(passes).ok_or_else(|| read.empty())?;
                // Readers with a later operand are computed later, and may still need the records before this one.
                records.remove(at).map(|record| record.written).ok_or_else(|| read.empty().into())
            }
            Store::ByValue => {
                let value = access.value.shifted(placed.shift);
                if let Some(found) = self.by_value.get(&value) {
                    return Ok(Arc::clone(found));
                }
                let source = |meaning: Meaning| match meaning.is_given() {
                    true => Ok(Datum::Given(meaning)),
                    false => self.inputs.get(&meaning).cloned().ok_or_else(|| {
                        let what = meaning.in_words(&context.definitions.lookups);
                        Unread::Wrong(ReplayError::Missing { what, cycle: first })
                    }),
                };
                Ok(Written::known(self.labels.meanings(value).map(source).collect::<Result<_, _>>()?))
            }
        }
    }

    fn write(&mut self, placed: Placed<'_>, access: &Access, written: Arc<Written>) {
        let (first, last) = cycles(placed, access);
        let record = Record { bytes: access.place.bytes, first, last, order: access.order, written };
        match &mut self.stores[access.place.memory.0 as usize] {
            Store::Addressed(memory) => memory.write(access.place.offset, record),
            Store::Wire(records, _) => records.push_back(record),
            Store::ByValue => {
                self.by_value.insert(access.value.shifted(placed.shift), record.written);
            }
        }
    }
}

/// Maximum number of events that wait to be computed. It allows chains of several ciphertexts, but no more spectra than a cache holds.
const WAITING: usize = 96;

/// The error of a read whose writer has no result.
fn nothing(placed: Placed<'_>, access: &Access) -> ReplayError {
    let place = access.place;
    ReplayError::Empty { memory: place.memory, offset: place.offset, cycle: cycles(placed, access).0 }
}

/// An event whose operands are computed, or will be after the events before it in its chain.
struct Ready<'a> {
    placed: Placed<'a>,
    operands: Vec<Arc<Written>>,
    results: Vec<Arc<Written>>,
    /// Number of the chain's first event. The events of a chain are computed in sequence.
    chain: usize,
}

impl Ready<'_> {
    fn compute(&self, execution: Computing<'_>) -> Result<(), ReplayError> {
        let mut reads = Vec::with_capacity(self.operands.len());
        for (written, access) in self.operands.iter().zip(&self.placed.event.reads) {
            let content = written.content.get().ok_or_else(|| nothing(self.placed, access))?;
            // The schedule states the meaning of each datum at the place, in order.
            let meanings = execution.labels.meanings(access.value.shifted(self.placed.shift));
            reads.extend(meanings.zip(content.iter().cloned()));
        }
        let results = execution.results(self.placed, &Reads::new(reads))?;
        for (written, content) in self.results.iter().zip(results) {
            // No other event writes it.
            let _ = written.content.set(content);
        }
        Ok(())
    }
}

/// Evaluates events.
#[derive(Clone, Copy)]
struct Computing<'a> {
    schedule: &'a Schedule,
    labels: &'a Labels,
    context: &'a Context<'a>,
}

impl Computing<'_> {
    /// The contents that an event writes.
    fn results(&self, placed: Placed<'_>, reads: &Reads<Datum>) -> Result<Vec<Content>, ReplayError> {
        let function = self.schedule.resources.kinds[usize::from(placed.event.op.kind.0)].function;
        let meanings = |access: &Access| self.labels.meanings(access.value.shifted(placed.shift));
        let wrong = |wrong: Wrong| wrong.at(placed.start);
        if let (Function::Body(BodyUnit { merged: true, .. }), [first, second]) =
            (function, placed.event.writes.as_slice())
        {
            let operands = meanings(first).chain(meanings(second)).map(|result| self.transformed(result, reads));
            if let Some([one, other]) = operands.collect::<Option<Vec<_>>>().as_deref() {
                let spectra = self.context.merged([one, other]).map_err(wrong)?;
                return Ok(spectra.map(|spectrum| vec![spectrum]).into());
            }
        }
        let define = |meaning| match meaning {
            Meaning::Token { .. } => Ok(Datum::Given(meaning)),
            meaning => self.context.definitions.define(self.context, function, reads, meaning),
        };
        let content = |access| meanings(access).map(define).collect::<Result<Content, Wrong>>();
        placed.event.writes.iter().map(content).collect::<Result<_, _>>().map_err(wrong)
    }

    /// The digits of forward transform `result`, if it is one and they are read.
    fn transformed(&self, result: Meaning, reads: &Reads<Datum>) -> Option<Datum> {
        let Meaning::Body { value, lookup, iteration } = result else { return None };
        let definitions = &self.context.definitions;
        let body = definitions.body(definitions.lookups.of(lookup).0)?;
        let op = body.ops.get(value.index().checked_sub(body.carried as usize)?)?;
        let &[value] = op.operands.as_slice() else { return None };
        (op.primitive == Primitive::ForwardTransform)
            .then(|| reads.get(Meaning::Body { value, lookup, iteration }))
            .flatten()
    }
}

/// The events in the order of their last reads, and their results.
struct Execution<'a> {
    with: Computing<'a>,
    memories: Memories<'a>,
    /// Events that have started, by the cycle of their last read.
    reading: BinaryHeap<Reverse<(i64, u64)>>,
    begun: HashMap<u64, Placed<'a>>,
    /// Number of computed events.
    computed: usize,
    /// Events that have read their operands and are to be computed.
    waiting: Vec<Ready<'a>>,
}

impl<'a> Execution<'a> {
    fn begin(&mut self, number: u64, placed: Placed<'a>) {
        let read = placed.event.reads.iter().map(|access| i64::from(access.last)).max().unwrap_or(0);
        self.reading.push(Reverse((placed.start + read, number)));
        self.begun.insert(number, placed);
    }

    /// Resolves the reads of all events whose last read is before cycle `until`, and registers their writes.
    fn finish(&mut self, until: i64) -> Result<(), ReplayError> {
        while let Some(&Reverse((cycle, number))) = self.reading.peek()
            && cycle < until
        {
            self.reading.pop();
            let Some(placed) = self.begun.remove(&number) else { continue };
            if self.waiting.len() == WAITING {
                self.compute()?;
            }
            let mut operands = Vec::with_capacity(placed.event.reads.len());
            for access in &placed.event.reads {
                operands.push(self.read(placed, access)?);
            }
            let chain = self.chain(&operands);
            let event = self.computed + self.waiting.len();
            let results: Vec<_> = placed.event.writes.iter().map(|_| Written::by(event)).collect();
            for (access, written) in placed.event.writes.iter().zip(&results) {
                self.memories.write(placed, access, Arc::clone(written));
            }
            self.waiting.push(Ready { placed, operands, results, chain });
        }
        Ok(())
    }

    fn read(&mut self, placed: Placed<'_>, access: &Access) -> Result<Arc<Written>, ReplayError> {
        let mut found = self.memories.read(self.with.context, placed, access);
        if matches!(found, Err(Unread::NotComputed)) {
            self.compute()?;
            found = self.memories.read(self.with.context, placed, access);
        }
        found.map_err(|unread| match unread {
            Unread::Wrong(error) => error,
            Unread::NotComputed => nothing(placed, access),
        })
    }

    /// The chain of an event with `operands`: that of the results that it waits for. If these are in several chains, the chains are merged.
    fn chain(&mut self, operands: &[Arc<Written>]) -> usize {
        let waits = operands.iter().filter(|written| written.content.get().is_none());
        let of =
            |written: &Arc<Written>| written.event.checked_sub(self.computed).map(|index| self.waiting[index].chain);
        let chains: Vec<usize> = waits.filter_map(of).collect();
        let Some(&first) = chains.iter().min() else { return self.waiting.len() };
        for ready in &mut self.waiting {
            if chains.contains(&ready.chain) {
                ready.chain = first;
            }
        }
        first
    }

    /// Computes all waiting events.
    fn compute(&mut self) -> Result<(), ReplayError> {
        self.computed += self.waiting.len();
        let mut chains: BTreeMap<usize, Vec<(usize, Ready<'a>)>> = BTreeMap::new();
        for (index, ready) in self.waiting.drain(..).enumerate() {
            chains.entry(ready.chain).or_default().push((index, ready));
        }
        let chains: Vec<_> = chains.into_values().collect();
        // Each thread frees its results that are not read again as early as possible.
        let failed = |chain: Vec<(usize, Ready<'a>)>| {
            chain.into_iter().find_map(|(index, ready)| {
                cancel::check();
                Some((index, ready.compute(self.with).err()?))
            })
        };
        let first = chains.into_par_iter().filter_map(failed).min_by_key(|(index, _)| *index);
        first.map_or(Ok(()), |(_, error)| Err(error))
    }
}

/// Executes `schedule` with `inputs` in off-chip memory. Returns its final content, by meaning.
///
/// # Errors
/// [`ReplayError`] of the first event that lacks an operand.
pub(super) fn carry_out(
    schedule: &Schedule,
    labels: &Labels,
    context: &Context<'_>,
    inputs: impl Iterator<Item = (Meaning, Datum)>,
    progress: &dyn Progress,
) -> Result<HashMap<Meaning, Datum>, ReplayError> {
    let stores = schedule.resources.memories.iter().map(|memory| match memory.kind {
        MemoryKind::OnChip { .. } | MemoryKind::Lines(_) => Store::Addressed(Addressed::default()),
        MemoryKind::Wire { delay, .. } => Store::Wire(VecDeque::new(), i64::from(delay)),
        MemoryKind::OffChip | MemoryKind::Scoreboard => Store::ByValue,
    });
    let memories = Memories { labels, stores: stores.collect(), by_value: HashMap::new(), inputs: inputs.collect() };
    let with = Computing { schedule, labels, context };
    let (reading, begun, waiting) = (BinaryHeap::new(), HashMap::new(), Vec::with_capacity(WAITING));
    let mut execution = Execution { with, memories, reading, begun, computed: 0, waiting };
    let total = schedule.event_count();
    for (number, placed) in (0u64..).zip(schedule.events()) {
        execution.finish(placed.start)?;
        execution.begin(number, placed);
        if number % 4096 == 0 {
            progress.update("replay", number, total);
        }
    }
    execution.finish(i64::MAX)?;
    execution.compute()?;
    progress.update("replay", total, total);
    let Memories { by_value, inputs, .. } = execution.memories;
    let mut stored = inputs;
    for (value, written) in by_value {
        let content = written.content.get().into_iter().flatten().cloned();
        stored.extend(labels.meanings(value).zip(content));
    }
    Ok(stored)
}

#[cfg(test)]
mod tests {
    //! Is an element read as its place holds it in that cycle, and on a wire only in exactly that cycle?

    use super::*;
    use polyfabric_sim::schedule::MemoryId;

    fn record(first: i64, order: Order, value: u32) -> Record {
        Record { bytes: 16, first, last: first + 3, order, written: Written::known(vec![Datum::torus(vec![value; 4])]) }
    }

    fn read(first: i64, order: Order) -> Read {
        Read { place: Place { memory: MemoryId(0), offset: 0, bytes: 16 }, first, last: first + 3, order }
    }

    fn found(memory: &Addressed, read: Read) -> Option<Vec<u32>> {
        match memory.read(read).ok()?.content.get()?.as_slice() {
            [Datum::Torus(values)] => Some(values.to_vec()),
            _ => None,
        }
    }

    #[test]
    fn a_reader_follows_its_writer() {
        let mut memory = Addressed::default();
        memory.write(0, record(10, Order::Stream, 7));
        // A read one cycle later is right; in the same cycle, nothing is there yet.
        assert_eq!(found(&memory, read(11, Order::Stream)), Some(vec![7; 4]));
        assert_eq!(found(&memory, read(10, Order::Stream)), None);
        // In an unknown order, all elements must be there.
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
        // A slow reader starts before the writer and ends after it.
        let slow = Read { first: 19, last: 31, ..read(19, Order::Stream) };
        assert_eq!(found(&memory, slow), Some(vec![7, 8, 8, 8]));
        // Half of the new value is there when a reader of unknown order begins.
        assert_eq!(found(&memory, read(22, Order::Any)), Some(vec![8, 8, 7, 7]));
    }

    #[test]
    fn stripes_of_one_key() {
        let mut memory = Addressed::default();
        let key = |iteration| Meaning::Key { row: 0, column: 0, iteration };
        let stripe = |number| Record {
            bytes: 8,
            written: Written::known(vec![Datum::Given(key(number))]),
            ..record(0, Order::Any, 0)
        };
        memory.write(0, stripe(3));
        memory.write(8, stripe(3));
        let found = memory.read(read(9, Order::Any)).unwrap();
        let content = found.content.get().map(Vec::as_slice);
        assert!(matches!(content, Some([Datum::Given(found)]) if *found == key(3)));
        memory.write(8, stripe(4));
        assert!(memory.read(read(9, Order::Any)).is_err());
    }
}
