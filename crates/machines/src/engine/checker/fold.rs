//! Loops that have settled are skipped.
//!
//! At the start of a round the replay looks at everything that the loop touches: its units, its cells, its entries of the
//! agenda with the events under way. If all of that is what it was one round before, moved on by one period in time and by
//! the loop's shift in every value, and nothing outside touched the loop's units or cells in between, then the next round
//! meets the same state and does the same, and so by induction does every later one. The loop is then folded: its entries
//! leave the agenda, and come back for the last rounds.
//!
//! Other items run on meanwhile. The first that touches a unit or cell of a folded loop brings it back just before: the
//! whole rounds that have passed by then are booked, the rest is replayed. At ports a folded loop counts with the largest
//! load of a round. What a loop reads from and writes to memories that are addressed by value is booked round by round,
//! because what it finds there may come from elsewhere. An outer loop looks at its rounds with all its inner loops brought
//! back, so nested loops fold from the inside out.

use super::blame::{Blame, Cause, Pipeline, View};
use super::content::Content;
use super::plan::Node;
use super::replay::{ByValue, Replay, within};
use super::state::{Action, Advance, Cell, InFlight, Phase};
use super::violation::Violation;
use crate::engine::schedule::{Repeat, Shift};
use crate::engine::stalls::Tally;
use std::collections::HashSet;

/// Rounds at the end of a loop that are always replayed.
const LAST_ROUNDS: u64 = 2;

/// What a loop's round starts from.
pub(super) struct Snapshot {
    time: i64,
    busy: Vec<(i64, Content, Cause)>,
    cells: Vec<(Cell, [Option<Blame>; 2])>,
    actions: Vec<(Action, Option<(InFlight, View)>)>,
    /// Accesses by value in the round before.
    log: Vec<ByValue>,
}

/// A folded loop.
pub(super) struct Frozen {
    /// Tells stale [`Phase::Resume`] entries from valid ones.
    pub id: u64,
    /// Largest load of each port in a round.
    pub peaks: Vec<u64>,
    time: i64,
    period: i64,
    step: Shift,
    rounds: i64,
    actions: Vec<Action>,
    round: Action,
    tallies: Vec<Tally>,
    log: Vec<(ByValue, i64)>,
    cell_steps: Vec<i64>,
    in_flight_steps: Vec<(usize, i64)>,
}

