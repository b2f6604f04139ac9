//! Do ciphertexts have the noise that the formulas predict?
//!
//! Each test compares the measured second moment of phase errors with the formula, for its keys or on average. The second moment of m
//! independent Gaussian errors has a relative standard deviation of √(2/m), and a quantity that is constant per key has √(2/keys). Each
//! test derives the deviation of its measurement and allows five. `POLYFABRIC_FULL` in the environment measures enough keys for 5 % or less,
//! with each noise source dominant once; without it, the tests take a few seconds.

use polyfabric_kernels::decompose::decompose_level;
use polyfabric_kernels::fft::FoldedFft;
use polyfabric_kernels::fixed::{FixedFft, FixedFftSpec, FixedSpectrum, FixedWidths, RangeRule, Rounding};
use polyfabric_kernels::isa::Isa;
use polyfabric_kernels::key_switch::KeySwitch;
use polyfabric_kernels::modulus_switch::modulus_switch as switch_modulus;
use polyfabric_kernels::negacyclic::ExactMultiplier;
use polyfabric_kernels::rotation::{rotate, rotate_subtract};
use polyfabric_kernels::{Gadget, Torus};

use super::*;
use crate::gaussian::ln_erfc;
use crate::tfhe::random::{Purpose, Seeds};
use crate::tfhe::{ClientKey, LweKind, Parameters, ParametersLiteral, ServerKey, sets};

/// Number of keys or rotations: `full` with `POLYFABRIC_FULL` in the environment.
fn runs(ordinary: u64, full: u64) -> u64 {
    if std::env::var_os("POLYFABRIC_FULL").is_some() { full } else { ordinary }
}

fn second_moment(errors: &[f64]) -> f64 {
    errors.iter().map(|error| error * error).sum::<f64>() / errors.len() as f64
}

/// The factor for five relative deviations of a second moment.
fn five(deviation: f64) -> f64 {
    1.0 + 5.0 * deviation
}

/// Asserts that `measured` equals `predicted` up to the factor `tolerance`.
fn close(what: &str, measured: f64, predicted: f64, tolerance: f64) {
    let ratio = measured / predicted;
    println!(
        "{what}: measured 2^{:.2}, predicted 2^{:.2}, ratio {ratio:.3}, to the factor {tolerance:.3}",
        measured.log2() / 2.0,
        predicted.log2() / 2.0
    );
    assert!(
        (1.0 / tolerance..=tolerance).contains(&ratio),
        "{what}: measured {measured:e}, predicted {predicted:e}, ratio {ratio}"
    );
}

/// Asserts that errors beyond one and two predicted standard deviations are as frequent as the failure probability predicts: to five
/// standard deviations of the count, plus `tolerance` for the variation over the test's keys.
fn fails_as_often(what: &str, errors: &[f64], variance: f64, tolerance: f64) {
    for deviations in [1.0, 2.0] {
        let margin = deviations * variance.sqrt();
        let expected = failure_probability_log2(variance, margin).exp2() * errors.len() as f64;
        let count = errors.iter().filter(|error| error.abs() > margin).count() as f64;
        assert!(
            (count - expected).abs() < 5.0 * expected.sqrt() + (tolerance - 1.0) * expected,
            "{what}: {count} of {} errors beyond {deviations} standard deviations, {expected:.0} expected",
            errors.len()
        );
    }
}

fn changed(name: &str, change: impl Fn(&mut ParametersLiteral)) -> Parameters {
    let mut literal = sets::literal(name).expect("a known set").clone();
    literal.name = format!("{name}-changed");
    change(&mut literal);
    Parameters::check(&literal).expect("a usable set")
}

/// Keys whose small key has exactly half its bits set.
fn balanced_client<T: Torus>(parameters: &Parameters, first_seed: u64) -> ClientKey<T> {
    let n = parameters.lwe_dimension().get();
    (first_seed..)
        .map(|seed| ClientKey::for_tests(parameters, seed).expect("the right torus"))
        .find(|client: &ClientKey<T>| {
            client.lwe(LweKind::Small).bits().iter().map(|&bit| usize::from(bit)).sum::<usize>() == n / 2
        })
        .expect("about one key in √n is balanced")
}

