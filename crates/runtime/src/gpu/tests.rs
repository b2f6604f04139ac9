//! Do the kernels match the CPU runtime and the references in any thread order?

use super::emulator::{Emulator, MOST_BLOCKS, ThreadOrder};
use super::tfhe::{Rows, switch_blocks};
use super::{Device, Executor, GpuError, Shape};
use crate::NoProgress;
use crate::tfhe::operations::Batches;
use crate::tfhe::{RunError, cpu};
use polyfabric_kernels::Torus;
use polyfabric_kernels::external_product::ExternalProduct;
use polyfabric_kernels::key_switch::key_switch_reference;
use polyfabric_kernels::modulus_switch::{modulus_switch, modulus_switch_centred};
use polyfabric_kernels::sample_extract::sample_extract_reference;
use polyfabric_program::tfhe::builtin;
use polyfabric_program::tfhe::kernel::{KernelProgram, ValueType};
use polyfabric_program::tfhe::lowering::{Arithmetic, KeySwitchOrder, TfheLowering};
use polyfabric_program::tfhe::matrix::Matrix;
use polyfabric_schemes::tfhe::noise::{PhaseRounding, Transform};
use polyfabric_schemes::tfhe::{ClientKey, KeyUnrolling, LweBatch, LweKind, Parameters, Secret, ServerKey, sets};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;
use std::sync::Arc;

const BOTH: [ThreadOrder; 2] = [ThreadOrder::Forwards, ThreadOrder::Backwards];

/// Sets for each layout of a ring: one to four mask polynomials, every degree, both toruses.
const RINGS_32: [&str; 6] = [
    "polyfabric-1-p128-t32",
    "polyfabric-2-p128-t32",
    "polyfabric-2-p64-t32",
    "morphling-I",
    "morphling-III",
    "polyfabric-4-p128-t32",
];
const RINGS_64: [&str; 4] = ["polyfabric-2-p64-t64", "morphling-IV", "polyfabric-4-p128-t64", "polyfabric-5-p128-t64"];

/// A named set with fewer mask elements: its ring and gadgets, but faster.
fn shortened(set: &str, lwe_dimension: usize) -> Parameters {
    let mut literal = sets::literal(set).unwrap().clone();
    // The ring matters, not the key's length: whole blocks.
    literal.lwe_dimension = lwe_dimension.next_multiple_of(literal.secret.block() as usize);
    Parameters::check(&literal).unwrap()
}

fn torus_vector<T: Torus>(count: usize, seed: u64) -> Vec<T> {
    let mut random = StdRng::seed_from_u64(seed);
    (0..count).map(|_| T::from_u64(random.random())).collect()
}

fn card(order: ThreadOrder) -> Arc<Emulator> {
    Arc::new(Emulator { order })
}

struct Case<T> {
    client: ClientKey<T>,
    server: ServerKey<T>,
    program: KernelProgram,
    inputs: BTreeMap<String, LweBatch<T>>,
}

fn case<T: Torus>(parameters: &Parameters, unrolling: KeyUnrolling, name: &str, batch: usize) -> Case<T> {
    let client = ClientKey::<T>::for_tests(parameters, 1).unwrap();
    let server = ServerKey::for_tests_unrolled(&client, unrolling, 2);
    let choice =
        TfheLowering { key_unrolling: unrolling.bits(), ..TfheLowering::new(KeySwitchOrder::None, Arithmetic::F64) };
    let program = builtin::build(name, parameters, batch, &choice, Transform::F64).unwrap().kernel;
    let inputs = program.inputs().map(|(name, _, value)| {
        let ValueType::Lwe { count, kind, .. } = value else { panic!("an input is a batch of LWE ciphertexts") };
        let messages: Vec<T> = (0..count).map(|c| T::from_u64((c as u64 % 4) << (T::BITS - 3))).collect();
        (name.to_owned(), client.encrypt_for_tests(kind, &messages, 3))
    });
    Case { inputs: inputs.collect(), client, server, program }
}

impl<T: Torus> Case<T> {
    fn on_cpu(&self) -> BTreeMap<String, LweBatch<T>> {
        cpu::Executor::new(&self.server, 1).unwrap().run(&self.program, &self.inputs, &NoProgress).unwrap()
    }

    fn on_card(&self, order: ThreadOrder) -> BTreeMap<String, LweBatch<T>> {
        let executor = Executor::new(&card(order), &self.server).unwrap();
        executor.run(&self.program, &self.server, &self.inputs, &NoProgress).unwrap().outputs
    }