impl Replay<'_> {
    /// Looks at a loop at the start of a round and folds it if it has settled. `false`: inner loops were brought back, and
    /// the round has to wait for what they still do before it.
    pub(super) fn fold_at(&mut self, action: &Action, repeat: &Repeat) -> Result<bool, Violation> {
        let instance = action.instance;
        let inner = |&i: &usize| i != instance && self.instances[i].frozen.is_some() && self.within(i, instance);
        let inner: Vec<usize> = self.running.iter().copied().filter(inner).collect();
        if !inner.is_empty() {
            for inner in inner {
                self.thaw(inner, action.time)?;
            }
            return Ok(false);
        }
        if action.round + LAST_ROUNDS >= repeat.count {
            self.instances[instance].snapshot = None;
            return Ok(true);
        }
        let log = std::mem::take(&mut self.instances[instance].log);
        let now = self.snapshot(action, log);
        let one = Advance::new(1, repeat.period as i64, repeat.shift);
        let before = self.instances[instance].snapshot.take();
        if let Some(before) = before.filter(|_| !self.instances[instance].disturbed)
            && self.settled(action.node, &before, &now, &one)
            && self.freeze(action, repeat, &before, &now)
        {
            return Ok(true);
        }
        let state = &mut self.instances[instance];
        state.snapshot = Some(now);
        state.disturbed = false;
        state.peaks.clone_from(&state.loads);
        state.tallies.iter_mut().for_each(|tally| *tally = Tally::default());
        Ok(true)
    }

    fn snapshot(&self, action: &Action, log: Vec<ByValue>) -> Snapshot {
        let Node::Repeat(own) = &self.plan.nodes[action.node] else {
            return Snapshot { time: action.time, busy: vec![], cells: vec![], actions: vec![], log };
        };
        let footprint = &own.footprint;
        let mut due: Vec<Action> = Vec::new();
        for &pending in self.agenda.iter() {
            if pending.phase != Phase::Resume && self.within(pending.instance, action.instance) {
                due.push(pending);
            }
        }
        due.sort_unstable();
        let event_in_flight = |action: &Action| {
            let accesses = matches!(action.phase, Phase::Read | Phase::Write);
            let in_flight = self.in_flight[action.in_flight].as_ref().filter(|_| accesses)?;
            Some((in_flight.clone(), in_flight.pipeline.view()))
        };
        let unit = |&resource: &usize| {
            let busy = &self.busy[resource];
            (busy.until, busy.content, busy.cause(action.time))
        };
        let look = |&cell: &usize| (self.cells[cell].clone(), self.cells[cell].blames(action.time));
        Snapshot {
            time: action.time,
            busy: footprint.resource_list.iter().map(unit).collect(),
            cells: footprint.cell_list.iter().map(look).collect(),
            actions: due.into_iter().map(|action| (action, event_in_flight(&action))).collect(),
            log,
        }
    }

    fn settled(&self, node: usize, before: &Snapshot, now: &Snapshot, one: &Advance) -> bool {
        let Node::Repeat(own) = &self.plan.nodes[node] else { return false };
        let footprint = &own.footprint;
        let mut units = before.busy.iter().zip(&now.busy);
        let units = units.all(|(before, now)| {
            before.0 + one.cycles == now.0 && before.1.becomes(&now.1, one.cycles) && before.2 == now.2
        });
        let mut cells = footprint.cell_list.iter().zip(before.cells.iter().zip(&now.cells));
        units
            && before.actions.len() == now.actions.len()
            && before.log.len() == now.log.len()
            && before.log.iter().zip(&now.log).all(|(old, new)| old.blame == new.blame)
            && cells.all(|(&cell, (old, new))| {
                old.0.becomes(&new.0, footprint.written.contains(cell), before.time, one) && old.1 == new.1
            })
            && before.actions.iter().zip(&now.actions).all(|((old, old_in_flight), (new, new_in_flight))| {
                old.becomes(new, one)
                    && match (old_in_flight, new_in_flight) {
                        (Some(old), Some(new)) => old.0.becomes(&new.0, one) && old.1.becomes(&new.1, one.cycles),
                        (None, None) => true,
                        _ => false,
                    }
            })
    }

    fn freeze(&mut self, action: &Action, repeat: &Repeat, before: &Snapshot, now: &Snapshot) -> bool {
        let instance = action.instance;
        let state = &self.instances[instance];
        let extra = state.peaks.iter().zip(&state.loads).map(|(peak, load)| peak - load);
        if self.loads.iter().zip(extra).zip(&self.plan.ports).any(|((load, extra), port)| load + extra > port.capacity)
        {
            return false;
        }
        let rounds = (repeat.count - LAST_ROUNDS - action.round) as i64;
        self.freezes += 1;
        let Self { agenda, instances, .. } = self;
        agenda.retain(|pending| pending.phase == Phase::Resume || !within(instances, pending.instance, instance));
        let period = repeat.period as i64;
        let resume =
            Action { time: action.time + rounds * period, phase: Phase::Resume, round: self.freezes, ..*action };
        self.agenda.push(resume);
        let state = &self.instances[instance];
        let in_flight_steps = before.actions.iter().zip(&now.actions).filter_map(|((_, old), (action, new))| {
            let (old, new) = (old.as_ref()?, new.as_ref()?);
            Some((action.in_flight, new.0.path - old.0.path))
        });
        let mut in_flight_steps: Vec<(usize, i64)> = in_flight_steps.collect();
        in_flight_steps.sort_unstable();
        in_flight_steps.dedup_by_key(|step| step.0);
        let path_step = |old: i64, new: i64| new - old;
        let frozen = Frozen {
            id: self.freezes,
            peaks: state.peaks.clone(),
            time: action.time,
            period,
            step: repeat.shift,
            rounds,
            actions: now.actions.iter().map(|(action, _)| *action).collect(),
            round: *action,
            tallies: state.tallies.clone(),
            log: now
                .log
                .iter()
                .zip(&before.log)
                .map(|(new, old)| (new.clone(), path_step(old.ready.path_last, new.ready.path_last)))
                .collect(),
            cell_steps: before
                .cells
                .iter()
                .zip(&now.cells)
                .map(|((old, _), (new, _))| path_step(old.ready.path_last, new.ready.path_last))
                .collect(),
            in_flight_steps,
        };
        self.at_peak(instance, true);
        self.instances[instance].frozen = Some(frozen);
        true
    }

    /// Counts a loop at ports with its largest load instead of the present one, or back.
    fn at_peak(&mut self, instance: usize, on: bool) {
        for port in 0..self.loads.len() {
            let extra = self.instances[instance].peaks[port] - self.instances[instance].loads[port];
            let change = |load: &mut u64| *load = if on { *load + extra } else { *load - extra };
            change(&mut self.loads[port]);
            let mut next = self.instances[instance].parent;
            while let Some(index) = next {
                let outer = &mut self.instances[index];
                change(&mut outer.loads[port]);
                outer.peaks[port] = outer.peaks[port].max(outer.loads[port]);
                next = outer.parent;
            }
        }
    }

    /// Brings a folded loop back: books the whole rounds that have passed at `time`, and returns its entries to the agenda.
    pub(super) fn thaw(&mut self, instance: usize, time: i64) -> Result<(), Violation> {
        let Some(mut frozen) = self.instances[instance].frozen.take() else { return Ok(()) };
        self.at_peak(instance, false);
        let rounds = ((time - frozen.time) / frozen.period).min(frozen.rounds);
        let by = Advance::new(rounds, frozen.period, frozen.step);
        for action in &mut frozen.actions {
            action.advance(&by);
            self.agenda.push(*action);
        }
        frozen.round.time += by.cycles;
        frozen.round.base += by.cycles;
        frozen.round.round += rounds as u64;
        self.agenda.push(frozen.round);
        // A pipeline has several events, and its values lie in several places: it moves on once.
        let mut moved = HashSet::new();
        let mut advance = |pipeline: &Pipeline| {
            if moved.insert(pipeline.identity()) {
                pipeline.advance(by.cycles);
            }
        };
        for &(in_flight, step) in &frozen.in_flight_steps {
            let Some(in_flight) = &mut self.in_flight[in_flight] else { continue };
            advance(&in_flight.pipeline);
            in_flight.start += by.cycles;
            in_flight.shift = in_flight.shift.advanced(by.shift, 1);
            in_flight.path += rounds * step;
        }
        for index in self.running.clone() {
            if index != instance && self.within(index, instance) {
                let inner = &mut self.instances[index];
                inner.base += by.cycles;
                inner.shift = inner.shift.advanced(by.shift, 1);
                inner.snapshot = None;
            }
        }
        if let Node::Repeat(own) = &self.plan.nodes[self.instances[instance].node] {
            let footprint = &own.footprint;
            for &resource in &footprint.resource_list {
                let busy = &mut self.busy[resource];
                busy.until += by.cycles;
                busy.content.advance(by.cycles);
                if let Some(holder) = &mut busy.holder {
                    holder.advance(&by);
                }
            }
            for (&cell, &step) in footprint.cell_list.iter().zip(&frozen.cell_steps) {
                let writer = self.cells[cell].ready.writer.as_ref().filter(|_| footprint.written.contains(cell));
                if let Some(writer) = writer.filter(|writer| writer.pipeline.is_open()) {
                    advance(&writer.pipeline);
                }
                self.cells[cell].advance(footprint.written.contains(cell), &by, step);
            }
        }
        for (class, tally) in frozen.tallies.iter().enumerate() {
            self.tally(instance, class, tally, rounds);
        }
        self.book(instance, &frozen, rounds, time)?;
        let state = &mut self.instances[instance];
        state.disturbed = false;
        state.log.clear();
        state.tallies.iter_mut().for_each(|tally| *tally = Tally::default());
        state.peaks.clone_from(&state.loads);
        Ok(())
    }

    /// What the booked rounds did with memories that are addressed by value.
    fn book(&mut self, instance: usize, frozen: &Frozen, rounds: i64, time: i64) -> Result<(), Violation> {
        let mut reads = Vec::new();
        for round in 1..=rounds {
            let by = Advance::new(round, frozen.period, frozen.step);
            for (access, step) in &frozen.log {
                let mut access = access.clone();
                access.value = access.value.shifted(by.shift);
                access.ready.advance(&by, *step);
                if access.write {
                    self.by_value.insert((access.memory, access.value), access.ready.clone());
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
                // Another folded loop may have written it in rounds that are not booked yet.
                for other in self.running.clone() {
                    self.thaw(other, time)?;
                }
            }
            self.book_read(&read)?;
        }
        Ok(())
    }
}
