//! Digits as linear combinations of ciphertexts, and the lookups that read them.
//!
//! A digit costs nothing until a lookup reads it: sums and differences accumulate, with a known range, and become nodes when read.
//! Every read stays within the limits that the integer parameter sets are designed for: [`CAPACITY`] values in half the torus, twice
//! as many on the whole torus, and a squared norm of the weights of [`NORM_LIMIT`].

use super::IntegerError;
use crate::tfhe::homomorphic::{Builder, ElementType, LookupResult, NodeId, Range, Table};
use crate::tfhe::matrix::MatrixBuilder;
use std::collections::HashMap;
use std::sync::Arc;

/// Values that a lookup on half the torus distinguishes. Tables that share a bootstrap divide this number.
pub const CAPACITY: i64 = 16;

/// Maximum Σ w² over the ciphertexts that a lookup reads. Noisier digits are refreshed first by an extra lookup.
pub const NORM_LIMIT: f64 = 88.0;

/// Σ weight · node + bias, with known bounds `lo` and `hi`, for each element of the vector.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Digit {
    terms: Vec<(NodeId, i64)>,
    bias: i64,
    lo: i64,
    hi: i64,
}

impl Digit {
    pub fn constant(value: i64) -> Self {
        Self { terms: Vec::new(), bias: value, lo: value, hi: value }
    }

    /// A node with values from 0 to `hi`.
    #[cfg(test)]
    pub fn numbered(node: NodeId, hi: i64) -> Self {
        Self { terms: vec![(node, 1)], bias: 0, lo: 0, hi }
    }

    /// The value, if it is public.
    pub fn public(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.bias)
    }

    pub fn lo(&self) -> i64 {
        self.lo
    }

    pub fn hi(&self) -> i64 {
        self.hi
    }

    /// Σ weight · part + bias, with the range from interval arithmetic.
    pub fn combine(parts: &[(i64, &Self)], bias: i64) -> Self {
        let mut terms: Vec<(NodeId, i64)> = parts
            .iter()
            .flat_map(|(weight, part)| part.terms.iter().map(move |(node, w)| (*node, w * weight)))
            .collect();
        terms.sort_unstable_by_key(|term| term.0);
        terms.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            kept.1 += if same { next.1 } else { 0 };
            same
        });
        terms.retain(|term| term.1 != 0);
        let sum = |of: fn(i64, &Self) -> i64| parts.iter().map(|(weight, part)| of(*weight, part)).sum::<i64>() + bias;
        Self {
            terms,
            bias: sum(|weight, part| weight * part.bias),
            lo: sum(|weight, part| weight * if weight < 0 { part.hi } else { part.lo }),
            hi: sum(|weight, part| weight * if weight < 0 { part.lo } else { part.hi }),
        }
        .narrowed()
    }

    /// This sum counted modulo 2, as one that is not negative: terms that occur twice cancel. `range` gives the least and the greatest value of a node.
    pub fn modulo_two(mut self, range: impl Fn(NodeId) -> Result<(i64, i64)>) -> Result<Self> {
        self.terms.iter_mut().for_each(|term| term.1 &= 1);
        self.terms.retain(|term| term.1 != 0);
        let (mut lo, mut hi) = (0, 0);
        for (node, _) in &self.terms {
            let own = range(*node)?;
            (lo, hi) = (lo + own.0, hi + own.1);
        }
        self.bias = (self.bias & 1) + 2 * ((1 - lo).max(0) / 2);
        (self.lo, self.hi) = (lo + self.bias, hi + self.bias);
        Ok(self.narrowed())
    }

    /// Half of this digit, if it is twice a bit.
    pub fn halved(&self) -> Option<Self> {
        let even = self.bias % 2 == 0 && self.terms.iter().all(|term| term.1 % 2 == 0);
        let terms = self.terms.iter().map(|(node, weight)| (*node, weight / 2)).collect();
        (even && self.lo >= 0 && self.hi == 2).then_some(Self { terms, bias: self.bias / 2, lo: 0, hi: 1 })
    }

    /// Narrows the range of a public digit to its value.
    fn narrowed(self) -> Self {
        if self.terms.is_empty() { Self::constant(self.bias) } else { self }
    }

    /// This digit with bounds `lo` and `hi` that the caller knows but interval arithmetic does not.
    pub fn within(mut self, lo: i64, hi: i64) -> Self {
        self.lo = self.lo.max(lo);
        self.hi = self.hi.min(hi);
        self.narrowed()
    }
}

