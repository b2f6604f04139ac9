//! Whole CKKS programs on a card: bit-identical to the processor, and decrypted.

use super::ThreadOrder;
use super::{Card, needs, on_card};
use crate::NoProgress;
use crate::rns::cpu;
use polyfabric_program::rns::homomorphic::{Complex, Diagonals, Values};
use polyfabric_program::rns::kernel::KernelProgram;
use polyfabric_program::rns::levels::Chain;
use polyfabric_program::rns::lowering::{CiphertextValue, Lowering};
use polyfabric_program::rns::noise::Encryption;
use polyfabric_program::rns::parameters;
use polyfabric_schemes::ckks::{self, CkksCiphertext, ClientKey, sets};
use polyfabric_schemes::progress::no_progress;
use polyfabric_schemes::rns::{Ciphertext, KeyStorage, RnsPolynomial};

struct Bench {
    client: ClientKey,
    chain: Chain,
}

/// A program of one vector "x", and of a selector if there is another input, which is 1; and its result.
struct Circuit {
    kernel: KernelProgram,
    input: CiphertextValue,
    output: CiphertextValue,
}

impl Bench {
    fn new(set: &str) -> Self {
        let parameters = sets::parameters(set).unwrap();
        let chain = parameters::chain(&parameters).unwrap();
        Self { client: ClientKey::generate(&parameters).unwrap(), chain }
    }

