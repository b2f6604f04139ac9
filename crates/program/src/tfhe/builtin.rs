//! Built-in microbenchmarks: `pbs`, `pbs+ks` and `keyswitch` on a batch of ciphertexts.
//!
//! Each is an ordinary program on real messages, as wide as the parameter set supports.

use crate::tfhe::homomorphic::{
    Builder, ElementType, LookupResult, Program, ProgramError, ProgramErrorCause, Range, Table,
};
use crate::tfhe::kernel::{
    KernelProgram, Op, OpKind, Output, TableChoice, TestPolynomial, ValueId, ValueType, blind_rotation_body,
    key_switch_body,
};
use crate::tfhe::lowering::{KeySwitchOrder, LoweringError, TfheLowering, lower};
use crate::tfhe::noise;
use polyfabric_schemes::tfhe::noise::Transform;
use polyfabric_schemes::tfhe::{LweKind, Parameters, noise as formulas};
use thiserror::Error;

/// Names of the built-in programs.
pub const NAMES: [&str; 3] = ["pbs", "pbs+ks", "keyswitch"];

/// Widest message, in bits.
const MAX_BITS: u32 = 6;

/// Accepted log2 failure probability of one ciphertext; determines the default message width.
const TARGET_LOG2: f64 = -128.0;

/// A built-in program as homomorphic and as kernel program.
#[derive(Clone, Debug)]
pub struct BuiltIn {
    /// One input `x`, one output `y`; use it to encode, decode and evaluate in the clear.
    pub program: Program,
    pub kernel: KernelProgram,
    /// Bits of a message: the requested number, or the most that the set supports (at least 1).
    pub message_bits: u32,
    /// log2 of the probability that one ciphertext decodes wrongly.
    pub log2_failure: f64,
    /// Bound of the phase error of a result, a fraction of the torus. A larger error did not come from the program.
    pub error_bound: f64,
}

