//! Runs programs of one operation in the clear.

use polyfabric_program::tfhe::homomorphic::{Builder, Program, evaluate};
use polyfabric_program::tfhe::integers::{IntegerError, IntegerId, IntegerType, Integers};
use std::collections::BTreeMap;

/// SplitMix64 (Steele, Lea, Flood 2014): a small deterministic stream.
pub struct Stream(pub u64);

impl Stream {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A value of `kind` of random size, often at an end of the range.
    pub fn value(&mut self, kind: IntegerType) -> i128 {
        let any = (u128::from(self.next()) << 64 | u128::from(self.next())) >> (self.next() % 100);
        wrapped(
            match self.next() % 8 {
                0 => 0,
                1 => -1,
                2 => 1 << (kind.bits - 1),
                3 => (1 << (kind.bits - 1)) - 1,
                _ => any as i128,
            },
            kind,
        )
    }
}

/// `value` modulo 2^bits in the type's range; for widths up to 100 bits.
pub fn wrapped(value: i128, kind: IntegerType) -> i128 {
    let value = value & ((1 << kind.bits) - 1);
    if kind.signed && value >> (kind.bits - 1) == 1 { value - (1 << kind.bits) } else { value }
}

/// The digits of `value`.
pub fn digits(value: i128, kind: IntegerType) -> Vec<u8> {
    let value = value & ((1 << kind.bits) - 1);
    (0..kind.digits()).map(|index| (value >> (2 * index) & 3) as u8).collect()
}

/// Widths of many kinds, signed and unsigned.
pub fn kinds(bits: &[u32]) -> impl Iterator<Item = IntegerType> {
    bits.iter().flat_map(|&bits| [false, true].map(|signed| IntegerType { bits, signed }))
}

/// A program of inputs `x0`, `x1`, .. whose results are the integers that `operation` returns.
pub struct Compiled {
    pub program: Program,
    inputs: Vec<IntegerType>,
    outputs: Vec<IntegerType>,
    count: usize,
}

impl Compiled {
    pub fn new(
        lanes: usize,
        count: usize,
        inputs: &[IntegerType],
        operation: impl Fn(&mut Integers, &mut Builder, &[IntegerId]) -> Result<Vec<IntegerId>, IntegerError>,
    ) -> Self {
        let mut builder = Builder::new("integers").unwrap();
        let mut integers = Integers::new(lanes);
        let given: Vec<IntegerId> = inputs
            .iter()
            .enumerate()
            .map(|(index, kind)| integers.input(&mut builder, &format!("x{index}"), *kind, count).unwrap())
            .collect();
        let results = operation(&mut integers, &mut builder, &given).unwrap();
        for (index, result) in results.iter().enumerate() {
            integers.output(&mut builder, &format!("y{index}"), *result).unwrap();
        }
        let outputs = results.iter().map(|result| integers.kind(*result).unwrap()).collect();
        Self { program: builder.finish().unwrap(), inputs: inputs.to_vec(), outputs, count }
    }

    /// The results for `values`, both given by input or output and element.
    pub fn evaluate(&self, values: &[Vec<i128>]) -> Vec<Vec<i128>> {
        let mut inputs = BTreeMap::new();
        for (index, (kind, values)) in self.inputs.iter().zip(values).enumerate() {
            let digits: Vec<Vec<u8>> = values.iter().map(|value| digits(*value, *kind)).collect();
            let flat = (0..kind.digits()).flat_map(|at| digits.iter().map(move |digits| i64::from(digits[at])));
            inputs.insert(format!("x{index}"), flat.collect());
        }
        let results = evaluate(&self.program, &inputs).unwrap().outputs(&self.program);
        self.outputs
            .iter()
            .enumerate()
            .map(|(index, kind)| {
                let flat = &results[&format!("y{index}")];
                let count = flat.len() / kind.digits();
                let value = |element: usize| {
                    let digits = (0..kind.digits()).map(|at| i128::from(flat[at * count + element]) << (2 * at));
                    wrapped(digits.sum(), *kind)
                };
                (0..count).map(value).collect()
            })
            .collect()
    }

    /// Compares with `expected` elementwise on random values.
    pub fn check(&self, stream: &mut Stream, rounds: usize, expected: impl Fn(&[i128]) -> Vec<i128>) {
        for _ in 0..rounds {
            let values: Vec<Vec<i128>> =
                self.inputs.iter().map(|kind| (0..self.count).map(|_| stream.value(*kind)).collect()).collect();
            let found = self.evaluate(&values);
            for element in 0..self.count {
                let operands: Vec<i128> = values.iter().map(|values| values[element]).collect();
                let wanted: Vec<i128> =
                    expected(&operands).into_iter().zip(&self.outputs).map(|(v, k)| wrapped(v, *k)).collect();
                let given: Vec<i128> = found.iter().map(|values| values[element]).collect();
                assert_eq!(given, wanted, "{operands:?} of {:?}", self.inputs);
            }
        }
    }
}
