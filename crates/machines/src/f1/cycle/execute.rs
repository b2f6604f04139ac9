//! Schedules one instruction: sources of operands, destination of the result, and the first cycle without
//! conflicts.

use super::{Action, Cell, CycleError, Destination, EARLY, Frame, Held, Scheduler, Source, Way};

const NO_UNIT: &str = "the machine has no unit for it";

/// An instruction with the places of its operands.
struct Execution<'e> {
    instruction: u32,
    cluster: usize,
    /// Cycles from its operands' first chunk to its result's first chunk.
    latency: u64,
    values: &'e [u32],
    /// For each of `values`, its source and the first cycle.
    sources: &'e [(Source, u64)],
    /// Those of `values` that it reads for the last time.
    dying: &'e [u32],
    /// The bank from which an operand still streams when the result may arrive.
    streaming: Option<u16>,
}

impl Execution<'_> {
    /// Number of operands in registers.
    fn reads(&self) -> usize {
        self.sources.iter().filter(|(source, _)| matches!(source, Source::Register(_))).count()
    }
}

impl Scheduler<'_> {
    pub(super) fn execute(&mut self, instruction: u32) -> Result<(), CycleError> {
        let graph = self.graph;
        let function = graph.function(instruction as usize);
        let cluster = usize::from(self.home[instruction as usize]);
        let (duration, latency) = (self.geometry.occupancy, self.geometry.latency(function));
        let mut values: Vec<u32> =
            graph.operands(instruction as usize).iter().map(|&vector| graph.number(vector) as u32).collect();
        values.dedup();
        let early = latency + EARLY * duration;
        let exist = self.operands_exist(&values).max(self.front[cluster].saturating_sub(early));
        let no_unit = CycleError::Movement { value: instruction, what: NO_UNIT };
        let busy_unit = self.geometry.occupancy_of(function.unit());
        let (_, target) = self.clusters[cluster].unit(function.unit(), exist, busy_unit).ok_or(no_unit)?;
        self.issued[instruction as usize] = true;
        let (sources, ready) = self.operands(&values, cluster, target, instruction)?;
        let dying = self.read_last(&values);
        let overlap = latency + 2 * self.network < duration;
        let streaming = sources.iter().find_map(|&(source, _)| match source {
            Source::Scratchpad(frame) if overlap => Some(frame.bank),
            _ => None,
        });
        let execution =
            Execution { instruction, cluster, latency, values: &values, sources: &sources, dying: &dying, streaming };
        // Operands that die here give their registers to the result, which follows the read by the unit's
        // latency.
        let dead = dying.iter().find_map(|&value| self.clusters[cluster].find(value));
        let (result, from) = self.destination(&execution, dead, ready.max(target) + latency)?;
        let (unit, start) = self.first_cycle(&execution, result, ready.max(from.saturating_sub(latency)))?;
        let long = self.is_long(instruction);
        let result = match result {
            // Except if the result of a short pipeline reuses an operand's register while it is read.
            Destination::Register(index) if long || dead.is_none() => {
                Destination::Register(self.freed_last(cluster, usize::from(index), start + latency) as u16)
            }
            other => other,
        };
        if !long {
            self.front[cluster] = self.front[cluster].max(start);
        }
        self.commit(&execution, unit, start, result);
        for &value in &dying {
            self.release(value);
        }
        self.keep(&execution, start + latency, result);
        Ok(())
    }

    /// Counts a read of each of `values`; returns those read for the last time.
    fn read_last(&mut self, values: &[u32]) -> Vec<u32> {
        let mut dying = Vec::new();
        for &value in values {
            self.remaining[value as usize] -= 1;
            if self.remaining[value as usize] == 0 {
                dying.push(value);
            }
        }
        dying
    }

    /// Destination of a result that arrives about `arrives`, and the first cycle for it: a register if it
    /// deserves one, preferably the register `dead` of an operand; otherwise the scratchpad.
    fn destination(
        &mut self,
        execution: &Execution<'_>,
        dead: Option<usize>,
        arrives: u64,
    ) -> Result<(Destination, u64), CycleError> {
        let &Execution { instruction, cluster, latency, values, .. } = execution;
        let fits = self.clusters[cluster].takes_result(execution.reads(), latency, self.geometry.occupancy);
        let place = match self.worth(instruction, cluster, instruction).filter(|_| fits) {
            None => None,
            Some(_) if dead.is_some() => dead.map(|index| (index, self.clusters[cluster].cells[index].free_from)),
            Some(until) => self.take_register(cluster, arrives, values, (instruction, until))?,
        };
        Ok(match place {
            Some((index, from)) => (Destination::Register(index as u16), from),
            None => {
                let (frame, from) = self.result_frame(instruction, execution.dying, execution.streaming)?;
                (Destination::Scratchpad(frame), from.saturating_sub(self.network))
            }
        })
    }

    /// A frame for a result: a free one, preferably not in bank `busy`, or the frame of an operand that dies
    /// here.
    fn result_frame(&mut self, value: u32, dying: &[u32], busy: Option<u16>) -> Result<(Frame, u64), CycleError> {
        if self.has_free_frame() {
            return self.take_frame(value, busy);
        }
        let held = dying.iter().find_map(|&operand| self.held[operand as usize].take());
        let held = held.ok_or(CycleError::Movement { value, what: "the scratchpad is full" })?;
        Ok((held.frame, held.free_from))
    }

    /// The first cycle from `at` on in which a unit, the ports and the paths of operands and result are free,
    /// and that unit.
    fn first_cycle(
        &self,
        execution: &Execution<'_>,
        result: Destination,
        mut at: u64,
    ) -> Result<(usize, u64), CycleError> {
        let &Execution { instruction, cluster, latency, .. } = execution;
        let kind = self.graph.function(instruction as usize).unit();
        let (duration, busy_unit) = (self.geometry.occupancy, self.geometry.occupancy_of(kind));
        // After all reservations there is no conflict.
        let last = self.end.max(self.front[cluster]).max(at) + busy_unit + latency + 2 * (duration + self.network);
        loop {
            if at > last {
                return Err(CycleError::Ports { instruction, cluster });
            }
            let Some((unit, mut next)) = self.clusters[cluster].unit(kind, at, busy_unit) else {
                return Err(CycleError::Movement { value: instruction, what: NO_UNIT });
            };
            for &origin in execution.sources.iter().filter(|(source, _)| !matches!(source, Source::Register(_))) {
                next = self.arrival(origin, cluster, next, false);
            }
            next = self.result_passes(execution, result, at, next);
            if next == at {
                return Ok((unit, at));
            }
            at = next;
        }
    }

    /// The next start to try for an instruction that could start in `next`, so that its result has no
    /// conflicts; `at` is the current attempt.
    fn result_passes(&self, execution: &Execution<'_>, result: Destination, at: u64, next: u64) -> u64 {
        let &Execution { cluster, latency, streaming, .. } = execution;
        let (own, duration, reads) = (&self.clusters[cluster], self.geometry.occupancy, execution.reads());
        let write = next + latency;
        match result {
            Destination::Register(_) => next + u64::from(!own.ports_for(next, reads, Some(write), duration)),
            Destination::Scratchpad(frame) => {
                let leave = own.to_scratchpad.earliest(write, duration);
                let arrive = self.through_bank(frame.bank, Way::Enter, leave + self.network);
                let next = arrive - self.network - latency;
                let idle = |from| self.banks[frame.bank as usize].is_idle(from, duration);
                let meets = streaming == Some(frame.bank) && !(idle(next - self.network) && idle(arrive));
                let blocked = next == at && (meets || !own.ports_for(next, reads, None, duration));
                next + u64::from(blocked)
            }
        }
    }

    /// Records the place of the result, whose first chunk is written in `write`, and frees dead operands.
    fn keep(&mut self, execution: &Execution<'_>, write: u64, result: Destination) {
        let &Execution { instruction, cluster, .. } = execution;
        match result {
            Destination::Register(index) => {
                let cell = Cell { value: instruction, at: write, free_from: write + 1 };
                self.clusters[cluster].cells[usize::from(index)] = cell;
                self.copies[instruction as usize] = 1 << cluster;
            }
            Destination::Scratchpad(frame) => {
                let at = write + self.network;
                self.held[instruction as usize] = Some(Held { frame, at, free_from: at + 1 });
            }
        }
        if self.remaining[instruction as usize] == 0 && !self.output[instruction as usize] {
            self.release(instruction);
        }
    }

    /// Reserves all resources of an instruction.
    fn commit(&mut self, execution: &Execution<'_>, unit: usize, start: u64, result: Destination) {
        let &Execution { instruction, cluster, latency, values, sources, .. } = execution;
        let (duration, write) = (self.geometry.occupancy, start + latency);
        let kind = self.graph.function(instruction as usize).unit();
        self.clusters[cluster].units[kind as usize][unit].reserve(start, self.geometry.occupancy_of(kind));
        for (&(source, _), &value) in sources.iter().zip(values) {
            match source {
                Source::Register(index) => {
                    let cell = &mut self.clusters[cluster].cells[usize::from(index)];
                    cell.free_from = cell.free_from.max(start + 1);
                }
                Source::Scratchpad(_) => {
                    self.touch(value, start - self.network);
                    self.send(source, cluster, start);
                }
                Source::Cluster(_) => self.send(source, cluster, start),
            }
        }
        if let Destination::Scratchpad(frame) = result {
            self.clusters[cluster].to_scratchpad.reserve(write, duration);
            self.banks[frame.bank as usize].reserve(Way::Enter, write + self.network, duration);
        }
        let write = matches!(result, Destination::Register(_)).then_some(write);
        self.clusters[cluster].take_ports(start, execution.reads(), write, duration);
        let first = sources[0].0;
        let operands = [first, sources.get(1).map_or(first, |&(source, _)| source)];
        let cluster = cluster as u16;
        self.push(start, Action::Execute { instruction, cluster, unit: unit as u8, operands, result });
    }
}