fn check_fresh<T: Torus>(name: &str, kind: LweKind) {
    let parameters = sets::parameters(name).expect("a known set");
    let client = ClientKey::<T>::for_tests(&parameters, 1).expect("the right torus");
    let message = T::from_fraction(0.2);
    const COUNT: usize = 20_000;
    let batch = client.encrypt_for_tests(kind, &[message; COUNT], 2);
    let phases = client.decrypt_phase(kind, &batch).expect("its own key");
    let errors: Vec<f64> = phases.iter().map(|phase| phase.wrapping_sub(message).to_fraction()).collect();
    let mean = errors.iter().sum::<f64>() / errors.len() as f64;
    let variance = fresh(&parameters, kind).variance;
    assert!(mean.abs() < 5.0 * (variance / COUNT as f64).sqrt(), "{name}: mean {mean:e}");
    let width = five((2.0 / COUNT as f64).sqrt());
    close(&format!("{name} fresh {kind:?}"), second_moment(&errors), variance, width);
    // With a deviation of a few units of the torus, errors fall exactly on the margin.
    if variance.sqrt() > 64.0 * (-f64::from(parameters.torus_bits())).exp2() {
        fails_as_often(&format!("{name} fresh {kind:?}"), &errors, variance, 1.02);
    }

    // A dot product of the same ciphertexts, ten at a time.
    let weights = [3i64, -1, 0, 2, 7, -5, 1, 1, -2, 4];
    let sums: Vec<f64> = errors
        .chunks_exact(10)
        .map(|errors| errors.iter().zip(weights).map(|(error, weight)| error * weight as f64).sum())
        .collect();
    let predicted = linear(weights.map(|weight| (weight, variance)));
    assert!((predicted / (squared_norm(weights) * variance) - 1.0).abs() < 1e-12);
    let width = five((2.0 / sums.len() as f64).sqrt());
    close(&format!("{name} linear {kind:?}"), second_moment(&sums), predicted, width);
}

#[test]
fn fresh_and_linear() {
    check_fresh::<u32>("strix-I", LweKind::Small);
    check_fresh::<u32>("strix-I", LweKind::Large);
    // A standard deviation of 4 units, where rounding to the torus becomes visible.
    check_fresh::<u32>("polyfabric-3-p128-t32", LweKind::Large);
    check_fresh::<u64>("morphling-IV", LweKind::Small);
    check_fresh::<u64>("morphling-IV", LweKind::Large);
}

/// Variance of a Gaussian truncated at 2.5 deviations ([`MEAN_BOUND`]), where keys are rejected.
const CUT: f64 = 0.911;

/// The square of a key's mean varies by √(2/keys). The rest varies by √(2/samples), and over keys with the secret's weight and the squares of
/// the rows' noise.
fn check_key_switch<T: Torus>(parameters: &Parameters, keys: u64, samples: usize) {
    let gadget = parameters.key_switch_gadget().expect("the set has one");
    let (large, n) = (parameters.large_lwe_dimension(), parameters.lwe_dimension());
    let mut errors = Vec::new();
    for seed in 0..keys {
        let client = ClientKey::<T>::for_tests(parameters, seed).expect("the right torus");
        let server = ServerKey::for_tests(&client, seed);
        let key = server.key_switch_key().expect("the set has one");
        // Noiseless inputs under the large key: the output error is that of the switch.
        let message = T::from_fraction(0.2);
        let mut stream = Seeds::for_tests(seed).mask.stream(Purpose::Encryption, 9);
        let mut inputs = vec![T::default(); samples * large.ciphertext_len()];
        for input in inputs.chunks_exact_mut(large.ciphertext_len()) {
            stream.fill_uniform(input);
            let phase = client.lwe(LweKind::Large).phase(input);
            input[large.get()] = input[large.get()].wrapping_sub(phase).wrapping_add(message);
        }
        let mut outputs = vec![T::default(); samples * n.ciphertext_len()];
        KeySwitch::new(key, gadget, large.get(), n.get(), Isa::best()).switch(&inputs, &mut outputs);
        errors.extend(
            outputs
                .chunks_exact(n.ciphertext_len())
                .map(|output| client.lwe(LweKind::Small).phase(output).wrapping_sub(message).to_fraction()),
        );
    }
    let noise = Formulas::of(parameters, Keys::Average).key_switch(gadget);
    let predicted = noise.second_moment() - (1.0 - CUT) * noise.shared.powi(2);
    let mean = CUT * noise.shared.powi(2) / predicted;
    let rows = (large.get() * gadget.levels as usize) as f64;
    let of_keys = 2.0 * mean * mean + 1.0 / large.get() as f64 + 2.0 / rows;
    let tolerance = five(((of_keys + 2.0 / samples as f64) / keys as f64).sqrt());
    close(&format!("{} key switch", parameters.name()), second_moment(&errors), predicted, tolerance);
    fails_as_often(&format!("{} key switch", parameters.name()), &errors, predicted, tolerance);
}

