//! Do a card's kernels give the interpreter's words for any program, ring, keys and thread order?

mod circuits;

use super::fusion::Kernel;
use super::plan::Plan;
use super::{Executor, Tiles, needs};
use crate::NoProgress;
#[cfg(feature = "gpu")]
use crate::gpu::Cuda;
use crate::gpu::emulator::{Emulator, ThreadOrder};
use crate::gpu::{Card, Device, GpuError};
use crate::rns::RunError;
use crate::rns::tests::{CONVERSIONS, IDS, inputs, keys, program, random, ring, rotations};
use crate::rns::{cpu, interpreter};
use polyfabric_kernels::RingDegree;
use polyfabric_kernels::automorphism::GaloisElement;
use polyfabric_program::rns::kernel::{KernelBuilder, KernelProgram, LimbSet, ValueId, ValueType};
use polyfabric_schemes::rns::{Domain, GadgetLiteral, KeySet, LimbId, Ring, RnsPolynomial};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::sync::Arc;
#[cfg(feature = "gpu")]
use std::sync::LazyLock;

const BOTH: [ThreadOrder; 2] = [ThreadOrder::Forwards, ThreadOrder::Backwards];

/// The emulator's result with threads and chains in the order `order`; if this computer has a card, its result must be equal.
fn on_card(
    program: &KernelProgram,
    keys: &KeySet,
    inputs: &[&RnsPolynomial],
    order: ThreadOrder,
) -> Vec<RnsPolynomial> {
    batch_on_card(program, keys, inputs, 1, order)
}

/// The same for `batch` simultaneous runs.
fn batch_on_card(
    program: &KernelProgram,
    keys: &KeySet,
    inputs: &[&RnsPolynomial],
    batch: usize,
    order: ThreadOrder,
) -> Vec<RnsPolynomial> {
    let found = twice(&Executor::batched(&Arc::new(Emulator { order }), program, keys, batch).unwrap(), inputs);
    #[cfg(feature = "gpu")]
    if let Some(card) = card() {
        let executor = Executor::batched(&card, program, keys, batch).unwrap();
        assert!(found == twice(&executor, inputs), "{}: different words on {}", program.name, card.name());
    }
    found
}

/// The first card, opened once; prints why there is none.
#[cfg(feature = "gpu")]
fn card() -> Option<Arc<Cuda>> {
    static CARD: LazyLock<Option<Arc<Cuda>>> = LazyLock::new(|| {
        Cuda::first().map(Arc::new).inspect_err(|error| eprintln!("no card is compared: {error}")).ok()
    });
    CARD.clone()
}

/// The second run uses memory that the individual launches have written.
fn twice<D: Device>(executor: &Executor<D>, inputs: &[&RnsPolynomial]) -> Vec<RnsPolynomial> {
    let shares = executor.shares(inputs).unwrap();
    let counted = [shares.iter().map(|of| of.launches).sum::<usize>(), shares.iter().map(|of| of.polynomials).sum()];
    assert_eq!(counted, [executor.needs().launches, executor.needs().nodes]);
    executor.run(inputs, &NoProgress).unwrap().outputs
}

#[test]
fn random_programs_match_the_interpreter() {
    for seed in 0..40 {
        let generator = &mut StdRng::seed_from_u64(seed);
        let (q, p) = (generator.random_range(1..6), generator.random_range(1..4));
        let ring = ring(4 + seed as u32 % 4, q, p, generator);
        let literal = GadgetLiteral::hybrid(q + p, 2, 0);
        let rows = literal.digits.len();
        let keys = keys(&ring, literal, &IDS, generator);
        let ops = generator.random_range(1..60);
        let program = if generator.random_bool(0.3) {
            rotations(&ring, keys.get(IDS[0]).unwrap().gadget(), ops / 3 + 1, generator)
        } else {
            program(&ring, rows, ops, generator)
        };
        let inputs = inputs(&program, &ring, generator);
        let inputs: Vec<&RnsPolynomial> = inputs.iter().collect();
        let expected = interpreter::run(&program, &keys, &inputs, &NoProgress).unwrap();
        let found = on_card(&program, &keys, &inputs, BOTH[seed as usize % 2]);
        assert!(found == expected, "seed {seed}");
    }
}

