//! Parses homomorphic programs, through the builder.
//!
//! ```text
//! text    = "program" name node*
//! node    = "%"n "=" op [name] ["%"a, "%"b, ..] attributes ":" type "x" length "@" "1/"P ["pinned"] ["at" file ":" line]
//! type    = "boolean" | "integer[" lo ".." hi ["by" stride] "]" | "torus[" bits "]"
//! ```

use super::{TextError, TextErrorCause as Cause, located, parse_matrix};
use crate::lexer::{Lexer, Place};
use crate::tfhe::homomorphic::{
    Builder, ElementType, Gate, LookupResult, NodeId, Program, ProgramError, ProgramErrorCause, Range, Table,
    TableError,
};
use std::sync::Arc;

type Result<T> = std::result::Result<T, TextError>;

/// # Errors
/// [`TextError`] at the first error.
pub fn parse_program(text: &str) -> Result<Program> {
    let mut lexer = Lexer::new(text)?;
    let place = lexer.here();
    lexer.expect("program")?;
    let name = lexer.quoted_text("the program's name")?;
    let mut builder = Builder::new(&name).map_err(|error| refused(place, error))?;
    let mut written = Vec::new();
    while !lexer.at_end() {
        let place = lexer.here();
        lexer.definition(builder.nodes().len())?;
        lexer.expect("=")?;
        let step = node(&mut lexer, &mut builder, place)?;
        written.push((place, step));
    }
    let program = builder.finish().map_err(|error| refused(place, error))?;
    for (index, (place, step)) in written.into_iter().enumerate() {
        let inferred = program.step(NodeId(index as u32));
        if step != inferred {
            let (written, inferred) = (format!("step 1/{step}"), format!("step 1/{inferred}"));
            return Err(located(place, Cause::Type { written, inferred }));
        }
    }
    Ok(program)
}

fn refused(place: Place, error: ProgramError) -> TextError {
    located(place, Cause::Program(Box::new(error)))
}

/// Attributes of an operation, written before its type.
enum Attributes {
    None,
    Numbers(Vec<i64>),
    Indices(Vec<u32>),
    Linear(Arc<crate::tfhe::Matrix>, Vec<i64>),
    Tables(Vec<Table>, Option<Vec<u32>>),
    Wide(Vec<Table>, Vec<u32>),
}

/// Parses a node after `=`, appends it and returns its written step.
fn node(lexer: &mut Lexer<'_>, builder: &mut Builder, place: Place) -> Result<u32> {
    let op = lexer.word("an operation")?;
    let name = match op {
        "input" | "output" => lexer.quoted_text("a name")?,
        _ => String::new(),
    };
    let operands: Vec<NodeId> = lexer.values()?.into_iter().map(NodeId).collect();
    let needed = match op {
        "input" | "constant" => Some(0),
        "add" | "sub" | "and" | "nand" | "or" | "nor" | "xor" | "xnor" => Some(2),
        "mux" => Some(3),
        "concat" => None,
        _ => Some(1),
    };
    let refuse = |error| refused(place, error);
    if let Some(expected) = needed.filter(|&expected| expected != operands.len()) {
        let (expected, found) = (format!("{expected} operands of {op}"), operands.len().to_string());
        return Err(place.expected(expected, found).into());
    }
    let attributes = attributes(lexer, builder, op, &operands)?;
    lexer.expect(":")?;
    let type_place = lexer.here();
    let element = element(lexer)?;
    lexer.expect("x")?;
    let length = lexer.usize()?;
    lexer.expect("@")?;
    lexer.integer(1, 1)?;
    lexer.expect("/")?;
    let step = lexer.u32()?;
    let pinned = lexer.accept("pinned")?;
    let location = lexer.location()?;
    builder.at(location);
    let id = append(builder, op, &name, &operands, attributes, element, length);
    let id = match id {
        Some(id) => id.map_err(refuse)?,
        None => {
            let expected = "an operation of homomorphic programs with its attributes".to_owned();
            return Err(place.expected(expected, format!("`{op}`")).into());
        }
    };
    if pinned {
        builder.pin_step(id, step).map_err(refuse)?;
    }
    let made = &builder.nodes()[id.index()];
    if (made.element, made.length) != (element, length) {
        let written = format!("{element} x {length}");
        let inferred = format!("{} x {}", made.element, made.length);
        return Err(located(type_place, Cause::Type { written, inferred }));
    }
    Ok(step)
}

