//! Does a kernel execute as many instructions as before? This guards performance without measuring time.
//!
//! Valgrind counts the instructions of one call of each kernel, with AVX2, the largest set that it emulates. `instructions.txt` holds the
//! compiler's version and the counts in the dev profile; each may change by 3 %. The test is skipped, with a message, without Valgrind or with
//! another compiler. `UPDATE_SNAPSHOTS=1` writes the file.
//!
//! Kernels that are generic over the torus throughout (key switch, decomposition, rotation) are left out: they are compiled into this program, and
//! without link-time optimization their counts vary with its other code.

use polyfabric_kernels::aligned::AlignedVector;
use polyfabric_kernels::automorphism::{GaloisElement, ValuePermutation};
use polyfabric_kernels::base_conversion::{BaseConverter, RnsBasis};
use polyfabric_kernels::external_product::ExternalProduct;
use polyfabric_kernels::fft::FoldedFft;
use polyfabric_kernels::memory::NextUse;
use polyfabric_kernels::modular::{Limb, Modulus};
use polyfabric_kernels::ntt::Ntt;
use polyfabric_kernels::primes::PrimeClass;
use polyfabric_kernels::{Gadget, Isa, RingDegree};
use std::fmt::Write;
use std::hint::black_box;
use std::io::{ErrorKind, Write as _};
use std::process::Command;

/// Set in the process that Valgrind runs.
const COUNTED: &str = "POLYFABRIC_COUNTED";

const TOLERANCE: f64 = 0.03;

/// Valgrind counts inside this function and writes one file of counts for each call.
// SAFETY: no other symbol of the program has this name.
#[unsafe(no_mangle)]
#[inline(never)]
fn polyfabric_measured_kernel(work: &mut dyn FnMut()) {
    work();
    // No tail call: Valgrind must see this function return.
    black_box(());
}

fn modulus(degree: RingDegree, bits: u32, number: usize) -> Modulus {
    Modulus::new(PrimeClass::of_degree(degree).of_bits(bits, number + 1).expect("primes")[number]).expect("a modulus")
}

fn residues(modulus: Modulus, count: usize) -> Vec<u64> {
    (0..count as u64).map(|j| j.wrapping_mul(0x9e37_79b9_7f4a_7c15) % modulus.value()).collect()
}

/// Calls `run` with the name and the call of each kernel.
fn kernels(run: &mut dyn FnMut(&'static str, &mut dyn FnMut())) {
    let degree = RingDegree::new(1 << 12).expect("a degree");
    let n = degree.get();
    for (forward, inverse, bits) in
        [("ntt_50_bits", "inverse_ntt_50_bits", 50), ("ntt_60_bits", "inverse_ntt_60_bits", 60)]
    {
        let modulus = modulus(degree, bits, 0);
        let ntt = Ntt::<u64>::new(degree, modulus).expect("a transform");
        let mut values = residues(modulus, n);
        run(forward, &mut || ntt.forward(&mut values));
        run(inverse, &mut || ntt.inverse(&mut values));
    }
    let prime = modulus(degree, 30, 0);
    let ntt = Ntt::<u32>::new(degree, prime).expect("a transform");
    let mut narrow: Vec<u32> = residues(prime, n).into_iter().map(|word| word as u32).collect();
    run("ntt_30_bits", &mut || ntt.forward(&mut narrow));
    let prime = modulus(degree, 50, 0);
    let (mut values, others) = (residues(prime, n), residues(prime, n));
    run("products", &mut || Limb::new(prime).multiply_assign(&mut values, &others));
    let basis = |numbers: std::ops::Range<usize>| {
        RnsBasis::new(numbers.map(|number| modulus(degree, 45, number)).collect()).expect("a basis")
    };
    let converter = BaseConverter::new(basis(0..4), basis(4..6));
    let limbs: Vec<Vec<u64>> = converter.from().moduli().iter().map(|&modulus| residues(modulus, n)).collect();
    let limbs: Vec<&[u64]> = limbs.iter().map(Vec::as_slice).collect();
    let (mut first, mut second) = (vec![0; n], vec![0; n]);
    run("base_conversion", &mut || converter.convert(&limbs, &mut [&mut first, &mut second], NextUse::Soon));
    run("exact_base_conversion", &mut || {
        converter.convert_exact(&limbs, &mut [&mut first, &mut second], NextUse::Soon);
    });
    let permutation = ValuePermutation::new(GaloisElement::rotation(degree, 5));
    run("automorphism", &mut || permutation.apply(&values, &mut first, NextUse::Soon));

    let degree = RingDegree::new(1 << 10).expect("a degree");
    let (n, gadget) = (degree.get(), Gadget { log2_base: 8, levels: 2 });
    let torus = |count: usize| -> Vec<u32> { (0..count as u32).map(|j| j.wrapping_mul(0x9e37_79b9)).collect() };
    let fft = FoldedFft::new(degree);
    let (polynomial, mut spectrum) = (torus(n), vec![0.0; n]);
    run("fft", &mut || fft.forward_torus(&polynomial, &mut spectrum));
    let mut sum = torus(n);
    run("inverse_fft", &mut || fft.inverse_add_torus(&mut spectrum, &mut sum));
    let product = ExternalProduct::<u32>::new(degree, gadget, 1, None).expect("the default instruction set");
    let mut key = AlignedVector::zeros(product.key_len(false));
    product.transform_key(&torus(product.ggsw_len()), false, &mut key);
    let (mut accumulator, mut workspace) = (torus(2 * n), product.workspace());
    run("external_product", &mut || {
        product.rotate_multiply_add(&key, &[], 333, &mut accumulator, None, &mut workspace);
    });
    black_box((values, first, second, sum, accumulator, narrow));
}

/// Runs the kernels under Valgrind; does nothing in a usual test run.
#[test]
fn counted_process() {
    if std::env::var_os(COUNTED).is_some() {
        assert_eq!(Isa::best(), Isa::Avx2, "Valgrind emulates AVX2");
        kernels(&mut |_, work| polyfabric_measured_kernel(work));
    }
}

/// Prints to standard error itself, because the test harness hides the output of tests that pass.
fn skip(why: &str) {
    let _ = std::io::stderr().write_all(format!("instruction counts: SKIPPED, {why}\n").as_bytes());
}

fn compiler() -> String {
    let output = Command::new("rustc").arg("--version").output().map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&output).trim().to_owned()
}

