//! Derives the sets for wide tables, by circuit bootstrapping.
//!
//! A digit of two bits is read bit by bit: bit j is the sign of P/2^(j+1) times the digit, with the margin 2^-(j+2), after a rotation with as many
//! tables as a GGSW ciphertext has levels. The digit is a sum of results of tables of [`WIDTH`] bits. In a set for integers a lookup also reads such
//! sums, and P is that of its messages.

use polyfabric_kernels::{Gadget, RingDegree};

use super::{Derived, LWE_DIMENSIONS, Target, WEIGHT_SUM, best_gadgets, bootstrap_operations, deviations};
use super::{key_switch_operations, literal, needed, shapes, written_noise};
use crate::tfhe::noise::{Formulas, Noise, Transform};
use crate::tfhe::parameters::CircuitGadgets;
use crate::tfhe::{KeyUnrolling, security};

/// Bits of the table whose results a set's noise is for.
const WIDTH: u32 = 8;

/// Bits of a digit.
const DIGIT_BITS: u32 = 2;

/// Searched levels and bases of GGSW ciphertexts, and levels of the other two gadgets of circuit bootstrapping.
const GGSW_LEVELS: std::ops::RangeInclusive<u32> = 3..=5;
const GGSW_LOG2_BASES: std::ops::RangeInclusive<u32> = 4..=7;
const KEY_LEVELS: std::ops::RangeInclusive<u32> = 3..=6;
/// log2 N searched; k = 1.
const LOG2_DEGREES: [u32; 2] = [11, 12];

/// Gadgets, and the operations of circuit bootstrapping per bit.
struct Candidate {
    bootstrap_gadget: Gadget,
    circuit: CircuitGadgets,
    operations: f64,
}

/// Operations of a bit's trace and product with the square.
fn circuit_operations(degree: RingDegree, circuit: CircuitGadgets) -> f64 {
    let points = degree.get() as f64 / 2.0;
    let transform = 5.0 * points * points.log2();
    let product = |levels: u32| f64::from(levels + 2) * transform + 16.0 * points * f64::from(levels);
    let trace = f64::from(degree.log2()) * product(circuit.trace.levels);
    f64::from(circuit.ggsw.levels) * (trace + product(circuit.square.levels))
}

fn candidates(shape: &Formulas) -> Vec<Candidate> {
    let with = |bootstrap_gadget| Formulas { bootstrap_gadget, lwe_dimension: *LWE_DIMENSIONS.start(), ..*shape };
    let bootstraps = best_gadgets(shape.torus_bits, |gadget| with(gadget).iteration(Transform::F64));
    let ggsws = GGSW_LEVELS.flat_map(|levels| GGSW_LOG2_BASES.map(move |log2_base| Gadget { log2_base, levels }));
    let mut found = Vec::new();
    for ggsw in ggsws {
        // Each gadget's best base, with the others fine.
        let fine = Gadget { log2_base: 4, levels: 12 };
        let figures = with(Gadget { log2_base: 8, levels: 5 });
        let best = |of: &dyn Fn(Gadget) -> CircuitGadgets| {
            let noise = |gadget| figures.wide_lookup(of(gadget), WIDTH, KeyUnrolling::ONE, Transform::F64);
            let gadgets = best_gadgets(shape.torus_bits, noise).into_iter().map(|(gadget, _)| gadget);
            gadgets.filter(|gadget| KEY_LEVELS.contains(&gadget.levels)).collect::<Vec<_>>()
        };
        let traces = best(&|trace| CircuitGadgets { ggsw, trace, square: fine });
        let squares = best(&|square| CircuitGadgets { ggsw, trace: fine, square });
        for &trace in &traces {
            for &square in &squares {
                for &(bootstrap_gadget, _) in bootstraps.iter().take(4) {
                    let circuit = CircuitGadgets { ggsw, trace, square };
                    let operations = circuit_operations(shape.ring_degree, circuit);
                    found.push(Candidate { bootstrap_gadget, circuit, operations });
                }
            }
        }
    }
    found
}

/// Whether digits and, in a set for integers, lookups are read within `deviations` after `switch`, the noise of a key switch.
fn suffices(
    figures: &Formulas,
    circuit: CircuitGadgets,
    (target, deviations, integers): (&Target, f64, bool),
    (wide, switch): (Noise, Noise),
) -> bool {
    let step = (f64::from(if integers { target.message_bits + 1 } else { DIGIT_BITS })).exp2();
    let log2_tables = circuit.ggsw.levels.next_power_of_two().ilog2();
    let read = |weight: f64, log2_tables| {
        let sum = wide.combined(target.squared_norm * weight * weight, WEIGHT_SUM * weight, WEIGHT_SUM * weight);
        sum.plus(switch).plus(figures.modulus_switch(target.rounding, log2_tables))
    };
    let bits = (0..DIGIT_BITS).all(|bit| {
        let (weight, margin) = (step / f64::from(bit + 1).exp2(), (-f64::from(bit) - 2.0).exp2());
        needed(read(weight, log2_tables), deviations) <= margin
    });
    bits && (!integers || needed(read(1.0, 0), deviations) <= 0.5 / step)
}

/// The cheapest set for wide tables that meets `target`: alone, or with the lookups of integers in digits of `message_bits`.
pub fn derive_wide(target: Target, integers: bool) -> Option<Derived> {
    let mut best: Option<Derived> = None;
    let demand = (&target, deviations(target.failure_log2), integers);
    let shapes = shapes(target.torus_bits, target.secret).into_iter();
    for shape in shapes.filter(|it| it.glwe_dimension == 1 && LOG2_DEGREES.contains(&it.ring_degree.log2())) {
        let candidates = candidates(&shape);
        let large = shape.ring_degree.get();
        for n in LWE_DIMENSIONS {
            let lwe_noise_log2 = written_noise(security::least_noise_log2_for_128(n, target.torus_bits));
            let figures = Formulas { lwe_dimension: n, lwe_noise_log2, ..shape };
            let switches = best_gadgets(target.torus_bits, |gadget| figures.key_switch(gadget));
            for Candidate { bootstrap_gadget, circuit, operations } in &candidates {
                let figures = Formulas { bootstrap_gadget: *bootstrap_gadget, ..figures };
                let bit = bootstrap_operations(&figures) + operations;
                let cheaper = |operations: f64| best.as_ref().is_none_or(|best| operations < best.operations);
                let exact = (Noise::default(), Noise::default());
                if !cheaper(bit) || !suffices(&figures, *circuit, demand, exact) {
                    continue;
                }
                let wide = figures.wide_lookup(*circuit, WIDTH, KeyUnrolling::ONE, Transform::F64);
                if !suffices(&figures, *circuit, demand, (wide, Noise::default())) {
                    continue;
                }
                for &(key_switch_gadget, switch) in &switches {
                    let operations = bit + key_switch_operations(n, large, key_switch_gadget.levels);
                    let cheaper = best.as_ref().is_none_or(|best| operations < best.operations);
                    if cheaper && suffices(&figures, *circuit, demand, (wide, switch)) {
                        let mut literal = literal(&figures, Some(key_switch_gadget));
                        literal.circuit = Some(*circuit);
                        best = Some(Derived { literal, operations, failure_log2: target.failure_log2 });
                    }
                }
            }
        }
    }
    best
}
