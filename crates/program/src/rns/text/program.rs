//! Prints homomorphic programs.

use crate::rns::homomorphic::{Basis, Complex, Op, Program, Values, op_name};
use polyfabric_schemes::port::{Direction, Port, ProgramHash};
use std::fmt;

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.print(f, true)
    }
}

/// A program's text without source locations, for its hash.
struct Unplaced<'a>(&'a Program);

impl fmt::Display for Unplaced<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.print(f, false)
    }
}

impl Program {
    /// The identity of the input or output `name`, as ciphertext files store it.
    pub fn port(&self, direction: Direction, name: &str) -> Port {
        let program = ProgramHash::of(Unplaced(self));
        Port { program, program_name: self.name().to_owned(), direction, name: name.to_owned() }
    }

    fn print(&self, f: &mut fmt::Formatter<'_>, places: bool) -> fmt::Result {
        write!(f, "program {:?} {} slots {}", self.name(), self.scheme(), self.slots())?;
        if let Some(batch) = self.batch() {
            write!(f, " batch {batch}")?;
        }
        writeln!(f)?;
        for (id, node) in self.iter() {
            write!(f, "{id} = {}", op_name(&node.op))?;
            if let Op::Input { name, .. } | Op::Selector { name } | Op::Output { name } = &node.op {
                write!(f, " {name:?}")?;
            }
            for (index, operand) in node.operands.iter().enumerate() {
                write!(f, "{} {operand}", if index == 0 { "" } else { "," })?;
            }
            attributes(f, &node.op)?;
            if let Some(location) = node.location.as_ref().filter(|_| places) {
                write!(f, " at {}:{}", crate::lexer::quote(&location.file), location.line)?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

fn attributes(f: &mut fmt::Formatter<'_>, op: &Op) -> fmt::Result {
    match op {
        Op::Input { level, magnitude, .. } => {
            write!(f, " magnitude {magnitude:?}")?;
            level.map_or(Ok(()), |level| write!(f, " level {level}"))
        }
        Op::Constant { values } => print_values(f, values),
        Op::MulPlainScaled { bits } => write!(f, " bits {bits}"),
        Op::Rotate { steps } => write!(f, " by {steps}"),
        Op::ModSwitch { level } => write!(f, " to {level}"),
        Op::Bootstrap { slots: Some(slots) } => write!(f, " slots {slots}"),
        Op::Lookup { table } => {
            let entries: Vec<String> = table.entries().iter().map(u32::to_string).collect();
            if table.stages() > 0 {
                write!(f, " rounded {}", table.stages())?;
            }
            write!(f, " modulo {} [{}]", table.modulus(), entries.join(", "))
        }
        Op::LinearTransform { diagonals } => {
            f.write_str(" {")?;
            for (index, (offset, values)) in diagonals.by_offset.iter().enumerate() {
                write!(f, "{}{offset}:", if index == 0 { "" } else { ", " })?;
                print_values(f, values)?;
            }
            f.write_str("}")
        }
        Op::Polynomial { polynomial } => {
            match polynomial.basis {
                Basis::Monomial => f.write_str(" monomial")?,
                Basis::Chebyshev { lo, hi } => write!(f, " chebyshev from {lo:?} to {hi:?}")?,
            }
            print_values(f, &polynomial.coefficients)
        }
        _ => Ok(()),
    }
}

/// Prints the shortest text that parses to the same numbers.
fn print_values(f: &mut fmt::Formatter<'_>, values: &Values) -> fmt::Result {
    f.write_str(" [")?;
    let separator = |index: usize| if index == 0 { "" } else { ", " };
    match values {
        Values::Integer(values) => {
            for (index, value) in values.iter().enumerate() {
                write!(f, "{}{value}", separator(index))?;
            }
        }
        Values::Complex(values) => {
            for (index, &Complex { re, im }) in values.iter().enumerate() {
                f.write_str(separator(index))?;
                // A negative zero is printed too, so that parsing restores it.
                if im == 0.0 && im.is_sign_positive() { write!(f, "{re:?}")? } else { write!(f, "({re:?}, {im:?})")? }
            }
        }
    }
    f.write_str("]")
}
