//! Groups of ciphertexts that repeat: a program's groups become loops of the schedule.

use polyfabric_kernels::cancel;
use polyfabric_sim::schedule::{Emit, Shift};
use std::collections::HashMap;

/// Groups `first .. first + span · rounds`. Each `span` groups repeat the previous `span`, always the same number of cycles later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupRun {
    /// First group.
    pub first: usize,
    /// Groups per round.
    pub span: usize,
    pub rounds: usize,
}

/// Fewest rounds that become a loop.
const LEAST_ROUNDS: usize = 3;

/// Maximum number of groups per round. Buffers used in turn repeat after two or four groups, and units that take turns at a bank make that
/// three times as many.
const LONGEST_ROUND: usize = 12;

/// Numbers `count` groups so that two have the same number if and only if they are alike. `hash` must be equal for groups that are alike,
/// so that each group is compared with only a few others.
pub fn kinds(count: usize, hash: impl Fn(usize) -> u64, alike: impl Fn(usize, usize) -> bool) -> Vec<usize> {
    // The first group of each kind, by its hash. A group's number is the index of the first one that is alike.
    let mut known: HashMap<u64, Vec<usize>> = HashMap::new();
    let kind = |group| {
        let firsts = known.entry(hash(group)).or_default();
        firsts.iter().copied().find(|&first| alike(first, group)).unwrap_or_else(|| {
            firsts.push(group);
            group
        })
    };
    (0..count).map(kind).collect()
}

/// Divides groups that start at `bases` into runs. `alike` returns whether two groups differ only in their ciphertexts and their time.
/// Groups that do not repeat are runs of one.
pub fn runs(bases: &[i64], alike: impl Fn(usize, usize) -> bool) -> Vec<GroupRun> {
    let mut found = Vec::new();
    let mut first = 0;
    while first < bases.len() {
        let lengths = (1..=LONGEST_ROUND).map(|span| (run_length(&alike, bases, first, span), span));
        let long = lengths.filter(|&(rounds, _)| rounds >= LEAST_ROUNDS);
        let (rounds, span) = long.max_by_key(|&(rounds, span)| (rounds * span, usize::MAX - span)).unwrap_or((1, 1));
        found.push(GroupRun { first, span, rounds });
        first += span * rounds;
    }
    found
}

/// How many times in succession the `span` groups from `first` on occur, always the same number of cycles later.
fn run_length(alike: impl Fn(usize, usize) -> bool, bases: &[i64], first: usize, span: usize) -> usize {
    if first + span >= bases.len() {
        return 1;
    }
    let period = bases[first + span] - bases[first];
    let mut at = first;
    while at + span < bases.len() && bases[at + span] - bases[at] == period && alike(at, at + span) {
        cancel::check();
        at += 1;
    }
    (at - first) / span + 1
}

/// Emits groups of ciphertexts, as loops if they repeat.
pub trait EmitGroups: Emit {
    /// Ciphertexts that are processed together.
    type Group;

    /// The cycle relative to which the times of a group are compared.
    fn base(&self, group: &Self::Group) -> i64;

    /// Its first element.
    fn first(group: &Self::Group) -> u32;

    /// The first cycle of a loop over `round`; none of its events is earlier.
    fn begin(&self, round: &[Self::Group]) -> i64 {
        self.base(&round[0])
    }

    /// Emits a group, relative to cycle `base`.
    fn group(&mut self, group: &Self::Group, base: i64);

    /// Emits `groups` of one piece of work. `alike` returns whether two differ only in their ciphertexts and their time.
    fn groups(&mut self, groups: &[Self::Group], alike: impl Fn(&Self, usize, usize) -> bool) {
        let bases: Vec<i64> = groups.iter().map(|group| self.base(group)).collect();
        for GroupRun { first, span, rounds } in runs(&bases, |one, other| alike(self, one, other)) {
            if rounds == 1 {
                self.group(&groups[first], 0);
                continue;
            }
            let round = &groups[first..first + span];
            let (base, period) = (self.begin(round), bases[first + span] - bases[first]);
            let moved = Self::first(&groups[first + span]) - Self::first(&groups[first]);
            self.repeat(base, rounds as u64, period as u64, Shift::ciphertexts(i64::from(moved)), |emitter| {
                for group in round {
                    emitter.group(group, base);
                }
            });
        }
    }
}

#[cfg(test)]
mod tests {
    //! Are exactly the groups folded that repeat, at one distance?

    use super::*;

    #[test]
    fn kinds_of_groups() {
        let groups = [3, 5, 3, 13, 5, 23];
        let of = |hash: fn(i32) -> u64| {
            kinds(groups.len(), |at| hash(groups[at]), |one, other| groups[one] == groups[other])
        };
        // Different groups with the same hash have different numbers.
        assert_eq!(of(|group| group as u64 % 10), [0, 1, 0, 3, 1, 5]);
        assert_eq!(of(|_| 0), [0, 1, 0, 3, 1, 5]);
    }

    #[test]
    fn runs_of_groups() {
        let always = |_: usize, _: usize| true;
        assert_eq!(runs(&[0, 10, 20, 30], always), [GroupRun { first: 0, span: 1, rounds: 4 }]);
        // Two groups do not become a loop; the last group is late.
        assert_eq!(runs(&[0, 10], always).len(), 2);
        let late = runs(&[0, 10, 20, 31], always);
        assert_eq!(late, [GroupRun { first: 0, span: 1, rounds: 3 }, GroupRun { first: 3, span: 1, rounds: 1 }]);
        // Every second group is alike.
        let parity = |one: usize, other: usize| one % 2 == other % 2;
        assert_eq!(runs(&[0, 7, 20, 27, 40, 47], parity), [GroupRun { first: 0, span: 2, rounds: 3 }]);
        // Two buffers, and three units that take turns.
        let bases: Vec<i64> = (0..18).map(|group| 10 * group).collect();
        let turns = |one: usize, other: usize| one % 6 == other % 6;
        assert_eq!(runs(&bases, turns), [GroupRun { first: 0, span: 6, rounds: 3 }]);
    }
}