#[test]
fn a_batch_equals_its_runs_with_the_launches_of_one() {
    for seed in 0..12 {
        let generator = &mut StdRng::seed_from_u64(100 + seed);
        let ring = ring(4 + seed as u32 % 3, 4, 2, generator);
        let keys = keys(&ring, GadgetLiteral::hybrid(6, 2, 0), &IDS, generator);
        let rows = keys.get(IDS[0]).unwrap().gadget().terms().len();
        let program = program(&ring, rows, 30, generator);
        let batch = generator.random_range(2..5);
        let sets: Vec<Vec<RnsPolynomial>> = (0..batch).map(|_| inputs(&program, &ring, generator)).collect();
        let each = |set: &Vec<RnsPolynomial>| {
            interpreter::run(&program, &keys, &set.iter().collect::<Vec<_>>(), &NoProgress).unwrap()
        };
        let expected: Vec<RnsPolynomial> = sets.iter().flat_map(each).collect();
        let given: Vec<&RnsPolynomial> = sets.iter().flatten().collect();
        let found = batch_on_card(&program, &keys, &given, batch, BOTH[seed as usize % 2]);
        assert!(found == expected, "seed {seed}");
        let device = Arc::new(Emulator { order: ThreadOrder::Forwards });
        let [one, all] = [1, batch].map(|batch| Executor::batched(&device, &program, &keys, batch).unwrap().needs());
        assert_eq!((all.launches, all.levels, all.nodes), (one.launches, one.levels, batch * one.nodes));
        assert_eq!((all.key_bytes, all.plaintext_bytes), (one.key_bytes, one.plaintext_bytes));
    }
}

#[test]
fn empty_and_too_large_batches_are_rejected() {
    let generator = &mut StdRng::seed_from_u64(4);
    let ring = ring(5, 4, 0, generator);
    let keys = keys(&ring, GadgetLiteral::hybrid(4, 2, 0), &IDS, generator);
    let (program, device) = (every_kernel(&ring), Arc::new(Emulator { order: ThreadOrder::Forwards }));
    for batch in [0, u32::MAX as usize, usize::MAX] {
        let refused = Executor::batched(&device, &program, &keys, batch).err().unwrap();
        assert!(matches!(refused, RunError::Gpu(GpuError::Batch { .. })), "{refused}");
    }
    let executor = Executor::batched(&device, &program, &keys, 2).unwrap();
    let inputs = inputs(&program, &ring, generator);
    let refused = executor.run(&inputs.iter().collect::<Vec<_>>(), &NoProgress).unwrap_err();
    assert!(matches!(refused, RunError::InputCount { given: 2, needed: 4 }), "{refused}");
}

/// Every kernel once: transforms of every load method, and back.
fn every_kernel(ring: &Ring) -> KernelProgram {
    let mut builder = KernelBuilder::new("every kernel", ring.degree(), ring.moduli()).unwrap();
    let all = LimbSet::new(ring.limb_ids());
    let q = LimbSet::range(0..2);
    let x = builder.input("x", 0, ValueType::evaluation(all.clone())).unwrap();
    let y = builder.input("x", 1, ValueType::evaluation(all.clone())).unwrap();
    let product = builder.multiply(x, y).unwrap();
    let digit =
        |builder: &mut KernelBuilder, limbs| builder.mod_up(product, limbs, all.clone(), CONVERSIONS[1]).unwrap();
    let digits: Vec<ValueId> = [q, LimbSet::range(2..3)].into_iter().map(|limbs| digit(&mut builder, limbs)).collect();
    let (b, a) = builder.inner_product(IDS[0], &digits).unwrap();
    for (part, value) in [b, a].into_iter().enumerate() {
        let dropped = LimbSet::range(2..4);
        let small = builder.mod_down(value, dropped, CONVERSIONS[part], None).unwrap();
        let exact = builder.mod_down(small, LimbSet::range(1..2), CONVERSIONS[2], Some(65_537)).unwrap();
        let turned = builder.automorphism(small, GaloisElement::rotation(ring.degree(), 3));
        let turned = turned.unwrap();
        let sum = builder.add(small, turned).unwrap();
        let coefficients = builder.inverse_ntt(sum).unwrap();
        builder.output("y", part as u16, coefficients);
        builder.output("z", part as u16, exact);
    }
    builder.finish().unwrap()
}

fn every_kernel_in(log2_degree: u32, order: ThreadOrder) {
    let generator = &mut StdRng::seed_from_u64(u64::from(log2_degree));
    let ring = ring(log2_degree, 3, 1, generator);
    let keys = keys(&ring, GadgetLiteral::hybrid(4, 2, 0), &IDS, generator);
    let program = every_kernel(&ring);
    let inputs = inputs(&program, &ring, generator);
    let inputs: Vec<&RnsPolynomial> = inputs.iter().collect();
    let expected = cpu::Executor::new(&program, &keys).unwrap().run(&inputs, &NoProgress).unwrap();
    assert!(on_card(&program, &keys, &inputs, order) == expected, "2^{log2_degree}, {order:?}");
}

/// The largest rings, whose time doubles with each, only with `POLYFABRIC_FULL` in the environment.
#[test]
fn every_kernel_matches_the_processor_in_every_ring() {
    let largest = if std::env::var_os("POLYFABRIC_FULL").is_some() { 17 } else { 14 };
    for log2_degree in 8..=largest {
        every_kernel_in(log2_degree, BOTH[log2_degree as usize % 2]);
    }
    // Both orders, for a ring within a block and for one in two passes.
    every_kernel_in(12, ThreadOrder::Backwards);
    every_kernel_in(13, ThreadOrder::Forwards);
}

