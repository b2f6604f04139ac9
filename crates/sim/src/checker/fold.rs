//! Folding: the checker skips rounds of a loop that has reached a steady state.
//!
//! At the start of a round the checker takes a snapshot of everything that the loop touches: units, cells, next items
//! and events under way. It compares this with the snapshot of the round before. The two must be equal, shifted by one
//! period in time and by the loop's shift in every value. Nothing outside the loop may have touched its units or cells
//! in between. Then the next round starts from the same state and does the same, and by induction so does every later
//! round. The loop is folded: its outstanding work is set aside, and restored for the last rounds.
//!
//! Other items continue meanwhile. Before one of them touches a unit or cell of a folded loop, the loop is unfolded:
//! the whole rounds that have passed are booked, and the rest is checked event by event. At ports, a folded loop counts
//! with its largest load in a round. Accesses to memories that are addressed by value are booked for every round,
//! because other items may have written the values. An outer loop compares its rounds with all inner loops unfolded, so
//! nested loops fold from the inside out.

use super::content::{Content, NEVER};
use super::judge::{AGAIN, DONE, Judge, Step};
use super::memory::{Held, Passing, Ready, Stream};
use super::observer::Observer;
use super::state::{Advance, Due, InFlight, Next, Phase, Who};
use super::violation::Violation;
use super::walk::{Footprint, Loop, Node, within};
use crate::schedule::{Repeat, Value};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Rounds at the end of a loop that are never skipped.
const LAST_ROUNDS: u64 = 2;

/// An access to a memory that is addressed by value.
pub(super) struct ByValue<O: Observer> {
    pub write: bool,
    pub memory: u16,
    pub value: Value,
    /// For a write, when it happens. For a read, the cycles of its first and last element.
    pub ready: Ready,
    /// Only for a write.
    pub writer: Option<O::Mark>,
    pub who: Who,
    /// For a read, the constraint that it set, as the observer saw it.
    pub seen: Option<O::Seen>,
}

impl<O: Observer> Clone for ByValue<O> {
    fn clone(&self) -> Self {
        let Self { write, memory, value, ready, who, .. } = *self;
        Self { write, memory, value, ready, writer: self.writer.clone(), who, seen: self.seen.clone() }
    }
}

/// A cell, and the waits of its writer and its reader.
type SeenCell<O> = (Held<<O as Observer>::Mark>, [Option<<O as Observer>::Seen>; 2]);

/// A value on a wire, and the waits of its writer.
type SeenPassing<O> = (Passing<<O as Observer>::Mark>, <O as Observer>::Seen);

/// An access that is due, its value, and its event.
type UnderWay<O> = (Due, Value, InFlight<<O as Observer>::Flight>, <O as Observer>::View);

/// State of a loop at the start of a round.
pub(super) struct Snapshot<O: Observer> {
    time: i64,
    units: Vec<(i64, Content, O::Seen)>,
    cells: Vec<SeenCell<O>>,
    wires: Vec<Vec<SeenPassing<O>>>,
    due: Vec<UnderWay<O>>,
    next: Vec<Next>,
    /// Streams through ports: port, end and load.
    streams: Vec<(usize, i64, u64)>,
    /// Accesses by value in the round before.
    log: Vec<ByValue<O>>,
}

/// A folded loop.
pub(super) struct Frozen<O: Observer> {
    /// Distinguishes valid [`Phase::Resume`] entries from stale ones.
    pub id: u64,
    /// Largest load of each port in a round.
    pub peaks: Vec<u64>,
    /// State at the start of each of its last two rounds. Their difference is the growth of the dependence path in a
    /// round.
    before: Snapshot<O>,
    now: Snapshot<O>,
    /// The first round that is skipped, and the number of skipped rounds.
    next: Next,
    rounds: i64,
    streams: Vec<(usize, Stream)>,
    round: O::Round,
}

impl Ready {
    fn advance(&mut self, by: &Advance, path_step: i64) {
        self.first += by.cycles;
        self.last += by.cycles;
        self.path_first += by.rounds * path_step;
        self.path_last += by.rounds * path_step;
    }

