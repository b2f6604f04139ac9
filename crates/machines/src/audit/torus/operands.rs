//! Checks that every use of an operand has a read for itself. Vectors pass a unit one after the other: two look-ups of one ciphertext take it twice,
//! as a sum does in which it stands twice, and a register that names it once has nothing for the second.

use super::super::AuditError;
use super::{Audit, Datum, Function, Read};

impl Audit<'_> {
    /// Holds that an event reads an operand once for each result that takes it, and what it moves once for each time that it writes it
    /// to one place.
    pub(super) fn own_operands(
        &self,
        read: &Read<'_>,
        function: Function,
        written: &[Datum],
    ) -> Result<(), AuditError> {
        let Some(&result) = written.first() else { return Ok(()) };
        match function {
            Function::Move { .. } => {
                let mut values = read.event.writes.iter().map(|write| write.value.shifted(read.shift));
                values.try_for_each(|value| self.each_of(read, result, self.meaning.data(value)))
            }
            Function::ModulusSwitch | Function::KeySwitch => {
                self.each_of(read, result, written.iter().filter_map(|&result| self.source(result)).collect())
            }
            _ => Ok(()),
        }
    }

    /// Holds that each of `operands` is read, equal ones as often as they stand there.
    pub(super) fn each_of(&self, read: &Read<'_>, result: Datum, mut operands: Vec<Datum>) -> Result<(), AuditError> {
        operands.sort_unstable();
        for same in operands.chunk_by(|one, other| one == other) {
            self.need(read, result, same[0])?;
            if same.len() > 1 {
                let copies = read.data.iter().filter(|&datum| *datum == same[0]).count();
                if copies < same.len() {
                    return Err(self.missing(read, result, format_args!("{}, {} times", same[0], same.len())));
                }
            }
        }
        Ok(())
    }

    /// The ciphertext that a modulus switch or a key switch makes `result` from.
    pub(super) fn source(&self, result: Datum) -> Option<Datum> {
        let (op, element) = match result {
            Datum::Amounts { op, element } => self.operand(op, element)?,
            Datum::SwitchSum { op, element, .. } | Datum::Lwe { op, element } => (op, element),
            _ => return None,
        };
        let (op, element) = self.operand(op, element)?;
        Some(Datum::Lwe { op, element })
    }
}
