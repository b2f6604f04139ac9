//! Prints kernel programs.

use crate::rns::kernel::{Conversion, DigitWindow, KernelProgram, OpKind, PublicPolynomial, ValueType};
use polyfabric_schemes::rns::{Domain, KeyId, Part};
use std::fmt;

/// Words of the text form.
pub(super) const DOMAINS: [(Domain, &str); 2] =
    [(Domain::Coefficient, "coefficient"), (Domain::Evaluation, "evaluation")];

/// Words of the text form.
pub(super) const CONVERSIONS: [(Conversion, &str); 3] =
    [(Conversion::Approximate, "approximate"), (Conversion::Balanced, "balanced"), (Conversion::Centred, "centred")];

/// Words of the text form.
pub(super) const PARTS: [(Part, &str); 2] = [(Part::Body, "body"), (Part::Mask, "mask")];

/// The word of `wanted`, which the table contains.
fn word<T: PartialEq>(words: &[(T, &'static str)], wanted: &T) -> &'static str {
    words.iter().find(|(value, _)| value == wanted).map_or("?", |&(_, word)| word)
}

impl fmt::Display for KernelProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "kernel {} degree {}", crate::lexer::quote(&self.name), self.degree.get())?;
        f.write_str("moduli")?;
        list(f, self.moduli.iter().map(|modulus| modulus.value()))?;
        writeln!(f)?;
        for (index, plaintext) in self.plaintexts.iter().enumerate() {
            write!(f, "plaintext {index} = ")?;
            match &**plaintext {
                PublicPolynomial::Narrow(coefficients) => runs(f, "narrow", coefficients)?,
                PublicPolynomial::Wide(coefficients) => runs(f, "wide", coefficients)?,
            }
        }
        let mut place = (None, 0);
        for op in &self.ops {
            if (op.origin, op.step) != place {
                place = (op.origin, op.step);
                write!(f, "step {}", op.step)?;
                op.origin.map_or(Ok(()), |origin| write!(f, " from {origin}"))?;
                writeln!(f)?;
            }
            for (index, result) in op.results.iter().enumerate() {
                write!(f, "{}{result}", if index == 0 { "" } else { ", " })?;
            }
            write!(f, " = {}", op.kind.name())?;
            for (index, operand) in op.operands.iter().enumerate() {
                write!(f, "{} {operand}", if index == 0 { "" } else { "," })?;
            }
            attributes(f, &op.kind)?;
            writeln!(f)?;
        }
        for output in &self.outputs {
            writeln!(f, "output {} part {} = {}", crate::lexer::quote(&output.name), output.part, output.value)?;
        }
        Ok(())
    }
}

/// Run-length encodes the coefficients, as count and coefficient.
fn runs<T: PartialEq + fmt::Display>(f: &mut fmt::Formatter<'_>, kind: &str, coefficients: &[T]) -> fmt::Result {
    write!(f, "{kind} [")?;
    for (index, run) in coefficients.chunk_by(PartialEq::eq).enumerate() {
        f.write_str(if index == 0 { "" } else { ", " })?;
        match run {
            [one] => write!(f, "{one}")?,
            run => write!(f, "{} x {}", run.len(), run[0])?,
        }
    }
    writeln!(f, "]")
}

fn list<T: fmt::Display>(f: &mut fmt::Formatter<'_>, items: impl Iterator<Item = T>) -> fmt::Result {
    f.write_str(" [")?;
    for (index, item) in items.enumerate() {
        write!(f, "{}{item}", if index == 0 { "" } else { ", " })?;
    }
    f.write_str("]")
}

fn attributes(f: &mut fmt::Formatter<'_>, kind: &OpKind) -> fmt::Result {
    match kind {
        OpKind::Input { name, part, value } => {
            write!(f, " {} part {part}", crate::lexer::quote(name))?;
            value_type(f, value)
        }
        OpKind::Plaintext { plaintext, value } => {
            write!(f, " {plaintext}")?;
            value_type(f, value)
        }
        OpKind::Key { key, row, part, limbs } => {
            key_id(f, *key)?;
            write!(f, " row {row} {} {limbs}", word(&PARTS, part))
        }
        OpKind::Scale { factors: residues } | OpKind::AddConstant { addends: residues } => list(f, residues.iter()),
        OpKind::Automorphism { element } => write!(f, " by {}", element.value()),
        OpKind::SelectLimbs { limbs } => write!(f, " {limbs}"),
        OpKind::BaseConversion { to, conversion } => write!(f, " to {to} {}", word(&CONVERSIONS, conversion)),
        OpKind::SubDigit { window: digit, to } => {
            window(f, digit)?;
            write!(f, " to {to}")
        }
        OpKind::ModUp { digit, window: bits, to, conversion } => {
            write!(f, " digit {digit}")?;
            bits.iter().try_for_each(|bits| window(f, bits))?;
            write!(f, " to {to} {}", word(&CONVERSIONS, conversion))
        }
        OpKind::InnerProduct { key, rows } => {
            key_id(f, *key)?;
            f.write_str(" rows")?;
            list(f, rows.iter())
        }
        OpKind::ModDown { drop, conversion, plaintext_modulus } => {
            write!(f, " drop {drop} {}", word(&CONVERSIONS, conversion))?;
            plaintext_modulus.map_or(Ok(()), |t| write!(f, " modulo {t}"))
        }
        OpKind::Add
        | OpKind::Sub
        | OpKind::Negate
        | OpKind::Multiply
        | OpKind::MultiplyAdd
        | OpKind::ForwardNtt
        | OpKind::InverseNtt
        | OpKind::Concat => Ok(()),
    }
}

fn value_type(f: &mut fmt::Formatter<'_>, value: &ValueType) -> fmt::Result {
    write!(f, " {} {}", word(&DOMAINS, &value.domain), value.limbs)
}

fn window(f: &mut fmt::Formatter<'_>, window: &DigitWindow) -> fmt::Result {
    write!(f, " bits {} index {} of {}", window.bits, window.index, window.count)
}

fn key_id(f: &mut fmt::Formatter<'_>, key: KeyId) -> fmt::Result {
    match key {
        KeyId::Relinearisation => f.write_str(" relinearisation"),
        KeyId::Galois(element) => write!(f, " galois {element}"),
        KeyId::GaloisAfter(element) => write!(f, " galois_after {element}"),
        KeyId::Encapsulate => f.write_str(" encapsulate"),
        KeyId::Decapsulate => f.write_str(" decapsulate"),
        KeyId::Other(number) => write!(f, " other {number}"),
    }
}