#[test]
fn key_switches() {
    let small_ring = |name: &str, gadget: Gadget| {
        changed(name, |literal| {
            // Minimises the unused bootstrapping key.
            literal.lwe_dimension = 16;
            (literal.ring_degree, literal.glwe_dimension) = (64, 1);
            literal.bootstrap_gadget.levels = 1;
            literal.key_switch_gadget = Some(gadget);
        })
    };
    // Many keys in a small ring with real noise: the digits' mean of −1/2 times the rows' errors is constant per key.
    let keys = |count| runs(count, 5 * count);
    check_key_switch::<u32>(&small_ring("strix-I", Gadget { log2_base: 2, levels: 8 }), keys(200), 60);
    check_key_switch::<u32>(&small_ring("fpt-I", Gadget { log2_base: 4, levels: 3 }), keys(150), 60);
    check_key_switch::<u64>(&small_ring("morphling-IV", Gadget { log2_base: 3, levels: 5 }), keys(150), 60);
    // Digits of −1 and 0: half of the variance is the mean shared by a key's errors.
    check_key_switch::<u32>(&small_ring("strix-I", Gadget { log2_base: 1, levels: 16 }), keys(1000), 10);
    // Rounding dominates the rows' noise: one level of 2^4.
    check_key_switch::<u32>(&small_ring("strix-I", Gadget { log2_base: 4, levels: 1 }), keys(150), 60);
    // A real set.
    check_key_switch::<u32>(&sets::parameters("strix-I").expect("known"), runs(2, 200), 200);
}

fn check_modulus_switch<T: Torus>(name: &str) {
    let parameters = sets::parameters(name).expect("a known set");
    let (n, log2_modulus) = (parameters.lwe_dimension(), parameters.ring_degree().log2() + 1);
    let client = ClientKey::<T>::for_tests(&parameters, 1).expect("the right torus");
    let weight = client.lwe(LweKind::Small).bits().iter().map(|&bit| usize::from(bit)).sum();
    let mut stream = Seeds::for_tests(3).mask.stream(Purpose::Encryption, 9);
    let mut input = vec![T::default(); n.ciphertext_len()];
    let mut switched = vec![0; n.ciphertext_len()];
    let errors: Vec<f64> = (0..20_000)
        .map(|_| {
            stream.fill_uniform(&mut input);
            switch_modulus(&input, log2_modulus, &mut switched);
            let widened: Vec<T> =
                switched.iter().map(|&x| T::from_u64(u64::from(x) << (T::BITS - log2_modulus))).collect();
            let key = client.lwe(LweKind::Small);
            key.phase(&widened).wrapping_sub(key.phase(&input)).to_fraction()
        })
        .collect();
    let predicted =
        Formulas::of(&parameters, Keys::Weights([weight, 0])).modulus_switch(PhaseRounding::Nearest, 0).variance;
    close(&format!("{name} modulus switch"), second_moment(&errors), predicted, 1.05);
    fails_as_often(&format!("{name} modulus switch"), &errors, predicted, 1.0);
    // The bound covers any key.
    assert!(predicted <= modulus_switch(&parameters).variance);
}

#[test]
fn modulus_switches() {
    check_modulus_switch::<u32>("strix-I");
    check_modulus_switch::<u32>("fpt-I");
    check_modulus_switch::<u32>("morphling-C");
    check_modulus_switch::<u64>("morphling-IV");
}

/// A method of polynomial multiplication, with the bootstrapping key in its format.
enum Products<T> {
    Exact(Vec<T>, ExactMultiplier),
    F64(Vec<Vec<f64>>, FoldedFft),
    Fixed(Vec<FixedSpectrum>, Box<FixedFft>),
}

impl<T: Torus> Products<T> {
    fn exact(server: &ServerKey<T>) -> Self {
        Self::Exact(server.bootstrap_key().to_vec(), ExactMultiplier::new(server.parameters().ring_degree()))
    }

    fn f64(server: &ServerKey<T>) -> Self {
        Self::f64_with(server, Isa::best())
    }

    /// With an available instruction set.
    fn f64_with(server: &ServerKey<T>, isa: Isa) -> Self {
        let degree = server.parameters().ring_degree();
        let transform = FoldedFft::with_isa(degree, isa).expect("it is present");
        let spectra = server
            .bootstrap_key()
            .chunks_exact(degree.get())
            .map(|polynomial| {
                let mut spectrum = vec![0.0; degree.get()];
                transform.forward_torus(polynomial, &mut spectrum);
                spectrum
            })
            .collect();
        Self::F64(spectra, transform)
    }