    /// Error bound of one external product, on the CPU and on the card.
    fn bound(&self) -> f64 {
        let set = self.server.parameters();
        let (degree, gadget, k) = (set.ring_degree(), set.bootstrap_gadget(), set.glwe_dimension().get());
        2.0 * ExternalProduct::<T>::new(degree, gadget, k, None).unwrap().error_bound()
    }
}

/// One step of a blind rotation. With more steps, different roundings may lead to different digits.
fn one_step_is_within_the_bound<T: Torus>(
    set: &str,
    unrolling: KeyUnrolling,
    lwe_dimension: usize,
    order: ThreadOrder,
) {
    one_step_is_within_the_bound_of::<T>(&shortened(set, lwe_dimension), unrolling, order);
}

fn one_step_is_within_the_bound_of<T: Torus>(set: &Parameters, unrolling: KeyUnrolling, order: ThreadOrder) {
    let case = case::<T>(set, unrolling, "pbs", 3);
    let bound = case.bound() * unrolling.patterns() as f64 * 2.0;
    let (found, expected) = (case.on_card(order), case.on_cpu());
    let pairs = found.values().zip(expected.values()).flat_map(|(a, b)| a.data().iter().zip(b.data()));
    let largest = pairs.map(|(a, b)| a.wrapping_sub(*b).to_i64().unsigned_abs()).max().unwrap() as f64;
    // Actual errors are far below the bound: less than a thousandth.
    assert!(largest <= bound / 20.0, "{} {unrolling}: {largest} of {bound}", set.name());
}

#[test]
fn one_step_matches_the_cpu_within_the_proven_bound_in_every_ring() {
    // Both orders, over the rings and both kinds of key.
    for (unrolling, lwe_dimension, order) in
        [(KeyUnrolling::ONE, 1, ThreadOrder::Forwards), (KeyUnrolling::TWO, 2, ThreadOrder::Backwards)]
    {
        RINGS_32.into_iter().for_each(|set| one_step_is_within_the_bound::<u32>(set, unrolling, lwe_dimension, order));
        RINGS_64.into_iter().for_each(|set| one_step_is_within_the_bound::<u64>(set, unrolling, lwe_dimension, order));
    }
    // A block per iteration: two bits of a 32-bit set, three of a 64-bit one.
    let mut blocks = shortened("morphling-I", 2).literal().clone();
    blocks.secret = Secret::Block(2);
    let blocks = Parameters::check(&blocks).unwrap();
    one_step_is_within_the_bound_of::<u32>(&blocks, KeyUnrolling::of(blocks.secret()), ThreadOrder::Backwards);
    let set = "polyfabric-4-p136-t64-block3";
    one_step_is_within_the_bound::<u64>(set, KeyUnrolling::of(Secret::Block(3)), 3, ThreadOrder::Forwards);
    // Two bits per iteration, but only one mask element.
    one_step_is_within_the_bound::<u32>("morphling-I", KeyUnrolling::TWO, 1, ThreadOrder::Forwards);
}

/// Bootstraps of real rings decrypt to their messages and are bit-identical in both thread orders; a key switch is bit-identical to the CPU's.
fn programs_decrypt<T: Torus>(set: &str, unrolling: KeyUnrolling) {
    let case = case::<T>(&shortened(set, 23), unrolling, "pbs+ks", 5);
    let [found, again] = BOTH.map(|order| case.on_card(order));
    assert_eq!(found, again, "{set}: a result depends on the order of threads");
    let phases = |outputs: &BTreeMap<String, LweBatch<T>>| {
        let phases = case.client.decrypt_phase(LweKind::Small, outputs.values().next().unwrap()).unwrap();
        phases.into_iter().map(T::to_fraction).collect::<Vec<_>>()
    };
    for (ours, theirs) in phases(&found).into_iter().zip(phases(&case.on_cpu())) {
        let difference = (ours - theirs) - (ours - theirs).round();
        // Half of the distance of messages; different roundings may change digits and thus the noise.
        assert!(difference.abs() < 1.0 / 16.0, "{set}: {ours} and {theirs}");
    }
}

#[test]
fn bootstraps_and_key_switches_decrypt_like_the_cpus() {
    for set in ["polyfabric-1-p128-t32", "morphling-I"] {
        programs_decrypt::<u32>(set, KeyUnrolling::ONE);
    }
    programs_decrypt::<u32>("polyfabric-3-p128-t32", KeyUnrolling::TWO);
    programs_decrypt::<u64>("morphling-IV", KeyUnrolling::ONE);
    programs_decrypt::<u64>("polyfabric-2-p136-t64-block3", KeyUnrolling::of(Secret::Block(3)));
}

