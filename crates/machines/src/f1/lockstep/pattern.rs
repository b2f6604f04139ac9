//! The common structure of equal operations.

use crate::f1::graph::{Function, Graph, LeafClass, UnitKind};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// An operand of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A result of the same operation, by its place.
    Own(u32),
    /// A hint vector, which all operations read, by index.
    Shared(u32),
    /// A value from outside the operation, by index.
    Outside(u32),
}

/// An operation independent of its position in a program. Places are indices of its instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    pub functions: Vec<Function>,
    /// Without duplicates.
    pub operands: Vec<Vec<Operand>>,
    /// The readers of each result.
    pub users: Vec<Vec<u32>>,
}

/// The parts of an operation that are not in its pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Values {
    /// The hint vectors, in order of their first reads.
    pub hint: Vec<u32>,
    /// The values from outside, in order of their first reads.
    pub outside: Vec<u32>,
}

pub fn pattern(graph: &Graph, instructions: &[u32]) -> (Pattern, Values) {
    let place: HashMap<u32, u32> = instructions.iter().copied().zip(0..).collect();
    let mut values = Values { hint: Vec::new(), outside: Vec::new() };
    let among = |values: &mut Vec<u32>, number: u32| {
        let known = values.iter().position(|&value| value == number);
        known.unwrap_or_else(|| {
            values.push(number);
            values.len() - 1
        }) as u32
    };
    let mut users = vec![Vec::new(); instructions.len()];
    let mut operands = Vec::with_capacity(instructions.len());
    for (own, &index) in (0..).zip(instructions) {
        let read = graph.distinct_operands(index as usize).iter().map(|&vector| {
            let number = graph.number(vector) as u32;
            if let Some(&of) = vector.as_result().and_then(|result| place.get(&(result as u32))) {
                return Operand::Own(of);
            }
            match vector.as_leaf().map(|leaf| graph.leaves()[leaf]) {
                Some(LeafClass::Hint) => Operand::Shared(among(&mut values.hint, number)),
                _ => Operand::Outside(among(&mut values.outside, number)),
            }
        });
        let read: Vec<Operand> = read.collect();
        for operand in &read {
            if let &Operand::Own(of) = operand {
                users[of as usize].push(own);
            }
        }
        operands.push(read);
    }
    let functions = instructions.iter().map(|&index| graph.function(index as usize)).collect();
    (Pattern { functions, operands, users }, values)
}

impl Pattern {
    /// Number of instructions.
    pub fn len(&self) -> usize {
        self.functions.len()
    }

    /// The unit of an instruction.
    pub fn unit(&self, place: u32) -> UnitKind {
        self.functions[place as usize].unit()
    }

    /// This operation twice, with the same hint.
    pub fn twice(&self, outside: usize) -> Self {
        let len = self.len() as u32;
        let moved = |operand: &Operand| match *operand {
            Operand::Own(place) => Operand::Own(place + len),
            Operand::Outside(index) => Operand::Outside(index + outside as u32),
            shared => shared,
        };
        let operands = self.operands.iter().map(|operands| operands.iter().map(moved).collect());
        let users = self.users.iter().map(|users| users.iter().map(|user| user + len).collect());
        Self {
            functions: self.functions.iter().chain(&self.functions).copied().collect(),
            operands: self.operands.iter().cloned().chain(operands).collect(),
            users: self.users.iter().cloned().chain(users).collect(),
        }
    }

    fn made(&self, place: usize) -> impl Iterator<Item = u32> {
        self.operands[place].iter().filter_map(|operand| match operand {
            &Operand::Own(of) => Some(of),
            _ => None,
        })
    }

    /// The instructions per limb, in order, with sums along their chains, grouped by stage. Between stages
    /// values change limbs, as late as possible. So registers contain the sums of only one limb.
    pub fn stages(&self) -> Vec<Vec<Vec<u32>>> {
        let count = self.len();
        let limb = |place: u32| self.functions[place as usize].limb();
        // Number of later changes of limb.
        let mut after = vec![0_u32; count];
        for place in (0..count).rev() {
            let follow = |&user: &u32| after[user as usize] + u32::from(limb(user) != limb(place as u32));
            after[place] = self.users[place].iter().map(follow).max().unwrap_or(0);
        }
        let last = after.iter().copied().max().unwrap_or(0);
        let task = |place: usize| (last - after[place], limb(place as u32));
        let mut digit = vec![0_u32; count];
        let sums = |place: usize| self.functions[place].unit() == UnitKind::Add;
        for place in 0..count {
            let before = self.made(place).filter(|&of| task(of as usize) == task(place)).map(|of| digit[of as usize]);
            digit[place] = before.max().unwrap_or(0) + u32::from(sums(place));
        }
        // An addend comes just before its sum.
        for place in (0..count).rev().filter(|&place| !sums(place)) {
            let own = self.users[place].iter().filter(|&&user| task(user as usize) == task(place));
            if let Some(first) = own.map(|&user| digit[user as usize]).min() {
                digit[place] = first;
            }
        }
        let key = |place: usize| Reverse((task(place), digit[place], place as u32));
        let mut waits: Vec<usize> = (0..count).map(|place| self.made(place).count()).collect();
        let mut ready: BinaryHeap<_> = (0..count).filter(|&place| waits[place] == 0).map(key).collect();
        let mut stages: Vec<Vec<Vec<u32>>> = vec![Vec::new(); last as usize + 1];
        let mut limb_of_last = vec![None; last as usize + 1];
        while let Some(Reverse(((stage, limb), _, place))) = ready.pop() {
            let tasks = &mut stages[stage as usize];
            if limb_of_last[stage as usize] != Some(limb) {
                tasks.push(Vec::new());
                limb_of_last[stage as usize] = Some(limb);
            }
            if let Some(task) = tasks.last_mut() {
                task.push(place);
            }
            for &user in &self.users[place as usize] {
                waits[user as usize] -= 1;
                if waits[user as usize] == 0 {
                    ready.push(key(user as usize));
                }
            }
        }
        stages
    }
}
