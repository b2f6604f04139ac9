//! Programs for the tests of the machines.

use super::labels::Labels;
use super::replay::replay;
use polyfabric_kernels::decompose::Gadget;
use polyfabric_program::tfhe::kernel::{
    ConstantRun, KernelProgram, Op, OpKind, Output, TableChoice, TestPolynomial, ValueId, ValueType,
    blind_rotation_body, key_switch_body,
};
use polyfabric_program::tfhe::lowering::{Accumulation, Arithmetic, InputTransform, KeySwitchOrder, TfheLowering};
use polyfabric_program::tfhe::matrix::Matrix;
use polyfabric_runtime::NoProgress;
use polyfabric_runtime::tfhe::interpreter;
use polyfabric_schemes::tfhe::{ClientKey, LweBatch, LweKind, Parameters, ParametersLiteral, ServerKey, sets};
use polyfabric_sim::checker::{check, check_every_round};
use polyfabric_sim::schedule::{Event, Item, KindId, Schedule};
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::sync::Arc;

pub fn parameters(set: &str) -> Parameters {
    sets::parameters(set).expect("a set of the table")
}

/// A set of any shape, for schedules only.
pub fn shape(n: usize, k: usize, ring_degree: usize, l: u32) -> Parameters {
    let mut literal: ParametersLiteral = (*sets::literal("morphling-I").expect("a set of the table")).clone();
    literal.name = format!("shape-{n}-{k}-{ring_degree}-{l}");
    literal.lwe_dimension = n;
    literal.glwe_dimension = k;
    literal.ring_degree = ring_degree;
    literal.bootstrap_gadget = Gadget { log2_base: 7, levels: l };
    Parameters::check(&literal).expect("a shape within the limits")
}

pub fn lowering(inputs: InputTransform, sums: Accumulation) -> TfheLowering {
    let mut choice = TfheLowering::new(KeySwitchOrder::After, Arithmetic::ExactInteger);
    choice.input_transform = inputs;
    choice.accumulation = sums;
    choice
}

pub fn both_reuses() -> TfheLowering {
    lowering(InputTransform::Shared, Accumulation::TransformDomain)
}

/// `levels` lookups in sequence on `count` ciphertexts, each with a key switch if `switch`.
pub fn lookups(
    parameters: &Parameters,
    choice: &TfheLowering,
    count: usize,
    levels: usize,
    switch: bool,
) -> KernelProgram {
    let n = parameters.lwe_dimension().get();
    let k = parameters.glwe_dimension().get();
    let degree = parameters.ring_degree().get();
    let large = parameters.large_lwe_dimension().get();
    let body = blind_rotation_body(k, parameters.bootstrap_gadget().levels, n, choice);
    let small = ValueType::Lwe { count, kind: LweKind::Small, dimension: n };
    let mut ops = vec![Op { kind: OpKind::Input { name: "x".into() }, operands: vec![], result: small, origin: None }];
    let mut push = |kind, result| {
        let operand = ValueId(ops.len() as u32 - 1);
        ops.push(Op { kind, operands: vec![operand], result, origin: None });
    };
    for level in 0..levels {
        let log2_modulus = degree.trailing_zeros() + 1;
        push(OpKind::PLAIN_SWITCH, ValueType::Indices { count, dimension: n, log2_modulus });
        let tables = TableChoice::Shared(0);
        push(OpKind::BlindRotation { tables, body: Arc::clone(&body) }, ValueType::Glwe { count });
        push(OpKind::PLAIN_EXTRACT, ValueType::Lwe { count, kind: LweKind::Large, dimension: large });
        if switch || level + 1 < levels {
            let levels = parameters.key_switch_gadget().map_or(1, |gadget| gadget.levels);
            push(OpKind::KeySwitch { body: key_switch_body(large, levels) }, small);
        }
    }
    let value = ValueId(ops.len() as u32 - 1);
    let run = ConstantRun { length: degree as u32, value: 1 << 29 };
    KernelProgram {
        name: "lookups".into(),
        parameters: parameters.clone(),
        choice: choice.clone(),
        tables: vec![TestPolynomial::from_runs([run])],
        ops,
        outputs: vec![Output { name: "y".into(), value }],
    }
}

