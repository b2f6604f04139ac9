//! The work of one blind-rotation iteration for a pipeline, read from the lowered body.
//!
//! The body defines where sums are formed and inputs are shared; this module knows no variant by name. Each forward transform becomes one
//! stream through decomposer, FFT and multipliers. There it meets every key polynomial by which the body multiplies it, one column for
//! each. A chain of multiply-accumulates is one sum in the transform domain, from the multiplication that opens it to the inverse transform
//! that drains it.

use polyfabric_program::tfhe::kernel::{Body, BodyOp, BodyType, BodyValue, Primitive};

/// A product of a forward transform's stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Product {
    /// Row of the key's GGSW matrix.
    pub row: u32,
    /// Column of the key's GGSW matrix, and of the multipliers.
    pub column: u32,
    /// The accumulation chain it belongs to.
    pub chain: usize,
    /// Whether it opens the chain.
    pub opens: bool,
}

/// One forward transform: the digits of one level of one carried polynomial, and the products that use it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forward {
    /// Index of the forward transform in the body.
    pub operation: u32,
    /// Carried polynomial that is rotated and decomposed.
    pub polynomial: u32,
    /// Gadget level of the digits.
    pub level: u32,
    /// Products, in the order of columns.
    pub products: Vec<Product>,
}

/// One inverse transform: drains a chain and adds the polynomial to the accumulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inverse {
    /// Index of the inverse transform in the body.
    pub operation: u32,
    /// The chain that it drains.
    pub chain: usize,
    /// Column of that chain, and polynomial of the accumulator that it is added to.
    pub column: u32,
    /// Number of earlier inverse transforms that are added to this polynomial.
    pub order: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IterationPlan {
    /// Polynomials of the accumulator: k + 1.
    pub polynomials: u32,
    /// Iterations: n.
    pub iterations: usize,
    /// Forward transforms, in stream order.
    pub forwards: Vec<Forward>,
    /// For each forward transform, the inverse transforms that it completes.
    pub drains: Vec<Vec<Inverse>>,
    /// Number of accumulation chains.
    pub chains: usize,
    /// Whether a product returns before the last forward transform has read the accumulator. Then the old accumulator must stay readable
    /// while the new one grows, and each ciphertext holds two.
    pub two_accumulators: bool,
}

/// Why a body cannot run on a pipeline.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    #[error("the blind-rotation body's operation {operation} ({primitive}) does not follow the data path: {expected}")]
    OffThePath { operation: usize, primitive: String, expected: &'static str },
    #[error(
        "the accumulator has {polynomials} polynomials (k + 1) and the machine multiplies {columns} columns side by side: \
         choose a parameter set with a smaller GLWE dimension, or a machine with more columns"
    )]
    TooWide { polynomials: u32, columns: u32 },
}

#[derive(Clone, Copy)]
enum Meaning {
    Accumulator(u32),
    Rotated(u32),
    Difference(u32),
    Digits(u32, u32),
    Stream(usize),
    Chain(usize),
    Polynomial(usize),
    Other,
}

struct Reader {
    meanings: Vec<Meaning>,
    forwards: Vec<Forward>,
    chain_columns: Vec<u32>,
    last_forward: Vec<usize>,
    drained: Vec<Option<u32>>,
    added: Vec<(usize, u32)>,
}

impl Reader {
    fn new(polynomials: u32) -> Self {
        Self {
            meanings: (0..polynomials).map(Meaning::Accumulator).collect(),
            forwards: Vec::new(),
            chain_columns: Vec::new(),
            last_forward: Vec::new(),
            drained: Vec::new(),
            added: Vec::new(),
        }
    }

    fn meaning(&self, value: BodyValue) -> Meaning {
        self.meanings[value.index()]
    }

    /// Returns the meaning of the result of operation `index` of the body.
    fn operation(&mut self, index: usize, op: &BodyOp) -> Result<Meaning, PlanError> {
        let off =
            |expected| PlanError::OffThePath { operation: index, primitive: format!("{:?}", op.primitive), expected };
        let operands: Vec<Meaning> = op.operands.iter().map(|&value| self.meaning(value)).collect();
        Ok(match (op.primitive, operands.as_slice()) {
            (Primitive::Rotate, [Meaning::Accumulator(j)]) => Meaning::Rotated(*j),
            (Primitive::Rotate, _) => return Err(off("only the accumulator has a second pointer")),
            (Primitive::Subtract, [Meaning::Rotated(j), Meaning::Accumulator(other)]) if j == other => {
                Meaning::Difference(*j)
            }
            (Primitive::Subtract, _) => return Err(off("the two pointers read one polynomial")),
            (Primitive::Digit { level }, [Meaning::Difference(j)]) => Meaning::Digits(*j, level),
            (Primitive::Digit { .. }, _) => return Err(off("the decomposer follows the subtraction")),
            (Primitive::ForwardTransform, [Meaning::Digits(polynomial, level)]) => {
                let operation = index as u32;
                let (polynomial, level) = (*polynomial, *level);
                self.forwards.push(Forward { operation, polynomial, level, products: Vec::new() });
                Meaning::Stream(self.forwards.len() - 1)
            }
            (Primitive::ForwardTransform, _) => return Err(off("the FFT follows the decomposer")),
            (Primitive::Multiply { row, column }, [Meaning::Stream(stream)]) => {
                self.multiply(*stream, row, column, None)
            }
            (Primitive::MultiplyAccumulate { row, column }, [Meaning::Chain(chain), Meaning::Stream(stream)])
                if self.chain_columns[*chain] == column && self.drained[*chain].is_none() =>
            {
                self.multiply(*stream, row, column, Some(*chain))
            }
            (Primitive::Multiply { .. } | Primitive::MultiplyAccumulate { .. }, _) => {
                return Err(off("a multiplier accumulates the FFT's stream in its own column"));
            }
            (Primitive::InverseTransform, [Meaning::Chain(chain)]) => {
                self.drained[*chain] = Some(index as u32);
                Meaning::Polynomial(*chain)
            }
            (Primitive::InverseTransform, _) => return Err(off("the IFFT drains a sum of products")),
            (Primitive::Add, [Meaning::Accumulator(c), Meaning::Polynomial(chain)])
                if *c == self.chain_columns[*chain] && self.added.iter().all(|a| a.1 != *c) =>
            {
                self.added.push((*chain, *c));
                Meaning::Other
            }
            (Primitive::Add, [Meaning::Other, Meaning::Polynomial(chain)]) => {
                self.added.push((*chain, self.chain_columns[*chain]));
                Meaning::Other
            }
            _ => return Err(off("a product returns to the accumulator's polynomial of its column")),
        })
    }

