//! Where the cycles of F1's units went: exclusive categories that sum to the total.
//!
//! A unit's gap before an instruction is charged in two parts. Until the later operand could be read it is the operand's: a
//! load's, if the operand came straight from memory; a crossbar's, if it waited on chip; the unit's that made it otherwise. After
//! that the instruction waited for a port or a register.

use super::action::{Action, Destination, Register, Slot, Source};
use super::compile::Compiled;
use super::graph::{LeafClass, UnitKind};
use super::machine::F1;
use crate::engine::stalls::{ClassStalls, Stall, Tally};
use std::collections::HashMap;

/// What wrote a place last, and from which cycle on it can be read.
#[derive(Clone, Copy, Debug)]
struct Origin {
    ready: u64,
    cause: Stall,
    unit: Option<UnitKind>,
}

/// Stalls of every kind of unit, in the order of [`UnitKind::ALL`].
pub fn stalls(compiled: &Compiled, machine: &F1) -> Vec<ClassStalls> {
    let (graph, geometry) = (&compiled.translation.graph, &compiled.geometry);
    let network = machine.depth.network;
    let mut order: Vec<usize> = (0..compiled.actions.len()).collect();
    order.sort_unstable_by_key(|&index| compiled.actions[index].cycle);
    let mut slots: HashMap<Slot, Origin> = HashMap::new();
    let mut registers: HashMap<Register, Origin> = HashMap::new();
    // End of the last instruction of each unit, and what it has been charged.
    let mut units: HashMap<(UnitKind, u16, u8), (u64, Tally)> = HashMap::new();
    // A transfer that starts when its operand is there passes the operand's cause on; one that waits is itself the cause.
    let passed = |origin: Option<&Origin>, start: u64, ready: u64| match origin {
        Some(origin) if origin.ready == start => Origin { ready, ..*origin },
        _ => Origin { ready, cause: Stall::Transfer, unit: None },
    };
    for index in order {
        let timed = compiled.actions[index];
        let start = timed.cycle;
        match timed.action {
            Action::Load { slot, value, .. } => {
                let cause = match graph.vector(value as usize).as_leaf().map(|leaf| graph.leaves()[leaf]) {
                    Some(LeafClass::Hint) => Stall::KeySwitchKey,
                    _ => Stall::Transfer,
                };
                slots.insert(slot, Origin { ready: start + machine.memory_latency + 1, cause, unit: None });
            }
            Action::Store { .. } => {}
            Action::Fetch { slot, register } => {
                registers.insert(register, passed(slots.get(&slot), start, start + network + 1));
            }
            Action::WriteBack { register, slot } => {
                slots.insert(slot, passed(registers.get(&register), start, start + network + 1));
            }
            Action::Forward { from, to } => {
                registers.insert(to, passed(registers.get(&from), start, start + network + 1));
            }
            Action::Execute { instruction, cluster, unit, operands, result } => {
                let function = graph.function(instruction as usize);
                let kind = function.unit();
                let (end, tally) = units.entry((kind, cluster, unit)).or_default();
                let gap = start - *end;
                let arrived = |operand: &Source| match *operand {
                    Source::Register(index) => registers.get(&Register { cluster, index }).copied(),
                    Source::Scratchpad(slot) => Some(passed(slots.get(&slot), start - network, start)),
                    Source::Cluster(from) => Some(passed(registers.get(&from), start - network, start)),
                };
                let late = operands.iter().filter_map(arrived).max_by_key(|origin| origin.ready);
                let waited = late.map_or(0, |origin| origin.ready.min(start).saturating_sub(*end));
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
                *end = start + geometry.occupancy_of(kind);
                let ready = start + geometry.latency(function) + 1;
                let origin = Origin { ready, cause: Stall::Upstream, unit: Some(kind) };
                match result {
                    Destination::Register(index) => {
                        registers.insert(Register { cluster, index }, origin);
                    }
                    Destination::Scratchpad(slot) => {
                        slots.insert(slot, Origin { ready: ready + network, ..origin });
                    }
                }
            }
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
