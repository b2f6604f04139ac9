//! What a schedule of equal operations is sought for: it stays the same over all choices.

use super::Columns;
use super::pattern::{Operand, Pattern};
use super::stagger::{Latencies, Stagger};
use crate::f1::graph::UnitKind;
use crate::f1::machine::{F1, Geometry};
use std::cell::Cell;

/// When an operation finds a value that it reads from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ready {
    /// From the start.
    Now,
    /// With the result of an earlier row: row and place.
    From(usize, u32),
}

/// Equal operations on a machine.
pub struct Given<'a> {
    /// The operation.
    pub pattern: &'a Pattern,
    /// The columns of clusters that its limbs are dealt out to.
    pub columns: &'a Columns,
    /// Whether each result is wanted outside.
    pub leaves: &'a [bool],
    /// Of every row, when it finds what it reads.
    pub ready: &'a [Vec<Ready>],
    /// The machine.
    pub machine: &'a F1,
    /// The machine on the ring.
    pub geometry: &'a Geometry,
    /// Its latencies.
    pub latencies: Latencies,
    /// The beat, and the one for transforms that take vectors from the scratchpad.
    pub staggers: Vec<Stagger>,
    /// Places that instructions were tried in so far.
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

    /// The results of the row before that an instruction reads, in any row.
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

    /// Cycles that the busiest kind of unit takes for an operation in each cluster.
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
