//! Parses kernel programs, through the builder.

use super::kernel::{CONVERSIONS, DOMAINS, PARTS};
use super::{TextError, TextErrorCause};
use crate::lexer::{Lexer, Place, SyntaxErrorCause};
use crate::rns::homomorphic::NodeId;
use crate::rns::kernel::{
    DigitWindow, KernelBuilder, KernelProgram, LimbSet, OpKind, PublicPolynomial, ValueId, ValueType,
};
use polyfabric_kernels::RingDegree;
use polyfabric_kernels::automorphism::GaloisElement;
use polyfabric_kernels::modular::Modulus;
use polyfabric_schemes::rns::{KeyId, LimbId};
use std::sync::Arc;

type Result<T> = std::result::Result<T, TextError>;

/// Limit of coefficients repeated by runs over all plaintexts, because a short text like `[65536 x 0]` expands to many.
const MOST_REPEATED: usize = 1 << 26;

/// Limit of limbs over all sets and values, because a short text like `{0-999}` means many. A full-slot bootstrapping has 10^5.
const MOST_LIMBS: usize = 1 << 26;

/// # Errors
/// [`TextError`] at the first error.
pub fn parse_kernel(text: &str) -> Result<KernelProgram> {
    let mut lexer = Lexer::new(text)?;
    let start = lexer.here();
    lexer.expect("kernel")?;
    let name = lexer.quoted_text("the program's name")?;
    lexer.expect("degree")?;
    let place = lexer.here();
    let degree = RingDegree::new(lexer.usize()?).map_err(|error| refused(place, error))?;
    let moduli_at = lexer.here();
    lexer.expect("moduli")?;
    let moduli = lexer.list("[", "]", |lexer| {
        let place = lexer.here();
        Modulus::new(lexer.u64()?).map_err(|error| refused(place, error))
    })?;
    let builder = KernelBuilder::new(name, degree, &moduli).map_err(|error| refused(moduli_at, Box::new(error)))?;
    let mut reader = Reader { lexer, builder, degree, moduli: moduli.len(), limbs: 0, repeated: 0, values: 0 };
    reader.plaintexts()?;
    while !reader.lexer.at_end() && !reader.lexer.looks_at("output") {
        reader.op()?;
    }
    reader.outputs()?;
    reader.builder.finish().map_err(|error| refused(start, Box::new(error)))
}

fn refused(place: Place, cause: impl Into<TextErrorCause>) -> TextError {
    TextError { line: place.line, column: place.column, cause: cause.into() }
}

struct Reader<'a> {
    lexer: Lexer<'a>,
    builder: KernelBuilder,
    degree: RingDegree,
    moduli: usize,
    /// Limbs of all sets and values so far.
    limbs: usize,
    /// Coefficients repeated by runs so far.
    repeated: usize,
    /// Values defined so far.
    values: usize,
}