    /// Equal, except for the dependence path.
    fn becomes(&self, later: &Self, cycles: i64) -> bool {
        (self.first + cycles, self.last + cycles) == (later.first, later.last)
    }
}

/// Whether `later` equals `mark`, shifted by `cycles`, or both are absent.
fn marks_alike<O: Observer>(mark: Option<&O::Mark>, later: Option<&O::Mark>, cycles: i64) -> bool {
    match (mark, later) {
        (Some(mark), Some(later)) => O::marks_alike(mark, later, cycles),
        (None, None) => true,
        _ => false,
    }
}

/// Whether `later` equals `cell` one round later. `written`: the loop itself writes the cell.
fn cell_becomes<O: Observer>(
    cell: &Held<O::Mark>,
    later: &Held<O::Mark>,
    written: bool,
    now: i64,
    one: &Advance,
) -> bool {
    let reads = |earlier: i64, later: i64| earlier == later && earlier == NEVER || earlier + one.cycles == later;
    let read = if cell.read_last == later.read_last { 0 } else { one.cycles };
    // A cell that the loop does not write was complete before it, and is the same in every round.
    let cycles = if written { one.cycles } else { 0 };
    cell.value.map(|value| value.shifted(one.shift)) == later.value
        && reads(cell.read_first, later.read_first)
        && reads(cell.read_last, later.read_last)
        && marks_alike::<O>(cell.reader.as_ref(), later.reader.as_ref(), read)
        && cell.ready.becomes(&later.ready, cycles)
        && marks_alike::<O>(cell.writer.as_ref(), later.writer.as_ref(), cycles)
        && (written || cell.ready.last < now)
}

fn advance_cell<O: Observer>(cell: &mut Held<O::Mark>, written: bool, by: &Advance, path_step: i64) {
    cell.value = cell.value.map(|value| value.shifted(by.shift));
    if written {
        cell.ready.advance(by, path_step);
        cell.writer.iter_mut().for_each(|writer| O::move_mark(writer, by.cycles));
    }
    if cell.read_first != NEVER {
        cell.read_first += by.cycles;
        cell.read_last += by.cycles;
        cell.reader.iter_mut().for_each(|reader| O::move_mark(reader, by.cycles));
    }
}

fn passing_becomes<O: Observer>(passing: &Passing<O::Mark>, later: &Passing<O::Mark>, one: &Advance) -> bool {
    passing.value.shifted(one.shift) == later.value
        && (passing.first + one.cycles, passing.last + one.cycles) == (later.first, later.last)
        && O::marks_alike(&passing.writer, &later.writer, one.cycles)
}