/// Instructions of each kernel; `None` without Valgrind.
fn counts() -> Option<Vec<u64>> {
    let folder = std::env::temp_dir().join(format!("polyfabric-instructions-{}", std::process::id()));
    std::fs::create_dir(&folder).expect("a new folder");
    let run = Command::new("valgrind")
        .args([
            "--tool=callgrind",
            "--toggle-collect=polyfabric_measured_kernel",
            "--dump-after=polyfabric_measured_kernel",
        ])
        .arg(format!("--callgrind-out-file={}", folder.join("counts").display()))
        .arg(std::env::current_exe().expect("this program"))
        .args(["--exact", "counted_process"])
        .env(COUNTED, "1")
        .env_remove("POLYFABRIC_ISA")
        .output();
    let count = |number: usize| {
        let text = std::fs::read_to_string(folder.join(format!("counts.{number}"))).ok()?;
        text.lines().find_map(|line| line.strip_prefix("totals: ")?.trim().parse().ok())
    };
    let counts = (1..).map_while(count).collect();
    std::fs::remove_dir_all(&folder).expect("the folder can be removed");
    match run {
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => panic!("valgrind: {error}"),
        Ok(output) => {
            assert!(output.status.success(), "valgrind failed:\n{}", String::from_utf8_lossy(&output.stderr));
            Some(counts)
        }
    }
}

#[test]
fn kernels_execute_the_recorded_instructions() {
    let recorded = include_str!("instructions.txt");
    let compiler = compiler();
    let updates = std::env::var_os("UPDATE_SNAPSHOTS").is_some();
    if !cfg!(target_arch = "x86_64") || !Isa::Avx2.is_present() {
        return skip("the counts are for AVX2");
    }
    if !std::env::current_exe().expect("this program").components().any(|part| part.as_os_str() == "debug") {
        return skip("the counts are for the dev profile");
    }
    let (known_compiler, known) = recorded.split_once('\n').unwrap_or_default();
    if !updates && known_compiler != compiler {
        return skip(&format!(
            "the counts are for {known_compiler}, not {compiler}; UPDATE_SNAPSHOTS=1 writes new ones"
        ));
    }
    let Some(counts) = counts() else {
        return skip("valgrind is missing; on Debian and Ubuntu: apt install valgrind");
    };
    let mut names = Vec::new();
    kernels(&mut |name, _| names.push(name));
    assert_eq!(counts.len(), names.len(), "Valgrind writes one file for each kernel");
    if updates {
        let mut text = format!("{compiler}\n");
        for (name, count) in names.iter().zip(&counts) {
            writeln!(text, "{name} {count}").expect("a string");
        }
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/instructions.txt");
        return std::fs::write(file, text).expect("the file can be written");
    }
    let known: Vec<(&str, f64)> = known
        .lines()
        .map(|line| line.split_once(' ').expect("a name and a count"))
        .map(|(name, count)| (name, count.parse().expect("a count")))
        .collect();
    assert!(known.iter().map(|one| one.0).eq(names.iter().copied()), "UPDATE_SNAPSHOTS=1 records new kernels");
    let moved: Vec<String> = known
        .iter()
        .zip(&counts)
        .filter(|((_, before), now)| (**now as f64 / before - 1.0).abs() > TOLERANCE)
        .map(|((name, before), now)| format!("{name}: {before} instructions recorded, {now} now"))
        .collect();
    assert!(moved.is_empty(), "{}\nUPDATE_SNAPSHOTS=1 records an intended change", moved.join("\n"));
}