/// A single transform: its values and their order match the processor's.
#[test]
fn transforms_invert_one_another() {
    let generator = &mut StdRng::seed_from_u64(1);
    let ring = ring(11, 4, 0, generator);
    let keys = KeySet::new(Arc::clone(&ring));
    let mut builder = KernelBuilder::new("there and back", ring.degree(), ring.moduli()).unwrap();
    let limbs = LimbSet::new(ring.limb_ids());
    let x = builder.input("x", 0, ValueType { limbs, domain: Domain::Coefficient }).unwrap();
    let there = builder.forward_ntt(x).unwrap();
    let back = builder.inverse_ntt(there).unwrap();
    builder.output("there", 0, there);
    builder.output("back", 0, back);
    let program = builder.finish().unwrap();
    let x = random(&ring, &ring.limb_ids(), Domain::Coefficient, generator);
    let outputs = on_card(&program, &keys, &[&x], ThreadOrder::Forwards);
    assert_eq!(outputs[1], x);
    for (limb, values) in outputs[0].iter() {
        let mut expected = x.limb(usize::from(limb.0)).to_vec();
        ring.ntt(limb).forward(&mut expected);
        assert_eq!(values, expected, "limb {limb}");
    }
}

/// Rotations of one ciphertext by many amounts: kernels are fused, and values with one reader are never written.
#[test]
fn operations_of_one_kind_are_one_launch() {
    let generator = &mut StdRng::seed_from_u64(2);
    let ring = ring(10, 4, 2, generator);
    let all = LimbSet::new(ring.limb_ids());
    let q = LimbSet::range(0..4);
    let program = |count: u16| {
        let mut builder = KernelBuilder::new("rotations", ring.degree(), ring.moduli()).unwrap();
        for part in 0..count {
            let x = builder.input("x", part, ValueType::evaluation(q.clone())).unwrap();
            let digits = [0..2, 2..4]
                .map(|limbs| builder.mod_up(x, LimbSet::range(limbs), all.clone(), CONVERSIONS[1]).unwrap());
            let (b, _) = builder.inner_product(IDS[0], &digits).unwrap();
            let b = builder.mod_down(b, LimbSet::range(4..6), CONVERSIONS[1], None).unwrap();
            let sum = builder.add(b, x).unwrap();
            builder.output("y", part, sum);
        }
        builder.finish().unwrap()
    };
    let [one, many] = [1, 9].map(|count| needs(&program(count)).unwrap());
    assert_eq!((one.launches, one.levels), (many.launches, many.levels));
    assert_eq!(many.nodes, 9 * one.nodes);
    // Weighted digits, their conversions, ModUp of digits, inner products, dropped limbs, their conversion, the division, the sum.
    assert_eq!(one.launches, 8);
    // 4 weighted, 2 conversions, 2 · 4 raised and 4 unchanged, 6 inner products, 2 dropped, a conversion, 4 divided, 4 added.
    assert_eq!(one.nodes, 4 + 2 + 8 + 6 + 2 + 1 + 4 + 4);
    // Among these 4 weighted, 8 raised, 2 dropped and 4 divided are transforms.
    assert_eq!(one.butterflies, (4 + 8 + 2 + 4) * 1024 / 2 * 10);
    // Weights, two per conversion result, two digits times both halves of a key, weights, conversions, and 1/P.
    assert_eq!(one.products, (4 + 8 * 2 + 6 * 2 * 2 + 2 + 4 * 2 + 4) * 1024);
    let plan = Plan::new(&program(9), 1, 1).unwrap();
    assert!(plan.levels.len() > many.levels, "a small window bounds what runs early");
    assert!(plan.slots < Plan::new(&program(9), 1, 10_000).unwrap().slots);
}

