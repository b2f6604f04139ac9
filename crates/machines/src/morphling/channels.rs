//! Spreads transfers over the memory channels, item by item ([`crate::tfhe::channels`]). If the key has separate
//! channels, a run of items is one event. If it shares them, key transfers split a run between items.

use super::array::Rotation;
use super::instruction::{Instruction, Opcode};
use super::machine::Morphling;
use crate::tfhe::channels::{BURST_BYTES, Items, Next, Part, spread};
use crate::tfhe::sizes::COEFFICIENT_BYTES;
use std::rc::Rc;

/// The items of DMA instruction `i`.
pub fn items(i: &Instruction) -> Items {
    let amount = u64::from(i.amount);
    match i.opcode {
        Opcode::Fetch => Items { count: 1, bytes: amount },
        Opcode::LoadTables | Opcode::LoadTwiddles => Items { count: amount / BURST_BYTES, bytes: BURST_BYTES },
        _ => Items { count: u64::from(i.count), bytes: u64::from(i.length) * COEFFICIENT_BYTES },
    }
}

/// Free times of the channels, and later transfers of the bootstrapping key.
pub struct Channels {
    free: Vec<i64>,
    /// Blind rotations with later key transfers, and their dispatch.
    keys: Vec<(i64, Rc<Rotation>)>,
}

impl Channels {
    pub fn new(machine: &Morphling) -> Self {
        Self { free: vec![0; machine.channels as usize], keys: Vec::new() }
    }

    /// Registers a blind rotation dispatched at cycle `origin`.
    pub fn rotate(&mut self, origin: i64, rotation: Rc<Rotation>) {
        self.keys.push((origin, rotation));
    }

    /// First cycle in which all transfers on the key's channels are done, except keys.
    pub fn key_free(&self, machine: &Morphling) -> i64 {
        self.free[..machine.key_channels as usize].iter().copied().max().unwrap_or(0)
    }

    /// Transfers `items` from cycle `now` on the key's channels, before the first key. Returns the parts, and the first
    /// cycle in which one of their channels is free.
    pub fn take_before_keys(&mut self, machine: &Morphling, items: Items, now: i64) -> (Vec<Part>, i64) {
        let channels = 0..machine.key_channels as u32;
        spread(items, channels, &mut self.free, now, machine.channel_bytes, |left| Next::Take(left.count))
    }

    /// Transfers `items` from cycle `now` on. The key's transfers take `key` cycles. `banks` reserves the banks of a
    /// part, or returns the cycle in which the busy bank is free. Returns the parts, and the first cycle in which one
    /// of their channels is free.
    pub fn take(
        &mut self,
        machine: &Morphling,
        items: Items,
        now: i64,
        key: i64,
        mut banks: impl FnMut(&Part) -> Result<(), i64>,
    ) -> (Vec<Part>, i64) {
        self.keys.retain(|(origin, rotation)| rotation.key_after(now - origin, key).is_some());
        let channels = (machine.channels - machine.vector_channels) as u32..machine.channels as u32;
        let keys = &self.keys;
        let before_key = |&Part { start: at, count: left, .. }: &Part| {
            if !machine.shares_channels() {
                return Next::Take(left);
            }
            let Some(start) = next_key(keys, at, key) else { return Next::Take(left) };
            let (room, mut count) = (start - at, left);
            while count > 0 && machine.channel_cycles(count * items.bytes) > room {
                // All that fit, or one fewer if the last cycle is partial.
                let fitting = (room.max(0) as f64 * machine.channel_bytes / items.bytes as f64) as u64;
                count = fitting.min(count - 1);
            }
            if count == 0 { Next::Wait(start + key) } else { Next::Take(count) }
        };
        let next = |left: &Part| match before_key(left) {
            Next::Take(count) => match banks(&Part { count, ..*left }) {
                Ok(()) => Next::Take(count),
                Err(free) => Next::Wait(free),
            },
            wait @ Next::Wait(_) => wait,
        };
        spread(items, channels, &mut self.free, now, machine.channel_bytes, next)
    }
}

/// The next key transfer, of `key` cycles, that ends after `cycle`.
fn next_key(keys: &[(i64, Rc<Rotation>)], cycle: i64, key: i64) -> Option<i64> {
    let next = |(origin, rotation): &(i64, Rc<Rotation>)| Some(origin + rotation.key_after(cycle - origin, key)?);
    keys.iter().filter_map(next).min()
}
