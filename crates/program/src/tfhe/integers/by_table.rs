//! Operations on few bits as one wide table, where that takes less than lookups on digits.
//!
//! The product of two integers of 8 bits takes 22 lookups, or one table of 16 bits, which takes 16 rotations. The entries come from the lowering in
//! digits itself, evaluated in the clear on every index: each operation has one definition. Its lookups are counted on the way.

use super::digit::Digit;
use super::table::MAX_INDEX_BITS;
use super::{BASE, DIGIT_BITS, Integer, IntegerId, IntegerType, Integers, Result};
use crate::tfhe::homomorphic::{Builder, Node, Op, evaluate};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A bit of a wide table costs this many lookups with the same parameter set: a rotation, and the transforms of circuit bootstrapping. A table of 2^16
/// entries is read in the time of one more.
const BIT: f64 = 1.2;

/// Indices that are evaluated at once.
const TOGETHER: usize = 1 << 12;

/// An operation and its operands' forms.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Signature {
    /// Name and public options.
    operation: String,
    operands: Vec<Operand>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Operand {
    /// An integer of the index, by its place: equal operands are read once. Only the bits of the first type are encrypted.
    Index(usize, IntegerType, IntegerType),
    /// The digits of a public number.
    Public(IntegerType, Vec<u8>),
}

/// The integers of an index and the types of their encrypted digits.
type Index = Vec<(IntegerId, IntegerType)>;

/// The entries of each result, by their digits.
#[derive(Debug)]
pub(super) struct Tables {
    kinds: Vec<IntegerType>,
    entries: Vec<Vec<Vec<u8>>>,
}

impl Integers {
    /// `operation` of `operands`, which have one length: with wide tables by one of them if that is cheaper, otherwise as `operation` does it. `name` determines
    /// the operation.
    pub(super) fn by_table<const N: usize>(
        &mut self,
        builder: &mut Builder,
        name: &str,
        operands: &[IntegerId],
        operation: impl Fn(&mut Self, &mut Builder, &[IntegerId]) -> Result<[IntegerId; N]>,
    ) -> Result<[IntegerId; N]> {
        let Some((signature, index)) = self.signature(name, operands)? else {
            return operation(self, builder, operands);
        };
        if self.tables.is_none() {
            let bits = index.iter().map(|(_, kind)| kind.bits).sum();
            return self.by_lookups(builder, bits, |own, builder| operation(own, builder, operands));
        }
        let known = self.tables.as_ref().and_then(|tables| tables.get(&signature).cloned());
        let tables = match known {
            Some(known) => known,
            None => {
                let made = tables(&signature, &index, self.lanes, &operation)?.map(Arc::new);
                self.tables.get_or_insert_default().entry(signature).or_insert(made).clone()
            }
        };
        let Some(tables) = tables else { return operation(self, builder, operands) };
        let count = self.count(operands[0])?;
        let mut read = Vec::new();
        for (id, kind) in index {
            let mut bits = 0;
            read.extend(self.wide_index(builder, id)?.into_iter().take_while(|(width, _)| {
                bits += width;
                bits <= kind.bits
            }));
        }
        let mut results = [operands[0]; N];
        for ((result, &kind), entries) in results.iter_mut().zip(&tables.kinds).zip(&tables.entries) {
            *result = self.wide_entries(builder, &read, (kind, count), entries)?;
        }
        Ok(results)
    }

    /// Runs `build`, which adds lookups, and notes whether a wide table with an index of `bits` would take less.
    pub(super) fn by_lookups<R>(
        &mut self,
        builder: &mut Builder,
        bits: u32,
        build: impl FnOnce(&mut Self, &mut Builder) -> Result<R>,
    ) -> Result<R> {
        let before = builder.nodes().len();
        let result = build(self, builder)?;
        self.replaceable |= self.slot_tables.is_none() && takes_more(&builder.nodes()[before..], bits);
        Ok(result)
    }

    /// The form of an operation that a wide table may replace, and the integers of its index.
    fn signature(&self, name: &str, operands: &[IntegerId]) -> Result<Option<(Signature, Index)>> {
        let mut index = Index::new();
        let mut forms = Vec::new();
        for &id in operands {
            let kind = self.kind(id)?;
            // Elements of a public vector differ; each would have its own table.
            if self.public.contains_key(&id) {
                return Ok(None);
            }
            forms.push(if self.is_public(id)? {
                let digit = |digit: &Digit| digit.public().unwrap_or(0) as u8;
                Operand::Public(kind, self.get(id)?.digits.iter().flatten().map(digit).collect())
            } else {
                let at = index.iter().position(|(known, _)| *known == id).unwrap_or(index.len());
                if at == index.len() {
                    index.push((id, self.encrypted_part(id)?));
                }
                Operand::Index(at, index[at].1, kind)
            });
        }
        let bits: u64 = index.iter().map(|(_, kind)| u64::from(kind.bits)).sum();
        let fits = (1..=u64::from(MAX_INDEX_BITS)).contains(&bits);
        Ok(fits.then(|| (Signature { operation: name.to_owned(), operands: forms }, index)))
    }
}

