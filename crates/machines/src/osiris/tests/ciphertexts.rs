//! Do replayed ciphertexts decrypt to the program's values?

use super::{limb_by_limb, paper};
use crate::audit::rns::audit;
use crate::osiris::arithmetic::Units;
use crate::osiris::labels::labelled;
use crate::osiris::machine::{Osiris, StepsBy};
use crate::osiris::schedule::schedule;
use crate::rns::replay::{Given, replay};
use polyfabric_program::rns::homomorphic::{Builder, Diagonals, NodeId, Program, Scheme, Values, evaluate};
use polyfabric_program::rns::lowering::{Hoisting, LevelPolicy, Lowered, RnsLowering, Target, lower};
use polyfabric_program::rns::noise::{Encryption, NoiseReport};
use polyfabric_program::rns::parameters;
use polyfabric_schemes::ckks::{CkksCiphertext, ClientKey, Complex, Encoder, Parameters, sets};
use polyfabric_schemes::progress::no_progress;
use polyfabric_schemes::rns::{Ciphertext, KeyId, KeyStorage, RnsPolynomial};
use polyfabric_sim::checker::check;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

fn lowered(program: &Program, set: &Parameters, machine: &Osiris) -> Lowered {
    let chain = parameters::chain(set).expect("a chain");
    let choice = machine.lowering(set.gadget().literal().clone());
    let choice = RnsLowering { levels: LevelPolicy::Highest, ..choice };
    let (encoder, model) = (Encoder::new(set.ring_degree()), parameters::model(set, Encryption::Secret));
    let encoder = parameters::SlotEncoder(&encoder);
    let target =
        Target { chain: &chain, choice: &choice, model, encoder: &encoder, bootstrapping: None, observed: false };
    lower(program, &target).expect("it is lowered")
}

/// The error that no slot of `program`'s output exceeds, except with probability 2^-40.
///
/// Slot 0 has an error far above the median: the machine's digits start at 0, and the mean of their
/// coefficients is almost all in slot 0. The key's error at this slot is different in each run, so its
/// precision varies by three bits between runs, but that of the median by a tenth of a bit.
fn bound(program: &Program, set: &Parameters, lowered: &Lowered) -> f64 {
    let chain = parameters::chain(set).expect("a chain");
    let report = NoiseReport::new(program, lowered, &chain, &parameters::model(set, Encryption::Secret));
    let (output, _) = program.outputs().next().expect("an output");
    report.nodes.iter().find(|node| node.node == output).expect("its errors").bound
}

/// The replay of `program` on ciphertexts of `set` decrypts to its values. No slot exceeds its error bound, and
/// half of them are correct to `median_bits` after the point, half a bit less than measured.
fn check_program(program: &Program, set: &str, machine: &Osiris, median_bits: f64) {
    let set = sets::parameters(set).expect("a set");
    let lowered = lowered(program, &set, machine);
    let client = ClientKey::for_tests(&set, 3).expect("a key");
    let ids: Vec<KeyId> = lowered.keys.keys().copied().collect();
    let keys = client.evaluation_keys(&ids, KeyStorage::TRANSPORT, None, &no_progress).expect("keys");
    let slot =
        |input: usize, slot: usize| Complex::new(((slot * 7 + input * 3) % 19) as f64 / 19.0, 0.5 - input as f64 / 8.0);
    let values = |input: usize| (0..program.slots()).map(|at| slot(input, at)).collect::<Vec<_>>();
    let clear: Vec<Vec<Complex>> = (0..lowered.inputs.len()).map(values).collect();
    let encrypted: Vec<CkksCiphertext> = lowered
        .inputs
        .iter()
        .zip(&clear)
        .map(|(port, values)| client.encrypt_at(values, port.level, port.scale.real()).expect("a ciphertext"))
        .collect();
    let mut scheduled = schedule(machine, &lowered.kernel).expect("it fits");
    check(&scheduled.schedule, &[]).unwrap_or_else(|violation| panic!("{violation}"));
    let given: Vec<&RnsPolynomial> = encrypted.iter().flat_map(|one| &one.ciphertext().parts).collect();
    let labels = labelled(&mut scheduled, &lowered.kernel);
    audit(&lowered.kernel, &scheduled.schedule, &labels).unwrap_or_else(|error| panic!("{error}"));
    let units = Units::new(&scheduled, &lowered.kernel).expect("moduli of the ring");
    let given = Given { program: &lowered.kernel, keys: &keys, inputs: &given };
    let found = replay(&scheduled.schedule, &labels, &units, &given);
    let mut found = found.expect("it is carried out").into_iter();
    let names = lowered.inputs.iter().map(|port| port.name.clone());
    let inputs: HashMap<String, Values> =
        names.zip(clear.into_iter().map(|values| Values::Complex(values.into()))).collect();
    let evaluated = evaluate(program, &inputs).expect("values");
    let expected = evaluated.outputs(program);
    for port in &lowered.outputs {
        let ciphertext = Ciphertext::new(found.by_ref().take(port.parts).collect());
        let ciphertext = CkksCiphertext::new(&set, ciphertext, port.scale.real(), program.slots()).expect("a level");
        let Values::Complex(wanted) = &expected[&*port.name] else { panic!("values of CKKS") };
        let precision = client.precision(&ciphertext, wanted).expect("it decrypts").expect("as many slots");
        let bound = bound(program, &set, &lowered);
        assert!(precision.max_error < bound, "{}: {precision}; the bound is 2^{:.1}", port.name, bound.log2());
        assert!(precision.median_bits > median_bits, "{}: {precision}", port.name);
    }
}