impl Reader<'_> {
    fn plaintexts(&mut self) -> Result<()> {
        let mut next = 0;
        while self.lexer.looks_at("plaintext") {
            let at = self.lexer.here();
            self.lexer.expect("plaintext")?;
            let place = self.lexer.here();
            let found = self.lexer.u32()?;
            if found != next {
                let expected = format!("{next}, the next plaintext");
                return Err(place.error(SyntaxErrorCause::Number { value: found.to_string(), expected }).into());
            }
            next += 1;
            self.lexer.expect("=")?;
            let polynomial = if self.lexer.accept("narrow")? {
                PublicPolynomial::Narrow(self.coefficients(i64::MIN + 1, i64::MAX)?)
            } else {
                self.lexer.expect("wide")?;
                PublicPolynomial::Wide(self.coefficients(i128::MIN + 1, i128::MAX)?)
            };
            self.builder.hold(&Arc::new(polynomial)).map_err(|error| refused(at, Box::new(error)))?;
        }
        Ok(())
    }

    /// Coefficients from `lo` to `hi`, at most N, as single numbers and as runs `count x coefficient`.
    fn coefficients<T: TryFrom<i128> + Into<i128> + Copy>(&mut self, lo: T, hi: T) -> Result<Arc<[T]>> {
        let (lo, hi) = (lo.into(), hi.into());
        let mut coefficients = Vec::new();
        let (degree, repeated) = (self.degree.get(), &mut self.repeated);
        self.lexer.list("[", "]", |lexer| {
            let place = lexer.here();
            let number = lexer.integer(lo, hi)?;
            let (count, number) = if lexer.accept("x")? { (number, lexer.integer(lo, hi)?) } else { (1, number) };
            let room = degree - coefficients.len();
            let count = usize::try_from(count).ok().filter(|count| (1..=room).contains(count)).ok_or_else(|| {
                let expected = format!("at most {room} more coefficients of the {degree}, at least 1 a run");
                place.error(SyntaxErrorCause::Number { value: count.to_string(), expected })
            })?;
            *repeated += count - 1;
            if *repeated > MOST_REPEATED {
                return Err(refused(place, TextErrorCause::Repeated { most: MOST_REPEATED }));
            }
            let coefficient = T::try_from(number).ok();
            coefficients.extend(coefficient.into_iter().flat_map(|value| std::iter::repeat_n(value, count)));
            Ok::<_, TextError>(())
        })?;
        Ok(coefficients.into())
    }

    /// One operation, with a `step` line if it starts one.
    fn op(&mut self) -> Result<()> {
        if self.lexer.accept("step")? {
            let step = self.lexer.u32()?;
            let origin = if self.lexer.accept("from")? { Some(NodeId(self.lexer.value()?)) } else { None };
            self.builder.set_place(origin, step);
        }
        let place = self.lexer.here();
        self.lexer.definition(self.values)?;
        let mut written = 1;
        while self.lexer.accept(",")? {
            self.lexer.definition(self.values + written)?;
            written += 1;
        }
        self.lexer.expect("=")?;
        let (kind, operands) = self.kind()?;
        let results = self.builder.push(kind, &operands).map_err(|error| refused(place, Box::new(error)))?;
        if results.len() != written {
            return Err(refused(place, TextErrorCause::Results { written, given: results.len() }));
        }
        self.values += written;
        let more = results.iter().map(|&result| self.builder.limbs(result).len()).sum();
        self.count(place, more)
    }

    /// Counts limbs toward [`MOST_LIMBS`].
    fn count(&mut self, place: Place, more: usize) -> Result<()> {
        self.limbs += more;
        if self.limbs > MOST_LIMBS { Err(refused(place, TextErrorCause::Limbs { most: MOST_LIMBS })) } else { Ok(()) }
    }

    /// The part after `=`.
    fn kind(&mut self) -> Result<(OpKind, Vec<ValueId>)> {
        let place = self.lexer.here();
        let word = self.lexer.word("an operation")?;
        let operands = self.lexer.values()?.into_iter().map(ValueId).collect();
        let kind = match word {
            "input" => {
                let name = self.lexer.quoted_text("a name")?.into();
                OpKind::Input { name, part: self.part_number()?, value: self.value_type()? }
            }
            "plaintext" => OpKind::Plaintext { plaintext: self.lexer.u32()?, value: self.value_type()? },
            "key" => {
                let key = self.key()?;
                self.lexer.expect("row")?;
                let row = self.number_16()?;
                OpKind::Key { key, row, part: self.one_of(&PARTS)?, limbs: self.limbs()? }
            }
            "add" => OpKind::Add,
            "sub" => OpKind::Sub,
            "negate" => OpKind::Negate,
            "multiply" => OpKind::Multiply,
            "multiply_add" => OpKind::MultiplyAdd,
            "scale" => OpKind::Scale { factors: self.lexer.numbers(Lexer::u64)?.into() },
            "add_constant" => OpKind::AddConstant { addends: self.lexer.numbers(Lexer::u64)?.into() },
            "forward_ntt" => OpKind::ForwardNtt,
            "inverse_ntt" => OpKind::InverseNtt,
            "automorphism" => {
                self.lexer.expect("by")?;
                let place = self.lexer.here();
                let element = GaloisElement::new(self.degree, self.lexer.usize()?);
                OpKind::Automorphism { element: element.map_err(|error| refused(place, error))? }
            }
            "select_limbs" => OpKind::SelectLimbs { limbs: self.limbs()? },
            "concat" => OpKind::Concat,
            "base_conversion" => OpKind::BaseConversion { to: self.to()?, conversion: self.one_of(&CONVERSIONS)? },
            "sub_digit" => OpKind::SubDigit { window: self.window()?, to: self.to()? },
            "mod_up" => {
                self.lexer.expect("digit")?;
                let digit = self.limbs()?;
                let window = if self.lexer.looks_at("bits") { Some(self.window()?) } else { None };
                OpKind::ModUp { digit, window, to: self.to()?, conversion: self.one_of(&CONVERSIONS)? }
            }
            "inner_product" => {
                let key = self.key()?;
                self.lexer.expect("rows")?;
                let rows: Vec<u16> = self.lexer.numbers(|lexer| Ok(lexer.integer(0, u16::MAX.into())? as u16))?;
                OpKind::InnerProduct { key, rows: rows.into() }
            }
            "mod_down" => {
                self.lexer.expect("drop")?;
                let (drop, conversion) = (self.limbs()?, self.one_of(&CONVERSIONS)?);
                let plaintext_modulus = if self.lexer.accept("modulo")? { Some(self.lexer.u64()?) } else { None };
                OpKind::ModDown { drop, conversion, plaintext_modulus }
            }
            other => return Err(place.expected("an operation of kernel programs", format!("`{other}`")).into()),
        };
        Ok((kind, operands))
    }

    fn outputs(&mut self) -> Result<()> {
        while !self.lexer.at_end() {
            self.lexer.expect("output")?;
            let name = self.lexer.quoted_text("a name")?;
            let part = self.part_number()?;
            self.lexer.expect("=")?;
            let value = ValueId(self.lexer.value()?);
            self.builder.output(name, part, value);
        }
        Ok(())
    }

    fn number_16(&mut self) -> Result<u16> {
        Ok(self.lexer.integer(0, u16::MAX.into())? as u16)
    }

    fn part_number(&mut self) -> Result<u16> {
        self.lexer.expect("part")?;
        self.number_16()
    }

    fn value_type(&mut self) -> Result<ValueType> {
        Ok(ValueType { domain: self.one_of(&DOMAINS)?, limbs: self.limbs()? })
    }

    fn to(&mut self) -> Result<LimbSet> {
        self.lexer.expect("to")?;
        self.limbs()
    }

    fn window(&mut self) -> Result<DigitWindow> {
        self.lexer.expect("bits")?;
        let bits = self.lexer.u32()?;
        self.lexer.expect("index")?;
        let index = self.lexer.u32()?;
        self.lexer.expect("of")?;
        Ok(DigitWindow { bits, index, count: self.lexer.u32()? })
    }

    /// A set of limbs, `{0-4,7}`.
    fn limbs(&mut self) -> Result<LimbSet> {
        let place = self.lexer.here();
        let last = self.moduli as i128 - 1;
        let runs = self.lexer.list("{", "}", |lexer| {
            let first = lexer.integer(0, last)? as u16;
            let end = if lexer.accept("-")? { lexer.integer(first.into(), last)? as u16 } else { first };
            Ok::<_, TextError>(first..=end)
        })?;
        self.count(place, runs.iter().map(ExactSizeIterator::len).sum())?;
        Ok(LimbSet::new(runs.into_iter().flatten().map(LimbId)))
    }

    fn key(&mut self) -> Result<KeyId> {
        let place = self.lexer.here();
        Ok(match self.lexer.word("a key")? {
            "relinearisation" => KeyId::Relinearisation,
            "galois" => KeyId::Galois(self.lexer.usize()?),
            "galois_after" => KeyId::GaloisAfter(self.lexer.usize()?),
            "encapsulate" => KeyId::Encapsulate,
            "decapsulate" => KeyId::Decapsulate,
            "other" => KeyId::Other(self.lexer.u32()?),
            other => {
                let expected = "relinearisation, galois, galois_after, encapsulate, decapsulate or other";
                return Err(place.expected(expected, format!("`{other}`")).into());
            }
        })
    }

    /// One of a table's words.
    fn one_of<T: Copy>(&mut self, words: &[(T, &str)]) -> Result<T> {
        let place = self.lexer.here();
        let all = words.iter().map(|(_, word)| *word).collect::<Vec<_>>().join(" or ");
        let found = self.lexer.word(&all)?;
        match words.iter().find(|(_, word)| *word == found) {
            Some(&(value, _)) => Ok(value),
            None => Err(place.expected(all, format!("`{found}`")).into()),
        }
    }
}