fn attributes(lexer: &mut Lexer<'_>, builder: &Builder, op: &str, operands: &[NodeId]) -> Result<Attributes> {
    Ok(match op {
        "constant" | "add_clear" | "mul_clear" => Attributes::Numbers(lexer.numbers(Lexer::i64)?),
        "select" => Attributes::Indices(lexer.numbers(Lexer::u32)?),
        "linear" => {
            let columns = operands.first().and_then(|id| builder.nodes().get(id.index())).map_or(0, |node| node.length);
            let matrix = parse_matrix(lexer, columns)?;
            lexer.expect("+")?;
            Attributes::Linear(Arc::new(matrix), lexer.numbers(Lexer::i64)?)
        }
        "lookup" | "lookup_whole" | "lookup_each" | "lookup_wide" => {
            let tables = lexer.list("{", "}", |lexer| {
                let place = lexer.here();
                let first = lexer.i64()?;
                lexer.expect(":")?;
                let values = lexer.numbers(Lexer::i64)?;
                Table::new(first, values)
                    .map_err(|error: TableError| refused(place, ProgramError { cause: error.into(), location: None }))
            })?;
            if op == "lookup_wide" {
                lexer.expect("widths")?;
                return Ok(Attributes::Wide(tables, lexer.numbers(Lexer::u32)?));
            }
            let choice = if lexer.accept("choice")? { Some(lexer.numbers(Lexer::u32)?) } else { None };
            Attributes::Tables(tables, choice)
        }
        _ => Attributes::None,
    })
}

fn element(lexer: &mut Lexer<'_>) -> Result<ElementType> {
    let place = lexer.here();
    match lexer.word("a type: boolean, integer[lo..hi] or torus[bits]")? {
        "boolean" => Ok(ElementType::Boolean),
        "integer" => {
            lexer.expect("[")?;
            let lo = lexer.i64()?;
            lexer.expect("..")?;
            let hi = lexer.i64()?;
            let stride = if lexer.accept("by")? { lexer.i64()? } else { 1 };
            lexer.expect("]")?;
            let range = Range::with_stride(lo, hi, stride).ok_or_else(|| {
                let cause = ProgramErrorCause::Range { op: "integer", lo, hi };
                refused(place, ProgramError { cause, location: None })
            })?;
            Ok(ElementType::Integer(range))
        }
        "torus" => {
            lexer.expect("[")?;
            let bits = lexer.integer(1, 30)? as u32;
            lexer.expect("]")?;
            Ok(ElementType::Torus { bits })
        }
        other => {
            let expected = "boolean, integer or torus".to_owned();
            Err(place.expected(expected, format!("`{other}`")).into())
        }
    }
}

/// Appends the node; `None` for an unknown operation.
fn append(
    builder: &mut Builder,
    op: &str,
    name: &str,
    operands: &[NodeId],
    attributes: Attributes,
    element: ElementType,
    length: usize,
) -> Option<std::result::Result<NodeId, ProgramError>> {
    let found = match op {
        "and" => Some(Gate::And),
        "nand" => Some(Gate::Nand),
        "or" => Some(Gate::Or),
        "nor" => Some(Gate::Nor),
        "xor" => Some(Gate::Xor),
        "xnor" => Some(Gate::Xnor),
        _ => None,
    };
    if let Some(gate) = found {
        return Some(builder.gate(gate, operands[0], operands[1]));
    }
    Some(match (op, attributes) {
        ("input", _) => builder.input(name, element, length),
        ("constant", Attributes::Numbers(values)) => builder.constant(element, &values),
        ("add", _) => builder.add(operands[0], operands[1]),
        ("sub", _) => builder.sub(operands[0], operands[1]),
        ("neg", _) => builder.neg(operands[0]),
        ("add_clear", Attributes::Numbers(values)) => builder.add_clear(operands[0], &values),
        ("mul_clear", Attributes::Numbers(values)) => builder.mul_clear(operands[0], &values),
        ("linear", Attributes::Linear(matrix, bias)) => builder.linear(operands[0], matrix, &bias),
        ("lookup_wide", Attributes::Wide(tables, widths)) => builder.lookup_wide(operands[0], widths, tables),
        ("lookup" | "lookup_whole" | "lookup_each", Attributes::Tables(tables, choice)) => {
            let result = match element {
                ElementType::Boolean => LookupResult::Boolean,
                ElementType::Integer(_) => LookupResult::Integer,
                ElementType::Torus { bits } => LookupResult::Torus { bits },
            };
            match op {
                "lookup_each" if choice.is_some() => return None,
                "lookup_each" => builder.lookup_each(operands[0], tables, result),
                "lookup_whole" => builder.lookup_whole(operands[0], tables, choice, result),
                _ => builder.lookup(operands[0], tables, choice, result),
            }
        }
        ("sign", _) => builder.sign(operands[0], element == ElementType::Boolean),
        ("not", _) => builder.not(operands[0]),
        ("mux", _) => builder.mux(operands[0], operands[1], operands[2]),
        ("select", Attributes::Indices(indices)) => builder.select(operands[0], &indices),
        ("concat", _) => builder.concat(operands),
        ("assume", _) => {
            let range = match element {
                ElementType::Integer(range) => range,
                // The builder rejects an operand that is not an integer.
                _ => Range::point(0),
            };
            builder.assume(operands[0], range)
        }
        ("output", _) => builder.output(name, operands[0]),
        _ => return None,
    })
}
