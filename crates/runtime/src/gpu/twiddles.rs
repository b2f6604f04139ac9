//! Twiddle factors that depend on the block: those of the second and third pass of a transform (`kernels/fft.h`).

use std::f64::consts::TAU;

/// e^(2πi · `turns`), each part within two roundings.
fn root(turns: f64) -> [f64; 2] {
    // Reduced to an eighth of a turn, where the angle's rounding error is relative.
    let eighths = (turns * 8.0).round();
    let (sin, cos) = ((turns - eighths / 8.0) * TAU).sin_cos();
    let half = std::f64::consts::FRAC_1_SQRT_2;
    match eighths.rem_euclid(8.0) as u32 {
        0 => [cos, sin],
        1 => [half * (cos - sin), half * (cos + sin)],
        2 => [-sin, cos],
        3 => [-half * (cos + sin), half * (cos - sin)],
        4 => [-cos, -sin],
        5 => [-half * (cos - sin), -half * (cos + sin)],
        6 => [sin, -cos],
        _ => [half * (cos + sin), -half * (cos - sin)],
    }
}

/// θ of the polynomials x^m − e^(2πiθ) at depth `depth` of the splitting of x^M − i, in order.
fn angles(depth: u32) -> Vec<f64> {
    (0..depth).fold(vec![0.25], |angles, _| angles.into_iter().flat_map(|a| [a / 2.0, a / 2.0 + 0.5]).collect())
}

/// `[level][block]` complex numbers for each pass except the first, with `log2_held` levels each: the first twiddle factor of each level of each block. The blocks of the last
/// pass also have 2^`log2_held` points; its levels are the last ones.
pub(super) fn table(log2_degree: u32, log2_held: u32) -> Vec<f64> {
    let log2_points = log2_degree - 1;
    let passes = log2_points.div_ceil(log2_held);
    let of_depth = |depth| {
        let angles = angles(depth);
        (1..=log2_held)
            .flat_map(move |level| angles.clone().into_iter().map(move |angle| root(angle / f64::from(1 << level))))
    };
    let depths = (1..passes - 1).map(|pass| pass * log2_held).chain([log2_points - log2_held]);
    depths.flat_map(of_depth).flatten().collect()
}

/// The 2N roots of one, e^(2πi j/2N).
pub(super) fn roots(log2_degree: u32) -> Vec<f64> {
    let count = 2u32 << log2_degree;
    (0..count).flat_map(|j| root(f64::from(j) / f64::from(count))).collect()
}
