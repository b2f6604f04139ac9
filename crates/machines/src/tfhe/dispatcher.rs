//! A hardware scheduler: starts a task when its dependences are done and its unit is free.
//!
//! A discrete-event simulation. Of the tasks that are ready, each unit takes those of the highest [`Priority`], and among equals the one
//! with the lowest index. The machine defines what a started task does to its unit, and when ([`Started`]).

use polyfabric_kernels::cancel;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::hash::Hash;

/// A dependence of a task: the completion of task `node`, or of one wave of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Wait {
    /// Index of the task.
    pub node: u32,
    /// Wave, if the task is a blind rotation and one wave is enough.
    pub wave: Option<u8>,
}

impl Wait {
    /// Waits for all of task `node`.
    pub fn all(node: u32) -> Self {
        Self { node, wave: None }
    }
}

/// Priority among tasks that are ready for the same unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Priority {
    KeySwitchKey,
    /// A blind rotation waits for it.
    Rotation,
    /// Everything else.
    Rest,
}

/// A task, as the scheduler sees it.
pub trait Task {
    /// A unit that takes one task at a time.
    type Unit: Copy + Ord + Hash;

    /// The unit that executes it.
    fn unit(&self) -> Self::Unit;
    /// Its priority among ready tasks.
    fn priority(&self) -> Priority;
}

/// Times of a started task.
#[derive(Clone, Debug, Default)]
pub struct Started {
    /// First cycle.
    pub start: i64,
    /// Cycle in which its last result is in place.
    pub end: i64,
    /// Cycle from which the unit can take the next task.
    pub free: i64,
    /// Like `end` for each wave, if others wait for one.
    pub waves: Vec<i64>,
}

/// Start and end of every task.
#[derive(Clone, Debug, Default)]
pub struct Times {
    /// First cycles.
    pub starts: Vec<i64>,
    /// Completions.
    pub ends: Vec<i64>,
}

const WHOLE: u8 = u8::MAX;
/// A number that no task has: its event only wakes the units.
const NOBODY: u32 = u32::MAX;

struct Queue {
    free: i64,
    ready: BinaryHeap<Reverse<(Priority, u32)>>,
}

/// For each task, the tasks that wait for it. Programs of large rings have millions of tasks, most of them tiles of a key-switch key, and
/// each is looked up once.
struct Waiters {
    /// First entry of each task in `entries`, then the number of entries.
    first: Vec<u32>,
    /// The awaited wave, or [`WHOLE`], and the waiting task.
    entries: Vec<(u8, u32)>,
}

impl Waiters {
    fn of<'w>(tasks: usize, waits: &impl Fn(usize) -> &'w [Wait]) -> Self {
        let mut first = vec![0u32; tasks + 1];
        (0..tasks).flat_map(waits).for_each(|wait| first[wait.node as usize + 1] += 1);
        let mut sum = 0;
        for count in &mut first {
            sum += *count;
            *count = sum;
        }
        let mut next = first.clone();
        let mut entries = vec![(WHOLE, 0); sum as usize];
        for index in 0..tasks {
            for wait in waits(index) {
                let at = &mut next[wait.node as usize];
                entries[*at as usize] = (wait.wave.unwrap_or(WHOLE), index as u32);
                *at += 1;
            }
        }
        Self { first, entries }
    }

    fn of_task(&self, task: u32) -> std::ops::Range<usize> {
        self.first[task as usize] as usize..self.first[task as usize + 1] as usize
    }
}

struct Dispatcher<'a, T: Task> {
    tasks: &'a [T],
    queues: HashMap<T::Unit, Queue>,
    /// Cycle, then task and wave that complete.
    events: BinaryHeap<Reverse<(i64, u32, u8)>>,
    pending: Vec<u32>,
    waiters: Waiters,
}

