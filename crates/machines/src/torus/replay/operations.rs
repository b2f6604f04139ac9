//! What events compute, whatever machine they run on: operands in, results out.

use super::ReplayError;
use super::datum::Datum;
use polyfabric_kernels::Torus;
use polyfabric_program::tfhe::Matrix;
use polyfabric_runtime::tfhe::interpreter::{Primitives, Spectrum};
use std::ops::Range;
use std::sync::Arc;

/// Polynomials of the bootstrapping key: the iteration, and the row and column of each.
pub type Key<'a> = (usize, &'a [(u32, u32)]);

/// The operands of an event.
#[derive(Clone, Copy)]
pub struct Operands<'a> {
    /// In the order of its reads.
    pub data: &'a [Datum],
    /// Its start, for messages.
    pub cycle: i64,
}

impl<'a> Operands<'a> {
    fn wrong(&self, index: usize, expected: &'static str) -> ReplayError {
        let found = self.data.get(index).map_or("nothing", Datum::name);
        ReplayError::Kind { cycle: self.cycle, expected, found }
    }

    /// Operand `index`, torus elements.
    ///
    /// # Errors
    /// [`ReplayError::Kind`] if it is anything else, as of the next ones.
    pub fn torus(&self, index: usize) -> Result<&'a Arc<Vec<u32>>, ReplayError> {
        match self.data.get(index) {
            Some(Datum::Torus(torus)) => Ok(torus),
            _ => Err(self.wrong(index, "torus elements")),
        }
    }

    /// Operand `index`, digits.
    ///
    /// # Errors
    /// [`ReplayError::Kind`].
    pub fn digits(&self, index: usize) -> Result<&'a Arc<Vec<i32>>, ReplayError> {
        match self.data.get(index) {
            Some(Datum::Digits(digits)) => Ok(digits),
            _ => Err(self.wrong(index, "digits")),
        }
    }

    /// Operand `index`, a spectrum.
    ///
    /// # Errors
    /// [`ReplayError::Kind`].
    pub fn spectrum(&self, index: usize) -> Result<&'a Arc<Spectrum<u32>>, ReplayError> {
        match self.data.get(index) {
            Some(Datum::Spectrum(spectrum)) => Ok(spectrum),
            _ => Err(self.wrong(index, "a spectrum")),
        }
    }

    /// Operand `index`, rotation amounts.
    ///
    /// # Errors
    /// [`ReplayError::Kind`].
    pub fn amounts(&self, index: usize) -> Result<&'a Arc<Vec<u32>>, ReplayError> {
        match self.data.get(index) {
            Some(Datum::Amounts(amounts)) => Ok(amounts),
            _ => Err(self.wrong(index, "rotation amounts")),
        }
    }

    /// Operand `index`, polynomials of the bootstrapping key: the iteration, and the row and column of each.
    ///
    /// # Errors
    /// [`ReplayError::Kind`].
    pub fn key(&self, index: usize) -> Result<Key<'a>, ReplayError> {
        match self.data.get(index) {
            Some(Datum::BootstrapKey(iteration, polynomials)) => Ok((*iteration as usize, polynomials)),
            _ => Err(self.wrong(index, "bootstrapping key")),
        }
    }

    /// Operand `index`, a tile of the key-switch key; its number.
    ///
    /// # Errors
    /// [`ReplayError::Kind`].
    pub fn tile(&self, index: usize) -> Result<usize, ReplayError> {
        match self.data.get(index) {
            Some(Datum::Tile(tile)) => Ok(*tile as usize),
            _ => Err(self.wrong(index, "a tile of the key-switch key")),
        }
    }

    /// Operand `index`, a test polynomial; its number.
    ///
    /// # Errors
    /// [`ReplayError::Kind`].
    pub fn table(&self, index: usize) -> Result<usize, ReplayError> {
        match self.data.get(index) {
            Some(Datum::Table(table)) => Ok(*table as usize),
            _ => Err(self.wrong(index, "a test polynomial")),
        }
    }

    /// What lies side by side in operand `index`.
    ///
    /// # Errors
    /// [`ReplayError::Kind`].
    pub fn bundle(&self, index: usize) -> Result<Operands<'a>, ReplayError> {
        match self.data.get(index) {
            Some(Datum::Bundle(data)) => Ok(Operands { data, cycle: self.cycle }),
            _ => Err(self.wrong(index, "several polynomials")),
        }
    }
}

/// X^(-b~) · (0, .., 0, `table`), polynomial by polynomial, for the body's amount b~, the last of `amounts`.
pub fn initial(
    primitives: &Primitives<'_, u32>,
    amounts: &[u32],
    table: &[u32],
) -> impl Iterator<Item = Datum> + use<> {
    let body = amounts.last().copied().unwrap_or(0);
    primitives.initial_accumulator(body, table).into_iter().map(Datum::torus)
}

/// The constant coefficient of the accumulator in operands `range`.
///
/// # Errors
/// [`ReplayError::Kind`] if they are no polynomials.
pub fn extract(
    primitives: &Primitives<'_, u32>,
    operands: Operands<'_>,
    range: Range<usize>,
) -> Result<Datum, ReplayError> {
    let accumulator: Result<Vec<Vec<u32>>, ReplayError> =
        range.map(|index| Ok(operands.torus(index)?.to_vec())).collect();
    Ok(Datum::torus(primitives.sample_extract(&accumulator?)))
}