    fn multiply(&mut self, stream: usize, row: u32, column: u32, chain: Option<usize>) -> Meaning {
        let opens = chain.is_none();
        let chain = chain.unwrap_or_else(|| {
            self.chain_columns.push(column);
            self.last_forward.push(stream);
            self.drained.push(None);
            self.chain_columns.len() - 1
        });
        self.last_forward[chain] = self.last_forward[chain].max(stream);
        self.forwards[stream].products.push(Product { row, column, chain, opens });
        Meaning::Chain(chain)
    }

    /// The plan of the body that was read. Every chain is drained after its last product.
    fn plan(self, body: &Body) -> IterationPlan {
        let Self { mut forwards, chain_columns, last_forward, drained, mut added, .. } = self;
        let mut drains = vec![Vec::new(); forwards.len()];
        added.sort_by_key(|&(chain, column)| (last_forward[chain], column, chain));
        let mut orders = vec![0; body.carried as usize];
        for (chain, column) in added {
            let order = orders[column as usize];
            orders[column as usize] += 1;
            let operation = drained[chain].unwrap_or_default();
            drains[last_forward[chain]].push(Inverse { operation, chain, column, order });
        }
        for forward in &mut forwards {
            forward.products.sort_by_key(|product| product.column);
        }
        let early = drains.iter().rev().skip(1).any(|drained| !drained.is_empty());
        IterationPlan {
            polynomials: body.carried,
            iterations: body.iterations,
            forwards,
            drains,
            chains: chain_columns.len(),
            two_accumulators: early,
        }
    }
}

/// Reads `body` for a machine of `columns` columns of multipliers.
pub fn plan(body: &Body, columns: u32) -> Result<IterationPlan, PlanError> {
    if body.carried > columns {
        return Err(PlanError::TooWide { polynomials: body.carried, columns });
    }
    let mut reader = Reader::new(body.carried);
    for (index, op) in body.ops.iter().enumerate() {
        let meaning = reader.operation(index, op)?;
        debug_assert!(op.primitive.signature().1 != BodyType::Lwe);
        reader.meanings.push(meaning);
    }
    Ok(reader.plan(body))
}

#[cfg(test)]
mod tests {
    //! Does the plan contain each transform of the body, on the unit that the data path assigns to it?

    use super::*;
    use polyfabric_program::tfhe::kernel::blind_rotation_body;
    use polyfabric_program::tfhe::lowering::{Accumulation, Arithmetic, InputTransform, KeySwitchOrder, TfheLowering};

    fn planned(k: usize, l: u32, inputs: InputTransform, sums: Accumulation) -> IterationPlan {
        let mut choice = TfheLowering::new(KeySwitchOrder::None, Arithmetic::ExactInteger);
        choice.input_transform = inputs;
        choice.accumulation = sums;
        plan(&blind_rotation_body(k, l, 7, &choice), 4).expect("a body of the lowering follows the data path")
    }

    #[test]
    fn both_reuses() {
        let plan = planned(1, 2, InputTransform::Shared, Accumulation::TransformDomain);
        assert_eq!(plan.forwards.len(), 4);
        assert_eq!((plan.forwards[2].polynomial, plan.forwards[2].level), (1, 0));
        assert!(plan.forwards.iter().all(|forward| forward.products.len() == 2));
        assert_eq!(plan.drains.iter().map(Vec::len).collect::<Vec<_>>(), [0, 0, 0, 2]);
        assert!(!plan.two_accumulators);
    }

    #[test]
    fn input_reuse_and_none() {
        let plan = planned(1, 2, InputTransform::Shared, Accumulation::CoefficientDomain);
        assert_eq!(plan.drains.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2, 2, 2]);
        assert!(plan.two_accumulators);
        let plan = planned(2, 3, InputTransform::PerProduct, Accumulation::CoefficientDomain);
        assert_eq!(plan.forwards.len(), 27);
        assert!(plan.drains.iter().all(|drained| drained.len() == 1));
    }

    #[test]
    fn too_wide() {
        let choice = TfheLowering::new(KeySwitchOrder::None, Arithmetic::ExactInteger);
        let error = plan(&blind_rotation_body(4, 1, 7, &choice), 4).expect_err("five columns on four");
        assert!(error.to_string().contains("5 polynomials"));
    }
}