/// Appends lookups to a program, on vectors of `count` elements.
pub(super) struct Circuit<'a> {
    pub builder: &'a mut Builder,
    /// Σ w² of nodes that are sums of elements; all other nodes have 1.
    pub norms: &'a mut HashMap<NodeId, f64>,
    pub count: usize,
    /// Whether lookups may use the whole torus.
    pub whole_torus: bool,
    /// Whether tables are read by circuit bootstrapping.
    pub wide_tables: bool,
}

type Result<T> = std::result::Result<T, IntegerError>;

/// A function of a digit's value.
pub(super) type Function<'f> = &'f dyn Fn(i64) -> i64;

impl Circuit<'_> {
    /// Σ w² of `digit`.
    pub fn norm(&self, digit: &Digit) -> f64 {
        let of = |(node, weight): &(NodeId, i64)| (weight * weight) as f64 * self.norms.get(node).unwrap_or(&1.0);
        digit.terms.iter().map(of).sum()
    }

    /// An existing integer vector as a digit.
    pub fn existing(&self, node: NodeId) -> Result<Digit> {
        let ElementType::Integer(range) = self.builder.element(node)? else {
            return Err(IntegerError::Operand { found: self.builder.element(node)?.to_string() });
        };
        Ok(Digit { terms: vec![(node, 1)], bias: 0, lo: range.lo(), hi: range.hi() })
    }

    /// Adds the node of `digit` to the program.
    pub fn node(&mut self, digit: &Digit) -> Result<NodeId> {
        let mut sum: Option<NodeId> = None;
        for &(node, weight) in &digit.terms {
            let scaled = match weight {
                1 => node,
                -1 if sum.is_some() => node,
                _ => self.builder.mul_clear(node, &vec![weight; self.count])?,
            };
            sum = Some(match sum {
                None => scaled,
                Some(sum) if weight == -1 => self.builder.sub(sum, node)?,
                Some(sum) => self.builder.add(sum, scaled)?,
            });
        }
        let Some(mut node) = sum else {
            let point = ElementType::Integer(Range::point(digit.bias));
            return Ok(self.builder.constant(point, &vec![digit.bias; self.count])?);
        };
        if digit.bias != 0 {
            node = self.builder.add_clear(node, &vec![digit.bias; self.count])?;
        }
        let ElementType::Integer(inferred) = self.builder.element(node)? else { return Ok(node) };
        match Range::new(digit.lo, digit.hi) {
            Some(known) if inferred.lo() < digit.lo || inferred.hi() > digit.hi => {
                Ok(self.builder.assume(node, known)?)
            }
            _ => Ok(node),
        }
    }

    /// Σ weight · part + bias, ready for a lookup: the noisiest parts are refreshed first.
    pub fn read(&mut self, parts: &[(i64, &Digit)], bias: i64) -> Result<Digit> {
        let mut own: Vec<(i64, Digit)> = parts.iter().map(|(weight, part)| (*weight, (*part).clone())).collect();
        loop {
            let borrowed: Vec<(i64, &Digit)> = own.iter().map(|(weight, part)| (*weight, part)).collect();
            let sum = Digit::combine(&borrowed, bias);
            if self.norm(&sum) <= NORM_LIMIT {
                return Ok(sum);
            }
            let brought = |(weight, part): &(i64, Digit)| {
                let norm = self.norm(part);
                if norm > 1.0 { (weight * weight) as f64 * (norm - 1.0) } else { 0.0 }
            };
            let worst = (0..own.len()).max_by(|&a, &b| brought(&own[a]).total_cmp(&brought(&own[b])));
            match worst.filter(|&worst| brought(&own[worst]) > 0.0) {
                Some(worst) => own[worst].1 = self.refreshed(&own[worst].1.clone())?,
                // The weights alone exceed the limit; the program's noise check decides.
                None => return Ok(sum),
            }
        }
    }

    /// The same value with fresh noise.
    pub fn refreshed(&mut self, digit: &Digit) -> Result<Digit> {
        self.lookup(digit, &|value| value)
    }

    fn made(&self, node: NodeId) -> Result<Digit> {
        let digit = self.existing(node)?;
        Ok(if digit.lo == digit.hi { Digit::constant(digit.lo) } else { digit })
    }

    /// `function` of the digit, by one lookup.
    pub fn lookup(&mut self, digit: &Digit, function: Function<'_>) -> Result<Digit> {
        self.lookup_by(digit, function, false)
    }

    /// [`Self::lookup`] on the whole torus: `function` must be negated for values [`CAPACITY`] apart.
    pub fn lookup_whole(&mut self, digit: &Digit, function: Function<'_>) -> Result<Digit> {
        self.lookup_by(digit, function, true)
    }

    fn lookup_by(&mut self, digit: &Digit, function: Function<'_>, whole: bool) -> Result<Digit> {
        if let Some(value) = digit.public() {
            return Ok(Digit::constant(function(value)));
        }
        let node = self.node(digit)?;
        let table = self.table(node, function)?;
        if let Some(value) = self.only_result(node, &table)? {
            return Ok(Digit::constant(value));
        }
        let result = match whole {
            true => self.builder.lookup_whole(node, vec![table], None, LookupResult::Integer)?,
            false => self.builder.lookup(node, vec![table], None, LookupResult::Integer)?,
        };
        self.made(result)
    }

    /// All `functions` of the digit, by one bootstrap if it has few enough values, otherwise by a lookup each.
    pub fn lookup_each(&mut self, digit: &Digit, functions: &[Function<'_>]) -> Result<Vec<Digit>> {
        let span = (digit.hi - digit.lo + 1) * (functions.len() as i64).max(1);
        if digit.public().is_some() || span > CAPACITY {
            return functions.iter().map(|function| self.lookup(digit, function)).collect();
        }
        let node = self.node(digit)?;
        let tables = functions.iter().map(|function| self.table(node, function)).collect::<Result<Vec<_>>>()?;
        let constant: Vec<Option<i64>> =
            tables.iter().map(|table| self.only_result(node, table)).collect::<Result<_>>()?;
        let live: Vec<Function<'_>> =
            functions.iter().zip(&constant).filter(|(_, c)| c.is_none()).map(|(function, _)| *function).collect();
        if live.len() < 2 {
            return functions.iter().map(|function| self.lookup(digit, function)).collect();
        }
        // Tables in one bootstrap share its slots, so each value needs as many slots as there are tables. Spreading the values keeps
        // the step of a `CAPACITY`-value lookup, also for other readers. A different step would raise the failure probability.
        let apart = live.len() as i64;
        let wide = self.builder.mul_clear(node, &vec![apart; self.count])?;
        let live = live
            .iter()
            .map(|function| self.table(wide, &|value| function(value / apart)))
            .collect::<Result<Vec<_>>>()?;
        let all = self.builder.lookup_each(wide, live, LookupResult::Integer)?;
        let mut part = 0;
        let mut results = Vec::with_capacity(functions.len());
        for constant in constant {
            results.push(match constant {
                Some(value) => Digit::constant(value),
                None => {
                    let elements: Vec<u32> = (part * self.count..(part + 1) * self.count).map(|i| i as u32).collect();
                    part += 1;
                    let own = self.builder.select(all, &elements)?;
                    self.made(own)?
                }
            });
        }
        Ok(results)
    }

    fn table(&self, node: NodeId, function: Function<'_>) -> Result<Table> {
        let ElementType::Integer(range) = self.builder.element(node)? else {
            return Err(IntegerError::Operand { found: self.builder.element(node)?.to_string() });
        };
        Ok(Table::tabulate(range, function)?)
    }

    fn only_result(&self, node: NodeId, table: &Table) -> Result<Option<i64>> {
        let ElementType::Integer(range) = self.builder.element(node)? else { return Ok(None) };
        let image = table.image(range)?;
        Ok((image.lo() == image.hi()).then_some(image.lo()))
    }

    /// The elements `indices` of the digit's vector.
    pub fn take(&mut self, digit: &Digit, indices: &[u32]) -> Result<Digit> {
        if digit.public().is_some() {
            return Ok(digit.clone());
        }
        let (node, norm) = (self.node(digit)?, self.norm(digit));
        let taken = self.builder.select(node, indices)?;
        self.norms.insert(taken, norm);
        Ok(self.existing(taken)?.within(digit.lo, digit.hi))
    }

    /// The vector of sums of the elements `rows[r]`.
    pub fn sums(&mut self, digit: &Digit, rows: &[Vec<usize>]) -> Result<Digit> {
        let most = rows.iter().map(Vec::len).max().unwrap_or(0);
        let (node, norm) = (self.node(digit)?, self.norm(digit) * most as f64);
        let mut matrix = MatrixBuilder::new(self.count)?;
        for row in rows {
            matrix.push_row(row.iter().map(|&column| (column, 1)))?;
        }
        let sum = self.builder.linear(node, Arc::new(matrix.finish()), &vec![0; rows.len()])?;
        self.norms.insert(sum, norm);
        self.existing(sum)
    }
}
