//! The share of its peak bandwidth that a DRAM sustains: pages open and close, all banks are refreshed, and the bus turns between reads and writes.
//!
//! A pseudo-channel serves runs of consecutive addresses, because machines move whole polynomials and keys. Bursts alternate between bank groups,
//! and a run begins in new pages. The controller opens a page when the group's previous page begins to deliver.
//!
//! Example: runs of 8 KiB, read only, with a refresh of 350 ns every 3.9 us. Pages open while others deliver, so little more than the refresh is lost:
//! 90 % remain. Runs of 64 bytes in one bank lose most of the time to opening and closing.

use super::Dimension::{Bandwidth, Bytes, Count, Time};
use super::{Description, DescriptionError, FigureSpec, optional};

/// The bandwidth that the figures apply to.
pub(super) const BANDWIDTH: &str = "channels.hbm.bandwidth";

const RATE: &str = "channels.dram.rate";
const READS: &str = "channels.dram.reads";

/// Seconds.
const LONGEST: f64 = 10_000.0 * 1e-9;

const fn time(key: &'static str, meaning: &'static str) -> FigureSpec {
    optional(key, Time, 0.0, LONGEST, meaning)
}

/// The figures of a DRAM, which any file with that bandwidth may give: all or none. They bound the work below: a refresh interval has at most some ten thousand bursts.
pub const SPECS: &[FigureSpec] = &[
    optional(RATE, Bandwidth, 1e8, 1e12, "the peak rate of a pseudo-channel"),
    optional("channels.dram.burst", Bytes, 16.0, 4096.0, "a burst"),
    optional("channels.dram.page", Bytes, 64.0, 65536.0, "an open page of a bank"),
    optional("channels.dram.groups", Count, 1.0, 16.0, "the bank groups"),
    optional("channels.dram.banks", Count, 1.0, 64.0, "the banks of a group"),
    optional("channels.dram.run", Bytes, 16.0, 1e6, "the consecutive bytes of a transfer in a pseudo-channel"),
    optional(READS, Count, 1.0, 1e6, "the reads between two writes (default: no writes)"),
    time("channels.dram.column", "from a column's command to its data"),
    time("channels.dram.activate", "from opening a page to a column's command"),
    time("channels.dram.open", "the least time that a page is open"),
    time("channels.dram.precharge", "closing a page"),
    time("channels.dram.recovery", "from a write's last data to closing its page"),
    time("channels.dram.activates", "between opening two pages"),
    time("channels.dram.four_activates", "in which at most four pages are opened"),
    time("channels.dram.same_group", "between bursts of a bank group"),
    time("channels.dram.to_write", "the bus' rest between a read and a write"),
    time("channels.dram.to_read", "from a write's last data to a read's command"),
    optional("channels.dram.refresh_interval", Time, 100.0 * 1e-9, LONGEST, "between two refreshes of all banks"),
    time("channels.dram.refresh", "a refresh of all banks"),
];

