//! What equal operations have in common.

use crate::f1::graph::{Function, Graph, LeafClass, UnitKind};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// What an instruction reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A result of the same operation, by its place.
    Own(u32),
    /// A vector of the hint, which all operations read, by its place among them.
    Shared(u32),
    /// One of the values that the operation finds ready, by its place among them.
    Outside(u32),
}

/// An operation without its place in a program: instructions by their place in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// What they do.
    pub functions: Vec<Function>,
    /// What they read, each operand once.
    pub operands: Vec<Vec<Operand>>,
    /// Those that read a result.
    pub users: Vec<Vec<u32>>,
}

/// What an operation is without its pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Values {
    /// The vectors of the hint, in the order in which they are first read.
    pub hint: Vec<u32>,
    /// The values that it finds ready, in the order in which they are first read.
    pub outside: Vec<u32>,
}

/// The pattern of an operation, and its values.
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
    /// Instructions.
    pub fn len(&self) -> usize {
        self.functions.len()
    }

    /// The unit that an instruction takes.
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

    /// What an operation does in one limb, in order, sums along their chain; those of a stage together, and the stages in order: between
    /// them values change limbs, as late as what follows allows. So registers hold the sums of one limb only.
    pub fn stages(&self) -> Vec<Vec<Vec<u32>>> {
        let count = self.len();
        let limb = |place: u32| self.functions[place as usize].limb();
        // How many changes of limb follow.
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
        // What is summed up comes just before its sum.
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