impl<O: Observer> Judge<'_, O> {
    /// Folds a loop at the start of a round if it has settled. Returns `false` if inner loops were unfolded: their
    /// outstanding items come before this round.
    pub fn fold_at(&mut self, next: &Next, own: &Loop<'_>) -> Step {
        let (instance, repeat) = (next.instance, own.repeat);
        let inner = |&i: &usize| i != instance && self.instances[i].frozen.is_some() && self.within(i, instance);
        let inner: Vec<usize> = self.running.iter().copied().filter(inner).collect();
        if !inner.is_empty() {
            for inner in inner {
                self.thaw(inner, next.time)?;
            }
            return AGAIN;
        }
        if next.round + LAST_ROUNDS >= repeat.count {
            self.instances[instance].snapshot = None;
            return DONE;
        }
        let now = self.snapshot(next, &own.footprint);
        let one = Advance::new(1, repeat.period as i64, repeat.shift);
        let before = self.instances[instance].snapshot.take();
        if let Some(before) = before.filter(|_| !self.instances[instance].disturbed)
            && settled(&own.footprint, &before, &now, &one)
            && self.fits_at_peak(instance, next.time)
        {
            self.freeze(next, own, (before, now));
            return DONE;
        }
        self.instances[instance].snapshot = Some(now);
        self.new_round(instance, next.time);
        DONE
    }

    /// Starts the records of a new round, which nothing has disturbed yet.
    fn new_round(&mut self, instance: usize, time: i64) {
        let ports = 0..self.ports.streams.len();
        let load = |port| self.ports.load(port, time, |stream| self.within(stream.instance, instance));
        let peaks = ports.map(load).collect();
        self.observer.begin_round(instance);
        let state = &mut self.instances[instance];
        (state.disturbed, state.peaks) = (false, peaks);
    }

    fn snapshot(&mut self, next: &Next, footprint: &Footprint) -> Snapshot<O> {
        let (instance, time) = (next.instance, next.time);
        let log = std::mem::take(&mut self.instances[instance].log);
        let own = |due: &&Due| self.within(self.in_flight[due.in_flight].instance, instance);
        let mut due: Vec<Due> = self.due.iter().chain(self.late.values()).filter(own).copied().collect();
        due.sort_unstable_by_key(|due| {
            let of = &self.in_flight[due.in_flight];
            (self.cycle(due), due.write, of.node, due.number, of.who.start)
        });
        let mut items: Vec<Next> = Vec::new();
        for &Reverse(pending) in &self.next {
            if pending.phase != Phase::Resume && self.within(pending.instance, instance) {
                items.push(pending);
            }
        }
        items.sort_unstable();
        let mut streams = Vec::new();
        for (port, of) in self.ports.streams.iter().enumerate() {
            let own = of.iter().filter(|stream| stream.end >= time && self.within(stream.instance, instance));
            streams.extend(own.map(|stream| (port, stream.end, stream.load)));
        }
        streams.sort_unstable();
        let unit = |&resource: &usize| {
            let busy = &self.busy[resource];
            (busy.until, busy.content, self.observer.unit(resource, time))
        };
        let seen = |mark: &Option<O::Mark>| mark.as_ref().map(|mark| self.observer.seen(mark, time));
        let cell = |&cell: &usize| {
            let held = &self.cells[cell];
            (held.clone(), [seen(&held.writer), seen(&held.reader)])
        };
        let wire = |&wire: &usize| {
            let look = |passing: &Passing<O::Mark>| (passing.clone(), self.observer.seen(&passing.writer, time));
            self.wires[wire].iter().map(look).collect()
        };
        let under_way = |due: Due| {
            let of = &self.in_flight[due.in_flight];
            (due, self.due_access(&due).value, of.clone(), self.observer.view(&of.flight))
        };
        Snapshot {
            time,
            units: footprint.resource_list.iter().map(unit).collect(),
            cells: footprint.cell_list.iter().map(cell).collect(),
            wires: footprint.wire_list.iter().map(wire).collect(),
            due: due.into_iter().map(under_way).collect(),
            next: items,
            streams,
            log,
        }
    }

    /// Whether the ports have room for the loop's largest loads in addition to all other streams.
    fn fits_at_peak(&self, instance: usize, time: i64) -> bool {
        let inside = |stream: &Stream| self.within(stream.instance, instance);
        self.instances[instance].peaks.iter().enumerate().all(|(port, &peak)| {
            let extra = peak - self.ports.load(port, time, inside);
            self.ports.load(port, time, |_| true) + extra <= self.layout.widths[port]
        })
    }

    fn freeze(&mut self, next: &Next, own: &Loop<'_>, (before, now): (Snapshot<O>, Snapshot<O>)) {
        let (instance, repeat) = (next.instance, own.repeat);
        let peaks = std::mem::take(&mut self.instances[instance].peaks);
        let rounds = (repeat.count - LAST_ROUNDS - next.round) as i64;
        self.freezes += 1;
        let Self { due, late, next: items, instances, in_flight, freezes, .. } = self;
        let inside = |due: &Due| within(instances, in_flight[due.in_flight].instance, instance);
        due.retain(|due| !inside(due));
        late.retain(|_, due| !inside(due));
        items.retain(|Reverse(next)| next.phase == Phase::Resume || !within(instances, next.instance, instance));
        let time = next.time + rounds * repeat.period as i64;
        items.push(Reverse(Next { time, phase: Phase::Resume, round: *freezes, ..*next }));
        let (id, streams) = (self.freezes, self.at_peak(instance, &peaks, next.time));
        let round = self.observer.round(instance);
        let frozen = Frozen { id, peaks, before, now, next: *next, rounds, streams, round };
        self.instances[instance].frozen = Some(Box::new(frozen));
    }

    /// Replaces a loop's streams at ports by its largest load, and returns the streams.
    fn at_peak(&mut self, instance: usize, peaks: &[u64], time: i64) -> Vec<(usize, Stream)> {
        let mut own = Vec::new();
        for (port, &peak) in peaks.iter().enumerate() {
            let Self { ports, instances, .. } = self;
            ports.streams[port].retain(|stream| {
                let stays = !within(instances, stream.instance, instance);
                if !stays {
                    own.push((port, *stream));
                }
                stays
            });
            if peak > 0 {
                ports.streams[port].push(Stream { end: i64::MAX, load: peak, instance });
            }
            let mut next = self.instances[instance].parent;
            while let Some(index) = next {
                if !self.instances[index].peaks.is_empty() {
                    let load = self.ports.load(port, time, |stream| self.within(stream.instance, index));
                    let outer = &mut self.instances[index].peaks[port];
                    *outer = load.max(*outer);
                }
                next = self.instances[index].parent;
            }
        }
        own
    }

    /// Unfolds a loop: books the whole rounds that have passed at `time`, and restores its outstanding work.
    pub fn thaw(&mut self, instance: usize, time: i64) -> Result<(), Violation> {
        let Some(frozen) = self.instances[instance].frozen.take() else { return Ok(()) };
        let tree = self.tree;
        let Node::Repeat(own) = &tree.nodes[self.instances[instance].node] else { return Ok(()) };
        let (period, mut next) = (own.repeat.period as i64, frozen.next);
        let rounds = ((time - next.time) / period).min(frozen.rounds);
        let by = Advance::new(rounds, period, own.repeat.shift);
        for streams in &mut self.ports.streams {
            streams.retain(|stream| stream.instance != instance || stream.end != i64::MAX);
        }
        for &(port, stream) in &frozen.streams {
            self.ports.streams[port].push(Stream { end: stream.end + by.cycles, ..stream });
        }
        self.advance_state(&own.footprint, &frozen, &by);
        for &(due, value, ..) in &frozen.now.due {
            self.accesses[due.in_flight][due.number as usize].value = value.shifted(by.shift);
            self.push(due, self.cycle(&due));
        }
        for mut next in frozen.now.next.iter().copied() {
            next.advance(&by);
            self.next.push(Reverse(next));
        }
        (next.time, next.base, next.round) = (next.time + by.cycles, next.base + by.cycles, next.round + rounds as u64);
        self.next.push(Reverse(next));
        for index in self.running.clone() {
            if index != instance && self.within(index, instance) {
                let inner = &mut self.instances[index];
                inner.base += by.cycles;
                inner.shift = inner.shift.advanced(by.shift, 1);
                (inner.snapshot, inner.peaks) = (None, Vec::new());
            }
        }
        let Self { observer, instances, .. } = self;
        observer.book(instance, &frozen.round, rounds, &|instance| instances[instance].parent);
        self.book((instance, own.repeat), &frozen, rounds, time)?;
        self.instances[instance].log.clear();
        self.new_round(instance, next.time);
        Ok(())
    }

    /// Shifts units, cells, wires and events of a folded loop.
    fn advance_state(&mut self, footprint: &Footprint, frozen: &Frozen<O>, by: &Advance) {
        let (before, now) = (&frozen.before, &frozen.now);
        let Self { observer, in_flight, cells, wires, busy, .. } = self;
        let steps = before.due.iter().zip(&now.due);
        let steps: BTreeMap<usize, i64> =
            steps.map(|((_, _, old, _), (due, _, new, _))| (due.in_flight, new.path - old.path)).collect();
        let written = footprint.cell_list.iter().filter(|&&cell| footprint.written[cell]);
        let in_cells = written.filter_map(|&cell| cells[cell].writer.as_ref());
        let on_wires = footprint.wire_list.iter().flat_map(|&wire| wires[wire].iter().map(|passing| &passing.writer));
        let flights = steps.keys().map(|&index| &in_flight[index].flight);
        observer.move_events(flights, in_cells.chain(on_wires), by.cycles);
        for (&index, step) in &steps {
            in_flight[index].who.advance(by);
            in_flight[index].path += by.rounds * step;
        }
        for &resource in &footprint.resource_list {
            let busy = &mut busy[resource];
            busy.until += by.cycles;
            busy.content.advance(by.cycles);
            busy.holder.iter_mut().for_each(|holder| holder.advance(by));
        }
        for (&cell, (old, new)) in footprint.cell_list.iter().zip(before.cells.iter().zip(&now.cells)) {
            let step = new.0.ready.path_last - old.0.ready.path_last;
            advance_cell::<O>(&mut cells[cell], footprint.written[cell], by, step);
        }
        for (&wire, (old, new)) in footprint.wire_list.iter().zip(before.wires.iter().zip(&now.wires)) {
            for (passing, ((old, _), (new, _))) in wires[wire].iter_mut().zip(old.iter().zip(new)) {
                passing.value = passing.value.shifted(by.shift);
                passing.first += by.cycles;
                passing.last += by.cycles;
                passing.path_first += by.rounds * (new.path_first - old.path_first);
                O::move_mark(&mut passing.writer, by.cycles);
            }
        }
    }

    /// Books the accesses by value of the skipped rounds.
    fn book(
        &mut self,
        (instance, repeat): (usize, &Repeat),
        frozen: &Frozen<O>,
        rounds: i64,
        time: i64,
    ) -> Result<(), Violation> {
        let mut reads = Vec::new();
        for round in 1..=rounds {
            let by = Advance::new(round, repeat.period as i64, repeat.shift);
            for (old, new) in frozen.before.log.iter().zip(&frozen.now.log) {
                let (step, mut access) = (new.ready.path_last - old.ready.path_last, new.clone());
                access.value = access.value.shifted(by.shift);
                access.ready.advance(&by, step);
                access.who.advance(&by);
                if let Some(writer) = &mut access.writer {
                    O::move_mark(writer, by.cycles);
                    self.by_value.insert((access.memory, access.value), (access.ready, writer.clone()));
                } else {
                    reads.push(access.clone());
                }
                if let Some(parent) = self.instances[instance].parent {
                    self.record(parent, access);
                }
            }
        }
        for read in reads {
            if !self.by_value.contains_key(&(read.memory, read.value)) {
                // The writer may be another folded loop, whose rounds are not booked yet.
                for other in self.running.clone() {
                    self.thaw(other, time)?;
                }
            }
            self.book_read(&read)?;
        }
        Ok(())
    }
}