impl<T: Task> Dispatcher<'_, T> {
    fn make_ready(&mut self, index: u32) {
        let task = &self.tasks[index as usize];
        let queue = self.queues.entry(task.unit()).or_insert_with(|| Queue { free: 0, ready: BinaryHeap::new() });
        queue.ready.push(Reverse((task.priority(), index)));
    }

    fn complete(&mut self, task: u32, wave: u8) {
        for entry in self.waiters.of_task(task) {
            let (waited, waiter) = self.waiters.entries[entry];
            if waited != wave {
                continue;
            }
            self.pending[waiter as usize] -= 1;
            if self.pending[waiter as usize] == 0 {
                self.make_ready(waiter);
            }
        }
    }

    /// The units that can take a task in cycle `now`, in their order.
    fn open(&self, now: i64) -> Vec<T::Unit> {
        let open = self.queues.iter().filter(|(_, queue)| queue.free <= now && !queue.ready.is_empty());
        let mut open: Vec<T::Unit> = open.map(|(&unit, _)| unit).collect();
        open.sort_unstable();
        open
    }
}

/// Runs `tasks`. `waits` returns the dependences of a task by its index; `start` starts a task by its index in a cycle.
pub fn run<'w, T: Task>(
    tasks: &[T],
    waits: impl Fn(usize) -> &'w [Wait],
    mut start: impl FnMut(u32, i64) -> Started,
) -> Times {
    let mut dispatcher = Dispatcher {
        tasks,
        queues: HashMap::new(),
        events: BinaryHeap::new(),
        pending: (0..tasks.len()).map(|task| waits(task).len() as u32).collect(),
        waiters: Waiters::of(tasks.len(), &waits),
    };
    for task in (0..tasks.len()).filter(|&task| waits(task).is_empty()) {
        dispatcher.make_ready(task as u32);
    }
    let mut times = Times { starts: vec![0; tasks.len()], ends: vec![0; tasks.len()] };
    let mut now = 0;
    loop {
        cancel::check();
        for unit in dispatcher.open(now) {
            let Some(queue) = dispatcher.queues.get_mut(&unit) else { continue };
            let Some(Reverse((_, task))) = queue.ready.pop() else { continue };
            let started = start(task, now);
            queue.free = started.free;
            times.starts[task as usize] = started.start;
            times.ends[task as usize] = started.end;
            dispatcher.events.push(Reverse((started.free, NOBODY, 0)));
            for (wave, &done) in started.waves.iter().enumerate() {
                dispatcher.events.push(Reverse((done, task, wave as u8)));
            }
            dispatcher.events.push(Reverse((started.end, task, WHOLE)));
        }
        let Some(&Reverse((next, ..))) = dispatcher.events.peek() else { break };
        now = next;
        while let Some(&Reverse((cycle, task, wave))) = dispatcher.events.peek()
            && cycle == now
        {
            dispatcher.events.pop();
            if task != NOBODY {
                dispatcher.complete(task, wave);
            }
        }
    }
    times
}

#[cfg(test)]
mod tests {
    //! Does a task start as early as possible, and the more urgent one first?

    use super::*;

    struct Toy {
        unit: u8,
        waits: Vec<Wait>,
        priority: Priority,
        cycles: i64,
    }

    impl Task for Toy {
        type Unit = u8;

        fn unit(&self) -> u8 {
            self.unit
        }
        fn priority(&self) -> Priority {
            self.priority
        }
    }

    #[test]
    fn order_and_waves() {
        let task = |unit, waits: &[Wait], priority, cycles| Toy { unit, waits: waits.to_vec(), priority, cycles };
        let tasks = [
            task(0, &[], Priority::Rest, 10),
            task(0, &[], Priority::Rotation, 3),
            task(1, &[Wait::all(0)], Priority::Rest, 5),
            task(1, &[Wait { node: 0, wave: Some(0) }], Priority::Rest, 2),
        ];
        // A task's first wave is done halfway.
        let waits = |task: usize| &*tasks[task].waits;
        let times = run(&tasks, waits, |index, now| {
            let cycles = tasks[index as usize].cycles;
            Started { start: now, end: now + cycles, free: now + cycles, waves: vec![now + cycles / 2] }
        });
        assert_eq!(times.starts, [3, 0, 13, 8]);
        assert_eq!(times.ends, [13, 3, 18, 10]);
    }
}