/// `sum`, or what a key switch of `source` starts from, minus the products of mask elements `elements` with the key.
pub fn switch(
    primitives: &Primitives<'_, u32>,
    source: &[u32],
    sum: Option<&[u32]>,
    elements: Range<usize>,
    levels: u32,
) -> Datum {
    let mut sum = match sum {
        Some(sum) => sum.to_vec(),
        None => primitives.initial_switched(source.last().copied().unwrap_or(0)),
    };
    for element in elements {
        for level in 0..levels {
            let digit = primitives.mask_digit(source[element], level);
            sum = primitives.subtract_key_product(sum, digit, element, level);
        }
    }
    Datum::torus(sum)
}

/// `sum`, or the trivial ciphertext of row `row`'s bias, of `length` elements, plus weights of `matrix` times the operands that
/// `column` finds.
///
/// # Errors
/// Those of `column`, which gives nothing for a column that does not take part.
pub fn linear<'a>(
    (matrix, bias): (&Matrix, &[u64]),
    row: usize,
    sum: Option<&[u32]>,
    length: usize,
    column: impl Fn(usize) -> Result<Option<&'a Arc<Vec<u32>>>, ReplayError>,
) -> Result<Datum, ReplayError> {
    let mut sum = match sum {
        Some(sum) => sum.to_vec(),
        None => {
            let mut sum = vec![0; length];
            if let Some(body) = sum.last_mut() {
                *body = bias.get(row).map_or(0, |&bias| u32::from_u64(bias));
            }
            sum
        }
    };
    for (index, weight) in matrix.row(row) {
        let Some(ciphertext) = column(index)? else { continue };
        for (sum, &element) in sum.iter_mut().zip(ciphertext.iter()) {
            *sum = sum.wrapping_add(element.wrapping_mul_signed(i64::from(weight)));
        }
    }
    Ok(Datum::torus(sum))
}

/// What the data path of a blind rotation makes of several polynomials side by side.
impl Operands<'_> {
    /// The first `count` operands, each rotated by the amount that operand `count` has for `iteration`, minus itself.
    ///
    /// # Errors
    /// [`ReplayError::Kind`], as of the next ones.
    pub fn rotated_differences(
        &self,
        primitives: &Primitives<'_, u32>,
        count: usize,
        iteration: u32,
    ) -> Result<Vec<Datum>, ReplayError> {
        let amount = self.amounts(count)?.get(iteration as usize).copied().unwrap_or(0);
        let difference = |index| {
            let polynomial = self.torus(index)?;
            Ok(Datum::torus(primitives.subtract(&primitives.rotate(polynomial, amount), polynomial)))
        };
        (0..count).map(difference).collect()
    }

    /// The spectra of the digits that lie side by side in operand 0.
    ///
    /// # Errors
    /// [`ReplayError::Kind`].
    pub fn spectra(&self, primitives: &Primitives<'_, u32>) -> Result<Vec<Datum>, ReplayError> {
        let rows = self.bundle(0)?;
        let spectrum = |index| Ok(Datum::Spectrum(Arc::new(primitives.forward(rows.digits(index)?))));
        let spectra: Result<Vec<Datum>, ReplayError> = (0..rows.data.len()).map(spectrum).collect();
        Ok(vec![Datum::bundle(spectra?)])
    }

    /// For each of `columns`, what operand 2 has of it, if there is one, plus the sum of operand 0's spectra times operand 1's key
    /// polynomials, row by row.
    ///
    /// # Errors
    /// [`ReplayError::Kind`].
    pub fn products(&self, primitives: &Primitives<'_, u32>, columns: usize) -> Result<Vec<Datum>, ReplayError> {
        let rows = self.bundle(0)?;
        let (iteration, key) = self.key(1)?;
        let before = if self.data.len() > 2 { Some(self.bundle(2)?) } else { None };
        let (expected, found) = ("a key polynomial for each product", "others");
        let wrong = ReplayError::Kind { cycle: self.cycle, expected, found };
        if key.len() != rows.data.len() * columns {
            return Err(wrong);
        }
        let column = |number: usize| {
            let mut sum = match before {
                Some(before) => Some(Spectrum::clone(before.spectrum(number)?)),
                None => None,
            };
            for index in 0..rows.data.len() {
                let digits = rows.spectrum(index)?;
                let (row, column) = key[index * columns + number];
                sum = Some(match sum {
                    None => primitives.multiply(digits, iteration, row, column),
                    Some(sum) => primitives.multiply_accumulate(sum, digits, iteration, row, column),
                });
            }
            sum.map(|sum| Datum::Spectrum(Arc::new(sum))).ok_or_else(|| wrong.clone())
        };
        (0..columns).map(column).collect()
    }

    /// The coefficients of the spectra that lie side by side in operand 0.
    ///
    /// # Errors
    /// [`ReplayError::Kind`].
    pub fn coefficients(&self, primitives: &Primitives<'_, u32>) -> Result<Vec<Datum>, ReplayError> {
        let sums = self.bundle(0)?;
        let back = |index| Ok(Datum::torus(primitives.inverse(Spectrum::clone(sums.spectrum(index)?))));
        let products: Result<Vec<Datum>, ReplayError> = (0..sums.data.len()).map(back).collect();
        Ok(vec![Datum::bundle(products?)])
    }

    /// For each of `count` columns, the product in operand 0 plus the operand that follows.
    ///
    /// # Errors
    /// [`ReplayError::Kind`].
    pub fn accumulated(&self, primitives: &Primitives<'_, u32>, count: usize) -> Result<Vec<Datum>, ReplayError> {
        let products = self.bundle(0)?;
        let column = |number: usize| Ok(Datum::torus(primitives.add(self.torus(1 + number)?, products.torus(number)?)));
        (0..count).map(column).collect()
    }
}
