//! Parses and checks kernel programs.
//!
//! ```text
//! text   = "kernel" name "parameters" json "lowering" json table* body* op* output*
//! table  = "table" n "=" "[" length "x" value, .. "]"
//! body   = "body" n "=" "loop" iterations ("polynomial" | "lwe") "x" carried "{" ("%"n "=" primitive operands)* "yield" values "}"
//! op     = "%"n "=" op [name] values attributes ":" type "x" count ["from" "%"node]
//! type   = "lwe small" | "lwe large" | "indices" | "glwe"
//! output = "output" name "=" "%"n
//! ```

use super::kernel::BODY_TYPES;
use super::{TextError, TextErrorCause as Cause, located, parse_matrix};
use crate::lexer::{Lexer, Place, SyntaxErrorCause};
use crate::tfhe::homomorphic::{MAX_LENGTH, NodeId};
use crate::tfhe::kernel::{
    Body, BodyOp, BodyValue, ConstantRun, KernelProgram, Op, OpKind, Output, Primitive, TableChoice, TestPolynomial,
    ValueId, ValueType,
};
use crate::tfhe::lowering::TfheLowering;
use polyfabric_schemes::tfhe::noise::PhaseRounding;
use polyfabric_schemes::tfhe::{LweKind, Parameters, ParametersLiteral};
use serde::de::DeserializeOwned;
use std::sync::Arc;

type Result<T> = std::result::Result<T, TextError>;

/// # Errors
/// [`TextError`] at the first syntax error, or at the program's name for an inconsistency.
pub fn parse_kernel(text: &str) -> Result<KernelProgram> {
    let mut lexer = Lexer::new(text)?;
    lexer.expect("kernel")?;
    let place = lexer.here();
    let name = lexer.quoted_text("the program's name")?;
    let (literal, at): (ParametersLiteral, Place) = json(&mut lexer, "parameters", "a parameter set")?;
    let parameters = Parameters::check(&literal).map_err(|error| located(at, Cause::Parameters(Box::new(error))))?;
    let (choice, _): (TfheLowering, Place) = json(&mut lexer, "lowering", "a lowering choice")?;
    let mut program = KernelProgram {
        name: name.into(),
        parameters,
        choice,
        tables: Vec::new(),
        ops: Vec::new(),
        outputs: Vec::new(),
    };
    while lexer.accept("table")? {
        numbered(&mut lexer, program.tables.len())?;
        program.tables.push(table(&mut lexer)?);
    }
    let mut bodies = Vec::new();
    while lexer.accept("body")? {
        numbered(&mut lexer, bodies.len())?;
        bodies.push(Arc::new(body(&mut lexer)?));
    }
    while lexer.looks_at("%") {
        lexer.definition(program.ops.len())?;
        lexer.expect("=")?;
        let op = op(&mut lexer, &program, &bodies)?;
        program.ops.push(op);
    }
    while lexer.accept("output")? {
        let name = lexer.quoted_text("the output's name")?;
        lexer.expect("=")?;
        program.outputs.push(Output { name: name.into(), value: ValueId(lexer.value()?) });
    }
    if !lexer.at_end() {
        lexer.expect("output")?;
    }
    program.check().map_err(|error| located(place, Cause::Kernel(Box::new(error))))?;
    Ok(program)
}

fn json<T: DeserializeOwned>(lexer: &mut Lexer<'_>, word: &str, what: &'static str) -> Result<(T, Place)> {
    if !lexer.looks_at(word) {
        lexer.expect(word)?;
    }
    // The rest of the line is JSON, which has its own tokens.
    let (line, place) = lexer.line()?;
    let json = line[word.len()..].trim_start();
    let value = serde_json::from_str(json);
    value.map(|value| (value, place)).map_err(|error| located(place, Cause::Json { what, problem: error.to_string() }))
}

fn numbered(lexer: &mut Lexer<'_>, expected: usize) -> Result<()> {
    let place = lexer.here();
    let found = lexer.u32()?;
    in_order(place, found, expected)?;
    Ok(lexer.expect("=")?)
}

fn in_order(place: Place, found: u32, expected: usize) -> Result<()> {
    if found as usize == expected {
        Ok(())
    } else {
        Err(place.error(SyntaxErrorCause::Order { found: found.into(), expected }).into())
    }
}

fn table(lexer: &mut Lexer<'_>) -> Result<TestPolynomial> {
    let runs = lexer.numbers(|lexer| {
        let length = lexer.integer(1, i128::from(1 << 17))? as u32;
        lexer.expect("x")?;
        Ok(ConstantRun { length, value: lexer.u64()? })
    })?;
    Ok(TestPolynomial::from_runs(runs))
}

fn body(lexer: &mut Lexer<'_>) -> Result<Body> {
    lexer.expect("loop")?;
    let iterations = lexer.usize()?;
    let place = lexer.here();
    let word = lexer.word("polynomial or lwe")?;
    let Some((carries, _)) = BODY_TYPES.iter().find(|(_, name)| *name == word) else {
        let expected = "polynomial or lwe".to_owned();
        return Err(place.expected(expected, format!("`{word}`")).into());
    };
    lexer.expect("x")?;
    let carried = lexer.integer(1, 1 << 16)? as u32;
    lexer.expect("{")?;
    let mut ops: Vec<BodyOp> = Vec::new();
    while lexer.looks_at("%") {
        let at = lexer.here();
        let found = lexer.value()?;
        in_order(at, found, carried as usize + ops.len())?;
        lexer.expect("=")?;
        let primitive = primitive(lexer)?;
        // `%` after an operation without operands starts the next operation.
        let takes_some = !primitive.signature().0.is_empty();
        let operands = if takes_some { lexer.values()? } else { Vec::new() };
        ops.push(BodyOp { primitive, operands: operands.into_iter().map(BodyValue).collect() });
    }
    lexer.expect("yield")?;
    let yields = lexer.values()?.into_iter().map(BodyValue).collect();
    lexer.expect("}")?;
    Ok(Body { iterations, carries: *carries, carried, ops, yields })
}

