//! Do unrolled and block-binary keys give what plain ones do: random programs decrypt to the evaluation in the clear in every arithmetic and domain, exact
//! results agree bit for bit between domains, and noise is as predicted? Are keys and programs of different unrolling kept apart?

use super::common::{Keys, clear, values};
use super::random_program::{Limits, Stream, inputs, program};
use polyfabric_kernels::Torus;
use polyfabric_kernels::fixed::{FixedFftSpec, FixedWidths, RangeRule, Rounding};
use polyfabric_program::tfhe::builtin;
use polyfabric_program::tfhe::homomorphic::{Program, encode_input, evaluate};
use polyfabric_program::tfhe::lowering::{Accumulation, Arithmetic, KeySwitchOrder, TfheLowering};
use polyfabric_program::tfhe::noise;
use polyfabric_program::tfhe::text::parse_kernel;
use polyfabric_runtime::NoProgress;
use polyfabric_runtime::tfhe::RunError;
use polyfabric_runtime::tfhe::cpu::Executor;
use polyfabric_runtime::tfhe::interpreter;
use polyfabric_schemes::tfhe::noise::{Formulas, Keys as KeysOf, PhaseRounding, Transform};
use polyfabric_schemes::tfhe::{
    ClientKey, KeyError, KeyUnrolling, LweKind, Parameters, Secret, ServerKey, no_progress, sets,
};

const LIMITS: Limits = Limits { operations: 8, width: 4, length: 3, everything: false };
const UNROLLED: [Option<u32>; 2] = [Some(2), Some(4)];
/// A block, and one of its bits, per iteration.
const BLOCKS: [Option<u32>; 2] = [None, Some(1)];

fn choice(unrolling: KeyUnrolling, order: KeySwitchOrder, arithmetic: Arithmetic) -> TfheLowering {
    TfheLowering { key_unrolling: unrolling.bits(), ..TfheLowering::new(order, arithmetic) }
}

/// The first program of `stream` that `parameters` carry with failure probability 2^-30, whatever the unrolling.
fn carried_program(stream: &mut Stream, parameters: &Parameters) -> Program {
    loop {
        let candidate = program(stream, LIMITS);
        let most = parameters.unrolling(Some(4)).or_else(|_| parameters.unrolling(None)).unwrap();
        let choice = choice(most, KeySwitchOrder::After, Arithmetic::F64);
        let report = noise::report_lowered(&candidate, parameters, &choice, Transform::F64).unwrap();
        if report.check(parameters, -30.0).is_ok() {
            return candidate;
        }
    }
}

fn random_programs<T: Torus>(set: &str, unrolled: [Option<u32>; 2], cases: u64) {
    for unrolling in unrolled {
        let unrolling = sets::parameters(set).unwrap().unrolling(unrolling).unwrap();
        let keys = Keys::<T>::unrolled(set, unrolling);
        for seed in 0..cases {
            let mut stream = Stream::new(seed);
            let program = carried_program(&mut stream, keys.server.parameters());
            let values = inputs(&mut stream, &program);
            let expected = clear(&program, &values);
            for arithmetic in [Arithmetic::ExactInteger, Arithmetic::F64] {
                let choice = choice(unrolling, KeySwitchOrder::After, arithmetic);
                let decrypted = keys.interpret(&program, &choice, &values);
                assert_eq!(decrypted, expected, "seed {seed}, {choice:?}\n{program}");
            }
        }
    }
}

#[test]
fn random_programs_on_32_bits() {
    random_programs::<u32>("toy-256", UNROLLED, 6);
    random_programs::<u32>("toy-256-block3", BLOCKS, 6);
}

#[test]
fn random_programs_on_64_bits() {
    random_programs::<u64>("toy-256-t64", UNROLLED, 6);
}

