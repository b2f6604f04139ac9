//! Does the output buffer match the kernel's LWE ciphertexts?

use crate::fixed_fft::{PAPERS_SET, shape};
use crate::rng;
use polyfabric_kernels::sample_extract::sample_extract;
use polyfabric_rtl::{Bench, Bits, Reader};
use rand::Rng;

/// `polynomials` of `degree` coefficients of `width` bits, `lanes` per cycle.
fn samples_are_the_kernels(degree: usize, polynomials: usize, width: u32, lanes: usize) {
    let cycles = degree / lanes;
    let unit = Bench::new("sample_extractor")
        .parameter("WIDTH", width)
        .parameter("LANES", lanes as u64)
        .parameter("CYCLES", cycles as u64)
        .simulate()
        .expect("a unit");
    let (mut rng, mask) = (rng(15), u32::MAX >> (32 - width));
    let (mut cases, mut stream) = (Vec::new(), Vec::new());
    for number in 0..6 {
        let mut ciphertext: Vec<u32> = (0..degree * polynomials).map(|_| rng.random::<u32>() & mask).collect();
        // 0 and half of the torus are their own negatives.
        (ciphertext[0], ciphertext[1], ciphertext[2]) = (0, 1 << (width - 1), 0);
        for (polynomial, coefficients) in ciphertext.chunks(degree).enumerate() {
            if rng.random_ratio(1, 3) {
                stream.extend(std::iter::repeat_n(None, number));
            }
            let is_body = polynomial + 1 == polynomials;
            stream.extend((0..cycles).map(|cycle| {
                let word = (0..lanes).map(|lane| coefficients[lane * cycles + cycle]);
                Some(Bits::new().field(u8::from(is_body), 1).fields(word, width as usize))
            }));
        }
        cases.push(ciphertext);
    }
    let given: Vec<usize> = stream.iter().enumerate().filter(|(_, word)| word.is_some()).map(|(i, _)| i).collect();
    let outputs = unit.run(stream, 1).expect("a run");
    assert_eq!(outputs.len(), given.len());
    for (output, given) in outputs.iter().zip(given) {
        // FPT's events write the buffer from the next cycle on.
        assert_eq!(output.cycle as usize, given + 1);
    }
    for (outputs, ciphertext) in outputs.chunks(cycles * polynomials).zip(cases) {
        let mut buffer = vec![0; degree * polynomials];
        for (polynomial, outputs) in outputs.chunks(cycles).enumerate() {
            for output in outputs {
                let mut reader = Reader::new(&output.bytes);
                let place = reader.unsigned(cycles.ilog2() as usize) as usize;
                for lane in 0..lanes {
                    buffer[polynomial * degree + lane * cycles + place] = reader.unsigned(width as usize) as u32;
                }
            }
        }
        let masks = degree * (polynomials - 1);
        let mut expected = vec![0; masks + 1];
        sample_extract(&ciphertext, degree, 0, &mut expected);
        assert_eq!(buffer[..=masks], expected.iter().map(|value| value & mask).collect::<Vec<u32>>());
    }
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn small_ciphertexts() {
    samples_are_the_kernels(32, 3, 7, 4);
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn full_size_ciphertexts_of_fpt() {
    let shape = shape(PAPERS_SET);
    let lanes = 2 * shape.widths.1 as usize;
    let (degree, polynomials) = (shape.ring_degree as usize, shape.polynomials as usize);
    samples_are_the_kernels(degree, polynomials, shape.bits.coefficient, lanes);
}
