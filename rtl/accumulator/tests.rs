//! Do accumulators match the kernel's additions to a torus polynomial?

use crate::fixed_fft::{PAPERS_SET, Setting, fpt, shape};
use crate::rng;
use polyfabric_kernels::fixed::FixedFft;
use polyfabric_rtl::{Bench, Bits, Reader};
use rand::Rng;

/// Products of several rounds on `polynomials` accumulators, `lanes` coefficients per cycle. Returns the additional fraction bits of products compared with coefficients.
fn sums_are_the_kernels(setting: &Setting, lanes: usize, polynomials: usize, rounds: usize) -> i32 {
    let (width, degree) = (setting.gadget.kept_bits(), 2 * setting.points());
    // Accumulators have the bits that digits use (section 3.5).
    let spec = setting.spec.clone().with_result_bits(width);
    let unit_bits = spec.result_unit(32);
    let finer = unit_bits as i32 - spec.result_exponent();
    let product_width = spec.inverse.output_width();
    let words = polynomials * degree / lanes;
    let unit = Bench::new("accumulator")
        .parameter("LANES", lanes as u64)
        .parameter("WORDS", words as u64)
        .parameter("WIDTH", width)
        .parameter("PRODUCT", product_width)
        .parameter("SHIFT", finer.max(0) as u64)
        .parameter("LEFT", (-finer).max(0) as u64)
        .parameter("ADDER", fpt().depth.adder)
        .simulate()
        .expect("a unit");
    let transform = FixedFft::new(spec.clone()).expect("a schedule");
    let mut scaled = spec.clone();
    scaled.digits.load_shift += scaled.result_exponent();
    scaled.result_bits = None;
    let scaled = FixedFft::new(scaled).expect("a schedule");
    let mut rng = rng(11);
    let keys = setting.keys(setting.rows());
    let mut digits = setting.digits(polynomials * rounds).into_iter();
    let mut held: Vec<Vec<u32>> = (0..polynomials)
        .map(|_| (0..degree).map(|_| rng.random::<u32>() >> unit_bits << unit_bits).collect())
        .collect();
    let (mut stream, mut expected) = (Vec::new(), Vec::new());
    for round in 0..=rounds {
        for polynomial in &mut held {
            let fresh = polynomial.clone();
            let mut products = vec![0u64; degree];
            if round > 0 {
                let mut spectrum = setting.zeros();
                let mut sum = spectrum.clone();
                let _ = transform.forward_digits(&digits.next().expect("enough"), &mut spectrum);
                for key in &keys {
                    let _ = transform.multiply_accumulate(&mut sum, &spectrum, key);
                }
                let _ = scaled.inverse_add_torus(&mut sum.clone(), &mut products);
                let _ = transform.inverse_add_torus(&mut sum, polynomial);
            }
            // The coefficients of a lane are far apart; their order in words is that of the neighbouring units.
            for cycle in 0..degree / lanes {
                let indices = || (0..lanes).map(|lane| lane * degree / lanes + cycle);
                let given = indices()
                    .map(|i| if round == 0 { fresh[i] >> unit_bits } else { rng.random::<u32>() >> unit_bits });
                let bits = Bits::new().field(u8::from(round == 0), 1).fields(given, width as usize);
                let products = indices().map(|i| products[i] as i64);
                stream.push(Some(bits.fields(products, product_width as usize)));
                expected.push((stream.len() - 1, indices().map(|i| polynomial[i] >> unit_bits).collect::<Vec<u32>>()));
                if rng.random_ratio(1, 10) {
                    stream.push(None);
                }
            }
        }
    }
    let latency = shape(PAPERS_SET).accumulate as usize;
    let outputs = unit.run(stream, latency).expect("a run");
    assert_eq!(outputs.len(), expected.len());
    for (output, (cycle, expected)) in outputs.iter().zip(expected) {
        assert_eq!(output.cycle as usize, cycle + latency);
        let mut reader = Reader::new(&output.bytes);
        let found: Vec<u32> = expected.iter().map(|_| reader.unsigned(width as usize) as u32).collect();
        assert_eq!(found, expected, "in cycle {cycle}");
    }
    finer
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn several_rounds_of_small_polynomials() {
    // The inverse transform leaves bits to round.
    let setting = Setting::toy([24, 26, 30]);
    assert!(sums_are_the_kernels(&setting, 4, 4, 4) > 1);
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn full_size_accumulators_of_fpt() {
    // As many coefficients per cycle as the inverse transform gives, for the ciphertexts of a batch.
    let shape = shape(PAPERS_SET);
    let lanes = 2 * shape.widths.1 as usize;
    let polynomials = (shape.polynomials * fpt().batch) as usize;
    sums_are_the_kernels(&Setting::of("fpt", PAPERS_SET), lanes, polynomials, 2);
}
