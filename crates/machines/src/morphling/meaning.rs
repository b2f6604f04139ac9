//! What the names in Morphling's schedules stand for, for the audit.

use super::emit::resources::{Chip, Kinds};
use super::emit::rotation::ON_WIRE;
use super::layout::Layout;
use super::machine::{Morphling, POINT_BYTES};
use super::software::Streams;
use crate::audit::{Datum, Function, Meaning, Step};
use crate::engine::schedule::{KindId, Shift, Value};
use crate::torus::iteration::{IterationPlan, plan};
use crate::torus::sizes::COEFFICIENT_BYTES;
use polyfabric_program::tfhe::kernel::{Body, BodyValue, KernelProgram, OpKind, Primitive};

/// See the module's documentation.
pub(crate) struct Names<'a> {
    chip: &'a Chip,
    layout: &'a Layout,
    streams: &'a Streams,
    bodies: Vec<Option<BodyNames<'a>>>,
}

/// The body of a blind rotation, by the numbers that the schedule gives to its values.
struct BodyNames<'a> {
    body: &'a Body,
    plan: IterationPlan,
    /// For each accumulation chain, its value after each of its products.
    chains: Vec<Vec<BodyValue>>,
    /// For each polynomial of the accumulator, its value after each product that is added to it.
    sums: Vec<Vec<BodyValue>>,
}

impl<'a> Names<'a> {
    pub fn new(machine: &Morphling, program: &'a KernelProgram, streams: &'a Streams, chip: &'a Chip) -> Self {
        let names = |kind: &'a OpKind| match kind {
            OpKind::BlindRotation { body, .. } => {
                plan(body, machine.columns as u32).ok().map(|plan| BodyNames::new(body, plan))
            }
            _ => None,
        };
        let bodies = program.ops.iter().map(|op| names(&op.kind)).collect();
        Self { chip, layout: &streams.layout, streams, bodies }
    }

    fn body(&self, op: u32) -> Option<&BodyNames<'a>> {
        self.bodies.get(op as usize)?.as_ref()
    }

    /// The key of an iteration: one polynomial, or all that pass on the wires with a forward transform.
    fn key(&self, iteration: u32, index: u32) -> Vec<Datum> {
        let key = |row, column| Datum::Key { iteration, row, column };
        if index & ON_WIRE == 0 {
            return vec![key(index >> 8, index & 0xff)];
        }
        // The wires of all rotations carry the key in the order of their bodies, which one lowering makes alike.
        let forwards = self.bodies.iter().flatten().next().map(|names| &names.plan.forwards);
        let forward = forwards.and_then(|forwards| forwards.get((index & !ON_WIRE) as usize));
        forward.map_or_else(Vec::new, |f| f.products.iter().map(|p| key(p.row, p.column)).collect())
    }

    /// What is of a look-up, by its number in the program.
    fn of_lookup(&self, value: Value) -> Vec<Datum> {
        let classes = &self.chip.classes;
        let Value { class, ciphertext, iteration, index } = value;
        let (op, element) = self.streams.lookup(ciphertext);
        let in_body = |value: Option<BodyValue>, iteration: u32| {
            value.map(|value| Datum::Body { op, value, element, iteration }).into_iter().collect()
        };
        let body = self.body(op);
        let result = |op: u32| body.map(|names| BodyValue(names.body.carried + op));
        let forward =
            |f: u32| body.and_then(|names| names.plan.forwards.get(f as usize)).map(|forward| forward.operation);
        if class == classes.rotations {
            return vec![Datum::Amounts { op, element }];
        }
        if class == classes.accumulator {
            let (order, polynomial) = ((index >> 8) & 0xff, index & 0xff);
            return match order.checked_sub(1) {
                None => in_body(Some(BodyValue(polynomial)), iteration),
                // After some of its products: a value of the iteration that is under way.
                Some(order) => {
                    let sum = body.and_then(|names| names.sums.get(polynomial as usize)?.get(order as usize).copied());
                    in_body(sum.filter(|_| iteration > 0), iteration.saturating_sub(1))
                }
            };
        }
        if class == classes.digits {
            let digits = forward(index).and_then(|op| body?.body.ops[op as usize].operands.first().copied());
            return in_body(digits, iteration);
        }
        if class == classes.spectrum {
            return in_body(forward(index).and_then(result), iteration);
        }
        if class == classes.sum {
            let (chain, products) = ((index >> 8) & 0xff, index & 0xff);
            let link = |names: &BodyNames<'_>| {
                names.chains.get(chain as usize)?.get((products as usize).checked_sub(1)?).copied()
            };
            return in_body(body.and_then(link), iteration);
        }
        if class == classes.product {
            let inverse = |names: &BodyNames<'_>| {
                names.plan.drains.iter().flatten().find(|inverse| inverse.chain == index as usize).map(|i| i.operation)
            };
            return in_body(body.and_then(inverse).and_then(result), iteration);
        }
        // Instruction words and marks order events and hold nothing of the program.
        Vec::new()
    }

    /// Columns of a linear layer that row `row` has taken after block `block` of its ciphertexts.
    fn columns(&self, op: u32, row: u32, block: u32) -> u32 {
        self.streams.needs.get(&op).map_or(0, |needs| needs.done(row as usize, block as usize))
    }
}