    fn fixed(server: &ServerKey<T>, spec: FixedFftSpec) -> Self {
        let degree = server.parameters().ring_degree();
        let transform = FixedFft::new(spec).expect("a usable schedule");
        let spectra = server
            .bootstrap_key()
            .chunks_exact(degree.get())
            .map(|polynomial| {
                let mut spectrum = FixedSpectrum::zeros(degree);
                assert_eq!(transform.forward_torus(polynomial, &mut spectrum), 0);
                spectrum
            })
            .collect();
        Self::Fixed(spectra, Box::new(transform))
    }

    /// `accumulator` += BSK_i ⊡ `lambda`.
    fn external_product(&self, parameters: &Parameters, i: usize, lambda: &[T], accumulator: &mut [T]) {
        let degree = parameters.ring_degree().get();
        let columns = parameters.glwe_dimension().ciphertext_polynomials();
        let levels = parameters.bootstrap_gadget().levels as usize;
        let mut digits = Vec::new();
        for polynomial in lambda.chunks_exact(degree) {
            let mut all = vec![0; levels * degree];
            for (level, digits) in all.chunks_exact_mut(degree).enumerate() {
                decompose_level(polynomial, parameters.bootstrap_gadget(), level as u32, digits);
            }
            digits.extend(all);
        }
        let rows = parameters.ggsw_rows();
        for (column, sum) in accumulator.chunks_exact_mut(degree).enumerate() {
            let key = |row: usize| (i * rows + row) * columns + column;
            match self {
                Self::Exact(bootstrap_key, multiplier) => {
                    for (row, digits) in digits.chunks_exact(degree).enumerate() {
                        multiplier.multiply_add(digits, &bootstrap_key[key(row) * degree..][..degree], sum);
                    }
                }
                Self::F64(spectra, transform) => {
                    let (mut spectrum, mut product) = (vec![0.0; degree], vec![0.0; degree]);
                    for (row, digits) in digits.chunks_exact(degree).enumerate() {
                        transform.forward_digits(digits, &mut spectrum);
                        transform.multiply_accumulate(&mut product, &spectrum, &spectra[key(row)]);
                    }
                    transform.inverse_add_torus(&mut product, sum);
                }
                Self::Fixed(spectra, transform) => {
                    let degree = parameters.ring_degree();
                    let (mut spectrum, mut product) = (FixedSpectrum::zeros(degree), FixedSpectrum::zeros(degree));
                    let mut saturations = 0;
                    for (row, digits) in digits.chunks_exact(degree.get()).enumerate() {
                        saturations += transform.forward_digits(digits, &mut spectrum);
                        saturations += transform.multiply_accumulate(&mut product, &spectrum, &spectra[key(row)]);
                    }
                    saturations += transform.inverse_add_torus(&mut product, sum);
                    assert_eq!(saturations, 0);
                }
            }
        }
    }
}

/// A noiseless GLWE encryption of `message` with random masks.
fn noiseless<T: Torus>(client: &ClientKey<T>, message: &[T], seed: u64) -> Vec<T> {
    let degree = message.len();
    let masks = client.glwe().bits().len();
    let mut ciphertext = vec![T::default(); masks + degree];
    Seeds::for_tests(seed).mask.stream(Purpose::Encryption, 8).fill_uniform(&mut ciphertext[..masks]);
    let phase = client.glwe().phase(&ciphertext);
    for ((body, &message), phase) in ciphertext[masks..].iter_mut().zip(message).zip(phase) {
        *body = message.wrapping_sub(phase);
    }
    ciphertext
}

/// Initial accumulator of a blind rotation: the real one, or one with random masks, as the formulas assume in every iteration.
#[derive(PartialEq)]
enum Start {
    Trivial,
    Random,
}

/// Measures n CMUXes in the set's own ring with a small n; all N coefficients of the result are samples.
fn measure_blind_rotation<T: Torus>(
    parameters: &Parameters,
    runs: u64,
    start: Start,
    products: impl Fn(&ServerKey<T>) -> Products<T>,
) -> f64 {
    let degree = parameters.ring_degree().get();
    let mut errors = Vec::new();
    for run in 0..runs {
        let client = balanced_client::<T>(parameters, 100 * run);
        let server = ServerKey::for_tests(&client, run);
        let products = products(&server);
        let message = vec![T::from_fraction(0.125); degree];
        let mut accumulator = noiseless(&client, &message, run);
        if start == Start::Trivial {
            let masks = accumulator.len() - degree;
            accumulator[..masks].fill(T::default());
            accumulator[masks..].copy_from_slice(&message);
        }
        let mut exponents = vec![0u32; parameters.lwe_dimension().get()];
        Seeds::for_tests(run).mask.stream(Purpose::Encryption, 7).fill_uniform(&mut exponents);
        let mut total = 0;
        let mut lambda = accumulator.clone();
        for (i, &exponent) in exponents.iter().enumerate() {
            let exponent = exponent as usize % (2 * degree);
            total += exponent * usize::from(client.lwe(LweKind::Small).bits()[i]);
            for (polynomial, lambda) in accumulator.chunks_exact(degree).zip(lambda.chunks_exact_mut(degree)) {
                rotate_subtract(polynomial, exponent, lambda);
            }
            products.external_product(parameters, i, &lambda, &mut accumulator);
        }
        let mut expected = vec![T::default(); degree];
        rotate(&message, total, &mut expected);
        let phase = client.glwe().phase(&accumulator);
        errors.extend(phase.iter().zip(expected).map(|(phase, expected)| phase.wrapping_sub(expected).to_fraction()));
    }
    second_moment(&errors)
}

