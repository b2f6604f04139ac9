//! Checks schedules in the form of a list: millions of events, in order of their starts.

use super::hold::hold_event;
use super::judge::{Judge, Position};
use super::memory::{Cuts, Layout};
use super::observer::Observer;
use super::violation::{Hazard, Violation, malformed};
use crate::function::Function;
use crate::list::{EventList, Instructions};
use crate::schedule::{Event, Instructed, MemoryKind, Resources};
use std::ops::ControlFlow;

/// Layout of the memories of a list's machine. Reads the list only if a memory is addressed by byte.
pub(super) fn layout(list: &dyn EventList) -> Result<Layout, Violation> {
    let resources = list.resources();
    let mut cuts = Cuts::new(resources);
    let by_byte: Vec<bool> =
        resources.memories.iter().map(|memory| matches!(memory.kind, MemoryKind::OnChip { .. })).collect();
    let mut held = Ok(());
    if by_byte.contains(&true) {
        list.visit(&mut |event| {
            held = hold_event(resources, event);
            if held.is_err() {
                return ControlFlow::Break(());
            }
            let places = event.reads.iter().chain(&event.writes).map(|access| &access.place);
            places.filter(|place| by_byte[usize::from(place.memory.0)]).for_each(|place| cuts.add(place));
            ControlFlow::Continue(())
        });
    }
    held.and_then(|()| Layout::new(resources, cuts))
}

impl<O: Observer> Judge<'_, O> {
    /// Checks a list and returns the first cycle after its last event.
    pub fn list(&mut self, list: &dyn EventList) -> Result<i64, Violation> {
        let mut fetched = match (list.resources().instructed, list.instructions()) {
            (None, _) => None,
            (Some(_), None) => {
                return Err(malformed("the machine is given instructions, and the schedule has none".into()));
            }
            (Some(of), Some(instructions)) => Some(Fetched::new(self.resources, of, instructions)),
        };
        let (mut found, mut now, mut end) = (Ok(()), 0, 0);
        list.visit(&mut |event| {
            found = self.event(event, now);
            if found.is_err() {
                return ControlFlow::Break(());
            }
            (now, end) = (event.start, end.max(event.end()));
            if let Some(fetched) = &mut fetched {
                fetched.event(event);
            }
            ControlFlow::Continue(())
        });
        found?;
        self.until(i64::MAX)?;
        self.nothing_left()?;
        fetched.map_or(Ok(()), |fetched| fetched.check())?;
        Ok(end)
    }

    fn event(&mut self, event: &Event, now: i64) -> Result<(), Violation> {
        hold_event(self.resources, event)?;
        if event.start < now {
            return Err(malformed("an event starts before cycle 0, or before the one ahead of it in the list".into()));
        }
        self.until(event.start)?;
        self.begin(event, event.start, Position::default()).map(|_| ())
    }
}

/// Checks that every instruction is fetched before it starts.
struct Fetched<'a> {
    resources: &'a Resources,
    of: Instructed,
    instructions: &'a Instructions,
    /// For each channel, start and end of its transfers, in order.
    transfers: Vec<Vec<(u64, u64)>>,
    /// Cycles in which units start, in order, each with the number of units that compute.
    starts: Vec<(i64, u64)>,
}

impl<'a> Fetched<'a> {
    fn new(resources: &'a Resources, of: Instructed, instructions: &'a Instructions) -> Self {
        let transfers = vec![Vec::new(); resources.channels.len()];
        Self { resources, of, instructions, transfers, starts: Vec::new() }
    }

    fn event(&mut self, event: &Event) {
        let start = event.start;
        match (event.resource.0 as usize).checked_sub(self.resources.units.len()) {
            Some(channel) => {
                self.transfers[channel].push((start as u64, (start + i64::from(event.occupancy)) as u64));
            }
            None => {
                if self.starts.last().is_none_or(|&(last, _)| last != start) {
                    self.starts.push((start, 0));
                }
                let function = self.resources.kinds[usize::from(event.op.kind.0)].function;
                if let (Some((_, computing)), false) =
                    (self.starts.last_mut(), matches!(function, Function::Move { .. }))
                {
                    *computing += 1;
                }
            }
        }
    }

    fn check(&self) -> Result<(), Violation> {
        self.in_time()?;
        self.instructed()
    }

    /// Checks that the channels, in their idle cycles, fetch every instruction before it starts, in order of the
    /// starts.
    fn in_time(&self) -> Result<(), Violation> {
        // For each channel, the number of transfers that are over, and the cycles that they took.
        let mut past = vec![(0, 0); self.transfers.len()];
        let mut bytes = 0;
        for same in self.instructions.starts.chunk_by(|a, b| a.0 == b.0) {
            let cycle = same[0].0;
            bytes += same.iter().map(|&(_, bytes)| bytes).sum::<u64>();
            let until = cycle.saturating_sub(self.of.latency);
            let mut brought = 0.0;
            let channels = self.resources.channels.iter().zip(&self.transfers);
            for ((channel, moves), (over, busy)) in channels.zip(&mut past) {
                while let Some(&(start, end)) = moves.get(*over).filter(|&&(_, end)| end <= until) {
                    *busy += end - start;
                    *over += 1;
                }
                let under_way = moves.get(*over).map_or(0, |&(start, _)| until.saturating_sub(start));
                brought += (until - *busy - under_way) as f64 * channel.bytes_per_cycle;
            }
            // Rounding must not lose a byte if bandwidth times cycles is an integer.
            if bytes as f64 > brought + 1e-6 {
                return Err(not_fetched(
                    cycle as i64,
                    format!(
                        "{bytes} bytes of instructions start by cycle {cycle}, and what the channels have idle has brought {brought:.0}; \
                         start the schedule later"
                    ),
                ));
            }
        }
        Ok(())
    }

    /// Checks that the instructions of each cycle have bytes for every unit that starts then, and that all of them count
    /// as traffic.
    fn instructed(&self) -> Result<(), Violation> {
        let mut given = self.instructions.starts.iter().peekable();
        let mut all: u64 = 0;
        for &(cycle, computing) in &self.starts {
            let mut bytes = 0;
            while let Some(&(at, more)) = given.next_if(|&&(at, _)| at as i64 <= cycle) {
                all += more;
                bytes += if at as i64 == cycle { more } else { 0 };
            }
            // One instruction may move a value to several places.
            let needed = (computing * self.of.least).max(1);
            if bytes < needed {
                return Err(not_fetched(
                    cycle,
                    format!(
                        "{computing} units compute from cycle {cycle} on, {needed} bytes of instructions at least, and \
                         {bytes} are fetched for it"
                    ),
                ));
            }
        }
        all += given.map(|&(_, bytes)| bytes).sum::<u64>();
        if self.instructions.bytes < all {
            let counted = self.instructions.bytes;
            return Err(not_fetched(0, format!("{all} bytes of instructions are fetched, and {counted} are counted")));
        }
        Ok(())
    }
}

fn not_fetched(cycle: i64, message: String) -> Violation {
    Violation { hazard: Hazard::NotFetched, cycle, legal_start: None, message }
}
