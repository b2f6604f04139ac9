//! The twisted transform by definition: points by the bits of their indices, one complex product per factor, in 128 bits, with the three real
//! products of FPT, equation (6).

use polyfabric_kernels::fixed::{Rounding, TransformSpec};
use std::f64::consts::PI;

type Point = (i128, i128);

/// (a + jb)(c + jd) from z = c(a - b): (c - d)b + z and (c + d)a - z.
pub fn three_products((a, b): Point, (c, d): Point) -> Point {
    let z = c * (a - b);
    ((c - d) * b + z, (c + d) * a - z)
}

/// `value` / 2^`shift`, rounded.
fn rounded(value: i128, shift: u32, rounding: Rounding) -> i128 {
    let unit = 1i128 << shift;
    let (floor, rest) = (value.div_euclid(unit), value.rem_euclid(unit));
    let up = match rounding {
        Rounding::Truncate => false,
        Rounding::HalfUp => 2 * rest >= unit,
        Rounding::HalfEven => 2 * rest > unit || 2 * rest == unit && floor % 2 != 0,
    };
    floor + i128::from(up && shift > 0)
}

fn each((re, im): Point, of: impl Fn(i128) -> i128) -> Point {
    (of(re), of(im))
}

fn within(value: i128, width: u32) -> i128 {
    let limit = (1i128 << (width - 1)) - 1;
    value.clamp(-limit, limit)
}

/// e^(2πi · turns) in `bits` bits.
fn factor(turns: f64, bits: u32) -> Point {
    let scale = (1i64 << (bits - 2)) as f64;
    (((2.0 * PI * turns).cos() * scale).round() as i128, ((2.0 * PI * turns).sin() * scale).round() as i128)
}

fn product(point: Point, turns: f64, bits: u32, width: u32, rounding: Rounding) -> Point {
    each(three_products(point, factor(turns, bits)), |part| within(rounded(part, bits - 2, rounding), width))
}

/// First stage, and one after the last, of the transform that splits after stage `stage`.
fn split(stages: u32, log2_radix: u32, stage: u32) -> (u32, u32) {
    // Whole groups are split off first, then groups are halved.
    let group = stage / log2_radix * log2_radix;
    if stage + 1 == group + log2_radix {
        return (group, stages);
    }
    let (mut first, mut end) = (group, (group + log2_radix).min(stages));
    loop {
        let middle = first + (end - first).div_ceil(2);
        if middle == stage + 1 {
            return (first, end);
        }
        if middle > stage + 1 { end = middle } else { first = middle }
    }
}

/// Turns between stage `stage` and the next for the point with this index: output bits up to `stage` (the first stage's highest), followed by
/// the remaining input bits.
fn turns(stages: u32, log2_radix: u32, stage: u32, index: usize) -> f64 {
    let (first, end) = split(stages, log2_radix, stage);
    let bit = |of: u32| index >> (stages - 1 - of) & 1;
    let output: usize = (first..=stage).map(|of| bit(of) << (of - first)).sum();
    let input: usize = (stage + 1..end).map(|of| bit(of) << (end - 1 - of)).sum();
    (output * input) as f64 / f64::from(1 << (end - first))
}

/// Forward transform of loaded points, in place.
pub fn forward(points: &mut [Point], spec: &TransformSpec, log2_radix: u32, rounding: Rounding) {
    let stages = points.len().trailing_zeros();
    let bits = spec.twiddle_bits;
    for (j, point) in points.iter_mut().enumerate() {
        *point = product(*point, j as f64 / (4 << stages) as f64, bits, spec.input_width, rounding);
    }
    for (number, stage) in (0..stages).zip(&spec.stages) {
        let half = 1usize << (stages - 1 - number);
        for low in (0..points.len()).filter(|index| index & half == 0) {
            let (a, b) = (points[low], points[low + half]);
            let scaled = |value: i128| within(rounded(value, stage.shift, rounding), stage.width);
            points[low] = (scaled(a.0 + b.0), scaled(a.1 + b.1));
            points[low + half] = (scaled(a.0 - b.0), scaled(a.1 - b.1));
        }
        if number + 1 < stages {
            for (index, point) in points.iter_mut().enumerate() {
                *point = product(*point, turns(stages, log2_radix, number, index), bits, stage.width, rounding);
            }
        }
    }
}

/// Inverse transform, in place, unscaled.
pub fn inverse(points: &mut [Point], spec: &TransformSpec, log2_radix: u32, rounding: Rounding) {
    let stages = points.len().trailing_zeros();
    let (bits, mut width) = (spec.twiddle_bits, spec.input_width);
    for (number, stage) in (0..stages).rev().zip(&spec.stages) {
        if number + 1 < stages {
            for (index, point) in points.iter_mut().enumerate() {
                *point = product(*point, -turns(stages, log2_radix, number, index), bits, width, rounding);
            }
        }
        let half = 1usize << (stages - 1 - number);
        for low in (0..points.len()).filter(|index| index & half == 0) {
            let (a, b) = (points[low], points[low + half]);
            let scaled = |value: i128| within(rounded(value, stage.shift, rounding), stage.width);
            points[low] = (scaled(a.0 + b.0), scaled(a.1 + b.1));
            points[low + half] = (scaled(a.0 - b.0), scaled(a.1 - b.1));
        }
        width = stage.width;
    }
    for (j, point) in points.iter_mut().enumerate() {
        *point = product(*point, -(j as f64) / (4 << stages) as f64, bits, width, rounding);
    }
}