#[test]
fn domains_of_accumulation_agree_bit_for_bit_and_the_text_form_comes_back() {
    let unrolled = UNROLLED.map(|bits| ("toy-512-k2", bits));
    for (set, unrolling) in unrolled.into_iter().chain([("toy-256-block3", None)]) {
        let unrolling = sets::parameters(set).unwrap().unrolling(unrolling).unwrap();
        let keys = Keys::<u32>::unrolled(set, unrolling);
        let mut choice = choice(unrolling, KeySwitchOrder::After, Arithmetic::ExactInteger);
        let mut results = Vec::new();
        for accumulation in [Accumulation::TransformDomain, Accumulation::CoefficientDomain] {
            choice.accumulation = accumulation;
            let pbs = builtin::build("pbs+ks", keys.server.parameters(), 2, &choice, Transform::Exact).unwrap();
            assert_eq!(parse_kernel(&pbs.kernel.to_string()).unwrap(), pbs.kernel);
            let encrypted = keys.encrypt(&pbs.program, &pbs.kernel, &values(&[("x", &[0, 1])]), 5);
            results.push(interpreter::run(&pbs.kernel, &keys.server, &encrypted, &NoProgress).unwrap());
        }
        assert_eq!(results[0], results[1]);
    }
}

#[test]
fn fixed_point_rotates_coefficients() {
    let keys = Keys::<u32>::unrolled("toy-256", KeyUnrolling::TWO);
    let parameters = keys.server.parameters();
    let spec = FixedFftSpec::for_external_product(
        parameters.ring_degree(),
        parameters.bootstrap_gadget(),
        parameters.glwe_dimension().get(),
        parameters.torus_bits(),
        FixedWidths::uniform(40),
        Rounding::HalfEven,
        RangeRule::OverflowProbability { log2: -64.0, first_step: 0.5 },
    );
    let fixed = choice(KeyUnrolling::TWO, KeySwitchOrder::After, Arithmetic::Fixed(Box::new(spec)));
    let pbs = builtin::build("pbs+ks", parameters, 2, &fixed, fixed.arithmetic.transform(parameters)).unwrap();
    let input = values(&[("x", &[0, 1])]);
    assert_eq!(keys.interpret(&pbs.program, &fixed, &input), clear(&pbs.program, &input));

    // A body that rotates in the transform domain is no fixed-point program.
    let exact = choice(KeyUnrolling::TWO, KeySwitchOrder::After, Arithmetic::ExactInteger);
    let mut kernel = keys.lower(&pbs.program, &exact);
    kernel.choice = fixed;
    let message = kernel.check().unwrap_err().to_string();
    assert!(message.contains("fixed-point arithmetic does not have"), "{message}");
}

#[test]
fn a_smaller_last_group_uses_its_own_patterns() {
    let mut literal = sets::literal("toy-256").unwrap().clone();
    literal.name = "rest".to_owned();
    for (n, unrolling) in
        [(17, KeyUnrolling::TWO), (17, KeyUnrolling::FOUR), (18, KeyUnrolling::FOUR), (19, KeyUnrolling::FOUR)]
    {
        literal.lwe_dimension = n;
        let keys = Keys::<u32>::for_parameters(&Parameters::check(&literal).unwrap(), unrolling);
        for arithmetic in [Arithmetic::ExactInteger, Arithmetic::F64] {
            let choice = choice(unrolling, KeySwitchOrder::After, arithmetic);
            let pbs = builtin::build("pbs+ks", keys.server.parameters(), 40, &choice, Transform::F64).unwrap();
            let input = values(&[("x", &(0..40).map(|x| x % 2).collect::<Vec<i64>>())]);
            assert_eq!(
                keys.interpret(&pbs.program, &choice, &input),
                clear(&pbs.program, &input),
                "{n} bits by {unrolling}"
            );
        }
    }
}