/// Why a built-in program cannot be built.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum BuiltInError {
    #[error("there is no built-in program {name:?}; there are {}", NAMES.join(", "))]
    Unknown { name: String },
    #[error("a batch of {batch} ciphertexts: {cause}")]
    Batch { batch: usize, cause: ProgramErrorCause },
    #[error("messages of {bits} bits; a built-in program takes 1 to {MAX_BITS}")]
    Bits { bits: u32 },
    #[error(
        "program {program} switches keys, but parameter set {set} has no key-switch gadget; choose another set, or the program pbs"
    )]
    NoKeySwitchKey { program: &'static str, set: String },
    #[error(transparent)]
    Lowering(#[from] LoweringError),
}

/// Builds the built-in program `name` for `parameters` on `batch` ciphertexts, with the widest messages that the set supports.
/// `choice.key_switch` is ignored: the program determines it. `transform` is the noise of the arithmetic.
///
/// - `pbs`: modulus switch, blind rotation, sample extraction; small key to large key.
/// - `pbs+ks`: the same followed by a key switch; small key to small key.
/// - `keyswitch`: large key to small key.
///
/// # Errors
/// [`BuiltInError`].
pub fn build(
    name: &str,
    parameters: &Parameters,
    batch: usize,
    choice: &TfheLowering,
    transform: Transform,
) -> Result<BuiltIn, BuiltInError> {
    build_for(name, None, parameters, batch, choice, transform)
}

/// As [`build`], with messages of `bits` bits even if the set does not support them, or the widest supported for `None`.
///
/// # Errors
/// [`BuiltInError`].
pub fn build_for(
    name: &str,
    bits: Option<u32>,
    parameters: &Parameters,
    batch: usize,
    choice: &TfheLowering,
    transform: Transform,
) -> Result<BuiltIn, BuiltInError> {
    if let Some(bits) = bits.filter(|bits| !(1..=MAX_BITS).contains(bits)) {
        return Err(BuiltInError::Bits { bits });
    }
    let unknown = || BuiltInError::Unknown { name: name.to_owned() };
    let name = NAMES.into_iter().find(|known| *known == name).ok_or_else(unknown)?;
    let key_switch = if name == "pbs" { KeySwitchOrder::None } else { KeySwitchOrder::After };
    if key_switch != KeySwitchOrder::None && parameters.key_switch_gadget().is_none() {
        return Err(BuiltInError::NoKeySwitchKey { program: name, set: parameters.name().to_owned() });
    }
    parameters.unrolling(Some(choice.key_unrolling)).map_err(LoweringError::from)?;
    let choice = TfheLowering { key_switch, ..choice.clone() };
    // Failure probability and error bound of one ciphertext, for the lowering that is executed.
    let judged = |bits: u32| -> (f64, f64) {
        let margin = 1.0 / f64::from(4u32 << bits);
        if name == "keyswitch" {
            let fresh = formulas::fresh(parameters, LweKind::Large);
            let switched = formulas::key_switch(parameters).map(|switch| fresh.plus(switch));
            return switched
                .map_or((0.0, margin), |noise| (noise.failure_log2(margin), noise::error_within(noise, margin)));
        }
        let one = homomorphic(name, bits, 1).ok();
        let report = one.and_then(|one| noise::report_lowered(&one, parameters, &choice, transform).ok());
        report.map_or((0.0, margin), |report| {
            let bound = report.outputs.first().map(|output| output.error_bound);
            (report.log2_failure, bound.unwrap_or(margin))
        })
    };
    let carried = || (1..=MAX_BITS).rev().find(|&bits| judged(bits).0 <= TARGET_LOG2).unwrap_or(1);
    let message_bits = bits.unwrap_or_else(carried);
    let program =
        homomorphic(name, message_bits, batch).map_err(|error| BuiltInError::Batch { batch, cause: error.cause })?;
    let (log2_failure, error_bound) = judged(message_bits);
    let kernel = match name {
        "keyswitch" => switch_only(&program, parameters, choice)?,
        _ => lower(&program, parameters, &choice)?,
    };
    Ok(BuiltIn { program, kernel, message_bits, log2_failure, error_bound })
}

/// y = 5x + 3 mod 2^bits, a permutation so that any wrong table index shows; y = x for the key switch.
/// Messages have a padding bit.
fn homomorphic(name: &str, bits: u32, batch: usize) -> Result<Program, ProgramError> {
    let messages = 1i64 << bits;
    let range = Range::new(0, messages - 1).unwrap_or(Range::point(0));
    let mut builder = Builder::new(name)?;
    let x = builder.input("x", ElementType::Integer(range), batch)?;
    let step = 2u32 << bits;
    builder.pin_step(x, step)?;
    let mut y = x;
    if name != "keyswitch" {
        let permuted = Table::tabulate(range, |message| (5 * message + 3) % messages);
        let table = permuted.map_err(|error| ProgramError { cause: error.into(), location: None })?;
        y = builder.lookup(x, vec![table], None, LookupResult::Integer)?;
        builder.pin_step(y, step)?;
    }
    builder.output("y", y)?;
    builder.finish()
}

/// A kernel program that applies caller-supplied test polynomials to a batch `x`: result i of `count` uses `tables[choice[i]]`.
/// `lowering` determines the position of the key switch and with it the keys of `x` and `y`. The messages are unknown,
/// so the noise is not checked.
///
/// # Errors
/// [`LoweringError`]: the set has no key switch, or a table's degree differs from the ring's.
pub fn look_ups(
    parameters: &Parameters,
    tables: Vec<TestPolynomial>,
    choice: TableChoice,
    count: usize,
    lowering: &TfheLowering,
) -> Result<KernelProgram, LoweringError> {
    let mut kernel = KernelProgram {
        name: "lookups".into(),
        parameters: parameters.clone(),
        choice: lowering.clone(),
        tables,
        ops: Vec::new(),
        outputs: Vec::new(),
    };
    let order = lowering.key_switch;
    let switch = match parameters.key_switch_gadget() {
        Some(gadget) => Some(key_switch_body(parameters.large_lwe_dimension().get(), gadget.levels)),
        None if order == KeySwitchOrder::None => None,
        None => {
            let order = if order == KeySwitchOrder::Before { "before" } else { "after" };
            return Err(LoweringError::NoKeySwitchKey { set: parameters.name().to_owned(), order });
        }
    };
    let (n, levels) = (parameters.lwe_dimension().get(), parameters.bootstrap_gadget().levels);
    let rotation = blind_rotation_body(parameters.glwe_dimension().get(), levels, n, lowering);
    let (small, large) = (kernel.lwe_type(count, LweKind::Small), kernel.lwe_type(count, parameters.extracted_key()));
    let indices = ValueType::Indices { count, dimension: n, log2_modulus: parameters.ring_degree().log2() + 1 };
    let mut push = |kind, result| {
        let operands = kernel.ops.len().checked_sub(1).map(|last| ValueId(last as u32)).into_iter().collect();
        kernel.ops.push(Op { kind, operands, result, origin: None });
    };
    let input = OpKind::Input { name: "x".into() };
    match (order, &switch) {
        (KeySwitchOrder::Before, Some(body)) => {
            push(input, large);
            push(OpKind::KeySwitch { body: body.clone() }, small);
        }
        _ => push(input, small),
    }
    push(OpKind::ModulusSwitch { rounding: lowering.rounding, log2_tables: 0 }, indices);
    push(OpKind::BlindRotation { tables: choice, body: rotation }, ValueType::Glwe { count });
    push(OpKind::PLAIN_EXTRACT, large);
    if let (KeySwitchOrder::After, Some(body)) = (order, switch) {
        push(OpKind::KeySwitch { body }, small);
    }
    let value = ValueId(kernel.ops.len() as u32 - 1);
    kernel.outputs.push(Output { name: "y".into(), value });
    kernel.check()?;
    Ok(kernel)
}

fn switch_only(
    program: &Program,
    parameters: &Parameters,
    choice: TfheLowering,
) -> Result<KernelProgram, LoweringError> {
    let mut kernel = KernelProgram {
        name: program.name().into(),
        parameters: parameters.clone(),
        choice,
        tables: Vec::new(),
        ops: Vec::new(),
        outputs: Vec::new(),
    };
    let levels = parameters.key_switch_gadget().map_or(0, |gadget| gadget.levels);
    let body = key_switch_body(parameters.large_lwe_dimension().get(), levels);
    for (origin, name) in program.inputs() {
        let count = program.node(origin).length;
        let input = OpKind::Input { name: name.into() };
        let origin = Some(origin);
        let value = ValueId(kernel.ops.len() as u32);
        let large = kernel.lwe_type(count, LweKind::Large);
        kernel.ops.push(Op { kind: input, operands: Vec::new(), result: large, origin });
        let result = kernel.lwe_type(count, LweKind::Small);
        let kind = OpKind::KeySwitch { body: body.clone() };
        kernel.ops.push(Op { kind, operands: vec![value], result, origin });
        kernel.outputs.push(Output { name: "y".into(), value: ValueId(value.0 + 1) });
    }
    kernel.check()?;
    Ok(kernel)
}
