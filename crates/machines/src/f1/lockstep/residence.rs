//! Decides which values stay in a register until they are read, and which in the scratchpad.

use super::Columns;
use super::pattern::{Operand, Pattern};
use crate::f1::graph::UnitKind;

/// Maximum number of instructions between a value and its reader, or between two readers, for which the value
/// stays in its register.
const NEAR: usize = 12;

/// For each read, whether it finds the value in a register.
#[derive(Clone, Debug)]
pub struct Residence {
    /// For each result, the users that fetch it from the scratchpad.
    away: Vec<Vec<u32>>,
}

impl Residence {
    /// For an operation in `order`. Values that are read soon stay. Other values stay from their first to their last
    /// reader if they get one of `registers`; values that save most fetches in the least time come first. Otherwise
    /// all readers fetch the value, from the first one that is not soon.
    pub fn new(pattern: &Pattern, columns: &Columns, order: &[(bool, u32)], registers: usize) -> Self {
        let mut position = vec![0; pattern.len()];
        let (ahead, own): (Vec<_>, Vec<_>) = order.iter().partition(|(next, _)| *next);
        for (index, &(_, place)) in ahead.iter().chain(&own).enumerate() {
            position[place as usize] = index;
        }
        let mut waits = Vec::new();
        for (place, users) in (0_u32..).zip(&pattern.users) {
            let own = |user: &&u32| columns.of(**user) == columns.of(place);
            let mut readers: Vec<usize> = users.iter().filter(own).map(|&user| position[user as usize]).collect();
            readers.sort_unstable();
            readers.dedup();
            let begin = position[place as usize];
            let before = std::iter::once(begin).chain(readers.iter().copied());
            let late: Vec<usize> = before.zip(&readers).filter(|(b, r)| *r - b > NEAR).map(|(_, &r)| r).collect();
            if let (Some(&first), Some(&end)) = (late.first(), readers.last()) {
                waits.push((late.len() as f64 / (end - begin) as f64, begin, end, first, place));
            }
        }
        waits.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut held = vec![0; pattern.len()];
        // Other columns can get it only from the scratchpad.
        let elsewhere = |place: u32| {
            let users = pattern.users[place as usize].iter().copied();
            users.filter(|&user| columns.of(user) != columns.of(place)).collect()
        };
        let mut away: Vec<Vec<u32>> = (0..pattern.len() as u32).map(elsewhere).collect();
        for (_, begin, end, first, place) in waits {
            if held[begin..=end].iter().all(|&held| held < registers) {
                held[begin..=end].iter_mut().for_each(|held| *held += 1);
                continue;
            }
            let users = pattern.users[place as usize].iter().copied();
            let late = users.filter(|&user| columns.of(user) == columns.of(place) && position[user as usize] >= first);
            away[place as usize].extend(late);
        }
        Self { away }
    }

    /// For operations with a cluster for each limb: transforms read another cluster's register, and other users
    /// fetch the value.
    pub fn by_limb(pattern: &Pattern, columns: &Columns) -> Self {
        let away = |place: u32, user: u32| columns.of(place) != columns.of(user) && pattern.unit(user) != UnitKind::Ntt;
        let users =
            |(place, users): (u32, &Vec<u32>)| users.iter().copied().filter(|&user| away(place, user)).collect();
        Self { away: (0..).zip(&pattern.users).map(users).collect() }
    }

    /// Whether `user` must fetch a value from the scratchpad.
    pub fn away(&self, place: u32, user: u32) -> bool {
        self.away[place as usize].contains(&user)
    }

    /// Number of users that find a value in a register.
    pub fn near(&self, pattern: &Pattern, place: u32) -> usize {
        pattern.users[place as usize].len() - self.away[place as usize].len()
    }

    /// Whether some transform must fetch its operand.
    pub fn transforms_bring(&self, pattern: &Pattern) -> bool {
        let transform = |user: u32| pattern.unit(user) == UnitKind::Ntt;
        let outside = |place: usize| pattern.operands[place].iter().any(|read| matches!(read, Operand::Outside(_)));
        self.away.iter().flatten().any(|&user| transform(user))
            || (0..pattern.len()).any(|place| transform(place as u32) && outside(place))
    }
}