/// Second moment of a lookup's error over keys.
fn average_rotation(parameters: &Parameters, transform: Transform) -> f64 {
    Formulas::of(parameters, Keys::Average).blind_rotation(transform).second_moment()
}

/// Each noise source of a blind rotation dominates once, in a ring of 256 with hundreds of keys.
#[test]
fn every_source_of_a_blind_rotations_noise() {
    let check = |what: &str, gadget: Gadget, noise: f64, runs: u64, deviation: f64| {
        let parameters = changed("strix-I", |literal| {
            literal.lwe_dimension = 16;
            literal.ring_degree = 256;
            literal.key_switch_gadget = None;
            literal.bootstrap_gadget = gadget;
            literal.glwe_noise_log2 = noise;
        });
        let measured = measure_blind_rotation::<u32>(&parameters, runs, Start::Random, Products::exact);
        close(what, measured, average_rotation(&parameters, Transform::Exact), five(deviation / (runs as f64).sqrt()));
    };
    // Variation of one rotation, measured over thousands.
    check("digits times rows' noise", Gadget { log2_base: 8, levels: 2 }, -22.0, runs(60, 600), 0.1);
    check("digits' shared mean", Gadget { log2_base: 1, levels: 16 }, -22.0, runs(150, 2000), 0.5);
    // S_j sums rounding errors over neighbours, so that a run has few independent samples.
    check("rounding", Gadget { log2_base: 4, levels: 2 }, -30.0, runs(300, 3000), 0.45);
}

/// Five deviations of a second moment over `runs` runs in exact arithmetic. At each frequency the errors of all iterations sum to one complex
/// number per run, whose square varies by 100 %. Half of the rounding's energy comes from the secret's mean at one frequency, and so does all
/// energy of the digits' mean times the rows' noise; keys of different weights increase it. The rest is spread over N/2 frequencies.
fn tolerance(parameters: &Parameters, runs: u64) -> f64 {
    let formulas = Formulas::of(parameters, Keys::Average);
    let one = formulas.external_product(Transform::Exact);
    let noiseless = Formulas { glwe_noise_log2: -200.0, ..formulas };
    let rounding = noiseless.external_product(Transform::Exact).variance / one.second_moment();
    let mean = one.shared.powi(2) / one.second_moment();
    let spread = 4.0 / parameters.ring_degree().get() as f64;
    five((((0.55 * rounding + mean).powi(2) + spread) / runs as f64).sqrt())
}

fn check_blind_rotation<T: Torus>(name: &str, n: usize, gadget: Option<Gadget>) {
    let runs = runs(12, 400);
    let parameters = changed(name, |literal| {
        literal.lwe_dimension = n;
        literal.key_switch_gadget = None;
        literal.bootstrap_gadget = gadget.unwrap_or(literal.bootstrap_gadget);
    });
    let measured = measure_blind_rotation::<T>(&parameters, runs, Start::Random, Products::exact);
    let predicted = average_rotation(&parameters, Transform::Exact);
    let what = format!("{name} {n} CMUXes, {:?}", parameters.bootstrap_gadget());
    close(&what, measured, predicted, tolerance(&parameters, runs));
}

#[test]
fn blind_rotations_in_32_bits() {
    check_blind_rotation::<u32>("strix-I", 16, None);
    check_blind_rotation::<u32>("strix-II", 16, None);
    check_blind_rotation::<u32>("fpt-I", 16, None);
    check_blind_rotation::<u32>("strix-III", 8, None);
    check_blind_rotation::<u32>("morphling-C", 16, None);
    // Rounding dominates.
    check_blind_rotation::<u32>("polyfabric-direct-t32", 16, None);
    // Almost all bits are kept, in a large ring with little noise: a fifth is the rounding's mean of half a unit, which must be visible.
    check_blind_rotation::<u32>("polyfabric-5-p128-t32", 4, Some(Gadget { log2_base: 2, levels: 15 }));
}

