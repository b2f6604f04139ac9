//! Parses homomorphic programs, through the builder.

use super::{TextError, TextErrorCause};
use crate::lexer::{Lexer, Place, SyntaxError};
use crate::rns::homomorphic::{
    Basis, Builder, Complex, Diagonals, NodeId, Op, Polynomial, Program, ProgramError, Scheme, Table, Values,
};
use std::collections::BTreeMap;
use std::sync::Arc;

type Result<T> = std::result::Result<T, TextError>;

/// # Errors
/// [`TextError`] at the first error.
pub fn parse_program(text: &str) -> Result<Program> {
    let mut lexer = Lexer::new(text)?;
    let place = lexer.here();
    lexer.expect("program")?;
    let name = lexer.quoted_text("the program's name")?;
    let scheme = scheme(&mut lexer)?;
    lexer.expect("slots")?;
    let slots = lexer.usize()?;
    let mut builder = Builder::new(&name, scheme, slots).map_err(|error| refused(place, error))?;
    if lexer.accept("batch")? {
        builder.of_batch(lexer.usize()?).map_err(|error| refused(place, error))?;
    }
    while !lexer.at_end() {
        let place = lexer.here();
        lexer.definition(builder.nodes().len())?;
        lexer.expect("=")?;
        let (op, operands) = node(&mut lexer, scheme)?;
        builder.at(lexer.location()?);
        builder.push(op, &operands).map_err(|error| refused(place, error))?;
    }
    builder.finish().map_err(|error| refused(place, error))
}

fn refused(place: Place, error: ProgramError) -> TextError {
    TextError { line: place.line, column: place.column, cause: TextErrorCause::Program(Box::new(error)) }
}

fn scheme(lexer: &mut Lexer<'_>) -> Result<Scheme> {
    let place = lexer.here();
    match lexer.word("a scheme: ckks or bgv(t)")? {
        "ckks" => Ok(Scheme::Ckks),
        "bgv" => {
            lexer.expect("(")?;
            let plaintext_modulus = lexer.u64()?;
            lexer.expect(")")?;
            Ok(Scheme::Bgv { plaintext_modulus })
        }
        other => Err(place.expected("ckks or bgv(t)", format!("`{other}`")).into()),
    }
}

/// Parses one node after `=`.
fn node(lexer: &mut Lexer<'_>, scheme: Scheme) -> Result<(Op, Vec<NodeId>)> {
    let place = lexer.here();
    let word = lexer.word("an operation")?;
    let name: Arc<str> = match word {
        "input" | "selector" | "output" => lexer.quoted_text("a name")?.into(),
        _ => "".into(),
    };
    // Nothing follows a selector's name, so that the next value is the next node.
    let operands = if word == "selector" { Vec::new() } else { lexer.values()? };
    let operands: Vec<NodeId> = operands.into_iter().map(NodeId).collect();
    let op = match word {
        "input" => {
            lexer.expect("magnitude")?;
            let magnitude = lexer.f64()?;
            let level = if lexer.accept("level")? { Some(lexer.usize()?) } else { None };
            Op::Input { name, level, magnitude }
        }
        "selector" => Op::Selector { name },
        "constant" => Op::Constant { values: values(lexer, scheme)? },
        "add" => Op::Add,
        "sub" => Op::Sub,
        "neg" => Op::Neg,
        "mul" => Op::Mul,
        "add_plain" => Op::AddPlain,
        "sub_plain" => Op::SubPlain,
        "mul_plain" => Op::MulPlain,
        "mul_plain_scaled" => {
            lexer.expect("bits")?;
            Op::MulPlainScaled { bits: lexer.u32()? }
        }
        "rotate" => {
            lexer.expect("by")?;
            Op::Rotate { steps: lexer.i64()? }
        }
        "conjugate" => Op::Conjugate,
        "rescale" => Op::Rescale,
        "mod_switch" => {
            lexer.expect("to")?;
            Op::ModSwitch { level: lexer.usize()? }
        }
        "relinearise" => Op::Relinearise,
        "linear_transform" => {
            let mut by_offset = BTreeMap::new();
            lexer.list("{", "}", |lexer| {
                let place = lexer.here();
                let offset = lexer.i64()?;
                lexer.expect(":")?;
                match by_offset.insert(offset, values(lexer, scheme)?) {
                    Some(_) => Err(place.expected("an offset that has no diagonal yet", offset.to_string()).into()),
                    None => Ok::<_, TextError>(()),
                }
            })?;
            Op::LinearTransform { diagonals: Arc::new(Diagonals { by_offset }) }
        }
        "polynomial" => {
            let basis = basis(lexer)?;
            Op::Polynomial { polynomial: Arc::new(Polynomial { basis, coefficients: values(lexer, scheme)? }) }
        }
        "lookup" => {
            let stages_place = lexer.here();
            let stages = if lexer.accept("rounded")? { Some(lexer.u32()?) } else { None };
            lexer.expect("modulo")?;
            let modulus = lexer.u32()?;
            let place = lexer.here();
            let entries = lexer.numbers(Lexer::u32)?;
            let expected = || format!("2 to {} entries below the modulus, which is in the same range", Table::MOST);
            let table = Table::new(&entries, modulus);
            let mut table = table.ok_or_else(|| place.expected(expected(), format!("{} entries", entries.len())))?;
            if let Some(stages) = stages {
                let expected = || format!("1 to {} steps of a rounding", Table::MOST_STAGES);
                table =
                    table.of_rounded(stages).ok_or_else(|| stages_place.expected(expected(), stages.to_string()))?;
            }
            Op::Lookup { table: Arc::new(table) }
        }
        "bootstrap" => Op::Bootstrap { slots: if lexer.accept("slots")? { Some(lexer.usize()?) } else { None } },
        "select" => Op::Select,
        "output" => Op::Output { name },
        other => {
            let expected = "an operation of homomorphic programs";
            return Err(place.expected(expected, format!("`{other}`")).into());
        }
    };
    Ok((op, operands))
}

fn basis(lexer: &mut Lexer<'_>) -> std::result::Result<Basis, SyntaxError> {
    if lexer.accept("monomial")? {
        return Ok(Basis::Monomial);
    }
    lexer.expect("chebyshev")?;
    lexer.expect("from")?;
    let lo = lexer.f64()?;
    lexer.expect("to")?;
    Ok(Basis::Chebyshev { lo, hi: lexer.f64()? })
}

fn values(lexer: &mut Lexer<'_>, scheme: Scheme) -> Result<Values> {
    if scheme != Scheme::Ckks {
        return Ok(Values::Integer(lexer.numbers(Lexer::i64)?.into()));
    }
    let complex = lexer.numbers(|lexer| {
        if !lexer.accept("(")? {
            return Ok(Complex::from(lexer.f64()?));
        }
        let re = lexer.f64()?;
        lexer.expect(",")?;
        let im = lexer.f64()?;
        lexer.expect(")")?;
        Ok(Complex::new(re, im))
    })?;
    Ok(Values::Complex(complex.into()))
}
