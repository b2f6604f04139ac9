//! The input of the search for a lockstep schedule; all choices share it.

use super::Columns;
use super::pattern::{Operand, Pattern};
use super::stagger::{Latencies, Stagger};
use crate::f1::graph::UnitKind;
use crate::f1::machine::{F1, Geometry};
use std::cell::Cell;

/// When an operation's operand from outside is available.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ready {
    /// From the start.
    Now,
    /// As a result of an earlier row: row and place.
    From(usize, u32),
}

/// Equal operations on a machine.
pub struct Given<'a> {
    pub pattern: &'a Pattern,
    /// The columns of clusters for its limbs.
    pub columns: &'a Columns,
    /// Whether each result is used outside its operation.
    pub leaves: &'a [bool],
    /// For every row, the availability of its operands.
    pub ready: &'a [Vec<Ready>],
    pub machine: &'a F1,
    /// The machine on the ring.
    pub geometry: &'a Geometry,
    pub latencies: Latencies,
    /// The beat, and the one for transforms with operands from the scratchpad.
    pub staggers: Vec<Stagger>,
    /// Number of placements tried so far.
    pub attempts: Cell<u64>,
}

impl<'a> Given<'a> {
    /// For an operation in all its rows.
    pub fn new(
        (pattern, leaves, ready): (&'a Pattern, &'a [bool], &'a [Vec<Ready>]),
        columns: &'a Columns,
        machine: &'a F1,
        geometry: &'a Geometry,
    ) -> Self {
        let latencies = Latencies::new(machine, geometry);
        let staggers = match columns.is_by_limb() {
            true => Stagger::by_limb(machine, geometry, &latencies),
            false => [false, true].map(|aligned| Stagger::new(machine, geometry, &latencies, aligned)).to_vec(),
        };
        Self { pattern, columns, leaves, ready, machine, geometry, latencies, staggers, attempts: Cell::new(0) }
    }

    /// The results of the previous row that an instruction reads, in any row.
    pub fn reads_of_the_row_before(&self, place: u32) -> Vec<u32> {
        let mut read = Vec::new();
        for operand in &self.pattern.operands[place as usize] {
            let Operand::Outside(index) = *operand else { continue };
            for (row, ready) in self.ready.iter().enumerate() {
                match ready[index as usize] {
                    Ready::From(of, made) if of + 1 == row && !read.contains(&made) => read.push(made),
                    _ => {}
                }
            }
        }
        read
    }

    /// Cycles of an operation on each cluster's busiest kind of unit.
    pub fn bound(&self) -> u64 {
        let beats = UnitKind::ALL.map(|kind| {
            let mut work = vec![0_usize; self.columns.count()];
            let places = (0..self.pattern.len() as u32).filter(|&place| self.pattern.unit(place) == kind);
            places.for_each(|place| work[self.columns.of(place)] += 1);
            work.into_iter().max().unwrap_or(0).div_ceil(self.machine.units[kind as usize])
        });
        beats.into_iter().max().unwrap_or(0) as u64 * self.geometry.occupancy
    }
}
