//! The hardware scheduler (section V-E): dispatches an instruction when its dependences are done and its unit is free.
//!
//! [`crate::tfhe::dispatcher`] runs the simulation. Loads of the key-switch key have priority on the channels (section
//! IV-C). A transfer spreads over the memory channels ([`super::channels`]); the next transfer starts when the first of
//! its channels is free. [`super::array`] schedules blind rotations, starting from the state after the previous one.
//!
//! Instructions and transfers that would exceed a bank of Private-B or of the Shared buffer wait (`banks.rs`). Lane
//! groups that switch keys with the same tile either read its rows in different orders or share a multicast
//! (`machine.key_switch.multicast`).

use super::array::{ArrayState, Rotation, RotationCache, StepCycles};
use super::banks::{Banks, Demand};
use super::channels::{Channels, items};
use super::emit::places::{KeyRows, Places};
use super::instruction::Opcode;
use super::machine::Morphling;
use super::software::{Streams, Unit};
use crate::tfhe::channels::Part;
use crate::tfhe::dispatcher::{self, Started};
use std::collections::HashMap;
use std::rc::Rc;

pub struct Timeline {
    pub starts: Vec<i64>,
    /// Completion cycle of each node, when its last result is written.
    pub ends: Vec<i64>,
    /// Parts of each transfer on the memory channels, relative to its start.
    pub parts: Parts,
    /// Events of each blind rotation, relative to its start.
    pub rotations: HashMap<u32, Rc<Rotation>>,
    /// For each node, the order in which it reads rows of a key.
    pub(crate) rows: Vec<KeyRows>,
    pub steps: StepCycles,
}

/// The parts of all transfers. Networks have millions of nodes but few distinct part lists, so these are shared.
#[derive(Debug)]
pub struct Parts {
    /// For each node, an index into `distinct`; index 0 is the empty list.
    of: Vec<u32>,
    distinct: Vec<Rc<[Part]>>,
    known: HashMap<Rc<[Part]>, u32>,
}

impl Parts {
    fn new(nodes: usize) -> Self {
        let none: Rc<[Part]> = Rc::new([]);
        Self { of: vec![0; nodes], distinct: vec![Rc::clone(&none)], known: HashMap::from([(none, 0)]) }
    }

    fn set(&mut self, node: u32, parts: &[Part]) {
        let number = self.known.get(parts).copied().unwrap_or_else(|| {
            let (parts, number): (Rc<[Part]>, _) = (parts.into(), self.distinct.len() as u32);
            self.distinct.push(Rc::clone(&parts));
            self.known.insert(parts, number);
            number
        });
        self.of[node as usize] = number;
    }

    /// An index that two nodes share if and only if their parts are equal.
    pub fn number(&self, node: u32) -> u32 {
        self.of[node as usize]
    }

    /// The parts of a node; empty if the node is not a transfer.
    pub fn of(&self, node: u32) -> &[Part] {
        &self.distinct[self.number(node) as usize]
    }
}

pub(crate) fn run(places: &Places<'_>) -> Timeline {
    let (machine, streams) = (places.machine, places.streams);
    let sizes = &streams.layout.sizes;
    let mut chip = Chip {
        places,
        banks: Banks::new(places),
        rows: vec![KeyRows::OWN; streams.nodes.len()],
        multicast: None,
        switches: (0, HashMap::new()),
        machine,
        streams,
        steps: machine.steps(sizes),
        state: ArrayState::new(machine.columns as usize, machine.key_buffers as usize),
        origin: 0,
        cache: RotationCache::default(),
        channels: Channels::new(machine),
        parts: Parts::new(streams.nodes.len()),
        rotations: HashMap::new(),
    };
    let times = dispatcher::run(&streams.nodes, |node| streams.waits.of(node), |node, now| chip.start(node, now));
    let Chip { parts, rotations, rows, steps, .. } = chip;
    Timeline { starts: times.starts, ends: times.ends, parts, rotations, rows, steps }
}

/// The latest multicast: its cycle, its readers, and its group and tile.
#[derive(Clone, Copy)]
struct Multicast {
    start: i64,
    node: u32,
    group: u32,
    tile: u16,
}

type SwitchDemands = HashMap<(u8, u8, bool, KeyRows), Rc<[Demand]>>;

struct Chip<'a> {
    places: &'a Places<'a>,
    banks: Banks,
    rows: Vec<KeyRows>,
    multicast: Option<Multicast>,
    /// Cached bank demands of one group's key switches, by lane group, the tile's entry, whether earlier sums are read,
    /// and order of rows. A group has hundreds of tiles.
    switches: (u32, SwitchDemands),
    machine: &'a Morphling,
    streams: &'a Streams,
    steps: StepCycles,
    state: ArrayState,
    /// Cycle to which the state is relative.
    origin: i64,
    cache: RotationCache,
    channels: Channels,
    parts: Parts,
    rotations: HashMap<u32, Rc<Rotation>>,
}