#[test]
fn blind_rotations_in_64_bits() {
    check_blind_rotation::<u64>("morphling-IV", 8, None);
    // Rounding dominates.
    check_blind_rotation::<u64>("polyfabric-4-p128-t64", 16, None);
    check_blind_rotation::<u64>("polyfabric-1-p128-t64", 16, None);
}

/// One digit of 23 bits destroys a message on a 32-bit torus: after a few CMUXes the phase is uniform, of variance 1/12.
#[test]
fn set_iv_in_32_bits_is_noise() {
    let parameters = changed("morphling-IV-t32", |literal| {
        literal.lwe_dimension = 32;
        literal.key_switch_gadget = None;
    });
    assert!(average_rotation(&parameters, Transform::Exact) > 1.0 / 12.0);
    let measured = measure_blind_rotation::<u32>(&parameters, 4, Start::Random, Products::exact);
    close("morphling-IV-t32, against uniform", measured, 1.0 / 12.0, 1.05);
}

#[test]
fn a_whole_blind_rotation_at_paper_size() {
    let parameters = sets::parameters("strix-I").expect("a known set");
    let measured = measure_blind_rotation::<u32>(&parameters, 1, Start::Trivial, Products::f64);
    let predicted = average_rotation(&parameters, Transform::F64);
    close("strix-I, all 500 CMUXes, f64", measured, predicted, tolerance(&parameters, 1));
}

/// Variance in the phase of the difference between `approximate` and exact products, for external products of random operands.
fn measure_transform<T: Torus>(
    parameters: &Parameters,
    keys: u64,
    approximate: impl Fn(&ServerKey<T>) -> Products<T>,
) -> f64 {
    let mut errors = Vec::new();
    for seed in 1..=keys {
        let client = ClientKey::<T>::for_tests(parameters, seed).expect("the right torus");
        let server = ServerKey::for_tests(&client, seed);
        let (exact, approximate) = (Products::exact(&server), approximate(&server));
        for i in 0..parameters.lwe_dimension().get() {
            let mut lambda = vec![T::default(); client.glwe().bits().len() + parameters.ring_degree().get()];
            Seeds::for_tests(seed << 32 | i as u64).mask.stream(Purpose::Encryption, 6).fill_uniform(&mut lambda);
            let mut difference = vec![T::default(); lambda.len()];
            approximate.external_product(parameters, i, &lambda, &mut difference);
            let mut reference = vec![T::default(); lambda.len()];
            exact.external_product(parameters, i, &lambda, &mut reference);
            difference.iter_mut().zip(reference).for_each(|(d, r)| *d = d.wrapping_sub(r));
            errors.extend(client.glwe().phase(&difference).iter().map(|error| error.to_fraction()));
        }
    }
    second_moment(&errors)
}

/// Noise that a transform adds to a phase in one external product, averaged over keys.
fn average_transform(parameters: &Parameters, transform: Transform) -> f64 {
    Formulas::of(parameters, Keys::Average).transform_in_phase(transform).variance
}

fn few_iterations(name: &str) -> Parameters {
    changed(name, |literal| {
        literal.lwe_dimension = 4;
        literal.key_switch_gadget = None;
    })
}

/// The kernel's error model is an upper bound: measurements are half to four fifths of its variance, depending on the instruction set. Half of
/// a phase's error is that of one complex number per product, as with rounding above; allows five deviations.
fn check_f64<T: Torus>(name: &str) {
    let keys = runs(4, 60);
    let parameters = few_iterations(name);
    let products = (keys as usize * parameters.lwe_dimension().get()) as f64;
    for isa in Isa::present() {
        let kind = if isa == Isa::Portable { Transform::F64Unfused } else { Transform::F64 };
        let measured = measure_transform::<T>(&parameters, keys, |server| Products::f64_with(server, isa));
        let ratio = measured / average_transform(&parameters, kind);
        println!("{name} f64, {isa}: measured 2^{:.2}, {ratio:.3} of the prediction", measured.log2() / 2.0);
        let width = 2.5 / products.sqrt();
        assert!((0.45 - width..=1.0 + width).contains(&ratio), "{name}, {isa}: ratio {ratio}");
    }
}

#[test]
fn the_f64_transform_where_it_shows() {
    check_f64::<u64>("morphling-IV");
    check_f64::<u64>("morphling-A");
    check_f64::<u64>("polyfabric-6-p128-t64");
}

