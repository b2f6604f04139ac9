//! Removes lookups that no output needs, and combinations that no lookup reads.

use super::{Dataflow, Level, Terms};

impl Level {
    fn is_empty(&self) -> bool {
        self.lookups.is_empty() && self.wide.is_empty()
    }
}

impl Dataflow {
    /// Removes dead lookups and empty levels. Columns of removed lookups remain, unread.
    pub(super) fn prune(&mut self) {
        let mut live = vec![false; self.sources.len()];
        for output in &self.outputs {
            mark(&output.forms.terms, 0..output.forms.terms.rows(), &mut live);
        }
        // The columns of each level's results.
        let mut columns: Vec<Vec<u32>> = vec![Vec::new(); self.levels.len()];
        for (column, source) in self.sources.iter().enumerate().filter(|(_, source)| source.level > 0) {
            columns[source.level as usize - 1].push(column as u32);
        }
        // Levels read only lower levels, so one pass from the top suffices.
        for (level, columns) in self.levels.iter_mut().zip(&columns).rev() {
            let (mut needed, mut wide) = (vec![false; level.lookups.len()], vec![false; level.wide.len()]);
            for &column in columns.iter().filter(|column| live[**column as usize]) {
                let source = self.sources[column as usize];
                let needed = if source.output.is_some() { &mut wide } else { &mut needed };
                needed[source.index as usize] = true;
            }
            if !needed.iter().chain(&wide).all(|needed| *needed) {
                keep(level, &needed, &wide);
                let places = [&needed, &wide].map(|needed| places(needed));
                for &column in columns {
                    let source = &mut self.sources[column as usize];
                    source.index = places[usize::from(source.output.is_some())][source.index as usize];
                }
            }
            mark(&level.terms, 0..level.terms.rows(), &mut live);
        }
        // Level d becomes the number of remaining levels up to d.
        let mut renumbered = vec![0];
        for level in &self.levels {
            renumbered.push(renumbered[renumbered.len() - 1] + u32::from(!level.is_empty()));
        }
        self.sources.iter_mut().for_each(|source| source.level = renumbered[source.level as usize]);
        self.levels.retain(|level| !level.is_empty());
    }
}

fn mark(terms: &Terms, rows: std::ops::Range<usize>, live: &mut [bool]) {
    for row in rows {
        terms.row(row).0.iter().for_each(|&column| live[column as usize] = true);
    }
}

/// The places of the needed items among them.
fn places(needed: &[bool]) -> Vec<u32> {
    let mut next = 0;
    let place = |&needed: &bool| {
        let place = next;
        next += u32::from(needed);
        place
    };
    needed.iter().map(place).collect()
}

/// Keeps the needed lookups and wide lookups of `level`, and their rows.
fn keep(level: &mut Level, needed: &[bool], wide: &[bool]) {
    let mut new_row: Vec<Option<u32>> = vec![None; level.bias.len()];
    let (terms, bias, steps) = (Terms::new(), Vec::new(), Vec::new());
    let mut kept = Level { terms, bias, steps, lookups: Vec::new(), wide: Vec::new() };
    let mut row = |kept: &mut Level, row: u32| {
        let row = row as usize;
        *new_row[row].get_or_insert_with(|| {
            let (columns, weights) = level.terms.row(row);
            kept.terms.push(columns, weights);
            kept.bias.push(level.bias[row]);
            kept.steps.push(level.steps[row]);
            kept.bias.len() as u32 - 1
        })
    };
    for (lookup, _) in level.lookups.iter().zip(needed).filter(|(_, needed)| **needed) {
        let row = row(&mut kept, lookup.row);
        kept.lookups.push(super::Lookup { row, ..*lookup });
    }
    for (lookup, _) in level.wide.iter().zip(wide).filter(|(_, needed)| **needed) {
        let mut lookup = lookup.clone();
        lookup.bits.iter_mut().for_each(|bit| bit.row = row(&mut kept, bit.row));
        kept.wide.push(lookup);
    }
    *level = kept;
}