/// An executor with few mask elements, and random words for it.
fn executor<T: Torus>(set: &str, order: ThreadOrder) -> (Parameters, ServerKey<T>, Executor<T, Emulator>) {
    let parameters = shortened(set, 37);
    let server = ServerKey::for_tests(&ClientKey::<T>::for_tests(&parameters, 1).unwrap(), 2);
    let executor = Executor::new(&card(order), &server).unwrap();
    (parameters, server, executor)
}

fn words<E: Copy + Default, T: Torus>(
    executor: &Executor<T, Emulator>,
    rows: &Rows<<Emulator as Device>::Buffer>,
) -> Vec<E> {
    let mut words = vec![E::default(); rows.count * rows.size];
    // SAFETY: the callers' elements are integers.
    let bytes = unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), size_of_val(words.as_slice())) };
    executor.device().download(&rows.buffer, bytes).unwrap();
    words
}

fn exact_operations_equal_the_references<T: Torus>(set: &str) {
    for order in BOTH {
        let (parameters, server, executor) = executor::<T>(set, order);
        let run = executor.started(&NoProgress);
        let (small, large) = (parameters.lwe_dimension(), parameters.large_lwe_dimension());
        let batch = |dimension: polyfabric_schemes::tfhe::LweDimension, count: usize, seed| {
            let data = torus_vector::<T>(count * dimension.ciphertext_len(), seed);
            LweBatch::from_data(dimension, data).unwrap()
        };

        // 19: one tile of the key switch plus three.
        let inputs = batch(large, 19, 4);
        let switched = run.fetch(&run.key_switch(&run.bring(&inputs).unwrap()).unwrap()).unwrap();
        let (key, gadget) = (server.key_switch_key().unwrap(), parameters.key_switch_gadget().unwrap());
        for (c, input) in inputs.iter().enumerate() {
            assert_eq!(
                switched.get(c),
                key_switch_reference(input, key, gadget, small.get()),
                "{set}: key switch of {c}"
            );
        }

        let inputs = batch(small, 7, 5);
        let brought = Arc::new(run.bring(&inputs).unwrap());
        for (rounding, log2_tables) in
            [(PhaseRounding::Nearest, 0), (PhaseRounding::Centred, 0), (PhaseRounding::Centred, 2)]
        {
            let exponents = run.modulus_switch(&brought, rounding, log2_tables).unwrap();
            let log2_modulus = parameters.ring_degree().log2() + 1 - log2_tables;
            let mut expected = Vec::new();
            for input in inputs.iter() {
                let mut switched = vec![0; input.len()];
                match rounding {
                    PhaseRounding::Nearest => modulus_switch(input, log2_modulus, &mut switched),
                    PhaseRounding::Centred => {
                        modulus_switch_centred(input, log2_modulus, parameters.secret().block() + 1, &mut switched);
                    }
                }
                expected.extend(switched.iter().map(|exponent| exponent << log2_tables));
            }
            assert_eq!(words::<u32, T>(&executor, &exponents), expected, "{set}: {rounding:?}, {log2_tables}");
            let exponents = Arc::new(exponents);
            let picked = run.gather_exponents(&[Arc::clone(&exponents), exponents], &[3, 9, 13]).unwrap();
            let size = small.ciphertext_len();
            let rows = [3, 2, 6].map(|row| &expected[row * size..][..size]).concat();
            assert_eq!(words::<u32, T>(&executor, &picked), rows, "{set}: exponents of two batches");
        }

        let other = batch(small, 2, 6);
        let operands = [brought, Arc::new(run.bring(&other).unwrap())];
        let rows: Vec<&[T]> = inputs.iter().chain(other.iter()).collect();
        let picked = run.fetch(&run.gather(small, &operands, &[8, 0, 8]).unwrap()).unwrap();
        assert_eq!(picked.data(), [rows[8], rows[0], rows[8]].concat(), "{set}: rows of two batches");
        let terms = [vec![(0, 3), (8, -1)], Vec::new(), vec![(4, i64::from(i32::MIN))]];
        let matrix = Matrix::from_rows(9, &terms).unwrap();
        let bias = [5, 1 << 31, u64::MAX];
        let sums = run.fetch(&run.linear(small, &matrix, &bias, &operands).unwrap()).unwrap();
        for (row, (terms, bias)) in terms.iter().zip(bias).enumerate() {
            let mut expected = vec![T::default(); small.ciphertext_len()];
            expected[small.get()] = T::from_u64(bias);
            for &(column, weight) in terms {
                let term = rows[column].iter().map(|word| word.wrapping_mul_signed(weight));
                expected.iter_mut().zip(term).for_each(|(sum, term)| *sum = sum.wrapping_add(term));
            }
            assert_eq!(sums.get(row), expected, "{set}: row {row} of a linear operation");
        }

        let degree = parameters.ring_degree().get();
        let glwe = torus_vector::<T>(2 * (large.get() + degree), 7);
        // SAFETY: torus elements are integers.
        let bytes = unsafe { std::slice::from_raw_parts(glwe.as_ptr().cast(), size_of_val(glwe.as_slice())) };
        let buffer = executor.device().upload(bytes, "GLWE ciphertexts").unwrap();
        let accumulators = Rows { buffer, size: glwe.len() / 2, count: 2 };
        let extracted = run.fetch(&run.extract(&accumulators, 3).unwrap()).unwrap();
        for (index, found) in extracted.iter().enumerate() {
            let expected =
                sample_extract_reference(&glwe[index / 3 * glwe.len() / 2..][..glwe.len() / 2], degree, index % 3);
            assert_eq!(found, expected, "{set}: coefficient {} of {}", index % 3, index / 3);
        }
    }
}

