//! Sums of digit columns with carries.
//!
//! A column contains the digits to add at one position. Chunks of a column are read at once: one bootstrap splits a sum of at most 7
//! into its digit and a carry bit; two bootstraps split a sum of at most 15 into its digit and a carry of up to 3. The final carries
//! ripple from column to column, which takes the fewest lookups. If more lookups fit in parallel than there are columns, a parallel
//! prefix over groups of three columns takes the fewest levels instead.
//! groups of three columns, which is the fewest levels.

use super::digit::{CAPACITY, Circuit, Digit};
use super::{BASE, IntegerError};
use std::collections::BTreeMap;

type Result<T> = std::result::Result<T, IntegerError>;

/// Maximum sum of a chunk.
const CHUNK: i64 = CAPACITY - 1;
/// Maximum sum of a chunk whose digit and carry take one bootstrap.
const PAIR: i64 = CAPACITY / 2 - 1;

/// Digits to add, by position.
#[derive(Clone, Debug, Default)]
pub(super) struct Columns(Vec<Vec<Digit>>);

impl Columns {
    pub fn new(positions: usize) -> Self {
        Self(vec![Vec::new(); positions])
    }

    /// Whether `position` exists.
    pub fn has(&self, position: usize) -> bool {
        position < self.0.len()
    }

    /// Adds `digit` at `position`; positions beyond the last are multiples of the modulus and vanish.
    pub fn add(&mut self, position: usize, digit: Digit) {
        if digit.public() != Some(0)
            && let Some(column) = self.0.get_mut(position)
        {
            column.push(digit);
        }
    }

    /// Adds `weight` (−3 to 3) times the nonnegative `digit` at `position`. For a negative weight it adds the complement to the
    /// digit's maximum and subtracts that maximum.
    pub fn add_weighted(&mut self, position: usize, weight: i64, digit: &Digit) {
        if weight >= 0 {
            self.add(position, Digit::combine(&[(weight, digit)], 0));
        } else {
            let most = -weight * digit.hi();
            self.add(position, Digit::combine(&[(weight, digit)], most));
            self.subtract_public(position, most);
        }
    }

    /// Subtracts a public number at `position`, modulo the modulus.
    fn subtract_public(&mut self, position: usize, value: i64) {
        // −v = (B − 1 − v) + 1 − B at this position; −B is −1 at the next.
        let mut owed = value;
        for position in position..self.0.len() {
            if owed == 0 {
                break;
            }
            self.add(position, Digit::constant((-owed).rem_euclid(BASE)));
            owed = (owed + (-owed).rem_euclid(BASE)) / BASE;
        }
    }

    /// Merges the public parts of each column into one number below the base and carries the rest up.
    fn gather_public(&mut self) {
        let mut carry = 0;
        for column in &mut self.0 {
            let public: i64 = column.iter().filter_map(Digit::public).sum::<i64>() + carry;
            column.retain(|digit| digit.public().is_none());
            carry = public.div_euclid(BASE);
            if public.rem_euclid(BASE) != 0 {
                column.push(Digit::constant(public.rem_euclid(BASE)));
            }
        }
    }
}

fn total(column: &[Digit]) -> i64 {
    column.iter().map(Digit::hi).sum()
}

/// A column read in chunks. A chunk costs time proportional to its terms, not to the column.
#[derive(Default)]
struct Heap {
    /// Terms by their maximum.
    sorted: BTreeMap<i64, Vec<Digit>>,
    /// Terms added since the last chunk.
    added: Vec<Digit>,
    total: i64,
    terms: usize,
}

impl Heap {
    fn of(column: Vec<Digit>) -> Self {
        let mut heap = Self::default();
        column.into_iter().for_each(|digit| heap.push(digit));
        heap
    }

    fn push(&mut self, digit: Digit) {
        self.total += digit.hi();
        self.terms += 1;
        self.added.push(digit);
    }

    /// Removes the largest terms whose sum stays within [`CHUNK`].
    fn chunk(&mut self) -> Vec<Digit> {
        for digit in self.added.drain(..) {
            self.sorted.entry(digit.hi()).or_default().push(digit);
        }
        let (mut taken, mut sum) = (Vec::new(), 0);
        for (&value, digits) in self.sorted.iter_mut().rev() {
            while sum + value <= CHUNK
                && let Some(digit) = digits.pop()
            {
                sum += value;
                taken.push(digit);
            }
        }
        self.sorted.retain(|_, digits| !digits.is_empty());
        self.total -= sum;
        self.terms -= taken.len();
        taken
    }

