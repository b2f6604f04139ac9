//! Events of the lane groups. Operands move from Private-B and the Shared buffer to a group's vector register file,
//! three vectors at a time, and from there to its lanes. Each instruction is a load event and, one bank latency later,
//! a compute event. The vectors that pass a register in sequence are one stream with one value.

use super::GroupPlace;
use super::places::{KeyRows, Places, op_ref};
use crate::morphling::instruction::{Instruction, Opcode};
use crate::morphling::latency;
use crate::morphling::software::{LinearNeeds, Node, lane_positions, linear_block, switch_blocks, wave_range};
use crate::tfhe::labels::Meaning;
use crate::tfhe::sizes::COEFFICIENT_BYTES;
use crate::tfhe::transfers::{access, between};
use crate::tfhe::workload::{Item, Work};
use polyfabric_program::tfhe::kernel::OpKind;
use polyfabric_sim::schedule::{Access, Event, KindId, Order, Value};

/// One register each for vectors, scalars, sums, and mask elements whose digits are the next scalars.
const REGISTERS: usize = 4;
const MASK: usize = 3;

/// Operands and results of an instruction.
struct Vectors {
    kind: KindId,
    work: u64,
    /// By register.
    operands: [Vec<Access>; REGISTERS],
    /// The tile of the key-switch key that passes the first register, whichever group loads its rows: its value and
    /// bytes.
    key: Option<(Value, u64)>,
    /// Reads that must precede the instruction.
    tokens: Vec<Access>,
    results: Vec<Access>,
}

impl Vectors {
    fn new(kind: KindId, work: u64) -> Self {
        Self { kind, work, operands: Default::default(), key: None, tokens: Vec::new(), results: Vec::new() }
    }

    /// Values and bytes of the vectors that pass register `register`. A ciphertext that two results need passes twice
    /// and is listed twice.
    fn passes(&self, register: usize) -> (Vec<Value>, u64) {
        if let Some((tile, bytes)) = self.key.filter(|_| register == 0) {
            return (vec![tile], bytes);
        }
        let operands = &self.operands[register];
        (operands.iter().map(|access| access.value).collect(), operands.iter().map(|access| access.bytes).sum())
    }
}

/// A lane group overwrites its sums in the order of its reads.
fn in_order(mut access: Access) -> Access {
    access.order = Order::Stream;
    access
}

