//! Prints kernel programs.

use super::{join, list, matrix};
use crate::tfhe::kernel::{
    Body, BodyType, KernelProgram, OpKind, TableChoice, TestPolynomial, ValueId, ValueType, op_name,
};
use polyfabric_schemes::tfhe::LweKind;
use polyfabric_schemes::tfhe::noise::PhaseRounding;
use std::fmt;
use std::sync::Arc;

/// Words of the body types, in the text form.
pub(super) const BODY_TYPES: [(BodyType, &str); 2] = [(BodyType::Polynomial, "polynomial"), (BodyType::Lwe, "lwe")];

impl fmt::Display for KernelProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "kernel {:?}", self.name)?;
        // Only the figures; the named set keeps their sources.
        let mut literal = self.parameters.literal().clone();
        literal.sources.clear();
        let json = serde_json::to_string(&literal).map_err(|_| fmt::Error)?;
        writeln!(f, "parameters {json}")?;
        let json = serde_json::to_string(&self.choice).map_err(|_| fmt::Error)?;
        writeln!(f, "lowering {json}")?;
        for (index, table) in self.tables.iter().enumerate() {
            write!(f, "table {index} = ")?;
            print_table(f, table)?;
        }
        let bodies = self.bodies();
        for (index, body) in bodies.iter().enumerate() {
            write!(f, "body {index} = ")?;
            print_body(f, body)?;
        }
        for (index, op) in self.ops.iter().enumerate() {
            write!(f, "{} = {}", ValueId(index as u32), op_name(&op.kind))?;
            if let OpKind::Input { name } = &op.kind {
                write!(f, " {name:?}")?;
            }
            if !op.operands.is_empty() {
                f.write_str(" ")?;
                join(f, &op.operands, ", ")?;
            }
            attributes(f, &op.kind, &bodies)?;
            f.write_str(" : ")?;
            match op.result {
                ValueType::Lwe { count, kind: LweKind::Small, .. } => write!(f, "lwe small x {count}")?,
                ValueType::Lwe { count, kind: LweKind::Large, .. } => write!(f, "lwe large x {count}")?,
                ValueType::Indices { count, .. } => write!(f, "indices x {count}")?,
                ValueType::Glwe { count } => write!(f, "glwe x {count}")?,
                ValueType::Ggsw { count } => write!(f, "ggsw x {count}")?,
            }
            match op.origin {
                Some(origin) => writeln!(f, " from {origin}")?,
                None => writeln!(f)?,
            }
        }
        for output in &self.outputs {
            writeln!(f, "output {:?} = {}", output.name, output.value)?;
        }
        Ok(())
    }
}

impl KernelProgram {
    /// The distinct bodies, in order of use.
    fn bodies(&self) -> Vec<&Arc<Body>> {
        let mut bodies: Vec<&Arc<Body>> = Vec::new();
        for op in &self.ops {
            if let OpKind::KeySwitch { body } | OpKind::BlindRotation { body, .. } = &op.kind
                && position(&bodies, body).is_none()
            {
                bodies.push(body);
            }
        }
        bodies
    }
}

fn position(bodies: &[&Arc<Body>], body: &Arc<Body>) -> Option<usize> {
    bodies.iter().position(|known| Arc::ptr_eq(known, body) || *known == body)
}

fn print_table(f: &mut fmt::Formatter<'_>, table: &TestPolynomial) -> fmt::Result {
    list(f, table.runs().iter().map(|run| format!("{} x {:#x}", run.length, run.value)))?;
    writeln!(f)
}

fn print_body(f: &mut fmt::Formatter<'_>, body: &Body) -> fmt::Result {
    let carries = BODY_TYPES.iter().find(|(carries, _)| *carries == body.carries);
    let carries = carries.map_or("polynomial", |(_, word)| word);
    writeln!(f, "loop {} {carries} x {} {{", body.iterations, body.carried)?;
    for (index, op) in body.ops.iter().enumerate() {
        write!(f, "  %{} = {}", body.carried as usize + index, op.primitive.name())?;
        for (_, number) in op.primitive.numbers() {
            write!(f, " {number}")?;
        }
        if !op.operands.is_empty() {
            f.write_str(" ")?;
            join(f, op.operands.iter().map(|operand| format!("%{}", operand.0)), ", ")?;
        }
        writeln!(f)?;
    }
    f.write_str("  yield ")?;
    join(f, body.yields.iter().map(|value| format!("%{}", value.0)), ", ")?;
    writeln!(f, "\n}}")
}

fn attributes(f: &mut fmt::Formatter<'_>, kind: &OpKind, bodies: &[&Arc<Body>]) -> fmt::Result {
    match kind {
        OpKind::Linear { matrix: weights, bias } => {
            f.write_str(" ")?;
            matrix(f, weights)?;
            f.write_str(" + ")?;
            list(f, bias.iter().map(|bias| format!("{bias:#x}")))
        }
        OpKind::Gather { indices } => {
            f.write_str(" ")?;
            list(f, indices.iter())
        }
        OpKind::KeySwitch { body } => write!(f, " body {}", position(bodies, body).unwrap_or(0)),
        OpKind::BlindRotation { tables, body } => {
            print_choice(f, tables)?;
            write!(f, " body {}", position(bodies, body).unwrap_or(0))
        }
        OpKind::ModulusSwitch { rounding, log2_tables } => {
            if *rounding == PhaseRounding::Centred {
                f.write_str(" centred")?;
            }
            if *log2_tables > 0 { write!(f, " log2_tables {log2_tables}") } else { Ok(()) }
        }
        OpKind::SampleExtract { coefficients } if *coefficients > 1 => write!(f, " coefficients {coefficients}"),
        OpKind::PackedLookup { width, log2_outputs, bits, tables } => {
            write!(f, " width {width} log2_outputs {log2_outputs}")?;
            print_choice(f, tables)?;
            f.write_str(" bits ")?;
            list(f, bits.iter())
        }
        OpKind::Input { .. } | OpKind::SampleExtract { .. } | OpKind::CircuitBootstrap => Ok(()),
    }
}

fn print_choice(f: &mut fmt::Formatter<'_>, tables: &TableChoice) -> fmt::Result {
    match tables {
        TableChoice::Shared(table) => write!(f, " table {table}"),
        TableChoice::PerCiphertext(tables) => {
            f.write_str(" tables ")?;
            list(f, tables.iter())
        }
    }
}
