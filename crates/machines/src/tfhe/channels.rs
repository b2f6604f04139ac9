//! Distributes transfers over the memory channels.
//!
//! A transfer is a row of equal items: ciphertexts, rows of a key-switch key, bursts of a test polynomial. Each of its channels takes a run
//! of them as soon as it is free. All runs have nearly equal length.

use std::ops::Range;

/// Bytes of a test polynomial that stay together: one burst of a channel.
pub const BURST_BYTES: u64 = 64;

/// The items of one transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Items {
    pub count: u64,
    /// Bytes per item.
    pub bytes: u64,
}

impl Items {
    /// The run that channel `index` of `channels` takes.
    pub fn run(&self, index: u64, channels: u64) -> Range<u64> {
        index * self.count / channels..(index + 1) * self.count / channels
    }
}

/// Items that one channel transfers without interruption.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Part {
    /// Index among all channels.
    pub channel: u32,
    /// First item.
    pub first: u64,
    /// Number of items.
    pub count: u64,
    /// First cycle.
    pub start: i64,
}

/// The next step of a channel in its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Moves this many items, at least one.
    Take(u64),
    /// Waits until this cycle, which must be later.
    Wait(i64),
}

/// Cycles of `bytes` on a channel of `rate` bytes a cycle.
pub fn cycles(bytes: u64, rate: f64) -> i64 {
    // As in the checker, rounding errors of an integer cost no additional cycle.
    (bytes as f64 / rate - 1e-9).ceil().max(1.0) as i64
}

/// Transfers `items` from cycle `now` on, over `channels` of `rate` bytes per cycle, each `free` from a given cycle on. `next` decides what
/// a channel does in a cycle. Its argument is the rest of the channel's run, as a part that would start in that cycle. Returns the parts,
/// and the first cycle in which one of their channels is free again, or `now` without parts.
pub fn spread(
    items: Items,
    channels: Range<u32>,
    free: &mut [i64],
    now: i64,
    rate: f64,
    mut next: impl FnMut(&Part) -> Next,
) -> (Vec<Part>, i64) {
    let mut parts = Vec::new();
    let mut first_free: Option<i64> = None;
    let count = u64::from(channels.end - channels.start);
    for (channel, index) in channels.zip(0..) {
        let run = items.run(index, count);
        if run.is_empty() {
            continue;
        }
        let mut at = free[channel as usize].max(now);
        let mut first = run.start;
        while first < run.end {
            match next(&Part { channel, first, count: run.end - first, start: at }) {
                Next::Wait(until) => at = until,
                Next::Take(count) => {
                    parts.push(Part { channel, first, count, start: at });
                    at += cycles(count * items.bytes, rate);
                    first += count;
                }
            }
        }
        free[channel as usize] = at;
        first_free = Some(first_free.map_or(at, |earlier| earlier.min(at)));
    }
    (parts, first_free.unwrap_or(now))
}

#[cfg(test)]
mod tests {
    //! Is every item transferred once, and no channel used twice at a time?

    use super::*;

    #[test]
    fn runs_divide_the_items() {
        let mut free = vec![0, 10, 0];
        let (parts, first) =
            spread(Items { count: 5, bytes: 8 }, 1..3, &mut free, 4, 2.0, |left| Next::Take(left.count));
        let part = |channel, first, count, start| Part { channel, first, count, start };
        assert_eq!(parts, [part(1, 0, 2, 10), part(2, 2, 3, 4)]);
        assert_eq!((free, first), (vec![0, 18, 16], 16));
    }

    #[test]
    fn a_run_is_cut_where_it_must_wait() {
        let mut free = vec![0];
        // One item at a time, and none in cycles 4 to 9.
        let next = |left: &Part| if (4..10).contains(&left.start) { Next::Wait(10) } else { Next::Take(1) };
        let (parts, first) = spread(Items { count: 3, bytes: 8 }, 0..1, &mut free, 0, 2.0, next);
        assert_eq!(parts.iter().map(|part| part.start).collect::<Vec<_>>(), [0, 10, 14]);
        assert_eq!(first, 18);
    }
}