#[test]
fn a_key_switch_of_any_batch_is_one_launch() {
    // 501 words of 32 bits are 31.3 tiles of 64 bytes, four per block; 16 ciphertexts are one tile.
    for (count, blocks) in [(0, 0), (1, 8), (16, 8), (17, 16), (1 << 20, 8 << 16), ((1 << 20) + 1, (8 << 16) + 8)] {
        assert_eq!(switch_blocks(count, 501 * 4), blocks, "{count}");
    }
    // Enough ciphertexts for 4 TiB of results.
    for bytes in [256, 2004, 8192] {
        assert!(switch_blocks((4 << 40) / bytes, bytes) <= MOST_BLOCKS as usize, "{bytes}");
    }
}

#[test]
fn exact_operations_equal_the_references_bit_for_bit() {
    exact_operations_equal_the_references::<u32>("morphling-I");
    exact_operations_equal_the_references::<u32>("polyfabric-1-p128-t32");
    exact_operations_equal_the_references::<u64>("morphling-IV");
    exact_operations_equal_the_references::<u64>("polyfabric-2-p136-t64-block3");
}

#[test]
fn unsupported_sets_are_rejected_with_the_cause() {
    let refusal = |set: &str| {
        card(ThreadOrder::Forwards).serves(&sets::parameters(set).unwrap(), KeyUnrolling::ONE).unwrap_err().to_string()
    };
    assert!(refusal("strix-IV").contains("strix-IV has degree 16384"), "{}", refusal("strix-IV"));
    assert!(refusal("toy-256").contains("supports ring degrees 512 to 8192"), "{}", refusal("toy-256"));
    let client = ClientKey::<u32>::for_tests(&shortened("morphling-I", 4), 1).unwrap();
    let server = ServerKey::for_tests_unrolled(&client, KeyUnrolling::FOUR, 2);
    let error = Executor::new(&card(ThreadOrder::Forwards), &server).err();
    assert_eq!(error, Some(RunError::Gpu(GpuError::Unrolling { bits: 4, most: 2 })));
}

#[test]
fn every_supported_set_fills_whole_warps_and_fits_a_multiprocessor() {
    let shared = 227 << 10;
    let mut served = 0;
    let unrollings = [KeyUnrolling::ONE, KeyUnrolling::TWO];
    for ((_, set), unrolling) in sets::all().flat_map(|set| unrollings.map(|unrolling| (set, unrolling))) {
        let Ok(shape) = Shape::new(set, unrolling, shared) else { continue };
        served += 1;
        for count in [1, 2, 131, 1000, 100_000] {
            let ciphertexts = shape.ciphertexts_of(count, 132);
            assert!(shape.block_threads(ciphertexts).is_multiple_of(32), "{}: {count}", set.name());
            assert!(shape.block_threads(ciphertexts) <= 1024 && shape.shared_bytes(ciphertexts) <= shared);
        }
    }
    assert!(served > 60, "{served} sets");
}