fn hoisted(hoisting: Hoisting) -> Osiris {
    Osiris { hoisting, ..paper() }
}

/// A program on one input at the set's top level.
fn program(slots: usize, level: usize, fill: impl FnOnce(&mut Builder, NodeId) -> NodeId) -> Program {
    let mut builder = Builder::new("units", Scheme::Ckks, slots).expect("a program");
    let x = builder.input_with("x", Some(level), 1.2).expect("an input");
    let y = fill(&mut builder, x);
    builder.output("y", y).expect("an output");
    builder.finish().expect("a program")
}

#[test]
fn a_rotation_at_the_largest_ring_decrypts() {
    let rotation = program(1 << 15, 8, |builder, x| builder.rotate(x, 5).expect("a rotation"));
    check_program(&rotation, "osiris-III", &hoisted(Hoisting::Single), 23.8);
}

#[test]
fn a_product_decrypts() {
    let product = program(1 << 13, 5, |builder, x| {
        let y = builder.input_with("z", Some(5), 1.2).expect("an input");
        let product = builder.mul(x, y).expect("a product");
        builder.conjugate(product).expect("a conjugation")
    });
    check_program(&product, "osiris-I", &hoisted(Hoisting::Single), 21.8);
}

/// Without `POLYFABRIC_FULL` in the environment, only single hoisting and execution limb by limb: the diagonal method below has no and double hoisting.
#[test]
fn a_matrix_times_a_vector_decrypts_with_each_hoisting() {
    let diagonal = |offset: i64| {
        let factors = (0..8192).map(|slot| Complex::new(((slot as i64 * 5 + offset) % 11) as f64 / 40.0, 0.0));
        (offset, Values::Complex(factors.collect()))
    };
    let by_offset: BTreeMap<i64, Values> = (0..6).map(diagonal).collect();
    let matrix = Arc::new(Diagonals { by_offset });
    let product = program(1 << 13, 5, |builder, x| builder.linear_transform(x, Arc::clone(&matrix)).expect("a matrix"));
    check_program(&product, "osiris-I", &hoisted(Hoisting::Single), 22.3);
    check_program(&product, "osiris-I", &limb_by_limb(paper()), 22.3);
    if std::env::var_os("POLYFABRIC_FULL").is_some() {
        for hoisting in [Hoisting::None, Hoisting::Double] {
            check_program(&product, "osiris-I", &hoisted(hoisting), 22.3);
        }
    }
}

#[test]
fn the_diagonal_method_rotates_once_per_diagonal_and_decrypts() {
    let set = sets::parameters("osiris-I").expect("a set");
    let factors = |offset: i64| (0..8192).map(move |slot| Complex::new(((slot * 5 + offset) % 11) as f64 / 40.0, 0.0));
    let by_offset = (-3..=3).map(|offset| (offset, Values::Complex(factors(offset).collect()))).collect();
    let matrix = Arc::new(Diagonals { by_offset });
    let product = program(1 << 13, 5, |builder, x| builder.linear_transform(x, Arc::clone(&matrix)).expect("a matrix"));
    for hoisting in [Hoisting::None, Hoisting::Double] {
        let machine = Osiris { steps: StepsBy::Diagonals, ..hoisted(hoisting) };
        assert_eq!(lowered(&product, &set, &machine).keys.len(), 6, "{hoisting:?}");
        check_program(&product, "osiris-I", &machine, 22.0);
    }
}