/// A linear layer from `inputs` to `outputs` ciphertexts, then a lookup and a key switch on each.
pub fn network(parameters: &Parameters, choice: &TfheLowering, inputs: usize, outputs: usize) -> KernelProgram {
    let mut program = lookups(parameters, choice, outputs, 1, true);
    let n = parameters.lwe_dimension().get();
    let small = |count| ValueType::Lwe { count, kind: LweKind::Small, dimension: n };
    let weights: Vec<Vec<i64>> = (0..outputs)
        .map(|row| (0..inputs).map(|column| i64::from((row + column).is_multiple_of(inputs - 1))).collect())
        .collect();
    let matrix = Arc::new(Matrix::from_dense(&weights).expect("rows of one length"));
    let bias = (0..outputs as u64).map(|row| row % 2 * 2).collect();
    let mut ops = vec![
        Op { kind: OpKind::Input { name: "x".into() }, operands: vec![], result: small(inputs), origin: None },
        Op { kind: OpKind::Linear { matrix, bias }, operands: vec![ValueId(0)], result: small(outputs), origin: None },
    ];
    for mut op in program.ops.drain(..).skip(1) {
        op.operands.iter_mut().for_each(|operand| operand.0 += 1);
        ops.push(op);
    }
    program.outputs[0].value.0 += 1;
    program.ops = ops;
    program
}

/// Applies `change` to every event, including those in loops.
pub fn each_event(items: &mut [Item], change: &mut impl FnMut(&mut Event)) {
    for item in items {
        match item {
            Item::Event(event) => change(event),
            Item::Repeat(repeat) => each_event(Arc::make_mut(&mut repeat.body).as_mut_slice(), change),
        }
    }
}

/// `schedule` with all events of `kind` changed.
pub fn with_events(schedule: &Schedule, kind: KindId, change: impl Fn(&mut Event)) -> Schedule {
    let mut changed = schedule.clone();
    each_event(&mut changed.items, &mut |event| {
        if event.op.kind == kind {
            change(event);
        }
    });
    changed
}

/// Asserts that a schedule is legal, with the same cycles and stalls folded and round by round.
pub fn is_legal(schedule: &Schedule, name: &str) {
    let primary = ["fft".to_owned()];
    let folded = check(schedule, &primary).unwrap_or_else(|hazard| panic!("{name}: {hazard}"));
    let every = check_every_round(schedule, &primary).expect("every round is legal");
    assert_eq!((folded.cycles, &folded.stalls), (every.cycles, &every.stalls), "{name}");
}

/// A program with keys and encrypted inputs `x`: every third is +1/8, the others -1/8.
pub struct Scene {
    pub program: KernelProgram,
    pub client: ClientKey<u32>,
    pub server: ServerKey<u32>,
    pub inputs: BTreeMap<String, LweBatch<u32>>,
    pub count: usize,
    expected: OnceCell<Vec<u32>>,
}

impl Scene {
    pub fn new(
        parameters: &Parameters,
        count: usize,
        program: impl Fn(&Parameters, &TfheLowering) -> KernelProgram,
        choice: &TfheLowering,
    ) -> Self {
        let client = ClientKey::<u32>::for_tests(parameters, 7).expect("a checked set");
        let server = ServerKey::<u32>::for_tests(&client, 8);
        let plain: Vec<u32> = (0..count).map(|i| if i % 3 == 0 { 1 << 29 } else { 7 << 29 }).collect();
        let inputs = [("x".to_owned(), client.encrypt_for_tests(LweKind::Small, &plain, 3))].into();
        let program = program(parameters, choice);
        Self { program, client, server, inputs, count, expected: OnceCell::new() }
    }

    /// Asserts that a schedule of its program is legal and gives the interpreter's bits.
    pub fn accepts(&self, name: &str, schedule: &Schedule, labels: &Labels) {
        check(schedule, &[]).unwrap_or_else(|hazard| panic!("{name}: {hazard}"));
        assert_eq!(self.replay(schedule, labels).as_deref(), Some(self.expected()), "{name}");
    }

    /// Asserts that the checker rejects a schedule, and that its replay is wrong.
    pub fn rejects(&self, name: &str, schedule: &Schedule, labels: &Labels) {
        assert!(check(schedule, &[]).is_err(), "{name}: the checker also rejects it");
        assert_ne!(self.replay(schedule, labels).as_deref(), Some(self.expected()), "{name}");
    }

    /// The output of a replay of a machine's schedule; `None` if the replay fails.
    fn replay(&self, schedule: &Schedule, labels: &Labels) -> Option<Vec<u32>> {
        let replay = replay(schedule, labels, &self.program, &self.server, &self.inputs, &NoProgress).ok()?;
        Some(replay.outputs["y"].data().to_vec())
    }

    /// The output of the interpreter.
    pub fn expected(&self) -> &[u32] {
        self.expected.get_or_init(|| {
            let outputs = interpreter::run(&self.program, &self.server, &self.inputs, &NoProgress);
            outputs.expect("the interpreter runs it")["y"].data().to_vec()
        })
    }
}
