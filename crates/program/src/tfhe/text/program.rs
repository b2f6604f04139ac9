//! Prints homomorphic programs.

use super::{join, list, matrix};
use crate::tfhe::homomorphic::{NodeId, Op, Program, Table, op_name};
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
        writeln!(f, "program {:?}", self.name())?;
        for (index, node) in self.nodes().iter().enumerate() {
            let id = NodeId(index as u32);
            write!(f, "{id} = {}", op_name(&node.op))?;
            if let Op::Input { name } | Op::Output { name } = &node.op {
                write!(f, " {name:?}")?;
            }
            if !node.operands.is_empty() {
                f.write_str(" ")?;
                join(f, &node.operands, ", ")?;
            }
            attributes(f, &node.op)?;
            write!(f, " : {} x {} @ 1/{}", node.element, node.length, self.step(id))?;
            if node.pinned_step.is_some() {
                f.write_str(" pinned")?;
            }
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
        Op::Constant { values } | Op::AddClear { values } | Op::MulClear { values } => {
            f.write_str(" ")?;
            list(f, values.iter())
        }
        Op::Select { indices } => {
            f.write_str(" ")?;
            list(f, indices.iter())
        }
        Op::Linear { matrix: weights, bias } => {
            f.write_str(" ")?;
            matrix(f, weights)?;
            f.write_str(" + ")?;
            list(f, bias.iter())
        }
        Op::LookupEach { tables } => print_tables(f, tables),
        Op::LookupWide { widths, tables } => {
            print_tables(f, tables)?;
            f.write_str(" widths ")?;
            list(f, widths.iter())
        }
        Op::Lookup { tables, choice, .. } => {
            print_tables(f, tables)?;
            match choice {
                Some(choice) => {
                    f.write_str(" choice ")?;
                    list(f, choice.iter())
                }
                None => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

fn print_tables(f: &mut fmt::Formatter<'_>, tables: &[Table]) -> fmt::Result {
    f.write_str(" {")?;
    for (index, table) in tables.iter().enumerate() {
        f.write_str(if index == 0 { "" } else { ", " })?;
        print_table(f, table)?;
    }
    f.write_str("}")
}

fn print_table(f: &mut fmt::Formatter<'_>, table: &Table) -> fmt::Result {
    write!(f, "{}: ", table.first())?;
    list(f, table.values())
}
