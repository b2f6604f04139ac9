//! Times the kernels of residue number systems on one core, and compares NTTs with the processor's peak.
//!
//! `cargo run --release -p polyfabric-kernels --example rns_kernels`
//!
//! Times are the minimum of many runs on one thread. The lower bound of an NTT is the three word products of each butterfly at the measured
//! IFMA peak.

use polyfabric_kernels::RingDegree;
use polyfabric_kernels::automorphism::{GaloisElement, ValuePermutation};
use polyfabric_kernels::base_conversion::{BaseConverter, RnsBasis};
use polyfabric_kernels::isa::Isa;
use polyfabric_kernels::memory::NextUse;
use polyfabric_kernels::modular::{Limb, Modulus, Rows, peak};
use polyfabric_kernels::ntt::{Ntt, NttWord};
use polyfabric_kernels::primes::PrimeClass;
use std::error::Error;
use std::time::Instant;

/// The minimum time of a call, in microseconds.
fn least(runs: usize, mut call: impl FnMut()) -> f64 {
    let time = |call: &mut dyn FnMut()| {
        let start = Instant::now();
        call();
        start.elapsed().as_secs_f64() * 1e6
    };
    (0..runs).map(|_| time(&mut call)).fold(f64::INFINITY, f64::min)
}

fn row<W: NttWord>(
    degree: RingDegree,
    bits: u32,
    isa: Isa,
    peak: Option<f64>,
    word: fn(usize) -> W,
) -> Result<(), Box<dyn Error>> {
    let modulus = Modulus::new(PrimeClass::of_degree(degree).of_bits(bits, 1)?[0])?;
    let Ok(ntt) = Ntt::<W>::with_isa(degree, modulus, isa) else { return Ok(()) };
    let mut words: Vec<W> = (0..degree.get()).map(word).collect();
    let runs = (1 << 25 >> degree.log2()).min(2_000);
    let forward = least(runs, || ntt.forward(&mut words));
    let inverse = least(runs, || ntt.inverse(&mut words));
    let products = 3.0 * (degree.get() / 2) as f64 * f64::from(degree.log2());
    let share = peak.map_or(String::new(), |peak| format!("{:5.1} %", 100.0 * products / peak / forward));
    println!(
        "{:>7} {:>5} {:>9} {forward:>10.1} {inverse:>10.1} {share:>9} {:>9}",
        degree.get(),
        bits,
        format!("{isa:?}"),
        ntt.table_bytes() / 1024
    );
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let rounds = 20_000;
    let per_microsecond = peak::word_products(rounds).then(|| {
        let time = least(50, || {
            peak::word_products(rounds);
        });
        (rounds * peak::PRODUCTS_PER_ROUND) as f64 / time
    });
    if let Some(peak) = per_microsecond {
        println!("IFMA peak: {:.2} billion word products a second\n", peak / 1e3);
    }
    println!(
        "{:>7} {:>5} {:>9} {:>10} {:>10} {:>9} {:>9}",
        "N", "bits", "set", "forward us", "inverse us", "of peak", "KiB"
    );
    for log2 in [10, 12, 13, 14, 15, 16, 17] {
        let degree = RingDegree::new(1 << log2)?;
        for bits in [40, 50, 60] {
            row::<u64>(degree, bits, Isa::Avx512, per_microsecond, |index| index as u64)?;
            for isa in [Isa::Avx2, Isa::Neon] {
                row::<u64>(degree, bits, isa, None, |index| index as u64)?;
            }
        }
        for isa in [Isa::Avx512, Isa::Avx2, Isa::Neon] {
            for bits in [30, 32] {
                row::<u32>(degree, bits, isa, None, |index| index as u32)?;
            }
        }
        row::<u64>(degree, 60, Isa::Portable, None, |index| index as u64)?;
    }

    println!("\n{:>7} {:>28} {:>10}", "N", "limb operation, 50 bits", "us");
    for log2 in [14, 16] {
        let degree = RingDegree::new(1 << log2)?;
        let modulus = Modulus::new(PrimeClass::of_degree(degree).of_bits(50, 1)?[0])?;
        let limb = Limb::new(modulus);
        let words = |step: u64| -> Vec<u64> { (0..degree.get() as u64).map(|index| index * step).collect() };
        let (mut a, b, c) = (words(1), words(7), words(11));
        let print = |name: &str, time: f64| println!("{:>7} {name:>28} {time:>10.1}", degree.get());
        print("add", least(500, || limb.add_assign(&mut a, &b)));
        print("multiply", least(500, || limb.multiply(&mut a, &b, &c)));
        print("subtract and scale", least(500, || limb.sub_scale_assign(&mut a, &b, 12_345)));
        let mut second = words(3);
        print(
            "2 inner products of 5 terms",
            least(500, || {
                limb.inner_products(
                    [&mut a, &mut second],
                    &[&b[..]; 5],
                    [Rows::Apart(&[&c[..]; 5]), Rows::Apart(&[&b[..]; 5])],
                    NextUse::Soon,
                );
            }),
        );
    }

    println!("\n{:>7} {:>28} {:>10} {:>14}", "N", "several limbs, 50 bits", "us", "us per limb");
    for log2 in [14, 16] {
        let degree = RingDegree::new(1 << log2)?;
        let primes = PrimeClass::of_degree(degree).of_bits(50, 30)?;
        let moduli = primes.into_iter().map(Modulus::new).collect::<Result<Vec<Modulus>, _>>()?;
        let ntts = moduli.iter().map(|&modulus| Ntt::<u64>::new(degree, modulus)).collect::<Result<Vec<_>, _>>()?;
        let mut limbs = vec![vec![1u64; degree.get()]; 30];
        let print = |name: &str, time: f64, limbs: f64| {
            println!("{:>7} {name:>28} {time:>10.1} {:>14.1}", degree.get(), time / limbs);
        };
        let forward = || ntts.iter().zip(&mut limbs).for_each(|(ntt, limb)| ntt.forward(limb));
        print("30 transforms", least(50, forward), 30.0);
        let from = RnsBasis::new(moduli[..5].to_vec())?;
        let converter = BaseConverter::new(from, RnsBasis::new(moduli[5..].to_vec())?);
        let (input, output) = limbs.split_at_mut(5);
        let input: Vec<&[u64]> = input.iter().map(|limb| &limb[..]).collect();
        let mut output: Vec<&mut [u64]> = output.iter_mut().map(|limb| &mut limb[..]).collect();
        print("base conversion 5 to 25", least(50, || converter.convert(&input, &mut output, NextUse::Soon)), 25.0);
        print(
            "exact conversion 5 to 25",
            least(50, || converter.convert_exact(&input, &mut output, NextUse::Soon)),
            25.0,
        );
        let element = GaloisElement::rotation(degree, 3);
        let permutation = ValuePermutation::new(element);
        print("automorphism of values", least(500, || permutation.apply(input[0], output[0], NextUse::Soon)), 1.0);
        print("of coefficients", least(500, || element.apply(moduli[0], input[0], output[0])), 1.0);
    }
    Ok(())
}