fn primitive(lexer: &mut Lexer<'_>) -> Result<Primitive> {
    let place = lexer.here();
    let name = lexer.word("a primitive operation")?.to_owned();
    let found = Primitive::read(&name, || lexer.u32())?;
    found.ok_or_else(|| place.expected("a primitive operation".to_owned(), format!("`{name}`")).into())
}

fn op(lexer: &mut Lexer<'_>, program: &KernelProgram, bodies: &[Arc<Body>]) -> Result<Op> {
    let place = lexer.here();
    let word = lexer.word("an operation")?;
    let name = if word == "input" { lexer.quoted_text("the input's name")? } else { String::new() };
    let operands: Vec<ValueId> = lexer.values()?.into_iter().map(ValueId).collect();
    let kind = match word {
        "input" => OpKind::Input { name: name.into() },
        "linear" => {
            let count = |operand: &ValueId| program.ops.get(operand.index()).map_or(0, |op| op.result.count());
            let matrix = parse_matrix(lexer, operands.iter().map(count).sum())?;
            lexer.expect("+")?;
            OpKind::Linear { matrix: Arc::new(matrix), bias: lexer.numbers(Lexer::u64)?.into() }
        }
        "gather" => OpKind::Gather { indices: lexer.numbers(Lexer::u32)?.into() },
        "key_switch" => OpKind::KeySwitch { body: named_body(lexer, bodies)? },
        "modulus_switch" => OpKind::ModulusSwitch {
            rounding: if lexer.accept("centred")? { PhaseRounding::Centred } else { PhaseRounding::Nearest },
            log2_tables: if lexer.accept("log2_tables")? { lexer.u32()? } else { 0 },
        },
        "blind_rotation" => {
            let tables = choice(lexer)?;
            OpKind::BlindRotation { tables, body: named_body(lexer, bodies)? }
        }
        "sample_extract" => {
            OpKind::SampleExtract { coefficients: if lexer.accept("coefficients")? { lexer.u32()? } else { 1 } }
        }
        "circuit_bootstrap" => OpKind::CircuitBootstrap,
        "packed_lookup" => {
            lexer.expect("width")?;
            let width = lexer.u32()?;
            lexer.expect("log2_outputs")?;
            let log2_outputs = lexer.u32()?;
            let tables = choice(lexer)?;
            lexer.expect("bits")?;
            OpKind::PackedLookup { width, log2_outputs, bits: lexer.numbers(Lexer::u32)?.into(), tables }
        }
        other => {
            let expected = "an operation of kernel programs".to_owned();
            return Err(place.expected(expected, format!("`{other}`")).into());
        }
    };
    lexer.expect(":")?;
    let result = result(lexer, program)?;
    let origin = if lexer.accept("from")? { Some(NodeId(lexer.value()?)) } else { None };
    Ok(Op { kind, operands, result, origin })
}

fn choice(lexer: &mut Lexer<'_>) -> Result<TableChoice> {
    if lexer.accept("tables")? {
        return Ok(TableChoice::PerCiphertext(lexer.numbers(Lexer::u32)?.into()));
    }
    lexer.expect("table")?;
    Ok(TableChoice::Shared(lexer.u32()?))
}

fn named_body(lexer: &mut Lexer<'_>, bodies: &[Arc<Body>]) -> Result<Arc<Body>> {
    lexer.expect("body")?;
    let place = lexer.here();
    let index = lexer.u32()?;
    let beyond = || {
        let expected = format!("a body below {}", bodies.len());
        TextError::from(place.error(SyntaxErrorCause::Number { value: index.to_string(), expected }))
    };
    bodies.get(index as usize).cloned().ok_or_else(beyond)
}

fn result(lexer: &mut Lexer<'_>, program: &KernelProgram) -> Result<ValueType> {
    let place = lexer.here();
    let word = lexer.word("a type: lwe small, lwe large, indices, glwe or ggsw")?;
    let kind = match word {
        "lwe" if lexer.accept("small")? => Some(LweKind::Small),
        "lwe" => {
            lexer.expect("large")?;
            Some(LweKind::Large)
        }
        "indices" | "glwe" | "ggsw" => None,
        other => {
            let expected = "lwe, indices, glwe or ggsw".to_owned();
            return Err(place.expected(expected, format!("`{other}`")).into());
        }
    };
    lexer.expect("x")?;
    let count = lexer.integer(1, MAX_LENGTH as i128)? as usize;
    Ok(match (kind, word) {
        (Some(kind), _) => program.lwe_type(count, kind),
        (None, "indices") => program.indices_type(count),
        (None, "glwe") => ValueType::Glwe { count },
        (None, _) => ValueType::Ggsw { count },
    })
}