    fn circuit(
        &self,
        level: usize,
        build: impl FnOnce(&mut Lowering<'_>, &CiphertextValue) -> CiphertextValue,
    ) -> Circuit {
        let parameters = self.client.parameters();
        let encoder = parameters::SlotEncoder(self.client.encoder());
        let model = parameters::model(parameters, Encryption::Secret);
        let choice = parameters::choice(parameters);
        let mut lowering = Lowering::new("circuit", &self.chain, choice, model, &encoder).unwrap();
        let input = lowering.input("x", level, 1.0).unwrap();
        let output = build(&mut lowering, &input);
        lowering.output("y", &output);
        Circuit { kernel: lowering.finish().unwrap(), input, output }
    }

    /// A bootstrapping of all slots.
    fn bootstrapping(&self) -> Circuit {
        let parameters = self.client.parameters();
        let choice = parameters::choice(parameters);
        let plan = parameters::bootstrapping(parameters, &self.chain, &choice, parameters.max_slots());
        let plan = plan.unwrap().unwrap();
        self.circuit(0, |lowering, x| lowering.bootstrap(x, &plan).unwrap())
    }

    fn values(&self) -> Vec<Complex> {
        let slots = self.client.parameters().max_slots();
        (0..slots).map(|slot| Complex::new((slot as f64).sin(), (slot as f64 * 0.7).cos())).collect()
    }

    /// Runs on a card, compares with the processor, and returns the largest distance of a slot from `expected`.
    fn run(&self, circuit: &Circuit, expected: &[Complex]) -> f64 {
        let Circuit { kernel, input, output } = circuit;
        let parameters = self.client.parameters();
        let ids: Vec<_> = kernel.keys().into_keys().collect();
        let keys = self.client.evaluation_keys(&ids, KeyStorage::BYTES, None, &no_progress).unwrap();
        let values: Vec<_> = self.values().iter().map(|value| ckks::Complex::new(value.re, value.im)).collect();
        let encrypted = self.client.encrypt_at(&values, input.level, input.scale.real()).unwrap().into_ciphertext();
        let bit = self.client.encrypt_selector(true, encrypted.limbs()).unwrap().polynomials();
        let given = |name: &str| if name == "x" { &encrypted.parts } else { &bit };
        let parts: Vec<&RnsPolynomial> =
            kernel.inputs().map(|(name, part, _, _)| &given(name)[usize::from(part)]).collect();
        let on_cpu = cpu::Executor::new(kernel, &keys).unwrap().run(&parts, &NoProgress).unwrap();
        let on_card = on_card(kernel, &keys, &parts, ThreadOrder::Backwards);
        assert!(on_card == on_cpu, "words differ");
        let result = CkksCiphertext::new(parameters, Ciphertext::new(on_card), output.scale.real(), values.len());
        let found = self.client.decrypt(&result.unwrap()).unwrap();
        let distance = |(a, b): (&ckks::Complex, &Complex)| (a.re - b.re).hypot(a.im - b.im);
        found.iter().zip(expected).map(distance).fold(0.0, f64::max)
    }
}

#[test]
fn products_rotations_and_matrices_decrypt_as_on_the_processor() {
    let bench = Bench::new("toy-10");
    let (values, top) = (bench.values(), bench.chain.top());
    let slots = values.len();
    let square = bench.circuit(top, |lowering, x| {
        let product = lowering.multiply(x, x).unwrap();
        lowering.relinearise_and_rescale(&product).unwrap()
    });
    let squares: Vec<Complex> = values.iter().map(|&value| value * value).collect();
    assert!(bench.run(&square, &squares) < 1e-4);
    let turned = bench.circuit(top, |lowering, x| lowering.rotate(x, 5).unwrap());
    let expected: Vec<Complex> = (0..slots).map(|slot| values[(slot + 5) % slots]).collect();
    assert!(bench.run(&turned, &expected) < 1e-4);
    let selected = bench.circuit(top, |lowering, x| {
        let rows = lowering.gsw_input("bit", &bench.chain.limbs(x.level)).unwrap();
        let turned = lowering.rotate(x, 5).unwrap();
        lowering.select_slots(&rows, &turned, Some(x)).unwrap()
    });
    assert!(bench.run(&selected, &expected) < 1e-4);
    // A matrix of eight diagonals: hoisted rotations of one ciphertext.
    let diagonal = |by: i64| (0..slots).map(|slot| Complex::new((slot as f64 + by as f64).cos() / 8.0, 0.0)).collect();
    let of: Vec<(i64, Vec<Complex>)> = (0..8).map(|by| (by, diagonal(by))).collect();
    let by_offset = of.iter().map(|(by, values)| (*by, Values::Complex(values.clone().into()))).collect();
    let diagonals = Diagonals { by_offset };
    let matrix = bench.circuit(top, |lowering, x| lowering.linear_transform(x, &diagonals, slots).unwrap());
    let row = |slot: usize| {
        of.iter().fold(Complex::default(), |sum, (by, diagonal)| {
            sum + diagonal[slot] * values[(slot + *by as usize) % slots]
        })
    };
    let expected: Vec<Complex> = (0..slots).map(row).collect();
    assert!(bench.run(&matrix, &expected) < 1e-4);
}

#[test]
fn bootstrapping_decrypts_as_on_the_processor() {
    let bench = Bench::new("toy-11-boot");
    let circuit = bench.bootstrapping();
    assert!(bench.run(&circuit, &bench.values()) < f64::exp2(-15.0));
}

/// Operations of bootstrapping are fused: a launch has tens of polynomials of 2^16 words each.
#[test]
fn a_bootstrapping_of_2_15_slots_has_a_few_hundred_launches() {
    let circuit = Bench::new("ckks-boot-1519").bootstrapping();
    let needs = needs(&circuit.kernel).unwrap();
    assert!(needs.launches < 600 && needs.nodes > 20 * needs.launches, "{needs:?}");
    // The figures in docs/gpu.md: launches, levels and polynomials, and gigabytes of keys, public polynomials, values and traffic.
    assert_eq!([needs.launches, needs.levels, needs.nodes], [591, 215, 15_338]);
    let bytes = [needs.key_bytes, needs.plaintext_bytes, needs.value_bytes, needs.moved_bytes];
    assert_eq!(bytes.map(|bytes| format!("{:.1}", bytes as f64 / 1e9)), ["8.3", "3.3", "0.8", "62.7"]);
    let counts = [needs.butterflies, needs.products].map(|count| format!("{:.1}", count as f64 / 1e9));
    assert_eq!(counts, ["3.5", "4.0"]);
    assert_eq!(format!("{:.0}", Card::H200.seconds(&needs) * 1e3), "13");
}