/// Mean square of the errors of `count` lookups under each of `keys` keys, against the formula's over all keys: to 3 % and five deviations, either way. A key's mean square varies by
/// √(2/count) and, as measured over keys, a tenth: they differ in weights and in the means of their rows' noise. Of a rotation's first iterations, on a polynomial that nobody
/// has encrypted, some of the formula's noise is absent.
fn noise_is_predicted<T: Torus>(parameters: &Parameters, unrolled: [Option<u32>; 2], (keys, count): (u64, usize)) {
    let tolerance = 1.03 + 5.0 * ((0.01 + 2.0 / count as f64) / keys as f64).sqrt();
    for unrolling in unrolled {
        let unrolling = parameters.unrolling(unrolling).unwrap();
        let choice = choice(unrolling, KeySwitchOrder::None, Arithmetic::F64);
        let pbs = builtin::build("pbs", parameters, count, &choice, Transform::F64).unwrap();
        let input = values(&[("x", &(0..count as i64).map(|c| c % 2).collect::<Vec<_>>())]);
        let y = evaluate(&pbs.program, &input).unwrap().outputs(&pbs.program)["y"].clone();
        // Both sides have one padded encoding, so that y's plaintexts are x's of the same values.
        let plaintexts = encode_input::<T>(&pbs.program, "x", &y).unwrap();
        let mut squares = 0.0;
        for seed in 0..keys {
            let client = ClientKey::<T>::for_tests(parameters, seed).unwrap();
            let keys = Keys { server: ServerKey::for_tests_unrolled(&client, unrolling, seed), client };
            let encrypted = keys.encrypt(&pbs.program, &pbs.kernel, &input, 70 + seed);
            let outputs = Executor::new(&keys.server, 2).unwrap().run(&pbs.kernel, &encrypted, &NoProgress).unwrap();
            assert_eq!(keys.decrypt(&pbs.program, &outputs), clear(&pbs.program, &input));
            let phases = keys.client.decrypt_phase(LweKind::Large, &outputs["y"]).unwrap();
            let errors = phases.iter().zip(&plaintexts).map(|(phase, &y)| phase.wrapping_sub(y).to_fraction());
            squares += errors.map(|error| error.powi(2)).sum::<f64>();
        }
        let measured = squares / (keys as usize * count) as f64;
        let formulas = Formulas::of(parameters, KeysOf::Average);
        let ratio = measured / formulas.blind_rotation_unrolled(unrolling, Transform::F64).second_moment();
        println!("{} unrolled {unrolling}: {ratio:.3} of the prediction, to {tolerance:.3}", parameters.name());
        let allowed = 1.0 / tolerance..tolerance;
        assert!(allowed.contains(&ratio), "{} unrolled {unrolling}: {ratio} of the prediction", parameters.name());
    }
}

/// Rounding dominant, and the rows' noise. Of the first iteration nearly all digits are 0, so there are many.
#[test]
fn noise_of_small_rings() {
    let small = |set: &str, glwe_noise_log2: f64| {
        let mut literal = sets::literal(set).unwrap().clone();
        literal.name = format!("{set}{glwe_noise_log2}");
        literal.lwe_dimension = if literal.secret.is_binary() { 160 } else { 150 };
        literal.glwe_noise_log2 = glwe_noise_log2;
        Parameters::check(&literal).unwrap()
    };
    let runs = if std::env::var_os("POLYFABRIC_FULL").is_some() { (200, 400) } else { (12, 200) };
    noise_is_predicted::<u32>(&small("toy-256", -28.0), UNROLLED, runs);
    noise_is_predicted::<u32>(&small("toy-256", -25.0), UNROLLED, runs);
    noise_is_predicted::<u64>(&small("toy-256-t64", -50.0), UNROLLED, runs);
    noise_is_predicted::<u32>(&small("toy-256-block3", -28.0), BLOCKS, runs);
    noise_is_predicted::<u32>(&small("toy-256-block3", -25.0), BLOCKS, runs);
}