/// Times in seconds.
#[derive(Clone, Copy, Debug)]
struct Dram {
    burst: f64,
    bursts_a_page: u64,
    groups: u64,
    banks: u64,
    /// Bytes of a run as a share of those of its bursts.
    used: f64,
    bursts_a_run: u64,
    reads: Option<u64>,
    column: f64,
    activate: f64,
    open: f64,
    precharge: f64,
    recovery: f64,
    activates: f64,
    four_activates: f64,
    same_group: f64,
    to_write: f64,
    to_read: f64,
    refresh_interval: f64,
    refresh: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Bank {
    page: Option<u64>,
    opened: f64,
    /// First time at which it may close, and if it is closed, open.
    free: f64,
}

/// Refresh intervals until the share is settled.
const INTERVALS: f64 = 16.0;

/// The share of [`BANDWIDTH`] that `d`'s DRAM sustains; 1 if the file has none.
pub(super) fn share(d: &Description) -> Result<f64, DescriptionError> {
    if !d.figures().contains_key(RATE) {
        return Ok(1.0);
    }
    let value = |name: &str| d.value(&format!("channels.dram.{name}"));
    let (rate, burst, page) = (value("rate")?, value("burst")?, value("page")?);
    let run = value("run")?;
    let bursts_a_run = (run / burst).ceil();
    let dram = Dram {
        burst: burst / rate,
        bursts_a_page: (page / burst).max(1.0) as u64,
        groups: d.count("channels.dram.groups")?,
        banks: d.count("channels.dram.banks")?,
        used: run / (bursts_a_run * burst),
        bursts_a_run: bursts_a_run as u64,
        reads: d.figures().contains_key(READS).then(|| d.count(READS)).transpose()?,
        column: value("column")?,
        activate: value("activate")?,
        open: value("open")?,
        precharge: value("precharge")?,
        recovery: value("recovery")?,
        activates: value("activates")?,
        four_activates: value("four_activates")?,
        same_group: value("same_group")?,
        to_write: value("to_write")?,
        to_read: value("to_read")?,
        refresh_interval: value("refresh_interval")?,
        refresh: value("refresh")?,
    };
    Ok(dram.share())
}

impl Dram {
    /// Delivers runs for some refresh intervals.
    fn share(&self) -> f64 {
        let groups = self.groups as usize;
        let mut banks = vec![Bank::default(); groups * self.banks as usize];
        // Of each group, the start of its last burst, and of the first burst of its page.
        let (mut last, mut began) = (vec![f64::MIN; groups], vec![0.0; groups]);
        let mut opened = [f64::MIN; 4];
        let (mut bus, mut due, mut bursts, mut first_page) = (0.0, self.refresh_interval, 0u64, 0u64);
        let (mut was_write, mut run) = (false, 0u64);
        while bus < INTERVALS * self.refresh_interval {
            let write = self.reads.is_some_and(|reads| run % (reads + 1) == reads);
            for burst in 0..self.bursts_a_run {
                let (group, column) = ((burst % self.groups) as usize, burst / self.groups);
                let page = first_page + column / self.bursts_a_page;
                let bank = group * self.banks as usize + (page % self.banks) as usize;
                if bus >= due {
                    let closed = banks.iter().fold(bus, |closed, bank| match bank.page {
                        Some(_) => closed.max(bank.free + self.precharge),
                        None => closed,
                    });
                    let free = closed + self.refresh;
                    banks.fill(Bank { page: None, opened: f64::MIN, free });
                    due += self.refresh_interval;
                }
                let new = banks[bank].page != Some(page);
                if new {
                    let before = banks[bank];
                    let closed = if before.page.is_some() { before.free + self.precharge } else { before.free };
                    let at =
                        closed.max(began[group]).max(opened[3] + self.activates).max(opened[0] + self.four_activates);
                    opened.rotate_left(1);
                    opened[3] = at;
                    banks[bank] = Bank { page: Some(page), opened: at, free: at + self.open };
                }
                let turn = match (was_write, write) {
                    (false, true) => self.to_write,
                    (true, false) => self.to_read + self.column,
                    _ => 0.0,
                };
                let start = (bus + turn)
                    .max(last[group] + self.same_group)
                    .max(banks[bank].opened + self.activate + self.column);
                bus = start + self.burst;
                let free = bus + if write { self.recovery } else { 0.0 };
                banks[bank].free = banks[bank].free.max(free);
                last[group] = start;
                if new {
                    began[group] = start;
                }
                was_write = write;
                bursts += 1;
            }
            first_page += (self.bursts_a_run.div_ceil(self.groups)).div_ceil(self.bursts_a_page);
            run += 1;
        }
        bursts as f64 * self.burst * self.used / bus
    }
}

#[cfg(test)]
mod tests {
    //! Does the share agree with numbers worked out by hand?

    use super::*;

    /// HBM2: 32 bytes at 16 GB/s are 2 ns.
    const HBM: Dram = Dram {
        burst: 2e-9,
        bursts_a_page: 32,
        groups: 4,
        banks: 4,
        used: 1.0,
        bursts_a_run: 256,
        reads: None,
        column: 14e-9,
        activate: 14e-9,
        open: 34e-9,
        precharge: 14e-9,
        recovery: 16e-9,
        activates: 4e-9,
        four_activates: 30e-9,
        same_group: 2e-9,
        to_write: 2e-9,
        to_read: 8e-9,
        refresh_interval: 3.9e-6,
        refresh: 350e-9,
    };

    fn assert_close(value: f64, expected: f64, tolerance: f64) {
        assert!((value - expected).abs() <= tolerance, "{value} instead of {expected}");
    }

    #[test]
    fn long_runs_lose_the_refresh_alone() {
        // A refresh costs its time, closing a page, and opening one with its first column: 350 + 14 + 28 ns of 3.9 us.
        assert_close(HBM.share(), 1.0 - 392.0 / 3900.0, 0.003);
        assert_close(Dram { refresh: 0.0, ..HBM }.share(), 1.0 - 42.0 / 3900.0, 0.003);
    }

    #[test]
    fn single_bursts_in_one_bank_wait_for_their_pages() {
        // A page is opened, read 28 ns later, and closed after 34 ns: every 48 ns 2 ns of data.
        let single = Dram { groups: 1, banks: 1, bursts_a_run: 1, refresh: 0.0, ..HBM };
        assert_close(single.share(), 2.0 / 48.0, 0.001);
    }

    #[test]
    fn activations_limit_short_runs() {
        // A burst a page in each of four groups: four activations in 30 ns for 8 ns of data.
        let short = Dram { bursts_a_run: 4, banks: 16, refresh: 0.0, ..HBM };
        assert_close(short.share(), 8.0 / 30.0, 0.01);
    }

    #[test]
    fn bursts_of_one_group_are_farther_apart() {
        let slow = Dram { groups: 1, same_group: 4e-9, refresh: 0.0, ..HBM };
        assert_close(slow.share(), 0.5, 0.02);
    }

    #[test]
    fn turns_cost_their_rests() {
        // Alternating runs of 512 ns: 2 and 8 + 14 ns for each pair.
        let turns = Dram { reads: Some(1), refresh: 0.0, ..HBM };
        assert_close(turns.share(), (1.0 - 42.0 / 3900.0) * 1024.0 / 1048.0, 0.006);
        assert!(turns.share() < Dram { reads: Some(9), refresh: 0.0, ..HBM }.share());
    }

    #[test]
    fn a_partial_burst_counts_its_bytes() {
        assert_close(Dram { used: 0.5, ..HBM }.share(), HBM.share() / 2.0, 1e-12);
    }
}