/// Sums of inner products, scaled and rotated, are all absorbed into the inner products, even if two read each other's halves.
#[test]
fn the_only_reader_of_an_inner_product_is_absorbed() {
    let generator = &mut StdRng::seed_from_u64(5);
    let ring = ring(6, 4, 0, generator);
    let keys = keys(&ring, GadgetLiteral::hybrid(4, 2, 0), &IDS, generator);
    let all = LimbSet::new(ring.limb_ids());
    let mut builder = KernelBuilder::new("joined", ring.degree(), ring.moduli()).unwrap();
    let x = builder.input("x", 0, ValueType::evaluation(all.clone())).unwrap();
    let digits: Vec<ValueId> = [LimbSet::range(0..2), LimbSet::range(2..3)]
        .map(|limbs| builder.mod_up(x, limbs, all.clone(), CONVERSIONS[1]).unwrap())
        .into();
    let products: Vec<(ValueId, ValueId)> =
        IDS[..2].iter().map(|&id| builder.inner_product(id, &digits).unwrap()).collect();
    let [(b, a), (d, c)] = products[..] else { unreachable!("two keys") };
    let turn = GaloisElement::rotation(ring.degree(), 3);
    // The body of the first plus that of the second, and the mask of the second plus that of the first; then an automorphism of both.
    let bodies = builder.add(b, d).unwrap();
    let masks = builder.add(c, a).unwrap();
    for (part, value) in [bodies, masks].into_iter().enumerate() {
        let turned = builder.automorphism(value, turn).unwrap();
        builder.output("crossed", part as u16, turned);
    }
    let (b, a) = builder.inner_product(IDS[0], &digits).unwrap();
    let factors: Vec<u64> = all.iter().map(|limb| ring.modulus(limb).value() - 2).collect();
    let scaled = builder.scale(x, &factors).unwrap();
    let sum = builder.add(scaled, b).unwrap();
    let turned = builder.automorphism(sum, turn).unwrap();
    let mask = builder.automorphism(a, turn).unwrap();
    builder.output("rotated", 0, turned);
    builder.output("rotated", 1, mask);
    let program = builder.finish().unwrap();
    let given = inputs(&program, &ring, generator);
    let given: Vec<&RnsPolynomial> = given.iter().collect();
    let expected = interpreter::run(&program, &keys, &given, &NoProgress).unwrap();
    for order in BOTH {
        assert!(on_card(&program, &keys, &given, order) == expected, "{order:?}");
    }
    let plan = Plan::new(&program, 1, 10_000).unwrap();
    let batches = plan.levels.iter().flatten();
    let sums: usize = batches.filter(|batch| batch.kernel == Kernel::Sums).map(|batch| batch.count).sum();
    assert_eq!(sums, 0, "{:?}", plan.levels);
}

/// Numbers at and near both ends of [−Q/2, Q/2), which a sum of doubles cannot distinguish.
#[test]
fn a_centred_conversion_is_exact_at_the_ends() {
    let generator = &mut StdRng::seed_from_u64(6);
    for count in [2, 3, 9] {
        let ring = ring(7, count + 2, 0, generator);
        let keys = KeySet::new(Arc::clone(&ring));
        let (from, to) = (LimbSet::range(0..count as u16), LimbSet::range(count as u16..count as u16 + 2));
        let mut builder = KernelBuilder::new("ends", ring.degree(), ring.moduli()).unwrap();
        let x = builder.input("x", 0, ValueType { limbs: from.clone(), domain: Domain::Coefficient }).unwrap();
        let y = builder.base_conversion(x, to, CONVERSIONS[2]).unwrap();
        builder.output("y", 0, y);
        let program = builder.finish().unwrap();
        let mut x = RnsPolynomial::zero(ring.degree(), from.as_slice(), Domain::Coefficient);
        let degree = ring.degree().get();
        for (position, words) in x.words_mut().chunks_exact_mut(degree).enumerate() {
            let modulus = ring.modulus(LimbId(position as u16));
            // (Q − 1)/2, the next number, and some further ones.
            let half = (modulus.value() - 1) / 2;
            for (index, word) in words.iter_mut().enumerate() {
                let quotient = modulus.reduce(index as u64 / 2);
                *word = if index % 2 == 0 {
                    modulus.sub(half, quotient)
                } else {
                    modulus.add(modulus.add(half, 1), quotient)
                };
            }
        }
        let expected = interpreter::run(&program, &keys, &[&x], &NoProgress).unwrap();
        assert!(on_card(&program, &keys, &[&x], ThreadOrder::Forwards) == expected, "{count} limbs");
    }
}

#[test]
fn rings_are_tiled_for_the_card() {
    let tiles = |log2_degree: u32| Tiles::new(RingDegree::new(1 << log2_degree).unwrap()).unwrap();
    assert_eq!([12, 13, 16, 17].map(|log2_degree| tiles(log2_degree).column_levels), [0, 6, 8, 8]);
    for log2_degree in 4..=17 {
        assert!(tiles(log2_degree).most_shared_bytes() <= 113 << 10, "two blocks at once on an H100");
    }
}

#[test]
fn keys_of_another_ring_are_rejected() {
    let generator = &mut StdRng::seed_from_u64(3);
    let ours = ring(5, 4, 0, generator);
    let theirs = ring(6, 4, 0, generator);
    let keys = keys(&theirs, GadgetLiteral::hybrid(4, 2, 0), &IDS, generator);
    let device = Arc::new(Emulator { order: ThreadOrder::Forwards });
    let program = every_kernel(&ours);
    assert!(Executor::new(&device, &program, &keys).is_err());
}
