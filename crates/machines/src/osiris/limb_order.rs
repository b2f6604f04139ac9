//! The order of tasks of single limbs between two changes of modulus.
//!
//! Inner products, automorphisms and products with diagonals compute a limb from operands of the same limb. So
//! if the products of a limb follow its rotation, a rotated ciphertext and its key need places for few limbs.
//! Beyond that, a group of limbs can pass through all baby steps before the next group: then a limb's digits are
//! read for the last time as its sums begin, and both together need about as many places as either. But the
//! limb from which a diagonal is extended is needed again for every group.
//!
//! Example: two baby steps on four limbs, in groups of two, are the limbs 0, 1 of the first, 0, 1 of the second,
//! 2, 3 of the first, and 2, 3 of the second. The group size is chosen for each run of such tasks: the one that
//! moves the fewest limbs if the scratchpads always evict the limb needed last.

use super::tasks::{Kernel, Residue, Task, Tasks};
use polyfabric_schemes::rns::LimbId;
use std::collections::{BTreeSet, HashMap};

/// Orders every run by groups of limbs, for scratchpads with that many `places`.
pub fn by_groups(tasks: &mut Tasks, places: usize) {
    let Tasks { tasks, leaves, .. } = tasks;
    let is_leaf = |residue: Residue| leaves[residue.0 as usize].is_some();
    for run in runs(tasks) {
        let limbs: BTreeSet<LimbId> = run.iter().filter_map(|task| task.kernel.single_limb()).collect();
        let sizes = std::iter::successors(Some(1), |size| Some(2 * size)).take_while(|&size| size < 2 * limbs.len());
        let orders = sizes.map(|size| order(run, &limbs, size));
        let moves = |order: &Vec<usize>| moved(order.iter().map(|&number| &run[number].kernel), places, is_leaf);
        if let Some(best) = orders.min_by_key(moves) {
            let sorted: Vec<Task> = best.into_iter().map(|number| run[number].clone()).collect();
            run.clone_from_slice(&sorted);
        }
    }
}

/// Maximal runs of tasks of single limbs.
fn runs(tasks: &mut [Task]) -> impl Iterator<Item = &mut [Task]> {
    let single = |task: &Task| task.kernel.single_limb().is_some();
    let all = tasks.chunk_by_mut(move |before, after| single(before) && single(after));
    all.filter(move |run| run.len() > 1)
}

/// The order of `run` by groups of `size` limbs, in a group by rotations, and in a rotation by limbs. The tasks
/// of a limb keep their order, so each still follows those that compute its operands.
fn order(run: &[Task], limbs: &BTreeSet<LimbId>, size: usize) -> Vec<usize> {
    let positions: HashMap<LimbId, usize> = limbs.iter().enumerate().map(|(place, &limb)| (limb, place)).collect();
    let (mut rotation, mut last) = (0, None);
    let mut keys: Vec<(usize, usize, usize, usize)> = Vec::with_capacity(run.len());
    for (number, task) in run.iter().enumerate() {
        if matches!(task.kernel, Kernel::KeyProduct { .. }) && last.replace(task.op) != Some(task.op) {
            rotation += 1;
        }
        let position = task.kernel.single_limb().map_or(0, |limb| positions[&limb]);
        keys.push((position / size, rotation, position, number));
    }
    keys.sort_unstable();
    keys.into_iter().map(|(.., number)| number).collect()
}

/// Number of limbs that tasks in this order move from and to memory, if the limb needed last is evicted.
fn moved<'a>(run: impl Iterator<Item = &'a Kernel>, places: usize, is_leaf: impl Fn(Residue) -> bool) -> usize {
    let accesses: Vec<(Vec<Residue>, Vec<Residue>)> = run.map(|kernel| (kernel.operands(), kernel.results())).collect();
    // By access, the next task that reads its residue.
    let end = accesses.len();
    let mut later: HashMap<Residue, usize> = HashMap::new();
    let mut next: Vec<Vec<usize>> = vec![Vec::new(); end];
    for (number, (operands, results)) in accesses.iter().enumerate().rev() {
        next[number] =
            operands.iter().chain(results).map(|residue| later.get(residue).copied().unwrap_or(end)).collect();
        operands.iter().for_each(|&operand| _ = later.insert(operand, number));
    }
    let computed: BTreeSet<Residue> = accesses.iter().flat_map(|(_, results)| results.iter().copied()).collect();
    let mut held: BTreeSet<(usize, Residue)> = BTreeSet::new();
    let mut uses: HashMap<Residue, usize> = HashMap::new();
    // Results of earlier tasks are in the scratchpads.
    for (&residue, &first) in later.iter().filter(|&(&residue, _)| !is_leaf(residue) && !computed.contains(&residue)) {
        held.insert((first, residue));
        uses.insert(residue, first);
    }
    let mut moved = 0;
    for ((operands, results), next) in accesses.iter().zip(&next) {
        for (position, (&residue, &next)) in operands.iter().chain(results).zip(next).enumerate() {
            let is_operand = position < operands.len();
            match uses.remove(&residue) {
                Some(before) => _ = held.remove(&(before, residue)),
                None if is_operand => moved += 1,
                None => {}
            }
            // An operand without later readers gives up its place; a result without readers is for later runs.
            if next < end || !is_operand {
                held.insert((next, residue));
                uses.insert(residue, next);
            }
        }
        while held.len() > places {
            let Some((_, residue)) = held.pop_last() else { break };
            uses.remove(&residue);
            moved += usize::from(!is_leaf(residue));
        }
    }
    moved
}

#[cfg(test)]
mod tests {
    //! Are groups as large as the scratchpads need?

    use super::*;
    use crate::rns::leaf::Leaf;
    use polyfabric_schemes::rns::KeyId;

    /// Two rotations' inner products with `limbs` limbs. Each rotation reads one leaf for all limbs: residue 0, 1.
    fn sums(limbs: u16) -> Tasks {
        let mut leaves = vec![Some(Leaf::Input { index: 0, limb: LimbId(0) }); 2];
        let mut tasks = Vec::new();
        for rotation in 0..2 {
            for limb in (0..limbs).map(LimbId) {
                let results = [0, 1].map(|part| Residue(leaves.len() as u32 + part));
                leaves.extend([None; 2]);
                let terms = vec![(0, Residue(rotation), Residue(rotation))];
                let kernel = Kernel::KeyProduct { key: KeyId::Relinearisation, limb, terms, results };
                tasks.push(Task { op: rotation, kernel });
            }
        }
        Tasks { tasks, leaves, outputs: Vec::new() }
    }

    fn places(tasks: &Tasks) -> Vec<(u32, u16)> {
        tasks.tasks.iter().map(|task| (task.op, task.kernel.single_limb().expect("one limb").0)).collect()
    }

    fn grouped(places: usize) -> Vec<(u32, u16)> {
        let mut tasks = sums(2);
        by_groups(&mut tasks, places);
        self::places(&tasks)
    }

    #[test]
    fn groups_are_single_limbs_if_everything_fits() {
        assert_eq!(grouped(100), [(0, 0), (1, 0), (0, 1), (1, 1)]);
    }

    #[test]
    fn groups_are_larger_if_leaves_would_be_loaded_again() {
        assert_eq!(grouped(1), [(0, 0), (0, 1), (1, 0), (1, 1)]);
    }
}
