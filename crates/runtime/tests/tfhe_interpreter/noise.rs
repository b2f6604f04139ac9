//! Is the measured noise what the program's noise report predicts: at the outputs, and where a look-up reads, also for
//! values that share ciphertexts?

use crate::common::{Keys, clear, values};
use polyfabric_kernels::Torus;
use polyfabric_kernels::fixed::{FixedFftSpec, FixedWidths, RangeRule, Rounding};
use polyfabric_program::tfhe::Matrix;
use polyfabric_program::tfhe::homomorphic::{
    Builder, ElementType, LookupResult, NodeId, Program, Range, Table, encode_input, evaluate,
};
use polyfabric_program::tfhe::kernel::{OpKind, ValueId};
use polyfabric_program::tfhe::lowering::{Arithmetic, KeySwitchOrder, TfheLowering};
use polyfabric_program::tfhe::noise;
use polyfabric_runtime::NoProgress;
use polyfabric_runtime::tfhe::interpreter::{self, Observer, Value};
use polyfabric_schemes::tfhe::encoding::TorusStep;
use polyfabric_schemes::tfhe::{LweKind, noise as noise_formulas};
use std::sync::{Arc, Mutex};

const COUNT: usize = 300;

/// f(x) = x of `COUNT` values, then 2·f(x) + f(x) + x - x, whose only independent sources are the f(x): weight 3.
/// A second look-up reads the sum.
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

fn mean_square(errors: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = errors.len() as f64;
    errors.map(|error| (error - error.round()).powi(2)).sum::<f64>() / count
}

/// The mean square of 300 samples is within 30 % of the variance with probability 0.9998; the formulas are upper
/// bounds, up to 2.5 times too high for rounding errors of the secret's own bits.
fn assert_predicted(what: &str, measured: f64, predicted: f64) {
    let ratio = measured / predicted;
    assert!((0.4..1.3).contains(&ratio), "{what}: measured {measured:e}, predicted {predicted:e}");
}

/// Over keys, whose bound is so many deviations of the mean.
fn second_moment(variance: f64, mean_bound: f64) -> f64 {
    variance + (mean_bound / noise_formulas::MEAN_BOUND).powi(2)
}

fn measure<T: Torus>(set: &str, order: KeySwitchOrder) {
    measure_with(&Keys::<T>::new(set), order, Arithmetic::F64);
}

fn measure_with<T: Torus>(keys: &Keys<T>, order: KeySwitchOrder, arithmetic: Arithmetic) {
    let (program, sum, z) = program();
    let transform = arithmetic.transform(keys.server.parameters());
    let report = noise::report(&program, keys.server.parameters(), order, transform).unwrap();
    assert_eq!(report.outputs[0].squared_norm, 9.0);
    assert_eq!(report.lookups[1].squared_norm, 9.0);
    let lowered = keys.lower(&program, &TfheLowering::new(order, arithmetic));
    let bits: Vec<i64> = (0..COUNT as i64).map(|index| index / 7 % 2).collect();
    let input = values(&[("x", &bits)]);
    let encrypted = keys.encrypt(&program, &lowered, &input, 70);
    let switched = Switched(Mutex::new(Vec::new()));
    let outputs = interpreter::run_observed(&lowered, &keys.server, &encrypted, &NoProgress, &switched).unwrap();
    assert_eq!(keys.decrypt(&program, &outputs), clear(&program, &input));

    let expected = evaluate(&program, &input).unwrap();
    for (name, node, noise) in [("sum", sum, &report.outputs[0]), ("z", z, &report.outputs[1])] {
        let batch = &outputs[name];
        let kind = keys.client.kind_of(batch.dimension()).unwrap();
        let phases = keys.client.decrypt_phase(kind, batch).unwrap();
        let unit = TorusStep { denominator: program.step(node) }.unit::<T>();
        let errors = phases
            .iter()
            .zip(expected.node(node))
            .map(|(phase, &value)| phase.wrapping_sub(unit.wrapping_mul_signed(value)).to_fraction());
        assert_predicted(name, mean_square(errors), second_moment(noise.variance, noise.mean_bound));
    }

    let secret = keys.client.lwe(LweKind::Small).bits();
    let modulus = 2 * keys.server.parameters().ring_degree().get() as i64;
    let read = switched.0.into_inner().unwrap();
    let x = encode_input::<T>(&program, "x", &bits).unwrap();
    let first: Vec<f64> = x.iter().map(|plaintext| plaintext.to_fraction()).collect();
    let step = f64::from(program.step(sum));
    let second: Vec<f64> = expected.node(sum).iter().map(|&value| value as f64 / step).collect();
    for (position, plaintexts) in [first, second].iter().enumerate() {
        let (id, indices) = &read[position];
        assert!(matches!(lowered.op(*id).kind, OpKind::ModulusSwitch { .. }));
        let errors = indices.iter().zip(plaintexts).map(|(indices, plaintext)| {
            let (mask, body) = indices.split_at(indices.len() - 1);
            let dot: i64 = mask.iter().zip(secret).map(|(&a, &s)| i64::from(a) * i64::from(s)).sum();
            (i64::from(body[0]) - dot).rem_euclid(modulus) as f64 / modulus as f64 - plaintext
        });
        let lookup = &report.lookups[position];
        assert_predicted("read", mean_square(errors), second_moment(lookup.variance, lookup.mean_bound));
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

#[test]
fn narrow_fixed_point_whose_rounding_dominates() {
    let keys = Keys::<u32>::new("toy-256");
    let parameters = keys.server.parameters();
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
    measure_with(&keys, KeySwitchOrder::Before, fixed);
}