impl Integers {
    /// The type of an integer without the zeros above its encrypted digits, which a cast leaves.
    fn encrypted_part(&self, id: IntegerId) -> Result<IntegerType> {
        let Integer { kind, digits, carried, bits, .. } = self.get(id)?;
        let encrypted =
            |form: &Vec<Digit>| form.iter().rposition(|digit| digit.public() != Some(0)).map_or(0, |at| at as u32 + 1);
        let carries = |digits: &&Vec<Digit>| digits.iter().all(|digit| digit.lo() >= 0 && digit.hi() < BASE);
        let used = match (bits, carried.as_ref().or(digits.as_ref()).filter(carries)) {
            (Some(bits), _) => encrypted(bits).next_multiple_of(DIGIT_BITS),
            (None, Some(digits)) => encrypted(digits) * DIGIT_BITS,
            (None, None) => kind.bits,
        };
        Ok(if used < kind.bits { IntegerType::unsigned(used.max(1)) } else { *kind })
    }
}

/// Whether the lookups of `nodes` take more than a wide table with an index of `bits`.
fn takes_more(nodes: &[Node], bits: u32) -> bool {
    let lookups = nodes.iter().filter(|node| matches!(node.op, Op::Lookup { .. } | Op::LookupEach { .. }));
    lookups.count() as f64 > BIT * f64::from(bits)
}

/// The tables of an operation; `None` if its lookups on digits cost less.
fn tables<const N: usize>(
    signature: &Signature,
    index: &[(IntegerId, IntegerType)],
    lanes: usize,
    operation: &impl Fn(&mut Integers, &mut Builder, &[IntegerId]) -> Result<[IntegerId; N]>,
) -> Result<Option<Tables>> {
    let bits: u32 = index.iter().map(|(_, kind)| kind.bits).sum();
    let count = TOGETHER.min(1 << bits);
    let (mut builder, mut integers) = (Builder::new("table")?, Integers::new(lanes));
    let mut inputs = Vec::new();
    for (at, (_, kind)) in index.iter().enumerate() {
        inputs.push(integers.input(&mut builder, &format!("x{at}"), *kind, count)?);
    }
    let mut operands = Vec::new();
    for operand in &signature.operands {
        operands.push(match operand {
            Operand::Index(at, _, kind) => integers.cast(&mut builder, inputs[*at], *kind)?,
            Operand::Public(kind, digits) => integers.public(&mut builder, *kind, &vec![digits.clone(); count])?,
        });
    }
    let results = operation(&mut integers, &mut builder, &operands)?;
    if !takes_more(builder.nodes(), bits) {
        return Ok(None);
    }
    let mut kinds = Vec::new();
    for (at, result) in results.into_iter().enumerate() {
        kinds.push(integers.kind(result)?);
        integers.output(&mut builder, &format!("y{at}"), result)?;
    }
    let program = builder.finish()?;
    let mut entries = vec![Vec::with_capacity(1 << bits); N];
    for start in (0..1usize << bits).step_by(count) {
        let (mut place, mut given) = (0, BTreeMap::new());
        for (at, (_, kind)) in index.iter().enumerate() {
            let number = |element: usize| (start + element) >> place & ((1 << kind.bits) - 1);
            let digits = (0..kind.digits()).flat_map(|digit| (0..count).map(move |element| (digit, element)));
            let flat = digits.map(|(digit, element)| (number(element) >> (2 * digit) & 3) as i64).collect();
            given.insert(format!("x{at}"), flat);
            place += kind.bits;
        }
        let Ok(found) = evaluate(&program, &given) else { return Ok(None) };
        let found = found.outputs(&program);
        for ((at, kind), entries) in kinds.iter().enumerate().zip(&mut entries) {
            let flat = &found[&format!("y{at}")];
            let number = |element: usize| (0..kind.digits()).map(|digit| flat[digit * count + element] as u8).collect();
            entries.extend((0..count).map(number));
        }
    }
    Ok(Some(Tables { kinds, entries }))
}
