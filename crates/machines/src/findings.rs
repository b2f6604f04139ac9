//! Is a machine's arithmetic fine enough for a parameter set? A table of predictions and measurements.

use crate::contract::tfhe::{arithmetic, torus_bits};
use crate::contract::{Machine, MachineError};
use polyfabric_kernels::cancel;
use polyfabric_kernels::decompose::Gadget;
use polyfabric_kernels::fixed::{FixedFft, FixedFftSpec, FixedSpectrum};
use polyfabric_kernels::negacyclic::ExactMultiplier;
use polyfabric_program::tfhe::builtin;
use polyfabric_program::tfhe::lowering::{Arithmetic, KeySwitchOrder, TfheLowering};
use polyfabric_schemes::tfhe::noise::Transform;
use polyfabric_schemes::tfhe::{Parameters, sets};
use serde::Serialize;

/// log2 of the failure probability of one lookup above which the machine is too coarse for a set.
pub const TOO_COARSE_LOG2: f64 = -40.0;

/// The result for one set on one machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// Name of the parameter set.
    pub set: String,
    /// log2 of the standard deviation that the transform adds to a coefficient in one external product, as a fraction of the torus.
    /// Predicted from the widths.
    pub predicted_log2: f64,
    /// The same, measured on random digits and keys against exact products.
    pub measured_log2: f64,
    /// Number of values that exceeded their width in the measurement.
    pub saturations: u64,
    /// Message bits of the lookup that is judged: as many as the set supports on the machine, at least 1.
    pub message_bits: u32,
    /// log2 of the failure probability of a lookup on the machine.
    pub log2_failure: f64,
    /// The same in exact arithmetic on the same torus.
    pub log2_failure_exact: f64,
    /// Whether the machine's widths or its torus are too coarse for the set.
    pub too_coarse: bool,
}

/// The sets on the machine's torus, each with the lookup of program `pbs`.
pub fn findings(machine: &Machine) -> Result<Vec<Finding>, MachineError> {
    let width = torus_bits(machine, "a lookup")?;
    let paper_sets = sets::all().filter(|(_, parameters)| parameters.torus_bits() == width);
    paper_sets.filter_map(|(_, parameters)| finding(machine, parameters).transpose()).collect()
}

fn finding(machine: &Machine, parameters: &Parameters) -> Result<Option<Finding>, MachineError> {
    let arithmetic = arithmetic(machine, parameters)?;
    let Arithmetic::Fixed(spec) = &arithmetic else { return Ok(None) };
    let spec = (**spec).clone();
    let choice = TfheLowering::new(KeySwitchOrder::None, arithmetic.clone());
    let transform = Transform::fixed(&spec, parameters);
    let gadget = parameters.bootstrap_gadget();
    let rows = parameters.ggsw_rows();
    let unit = f64::from(parameters.torus_bits());
    let predicted_log2 = spec.error_deviation(gadget, rows, parameters.torus_bits()).log2() - unit;
    let Some((measured, saturations)) = measure(spec, gadget, rows) else { return Ok(None) };
    let Ok(on_machine) = builtin::build("pbs", parameters, 1, &choice, transform) else { return Ok(None) };
    // With the same message: in exact arithmetic the set may support a wider one, which fails more often.
    let bits = Some(on_machine.message_bits);
    let exact = builtin::build_for("pbs", bits, parameters, 1, &choice, Transform::Exact);
    let Ok(exact) = exact else { return Ok(None) };
    Ok(Some(Finding {
        set: parameters.name().to_owned(),
        predicted_log2,
        measured_log2: measured.log2() - unit,
        saturations,
        message_bits: on_machine.message_bits,
        log2_failure: on_machine.log2_failure,
        log2_failure_exact: exact.log2_failure,
        too_coarse: on_machine.log2_failure > TOO_COARSE_LOG2,
    }))
}

/// Standard deviation of an external product's error in units of 1/q, and the number of saturations. Compares fixed-point with exact
/// arithmetic, for `rows` products of uniform digits and uniform keys. The random numbers are a fixed sequence, so the table is
/// reproducible.
fn measure(spec: FixedFftSpec, gadget: Gadget, rows: usize) -> Option<(f64, u64)> {
    let degree = spec.ring_degree;
    let exact = ExactMultiplier::new(degree);
    let fft = FixedFft::new(spec).ok()?;
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        // SplitMix64 (Steele, Lea, Flood 2014).
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    let half = 1i64 << (gadget.log2_base - 1);
    let (mut sum, mut saturations, mut count) = (0.0, 0, 0.0);
    for _ in 0..4 {
        let mut expected = vec![0u32; degree.get()];
        let mut total = FixedSpectrum::zeros(degree);
        for _ in 0..rows {
            cancel::check();
            let digits: Vec<i32> =
                (0..degree.get()).map(|_| ((next() >> 20) as i64 % (2 * half) - half) as i32).collect();
            let key: Vec<u32> = (0..degree.get()).map(|_| (next() >> 32) as u32).collect();
            exact.multiply_add(&digits, &key, &mut expected);
            let (mut a, mut b) = (FixedSpectrum::zeros(degree), FixedSpectrum::zeros(degree));
            saturations += fft.forward_digits(&digits, &mut a) + fft.forward_torus(&key, &mut b);
            saturations += fft.multiply_accumulate(&mut total, &a, &b);
        }
        let mut found = vec![0u32; degree.get()];
        saturations += fft.inverse_add_torus(&mut total, &mut found);
        for (found, expected) in found.iter().zip(&expected) {
            let error = f64::from(found.wrapping_sub(*expected) as i32);
            sum += error * error;
            count += 1.0;
        }
    }
    Some(((sum / f64::max(count, 1.0)).sqrt(), saturations))
}

#[cfg(test)]
mod tests {
    //! Does the table show which sets a 32-bit machine cannot run, and does the measurement confirm the prediction?

    use super::*;

    #[test]
    fn the_table_tells_the_sets_apart() {
        let machine = crate::description("morphling").expect("the built-in file is right");
        let table = findings(&machine).expect("every figure is known");
        let of = |set: &str| table.iter().find(|finding| finding.set == set).expect("a set of the table");
        // A deviation beyond an eighth of the torus wraps around, and no longer grows.
        for finding in table.iter().filter(|finding| finding.predicted_log2 < -3.0) {
            let off = finding.measured_log2 - finding.predicted_log2;
            assert!(off.abs() < 1.0, "{}: measured 2^{off} times what is predicted", finding.set);
        }
        // With the same message, coarser arithmetic fails at least as often.
        for finding in &table {
            assert!(finding.log2_failure >= finding.log2_failure_exact, "{finding:?}");
        }
        // Base 2^23 and 2^22 with one level: a 32-bit torus leaves no room below the digit, whatever the transform.
        for set in ["morphling-IV-t32", "morphling-A-t32"] {
            assert!(of(set).too_coarse && of(set).log2_failure_exact > TOO_COARSE_LOG2, "{:?}", of(set));
        }
        // The library's two-level set works on 32 bits, but not with 32-bit parts of a spectrum.
        assert!(of("morphling-I").too_coarse && of("morphling-I").log2_failure_exact < TOO_COARSE_LOG2);
        for set in ["polyfabric-direct-t32", "polyfabric-direct-1024-t32"] {
            assert!(!of(set).too_coarse && of(set).saturations == 0, "{:?}", of(set));
        }
    }
}