/// Without fused multiply-adds the error is larger by half of the transform's variance, as the formula assumes.
#[test]
fn the_transform_without_fused_multiply_adds() {
    let parameters = few_iterations("morphling-IV");
    let [fused, unfused] = [Transform::F64, Transform::F64Unfused].map(|kind| transform_error(&parameters, kind));
    assert!((1.4..=1.5).contains(&(unfused / fused)), "{fused:e}, {unfused:e}");
}

#[test]
fn the_f64_transform_vanishes_in_32_bits() {
    let parameters = few_iterations("strix-I");
    let transform = transform_error(&parameters, Transform::F64) * (1.0 + 1024.0 / 2.0);
    assert!(transform < 1e-3 * external_product(&parameters, Transform::Exact).variance);
}

fn fixed_of(parameters: &Parameters, widths: FixedWidths, first_step: f64) -> FixedFftSpec {
    FixedFftSpec::for_external_product(
        parameters.ring_degree(),
        parameters.bootstrap_gadget(),
        parameters.glwe_dimension().get(),
        32,
        widths,
        Rounding::HalfEven,
        RangeRule::OverflowProbability { log2: -64.0, first_step },
    )
}

/// Half of the secret's energy is in its mean, so up to all of an error is that of one complex number per product: the second moment of m
/// products varies by √(1/m). `model` is the relative error of the model, in addition to five deviations.
fn check_fixed(what: &str, parameters: &Parameters, keys: u64, spec: &FixedFftSpec, model: f64) {
    let products = keys as f64 * parameters.lwe_dimension().get() as f64;
    let measured = measure_transform::<u32>(parameters, keys, |server| Products::fixed(server, spec.clone()));
    let predicted = average_transform(parameters, Transform::fixed(spec, parameters));
    close(&format!("{what}, fixed point"), measured, predicted, five(products.sqrt().recip()) + model);
}

/// The rounding of key and digits dominates once each, then the words of a machine, in a ring of 256.
#[test]
fn sources_of_a_fixed_point_transforms_noise() {
    let small = |gadget: Gadget| {
        changed("strix-I", |literal| {
            literal.lwe_dimension = 64;
            literal.ring_degree = 256;
            literal.key_switch_gadget = None;
            literal.bootstrap_gadget = gadget;
        })
    };
    let check = |what: &str, gadget: Gadget, widths: FixedWidths| {
        let parameters = small(gadget);
        let spec = fixed_of(&parameters, widths, 0.25);
        check_fixed(what, &parameters, runs(12, 150), &spec, 0.0);
    };
    let (large, tiny) = (Gadget { log2_base: 8, levels: 2 }, Gadget { log2_base: 2, levels: 8 });
    let wide = FixedWidths::uniform(52).with_twiddles(50);
    check("large digits", large, FixedWidths::uniform(32));
    check("a key of few bits", tiny, FixedWidths { key: 24, ..wide });
    check("a key's transform", tiny, FixedWidths { key: 28, key_stages: 28, ..wide });
    check("a digits' transform", tiny, FixedWidths { digits: 20.into(), ..wide });
    let exact = FixedWidths::uniform(42).with_twiddles(40);
    check("an inverse transform", tiny, FixedWidths { inverse: 26.into(), accumulator: 26, ..exact });
    check("words of 32 bits, tiny digits", tiny, FixedWidths::uniform(32));
    check("words of 22 bits, small digits", Gadget { log2_base: 3, levels: 6 }, FixedWidths::uniform(22));
}

/// Whole rotations on 32-bit words: accumulators are multiples of a unit of results, and decomposition rounds half up. Without
/// `POLYFABRIC_FULL` the rings are smaller. The errors of a rotation are dominated by one complex number, so the second moment of `count` of
/// them varies by √(1/count).
fn check_rotations_in_fixed_point(name: &str) {
    let parameters = changed(name, |literal| {
        literal.lwe_dimension = 64;
        literal.key_switch_gadget = None;
        if std::env::var_os("POLYFABRIC_FULL").is_none() {
            literal.lwe_dimension = 24;
            literal.ring_degree = 256;
        }
    });
    let spec = fixed_of(&parameters, FixedWidths::uniform(32), 0.25);
    let predicted = average_rotation(&parameters, Transform::fixed(&spec, &parameters));
    let count = runs(200, 600);
    let rotations =
        measure_blind_rotation::<u32>(&parameters, count, Start::Trivial, |key| Products::fixed(key, spec.clone()));
    close(&format!("{name}, whole rotations"), rotations, predicted, five((count as f64).sqrt().recip()));
}

// Separate tests run in parallel; they are the longest of this crate.
#[test]
fn narrow_blind_rotations_in_fixed_point() {
    check_rotations_in_fixed_point("polyfabric-1-p128-t32-narrow");
}

