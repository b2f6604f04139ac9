//! Times of tables read by circuit bootstrapping, and their noise next to the report's.
//!
//! `wide_table WIDTH OUTPUT_BITS BITS_PER_DIGIT [TABLES [RUNS]]`: so many tables of 2^WIDTH entries of OUTPUT_BITS bits, with numbers in digits. Prints
//! milliseconds of processor time on one thread.

use polyfabric_kernels::Gadget;
use polyfabric_kernels::clock::processor_seconds;
use polyfabric_program::tfhe::homomorphic::{Builder, ElementType, Program, Range, Table, encode_input};
use polyfabric_program::tfhe::lowering::{KeySwitchOrder, TfheLowering, lower};
use polyfabric_program::tfhe::noise::report_for;
use polyfabric_runtime::NoProgress;
use polyfabric_runtime::tfhe::cpu::{Executor, TransformedKey};
use polyfabric_schemes::tfhe::noise::{Keys, Transform};
use polyfabric_schemes::tfhe::{
    CircuitGadgets, ClientKey, KeyUnrolling, LweKind, Parameters, ServerKey, security, sets,
};
use std::error::Error;
use std::sync::Arc;

/// A set for wide tables: 128 bits of security; a bit is read wrongly with 2^-136 at most, also after sums of squared norm 16.
fn set() -> Result<Parameters, Box<dyn Error>> {
    let gadget = |log2_base, levels| Gadget { log2_base, levels };
    let mut literal = sets::literal("polyfabric-3-p128-t64")?.clone();
    literal.name = "wide".to_owned();
    literal.lwe_dimension = 690;
    literal.lwe_noise_log2 = security::least_noise_log2_for_128(690, 64);
    literal.bootstrap_gadget = gadget(15, 2);
    literal.key_switch_gadget = Some(gadget(3, 4));
    literal.circuit = Some(CircuitGadgets { ggsw: gadget(5, 4), trace: gadget(7, 6), square: gadget(12, 4) });
    Ok(Parameters::check(&literal)?)
}

fn entry(at: usize, output_bits: u32) -> i64 {
    ((at * at * 7 + at * 13 + (at >> 3) * 5 + 3) & ((1 << output_bits) - 1)) as i64
}

/// `count` tables of numbers in digits of `digit_bits` bits.
fn program(width: u32, output_bits: u32, digit_bits: u32, count: usize) -> Result<Program, Box<dyn Error>> {
    let mut builder = Builder::new("wide")?;
    let digits = (width / digit_bits) as usize;
    let range = Range::new(0, (1 << digit_bits) - 1).ok_or("no range")?;
    let x = builder.input("x", ElementType::Integer(range), digits * count)?;
    let tables = (0..output_bits / digit_bits).map(|digit| {
        let of = |at| entry(at, output_bits) >> (digit * digit_bits) & ((1 << digit_bits) - 1);
        Table::new(0, (0..1 << width).map(of).collect())
    });
    let y = builder.lookup_wide(x, vec![digit_bits; digits], tables.collect::<Result<_, _>>()?)?;
    builder.output("y", y)?;
    Ok(builder.finish()?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let given: Vec<u32> = std::env::args().skip(1).map(|text| text.parse()).collect::<Result<_, _>>()?;
    let &[width, output_bits, digit_bits, ..] = &given[..] else {
        return Err("give the width of the index, that of an entry, and the bits of a digit".into());
    };
    let (count, runs) = (given.get(3).map_or(1, |&count| count as usize), given.get(4).copied().unwrap_or(5));
    let parameters = set()?;
    let program = program(width, output_bits, digit_bits, count)?;
    let choice = TfheLowering::processor(KeySwitchOrder::Before);
    let lowered = lower(&program, &parameters, &choice)?;
    let [accepted, average] = [Keys::Accepted, Keys::Average]
        .map(|keys| report_for(&program, &parameters, &choice, Transform::f64_here(), keys));
    let (accepted, average) = (accepted?, average?);
    let client = ClientKey::<u64>::for_tests(&parameters, 1)?;
    let server = ServerKey::for_tests(&client, 2);
    let transformed = Arc::<TransformedKey>::default();
    let digits = (width / digit_bits) as usize;
    let (mut sum, mut errors, mut wrong, mut least) = (0.0, 0.0, 0, f64::INFINITY);
    for run in 0..=runs {
        let index = |element: usize| (run as usize * 7919 + element * 104_729 + 11) % (1 << width);
        let part = |value: usize, digit: usize| (value >> (digit as u32 * digit_bits) & ((1 << digit_bits) - 1)) as i64;
        let x: Vec<i64> = (0..digits * count).map(|at| part(index(at % count), at / count)).collect();
        let batch =
            client.encrypt_for_tests(LweKind::Large, &encode_input::<u64>(&program, "x", &x)?, 10 + u64::from(run));
        let inputs = std::iter::once(("x".to_owned(), batch)).collect();
        let executor = Executor::sharing(&server, &transformed, 1)?;
        let start = processor_seconds();
        let outputs = executor.run(&lowered, &inputs, &NoProgress)?;
        // The first run transforms the bootstrapping key.
        if run > 0 {
            least = least.min(processor_seconds() - start);
        }
        let step = program.step(program.outputs().next().ok_or("an output")?.0);
        for (at, phase) in client.decrypt_phase(LweKind::Large, &outputs["y"])?.into_iter().enumerate() {
            let expected = part(entry(index(at % count), output_bits) as usize, at / count) as f64 / f64::from(step);
            let error = phase as f64 / 2f64.powi(64) - expected;
            let error = error - error.round();
            wrong += usize::from(error.abs() > 0.5 / f64::from(step));
            sum += error * error;
            errors += 1.0;
        }
    }
    let bits = width as usize * count;
    println!(
        "{count} x {width} -> {output_bits} bits in digits of {digit_bits}: {:.1} ms of processor time at least ({:.2} per bit); {wrong} of {errors} wrong",
        least * 1e3,
        least * 1e3 / bits as f64
    );
    let output = &average.outputs[0];
    println!(
        "deviation 2^{:.2}, by the formula 2^{:.2} (2^{:.2} for every key); failure 2^{:.1}; keys {} MiB, {} of them for circuit bootstrapping in KiB",
        (sum / errors).log2() / 2.0,
        output.variance.log2() / 2.0,
        accepted.outputs[0].variance.log2() / 2.0,
        accepted.log2_failure,
        parameters.server_key_bytes(KeyUnrolling::ONE) >> 20,
        (parameters.circuit_key_len() * 8) >> 10
    );
    println!("security {:.2} bits", parameters.security_bits());
    Ok(())
}
