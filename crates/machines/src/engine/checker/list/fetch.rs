//! Whether instructions come before they start.

use super::{Hazard, Resources, Violation};
use crate::engine::list::Instructions;

/// Holds that the channels, in what they have idle, bring every instruction before it starts, in the order of the starts. `transfers`: of
/// every channel, first cycle and end of what it moves, in order.
pub(super) fn check(
    resources: &Resources,
    instructions: &Instructions,
    transfers: &[Vec<(u64, u64)>],
) -> Result<(), Violation> {
    // Of every channel, transfers that are over, and the cycles that they took.
    let mut past = vec![(0, 0); transfers.len()];
    let mut bytes = 0;
    for same in instructions.starts.chunk_by(|a, b| a.0 == b.0) {
        let cycle = same[0].0;
        bytes += same.iter().map(|&(_, bytes)| bytes).sum::<u64>();
        let until = cycle.saturating_sub(instructions.latency);
        let mut brought = 0.0;
        for ((channel, moves), (over, busy)) in resources.channels.iter().zip(transfers).zip(&mut past) {
            while let Some(&(start, end)) = moves.get(*over).filter(|&&(_, end)| end <= until) {
                *busy += end - start;
                *over += 1;
            }
            let under_way = moves.get(*over).map_or(0, |&(start, _)| until.saturating_sub(start));
            brought += (until - *busy - under_way) as f64 * channel.bytes_per_cycle;
        }
        // A product of bandwidth and time that is an integer up to rounding must not miss a byte.
        if bytes as f64 > brought + 1e-6 {
            let cycle = cycle as i64;
            let message = format!(
                "{bytes} bytes of instructions start by cycle {cycle}, and what the channels have idle has brought {brought:.0}; \
                 start the schedule later"
            );
            return Err(Violation { hazard: Hazard::NotFetched, cycle, legal_start: None, message });
        }
    }
    Ok(())
}

/// Holds that units are given an instruction whenever they start.
pub(super) fn instructed(instructions: &Instructions, starts: &[i64]) -> Result<(), Violation> {
    let mut given =
        instructions.starts.iter().filter(|&&(_, bytes)| bytes > 0).map(|&(cycle, _)| cycle as i64).peekable();
    for &cycle in starts {
        while given.next_if(|&given| given < cycle).is_some() {}
        if given.peek() != Some(&cycle) {
            let message = format!("a unit starts in cycle {cycle}, and no instruction says so");
            return Err(Violation { hazard: Hazard::NotFetched, cycle, legal_start: None, message });
        }
    }
    Ok(())
}
