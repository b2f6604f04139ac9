//! How transfers spread over the memory channels.
//!
//! A transfer is a row of equal items: ciphertexts, rows of a key-switch key, bursts of a test polynomial. Each channel that
//! serves it takes a run of them, all runs as long as can be, and each channel takes its run as soon as it is free. Where the
//! key has channels of its own, a run is one event. Where it shares them, a run is cut at the key's transfers, between items.

use super::array::Rotation;
use super::instruction::{Instruction, Opcode};
use super::machine::{COEFFICIENT_BYTES, Morphling};
use std::ops::Range;
use std::rc::Rc;

/// Bytes of a test polynomial that stay together: one burst of a channel.
pub const BURST_BYTES: u64 = 64;

/// The items of one transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Items {
    /// Their number.
    pub count: u64,
    /// Bytes of one.
    pub bytes: u64,
}

impl Items {
    /// What instruction `i` of the DMA stream moves.
    pub fn of(i: &Instruction) -> Self {
        let amount = u64::from(i.amount);
        match i.opcode {
            Opcode::Fetch => Self { count: 1, bytes: amount },
            Opcode::LoadTables => Self { count: amount / BURST_BYTES, bytes: BURST_BYTES },
            _ => Self { count: u64::from(i.count), bytes: u64::from(i.length) * COEFFICIENT_BYTES },
        }
    }

    /// The run that channel `index` of `channels` takes.
    pub fn run(&self, index: u64, channels: u64) -> Range<u64> {
        index * self.count / channels..(index + 1) * self.count / channels
    }
}

/// Items that one channel moves at a stretch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The channel, counted over all of them.
    pub channel: u32,
    /// First item.
    pub first: u64,
    /// Number of items.
    pub count: u64,
    /// First cycle.
    pub start: i64,
}

/// When each channel is free, and when the bootstrapping key needs it.
pub struct Channels {
    free: Vec<i64>,
    /// Blind rotations whose key is still to come, with their dispatch.
    keys: Vec<(i64, Rc<Rotation>)>,
}

impl Channels {
    /// All free.
    pub fn new(machine: &Morphling) -> Self {
        Self { free: vec![0; machine.channels as usize], keys: Vec::new() }
    }

    /// A blind rotation was dispatched at cycle `origin`.
    pub fn rotate(&mut self, origin: i64, rotation: Rc<Rotation>) {
        self.keys.push((origin, rotation));
    }

    /// First cycle from which on all of `machine`'s channels are free of what has been dispatched.
    pub fn all_free(&self) -> i64 {
        self.free.iter().copied().max().unwrap_or(0)
    }

    /// The key transfer of `key` cycles, if any, that is under way in `cycle` or the next after it.
    fn next_key(&self, cycle: i64, key: i64) -> Option<i64> {
        let next = |(origin, rotation): &(i64, Rc<Rotation>)| Some(origin + rotation.key_after(cycle - origin, key)?);
        self.keys.iter().filter_map(next).min()
    }

    /// Takes `items` from cycle `now` on; the key's transfers take `key` cycles. Returns the parts, and the first cycle in
    /// which one of the channels that they are on is free again.
    pub fn take(&mut self, machine: &Morphling, items: Items, now: i64, key: i64) -> (Vec<Part>, i64) {
        self.keys.retain(|(origin, rotation)| rotation.key_after(now - origin, key).is_some());
        let first = machine.channels - machine.vector_channels;
        let mut parts = Vec::new();
        let mut free = i64::MAX;
        for index in 0..machine.vector_channels {
            let run = items.run(index, machine.vector_channels);
            if run.is_empty() {
                continue;
            }
            let channel = first + index;
            let mut at = self.free[channel as usize].max(now);
            let mut next = run.start;
            while next < run.end {
                let mut count = run.end - next;
                if machine.shares_channels()
                    && let Some(start) = self.next_key(at, key)
                {
                    let room = start - at;
                    while count > 0 && machine.channel_cycles(count * items.bytes) > room {
                        // As many as fit, or one less where the last cycle is not full.
                        let fitting = (room.max(0) as f64 * machine.channel_bytes / items.bytes as f64) as u64;
                        count = fitting.min(count - 1);
                    }
                    if count == 0 {
                        at = start + key;
                        continue;
                    }
                }
                parts.push(Part { channel: channel as u32, first: next, count, start: at });
                at += machine.channel_cycles(count * items.bytes);
                next += count;
            }
            self.free[channel as usize] = at;
            free = free.min(at);
        }
        (parts, free)
    }
}