/// Whether the state of a loop at the start of a round equals that of the round before, shifted by one round.
fn settled<O: Observer>(footprint: &Footprint, before: &Snapshot<O>, now: &Snapshot<O>, one: &Advance) -> bool {
    let cycles = one.cycles;
    let mut units = before.units.iter().zip(&now.units);
    let mut cells = footprint.cell_list.iter().zip(before.cells.iter().zip(&now.cells));
    let mut wires = before.wires.iter().zip(&now.wires);
    let lengths = |of: &Snapshot<O>| (of.due.len(), of.next.len(), of.streams.len(), of.log.len());
    lengths(before) == lengths(now)
        && units.all(|(old, new)| old.0 + cycles == new.0 && old.1.becomes(&new.1, cycles) && old.2 == new.2)
        && before.log.iter().zip(&now.log).all(|(old, new)| old.seen == new.seen)
        && cells.all(|(&cell, (old, new))| {
            let written = footprint.written[cell];
            cell_becomes::<O>(&old.0, &new.0, written, before.time, one) && old.1 == new.1
        })
        && wires.all(|(old, new)| {
            let mut pairs = old.iter().zip(new);
            old.len() == new.len()
                && pairs.all(|(old, new)| passing_becomes::<O>(&old.0, &new.0, one) && old.1 == new.1)
        })
        && before.next.iter().zip(&now.next).all(|(old, new)| old.becomes(new, one))
        && before.streams.iter().zip(&now.streams).all(|(old, new)| (old.0, old.1 + cycles, old.2) == *new)
        && before.due.iter().zip(&now.due).all(|(old, new)| {
            let of = |due: &Due| (due.write, due.number);
            of(&old.0) == of(&new.0)
                && old.1.shifted(one.shift) == new.1
                && old.2.becomes(&new.2, one)
                && O::repeats(&old.3, &new.3, cycles)
        })
}