/// With too many message bits for the ring, lookups fail as often as predicted, to a quarter: for uniform bits and for blocks of two and three,
/// with phases rounded to nearest and centred. There are 200 failures or more, so that a quarter is at least 3.5 deviations.
#[test]
fn failures_are_predicted() {
    let (mut literal, count) = (sets::literal("toy-256").unwrap().clone(), 4000);
    literal.name = "narrow".to_owned();
    literal.lwe_dimension = 210;
    for secret in [Secret::Binary, Secret::Block(2), Secret::Block(3)] {
        literal.secret = secret;
        let parameters = Parameters::check(&literal).unwrap();
        let unrolling = parameters.unrolling(None).unwrap();
        for rounding in [PhaseRounding::Nearest, PhaseRounding::Centred] {
            let choice = TfheLowering { rounding, ..choice(unrolling, KeySwitchOrder::None, Arithmetic::F64) };
            let built = |count| builtin::build_for("pbs", Some(5), &parameters, count, &choice, Transform::F64);
            let (one, pbs) = (built(1).unwrap(), built(count).unwrap());
            let report =
                noise::report_for(&one.program, &parameters, &choice, Transform::F64, KeysOf::Average).unwrap();
            let predicted = report.log2_failure.exp2() * 5.0 * count as f64;
            let input = values(&[("x", &(0..count as i64).map(|c| c % 32).collect::<Vec<_>>())]);
            let y = evaluate(&pbs.program, &input).unwrap().outputs(&pbs.program)["y"].clone();
            let plaintexts = encode_input::<u32>(&pbs.program, "x", &y).unwrap();
            let mut failures = 0;
            for seed in 0..5 {
                let client = ClientKey::<u32>::for_tests(&parameters, seed).unwrap();
                let keys = Keys { server: ServerKey::for_tests(&client, seed), client };
                let encrypted = keys.encrypt(&pbs.program, &pbs.kernel, &input, seed);
                let executor = Executor::new(&keys.server, 2).unwrap();
                let outputs = executor.run(&pbs.kernel, &encrypted, &NoProgress).unwrap();
                let phases = keys.client.decrypt_phase(LweKind::Large, &outputs["y"]).unwrap();
                // 64 steps, of which half are messages.
                let wrong = |(phase, &y): (&u32, &u32)| phase.wrapping_sub(y).to_fraction().abs() > 1.0 / 128.0;
                failures += phases.iter().zip(&plaintexts).filter(|&pair| wrong(pair)).count();
            }
            let ratio = failures as f64 / predicted;
            println!("{secret:?}, {rounding:?}: {failures} failures, {ratio:.3} of the prediction");
            assert!(predicted > 200.0 && (0.8..1.25).contains(&ratio), "{secret:?}, {rounding:?}: {ratio}");
        }
    }
}

/// Few lookups.
#[test]
fn full_size() {
    noise_is_predicted::<u32>(&sets::parameters("strix-I").unwrap(), UNROLLED, (1, 64));
    noise_is_predicted::<u64>(&sets::parameters("polyfabric-3-p136-t64-block3").unwrap(), BLOCKS, (1, 64));
}

#[test]
fn keys_and_programs_of_different_unrolling_are_kept_apart() {
    let keys = Keys::<u32>::unrolled("toy-256", KeyUnrolling::TWO);
    let plain = choice(KeyUnrolling::ONE, KeySwitchOrder::None, Arithmetic::F64);
    let pbs = builtin::build("pbs", keys.server.parameters(), 1, &plain, Transform::F64).unwrap();
    let encrypted = keys.encrypt(&pbs.program, &pbs.kernel, &values(&[("x", &[1])]), 1);
    let message = "the program is lowered for 1 secret bit(s) an iteration, but the server key is made for 2; \
                   lower it with key_unrolling = 2, or make the key for 1";
    let interpreted = interpreter::run(&pbs.kernel, &keys.server, &encrypted, &NoProgress);
    assert_eq!(interpreted.unwrap_err().to_string(), message);
    let executor = Executor::new(&keys.server, 1).unwrap();
    assert_eq!(executor.run(&pbs.kernel, &encrypted, &NoProgress).unwrap_err().to_string(), message);
}

/// A block-binary set's program for whole blocks does not run with a key for single bits, though both keys have one ciphertext per bit.
#[test]
fn blocks_and_single_bits_are_kept_apart() {
    let block = sets::parameters("toy-256-block3").unwrap();
    let keys = Keys::<u32>::unrolled(block.name(), KeyUnrolling::ONE);
    let of_blocks = choice(block.unrolling(None).unwrap(), KeySwitchOrder::None, Arithmetic::F64);
    let pbs = builtin::build("pbs", &block, 1, &of_blocks, Transform::F64).unwrap();
    let encrypted = keys.encrypt(&pbs.program, &pbs.kernel, &values(&[("x", &[1])]), 1);
    let error = Executor::new(&keys.server, 1).unwrap().run(&pbs.kernel, &encrypted, &NoProgress).unwrap_err();
    assert_eq!(error, RunError::Unrolling { program: 3, key: 1 });
    for (unrolling, set) in [(KeyUnrolling::of(block.secret()), "toy-256"), (KeyUnrolling::TWO, block.name())] {
        let client = ClientKey::<u32>::generate(&sets::parameters(set).unwrap()).unwrap();
        let refused = ServerKey::generate_unrolled(&client, unrolling, &no_progress);
        assert!(matches!(refused, Err(KeyError::Unrolling { .. })), "{set} {unrolling}");
    }
}