#[test]
fn direct_blind_rotations_in_fixed_point() {
    check_rotations_in_fixed_point("polyfabric-direct-1024-t32");
}

#[test]
fn blind_rotations_in_fixed_point() {
    check_rotations_in_fixed_point("polyfabric-1-p64-t32");
}

/// Twiddle errors are not random: a few dominate at the points where digits and secret are large. The model computes them from tables, to 10 %.
#[test]
fn twiddle_factors_of_a_fixed_point_transform() {
    let parameters = changed("strix-I", |literal| {
        literal.lwe_dimension = 64;
        literal.ring_degree = 256;
        literal.key_switch_gadget = None;
        literal.bootstrap_gadget = Gadget { log2_base: 2, levels: 8 };
    });
    let exact = FixedWidths::uniform(42).with_twiddles(40);
    for (what, widths) in [
        ("digits' twiddles", FixedWidths { twiddle: 18, ..exact }),
        ("the key's twiddles", FixedWidths { key_twiddle: 18, ..exact }),
        ("the inverse's twiddles", FixedWidths { inverse_twiddle: 18, ..exact }),
    ] {
        check_fixed(what, &parameters, runs(10, 150), &fixed_of(&parameters, widths, 0.25), 0.1);
    }
}

/// The sets of machines on 32-bit words.
#[test]
fn the_fixed_point_transform() {
    for (name, first_step) in [
        ("strix-I", 0.0),
        ("strix-II", 0.0),
        ("fpt-I", 0.25),
        ("strix-III", 0.0),
        ("polyfabric-direct-t32", 0.25),
        ("polyfabric-direct-1024-t32", 0.25),
        ("polyfabric-1-p128-t32-narrow", 0.25),
    ] {
        let parameters = changed(name, |literal| {
            literal.lwe_dimension = 40;
            literal.key_switch_gadget = None;
        });
        let spec = fixed_of(&parameters, FixedWidths::uniform(32), first_step);
        check_fixed(name, &parameters, runs(4, 100), &spec, 0.0);
    }
}

#[test]
fn logarithms_of_erfc() {
    // Values of erfc from tables (DLMF 7.23; Abramowitz and Stegun 7.1), beyond from mpmath.
    for (x, erfc) in [
        (0.0, 1.0),
        (0.5, 0.479_500_122_186_953_5),
        (1.0, 0.157_299_207_050_285_13),
        (2.0, 4.677_734_981_047_266e-3),
        (3.0, 2.209_049_699_858_544e-5),
        (5.0, 1.537_459_794_428_034_8e-12),
        (10.0, 2.088_487_583_762_544_7e-45),
    ] {
        let error = ln_erfc(x) - f64::ln(erfc);
        assert!(error.abs() < 1e-12, "erfc({x}): {error:e}");
    }
    // Both methods agree at 2.
    assert!((ln_erfc(2.0) - ln_erfc(2.0 - 1e-9)).abs() < 1e-7);
    // Far out, compare with the first terms of the asymptotic series.
    let x: f64 = 100.0;
    let series = -x * x - (x * std::f64::consts::PI.sqrt()).ln() + (1.0 - 0.5 / (x * x) + 0.75 / x.powi(4)).ln();
    assert!((ln_erfc(x) - series).abs() < 1e-10);
}

#[test]
fn failure_probabilities() {
    // P(|X| > 2σ) = 0.0455, a value below the range of f64, and the extremes.
    assert!((failure_probability_log2(1.0, 2.0).exp2() - 0.045_500_263_896_358_4).abs() < 1e-12);
    assert!(failure_probability_log2(1.0, 100.0) < -7000.0);
    assert_eq!(failure_probability_log2(0.0, 0.1), f64::NEG_INFINITY);
    assert_eq!(failure_probability_log2(1.0, 0.0), 0.0);
    // 2^-128 needs about 13.1 standard deviations, 2^-64 about 9.2.
    assert!((failure_probability_log2(1.0, 13.12) + 128.0).abs() < 1.0);
    assert!((failure_probability_log2(1.0, 9.15) + 64.0).abs() < 1.0);
    // 1000 PBSs at 2^-40 and one at 2^-30.
    let union = union_log2([(-40.0, 1000), (-30.0, 1), (-10.0, 0)]);
    assert!((union - (1000f64 * (-40f64).exp2() + (-30f64).exp2()).log2()).abs() < 1e-9);
    assert_eq!(union_log2([(-1.0, 8)]), 0.0);
    assert_eq!(union_log2([]), f64::NEG_INFINITY);
}