impl<'a> BodyNames<'a> {
    fn new(body: &'a Body, plan: IterationPlan) -> Self {
        let value = |op: usize| BodyValue(body.carried + op as u32);
        let of = |value: BodyValue| value.index().checked_sub(body.carried as usize).map(|op| &body.ops[op]);
        let chains = plan.drains.iter().flatten().map(|inverse| {
            let mut links = Vec::new();
            let mut next = body.ops[inverse.operation as usize].operands.first().copied();
            while let Some(link) = next {
                links.push(link);
                next = match of(link) {
                    Some(op) if matches!(op.primitive, Primitive::MultiplyAccumulate { .. }) => {
                        op.operands.first().copied()
                    }
                    _ => None,
                };
            }
            links.reverse();
            (inverse.chain, links)
        });
        let mut by_chain = vec![Vec::new(); plan.chains];
        chains.for_each(|(chain, links)| by_chain[chain] = links);
        let mut sums = vec![Vec::new(); body.carried as usize];
        let mut polynomial: Vec<Option<usize>> = (0..body.carried as usize).map(Some).collect();
        for (index, op) in body.ops.iter().enumerate() {
            let sum = match op.primitive {
                Primitive::Add => op.operands.iter().find_map(|operand| polynomial[operand.index()]),
                _ => None,
            };
            if let Some(polynomial) = sum {
                sums[polynomial].push(value(index));
            }
            polynomial.push(sum);
        }
        Self { body, plan, chains: by_chain, sums }
    }
}

impl Meaning for Names<'_> {
    fn function(&self, kind: KindId) -> Function {
        let Kinds {
            decompose,
            forward,
            multiply,
            inverse,
            accumulate,
            link_load,
            link_store,
            modulus_switch,
            sample_extract,
            key_switch,
            linear,
            transfer,
            key,
            multicast,
            load_twiddles,
            fill_twiddles,
            load_operands,
            return_results,
        } = &self.chip.kinds;
        let functions = [
            (decompose, Function::Body(&[Step::Rotate, Step::Subtract, Step::Digit])),
            (forward, Function::Body(&[Step::ForwardTransform])),
            (multiply, Function::Body(&[Step::Multiply])),
            (inverse, Function::Body(&[Step::InverseTransform])),
            (accumulate, Function::Body(&[Step::Add])),
            (link_load, Function::Initialise),
            (link_store, Function::Move { element_bytes: 1 }),
            (modulus_switch, Function::ModulusSwitch),
            (sample_extract, Function::SampleExtract),
            (key_switch, Function::KeySwitch),
            (linear, Function::Linear),
            (transfer, Function::Move { element_bytes: 1 }),
            (key, Function::Move { element_bytes: 1 }),
            (multicast, Function::Move { element_bytes: POINT_BYTES }),
            (load_operands, Function::Move { element_bytes: COEFFICIENT_BYTES }),
            (return_results, Function::Move { element_bytes: COEFFICIENT_BYTES }),
            (load_twiddles, Function::Move { element_bytes: 1 }),
            (fill_twiddles, Function::Move { element_bytes: POINT_BYTES }),
        ];
        let found = functions.into_iter().find(|(known, _)| **known == kind);
        found.map_or(Function::Move { element_bytes: 1 }, |(_, function)| function)
    }

    fn constant(&self, kind: KindId) -> Option<Datum> {
        let kinds = &self.chip.kinds;
        let ring_degree = self.layout.sizes.ring_degree as u32;
        (kind == kinds.forward || kind == kinds.inverse).then_some(Datum::Twiddles { ring_degree })
    }

    fn data(&self, value: Value) -> Vec<Datum> {
        let classes = &self.chip.classes;
        let Value { class, ciphertext: element, iteration, index } = value;
        if class == classes.operands {
            let moved = Shift { ciphertext: element.into(), iteration: iteration.into(), operation: 0 };
            let values = self.chip.operands.get(index as usize).into_iter().flat_map(|values| values.iter());
            return values.flat_map(|value| self.data(value.shifted(moved))).collect();
        }
        if class == classes.input || class == classes.lwe {
            return vec![Datum::Lwe { op: index, element }];
        }
        if class == classes.key_switch_sum {
            let done = iteration.saturating_mul(self.layout.tile_elements as u32);
            return vec![Datum::SwitchSum { op: index, element, done }];
        }
        if class == classes.key_switch_key {
            let tile = self.layout.tile_elements as u32;
            let [from, to] = [iteration, iteration.saturating_add(1)].map(|tiles| tiles.saturating_mul(tile));
            return vec![Datum::SwitchKey { from, to }];
        }
        if class == classes.linear_sum {
            let done = self.columns(index, element, iteration);
            return vec![Datum::LinearSum { op: index, row: element, done }];
        }
        if class == classes.bootstrap_key {
            return self.key(iteration, index);
        }
        if class == classes.twiddles {
            return vec![Datum::Twiddles { ring_degree: index }];
        }
        if class == classes.table {
            return vec![Datum::Table { index }];
        }
        self.of_lookup(value)
    }
}