    fn into_terms(self) -> Vec<Digit> {
        self.sorted.into_values().flatten().chain(self.added).collect()
    }
}

impl Circuit<'_> {
    /// The digits, each below BASE, of the sum of `columns` modulo BASE^positions. `lanes` lookups take the time of one.
    pub fn carried(&mut self, mut columns: Columns, lanes: usize) -> Result<Vec<Digit>> {
        columns.gather_public();
        let positions = columns.0.len();
        if prefix_is_faster(positions, self.count, lanes) {
            self.compress(&mut columns)?;
            return self.prefix(columns);
        }
        let mut results = Vec::with_capacity(positions);
        let mut rest = columns.0.into_iter().peekable();
        let mut carries: Vec<Digit> = Vec::new();
        while let Some(column) = rest.next() {
            let last = rest.peek().is_none();
            let mut next = Vec::new();
            let (mut column, carried) = (Heap::of(column), total(&carries));
            // Chunks of existing terms come first, since they need not wait for carries from below.
            while column.total + carried > CHUNK && column.terms > 1 {
                self.reduce(&mut column, &mut next, last)?;
            }
            carries.into_iter().for_each(|carry| column.push(carry));
            while column.total > CHUNK {
                self.reduce(&mut column, &mut next, last)?;
            }
            let sum = self.sum(&column.into_terms())?;
            results.push(self.split(&sum, &mut next, last)?);
            carries = next;
        }
        Ok(results)
    }

    /// Reads one chunk of `column`: its digit stays, and its carry goes to `next`.
    fn reduce(&mut self, column: &mut Heap, next: &mut Vec<Digit>, last: bool) -> Result<()> {
        let taken = column.chunk();
        let sum = self.sum(&taken)?;
        let digit = self.split(&sum, next, last)?;
        column.push(digit);
        Ok(())
    }

    fn sum(&mut self, digits: &[Digit]) -> Result<Digit> {
        self.read(&digits.iter().map(|digit| (1, digit)).collect::<Vec<_>>(), 0)
    }

    /// The digit of `sum`; its carry goes to `next`, unless this is the `last` column.
    fn split(&mut self, sum: &Digit, next: &mut Vec<Digit>, last: bool) -> Result<Digit> {
        if sum.lo() >= 0 && sum.hi() < BASE {
            return Ok(sum.clone());
        }
        if last {
            return self.lookup(sum, &|value| value.rem_euclid(BASE));
        }
        let mut both = self.lookup_each(sum, &[&|value| value.rem_euclid(BASE), &|value| value.div_euclid(BASE)])?;
        let carry = both.pop().unwrap_or(Digit::constant(0));
        if carry.public() != Some(0) {
            next.push(carry);
        }
        Ok(both.pop().unwrap_or(Digit::constant(0)))
    }

    /// Reads all columns in chunks, repeatedly, until no column exceeds 2(BASE − 1).
    fn compress(&mut self, columns: &mut Columns) -> Result<()> {
        let positions = columns.0.len();
        while columns.0.iter().any(|column| total(column) >= PAIR) {
            let mut next = Columns::new(positions);
            for (position, column) in columns.0.drain(..).enumerate() {
                let mut column = Heap::of(column);
                while column.terms > 0 {
                    let taken = column.chunk();
                    // If no chunk can be formed, the terms wait for the next pass.
                    if taken.is_empty() {
                        next.0[position].extend(column.into_terms());
                        break;
                    }
                    let sum = self.sum(&taken)?;
                    let mut carries = Vec::new();
                    let digit = self.split(&sum, &mut carries, position + 1 == positions)?;
                    next.add(position, digit);
                    carries.into_iter().for_each(|carry| next.add(position + 1, carry));
                }
            }
            next.gather_public();
            *columns = next;
        }
        Ok(())
    }

    /// Sums columns of at most 2(BASE − 1) by a parallel prefix of carries.
    fn prefix(&mut self, columns: Columns) -> Result<Vec<Digit>> {
        let mut digits = Vec::new();
        let mut states = Vec::new();
        for column in &columns.0 {
            let sum = self.sum(column)?;
            let state = |value: i64| match value {
                value if value >= BASE => 2,
                value if value == BASE - 1 => 1,
                _ => 0,
            };
            let mut both = self.lookup_each(&sum, &[&|value| value.rem_euclid(BASE), &state])?;
            states.push(both.pop().unwrap_or(Digit::constant(0)));
            digits.push(both.pop().unwrap_or(Digit::constant(0)));
        }
        states.pop();
        let carries = self.carries(&states, &Digit::constant(0))?;
        let mut results = Vec::with_capacity(digits.len());
        for (index, digit) in digits.iter().enumerate() {
            let below = if index == 0 { Digit::constant(0) } else { carries[index - 1].clone() };
            let sum = self.read(&[(1, digit), (1, &below)], 0)?;
            results.push(self.split(&sum, &mut Vec::new(), true)?);
        }
        Ok(results)
    }

    /// The carry out of each position. A state is 0 (no carry), 1 (propagates the carry from below) or 2 (generates one). States add
    /// like binary digits: there is a carry 2^k positions up if Σ 2^i · state_i + carry reaches 2^k.
    fn carries(&mut self, states: &[Digit], below: &Digit) -> Result<Vec<Digit>> {
        const GROUP: usize = 3;
        let mut into = vec![below.clone()];
        if states.len() > GROUP {
            let whole = &states[..(states.len() - 1) / GROUP * GROUP];
            let mut groups = Vec::new();
            for group in whole.chunks(GROUP) {
                let sum = self.read(&weighted(group), 0)?;
                groups.push(self.lookup(&sum, &|value| match value {
                    8.. => 2,
                    7 => 1,
                    _ => 0,
                })?);
            }
            into.extend(self.carries(&groups, below)?);
        }
        let mut carries = Vec::new();
        for (group, below) in states.chunks(GROUP).zip(&into) {
            for end in 1..=group.len() {
                let mut parts = weighted(&group[..end]);
                parts.push((1, below));
                let sum = self.read(&parts, 0)?;
                carries.push(self.lookup(&sum, &|value| i64::from(value >= 1 << end))?);
            }
        }
        Ok(carries)
    }
}

