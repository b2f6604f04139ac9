//! Groups of instructions that hand values to each other: what stays together in a cluster.

use super::graph::Graph;

/// A value with more readers than this ties nothing together: it has to travel anyway.
const READERS: usize = 2;

/// Instructions of a task at most, so that the clusters share the work.
const LARGEST: u32 = 64;

/// The task of every instruction.
#[derive(Clone, Debug)]
pub struct Tasks {
    task: Vec<u32>,
    size: Vec<u32>,
}

impl Tasks {
    /// Joins each instruction with the readers of its result, if they are few.
    pub fn of(graph: &Graph) -> Self {
        let mut parent: Vec<u32> = (0..graph.len() as u32).collect();
        let mut size = vec![1; graph.len()];
        for instruction in 0..graph.len() {
            let users = graph.users(instruction);
            for &user in users.iter().filter(|_| users.len() <= READERS) {
                let (a, b) = (root(&mut parent, instruction as u32), root(&mut parent, user));
                if a != b && size[a as usize] + size[b as usize] <= LARGEST {
                    parent[b as usize] = a;
                    size[a as usize] += size[b as usize];
                }
            }
        }
        let task = (0..graph.len() as u32).map(|instruction| root(&mut parent, instruction)).collect();
        Self { task, size }
    }

    /// The task of an instruction, and how many it has.
    pub fn of_instruction(&self, instruction: u32) -> (u32, u32) {
        let task = self.task[instruction as usize];
        (task, self.size[task as usize])
    }
}

fn root(parent: &mut [u32], mut of: u32) -> u32 {
    while parent[of as usize] != of {
        parent[of as usize] = parent[parent[of as usize] as usize];
        of = parent[of as usize];
    }
    of
}
