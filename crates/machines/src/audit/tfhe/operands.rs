//! Checks that every use of an operand has a separate read.
//!
//! Vectors pass through a unit one after the other. So two lookups of the same ciphertext read it twice, and so does a sum that contains
//! it twice. A register that receives it once has nothing for the second use.

use super::super::AuditError;
use super::{Audit, Read};
use crate::tfhe::labels::Meaning;
use polyfabric_sim::function::Function;

impl Audit<'_> {
    /// Checks that an event reads an operand once for each result that uses it. A moved value must be read as often as it is written to one
    /// place.
    pub(super) fn own_operands(
        &self,
        read: &Read<'_>,
        function: Function,
        written: &[Meaning],
    ) -> Result<(), AuditError> {
        let Some(&result) = written.first() else { return Ok(()) };
        match function {
            Function::Move { .. } => {
                let mut values = read.event.writes.iter().map(|write| write.value.shifted(read.shift));
                values.try_for_each(|value| self.each_of(read, result, self.meanings(value).collect()))
            }
            Function::ModulusSwitch | Function::KeySwitch => {
                let sources = written.iter().filter_map(|&result| self.definitions.source(result));
                self.each_of(read, result, sources.collect())
            }
            Function::Linear => written.iter().try_for_each(|&result| {
                let row = match result {
                    Meaning::LinearSum { op, row, done } => (op, row, done),
                    Meaning::Lwe { op, element } => (op, element, u32::MAX),
                    _ => return Ok(()),
                };
                let Ok((_, columns)) = self.definitions.columns(&read.values, row) else { return Ok(()) };
                let sources = columns.filter_map(|(column, _)| self.definitions.column(row.0, column));
                self.each_of(read, result, sources.collect())
            }),
            _ => Ok(()),
        }
    }

    /// Checks that each of `operands` is read as often as it is listed.
    fn each_of(&self, read: &Read<'_>, result: Meaning, mut operands: Vec<Meaning>) -> Result<(), AuditError> {
        operands.sort_unstable();
        for same in operands.chunk_by(|one, other| one == other) {
            self.need(read, result, same[0])?;
            if read.values.times(same[0]) < same.len() {
                let missing = format_args!("{}, {} times", self.in_words(same[0]), same.len());
                return Err(self.missing(read, result, missing));
            }
        }
        Ok(())
    }
}