impl Places<'_> {
    pub(super) fn vector_events(&self, place: &GroupPlace<'_>, info: &Node, lane: u64, rows: KeyRows) -> Vec<Event> {
        let i = &info.instruction;
        let occupancy = i64::from(info.occupancy.max(1));
        let vectors = match i.opcode {
            Opcode::ModulusSwitch => self.modulus_switch(place, i, lane),
            Opcode::SampleExtract => self.sample_extract(place, i, lane),
            Opcode::KeySwitch => self.key_switch(place, info, lane, rows),
            _ => self.linear(place, i, lane),
        };
        let read = latency::register_load(self.machine.depth) as i64;
        let lead = self.lead(i);
        let span = |late: i64| (late + lead, late + occupancy - 1);
        let passing = |register: usize, late: i64| match register {
            MASK => (late, late + occupancy - 1 - lead),
            _ => span(late),
        };
        let (mut loaded, mut streams) = (Vec::new(), Vec::new());
        for register in 0..REGISTERS {
            let (values, bytes) = vectors.passes(register);
            if values.is_empty() {
                continue;
            }
            let value = self.labels.together(self.chip.classes.operands, values);
            streams.push(self.register(lane, register as u64, value, bytes, passing(register, 0)));
            if vectors.operands[register].is_empty() {
                continue;
            }
            let others = match rows {
                KeyRows::Multicast(members) if register == 0 => members,
                _ => 0,
            };
            for lane in [lane].into_iter().chain((0..self.machine.lane_groups).filter(|group| others >> group & 1 == 1))
            {
                loaded.push(self.register(lane, register as u64, value, bytes, passing(register, read - 1)));
            }
        }
        let event = |resource, start, kind, work, reads, writes| Event {
            resource,
            start,
            occupancy: occupancy as u32,
            work,
            parts: 1,
            op: op_ref(kind, i),
            reads,
            writes,
        };
        let mut events = Vec::new();
        let operands = (0..).zip(vectors.operands);
        let operands = operands.flat_map(|(register, reads)| reads.into_iter().map(move |read| (register, read)));
        // Rows of a key already have their cycles.
        let has_cycles = |register| register == 0 && i.opcode == Opcode::KeySwitch;
        let timed = |(register, read)| if has_cycles(register) { read } else { between(read, passing(register, 0)) };
        let reads: Vec<Access> = operands.map(timed).collect();
        if !reads.is_empty() {
            let work = reads.iter().map(|read| read.bytes).sum::<u64>() / COEFFICIENT_BYTES;
            events.push(event(self.chip.loads[lane as usize], 0, self.chip.kinds.load_operands, work, reads, loaded));
        }
        streams.extend(vectors.tokens.into_iter().map(|token| between(token, span(0))));
        let results: Vec<Access> = vectors.results.into_iter().map(|access| between(access, span(0))).collect();
        let bytes = results.iter().map(|result| result.bytes).sum();
        let value = self.labels.together(self.chip.classes.operands, results.iter().map(|result| result.value));
        // Results pass a register of the crossbar before the banks.
        let returned = i64::from(info.latency) - (latency::RESULT_RETURN as i64 - 1);
        let leave = |span| self.result(lane, value, bytes, span);
        let lanes = self.chip.lanes[lane as usize];
        events.push(event(lanes, read, vectors.kind, vectors.work, streams, vec![leave(span(returned - 1 - read))]));
        let (link, kind) = (self.chip.returns[lane as usize], self.chip.kinds.return_results);
        events.push(event(link, returned, kind, bytes / COEFFICIENT_BYTES, vec![leave(span(0))], results));
        events
    }

    /// Cycles by which mask elements precede a key switch's other operands.
    fn lead(&self, i: &Instruction) -> i64 {
        match i.opcode {
            Opcode::KeySwitch => latency::first_digits(self.machine.depth) as i64,
            _ => 0,
        }
    }

    fn modulus_switch(&self, place: &GroupPlace<'_>, i: &Instruction, lane: u64) -> Vectors {
        let layout = &self.streams.layout;
        let sizes = &layout.sizes;
        let wave = u64::from(i.wave);
        let mut vectors = Vectors::new(self.chip.kinds.modulus_switch, u64::from(i.count) * (sizes.lwe_dimension + 1));
        let Work::Bootstraps(work) = &self.streams.works[place.group.work] else { return vectors };
        let range = wave_range(self.machine, place.group, wave);
        // The wave's load names the entry of its ciphertexts.
        let entry = self.entry_of(place, i.wave, Opcode::LoadSmall);
        for position in lane_positions(self.machine, lane, range.len() as u64) {
            let source = self.lwe(work.sources[range.start + position as usize]);
            let read = self.in_set(layout.small_in, entry, self.set_of(position), sizes.small, source);
            vectors.operands[0].push(read);
            vectors.results.push(self.amounts_in(place, wave, u64::from(i.entry), position));
        }
        vectors
    }

    fn sample_extract(&self, place: &GroupPlace<'_>, i: &Instruction, lane: u64) -> Vectors {
        let layout = &self.streams.layout;
        let sizes = &layout.sizes;
        let wave = u64::from(i.wave);
        let mut vectors =
            Vectors::new(self.chip.kinds.sample_extract, u64::from(i.count) * (sizes.large_dimension + 1));
        let Work::Bootstraps(work) = &self.streams.works[place.group.work] else { return vectors };
        let range = wave_range(self.machine, place.group, wave);
        let mut nodes = place.group.nodes.clone().map(|node| &self.streams.nodes[node as usize].instruction);
        let store = nodes.find(|s| s.opcode == Opcode::StoreAccumulators && s.wave == i.wave && s.part == i.part);
        let out_entry = store.map_or(0, |store| u64::from(store.entry));
        for position in lane_positions(self.machine, lane, range.len() as u64) {
            if position % self.machine.rows / layout.store_rows != u64::from(i.part) {
                continue;
            }
            let from = self.rotated_at(out_entry, position);
            for polynomial in 0..sizes.polynomials {
                let iterations = sizes.lwe_dimension as u32;
                let value = self.accumulator(place, wave, position, polynomial, iterations);
                let at = from + polynomial * sizes.polynomial;
                let mut read = access(self.chip.shared, at, sizes.polynomial, value, (0, 0), Order::Any);
                // Only the constant coefficient of the body polynomial is read.
                if polynomial + 1 == sizes.polynomials {
                    read.bytes = COEFFICIENT_BYTES;
                }
                vectors.operands[0].push(read);
            }
            let value = self.lwe(work.extracted[range.start + position as usize]);
            let entry = u64::from(i.entry);
            vectors.results.push(self.in_set(layout.large, entry, self.set_of(position), sizes.large, value));
        }
        vectors
    }

    /// The key's rows pass the first register, digits the second, sums the third, mask elements the fourth. Digits and
    /// sums pass once per register's worth of rows.
    fn key_switch(&self, place: &GroupPlace<'_>, info: &Node, lane: u64, order: KeyRows) -> Vectors {
        let i = &info.instruction;
        let layout = &self.streams.layout;
        let sizes = &layout.sizes;
        let products = u64::from(i.amount);
        let work = u64::from(i.count) * (products + products * (sizes.lwe_dimension + 1));
        let mut vectors = Vectors::new(self.chip.kinds.key_switch, work);
        let (sources, results) = match &self.streams.works[place.group.work] {
            Work::Bootstraps(work) => (&work.extracted, work.switched.as_ref().unwrap_or(&work.extracted)),
            Work::KeySwitches(work) => (&work.sources, &work.results),
            Work::Linear(_) => return vectors,
        };
        let count = u64::from(i.count);
        vectors.key = Some((self.tile(i.part), count * products * sizes.small));
        match order {
            KeyRows::Rotated(by) => {
                let order = (0..layout.sets).map(|phase| (lane + u64::from(by) + phase) % layout.sets);
                vectors.operands[0] = self.key_rows(info, order);
            }
            KeyRows::Multicast(_) => vectors.operands[0] = self.key_rows(info, 0..layout.sets),
            KeyRows::Received => {}
        }
        let tiles = sizes.large_dimension / layout.tile_elements;
        let tile = u64::from(i.part);
        let positions = self.machine.positions();
        for wave in 0..u64::from(place.group.count).div_ceil(positions) {
            let range = wave_range(self.machine, place.group, wave);
            let entry = match &self.streams.works[place.group.work] {
                Work::Bootstraps(_) => self.entry_of(place, wave as u8, Opcode::SampleExtract),
                _ => self.entry_of(place, wave as u8, Opcode::LoadLarge),
            };
            for position in lane_positions(self.machine, lane, range.len() as u64) {
                let element = range.start + position as usize;
                let source = self.lwe(sources[element]);
                let mut mask = self.in_set(layout.large, entry, self.set_of(position), sizes.large, source);
                // The first sums begin with the body.
                mask.bytes = (layout.tile_elements + u64::from(tile == 0)) * COEFFICIENT_BYTES;
                vectors.operands[MASK].push(mask);
                let sum = |tiles: u64| {
                    let (element, done) = (element as u32, (tiles * layout.tile_elements) as u32);
                    let meaning = Meaning::SwitchSum { op: i.operation, element, done };
                    self.labels.value(self.chip.classes.key_switch_sum, [meaning])
                };
                let number = wave * positions + position;
                let passing = |value| {
                    let mut sum = in_order(self.switched(number, value));
                    sum.bytes *= switch_blocks(self.machine, layout);
                    sum
                };
                if tile > 0 {
                    vectors.operands[2].push(passing(sum(tile)));
                }
                let value = if tile + 1 == tiles { self.lwe(results[element]) } else { sum(tile + 1) };
                vectors.results.push(passing(value));
            }
        }
        vectors
    }

    /// The rows of a tile, one set after another in the order `order`, in equal shares of the time; each row is read
    /// once per ciphertext.
    fn key_rows(&self, info: &Node, order: impl Iterator<Item = u64>) -> Vec<Access> {
        let layout = &self.streams.layout;
        let (i, sets) = (&info.instruction, layout.sets as i64);
        let lead = self.lead(i);
        let begins = |phase: i64| lead + phase * (i64::from(info.occupancy) - lead) / sets;
        let section = |(phase, set): (i64, u64)| {
            let rows = layout.tile_rows(set);
            let bytes = (rows.end - rows.start) * layout.sizes.small;
            let mut rows = self.in_set(layout.tiles, u64::from(i.entry), (set, 0), bytes, self.tile(i.part));
            rows.bytes *= u64::from(i.count);
            between(rows, (begins(phase), begins(phase + 1) - 1))
        };
        (0..).zip(order).map(section).filter(|rows| rows.bytes > 0).collect()
    }

    /// Place in Private-B of the sum of ciphertext `number` of a group.
    pub(super) fn switched(&self, number: u64, value: Value) -> Access {
        let layout = &self.streams.layout;
        let positions = self.machine.positions();
        let (set, position) = self.set_of(number % positions);
        let number = number / positions * self.machine.group_positions() + position;
        self.in_set(layout.sums, 0, (set, number), layout.sizes.small, value)
    }

    /// The operands of a block of a linear layer in Private-B, spread evenly over the sets.
    pub(super) fn operands(&self, place: &GroupPlace<'_>, i: &Instruction) -> Vec<Access> {
        let Work::Linear(layer) = &self.streams.works[place.group.work] else { return Vec::new() };
        let (layout, bytes) = (&self.streams.layout, self.lwe_bytes(i));
        let columns = self.needs(i).map_or(&[][..], |needs| needs.block(i.first as usize, usize::from(i.part)));
        let of_set = linear_block(layout, bytes) / layout.sets;
        let (count, sets) = (columns.len() as u64, layout.sets);
        let at = |(&column, number): (&u32, u64)| {
            let set = ((number + 1) * sets - 1) / count;
            let number = u64::from(i.entry) * of_set + number - set * count / sets;
            self.in_set(layout.linear, 0, (set, number), bytes, self.lwe(layer.sources[column as usize]))
        };
        columns.iter().zip(0..).map(at).collect()
    }

    fn needs(&self, i: &Instruction) -> Option<&LinearNeeds> {
        self.streams.needs.get(&i.operation)
    }

    /// Place in Private-B of sum `number` of lane group `set`, after two blocks of operands.
    pub(super) fn linear_sum(&self, (set, number): (u64, u64), bytes: u64, value: Value) -> Access {
        let layout = &self.streams.layout;
        let of_set = linear_block(layout, bytes) / layout.sets;
        self.in_set(layout.linear, 0, (set, 2 * of_set + number), bytes, value)
    }

    fn linear(&self, place: &GroupPlace<'_>, i: &Instruction, lane: u64) -> Vectors {
        let bytes = self.lwe_bytes(i);
        let mut vectors = Vectors::new(self.chip.kinds.linear, u64::from(i.amount) * u64::from(i.length));
        let (Some(needs), OpKind::Linear { matrix, .. }) =
            (self.needs(i), &self.program.ops[i.operation as usize].kind)
        else {
            return vectors;
        };
        let part = usize::from(i.part);
        let rows = i.first as usize..i.first as usize + usize::from(i.count);
        let passes: Vec<_> = rows
            .filter_map(|row| needs.passes(matrix, row).find(|pass| pass.block == part).map(|pass| (row, pass)))
            .collect();
        let columns = needs.block(i.first as usize, part);
        let mut uses = vec![0u64; columns.len()];
        for column in passes.iter().flat_map(|(_, pass)| pass.columns) {
            uses[columns.partition_point(|other| other < column)] += 1;
        }
        for (mut operand, uses) in self.operands(place, i).into_iter().zip(uses) {
            if uses > 0 {
                operand.bytes *= uses;
                vectors.operands[0].push(operand);
            }
        }
        for (row, pass) in passes {
            let sum = |after: usize| {
                let meaning = Meaning::LinearSum { op: i.operation, row: row as u32, done: needs.done(row, after) };
                self.labels.value(self.chip.classes.linear_sum, [meaning])
            };
            let at = (lane, row as u64 - u64::from(i.first));
            if let Some(before) = pass.before {
                vectors.operands[2].push(in_order(self.linear_sum(at, bytes, sum(before))));
            }
            let value =
                if pass.last { self.lwe(Item { op: i.operation, element: row as u32 }) } else { sum(pass.block) };
            vectors.results.push(in_order(self.linear_sum(at, bytes, value)));
        }
        if vectors.operands.iter().all(Vec::is_empty) {
            vectors.tokens.push(self.dispatched(place));
        }
        vectors
    }
}