impl Chip<'_> {
    fn start(&mut self, node: u32, now: i64) -> Started {
        let info = &self.streams.nodes[node as usize];
        match info.unit {
            Unit::Array if info.instruction.opcode == Opcode::BlindRotate => self.rotate(node, now),
            Unit::Dma | Unit::KeyDma => self.transfer(node, now),
            Unit::Array | Unit::Link | Unit::Lanes(_) => self.operate(node, now),
        }
    }

    /// Starts an instruction as soon as its banks are free.
    fn operate(&mut self, node: u32, now: i64) -> Started {
        let info = &self.streams.nodes[node as usize];
        let mut best: Option<(i64, Rc<[Demand]>, KeyRows)> = None;
        for rows in self.orders(node, now) {
            let demands = self.demands(node, rows);
            let start = self.banks.earliest(&demands, now);
            // A multicast's receiver must start in the multicast's cycle.
            let possible = rows != KeyRows::Received || start == now;
            if possible && best.as_ref().is_none_or(|&(earliest, ..)| start < earliest) {
                best = Some((start, demands, rows));
            }
            if best.as_ref().is_some_and(|&(start, ..)| start == now) {
                break;
            }
        }
        let Some((start, demands, rows)) = best else { unreachable!("an instruction has an order of rows") };
        self.banks.book(&demands, start, now);
        if info.instruction.opcode == Opcode::KeySwitch {
            self.order(node, start, rows);
        }
        let free = start + i64::from(info.occupancy);
        Started { start, end: free + i64::from(info.latency), free, waves: Vec::new() }
    }

    /// Bank demands of an instruction if it reads a key's rows in order `rows`.
    fn demands(&mut self, node: u32, rows: KeyRows) -> Rc<[Demand]> {
        let (places, info) = (self.places, &self.streams.nodes[node as usize]);
        let i = &info.instruction;
        let of_banks = |banks: &Banks| banks.demands(&places.events(&places.place(node), info, rows)).into();
        if i.opcode != Opcode::KeySwitch {
            return of_banks(&self.banks);
        }
        let (group, known) = &mut self.switches;
        if *group != i.group {
            *group = i.group;
            known.clear();
        }
        let key = (i.unit, i.entry, i.part > 0, rows);
        Rc::clone(known.entry(key).or_insert_with(|| of_banks(&self.banks)))
    }

    /// Possible orders in which a key switch may read the rows of its tile, best first.
    fn orders(&self, node: u32, now: i64) -> Vec<KeyRows> {
        let i = &self.streams.nodes[node as usize].instruction;
        if i.opcode != Opcode::KeySwitch {
            return vec![KeyRows::OWN];
        }
        if !self.machine.multicasts_rows {
            return (0..self.machine.lane_groups as u8).map(KeyRows::Rotated).collect();
        }
        let shares = self.multicast.filter(|one| (one.start, one.group, one.tile) == (now, i.group, i.part));
        let mut orders = vec![KeyRows::Multicast(0)];
        if shares.is_some() {
            orders.insert(0, KeyRows::Received);
        }
        orders
    }

    /// Records an order of rows, and for a multicast its receivers.
    fn order(&mut self, node: u32, start: i64, rows: KeyRows) {
        self.rows[node as usize] = rows;
        let i = &self.streams.nodes[node as usize].instruction;
        match (rows, self.multicast) {
            (KeyRows::Multicast(_), _) => {
                self.multicast = Some(Multicast { start, node, group: i.group, tile: i.part });
            }
            (KeyRows::Received, Some(one)) => {
                if let KeyRows::Multicast(members) = &mut self.rows[one.node as usize] {
                    *members |= 1 << i.unit;
                }
            }
            _ => {}
        }
    }

    fn transfer(&mut self, node: u32, now: i64) -> Started {
        let info = &self.streams.nodes[node as usize];
        let items = items(&info.instruction);
        let places = self.places;
        let transfer = places.transfer(&places.place(node), &info.instruction);
        let banks = &mut self.banks;
        let in_banks = |part: &Part| {
            let demands = banks.demands([&places.part(info, &transfer, part, items.bytes)]);
            let start = banks.earliest(&demands, part.start);
            if start > part.start {
                return Err(start);
            }
            banks.book(&demands, start, now);
            Ok(())
        };
        let (parts, free) = match info.unit {
            // Private-A2 accepts the key's rate, and nothing else writes to it.
            Unit::KeyDma => self.channels.take_before_keys(self.machine, items, now),
            _ => self.channels.take(self.machine, items, now, self.steps.key, in_banks),
        };
        let past = |part: &Part| part.start + self.machine.channel_cycles(part.count * items.bytes);
        let end = parts.iter().map(past).max().unwrap_or(now) + i64::from(info.latency);
        let start = parts.iter().map(|part| part.start).min().unwrap_or(now);
        let parts: Vec<Part> = parts.iter().map(|part| Part { start: part.start - start, ..*part }).collect();
        self.parts.set(node, &parts);
        Started { start, end, free, waves: Vec::new() }
    }

    fn rotate(&mut self, node: u32, now: i64) -> Started {
        let machine = self.machine;
        let instruction = &self.streams.nodes[node as usize].instruction;
        let plan = self.streams.plan_of[&instruction.operation];
        let waves = u64::from(instruction.count).div_ceil(machine.positions()) as usize;
        let mut state = self.state.rebased(now - self.origin, &self.steps);
        // Channels finish the transfers that they have started. On shared channels, all transfers before now are known,
        // so no key transfer may start earlier.
        let begun = self.channels.key_free(machine) - now;
        state.reserve_channel(if machine.shares_channels() { begun.max(0) } else { begun });
        let (rotation, after) = self.cache.rotate(plan, &self.streams.plans[plan], &self.steps, waves, state);
        if machine.shares_channels() {
            self.channels.rotate(now, Rc::clone(&rotation));
        }
        self.state = after;
        self.origin = now;
        let waves = rotation.wave_done.iter().map(|done| now + done).collect();
        let started = Started { start: now, end: now + rotation.end, free: now + rotation.issue_end, waves };
        self.rotations.insert(node, rotation);
        started
    }
}
