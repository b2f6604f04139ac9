//! Where the cycles of F1's units went: exclusive categories that sum to the total.
//!
//! A unit's gap before an instruction is charged in two parts. Until the later operand could be read it is the operand's: a
//! load's, if the operand came straight from memory; a crossbar's, if it waited on chip; the unit's that made it otherwise. After
//! that the instruction waited for a port or a register.

use super::action::{Action, Destination, Register, Slot, Source};
use super::checker::{Moment, in_time_order};
use super::compile::Compiled;
use super::graph::{LeafClass, UnitKind};
use super::machine::F1;
use crate::engine::stalls::{ClassStalls, Stall, Tally};
use std::collections::HashMap;

/// What wrote a place last, and from which cycle on it can be read. Places are followed in the order of time, so nothing is charged to a
/// value that comes to a place later.
#[derive(Clone, Copy, Debug)]
struct Origin {
    ready: u64,
    cause: Stall,
    unit: Option<UnitKind>,
}

/// A transfer that starts when its operand is there passes the operand's cause on; one that waits is itself the cause. Of what is read by
/// `start`, so that it comes `later` cycles behind.
fn passed(origin: Option<&Origin>, start: u64, later: u64) -> Origin {
    match origin {
        Some(origin) if origin.ready == start => Origin { ready: start + later, ..*origin },
        _ => Origin { ready: start + later, cause: Stall::Transfer, unit: None },
    }
}

/// Stalls of every kind of unit, in the order of [`UnitKind::ALL`], of a schedule that the checker has passed.
pub fn stalls(compiled: &Compiled, machine: &F1) -> Vec<ClassStalls> {
    let (graph, geometry) = (&compiled.translation.graph, &compiled.geometry);
    let network = machine.depth.network;
    let mut slots: HashMap<Slot, Origin> = HashMap::new();
    let mut registers: HashMap<Register, Origin> = HashMap::new();
    // End of the last instruction of each unit, and what it has been charged.
    let mut units: HashMap<(UnitKind, u16, u8), (u64, Tally)> = HashMap::new();
    // Of what an action has read, until it writes; and of what has left for a unit.
    let mut carried: HashMap<usize, Origin> = HashMap::new();
    let mut under_way: HashMap<usize, [Option<Origin>; 2]> = HashMap::new();
    for (cycle, moment, index) in in_time_order(graph, &compiled.actions, machine, geometry).unwrap_or_default() {
        match (moment, compiled.actions[index].action) {
            (Moment::Depart, Action::Execute { operands, .. }) => {
                let leaving = operands.map(|operand| match operand {
                    Source::Register(_) => None,
                    Source::Scratchpad(slot) => Some(passed(slots.get(&slot), cycle, network)),
                    Source::Cluster(from) => Some(passed(registers.get(&from), cycle, network)),
                });
                under_way.insert(index, leaving);
            }
            (Moment::Start, Action::Load { value, .. }) => {
                let cause = match graph.vector(value as usize).as_leaf().map(|leaf| graph.leaves()[leaf]) {
                    Some(LeafClass::Hint) => Stall::KeySwitchKey,
                    _ => Stall::Transfer,
                };
                carried.insert(index, Origin { ready: cycle + geometry.load_latency + 1, cause, unit: None });
            }
            (Moment::Start, Action::Fetch { slot, .. }) => {
                carried.insert(index, passed(slots.get(&slot), cycle, network + 1));
            }
            (Moment::Start, Action::WriteBack { register, .. } | Action::Forward { from: register, .. }) => {
                carried.insert(index, passed(registers.get(&register), cycle, network + 1));
            }
            (Moment::Start, Action::Execute { instruction, cluster, unit, operands, result }) => {
                let function = graph.function(instruction as usize);
                let kind = function.unit();
                let (end, tally) = units.entry((kind, cluster, unit)).or_default();
                let gap = cycle - *end;
                let streamed = under_way.remove(&index).unwrap_or_default();
                let arrived = operands.iter().zip(streamed).filter_map(|(operand, streamed)| match *operand {
                    Source::Register(index) => registers.get(&Register { cluster, index }).copied(),
                    _ => streamed,
                });
                let late = arrived.max_by_key(|origin| origin.ready);
                let waited = late.map_or(0, |origin| origin.ready.saturating_sub(*end));
                if *end == 0 {
                    tally.add(Stall::FillDrain, gap as i64);
                } else {
                    let cause = match late {
                        Some(Origin { unit: Some(maker), .. }) if maker == kind => Stall::Dependency,
                        Some(origin) => origin.cause,
                        None => Stall::Slack,
                    };
                    tally.add(cause, waited as i64);
                    tally.add(Stall::Buffer, (gap - waited) as i64);
                }
                tally.add(Stall::Busy, geometry.occupancy_of(kind) as i64);
                *end = cycle + geometry.occupancy_of(kind);
                let out = if matches!(result, Destination::Scratchpad(_)) { network } else { 0 };
                let ready = cycle + geometry.latency(function) + out + 1;
                carried.insert(index, Origin { ready, cause: Stall::Upstream, unit: Some(kind) });
            }
            (Moment::Write, action) => {
                let Some(origin) = carried.remove(&index) else { continue };
                match action {
                    Action::Load { slot, .. }
                    | Action::WriteBack { slot, .. }
                    | Action::Execute { result: Destination::Scratchpad(slot), .. } => drop(slots.insert(slot, origin)),
                    Action::Fetch { register, .. } | Action::Forward { to: register, .. } => {
                        registers.insert(register, origin);
                    }
                    Action::Execute { cluster, result: Destination::Register(index), .. } => {
                        registers.insert(Register { cluster, index }, origin);
                    }
                    Action::Store { .. } => {}
                }
            }
            _ => {}
        }
    }
    let total = compiled.checked.cycles as i64;
    let class = |kind: UnitKind| {
        let mut sum = Tally::default();
        for (_, (end, tally)) in units.iter().filter(|((of, ..), _)| *of == kind) {
            sum.accumulate(tally, 1);
            sum.add(Stall::FillDrain, total - *end as i64);
        }
        let used = units.keys().filter(|(of, ..)| *of == kind).count();
        let all = machine.unit_count(kind);
        sum.add(Stall::Unused, (all - used) as i64 * total);
        ClassStalls { class: kind.name().to_owned(), units: all as u64, tally: sum }
    };
    UnitKind::ALL.map(class).into()
}
