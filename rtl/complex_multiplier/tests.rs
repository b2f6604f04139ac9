//! Do three real products equal the kernel's complex one, including rounding and saturation?

use crate::fixed_fft::{PAPERS_SET, Point, Setting, fpt, shape, zipped};
use crate::rng;
use polyfabric_rtl::{Bench, Bits, Reader};
use rand::Rng;

/// Bits of a point's part, of a factor's, of the shift, and of a result's.
type Widths = (u32, u32, u32, u32);

fn products_are(widths: Widths, cases: &[(Point, Point, Point)]) {
    let (width, factor, shift, out) = widths;
    let depth = fpt().depth;
    let unit = Bench::new("complex_multiplier")
        .parameter("WIDTH", width)
        .parameter("FACTOR", factor)
        .parameter("SHIFT", shift)
        .parameter("OUT", out)
        .parameter("ADDER", depth.adder)
        .parameter("MULTIPLIER", depth.multiplier)
        .simulate()
        .expect("a unit");
    let words = cases.iter().map(|&(point, by, _)| {
        let part = |bits: Bits, (re, im): Point, width: u32| bits.field(re, width as usize).field(im, width as usize);
        Some(part(part(Bits::new(), point, width), by, factor))
    });
    let latency = shape(PAPERS_SET).multiply as u64;
    let outputs = unit.run(words, latency as usize).expect("a run");
    assert_eq!(outputs.len(), cases.len());
    for (cycle, (output, (point, by, expected))) in outputs.iter().zip(cases).enumerate() {
        assert_eq!(output.cycle, cycle as u64 + latency);
        let mut reader = Reader::new(&output.bytes);
        let found = (reader.signed(out as usize) as i64, reader.signed(out as usize) as i64);
        assert_eq!(found, *expected, "{point:?} times {by:?}");
    }
}

/// The product by four real products, with halves to even.
fn exact((a, b): Point, (c, d): Point, (_, _, shift, out): Widths) -> Point {
    let product = |x: i64, y: i64| i128::from(x) * i128::from(y);
    let kept = |value: i128| {
        let (floor, rest) = (value >> shift, (value & ((1 << shift) - 1)) << 1);
        let up = rest > 1 << shift || rest == 1 << shift && floor & 1 == 1;
        let limit = (1i128 << (out - 1)) - 1;
        (floor + i128::from(up)).clamp(-limit, limit) as i64
    };
    (kept(product(a, c) - product(b, d)), kept(product(a, d) + product(b, c)))
}

fn extremes(widths: Widths) -> Vec<(Point, Point, Point)> {
    let mut rng = rng(6);
    let mut part = |width: u32, number: usize| {
        let limit = (1i64 << (width - 1)) - 1;
        [limit, -limit, 0, 1, -1 - limit, 1 << (width - 2), 3, -1].get(number).copied().unwrap_or_else(|| {
            // Short as often as long, to produce halves.
            rng.random_range(-limit..=limit) >> rng.random_range(0..width)
        })
    };
    let mut cases = Vec::new();
    for number in 0..4000 {
        let mut any = |width, place: u32| part(width, number >> (3 * place) & if number < 4096 / 2 { 7 } else { 15 });
        let (point, by) = ((any(widths.0, 0), any(widths.0, 1)), (any(widths.1, 2), any(widths.1, 3)));
        cases.push((point, by, exact(point, by, widths)));
    }
    cases
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn full_size_twiddle_factors_of_fpt() {
    let fpt = fpt();
    let (width, factor) = (fpt.inverse.input(), fpt.inverse_twiddle as u32);
    let widths = (width, factor, factor - 2, width);
    products_are(widths, &extremes(widths));
}

#[test]
#[ignore = "needs Verilator: make rtl"]
fn full_size_products_with_a_key_are_the_kernels() {
    let setting = Setting::of("fpt", PAPERS_SET);
    let transform = setting.transform();
    let spec = transform.spec();
    let widths = (spec.digits.output_width(), spec.key.output_width(), spec.accumulator.shift, spec.accumulator.width);
    let mut cases = extremes(widths);
    for (digits, key) in setting.digits(6).iter().zip(setting.keys(6)) {
        let [mut spectrum, mut product] = [(); 2].map(|()| setting.zeros());
        assert_eq!(transform.forward_digits(digits, &mut spectrum), 0);
        assert_eq!(transform.multiply_accumulate(&mut product, &spectrum, &key), 0);
        let [spectrum, key, product] = [&spectrum, &key, &product].map(|of| zipped(of.re(), of.im()));
        cases.extend(spectrum.into_iter().zip(key).zip(product).map(|((point, by), product)| (point, by, product)));
    }
    products_are(widths, &cases);
}
