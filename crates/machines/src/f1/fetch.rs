//! Times of the instruction fetches: the streams are also in off-chip memory (section 3).
//!
//! Instructions are fetched in order of their start, far ahead, in idle cycles of the memory stacks. The
//! program starts when its first instructions have arrived. If idle cycles do not suffice for later
//! instructions, the whole program is delayed. All actions move by the same number of cycles.

use super::action::{Action, Timed};
use super::graph::{Graph, UnitKind};
use super::machine::{F1, Geometry};
use super::stream::{Component, bytes_of, each};
use polyfabric_kernels::cancel;
use polyfabric_sim::calendar::Calendar;
use polyfabric_sim::list::Instructions;

/// For an operation that reads for no crossbar.
const NO_LINE: u32 = u32::MAX;

/// An instruction of a component.
struct Notice {
    component: u32,
    /// Bytes of the instruction without its wait cycles.
    bytes: u8,
    /// The line that it reads for a crossbar.
    line: u32,
}

/// The latest instruction of a component.
#[derive(Clone, Copy)]
struct Last {
    component: Component,
    begin: u64,
    instructions: u64,
    /// Its index among the starts.
    start: u32,
    /// Its bytes without the wait cycles.
    bytes: u8,
}

/// Numbers the components of a machine.
struct Numbers {
    /// First index of each kind of unit, of register files, ports, banks and stacks.
    units: [usize; 4],
    registers: usize,
    ports: usize,
    banks: usize,
    stacks: usize,
    each: [usize; 4],
    clusters: usize,
}

impl Numbers {
    fn new(machine: &F1) -> Self {
        let mut next = 0;
        let mut several = |count: usize| {
            next += count;
            next - count
        };
        let units = UnitKind::ALL.map(|kind| several(machine.unit_count(kind)));
        let (registers, ports) = (several(machine.clusters), several(3 * machine.clusters));
        let (banks, stacks) = (several(machine.banks), several(machine.stacks));
        Self { units, registers, ports, banks, stacks, each: machine.units, clusters: machine.clusters }
    }

    fn of(&self, component: Component) -> u32 {
        let number = match component {
            Component::Unit(kind, cluster, unit) => {
                self.units[kind as usize] + usize::from(cluster) * self.each[kind as usize] + usize::from(unit)
            }
            Component::Registers(cluster) => self.registers + usize::from(cluster),
            Component::Port(way, cluster) => self.ports + usize::from(way) * self.clusters + usize::from(cluster),
            Component::Bank(bank) => self.banks + usize::from(bank),
            Component::Stack(stack) => self.stacks + usize::from(stack),
        };
        number as u32
    }
}

/// The start cycles and bytes of the instructions of `actions`, which are in order of time, without building
/// the streams.
pub fn instructions(graph: &Graph, actions: &[Timed], machine: &F1, geometry: &Geometry) -> Instructions {
    let numbers = Numbers::new(machine);
    let components = numbers.stacks + machine.stacks;
    let mut last: Vec<Option<Last>> = vec![None; components];
    let mut kinds: Vec<Component> = vec![Component::Bank(0); components];
    let mut given = vec![u64::MAX; geometry.lines(machine)];
    let mut starts: Vec<(u64, u64)> = Vec::new();
    let mut calendar: Calendar<Notice> = Calendar::new(0);
    let mut due: Vec<Notice> = Vec::new();
    let mut until = |calendar: &mut Calendar<Notice>, kinds: &[Component], cycle: i64| {
        while let Some(now) = calendar.next_before(cycle) {
            let now = now as u64;
            calendar.take(&mut due);
            let place = starts.len();
            starts.push((now, 0));
            for &Notice { component, bytes, line } in &due {
                let given = given.get_mut(line as usize).filter(|_| machine.multicast);
                if given.is_some_and(|given| std::mem::replace(given, now) == now) {
                    continue;
                }
                let last = &mut last[component as usize];
                let mut next = Last {
                    component: kinds[component as usize],
                    begin: now,
                    instructions: 1,
                    start: place as u32,
                    bytes,
                };
                if let Some(before) = last {
                    let begun = &mut starts[before.start as usize];
                    begun.1 += u64::from(before.bytes) + bytes_of(now - begun.0);
                    (next.begin, next.instructions) = (before.begin, before.instructions + 1);
                }
                *last = Some(next);
            }
        }
    };
    for timed in actions {
        cancel::check();
        // No operand of the remaining actions is sent before this cycle.
        until(&mut calendar, &kinds, timed.cycle.saturating_sub(machine.depth.network) as i64);
        each(graph, timed, machine, geometry, |component, cycle, operation, read| {
            let number = numbers.of(component);
            kinds[number as usize] = component;
            let bytes = operation.bytes() as u8;
            let line = read.and_then(|read| geometry.line(read, machine.banks)).map_or(NO_LINE, |line| line as u32);
            calendar.push(cycle as i64, Notice { component: number, bytes, line });
        });
    }
    until(&mut calendar, &kinds, i64::MAX);
    let streams = last.iter().flatten();
    let mut bytes = bytes_of(streams.clone().count() as u64);
    for stream in streams {
        starts[stream.start as usize].1 += u64::from(stream.bytes) + bytes_of(0);
        bytes += stream.component.head_bytes(stream.begin, stream.instructions);
    }
    bytes += starts.iter().map(|&(_, bytes)| bytes).sum::<u64>();
    Instructions { starts, bytes }
}

/// Delays `actions` until every instruction arrives in time; returns them in order of time.
pub fn behind(mut actions: Vec<Timed>, graph: &Graph, machine: &F1, geometry: &Geometry) -> Vec<Timed> {
    actions.sort_by_key(|timed| timed.cycle);
    let delay = delay(&instructions(graph, &actions, machine, geometry), &actions, machine, geometry);
    actions.iter_mut().for_each(|timed| timed.cycle += delay);
    actions
}

/// The delay of `actions` such that the stacks deliver each of the `instructions` before its start.
fn delay(instructions: &Instructions, actions: &[Timed], machine: &F1, geometry: &Geometry) -> u64 {
    let busy = actions.iter().filter(|timed| matches!(timed.action, Action::Load { .. } | Action::Store { .. }));
    let starts: Vec<u64> = busy.map(|timed| timed.cycle).collect();
    let transfer = geometry.transfer;
    // Transfers that have ended, transfers that have started, and the stack cycles of instructions.
    let (mut ended, mut begun, mut bytes, mut worst) = (0, 0, 0, 0_f64);
    for &(cycle, more) in &instructions.starts {
        bytes += more;
        // Instructions that start within one latency of the first action are requested before it.
        let ahead = machine.memory_latency.saturating_sub(cycle);
        let until = cycle.saturating_sub(machine.memory_latency);
        while starts.get(begun).is_some_and(|&start| start <= until) {
            begun += 1;
        }
        while starts.get(ended).is_some_and(|&start| start + transfer <= until) {
            ended += 1;
        }
        let under_way: u64 = starts[ended..begun].iter().map(|start| until - start).sum();
        let idle = machine.stacks as u64 * until - (ended as u64 * transfer + under_way);
        let late = (ahead * machine.stacks as u64) as f64 + bytes as f64 / machine.stack_bytes;
        worst = worst.max(late - idle as f64);
    }
    (worst / machine.stacks as f64).ceil() as u64
}
