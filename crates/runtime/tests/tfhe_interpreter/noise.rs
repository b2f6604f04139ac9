//! Is the measured noise, over many keys, what the program's noise report predicts: at the outputs, and where a lookup reads, also for
//! values that share ciphertexts?

use super::common::{Keys, Values, clear, values};
use polyfabric_kernels::Torus;
use polyfabric_kernels::fixed::{FixedFftSpec, FixedWidths, RangeRule, Rounding};
use polyfabric_program::tfhe::Matrix;
use polyfabric_program::tfhe::homomorphic::{
    Builder, ElementType, LookupResult, NodeId, Program, Range, Table, encode_input, evaluate,
};
use polyfabric_program::tfhe::kernel::{OpKind, ValueId};
use polyfabric_program::tfhe::lowering::{Arithmetic, KeySwitchOrder, TfheLowering};
use polyfabric_program::tfhe::noise::{self, NoiseReport};
use polyfabric_runtime::NoProgress;
use polyfabric_runtime::tfhe::cpu::Executor;
use polyfabric_runtime::tfhe::interpreter::{self, Observer, Value};
use polyfabric_schemes::tfhe::encoding::TorusStep;
use polyfabric_schemes::tfhe::noise::Keys as KeysOf;
use polyfabric_schemes::tfhe::{ClientKey, LweBatch, LweKind, Parameters, ServerKey, noise as noise_formulas, sets};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

const COUNT: usize = 300;

/// The secret has so many bits: in a rotation's first iteration nearly all digits are 0, and of many it is a small share.
const LWE_DIMENSION: usize = 64;

/// f(x) = x of `COUNT` values, then 2·f(x) + f(x) + x - x, whose only independent sources are the f(x): weight 3.
/// A second lookup reads the sum.
fn program() -> (Program, NodeId, NodeId) {
    let mut builder = Builder::new("shared").unwrap();
    let range = Range::new(0, 1).unwrap();
    let x = builder.input("x", ElementType::Integer(range), COUNT).unwrap();
    let identity = |range| Table::tabulate(range, |value| value).unwrap();
    let y = builder.lookup(x, vec![identity(range)], None, LookupResult::Integer).unwrap();
    let double: Vec<Vec<(usize, i64)>> = (0..COUNT).map(|row| vec![(row, 2)]).collect();
    let double = Arc::new(Matrix::from_rows(COUNT, &double).unwrap());
    let doubled = builder.linear(y, double, &[0; COUNT]).unwrap();
    let tripled = builder.add(doubled, y).unwrap();
    let more = builder.add(tripled, x).unwrap();
    let sum = builder.sub(more, x).unwrap();
    let sum = builder.assume(sum, Range::with_stride(0, 3, 3).unwrap()).unwrap();
    builder.output("sum", sum).unwrap();
    let again = Table::tabulate(Range::new(0, 3).unwrap(), |value| value / 3).unwrap();
    let z = builder.lookup(sum, vec![again], None, LookupResult::Integer).unwrap();
    builder.output("z", z).unwrap();
    (builder.finish().unwrap(), sum, z)
}

/// Keeps the indices of every modulus switch.
struct Switched(Mutex<Vec<(ValueId, Vec<Vec<u32>>)>>);

impl<T> Observer<T> for Switched {
    fn value(&self, id: ValueId, value: &Value<T>) {
        if let Value::Indices(indices) = value {
            self.0.lock().unwrap().push((id, indices.clone()));
        }
    }
}

