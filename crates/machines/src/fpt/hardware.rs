//! Dispatches the tasks. The pipeline is rigid: the first cycle of a batch determines all its other cycles.

use super::machine::{Fpt, Shape};
use super::software::{Action, Task, Tasks, Unit};
use crate::tfhe::channels;
use crate::tfhe::dispatcher::{self, Started, Times};

pub struct Timeline {
    /// Start and completion cycle of each task. A blind rotation starts when its first ciphertext reaches the rotator.
    pub times: Times,
}

/// Cycles from the first element read from the test polynomials' RAM to the first one in the accumulators' registers. A
/// second barrel shifter rotates the input; it reorders its output as the rotator does, but subtracts nothing.
pub fn load_latency(shape: &Shape) -> i64 {
    shape.to_decompose()
}

/// Cycles by which a batch's loads precede its first rotation: enough for the first accumulator and for the first key.
pub fn lead(machine: &Fpt, shape: &Shape) -> i64 {
    let key = machine.memory_latency as i64 + shape.key_cycles + 1 - shape.to_multiply();
    (load_latency(shape) + shape.group).max(key).max(0)
}

/// Cycles from a batch's first rotation to its last result in the output buffer.
pub fn through(shape: &Shape, count: u64) -> i64 {
    let iterations = (shape.lwe_dimension as i64 - 1) * shape.period;
    let last = (count as i64 - 1) * shape.cmux;
    iterations + last + shape.to_accumulate() + shape.accumulate + shape.cmux + 1
}

/// Bytes per cycle of `unit`.
pub fn rate(machine: &Fpt, unit: Unit) -> f64 {
    match unit {
        Unit::LinkIn | Unit::LinkOut => machine.link_bytes,
        Unit::Hbm => machine.channel_bytes,
        Unit::Host | Unit::HostMemory | Unit::Cmux => machine.host_memory,
    }
}

/// Cycles from the first byte sent to the first byte received.
pub fn latency(machine: &Fpt, unit: Unit) -> i64 {
    match unit {
        Unit::LinkIn | Unit::LinkOut => machine.link_latency as i64,
        Unit::Hbm => machine.memory_latency as i64,
        Unit::Host | Unit::HostMemory | Unit::Cmux => 1,
    }
}

pub fn run(machine: &Fpt, tasks: &Tasks) -> Timeline {
    let counts: Vec<u64> =
        tasks.batches.iter().flat_map(|batch| batch.tasks.clone().map(|_| u64::from(batch.count))).collect();
    let times = dispatcher::run(
        &tasks.tasks,
        |task| &tasks.tasks[task].waits,
        |index, now| start(machine, tasks, &tasks.tasks[index as usize], counts[index as usize], now),
    );
    Timeline { times }
}

fn start(machine: &Fpt, tasks: &Tasks, task: &Task, count: u64, now: i64) -> Started {
    let shape = &tasks.shape;
    let waves = Vec::new();
    match (task.action, task.unit) {
        (Action::Rotate, _) => {
            let lead = lead(machine, shape);
            let start = now + lead;
            let free = now + shape.lwe_dimension as i64 * shape.period;
            Started { start, end: start + through(shape, count), free, waves }
        }
        (_, Unit::Host) => {
            let free = now + (count * task.amount) as i64;
            Started { start: now, end: free + 1, free, waves }
        }
        (_, unit) => {
            let free = now + channels::cycles(task.amount, rate(machine, unit));
            Started { start: now, end: free + latency(machine, unit), free, waves }
        }
    }
}