fn weighted(states: &[Digit]) -> Vec<(i64, &Digit)> {
    states.iter().enumerate().map(|(index, state)| (1 << index, state)).collect()
}

/// Whether a parallel prefix over `positions` is faster than a ripple carry, for `count` integers at once.
fn prefix_is_faster(positions: usize, count: usize, lanes: usize) -> bool {
    let rounds = |lookups: usize| (lookups * count).div_ceil(lanes);
    let ripple = positions * rounds(1);
    // Both ends of the tree, and its levels.
    let mut prefix = 2 * rounds(positions);
    let mut states = positions;
    while states > 3 {
        prefix += rounds(states / 3) + rounds(states);
        states /= 3;
    }
    prefix += rounds(states);
    prefix < ripple
}

#[cfg(test)]
mod tests {
    //! Does the heap give the same chunks as sorting the whole column each time?

    use super::*;
    use crate::tfhe::homomorphic::NodeId;

    /// Reference: sorts the list for every chunk.
    fn plain(column: &mut Vec<Digit>) -> Vec<Digit> {
        column.sort_by_key(Digit::hi);
        let (mut taken, mut sum) = (Vec::new(), 0);
        for index in (0..column.len()).rev() {
            if sum + column[index].hi() <= CHUNK {
                sum += column[index].hi();
                taken.push(column.remove(index));
            }
        }
        taken
    }

    #[test]
    fn chunks_are_those_of_a_sorted_list() {
        let mut state = 7u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for length in 0..60 {
            let mut list: Vec<Digit> =
                (0..length).map(|node| Digit::numbered(NodeId(node), random(20) as i64 + 1)).collect();
            let mut heap = Heap::of(list.clone());
            for node in length..length + 100 {
                assert_eq!((heap.total, heap.terms), (total(&list), list.len()));
                let taken = plain(&mut list);
                assert_eq!(heap.chunk(), taken);
                if taken.is_empty() {
                    break;
                }
                let result = Digit::numbered(NodeId(node), random(4) as i64);
                if node % 3 == 0 {
                    list.push(result.clone());
                    heap.push(result);
                }
            }
            assert_eq!(heap.into_terms(), list);
        }
    }
}