/// By what errs so: the sum of the errors' squares, how many, and the sum of the variances that are predicted.
#[derive(Default)]
struct Measured(BTreeMap<&'static str, (f64, usize, f64)>);

impl Measured {
    fn add(&mut self, what: &'static str, errors: impl Iterator<Item = f64>, noise: (f64, f64)) {
        let (variance, mean_bound) = noise;
        // Over keys the mean is one more random error; what is bounded is so many deviations of it.
        let predicted = variance + (mean_bound / noise_formulas::MEAN_BOUND).powi(2);
        let one = self.0.entry(what).or_default();
        for error in errors {
            one.0 += (error - error.round()).powi(2);
            one.1 += 1;
            one.2 += predicted;
        }
    }

    /// To 3 % and five deviations, either way. Of so many independent errors a second moment varies by √(2/count); those of one key have a secret and means in common,
    /// which makes it √(4/count) and less, as measured over keys. Of a rotation's first iterations, on a polynomial that nobody has encrypted, some of the formula's noise is absent.
    fn assert_predicted(&self) {
        for (what, &(squares, count, predicted)) in &self.0 {
            let ratio = squares / predicted;
            let tolerance = 1.03 + 5.0 * (4.0 / count as f64).sqrt();
            println!("{what}: {count} errors, {ratio:.3} of the prediction, to the factor {tolerance:.3}");
            assert!((1.0 / tolerance..tolerance).contains(&ratio), "{what}: {ratio} of the prediction");
        }
    }
}

/// A program, lowered for one set, and two of its values.
struct Case {
    program: Program,
    choice: TfheLowering,
    sum: NodeId,
    z: NodeId,
}

fn measure<T: Torus>(set: &str, order: KeySwitchOrder) {
    let keys = if std::env::var_os("POLYFABRIC_FULL").is_some() { [400, 20] } else { [10, 1] };
    measure_with::<T>(set, order, |_| Arithmetic::F64, keys);
}

/// Outputs of the CPU runtime, if it has the arithmetic, and outputs and reads of the interpreter, each over so many keys.
fn measure_with<T: Torus>(
    set: &str,
    order: KeySwitchOrder,
    arithmetic: impl Fn(&Parameters) -> Arithmetic,
    [executed, interpreted]: [u64; 2],
) {
    let mut literal = sets::literal(set).unwrap().clone();
    literal.name = format!("{set}-longer");
    literal.lwe_dimension = LWE_DIMENSION;
    let parameters = Parameters::check(&literal).unwrap();
    let choice = TfheLowering::new(order, arithmetic(&parameters));
    let (program, sum, z) = program();
    let case = Case { program, choice, sum, z };
    let transform = case.choice.arithmetic.transform(&parameters);
    let (mut outputs, mut reads) = (Measured::default(), Measured::default());
    for seed in 0..executed.max(interpreted) {
        let client = ClientKey::<T>::for_tests(&parameters, seed).unwrap();
        let weights = [LweKind::Small, LweKind::Large]
            .map(|kind| client.lwe(kind).bits().iter().filter(|&&bit| bit == 1).count());
        let kind = (KeysOf::Weights(weights), noise::Encryption::Secret);
        let report = noise::report_encrypted(&case.program, &parameters, &case.choice, transform, kind).unwrap();
        assert_eq!(report.outputs[0].squared_norm, 9.0);
        assert_eq!(report.lookups[1].squared_norm, 9.0);
        let keys = Keys { server: ServerKey::for_tests(&client, seed), client };
        let bits: Vec<i64> = (0..COUNT as i64).map(|index| index / 7 % 2).collect();
        let input = values(&[("x", &bits)]);
        let lowered = keys.lower(&case.program, &case.choice);
        let encrypted = keys.encrypt(&case.program, &lowered, &input, 70 + seed);
        if seed < executed {
            let executor = Executor::new(&keys.server, 2).unwrap();
            let found = executor.run(&lowered, &encrypted, &NoProgress).unwrap();
            measure_outputs(&case, &keys, &found, &input, &report, &mut outputs);
        }
        if seed < interpreted {
            let switched = Switched(Mutex::new(Vec::new()));
            let run = interpreter::run_observed(&lowered, &keys.server, &encrypted, &NoProgress, &switched);
            measure_outputs(&case, &keys, &run.unwrap(), &input, &report, &mut reads);
            let read = switched.0.into_inner().unwrap();
            assert!(read.iter().all(|(id, _)| matches!(lowered.op(*id).kind, OpKind::ModulusSwitch { .. })));
            measure_reads(&case, &keys, &read, &bits, &report, &mut reads);
        }
    }
    outputs.assert_predicted();
    reads.assert_predicted();
}

fn measure_outputs<T: Torus>(
    case: &Case,
    keys: &Keys<T>,
    outputs: &BTreeMap<String, LweBatch<T>>,
    input: &Values,
    report: &NoiseReport,
    measured: &mut Measured,
) {
    assert_eq!(keys.decrypt(&case.program, outputs), clear(&case.program, input));
    let expected = evaluate(&case.program, input).unwrap();
    for (name, node, noise) in [("sum", case.sum, &report.outputs[0]), ("z", case.z, &report.outputs[1])] {
        let batch = &outputs[name];
        let kind = keys.client.kind_of(batch.dimension()).unwrap();
        let phases = keys.client.decrypt_phase(kind, batch).unwrap();
        let unit = TorusStep { denominator: case.program.step(node) }.unit::<T>();
        let errors = phases
            .iter()
            .zip(expected.node(node))
            .map(|(phase, &value)| phase.wrapping_sub(unit.wrapping_mul_signed(value)).to_fraction());
        measured.add(name, errors, (noise.variance, noise.mean_bound));
    }
}

/// Measures the error of the phase `read` of both lookups, whose inputs are `bits`.
fn measure_reads<T: Torus>(
    case: &Case,
    keys: &Keys<T>,
    read: &[(ValueId, Vec<Vec<u32>>)],
    bits: &[i64],
    report: &NoiseReport,
    measured: &mut Measured,
) {
    let expected = evaluate(&case.program, &values(&[("x", bits)])).unwrap();
    let secret = keys.client.lwe(LweKind::Small).bits();
    let modulus = 2 * keys.server.parameters().ring_degree().get() as i64;
    let x = encode_input::<T>(&case.program, "x", bits).unwrap();
    let first: Vec<f64> = x.iter().map(|plaintext| plaintext.to_fraction()).collect();
    let step = f64::from(case.program.step(case.sum));
    let second: Vec<f64> = expected.node(case.sum).iter().map(|&value| value as f64 / step).collect();
    for (position, (what, plaintexts)) in [("first read", first), ("second read", second)].iter().enumerate() {
        let errors = read[position].1.iter().zip(plaintexts).map(|(indices, plaintext)| {
            let (mask, body) = indices.split_at(indices.len() - 1);
            let dot: i64 = mask.iter().zip(secret).map(|(&a, &s)| i64::from(a) * i64::from(s)).sum();
            (i64::from(body[0]) - dot).rem_euclid(modulus) as f64 / modulus as f64 - plaintext
        });
        let lookup = &report.lookups[position];
        measured.add(what, errors, (lookup.variance, lookup.mean_bound));
    }
}

#[test]
fn key_switch_after_on_32_bits() {
    measure::<u32>("toy-256", KeySwitchOrder::After);
}

#[test]
fn key_switch_before_on_32_bits() {
    measure::<u32>("toy-512-k2", KeySwitchOrder::Before);
}

#[test]
fn both_orders_on_64_bits() {
    measure::<u64>("toy-256-t64", KeySwitchOrder::Before);
    measure::<u64>("toy-256-t64", KeySwitchOrder::After);
}

/// By the interpreter alone, which is slow in fixed point: few keys.
#[test]
fn narrow_fixed_point_whose_rounding_dominates() {
    let of = |parameters: &Parameters| {
        let spec = FixedFftSpec::for_external_product(
            parameters.ring_degree(),
            parameters.bootstrap_gadget(),
            parameters.glwe_dimension().get(),
            parameters.torus_bits(),
            FixedWidths::uniform(32),
            Rounding::HalfEven,
            RangeRule::OverflowProbability { log2: -64.0, first_step: 0.5 },
        );
        let variance = |transform| noise_formulas::blind_rotation_with(parameters, transform).variance;
        let fixed = Arithmetic::Fixed(Box::new(spec));
        assert!(variance(fixed.transform(parameters)) > 4.0 * variance(Arithmetic::ExactInteger.transform(parameters)));
        fixed
    };
    measure_with::<u32>("toy-256", KeySwitchOrder::Before, of, [0, 2]);
}
